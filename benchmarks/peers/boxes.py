"""Peer of ``benchmarks/boxes.py``: IoU of all pairs by broadcasting numpy, then scipy's ``linear_sum_assignment``.

It is timed in CPU-seconds, as ours is. Arrays are broadcast one axis after another, which is the fastest way to do so.
For the published order the filter comes after the assignment; for the strict one before it, with a bonus for every pair
that outweighs any sum of IoU.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import process_time
from typing import Any

import numpy as np
import scipy
import serving
from scipy.optimize import linear_sum_assignment


def prepare(arrays: Mapping[str, np.ndarray], parameters: dict[str, Any]) -> Callable[[], np.ndarray]:
    truth, prediction = arrays["truth"], arrays["prediction"]
    threshold, gated = parameters["threshold"], parameters["order"] == "max-cardinality"

    def run() -> np.ndarray:
        matrix = overlap(truth, prediction)
        if gated:
            matrix[matrix < threshold] = 0.0
            np.add(matrix, len(matrix), out=matrix, where=matrix > 0)
        i, j = linear_sum_assignment(matrix, maximize=True)
        kept = matrix[i, j] >= threshold
        return np.stack([i[kept], j[kept]], axis=1)

    return run


def overlap(truth: np.ndarray, prediction: np.ndarray) -> np.ndarray:
    common: Any = 1.0
    for x in range(3):
        low = np.maximum(truth[:, x, np.newaxis], prediction[:, x])
        common = common * np.maximum(np.minimum(truth[:, x + 3, np.newaxis], prediction[:, x + 3]) - low, 0)
    volumes = [np.prod(side[:, 3:] - side[:, :3], axis=1) for side in (truth, prediction)]
    return common / (volumes[0][:, np.newaxis] + volumes[1] - common)


if __name__ == "__main__":
    serving.perf_counter = process_time
    serving.serve("numpy and scipy, dense", f"{np.__version__} and {scipy.__version__}", prepare)
