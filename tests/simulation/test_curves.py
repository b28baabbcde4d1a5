"""Functions of time: ends, symmetry, spread and memory."""

import numpy as np
import pytest

from gnomon.simulation.curves import drift, during, ease, ramp, smooth, smoothstep, wander


@pytest.mark.parametrize("curve", [ease, smoothstep])
def test_moves_rise_from_0_to_1(curve):
    share = np.linspace(-0.5, 1.5, 401)
    found = curve(share)
    assert (np.diff(found) >= 0).all()
    np.testing.assert_allclose(found + found[::-1], 1, atol=1e-12)
    assert curve(np.array([0.0, 1.0])).tolist() == [0.0, 1.0]


def test_ramp_and_during_hold_their_ends():
    times = np.arange(0, 4, 0.5)
    assert ramp(times, 1.0, 2.0).tolist() == [0, 0, 0, 0.5, 1, 1, 1, 1]
    assert during(times, 1.0, 3.0).tolist() == [0, 0, 0, 1, 1, 1, 0, 0]


def test_smoothing_keeps_what_is_constant():
    np.testing.assert_allclose(smooth(np.full((50, 2), 3.0), 20, 0.2), 3.0)


def test_wandering_is_smooth_and_of_unit_spread():
    found = wander(np.random.default_rng(0), 60_000, 2, 20.0, 0.5)
    assert found.shape == (60_000, 2)
    np.testing.assert_allclose(found.std(axis=0), 1, atol=0.05)
    assert np.abs(np.diff(found, axis=0)).max() < 0.5


def test_drift_has_its_spread_and_memory():
    """Over as many samples as its memory the correlation falls to 1/e."""
    found = drift(np.random.default_rng(0), (200_000, 2), 20.0, 3.0)
    np.testing.assert_allclose(found.std(axis=0), 3.0, rtol=0.03)
    correlation = np.corrcoef(found[:-20, 0], found[20:, 0])[0, 1]
    assert correlation == pytest.approx(np.exp(-1), abs=0.03)


def test_drift_goes_on_where_it_was():
    """By hand: each value keeps exp(-1 / memory) of the one before and adds white noise."""
    found = drift(np.random.default_rng(5), (4,), 2.0, 1.5, start=7.0)
    keep, value = np.exp(-0.5), 7.0
    for white, expected in zip(np.random.default_rng(5).normal(size=4), found, strict=True):
        value = keep * value + 1.5 * np.sqrt(1 - keep**2) * white
        assert expected == pytest.approx(value)
    endless = drift(np.random.default_rng(5), (50, 3), np.inf)
    assert (endless == endless[0]).all()
