"""Clusters of points in space by density: exact DBSCAN (Ester, Kriegel, Sander and Xu, 1996).

Conventions
-----------
Points are ``(N, 3)``, finite, in any unit. Two points are neighbours if ``(dx * dx + dy * dy) + dz * dz <= eps * eps``
in float64; a point is its own neighbour. A point with at least ``min_samples`` neighbours is a core point. Core points
that are neighbours share a cluster, a point that is not core belongs to a cluster if it is a neighbour of one of its
core points, and the rest is noise, -1. Clusters are numbered in the order of their first core points; a point in reach
of several belongs to the first of them. These are the labels of ``sklearn.cluster.DBSCAN``.

Method
------
Points are sorted into cells of side ``eps / sqrt(3)``, within which all are neighbours (Gunawan, 2013): a cell of
``min_samples`` points needs no distances, and clusters are unions of whole cells. What is within reach of a cell lies
in the 5 x 5 columns of cells around it, at most 5 cells of each. Cells are sorted by column and then by height, so
that each of these 25 pieces is a stretch of the sorted points, which moves forward as the cell does: nothing is looked
up, no list of neighbours is kept, and memory is linear. Searches end as soon as they are decided.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from gnomon.core.compiling import jit
from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
from gnomon.numerics.neighbours import LARGEST, finite_points

NOISE = -1

SMALLEST = 1 / LARGEST
"""Of lengths that can be squared."""

_MARGIN = 2.0**-20  # by which cells are smaller, so that rounding cannot part what they join
_WIDE = 2.0**24  # cells per axis up to which a cell's number is certain to that margin
_DIGIT = 11  # bits that are sorted by at a time
_REACH = 2  # cells


class Cells(NamedTuple):
    """Points sorted by cell.

    Parameters
    ----------
    points
        ``(N, 3)`` in that order.
    rows
        Which row each point had.
    starts
        Where each cell begins, and the end of the last.
    columns, heights
        Column and height of each cell; the columns beside it are at ``-stride, -1, +1, +stride`` and so on.
    stride
        Distance in number of columns that are neighbours along the first axis.
    """

    points: Array
    rows: Array
    starts: Array
    columns: Array
    heights: Array
    stride: int


def dbscan(points: Any, eps: float, min_samples: int) -> Array:
    """Return the cluster of every point ``(N,)``, -1 for noise; see the head of this module."""
    array = finite_points(points, "points")
    if not SMALLEST <= eps <= LARGEST:
        raise InputError(f"dbscan: eps {eps!r}, expected a number from {SMALLEST} to {LARGEST}")
    if min_samples < 1:
        raise InputError(f"dbscan: min_samples {min_samples!r}, expected a whole number from 1 on")
    labels = np.full(len(array), NOISE, dtype=np.int64)
    if len(array):
        _label(sort_into_cells(array, eps / math.sqrt(3.0) * (1.0 - _MARGIN)), eps * eps, min_samples, labels)
    return labels


def sort_into_cells(points: Array, side: float) -> Cells:
    """Sort points by cubic cells; distances of more than three cells along an axis may be cut short."""
    at = [_along(points[:, k], side) for k in range(3)]
    stride = int(at[1].max()) + 2 * _REACH + 1
    column = (at[0] + _REACH) * stride + at[1] + _REACH
    order = np.arange(len(points), dtype=np.int32 if len(points) < 2**31 else np.int64)
    for key in (at[2], column):
        order = _sorted_by(key, order)
    column, height = column[order], at[2][order]
    new = np.empty(len(points), dtype=np.bool_)
    new[0] = True
    np.not_equal(column[1:], column[:-1], out=new[1:])
    new[1:] |= height[1:] != height[:-1]
    starts = np.flatnonzero(new)
    return Cells(points[order], order, np.append(starts, len(points)), column[starts], height[starts], stride)


def _label(cells: Cells, square: float, min_samples: int, labels: Array) -> None:
    """Write the clusters of all points that have one."""
    core = np.zeros(len(labels), dtype=np.bool_)
    _find_core(cells, square, min_samples, core)
    size = len(cells.heights)
    parents, boxes, firsts = np.empty(size, dtype=np.int64), np.empty((size, 6)), np.empty(size, dtype=np.int64)
    _gather(cells, core, parents, boxes, firsts)
    for near in (True, False):
        _join(cells, square, near, core, boxes, parents)
    _settle(parents, firsts)
    roots = np.flatnonzero(parents == np.arange(size))
    numbers = np.full(size + 1, NOISE)
    numbers[roots[np.argsort(firsts[roots])]] = np.arange(len(roots))
    _write(cells, square, core, boxes, numbers[parents], labels)


def _along(values: Array, side: float) -> Array:
    """Return the number of each value's cell along an axis.

    Where the axis is so long that rounding could err, it is cut at gaps of more than three cells, each piece is counted
    from its own beginning, and gaps shrink to three cells.
    """
    low, high = float(values.min()), float(values.max())
    if high - low < _WIDE * side:
        return np.floor((values - low) / side).astype(np.int64)
    ordered = np.sort(values)
    with np.errstate(over="ignore"):
        cuts = np.flatnonzero(np.diff(ordered) > 3 * side)
    begins = ordered[np.append(0, cuts + 1)]
    lengths = np.floor((ordered[np.append(cuts, len(ordered) - 1)] - begins) / side).astype(np.int64) + 4
    piece = np.searchsorted(begins, values, side="right") - 1
    before = np.append(0, np.cumsum(lengths)[:-1])
    return np.asarray(np.floor((values - begins[piece]) / side).astype(np.int64) + before[piece])


def _sorted_by(keys: Array, order: Array) -> Array:
    """Sort an order by keys, digit by digit; what is equal stays as it is."""
    other = np.empty_like(order)
    for shift in range(0, int(keys.max()).bit_length(), _DIGIT):
        _sort_digit(keys, order, shift, other)
        order, other = other, order
    return order


@jit
def _sort_digit(keys: Any, order: Any, shift: int, out: Any) -> None:
    counts = np.zeros((1 << _DIGIT) + 1, dtype=np.int64)
    mask = (1 << _DIGIT) - 1
    for i in range(len(keys)):
        counts[((keys[i] >> shift) & mask) + 1] += 1
    for digit in range(1 << _DIGIT):
        counts[digit + 1] += counts[digit]
    for i in range(len(order)):
        digit = (keys[order[i]] >> shift) & mask
        out[counts[digit]] = order[i]
        counts[digit] += 1


@jit
def _offsets(stride: int) -> Any:
    """Return how far columns in reach are, the nearest first, and whether each is next to the middle one."""
    far, beside = np.empty(25, dtype=np.int64), np.empty(25, dtype=np.bool_)
    k = 0
    for square in range(9):
        for x in range(-_REACH, _REACH + 1):
            for y in range(-_REACH, _REACH + 1):
                if x * x + y * y == square:
                    far[k], beside[k] = x * stride + y, max(abs(x), abs(y)) < _REACH
                    k += 1
    return far, beside


@jit
def _advance(columns: Any, heights: Any, at: int, column: int, height: int) -> int:
    """Return the first cell, from one on, that is not before a column and height."""
    while at < len(columns) and (columns[at] < column or (columns[at] == column and heights[at] < height)):
        at += 1
    return at


@jit
def _square(points: Any, i: int, j: int) -> float:
    x, y, z = points[i, 0] - points[j, 0], points[i, 1] - points[j, 1], points[i, 2] - points[j, 2]
    return float(x * x + y * y + z * z)


@jit
def _find_core(cells: Any, square: float, least: int, core: Any) -> None:
    points, starts, columns, heights = cells.points, cells.starts, cells.columns, cells.heights
    far, _ = _offsets(cells.stride)
    at = np.zeros(25, dtype=np.int64)
    lows, highs = np.empty(26, dtype=np.int64), np.empty(26, dtype=np.int64)
    for cell in range(len(columns)):
        low, high = starts[cell], starts[cell + 1]
        if high - low >= least:
            core[low:high] = True
            continue
        pieces, within = 0, high - low
        for k in range(25):
            column = columns[cell] + far[k]
            first = at[k] = _advance(columns, heights, at[k], column, heights[cell] - _REACH)
            last = first
            while last < len(columns) and columns[last] == column and heights[last] <= heights[cell] + _REACH:
                last += 1
            if k == 0:
                lows[0], highs[0], lows[1], highs[1] = starts[first], low, high, starts[last]
                pieces = 2
                within = starts[last] - starts[first]
            elif last > first:
                lows[pieces], highs[pieces] = starts[first], starts[last]
                within += starts[last] - starts[first]
                pieces += 1
        if within < least:
            continue
        for i in range(low, high):
            count, piece = high - low, 0
            while count < least and piece < pieces:
                for j in range(lows[piece], highs[piece]):
                    count += _square(points, i, j) <= square
                piece += 1
            core[i] = count >= least


@jit
def _gather(cells: Any, core: Any, parents: Any, boxes: Any, firsts: Any) -> None:
    """Write of each cell: itself as parent or -1, and the box and the lowest row of its core points."""
    points, rows, starts = cells.points, cells.rows, cells.starts
    for cell in range(len(parents)):
        parents[cell], firsts[cell] = -1, len(points)
        boxes[cell, :3], boxes[cell, 3:] = np.inf, -np.inf
        for i in range(starts[cell], starts[cell + 1]):
            if core[i]:
                parents[cell] = cell
                firsts[cell] = min(firsts[cell], rows[i])
                for k in range(3):
                    boxes[cell, k] = min(boxes[cell, k], points[i, k])
                    boxes[cell, k + 3] = max(boxes[cell, k + 3], points[i, k])


@jit
def _root(parents: Any, cell: int) -> int:
    while parents[cell] != cell:
        parents[cell] = parents[parents[cell]]
        cell = parents[cell]
    return cell


@jit
def _apart(box: Any, other: Any) -> Any:
    """Return the least and the greatest squared distance of points of two boxes."""
    least = most = 0.0
    for k in range(3):
        up, down = box[k + 3] - other[k], other[k + 3] - box[k]
        gap, reach = max(max(-up, -down), 0.0), max(up, down)
        least += gap * gap
        most += reach * reach
    return least, most


@jit
def _beyond(points: Any, i: int, box: Any) -> float:
    """Return the least squared distance of a point to a box."""
    square = 0.0
    for k in range(3):
        gap = max(max(points[i, k] - box[k + 3], box[k] - points[i, k]), 0.0)
        square += gap * gap
    return square


@jit
def _touches(points: Any, i: int, low: int, high: int, core: Any, square: float) -> bool:
    """Say whether a point has a core point of a cell as its neighbour."""
    j = low
    while j < high and not (core[j] and _square(points, i, j) <= square):
        j += 1
    return bool(j < high)


@jit
def _linked(cells: Any, square: float, core: Any, boxes: Any, one: int, two: int) -> bool:
    """Say whether core points of two cells are neighbours."""
    points, starts = cells.points, cells.starts
    least, most = _apart(boxes[one], boxes[two])
    if least > square or most <= square:
        return bool(most <= square)
    for i in range(starts[one], starts[one + 1]):
        if (
            core[i]
            and _beyond(points, i, boxes[two]) <= square
            and _touches(points, i, starts[two], starts[two + 1], core, square)
        ):
            return True
    return False


@jit
def _join(cells: Any, square: float, near: bool, core: Any, boxes: Any, parents: Any) -> None:
    """Join the cells that are linked: those that touch, or those in reach that do not."""
    columns, heights = cells.columns, cells.heights
    far, beside = _offsets(cells.stride)
    at = np.zeros(25, dtype=np.int64)
    reach = 1 if near else _REACH
    for cell in range(len(columns)):
        if parents[cell] < 0:
            continue
        for k in range(25):
            if far[k] < 0 or (near and not beside[k]):
                continue
            column = columns[cell] + far[k]
            other = at[k] = _advance(columns, heights, at[k], column, heights[cell] - reach)
            while other < len(columns) and columns[other] == column and heights[other] <= heights[cell] + reach:
                fresh = near or not beside[k] or abs(heights[other] - heights[cell]) > 1
                if fresh and other > cell and parents[other] >= 0:
                    one, two = _root(parents, cell), _root(parents, other)
                    if one != two and _linked(cells, square, core, boxes, cell, other):
                        parents[max(one, two)] = min(one, two)
                other += 1


@jit
def _settle(parents: Any, firsts: Any) -> None:
    """Point every cell at its root, and give the root the lowest row of its cluster."""
    for cell in range(len(parents)):
        if parents[cell] >= 0:
            root = _root(parents, cell)
            parents[cell] = root
            firsts[root] = min(firsts[root], firsts[cell])


@jit
def _write(cells: Any, square: float, core: Any, boxes: Any, numbers: Any, labels: Any) -> None:
    """Write the cluster of core points, and the first cluster in reach of the others."""
    points, rows, starts, columns, heights = cells.points, cells.rows, cells.starts, cells.columns, cells.heights
    far, _ = _offsets(cells.stride)
    at = np.zeros(25, dtype=np.int64)
    for cell in range(len(columns)):
        for i in range(starts[cell], starts[cell + 1]):
            best = numbers[cell]
            if core[i]:
                labels[rows[i]] = best
                continue
            for k in range(25):
                column = columns[cell] + far[k]
                other = at[k] = _advance(columns, heights, at[k], column, heights[cell] - _REACH)
                while other < len(columns) and columns[other] == column and heights[other] <= heights[cell] + _REACH:
                    if (
                        numbers[other] >= 0
                        and (best < 0 or numbers[other] < best)
                        and _beyond(points, i, boxes[other]) <= square
                        and _touches(points, i, starts[other], starts[other + 1], core, square)
                    ):
                        best = numbers[other]
                    other += 1
            labels[rows[i]] = best
