"""Average precision, collar F1 and intersection criteria: brute-force references, worked cases, and laws.

The references were written from the definitions: every return against every event, and matchings by trying them all.
"""

import time
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.measures.detections import (
    ACTIVITYNET,
    THUMOS,
    collar_f1,
    evaluate,
    intersection_criteria,
    mean_average_precision,
)

stretch = st.tuples(st.integers(0, 30), st.integers(0, 9), st.sampled_from("ab")).map(
    lambda x: (x[0], x[0] + x[1], x[2])
)
truths = st.lists(stretch, max_size=7)
scored = st.lists(st.tuples(stretch, st.integers(0, 5)).map(lambda x: (*x[0], x[1] / 4)), max_size=9)
two = st.fixed_dictionaries({"x": truths, "y": truths})
two_scored = st.fixed_dictionaries({"x": scored, "y": scored})


def meet(x, y):
    return min(x[1], y[1]) - max(x[0], y[0])


def reference_ap(truth, returned, label, threshold):
    """Average precision of a class over recordings; equal scores enter together."""
    events = [(name, s, e) for name, side in truth.items() for s, e, c in side if c == label and s < e]
    ranked = sorted(
        (-score, name, s, e) for name, side in returned.items() for s, e, c, score in side if c == label and s < e
    )
    free, hits = set(range(len(events))), []
    for _, name, s, e in ranked:
        ious = []
        for k in free:
            where, ts, te = events[k]
            if where == name:
                ious.append((-meet((s, e), (ts, te)) / (max(e, te) - min(s, ts)), ts, te, k))
        best = min(ious, default=(0, 0, 0, 0))
        hits.append(-best[0] >= threshold)
        if hits[-1]:
            free.remove(best[3])
    points = []
    for k in range(len(ranked)):
        if k + 1 == len(ranked) or ranked[k + 1][0] != ranked[k][0]:
            points.append((sum(hits[: k + 1]), sum(hits[: k + 1]) / (k + 1)))
    total = sum((b[0] - a[0]) * max(p for n, p in points if n >= b[0]) for a, b in pairwise([(0, 0), *points]))
    return total / len(events) if events else None


@settings(max_examples=300)
@given(truth=two, returned=two_scored)
def test_average_precision_against_the_reference(truth, returned):
    result = mean_average_precision(truth, returned, thresholds=THUMOS)
    for label, found in result["classes"].items():
        for t in THUMOS:
            want = reference_ap(truth, returned, label, t)
            assert found[f"AP@{t:g}"] == (pytest.approx(want) if want is not None else None)
    known = [row["AP"] for row in result["classes"].values() if row["AP"] is not None]
    assert result["mAP"] == (pytest.approx(np.mean(known)) if known else None)
    assert (result["mAP"] is None) == ("mAP" in result["undefined"])


@settings(max_examples=100)
@given(truth=two, returned=two_scored)
def test_no_order_of_input_matters(truth, returned):
    turned = [{name: side[name][::-1] for name in reversed(side)} for side in (truth, returned)]
    assert mean_average_precision(truth, returned)["mAP"] == pytest.approx(mean_average_precision(*turned)["mAP"])
    assert collar_f1(truth, returned)["f1"] == collar_f1(*turned)["f1"]


def most_pairs(truth, returned, fits):
    """Size of the largest matching by trying everything."""
    if not truth:
        return 0
    first, rest = truth[0], truth[1:]
    best = most_pairs(rest, returned, fits)
    for k, r in enumerate(returned):
        if fits(first, r):
            best = max(best, 1 + most_pairs(rest, returned[:k] + returned[k + 1 :], fits))
    return best


@settings(max_examples=300)
@given(truth=st.lists(stretch, max_size=5), returned=st.lists(stretch, max_size=5), offsets=st.booleans())
def test_collar_f1_against_the_reference(truth, returned, offsets):
    def fits(t, r):
        end = abs(t[1] - r[1]) <= max(3, 0.5 * (t[1] - t[0]))
        return t[2] == r[2] and abs(t[0] - r[0]) <= 3 and (end or not offsets)

    result = collar_f1(truth, returned, collar_s=3, offsets=offsets)
    kept = [[x for x in side if x[0] < x[1]] for side in (truth, returned)]
    tp = most_pairs(*kept, fits)
    assert (result["tp"], result["fp"], result["fn"]) == (tp, len(kept[1]) - tp, len(kept[0]) - tp)


def disjoint(side):
    """Drop what overlaps an earlier stretch of the same class, and what is empty."""
    out = []
    for item in side:
        if item[0] < item[1] and not any(item[2] == x[2] and meet(item, x) > 0 for x in out):
            out.append(item)
    return out


def reference_criteria(truth, returned, label, dtc, gtc, cttc):
    own_t, own_r = ([x for x in side if x[2] == label] for side in (truth, returned))
    passed = [r for r in own_r if sum(max(0, meet(r, t)) for t in own_t) >= dtc * (r[1] - r[0])]
    tp = sum(sum(max(0, meet(r, t)) for r in passed) >= gtc * (t[1] - t[0]) for t in own_t)
    others = [t for t in truth if t[2] != label]
    crossed = sum(
        sum(max(0, meet(r, t)) for t in others) >= cttc * (r[1] - r[0]) for r in own_r if r not in passed and others
    )
    return tp, len(own_t) - tp, len(own_r) - len(passed), crossed


@settings(max_examples=300)
@given(truth=truths.map(disjoint), returned=scored.map(disjoint))
def test_intersection_criteria_against_the_reference(truth, returned):
    result = intersection_criteria(truth, returned, window=(0, 40), dtc=0.5, gtc=0.75, cttc=0.25)
    for label, found in result["classes"].items():
        tp, fn, fp, crossed = reference_criteria(truth, returned, label, 0.5, 0.75, 0.25)
        assert (found["tp"], found["fn"], found["fp"]) == (tp, fn, fp)
        assert sum(found["cross_triggers"].values()) == crossed
        assert found["tpr"] == (tp / (tp + fn) if tp + fn else None)
        for k, score in enumerate(found.get("curve", {"score": []})["score"]):
            above = [x for x in returned if x[3] >= score]
            tp, fn, fp, _ = reference_criteria(truth, above, label, 0.5, 0.75, 0.25)
            assert found["curve"]["fp_per_hour"][k] == pytest.approx(fp * 90)
            assert found["curve"]["tpr"] is None or found["curve"]["tpr"][k] == tp / (tp + fn)


def test_average_precision_worked_by_hand():
    """Precision at the hits is 1 and 2/3; a second return on a found event is false; the class 'b' has no event."""
    truth = [(0, 10, "a"), (20, 30, "a"), (40, 50, "a")]
    returned = [(0, 10, "a", 0.9), (0, 9, "a", 0.8), (21, 30, "a", 0.7), (0, 10, "b", 0.6)]
    result = mean_average_precision(truth, returned, thresholds=[0.5])
    assert result["mAP"] == pytest.approx((1 + 2 / 3) / 3)
    assert result["undefined"] == {f"classes.b.{name}": "no events in truth" for name in ("AP", "AP@0.5")}


def test_a_return_takes_the_next_best_event_that_is_free():
    truth, returned = [(0, 10, "a"), (2, 12, "a")], [(0, 10, "a", 0.9), (0.5, 10.5, "a", 0.8)]
    assert mean_average_precision(truth, returned, thresholds=[0.5])["mAP"] == 1


def test_thresholds_of_the_field():
    assert len(ACTIVITYNET) == 10
    assert "mAP@0.95" in mean_average_precision([(0, 1, "a")], [(0, 1, "a", 1)])


def test_decimal_times_on_the_collar_are_within_it():
    """2.2 - 2.0 is more than 0.2 in binary."""
    assert collar_f1([(2.0, 3.0)], [(2.2, 3.0)])["f1"] == 1
    assert collar_f1([(2.0, 3.0)], [(2.21, 3.0)])["f1"] == 0


def test_parts_that_cover_a_whole_do():
    cuts = [0, 0.1, 0.3, 0.7, 1.1]
    found = intersection_criteria([(0, 1.1, "a")], [(*x, "a") for x in pairwise(cuts)], window=(0, 2), dtc=1, gtc=1)
    assert found["tpr"] == 1


def test_the_window_cuts():
    result = intersection_criteria([(-10, 10, "a")], [(0, 10, "a"), (30, 40, "a")], window=(0, 20))
    assert result["classes"]["a"] == {"tpr": 1.0, "fp_per_hour": 0.0, "tp": 1, "fn": 0, "fp": 0}


def test_background_is_dropped_from_both_sides():
    truth, returned = [(0, 5, "bg"), (5, 9, "a")], [(0, 5, "bg"), (6, 9, "a")]
    assert collar_f1(truth, returned, background="bg")["f1"] == 0
    assert collar_f1(truth, returned)["f1"] == 0.5


def test_undefined_has_a_reason():
    result = evaluate([], [])
    assert result["collar"]["f1"] is None
    assert result["undefined"]["collar.f1"] == "no events and no returns"
    assert mean_average_precision([], [])["undefined"]["mAP"] == "no events in truth"
    assert intersection_criteria([], [(0, 1)], window=(0, 9))["undefined"]["tpr"] == "no events in truth"
    assert collar_f1([(0, 1)], [])["undefined"]["precision"] == "no returns"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: mean_average_precision([(0, 1, "a")], [(0, 1, "a")]), "no scores"),
        (lambda: mean_average_precision([], [(0, 1, "a", float("nan"))]), "finite"),
        (lambda: collar_f1([], [], collar_s=-1), "0 or more"),
        (lambda: collar_f1([], [], length_share=None), "length_share"),
        (lambda: intersection_criteria([], [], window=(0, 1), dtc=0), "dtc"),
        (lambda: intersection_criteria([], [(0, 2, "a", 1), (1, 3, "a", 2)], window=(0, 9)), "overlap"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(InputError, match=words):
        call()


def test_many_events_take_little_time():
    rng = np.random.default_rng(5)
    n = 100_000
    starts = np.arange(n) * 10.0
    truth = starts, starts + 8, rng.integers(0, 20, n)
    ends = starts + rng.normal(8, 1, n).clip(1, 8.5)
    returned = starts + rng.normal(0, 0.3, n), ends, truth[2], rng.random(n)
    calls = (
        lambda: mean_average_precision(truth, returned)["mAP"],
        lambda: collar_f1(truth, returned)["f1"],
        lambda: intersection_criteria(truth, returned, window=(0, 10 * n), cttc=0.3)["tpr"],
    )
    for call in calls:
        call()
        begun = time.process_time()
        assert 0 < call() < 1
        assert time.process_time() - begun < 2
