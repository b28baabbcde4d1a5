"""The nearest neighbour within a radius, for many vectors, without missing any.

Up to :data:`ALL_PAIRS` pairs, every distance is computed. Beyond, the vectors on the right are sorted into cells,
each around a centre that is nearer than all other centres. If x is within r of q, lies in the cell of c, and c' is
the centre that is nearest to q, then ``d(q, c) <= d(x, c) + r <= d(x, c') + r <= d(q, c') + 2 r``: only cells whose
centre is so near are visited, and of these only those whose farthest member can be reached. The recall is 1 in both
ways; only the cost differs, as long as the radius is over 1e-7 of the length of the vectors (of which products lose
the digits below). Where vectors are no farther from each other than the radius, every cell is visited, and the cost
is that of all pairs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gnomon.core.seeds import generator
from gnomon.core.tallies import Array

ALL_PAIRS = 20_000_000
"""Up to this many pairs all distances are computed."""
CELLS = 1.0
"""Cells, as a factor of the square root of the number of vectors."""
BLOCK = 4_000_000
"""Distances that are held at a time."""
SLACK = 1e-7
"""What rounding may add to a distance, relative to the size of the vectors."""


@dataclass(frozen=True)
class Vectors:
    """Rows ``(n, d)`` and, where pairs of the same group are left out, a group code per row."""

    rows: Array
    group: Array | None = None

    def take(self, rows: Array) -> Vectors:
        """Return some rows."""
        return Vectors(self.rows[rows], None if self.group is None else self.group[rows])


def nearest(left: Vectors, right: Vectors, radius: float) -> tuple[Array, Array]:
    """Return, for every row of ``left``, the nearest row of ``right`` within the radius and its distance.

    Where there is none, the row is -1 and the distance infinite. Pairs of the same group are left out where both sides
    have groups. Of several at the same distance, up to rounding, any is returned.
    """
    some = len(left.rows) * len(right.rows) <= ALL_PAIRS
    return all_pairs(left, right, radius) if some else by_cells(left, right, radius)


def all_pairs(left: Vectors, right: Vectors, radius: float) -> tuple[Array, Array]:
    """Search by computing every distance."""
    place, distance = np.full(len(left.rows), -1), np.full(len(left.rows), np.inf)
    step = max(1, BLOCK // max(len(right.rows), 1))
    for start in range(0, len(left.rows) if len(right.rows) else 0, step):
        rows = np.arange(start, min(start + step, len(left.rows)))
        apart = _squares(left.rows[rows], right.rows)
        if left.group is not None and right.group is not None:
            apart[left.group[rows][:, None] == right.group] = np.inf
        best = np.argmin(apart, axis=1)
        full = np.sqrt(np.square(left.rows[rows] - right.rows[best]).sum(axis=1))
        kept = np.isfinite(apart[np.arange(len(rows)), best]) & (full <= radius)
        place[rows[kept]], distance[rows[kept]] = best[kept], full[kept]
    return place, distance


def by_cells(left: Vectors, right: Vectors, radius: float) -> tuple[Array, Array]:
    """Search in the cells that a neighbour within the radius can lie in."""
    rng = generator(0, "audit", "cells")
    count = min(len(right.rows), int(CELLS * math.sqrt(len(right.rows))) + 1)
    centres = right.rows[np.sort(rng.choice(len(right.rows), count, replace=False))]
    cell, reach = _cells(right.rows, centres)
    order = np.argsort(cell, kind="stable")
    members = np.split(order, np.searchsorted(cell[order], np.arange(1, count)))
    slack = SLACK * max(float(np.sqrt(_sizes(side.rows).max(initial=0.0))) for side in (left, right))
    place, distance = np.full(len(left.rows), -1), np.full(len(left.rows), np.inf)
    step = max(1, BLOCK // count)
    for start in range(0, len(left.rows), step):
        to_centre = _distances(left.rows[start : start + step], centres)
        limit = np.minimum(to_centre.min(axis=1, keepdims=True) + 2 * radius, reach + radius) + slack
        visits = to_centre <= limit
        for code in np.flatnonzero(visits.any(axis=0)).tolist():
            rows = start + np.flatnonzero(visits[:, code])
            found, apart = all_pairs(left.take(rows), right.take(members[code]), radius)
            nearer = apart < distance[rows]
            place[rows[nearer]], distance[rows[nearer]] = members[code][found[nearer]], apart[nearer]
    return place, distance


def _cells(rows: Array, centres: Array) -> tuple[Array, Array]:
    """Return the nearest centre of each row, and the largest distance from each centre to a row of its cell."""
    cell, reach = np.zeros(len(rows), np.int64), np.zeros(len(centres))
    step = max(1, BLOCK // len(centres))
    for start in range(0, len(rows), step):
        apart = _distances(rows[start : start + step], centres)
        best = np.argmin(apart, axis=1)
        cell[start : start + step] = best
        np.maximum.at(reach, best, apart[np.arange(len(best)), best])
    return cell, reach


def _distances(left: Array, right: Array) -> Array:
    return np.sqrt(np.maximum(_squares(left, right), 0))


def _squares(left: Array, right: Array) -> Array:
    """Return squared distances, up to rounding."""
    return np.asarray(_sizes(left)[:, None] + _sizes(right) - 2 * (left @ right.T))


def _sizes(rows: Array) -> Array:
    return np.asarray(np.einsum("ij,ij->i", rows, rows))
