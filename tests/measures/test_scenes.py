"""Whole scenes: worked by hand, undefined without positives or negatives, and the fold."""

import numpy as np
import pytest

from gnomon.core.errors import InputError
from gnomon.core.scans import Changed
from gnomon.core.tallies import Tallies
from gnomon.measures.scenes import MEASURES, ChangeDetectionRate, FalseAlarmRate, SceneAccuracy, evaluate

TRUTH = [True, True, True, False, False]
CALLED = [True, True, False, True, False]


@pytest.mark.parametrize("kind", [list, np.array, lambda side: np.array(side, np.int64), tuple])
def test_worked(kind):
    """By hand: TP 2, FN 1, FP 1, TN 1."""
    result = evaluate(kind(TRUTH), kind(CALLED))
    assert result == {
        "accuracy": 0.6, "cdr": pytest.approx(2 / 3), "far": 0.5, "tp": 2, "fp": 1, "fn": 1, "tn": 1, "n": 5,
        "undefined": {},
    }  # fmt: skip


def test_truth_comes_first():
    assert evaluate([True, False, False], [True, True, False])["far"] == 0.5
    assert evaluate([True, True, False], [True, False, False])["far"] == 0.0


def test_without_positives_or_negatives_a_rate_is_undefined():
    changed = evaluate([True, True], [True, False])
    assert (changed["cdr"], changed["far"]) == (0.5, None)
    assert changed["undefined"] == {"far": "no unchanged scene in truth"}
    still = evaluate([False], [False])
    assert (still["cdr"], still["far"], still["accuracy"]) == (None, 0.0, 1.0)
    assert still["undefined"] == {"cdr": "no changed scene in truth"}
    assert evaluate([], [])["undefined"] == dict.fromkeys(("accuracy", "cdr", "far"), "no scenes")


def test_the_fold_is_the_evaluation():
    rows = [MEASURES[0].tally(Changed(t), Changed(p)) for t, p in zip(TRUTH, CALLED, strict=True)]
    tallies = Tallies.stack(rows)
    totals, expected = tallies.total(), evaluate(TRUTH, CALLED)
    for measure, name, n in (
        (SceneAccuracy(), "accuracy", 5),
        (ChangeDetectionRate(), "cdr", 3),
        (FalseAlarmRate(), "far", 2),
    ):
        assert float(measure.score(totals).values) == expected[name]
        assert measure.count(totals) == n
        assert measure.identities(tallies, {}) == []
    fields = {name: array.copy() for name, array in tallies.fields.items()}
    fields["tp"][0] = 2
    wrong = Tallies(tallies.layout, {}, fields)
    assert SceneAccuracy().identities(wrong, {}) == ["the four counts do not sum to the scenes"]


@pytest.mark.parametrize(
    ("truth", "prediction", "message"),
    [
        ([True], [True, False], "expected as many predictions as truths, but got 2 and 1"),
        ([2], [1], "truth: expected one True or False per scene, but got"),
        ([True], ["yes"], "prediction: expected one True or False per scene"),
        ([[True]], [True], "truth: expected one True or False per scene"),
        ([0.5], [True], "truth: expected one True or False per scene"),
        ([[True], [True, False]], [True, True], "truth: expected one True or False per scene"),
        (True, [True], "truth: expected one True or False per scene"),
    ],
)
def test_bad_input_is_refused(truth, prediction, message):
    with pytest.raises(InputError, match=message):
        evaluate(truth, prediction)


def test_scenes_together_are_scenes_alone():
    rows = [SceneAccuracy().tally(Changed(t), Changed(c)) for t, c in zip(TRUTH, CALLED, strict=True)]
    assert SceneAccuracy().tally_scenes(np.array(TRUTH), np.array(CALLED)) == Tallies.stack(rows)
