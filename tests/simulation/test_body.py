"""The body: order of joints, lengths of bones, places from turns; against scipy and figures stated by hand."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from gnomon.simulation import body as bodies
from gnomon.simulation.body import (
    SMPL,
    SMPL_H,
    align,
    bend_two_bones,
    draw_body,
    draw_height,
    draw_left_handed,
    face,
    outer_turns,
    own_turns,
    place_hand,
    place_joints,
    turn,
)


def random_turns(seed, count, joints):
    drawn = Rotation.random(count * joints, random_state=seed)
    return drawn.as_matrix().reshape(count, joints, 3, 3)


def test_the_joints_are_those_of_smpl():
    assert (len(SMPL.names), SMPL.names[0], SMPL.names[15], SMPL.names[23]) == (24, "pelvis", "head", "right_hand")
    assert all(parent < joint for joint, parent in SMPL.bones)
    assert [left for left, _ in SMPL.pairs] == [1, 4, 7, 10, 13, 16, 18, 20, 22]
    assert [right for _, right in SMPL.pairs] == [2, 5, 8, 11, 14, 17, 19, 21, 23]
    for left, right in SMPL.pairs:
        names = [SMPL.names[SMPL.parents[joint]] for joint in (left, right)]
        assert names[0].replace("left", "right") == names[1]


def test_the_joints_are_those_of_smpl_h():
    """Hands follow the wrists 20 and 21, with chains of three joints for each of five fingers."""
    assert SMPL_H.names[:22] == SMPL.names[:22]
    assert SMPL_H.parents[:22] == SMPL.parents[:22]
    assert len(SMPL_H.names) == 52
    assert (SMPL_H.names[22], SMPL_H.names[36], SMPL_H.names[37]) == ("left_index1", "left_thumb3", "right_index1")
    assert SMPL_H.parents[22:28] == (20, 22, 23, 20, 25, 26)
    assert SMPL_H.parents[37:40] == (21, 37, 38)


def test_lengths_are_those_of_drillis_and_contini():
    """Rounded shares of the height: thigh .245, shank .246, upper arm .186, forearm .146; hips at .530, the seventh
    vertebra of the neck at .870, shoulders at .818 of the height."""
    assert (bodies.THIGH, bodies.SHANK, bodies.UPPER_ARM, bodies.FOREARM) == (0.245, 0.246, 0.186, 0.146)
    assert bodies.HIP_HEIGHT == 0.53
    assert pytest.approx(0.870) == bodies.HIP_HEIGHT + bodies.NECK_ABOVE_HIPS
    assert pytest.approx(0.818, abs=0.01) == bodies.HIP_HEIGHT + bodies.SHOULDER_ABOVE_HIPS
    assert bodies.SHOULDER_WIDTH == 0.105


def test_people_differ_and_are_adults():
    rng = np.random.default_rng(0)
    heights = np.array([draw_height(rng) for _ in range(4000)])
    assert heights.mean() == pytest.approx(1.70, abs=0.01)
    assert heights.std() == pytest.approx(0.09, abs=0.005)
    assert heights.min() >= 1.48
    assert heights.max() <= 1.98
    assert np.mean([draw_left_handed(rng) for _ in range(4000)]) == pytest.approx(0.1, abs=0.02)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_a_body_at_rest_stands_as_tall_as_it_is(seed):
    """The head's joint is at .92 of the height, give or take the variety of bones; both sides are mirror images."""
    for tree in (SMPL, SMPL_H):
        rng = np.random.default_rng(seed)
        who = draw_body(rng, tree, draw_height(rng))
        rest = place_joints(who, np.broadcast_to(np.eye(3), (1, len(tree.names), 3, 3)), np.zeros((1, 3)))[0]
        head = rest[bodies.HEAD, 1] - rest[bodies.ANKLES[0], 1] + who.ankle
        assert head / who.height == pytest.approx(0.92, abs=0.05)
        for left, right in tree.pairs:
            np.testing.assert_allclose(rest[left] * (-1, 1, 1), rest[right], atol=1e-12)


def test_hands_are_as_long_as_hands():
    """From the wrist to the tip of the middle finger 0.108 of the height (Buryanov and Kotiuk: 19 cm at 1.75 m)."""
    who, still = draw_body(np.random.default_rng(0), SMPL_H, 1.75), np.broadcast_to(np.eye(3), (1, 52, 3, 3))
    joints = place_joints(who, still, np.zeros((1, 3)))
    for side in (0, 1):
        hand = place_hand(who, still, joints, side)[0]
        assert hand.shape == (21, 3)
        np.testing.assert_array_equal(hand[0], joints[0, bodies.WRISTS[side]])
        assert np.linalg.norm(hand[12] - hand[0]) / who.height == pytest.approx(0.108, rel=0.07)
        assert np.linalg.norm(hand[4] - hand[0]) < np.linalg.norm(hand[20] - hand[0])  # the thumb is shorter


def test_a_body_is_the_same_person_in_both_trees():
    one, other = (draw_body(np.random.default_rng(3), tree, 1.7) for tree in (SMPL, SMPL_H))
    assert np.array_equal(one.offsets[:22], other.offsets[:22])


def test_places_are_those_of_composed_rotations():
    who = draw_body(np.random.default_rng(1), SMPL_H, 1.8)
    own = random_turns(2, 3, 52)
    outer = outer_turns(SMPL_H, own)
    root = np.array([[1.0, 2.0, 3.0]] * 3)
    joints = place_joints(who, outer, root)
    np.testing.assert_allclose(own_turns(SMPL_H, outer), own, atol=1e-12)
    for joint in (15, 21, 36, 51):
        way, at = [], joint
        while at >= 0:
            way.insert(0, at)
            at = SMPL_H.parents[at]
        for frame in range(3):
            attitude, place = Rotation.identity(), root[frame]
            for parent, child in pairwise(way):
                attitude = attitude * Rotation.from_matrix(own[frame, parent])
                place = place + attitude.apply(who.offsets[child])
            np.testing.assert_allclose(joints[frame, joint], place, atol=1e-12)


def test_turns_are_those_of_scipy():
    angles = np.random.default_rng(0).uniform(-3, 3, (50, 3))
    expected = Rotation.from_euler("YXZ", angles[:, [1, 0, 2]]).as_matrix()
    assert np.allclose(turn(angles), expected, atol=1e-14)


def test_who_faces_a_direction_and_bows_looks_down():
    """Facing north (y) and bowing by 30 degrees: ahead is half as far down as it is long; left is west."""
    found = face(np.array([np.pi / 2]), np.array([np.pi / 6]))[0]
    np.testing.assert_allclose(found @ [0, 0, 1], [0, np.cos(np.pi / 6), -0.5], atol=1e-12)
    np.testing.assert_allclose(found @ [1, 0, 0], [-1, 0, 0], atol=1e-12)
    np.testing.assert_allclose(found @ found.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(found) == pytest.approx(1)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_two_bones_reach_their_goal_and_bend_to_the_pole(seed):
    rng = np.random.default_rng(seed)
    bones = (0.42, 0.41)
    start, way = rng.normal(size=(20, 3)), rng.normal(size=(20, 3))
    goal = start + way / np.linalg.norm(way, axis=1, keepdims=True) * rng.uniform(0.1, 0.8, (20, 1))
    pole = rng.normal(size=(20, 3))
    first, second, hinge = bend_two_bones(start, goal, bones, pole)
    middle = start + bones[0] * first
    np.testing.assert_allclose(middle + bones[1] * second, goal, atol=1e-9)
    across = pole - (pole * way).sum(axis=1, keepdims=True) * way / (way * way).sum(axis=1, keepdims=True)
    assert (((middle - start) * across).sum(axis=1) > 0).all()
    turned = align(np.array([0.0, -1.0, 0.0]), np.array([1.0, 0.0, 0.0]), first, hinge)
    np.testing.assert_allclose(turned @ [0, -1, 0], first, atol=1e-9)
    np.testing.assert_allclose(turned @ [1, 0, 0], hinge, atol=1e-9)
    far, _, _ = bend_two_bones(start, start + 10 * way, bones, pole)
    assert ((far * way).sum(axis=1) / np.linalg.norm(way, axis=1) > 0.99).all()
