"""What somebody does while an accelerometer runs: walks, and everything between them.

People go from one place to the next in outings of a few walks with halts between them (a door, a crossing, a shelf).
What lies between outings is sitting, typing, standing, riding, and things done with the hands.

A worn accelerometer: how it is turned, and what it makes of what it goes through.

It measures the specific force, acceleration minus gravity, in its own axes: at rest about 9.81 m/s^2 upwards. It is
biased, noisy, coarse, saturates at 4 g, and drops samples now and then.

What people do besides walking, much of it as strong or as rhythmic as walking is.

Every motion takes a length and random numbers, and returns what the device goes through; see
:mod:`gnomon.suites.events.simulation.gait` for axes and units.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy.signal import lfilter

from gnomon.core.tallies import Array
from gnomon.suites.events.simulation.gait import LONGEST_STOP_S, RATE, Motion, ramp, walk, wander
from gnomon.suites.events.simulation.people import Person

Activity = Callable[[float, np.random.Generator], Motion]


def sit(seconds: float, rng: np.random.Generator) -> Motion:
    """Sit: breath, and now and then a fidget."""
    count = round(seconds * RATE)
    motion = _still(count, rng)
    for start, length in _bouts(count, 25.0, (0.5, 3.5), rng):
        motion[start : start + length] += _fidget(length, rng)
    return Motion(motion, wander(count, 30.0, 0.03, rng))


def write(seconds: float, rng: np.random.Generator) -> Motion:
    """Type: small quick knocks in bursts, and pauses."""
    count = round(seconds * RATE)
    busy = np.repeat(rng.random(count // 100 + 1) < 0.7, 100)[:count]
    keys = (rng.random(count) < rng.uniform(3, 7) / RATE) & busy
    knocks = _ring(np.where(keys, rng.exponential(0.5, count), 0.0), 18.0, 0.03)
    motion = _still(count, rng) + knocks[:, np.newaxis] * rng.normal(0, 0.7, 3)
    return Motion(motion, wander(count, 3.0, 0.04, rng))


def stand(seconds: float, rng: np.random.Generator) -> Motion:
    """Stand: sway, gestures, and single steps from one place to the next, which are no walk."""
    count = round(seconds * RATE)
    motion = _still(count, rng) + _band(count, 0.6, 0.3, 0.06, rng)
    for start, length in _bouts(count, 20.0, (0.6, 1.4), rng):
        motion[start : start + length] += _fidget(length, rng, 1.2)
    return Motion(motion, wander(count, 4.0, 0.06, rng))


def work(seconds: float, rng: np.random.Generator) -> Motion:
    """Work with the hands: wash, wipe, stack; strong and irregular, at times in a rhythm of its own."""
    count = round(seconds * RATE)
    strength = rng.uniform(0.5, 1.8) * np.exp(wander(count, 5.0, 0.5, rng))
    motion = _band(count, rng.uniform(0.8, 2.2), 1.0, 1.0, rng) * strength[:, np.newaxis]
    for start, length in _bouts(count, 15.0, (0.6, 1.4), rng):
        motion[start : start + length] += _fidget(length, rng)
    return Motion(motion, wander(count, 2.0, 0.15, rng))


def ride(seconds: float, rng: np.random.Generator) -> Motion:
    """Ride a bus or car: springs bounce at 1 to 2 Hz, the engine hums, bumps and brakes come in between."""
    count = round(seconds * RATE)
    road, spring = np.exp(rng.normal(np.log(0.45), 0.45)), rng.uniform(1.0, 2.0)
    rolling = np.clip(1.2 + wander(count, 25.0, 1.0, rng), 0, 1.5)
    motion = _band(count, spring, 0.6, road, rng) * (0.4, 0.3, 1.0) * rolling[:, np.newaxis]
    motion += _band(count, rng.uniform(9, 16), 2.0, 0.12, rng)
    motion[:, 1] += rolling * wander(count, 4.0, 0.5, rng)
    bumps = np.where(rng.random(count) < 1 / (12 * RATE), rng.normal(0, 5 * road, count), 0.0)
    motion[:, 2] += rolling * (_ring(bumps, spring, 0.5) + _ring(bumps, 11.0, 0.08))
    return Motion(motion, wander(count, 20.0, 0.03, rng))


def shake(seconds: float, rng: np.random.Generator) -> Motion:
    """Shake or rock something: one strong rhythm, in one direction."""
    count = round(seconds * RATE)
    frequency = rng.uniform(1.3, 5.0)
    turn = 2 * np.pi * np.cumsum(frequency * (1 + wander(count, 2.0, 0.06, rng))) / RATE
    way = rng.normal(size=3)
    beat = rng.uniform(1.0, 7.0) * _eased(count, 0.4) * (1 + wander(count, 1.0, 0.2, rng))
    wave = beat * (np.sin(turn) + 0.25 * np.sin(2 * turn + 1))
    return Motion(wave[:, np.newaxis] * way / np.linalg.norm(way) + _still(count, rng), 0.1 * wave / 5)


def handle(seconds: float, rng: np.random.Generator) -> Motion:
    """Take the device in the hand: it turns far and slowly, with jerks."""
    count = round(seconds * RATE)
    motion = _band(count, 1.0, 1.2, rng.uniform(0.4, 1.4), rng) * _eased(count, 0.5)[:, np.newaxis]
    knocks = np.where(rng.random(count) < 0.6 / RATE, rng.normal(0, 5, count), 0.0)
    motion += _ring(knocks, 13.0, 0.04)[:, np.newaxis] * rng.normal(0, 0.7, 3)
    return Motion(motion, wander(count, 1.5, 0.7, rng) * _eased(count, 1.0))


def rise(seconds: float, rng: np.random.Generator) -> Motion:
    """Stand up or sit down: the body is pushed off and caught again, with a small knock."""
    count = round(seconds * RATE)
    x = np.linspace(0, 1, count)
    motion = _still(count, rng)
    motion[:, 2] += rng.uniform(1.2, 3.0) * np.sin(2 * np.pi * x) * np.sin(np.pi * x)
    motion[:, 1] += rng.uniform(0.5, 1.8) * np.sin(2 * np.pi * x)
    knock = np.zeros(count)
    knock[int(count * 0.8)] = rng.exponential(3.0)
    return Motion(motion + _ring(knock, 12.0, 0.05)[:, np.newaxis] * (0.2, 0.4, 1.0), np.zeros(count))


def _still(count: int, rng: np.random.Generator) -> Array:
    breath = 0.02 * np.sin(2 * np.pi * rng.uniform(0.2, 0.33) * np.arange(count) / RATE + rng.uniform(0, 6))
    return np.outer(breath, (0.2, 1.0, 0.5))


def _fidget(count: int, rng: np.random.Generator, most: float = 2.0) -> Array:
    strength = rng.uniform(0.2, most)
    return np.asarray(_band(count, rng.uniform(0.7, 3.5), 1.0, strength, rng) * _eased(count, 0.3)[:, np.newaxis])


def _bouts(
    count: int, every_s: float, lengths_s: tuple[float, float], rng: np.random.Generator
) -> list[tuple[int, int]]:
    """Return starts and lengths, in samples, of what happens at random about so often."""
    starts = np.flatnonzero(rng.random(count) < 1 / (every_s * RATE))
    lengths = np.round(rng.uniform(*lengths_s, len(starts)) * RATE).astype(int)
    return [(s, min(n, count - s)) for s, n in zip(starts.tolist(), lengths.tolist(), strict=True)]


def _band(count: int, centre_hz: float, width_hz: float, spread: float, rng: np.random.Generator) -> Array:
    """Return noise ``(count, 3)`` about a frequency, from a resonator, with a standard deviation."""
    radius = np.exp(-np.pi * width_hz / RATE)
    poles = [1.0, -2 * radius * np.cos(2 * np.pi * centre_hz / RATE), radius**2]
    settle = round(3 * RATE / width_hz)
    noise = lfilter([1.0, 0.0, -1.0], poles, rng.normal(size=(settle + count, 3)), axis=0)
    whole = np.sqrt(np.mean(np.square(lfilter([1.0, 0.0, -1.0], poles, np.eye(1, 4096)[0]))) * 4096)
    return np.asarray(spread / whole * noise[settle:])


def _ring(knocks: Array, frequency_hz: float, decay_s: float) -> Array:
    """Return a damped ringing after each knock."""
    time = np.arange(round(5 * decay_s * RATE) + 1) / RATE
    shape = np.exp(-time / decay_s) * np.cos(2 * np.pi * frequency_hz * time)
    return np.convolve(knocks, shape)[: len(knocks)]


def _eased(count: int, seconds: float) -> Array:
    """Return ones that begin and end smoothly."""
    ease = np.ones(count)
    length = min(round(seconds * RATE), count // 2)
    ease[:length] *= ramp(length)
    ease[count - length :] *= ramp(length)[::-1]
    return ease


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


Part = tuple[str, float, float, Array, Array]
"""Label (empty: none), start and end in seconds, times ``(n,)`` and values ``(n, 3)`` of the samples between them."""
WALKING = "walking"
_SHORTEST_WALK_S = 4.0
_BETWEEN = (
    (sit, SEATED, (30.0, 120.0), 0.2),
    (write, SEATED, (20.0, 90.0), 0.14),
    (stand, UPRIGHT, (15.0, 60.0), 0.16),
    (work, UPRIGHT, (15.0, 60.0), 0.12),
    (ride, SEATED, (40.0, 150.0), 0.14),
    (shake, UPRIGHT, (3.0, 12.0), 0.1),
    (handle, UPRIGHT, (3.0, 12.0), 0.14),
)
"""Activity, posture, shortest and longest length in seconds, share."""
_OF_HANDS = (sit, write, stand, work)
_FELT = {"pocket": 0.7, "wrist": 1.5, "bag": 0.4}
"""How much of what the hands do arrives at a placement."""


def day(person: Person, seconds: float, rng: np.random.Generator) -> Iterator[Part]:
    """Yield a recording part by part, in the order of time; each is a minute or so, so that it need not fit memory."""
    worn, start, last = Worn(person, rng), 0, round(seconds * RATE)
    for label, activity, posture, length_s in _plan(rng):
        count = min(round(length_s * RATE), last - start)
        if count < RATE:
            break
        motion = walk(person, count / RATE, rng) if activity is None else activity(count / RATE, rng)
        if activity in _OF_HANDS:
            motion = Motion(_FELT[person.placement] * motion.acceleration, motion.tilt)
        yield (label, start / RATE, (start + count) / RATE, *worn.measure(motion, posture, start))
        start += count


def _plan(rng: np.random.Generator) -> Iterator[tuple[str, Activity | None, str, float]]:
    """Yield without end: label, activity (None: walk), posture and length in seconds."""
    posture = UPRIGHT
    shares = [share for *_, share in _BETWEEN]
    while True:
        for _ in range(1 + rng.poisson(0.8)):
            activity, wanted, lengths_s, _ = _BETWEEN[rng.choice(len(_BETWEEN), p=shares)]
            if wanted != posture:
                yield "", rise, wanted, rng.uniform(1.3, 2.5)
            yield "", activity, wanted, rng.uniform(*lengths_s)
            posture = wanted
        if posture == SEATED:
            yield "", rise, UPRIGHT, rng.uniform(1.3, 2.5)
            posture = UPRIGHT
        for index in range(1 + rng.poisson(1.2)):
            if index:
                yield "", stand, UPRIGHT, LONGEST_STOP_S + 0.6 + rng.exponential(5.0)
            yield WALKING, None, UPRIGHT, _SHORTEST_WALK_S + rng.lognormal(np.log(20), 0.8)
