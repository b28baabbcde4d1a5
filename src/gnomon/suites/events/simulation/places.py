"""Where somebody is during a day: stays at places, ways between them, and what a location sensor makes of it.

Conventions
-----------
- Inside, positions are metres east and north of the person's home; fixes are latitude and longitude in degrees and the
  accuracy in metres that the sensor claims (about the 68 % radius, and often wrong).

Model
-----
Places lie from a few hundred metres to some kilometres apart. Near ones are walked to, others are driven to, along
streets with corners, traffic lights and jams. The error of a fix drifts: it is noise with a memory of minutes, larger
indoors, where bursts of wrong fixes are common and fixes may be missing for long.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gnomon.core.tallies import Array
from gnomon.simulation.curves import drift
from gnomon.suites.events.simulation.people import CITIES, Person

VISIT, PATH = "visit", "path"
EVERY_S = 30.0
_MEMORY_S = 120.0
"""Of the error of fixes."""
METRES_PER_DEGREE = 111_320.0
_KINDS = (
    ("home", 0.0, 70.0, 0.28),
    ("work", 4500.0, 100.0, 0.24),
    ("shop", 900.0, 16.0, 0.18),
    ("cafe", 1500.0, 30.0, 0.14),
    ("gym", 2500.0, 65.0, 0.08),
    ("friend", 6000.0, 60.0, 0.08),
)
"""Kind of place, usual distance from home in m, usual stay in minutes, share of visits."""
_SHORTEST_STAY_S = 360.0

Part = tuple[str, float, float, Array, Array]
"""Label, start and end in seconds, times ``(n,)`` and values ``(n, 3)`` of the fixes between them."""


@dataclass(frozen=True)
class Place:
    """A place: east and north in m, usual stay in s, and how well it is shielded, as a factor of the error."""

    spot: Array
    stay_s: float
    shield: float


def day(person: Person, seconds: float, rng: np.random.Generator) -> Iterator[Part]:
    """Yield a recording stay by stay and way by way, in the order of time."""
    places = _places(rng)
    sensor = _Sensor(person, rng)
    now, here = 0.0, 0
    while now < seconds:
        stay_s = float(round(max(_SHORTEST_STAY_S, places[here].stay_s * rng.lognormal(0, 0.5))))
        yield sensor.stay(now, min(now + stay_s, seconds), places[here])
        now += stay_s
        there = _next(here, rng)
        times, spots = _way(places[here].spot, places[there].spot, rng)
        if now < seconds:
            yield sensor.way(now, min(now + times[-1], seconds), times, spots)
        now, here = now + times[-1], there


def _places(rng: np.random.Generator) -> list[Place]:
    found = []
    first = rng.uniform(0, 2 * np.pi)
    for index, (_, distance, stay_min, _) in enumerate(_KINDS):
        angle = first + 2 * np.pi * (index + rng.uniform(-0.3, 0.3)) / (len(_KINDS) - 1)
        far = distance * rng.uniform(0.6, 1.6)
        spot = far * np.array([np.cos(angle), np.sin(angle)])
        found.append(Place(spot, 60 * stay_min, float(rng.uniform(1.0, 3.0))))
    return found


def _next(here: int, rng: np.random.Generator) -> int:
    shares = np.array([share for *_, share in _KINDS])
    shares[here] = 0
    return int(rng.choice(len(shares), p=shares / shares.sum()))


def _way(start: Array, end: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return a way as corners: seconds from its start ``(n,)`` and spots ``(n, 2)``; halts have two times at one spot.

    Streets follow a grid that is turned at random; each leg goes along one of its directions.
    """
    turn = rng.uniform(0, np.pi / 2)
    grid = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    along = grid @ (end - start)
    blocks = 2 + round(float(np.abs(along).sum()) / 600)
    cuts = [np.concatenate([[0.0], np.sort(rng.random(blocks - 1)), [1.0]]) * length for length in along]
    steps = np.stack([np.repeat(cuts[0], 2)[1:], np.repeat(cuts[1], 2)[:-1]], axis=1)
    corners = start + steps @ grid
    legs = np.linalg.norm(np.diff(corners, axis=0), axis=1)
    walked = legs.sum() < 1600
    speed = rng.uniform(1.0, 1.6) if walked else rng.uniform(6, 14)
    travel = legs / (speed * rng.uniform(0.6, 1.2, len(legs)))
    halts = np.where(rng.random(len(legs)) < (0.15 if walked else 0.4), rng.uniform(5, 70, len(legs)), 0.0)
    times = np.concatenate([[0.0], np.cumsum(np.stack([travel, halts], axis=1).ravel())])
    times *= np.ceil(times[-1]) / times[-1]
    return times, np.concatenate([corners[:1], np.repeat(corners[1:], 2, axis=0)])


class _Sensor:
    """The location sensor of one person; remembers its error, which drifts."""

    def __init__(self, person: Person, rng: np.random.Generator) -> None:
        _, self.latitude, self.longitude, _ = CITIES[person.city]
        self.latitude += rng.normal(0, 0.02)
        self.longitude += rng.normal(0, 0.03)
        self.error, self.rng = rng.normal(0, 5, 2), rng

    def stay(self, start: float, end: float, place: Place) -> Part:
        """Return the fixes of a stay; people move about in a building."""
        times = self._times(start, end, gap_every_s=7200, gap_s=(300, 2400))
        spread = 6.0 * place.shield
        spots = place.spot + self.rng.normal(0, 4, (len(times), 2))
        wrong = self._bursts(len(times))
        return VISIT, start, end, times, self._fixes(times, spots + wrong, spread, np.linalg.norm(wrong, axis=1))

    def way(self, start: float, end: float, corner_times: Array, corners: Array) -> Part:
        """Return the fixes of a way."""
        times = self._times(start, end, gap_every_s=2400, gap_s=(90, 300))
        spots = np.stack([np.interp(times - start, corner_times, axis) for axis in corners.T], axis=1)
        return PATH, start, end, times, self._fixes(times, spots, 6.0, np.zeros(len(times)))

    def _times(self, start: float, end: float, gap_every_s: float, gap_s: tuple[float, float]) -> Array:
        steps = EVERY_S + np.clip(self.rng.normal(0, 2.5, int((end - start) / EVERY_S * 1.5) + 2), -8, 8)
        lost = self.rng.random(len(steps)) < EVERY_S / gap_every_s
        steps += np.where(lost, self.rng.uniform(*gap_s, len(steps)), 0.0)
        times = start + self.rng.uniform(0, EVERY_S) + np.cumsum(steps) - steps[0]
        return np.asarray(np.round(times[times < end], 3))

    def _bursts(self, count: int) -> Array:
        """Return offsets of wrong fixes, which come a few at a time and agree with each other."""
        offsets: Array = np.zeros((count, 2))
        for start in np.flatnonzero(self.rng.random(count) < 0.02).tolist():
            angle, far = self.rng.uniform(0, 2 * np.pi), self.rng.uniform(60, 350)
            length = int(self.rng.integers(1, 4))
            offsets[start : start + length] = far * np.array([np.cos(angle), np.sin(angle)])
        return offsets

    def _fixes(self, times: Array, spots: Array, spread: float, wrong: Array) -> Array:
        """Return spots with their error as latitude, longitude and the accuracy that is claimed for them."""
        errors = drift(self.rng, (len(times), 2), _MEMORY_S / EVERY_S, spread, self.error)
        self.error = errors[-1] if len(errors) else self.error
        east, north = (spots + errors).T
        latitude = self.latitude + north / METRES_PER_DEGREE
        longitude = self.longitude + east / METRES_PER_DEGREE / np.cos(np.radians(self.latitude))
        claimed = (1.2 * spread + 0.3 * wrong) * self.rng.lognormal(0, 0.4, len(times))
        return np.stack([np.round(latitude, 7), np.round(longitude, 7), np.round(claimed + 3, 1)], axis=1)
