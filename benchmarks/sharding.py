"""A stream: seeded data in shards on disk, and what scores a folder of them.

At least four shards are written, so that there always are groups; the larger the data the more of them there are, none
larger than a stream says.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

LEAST_SHARDS = 4
CLASSES = 13
JOINTS, FRAMES = 24, 250
"""Joints of a skeleton, skeletons of a sequence."""
PART = 250_000
"""Frames of a recording, points of a scene, joints of a file: large enough that its own cost hardly counts."""


@dataclass(frozen=True)
class Stream:
    """A measure that takes data part by part.

    Attributes
    ----------
    unit
        What ``n`` counts.
    shard
        Most units of a shard.
    bytes
        Bytes of a unit on disk, both sides, about.
    write
        Write shard ``number`` of ``size`` units into a folder; return how many units it has.
    score
        Score a folder; return how many units were scored.
    most
        Largest ``n`` unless more is asked for.
    least
        Smallest ``n`` that it has data for.
    """

    unit: str
    shard: int
    bytes: int
    write: Callable[[Path, int, int], int]
    score: Callable[[Path], int]
    most: int = 100_000_000
    least: int = 1


def plural(unit: str) -> str:
    """Return the name of several units.

    >>> plural("label"), plural("box")
    ('labels', 'boxes')
    """
    return f"{unit}es" if unit.endswith("x") else f"{unit}s"


def sizes(n: int, most: int) -> list[int]:
    """Share ``n`` units among shards.

    >>> sizes(10, 100), sizes(12, 2)
    ([2, 3, 2, 3], [2, 2, 2, 2, 2, 2])
    """
    count = max(LEAST_SHARDS, -(-n // most))
    ends = [n * place // count for place in range(count + 1)]
    return [stop - first for first, stop in itertools.pairwise(ends)]


def written(stream: Stream, folder: Path, n: int) -> int:
    """Write the data of a stream; return how many units there are: ``n``, and what fills the last skeletons."""
    folder.mkdir(parents=True)
    return sum(stream.write(folder, number, size) for number, size in enumerate(sizes(n, stream.shard)))


def sides(folder: Path, number: int, suffix: str) -> tuple[Path, Path]:
    """Return the paths of a shard on both sides."""
    paths = tuple(folder / side / f"{number:05d}{suffix}" for side in ("truth", "said"))
    for path in paths:
        path.parent.mkdir(exist_ok=True)
    return paths[0], paths[1]


def guesses(rng: np.random.Generator, truth: np.ndarray, classes: int) -> np.ndarray:
    """Return codes of which four in five are right, and some of the others by chance."""
    right = rng.integers(0, 256, len(truth), np.uint8) < 205
    return np.where(right, truth, rng.integers(0, classes, len(truth), np.uint8))


def poses(rng: np.random.Generator, samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Standing skeletons with an error of about 5 cm per axis."""
    truth = rng.standard_normal((samples, JOINTS, 3), np.float32) * np.array([0.2, 0.2, 0.5], np.float32)
    return truth, truth + np.float32(0.05) * rng.standard_normal(truth.shape, np.float32)
