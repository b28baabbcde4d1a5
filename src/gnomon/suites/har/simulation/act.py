"""An act: what one person does during one recording, put together from terms.

Conventions
-----------
- Quantities are named ``root.x`` (metres) or ``<segment>.<angle>`` (given in degrees here, kept in radians). Limbs are
  those on the side of the sensor; what the other side does is not needed.
- Every act draws the same random numbers whatever the placement, in the same order, so that several sensors on one body
  feel one motion. Splines have generators of their own, so that they begin the same whatever the duration.
- Inside ``with act.during(gate)`` everything that is added is multiplied by the gate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from gnomon.core.seeds import generator
from gnomon.core.tallies import Array
from gnomon.suites.har.simulation.people import Person
from gnomon.suites.har.simulation.terms import (
    Clock,
    Function,
    Pieces,
    Rings,
    Shape,
    Term,
    Waves,
    moves,
    noise,
    product,
    pushes,
)

HARMONICS = 20
CUTOFF_HZ = 25.0
"""Harmonics above this are left out: soft tissue lets little more through to a worn sensor."""
GRID = 256
SHOCK: Mapping[str, float] = {
    "shank": 3.5,
    "thigh": 2.2,
    "pelvis": 1.0,
    "trunk": 0.5,
    "head": 0.3,
    "upper": 0.5,
    "fore": 0.5,
}
"""How much of a shock from the floor reaches each segment, relative to the pelvis (after Lafortune 1991 and Mercer et
al. 2003: about 3 to 1 from the shin to the back, and 2 to 1 from there to the head)."""


STIFF = 0.09
"""Angle in radians (root of the mean square) at which the cloth has halved the rocking."""
ROOT = ("root.x", "root.y", "root.z")
CASE = ("case.roll", "case.pitch", "case.yaw")


@dataclass(frozen=True, eq=False)
class Hang:
    """A device in a pocket or on a strap: a damped pendulum on its segment, which shocks set rocking.

    Attributes
    ----------
    hz, damping
        Natural frequency, and the share of critical damping.
    arm
        ``(3,)`` metres from the point that is held to the middle of the device, in the axes of the segment.
    gain
        What arm times acceleration is multiplied with, in 1/m^2: the inverse of the squared radius of
        gyration, times how loosely it is held.
    """

    hz: float
    damping: float
    arm: Array
    gain: float

    def _response(self, order: Array) -> Array:
        own = 2 * np.pi * self.hz
        return 1 / (own**2 - order**2 + 2j * self.damping * own * order)

    def passed(self, order: Array) -> Array:
        """Return what a device does at given rad/s when its segment moves by 1 (transmissibility of a spring)."""
        own = 2 * np.pi * self.hz
        return np.asarray((own**2 + 2j * self.damping * own * order) * self._response(order))

    def torque(self, pulls: Array) -> Array:
        """Return angular accelerations ``(3, ...)`` about the three axes for accelerations of the segment."""
        return np.asarray(-self.gain * np.cross(self.arm, pulls, axisb=0, axisc=0))

    def struck(self, pulls: Array) -> Array:
        """Return the angular accelerations after single shocks ``(3, k)``."""
        free = self.torque(pulls)
        size = np.sqrt(np.square(free).sum(axis=0) / 2) / (2 * np.pi * self.hz) ** 2
        return np.asarray(free / (1 + size / STIFF))

    def rocked(self, pulls: Array, order: Array) -> Array:
        """Return the angles that periodic accelerations ``(3, K)`` lead to; cloth that is stretched holds tighter."""
        free = self.torque(pulls) * self._response(order)
        size = np.sqrt(np.square(np.abs(free)).sum() / 2)
        return np.asarray(free / (1 + size / STIFF))


def unit(name: str) -> float:
    """Return what an amount of a quantity is multiplied with: metres stay, degrees become radians."""
    return 1.0 if name.startswith("root.") else np.pi / 180


class Act:
    """A motion in the making.

    Parameters
    ----------
    who
        The person.
    side
        Side of the sensor, 1 left or -1 right.
    segment
        Segment of the sensor.
    seconds
        Duration of the recording.
    seed, purpose
        Name the random numbers.
    span
        Last second that is asked for, where that is later.
    hang
        How the device hangs on the segment; None where it is one with it.
    """

    def __init__(
        self,
        who: Person,
        side: int,
        segment: str,
        seconds: float,
        *,
        seed: int,
        purpose: Sequence[str],
        span: float = 0.0,
        hang: Hang | None = None,
    ) -> None:
        self.who, self.side, self.segment, self.seconds = who, side, segment, seconds
        self.span = max(span, seconds)
        self.hang = hang
        self.rng = generator(seed, *purpose, "motion")
        self.fixed: dict[str, float] = {}
        self.terms: list[Term] = []
        self._gate: Function | None = None
        self._streams = generator(seed, *purpose, "streams")

    @property
    def working(self) -> bool:
        """Whether the sensor is on the side of the working hand."""
        return self.side == self.who.hand

    def draw(self, usual: float, spread: float) -> float:
        """Draw a normal number, held within two and a half spreads."""
        return usual + spread * float(np.clip(self.rng.standard_normal(), -2.5, 2.5))

    def stream(self) -> np.random.Generator:
        """Return a fresh generator of this act."""
        return self._streams.spawn(1)[0]

    @contextmanager
    def during(self, gate: Function | None) -> Iterator[None]:
        """Multiply what is added inside by a gate, on top of one that holds already; None lifts that."""
        before = self._gate
        self._gate = gate if before is None or gate is None else _Both(before, gate)
        yield
        self._gate = before

    def hold(self, amounts: Mapping[str, float]) -> None:
        """Add constants: a posture."""
        if self._gate is not None:
            values = np.array([[amount * unit(name) for name, amount in amounts.items()]])
            self.add(tuple(amounts), moves([0.0], values))
            return
        for name, amount in amounts.items():
            self.fixed[name] = self.fixed.get(name, 0.0) + amount * unit(name)

    def add(self, names: Sequence[str], shape: Shape) -> None:
        """Add a function of time, in metres and radians."""
        self.terms.append(Term(tuple(names), shape, self._gate))

    def wander(self, spreads: Mapping[str, float], every: float, power: int = 1) -> None:
        """Add random splines: sway, tremor or fidgeting."""
        sizes = [spread * unit(name) for name, spread in spreads.items()]
        self.add(tuple(spreads), noise(self.stream(), sizes, every, self.span, power))

    def clock(self, hz: float, wobble: float = 0.02, every: float = 2.0) -> Clock:
        """Return a clock with a random start, whose phase wanders by a share `wobble` of a turn."""
        start = float(self.rng.uniform(0, 2 * np.pi))
        return Clock(hz, start, noise(self.stream(), [2 * np.pi * wobble], every, self.span))

    def envelope(self, spread: float, every: float = 1.5) -> Function:
        """Return a gate about 1."""
        return _Around(noise(self.stream(), [spread], every, self.span))

    def pulses(self, clock: Clock, cycle: Array) -> Function:
        """Return a gate that follows a function over one turn of a clock."""
        return _Around(Waves(clock, fourier(cycle, clock.hz)[np.newaxis]), float(cycle.mean()))

    def series(self, clock: Clock, cycles: Mapping[str, Array]) -> None:
        """Add periodic functions, each given over one turn of the clock on a grid ``(GRID,)``; means are left out."""
        factors = np.stack([unit(name) * fourier(cycle, clock.hz) for name, cycle in cycles.items()])
        self.add(tuple(cycles), Waves(clock, factors))

    def forces(self, clock: Clock, cycles: Mapping[str, Array]) -> None:
        """Add positions of the root by their accelerations over one turn, and what a loose device makes of them."""
        pulls = np.zeros((3, harmonics(clock.hz)), dtype=np.complex128)
        for name, cycle in cycles.items():
            pulls[ROOT.index(name)] = fourier(cycle, clock.hz)
        order = 2 * np.pi * clock.hz * np.arange(1, pulls.shape[1] + 1)
        if self.hang is None:
            self.add(ROOT, Waves(clock, -pulls / order**2))
            return
        self.add(ROOT, Waves(clock, -pulls * self.hang.passed(order) / order**2))
        self.add(CASE, Waves(clock, self.hang.rocked(pulls, order)))

    def swing(self, clock: Clock, amounts: Mapping[str, tuple[float, float]], harmonic: int = 1) -> None:
        """Add cosines: amplitude, and the share of the clock's turn after which each is largest."""
        factors = np.zeros((len(amounts), harmonic), dtype=np.complex128)
        for row, (name, (amount, late)) in enumerate(amounts.items()):
            factors[row, -1] = amount * unit(name) * np.exp(-2j * np.pi * late * harmonic)
        self.add(tuple(amounts), Waves(clock, factors))

    def path(self, times: Sequence[float], values: Mapping[str, Sequence[float]]) -> None:
        """Add moves of least jerk from value to value at given times."""
        table = np.array([[value * unit(name) for value in column] for name, column in values.items()]).T
        self.add(tuple(values), moves(times, table))

    def push(self, name: str, times: Sequence[float], accelerations: Sequence[float]) -> None:
        """Add a motion of the root by its acceleration, straight lines between values."""
        self.add((name,), pushes(times, np.asarray(accelerations)))

    def shocks(self, times: ArrayLike, peaks: Mapping[str, ArrayLike], hz: float, decay: float) -> None:
        """Add what is left at this segment of shocks from the floor (peaks in m/s^2 at the pelvis)."""
        at = np.asarray(times, dtype=np.float64)
        pulls = np.zeros((3, len(at)))
        for name, sizes in peaks.items():
            pulls[ROOT.index(name)] = np.asarray(sizes) * SHOCK[self.segment]
        self.add(ROOT, Rings(at, pulls, hz, decay))
        if self.hang is not None:
            self.add(CASE, Rings(at, self.hang.struck(pulls), self.hang.hz, 2 * decay))

    def gates(self, times: Sequence[float], kinds: Sequence[int], count: int, ramp: float = 0.6) -> list[Pieces]:
        """Return a gate for each of `count` kinds, open from ``times[i]`` to ``times[i + 1]`` where ``kinds[i]``."""
        keys = np.ravel([[time - ramp / 2, time + ramp / 2] for time in times[1:-1]])
        keys = np.concatenate([[times[0]], keys, [max(times[-1], times[0] + 1.0)]])
        found = []
        for kind in range(count):
            open_ = [float(one == kind) for one in kinds]
            found.append(moves(keys.tolist(), np.repeat(open_, 2)[:, np.newaxis]))
        return found


class _Both:
    """The product of two gates."""

    def __init__(self, one: Function, other: Function) -> None:
        self._pair = one, other

    def at(self, times: Array) -> Array:
        """Return value and derivatives."""
        return product(*(gate.at(times) for gate in self._pair))


class _Around:
    """A constant plus a function."""

    def __init__(self, inner: Function, middle: float = 1.0) -> None:
        self._inner, self._middle = inner, middle

    def at(self, times: Array) -> Array:
        """Return value and derivatives."""
        found = self._inner.at(times)
        found[0] += self._middle
        return found


def harmonics(hz: float) -> int:
    """Return how many harmonics of a clock are kept."""
    return int(np.clip(CUTOFF_HZ / hz, 1, HARMONICS))


def fourier(cycle: Array, hz: float) -> Array:
    """Return c_1 to c_K of a function over one turn."""
    return np.asarray(np.fft.rfft(cycle)[1 : harmonics(hz) + 1] * (2 / len(cycle)))


def turn() -> Array:
    """Return the grid over one turn, 0 to 1."""
    return np.arange(GRID) / GRID
