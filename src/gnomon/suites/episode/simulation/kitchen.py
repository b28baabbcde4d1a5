"""A kitchen: furniture as boxes, places to stand, spots to put things, and things that can be moved.

Conventions: room coordinates in metres, x and y along the walls, z up, the floor at 0. Furniture stands along three
walls, so that the way between any two places is free.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gnomon.core.tallies import Array
from gnomon.simulation.rays import cuboid
from gnomon.simulation.rays import room as room_around

CLEARANCE = 0.30
"""From the front of a piece of furniture to the middle of who stands before it."""
SIDES = 6
"""Of a room: walls at low and high x and y, floor and ceiling."""


@dataclass(frozen=True, eq=False)
class Place:
    """Where somebody stands to work: the floor, the direction they face, and the surface before them."""

    xy: Array
    heading: float
    surface: float
    """Height of the surface."""

    def point(self, across: float, ahead: float, up: float = 0.0) -> Array:
        """Return a point by how far it is to the right and ahead of who stands here, above the surface."""
        c, s = np.cos(self.heading), np.sin(self.heading)
        x, y = self.xy + ahead * np.array([c, s]) + across * np.array([s, -c])
        return np.array([x, y, self.surface + up])


@dataclass(frozen=True)
class Thing:
    """Something that can be moved: a cylinder that stands upright.

    Attributes
    ----------
    radius, height
        In metres.
    colour
        RGB, 0 to 1.
    home
        Spot where it is at first: place, across and ahead.
    shiny
        Whether stereo matching often fails on it.
    """

    radius: float
    height: float
    colour: tuple[float, float, float]
    home: tuple[str, float, float]
    shiny: bool = False


THINGS: Mapping[str, Thing] = {
    "kettle": Thing(0.072, 0.19, (0.75, 0.76, 0.78), ("coffee corner", -0.22, 0.48), shiny=True),
    "cup": Thing(0.038, 0.095, (0.93, 0.90, 0.84), ("coffee corner", 0.05, 0.45)),
    "coffee jar": Thing(0.044, 0.15, (0.35, 0.20, 0.10), ("coffee corner", 0.26, 0.52)),
    "spoon": Thing(0.011, 0.15, (0.70, 0.70, 0.72), ("coffee corner", 0.18, 0.40), shiny=True),
    "knife": Thing(0.012, 0.20, (0.62, 0.64, 0.68), ("worktop", 0.26, 0.42), shiny=True),
    "tomato": Thing(0.036, 0.06, (0.82, 0.15, 0.10), ("worktop", -0.05, 0.46)),
    "bowl": Thing(0.075, 0.07, (0.25, 0.45, 0.70), ("worktop", -0.26, 0.50)),
    "pan": Thing(0.120, 0.05, (0.12, 0.12, 0.13), ("stove", 0.00, 0.48)),
    "spatula": Thing(0.013, 0.24, (0.60, 0.42, 0.24), ("stove", 0.24, 0.42)),
    "plate": Thing(0.110, 0.02, (0.90, 0.92, 0.95), ("worktop", 0.10, 0.60)),
    "glass": Thing(0.032, 0.12, (0.70, 0.82, 0.85), ("sink", -0.24, 0.48), shiny=True),
    "sponge": Thing(0.040, 0.04, (0.95, 0.80, 0.20), ("sink", 0.22, 0.44)),
    "cloth": Thing(0.060, 0.03, (0.55, 0.25, 0.55), ("table", 0.22, 0.42)),
    "milk carton": Thing(0.040, 0.20, (0.96, 0.96, 0.98), ("fridge", 0.05, 0.50)),
}
FIXED: Mapping[str, tuple[str, float, float, float]] = {
    "tap": ("sink", 0.0, 0.56, 0.16),
    "stove knob": ("stove", 0.18, 0.31, -0.05),
    "fridge door": ("fridge", -0.16, 0.40, 0.15),
    "cutting board": ("worktop", -0.05, 0.46, 0.02),
    "drawer": ("worktop", 0.10, 0.30, -0.14),
}
"""What is part of the furniture, and where a hand finds it: place, across, ahead and above the surface."""


@dataclass(frozen=True, eq=False)
class Kitchen:
    """A room.

    Attributes
    ----------
    size
        ``(3,)``.
    solids
        ``(B + 1, 8)``: the pieces of furniture, then the room around them (:mod:`gnomon.simulation.rays`).
    colours
        ``(B + 6, 3)``: of the pieces, then of the sides of the room.
    places
        Where to stand, by name.
    """

    size: Array
    solids: Array
    colours: Array
    places: Mapping[str, Place]

    def spot(self, place: str, across: float, ahead: float, up: float = 0.0) -> Array:
        """Return a point on, or above, the surface at a place."""
        return self.places[place].point(across, ahead, up)

    def fixed(self, name: str) -> Array:
        """Return where a hand finds a part of the furniture."""
        return self.spot(*FIXED[name])


def kitchen(rng: np.random.Generator) -> Kitchen:
    """Draw a kitchen: sink, worktop and stove along one wall, coffee corner and fridge along another, a table."""
    wide, deep, high = rng.uniform((3.7, 3.0, 2.35), (4.5, 3.7, 2.65))
    top, depth, table = rng.uniform((0.87, 0.58, 0.73), (0.94, 0.64, 0.77))
    north, east = deep - depth, wide - depth
    inner = wide - depth - 0.1
    at = {name: inner * share for name, share in (("sink", 0.2), ("worktop", 0.5), ("stove", 0.8))}
    places = {name: Place(np.array([x, north - CLEARANCE]), np.pi / 2, top) for name, x in at.items()}
    places["coffee corner"] = Place(np.array([east - CLEARANCE, 0.62 * deep]), 0.0, top)
    places["fridge"] = Place(np.array([east - CLEARANCE, 0.25 * deep]), 0.0, 1.0)
    places["table"] = Place(np.array([0.8 + CLEARANCE, 0.36 * deep]), np.pi, table)
    boxes = [
        (0.0, north, 0.0, at["sink"] - 0.24, deep, top),
        (at["sink"] - 0.24, north, 0.0, at["sink"] + 0.24, deep, top - 0.16),
        (at["sink"] + 0.24, north, 0.0, inner + 0.1, deep, top),
        (at["sink"] - 0.02, north + 0.36, top, at["sink"] + 0.02, north + 0.40, top + 0.24),
        (at["sink"] - 0.02, north + 0.24, top + 0.22, at["sink"] + 0.02, north + 0.40, top + 0.25),
        (at["worktop"] - 0.22, north + 0.04, top, at["worktop"] + 0.12, north + 0.28, top + 0.02),
        (at["stove"] - 0.28, north + 0.04, top, at["stove"] + 0.28, deep - 0.05, top + 0.012),
        (at["stove"] - 0.20, north - 0.03, top - 0.07, at["stove"] + 0.20, north, top - 0.03),
        (at["worktop"] - 0.5, deep - 0.32, top + 0.55, at["worktop"] + 0.7, deep, top + 1.15),
        (east, 0.42 * deep, 0.0, wide, deep, top),
        (east, 0.06 * deep, 0.0, wide, 0.42 * deep, 0.96),
        (wide - 0.12, 0.06 * deep, 0.96, wide, 0.42 * deep, 1.85),
        (east, 0.06 * deep, 1.82, wide, 0.42 * deep, 1.85),
        (0.0, 0.14 * deep, table - 0.04, 0.8, 0.58 * deep, table),
        (0.04, 0.15 * deep, 0.0, 0.10, 0.17 * deep, table),
        (0.70, 0.55 * deep, 0.0, 0.76, 0.57 * deep, table),
        (at["sink"] + 0.26, north - 0.02, 0.12, at["sink"] + 0.50, north, top - 0.30),
        (0.30 * wide, 0.0, 0.9, 0.62 * wide, 0.03, 2.0),
    ]
    wood, steel = np.array([0.62, 0.48, 0.33]), np.array([0.66, 0.68, 0.70])
    tints = [wood, steel, wood, steel, steel, wood * 1.25, steel * 0.35, steel * 0.5, wood * 0.9, wood]
    tints += [steel * 1.3, steel * 1.3, steel * 1.3, wood * 1.1, wood * 0.7, wood * 0.7, steel * 0.5]
    tints += [np.array([0.55, 0.72, 0.85])]
    walls = np.array([[0.82, 0.80, 0.74], [0.78, 0.80, 0.80], [0.84, 0.82, 0.78], [0.80, 0.83, 0.82]])
    rest = np.array([[0.46, 0.40, 0.36], [0.92, 0.92, 0.90]])
    colours = np.concatenate([np.array(tints) * rng.uniform(0.85, 1.1), walls * rng.uniform(0.9, 1.05), rest])
    size, corners = np.array([wide, deep, high]), np.array(boxes)
    pieces = [cuboid((low + high) / 2, high - low) for low, high in zip(corners[:, :3], corners[:, 3:], strict=True)]
    return Kitchen(size, np.array([*pieces, room_around(size / 2, size)]), np.clip(colours, 0.02, 1.0), places)
