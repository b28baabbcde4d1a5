"""Coordinate frames: expected positions are worked out by hand, or by SciPy's rotations (an independent library)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.transform import Rotation

from gnomon.core.errors import InputError
from gnomon.suites.episode.frames import BODY, CAMERA, WORLD, Points, Poses, rotations

NUMBERS = st.floats(-50, 50, allow_subnormal=False)
QUARTER = np.array([[[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]])  # 90 degrees about z


def points(xyz, frame=WORLD, valid=None):
    xyz = np.asarray(xyz, dtype=float).reshape(len(xyz), -1, 3)
    return Points(xyz, np.ones(len(xyz), bool) if valid is None else np.array(valid), frame)


def test_a_pose_maps_the_world_to_the_camera():
    """By hand: (1, 2, 3) turned by 90 degrees about z is (-2, 1, 3), and then moved by (10, 0, 0)."""
    poses = Poses(QUARTER, np.array([[10.0, 0.0, 0.0]]), np.array([True]))
    seen = points([[1.0, 2.0, 3.0]]).to_camera(poses)
    assert seen.frame == CAMERA
    np.testing.assert_allclose(seen.xyz, [[[8.0, 1.0, 3.0]]])
    np.testing.assert_allclose(seen.to_world(poses).xyz, [[[1.0, 2.0, 3.0]]])


@given(
    arrays(float, (3, 4), elements=NUMBERS),
    arrays(float, (3, 3), elements=NUMBERS),
    arrays(float, (3, 5, 3), elements=NUMBERS),
)
def test_there_and_back_is_the_identity_where_valid(quaternions, translation, xyz):
    rotation, valid = rotations(quaternions)
    poses = Poses(rotation, translation, valid)
    back = points(xyz.reshape(3, -1), CAMERA).to_world(poses).to_camera(poses)
    assert (back.valid == valid).all()
    np.testing.assert_allclose(back.xyz[valid], xyz[valid], atol=1e-9)
    assert not back.xyz[~valid].any()


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 52))
def test_points_in_the_world_are_those_of_plain_numpy(seed, n, joints):
    """To the last bit, and whatever the arrays lie like in memory."""
    rng = np.random.default_rng(seed)
    poses = Poses(rotations(rng.normal(size=(n, 4)))[0], rng.normal(0, 5, (n, 3)), rng.random(n) < 0.8)
    xyz = rng.normal(0, 2, (n, joints, 3))
    for given_ones in (xyz, np.asfortranarray(xyz), xyz.astype(np.float32)):
        seen = Points(given_ones, rng.random(n) < 0.8, CAMERA)
        moved = np.einsum("nji,nkj->nki", poses.rotation, seen.xyz - poses.translation[:, None])
        found, valid = seen.to_world(poses), seen.valid & poses.valid
        np.testing.assert_array_equal(found.valid, valid)
        np.testing.assert_array_equal(found.xyz, np.where(valid[:, None, None], moved, 0.0))


@given(arrays(float, (3, 2, 3), elements=st.sampled_from([0.0, -1.0, 1e5, 1.0001e5, -1e6, np.nan, np.inf, -np.inf])))
def test_points_are_valid_where_all_their_numbers_are(xyz):
    found = Points(xyz, np.array([True, True, False]), WORLD)
    expected = [bool((np.abs(one) <= 1e5).all()) for one in xyz[:2]]
    assert found.valid.tolist() == [*expected, False]
    assert not found.xyz[~found.valid].any()
    np.testing.assert_array_equal(found.xyz[found.valid], xyz[found.valid])


def test_points_of_no_frames_or_joints():
    assert len(Points(np.zeros((0, 21, 3)), np.zeros(0, bool), CAMERA)) == 0
    assert Points(np.zeros((2, 0, 3)), np.ones(2, bool), CAMERA).valid.all()


@given(arrays(float, (4, 4), elements=NUMBERS).filter(lambda q: (np.abs(q).max(axis=1) > 1e-3).all()))
def test_quaternions_of_any_length_are_those_of_scipy(quaternions):
    matrices, valid = rotations(quaternions)
    assert valid.all()
    np.testing.assert_allclose(matrices, Rotation.from_quat(quaternions, scalar_first=True).as_matrix(), atol=1e-12)


def test_quaternions_that_are_no_rotation():
    given_ones = np.array([[0.0] * 4, [np.nan, 0, 0, 1], [np.inf, 0, 0, 0], [1e-200, 0, 0, 0], [1e200, 1e200, 0, 0]])
    matrices, valid = rotations(given_ones)
    assert valid.tolist() == [False, False, False, True, True]
    assert not matrices[:3].any()
    np.testing.assert_allclose(matrices[3], np.eye(3))
    np.testing.assert_allclose(matrices[4], [[1, 0, 0], [0, 0, -1], [0, 1, 0]], atol=1e-15)  # 90 degrees about x


def test_subtraction_is_refused_across_frames():
    with pytest.raises(InputError, match=r"camera frame minus positions in the world frame .* to_world\(poses\)"):
        points([[1, 2, 3]], CAMERA).minus(points([[1, 2, 3]], WORLD))


def test_subtraction_within_a_frame():
    hands = points([[1, 2, 3, 4, 5, 6], [1, 1, 1, 2, 2, 2]], valid=[True, False])
    relative = hands.minus(points([[1, 1, 1], [1, 1, 1]]))
    np.testing.assert_allclose(relative.xyz[0], [[0, 1, 2], [3, 4, 5]])
    assert relative.valid.tolist() == [True, False]
    assert not relative.xyz[1].any()
    assert relative.frame == WORLD


@pytest.mark.parametrize("origin", [points([[0, 0, 0]]), points([[0] * 9, [0] * 9])])
def test_an_origin_must_fit(origin):
    with pytest.raises(InputError, match="expected an origin of 2 frames and 1 or 2 joints"):
        points([[0] * 6, [0] * 6]).minus(origin)


def test_what_is_not_finite_or_absurdly_far_is_not_valid():
    found = points([[1, 2, 3], [np.nan, 0, 0], [0, np.inf, 0], [1e30, 0, 0]])
    assert found.valid.tolist() == [True, False, False, False]
    assert not found.xyz[1:].any()
    poses = Poses(np.repeat(np.eye(3)[None], 3, axis=0), [[0, 0, 0], [np.nan, 0, 0], [1e300, 0, 0]], np.ones(3, bool))
    assert poses.valid.tolist() == [True, False, False]


def test_values_cannot_be_written_and_do_not_share_memory_with_what_was_given():
    given_xyz = np.ones((2, 1, 3))
    found = Points(given_xyz, np.array([True, False]), WORLD)
    assert given_xyz.all()
    with pytest.raises(ValueError, match="read-only"):
        found.xyz[0] = 2


def test_body_frame_and_wrong_lengths_are_refused():
    poses = Poses(QUARTER, np.zeros((1, 3)), np.array([True]))
    with pytest.raises(InputError, match="body frame"):
        points([[1, 2, 3]], BODY).to_world(poses)
    with pytest.raises(InputError, match="a pose for each of 2 frames, but got 1"):
        points([[1, 2, 3], [1, 2, 3]]).to_camera(poses)
    with pytest.raises(InputError, match="'head'"):
        points([[1, 2, 3]], "head")
    with pytest.raises(InputError, match=r"rotation: expected the shape \(2, 3, 3\)"):
        Poses(QUARTER, np.zeros((2, 3)), np.array([True, True]))
