"""Walking: cadence, where feet stand, and legs that reach them."""

import numpy as np
import pytest

from gnomon.simulation.body import ANKLES, FEET, SMPL, draw_body, face, place_joints
from gnomon.simulation.gait import (
    STANCE,
    WALKING_SPEED,
    Step,
    follow_with_leg,
    foothold,
    move_feet,
    relative_cadence,
    step_frequency,
)

BODY = draw_body(np.random.default_rng(4), SMPL, 1.64)
TIMES = np.arange(0, 4, 0.02)
STRIDE_S = 1.1


def straight(length):
    """Steps forward along x at an even pace, the left foot first; both feet start side by side."""
    begin = [foothold(BODY, np.zeros((1, 3)), side, 0.1)[0] for side in (0, 1)]
    steps = []
    for k in range(6):
        side, reached = k % 2, (k + 1) * length / 2
        goal = foothold(BODY, np.array([[reached, 0.0, 0.0]]), side, 0.1)[0]
        steps.append(Step(0.3 + k * STRIDE_S / 2, side, goal))
    return begin, steps


def test_step_frequency_of_typical_adults():
    """Normal walking is at 100 to 120 steps a minute; tall people step less often at one speed."""
    assert 100 < 60 * step_frequency(1.73, WALKING_SPEED) < 120
    assert step_frequency(1.9, 1.3) < step_frequency(1.5, 1.3)
    assert relative_cadence(1.70) == 1.0
    assert relative_cadence(1.9) == pytest.approx(step_frequency(1.9, 1.3) / step_frequency(1.7, 1.3))


def test_feet_stand_still_and_swing_in_turn():
    begin, steps = straight(1.2)
    feet = move_feet(BODY, begin, steps, STRIDE_S, TIMES)
    assert len(feet.landings) == 6
    for side in (0, 1):
        foot = BODY.offsets[FEET[side]]
        balls = feet.ankles[:, side] + face(feet.heading[:, side], feet.pitch[:, side]) @ foot
        own = [step for step in steps if step.side == side]
        flying = np.zeros(len(TIMES), dtype=bool)
        for step in own:
            flying |= (step.start <= TIMES) & (step.start + (1 - STANCE) * STRIDE_S > TIMES)
        still = ~flying[:-1] & ~flying[1:]
        moved = np.linalg.norm(np.diff(balls[:, :2], axis=0), axis=1)
        assert moved[still].max() < 1e-12
        assert moved[~still].max() > 0.02
        assert feet.ankles[:, side, 2].min() > BODY.ankle - 0.003
        assert balls[:, 2].min() > 0
        np.testing.assert_allclose(balls[-1, :2], own[-1].goal[:2])
        np.testing.assert_allclose(balls[0, :2], begin[side][:2])
        assert feet.swing[flying, side].max() == pytest.approx(1, abs=0.05)
        assert np.abs(feet.pitch[-1, side]) < 1e-3


def test_short_steps_roll_the_foot_less():
    long, short = (np.abs(move_feet(BODY, *straight(size), STRIDE_S, TIMES).pitch).max() for size in (1.2, 0.2))
    assert long > 0.8
    assert short < 0.25 * long


def test_who_stands_has_flat_feet_under_the_body():
    begin, _ = straight(1.0)
    feet = move_feet(BODY, begin, [], STRIDE_S, TIMES)
    assert not feet.pitch.any()
    np.testing.assert_allclose(feet.ankles[0, :, 2], BODY.ankle)
    np.testing.assert_allclose(feet.ankles[0, :, 0], 0, atol=1e-12)
    np.testing.assert_allclose(feet.ankles[0, :, 1], [0.1, -0.1], atol=1e-12)  # left is y, for who faces x


def test_legs_bring_feet_to_their_places():
    feet = move_feet(BODY, *straight(0.8), STRIDE_S, TIMES)
    root = np.concatenate([feet.ankles[..., :2].mean(axis=1), np.full((len(TIMES), 1), 0.86)], axis=1)
    turns = np.broadcast_to(face(np.zeros(1), np.zeros(1)), (len(TIMES), 24, 3, 3)).copy()
    for side in (0, 1):
        follow_with_leg(BODY, turns, root, feet, side)
    joints = place_joints(BODY, turns, root)
    np.testing.assert_allclose(joints[:, ANKLES], feet.ankles, atol=1e-9)
