"""Which boxes overlap, and by how much: IoU of many with many, without looking at every pair.

Conventions
-----------
- IoU is the common volume over the volume of either, in [0, 1]; boxes that only touch have 0. It is exact for boxes of
  any orientation (see below). Boxes come as :class:`gnomon.numerics.solids.Solids`.
- Only boxes of one group (a class of a scene) meet. Groups are integer codes from 0.
- Pairs that can overlap are found by sweeping along one axis of coordinates: both sides are sorted by where they
  begin, and each box is compared with those that begin inside it. The axis is the one along which the fewest meet.

Common volumes, exactly, by clipping
------------------------------------
- Upright boxes: one rectangle is clipped by the four sides of the other (Sutherland and Hodgman, 1974), in the frame of
  the other; area times common height.
- Any others: space is stretched so that the first box becomes the cube of side 2 about the origin. The second becomes a
  parallelepiped, which is cut into five tetrahedra. Each of them is clipped by the faces of the cube, one after
  another: what is left of a tetrahedron on one side of a plane is nothing, itself, a smaller one, or three. Their
  volumes are added.

Neither adds up faces, and no vertex has to be told on, inside or outside a plane without error: a vertex that rounding
puts on the wrong side changes a volume by as little as it is off. So coplanar faces, edges and vertices need no care,
identical boxes have their whole volume in common, and touching ones nothing but rounding.

The machine code of a function is kept on disk by the content of its own file, so that all compiled functions that call
one another are in this file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.core.compiling import jit
from gnomon.core.errors import InputError
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
    space = workspace()
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
    return float(height * rectangles(first[1][a, 0], first[1][a, 1], flat[0], flat[1]))


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
    return float(cube(middle, edges, space) * first[6][a] / 8.0)


_TETRAHEDRA = np.array([[0, 3, 5, 6], [7, 3, 5, 6], [4, 0, 5, 6], [2, 0, 3, 6], [1, 0, 3, 5]])
"""Of a box with vertices numbered by their signs, as binary digits x, y, z."""

_DEEP = 16  # tetrahedra that wait: each cut puts at most two more behind the one that goes on


@jit
def rectangles(hx: float, hy: float, corners: Any, spare: Any) -> float:
    """Return the area of a convex polygon ``(4, 2)`` inside ``|x| <= hx, |y| <= hy``; both arrays are overwritten."""
    n = 4
    source, target = corners, spare
    for cut in range(4):
        axis = cut // 2
        sign = 1.0 - 2.0 * (cut % 2)
        limit = hx if axis == 0 else hy
        m = 0
        for k in range(n):
            ax, ay = source[k, 0], source[k, 1]
            bx, by = source[(k + 1) % n, 0], source[(k + 1) % n, 1]
            da = sign * (ax if axis == 0 else ay) - limit
            db = sign * (bx if axis == 0 else by) - limit
            if da <= 0.0:
                target[m, 0], target[m, 1] = ax, ay
                m += 1
            if (da < 0.0 < db) or (db < 0.0 < da):
                t = da / (da - db)
                target[m, 0], target[m, 1] = ax + t * (bx - ax), ay + t * (by - ay)
                target[m, axis] = sign * limit
                m += 1
        n = m
        if n < 3:
            return 0.0
        source, target = target, source
    area = 0.0
    for k in range(1, n - 1):
        ux, uy = source[k, 0] - source[0, 0], source[k, 1] - source[0, 1]
        vx, vy = source[k + 1, 0] - source[0, 0], source[k + 1, 1] - source[0, 1]
        area += ux * vy - uy * vx
    return 0.5 * abs(area)


@jit
def workspace() -> Any:
    """Return what :func:`cube` works with: vertices, planes, tetrahedra that wait, and the parts of a cut."""
    queue = np.empty((_DEEP, 4, 3)), np.empty(_DEEP, np.int64)
    cutting = np.empty(4), np.empty((2, 4), np.int64), np.empty((4, 3)), np.empty((2, 3, 3))
    return np.empty((8, 3)), np.empty(6, np.int64), queue, cutting


@jit
def cube(middle: Any, edges: Any, space: Any) -> float:
    """Return the volume of ``middle +- edges[0] +- edges[1] +- edges[2]`` within the cube of side 2."""
    vertices, planes, queue, cutting = space
    for v in range(8):
        for x in range(3):
            a = edges[0, x] if v & 4 else -edges[0, x]
            b = edges[1, x] if v & 2 else -edges[1, x]
            c = edges[2, x] if v & 1 else -edges[2, x]
            vertices[v, x] = middle[x] + (a + b + c)
    n = 0
    for x in range(3):
        least, most = vertices[:, x].min(), vertices[:, x].max()
        if least >= 1.0 or most <= -1.0:
            return 0.0
        if most > 1.0:
            planes[n] = 2 * x
            n += 1
        if least < -1.0:
            planes[n] = 2 * x + 1
            n += 1
    total = 0.0
    for t in range(5):
        for k in range(4):
            _copy(vertices, _TETRAHEDRA[t, k], queue[0][0], k)
        queue[1][0] = 0
        total += _clip_tetrahedra(queue, planes, n, cutting)
    return total


@jit
def _clip_tetrahedra(queue: Any, planes: Any, n_planes: int, cutting: Any) -> float:
    """Return the volume of the first tetrahedron on the inner side of all planes."""
    waiting, depth = queue
    distance, sides, _, _ = cutting
    total, n = 0.0, 1
    while n > 0:
        n -= 1
        done, inside = depth[n], 4
        while done < n_planes and inside == 4:
            axis, sign = planes[done] // 2, 1.0 - 2.0 * (planes[done] % 2)
            inside, outside = 0, 0
            for k in range(4):
                distance[k] = sign * waiting[n, k, axis] - 1.0
                if distance[k] <= 0.0:
                    sides[0, inside] = k
                    inside += 1
                else:
                    sides[1, outside] = k
                    outside += 1
            done += 1
        if inside == 4:
            total += _volume(waiting[n])
        elif inside > 0:
            more = _cut(waiting, n, inside, cutting)
            depth[n : n + more] = done
            n += more
    return total


@jit
def _cut(waiting: Any, at: int, inside: int, cutting: Any) -> int:
    """Put what is left of a tetrahedron in its place and behind; return how many tetrahedra that is.

    A prism with the ends a b c and p q r consists of a b c r, a b q r and a p q r.
    """
    distance, sides, old, ends = cutting
    inner, outer = sides
    for k in range(4):
        _copy(waiting[at], k, old, k)
    if inside == 1:
        _copy(old, inner[0], waiting[at], 0)
        for k in range(3):
            _between(old, inner[0], outer[k], distance, waiting[at, k + 1])
        return 1
    if inside == 3:
        for k in range(3):
            _copy(old, inner[k], ends[0], k)
            _between(old, inner[k], outer[0], distance, ends[1, k])
    else:
        for end in range(2):
            _copy(old, inner[end], ends[end], 0)
            for k in range(2):
                _between(old, inner[end], outer[k], distance, ends[end, k + 1])
    for part in range(3):
        for k in range(3 - part):
            _copy(ends[0], k, waiting[at + part], k)
        for k in range(3 - part, 4):
            _copy(ends[1], k - 1, waiting[at + part], k)
    return 3


@jit
def _copy(source: Any, i: int, target: Any, k: int) -> None:
    for x in range(3):
        target[k, x] = source[i, x]


@jit
def _between(vertices: Any, inner: int, outer: int, distance: Any, out: Any) -> None:
    """Write the point of an edge that lies in the plane."""
    share = distance[inner] / (distance[inner] - distance[outer])
    for x in range(3):
        out[x] = vertices[inner, x] + share * (vertices[outer, x] - vertices[inner, x])


@jit
def _volume(t: Any) -> float:
    ux, uy, uz = t[1, 0] - t[0, 0], t[1, 1] - t[0, 1], t[1, 2] - t[0, 2]
    vx, vy, vz = t[2, 0] - t[0, 0], t[2, 1] - t[0, 1], t[2, 2] - t[0, 2]
    wx, wy, wz = t[3, 0] - t[0, 0], t[3, 1] - t[0, 1], t[3, 2] - t[0, 2]
    return float(abs(ux * (vy * wz - vz * wy) - uy * (vx * wz - vz * wx) + uz * (vx * wy - vy * wx)) / 6.0)
