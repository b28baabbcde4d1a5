"""``classification.evaluate`` equals scikit-learn on thousands of generated inputs."""

import warnings

import numpy as np
from sklearn import metrics

from acceptance.support import Promise
from gnomon.measures.classification import evaluate

WORDS = np.array([f"{word}{i}" for i in range(10) for word in ("walk", "sit", "é", "Z ", "10", "9")])


def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    n = int(rng.choice([1, 2, 3, 10, 200]))
    k = int(rng.choice([1, 2, 3, 7, 60]))
    truth = rng.integers(0, max(1, k - int(rng.integers(0, 3))), n)
    prediction = np.where(rng.random(n) < rng.random(), truth, rng.integers(0, k, n))
    kind = rng.integers(0, 3)
    if kind == 0:
        return WORDS[truth], WORDS[prediction]
    shift = int(rng.choice([0, -5, 1_000_000]))
    return (truth + shift, prediction + shift) if kind == 1 else (truth.astype(np.uint8), prediction.astype(np.uint8))


def expected(truth: np.ndarray, prediction: np.ndarray) -> dict[str, float]:
    out = {"accuracy": metrics.accuracy_score(truth, prediction)}
    for average in ("macro", "weighted", "micro"):
        out[f"{average}_f1"] = metrics.f1_score(truth, prediction, average=average, zero_division=0)
        out[f"{average}_precision"] = metrics.precision_score(truth, prediction, average=average, zero_division=0)
        out[f"{average}_recall"] = metrics.recall_score(truth, prediction, average=average, zero_division=0)
    out["balanced_accuracy"] = metrics.balanced_accuracy_score(truth, prediction)
    out["kappa"] = metrics.cohen_kappa_score(truth, prediction)
    return out


def main() -> None:
    warnings.simplefilter("ignore")
    promise, rng = Promise(), np.random.default_rng(2026)
    worst, inputs, undefined = 0.0, 3000, 0
    matrices = True
    for _ in range(inputs):
        truth, prediction = draw(rng)
        result = evaluate(truth, prediction)
        for name, value in expected(truth, prediction).items():
            if np.isnan(value):
                undefined += 1
                matrices &= result[name] is None and bool(result["undefined"][name])
            else:
                worst = max(worst, abs(result[name] - value))
        matrices &= np.array_equal(result["confusion"], metrics.confusion_matrix(truth, prediction))
    promise.figure("inputs compared (11 scores and the matrix of each)", inputs, "thousands", inputs >= 2000)
    promise.at_most("largest difference of any score", worst, 1e-12)
    promise.figure("matrices equal; NaN of the peer is None with a reason", f"{undefined} NaN met", "all", matrices)
    empty = evaluate([], [])
    none = all(empty[name] is None for name in ("accuracy", "macro_f1", "weighted_f1", "micro_f1", "balanced_accuracy"))
    promise.figure("0 samples", empty["undefined"].get("accuracy", ""), "undefined, with reasons", none)
    promise.close()


if __name__ == "__main__":
    main()
