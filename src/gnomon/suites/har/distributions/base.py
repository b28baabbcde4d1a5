"""What the fourteen distributions share: what is asked for, who does what when, and what was written.

Conventions
-----------
- Signals are m/s^2 and rad/s until they are written; each distribution converts to its own units.
- Recordings have names of their own, so that a recording depends on the seed and its name alone, whatever else is
  written. UCI HAR and HAPT name the same people and the same recordings.
- Minutes are those of one subject, spread over the activities; an activity has at least :data:`LEAST_S` seconds, so
  that every label occurs in a window of six seconds. Single events (falls, steps into a car) are short recordings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from gnomon.core.seeds import generator
from gnomon.core.tallies import Array
from gnomon.suites.har.simulation import Device, Motion, Person, perform, person

LEAST_S = 8.0
"""Seconds of an activity, at least."""


@dataclass(frozen=True)
class Request:
    """What to write: the seed, at most so many subjects of each distribution, and minutes of each subject."""

    seed: int = 0
    subjects: int = 3
    minutes: float = 3.0

    def share(self, parts: int) -> float:
        """Return the seconds of each of some parts that are alike."""
        return max(LEAST_S, round(60 * self.minutes / parts, 2))

    def trials(self, parts: int, seconds: float) -> int:
        """Return how often a recording of so many seconds is made to fill the share of one of some parts."""
        return max(1, round(self.share(parts) / seconds))


@dataclass(frozen=True, eq=False)
class Series:
    """Values ``(n, 3)`` of a sensor and their time stamps ``(n,)`` in seconds, as written: in order, not all rising."""

    times: Array
    values: Array


@dataclass(frozen=True, eq=False)
class Planned:
    """One activity of one subject as it was written, in m/s^2 and rad/s, of the placement that is used.

    Rows with NaN are those that the original lost. ``gyro`` is None where there is none.
    """

    subject: str
    label: str
    acc: Series
    gyro: Series | None


@dataclass(frozen=True)
class Distribution:
    """A dataset as its authors distribute it.

    Attributes
    ----------
    name, subjects
        Short name, and people in the order in which they are taken.
    write
        Writes the files into a folder; yields the name of each subject when it is done.
    plan
        Gives what :attr:`write` writes, recording by recording.
    """

    name: str
    subjects: tuple[str, ...]
    write: Callable[[Path, Request], Iterator[str]]
    plan: Callable[[Request], Iterator[Planned]]


@dataclass(frozen=True)
class Scene:
    """One subject of a distribution, in front of the sensors."""

    seed: int
    people: str
    subject: str

    @property
    def who(self) -> Person:
        """The body and habits of the subject."""
        return _person(self.seed, self.people, self.subject)

    def rng(self, *purpose: str) -> np.random.Generator:
        """Return random numbers for what is not motion: clocks, lost packets, temperature."""
        return generator(self.seed, "har", "distribution", self.people, self.subject, *purpose)

    def perform(
        self,
        activity: str,
        placement: str,
        times: Array,
        seconds: float,
        device: Device,
        trial: str = "1",
    ) -> Motion:
        """Return what a sensor measures while the subject does something; the same trial is the same motion."""
        purpose = (self.people, self.subject, activity, trial)
        return perform(
            activity, placement, self.who, times, seed=self.seed, purpose=purpose, device=device, seconds=seconds
        )


@lru_cache(maxsize=64)
def _person(seed: int, people: str, subject: str) -> Person:
    return person(seed, people, subject)


def scenes(request: Request, people: str, subjects: tuple[str, ...]) -> Iterator[Scene]:
    """Yield the subjects that are asked for."""
    for subject in subjects[: request.subjects]:
        yield Scene(request.seed, people, subject)
