"""The plain detector: what is far from the other scan, in clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gnomon.core.tallies import Array
from gnomon.numerics.neighbours import cloud, nearest
from gnomon.suites.change.systems import stages
from gnomon.suites.change.systems.detection import ADD, REMOVE, Detection, Found, Parameters, Watch, assemble, scans


@dataclass(frozen=True)
class Distance(Parameters):
    """Points whose nearest point of the other scan is beyond `threshold`, clustered by DBSCAN, boxed.

    DBSCAN takes `eps` and `min_samples`; clusters below `min_cluster` points are dropped; boxes are axis-aligned and
    padded by `pad` on all sides. Points of clusters that are kept are labelled as changed. For the scores see
    :func:`~gnomon.suites.change.systems.stages.confidence`.
    """

    threshold: float = 0.05
    eps: float = 0.05
    min_cluster: int = 50
    min_samples: int = 25
    pad: float = 0.02

    def detect(self, reference: Any, comparison: Any) -> Detection:
        """Find what changed from the reference to the comparison, both ``(N, 3)`` in one frame."""
        watch = Watch()
        with watch.stage("reading"):
            removed, added = scans(reference, comparison)
        return self._detect(removed, added, watch, {})

    def _detect(self, removed: Array, added: Array, watch: Watch, facts: dict[str, Any]) -> Detection:
        with watch.stage("neighbours"):
            here, there = cloud(removed), cloud(added)
            forth, back = nearest(here, there)[0], nearest(there, here)[0]
        found = {ADD: self._find(added, back, watch), REMOVE: self._find(removed, forth, watch)}
        return assemble(found, {ADD: len(added), REMOVE: len(removed)}, watch, facts)

    def _find(self, points: Array, distances: Array, watch: Watch) -> Found:
        with watch.stage("clusters"):
            rows = np.flatnonzero(distances > self.threshold)
            owner = stages.cluster(points[rows], self.eps, self.min_samples, self.min_cluster, len(points))
        with watch.stage("boxes"):
            boxed = stages.enclose(points[rows], owner, self.pad)
            scores = stages.confidence(boxed, distances[rows], self.threshold)
        counts = {"change_points": len(rows), "boxes": len(boxed)}
        return Found(boxed.boxes, scores, rows[owner >= 0], {"counts": counts})
