"""Features of windows: values by hand on sines and constants; padding, missing channels, other rates."""

import itertools

import numpy as np
import pytest

from gnomon.suites.har.features import BANDS_HZ, NAMES, features
from gnomon.suites.har.recordings import Windows


def windows(signals, rate_hz=20.0, valid=None, mask=(True,) * 6):
    n, steps, _ = signals.shape
    names = tuple(map(str, range(n)))
    valid = np.ones((n, steps), dtype=bool) if valid is None else valid
    spans = np.tile([0.0, 6.0], (n, 1))
    return Windows("d", rate_hz, signals.astype(np.float32), valid, np.array(mask), names, names, names, names, spans)


def row(found, name):
    return found[:, NAMES.index(name)]


def sine(hertz, rate_hz=20.0, seconds=6.0, amplitude=2.0, offset=1.0):
    t = np.arange(int(rate_hz * seconds)) / rate_hz
    out = np.zeros((1, len(t), 6))
    out[0, :, 0] = offset + amplitude * np.sin(2 * np.pi * hertz * t)
    return out


def test_a_sine_by_hand():
    found = features(windows(sine(2.0)))
    assert row(found, "acc_x_mean") == pytest.approx(1.0, abs=1e-6)
    assert row(found, "acc_x_std") == pytest.approx(np.sqrt(2), abs=1e-6)
    assert row(found, "acc_x_energy") == pytest.approx(1 + 2, abs=1e-6)
    assert row(found, "acc_x_max") == pytest.approx(1 + 2 * np.sin(2 * np.pi * 0.1 * 2), abs=0.1)
    assert row(found, "acc_x_peak_hz") == pytest.approx(2.0, abs=1e-9)
    assert row(found, "acc_x_crossings") == pytest.approx(4.0, abs=0.2)
    assert np.expm1(row(found, "acc_x_band_1.5_3")) == pytest.approx(2.0, rel=0.02)
    assert row(found, "acc_x_band_5_10") < 1e-6
    assert row(found, "acc_x_entropy") < 0.5


def test_quartiles_are_those_of_numpy():
    signals = np.random.default_rng(0).normal(size=(7, 120, 6))
    found = features(windows(signals))
    expected = np.quantile(signals.astype(np.float32).astype(float), 0.25, axis=1)[:, 4]
    assert np.allclose(row(found, "gyro_y_q25"), expected)


def test_correlations_are_those_of_numpy():
    signals = np.random.default_rng(1).normal(size=(3, 120, 6))
    found = features(windows(signals))
    expected = [np.corrcoef(one[:, 0], one[:, 5])[0, 1] for one in signals.astype(np.float32).astype(float)]
    assert np.allclose(row(found, "corr_acc_x_gyro_z"), expected)


def test_padding_is_left_out():
    whole = np.random.default_rng(2).normal(size=(4, 60, 6))
    padded = np.concatenate([whole, np.zeros((4, 60, 6))], axis=1)
    valid = np.zeros((4, 120), dtype=bool)
    valid[:, :60] = True
    assert np.allclose(features(windows(padded, valid=valid)), features(windows(whole)))


def test_absent_channels_have_zeros_whatever_stands_there():
    signals = np.random.default_rng(3).normal(size=(5, 120, 6))
    mask = (True, True, True, False, False, False)
    other = signals.copy()
    other[..., 3:] = 7.0
    found = features(windows(signals, mask=mask))
    assert np.array_equal(found, features(windows(other, mask=mask)))
    gyro = [index for index, name in enumerate(NAMES) if "gyro" in name]
    assert not found[:, gyro].any()
    assert found[:, : NAMES.index("gyro_x_mean")].any()


def test_the_same_motion_at_two_rates_has_nearly_the_same_features():
    slow, fast = features(windows(sine(1.5))), features(windows(sine(1.5, 50.0), 50.0))
    assert np.abs(slow - fast).max() < 0.1


def test_everything_is_finite_also_where_nothing_moves_or_is_valid():
    signals = np.zeros((3, 120, 6))
    valid = np.ones((3, 120), dtype=bool)
    valid[1] = False
    valid[2, 2:] = False
    found = features(windows(signals, valid=valid))
    assert found.shape == (3, len(NAMES))
    assert np.isfinite(found).all()
    assert not found.any()


def test_blocks_do_not_matter():
    signals = np.random.default_rng(4).normal(size=(2100, 20, 6))
    found = features(windows(signals))
    assert np.allclose(found[2050:], features(windows(signals[2050:])))


def test_bands_do_not_overlap():
    assert all(a[1] == b[0] for a, b in itertools.pairwise(BANDS_HZ))
