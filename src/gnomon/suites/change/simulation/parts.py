"""Surfaces: things made of boxes, upright cylinders and ellipsoids, each turned about the vertical only.

A part is a row of eight numbers: kind, centre x y z, half its size along its own x y z, and the yaw of its x axis. The
radius of a cylinder is its first half size. Before a thing is placed, its parts are about an origin on the ground below
its middle. Metres and radians, z up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gnomon.core.tallies import Array

BOX, CYLINDER, ELLIPSOID = 0, 1, 2
KIND, CENTRE, HALF, YAW = 0, slice(1, 4), slice(4, 7), 7


@dataclass(frozen=True, eq=False)
class Thing:
    """One object: parts that are added, moved and removed together."""

    name: str
    parts: Array
    """``(P, 8)``."""
    support: int = -1
    """The thing it stands on; -1 is the floor."""

    @cached_property
    def box(self) -> Array:
        """The axis-aligned box of the surface: least x y z, greatest x y z."""
        each = bounds(self.parts)
        return np.concatenate([each[:, :3].min(axis=0), each[:, 3:].max(axis=0)])

    def placed(self, x: float, y: float, z: float = 0.0, yaw: float = 0.0, support: int = -1) -> Thing:
        """Return the thing turned about its origin, then moved."""
        return replace(self, parts=moved(self.parts, yaw, (x, y, z)), support=support)


def moved(parts: Array, yaw: float, shift: Sequence[float] | Array) -> Array:
    """Return parts turned about the vertical through the origin, then shifted."""
    out = parts.copy()
    cos, sin = np.cos(yaw), np.sin(yaw)
    x, y = parts[:, 1], parts[:, 2]
    out[:, 1], out[:, 2] = cos * x - sin * y, sin * x + cos * y
    out[:, CENTRE] += shift
    out[:, YAW] += yaw
    return out


def rotated(points: Array, turn: Array) -> Array:
    """Return points ``(N, 3)`` under a rotation ``(3, 3)``, the same to the last bit with any library behind numpy."""
    x, y, z = points.T
    return np.stack([row[0] * x + row[1] * y + row[2] * z for row in turn], axis=1)


def bounds(parts: Array) -> Array:
    """Return the axis-aligned box of each part, ``(P, 6)``.

    >>> bounds(np.array([cuboid((0, 0, 1), (2, 4, 2), np.pi / 2)])).round(9).tolist()
    [[-2.0, -1.0, 0.0, 2.0, 1.0, 2.0]]
    """
    cos, sin = np.abs(np.cos(parts[:, YAW])), np.abs(np.sin(parts[:, YAW]))
    half = parts[:, HALF]
    a, b = half[:, 0], half[:, 1]
    straight = np.stack([cos * a + sin * b, sin * a + cos * b, half[:, 2]], axis=1)
    curved = np.stack([np.hypot(cos * a, sin * b), np.hypot(sin * a, cos * b), half[:, 2]], axis=1)
    round_ = np.stack([a, a, half[:, 2]], axis=1)
    kind = parts[:, KIND, np.newaxis]
    reach = np.where(kind == BOX, straight, np.where(kind == CYLINDER, round_, curved))
    return np.concatenate([parts[:, CENTRE] - reach, parts[:, CENTRE] + reach], axis=1)


def cuboid(centre: Sequence[float], size: Sequence[float] | Array, yaw: float = 0.0) -> list[float]:
    """Return a box of some size."""
    return [BOX, *centre, *(length / 2 for length in size), yaw]


def cylinder(centre: Sequence[float], radius: float, height: float) -> list[float]:
    """Return an upright cylinder."""
    return [CYLINDER, *centre, radius, radius, height / 2, 0.0]


def ellipsoid(centre: Sequence[float], size: Sequence[float] | Array, yaw: float = 0.0) -> list[float]:
    """Return an ellipsoid of some size."""
    return [ELLIPSOID, *centre, *(length / 2 for length in size), yaw]
