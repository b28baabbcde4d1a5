"""Things: objects made of solids (:mod:`gnomon.simulation.rays`) that are added, moved and removed together.

Before a thing is placed, its solids are about an origin on the ground below its middle.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gnomon.core.tallies import Array
from gnomon.simulation.rays import bounds, move_solids


@dataclass(frozen=True, eq=False)
class Thing:
    """One object."""

    name: str
    parts: Array
    """Solids, ``(P, 8)``."""
    support: int = -1
    """The thing it stands on; -1 is the floor."""

    @cached_property
    def box(self) -> Array:
        """The axis-aligned box of the surface: least x y z, greatest x y z."""
        each = bounds(self.parts)
        return np.concatenate([each[:, :3].min(axis=0), each[:, 3:].max(axis=0)])

    def placed(self, x: float, y: float, z: float = 0.0, yaw: float = 0.0, support: int = -1) -> Thing:
        """Return the thing turned about its origin, then moved."""
        return replace(self, parts=move_solids(self.parts, yaw, (x, y, z)), support=support)


def rotated(points: Array, turn: Array) -> Array:
    """Return points ``(N, 3)`` under a rotation ``(3, 3)``, the same to the last bit with any library behind numpy."""
    x, y, z = points.T
    return np.stack([row[0] * x + row[1] * y + row[2] * z for row in turn], axis=1)
