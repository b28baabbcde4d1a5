"""Two sensors on one mount, fixed in the room, and the cameras that a file tells of them.

A camera looks along its axis z, with x to the right and y down. The mount is the same for everybody, so that the motion
between the sensors is one for all; the tripod that carries it stands somewhere else for each person.
"""

from __future__ import annotations

import numpy as np

from gnomon.core.tallies import Array
from gnomon.numerics.rotations import Rigid, compose, to_quaternions
from gnomon.simulation.body import turn

MODALITIES = ("rgb", "lidar")
FIELDS_OF_VIEW = {"rgb": (0.85, 1.35), "lidar": (1.05, 1.22)}
"""Height and width, in radians."""
_NEGATED, _LONGER = 0.3, 0.1
"""Shares of quaternions with the other sign, and of those that are not of length 1."""


def mount(rng: np.random.Generator) -> Rigid:
    """Return the motion from the frame of rgb to that of lidar, 0.35 to 0.9 m apart and turned by some degrees."""
    away = rng.normal(size=3) * (1.0, 0.5, 0.3)
    return turn(np.radians(rng.normal(0, 5, 3))), away * rng.uniform(0.35, 0.9) / np.linalg.norm(away)


def tripod(rng: np.random.Generator) -> Rigid:
    """Return the motion from the room into the frame of rgb, which looks at the middle of the room."""
    bearing, distance, height = rng.uniform((-np.pi, 4.6, 1.3), (np.pi, 5.4, 1.7))
    centre = np.array([distance * np.sin(bearing), height, distance * np.cos(bearing)])
    ahead = np.array([0.0, 0.9, 0.0]) - centre
    ahead /= np.linalg.norm(ahead)
    right = np.cross(ahead, [0.0, 1.0, 0.0])
    right /= np.linalg.norm(right)
    attitude = turn(np.radians(rng.normal(0, 1.5, 3))) @ np.stack([right, np.cross(ahead, right), ahead])
    return attitude, -attitude @ centre


def cameras(canonical: Rigid, rgb: Rigid, lidar_of_rgb: Rigid) -> dict[str, Rigid]:
    """Return the cameras of frames, given where their canonical frames ``(F, ...)`` are in the room."""
    seen = compose(rgb, canonical)
    return {"rgb": seen, "lidar": compose(lidar_of_rgb, seen)}


def room(count: int) -> Rigid:
    """Return the frame of the room, for so many frames."""
    return np.broadcast_to(np.eye(3), (count, 3, 3)), np.zeros((count, 3))


def follow(places: Array, heading: Array) -> Rigid:
    """Return the frames that go and turn with a person, as motions into the room."""
    zero = np.zeros(len(heading))
    return turn(np.stack([zero, heading, zero], axis=1)), places


def encode(camera: Rigid, field_of_view: tuple[float, float], rng: np.random.Generator) -> Array:
    """Return cameras as ``(F, 9)``: T, quaternion xyzw, field of view; signs and lengths of quaternions vary."""
    attitude, move = camera
    count = len(move)
    sign = np.where(rng.random(count) < _NEGATED, -1.0, 1.0)
    length = np.where(rng.random(count) < _LONGER, rng.uniform(0.5, 2.0, count), 1.0)
    quaternions = to_quaternions(attitude) * (sign * length)[:, np.newaxis]
    return np.concatenate([move, quaternions, np.broadcast_to(field_of_view, (count, 2))], axis=1)
