"""The script of an episode: who does what, when, where and with what.

Sub-tasks follow one another at random: some come again, others appear late, so that the end of an episode holds labels
that its beginning did not. Things stay where they were put, and are fetched from there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from gnomon.core.tallies import Array
from gnomon.suites.episode.simulation.activities import IDLE, MAIN_TASKS, SUBTASKS, VERBS, Step
from gnomon.suites.episode.simulation.kitchen import FIXED, THINGS, Kitchen
from gnomon.suites.episode.simulation.people import Person
from gnomon.suites.episode.simulation.route import Leg, Route, leg

AGAIN = 0.6
"""Share of sub-tasks that were done before, where there are any."""
PAUSES = 0.15
"""Share of sub-tasks after which nothing is done for a while."""
NOBODY = -1
_GRASP, _RELEASE = 0.62, 0.66
"""When a thing is taken and let go, as a share of the action."""


@dataclass(frozen=True, eq=False)
class Act:
    """An action: its label and verb, what it is done with and to, its time in seconds, and by which hand."""

    label: str
    verb: str
    thing: str
    target: str
    subtask: int
    start: float
    stop: float
    place: str
    point: Array
    """``(3,)``: on the surface below what the action is about."""
    hand: int
    held: tuple[str, str]
    """What each hand holds at the beginning."""

    def when(self, share: float) -> float:
        """Return the time at which a share of the action is done."""
        return self.start + share * (self.stop - self.start)


@dataclass(frozen=True, eq=False)
class Stay:
    """Where a thing rests from a time on: a point on the surface below it; or the hand that holds it."""

    start: float
    point: Array
    hand: int = NOBODY


@dataclass(frozen=True, eq=False)
class Script:
    """What happens in an episode."""

    main_task: str
    subtasks: tuple[str, ...]
    acts: tuple[Act, ...]
    route: Route
    stays: Mapping[str, tuple[Stay, ...]]
    """Of every thing, in the order of time."""


def write(rng: np.random.Generator, room: Kitchen, who: Person, seconds: float) -> Script:
    """Write a script of at least a duration."""
    writer = _Writer(rng, room, who)
    for name, steps in _sequence(rng):
        writer.subtask(name, steps, seconds)
        if writer.now >= seconds:
            break
    return Script(
        str(rng.choice(MAIN_TASKS)),
        tuple(writer.subtasks),
        tuple(writer.acts),
        Route(writer.begin, tuple(writer.legs)),
        {name: tuple(stays) for name, stays in writer.stays.items()},
    )


def _sequence(rng: np.random.Generator) -> Iterator[tuple[str, tuple[Step, ...]]]:
    """Yield sub-tasks without end."""
    fresh, done = list(rng.permutation(list(SUBTASKS))), [""]
    while True:
        before = sorted({*done} - {done[-1], ""})
        if before and (not fresh or rng.random() < AGAIN):
            name = str(rng.choice(before))
        else:
            name = str(fresh.pop())
        done.append(name)
        yield name, SUBTASKS[name]
        if rng.random() < PAUSES:
            yield IDLE, (Step(IDLE, "wait"),)


@dataclass(eq=False)
class _Writer:
    """The state of the kitchen while a script is written."""

    rng: np.random.Generator
    room: Kitchen
    who: Person
    now: float = 0.0
    acts: list[Act] = field(default_factory=list)
    legs: list[Leg] = field(default_factory=list)
    subtasks: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.place = str(self.rng.choice(sorted(self.room.places)))
        at = self.room.places[self.place]
        self.begin = self.body = np.array([*at.xy, at.heading])
        self.spots = {name: thing.home for name, thing in THINGS.items()}
        self.stays = {name: [Stay(-np.inf, self.room.spot(*home))] for name, home in self.spots.items()}
        self.held = ["", ""]

    def subtask(self, name: str, steps: tuple[Step, ...], seconds: float) -> None:
        """Add the actions of a sub-task, until the episode is long enough."""
        self.subtasks.append(name)
        for step in steps:
            self._go(self._place(step))
            if self.now < seconds:
                self._do(step)
            if self.now >= seconds:
                return

    def _place(self, step: Step) -> str:
        """Return where a step is done."""
        if step.spot is not None:
            return step.spot[0]
        if step.verb in ("wait", "drink"):
            return self.place
        if step.target in self.spots:
            return self.spots[step.target][0]
        return FIXED[step.target][0] if step.target in FIXED else step.target

    def _go(self, place: str) -> None:
        if place == self.place:
            return
        at = self.room.places[place]
        way = leg(self.now, self.body, at.xy, at.heading, self.who.pace)
        thing = self.held[self.who.hand]
        verb, label = ("carry", f"Carry {thing} to {place}") if thing else ("walk", f"Walk to {place}")
        self._add(label, verb, thing, place, place, at.point(0.0, 0.5), way.stop - way.start, self.who.hand)
        self.legs.append(way)
        self.body, self.place = way.goal, place

    def _do(self, step: Step) -> None:
        low, high = VERBS[step.verb].seconds
        seconds = float(self.rng.uniform(low, high)) / self.who.pace
        hand = 1 - self.who.hand if step.other else self.who.hand
        self._add(step.label, step.verb, step.thing, step.target, self.place, self._point(step), seconds, hand)
        act = self.acts[-1]
        if step.verb == "pick":
            self.held[hand] = step.thing
            self.stays[step.thing].append(Stay(act.when(_GRASP), act.point, hand))
        elif step.verb == "put" and step.spot is not None:
            self.held[hand] = ""
            self.spots[step.thing] = step.spot
            self.stays[step.thing].append(Stay(act.when(_RELEASE), act.point))

    def _point(self, step: Step) -> Array:
        if step.spot is not None:
            return self.room.spot(*step.spot)
        if step.target in self.spots and step.verb not in ("wait", "drink"):
            return self.stays[step.target][-1].point
        if step.target in FIXED:
            return self.room.fixed(step.target)
        return self.room.spot(self.place, 0.0, 0.45)

    def _add(
        self, label: str, verb: str, thing: str, target: str, place: str, point: Array, seconds: float, hand: int
    ) -> None:
        stop = self.now + seconds
        held = (self.held[0], self.held[1])
        self.acts.append(
            Act(label, verb, thing, target, len(self.subtasks) - 1, self.now, stop, place, point, hand, held)
        )
        self.now = stop
