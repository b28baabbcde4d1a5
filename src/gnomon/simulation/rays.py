"""Solids, and the rays of a scanner or camera that meet them: which first, how far away, and under which angle.

Conventions
-----------
- Metres and radians, z up. A solid is a row of eight numbers, its kind first:

  - ``BOX``, ``ROOM`` (a box seen from inside), ``ELLIPSOID`` and ``UPRIGHT`` (a cylinder that stands): centre x y z,
    half the size along its own x y z, and the yaw of its x axis;
  - ``CAPSULE`` and ``CYLINDER`` along any axis: one end of the axis x y z, the other end, and the radius.

- A range is in units of its ray: the distance if rays have length 1, the depth if they have unit z.
- A ray that starts inside a box or an ellipsoid does not meet it.
- Rays are cast in bundles. Each bundle has a cone around it and tests only the solids whose bounding sphere reaches
  into the cone, nearest first. Without bundles the rays of an episode take six times as long.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnomon.core.compiling import jit_ieee
from gnomon.core.tallies import Array

BOX, ROOM, ELLIPSOID, UPRIGHT, CAPSULE, CYLINDER = 0, 1, 2, 3, 4, 5
NOTHING = -1
"""Owner of a ray that meets nothing."""
_KIND, _CENTRE, _HALF, _YAW = 0, slice(1, 4), slice(4, 7), 7
_START, _END, _RADIUS = slice(1, 4), slice(4, 7), 7
_NEAREST = 1e-6


def cuboid(centre: Sequence[float] | Array, size: Sequence[float] | Array, yaw: float = 0.0) -> list[float]:
    """Return a box of some size."""
    return [BOX, *centre, *(length / 2 for length in size), yaw]


def ellipsoid(centre: Sequence[float], size: Sequence[float] | Array, yaw: float = 0.0) -> list[float]:
    """Return an ellipsoid of some size."""
    return [ELLIPSOID, *centre, *(length / 2 for length in size), yaw]


def upright_cylinder(centre: Sequence[float], radius: float, height: float) -> list[float]:
    """Return an upright cylinder."""
    return [UPRIGHT, *centre, radius, radius, height / 2, 0.0]


def room(centre: Sequence[float] | Array, size: Sequence[float] | Array) -> list[float]:
    """Return a room of some size."""
    return [ROOM, *cuboid(centre, size)[1:]]


def move_solids(solids: Array, yaw: float, shift: Sequence[float] | Array) -> Array:
    """Return solids turned about the vertical through the origin, then shifted."""
    moved = solids.copy()
    cos, sin = np.cos(yaw), np.sin(yaw)
    has_axis = solids[:, _KIND] >= CAPSULE
    for rows, x, y, z in ((slice(None), 1, 2, 3), (has_axis, 4, 5, 6)):
        moved[rows, x] = cos * solids[rows, x] - sin * solids[rows, y]
        moved[rows, y] = sin * solids[rows, x] + cos * solids[rows, y]
        moved[rows, x : z + 1] += shift
    moved[~has_axis, _YAW] += yaw
    return moved


def bounds(solids: Array) -> Array:
    """Return the axis-aligned box of each solid, ``(S, 6)``: least x y z, greatest x y z.

    >>> bounds(np.array([cuboid((0, 0, 1), (2, 4, 2), np.pi / 2)])).round(9).tolist()
    [[-2.0, -1.0, 0.0, 2.0, 1.0, 2.0]]
    """
    kind = solids[:, _KIND, np.newaxis]
    # What has a centre: how far it reaches from there.
    cos, sin = np.abs(np.cos(solids[:, _YAW])), np.abs(np.sin(solids[:, _YAW]))
    a, b, c = solids[:, _HALF].T
    straight = np.stack([cos * a + sin * b, sin * a + cos * b, c], axis=1)
    curved = np.stack([np.hypot(cos * a, sin * b), np.hypot(sin * a, cos * b), c], axis=1)
    standing = np.stack([a, a, c], axis=1)
    reach = np.where(kind <= ROOM, straight, np.where(kind == ELLIPSOID, curved, standing))
    # What has an axis: how far it reaches from both ends.
    start, end, radius = solids[:, _START], solids[:, _END], solids[:, _RADIUS, np.newaxis]
    axis = end - start
    square = np.maximum((axis * axis).sum(axis=1, keepdims=True), 1e-300)
    around = np.where(kind == CAPSULE, radius, radius * np.sqrt(np.clip(1 - axis * axis / square, 0.0, 1.0)))
    low = np.where(kind < CAPSULE, solids[:, _CENTRE] - reach, np.minimum(start, end) - around)
    high = np.where(kind < CAPSULE, solids[:, _CENTRE] + reach, np.maximum(start, end) + around)
    return np.concatenate([low, high], axis=1)


@dataclass(frozen=True, eq=False)
class Rays:
    """The rays of a scanner or camera, in its own axes.

    Attributes
    ----------
    directions, lengths
        ``(R, 3)`` and ``(R,)``; a direction of length 0 is no ray.
    order, starts
        Bundle b consists of the rays ``order[starts[b] : starts[b + 1]]``.
    axes, angles
        The cones around the bundles, ``(B, 3)`` and ``(B,)``: axis of length 1 and half angle; the half angle of a
        bundle without rays is negative.
    """

    directions: Array
    lengths: Array
    order: Array
    starts: Array
    axes: Array
    angles: Array


def bundle(directions: Array, bundles: Array) -> Rays:
    """Return rays ``(R, 3)`` in bundles, given the number of the bundle of each; rays of a bundle should be near."""
    order = np.argsort(bundles, kind="stable")
    starts = np.flatnonzero(np.diff(bundles[order], prepend=-1))
    lengths = np.linalg.norm(directions, axis=1)
    unit = directions / np.where(lengths > 0, lengths, 1.0)[:, np.newaxis]
    axes = np.add.reduceat(unit[order], starts, axis=0)
    sizes = np.linalg.norm(axes, axis=1)
    axes = np.where(sizes[:, np.newaxis] > 0, axes / np.where(sizes > 0, sizes, 1.0)[:, np.newaxis], (0.0, 0.0, 1.0))
    counts = np.diff(starts, append=len(order))
    cosines = (unit[order] * np.repeat(axes, counts, axis=0)).sum(axis=1)
    cosines[lengths[order] == 0] = 1.0
    angles = np.arccos(np.clip(np.minimum.reduceat(cosines, starts), -1, 1)) + 1e-6
    empty = np.add.reduceat(lengths[order], starts) == 0
    stops = np.append(starts, len(order))
    return Rays(np.ascontiguousarray(directions), lengths, order, stops, axes, np.where(empty, -1.0, angles))


@dataclass(frozen=True, eq=False)
class Hits:
    """Where rays end.

    Attributes
    ----------
    ranges
        ``(R,)`` in units of the ray; infinite for a ray that meets nothing.
    owners
        ``(R,)``: row of the solid, or ``NOTHING``.
    normals
        ``(R, 3)`` of length 1, towards where rays come from; zero for a ray that meets nothing.
    cosines
        ``(R,)`` of the angle between ray and normal.
    """

    ranges: Array
    owners: Array
    normals: Array
    cosines: Array


def cast(solids: Array, origin: Array, rays: Rays, turn: Array | None = None) -> Hits:
    """Send rays from one place.

    Parameters
    ----------
    solids
        ``(S, 8)``: what there is.
    origin
        ``(3,)``: where rays start.
    rays
        The rays.
    turn
        ``(3, 3)``: from the axes of the rays to those of the solids; the same axes unless given.
    """
    count = len(rays.directions)
    hits = Hits(np.empty(count), np.empty(count, dtype=np.int64), np.empty((count, 3)), np.empty(count))
    solids = _with_ends(solids)
    spheres, nearest = _spheres(bounds(solids), origin)
    order = np.argsort(nearest, kind="stable")
    kinds = solids[order, _KIND].astype(np.int64)
    things = (kinds, _prepare(solids[order], origin), spheres[order], nearest[order])
    turn = np.eye(3) if turn is None else np.ascontiguousarray(turn)
    bundles = (rays.order, rays.starts, rays.axes, rays.angles)
    found = (hits.ranges, hits.owners, hits.normals, hits.cosines)
    _cast(things, bundles, rays.directions, rays.lengths, turn, found)
    hits.owners[:] = np.append(order, NOTHING)[hits.owners]
    return hits


def _with_ends(solids: Array) -> Array:
    """Return solids in which upright cylinders are given by both ends of their axis."""
    found, rows = solids.copy(), solids[:, _KIND] == UPRIGHT
    half = solids[rows, 6:7] * (0.0, 0.0, 1.0)
    found[rows, _KIND], found[rows, _RADIUS] = CYLINDER, solids[rows, 4]
    found[rows, _START], found[rows, _END] = solids[rows, _CENTRE] - half, solids[rows, _CENTRE] + half
    return found


def _prepare(solids: Array, origin: Array) -> Array:
    """Return ``(S, 12)``: what does not depend on the ray.

    Of boxes and ellipsoids: the origin in their own axes, half sizes, cosine and sine of the yaw. Of capsules and
    cylinders: the axis, the way from its start to the origin, the products of both, and the squared radius.
    """
    prepared = np.zeros((len(solids), 12))
    cos, sin = np.cos(solids[:, _YAW]), np.sin(solids[:, _YAW])
    x, y, z = (origin - solids[:, _CENTRE]).T
    prepared[:, :3] = np.stack([cos * x + sin * y, cos * y - sin * x, z], axis=1)
    prepared[:, 3:6] = solids[:, _HALF]
    prepared[:, 6], prepared[:, 7] = cos, sin
    axis, way = solids[:, _END] - solids[:, _START], origin - solids[:, _START]
    long, along, apart = (axis * axis).sum(axis=1), (axis * way).sum(axis=1), (way * way).sum(axis=1)
    square = solids[:, _RADIUS] ** 2
    products = np.stack([long, along, long * (apart - square) - along**2, apart - square, square], axis=1)
    with_axis = np.concatenate([axis, way, products, np.zeros((len(solids), 1))], axis=1)
    return np.ascontiguousarray(np.where(solids[:, :1] < CAPSULE, prepared, with_axis))


def _spheres(boxes: Array, origin: Array) -> tuple[Array, Array]:
    """Return the spheres around boxes ``(S, 6)`` as seen from the origin, and how near each box is ``(S,)``.

    A sphere is its centre, its radius, the length of a tangent from the origin to it, and the half angle that it fills;
    a sphere around the origin fills everything.
    """
    low, high = boxes[:, :3] - origin, boxes[:, 3:] - origin
    middle, size = (low + high) / 2, np.linalg.norm(high - low, axis=1) / 2
    away = np.linalg.norm(middle, axis=1)
    tangent = np.sqrt(np.maximum(away**2 - size**2, 0.0))
    wide = np.where(size < away, np.arctan2(size, tangent), np.pi)
    nearest = np.linalg.norm(np.maximum(np.maximum(low, -high), 0.0), axis=1)
    return np.concatenate([middle, np.stack([size, tangent, wide], axis=1)], axis=1), nearest


@jit_ieee
def _inverse(value: float) -> float:
    return 1.0 / value if abs(value) > 1e-12 else math.copysign(1e12, value)


@jit_ieee
def _enter_box(x: float, y: float, z: float, s: Any, i: int, is_room: bool) -> float:
    """Return where a ray enters a prepared box, or leaves a room; infinite where it does not."""
    x, y, z = _inverse(s[i, 6] * x + s[i, 7] * y), _inverse(s[i, 6] * y - s[i, 7] * x), _inverse(z)
    at, half = -s[i, 0] * x, abs(s[i, 3] * x)
    enter, leave = at - half, at + half
    at, half = -s[i, 1] * y, abs(s[i, 4] * y)
    enter, leave = max(enter, at - half), min(leave, at + half)
    at, half = -s[i, 2] * z, abs(s[i, 5] * z)
    enter, leave = max(enter, at - half), min(leave, at + half)
    if enter > leave:
        return np.inf
    return float(leave if is_room else enter)


@jit_ieee
def _enter_ellipsoid(x: float, y: float, z: float, s: Any, i: int) -> float:
    """Return where a ray enters a prepared ellipsoid; infinite where it does not."""
    px, py, pz = s[i, 0] / s[i, 3], s[i, 1] / s[i, 4], s[i, 2] / s[i, 5]
    qx, qy, qz = (s[i, 6] * x + s[i, 7] * y) / s[i, 3], (s[i, 6] * y - s[i, 7] * x) / s[i, 4], z / s[i, 5]
    qq, pq = qx * qx + qy * qy + qz * qz, px * qx + py * qy + pz * qz
    under = pq * pq - qq * (px * px + py * py + pz * pz - 1.0)
    return (-pq - math.sqrt(under)) / qq if under >= 0.0 else np.inf


@jit_ieee
def _enter_round(x: float, y: float, z: float, square: float, s: Any, i: int, is_cylinder: bool) -> float:
    """Return where a ray of a squared length enters a prepared capsule or cylinder; infinite where it does not."""
    across = s[i, 0] * x + s[i, 1] * y + s[i, 2] * z
    way = s[i, 3] * x + s[i, 4] * y + s[i, 5] * z
    # The mantle.
    a = s[i, 6] * square - across * across
    b = s[i, 6] * way - s[i, 7] * across
    under = b * b - a * s[i, 8]
    if a > 1e-12:
        if under < 0.0:
            return np.inf
        t = (-b - math.sqrt(under)) / a
        along = s[i, 7] + t * across
        if t > 0.0 and 0.0 < along < s[i, 6]:
            return float(t)
    best = np.inf
    if is_cylinder:  # The lid on the side of the origin.
        if abs(across) > 1e-12:
            lid = 0.0 if across > 0.0 else 1.0
            t = (lid * s[i, 6] - s[i, 7]) / across
            u, v, w = s[i, 3] + t * x - lid * s[i, 0], s[i, 4] + t * y - lid * s[i, 1], s[i, 5] + t * z - lid * s[i, 2]
            if u * u + v * v + w * w <= s[i, 10]:
                best = t
        return best
    for end in range(2):  # The spheres at both ends.
        half = way - end * across
        under = half * half - square * (s[i, 9] + end * (s[i, 6] - 2.0 * s[i, 7]))
        if under >= 0.0:
            t = (-half - math.sqrt(under)) / square
            if 0.0 < t < best:
                best = t
    return best


@jit_ieee
def _list_near(spheres: Any, x: float, y: float, z: float, angle: float, listed: Any) -> int:
    """List the spheres that reach into the cone about an axis; return how many."""
    count, cosine, sine = 0, math.cos(angle), math.sin(angle)
    for j in range(spheres.shape[0]):
        along = x * spheres[j, 0] + y * spheres[j, 1] + z * spheres[j, 2]
        if angle + spheres[j, 5] >= math.pi or along >= spheres[j, 4] * cosine - spheres[j, 3] * sine:
            listed[count] = j
            count += 1
    return count


@jit_ieee
def _cast(things: Any, bundles: Any, directions: Any, lengths: Any, turn: Any, hits: Any) -> None:
    kinds, prepared, spheres, nearest = things
    order, starts, axes, angles = bundles
    ranges, owners, normals, cosines = hits
    listed, p = np.empty(len(kinds), dtype=np.int64), np.empty(3)
    for b in range(len(angles)):
        x, y, z = _turned(turn, axes, b)
        count = _list_near(spheres, x, y, z, angles[b], listed) if angles[b] >= 0.0 else 0
        for i in range(starts[b], starts[b + 1]):
            ray = order[i]
            best, owner, size = np.inf, NOTHING, lengths[ray]
            x, y, z = _turned(turn, directions, ray)
            for j in range(count if size > 0.0 else 0):
                k = listed[j]
                if nearest[k] > best * size:
                    break
                if kinds[k] <= ROOM:
                    t = _enter_box(x, y, z, prepared, k, kinds[k] == ROOM)
                elif kinds[k] == ELLIPSOID:
                    t = _enter_ellipsoid(x, y, z, prepared, k)
                else:
                    t = _enter_round(x, y, z, size * size, prepared, k, kinds[k] == CYLINDER)
                if _NEAREST < t < best:
                    best, owner = t, k
            ranges[ray], owners[ray], cosines[ray] = best, owner, 0.0
            normals[ray, 0] = normals[ray, 1] = normals[ray, 2] = 0.0
            if owner >= 0:
                p[0], p[1], p[2] = best * x, best * y, best * z
                if kinds[owner] >= CAPSULE:
                    _face_round(p, prepared, owner, kinds[owner] == CYLINDER, normals, ray)
                else:
                    _face_centred(p, prepared, owner, kinds[owner], normals, ray)
                cosines[ray] = abs(x * normals[ray, 0] + y * normals[ray, 1] + z * normals[ray, 2]) / size


@jit_ieee
def _turned(turn: Any, v: Any, i: int) -> Any:
    """Return a vector in the axes of the solids."""
    return (
        turn[0, 0] * v[i, 0] + turn[0, 1] * v[i, 1] + turn[0, 2] * v[i, 2],
        turn[1, 0] * v[i, 0] + turn[1, 1] * v[i, 1] + turn[1, 2] * v[i, 2],
        turn[2, 0] * v[i, 0] + turn[2, 1] * v[i, 1] + turn[2, 2] * v[i, 2],
    )


@jit_ieee
def _face_centred(p: Any, s: Any, i: int, kind: int, n: Any, ray: int) -> None:
    """Write the normal of a prepared box, room or ellipsoid at a point, seen from where rays start."""
    u, v, w = s[i, 0] + s[i, 6] * p[0] + s[i, 7] * p[1], s[i, 1] + s[i, 6] * p[1] - s[i, 7] * p[0], s[i, 2] + p[2]
    if kind == ELLIPSOID:
        u, v, w = u / (s[i, 3] * s[i, 3]), v / (s[i, 4] * s[i, 4]), w / (s[i, 5] * s[i, 5])
    else:  # The side whose plane is nearest.
        a, b, c = abs(abs(u) - s[i, 3]), abs(abs(v) - s[i, 4]), abs(abs(w) - s[i, 5])
        u = math.copysign(1.0, u) if a <= b and a <= c else 0.0
        v = math.copysign(1.0, v) if b < a and b <= c else 0.0
        w = math.copysign(1.0, w) if c < a and c < b else 0.0
    size = math.sqrt(u * u + v * v + w * w) * (-1.0 if kind == ROOM else 1.0)
    n[ray, 0], n[ray, 1], n[ray, 2] = (s[i, 6] * u - s[i, 7] * v) / size, (s[i, 7] * u + s[i, 6] * v) / size, w / size


@jit_ieee
def _face_round(p: Any, s: Any, i: int, is_cylinder: bool, n: Any, ray: int) -> None:
    """Write the normal of a prepared capsule or cylinder at a point, seen from where rays start."""
    share = (s[i, 7] + s[i, 0] * p[0] + s[i, 1] * p[1] + s[i, 2] * p[2]) / s[i, 6]
    if is_cylinder and (share <= 1e-9 or share >= 1.0 - 1e-9):
        size = math.sqrt(s[i, 6])
        for k in range(3):
            n[ray, k] = (s[i, k] if share > 0.5 else -s[i, k]) / size
        return
    share = min(max(share, 0.0), 1.0)
    size = math.sqrt(s[i, 10])
    for k in range(3):
        n[ray, k] = (s[i, 3 + k] + p[k] - share * s[i, k]) / size
