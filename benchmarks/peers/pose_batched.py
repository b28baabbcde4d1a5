"""Peer of ``benchmarks/pose.py``: batched SVDs over chunks of samples, numpy only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from serving import serve

CHUNK = 4096


def errors(truth: np.ndarray, prediction: np.ndarray) -> np.ndarray:
    """Return sums over samples of the three mean errors."""
    a, b = (side - side.mean(axis=1, keepdims=True) for side in (truth, prediction))
    u, s, vt = np.linalg.svd(b.transpose(0, 2, 1) @ a)
    signs = np.ones((len(a), 1, 3))
    signs[:, 0, 2] = np.sign(np.linalg.det(u @ vt))
    scale = (s * signs[:, 0]).sum(axis=1) / (b * b).sum(axis=(1, 2))
    sides = (
        prediction - truth,
        scale[:, np.newaxis, np.newaxis] * (b @ ((u * signs) @ vt)) - a,
        (prediction - prediction[:, :1]) - (truth - truth[:, :1]),
    )
    return np.array([np.linalg.norm(side, axis=2).mean(axis=1).sum() for side in sides])


def prepare(arrays: Mapping[str, np.ndarray], _: dict[str, Any]) -> Callable[[], np.ndarray]:
    truth, prediction = arrays["truth"], arrays["prediction"]

    def run() -> np.ndarray:
        sums = np.zeros(3)
        for start in range(0, len(truth), CHUNK):
            part = slice(start, start + CHUNK)
            sums += errors(truth[part].astype(np.float64), prediction[part].astype(np.float64))
        return np.round(sums / len(truth) * 1e9)

    return run


if __name__ == "__main__":
    serve("numpy batched SVD", np.__version__, prepare)
