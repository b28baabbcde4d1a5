"""Kernels over many samples, against plain numpy, which they equal to the last bit."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.core.seeds import generator
from gnomon.numerics import rigid, rotations

SIZES = st.tuples(st.integers(1, 40), st.integers(1, 26), st.integers(1, 9))
"""Samples, joints, poses."""


def poses(rng, count):
    return rotations.from_quaternions(rng.normal(size=(count, 4)))[0], rng.normal(size=(count, 3))


def plain_gaps(truth, prediction, rows, frames, at):
    """Both projections, then the norms of their difference."""
    moved = [rigid.project(side, rows, *frame, at) for side, frame in zip((truth, prediction), frames, strict=True)]
    return np.linalg.norm(moved[1] - moved[0], axis=2)


def plain_spans(joints):
    """The distances to one joint after another."""
    return np.array([np.linalg.norm(joints - joints[:, [j]], axis=2).mean(axis=0) for j in range(joints.shape[1])])


def plain_pairwise(one, other):
    """Tables of translations and of angles, added."""
    apart = np.linalg.norm(one[1][:, np.newaxis] - other[1], axis=2)
    return apart + rotations.angles_of(np.repeat(one[0][:, np.newaxis], len(other[0]), axis=1), other[0])


@settings(deadline=None)
@given(SIZES, st.sampled_from([np.float32, np.float64]), st.integers(0, 2**32 - 1))
def test_gaps_are_those_of_both_projections(sizes, kind, seed):
    (n, size, count), rng = sizes, generator(seed, "gaps")
    truth, prediction = (rng.normal(size=(n, size, 3)).astype(kind) for _ in range(2))
    rows, at = rng.integers(0, n, 2 * n), rng.integers(0, count, 2 * n)
    frames = poses(rng, count), poses(rng, count)
    found = rigid.gaps(truth, prediction, rows, frames, at)
    np.testing.assert_array_equal(found, plain_gaps(truth, prediction, rows, frames, at))


def test_gaps_of_joints_however_they_lie_in_memory():
    """Sides of two types, one a frame of a longer array; poses that are one, repeated, and that nobody may write to."""
    rng = generator(3, "gaps")
    truth, longer = rng.normal(size=(7, 5, 3)).astype(np.float32), rng.normal(size=(7, 2, 5, 3))
    turns, moves = poses(rng, 7)
    turns.setflags(write=False)
    frames = (turns, moves), (np.broadcast_to(np.eye(3), (7, 3, 3)), moves[::-1])
    rows = np.arange(7)
    for sides in ((truth, longer[:, -1]), (longer[:, -1], truth), (np.asfortranarray(truth), truth)):
        found = rigid.gaps(*sides, rows, frames, rows)
        np.testing.assert_array_equal(found, plain_gaps(*map(np.ascontiguousarray, sides), rows, frames, rows))


def test_gaps_of_no_samples():
    frames = poses(generator(4, "gaps"), 2), poses(generator(5, "gaps"), 2)
    none = np.zeros(0, dtype=np.int64)
    assert rigid.gaps(np.zeros((3, 4, 3)), np.zeros((3, 4, 3)), none, frames, none).shape == (0, 4)


def test_gaps_by_hand():
    """A quarter turn about z takes x to y: truth (1, 0, 0) becomes (0, 1, 0) + (0, 0, 2); prediction stays."""
    turn = np.array([[[0.0, -1, 0], [1, 0, 0], [0, 0, 1]]])
    frames = (turn, np.array([[0.0, 0, 2]])), (np.eye(3)[np.newaxis], np.zeros((1, 3)))
    joints = np.array([[[1.0, 0, 0]]])
    first = np.zeros(1, dtype=np.int64)
    np.testing.assert_allclose(rigid.gaps(joints, joints, first, frames, first), [[np.sqrt(6)]], atol=1e-15)


@settings(deadline=None)
@given(SIZES, st.integers(0, 2**32 - 1))
def test_spans_are_mean_distances_between_joints(sizes, seed):
    (n, size, _), rng = sizes, generator(seed, "spans")
    joints = rng.normal(size=(n, size, 3))
    np.testing.assert_array_equal(rigid.spans(joints), plain_spans(joints))


def test_spans_by_hand():
    """A right triangle with sides 3, 4 and 5, then twice as large: means are 4.5, 6 and 7.5."""
    triangle = np.array([[0.0, 0, 0], [3, 0, 0], [0, 4, 0]])
    expected = [[0, 4.5, 6], [4.5, 0, 7.5], [6, 7.5, 0]]
    np.testing.assert_array_equal(rigid.spans(np.stack([triangle, 2 * triangle])), expected)


def test_spans_of_many_samples_are_summed_as_numpy_does():
    joints = generator(0, "spans").normal(size=(9_000, 5, 3))
    np.testing.assert_array_equal(rigid.spans(joints), plain_spans(joints))


@settings(deadline=None)
@given(st.integers(1, 40), st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_pairwise_distances_are_those_of_tables(n, m, seed):
    rng = generator(seed, "pairwise")
    one, other = poses(rng, n), poses(rng, m)
    np.testing.assert_array_equal(rigid.pairwise(one, other), plain_pairwise(one, other))
    np.testing.assert_array_equal(rigid.pairwise(one, one), plain_pairwise(one, one))


def test_pairwise_by_hand():
    """Half a turn and 3-4-5 metres apart; a pose is not apart from itself."""
    turns = np.stack([np.eye(3), np.diag([-1.0, -1, 1])])
    both = turns, np.array([[0.0, 0, 0], [3, 4, 0]])
    np.testing.assert_allclose(rigid.pairwise(both, both), [[0, 5 + np.pi], [5 + np.pi, 0]], atol=1e-15)


def test_pairwise_distances_of_none():
    rng = generator(1, "pairwise")
    none, some = poses(rng, 0), poses(rng, 3)
    assert rigid.pairwise(none, none).shape == (0, 0)
    assert rigid.pairwise(some, none).shape == (3, 0)
