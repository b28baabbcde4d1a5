"""Segments of several recordings at once: the tables of each are those that it has alone, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gnomon.numerics import segments as kernel
from gnomon.numerics.joint_labels import joint, joints

EFFORT = settings(deadline=None, max_examples=120, suppress_health_check=list(HealthCheck))
EDGES = st.one_of(st.integers(-2, 14).map(float), st.floats(-2, 14, allow_nan=False).map(lambda x: round(x, 3)))


@st.composite
def recordings(draw):
    """Windows, classes and both sides of up to four recordings; stretches may overlap, abut, be empty or reach out."""
    out = []
    for _ in range(draw(st.integers(0, 4))):
        low = draw(st.sampled_from([0.0, -1.5, 0.1]))
        window = low, low + draw(st.sampled_from([0.3, 5.0, 12.0]))
        classes = draw(st.integers(0, 3))
        stretch = st.tuples(EDGES, EDGES, st.integers(0, max(classes - 1, 0)))
        sides = [draw(st.lists(stretch, max_size=6 if classes else 0)) for _ in range(2)]
        if draw(st.booleans()):
            sides = [apart(side) for side in sides]
        out.append((window, classes, *sides))
    return out


def apart(side):
    """Cut stretches of all classes so that none begins before the one before it has ended."""
    out, reach = [], -np.inf
    for start, end, code in sorted((min(a, b), max(a, b), code) for a, b, code in side):
        out.append((max(start, reach), max(end, start, reach), code))
        reach = out[-1][1]
    return out


def track(side, classes, window, first=0):
    rows = [(min(a, b), max(a, b), first + code) for a, b, code in side]
    starts, ends = (np.array([row[edge] for row in rows], dtype=np.float64) for edge in (0, 1))
    return kernel.tidy(starts, ends, np.array([row[2] for row in rows], dtype=np.int64), classes, window)


def merged(given, side):
    """All recordings as one track, whose classes are those of the recordings one after another."""
    tracks = [track(one[side], one[1], one[0]) for one in given]
    offsets = np.concatenate([[0], *(np.diff(own.offsets) for own in tracks)]).cumsum()
    starts, ends = (np.concatenate([np.zeros(0), *(getattr(own, e) for own in tracks)]) for e in ("starts", "ends"))
    return kernel.Track(starts, ends, offsets.astype(np.int64))


def all_at_once(given):
    truth, returned = merged(given, 2), merged(given, 3)
    windows = np.array([one[0] for one in given]).reshape(-1, 2)
    of = np.repeat(np.arange(len(given)), [one[1] for one in given])
    edges = windows[of, 0], windows[of, 1]
    found, seconds = kernel.segments(truth, returned, edges)
    labels = kernel.events(found, truth, returned, edges)
    return seconds, labels, joints(found, truth, returned, windows, of)


@EFFORT
@given(recordings())
def test_recordings_at_once_are_what_each_is_alone(given_):
    seconds, labels, tables = all_at_once(given_)
    first, at = 0, [0, 0]
    for number, (window, classes, *sides) in enumerate(given_):
        truth, returned = (track(side, classes, window) for side in sides)
        found, own = kernel.segments(truth, returned, window)
        assert seconds[first : first + classes].tobytes() == own.tobytes()
        for side, codes in enumerate(kernel.events(found, truth, returned, window)):
            assert labels[side][at[side] : at[side] + len(codes)].tolist() == codes.tolist()
            at[side] += len(codes)
        overlaps = kernel.overlapping(truth) or kernel.overlapping(returned)
        assert bool(tables.overlap_s[number] > 0) == overlaps
        rows = tables.recording == number
        confusion, pairs = joint(found, truth, returned, window)
        a, b = np.nonzero(confusion > 0)
        assert tables.truth[rows].tolist() == a.tolist()
        assert tables.returned[rows].tolist() == b.tolist()
        assert tables.seconds[rows].tobytes() == confusion[a, b].tobytes()
        assert tables.pairs[number].tobytes() == pairs.tobytes()
        assert confusion.sum() == pytest.approx(window[1] - window[0] + tables.overlap_s[number])
        first += classes
    assert (at[0], at[1]) == (len(labels[0]), len(labels[1]))


def test_two_recordings_by_hand():
    """In the first, b is returned for the second half of a; in the second, of one class and another window, nothing."""
    given_ = [
        ((0.0, 10.0), 2, [(2.0, 6.0, 0)], [(2.0, 4.0, 0), (4.0, 6.0, 1)]),
        ((100.0, 103.0), 1, [(101.0, 102.0, 0)], []),
    ]
    seconds, labels, tables = all_at_once(given_)
    kinds = {name: column.tolist() for name, column in zip(kernel.CATEGORIES, seconds.T, strict=True)}
    assert kinds["TP"] == [2, 0, 0]
    assert kinds["TN"] == [6, 8, 2]
    assert kinds["Ue"] == [2, 0, 0]
    assert kinds["I"] == [0, 2, 0]
    assert kinds["D"] == [0, 0, 1]
    assert [kernel.TRUTH_LABELS[code] for code in labels[0]] == ["C", "D"]
    assert [kernel.RETURN_LABELS[code] for code in labels[1]] == ["C'", "I'"]
    entries = zip(tables.recording, tables.truth, tables.returned, tables.seconds, strict=True)
    assert [tuple(map(float, entry)) for entry in entries] == [
        (0, 0, 0, 2), (0, 0, 1, 2), (0, 2, 2, 6), (1, 0, 1, 1), (1, 1, 1, 2)
    ]  # fmt: skip
    assert tables.pairs[0].sum() == tables.pairs[0][0, 3] == 2  # I of b with Ue of a
    assert tables.pairs[1].sum() == tables.pairs[1][4, 0] == 1  # D of a with nothing


def test_no_recording_and_recordings_without_classes():
    seconds, labels, tables = all_at_once([])
    assert (seconds.shape, len(labels[0]), len(tables.overlap_s), tables.pairs.shape) == ((0, 10), 0, 0, (0, 5, 5))
    _, _, tables = all_at_once([((0.0, 2.0), 0, [], []), ((1.0, 1.5), 0, [], [])])
    assert (tables.recording.tolist(), tables.truth.tolist(), tables.seconds.tolist()) == ([0, 1], [0, 0], [2.0, 0.5])


def test_a_recording_of_many_overlapping_classes_has_no_confusion():
    """Its table would hold 5e11 numbers; pairs and class-seconds do not need it."""
    classes = 700_000
    side = kernel.Track(np.zeros(classes), np.ones(classes), np.arange(classes + 1))
    window = np.array([[0.0, 1.0]])
    found, _ = kernel.segments(side, side, (0.0, 1.0))
    tables = joints(found, side, side, window, np.zeros(classes, np.int64))
    assert tables.overlap_s.tolist() == [classes - 1]
    assert not len(tables.seconds)
    assert not tables.pairs.any()


@pytest.mark.parametrize("window", [(0.0, 4.0), (np.zeros(2), np.full(2, 4.0))])
def test_a_window_is_one_for_all_classes_or_one_for_each(window):
    truth = track([(1.0, 9.0, 0), (2.0, 3.0, 1)], 2, (0.0, 4.0))
    returned = track([(0.0, 2.0, 0)], 2, (0.0, 4.0))
    found, seconds = kernel.segments(truth, returned, window)
    assert seconds.sum(axis=1).tolist() == [4, 4]
    assert [code.tolist() for code in kernel.events(found, truth, returned, window)] == [[0, 1], [0]]


@EFFORT
@given(st.lists(st.tuples(EDGES, EDGES, st.integers(0, 2)), max_size=12), st.booleans())
def test_the_order_of_stretches_does_not_matter(side, keep):
    """Those that come in the order of time are not sorted by it; the others are."""
    rows = [(min(a, b), max(a, b), code) for a, b, code in side]
    found = []
    for given_ in (rows, sorted(rows), rows[::-1]):
        starts, ends = (np.array([row[edge] for row in given_], dtype=np.float64) for edge in (0, 1))
        codes = np.array([row[2] for row in given_], dtype=np.int64)
        own = kernel.tidy(starts, ends, codes, 3, (0.0, 9.5), keep_abutting=keep)
        found.append((own.starts.tolist(), own.ends.tolist(), own.offsets.tolist()))
        for first, stop in zip(own.offsets[:-1], own.offsets[1:], strict=True):
            gaps = own.starts[first:stop][1:] - own.ends[first:stop][:-1]
            assert ((gaps >= 0) if keep else (gaps > 0)).all()
    assert found[0] == found[1] == found[2]
