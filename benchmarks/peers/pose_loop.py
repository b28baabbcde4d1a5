"""Peer of ``benchmarks/pose.py``: one SVD per sample in a loop, numpy only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from serving import serve


def aligned(truth: np.ndarray, prediction: np.ndarray) -> np.ndarray:
    """Best similarity of one prediction to its truth, without reflection."""
    middle = truth.mean(axis=0)
    a, b = truth - middle, prediction - prediction.mean(axis=0)
    u, s, vt = np.linalg.svd(b.T @ a)
    signs = np.array([1.0, 1.0, np.sign(np.linalg.det(u @ vt))])
    return (s * signs).sum() / (b * b).sum() * b @ ((u * signs) @ vt) + middle


def prepare(arrays: Mapping[str, np.ndarray], _: dict[str, Any]) -> Callable[[], np.ndarray]:
    truths, predictions = arrays["truth"], arrays["prediction"]

    def run() -> np.ndarray:
        sums = np.zeros(3)
        for t, p in zip(truths, predictions, strict=True):
            truth, prediction = t.astype(np.float64), p.astype(np.float64)
            sums[0] += np.linalg.norm(prediction - truth, axis=1).mean()
            sums[1] += np.linalg.norm(aligned(truth, prediction) - truth, axis=1).mean()
            sums[2] += np.linalg.norm((prediction - prediction[0]) - (truth - truth[0]), axis=1).mean()
        return np.round(sums / len(truths) * 1e9)

    return run


if __name__ == "__main__":
    serve("numpy SVD per sample", np.__version__, prepare)
