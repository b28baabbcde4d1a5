"""Rows of recordings: the scores made from them are those of the functions on the same stretches; the rest by hand."""

import math

import numpy as np
import pytest

from gnomon.core.rows import Rows
from gnomon.measures import detections as functions
from gnomon.measures import timing
from gnomon.measures.event_rows import detections, onset_errors
from gnomon.measures.ranked import AveragePrecision, Percentile

LATE = {percent: Percentile("first_onsets", "first_onset_error", percent, "s", signed=True) for percent in (50.0, 90.0)}


def whole(measure, ledger):
    scored = measure.score(Rows(ledger, ledger.case, int(ledger.case.max(initial=0)) + 1).total())
    return float(scored.values) if scored.defined else None


def drawn(rng, scores=True):
    truth, returned = {}, {}
    for name in "xyz":
        truth[name], returned[name] = [], []
        for _ in range(int(rng.integers(1, 12))):
            start, length = rng.uniform(0, 500), rng.uniform(1, 40)
            label = str(rng.choice(["a", "b", "10", "9"]))
            truth[name].append((start, start + length, label))
            if rng.random() < 0.8:
                begin, end = start + rng.normal(0, 5), start + length + rng.normal(0, 5)
                item = (begin, max(end, begin + 1), label if rng.random() < 0.8 else "c")
                returned[name].append((*item, float(rng.integers(0, 6)) / 4) if scores else item)
    return truth, returned


@pytest.mark.parametrize("seed", range(20))
def test_scores_of_rows_are_those_of_the_functions(seed):
    truth, returned = drawn(np.random.default_rng(seed))
    window = (-1e3, 1e4)
    want = functions.mean_average_precision(truth, returned)
    ledger = detections(truth, returned, window=window)
    assert whole(AveragePrecision("detections", functions.ACTIVITYNET), ledger) == pytest.approx(want["mAP"], abs=1e-12)
    assert whole(AveragePrecision("detections", (0.5,)), ledger) == pytest.approx(want["mAP@0.5"], abs=1e-12)
    assert AveragePrecision("detections", functions.ACTIVITYNET).identities(None, {"detections": ledger}) == []
    late = timing.first_onset_errors(truth, {name: [item[:3] for item in items] for name, items in returned.items()})
    rows = onset_errors(truth, returned, window=window)
    assert len(rows) == late["detected"]
    for percent, name in ((50.0, "median"), (90.0, "p90")):
        assert whole(LATE[percent], rows) == (None if late[name] is None else pytest.approx(late[name], abs=1e-12))


def test_rows_by_hand():
    truth = {"x": [(0, 10, "b"), (20, 30, "b"), (40, 44, "a")], "y": []}
    returned = {"x": [(1, 11, "b", 0.5)], "y": [(0, 5, "a", 0.9)]}
    found = detections(truth, returned, window=(0, 100), thresholds=(0.5, 0.9))
    assert found.labels == {"class": ("a", "b")}
    rows = {name: column.tolist() for name, column in found.columns.items()}
    order = np.lexsort((found.columns["class"], -found.columns["returned"], found.case)).tolist()
    assert [(int(found.case[i]), rows["class"][i], rows["returned"][i], rows["truths"][i]) for i in order] == [
        (0, 1, 1, 0),
        (0, 0, 0, 1),
        (0, 1, 0, 2),
        (1, 0, 1, 0),
    ]
    # x: 9 s are common of 11 s of either: .82.
    assert [(rows["hit_0p5"][i], rows["hit_0p9"][i]) for i in order] == [(1, 0), (0, 0), (0, 0), (0, 0)]
    assert [rows["score"][i] for i in order][::3] == [0.5, 0.9]
    assert math.isnan(rows["score"][order[1]])


def test_time_beyond_the_window_does_not_count():
    truth, returned = {"x": [(0, 10, "a")]}, {"x": [(-10, 10, "a", 0.5), (20, 30, "a", 0.4)]}
    found = detections(truth, returned, window={"x": (0, 15)}, thresholds=[0.9])
    assert found.columns["hit_0p9"].tolist() == [1, 0]  # cut to [0, 10); the other return is gone
    assert onset_errors(truth, returned, window=(0, 15)).columns["first_onset_error"].tolist() == [0.0]


def test_returns_without_scores_are_rows_without_scores():
    truth, returned = drawn(np.random.default_rng(0), scores=False)
    found = detections(truth, returned, window=(0, 1e4))
    assert np.isnan(found.columns["score"]).all()
    assert whole(AveragePrecision("detections", (0.5,)), found) is None


def test_nothing_to_be_found():
    found = detections({"x": []}, {"x": []}, window=(0, 1))
    assert (len(found), found.labels) == (0, {"class": ()})
    assert len(onset_errors({}, {}, window={})) == 0
    assert len(detections({"x": []}, {"x": [(0, 1, "a", 0.5)]}, window=(0, 1))) == 1
