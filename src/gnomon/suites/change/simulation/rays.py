"""Rays against surfaces, exactly: what a scanner sees first, how far away, and under which angle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnomon.core.compiling import jit
from gnomon.core.tallies import Array
from gnomon.suites.change.simulation.parts import BOX, CYLINDER, HALF, YAW, Thing

NOTHING = -1
_NEAREST = 1e-6


@dataclass(frozen=True, eq=False)
class Hits:
    """Where rays end: ``(R,)`` each; the range of a ray that meets nothing is infinite and its owner ``NOTHING``."""

    ranges: Array
    owners: Array
    cosines: Array
    """Of the angle between ray and surface normal."""


def cast(things: Sequence[Thing], origin: Array, directions: Array) -> Hits:
    """Send rays from one place.

    Parameters
    ----------
    things
        What there is; the owner of a hit is an index into it.
    origin
        ``(3,)``.
    directions
        ``(R, 3)``, of length 1.
    """
    parts = np.concatenate([thing.parts for thing in things])
    turned = np.concatenate([parts[:, : HALF.stop], np.cos(parts[:, YAW:]), np.sin(parts[:, YAW:])], axis=1)
    starts = np.cumsum([0, *(len(thing.parts) for thing in things)])
    bounds = np.stack([thing.box for thing in things])
    count = len(directions)
    hits = Hits(np.empty(count), np.empty(count, dtype=np.int64), np.empty(count))
    _cast(turned, starts, bounds, origin, directions, hits.ranges, hits.owners, hits.cosines)
    return hits


@jit
def _slabs(ox: float, oy: float, oz: float, dx: float, dy: float, dz: float, low: Any, high: Any) -> Any:
    """Return where a ray enters a box, and through which axis; infinite where it does not, or starts inside."""
    enter, leave, axis = -np.inf, np.inf, 0
    for k in range(3):
        o = ox if k == 0 else oy if k == 1 else oz
        d = dx if k == 0 else dy if k == 1 else dz
        if abs(d) < 1e-12:
            if o < low[k] or o > high[k]:
                return np.inf, 0
            continue
        a, b = (low[k] - o) / d, (high[k] - o) / d
        if a > b:
            a, b = b, a
        if a > enter:
            enter, axis = a, k
        leave = min(leave, b)
    if enter > leave or leave < 0.0:
        return np.inf, 0
    return enter, axis


@jit
def _cylinder(ox: float, oy: float, oz: float, dx: float, dy: float, dz: float, radius: float, half: float) -> Any:
    """Return where a ray enters an upright cylinder about the origin, and the cosine of its angle there."""
    best, cosine = np.inf, 0.0
    a, b, c = dx * dx + dy * dy, ox * dx + oy * dy, ox * ox + oy * oy - radius * radius
    under = b * b - a * c
    if a > 1e-14 and under >= 0.0:
        t = (-b - np.sqrt(under)) / a
        if t > _NEAREST and abs(oz + t * dz) <= half:
            best, cosine = t, np.sqrt(under) / radius
    if abs(dz) > 1e-12:
        t = (np.copysign(half, -dz) - oz) / dz
        x, y = ox + t * dx, oy + t * dy
        if _NEAREST < t < best and x * x + y * y <= radius * radius:
            best, cosine = t, abs(dz)
    return best, cosine


@jit
def _ellipsoid(ox: float, oy: float, oz: float, dx: float, dy: float, dz: float, a: float, b: float, c: float) -> Any:
    """Return where a ray enters an ellipsoid about the origin, and the cosine of its angle there."""
    px, py, pz, qx, qy, qz = ox / a, oy / b, oz / c, dx / a, dy / b, dz / c
    qq, pq = qx * qx + qy * qy + qz * qz, px * qx + py * qy + pz * qz
    under = pq * pq - qq * (px * px + py * py + pz * pz - 1.0)
    if under < 0.0:
        return np.inf, 0.0
    t = (-pq - np.sqrt(under)) / qq
    if t <= _NEAREST:
        return np.inf, 0.0
    nx, ny, nz = (px + t * qx) / a, (py + t * qy) / b, (pz + t * qz) / c
    return t, abs(nx * dx + ny * dy + nz * dz) / np.sqrt(nx * nx + ny * ny + nz * nz)


@jit
def _cast(
    parts: Any, starts: Any, bounds: Any, origin: Any, directions: Any, ranges: Any, owners: Any, cosines: Any
) -> None:
    low, high = np.empty(3), np.empty(3)
    for ray in range(directions.shape[0]):
        dx, dy, dz = directions[ray, 0], directions[ray, 1], directions[ray, 2]
        best, owner, cosine = np.inf, NOTHING, 0.0
        for thing in range(bounds.shape[0]):
            t, axis = _slabs(origin[0], origin[1], origin[2], dx, dy, dz, bounds[thing, :3], bounds[thing, 3:])
            if t >= best:
                continue
            for p in range(starts[thing], starts[thing + 1]):
                cos, sin = parts[p, 7], parts[p, 8]
                x, y = origin[0] - parts[p, 1], origin[1] - parts[p, 2]
                ox, oy, oz = cos * x + sin * y, cos * y - sin * x, origin[2] - parts[p, 3]
                ex, ey = cos * dx + sin * dy, cos * dy - sin * dx
                if parts[p, 0] == BOX:
                    for k in range(3):
                        high[k] = parts[p, 4 + k]
                        low[k] = -high[k]
                    t, axis = _slabs(ox, oy, oz, ex, ey, dz, low, high)
                    c = abs(ex) if axis == 0 else abs(ey) if axis == 1 else abs(dz)
                elif parts[p, 0] == CYLINDER:
                    t, c = _cylinder(ox, oy, oz, ex, ey, dz, parts[p, 4], parts[p, 6])
                else:
                    t, c = _ellipsoid(ox, oy, oz, ex, ey, dz, parts[p, 4], parts[p, 5], parts[p, 6])
                if _NEAREST < t < best:
                    best, owner, cosine = t, thing, c
        ranges[ray], owners[ray], cosines[ray] = best, owner, cosine
