"""Registration: known motions, and ``scipy.spatial.transform.Rotation.align_vectors``, are the references."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from gnomon.core.errors import InputError
from gnomon.core.seeds import generator
from gnomon.numerics.registration import fit_rigid, icp


def surface(n, seed=0):
    """Points on the faces of a box of 3 x 2.5 x 2 m."""
    rng = generator(seed, "surface")
    p = rng.uniform(size=(n, 3))
    p[np.arange(n), rng.integers(0, 3, n)] = rng.integers(0, 2, n)
    return p * [3, 2.5, 2]


@given(st.integers(0, 2**32))
@settings(max_examples=30)
def test_rigid_fit_undoes_a_motion(seed):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(rng.integers(3, 40), 3))
    turn, shift = Rotation.random(random_state=int(rng.integers(2**31))).as_matrix(), rng.normal(size=3) * 100
    rotation, translation = fit_rigid(points, points @ turn.T + shift)
    np.testing.assert_allclose(rotation, turn, atol=1e-9)
    np.testing.assert_allclose(translation, shift, atol=1e-9)


def test_rigid_fit_is_scipys_and_no_reflection():
    rng = generator(2, "fit")
    points, targets = rng.normal(size=(50, 3)), rng.normal(size=(50, 3))
    rotation, translation = fit_rigid(points, targets)
    expected, _ = Rotation.align_vectors(targets - targets.mean(axis=0), points - points.mean(axis=0))
    np.testing.assert_allclose(rotation, expected.as_matrix(), atol=1e-12)
    np.testing.assert_allclose(translation, targets.mean(axis=0) - rotation @ points.mean(axis=0), atol=1e-12)
    mirrored, _ = fit_rigid(points, points * [1, 1, -1])
    assert np.linalg.det(mirrored) == pytest.approx(1)
    with pytest.raises(InputError, match="fit_rigid"):
        fit_rigid(points, targets[:4])


def test_icp_finds_a_small_motion():
    reference = surface(20_000)
    turn = Rotation.from_euler("xyz", [0.4, -0.3, 0.9], degrees=True).as_matrix()
    shift = np.array([0.03, -0.02, 0.01])
    middle = reference.mean(axis=0)
    found = icp((reference - middle) @ turn.T + middle + shift, reference, limit=0.1)
    assert found.converged
    assert found.rms < 1e-6
    np.testing.assert_allclose(found.rotation, turn.T, atol=1e-6)
    assert 1 < found.iterations <= 50


def test_icp_stops_when_told_and_without_partners():
    reference, comparison = surface(3000), surface(3000, seed=1)
    short = icp(comparison + 0.03, reference, iterations=2)
    assert (short.iterations, short.converged) == (2, False)
    nobody = icp(comparison + 100, reference)
    assert (nobody.iterations, nobody.converged, nobody.share, nobody.rms) == (0, False, 0.0, None)
    np.testing.assert_array_equal(nobody.rotation, np.eye(3))
