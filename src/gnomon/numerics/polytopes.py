"""Volumes that two boxes have in common, exactly: by clipping.

How
---
- Upright boxes: one rectangle is clipped by the four sides of the other (Sutherland and Hodgman, 1974), in the frame of
  the other; area times common height.
- Any others: space is stretched so that the first box becomes the cube of side 2 about the origin. The second becomes a
  parallelepiped, which is cut into five tetrahedra. Each of them is clipped by the faces of the cube, one after
  another: what is left of a tetrahedron on one side of a plane is nothing, itself, a smaller one, or three. Their
  volumes are added.

Neither adds up faces, and no vertex has to be told on, inside or outside a plane without error: a vertex that rounding
puts on the wrong side changes a volume by as little as it is off. So coplanar faces, edges and vertices need no care,
identical boxes have their whole volume in common, and touching ones nothing but rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gnomon.core.compiling import jit

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
        total += _clipped(queue, planes, n, cutting)
    return total


@jit
def _clipped(queue: Any, planes: Any, n_planes: int, cutting: Any) -> float:
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
