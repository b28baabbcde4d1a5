"""Ward's tally of many recordings in one pass: a row of it is the tally of that recording, to the last bit."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings
from tests.measures.test_stretches import signals

from gnomon.core.signals import Intervals
from gnomon.core.tallies import Tallies
from gnomon.measures import _stretches
from gnomon.measures._ward import LAYOUT, segmented, tally_cases
from gnomon.measures.recognition import EventF1
from gnomon.numerics import segments as kernel
from gnomon.numerics.joint_labels import joint

EFFORT = settings(deadline=None, max_examples=80, suppress_health_check=list(HealthCheck))
MEASURE = EventF1()


def tallied(truth, prediction):
    pair, windows = _stretches.together(truth, prediction)
    return tally_cases(pair, windows, segmented(pair, windows))


def together(truth, prediction):
    return Tallies.stack([tallied(truth, prediction)])


@EFFORT
@given(signals())
def test_a_row_is_the_tally_of_one_recording(given_):
    truth, prediction = given_
    whole = together(truth, prediction)
    assert whole.n_cases == len(truth)
    if not truth:
        return
    alone = Tallies.stack([MEASURE.tally(*sides) for sides in zip(truth, prediction, strict=True)])
    assert alone.axes == whole.axes
    for field in LAYOUT:
        assert whole.fields[field.name].dtype == alone.fields[field.name].dtype
        assert whole.fields[field.name].tobytes() == alone.fields[field.name].tobytes(), field.name
    assert not MEASURE.identities(whole, {})


@EFFORT
@given(signals(most=1))
def test_the_tables_of_one_recording_are_those_of_the_plain_kernel(given_):
    for truth, prediction in zip(*given_, strict=True):
        tracks = _stretches.paired(truth, prediction).tracks()
        found, seconds = kernel.segments(*tracks, truth.window)
        tally = MEASURE.tally(truth, prediction)
        kept = [kernel.CATEGORIES.index(name) for name in tally.axes["category"]]
        assert tally.fields["seconds"][0].tobytes() == np.ascontiguousarray(seconds[:, kept]).tobytes()
        overlap = kernel.overlapping(tracks[0]) or kernel.overlapping(tracks[1])
        assert (tally.fields["overlap_s"] > 0).tolist() == [overlap]
        expected = joint(found, *tracks, truth.window)[1]
        assert tally.fields["pairs"][0].tobytes() == expected.tobytes()


def test_two_recordings_by_hand():
    """An event is underfilled in the first; the second holds a deletion of another class, half of it beyond."""
    truth = [
        Intervals(np.array([2.0]), np.array([6.0]), np.array([0]), ("walk",), (0.0, 10.0)),
        Intervals(np.array([0.0]), np.array([8.0]), np.array([0]), ("run",), (4.0, 9.0)),
    ]
    returned = [
        Intervals(np.array([2.0]), np.array([5.0]), np.array([0]), ("walk",), (0.0, 10.0)),
        Intervals(np.zeros(0), np.zeros(0), np.zeros(0, np.int64), (), (4.0, 9.0)),
    ]
    tally = together(truth, returned)
    at = {name: index for index, name in enumerate(tally.axes["category"])}
    assert tally.axes["class"] == ("run", "walk")
    seconds = tally.fields["seconds"]
    assert seconds.sum() == 8
    assert (seconds[0, 1, at["TP"]], seconds[0, 1, at["Ue"]], seconds[1, 0, at["D"]]) == (3, 1, 4)
    assert tally.fields["window_s"].tolist() == [10, 5]
    assert tally.fields["null_s"].tolist() == [6, 1]
    assert tally.fields["n"].tolist() == [1, 1]


def test_no_recording():
    tally = together([], [])
    assert (tally.n_cases, tally.axes["class"]) == (0, ())
