"""IoU and one-to-one matching of many boxes, against a dense matrix and dense assignment; CPU time.

``sparse`` has boxes that hardly overlap others, ``clutter`` about 50 others each, half of the predictions near a truth.
A matched pair on one side that is not matched on the other is an error, not a row.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from benchmarks.harness import Context, Row, in_turns

from gnomon.measures.boxes import evaluate
from gnomon.numerics.boxes import overlaps
from gnomon.numerics.solids import solids

THRESHOLD = 0.25
EXTENTS = {"sparse": 40.0, "clutter": 5.75}  # metres, for 5,000 boxes
ORDERS = {"published": "hungarian-then-filter", "strict": "max-cardinality"}


def rows(context: Context) -> Iterator[Row]:
    n = 500 if context.quick else 5000
    for kind, extent in EXTENTS.items():
        truth, prediction = scenes(n, extent * (n / 5000) ** (1 / 3))
        for variant, order in ORDERS.items():
            yield compare(context, f"boxes-{kind}-{variant}", order, truth, prediction)


def compare(context: Context, name: str, order: str, truth: np.ndarray, prediction: np.ndarray) -> Row:
    """Time one order on one scene."""
    pairs = [(i, j) for i, j, _ in evaluate(truth, prediction, matching=order)["matches"]]
    given = {"truth": truth, "prediction": prediction}
    with context.peer("boxes", given, threshold=THRESHOLD, order=order) as peer:
        peer.expect(np.array(pairs, dtype=np.int64).reshape(-1, 2))
        best = in_turns(
            2 if context.quick else 3, ours=lambda: cpu_seconds(truth, prediction, order), peer=peer.burst(1)
        )
    extras = {
        "matching": order,
        "matches": len(pairs),
        "overlaps_per_box": per_box(truth, prediction),
        "peer_version": peer.version,
    }
    return Row(name, len(truth), best["ours"], peer.name, best["peer"], extras)


def cpu_seconds(truth: np.ndarray, prediction: np.ndarray, order: str) -> float:
    """Return the best of five runs of ours."""
    best = float("inf")
    for _ in range(5):
        start = time.process_time()
        evaluate(truth, prediction, matching=order)
        best = min(best, time.process_time() - start)
    return best


def per_box(truth: np.ndarray, prediction: np.ndarray) -> float:
    """Return how many predictions a truth has a common volume with, on average."""
    alike = np.zeros(len(truth), np.int64), np.zeros(len(prediction), np.int64)
    found = overlaps(solids(truth, "truth"), solids(prediction, "prediction"), alike, least=0.0)
    return len(found.i) / len(truth)


def scenes(n: int, extent: float) -> tuple[np.ndarray, np.ndarray]:
    """Boxes of 0.3 to 1 m in a cube; of the predictions half are near a truth and half anywhere."""
    rng = np.random.default_rng(0)
    low = rng.uniform(0, extent, (2, n, 3))
    truth, other = np.concatenate([low, low + rng.uniform(0.3, 1, (2, n, 3))], axis=2)
    near = truth + rng.normal(0, 0.03, truth.shape)
    prediction = np.where(rng.random((n, 1)) < 0.5, near, other)
    return truth, prediction[rng.permutation(n)]
