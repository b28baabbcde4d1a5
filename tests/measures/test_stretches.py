"""Recordings that are read together: each holds what it holds alone, under labels that all share."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.core.signals import NONE, Intervals
from gnomon.core.tallies import union
from gnomon.measures import _stretches

EFFORT = settings(deadline=None, max_examples=80, suppress_health_check=list(HealthCheck))
LABELS = ("a9", "a10", "b", "(nothing)", "never")
TIMES = st.integers(-4, 24).map(lambda k: k * 0.3)


@st.composite
def signals(draw, most=4):
    """Give truths and predictions of some recordings; classes in any order, also some that no stretch has."""
    truth, prediction = [], []
    scored = draw(st.booleans())
    for _ in range(draw(st.integers(0, most))):
        low = draw(st.sampled_from([0.0, -1.0, 0.1]))
        window = low, low + draw(st.sampled_from([0.5, 6.0]))
        for side, own in ((truth, False), (prediction, scored)):
            classes = draw(st.lists(st.sampled_from(LABELS), unique=True, max_size=4))
            n = draw(st.integers(0, 6))
            edges = np.sort([[draw(TIMES), draw(TIMES)] for _ in range(n)]).reshape(-1, 2)
            codes = [draw(st.integers(NONE, len(classes) - 1)) for _ in range(n)]
            scores = np.array([draw(st.sampled_from([0.25, 0.5, 1.0])) for _ in range(n)]) if own and n else None
            columns = edges[:, 0], edges[:, 1], np.array(codes, dtype=np.int64)
            side.append(Intervals(*columns, tuple(classes), window, scores))
    return truth, prediction


def rows(pair, side, number):
    """Stretches of one recording in their order, with the names of their classes."""
    own = pair.recording_of[side.groups] == number
    scores = [None] * int(own.sum()) if side.scores is None else side.scores[own].tolist()
    labels = [pair.labels[code] for code in pair.class_of[side.groups[own]]]
    return list(zip(side.starts[own].tolist(), side.ends[own].tolist(), labels, scores, strict=True))


@EFFORT
@given(signals())
def test_recordings_together_hold_what_each_holds_alone(given_):
    truth, prediction = given_
    pair, windows = _stretches.together(truth, prediction)
    assert windows.tolist() == [list(one.window) for one in truth]
    assert pair.labels == list(union([one.classes for one in (*truth, *prediction)]))
    assert len(pair.recordings) == len(truth)
    assert (np.diff(pair.recording_of * len(LABELS) + pair.class_of) > 0).all()  # recording by recording, by class
    for number, sides in enumerate(zip(truth, prediction, strict=True)):
        alone = _stretches.paired(*sides)
        assert rows(pair, pair.truth, number) == rows(alone, alone.truth, 0)
        found, expected = rows(pair, pair.prediction, number), rows(alone, alone.prediction, 0)
        assert [row[:3] for row in found] == [row[:3] for row in expected]
        if pair.prediction.scores is not None:
            assert found == expected
        for whole, own in zip(pair.tracks(), alone.tracks(), strict=True):
            kept = pair.recording_of[whole.codes()] == number
            assert whole.starts[kept].tolist() == own.starts.tolist()
            assert whole.ends[kept].tolist() == own.ends.tolist()


def test_two_recordings_by_hand():
    window = (0.0, 10.0)
    truth = [
        Intervals(np.array([2.0]), np.array([12.0]), np.array([0]), ("b",), window),
        Intervals(np.zeros(0), np.zeros(0), np.zeros(0, np.int64), (), (5.0, 6.0)),
    ]
    returned = [
        Intervals(np.array([8.0, 0.0]), np.array([9.0, 1.0]), np.array([1, 0]), ("b", "a"), window, np.array([0.5, 1])),
        Intervals(np.array([5.5, 7.0]), np.array([9.0, 8.0]), np.array([0, 0]), ("b",), (5.0, 6.0), np.array([0.2, 0])),
    ]
    pair, windows = _stretches.together(truth, returned)
    assert (pair.labels, windows.tolist()) == (["a", "b"], [[0, 10], [5, 6]])
    assert (pair.recording_of.tolist(), pair.class_of.tolist()) == ([0, 0, 1], [0, 1, 1])
    assert rows(pair, pair.truth, 0) == [(2, 10, "b", None)]
    assert rows(pair, pair.prediction, 0) == [(8, 9, "a", 0.5), (0, 1, "b", 1)]
    assert rows(pair, pair.prediction, 1) == [(5.5, 6, "b", 0.2)]


def test_scores_are_kept_where_all_that_return_something_have_them():
    some = Intervals(np.array([0.0]), np.array([1.0]), np.array([0]), ("a",), (0.0, 2.0), np.array([0.5]))
    none = Intervals(np.array([0.0]), np.array([1.0]), np.array([0]), ("a",), (0.0, 2.0))
    empty = Intervals(np.zeros(0), np.zeros(0), np.zeros(0, np.int64), (), (0.0, 2.0))
    assert _stretches.together([none, none], [some, empty])[0].prediction.scores.tolist() == [0.5]
    assert _stretches.together([none, none], [some, none])[0].prediction.scores is None
    assert _stretches.together([empty, empty], [empty, empty])[0].prediction.scores is None


def test_windows_of_both_sides_agree():
    one, other = (Intervals(np.zeros(0), np.zeros(0), np.zeros(0, np.int64), (), (0.0, end)) for end in (1.0, 2.0))
    message = r"different windows: \(0.0, 1.0\) and \(0.0, 2.0\)"
    with pytest.raises(InputError, match=message):
        _stretches.together([one, one], [one, other])
    with pytest.raises(InputError, match=message):
        _stretches.paired(one, other)


def test_a_pair_is_made_of_what_the_arrays_hold_now():
    """A signal does not own the arrays that it is given: nothing may be remembered of it."""
    ends = np.array([1.0])
    signal = Intervals(np.zeros(1), ends, np.zeros(1, np.int64), ("a",), (0.0, 9.0))
    assert _stretches.paired(signal, signal).tracks()[0].ends.tolist() == [1]
    ends[0] = 2.0
    assert _stretches.paired(signal, signal).tracks()[0].ends.tolist() == [2]
