"""Where sensors sit, and what a sensor on a moving segment measures.

Conventions
-----------
- Axes of the room: x where the body faced at the start, y to its left, z up. A segment of a standing body has the same
  axes; limbs hang. Its attitude is ``R = R_z(yaw) R_y(pitch) R_x(roll) R_z(twist)``, with the twist about its long axis
  for the last segment alone. A positive pitch leans the trunk forward, and moves the lower end of a limb backward.
- The root is the middle between the hips. A sensor is reached from there over one to three rigid segments.
- Specific force is ``R^T (a - g)``: 9.81 m/s^2 upwards at rest. The gyroscope gives the rates of the same R, in the
  axes of the sensor. Both follow from the same angles, by their closed derivatives.
- A mounting is a constant rotation from the axes of the sensor to those of the segment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
from gnomon.simulation.body import NECK_ABOVE_HIPS, SHOULDER_ABOVE_HIPS, SHOULDER_WIDTH, THIGH, UPPER_ARM
from gnomon.suites.har.simulation import _kernels
from gnomon.suites.har.simulation.people import Person

G = 9.81
ANGLES = ("yaw", "pitch", "roll")
ROOT = ("root.x", "root.y", "root.z")
CASE = "case"
DOMINANT, POCKET, LEFT, RIGHT = "hand", "pocket", "left", "right"


@dataclass(frozen=True)
class Placement:
    """A place on the body.

    Attributes
    ----------
    segment
        That carries the sensor.
    at
        From the upper joint of the segment (for the trunk and the pelvis from the root), as shares of the height:
        forward, outward and up.
    side
        Whose side: ``left``, ``right``, that of the pocket or that of the working hand.
    axes
        Which directions of the segment the axes of the sensor have in a fixed mount (``f`` forward, ``b`` back, ``l``
        left, ``r`` right, ``u`` up, ``d`` down); None where people put the device as they like.
    slack
        How freely the device moves against the segment, relative to a phone in a pocket.
    tilt
        Degrees by which the surface leans backward there: a chest does.
    """

    segment: str
    at: tuple[float, float, float]
    side: str
    axes: str | None
    slack: float = 0.0
    tilt: float = 0.0


PLACEMENTS: Mapping[str, Placement] = {
    "waist": Placement("pelvis", (0.06, 0.02, 0.05), RIGHT, "ulb", 0.3),
    "bag": Placement("pelvis", (0.08, 0.0, 0.03), RIGHT, "rub", 0.5),
    "hip": Placement("pelvis", (0.03, 0.09, 0.0), RIGHT, None, 0.3),
    "pocket": Placement("thigh", (0.03, 0.04, -0.05), POCKET, None, 1.0),
    "thigh": Placement("thigh", (0.05, 0.01, -0.12), RIGHT, "luf", 0.25),
    "torso": Placement("trunk", (0.07, 0.0, 0.20), RIGHT, "urf", 0.5, 15.0),
    "chest": Placement("trunk", (0.07, 0.0, 0.21), RIGHT, "drb", 0.4, 15.0),
    "back": Placement("trunk", (-0.06, 0.0, 0.24), RIGHT, "ulb", 0.2),
    "head": Placement("head", (0.0, 0.04, 0.08), RIGHT, "flu", 0.2),
    "upper_arm": Placement("upper", (0.0, 0.03, -0.09), LEFT, "bul", 0.25),
    "hand": Placement("fore", (0.0, 0.015, -0.14), DOMINANT, "dbl", 0.15),
    "wrist": Placement("fore", (0.0, 0.015, -0.14), LEFT, "dfr", 0.15),
    "forearm": Placement("fore", (0.0, 0.02, -0.08), LEFT, "bul", 0.25),
    "right_arm": Placement("fore", (0.0, 0.015, -0.14), RIGHT, "ubr", 0.15),
    "left_arm": Placement("fore", (0.0, 0.015, -0.14), LEFT, "ufl", 0.15),
    "right_leg": Placement("thigh", (0.0, 0.04, -0.20), RIGHT, "dfr", 0.15),
    "left_leg": Placement("thigh", (0.0, 0.04, -0.20), LEFT, "dbl", 0.15),
    "ankle": Placement("shank", (0.01, 0.02, -0.22), LEFT, "ufl", 0.15),
    "shin": Placement("shank", (0.03, 0.0, -0.12), LEFT, "luf", 0.25),
}
"""Every place, by the name that datasets use."""
_WAY: Mapping[str, tuple[str, ...]] = {
    "pelvis": ("pelvis",),
    "thigh": ("thigh",),
    "shank": ("thigh", "shank"),
    "trunk": ("trunk",),
    "head": ("trunk", "head"),
    "upper": ("trunk", "upper"),
    "fore": ("trunk", "upper", "fore"),
}
"""Segments from the root to each."""
_NEXT: Mapping[tuple[str, str], tuple[float, float]] = {
    ("thigh", "shank"): (0.0, -THIGH),
    ("trunk", "head"): (0.0, NECK_ABOVE_HIPS),
    ("trunk", "upper"): (SHOULDER_WIDTH, SHOULDER_ABOVE_HIPS),
    ("upper", "fore"): (0.0, -UPPER_ARM),
}
"""From the start of a segment to that of the next: outward and up, as shares of the height."""
_DIRECTIONS = {"f": (1, 0, 0), "b": (-1, 0, 0), "l": (0, 1, 0), "r": (0, -1, 0), "u": (0, 0, 1), "d": (0, 0, -1)}


@dataclass(frozen=True, eq=False)
class Way:
    """How a sensor is reached from the root.

    Attributes
    ----------
    segments
        From the root on; the last carries the sensor.
    arms
        ``(k, 3)`` metres in the axes of each segment: to the next joint, and at last to the sensor.
    side
        1 left, -1 right.
    """

    segments: tuple[str, ...]
    arms: Array
    side: int

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the quantities that are needed: the root, three angles of each segment, and the twist."""
        angles = tuple(f"{segment}.{angle}" for segment in self.segments for angle in ANGLES)
        carrier = self.segments[-2] if self.rides else self.segments[-1]
        return (*ROOT, *angles, f"{carrier}.twist")

    @property
    def rides(self) -> bool:
        """Whether the last segment is a device that rides on the one before: its angles are relative to that."""
        return self.segments[-1] == CASE


def placement(name: str) -> Placement:
    """Return a place by its name."""
    if name not in PLACEMENTS:
        raise InputError(f"simulation: no placement {name!r}; there are {', '.join(PLACEMENTS)}")
    return PLACEMENTS[name]


def side_of(place: Placement, who: Person) -> int:
    """Return the side of a place on a person: 1 left, -1 right."""
    return {LEFT: 1, RIGHT: -1, POCKET: who.pocket, DOMINANT: who.hand}[place.side]


def way(place: Placement, who: Person, hang: Array | None = None) -> Way:
    """Return how a place is reached on a person; a device may hang there, with its middle at ``(3,)`` metres."""
    segments, side = _WAY[place.segment], side_of(place, who)
    arms: list[tuple[float, float, float]] = []
    for segment, following in pairwise(segments):
        across, up = _NEXT[segment, following]
        arms.append((0.0, side * across, up))
    forward, outward, up = place.at
    arms.append((forward, side * outward, up))
    found = np.array(arms) * who.height
    return Way(segments, found, side) if hang is None else Way((*segments, CASE), np.vstack([found, hang]), side)


def axes(letters: str) -> Array:
    """Return the rotation whose columns are the axes of a sensor in those of its segment.

    >>> axes("flu").tolist() == np.eye(3).tolist()
    True
    """
    return np.array([_DIRECTIONS[letter] for letter in letters], dtype=np.float64).T


def turned(degrees: Array) -> Array:
    """Return the rotation by a vector of degrees ``(3,)``."""
    angle = np.radians(degrees)
    size = float(np.linalg.norm(angle))
    if size < 1e-12:
        return np.eye(3)
    x, y, z = angle / size
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.asarray(np.eye(3) + np.sin(size) * cross + (1 - np.cos(size)) * cross @ cross)


def sines(angles: Array) -> tuple[Array, Array]:
    """Return sines and cosines of angles in rad."""
    sine, cosine = np.empty(angles.shape), np.empty(angles.shape)
    for row in range(len(angles)):
        _kernels.sines(angles[row], sine[row], cosine[row])
    return sine, cosine


@dataclass(frozen=True, eq=False)
class Felt:
    """What an ideal sensor feels, each ``(n, 3)`` in its own axes, but for `facing`.

    Attributes
    ----------
    force, rates, gravity, field
        Specific force, angular rates, the part of the force that is gravity, and the magnetic field.
    facing
        The first axis of the sensor, in the room.
    """

    force: Array
    rates: Array
    gravity: Array
    field: Array
    facing: Array


def felt(found: Array, route: Way, mount: Array, field: Array, out: Array | None = None) -> Felt:
    """Return what is felt at the end of a way.

    Parameters
    ----------
    found
        ``(3, len(route.names), n)``: the quantities of :attr:`Way.names` in metres and radians, with two derivatives.
    route
        The way from the root to the sensor.
    mount
        ``(3, 3)``: columns are the axes of the sensor in those of its segment.
    field
        ``(3,)``: the magnetic field in the room.
    out
        ``(5, n, 3)`` to write into.
    """
    out = np.empty((5, found.shape[2], 3)) if out is None else out
    if route.rides:
        found[:, -4:-1] += found[:, -7:-4]
    sine, cosine = sines(found[0, 3:])
    _kernels.sense(found, sine, cosine, route.arms, mount, G, field, out)
    return Felt(*out)
