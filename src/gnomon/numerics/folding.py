"""Distances of many samples folded by group in one pass: sums and counts by column, and a curve of how many are small.

A sum keeps what rounding takes from it (Neumaier, 1974), so that it depends on the order of a group's rows by less than
a unit in the last place, however long the group is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gnomon.core.compiling import jit
from gnomon.core.tallies import Array

BINS = 1 << 16
"""Bins that numbers are counted into to find quantiles."""


def quantiles(values: Array, shares: Sequence[float]) -> list[float]:
    """Return quantiles of finite numbers >= 0 by linear interpolation, as a sort of them all would give.

    The numbers around each place are found by counting into fine bins first, so that only few are sorted.

    >>> quantiles(np.array([4.0, 0.0, 1.0, 3.0], dtype=np.float32), [0.5, 1.0])
    [2.0, 4.0]
    """
    n = len(values)
    top = float(values.max())
    per_bin = (BINS - 1) / top if top > 0 else 0.0
    counts = np.zeros(BINS, dtype=np.int64)
    _count(values, per_bin, counts)
    before = np.concatenate([[0], np.cumsum(counts)])
    found = []
    for share in shares:
        place = share * (n - 1)
        low, high = int(place), min(int(place) + 1, n - 1)
        bins = [int(np.searchsorted(before, rank, side="right")) - 1 for rank in (low, high)]
        near = np.sort(_within(values, per_bin, bins[0], bins[1]))
        a, b = (float(near[rank - before[bins[0]]]) for rank in (low, high))
        found.append(a + (place - low) * (b - a))
    return found


def _within(values: Array, per_bin: float, first: int, last: int) -> Array:
    found: Array = values[_inside(values, per_bin, first, last)]
    return found


def fold(distances: Array, codes: Array, groups: int, limits: Array) -> tuple[Array, Array, Array]:
    """Fold ``(N, J)`` distances, NaN where there is none, by the group of each row.

    Parameters
    ----------
    distances, codes
        ``(N, J)``, and the group 0 .. groups - 1 of each row.
    groups
        How many groups there are.
    limits
        Rising limits ``(L,)``, evenly spaced.

    Returns
    -------
    tuple
        Sums ``(groups, J)``, counts ``(groups, J)``, and how many distances of each group are at most each limit,
        ``(groups, L)``.

    Examples
    --------
    >>> sums, counts, curve = fold(np.array([[0.1, 0.2], [0.3, np.nan]]), np.array([0, 0]), 1, np.array([0.15, 0.25]))
    >>> sums.round(3).tolist(), counts.tolist(), curve.tolist()
    ([[0.4, 0.2]], [[2, 1]], [[1, 2]])
    """
    width = distances.shape[1]
    sums, lost = np.zeros((groups, width)), np.zeros((groups, width))
    counts = np.zeros((groups, width), dtype=np.int64)
    bins = np.zeros((groups, len(limits) + 1), dtype=np.int64)
    _fold(np.ascontiguousarray(distances), codes, np.asarray(limits, dtype=np.float64), (sums, lost, counts, bins))
    return sums + lost, counts, np.cumsum(bins, axis=1)[:, :-1]


@jit
def _count(values: Any, per_bin: float, counts: Any) -> None:
    for i in range(len(values)):
        counts[int(float(values[i]) * per_bin)] += 1


@jit
def _inside(values: Any, per_bin: float, first: int, last: int) -> Array:
    out = np.empty(len(values), dtype=np.bool_)
    for i in range(len(values)):
        place = int(float(values[i]) * per_bin)
        out[i] = first <= place <= last
    return out


@jit
def _fold(distances: Any, codes: Any, limits: Any, out: Any) -> None:
    sums, lost, counts, bins = out
    last = len(limits) - 1
    per_step = last / (limits[last] - limits[0]) if last > 0 else 1.0
    for i in range(distances.shape[0]):
        group = codes[i]
        for j in range(distances.shape[1]):
            value = distances[i, j]
            if np.isnan(value):
                continue
            total = sums[group, j] + value
            if abs(sums[group, j]) >= value:
                lost[group, j] += (sums[group, j] - total) + value
            else:
                lost[group, j] += (value - total) + sums[group, j]
            sums[group, j] = total
            counts[group, j] += 1
            if value > limits[last]:
                bins[group, last + 1] += 1
                continue
            place = min(max(int((value - limits[0]) * per_step), 0), last)
            while place > 0 and value <= limits[place - 1]:
                place -= 1
            while value > limits[place]:
                place += 1
            bins[group, place] += 1
