"""Recordings on disk while windows are made: the same ones come back, in batches of bounded size."""

import numpy as np
import pytest

from gnomon.suites.har import spool as module
from gnomon.suites.har.features import NAMES, features
from gnomon.suites.har.recordings import Recording
from gnomon.suites.har.spool import Spool
from gnomon.suites.har.windows import at_rate, cut


def recordings(count=7, seed=0):
    rng = np.random.default_rng(seed)
    found = []
    for k in range(count):
        n = int(rng.integers(50, 400))
        signals = rng.normal(loc=[0, 0, 9.8, 0, 0, 0], size=(n, 6))
        mask = np.arange(6) < (3 if k == 2 else 6)
        label = ("sitting", "walking")[k % 2]
        times = 3.0 * k + np.arange(n) / 20
        found.append(Recording("d", f"s{k % 3}", f"d/s{k % 3}/r{k}", label, times, signals * mask, mask, 20.0 + k))
    return found


def test_recordings_come_back_in_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SAMPLES", 500)
    monkeypatch.setattr(module, "BATCH", 3)
    given = recordings()
    with Spool(tmp_path) as spool:
        for one in given:
            spool.add(one)
        batches = list(spool.batches())
    assert not list(tmp_path.iterdir())
    assert all(len(batch) <= 3 for batch in batches)
    assert all(len(batch) == 1 or sum(len(one.times) for one in batch) <= 500 for batch in batches)
    again = [one for batch in batches for one in batch]
    for a, b in zip(given, again, strict=True):
        np.testing.assert_array_equal(a.signals, b.signals)
        np.testing.assert_array_equal(a.times, b.times)
        assert (a.id, a.label, a.subject, a.rate_hz) == (b.id, b.label, b.subject, b.rate_hz)
        np.testing.assert_array_equal(a.mask, b.mask)


def test_what_an_audit_wants_to_know(tmp_path):
    """Medians by numpy over all samples of a subject; bins are half a per cent wide."""
    given = recordings()
    with Spool(tmp_path) as spool:
        for one in given:
            spool.add(one)
        about = spool.about()
    for subject in ("s0", "s1", "s2"):
        lengths = [np.linalg.norm(one.signals[:, :3], axis=1) for one in given if one.subject == subject]
        assert about["magnitudes"][subject] == pytest.approx(np.median(np.concatenate(lengths)), rel=0.005)
    assert about["rates"] == {"least": 20.0, "median": 23.0, "most": 26.0}
    assert about["lacking"] == {"gyro_x": 1, "gyro_y": 1, "gyro_z": 1}
    first = given[3]
    assert about["extents"][first.id] == [9.0, pytest.approx(float(first.times[-1]) + 1 / first.rate_hz)]
    assert set(about["resting"]) == {one.id for one in given if one.label == "sitting"}
    assert set(about["turning"]) == {one.id for one in given if one.label == "walking"}


def test_windows_know_their_own_channels():
    """A recording without a gyroscope leaves those of others alone."""
    given = [one for one in recordings(4) if len(one.times) >= 150]
    windows = at_rate(given, cut(given), 20.0)
    by = {one.id: one.mask for one in given}
    for name, mask in zip(windows.recordings, windows.mask, strict=True):
        np.testing.assert_array_equal(mask, by[name])
    rows = features(windows)
    gyro = [k for k, name in enumerate(NAMES) if "gyro" in name]
    without = ~windows.mask[:, 3:].any(axis=1)
    assert without.any()
    assert not without.all()
    assert not rows[without][:, gyro].any()
    assert rows[~without][:, gyro].any(axis=1).all()
    single = features(windows.take(np.flatnonzero(without)))
    np.testing.assert_array_equal(single, rows[without])
