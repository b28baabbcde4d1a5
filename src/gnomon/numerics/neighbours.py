"""Exact nearest neighbours of points in space, for many points at a time.

Conventions
-----------
Points are ``(N, 3)``, finite and smaller than 1e150, else refused; arithmetic is float64. A squared distance is
``(dx * dx + dy * dy) + dz * dz``, each operation rounded on its own, and a distance its root: the same bits as
``scipy.spatial.cKDTree`` gives where that is compiled without fused operations (x86-64). Which of equally near points
is named is not said, but it is always the same.

Method
------
Cells of at most :data:`CELL` points come from halving the points at the median of their widest axis, again and again,
so that a cell is as small as its surroundings are dense: neither outliers a million metres away nor a million points
in a millimetre nor duplicates cost more than others. A cell of *points* looks for its neighbours as a whole: it walks
down the boxes of the other cloud's cells, nearest first, passes over those that are farther than what all of its points
have, and compares cell with cell, one lane per point. Memory is linear: about 40 bytes per point of a cloud.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gnomon.core.compiling import jit
from gnomon.core.errors import InputError
from gnomon.core.tallies import Array

CELL = 16
"""Most points of a cell; every cell holds more than half of it, if there are that many points."""

LARGEST = 1e150
"""Coordinates that are not below this cannot be squared."""

_DEEPEST = 64  # levels of halving
_LOOKS, _SAMPLE = 64, 31  # points by which an axis and a pivot are chosen, at most
_BEST, _ROW = 3 * CELL, 4 * CELL  # of the state of a cell: x, y, z, least squared distance, whose; one lane per point


@dataclass(frozen=True)
class Cloud:
    """Points in the order of their cells.

    Parameters
    ----------
    points
        ``(N, 3)`` float64.
    rows
        Which row each point had, ``(N,)``.
    boxes
        ``(2 * cells, 6)``: lowest and highest coordinates of cells, from ``cells`` on, and of pairs of them before;
        1 is the box of all, ``2 i`` and ``2 i + 1`` are the halves of ``i``.
    """

    points: Array
    rows: Array
    boxes: Array

    def __len__(self) -> int:
        return len(self.points)

    def moved(self, rotation: Array, translation: Array) -> Cloud:
        """Return ``R x + t`` of every point, as points to look from; they cannot be looked for."""
        turned = np.empty_like(self.points)
        _move(self.points, np.array(rotation, dtype=np.float64), np.array(translation, dtype=np.float64), turned)
        return replace(self, points=finite_points(turned, "moved points"), boxes=self.boxes[:0])


def cloud(points: Any) -> Cloud:
    """Put points into cells, once for many searches."""
    ordered = np.array(finite_points(points, "points"), order="C")
    rows = np.arange(len(ordered), dtype=np.int32 if len(ordered) < 2**31 else np.int64)
    boxes = np.empty((2 * _cells(len(ordered)), 6))
    if len(ordered):
        _build(ordered, rows, boxes)
    return Cloud(ordered, rows, boxes)


def nearest(points: Any, others: Any, *, limit: float = math.inf, enough: float = 0.0) -> tuple[Array, Array]:
    """Find for every point the nearest of others.

    Parameters
    ----------
    points, others
        ``(N, 3)`` and ``(M, 3)``, or what :func:`cloud` made of them.
    limit
        Others that are farther do not count; those at just this distance do.
    enough
        The search for a point ends as soon as another one at this distance or nearer is found, be it the nearest or
        not. With ``limit=r, enough=r`` the result says whether there is any within ``r``.

    Returns
    -------
    tuple
        Distances ``(N,)``, infinite where there is nobody, and rows of the others ``(N,)``, there -1.
    """
    return _search(points, others, limit, enough, alone=False)


def nearest_other(points: Any, *, limit: float = math.inf) -> tuple[Array, Array]:
    """Find for every point the nearest other point of the same cloud; another one at the same place is at 0."""
    return _search(points, points, limit, 0.0, alone=True)


def spacing(points: Any) -> float:
    """Return the median distance of a point to the nearest other one; infinite below two points."""
    found = nearest_other(points)[0]
    return float(np.median(found)) if len(found) > 1 else math.inf


def _search(points: Any, others: Any, limit: float, enough: float, *, alone: bool) -> tuple[Array, Array]:
    if not (limit >= 0 and enough >= 0):
        raise InputError(f"nearest: limit {limit!r} and enough {enough!r}, expected numbers that are not negative")
    here = points if isinstance(points, Cloud) else cloud(points)
    there = here if alone else others if isinstance(others, Cloud) else cloud(others)
    distances, rows = np.full(len(here), np.inf), np.full(len(here), -1, dtype=np.int64)
    if len(here) and len(there):
        if not len(there.boxes):
            raise InputError("nearest: points that were moved can be looked from, not for; make a cloud of them")
        bounds = np.nextafter(_square(limit) * (1 + 1e-15), np.inf), _square(enough)
        _nearest(here.points, here.rows, there.points, there.rows, there.boxes, bounds, alone, (distances, rows))
        beyond = distances > limit
        distances[beyond], rows[beyond] = np.inf, -1
    return distances, rows


def _square(length: float) -> float:
    return length * length if length < LARGEST else math.inf


def _cells(n: int) -> int:
    cells = 1
    while cells * CELL < n:
        cells *= 2
    return cells


def finite_points(points: Any, what: str) -> Array:
    """Return points as ``(N, 3)`` float64, or refuse them."""
    array = np.asarray(points)
    if array.ndim != 2 or array.shape[1] != 3 or array.dtype.kind not in "fiu":
        raise InputError(f"{what}: {array.dtype} of shape {_shape(array.shape)}, expected numbers of shape (N, 3)")
    array = np.ascontiguousarray(array, dtype=np.float64)
    row = _first_bad(array)
    if row >= 0:
        raise InputError(f"{what}: row {row} is {array[row].tolist()}, expected finite coordinates; leave it out")
    return array


def _shape(shape: Sequence[int]) -> str:
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


@jit
def _first_bad(points: Any) -> int:
    for i in range(points.shape[0]):
        for k in range(3):
            if not abs(points[i, k]) < LARGEST:
                return i
    return -1


@jit
def _move(points: Any, rotation: Any, translation: Any, out: Any) -> None:
    for i in range(points.shape[0]):
        for k in range(3):
            turned = rotation[k, 0] * points[i, 0] + rotation[k, 1] * points[i, 1] + rotation[k, 2] * points[i, 2]
            out[i, k] = turned + translation[k]


@jit
def _span(n: int, width: int, place: int) -> Any:
    """Return the first point and the one after the last of one of so many equal parts."""
    return (n * place) // width, (n * (place + 1)) // width


@jit
def _bound(points: Any, low: int, high: int, box: Any) -> None:
    for k in range(3):
        box[k] = box[k + 3] = points[low, k]
    for i in range(low + 1, high):
        for k in range(3):
            value = points[i, k]
            box[k] = min(box[k], value)
            box[k + 3] = max(box[k + 3], value)


@jit
def _swap(points: Any, rows: Any, i: int, j: int) -> None:
    for k in range(3):
        points[i, k], points[j, k] = points[j, k], points[i, k]
    rows[i], rows[j] = rows[j], rows[i]


@jit
def _pivot(points: Any, low: int, high: int, middle: int, axis: int, sample: Any) -> float:
    """Guess the coordinate of the middle one from a sorted sample, taken at places that no regular order meets."""
    size = high - low
    taken = min(len(sample), size // 128 * 2 + 3, size)
    for s in range(taken):
        value = points[low + (s * size + (s * 7919) % size) // taken, axis]
        t = s
        while t > 0 and sample[t - 1] > value:
            sample[t] = sample[t - 1]
            t -= 1
        sample[t] = value
    return float(sample[min(((middle - low) * taken) // size, taken - 1)])


@jit
def _halve(points: Any, rows: Any, span: Any, middle: int, axis: int, sample: Any) -> None:
    """Reorder points so that those before the middle are nowhere above those from it on, along an axis."""
    low, high = span
    while high - low > 1:
        pivot = _pivot(points, low, high, middle, axis, sample)
        i, j = low, high - 1
        while i <= j:
            while points[i, axis] < pivot:
                i += 1
            while points[j, axis] > pivot:
                j -= 1
            if i <= j:
                _swap(points, rows, i, j)
                i += 1
                j -= 1
        if middle <= j:
            high = j + 1
        elif middle >= i:
            low = i
        else:
            return


@jit
def _widest(points: Any, low: int, high: int, box: Any) -> int:
    """Return the axis along which points spread most, by a sample of them: a poor guess costs time only."""
    step = max((high - low) // _LOOKS, 1)
    for k in range(3):
        box[k] = box[k + 3] = points[low, k]
    for i in range(low + step, high, step):
        for k in range(3):
            box[k], box[k + 3] = min(box[k], points[i, k]), max(box[k + 3], points[i, k])
    axis = 0
    for k in range(1, 3):
        if box[k + 3] - box[k] > box[axis + 3] - box[axis]:
            axis = k
    return axis


@jit
def _build(points: Any, rows: Any, boxes: Any) -> None:
    n, cells = points.shape[0], boxes.shape[0] // 2
    boxes[0] = 0.0
    sample = np.empty(_SAMPLE)
    width = 1
    for node in range(1, cells):
        if node == 2 * width:
            width = node
        low, high = _span(n, width, node - width)
        axis = _widest(points, low, high, boxes[0])
        _halve(points, rows, (low, high), _span(n, 2 * width, 2 * (node - width))[1], axis, sample)
    for place in range(cells):
        low, high = _span(n, cells, place)
        _bound(points, low, high, boxes[cells + place])
    for node in range(cells - 1, 0, -1):
        for k in range(3):
            boxes[node, k] = min(boxes[2 * node, k], boxes[2 * node + 1, k])
            boxes[node, k + 3] = max(boxes[2 * node, k + 3], boxes[2 * node + 1, k + 3])


@jit
def _apart(box: Any, other: Any) -> float:
    """Return the least squared distance of two boxes."""
    square = 0.0
    for k in range(3):
        gap = max(max(box[k] - other[k + 3], other[k] - box[k + 3]), 0.0)
        square += gap * gap
    return square


@jit
def _between(box: Any, other: Any) -> float:
    """Return the squared distance of a box's middle to another box."""
    square = 0.0
    for k in range(3):
        middle = 0.5 * box[k] + 0.5 * box[k + 3]
        gap = max(max(middle - other[k + 3], other[k] - middle), 0.0)
        square += gap * gap
    return square


@jit
def _load(points: Any, low: int, high: int, state: Any, box: Any) -> None:
    """Lay points into lanes, axis by axis; the last one is repeated in lanes that are left."""
    _bound(points, low, high, box)
    for lane in range(CELL):
        for k in range(3):
            state[k * CELL + lane] = points[min(low + lane, high - 1), k]


@jit
def _wanted(state: Any, box: Any, enough: float) -> bool:
    """Say whether a box comes nearer to any point than what it has."""
    a, b, c, d, e, f = box[0], box[1], box[2], box[3], box[4], box[5]
    wanted = 0
    for lane in range(CELL):
        x, y, z = state[lane], state[CELL + lane], state[2 * CELL + lane]
        x, y, z = max(max(x - d, a - x), 0.0), max(max(y - e, b - y), 0.0), max(max(z - f, c - z), 0.0)
        best = state[_BEST + lane]
        wanted |= (x * x + y * y + z * z < best) & (best > enough)
    return wanted > 0


@jit
def _meet(state: Any, a: float, b: float, c: float, row: float) -> None:
    """Let every lane take another point if it is nearer than its own."""
    for lane in range(CELL):
        x, y, z = state[lane] - a, state[CELL + lane] - b, state[2 * CELL + lane] - c
        square = x * x + y * y + z * z
        best, at = state[_BEST + lane], state[_ROW + lane]
        better = square < best
        state[_BEST + lane] = square if better else best
        state[_ROW + lane] = row if better else at


@jit
def _meet_own(state: Any, points: Any, rows: Any, low: int, high: int) -> None:
    """Let the points of a cell meet one another."""
    for i in range(low, high):
        best, at = state[_BEST + i - low], state[_ROW + i - low]
        for j in range(low, high):
            x, y, z = points[i, 0] - points[j, 0], points[i, 1] - points[j, 1], points[i, 2] - points[j, 2]
            square = x * x + y * y + z * z
            if i != j and square < best:
                best, at = square, float(rows[j])
        state[_BEST + i - low], state[_ROW + i - low] = best, at
    last = high - 1 - low
    for lane in range(last + 1, CELL):
        state[_BEST + lane], state[_ROW + lane] = state[_BEST + last], state[_ROW + last]


@jit
def _bar(state: Any, enough: float) -> float:
    """Return the squared distance beyond which no point of a cell looks any more."""
    bar = -1.0
    for lane in range(CELL):
        best = state[_BEST + lane]
        bar = best if (best > enough) & (best > bar) else bar
    return bar


@jit
def _nearest(points: Any, own: Any, others: Any, rows: Any, boxes: Any, bounds: Any, alone: bool, out: Any) -> None:
    n, m, cells = points.shape[0], others.shape[0], boxes.shape[0] // 2
    limit, enough = bounds
    state, box = np.empty(5 * CELL), np.empty(6)
    nodes, far = np.empty(_DEEPEST, dtype=np.int64), np.empty(_DEEPEST)
    width = 1
    while width * CELL < n:
        width *= 2
    for place in range(width):
        low, high = _span(n, width, place)
        _load(points, low, high, state, box)
        state[_BEST:_ROW] = limit
        state[_ROW:] = m
        bar, top, node = limit, 0, 1
        while True:
            while node < cells:
                left, right = boxes[2 * node], boxes[2 * node + 1]
                swap = _between(box, right) < _between(box, left)
                nodes[top] = 2 * node if swap else 2 * node + 1
                far[top] = _apart(box, left if swap else right)
                top += far[top] < bar
                node = 2 * node + 1 if swap else 2 * node
            first, last = _span(m, cells, node - cells)
            if alone and first == low:
                _meet_own(state, others, rows, low, high)
            else:
                for j in range(first, last):
                    _meet(state, others[j, 0], others[j, 1], others[j, 2], float(rows[j]))
            bar = _bar(state, enough)
            while top > 0 and not (far[top - 1] < bar and _wanted(state, boxes[nodes[top - 1]], enough)):
                top -= 1
            if top == 0:
                break
            top -= 1
            node = nodes[top]
        for i in range(low, high):
            if state[_ROW + i - low] < m:
                out[0][own[i]] = math.sqrt(state[_BEST + i - low])
                out[1][own[i]] = int(state[_ROW + i - low])
