"""Ways through a room: where a person is, where they face, and where their feet stand.

The middle of the body follows moves of least jerk between places; it turns to the way first and to the work at its end.
Feet that stand do not move: steps alternate, and each puts a foot where it will be under the body half a step later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gnomon.core.tallies import Array
from gnomon.suites.episode.simulation.body import SIGNS
from gnomon.suites.episode.simulation.curves import ease, nearest_angle, ramp

STEP_S = 0.52
SWING = 0.8
"""Share of the time of a step in which its foot is in the air."""
LIFT, ROLL = 0.065, 0.45
"""Height that an ankle is lifted in metres, and pitch of the foot when it leaves the floor, in radians."""
APART = 0.10
"""From the middle of the body to each foot."""
_SHORT = 1.0
"""Ways shorter than this are done sideways, without turning to them."""


@dataclass(frozen=True, eq=False)
class Leg:
    """One way: its time, and place and heading at both ends."""

    start: float
    stop: float
    origin: Array
    goal: Array
    """``(3,)``: x, y and heading, within half a turn from the way's."""
    along: float | None
    """Heading of the way; None for one that is short."""

    def at(self, times: Array) -> Array:
        """Return place and heading ``(N, 3)`` at times."""
        share = (times - self.start) / (self.stop - self.start)
        found = self.origin + ease(share)[:, np.newaxis] * (self.goal - self.origin)
        if self.along is not None:
            first, last = ease(share / 0.4), ease((share - 0.6) / 0.4)
            found[:, 2] = self.origin[2] + first * (self.along - self.origin[2]) + last * (self.goal[2] - self.along)
        return np.asarray(found)


def leg(start: float, origin: Array, xy: Array, heading: float, pace: float) -> Leg:
    """Return the way from where somebody is to a place."""
    way = xy - origin[:2]
    distance = float(np.hypot(*way))
    along = None if distance < _SHORT else nearest_angle(float(np.arctan2(way[1], way[0])), origin[2])
    facing = nearest_angle(heading, origin[2] if along is None else along)
    turned = abs(facing - origin[2]) if along is None else abs(along - origin[2]) + abs(facing - along)
    seconds = (0.45 + distance + 0.17 * turned) / pace
    return Leg(start, start + seconds, origin, np.array([*xy, facing]), along)


@dataclass(frozen=True, eq=False)
class Route:
    """All the ways of an episode, in the order of time."""

    begin: Array
    legs: tuple[Leg, ...]

    def at(self, times: Array) -> Array:
        """Return place and heading ``(N, 3)`` at times."""
        found = np.broadcast_to(self.begin, (len(times), 3)).copy()
        for way in self.legs:
            after = times >= way.start
            found[after] = way.at(times[after])
        return found

    def moving(self, times: Array) -> Array:
        """Return how much somebody is under way, 0 to 1."""
        found = np.zeros(len(times))
        for way in self.legs:
            found += ramp(times, way.start, way.start + 0.4) - ramp(times, way.stop - 0.4, way.stop)
        return np.clip(found, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Feet:
    """Both feet over time: place of the ankle ``(N, 2, 3)`` above its height at rest, heading and pitch ``(N, 2)``."""

    place: Array
    heading: Array
    pitch: Array
    landings: tuple[float, ...]
    """When a foot comes down."""


def feet(route: Route, times: Array) -> Feet:
    """Return where the feet are."""
    steps = [step for way in route.legs for step in _steps(route, way)]
    place, heading, pitch = np.zeros((len(times), 2, 3)), np.zeros((len(times), 2)), np.zeros((len(times), 2))
    for side in (0, 1):
        here = _foothold(route.begin[np.newaxis], side)[0]
        found = np.broadcast_to(here, (len(times), 3)).copy()
        for start, goal in ((start, goal) for start, foot, goal in steps if foot == side):
            share = (times - start) / (SWING * STEP_S)
            after = share >= 0
            found[after] = here + ease(share[after])[:, np.newaxis] * (goal - here)
            swing = np.clip(share, 0.0, 1.0)
            place[:, side, 2] += LIFT * 16 * (swing * (1 - swing)) ** 2
            pitch[:, side] += ROLL * np.sin(2 * np.pi * swing) * (1 - swing)
            here = goal
        place[:, side, :2], heading[:, side] = found[:, :2], found[:, 2]
    return Feet(place, heading, pitch, tuple(start + SWING * STEP_S for start, _, _ in steps))


def _steps(route: Route, way: Leg) -> Sequence[tuple[float, int, Array]]:
    """Return the steps of a way: when each starts, which foot, and where it goes."""
    count = max(2, int(np.ceil((way.stop - way.start) / STEP_S)))
    starts = way.start + STEP_S * np.arange(count)
    lands = starts + SWING * STEP_S
    ends = np.minimum(lands + 0.5 * STEP_S, way.stop)
    ends[-2:] = way.stop
    bodies = route.at(ends)
    first = 0 if _leftwards(way) > 0 else 1
    sides = [(first + k) % 2 for k in range(count)]
    return [(float(starts[k]), side, _foothold(bodies[k : k + 1], side)[0]) for k, side in enumerate(sides)]


def _leftwards(way: Leg) -> float:
    """Return how far a way turns or, without a turn, leads to the left: the foot on that side goes first."""
    if way.along is not None:
        return way.along - float(way.origin[2])
    x, y = way.goal[:2] - way.origin[:2]
    return float(np.cos(way.origin[2]) * y - np.sin(way.origin[2]) * x)


def _foothold(bodies: Array, side: int) -> Array:
    """Return where a foot belongs under bodies ``(N, 3)``: place and heading, turned out a little."""
    heading = bodies[:, 2]
    x = bodies[:, 0] - SIGNS[side] * APART * np.sin(heading)
    y = bodies[:, 1] + SIGNS[side] * APART * np.cos(heading)
    return np.stack([x, y, heading + SIGNS[side] * 0.12], axis=1)
