"""Recordings that are tallied together leave what they leave one by one, to the last bit and in the same order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gnomon.core.cases import Roster
from gnomon.runs import parts
from gnomon.suites.events import columns, files, summaries, tallying
from gnomon.suites.events.columns import Recording
from gnomon.suites.events.times import Stretch, Zone

EFFORT = settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
LABELS = ("a9", "a10", "b", summaries.NULL)
TIMES = st.integers(-3, 40).map(lambda k: k * 0.3)


@st.composite
def recordings(draw):
    """Some recordings; stretches may reach beyond windows, overlap, be empty, and have scores or not."""
    scored, found = draw(st.booleans()), []
    for number in range(draw(st.integers(1, 4))):
        sides = []
        for scores in ([None], [0.25, 0.5, 1.0] if scored else [None]):
            rows = draw(
                st.lists(
                    st.tuples(TIMES, TIMES, st.sampled_from(LABELS), st.sampled_from(scores)).map(
                        lambda row: Stretch(min(row[:2]), max(row[:2]), row[2], row[3])
                    ),
                    max_size=6,
                )
            )
            sides.append(rows)
        found.append(recording(f"r{number}", *sides, window=(0.0, draw(st.sampled_from([0.5, 9.0, 12.3])))))
    return found


def recording(name, truth, returned, window=(0.0, 10.0)):
    case = files.TruthCase(name, Path("truth.json"), window, tuple(truth), {}, Zone(), None, {})
    return Recording(case, columns.of(truth), columns.of(returned))


def tallied(found, variants=("published", "strict")):
    ids = tuple(one.case.id for one in found)
    true = sorted({label for one in found for label in one.truth.classes})
    longest = max((len(one.truth) for one in found), default=0)
    return tallying.tally_recordings(Roster(ids, ids, {}, "recording"), found, variants, true=true, longest=longest)


def plain(rows):
    """The arrays of tallies or of a ledger as bytes, with their labels."""
    arrays = rows.fields if hasattr(rows, "fields") else {"case": rows.case, **rows.columns}
    named = rows.axes if hasattr(rows, "axes") else rows.labels
    labels = {name: tuple(own) for name, own in named.items()}
    return labels, {name: (array.dtype, array.shape, array.tobytes()) for name, array in arrays.items()}


@EFFORT
@given(recordings())
def test_recordings_together_leave_what_they_leave_one_by_one(found):
    whole, alone = tallied(found), [tallied([one]) for one in found]
    folded = parts.folded(alone)
    facts = tallying.merge_facts([part.facts for part in alone])
    ledgers = summaries.settle_ledgers(folded.ledgers, ranked=facts["ranked"])
    assert list(whole.tallies) == list(folded.tallies)
    for name, rows in whole.tallies.items():
        assert plain(rows) == plain(folded.tallies[name]), name
    assert set(whole.ledgers) == set(ledgers)
    for name, rows in whole.ledgers.items():
        assert plain(rows) == plain(ledgers[name]), name
    assert whole.facts == facts


@pytest.mark.parametrize("variants", [("published", "strict"), ("published",), ("strict",)])
def test_no_recording_leaves_no_row(variants):
    part = tallied([], variants)
    assert [rows.n_cases for rows in part.tallies.values()] == [0] * len(part.tallies)
    assert not any(len(rows) for rows in part.ledgers.values())


def test_a_class_that_is_called_as_nothing_counts_as_nothing_in_the_confusion():
    one = recording("r", [Stretch(0.0, 4.0, "a"), Stretch(4.0, 6.0, summaries.NULL)], [Stretch(0.0, 5.0, "a")])
    rows = tallied([one], ("strict",)).ledgers["confusion"]
    assert rows.labels["truth"] == ("a", summaries.NULL)
    table = np.zeros((2, 2))
    np.add.at(table, (rows.columns["truth"], rows.columns["predicted"]), rows.columns["seconds"])
    assert table.tolist() == [[4, 0], [1, 5]]


def test_edges_beyond_the_window_are_those_of_the_window():
    """Both begin before the window: no error of the start."""
    rows = [recording("r", [Stretch(-2.0, 4.0, "a")], [Stretch(-1.0, 4.5, "a")]), recording("s", [], [])]
    ledgers = tallied(rows, ("strict",)).ledgers
    edges = ledgers[summaries.EDGES]
    assert (edges.case.tolist(), edges.columns["onset"].tolist(), edges.columns["offset"].tolist()) == ([0], [0], [0.5])
    assert ledgers["first_onsets"].columns["first_onset_error"].tolist() == [0]
