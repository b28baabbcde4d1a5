"""When sensors sample, and what they stamp: steadily, or with the jitter, losses and repeated stamps of phones."""

from __future__ import annotations

import numpy as np

from gnomon.core.tallies import Array

LONGEST_LOSS_S = 0.3
"""Seconds that are lost at once."""


def steady(rate_hz: float, seconds: float) -> Array:
    """Return evenly spaced times, ``(n,)``."""
    return np.arange(round(rate_hz * seconds)) / rate_hz


def jittering(
    rng: np.random.Generator, rate_hz: float, seconds: float, *, jitter: float, lost: float = 0.0, late_s: float = 0.0
) -> Array:
    """Return rising times of a sensor whose steps jitter.

    Parameters
    ----------
    rng
        Random numbers.
    rate_hz, seconds
        Mean rate before losses, and how long.
    jitter
        Standard deviation of a step as a share of it; at most half a step is gained or lost.
    lost
        Losses per second, each of up to :data:`LONGEST_LOSS_S` seconds.
    late_s
        When the first sample is taken.
    """
    count = max(round(rate_hz * (seconds - late_s)), 2)
    steps = 1 + np.clip(rng.normal(0, jitter, count - 1), -0.5, 0.5)
    times = late_s + np.concatenate([[0.0], np.cumsum(steps)]) / rate_hz
    kept = np.ones(count, dtype=np.bool_)
    for _ in range(rng.poisson(lost * seconds)):
        first = rng.uniform(0.5, max(seconds - 0.5, 0.6))
        kept &= (times < first) | (times >= first + rng.uniform(2 / rate_hz, max(LONGEST_LOSS_S, 3 / rate_hz)))
    return times[kept & (times <= seconds)]


def stamped(rng: np.random.Generator, times: Array, unit_s: float, repeated: float = 0.0) -> Array:
    """Return time stamps as whole numbers of a unit, some of which repeat the one before.

    ``repeated`` is the share of stamps that do; the sample itself is a new one.
    """
    stamps = np.rint(times / unit_s).astype(np.int64)
    again = np.flatnonzero(rng.random(len(stamps)) < repeated)
    again = again[again > 0]
    stamps[again] = stamps[again - 1]
    return stamps
