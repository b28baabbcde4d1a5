"""Ways through a room: where a person is, where they face, and where their feet stand.

The middle of the body follows moves of least jerk between places; it turns to the way first and to the work at its end.
Feet that stand do not move: steps alternate, and each puts a foot where it will be under the body a little later
(:mod:`gnomon.simulation.gait`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnomon.core.tallies import Array
from gnomon.simulation.curves import ease, ramp
from gnomon.simulation.gait import OVER, STANCE, Feet, Step, foothold, move_feet
from gnomon.suites.episode.simulation.people import Person

APART = 0.10
"""From the middle of the body to each ankle."""
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
    along = None if distance < _SHORT else _nearest_angle(float(np.arctan2(way[1], way[0])), origin[2])
    facing = _nearest_angle(heading, origin[2] if along is None else along)
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


def feet(route: Route, who: Person, times: Array) -> Feet:
    """Return where the feet of a person are."""
    begin = [foothold(who.body, route.begin[np.newaxis], side, APART)[0] for side in (0, 1)]
    steps = [step for way in route.legs for step in _steps(route, way, who)]
    return move_feet(who.body, begin, steps, who.stride_s, times)


def _steps(route: Route, way: Leg, who: Person) -> list[Step]:
    """Return the steps of a way; the last two end under the body where it stops."""
    count = max(2, int(np.ceil(2 * (way.stop - way.start) / who.stride_s)))
    starts = way.start + who.stride_s / 2 * np.arange(count)
    under = np.minimum(starts + (1 - STANCE + OVER) * who.stride_s, way.stop)
    under[-2:] = way.stop
    stands = route.at(under)
    first = 0 if _leftwards(way) > 0 else 1
    sides = [(first + k) % 2 for k in range(count)]
    return [
        Step(float(starts[k]), side, foothold(who.body, stands[k : k + 1], side, APART)[0])
        for k, side in enumerate(sides)
    ]


def _leftwards(way: Leg) -> float:
    """Return how far a way turns or, without a turn, leads to the left: the foot on that side goes first."""
    if way.along is not None:
        return way.along - float(way.origin[2])
    x, y = way.goal[:2] - way.origin[:2]
    return float(np.cos(way.origin[2]) * y - np.sin(way.origin[2]) * x)


def _nearest_angle(angle: float, reference: float) -> float:
    """Return an angle plus whole turns, within half a turn of a reference."""
    return reference + (angle - reference + np.pi) % (2 * np.pi) - np.pi
