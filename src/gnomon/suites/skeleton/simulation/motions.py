"""Three actions of a body in a room: walking, sitting down and standing up, reaching with an arm.

Angles of joints are smooth curves with amounts of each person's own. Who sits or reaches keeps both feet in place, and
moves from one posture to another and back along the curve of least jerk (Flash and Hogan, 1985); for walking see
:mod:`gnomon.suites.skeleton.simulation.gait`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from gnomon.core.tallies import Array
from gnomon.suites.skeleton.simulation.body import ANKLE, INDEX, SIDES, Angles, Body, arm, leg, posture, turns
from gnomon.suites.skeleton.simulation.gait import Gait


@dataclass(frozen=True)
class Motion:
    """What a person does in the room."""

    joints: Array
    """``(F, 24, 3)``; the floor is at y = 0, the middle of the room in the origin."""
    heading: Array
    """``(F,)``: where the person faces, as a turn about y from the axis z."""


def walking(body: Body, times: Array, rng: np.random.Generator) -> Motion:
    """Walk at a steady pace along a circle around the middle of the room."""
    low, high = (0.9, 1.5, 0.022, 12.0, 0.04), (1.35, 1.8, 0.027, 22.0, 0.09)
    speed, radius, rise, swing, yaw = rng.uniform(low, high).tolist()
    side = float(rng.choice([-1.0, 1.0]))
    gait = Gait(body, speed, radius, side, rise, swing, yaw)
    phase = rng.random() + gait.frequency * times
    heading = rng.uniform(0, 2 * np.pi) + side * speed * times / radius
    joints = body.joints(_restless(posture(gait.angles(phase), len(times)), times, rng))
    across, level, _ = gait.place(phase).T
    out = across - side * radius
    return _placed(joints, heading, np.stack([out * np.cos(heading), level, -out * np.sin(heading)], axis=1))


def sitting(body: Body, times: Array, rng: np.random.Generator) -> Motion:
    """Sit down on a chair and stand up again."""
    down = _there_and_back(times, rng.uniform(3.4, 4.4))
    between = np.sin(np.pi * down)
    thigh, shank = rng.uniform(80, 92) * down, 6 * down + rng.uniform(8, 14) * between
    pitch = rng.uniform(2, 8) * down + rng.uniform(22, 32) * between
    bend, elbow = rng.uniform(8, 16) * between, rng.uniform(40, 60) * down
    angles: Angles = {
        "pelvis": (pitch, 0.0, 0.0),
        "spine1": (bend / 2, 0.0, 0.0),
        "spine2": (bend / 2, 0.0, 0.0),
        "neck": (-0.5 * (pitch + bend), 0.0, 0.0),
    }
    for side, _ in SIDES:
        angles |= leg(side, thigh, shank, pitch) | arm(side, 4 + 26 * down + 10 * between, 4.0, 14 + elbow)
    return _standing(body, angles, times, rng)


def reaching(body: Body, times: Array, rng: np.random.Generator) -> Motion:
    """Reach with one arm for one thing after the other, leaning and turning towards it."""
    period = rng.uniform(1.6, 2.2)
    which = (times / period).astype(np.int64)
    low, high = (60, -15, 5, 12, -15, 4), (115, 45, 35, 26, 15, 9)
    amounts = rng.uniform(low, high, (int(which[-1]) + 1, len(low)))
    forward, outward, elbow, lean, turn, crouch = amounts[which].T * _there_and_back(times, period)
    hand, sign = SIDES[int(rng.random() < 0.8)]
    angles: Angles = {
        "pelvis": (lean / 2, 0.0, 0.0),
        "spine1": (lean / 4, sign * turn / 2, 0.0),
        "spine2": (lean / 4, sign * turn / 2, 0.0),
        "neck": (-lean / 4, -sign * turn / 3, 0.0),
    }
    for side, _ in SIDES:
        angles |= leg(side, -crouch / 2, crouch, lean / 2) | arm(side, 4.0, 0.0, 16.0)
    return _standing(body, angles | arm(hand, 4 + forward, outward, 16 + elbow), times, rng)


ACTIONS: Mapping[str, Callable[[Body, Array, np.random.Generator], Motion]] = {
    "walking": walking,
    "sitting": sitting,
    "reaching": reaching,
}
"""From a body, times in seconds and random numbers to what the person does."""


def _there_and_back(times: Array, period: float) -> Array:
    """Return a curve that goes from 0 to 1, stays, returns and stays, over and over."""
    part = np.mod(times / period, 1.0)
    way = np.clip(np.minimum(part - 0.06, 0.94 - part) / 0.36, 0, 1)
    return np.asarray(way**3 * (10 - 15 * way + 6 * way * way))


def _restless(angles: Array, times: Array, rng: np.random.Generator) -> Array:
    """Return postures in which trunk, head and arms are never quite still."""
    for name in ("spine3", "neck", "left_shoulder", "right_shoulder"):
        rates, starts = rng.uniform(0.1, 0.6, (3, 3)), rng.uniform(0, 1, (3, 3))
        waves = np.sin(2 * np.pi * (times[:, np.newaxis, np.newaxis] * rates + starts))
        angles[:, INDEX[name]] += (np.radians(rng.normal(0, 0.7, (3, 3))) * waves).sum(axis=1)
    return angles


def _standing(body: Body, angles: Angles, times: Array, rng: np.random.Generator) -> Motion:
    """Place postures so that the feet stay flat where they are, somewhere near the middle of the room."""
    joints = body.joints(_restless(posture(angles, len(times)), times, rng))
    feet = joints[:, [INDEX["left_ankle"], INDEX["right_ankle"]]].mean(axis=1)
    heading = np.full(len(times), rng.uniform(0, 2 * np.pi))
    spot = np.array([rng.uniform(-0.6, 0.6), ANKLE * body.height, rng.uniform(-0.6, 0.6)])
    return _placed(joints, heading, spot - feet @ turns(np.array([0.0, heading[0], 0.0])).T)


def _placed(joints: Array, heading: Array, places: Array) -> Motion:
    """Return joints about the pelvis turned by the heading and moved to their places."""
    zero = np.zeros(len(heading))
    turned = joints @ turns(np.stack([zero, heading, zero], axis=1)).transpose(0, 2, 1)
    return Motion(turned + places[:, np.newaxis], heading)
