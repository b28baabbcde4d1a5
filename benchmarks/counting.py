"""Confusion tables of byte labels against ``sklearn.metrics.confusion_matrix``, and against reading the labels.

``read_s`` is the time that one thread needs to look at every byte of both arrays once: a plain compiled loop that
xors them, which the compiler turns into vector loads; nothing that uses every label can be faster. ``reads`` is
``ours_s / read_s``. Ours uses the threads that it uses by default (two for 1e7 labels of more than 3 classes);
``ours_1_s`` and ``reads_1`` hold it to one. All find the arrays in the same state: each takes turns of
several repetitions, so 1e7 labels (20 MB) come from the last-level cache where that is large enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from benchmarks.harness import Context, Row, burst, in_turns
from numba import njit

from gnomon.numerics.counting import confusion

SIZES = [(10_000_000, 3, 0.8), (10_000_000, 87, 0.8), (10_000_000, 3, 0.0), (10_000_000, 87, 0.0)]
GROWTH = [(n, k, 0.8) for n in (100_000, 1_000_000) for k in (3, 87)]


def rows(context: Context) -> Iterator[Row]:
    for n, k, accuracy in GROWTH if context.quick else SIZES + GROWTH:
        yield compare(context, n, k, accuracy)


def compare(context: Context, n: int, k: int, accuracy: float) -> Row:
    """Time one size; ``accuracy`` 0 means that truth and prediction are independent."""
    truth, prediction = labels(n, k, accuracy)
    read(truth, prediction)
    with context.peer("counting", {"truth": truth, "prediction": prediction}) as peer:
        peer.expect(confusion(truth, prediction, k))
        best = in_turns(
            5 if context.quick else 15,
            ours=burst(lambda: confusion(truth, prediction, k), 20),
            read=burst(lambda: read(truth, prediction), 20),
            ours_1=burst(lambda: confusion(truth, prediction, k, threads=1), 20),
            peer=peer.burst(1 if n > 1_000_000 else 5),
        )
    extras: dict[str, Any] = {
        "classes": k,
        "labels": f"{accuracy:.0%} correct" if accuracy else "uniform",
        "read_s": best["read"],
        "reads": best["ours"] / best["read"],
        "ours_1_s": best["ours_1"],
        "reads_1": best["ours_1"] / best["read"],
        "peer_version": peer.version,
    }
    name = f"confusion-{k}" + ("" if accuracy else "-uniform")
    return Row(name, n, best["ours"], peer.name, best["peer"], extras)


def labels(n: int, k: int, accuracy: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, k, n, dtype=np.uint8)
    guess = rng.integers(0, k, n, dtype=np.uint8)
    return truth, np.where(rng.random(n) < accuracy, truth, guess)


@njit
def read(a: np.ndarray, b: np.ndarray) -> int:
    seen = np.uint8(0)
    for i in range(a.size):
        seen = np.uint8(seen ^ a[i] ^ b[i])
    return seen
