"""One room: floor, walls with a door and windows, a ceiling, furniture, and places for more of it.

Coordinates are those of the room while it is built and scanned: the origin is on the floor in the middle, walls are
parallel to the axes. The file's coordinates are turned by ``yaw`` and shifted, as a scanner's are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from gnomon.core.tallies import Array
from gnomon.simulation.rays import bounds, cuboid
from gnomon.suites.change.simulation import furniture
from gnomon.suites.change.simulation.furniture import Maker
from gnomon.suites.change.simulation.parts import Thing

THICK = 0.12
TRIES = 60
_MARGIN = 0.03
_HALF_TURN = np.pi
_WALLS = ((0.0, 1.0, 0.0), (1.0, 0.0, -_HALF_TURN / 2), (0.0, -1.0, _HALF_TURN), (-1.0, 0.0, _HALF_TURN / 2))
"""Outward normal of each wall, and the yaw with which furniture has its back to it."""
_TOPS = {"table": 0, "desk": 0, "cupboard": 0, "sofa": 0, "bed": 1}
"""The part on which other things stand."""


@dataclass(frozen=True, eq=False)
class Room:
    """A room as it is for the reference scan."""

    size: Array
    """Width, depth, height."""
    structure: tuple[Thing, ...]
    things: Mapping[int, Thing]
    """By number."""
    movable: frozenset[int]
    door: Array
    """The stretch of floor before the door that stays free: x y, x y."""
    view: tuple[float, float]
    """Lowest and highest elevation that the scanner sees, in radians; it misses much of the ceiling."""
    yaw: float
    shift: Array


def build(rng: np.random.Generator) -> Room:
    """Make up a room."""
    size = rng.uniform((3.0, 2.7, 2.35), (4.6, 3.9, 2.65))
    structure, door = _structure(size, rng)
    view = float(np.radians(rng.uniform(-70, -60))), float(np.radians(rng.uniform(18, 40)))
    empty = Room(size, structure, {}, frozenset(), door, view, rng.uniform(-0.06, 0.06), rng.uniform(-1.5, 1.5, 3))
    things: dict[int, Thing] = {}
    for maker in _chosen(furniture.LARGE, int(rng.integers(3, 6)), rng):
        _add(things, stand(empty, things, maker(rng), rng))
    movable = []
    for makers, count in ((furniture.FLOOR, rng.integers(5, 9)), (furniture.TOP, rng.integers(4, 8))):
        for maker in _chosen(makers, int(count), rng):
            number = _add(things, put(empty, things, maker(rng), rng))
            movable += [] if number is None else [number]
    return replace(empty, things=things, movable=frozenset(movable))


def put(room: Room, things: Mapping[int, Thing], thing: Thing, rng: np.random.Generator) -> Thing | None:
    """Return a small thing at a free place, on the floor or on furniture; None where none is found."""
    on_top = thing.name in {"parcel", "vase", "monitor", "books", "reading lamp", "cushion"}
    if on_top:
        tops = [(number, rectangle, z) for number, rectangle, z in surfaces(things) if _suits(thing, things[number])]
        for _ in range(TRIES // 2 if tops else 0):
            number, rectangle, z = tops[int(rng.integers(len(tops)))]
            placed = _somewhere(thing, rectangle, z, rng, number)
            if placed is not None and _free(placed, _standing(things, number)):
                return placed
    reach = room.size[:2] / 2 - 0.04
    floor = np.concatenate([-reach, reach])
    for _ in range(TRIES):
        placed = _somewhere(thing, floor, 0.0, rng, -1)
        if placed is not None and _free(placed, [room.door, *_standing(things, -1)]):
            return placed
    return None


def stand(room: Room, things: Mapping[int, Thing], thing: Thing, rng: np.random.Generator) -> Thing | None:
    """Return a large thing with its back to a wall, a table rather in the middle; None where there is no place."""
    width, depth = room.size[0] / 2, room.size[1] / 2
    for _ in range(TRIES):
        nx, ny, yaw = _WALLS[int(rng.integers(4))]
        box = thing.placed(0, 0, 0, yaw).box
        gap = rng.uniform(0.4, 1.2) if thing.name == "table" else rng.uniform(0.01, 0.05)
        along = rng.uniform(-1, 1)
        x = nx * (width - gap) - (box[3] if nx > 0 else box[0]) if nx else along * max(width - box[3] - 0.03, 0)
        y = ny * (depth - gap) - (box[4] if ny > 0 else box[1]) if ny else along * max(depth - box[4] - 0.03, 0)
        placed = thing.placed(x, y, 0, yaw)
        if _within(placed, (-width, -depth, width, depth)) and _free(placed, [room.door, *_standing(things, -1)]):
            return placed
    return None


def surfaces(things: Mapping[int, Thing]) -> list[tuple[int, Array, float]]:
    """Return what things can stand on: number of the furniture, rectangle x y x y, and height."""
    found = []
    for number, thing in things.items():
        if thing.name in _TOPS:
            box = bounds(thing.parts)[_TOPS[thing.name]]
            edge = 0.2 if thing.name == "sofa" else 0.03
            if box[5] < 1.2:
                found.append((number, np.concatenate([box[:2] + edge, box[3:5] - edge]), float(box[5])))
    return found


def _structure(size: Array, rng: np.random.Generator) -> tuple[tuple[Thing, ...], Array]:
    width, depth, height = size
    floor = cuboid((0, 0, -THICK / 2), (width + 2 * THICK, depth + 2 * THICK, THICK))
    ceiling = cuboid((0, 0, height + THICK / 2), (width + 2 * THICK, depth + 2 * THICK, THICK))
    things = [Thing("floor", np.array([floor])), Thing("ceiling", np.array([ceiling]))]
    order = rng.permutation(4)
    door = np.zeros(4)
    for place, wall in enumerate(order):
        normal = np.array(_WALLS[wall][:2])
        length, reach = (width, depth / 2) if normal[1] else (depth, width / 2)
        opening = None
        if place == 0:
            middle = rng.uniform(-1, 1) * (length / 2 - 0.65)
            opening = (middle - 0.43, middle + 0.43, 0.0, 2.02)
            things.append(_corridor(normal, reach, middle))
            door = _before(normal, reach, middle)
        elif place == 1 or (place == 2 and rng.random() < 0.4):
            wide, sill = rng.uniform((0.8, 0.75), (1.6, 0.95))
            middle = rng.uniform(-1, 1) * (length / 2 - wide / 2 - 0.15)
            opening = (middle - wide / 2, middle + wide / 2, sill, height - 0.25)
        things.append(Thing("wall", np.array(_wall(normal, reach, length, height, opening))))
    return tuple(things), door


def _wall(
    normal: Array, reach: float, length: float, height: float, opening: tuple[float, float, float, float] | None
) -> list[list[float]]:
    """Return a wall as boxes around its opening: from, to along the wall, and from, to in height."""
    end = length / 2 + THICK
    if opening is None:
        pieces = [(-end, end, 0.0, height)]
    else:
        a, b, low, high = opening
        pieces = [(-end, a, 0.0, height), (b, end, 0.0, height), (a, b, high, height), (a, b, 0.0, low)]
    out = []
    for first, last, low, high in pieces:
        if last > first and high > low:
            out.append(_slab(normal, reach + THICK / 2, (first + last) / 2, (low + high) / 2, last - first, high - low))
    return out


def _slab(normal: Array, away: float, along: float, z: float, length: float, height: float) -> list[float]:
    centre = normal * away + np.array([normal[1], normal[0]]) * along
    size = (length, THICK, height) if normal[1] else (THICK, length, height)
    return cuboid((*centre, z), size)


def _corridor(normal: Array, reach: float, middle: float) -> Thing:
    """Return what is seen through the door: a strip of floor and a wall."""
    centre = normal * (reach + 0.75) + np.array([normal[1], normal[0]]) * middle
    size = (3.0, 1.3, THICK) if normal[1] else (1.3, 3.0, THICK)
    return Thing(
        "corridor", np.array([cuboid((*centre, -THICK / 2), size), _slab(normal, reach + 1.4, middle, 1.1, 3.0, 2.2)])
    )


def _before(normal: Array, reach: float, middle: float) -> Array:
    near = normal * (reach - 0.35) + np.array([normal[1], normal[0]]) * middle
    return np.array([near[0] - 0.45, near[1] - 0.45, near[0] + 0.45, near[1] + 0.45])


def _chosen(makers: tuple[Maker, ...], count: int, rng: np.random.Generator) -> list[Maker]:
    return [makers[int(i)] for i in rng.choice(len(makers), count, replace=count > len(makers))]


def _add(things: dict[int, Thing], thing: Thing | None) -> int | None:
    if thing is None:
        return None
    number = len(things)
    things[number] = thing
    return number


def _suits(thing: Thing, furniture_: Thing) -> bool:
    return (thing.name == "cushion") == (furniture_.name in ("sofa", "bed"))


def _somewhere(thing: Thing, rectangle: Array, z: float, rng: np.random.Generator, support: int) -> Thing | None:
    """Return a thing turned at random, somewhere in a rectangle; None where it does not fit in."""
    yaw = rng.uniform(0, 2 * np.pi) if support < 0 else rng.normal(0, 0.3) + rng.integers(4) * np.pi / 2
    box = thing.placed(0, 0, z, yaw).box
    low, high = rectangle[:2] - box[:2], rectangle[2:] - box[3:5]
    if (low > high).any():
        return None
    x, y = rng.uniform(low, high)
    return thing.placed(x, y, z, yaw, support)


def _standing(things: Mapping[int, Thing], support: int) -> list[Array]:
    """Return the rectangles that are taken, on the floor or on one piece of furniture."""
    return [thing.box[[0, 1, 3, 4]] for thing in things.values() if thing.support == support]


def _within(thing: Thing, rectangle: Iterable[float]) -> bool:
    low_x, low_y, high_x, high_y = rectangle
    box = thing.box
    return bool(box[0] >= low_x and box[1] >= low_y and box[3] <= high_x and box[4] <= high_y)


def _free(thing: Thing, taken: Iterable[Array]) -> bool:
    box = thing.box
    return not any(
        box[0] < t[2] + _MARGIN and box[3] > t[0] - _MARGIN and box[1] < t[3] + _MARGIN and box[4] > t[1] - _MARGIN
        for t in taken
    )
