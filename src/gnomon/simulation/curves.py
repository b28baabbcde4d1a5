"""Functions of time that motions and errors are made of: moves, smooth noise, and noise with a memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter1d
from scipy.signal import lfilter

from gnomon.core.tallies import Array


def ease(share: Array) -> Array:
    """Return the way done at a share of the time of a move of least jerk (Flash and Hogan 1985).

    >>> ease(np.array([-1.0, 0.0, 0.5, 1.0, 2.0])).tolist()
    [0.0, 0.0, 0.5, 1.0, 1.0]
    """
    s = np.clip(share, 0.0, 1.0)
    return np.asarray(s * s * s * (10.0 + s * (6.0 * s - 15.0)))


def smoothstep(share: Array) -> Array:
    """Return the way done at a share of the time of a move whose speed rises and falls as a parabola.

    >>> smoothstep(np.array([-1.0, 0.25, 0.5, 2.0])).tolist()
    [0.0, 0.15625, 0.5, 1.0]
    """
    s = np.clip(share, 0.0, 1.0)
    return np.asarray(s * s * (3.0 - 2.0 * s))


def ramp(times: Array, start: float, stop: float) -> Array:
    """Return 0 before a move of least jerk, 1 after it, and the way done in between."""
    return ease((times - start) / max(stop - start, 1e-6))


def during(times: Array, start: float, stop: float, soft: float = 0.2) -> Array:
    """Return 1 during a stretch of time and 0 elsewhere, with soft edges inside."""
    soft = min(soft, (stop - start) / 2)
    return np.asarray(ramp(times, start, start + soft) - ramp(times, stop - soft, stop))


def smooth(values: Array, fps: float, seconds: float) -> Array:
    """Return values ``(N, ...)`` smoothed over time by a Gaussian with a standard deviation in seconds."""
    return np.asarray(gaussian_filter1d(values, seconds * fps, axis=0, mode="nearest"))


def wander(rng: np.random.Generator, count: int, width: int, fps: float, seconds: float) -> Array:
    """Return ``(count, width)`` smooth random numbers with a standard deviation of 1."""
    sigma = seconds * fps
    edge = int(4 * sigma) + 1
    noise = rng.standard_normal((count + 2 * edge, width))
    return np.asarray(
        gaussian_filter1d(noise, sigma, axis=0)[edge : edge + count] * np.sqrt(2 * np.sqrt(np.pi) * sigma)
    )


def drift(
    rng: np.random.Generator, shape: tuple[int, ...], memory: float, spread: float = 1.0, start: Any = None
) -> Array:
    """Return noise ``(N, ...)`` of a standard deviation with a memory of first order along the first axis.

    The correlation falls to 1/e over `memory` samples; with an endless memory the noise is constant. It goes on from
    `start`, the value before the first; that is drawn unless given.
    """
    keep = np.exp(-1 / memory)
    before = rng.normal(0, spread, shape[1:]) if start is None else np.asarray(start, dtype=np.float64)
    white = rng.normal(0, spread * np.sqrt(1 - keep**2), shape)
    return np.asarray(lfilter([1.0], [1.0, -keep], white, axis=0, zi=keep * before[np.newaxis])[0])
