"""Everything that cameras can see at each frame: the furniture, the things, and the body of who wears them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnomon.core.tallies import Array
from gnomon.suites.episode.simulation.acting import SIDEWAYS, Wishes
from gnomon.suites.episode.simulation.body import ANKLES, ELBOWS, FEET, HIPS, KNEES, PELVIS, SHOULDERS, SPINE, WRISTS
from gnomon.suites.episode.simulation.curves import ramp
from gnomon.suites.episode.simulation.kitchen import THINGS, Kitchen
from gnomon.suites.episode.simulation.posing import Posed
from gnomon.suites.episode.simulation.rays import CAPSULE, CYLINDER
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
        The furniture.
    solids
        ``(N, S, 9)``: capsules and cylinders by frame (:mod:`~gnomon.suites.episode.simulation.rays`).
    colours
        ``(S, 3)``: of the solids.
    """

    room: Kitchen
    solids: Array
    colours: Array


def scene(script: Script, room: Kitchen, posed: Posed, stand: Array, wanted: Wishes, times: Array) -> Scene:
    """Return what cameras can see at times."""
    parts = [_solids(posed.joints, part) for part in _BODY]
    parts += [_solids(hand, part) for hand in posed.hands for part in _HAND]
    colours = [part[3] for part in (*_BODY, *_HAND, *_HAND)]
    for name, thing in THINGS.items():
        middle, held = _followed(script.stays[name], posed, times, thing.height / 2)
        axis = _axis(stand, held[:, np.newaxis] * wanted.tilt[:, np.newaxis], SIDEWAYS[_hand(script.stays[name])])
        ends = np.concatenate([middle - thing.height / 2 * axis, middle + thing.height / 2 * axis], axis=1)
        parts.append(_complete(ends, thing.radius, CYLINDER, thing.shiny))
        colours.append(thing.colour)
    return Scene(room, np.ascontiguousarray(np.stack(parts, axis=1)), np.array(colours))


def _solids(joints: Array, part: Part) -> Array:
    start, stop, radius, _ = part
    return _complete(np.concatenate([joints[:, start], joints[:, stop]], axis=1), radius, CAPSULE, shiny=False)


def _complete(ends: Array, radius: float, kind: float, shiny: bool) -> Array:
    return np.concatenate([ends, np.broadcast_to([radius, kind, float(shiny)], (len(ends), 3))], axis=1)


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
