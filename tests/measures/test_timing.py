"""False alarms, first onset errors and boundary offsets: brute-force references, worked cases, and laws."""

import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.measures import events
from gnomon.measures.matching import FirstOnsetNoLater
from gnomon.measures.timing import boundary_offsets, evaluate, false_alarms_per_hour, first_onset_errors

LENGTH = 40

stretch = st.tuples(st.integers(-3, LENGTH), st.integers(0, 9), st.sampled_from("ab")).map(
    lambda x: (x[0], x[0] + x[1], x[2])
)
stretches = st.lists(stretch, max_size=9)


def united(side, label):
    out = []
    for s, e in sorted((s, e) for s, e, c in side if c == label and s < e):
        if out and s <= out[-1][1]:
            out[-1] = (out[-1][0], max(e, out[-1][1]))
        else:
            out.append((s, e))
    return out


def meet(x, y):
    return min(x[1], y[1]) - max(x[0], y[0])


@settings(max_examples=200)
@given(truth=stretches, returned=stretches)
def test_false_alarms_are_the_insertions_of_the_events(truth, returned):
    result = false_alarms_per_hour(truth, returned, window=(0, LENGTH))
    want = events.evaluate(truth, returned, window=(0, LENGTH))["classes"]
    for label, found in result["classes"].items():
        assert found["alarms"] == want[label]["counts"]["I'"]
    assert result["rate"] == pytest.approx(result["alarms"] * 3600 / LENGTH)
    null = false_alarms_per_hour(truth, returned, window=(0, LENGTH), per="null")
    free = sum(not any(s <= x and x + 1 <= e for s, e, _ in truth) for x in range(LENGTH))
    assert null["hours"] * 3600 == pytest.approx(free)
    assert (null["rate"] is None) == (free == 0) == ("rate" in null["undefined"])


@settings(max_examples=200)
@given(truth=stretches, returned=stretches)
def test_first_onset_errors_against_the_reference(truth, returned):
    result = first_onset_errors(truth, returned, no_later_than=[0, 2])
    known, n = [], 0
    for label in "ab":
        for event in united(truth, label):
            starts = [r[0] for r in united(returned, label) if meet(event, r) > 0]
            known += [starts[0] - event[0]] if starts else []
            n += 1
    assert (result["events"], result["detected"]) == (n, len(known))
    assert result["median"] == (statistics.median(known) if known else None)
    assert result["p90"] == (pytest.approx(np.percentile(known, 90)) if known else None)
    assert result["no_later_than"]["2"] == (pytest.approx(sum(x <= 2 for x in known) / n) if n else None)


@settings(max_examples=200)
@given(truth=stretches, returned=stretches, least=st.sampled_from([None, 0.3, 0.5]))
def test_boundary_offsets_against_the_reference(truth, returned, least):
    result = boundary_offsets(truth, returned, least_iou=least)
    onsets, offsets = [], []
    for label in "ab":
        sides = united(truth, label), united(returned, label)
        found = [
            (meet(t, r) / (max(t[1], r[1]) - min(t[0], r[0])), t, r)
            for t in sides[0]
            for r in sides[1]
            if meet(t, r) > 0
        ]
        matched = {}
        for iou, t, r in sorted(found, key=lambda x: (-x[0], x[1], x[2])):
            if iou >= (least or 0) and t not in matched and r not in matched.values():
                matched[t] = r
        for t in sorted(matched):
            onsets.append(matched[t][0] - t[0])
            offsets.append(matched[t][1] - t[1])
    assert result["onset"]["errors"] == onsets
    assert result["offset"]["errors"] == offsets
    assert result["onset"]["mean"] == (pytest.approx(statistics.mean(onsets)) if onsets else None)
    assert result["matched"] == len(onsets)


def test_worked_by_hand():
    """Two recordings: 0.5 h and 1 h, three alarms; early is negative; a missed event is not in time."""
    truth = {"am": [(10, 20, "fall")], "pm": [(100, 110, "fall"), (200, 220, "fall"), (500, 520, "fall")]}
    returned = {
        "am": [(8, 15, "fall"), (300, 301, "fall")],
        "pm": [(103, 110, "fall"), (206, 219, "fall"), (900, 901, "sit")],
    }
    window = {"am": (0, 1800), "pm": (0, 3600)}
    alarms = false_alarms_per_hour(truth, returned, window=window)
    assert (alarms["alarms"], alarms["hours"], alarms["rate"]) == (2, 1.5, pytest.approx(4 / 3))
    late = first_onset_errors(truth, returned)
    assert (late["median"], late["events"], late["detected"]) == (3, 4, 3)
    assert late["no_later_than"] == {"1": 0.25, "2": 0.25, "5": 0.5}
    assert boundary_offsets(truth, returned)["onset"]["errors"] == [-2, 3, 6]
    assert late["undefined"]["classes.sit.median"] == "no event was detected"


def test_alarms_outside_the_window_do_not_count():
    assert false_alarms_per_hour([], [(50, 60)], window=(0, 40))["alarms"] == 0


def test_background_is_never_an_alarm():
    returned = [(0, 5, "idle"), (6, 7, "fall")]
    assert false_alarms_per_hour([(0, 5, "fall")], returned, window=(0, 10), background="idle")["alarms"] == 1


def test_shifting_time_changes_nothing():
    truth, returned = [(0, 4), (9, 12)], [(1, 5), (8, 10)]
    moved = [[(s + 1000, e + 1000) for s, e in side] for side in (truth, returned)]
    assert first_onset_errors(truth, returned) == first_onset_errors(*moved)
    assert boundary_offsets(truth, returned) == boundary_offsets(*moved)


def test_a_window_cuts_every_error():
    """A window that ends at 100 cuts the event 90-120; one that starts at 95 cuts the starts of both sides."""
    truth, returned = [(90, 120)], [(90, 100)]
    whole = boundary_offsets(truth, returned)
    assert (whole["onset"]["errors"], whole["offset"]["errors"]) == ([0], [-20])
    cut = evaluate(truth, returned, window=(0, 100))
    assert (cut["boundary_offsets"]["offset"]["errors"], cut["boundary_offsets"]["onset"]["errors"]) == ([0], [0])
    assert boundary_offsets([(80, 99)], [(90, 99)], window=(95, 100))["onset"]["errors"] == [0]
    assert first_onset_errors([(80, 99)], [(90, 99)])["median"] == 10
    assert evaluate([(80, 99)], [(90, 99)], window=(95, 100))["first_onset"]["median"] == 0
    assert evaluate(truth, [(100, 120)], window=(0, 100))["first_onset"]["detected"] == 0


def test_undefined_has_a_reason():
    result = evaluate([], [], window=(0, 10))
    assert result["first_onset"]["median"] is None
    assert result["undefined"]["first_onset.no_later_than.1"] == "no events"
    assert result["undefined"]["boundary_offsets.onset.mean"] == "no matched events"
    assert result["false_alarms"]["rate"] == 0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: false_alarms_per_hour([], [], window=(0, 1), per="day"), "total"),
        (lambda: false_alarms_per_hour([], [], window=(1, 0)), "start < end"),
        (lambda: false_alarms_per_hour({"a": []}, {"a": []}, window={"b": (0, 1)}), "one per recording"),
        (lambda: first_onset_errors([], [], no_later_than=["x"]), "seconds"),
        (lambda: first_onset_errors([], [], no_later_than=[float("nan")]), "finite"),
        (lambda: boundary_offsets([], [], least_iou=2), "least_iou"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(InputError, match=words):
        call()


def test_a_first_return_that_is_early_is_no_later_than_any_limit():
    """The name says what is counted: 50 s early is an error of -50 s, and no later than 1 s."""
    early = first_onset_errors([(100, 200), (400, 450)], [(50, 200), (350, 450)])
    assert early["median"] == -50
    assert early["no_later_than"] == {"1": 1.0, "2": 1.0, "5": 1.0}
    assert FirstOnsetNoLater(1.0).name == "first_onset_no_later_than_1s"
