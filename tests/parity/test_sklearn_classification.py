"""``classification.evaluate`` against scikit-learn (independent implementation) on thousands of generated inputs."""

import numpy as np
import pytest

sklearn = pytest.importorskip("sklearn.metrics")

from gnomon.measures import classification, multilabel  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning:sklearn")

WORDS = np.array(["", "a", "A", "walking", "sitting down", "é", "日本", "10", "9", "z"])


def draw(rng):
    """Integers or text, 1 to 60 samples, up to 9 classes of which some never occur on one side."""
    n = int(rng.choice([1, 2, 3, int(rng.integers(4, 61))]))
    k = int(rng.integers(1, 10))
    truth = rng.integers(0, max(1, k - int(rng.integers(0, 3))), n)
    prediction = np.where(rng.random(n) < rng.random(), truth, rng.integers(0, k, n))
    kind = rng.integers(0, 4)
    if kind == 0:
        return WORDS[truth], WORDS[prediction]
    if kind == 1:
        offset = int(rng.choice([0, -3, 250, 10_000_000_000]))
        return truth + offset, prediction + offset
    if kind == 2:
        spread = int(rng.integers(1, 5000))
        return truth * spread, prediction * spread
    dtype = rng.choice(["uint8", "int16", "int32", "uint64"])
    return truth.astype(dtype), prediction.astype(dtype)


def expected(truth, prediction, labels, zero_division):
    out = {"accuracy": sklearn.accuracy_score(truth, prediction)}
    for average in ("macro", "weighted", "micro"):
        scores = sklearn.precision_recall_fscore_support(
            truth, prediction, labels=labels, average=average, zero_division=zero_division
        )
        out |= {f"{average}_{name}": s for name, s in zip(("precision", "recall", "f1"), scores, strict=False)}
    out["balanced_accuracy"] = sklearn.balanced_accuracy_score(truth, prediction)
    out["kappa"] = sklearn.cohen_kappa_score(truth, prediction)
    return out


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("zero_division", [0, 1])
def test_union_and_present(seed, zero_division):
    rng = np.random.default_rng([seed, zero_division])
    for _ in range(50):
        truth, prediction = draw(rng)
        for classes in ("union", "present"):
            labels = np.unique(truth) if classes == "present" else np.unique(np.concatenate([truth, prediction]))
            result = classification.evaluate(truth, prediction, classes=classes, zero_division=zero_division)
            for name, value in expected(truth, prediction, labels, zero_division).items():
                if np.isnan(value):
                    assert result[name] is None, (name, truth, prediction)
                    assert result["undefined"][name]
                else:
                    assert result[name] == pytest.approx(value, abs=1e-12), (name, classes, truth, prediction)
            check_classes(result, truth, prediction, labels, zero_division)


def check_classes(result, truth, prediction, labels, zero_division):
    assert result["classes"] == labels.tolist()
    matrix = sklearn.confusion_matrix(truth, prediction, labels=labels)
    assert np.array_equal(np.array(result["confusion"]).reshape(matrix.shape), matrix)
    rows = sklearn.precision_recall_fscore_support(truth, prediction, labels=labels, zero_division=zero_division)
    for index, label in enumerate(labels.tolist()):
        row = result["per_class"][label]
        assert [row["precision"], row["recall"], row["f1"]] == pytest.approx([r[index] for r in rows[:3]], abs=1e-12)
        assert row["support"] == rows[3][index]


@pytest.mark.parametrize("seed", range(10))
def test_explicit_class_lists(seed):
    rng = np.random.default_rng([77, seed])
    for _ in range(60):
        truth, prediction = draw(rng)
        pool = np.unique(np.concatenate([truth, prediction]))
        labels = rng.permutation(pool)[: int(rng.integers(1, len(pool) + 1))]
        if not np.isin(truth, labels).any():
            continue  # scikit-learn refuses label lists without a true label
        result = classification.evaluate(truth, prediction, classes=labels.tolist())
        want = expected(truth, prediction, labels, 0)
        for name in (f"{a}_{m}" for a in ("macro", "weighted", "micro") for m in ("f1", "precision", "recall")):
            assert result[name] == pytest.approx(want[name], abs=1e-12), (name, labels, truth, prediction)
        check_classes(result, truth, prediction, labels, 0)


def test_a_listed_class_that_never_occurs_counts_as_zero():
    truth, prediction = ["a", "a", "b"], ["a", "b", "b"]
    ours = classification.evaluate(truth, prediction, classes=["a", "b", "c"])["macro_f1"]
    assert ours == pytest.approx(sklearn.f1_score(truth, prediction, labels=["a", "b", "c"], average="macro"))


@pytest.mark.parametrize("seed", range(8))
def test_multilabel(seed):
    rng = np.random.default_rng([5, seed])
    for _ in range(40):
        n, k = int(rng.integers(1, 40)), int(rng.integers(2, 6))  # the peer reads one column as single labels
        truth = rng.random((n, k)) < rng.random()
        prediction = truth ^ (rng.random((n, k)) < rng.random() / 2)
        result = multilabel.evaluate(truth, prediction, classes=[str(i) for i in range(k)])
        for average in ("micro", "macro", "weighted"):
            want = sklearn.precision_recall_fscore_support(truth, prediction, average=average, zero_division=0)
            for name, value in zip(("precision", "recall", "f1"), want, strict=False):
                ours = result[f"{average}_{name}"]
                if ours is None:
                    assert value == 0 or not (truth.any() and prediction.any())
                else:
                    assert ours == pytest.approx(value, abs=1e-12)
        assert result["exact_match"] == pytest.approx(sklearn.accuracy_score(truth, prediction))
