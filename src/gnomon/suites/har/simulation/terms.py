"""Smooth functions of time with their first two derivatives, of which every motion is a sum.

Conventions
-----------
- ``at(times)`` returns ``(3, d, n)``: value, first and second derivative of d quantities at n times, in closed form.
- :class:`Pieces` are polynomials between knots: splines with random coefficients (sway, fidgeting, changes of tempo),
  moves of least jerk between postures (Flash and Hogan 1985), and accelerations that are straight lines between knots
  (free fall, push, impact).
- :class:`Waves` are Fourier series of a phase, which a :class:`Clock` drives: gait, pedalling, repetitions.
- :class:`Rings` are damped oscillations after shocks.
- A term may be multiplied by a *gate*, another function of time, by the rule for products.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, cast

import numpy as np

from gnomon.core.tallies import Array
from gnomon.suites.har.simulation import _kernels

NEGLIGIBLE = 5e-3
"""A harmonic whose second derivative (m/s^2 or rad/s^2) stays below is left out."""
_SPLINE_STD = np.sqrt(151 / 315)
"""Spread of a cubic B-spline whose coefficients have a spread of 1."""


class Function(Protocol):
    """Anything with a value and two derivatives."""

    def at(self, times: Array) -> Array:
        """Return ``(3, d, n)``."""


@dataclass(frozen=True, eq=False)
class Pieces:
    """Polynomials between knots.

    Attributes
    ----------
    knots
        ``(k + 1,)``.
    polynomials
        ``(k, d, degree + 1)``: factors of the powers of the time since the left knot.
    even
        Distance of the knots where that is constant, else 0.
    """

    knots: Array
    polynomials: Array
    even: float = 0.0

    def only(self, chosen: Sequence[int]) -> Pieces:
        """Keep some of the quantities."""
        return replace(self, polynomials=np.ascontiguousarray(self.polynomials[:, chosen]))

    def at(self, times: Array) -> Array:
        """Return value and derivatives; beyond the ends the outer polynomials go on."""
        index, since = np.empty(len(times), dtype=np.int64), np.empty(len(times))
        _kernels.locate(times, self.knots, self.even, index, since)
        found = np.empty((3, self.polynomials.shape[1], len(times)))
        _kernels.polynomials(index, since, self.polynomials, found)
        return found


def spline(coefficients: Array, every: float) -> Pieces:
    """Return the cubic B-spline of coefficients ``(m, d)`` at knots that are `every` seconds apart, from 0 on."""
    a, b, c, d = (coefficients[i : len(coefficients) - 3 + i].T for i in range(4))
    powers = ((a + 4 * b + c) / 6, (c - a) / 2, (a - 2 * b + c) / 2, (d - a + 3 * (b - c)) / 6)
    scaled = np.stack([power.T / every**k for k, power in enumerate(powers)], axis=-1)
    return Pieces(every * np.arange(len(scaled) + 1), scaled, every)


def noise(rng: np.random.Generator, spreads: Sequence[float], every: float, seconds: float, power: int = 1) -> Pieces:
    """Return random splines with given spreads.

    A longer duration gives the same beginning. With an odd `power` over 1 most of the time little happens and now
    and then much.
    """
    count = int(seconds / every) + 6
    drawn = rng.standard_normal((count, len(spreads))) ** power
    usual = np.sqrt(np.prod(np.arange(2 * power - 1, 0, -2, dtype=np.float64)))
    return spline(drawn * (np.asarray(spreads) / (usual * _SPLINE_STD)), every)


def moves(times: Sequence[float], values: Array) -> Pieces:
    """Return moves of least jerk from value to value ``(k, d)`` at given times; constant before and after."""
    given = np.asarray(values, dtype=np.float64)
    given = np.concatenate([given[:1], given, given[-1:]])
    knots = np.concatenate([[times[0] - 1.0], times, [times[-1] + 1.0]])
    step, length = np.diff(given, axis=0), np.diff(knots)[:, np.newaxis]
    zero = np.zeros_like(step)
    powers = (given[:-1], zero, zero, 10 * step / length**3, -15 * step / length**4, 6 * step / length**5)
    return Pieces(knots, np.stack(powers, axis=-1))


def pushes(times: Sequence[float], accelerations: Array) -> Pieces:
    """Return positions whose acceleration is straight lines between ``(k,)`` values at given times, 0 outside."""
    knots = np.concatenate([[times[0] - 1.0], times, [times[-1] + 1.0]])
    given = np.concatenate([[0.0], np.asarray(accelerations, dtype=np.float64), [0.0]])
    given[[1, -2]] = 0.0
    length = np.diff(knots)
    slope = np.diff(given) / length
    speed = np.concatenate([[0.0], np.cumsum(given[:-1] * length + slope * length**2 / 2)])
    moved = speed[:-1] * length + given[:-1] * length**2 / 2 + slope * length**3 / 6
    place = np.concatenate([[0.0], np.cumsum(moved)])
    return Pieces(knots, np.stack([place[:-1], speed[:-1], given[:-1] / 2, slope / 6], axis=-1)[:, np.newaxis])


@dataclass(frozen=True, eq=False)
class Rings:
    """After every shock ``A t^2 exp(-t / decay) sin(2 pi hz t)``, which starts without a jump in acceleration.

    Attributes
    ----------
    times, peaks
        Of the shocks: when, and about how large the acceleration becomes; ``peaks`` is ``(d, k)``.
    hz, decay
        Frequency, and seconds after which the oscillation has fallen to 1/e.
    """

    times: Array
    peaks: Array
    hz: float
    decay: float

    def only(self, chosen: Sequence[int]) -> Rings:
        """Keep some of the quantities."""
        return replace(self, peaks=self.peaks[chosen])

    def at(self, times: Array) -> Array:
        """Return value and derivatives; a shock ends the oscillation after the one before it."""
        index = np.searchsorted(self.times, times, side="right") - 1
        since = np.where(index >= 0, times - self.times[np.maximum(index, 0)], 0.0)
        rate = complex(-1 / self.decay, 2 * np.pi * self.hz)
        decaying = np.exp(rate * since)
        shape = np.stack(
            [
                (decaying * since**2).imag,
                (decaying * (2 * since + rate * since**2)).imag,
                (decaying * (2 + 4 * rate * since + rate**2 * since**2)).imag,
            ]
        )
        sizes = self.peaks[:, np.maximum(index, 0)] / self._largest()
        return shape[:, np.newaxis] * sizes

    def _largest(self) -> float:
        since = np.linspace(0, 5 * self.decay, 400)
        rate = complex(-1 / self.decay, 2 * np.pi * self.hz)
        return float(np.abs((np.exp(rate * since) * (2 + 4 * rate * since + rate**2 * since**2)).imag).max())


@dataclass(frozen=True, eq=False)
class Clock:
    """A phase in radians that goes on at `hz`, sooner and later by `wander`."""

    hz: float
    start: float
    wander: Pieces

    def at(self, times: Array) -> Array:
        """Return the phase, its rate and the change of that, ``(3, n)``."""
        found = self.wander.at(times)[:, 0]
        turn = 2 * np.pi * self.hz
        found[0] += self.start + turn * times
        found[1] += turn
        return found


@dataclass(frozen=True, eq=False)
class Waves:
    """Fourier series of a clock's phase: the real part of the sum of ``c_k exp(i k phase)``.

    Attributes
    ----------
    clock
        What drives them.
    factors
        ``(d, K)`` complex: c_1 to c_K.
    """

    clock: Clock
    factors: Array

    def only(self, chosen: Sequence[int]) -> Waves:
        """Keep some of the quantities, and the harmonics that they have."""
        factors = self.factors[chosen]
        there = np.flatnonzero(np.abs(factors).max(axis=0) > 0)
        return replace(self, factors=factors[:, : there[-1] + 1 if len(there) else 1])

    def at(self, times: Array) -> Array:
        """Return value and derivatives."""
        return self.driven(self.clock.at(times))

    def driven(self, phase: Array) -> Array:
        """Return value and derivatives for a phase with its derivatives."""
        found = np.empty((3, len(self.factors), phase.shape[1]))
        real, imaginary = np.ascontiguousarray(self.factors.real), np.ascontiguousarray(self.factors.imag)
        sine, cosine = np.empty(phase.shape[1]), np.empty(phase.shape[1])
        _kernels.sines(phase[0], sine, cosine)
        _kernels.harmonics(phase, sine, cosine, real, imaginary, found)
        return found


Shape = Pieces | Rings | Waves


@dataclass(frozen=True, eq=False)
class Term:
    """What one function of time adds to named quantities, perhaps behind a gate."""

    names: tuple[str, ...]
    shape: Shape
    gate: Function | None = None


def only(terms: Sequence[Term], names: Sequence[str]) -> list[Term]:
    """Return what concerns some quantities; waves of one clock behind one gate become one term."""
    wanted, found = set(names), []
    joined: dict[tuple[int, int], list[Term]] = {}
    for term in terms:
        chosen = [index for index, name in enumerate(term.names) if name in wanted]
        if not chosen:
            continue
        kept = replace(term, names=tuple(term.names[i] for i in chosen), shape=term.shape.only(chosen))
        if isinstance(kept.shape, Waves):
            joined.setdefault((id(kept.shape.clock), id(kept.gate)), []).append(kept)
        else:
            found.append(kept)
    return found + [_joined(group) for group in joined.values()]


def _joined(group: Sequence[Term]) -> Term:
    """Add up waves of one clock and gate."""
    names = tuple(dict.fromkeys(name for term in group for name in term.names))
    waves = [cast(Waves, term.shape) for term in group]
    factors = np.zeros((len(names), max(wave.factors.shape[1] for wave in waves)), dtype=np.complex128)
    for term, wave in zip(group, waves, strict=True):
        for name, row in zip(term.names, wave.factors, strict=True):
            factors[names.index(name), : len(row)] += row
    order = 2 * np.pi * waves[0].clock.hz * np.arange(1, factors.shape[1] + 1)
    factors[np.abs(factors) * order**2 < NEGLIGIBLE] = 0.0
    return Term(names, Waves(waves[0].clock, factors), group[0].gate)


def evaluate(terms: Sequence[Term], fixed: Mapping[str, float], names: Sequence[str], times: Array) -> Array:
    """Return the named quantities and two derivatives, ``(3, len(names), n)``: what is fixed, and all terms."""
    found = np.zeros((3, len(names), len(times)))
    place = {name: index for index, name in enumerate(names)}
    found[0] += np.array([fixed.get(name, 0.0) for name in names])[:, np.newaxis]
    known: dict[int, Array] = {}

    def at(function: Clock | Function) -> Array:
        if id(function) not in known:
            known[id(function)] = function.at(times)
        return known[id(function)]

    for term in terms:
        rows = np.array([place[name] for name in term.names])
        values = term.shape.driven(at(term.shape.clock)) if isinstance(term.shape, Waves) else term.shape.at(times)
        if term.gate is None:
            _kernels.add(found, rows, values)
        else:
            _kernels.add_product(found, rows, values, at(term.gate)[:, 0])
    return found


def product(values: Array, gate: Array) -> Array:
    """Return a product and its derivatives."""
    value, first, second = values
    a, b, c = gate
    return np.stack((value * a, first * a + value * b, second * a + 2 * first * b + value * c))
