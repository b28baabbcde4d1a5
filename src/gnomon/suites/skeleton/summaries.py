"""What is said of a file besides its scores: errors by sample, their distribution, movement, cameras."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
from gnomon.measures import cameras as camera_errors
from gnomon.measures.pose import PERCENTILES
from gnomon.numerics import kinematics
from gnomon.numerics.folding import quantiles
from gnomon.numerics.procrustes import Aligned
from gnomon.suites.skeleton.projection import Block, Projector
from gnomon.suites.skeleton.sequences import NO_FRAME, Sequences

SHOWN = {"mpjpe": "none", "pelvis_mpjpe": "root", "pa_mpjpe": "similarity"}
"""Errors that are kept by sample, and the alignment of each."""
ORDERS = {"velocity": 1, "acceleration": 2, "jitter": 3, "jitter_of_truth": 3}
"""What is known of movement, and how often it is a difference over frames."""


SHARES = (0.5, *(percent / 100 for percent in PERCENTILES))
"""Shares of joints whose error is told."""
BONES = "bone_length"
_FARTHEST = float(np.finfo(np.float32).max)
"""Errors of joints are held in float32; those that are larger, which no unit explains, count as this many metres."""


class Tracker:
    """Collects, block by block, what the tallies do not hold."""

    def __init__(
        self,
        size: int,
        sequences: Sequences,
        fps: float | None,
        bones: Sequence[tuple[int, int]],
        root: tuple[int, int] = (0, 0),
    ) -> None:
        self.root = root
        self.errors = {name: np.full(size, np.nan) for name in SHOWN}
        """Mean error of every sample, in metres; NaN where it was dropped."""
        self.deviation = 0.0
        """Largest distance between the joints of two fused modalities."""
        self.fps, self.bones = fps, bones
        self._sequences = sequences
        self._ranks, self._steps = _steps(sequences)
        self._distances = np.empty(0, dtype=np.float32)
        self._filled = 0
        self._moved: dict[str, list[Any]] = {name: [0.0, 0] for name in ORDERS}
        self._stretched = [0.0, 0]

    def add(self, block: Block, found: Aligned) -> None:
        """Take a block and its distances."""
        for name, kind in SHOWN.items():
            self.errors[name][block.rows] = found.sums[kind] / found.count
        errors = found.errors["none"]
        if not self._filled:
            self._distances = np.empty(len(self.errors["mpjpe"]) * errors.shape[1], dtype=np.float32)
        self._distances[self._filled : self._filled + errors.size] = np.minimum(errors.ravel(), _FARTHEST)
        self._filled += errors.size
        self.deviation = max(self.deviation, float(block.deviation.max(initial=0.0)))
        self._move(block)
        if self.bones:
            seen = np.ones(block.truth.shape[:2], dtype=bool)
            _added(self._stretched, kinematics.bone_error(block.truth, block.prediction, seen, self.bones))

    @property
    def distances(self) -> Array:
        """Errors of joints, in metres."""
        return self._distances[: self._filled]

    def sums(self) -> dict[str, list[Any]]:
        """Return what adds up: sums and counts of movement and of bone lengths."""
        return {**{name: list(kept) for name, kept in self._moved.items()}, BONES: list(self._stretched)}

    def record(self) -> dict[str, Any]:
        """Return the summaries as plain data: metres, and seconds or frames."""
        levels = quantiles(self.distances, SHARES) if self._filled else []
        return described(levels, self.sums(), self.fps)

    def _move(self, block: Block) -> None:
        """Add differences over consecutive frames; sequences with another distance between frames are taken apart."""
        seen = np.ones(block.truth.shape[:2], dtype=bool)
        steps = self._steps[block.codes]
        for step in np.unique(steps).tolist():
            own: Any = slice(None) if (steps == step).all() else np.flatnonzero(steps == step)
            rows, codes = block.rows[own], block.codes[own]
            follows = np.zeros(len(rows), dtype=bool)
            follows[1:] = (codes[1:] == codes[:-1]) & (np.diff(self._ranks[rows]) == 1)
            frames = self._sequences.frames[rows]
            known = frames[1:] != NO_FRAME
            follows[1:] &= ~known | (np.diff(frames) == step)
            rate = self.fps / step if self.fps else 1 / step
            truth, prediction = block.truth[own], block.prediction[own]
            found = kinematics.changes(truth, prediction, seen[own], follows)
            for name, order in ORDERS.items():
                _added(self._moved[name], (found[name][0] * rate**order, found[name][1]))


def described(levels: Sequence[float], sums: Mapping[str, Sequence[Any]], fps: float | None) -> dict[str, Any]:
    """Return the summaries of errors at :data:`SHARES` (none where no sample is scored) and of movement."""
    time = "s" if fps else "frame"
    units = {"velocity": f"m/{time}", "acceleration": f"m/{time}^2", "jitter": f"m/{time}^3"}
    return {
        "median": levels[0] if levels else None,
        "percentiles": dict(zip(map(str, PERCENTILES), levels[1:], strict=True)) if levels else {},
        "units": units,
        **{name: total / count if count else None for name, (total, count) in sums.items()},
    }


def cameras(projector: Projector) -> dict[str, Any]:
    """Return the errors of the predicted cameras that are used, by modality."""
    return {name: camera_errors.evaluate(*sides) for name, sides in camera_sides(projector).items()}


def camera_sides(projector: Projector) -> dict[str, tuple[Array, Array]]:
    """Return the true and the predicted cameras that are used, by modality."""
    settings = projector.settings
    others = settings.modalities if settings.mode == "multi_sensor" else ()
    streams = {side: projector.file.cameras[side] for side in ("gt", "pred")}
    return {
        name: (
            streams["gt"].stream(name, settings.sensor(name)),
            streams["pred"].stream(name, settings.sensor(name)),
        )
        for name in dict.fromkeys((settings.target, *others))
    }


def parse_bones(text: str, joints: int) -> list[tuple[int, int]]:
    """Return pairs of joints from ``0-1,1-4``.

    >>> parse_bones("0-1, 1-4", 5)
    [(0, 1), (1, 4)]
    """
    found = []
    for part in filter(None, (item.strip() for item in text.split(","))):
        ends = part.split("-")
        if len(ends) != 2 or not all(end.strip().isdecimal() and int(end) < joints for end in ends):
            raise InputError(f"--bones: {part!r}, expected two joints below {joints} as A-B, with commas between bones")
        found.append((int(ends[0]), int(ends[1])))
    return found


def _added(sums: list[Any], found: tuple[float, int]) -> None:
    sums[0] = math.fsum((sums[0], found[0]))
    sums[1] += found[1]


def _steps(sequences: Sequences) -> tuple[Array, Array]:
    """Return the place of every sample in its sequence, and the usual distance between frames of every sequence."""
    order = sequences.order()
    codes, frames = sequences.codes[order], sequences.frames[order]
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    steps = np.ones(len(sequences.named), dtype=np.int64)
    apart = np.diff(frames)
    inside = (np.diff(codes) == 0) & (apart > 0) & (frames[1:] != NO_FRAME) & (frames[:-1] != NO_FRAME)
    smallest = np.full(len(steps), np.iinfo(np.int64).max)
    np.minimum.at(smallest, codes[1:][inside], apart[inside])
    known = smallest < np.iinfo(np.int64).max
    steps[known] = smallest[known]
    return ranks, steps
