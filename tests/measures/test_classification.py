"""Edge cases of the plain face. Expected values by hand; parity with scikit-learn is tested elsewhere."""

import numpy as np
import pytest

from gnomon.core.errors import InputError
from gnomon.core.signals import NONE, Labels
from gnomon.measures import classification as c
from gnomon.measures import multilabel


def test_no_samples_is_undefined_everywhere():
    result = c.evaluate([], [])
    numbers = [key for key in result if key not in ("classes", "per_class", "confusion", "n", "undefined")]
    assert all(result[key] is None for key in numbers)
    assert set(result["undefined"]) == set(numbers)
    assert result["n"] == 0
    assert result["confusion"] == []


def test_one_sample():
    right, wrong = c.evaluate([3], [3]), c.evaluate(["a"], ["b"])
    assert (right["accuracy"], right["macro_f1"], right["kappa"]) == (1.0, 1.0, None)
    assert (wrong["accuracy"], wrong["macro_f1"], wrong["kappa"]) == (0.0, 0.0, 0.0)


def test_labels_keep_their_own_values():
    assert list(c.evaluate([10, 9], [9, 9])["per_class"]) == [9, 10]
    assert list(c.evaluate(["10", "9"], ["9", "9"])["per_class"]) == ["10", "9"]
    assert list(c.evaluate([True, False], [True, True])["per_class"]) == [False, True]
    assert list(c.evaluate(np.array([-5, 2**40]), [2**40, -5])["per_class"]) == [-5, 2**40]


def test_zero_division_policies():
    """Class b is never predicted: its precision is 0/0."""
    truth, prediction = ["a", "b"], ["a", "a"]
    assert c.evaluate(truth, prediction)["macro_precision"] == pytest.approx(0.25)
    assert c.evaluate(truth, prediction, zero_division=1)["macro_precision"] == pytest.approx(0.75)
    undefined = c.evaluate(truth, prediction, zero_division=None)
    assert undefined["macro_precision"] == pytest.approx(0.5)
    assert undefined["per_class"]["b"]["precision"] is None
    assert undefined["undefined"]["per_class.b.precision"] == "class 'b' does not occur in prediction"


@pytest.mark.parametrize(
    ("truth", "prediction", "words"),
    [
        ([1, 2], [1], "as many predictions as truths"),
        ([1.0, 2.0], [1, 2], "integers or text"),
        ([1, "a"], [1, "a"], "all integers or all text"),
        ([1, 2], ["a", "b"], "different kinds"),
        ("ab", "ab", "sequence of labels"),
        ([[1], [2]], [[1], [2]], "one label per sample"),
        ([None, 1], [1, 1], "integers"),
        (np.array([{}], dtype=object), [1], "all integers or all text"),
        ([2**70], [1], "64 bits"),
        (["\ud800"], ["a"], "not valid text"),
    ],
)
def test_bad_labels_are_refused(truth, prediction, words):
    with pytest.raises(InputError, match=words):
        c.evaluate(truth, prediction)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"classes": "all"}, "'union', 'present'"),
        ({"classes": [1, 1]}, "distinct"),
        ({"classes": ["a"]}, "not of the kind"),
        ({"zero_division": 0.5}, "0, 1 or None"),
    ],
)
def test_bad_options_are_refused(options, words):
    with pytest.raises(InputError, match=words):
        c.evaluate([1, 2], [1, 2], **options)


def test_many_classes_have_no_dense_matrix():
    labels = np.arange(5000)
    result = c.evaluate(labels, labels)
    assert result["confusion"] is None
    assert "5000 classes" in result["undefined"]["confusion"]
    assert result["macro_f1"] == 1.0


def test_missing_predictions_are_wrong():
    truth, prediction = Labels(np.array([0, 0, 1]), ("a", "b")), Labels(np.array([0, NONE, 1]), ("a", "b"))
    totals = c.Accuracy().tally(truth, prediction).total()
    assert float(c.Accuracy().score(totals).values) == pytest.approx(2 / 3)
    assert totals["predicted"].tolist() == [1, 1]


def test_missing_truth_is_refused():
    with pytest.raises(InputError, match="truth of sample 1 is missing"):
        c.Accuracy().tally(Labels(np.array([0, NONE]), ("a",)), Labels(np.array([0, 0]), ("a",)))


def test_frozen_class_without_support_is_skipped_in_a_replicate():
    """Two groups, class b only in the second: a replicate of the first group twice must not count b as 0."""
    first = c.F1().tally(Labels(np.array([0, 0]), ("a",)), Labels(np.array([0, 0]), ("a",)))
    second = c.F1().tally(Labels(np.array([1]), ("a", "b")), Labels(np.array([1]), ("a", "b")))
    both = c.Tallies.stack([first, second])
    frozen = c.F1().freeze(both.total())
    replicate = both.weighted(np.array([[2, 0]]))
    assert c.F1().score(replicate, frozen).values.tolist() == [1.0]


def test_multilabel_shapes():
    assert multilabel.evaluate([{"a"}, set()], [{"a"}, set()])["exact_match"] == 1.0
    assert multilabel.evaluate([set()], [set()])["micro_f1"] is None
    matrix = np.array([[1, 0], [1, 1]])
    assert multilabel.evaluate(matrix, matrix, labels=["x", "y"])["macro_f1"] == 1.0
    with pytest.raises(InputError, match="wrap each in a list"):
        multilabel.evaluate(["a"], ["a"])
    with pytest.raises(InputError, match="0-1 array"):
        multilabel.evaluate(np.array([[2]]), np.array([[1]]))


@pytest.mark.parametrize("kind", [c.ClassF1, c.ClassPrecision, c.ClassRecall])
def test_a_class_has_the_support_of_its_own_truth(kind):
    """By hand: 'b' is true in the second of two cases, 'z' in none, and predicted in the first."""
    classes = ("a", "b", "z")
    truth, prediction = Labels(np.array([0, 0, 1]), classes), Labels(np.array([2, 0, 1]), classes)
    tallies = c.tally_cases(truth, prediction, np.array([0, 0, 1]), 2)
    found = {label: kind(label).support(tallies.each(), None).tolist() for label in "abzq"}
    assert found == {"a": [[True], [False]], "b": [[False], [True]], "z": [[False]] * 2, "q": [[False]] * 2}
