"""From a script to wishes: where hands, eyes and trunk want to be at every frame.

Wishes are points relative to where the person stands: to the right, ahead, and above the floor. Between key points
hands make moves of least jerk; what repeats (cutting, stirring, wiping) is added as oscillation.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from gnomon.core.tallies import Array
from gnomon.simulation.curves import during, ramp, smooth
from gnomon.suites.episode.simulation.kitchen import THINGS, Kitchen
from gnomon.suites.episode.simulation.people import Person
from gnomon.suites.episode.simulation.script import Act, Script

SIDEWAYS = (-1.0, 1.0)
"""Sign of what is to the right, by side: a left hand is to the left."""
PALM = 0.085
"""From the wrist to the middle of the palm."""
_UNDER_WAY = ("walk", "carry")
_STEADIED = ("pour", "stir", "chop")
_TOUCHING = ("press", "open", "close", "wipe")

_PHASE = np.array([0.0, np.pi / 2, 0.0])

Key = tuple[float, tuple[float, float, float]]


@dataclass(frozen=True)
class Wave:
    """What repeats: size in metres to the right, ahead and up, cycles per second of each, and when."""

    size: tuple[float, float, float]
    hz: tuple[float, float, float]
    start: float
    stop: float

    def at(self, times: Array) -> Array:
        """Return the way ``(N, 3)`` from the key point."""
        phase = 2 * np.pi * np.multiply.outer(times - self.start, self.hz) + _PHASE
        return np.asarray(np.sin(phase) * self.size * during(times, self.start, self.stop)[:, None])


@dataclass(eq=False)
class _Hand:
    """Key points of one hand in the making."""

    keys: list[Key] = field(default_factory=list)
    waves: list[Wave] = field(default_factory=list)
    grips: list[tuple[float, float]] = field(default_factory=list)
    flats: list[tuple[float, float]] = field(default_factory=list)
    touches: list[tuple[float, float]] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Wishes:
    """What is wanted at each of N frames; hands in the order left, right.

    Attributes
    ----------
    hands
        ``(N, 2, 3)``: middle of the palm, to the right of, ahead of and above where the person stands.
    grip, flat, touch
        ``(N, 2)``: 0 to 1: how far the fingers are closed, how much the palm faces down, and whether it touches.
    eyes
        ``(N, 3)``: what is looked at, as the hands.
    tilt
        ``(N,)``: how far a thing in the working hand is tilted, in radians.
    """

    hands: Array
    grip: Array
    flat: Array
    touch: Array
    eyes: Array
    tilt: Array


def wishes(script: Script, room: Kitchen, who: Person, times: Array, fps: float) -> Wishes:
    """Return what a script wants of the body."""
    hands = [_Hand(), _Hand()]
    eyes: list[Key] = []
    tilt = np.zeros(len(times))
    for act in script.acts:
        goal = _relative(act, room)
        for side, hand in enumerate(hands):
            _move(hand, act, side, goal, room, who)
        eyes += _look(act, goal, who)
        if act.verb in ("pour", "drink"):
            tilt += (1.1 if act.verb == "pour" else 0.7) * (
                ramp(times, act.when(0.3), act.when(0.5)) - ramp(times, act.when(0.75), act.when(0.9))
            )
    moving = script.route.moving(times)
    points = [
        _along(hand.keys, times)
        + sum((wave.at(times) for wave in hand.waves), np.zeros(3))
        + _swing(side, times, moving, who)
        for side, hand in enumerate(hands)
    ]
    level = {
        name: np.stack([_level(getattr(hand, name), times, base) for hand in hands], axis=1)
        for name, base in (("grips", 0.3), ("flats", 0.45), ("touches", 0.0))
    }
    return Wishes(
        np.stack(points, axis=1),
        smooth(level["grips"], fps, 0.06),
        smooth(level["flats"], fps, 0.12),
        level["touches"],
        smooth(_along(eyes, times), fps, 0.16),
        tilt,
    )


def _relative(act: Act, room: Kitchen) -> Array:
    """Return the point of an action as seen by who stands at its place: to the right, ahead and above the floor."""
    at = room.places[act.place]
    c, s = np.cos(at.heading), np.sin(at.heading)
    x, y = act.point[:2] - at.xy
    return np.array([s * x - c * y, c * x + s * y, act.point[2]])


def _move(hand: _Hand, act: Act, side: int, goal: Array, room: Kitchen, who: Person) -> None:
    """Add the key points of one hand for an action."""
    out = SIDEWAYS[side]
    if side == act.hand and act.verb != "wait":
        keys = _working(act, goal, out, who)
        hand.waves += _waves(act)
    elif act.held[side]:
        keys = [(0.4, (0.14 * out, 0.34, 0.64 * who.height)), (1.0, (0.14 * out, 0.34, 0.64 * who.height))]
    elif act.verb in _UNDER_WAY:
        keys = [(0.3, _hanging(out, who)), (1.0, _hanging(out, who))]
    elif act.verb in _STEADIED:
        at = (goal[0] + 0.075 * out, goal[1] - 0.02, goal[2] + 0.06)
        keys = [(0.3, at), (0.9, at)]
        hand.touches.append((act.when(0.3), act.when(0.9)))
    elif act.verb == "scrub":
        keys = [(0.25, (0.05 * out, 0.40, goal[2] + 0.12)), (0.9, (0.05 * out, 0.40, goal[2] + 0.12))]
    else:
        rest = (0.21 * out, 0.33, room.places[act.place].surface + 0.06)
        keys = [(0.5, rest), (1.0, rest)]
    hand.keys += [(act.when(share), at) for share, at in keys]
    _hold(hand, act, side)


def _hold(hand: _Hand, act: Act, side: int) -> None:
    works = side == act.hand
    if act.held[side]:
        until = act.when(0.66) if works and act.verb == "put" else act.stop
        hand.grips.append((act.start, until))
        hand.touches.append((act.start, until))
    if works and act.verb == "pick":
        hand.grips.append((act.when(0.56), act.stop))
        hand.touches.append((act.when(0.6), act.stop))
    if works and act.verb in _TOUCHING:
        hand.touches.append((act.when(0.4), act.when(0.8)))
    if works and act.verb in ("open", "close"):
        hand.grips.append((act.when(0.38), act.when(0.85)))
    if works and act.verb in ("wipe", "press", "chop"):
        hand.flats.append((act.start, act.stop))


def _working(act: Act, goal: Array, out: float, who: Person) -> list[Key]:
    """Return the key points of the working hand: shares of the action, and points."""
    x, y, z = (float(value) for value in goal)
    half = THINGS[act.thing].height / 2 if act.thing else 0.0
    above = (x, y, z + half)
    keys: dict[str, list[Key]] = {
        "pick": [(0.55, above), (0.68, above), (1.0, (0.85 * x + 0.05 * out, y - 0.06, z + half + 0.13))],
        "put": [(0.55, above), (0.70, above), (1.0, (x + 0.06 * out, y - 0.10, z + half + 0.10))],
        "pour": [(0.25, (x + 0.10 * out, y, z + 0.24)), (0.9, (x + 0.10 * out, y, z + 0.24))],
        "stir": [(0.2, (x, y, z + half + 0.06)), (0.92, (x, y, z + half + 0.06))],
        "chop": [(0.2, (x + 0.03 * out, y, z + 0.07)), (0.92, (x - 0.02 * out, y, z + 0.07))],
        "wipe": [(0.15, (x, y, z + 0.03)), (0.92, (x, y, z + 0.03))],
        "scrub": [(0.25, (0.02 * out, 0.42, z + 0.14)), (0.92, (0.02 * out, 0.42, z + 0.14))],
        "rinse": [(0.25, (x, y - 0.08, z - 0.08)), (0.9, (x, y - 0.08, z - 0.08))],
        "press": [(0.48, (x, y - 0.01, z)), (0.66, (x, y - 0.01, z)), (1.0, (x + 0.05 * out, y - 0.12, z + 0.06))],
        "open": [(0.4, (x, y, z)), (0.85, (x, y - 0.17, z)), (1.0, (x + 0.05 * out, y - 0.15, z + 0.02))],
        "close": [(0.35, (x, y - 0.15, z)), (0.8, (x, y, z)), (1.0, (x + 0.05 * out, y - 0.10, z + 0.02))],
        "drink": [(0.35, (0.04 * out, 0.20, 0.85 * who.height)), (0.75, (0.04 * out, 0.20, 0.86 * who.height))],
        "walk": [(0.3, _hanging(out, who)), (1.0, _hanging(out, who))],
        "carry": [(0.3, (0.12 * out, 0.36, 0.62 * who.height)), (1.0, (0.12 * out, 0.36, 0.62 * who.height))],
    }
    if act.verb == "drink":
        keys["drink"].append((1.0, (0.12 * out, 0.34, 0.64 * who.height)))
    return keys[act.verb]


def _waves(act: Act) -> list[Wave]:
    sizes = {
        "stir": ((0.035, 0.035, 0.0), (1.4, 1.4, 1.0)),
        "chop": ((0.0, 0.012, 0.032), (1.0, 2.3, 2.3)),
        "wipe": ((0.17, 0.05, 0.0), (0.8, 0.4, 1.0)),
        "scrub": ((0.022, 0.022, 0.012), (2.1, 2.1, 1.05)),
        "rinse": ((0.02, 0.01, 0.008), (0.7, 0.5, 0.9)),
        "pour": ((0.012, 0.012, 0.0), (0.6, 0.6, 1.0)),
    }
    if act.verb not in sizes:
        return []
    return [Wave(*sizes[act.verb], act.when(0.2), act.when(0.92))]


def _look(act: Act, goal: Array, who: Person) -> list[Key]:
    """Return what is looked at during an action; eyes arrive before hands."""
    x, y, z = (float(value) for value in goal)
    if act.verb in _UNDER_WAY:
        far = (0.0, 1.8, 0.5 * who.height)
        return [(act.when(0.2), far), (act.when(0.8), far), (act.stop, (0.0, 0.6, z))]
    if act.verb == "wait":
        return [(act.when(0.4), (0.5, 1.2, 0.7 * who.height)), (act.when(0.8), (-0.3, 1.0, 0.6 * who.height))]
    return [(act.start + min(0.35, act.when(0.3) - act.start), (x, y, z + 0.05)), (act.stop, (x, y, z + 0.05))]


def _hanging(out: float, who: Person) -> tuple[float, float, float]:
    return (0.22 * out, 0.10, 0.47 * who.height)


def _swing(side: int, times: Array, moving: Array, who: Person) -> Array:
    """Return how a free arm swings while walking."""
    phase = 2 * np.pi * times / who.stride_s + np.pi * side
    found = np.zeros((len(times), 3))
    found[:, 1] = 0.09 * np.sin(phase) * moving
    found[:, 2] = 0.012 * np.cos(2 * phase) * moving
    return found


def _along(keys: list[Key], times: Array) -> Array:
    """Return ``(N, 3)`` between key points, with moves of least jerk from each to the next."""
    found = np.broadcast_to(np.array(keys[0][1]), (len(times), 3)).copy()
    for (start, here), (stop, there) in pairwise(keys):
        found += ramp(times, start, stop)[:, np.newaxis] * np.subtract(there, here)
    return found


def _level(spans: list[tuple[float, float]], times: Array, base: float) -> Array:
    """Return 1 within spans of time and a base outside."""
    found = np.full(len(times), base)
    for start, stop in spans:
        found[(times >= start) & (times < stop)] = 1.0
    return found
