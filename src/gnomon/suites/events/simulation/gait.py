"""Walking: how fast somebody steps, and the acceleration where the device is worn.

Conventions
-----------
- Axes of the world: across (to the right), along (forwards), up. Accelerations in m/s^2, angles in radians.
- A step is from one heel strike to the next; a stride is two steps. The phase counts steps.

Model
-----
How often people step is that of :mod:`gnomon.simulation.gait`. The trunk rises and falls by a share of
``length^2 / (8 leg)``, the sagitta of an inverted pendulum; twice derived, this gives the strength of the first
harmonic of the step, so that slow people shake the device several times less than quick ones. Higher harmonics,
the sway of the stride and a damped shock at each heel strike come on top. Thighs and arms swing as pendulums once per
stride: the device follows their path, and tilts with it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnomon.core.tallies import Array
from gnomon.simulation.body import HIP_HEIGHT
from gnomon.simulation.curves import drift, smoothstep
from gnomon.simulation.gait import step_frequency
from gnomon.suites.events.simulation.people import Person

RATE = 50.0
"""Samples per second."""
LONGEST_STOP_S = 1.9
"""A walk may hold pauses up to this; longer ones end it."""
_RISE = 0.6
_SHOCK = 4.5
_SITE = {"pocket": 1.0, "wrist": 0.45, "bag": 0.6}
"""What is left of the heel strike's shock at a placement."""
_LIMB = {"pocket": (0.3, 0.35), "wrist": (0.6, 0.3), "bag": (0.25, 0.05)}
"""Length of the pendulum at a placement in m, and how far it usually swings in radians."""


@dataclass(frozen=True)
class Motion:
    """What a device goes through: acceleration without gravity ``(n, 3)``, and tilt about the axis across ``(n,)``."""

    acceleration: Array
    tilt: Array


def walk(person: Person, seconds: float, rng: np.random.Generator) -> Motion:
    """Return one walk, from standing to standing: about every second one is indoors, where people are slower."""
    indoors = rng.random() < 0.5
    return walk_at(person.speed * (rng.uniform(0.6, 0.9) if indoors else rng.uniform(0.9, 1.15)), person, seconds, rng)


def walk_at(speed: float, person: Person, seconds: float, rng: np.random.Generator) -> Motion:
    """Return one walk at about a speed in m/s."""
    count = round(seconds * RATE)
    frequency = step_frequency(person.height, speed)
    gate = _gate(count, rng)
    pace = 1 + wander(count, 8.0, 0.03, rng)
    phase = rng.random() + np.cumsum(frequency * pace * (0.35 + 0.65 * gate)) / RATE
    size = person.vigour * gate * pace**2 * (1 + wander(count, 1.5, 0.1, rng))
    rise = _RISE * (speed / frequency) ** 2 / (8 * HIP_HEIGHT * person.height)
    strength = rise / 2 * (2 * np.pi * frequency) ** 2
    trunk = _trunk(phase, strength, rng) * size[:, np.newaxis]
    trunk[:, 1:] += _shocks(phase, size * speed / 1.3, person, rng)[:, np.newaxis] * (-0.5, 1.0)
    path, tilt = _limb(phase, gate, person, rng)
    return Motion(trunk + path, tilt)


def wander(count: int, memory_s: float, spread: float, rng: np.random.Generator, start: float | None = None) -> Array:
    """Return noise with a memory and a standard deviation; it goes on from `start`, if given."""
    return drift(rng, (count,), memory_s * RATE, spread, start)


def ramp(count: int) -> Array:
    """Return a smooth rise from 0 to 1."""
    return smoothstep((np.arange(count) + 0.5) / max(1, count))


def _gate(count: int, rng: np.random.Generator) -> Array:
    """Return how much of the full gait there is: it starts and stops within two steps or so, and may pause shortly."""
    gate = np.ones(count)
    for end in (gate, gate[::-1]):
        length = min(round(rng.uniform(0.6, 1.6) * RATE), count // 2)
        end[:length] *= ramp(length)
    for _ in range(rng.poisson(count / RATE / 60)):
        length = round(rng.uniform(0.8, LONGEST_STOP_S) * RATE)
        start = int(rng.integers(0, count))
        edge = length // 3
        dip = np.concatenate([1 - ramp(edge), np.zeros(length - 2 * edge), ramp(edge)])[: count - start]
        gate[start : start + length] *= dip
    return gate


def _trunk(phase: Array, strength: float, rng: np.random.Generator) -> Array:
    """Return the acceleration of the trunk at unit size: harmonics of the step up and along, of the stride across."""
    turn = 2 * np.pi * phase
    second, third = rng.uniform(0.2, 0.45), rng.uniform(0.08, 0.2)
    shifts = rng.uniform(-0.6, 0.6, 5)
    up = np.cos(turn) + second * np.cos(2 * turn + shifts[0]) + third * np.cos(3 * turn + shifts[1])
    along = np.cos(turn + 1.9 + shifts[2]) + 0.4 * np.cos(2 * turn + shifts[3])
    across = np.cos(turn / 2 + shifts[4]) + 0.4 * np.cos(1.5 * turn)
    return strength * np.stack([0.4 * across, 0.55 * along, up], axis=1)


def _shocks(phase: Array, size: Array, person: Person, rng: np.random.Generator) -> Array:
    """Return heel strikes: a damped ringing at each whole step; in a pocket, those of the other foot are weaker."""
    strikes = np.flatnonzero(np.diff(np.floor(phase), prepend=np.floor(phase[:1])) > 0)
    other = 0.45 if person.placement == "pocket" else 1 - person.limp
    sides = np.where(np.floor(phase[strikes]) % 2 == 0, 1.0, other)
    train = np.zeros(len(phase))
    train[strikes] = size[strikes] * sides * rng.normal(1, 0.2, len(strikes))
    time = np.arange(round(0.25 * RATE)) / RATE
    ring = np.exp(-time / 0.035) * np.cos(2 * np.pi * rng.uniform(9, 15) * time)
    return _SHOCK * _SITE[person.placement] * np.convolve(train, ring)[: len(phase)]


def _limb(phase: Array, gate: Array, person: Person, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return the acceleration of a device on a swinging limb, and its tilt; arms may also be held still."""
    length, usual = _LIMB[person.placement]
    swing = usual * (rng.uniform(0.1, 1.3) if person.placement == "wrist" else rng.uniform(0.7, 1.2))
    turn = np.pi * phase
    tilt = swing * gate * (np.sin(turn) + 0.15 * np.sin(2 * turn + 0.5))
    path = length * np.stack([np.zeros(len(tilt)), np.sin(tilt), 1 - np.cos(tilt)], axis=1)
    return np.gradient(np.gradient(path, 1 / RATE, axis=0), 1 / RATE, axis=0), tilt
