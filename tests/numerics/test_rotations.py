"""Rotations, against ``scipy.spatial.transform`` and the definitions."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from gnomon.core.errors import InputError
from gnomon.core.seeds import generator
from gnomon.numerics import rotations as r


def drawn(seed, *shape):
    rng = generator(seed, "rotations")
    return rng.normal(size=(*shape, 4)) * rng.uniform(0.1, 10, (*shape, 1)), rng


def test_matrices_and_back_agree_with_scipy():
    quaternions, _ = drawn(0, 500)
    matrices, valid = r.from_quaternions(quaternions)
    assert valid.all()
    np.testing.assert_allclose(matrices, Rotation.from_quat(quaternions).as_matrix(), atol=1e-14)
    unit, _ = r.unit_quaternions(quaternions)
    back = r.to_quaternions(matrices)
    np.testing.assert_allclose(np.abs((back * unit).sum(axis=1)), 1, atol=1e-14)
    np.testing.assert_allclose(r.from_quaternions(-quaternions)[0], matrices, atol=0)


def test_half_turns_keep_their_axis():
    """Where w is 0 the axis must come from another component."""
    axes, _ = r.unit_quaternions(np.hstack([np.vstack([np.eye(3), [[1, 1, 0], [1, -2, 3]]]), np.zeros((5, 1))]))
    back = r.to_quaternions(r.from_quaternions(axes)[0])
    np.testing.assert_allclose(np.abs((back * axes).sum(axis=1)), 1, atol=1e-14)


def test_what_is_no_rotation():
    given = np.array(
        [[0, 0, 0, 1.0], [0, 0, 0, 0], [0, 0, 0, 1e-13], [np.nan, 0, 0, 1], [0, np.inf, 0, 1], [1e-11] * 4]
    )
    unit, valid = r.unit_quaternions(given)
    assert valid.tolist() == [True, False, False, False, False, True]
    assert np.isfinite(unit).all(axis=1).tolist() == valid.tolist()
    matrices, again = r.from_quaternions(given)
    assert again.tolist() == valid.tolist()
    assert np.isfinite(matrices).all(axis=(1, 2)).tolist() == valid.tolist()
    assert np.isnan(r.angles_between(given[0], given[1]))


def test_lengths_beyond_the_square_root_of_float():
    unit, valid = r.unit_quaternions([[0, 0, 3e200, 4e200]])
    assert valid.all()
    np.testing.assert_allclose(unit, [[0, 0, 0.6, 0.8]])


def test_angles_agree_with_scipy_and_with_matrices():
    (a, _), (b, _) = drawn(1, 300), drawn(2, 300)
    wanted = (Rotation.from_quat(a).inv() * Rotation.from_quat(b)).magnitude()
    np.testing.assert_allclose(r.angles_between(a, b), wanted, atol=1e-14)
    np.testing.assert_allclose(r.angles_between(a, -b), wanted, atol=1e-14)
    np.testing.assert_allclose(r.angles_of(r.from_quaternions(a)[0], r.from_quaternions(b)[0]), wanted, atol=1e-14)
    assert r.angles_between(a[:5, np.newaxis], b[:7]).shape == (5, 7)


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-9, 1e-4, 1.0, np.pi - 1e-9, np.pi])
def test_small_and_straight_angles_keep_their_digits(angle):
    """The arc cosine of a trace gives 0 for the first four."""
    other = Rotation.from_rotvec([0, 0, angle]).as_quat()
    assert float(r.angles_between([0, 0, 0, 1], other)) == pytest.approx(angle, abs=1e-15, rel=1e-12)
    found = float(r.angles_of(np.eye(3), Rotation.from_rotvec([angle, 0, 0]).as_matrix()))
    assert found == pytest.approx(angle, abs=1e-15, rel=1e-9)


def test_transforms_compose_and_invert():
    (a, rng), (b, _) = drawn(3, 50), drawn(4, 50)
    first, second = ((r.from_quaternions(q)[0], rng.normal(size=(50, 3))) for q in (a, b))
    points = rng.normal(size=(50, 6, 3))
    both = r.transformed(r.compose(second, first), points)
    np.testing.assert_allclose(both, r.transformed(second, r.transformed(first, points)), atol=1e-13)
    np.testing.assert_allclose(r.transformed(r.inverse(first), r.transformed(first, points)), points, atol=1e-13)
    by_hand = np.einsum("nij,nkj->nki", first[0], points) + first[1][:, np.newaxis]
    np.testing.assert_allclose(r.transformed(first, points), by_hand, atol=1e-13)
    one = (first[0][0], first[1][0])
    np.testing.assert_allclose(r.compose(one, second)[0], first[0][0] @ second[0], atol=1e-14)


@pytest.mark.parametrize(
    "call",
    [
        lambda: r.from_quaternions([1, 2, 3]),
        lambda: r.from_quaternions("text"),
        lambda: r.to_quaternions(np.zeros((3, 2))),
        lambda: r.inverse((np.zeros((2, 2)), np.zeros(2))),
        lambda: r.transformed((np.eye(3), np.zeros(4)), np.zeros((2, 3))),
    ],
)
def test_refusals(call):
    with pytest.raises(InputError, match="expected"):
        call()


def test_one_rotation_is_compared_with_many_and_with_one():
    """Warnings are errors here: memory that numpy lends for a single row must not reach compiled code."""
    turns = r.from_quaternions(drawn(6, 4)[0])[0]
    expected = np.array([[r.angles_of(a, b) for b in turns] for a in turns])
    np.testing.assert_array_equal(r.angles_of(turns[:, np.newaxis], turns), expected)
    np.testing.assert_array_equal(r.angles_of(turns[:1, np.newaxis], turns), expected[:1])
    np.testing.assert_array_equal(r.angles_of(turns[:1], turns[0]), expected[:1, 0])
