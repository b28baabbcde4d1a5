"""Functions of time: moves of least jerk, smoothing, and headings."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import gaussian_filter1d

from gnomon.core.tallies import Array


def ease(share: Array) -> Array:
    """Return the way done at a share of the time of a move of least jerk (Flash and Hogan 1985).

    >>> ease(np.array([-1.0, 0.0, 0.5, 1.0, 2.0])).tolist()
    [0.0, 0.0, 0.5, 1.0, 1.0]
    """
    s = np.clip(share, 0.0, 1.0)
    return np.asarray(s * s * s * (10.0 + s * (6.0 * s - 15.0)))


def ramp(times: Array, start: float, stop: float) -> Array:
    """Return 0 before a move, 1 after it, and the way done in between."""
    return ease((times - start) / max(stop - start, 1e-6))


def during(times: Array, start: float, stop: float, soft: float = 0.2) -> Array:
    """Return 1 during a stretch of time and 0 elsewhere, with soft edges inside."""
    soft = min(soft, (stop - start) / 2)
    return np.asarray(ramp(times, start, start + soft) - ramp(times, stop - soft, stop))


def smooth(values: Array, fps: float, seconds: float) -> Array:
    """Return values ``(N, ...)`` smoothed over time by a Gaussian with a standard deviation in seconds."""
    return np.asarray(gaussian_filter1d(values, seconds * fps, axis=0, mode="nearest"))


def nearest_angle(angle: float, reference: float) -> float:
    """Return an angle plus whole turns, within half a turn of a reference."""
    return reference + (angle - reference + np.pi) % (2 * np.pi) - np.pi


def wander(rng: np.random.Generator, count: int, width: int, fps: float, seconds: float) -> Array:
    """Return ``(count, width)`` smooth random numbers with a standard deviation of 1."""
    sigma = seconds * fps
    edge = int(4 * sigma) + 1
    noise = rng.standard_normal((count + 2 * edge, width))
    return np.asarray(
        gaussian_filter1d(noise, sigma, axis=0)[edge : edge + count] * np.sqrt(2 * np.sqrt(np.pi) * sigma)
    )
