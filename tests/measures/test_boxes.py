"""Boxes of one scene: cases by hand, brute force over assignments, average precision by its definition, errors."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.core.scans import Boxes
from gnomon.measures.boxes import THRESHOLDS, average_precision, detections, evaluate
from gnomon.numerics.assignment import ORDERS

UNIT = [0, 0, 0, 1, 1, 1]


def along_x(*intervals):
    """Intervals of x times the unit square."""
    return [[a, 0, 0, b, 1, 1] for a, b in intervals]


@pytest.mark.parametrize(
    ("order", "tp", "total"),
    [
        ("hungarian-then-filter", 1, 0.7778),
        ("gated-hungarian", 2, 0.8831),
        ("max-cardinality", 2, 0.8831),
        ("greedy", 1, 0.7778),
    ],
)
def test_the_published_order_loses_a_match(order, tp, total):
    """Hand-computed: IoU of predictions (rows) and truths is [[.4545, .1111], [.7778, .4286]]."""
    truth, prediction = along_x((0.4, 1.3), (0.8, 1.1)), along_x((0.2, 0.9), (0.6, 1.3))
    result = evaluate(truth, prediction, matching=order)
    assert (result["tp"], result["fp"], result["fn"]) == (tp, 2 - tp, 2 - tp)
    assert sum(iou for _, _, iou in result["matches"]) == pytest.approx(total, abs=5e-5)
    assert (result["matching"], result["iou"]) == (order, 0.25)


def test_max_cardinality_finds_what_the_gated_order_loses():
    """Hand-computed: IoU of predictions (rows) and truths is [[.2778, .7647], [0, .4286]]."""
    prediction, truth = along_x((0, 1.6), (0.3, 0.9)), along_x((1.1, 1.8), (0.3, 1.7))
    found = {order: evaluate(truth, prediction, matching=order) for order in ORDERS}
    assert {order: result["tp"] for order, result in found.items()} == {
        "hungarian-then-filter": 1,
        "gated-hungarian": 1,
        "max-cardinality": 2,
        "greedy": 1,
    }
    assert found["gated-hungarian"]["mean_iou"] == pytest.approx(1.3 / 1.7)
    assert found["max-cardinality"]["mean_iou"] == pytest.approx((0.5 / 1.8 + 0.6 / 1.4) / 2)


def test_everything_in_one_scene():
    """By hand: one perfect Add, one half-hit Remove, a false Add, a missed Remove."""
    truth = [UNIT, [5, 0, 0, 6, 1, 1], [9, 0, 0, 10, 1, 1]]
    prediction = [[5, 0, 0, 6, 1, 0.5], UNIT, [20, 0, 0, 21, 1, 1]]
    result = evaluate(
        truth, prediction, truth_class=["Add", "Remove", "Remove"], prediction_class=["Remove", "Add", "Add"]
    )
    assert result["matches"] == [(0, 1, 1.0), (1, 0, 0.5)]
    assert (result["precision"], result["recall"], result["f1"]) == pytest.approx((2 / 3, 2 / 3, 2 / 3))
    assert result["mean_iou"] == 0.75
    add, remove = result["per_class"]["Add"], result["per_class"]["Remove"]
    assert (add["precision"], add["recall"], add["f1"], add["mean_iou"]) == pytest.approx((0.5, 1, 2 / 3, 1))
    assert (remove["precision"], remove["recall"], remove["f1"], remove["mean_iou"]) == pytest.approx(
        (1, 0.5, 2 / 3, 0.5)
    )
    assert (add["tp"], add["fp"], add["fn"], remove["tp"], remove["fp"], remove["fn"]) == (1, 1, 0, 1, 0, 1)
    assert result["macro"] == pytest.approx({"precision": 0.75, "recall": 0.75, "f1": 2 / 3, "f1_of_means": 0.75})
    assert result["undefined"] == {}
    assert "average_precision" not in result


def test_boxes_of_different_classes_do_not_match():
    result = evaluate([UNIT], [UNIT], truth_class=["Add"], prediction_class=["Remove"])
    assert (result["tp"], result["fp"], result["fn"]) == (0, 1, 1)
    assert result["f1"] == 0.0
    assert result["macro"]["f1"] == 0.0
    assert result["undefined"]["per_class.Add.precision"] == "no predicted boxes"
    assert result["undefined"]["per_class.Remove.recall"] == "no true boxes"


def test_what_is_undefined_is_none_with_a_reason():
    nothing = evaluate([], [])
    assert [nothing[name] for name in ("precision", "recall", "f1", "mean_iou")] == [None] * 4
    assert nothing["undefined"] == {
        "precision": "no predicted boxes",
        "recall": "no true boxes",
        "f1": "no boxes in truth or prediction",
        "mean_iou": "no matched boxes",
        **{f"macro.{name}": "no classes were given" for name in ("precision", "recall", "f1", "f1_of_means")},
    }
    silent = evaluate([UNIT], np.zeros((0, 7)))
    assert (silent["precision"], silent["recall"], silent["f1"]) == (None, 0.0, 0.0)
    wrong = evaluate(np.zeros((0, 8, 3)), [UNIT])
    assert (wrong["precision"], wrong["recall"], wrong["f1"]) == (0.0, None, 0.0)
    both = evaluate([UNIT], [UNIT], truth_class=[1], prediction_class=[1])
    assert both["undefined"] == {}
    assert both["per_class"][1]["f1"] == 1.0


def test_forms_may_differ_between_the_sides():
    corners = list(itertools.product((0, 1), repeat=3))
    forms = ([UNIT], [[0.5, 0.5, 0.5, 1, 1, 1, np.pi / 2]], [corners])
    for truth, prediction in itertools.product(forms, forms):
        assert evaluate(truth, prediction)["matches"] == [(0, 0, pytest.approx(1))]


boxes = st.lists(st.tuples(*[st.integers(0, 4)] * 3, *[st.integers(1, 3)] * 3), max_size=5).map(
    lambda rows: np.array(
        [[*row[:3], *(a + b for a, b in zip(row[:3], row[3:], strict=True))] for row in rows], float
    ).reshape(-1, 6)
)


def iou_of(a, b):
    common = np.prod(np.maximum(np.minimum(a[3:], b[3:]) - np.maximum(a[:3], b[:3]), 0))
    return common / (np.prod(a[3:] - a[:3]) + np.prod(b[3:] - b[:3]) - common)


@settings(max_examples=60, deadline=None)
@given(boxes, boxes)
def test_against_all_assignments_of_boxes_on_a_grid(truth, prediction):
    """Brute force in the test: every permutation of padded indices; ties by the stated rule."""
    size = max(len(truth), len(prediction))
    matrix = np.zeros((size, size))
    for i, j in itertools.product(range(len(truth)), range(len(prediction))):
        matrix[i, j] = iou_of(truth[i], prediction[j])
    keys = {"hungarian-then-filter": [], "gated-hungarian": [], "max-cardinality": []}
    for columns in itertools.permutations(range(size)):
        values = matrix[range(size), columns]
        kept = values[values >= 0.25 - 1e-9]
        inside = round(1e6 * kept.sum())
        keys["hungarian-then-filter"].append((round(1e6 * values.sum()), len(kept), inside))
        keys["gated-hungarian"].append((inside, len(kept), inside))
        keys["max-cardinality"].append((1e9 * len(kept) + inside, len(kept), inside))
    for order, found in keys.items():
        result = evaluate(truth, prediction, matching=order)
        _, tp, inside = max(found)
        assert result["tp"] == tp
        assert 1e6 * sum(iou for _, _, iou in result["matches"]) == pytest.approx(inside, abs=5)


@pytest.mark.parametrize("order", ORDERS)
@settings(max_examples=60, deadline=None)
@given(truth=boxes, prediction=boxes, seed=st.integers(0, 999))
def test_the_order_of_rows_changes_neither_counts_nor_sums(order, truth, prediction, seed):
    rng = np.random.default_rng(seed)
    score = rng.integers(0, 3, len(prediction)) / 2
    rows, columns = rng.permutation(len(truth)), rng.permutation(len(prediction))
    before = evaluate(truth, prediction, matching=order, score=score)
    after = evaluate(truth[rows], prediction[columns], matching=order, score=score[columns])
    assert (after["tp"], after["fp"], after["fn"]) == (before["tp"], before["fp"], before["fn"])
    assert after["mean_iou"] == pytest.approx(before["mean_iou"])
    for name in ("mAP", "mAP@0.25", "mAP@0.5", "mAP@0.95"):
        assert after["average_precision"][name] == pytest.approx(before["average_precision"][name])


def reference_ap(truths, rows, threshold):
    """Average precision by its definition: truths by scene; rows of (score, scene, box), the most certain first."""
    free = {scene: list(range(len(side))) for scene, side in truths.items()}
    hits = []
    for _, scene, box in sorted(rows, key=lambda row: -row[0]):
        found = max(((iou_of(truths[scene][k], box), -k) for k in free.get(scene, [])), default=(0, 0))
        hits.append(found[0] >= threshold)
        if hits[-1]:
            free[scene].remove(-found[1])
    total = sum(len(side) for side in truths.values())
    precision = [sum(hits[: k + 1]) / (k + 1) for k in range(len(hits))]
    return sum(max(precision[k:]) for k in range(len(hits)) if hits[k]) / total


@pytest.mark.parametrize("seed", range(25))
def test_average_precision_by_its_definition(seed):
    """Two classes, three scenes, distinct scores; the reference is in this file."""
    rng = np.random.default_rng(seed)
    n, m = 14, 18
    low = rng.uniform(0, 3, (n, 3))
    truth = np.c_[low, low + rng.uniform(0.5, 2, (n, 3))]
    near = rng.integers(0, n, m)
    prediction = truth[near] + rng.normal(0, 0.1, (m, 6))
    scenes, classes = rng.integers(0, 3, n), rng.choice(["Add", "Remove"], n)
    score = rng.permutation(m) / m
    result = average_precision(
        truth,
        prediction,
        score,
        truth_class=classes,
        prediction_class=classes[near],
        truth_scene=scenes,
        prediction_scene=scenes[near],
    )
    for label in set(classes):
        truths = {s: truth[(scenes == s) & (classes == label)] for s in range(3)}
        rows = [(score[k], scenes[near[k]], prediction[k]) for k in range(m) if classes[near[k]] == label]
        expected = [reference_ap(truths, rows, threshold) for threshold in THRESHOLDS]
        found = result["classes"][label]
        assert [found[f"AP@{threshold:g}"] for threshold in THRESHOLDS] == pytest.approx(expected)
        assert found["AP"] == pytest.approx(np.mean(expected))
    known = [result["classes"][label]["AP@0.5"] for label in set(classes)]
    assert result["mAP@0.5"] == pytest.approx(np.mean(known))
    assert result["mAP"] == pytest.approx(np.mean([result[f"mAP@{threshold:g}"] for threshold in THRESHOLDS]))


def test_average_precision_worked_and_undefined():
    """By hand: a hit, a miss, a hit over two truths is 1/2 + 1/2 * 2/3; equal scores are one block: 2/3 throughout."""
    truth = [UNIT, [5, 0, 0, 6, 1, 1]]
    prediction = [UNIT, [20, 0, 0, 21, 1, 1], [5, 0, 0, 6, 1, 1]]
    assert THRESHOLDS == (0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
    assert average_precision(truth, prediction, [0.9, 0.8, 0.7])["mAP"] == pytest.approx(5 / 6)
    assert average_precision(truth, prediction, [0.5, 0.5, 0.5])["mAP"] == pytest.approx(2 / 3)
    assert evaluate(truth, prediction, score=[0.9, 0.8, 0.7])["average_precision"]["mAP@0.25"] == pytest.approx(5 / 6)
    alone = average_precision([], [UNIT], [0.5], thresholds=[0.5])
    assert (alone["mAP"], alone["undefined"]) == (None, {"mAP": "no true boxes", "mAP@0.5": "no true boxes"})
    assert average_precision([UNIT], [], [])["mAP"] == 0.0


def test_rows_of_a_scene_give_the_same_average_precision():
    """The ledger's rows, ranked and integrated here by the definition, against the function on the same boxes."""
    rng = np.random.default_rng(3)
    low = rng.uniform(0, 2, (9, 3))
    truth = np.c_[low, low + 1]
    prediction, score = truth + rng.normal(0, 0.15, truth.shape), rng.permutation(9) / 9
    codes = rng.integers(0, 2, 9)
    classes = ("Add", "Remove")
    ledger = detections(Boxes(truth, codes, classes), Boxes(prediction, codes, classes, score), (0.25, 0.5))
    assert set(ledger.columns) == {"class", "score", "returned", "truths", "hit_0p25", "hit_0p5"}
    assert ledger.labels == {"class": classes}
    assert ledger.columns["truths"].sum() == 9
    returned = ledger.columns["returned"] == 1
    assert np.isnan(ledger.columns["score"][~returned]).all()
    expected = average_precision(
        truth, prediction, score, truth_class=codes, prediction_class=codes, thresholds=(0.25, 0.5)
    )
    for code, (name, column) in itertools.product((0, 1), (("AP@0.25", "hit_0p25"), ("AP@0.5", "hit_0p5"))):
        own = ledger.columns["class"] == code
        rows = np.flatnonzero(returned & own)
        hits = ledger.columns[column][rows[np.argsort(-ledger.columns["score"][rows])]]
        precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
        total = sum(precision[k:].max() for k in np.flatnonzero(hits))
        assert total / ledger.columns["truths"][own].sum() == pytest.approx(expected["classes"][code][name])
    empty = detections(Boxes(np.zeros((0, 6)), [], classes), Boxes(np.zeros((0, 6)), [], classes))
    assert len(empty) == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"truth": [[0, 0, 0, 1, 1, -1]]}, "truth: box 0 has a minimum above its maximum"),
        ({"prediction": [UNIT, [0, 0, 0, 1, 1, 0]]}, "prediction: box 1 is flat"),
        ({"iou": 0}, "iou: expected values above 0 and up to 1, but got 0"),
        ({"iou": 1.5}, "iou: expected values above 0"),
        ({"iou": "half"}, "iou: expected numbers"),
        ({"iou": [0.25, 0.5]}, "iou: expected one number"),
        ({"matching": "best"}, "matching: expected one of hungarian-then-filter"),
        ({"truth_class": ["Add"]}, "one side has labels and the other has none"),
        ({"truth_class": ["Add", "Add"], "prediction_class": ["Add"]}, "truth_class: expected one for each of 1 boxes"),
        ({"truth_class": ["Add"], "prediction_class": [1]}, "labels that are all integers or all text"),
        ({"truth_class": "A", "prediction_class": "B"}, "expected a sequence of labels"),
        ({"score": [0.5, 0.5]}, "score: expected one for each of 1 boxes, but got 2"),
        ({"score": 0.5}, "score: expected one for each of 1 boxes, but got 0.5"),
        ({"score": [np.nan]}, "score: expected finite numbers"),
        ({"score": ["high"]}, "score: expected numbers"),
    ],
)
def test_bad_input_is_refused(change, message):
    with pytest.raises(InputError, match=message):
        evaluate(**{"truth": [UNIT], "prediction": [UNIT], **change})


def test_a_large_scene_keeps_its_results():
    """Random boxes of which the published order is compared with scipy's dense assignment."""
    from scipy.optimize import linear_sum_assignment

    rng = np.random.default_rng(0)
    low = rng.uniform(0, 4, (150, 3))
    truth = np.c_[low, low + rng.uniform(0.3, 1.5, (150, 3))]
    prediction = truth[rng.permutation(150)] + rng.normal(0, 0.1, (150, 6))
    fine = (prediction[:, :3] < prediction[:, 3:]).all(axis=1)
    prediction = prediction[fine]
    matrix = np.array([[iou_of(a, b) for b in prediction] for a in truth])
    i, j = linear_sum_assignment(matrix, maximize=True)
    kept = matrix[i, j] >= 0.25
    result = evaluate(truth, prediction)
    assert [(a, b) for a, b, _ in result["matches"]] == list(zip(i[kept].tolist(), j[kept].tolist(), strict=True))
    assert result["mean_iou"] == pytest.approx(matrix[i, j][kept].mean())
