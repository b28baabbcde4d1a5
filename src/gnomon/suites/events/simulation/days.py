"""What somebody does while an accelerometer runs: walks, and everything between them.

People go from one place to the next in outings of a few walks with halts between them (a door, a crossing, a shelf).
What lies between outings is sitting, typing, standing, riding, and things done with the hands.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gnomon.core.tallies import Array
from gnomon.suites.events.simulation import motions
from gnomon.suites.events.simulation.gait import LONGEST_STOP_S, RATE, Motion, walk
from gnomon.suites.events.simulation.people import Person
from gnomon.suites.events.simulation.wearing import SEATED, UPRIGHT, Worn

Part = tuple[str, float, float, Array, Array]
"""Label (empty: none), start and end in seconds, times ``(n,)`` and values ``(n, 3)`` of the samples between them."""
WALKING = "walking"
_SHORTEST_WALK_S = 4.0
_BETWEEN = (
    (motions.sit, SEATED, (30.0, 120.0), 0.2),
    (motions.write, SEATED, (20.0, 90.0), 0.14),
    (motions.stand, UPRIGHT, (15.0, 60.0), 0.16),
    (motions.work, UPRIGHT, (15.0, 60.0), 0.12),
    (motions.ride, SEATED, (40.0, 150.0), 0.14),
    (motions.shake, UPRIGHT, (3.0, 12.0), 0.1),
    (motions.handle, UPRIGHT, (3.0, 12.0), 0.14),
)
"""Activity, posture, shortest and longest length in seconds, share."""
_OF_HANDS = (motions.sit, motions.write, motions.stand, motions.work)
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


def _plan(rng: np.random.Generator) -> Iterator[tuple[str, motions.Activity | None, str, float]]:
    """Yield without end: label, activity (None: walk), posture and length in seconds."""
    posture = UPRIGHT
    shares = [share for *_, share in _BETWEEN]
    while True:
        for _ in range(1 + rng.poisson(0.8)):
            activity, wanted, lengths_s, _ = _BETWEEN[rng.choice(len(_BETWEEN), p=shares)]
            if wanted != posture:
                yield "", motions.rise, wanted, rng.uniform(1.3, 2.5)
            yield "", activity, wanted, rng.uniform(*lengths_s)
            posture = wanted
        if posture == SEATED:
            yield "", motions.rise, UPRIGHT, rng.uniform(1.3, 2.5)
            posture = UPRIGHT
        for index in range(1 + rng.poisson(1.2)):
            if index:
                yield "", motions.stand, UPRIGHT, LONGEST_STOP_S + 0.6 + rng.exponential(5.0)
            yield WALKING, None, UPRIGHT, _SHORTEST_WALK_S + rng.lognormal(np.log(20), 0.8)
