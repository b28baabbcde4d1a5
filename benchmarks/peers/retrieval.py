"""Peer of ``benchmarks/retrieval.py``: one product, ``argsort`` of every row, the place of the right one in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from serving import serve


def prepare(arrays: Mapping[str, np.ndarray], _: dict[str, Any]) -> Callable[[], np.ndarray]:
    queries, candidates = arrays["queries"], arrays["candidates"]
    right = np.arange(len(queries))[:, np.newaxis]

    def run() -> np.ndarray:
        order = np.argsort(-(queries @ candidates.T), axis=1)
        return (order == right).argmax(axis=1) + 1

    return run


if __name__ == "__main__":
    serve("matmul + argsort (numpy)", np.__version__, prepare)
