"""Which boxes overlap, and by how much: IoU of many with many, without looking at every pair.

Conventions
-----------
- IoU is the common volume over the volume of either, in [0, 1]; boxes that only touch have 0. It is exact for boxes of
  any orientation: see :mod:`gnomon.numerics.polytopes`. Boxes come as :class:`gnomon.numerics.solids.Solids`.
- Only boxes of one group (a class of a scene) meet. Groups are integer codes from 0.
- Pairs that can overlap are found by sweeping along one axis of coordinates: both sides are sorted by where they
  begin, and each box is compared with those that begin inside it. The axis is the one along which the fewest meet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.core.compiling import jit
from gnomon.core.errors import InputError
from gnomon.numerics import polytopes
from gnomon.numerics.solids import ALIGNED, TILTED, Solids

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]

MOST_PAIRS = 1 << 25
"""More pairs than this are not kept: matching them would take gigabytes."""

_ROOM = 1e-9  # of a bound on IoU: rounding must not lose a pair
_TOUCHING = 1e-14  # of the smaller volume: what rounding leaves of turned boxes that touch


@dataclass(frozen=True, eq=False)
class Overlaps:
    """Pairs of boxes with a common volume, by ``i`` and then ``j``; ``n`` and ``m`` boxes in all."""

    i: Codes
    j: Codes
    iou: Floats
    n: int
    m: int

    def __len__(self) -> int:
        return len(self.i)

    def take(self, pairs: NDArray[Any]) -> Overlaps:
        """Return some pairs: indices or a boolean mask."""
        return Overlaps(self.i[pairs], self.j[pairs], self.iou[pairs], self.n, self.m)


def overlaps(
    first: Solids,
    second: Solids,
    groups: tuple[Codes, Codes] | None = None,
    *,
    least: float = 0.0,
) -> Overlaps:
    """Return all pairs of one group with a common volume and an IoU of at least ``least``.

    Examples
    --------
    >>> from gnomon.numerics.solids import solids
    >>> cubes = solids([[0, 0, 0, 2, 2, 2], [9, 9, 9, 11, 11, 11]])
    >>> found = overlaps(cubes, solids([[1, 0, 0, 3, 2, 2]]))
    >>> found.i.tolist(), found.j.tolist(), found.iou.tolist()
    ([0], [0], [0.3333333333333333])
    """
    codes = groups or (np.zeros(len(first), np.int64), np.zeros(len(second), np.int64))
    i, j = candidates(first, second, codes)
    iou, turned = np.empty(len(i)), np.zeros(len(i), np.bool_)
    _bounded(_columns(first), _columns(second), (i, j), least * (1 - _ROOM), iou, turned)
    rest = np.flatnonzero(turned)
    if len(rest):
        _clipped(_columns(first), _columns(second), (i, j), rest, iou)
    kept = np.flatnonzero((iou > 0) & (iou >= least))
    return Overlaps(i[kept], j[kept], iou[kept], len(first), len(second))


def iou_matrix(first: Solids, second: Solids) -> Floats:
    """Return the IoU of every box with every box, ``(N, M)``.

    >>> from gnomon.numerics.solids import solids
    >>> iou_matrix(solids([[0, 0, 0, 1, 1, 1]]), solids([[0, 0, 0, 1, 1, 2], [1, 0, 0, 2, 1, 1]]))
    array([[0.5, 0. ]])
    """
    found = overlaps(first, second)
    out = np.zeros((len(first), len(second)))
    out[found.i, found.j] = found.iou
    return out


def candidates(first: Solids, second: Solids, groups: tuple[Codes, Codes]) -> tuple[Codes, Codes]:
    """Return the pairs of one group whose bounds overlap, by ``i`` and then ``j``."""
    axis = _axis(first, second)
    sides = [_swept(box, code, axis) for box, code in ((first, groups[0]), (second, groups[1]))]
    count, i, j = _sweep(sides[0], sides[1], MOST_PAIRS)
    if count > MOST_PAIRS:
        raise InputError(
            f"{len(first):,} and {len(second):,} boxes overlap in more than {MOST_PAIRS:,} pairs; "
            "match fewer boxes at a time"
        )
    i, j = _sorted(i[:count], j[:count], len(first), len(second))
    return i, j


def _axis(first: Solids, second: Solids) -> int:
    """Return the axis along which boxes are small against the whole."""
    if not len(first) or not len(second):
        return 0
    extents = []
    for axis in range(3):  # one column after another: over rows of three the extremes would take forty times as long
        low, high = (
            np.concatenate([getattr(side, end)[:, axis] for side in (first, second)]) for end in ("low", "high")
        )
        extents.append((low.max() - low.min()) / (high - low).mean())
    return int(np.argmax(extents))


def _swept(boxes: Solids, groups: Codes, axis: int) -> tuple[Codes, Codes, Floats]:
    """Return rows, groups and bounds ``(6, M)`` in the order of the sweep; those of its axis come first."""
    groups = np.asarray(groups, np.int64)
    order = _order(boxes.low[:, axis], groups)
    axes = [axis, (axis + 1) % 3, (axis + 2) % 3]
    bounds = np.concatenate([boxes.low.T[axes], boxes.high.T[axes]])
    return order, groups[order], np.ascontiguousarray(bounds[:, order])


def _order(starts: Floats, groups: Codes) -> Codes:
    """Return rows by group, and within one by where they start; small numbers of groups are sorted digit by digit."""
    order = np.argsort(np.ascontiguousarray(starts))
    small = groups.min(initial=0) >= 0 and groups.max(initial=0) < 1 << 16
    codes = groups[order].astype(np.uint16) if small else groups[order]
    return np.asarray(order[np.argsort(codes, kind="stable")])


def _columns(boxes: Solids) -> tuple[NDArray[Any], ...]:
    return boxes.centre, boxes.half, boxes.axes, boxes.stand, boxes.low, boxes.high, boxes.volume


@jit
def _sweep(first: Any, second: Any, most: int) -> Any:
    """Return how many pairs there are, and them; more than ``most`` are not kept."""
    i, j, n = np.empty(1024, np.int64), np.empty(1024, np.int64), 0
    for turn in range(2):
        rows, groups, bounds = first if turn == 0 else second
        others, other_groups, other_bounds = second if turn == 0 else first
        starts = other_bounds[0]
        low, stop = 0, 0
        for p in range(rows.size):
            # Those that begin inside p; of pairs that begin together the first turn alone takes care.
            group, begin, end = groups[p], bounds[0, p], bounds[3, p]
            while low < others.size and (
                other_groups[low] < group
                or (other_groups[low] == group and (starts[low] < begin or (turn == 1 and starts[low] == begin)))
            ):
                low += 1
            stop = low
            while stop < others.size and other_groups[stop] == group and starts[stop] < end:
                stop += 1
            if n + stop - low > i.size:
                if n > most:
                    return n, i, j
                i, j = _grown(i, n + stop - low), _grown(j, n + stop - low)
            y_low, z_low, y_high, z_high = bounds[1, p], bounds[2, p], bounds[4, p], bounds[5, p]
            row = rows[p]
            for q in range(low, stop):
                # Written before it is known whether they meet: there is no branch to guess.
                i[n], j[n] = (row, others[q]) if turn == 0 else (others[q], row)
                y = (other_bounds[1, q] < y_high) & (y_low < other_bounds[4, q])
                z = (other_bounds[2, q] < z_high) & (z_low < other_bounds[5, q])
                n += y & z
    return n, i, j


@jit
def _grown(array: Any, least: int) -> Any:
    out = np.empty(max(2 * array.size, least), np.int64)
    out[: array.size] = array
    return out


@jit
def _sorted(i: Any, j: Any, n: int, m: int) -> Any:
    """Sort pairs by i and then j, by counting."""
    for turn in range(2):
        keys, size = (j, m) if turn == 0 else (i, n)
        place = np.zeros(size + 1, np.int64)
        for k in range(keys.size):
            place[keys[k] + 1] += 1
        for c in range(size):
            place[c + 1] += place[c]
        new_i, new_j = np.empty_like(i), np.empty_like(j)
        for k in range(keys.size):
            at = place[keys[k]]
            place[keys[k]] += 1
            new_i[at], new_j[at] = i[k], j[k]
        i, j = new_i, new_j
    return i, j


@jit
def _bounded(first: Any, second: Any, pairs: Any, least: float, out: Any, turned: Any) -> None:
    """Compute IoU from bounds, and mark the pairs of which these say only that it may reach ``least``."""
    i, j = pairs
    for k in range(i.size):
        a, b = i[k], j[k]
        common = 1.0
        for x in range(3):
            common *= min(first[5][a, x], second[5][b, x]) - max(first[4][a, x], second[4][b, x])
        common = min(common, min(first[6][a], second[6][b]))
        out[k] = common / (first[6][a] + second[6][b] - common)
        if first[3][a] != ALIGNED or second[3][b] != ALIGNED:
            turned[k] = out[k] >= least
            out[k] *= turned[k]


@jit
def _clipped(first: Any, second: Any, pairs: Any, rest: Any, out: Any) -> None:
    """Compute the IoU of some pairs by clipping."""
    space = polytopes.workspace()
    middle, edges, flat = np.empty(3), np.empty((3, 3)), np.empty((2, 16, 2))
    for k in rest:
        a, b = pairs[0][k], pairs[1][k]
        if first[3][a] == TILTED or second[3][b] == TILTED:
            common = _tilted(first, a, second, b, middle, edges, space)
        else:
            common = _upright(first, a, second, b, flat)
        smaller = min(first[6][a], second[6][b])
        common = min(common, smaller) if common > _TOUCHING * smaller else 0.0
        out[k] = common / (first[6][a] + second[6][b] - common)


@jit
def _upright(first: Any, a: int, second: Any, b: int, flat: Any) -> float:
    """Area in the frame of the first box, times common height."""
    height = min(first[5][a, 2], second[5][b, 2]) - max(first[4][a, 2], second[4][b, 2])
    dx, dy = second[0][b, 0] - first[0][a, 0], second[0][b, 1] - first[0][a, 1]
    for k in range(4):
        s = second[1][b, 0] * (1.0 if k == 0 or k == 3 else -1.0)
        t = second[1][b, 1] * (1.0 if k < 2 else -1.0)
        x = dx + s * second[2][b, 0, 0] + t * second[2][b, 1, 0]
        y = dy + s * second[2][b, 0, 1] + t * second[2][b, 1, 1]
        flat[0, k, 0] = x * first[2][a, 0, 0] + y * first[2][a, 0, 1]
        flat[0, k, 1] = x * first[2][a, 1, 0] + y * first[2][a, 1, 1]
    return float(height * polytopes.rectangles(first[1][a, 0], first[1][a, 1], flat[0], flat[1]))


@jit
def _tilted(first: Any, a: int, second: Any, b: int, middle: Any, edges: Any, space: Any) -> float:
    """Volume in the space in which the first box is a cube, times how much that was stretched."""
    for x in range(3):
        middle[x] = 0.0
        for y in range(3):
            middle[x] += (second[0][b, y] - first[0][a, y]) * first[2][a, x, y] / first[1][a, x]
            edges[y, x] = 0.0
    for e in range(3):
        for x in range(3):
            for y in range(3):
                edges[e, x] += second[1][b, e] * second[2][b, e, y] * first[2][a, x, y] / first[1][a, x]
    return float(polytopes.cube(middle, edges, space) * first[6][a] / 8.0)
