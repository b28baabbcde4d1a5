"""Peer of ``benchmarks/scans.py``: scipy's tree, asked for one point at a time or for all, then scikit-learn's DBSCAN.

It is timed in CPU-seconds, as ours is: a run takes long enough for others on the machine to come between.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import process_time
from typing import Any

import numpy as np
import scipy
import serving
import sklearn
from scipy.spatial import cKDTree
from sklearn.cluster import DBSCAN


def prepare(arrays: Mapping[str, np.ndarray], parameters: dict[str, Any]) -> Callable[[], np.ndarray]:
    reference, comparison = arrays["reference"], arrays["comparison"]
    clusters = DBSCAN(eps=parameters["eps"], min_samples=parameters["min_samples"])

    def distances(points: np.ndarray, others: np.ndarray) -> np.ndarray:
        tree = cKDTree(others)
        if parameters["looped"]:
            return np.array([tree.query(point)[0] for point in points])
        return tree.query(points)[0]

    def run() -> np.ndarray:
        found = []
        for points, others in ((reference, comparison), (comparison, reference)):
            changed = distances(points, others) > parameters["beyond"]
            found += [changed, clusters.fit(points[changed]).labels_, clusters.fit(points).labels_]
        return np.concatenate(found)

    return run


if __name__ == "__main__":
    serving.perf_counter = process_time
    serving.serve("cKDTree + DBSCAN", f"{scipy.__version__} + {sklearn.__version__}", prepare)
