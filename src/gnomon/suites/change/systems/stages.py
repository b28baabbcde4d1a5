"""The stages that detectors are built from, each a function of arrays.

Boxes are ``(K, 6)``: lowest x, y, z, then highest. Faces belong to a box. Distances are metres.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnomon.core.tallies import Array
from gnomon.numerics.clustering import NOISE, dbscan

HALF_SUPPORT = 50
"""Points at which support alone gives a confidence of one half."""


@dataclass(frozen=True)
class Candidates:
    """Boxes that may be changes, and the points they stand for.

    Parameters
    ----------
    boxes
        ``(K, 6)``.
    support
        Points of each, ``(K,)``.
    owner
        Of every change point, the box it belongs to, or -1.
    """

    boxes: Array
    support: Array
    owner: Array

    def __len__(self) -> int:
        return len(self.boxes)

    def take(self, chosen: Array) -> Candidates:
        """Return some of the candidates, in this order; the points of the others belong to none."""
        places = np.full(len(self) + 1, -1)
        places[chosen] = np.arange(len(chosen))
        return Candidates(self.boxes[chosen], self.support[chosen], places[self.owner])


def region(points: Array, distances: Array, within: float, scale: float) -> Array | None:
    """Return the box, scaled about its centre, of the points that have the other scan within a distance."""
    both = points[distances <= within]
    if not len(both):
        return None
    low, high = both.min(axis=0), both.max(axis=0)
    centre, half = (low + high) / 2, (high - low) / 2 * scale
    return np.concatenate([centre - half, centre + half])


def inside(points: Array, box: Array) -> Array:
    """Say which points are in a box."""
    return np.asarray(((points >= box[:3]) & (points <= box[3:])).all(axis=1))


def changed(points: Array, distances: Array, box: Array, beyond: float) -> Array:
    """Return the rows of the points in a box whose nearest point of the other scan is beyond a distance."""
    rows = np.flatnonzero(distances > beyond)
    return rows[inside(points[rows], box)]


def off_faces(points: Array, box: Array, margin: float) -> Array:
    """Say which points of a box are no nearer than a margin to any of its faces."""
    return np.asarray((np.minimum(points - box[:3], box[3:] - points) >= margin).all(axis=1))


def cluster(points: Array, eps: float, min_samples: int, least: int, most: int) -> Array:
    """Return the cluster of each point; clusters of fewer or more points than said are none (-1)."""
    if len(points) < max(least, 1):
        return np.full(len(points), NOISE)
    labels = dbscan(points, eps, min_samples)
    sizes = np.bincount(labels + 1)[1:]
    fits = (sizes >= least) & (sizes <= most)
    numbers = np.append(np.where(fits, np.cumsum(fits) - 1, NOISE), NOISE)
    return np.asarray(numbers[labels])


def enclose(points: Array, owner: Array, pad: float) -> Candidates:
    """Return the box of each cluster, padded on all sides."""
    own = owner >= 0
    count = int(owner.max(initial=-1)) + 1
    boxes = np.concatenate([np.full((count, 3), np.inf), np.full((count, 3), -np.inf)], axis=1)
    np.minimum.at(boxes[:, :3], owner[own], points[own])
    np.maximum.at(boxes[:, 3:], owner[own], points[own])
    return Candidates(boxes + np.repeat([-pad, pad], 3), np.bincount(owner[own], minlength=count), owner)


def covered(found: Candidates, box: Array, least: float) -> Candidates:
    """Drop candidates that a box covers by less than a share of their volume and whose centre is outside of it."""
    low, high = np.maximum(found.boxes[:, :3], box[:3]), np.minimum(found.boxes[:, 3:], box[3:])
    shares = np.prod(np.maximum(high - low, 0.0), axis=1) / volumes(found.boxes)
    return found.take(np.flatnonzero((shares >= least) | inside(centres(found.boxes), box)))


def budgeted(found: Candidates, most: int) -> Candidates:
    """Keep so many candidates: those of most points, among equals those of the longest diagonal."""
    diagonals = np.linalg.norm(found.boxes[:, 3:] - found.boxes[:, :3], axis=1)
    order = np.lexsort((-diagonals, -found.support))
    return found.take(order[:most])


def merged(found: Candidates, least_iou: float, most_apart: float) -> Candidates:
    """Merge candidates that overlap or whose centres are close, directly or through others, into the box of both.

    One pass: boxes that overlap only after they were merged stay apart.
    """
    group = np.arange(len(found))
    middles = centres(found.boxes)
    for i in range(len(found)):
        apart = np.linalg.norm(middles[i:] - middles[i], axis=1)
        together = np.flatnonzero((overlaps(found.boxes[i], found.boxes[i:]) >= least_iou) | (apart <= most_apart)) + i
        groups = np.unique(group[together])
        group[np.isin(group, groups)] = groups[0]
    names, group = np.unique(group, return_inverse=True)
    boxes = np.concatenate([np.full((len(names), 3), np.inf), np.full((len(names), 3), -np.inf)], axis=1)
    np.minimum.at(boxes[:, :3], group, found.boxes[:, :3])
    np.maximum.at(boxes[:, 3:], group, found.boxes[:, 3:])
    support = np.zeros(len(names), dtype=np.int64)
    np.add.at(support, group, found.support)
    return Candidates(boxes, support, np.append(group, -1)[found.owner])


def suppressed(found: Candidates, least_iou: float) -> Candidates:
    """Keep the larger of two candidates that overlap so much, beginning with the largest."""
    kept: list[int] = []
    for i in np.argsort(-volumes(found.boxes), kind="stable").tolist():
        if not (overlaps(found.boxes[i], found.boxes[kept]) >= least_iou).any():
            kept.append(i)
    return found.take(np.sort(np.array(kept, dtype=np.int64)))


def without_enclosing(found: Candidates) -> Candidates:
    """Drop every candidate that encloses another one; of equal boxes the first stays."""
    keep = np.ones(len(found), dtype=np.bool_)
    low, high = found.boxes[:, :3], found.boxes[:, 3:]
    for i in range(len(found)):
        within = ((low >= low[i]) & (high <= high[i])).all(axis=1)
        same = (found.boxes == found.boxes[i]).all(axis=1)
        keep[i] = not (within & ~same).any() and not same[:i].any()
    return found.take(np.flatnonzero(keep))


def confidence(found: Candidates, distances: Array, beyond: float) -> Array:
    """Return a score per candidate, between 0 and 1, both excluded: the root of support times contrast.

    Support is ``n / (n + 50)`` for n points: noise makes small clusters. Contrast is ``1 - beyond / d``, where d is the
    median distance of its points to the other scan and ``beyond`` what a change point must exceed: misalignment and
    noise stay just above it, an object that came or went is well beyond. ``distances`` are those of the change points.
    """
    scores = np.empty(len(found))
    order = np.argsort(found.owner, kind="stable")
    ends = np.searchsorted(found.owner[order], np.arange(len(found) + 1))
    for i in range(len(found)):
        typical = float(np.median(distances[order[ends[i] : ends[i + 1]]]))
        contrast = 1.0 - beyond / typical if np.isfinite(typical) else 1.0
        scores[i] = np.sqrt(found.support[i] / (found.support[i] + HALF_SUPPORT) * contrast)
    return np.clip(scores, 1e-6, 1 - 1e-6)


def volumes(boxes: Array) -> Array:
    """Return the volumes of boxes."""
    return np.asarray(np.prod(boxes[:, 3:] - boxes[:, :3], axis=1))


def centres(boxes: Array) -> Array:
    """Return the centres of boxes."""
    return np.asarray((boxes[:, :3] + boxes[:, 3:]) / 2)


def overlaps(box: Array, boxes: Array) -> Array:
    """Return the IoU of a box with others."""
    low, high = np.maximum(boxes[:, :3], box[:3]), np.minimum(boxes[:, 3:], box[3:])
    common = np.prod(np.maximum(high - low, 0.0), axis=1)
    return np.asarray(common / (volumes(boxes) + volumes(box[np.newaxis]) - common))
