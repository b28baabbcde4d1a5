"""IoU and one-to-one matching of many boxes, against a dense matrix and dense assignment.

The peer broadcasts numpy arrays over all pairs, one axis after another (which is the fastest way to do so), and calls
``linear_sum_assignment`` of scipy: then the filter for the published order; for the strict order the filter first, and
a bonus for every pair that outweighs any sum of IoU. Both sides run in this process, in turns; times are CPU time.

``sparse`` has boxes that hardly overlap others, ``clutter`` about 50 others each, half of the predictions near a truth.
A matched pair on one side that is not matched on the other is an error, not a row.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy
from benchmarks.harness import BenchmarkError, Context, Row, in_turns
from scipy.optimize import linear_sum_assignment

from gnomon.measures.boxes import evaluate

THRESHOLD = 0.25
EXTENTS = {"sparse": 40.0, "clutter": 5.75}  # metres, for 5,000 boxes
ORDERS = {"published": "hungarian-then-filter", "strict": "max-cardinality"}


def rows(context: Context) -> Iterator[Row]:
    n = 500 if context.quick else 5000
    for kind, extent in EXTENTS.items():
        truth, prediction = scenes(n, extent * (n / 5000) ** (1 / 3))
        for variant, order in ORDERS.items():
            yield compare(kind, variant, order, truth, prediction, rounds=2 if context.quick else 3)


def compare(kind: str, variant: str, order: str, truth: np.ndarray, prediction: np.ndarray, rounds: int) -> Row:
    """Time one order on one scene."""
    found = evaluate(truth, prediction, matching=order)["matches"]
    expected = dense(truth, prediction, order)
    pairs = [(i, j) for i, j, _ in found]
    if pairs != expected:
        raise BenchmarkError(f"{kind}, {order}: {len(set(pairs) ^ set(expected))} matches differ from the dense ones")
    best = in_turns(
        rounds,
        ours=cpu(lambda: evaluate(truth, prediction, matching=order), 5),
        peer=cpu(lambda: dense(truth, prediction, order), 1),
    )
    extras = {
        "matching": order,
        "matches": len(pairs),
        "overlaps_per_box": int((overlap(truth, prediction) > 0).sum()) / len(truth),
        "peer_version": f"{np.__version__} and {scipy.__version__}",
    }
    return Row(f"boxes-{kind}-{variant}", len(truth), best["ours"], "numpy and scipy, dense", best["peer"], extras)


def dense(truth: np.ndarray, prediction: np.ndarray, order: str) -> list[tuple[int, int]]:
    """Match by a dense matrix."""
    matrix = overlap(truth, prediction)
    if order == "max-cardinality":
        matrix[matrix < THRESHOLD] = 0.0
        np.add(matrix, len(matrix), out=matrix, where=matrix > 0)
    i, j = linear_sum_assignment(matrix, maximize=True)
    kept = matrix[i, j] >= THRESHOLD
    return list(zip(i[kept].tolist(), j[kept].tolist(), strict=True))


def overlap(truth: np.ndarray, prediction: np.ndarray) -> np.ndarray:
    """Return IoU of all pairs."""
    common: Any = 1.0
    for x in range(3):
        low = np.maximum(truth[:, x, np.newaxis], prediction[:, x])
        common = common * np.maximum(np.minimum(truth[:, x + 3, np.newaxis], prediction[:, x + 3]) - low, 0)
    volumes = [np.prod(side[:, 3:] - side[:, :3], axis=1) for side in (truth, prediction)]
    return common / (volumes[0][:, np.newaxis] + volumes[1] - common)


def scenes(n: int, extent: float) -> tuple[np.ndarray, np.ndarray]:
    """Boxes of 0.3 to 1 m in a cube; of the predictions half are near a truth and half anywhere."""
    rng = np.random.default_rng(0)
    low = rng.uniform(0, extent, (2, n, 3))
    truth, other = np.concatenate([low, low + rng.uniform(0.3, 1, (2, n, 3))], axis=2)
    near = truth + rng.normal(0, 0.03, truth.shape)
    prediction = np.where(rng.random((n, 1)) < 0.5, near, other)
    return truth, prediction[rng.permutation(n)]


def cpu(function: Callable[[], Any], repeat: int) -> Callable[[], float]:
    """Return a callable that runs a function ``repeat`` times and returns the least CPU seconds."""

    def run() -> float:
        spent = []
        for _ in range(repeat):
            start = time.process_time()
            function()
            spent.append(time.process_time() - start)
        return min(spent)

    return run
