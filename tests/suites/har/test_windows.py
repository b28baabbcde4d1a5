"""Windows, rates and what is stored. Expected values: sines computed in the test, counts by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.suites.har.recordings import Recording
from gnomon.suites.har.resampling import reach_s
from gnomon.suites.har.windows import PRECUT, at_rate, cut, load, native_rate, published_precut, store, stream

EVERY = np.ones(6, dtype=bool)


def recording(times, signals=None, *, name="d/s/r", label="walking", rate=50.0, subject="s"):
    times = np.asarray(times, dtype=float)
    if signals is None:
        signals = np.arange(len(times))[:, None] * np.ones(6)
    return Recording("d", subject, name, label, times, signals, EVERY, rate)


def even(seconds, rate=50.0, **more):
    return recording(np.arange(round(seconds * rate)) / rate, rate=rate, **more)


def tone(hz, times, phase=0.4):
    return np.sin(2 * np.pi * hz * np.asarray(times) + phase)[:, None] * np.ones(6)


def test_windows_lie_one_behind_the_other_inside_recordings():
    recordings = [even(20, name="d/s/a"), even(5.9, name="d/s/b"), even(12, name="d/s/c", label="sitting")]
    spans = cut(recordings)
    assert spans.ids == ("d/s/a#0000", "d/s/a#0001", "d/s/a#0002", "d/s/c#0000", "d/s/c#0001")
    assert spans.dropped == 1
    np.testing.assert_allclose(spans.ranges, [[0, 6], [6, 12], [12, 18], [0, 6], [6, 12]])
    found = at_rate(recordings, spans, None)
    assert found.signals.shape == (5, 300, 6)
    assert found.labels == ("walking",) * 3 + ("sitting",) * 2
    assert found.recordings == ("d/s/a",) * 3 + ("d/s/c",) * 2
    np.testing.assert_array_equal(found.signals[1, :, 0], np.arange(300, 600))
    assert found.valid.all()


@given(st.integers(1, 4000), st.sampled_from([19.859394, 20.0, 25.0, 50.0, 100.0]))
def test_a_recording_gives_as_many_windows_as_fit(samples, rate):
    one = even(samples / rate, rate)
    assert len(cut([one])) == int(samples / rate / 6 + 1e-6)


def test_the_same_ids_and_spans_at_every_rate():
    recordings = [even(31, name="d/s/a"), even(13, rate=25.0, name="d/t/b", subject="t")]
    spans = cut(recordings)
    native, slow = at_rate(recordings, spans, None), at_rate(recordings, spans, 20.0)
    assert native.ids == slow.ids
    assert native.labels == slow.labels
    np.testing.assert_array_equal(native.spans, slow.spans)
    assert slow.signals.shape == (7, 120, 6)
    assert slow.rate_hz == 20
    assert native.rate_hz == 37.5


@pytest.mark.parametrize("rate", [50.0, 25.0, 100.0, 47.3])
@pytest.mark.parametrize("hz", [0.0, 0.7, 3.1, 6.5])
def test_what_is_slow_passes(rate, hz):
    times = np.arange(round(30 * rate)) / rate
    one = recording(times, tone(hz, times), rate=rate)
    found = at_rate([one], cut([one]), 20.0)
    for k in (1, 2, 3):
        expected = tone(hz, 6 * k + np.arange(120) / 20)
        np.testing.assert_allclose(found.signals[k], expected, atol=1e-4)


@pytest.mark.parametrize("hz", [10.5, 12.0, 17.0, 19.0, 24.0])
def test_what_would_alias_is_suppressed_by_eighty_decibels(hz):
    times = np.arange(1500) / 50
    one = recording(times, tone(hz, times))
    found = at_rate([one], cut([one]), 20.0)
    assert np.abs(found.signals[1:4]).max() < 1e-4
    thinned = tone(hz, np.arange(600) / 20)
    assert np.abs(thinned).max() > 0.9  # what taking samples without a filter would give


def test_uneven_stamps_are_resampled_by_time():
    rng = np.random.default_rng(2)
    times = np.cumsum(rng.uniform(0.006, 0.014, size=3500))
    one = recording(times, tone(1.0, times), rate=100.0)
    found = at_rate([one], cut([one]), 20.0)
    for k in (1, 2, 3):
        expected = tone(1.0, found.spans[k, 0] + np.arange(120) / 20)
        np.testing.assert_allclose(found.signals[k], expected, atol=3e-3)


def test_the_measured_rate_is_used_and_not_the_stated():
    times = np.arange(500) * 0.050354
    one = recording(times, tone(1.0, times), rate=1 / 0.050354)
    found = at_rate([one], cut([one]), None)
    assert found.signals.shape[1] == 119
    slow = at_rate([one], cut([one]), 20.0)
    np.testing.assert_allclose(slow.signals[1], tone(1.0, 6 + np.arange(120) / 20), atol=1e-4)


def test_a_filter_reads_its_reach_and_not_more():
    times = np.arange(1500) / 50
    one = recording(times, np.zeros((1500, 6)))
    far = np.zeros((1500, 6))
    inside = (times >= 6 - reach_s(50, 20) - 0.05) & (times < 12 + reach_s(50, 20) + 0.05)
    far[~inside] = 1000
    spans = cut([one])
    assert not at_rate([recording(times, far)], spans, 20.0).signals[1].any()
    assert at_rate([recording(times, far)], spans, 20.0).signals[2].any()


def test_short_recordings_are_filled_up_and_masked_where_asked():
    recordings = [even(3, name="d/s/a"), even(7, name="d/s/b")]
    spans = cut(recordings, short="pad")
    assert spans.dropped == 0
    found = at_rate(recordings, spans, 20.0)
    assert found.valid.sum(axis=1).tolist() == [60, 120]
    assert not found.signals[0, 60:].any()
    assert found.signals[0, 1:60].all()
    np.testing.assert_allclose(found.spans, [[0, 3], [0, 6]])


def test_precut_windows_overlap_and_are_as_many_as_published():
    recordings = [even(61 + 7 * k, name=f"d/s/{k}") for k in range(12)] + [even(5, name="d/s/x")]
    plain, spans = cut(recordings), published_precut(recordings, 3431)
    assert round(4534 * PRECUT) == 12080
    assert len(spans) == round(len(plain) * PRECUT)
    assert spans.dropped == 1
    lengths = (spans.pieces[:, :, 1] - spans.pieces[:, :, 0]).sum(axis=1)
    np.testing.assert_allclose(lengths, 6)
    ends = np.array([recordings[k].seconds for k in spans.recording])
    assert (spans.pieces.min(axis=(1, 2)) >= 0).all()
    assert (spans.pieces.max(axis=(1, 2)) <= ends + 1e-9).all()
    overlapping = 0
    for k in range(12):
        low, high = spans.ranges[spans.recording == k].T
        shared = np.minimum.outer(high, high) - np.maximum.outer(low, low) > 0.01
        overlapping += int((shared.sum(axis=1) > 1).sum())
    assert overlapping > len(spans) / 2
    again = published_precut(recordings, 3431)
    np.testing.assert_array_equal(spans.pieces, again.pieces)
    assert not np.array_equal(spans.pieces, published_precut(recordings, 1).pieces)


def test_a_window_over_a_seam_holds_both_pieces():
    recordings = [even(300)]
    spans = published_precut(recordings, 5)
    found = at_rate(recordings, spans, None)
    seams = np.flatnonzero(spans.pieces[:, 1, 1] > spans.pieces[:, 1, 0] + 1e-9)
    assert len(seams)
    for w in seams.tolist():
        (a, b), (c, d) = np.round(spans.pieces[w] * 50).astype(int)
        np.testing.assert_array_equal(found.signals[w, :, 0], [*range(a, b), *range(c, d)])


def test_windows_on_disk_are_the_same(tmp_path):
    recordings = [even(40, name=f"d/s{k}/r", subject=f"s{k}") for k in range(5)] + [even(2, name="d/s9/r")]
    whole = at_rate(recordings, cut(recordings), 20.0)
    found = load(store(stream(iter(recordings), 20.0), tmp_path / "stored"))
    assert isinstance(found.signals, np.memmap)
    np.testing.assert_array_equal(found.signals, whole.signals)
    np.testing.assert_array_equal(found.valid, whole.valid)
    np.testing.assert_array_equal(found.spans, whole.spans)
    for name in ("ids", "labels", "subjects", "recordings", "dataset", "rate_hz"):
        assert getattr(found, name) == getattr(whole, name), name
    part = found.take(np.array([2, 0]))
    assert part.ids == (whole.ids[2], whole.ids[0])


def test_storing_refuses_what_does_not_belong_together(tmp_path):
    one = [even(12, name="d/s/a")]
    slow, fast = at_rate(one, cut(one), 20.0), at_rate(one, cut(one), 50.0)
    with pytest.raises(InputError, match=r"rate_hz 50\.0 after 20\.0"):
        store([slow, fast], tmp_path / "a")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError, match="no windows to write"):
        store([], tmp_path / "a")
    store([slow], tmp_path / "b")
    with pytest.raises(InputError, match="is there already"):
        store([slow], tmp_path / "b")
    (tmp_path / "b" / "valid.npy").write_bytes((tmp_path / "b" / "valid.npy").read_bytes()[:-1])
    with pytest.raises(InputError, match=r"valid\.npy: not a readable array"):
        load(tmp_path / "b")


def test_what_cannot_be_cut_is_refused():
    with pytest.raises(InputError, match="no recordings"):
        at_rate([], cut([]), None)
    with pytest.raises(InputError, match="over 0 Hz"):
        at_rate([even(7)], cut([even(7)]), -1.0)
    with pytest.raises(InputError, match="over 0 s"):
        cut([even(7)], 0)
    with pytest.raises(InputError, match="no recordings"):
        native_rate([])
