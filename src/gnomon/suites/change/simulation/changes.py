"""What happens between two scans: things vanish, appear and move.

A change is only made where it can be seen: what vanishes had enough points in the reference, and what appears has
enough in the comparison. Else chance is asked again, after ten times for fewer changes and for half the points: scans
of a few thousand points see little of small things.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gnomon.core.tallies import Array
from gnomon.suites.change.simulation import furniture
from gnomon.suites.change.simulation.parts import Thing
from gnomon.suites.change.simulation.rooms import Room, put
from gnomon.suites.change.simulation.scanning import Scan

SHARE_SEEN, LEAST_SEEN = 0.0006, 8
"""Points that a changed thing has, as a share of the scan, and at least."""
PATIENCE = 10
"""Attempts after which less is asked of chance."""
_FARTHER = 0.35
_PLANS = {"Remove": ((1, 3), (0, 0), (0, 0)), "Add": ((0, 0), (1, 3), (0, 0)), "Move": ((0, 0), (0, 0), (1, 2))}
_COMPOSITE = ((1, 2), (1, 2), (0, 2))


@dataclass(frozen=True, eq=False)
class Change:
    """A room after a change: things by number, and which numbers went and came."""

    things: Mapping[int, Thing]
    removed: tuple[int, ...] = ()
    added: tuple[int, ...] = ()


def enough(points: int, attempt: int) -> int:
    """Return how many points a changed thing needs in a scan of so many, after so many attempts."""
    return max(1, max(LEAST_SEEN, round(SHARE_SEEN * points)) >> attempt // PATIENCE)


def draw(room: Room, category: str, seen: Scan, attempt: int, rng: np.random.Generator) -> Change | None:
    """Return a change of some category, or None where chance found no place for it."""
    things = dict(room.things)
    if category == "Unchanged":
        return Change(things)
    plan = _PLANS.get(category, _COMPOSITE)
    gone, come, moved = (int(rng.integers(low, (high if attempt < PATIENCE else low) + 1)) for low, high in plan)
    least = enough(len(seen.points), attempt)
    visible = [number for number in sorted(room.movable) if seen.count(number) >= least]
    if len(visible) < gone + moved:
        return None
    chosen = [int(number) for number in rng.permutation(visible)[: gone + moved]]
    for number in chosen:
        del things[number]
    fresh = max(room.things) + 1
    added: list[int] = []
    for number in chosen[gone:]:
        placed = _elsewhere(room, things, room.things[number], rng)
        if placed is None:
            return None
        things[fresh] = placed
        added.append(fresh)
        fresh += 1
    for _ in range(come):
        makers = furniture.FLOOR if rng.random() < 0.6 else furniture.TOP
        placed = put(room, things, makers[int(rng.integers(len(makers)))](rng), rng)
        if placed is None:
            return None
        things[fresh] = placed
        added.append(fresh)
        fresh += 1
    return Change(things, tuple(chosen), tuple(added))


def _elsewhere(room: Room, things: Mapping[int, Thing], thing: Thing, rng: np.random.Generator) -> Thing | None:
    """Return the same thing at another place."""
    before = thing.box
    middle = (before[:3] + before[3:]) / 2
    at_origin = Thing(thing.name, thing.parts - np.array([0, middle[0], middle[1], before[2], 0, 0, 0, 0]))
    for _ in range(10):
        placed = put(room, things, at_origin, rng)
        if placed is not None and np.linalg.norm(_middle(placed) - middle) >= _FARTHER:
            return placed
    return None


def _middle(thing: Thing) -> Array:
    box = thing.box
    return np.asarray((box[:3] + box[3:]) / 2)
