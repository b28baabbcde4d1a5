"""Everything that cameras can see at each frame: the furniture, the things, and the body of who wears them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnomon.core.tallies import Array
from gnomon.simulation.body import ANKLES, ELBOWS, FEET, HIPS, KNEES, PELVIS, SHOULDERS, SPINE, WRISTS
from gnomon.simulation.curves import ramp
from gnomon.simulation.rays import CAPSULE, CYLINDER
from gnomon.suites.episode.simulation.acting import SIDEWAYS, Wishes
from gnomon.suites.episode.simulation.kitchen import THINGS, Kitchen
from gnomon.suites.episode.simulation.posing import Posed
from gnomon.suites.episode.simulation.script import NOBODY, Script, Stay

_SKIN, _SHIRT, _TROUSERS, _SHOES = (0.80, 0.60, 0.50), (0.28, 0.34, 0.52), (0.20, 0.20, 0.24), (0.10, 0.09, 0.09)
_TAKEN_S = 0.12
"""Half of the time in which a thing passes from its place to the hand."""
Part = tuple[int, int, float, tuple[float, float, float]]
_BODY: tuple[Part, ...] = (
    (PELVIS, SPINE[-1], 0.125, _SHIRT),
    *((SHOULDERS[side], ELBOWS[side], 0.046, _SHIRT) for side in (0, 1)),
    *((ELBOWS[side], WRISTS[side], 0.034, _SKIN) for side in (0, 1)),
    *((HIPS[side], KNEES[side], 0.075, _TROUSERS) for side in (0, 1)),
    *((KNEES[side], ANKLES[side], 0.050, _TROUSERS) for side in (0, 1)),
    *((ANKLES[side], FEET[side], 0.038, _SHOES) for side in (0, 1)),
)
"""Two joints of the body, the radius of what is between them, and its colour; the head wears the cameras."""
_HAND: tuple[Part, ...] = tuple(
    (0 if k == 0 else 4 * finger + k, 4 * finger + k + 1, 0.016 if k == 0 else 0.0095, _SKIN)
    for finger in range(5)
    for k in range(4)
)


@dataclass(frozen=True, eq=False)
class Scene:
    """What there is to see.

    Attributes
    ----------
    room
        The room and its furniture.
    moving
        ``(N, S, 8)``: the body and the things by frame, as solids (:mod:`gnomon.simulation.rays`).
    colours
        ``(B + 6 + S, 3)``: of the room, then of what moves.
    shiny
        ``(B + 1 + S,)``: whether stereo matching often fails on it.
    """

    room: Kitchen
    moving: Array
    colours: Array
    shiny: Array

    def solids(self, frame: int) -> Array:
        """Return everything that there is at a frame."""
        return np.concatenate([self.room.solids, self.moving[frame]])


def scene(script: Script, room: Kitchen, posed: Posed, stand: Array, wanted: Wishes, times: Array) -> Scene:
    """Return what cameras can see at times."""
    parts = [_limb(posed.joints, part) for part in _BODY]
    parts += [_limb(hand, part) for hand in posed.hands for part in _HAND]
    colours = [*room.colours, *(part[3] for part in (*_BODY, *_HAND, *_HAND))]
    shiny = [False] * (len(room.solids) + len(parts))
    for name, thing in THINGS.items():
        middle, held = _followed(script.stays[name], posed, times, thing.height / 2)
        axis = _axis(stand, held[:, np.newaxis] * wanted.tilt[:, np.newaxis], SIDEWAYS[_hand(script.stays[name])])
        ends = np.concatenate([middle - thing.height / 2 * axis, middle + thing.height / 2 * axis], axis=1)
        parts.append(_solids_of(CYLINDER, ends, thing.radius))
        colours.append(thing.colour)
        shiny.append(thing.shiny)
    return Scene(room, np.stack(parts, axis=1), np.array(colours), np.array(shiny))


def _limb(joints: Array, part: Part) -> Array:
    start, stop, radius, _ = part
    return _solids_of(CAPSULE, np.concatenate([joints[:, start], joints[:, stop]], axis=1), radius)


def _solids_of(kind: int, ends: Array, radius: float) -> Array:
    """Return a solid over time, ``(N, 8)``, given both ends of its axis ``(N, 6)``."""
    return np.concatenate([np.full((len(ends), 1), kind), ends, np.full((len(ends), 1), radius)], axis=1)


def _hand(stays: tuple[Stay, ...]) -> int:
    """Return the hand that takes a thing; any if none does."""
    return next((stay.hand for stay in stays if stay.hand != NOBODY), 1)


def _followed(stays: tuple[Stay, ...], posed: Posed, times: Array, half: float) -> tuple[Array, Array]:
    """Return the middle of a thing ``(N, 3)``, and how much it is held ``(N,)``."""
    lift = np.array([0.0, 0.0, half])
    found = np.broadcast_to(stays[0].point + lift, (len(times), 3))
    held = np.zeros(len(times))
    for stay in stays[1:]:
        taken = ramp(times, stay.start - _TAKEN_S, stay.start + _TAKEN_S)
        goal = stay.point + lift if stay.hand == NOBODY else posed.palm(stay.hand)
        found = found + taken[:, np.newaxis] * (goal - found)
        held = held + taken * (float(stay.hand != NOBODY) - held)
    return found, held


def _axis(stand: Array, tilt: Array, out: float) -> Array:
    """Return the axis of a thing that is tilted inwards."""
    heading = stand[:, 2]
    right = np.stack([np.sin(heading), -np.cos(heading), np.zeros_like(heading)], axis=1)
    return np.asarray(np.cos(tilt) * (0.0, 0.0, 1.0) - np.sin(tilt) * out * right)
