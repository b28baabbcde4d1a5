"""A worn accelerometer: how it is turned, and what it makes of what it goes through.

It measures the specific force, acceleration minus gravity, in its own axes: at rest about 9.81 m/s^2 upwards. It is
biased, noisy, coarse, saturates at 4 g, and drops samples now and then.
"""

from __future__ import annotations

import numpy as np

from gnomon.core.tallies import Array
from gnomon.suites.events.simulation.gait import RATE, Motion, ramp, wander
from gnomon.suites.events.simulation.people import Person

GRAVITY = 9.81
MOST = 4 * GRAVITY
UPRIGHT, SEATED = "upright", "seated"
_PITCH = {
    "pocket": {UPRIGHT: 0.1, SEATED: 1.45},
    "wrist": {UPRIGHT: 1.35, SEATED: 0.15},
    "bag": {UPRIGHT: 0.6, SEATED: 0.6},
}
_TURN_S = 1.2
_DROPOUTS_PER_S = 1 / 45


class Worn:
    """The device of one person during one recording; remembers how it is turned."""

    def __init__(self, person: Person, rng: np.random.Generator) -> None:
        self.person, self.rng = person, rng
        self.bias = rng.normal(0, 0.12, 3)
        self.gain = rng.normal(1, 0.008, 3)
        self.angles = np.array([_PITCH[person.placement][UPRIGHT], rng.normal(0, 0.3), rng.uniform(-np.pi, np.pi)])
        self.drift = np.zeros(3)

    def measure(self, motion: Motion, posture: str, start: int) -> tuple[Array, Array]:
        """Return when samples are taken, in seconds, and their values ``(n, 3)``; sample `start` is the first.

        The clock trembles by a millisecond or so; dropped samples are left out.
        """
        count = len(motion.tilt)
        angles = self._turned(count, posture)
        angles[:, 0] += motion.tilt
        force = _in_own_axes(motion.acceleration + np.array([0.0, 0.0, GRAVITY]), angles)
        noise = self.rng.normal(0, self.person.device.noise, (count, 3))
        step = self.person.device.resolution
        values = np.clip(np.round((force * self.gain + self.bias + noise) / step) * step, -MOST, MOST)
        times = (start + np.arange(count) + self.rng.uniform(0, 0.1, count)) / RATE
        kept = self._kept(count)
        return np.round(times[kept], 4), np.round(values[kept], 4)

    def _turned(self, count: int, posture: str) -> Array:
        """Return angles that move to those of the posture and stay there, but for a slow drift."""
        habit = self.rng.normal(0, 0.08, 3)
        target = self.angles + habit
        target[0] = _PITCH[self.person.placement][posture] + habit[0]
        length = min(count, round(_TURN_S * RATE))
        share = np.concatenate([ramp(length), np.ones(count - length)])
        path = self.angles + share[:, np.newaxis] * (target - self.angles)
        drift = [wander(count, 60.0, 0.08, self.rng, start) for start in self.drift]
        self.angles, self.drift = target, np.array([axis[-1] for axis in drift])
        return np.asarray(path + np.stack(drift, axis=1))

    def _kept(self, count: int) -> Array:
        kept = np.ones(count, dtype=bool)
        for start in self.rng.integers(0, count, self.rng.poisson(count / RATE * _DROPOUTS_PER_S)).tolist():
            kept[start : start + int(self.rng.geometric(0.12))] = False
        return kept


def _in_own_axes(vectors: Array, angles: Array) -> Array:
    """Return vectors of the world in the axes of a device with pitch, roll and yaw ``(n, 3)``."""
    x, y, z = vectors.T
    (cp, cr, cy), (sp, sr, sy) = np.cos(angles).T, np.sin(angles).T
    y, z = cp * y + sp * z, cp * z - sp * y
    x, z = cr * x - sr * z, cr * z + sr * x
    x, y = cy * x + sy * y, cy * y - sy * x
    return np.stack([x, y, z], axis=1)
