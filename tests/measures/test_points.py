"""Points: worked by hand, against scikit-learn, and the fold against the plain function."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

from gnomon.core.errors import InputError
from gnomon.core.scans import BOX_CLASSES, CHANGES, PointLabels
from gnomon.core.tallies import Tallies
from gnomon.measures import points
from gnomon.measures.points import (
    PointAccuracy,
    PointClassF1,
    PointF1,
    PointF1OfMeans,
    PointPrecision,
    evaluate,
)

codes = st.lists(st.integers(0, 2), min_size=1, max_size=50)


def test_worked():
    """By hand: 5 unchanged of which 1 called added, 2 added of which 1 found, 1 removed and missed."""
    result = evaluate([0, 0, 0, 0, 0, 1, 1, 2], [0, 0, 0, 0, 1, 1, 0, 0])
    assert result["accuracy"] == 5 / 8
    assert result["confusion"] == [[4, 1, 0], [1, 1, 0], [1, 0, 0]]
    assert result["per_class"]["Add"] == {
        "precision": 0.5, "recall": 0.5, "f1": 0.5, "support": 2, "predicted": 2, "tp": 1,
    }  # fmt: skip
    assert (result["per_class"]["Remove"]["precision"], result["per_class"]["Remove"]["recall"]) == (None, 0.0)
    assert result["macro3"]["f1"] == pytest.approx((8 / 11 + 0.5 + 0) / 3)
    assert result["macro2"]["f1"] == pytest.approx(0.25)
    assert result["macro2"]["precision"] == 0.5
    assert result["macro2"]["recall"] == 0.25
    assert result["macro2"]["f1_of_means"] == pytest.approx(1 / 3)
    assert result["undefined"] == {
        "per_class.Remove.precision": "class 'Remove' does not occur in prediction",
    }
    assert (result["n"], result["classes"]) == (8, ["NoChange", "Add", "Remove"])


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_against_scikit_learn(data):
    truth = data.draw(codes)
    prediction = data.draw(st.lists(st.integers(0, 2), min_size=len(truth), max_size=len(truth)))
    result = evaluate(np.array(truth, np.uint8), np.array(prediction, np.uint8))
    assert result["confusion"] == confusion_matrix(truth, prediction, labels=[0, 1, 2]).tolist()
    peers = precision_recall_fscore_support(truth, prediction, labels=[0, 1, 2], zero_division=np.nan)
    for kind, values in zip(("precision", "recall", "f1"), peers, strict=False):
        found = [result["per_class"][label][kind] for label in CHANGES]
        assert [np.nan if value is None else value for value in found] == pytest.approx(values.tolist(), nan_ok=True)
        for name, part in (("macro3", values), ("macro2", values[1:])):
            known = part[~np.isnan(part)]
            expected = known.mean() if len(known) else None
            assert result[name][kind] == (None if expected is None else pytest.approx(expected))
            assert (f"{name}.{kind}" in result["undefined"]) == (expected is None)


def test_types_of_codes_do_not_matter():
    rng = np.random.default_rng(0)
    truth, prediction = rng.integers(0, 3, (2, 1000))
    expected = evaluate(truth.tolist(), prediction.tolist())
    for dtype in (np.uint8, np.int8, np.int16, np.uint32, np.int64):
        assert evaluate(truth.astype(dtype), prediction.astype(dtype)) == expected


def test_nothing_is_undefined():
    result = evaluate([], np.zeros(0, np.uint8))
    assert result["accuracy"] is None
    assert set(result["undefined"].values()) == {"no points"}


@pytest.mark.parametrize("dtype", [np.uint8, np.int64])
def test_folding_scenes_is_evaluating_their_points_together(dtype):
    rng = np.random.default_rng(1)
    scenes = [rng.integers(0, 3, (2, n)).astype(dtype) for n in (50, 0, 7)]
    rows = [PointF1().tally(PointLabels(a, CHANGES), PointLabels(b, CHANGES)) for a, b in scenes]
    totals = Tallies.stack(rows).total()
    expected = evaluate(*np.concatenate(scenes, axis=1))
    for measure, value in (
        (PointAccuracy(), expected["accuracy"]),
        (PointF1(), expected["macro3"]["f1"]),
        (PointF1(classes=BOX_CLASSES), expected["macro2"]["f1"]),
        (PointF1OfMeans(classes=BOX_CLASSES), expected["macro2"]["f1_of_means"]),
        (PointPrecision(), expected["macro3"]["precision"]),
        (PointClassF1("Add"), expected["per_class"]["Add"]["f1"]),
    ):
        assert float(measure.score(totals).values) == pytest.approx(value)


def test_names_tell_the_class_sets_apart():
    assert PointF1().name == "point_macro3_f1"
    assert PointF1(classes=BOX_CLASSES).name == "point_macro2_f1"
    assert PointF1(classes="union").name == "point_macro_f1"
    assert PointAccuracy().name == "point_accuracy"
    assert PointClassF1("Add").name == "point_f1[Add]"
    assert PointF1OfMeans().name == "point_f1_of_macro3_means"


def test_a_missing_prediction_counts_as_wrong():
    truth, none = PointLabels([0, 1], CHANGES), PointLabels([0, -1], CHANGES)
    totals = PointAccuracy().tally(truth, none).total()
    assert float(PointAccuracy().score(totals).values) == 0.5


@pytest.mark.parametrize(
    ("truth", "prediction", "message"),
    [
        ([0, 3], [0, 1], r"truth\[1\] is 3, expected a code in \[0, 3\)"),
        ([0, 1], [0, -1], r"prediction\[1\] is -1"),
        ([0.0, 1.0], [0, 1], "truth: expected one code 0 .NoChange., 1 .Add. or 2 .Remove. per point, but got float64"),
        ([0, 1], ["Add", "Add"], "prediction: expected one code"),
        ([0, 1], [0], "inputs differ in length"),
        ([[0, 1]], [0, 1], "truth: expected one code"),
        ([True, False], [0, 1], "truth: expected one code"),
        ([[0], [0, 1]], [0, 1], "truth: expected one code"),
    ],
)
def test_bad_input_is_refused(truth, prediction, message):
    with pytest.raises(InputError, match=message):
        evaluate(truth, prediction)


def test_scenes_of_different_lengths_are_refused():
    with pytest.raises(InputError, match="expected as many predictions as truths"):
        PointF1().tally(PointLabels(np.zeros(2, np.uint8), CHANGES), PointLabels(np.zeros(3, np.uint8), CHANGES))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=9), min_size=1, max_size=6), st.data()
)
def test_scenes_together_are_scenes_alone(scenes, data):
    """The rows of scenes that are counted one by one are the reference, in one go and by the kernels for long rows."""
    sides = [[PointLabels(np.array([both[n] for both in own], np.uint8), CHANGES) for own in scenes] for n in range(2)]
    expected = Tallies.stack([PointF1().tally(*both) for both in zip(*sides, strict=True)])
    whole = [PointLabels(np.concatenate([own.codes for own in side]), CHANGES) for side in sides]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(points, "FEW", data.draw(st.sampled_from([0, 1 << 13])))
        found = PointF1().tally_scenes(*whole, [len(own) for own in scenes])
    assert Tallies.stack([found]) == expected


@pytest.mark.parametrize(("n", "m", "sizes"), [(3, 3, [1, 1]), (3, 2, [1, 2]), (2, 3, [1, 1])])
def test_scenes_that_are_not_all_of_the_points_are_refused(n, m, sizes):
    sides = (PointLabels(np.zeros(size, np.uint8), CHANGES) for size in (n, m))
    with pytest.raises(InputError, match=rf"expected {sum(sizes)} points of scenes .*, but got {n} and {m}"):
        PointF1().tally_scenes(*sides, sizes)
