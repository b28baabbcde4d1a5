"""Nearest neighbours both ways and clusters of a pair of scans, against scipy's ``cKDTree`` and scikit-learn's DBSCAN.

Two scans of a furnished room, 110,000 points each, of which some objects are in one only. Each contestant finds, for
both scans, the points beyond a distance of the other scan, the clusters of these and the clusters of the whole scan.
All of them must be the same, number by number. The tree is asked for one point at a time in a Python loop, as published
code for this task does, and for all points at once. Everything runs in one thread and is timed in CPU-seconds.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from benchmarks.harness import Context, Row, in_turns

from gnomon.numerics.clustering import dbscan
from gnomon.numerics.neighbours import cloud, nearest

POINTS, SIZE = 110_000, (5.0, 4.0, 2.6)
BEYOND, EPS, MIN_SAMPLES = 0.0315, 0.025, 5


def rows(context: Context) -> Iterator[Row]:
    reference, comparison = pair(POINTS // 10 if context.quick else POINTS)
    for kind in ("loop", "vectorised"):
        yield compare(context, kind, reference, comparison)


def compare(context: Context, kind: str, reference: np.ndarray, comparison: np.ndarray) -> Row:
    """Time one way of asking the tree."""
    parameters = {"beyond": BEYOND, "eps": EPS, "min_samples": MIN_SAMPLES, "looped": kind == "loop"}
    arrays = {"reference": reference, "comparison": comparison}
    with context.peer("scans", arrays, **parameters) as peer:
        peer.expect(ours(reference, comparison))
        best = in_turns(2 if kind == "loop" else 3, ours=lambda: cpu_seconds(reference, comparison), peer=peer.burst(1))
    extras = {"peer_version": peer.version}
    return Row(f"scans-{kind}", len(reference), best["ours"], peer.name, best["peer"], extras)


def cpu_seconds(reference: np.ndarray, comparison: np.ndarray) -> float:
    """Return the best of five runs of ours."""
    best = float("inf")
    for _ in range(5):
        start = time.process_time()
        ours(reference, comparison)
        best = min(best, time.process_time() - start)
    return best


def ours(reference: np.ndarray, comparison: np.ndarray) -> np.ndarray:
    """Return which points changed, their clusters and those of all points, for both scans."""
    here, there = cloud(reference), cloud(comparison)
    found = []
    for points, one, other in ((reference, here, there), (comparison, there, here)):
        changed = nearest(one, other)[0] > BEYOND
        found += [changed, dbscan(points[changed], EPS, MIN_SAMPLES), dbscan(points, EPS, MIN_SAMPLES)]
    return np.concatenate(found)


def pair(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return two scans of a room, n points each: walls, furniture, an object that came and another one that went."""
    rng = np.random.default_rng(seed)
    lows = rng.uniform(0.3, 0.75, (14, 3)) * SIZE
    boxes = np.concatenate([lows, lows + rng.uniform(0.2, 0.9, (14, 3))], axis=1)
    boxes = np.concatenate([[[0, 0, 0, *SIZE]], boxes])
    return scan(rng, boxes[:-1], n), scan(rng, np.delete(boxes, -2, axis=0), n)


def scan(rng: np.random.Generator, boxes: np.ndarray, n: int) -> np.ndarray:
    """Return n points on the faces of boxes, as dense on each, with noise of 3 mm."""
    sizes = boxes[:, 3:] - boxes[:, :3]
    areas = np.stack([sizes[:, 1] * sizes[:, 2], sizes[:, 0] * sizes[:, 2], sizes[:, 0] * sizes[:, 1]], axis=1)
    which, axis = np.divmod(rng.choice(areas.size, n, p=areas.ravel() / areas.sum()), 3)
    points = rng.uniform(size=(n, 3))
    points[np.arange(n), axis] = rng.integers(0, 2, n)
    return boxes[which, :3] + points * sizes[which] + rng.normal(0, 0.003, (n, 3))
