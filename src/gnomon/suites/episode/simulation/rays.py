"""Rays against boxes, capsules and cylinders, exactly, with tiles of a picture that skip what they cannot see.

Conventions
-----------
- Everything is in room coordinates. A solid is ``(9,)``: both ends of its axis, radius, kind, and whether it is shiny.
  The room is a box seen from inside.
- What a ray meets has a number: pieces of furniture first, then the six sides of the room, then solids.
- Each tile of a picture has a list of what may be in its cone, nearest first, so that most rays test few things.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnomon.core.compiling import jit
from gnomon.core.tallies import Array

CAPSULE, CYLINDER = 0.0, 1.0
RADIUS, KIND, SHINY = 6, 7, 8
SIDES = 6
"""Of a room: low and high x, y and z."""
TILE = 8
_FAR = 1e9


@dataclass(frozen=True, eq=False)
class Lens:
    """The rays of a camera, their lengths, and the cones of its tiles: axes ``(T, 3)`` and half angles ``(T,)``."""

    rays: Array
    lengths: Array
    axes: Array
    angles: Array


def lens(rays: Array) -> Lens:
    """Return rays ``(height, width, 3)`` in the axes of a camera, with the cones of their tiles; zeros are no rays."""
    lengths = np.linalg.norm(rays, axis=-1)
    axes, angles = [], []
    for y in range(0, rays.shape[0], TILE):
        for x in range(0, rays.shape[1], TILE):
            tile = np.s_[y : y + TILE, x : x + TILE]
            unit = rays[tile][lengths[tile] > 0] / lengths[tile][lengths[tile] > 0][:, np.newaxis]
            axis = unit.sum(axis=0) if len(unit) else np.array([0.0, 0.0, 1.0])
            axis /= np.linalg.norm(axis)
            axes.append(axis)
            angles.append(float(np.arccos(np.clip((unit @ axis).min(), -1, 1))) + 1e-6 if len(unit) else -10.0)
    return Lens(np.ascontiguousarray(rays), lengths, np.array(axes), np.array(angles))


@dataclass(frozen=True, eq=False)
class Hits:
    """What rays meet: distance in units of the ray, number (-1: nothing), normal, and the cosine between both."""

    ranges: Array
    owners: Array
    normals: Array
    cosines: Array


def cast(look: Lens, turn: Array, origin: Array, size: Array, boxes: Array, solids: Array) -> Hits:
    """Send the rays of a camera.

    Parameters
    ----------
    look
        The camera.
    turn, origin
        Its attitude (room from camera) and place.
    size
        Of the room.
    boxes, solids
        What is in it.
    """
    shape = look.rays.shape[:2]
    hits = Hits(np.empty(shape), np.empty(shape, dtype=np.int64), np.empty((*shape, 3)), np.empty(shape))
    order, nearest, spheres = _ordered(boxes, solids, origin)
    lists, counts = _listed(look.axes @ turn.T, look.angles, spheres)
    things = (boxes - np.tile(origin, 2), _prepared(solids, origin))
    walls = np.stack([-origin, size - origin], axis=1)
    _cast(look.rays, look.lengths, turn, walls, *things, order, nearest, lists, counts, hits.ranges, hits.owners)
    _face(look.rays, look.lengths, turn, *things, hits.ranges, hits.owners, hits.normals, hits.cosines)
    return hits


def _ordered(boxes: Array, solids: Array, origin: Array) -> tuple[Array, Array, Array]:
    """Return the numbers of all things, how near each may be, both nearest first, and the spheres around all."""
    low = np.concatenate([boxes[:, :3], solids[:, :3]])
    high = np.concatenate([boxes[:, 3:], solids[:, 3:6]])
    radius = np.linalg.norm(high - low, axis=1) / 2
    radius[len(boxes) :] += solids[:, RADIUS]
    middle = (low + high) / 2 - origin
    spheres = np.concatenate([middle, radius[:, np.newaxis]], axis=1)
    inside = np.clip(origin, boxes[:, :3], boxes[:, 3:])
    near = np.linalg.norm(middle, axis=1) - radius
    near[: len(boxes)] = np.linalg.norm(inside - origin, axis=1)
    order = np.argsort(near, kind="stable")
    return order, near[order], spheres[order]


def _prepared(solids: Array, origin: Array) -> Array:
    """Return what does not depend on the ray: the axis and the way to it, their products, radius and kind."""
    axis, way = solids[:, 3:6] - solids[:, :3], origin - solids[:, :3]
    long, along, apart = (axis * axis).sum(axis=1), (axis * way).sum(axis=1), (way * way).sum(axis=1)
    square = solids[:, RADIUS] ** 2
    last = [long, along, long * (apart - square) - along**2, apart - square, solids[:, KIND], square]
    return np.ascontiguousarray(np.concatenate([axis, way, np.stack(last, axis=1)], axis=1))


@jit
def _listed(axes: Any, angles: Any, spheres: Any) -> Any:
    """Return, for each tile, which of the spheres may be in its cone, and how many."""
    total = spheres.shape[0]
    lists, counts = np.empty((axes.shape[0], total), dtype=np.int64), np.zeros(axes.shape[0], dtype=np.int64)
    cosines, sines = np.cos(angles), np.sin(angles)
    for j in range(total):
        x, y, z, size = spheres[j, 0], spheres[j, 1], spheres[j, 2], spheres[j, 3]
        away = math.sqrt(x * x + y * y + z * z)
        wide = math.asin(size / away) if size < away else math.pi
        c, s = away * math.cos(wide), away * math.sin(wide)
        for tile in range(axes.shape[0]):
            if angles[tile] < 0.0:
                continue
            dot = axes[tile, 0] * x + axes[tile, 1] * y + axes[tile, 2] * z
            if angles[tile] + wide >= math.pi or dot >= c * cosines[tile] - s * sines[tile]:
                lists[tile, counts[tile]] = j
                counts[tile] += 1
    return lists, counts


@jit
def _box(x: float, y: float, z: float, box: Any) -> float:
    """Return where a ray from the origin enters a box, by the inverse of its direction; far away where it does not."""
    a, b = box[0] * x, box[3] * x
    enter, leave = min(a, b), max(a, b)
    a, b = box[1] * y, box[4] * y
    enter, leave = max(enter, min(a, b)), min(leave, max(a, b))
    a, b = box[2] * z, box[5] * z
    enter, leave = max(enter, min(a, b)), min(leave, max(a, b))
    return float(enter) if 0.0 < enter <= leave else _FAR


@jit
def _solid(x: float, y: float, z: float, square: float, s: Any) -> float:
    """Return where a ray of a squared length enters a prepared solid; far away where it does not."""
    across = s[0] * x + s[1] * y + s[2] * z
    way = s[3] * x + s[4] * y + s[5] * z
    a = s[6] * square - across * across
    b = s[6] * way - s[7] * across
    under = b * b - a * s[8]
    if under < 0.0:
        return _FAR
    if a > 1e-12:
        t = (-b - math.sqrt(under)) / a
        along = s[7] + t * across
        if t > 0.0 and 0.0 < along < s[6]:
            return float(t)
    if s[10] == CYLINDER:
        if abs(across) < 1e-12:
            return _FAR
        lid = 0.0 if across > 0.0 else 1.0
        t = (lid * s[6] - s[7]) / across
        u, v, w = s[3] + t * x - lid * s[0], s[4] + t * y - lid * s[1], s[5] + t * z - lid * s[2]
        return t if t > 0.0 and u * u + v * v + w * w <= s[11] else _FAR
    best = _FAR
    for end in range(2):
        half = way - end * across
        under = half * half - square * (s[9] + end * (s[6] - 2.0 * s[7]))
        if under >= 0.0:
            t = (-half - math.sqrt(under)) / square
            if 0.0 < t < best:
                best = t
    return best


@jit
def _inverse(value: float) -> float:
    return 1.0 / value if abs(value) > 1e-9 else math.copysign(1e9, value)


@jit
def _cast(
    rays: Any,
    lengths: Any,
    turn: Any,
    walls: Any,
    boxes: Any,
    solids: Any,
    order: Any,
    nearest: Any,
    lists: Any,
    counts: Any,
    ranges: Any,
    owners: Any,
) -> None:
    height, width, count = rays.shape[0], rays.shape[1], boxes.shape[0]
    columns = (width + TILE - 1) // TILE
    for row in range(height):
        for column in range(width):
            size = lengths[row, column]
            ranges[row, column], owners[row, column] = _FAR, -1
            if size == 0.0:
                continue
            u, v, w = rays[row, column, 0], rays[row, column, 1], rays[row, column, 2]
            x = turn[0, 0] * u + turn[0, 1] * v + turn[0, 2] * w
            y = turn[1, 0] * u + turn[1, 1] * v + turn[1, 2] * w
            z = turn[2, 0] * u + turn[2, 1] * v + turn[2, 2] * w
            ix, iy, iz = _inverse(x), _inverse(y), _inverse(z)
            best, owner = _FAR, -1
            for k in range(3):
                inverse = ix if k == 0 else iy if k == 1 else iz
                high = 1 if inverse > 0.0 else 0
                t = walls[k, high] * inverse
                if t < best:
                    best, owner = t, count + 2 * k + high
            tile = row // TILE * columns + column // TILE
            for j in range(counts[tile]):
                at = lists[tile, j]
                if nearest[at] > best * size:
                    break
                i = order[at]
                t = _box(ix, iy, iz, boxes[i]) if i < count else _solid(x, y, z, size * size, solids[i - count])
                if t < best:
                    best, owner = t, i if i < count else i + SIDES
            ranges[row, column], owners[row, column] = best, owner


@jit
def _face(
    rays: Any,
    lengths: Any,
    turn: Any,
    boxes: Any,
    solids: Any,
    ranges: Any,
    owners: Any,
    normals: Any,
    cosines: Any,
) -> None:
    """Write the normals where rays end, and the cosines of their angles to the rays."""
    d, p = np.empty(3), np.empty(3)
    count = boxes.shape[0]
    for row in range(rays.shape[0]):
        for column in range(rays.shape[1]):
            normal, owner, t = normals[row, column], owners[row, column], ranges[row, column]
            normal[0] = normal[1] = normal[2] = 0.0
            cosines[row, column] = 0.0
            if owner < 0:
                continue
            u, v, w = rays[row, column, 0], rays[row, column, 1], rays[row, column, 2]
            for k in range(3):
                d[k] = turn[k, 0] * u + turn[k, 1] * v + turn[k, 2] * w
                p[k] = t * d[k]
            if owner < count:
                nearest, axis = _FAR, 0
                for k in range(3):
                    away = abs((boxes[owner, k] if d[k] > 0.0 else boxes[owner, 3 + k]) - p[k])
                    if away < nearest:
                        nearest, axis = away, k
                normal[axis] = -1.0 if d[axis] > 0.0 else 1.0
            elif owner < count + SIDES:
                side = owner - count
                normal[side // 2] = 1.0 - 2.0 * (side % 2)
            else:
                _round(p, solids[owner - count - SIDES], normal)
            dot = d[0] * normal[0] + d[1] * normal[1] + d[2] * normal[2]
            cosines[row, column] = abs(dot) / lengths[row, column]


@jit
def _round(p: Any, s: Any, normal: Any) -> None:
    """Write the normal of a prepared solid at a point, seen from where rays start."""
    share = (s[7] + s[0] * p[0] + s[1] * p[1] + s[2] * p[2]) / s[6]
    if s[10] == CYLINDER and (share <= 1e-9 or share >= 1.0 - 1e-9):
        size = math.sqrt(s[6])
        for k in range(3):
            normal[k] = (s[k] if share > 0.5 else -s[k]) / size
        return
    share = min(max(share, 0.0), 1.0)
    size = math.sqrt(s[11])
    for k in range(3):
        normal[k] = (s[3 + k] + p[k] - share * s[k]) / size
