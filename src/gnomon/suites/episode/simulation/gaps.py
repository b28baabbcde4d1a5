"""What is missing now and then: hands that are not found, lost poses, and depth and inertial samples that drop out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnomon.core.tallies import Array

LEAST = 60
"""Frames below which an episode loses hands only."""


@dataclass(frozen=True, eq=False)
class Gaps:
    """What is missing, by frame.

    Attributes
    ----------
    hands
        ``(N, 2)``: hands that were in sight but not found.
    poses, depth
        ``(N,)``.
    imu
        First and last second without inertial samples; both 0 where none are missing.
    """

    hands: Array
    poses: Array
    depth: Array
    imu: tuple[float, float]


def gaps(rng: np.random.Generator, frames: int, seconds: float) -> Gaps:
    """Draw what is missing from an episode."""
    hands = np.stack([_runs(rng, frames, max(1, frames // 120), 12) for _ in range(2)], axis=1)
    if frames < LEAST:
        return Gaps(hands, np.zeros(frames, dtype=np.bool_), np.zeros(frames, dtype=np.bool_), (0.0, 0.0))
    poses, depth = _runs(rng, frames, max(1, frames // 400), 4), _runs(rng, frames, max(1, frames // 300), 3)
    start = float(rng.uniform(0.2, 0.8)) * seconds
    return Gaps(hands, poses, depth, (start, start + float(rng.uniform(0.2, 0.5))))


def none(frames: int) -> Gaps:
    """Return that nothing is missing."""
    nothing = np.zeros(frames, dtype=np.bool_)
    return Gaps(np.zeros((frames, 2), dtype=np.bool_), nothing, nothing, (0.0, 0.0))


def _runs(rng: np.random.Generator, frames: int, count: int, longest: int) -> Array:
    """Return a mask of frames with so many runs, none of them at the first frame."""
    found = np.zeros(frames, dtype=np.bool_)
    for start in rng.integers(1, frames, count).tolist():
        found[start : start + int(rng.integers(1, longest + 1))] = True
    return found
