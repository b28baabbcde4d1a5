"""What is said of a file besides its scores: errors by sample, their distribution, movement, cameras."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
from gnomon.measures.cameras import NO_PAIR, pose_errors
from gnomon.measures.pose import PERCENTILES
from gnomon.numerics import kinematics
from gnomon.numerics.folding import quantiles
from gnomon.numerics.procrustes import Aligned
from gnomon.suites.skeleton.projection import Block, Projector
from gnomon.suites.skeleton.sequences import NO_FRAME, Sequences
from gnomon.suites.skeleton.spreads import Spreads

SHOWN = {"mpjpe": "none", "pelvis_mpjpe": "root", "pa_mpjpe": "similarity"}
"""Errors that are kept by sample, and the alignment of each."""
ORDERS = {"velocity": 1, "acceleration": 2, "jitter": 3, "jitter_of_truth": 3}
"""What is known of movement, and how often it is a difference over frames."""
SHARES = (0.5, *(percent / 100 for percent in PERCENTILES))
"""Shares of joints whose error is told."""
JOINTS = "joints"
"""The distribution of the errors of joints."""
QUANTITIES = ("rotation_deg", "translation_m", "centre_m")
"""Errors of cameras; the distribution of each is called by modality and quantity, as :func:`measure_cameras` does."""
LOST = ("invalid pose in truth", "invalid pose in prediction")
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
        errors = errors if block.seen is None else errors[block.seen]
        self._distances[self._filled : self._filled + errors.size] = np.minimum(errors.ravel(), _FARTHEST)
        self._filled += errors.size
        self.deviation = max(self.deviation, float(block.deviation.max(initial=0.0)))
        self._move(block)
        if self.bones:
            seen = _seen(block)
            _added(self._stretched, kinematics.bone_error(block.truth, block.prediction, seen, self.bones))

    @property
    def distances(self) -> Array:
        """Errors of joints, in metres."""
        return self._distances[: self._filled]

    def sums(self) -> dict[str, list[Any]]:
        """Return what adds up: sums and counts of movement and of bone lengths."""
        return {**{name: list(kept) for name, kept in self._moved.items()}, BONES: list(self._stretched)}

    def _move(self, block: Block) -> None:
        """Add differences over consecutive frames; sequences with another distance between frames are taken apart."""
        seen = _seen(block)
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


def describe_errors(
    every: Sequence[Mapping[str, Sequence[Any]]], spreads: Spreads, fps: float | None
) -> dict[str, Any]:
    """Return the summaries as plain data: errors of joints in metres, and movement by seconds or frames.

    Parameters
    ----------
    every
        :meth:`Tracker.sums` of every chunk.
    spreads
        Holds the distribution :data:`JOINTS`.
    fps
        Frames per second, where they are known.
    """
    levels = spreads.quantiles(JOINTS, SHARES)
    sums = {name: (math.fsum(one[name][0] for one in every), sum(one[name][1] for one in every)) for name in every[0]}
    time = "s" if fps else "frame"
    units = {"velocity": f"m/{time}", "acceleration": f"m/{time}^2", "jitter": f"m/{time}^3"}
    return {
        "median": levels[0] if levels else None,
        "percentiles": dict(zip(map(str, PERCENTILES), levels[1:], strict=True)) if levels else {},
        "units": units,
        **{name: total / count if count else None for name, (total, count) in sums.items()},
    }


def measure_cameras(projector: Projector, *, whole: bool) -> tuple[dict[str, Any], dict[str, Array]]:
    """Measure the errors of the predicted cameras that are used.

    Returns
    -------
    tuple
        By modality, counts and for every quantity its maximum and its mean (of a ``whole`` file) or its sum, which adds
        up; and the errors by modality and quantity, of which quantiles are told.
    """
    settings = projector.settings
    if not settings.is_projected:
        return {}, {}
    others = settings.modalities if settings.mode == "multi_sensor" else ()
    records: dict[str, Any] = {}
    errors: dict[str, Array] = {}
    for name in dict.fromkeys((settings.target, *others)):
        sides = (projector.file.cameras[side].stream(name, settings.sensor(name)) for side in ("gt", "pred"))
        found = pose_errors(*sides)
        lost = int((~found.valid_truth).sum()), int((found.valid_truth & ~found.valid_prediction).sum())
        records[name] = {"n": int(found.valid.sum()), "lost": list(lost)}
        for quantity in QUANTITIES:
            values = getattr(found, quantity)[found.valid]
            errors[f"{name}.{quantity}"] = values
            total = {"mean": float(values.mean()) if len(values) else None} if whole else {"sum": math.fsum(values)}
            records[name][quantity] = {**total, "max": float(values.max(initial=0.0))}
    return records, errors


def describe_cameras(every: Sequence[Mapping[str, Any]], spreads: Spreads) -> dict[str, Any]:
    """Return by modality what :func:`gnomon.measures.cameras.evaluate` says of cameras, from those of every chunk."""
    found = {}
    for name in every[0]:
        own = [records[name] for records in every]
        n = sum(one["n"] for one in own)
        described: dict[str, Any] = {
            quantity: _describe_quantity([one[quantity] for one in own], n, spreads, f"{name}.{quantity}")
            for quantity in QUANTITIES
        }
        lost = {reason: sum(one["lost"][place] for one in own) for place, reason in enumerate(LOST)}
        undefined = {} if n else {f"{q}.{what}": NO_PAIR for q in QUANTITIES for what in described[q]}
        dropped = {reason: count for reason, count in lost.items() if count}
        found[name] = {**described, "n": n, "dropped": dropped, "undefined": undefined}
    return found


def _describe_quantity(own: Sequence[Mapping[str, Any]], n: int, spreads: Spreads, name: str) -> dict[str, Any]:
    if not n:
        return dict.fromkeys(("mean", "median", "max"))
    mean = own[0]["mean"] if "mean" in own[0] else math.fsum(one["sum"] for one in own) / n
    return {"mean": mean, "median": spreads.quantiles(name, (0.5,))[0], "max": max(one["max"] for one in own)}


def find_levels(joints: Array, cameras: Mapping[str, Array]) -> dict[str, list[tuple[float, float]]]:
    """Return the quantiles that are told of the errors of a whole file, with their shares, by distribution."""
    shown = quantiles(joints, SHARES) if len(joints) else []
    found = {JOINTS: list(zip(SHARES, shown, strict=False))}
    return found | {name: [(0.5, float(np.median(own)))] if len(own) else [] for name, own in cameras.items()}


def _seen(block: Block) -> Array:
    """Return which joints of a block are visible."""
    return np.ones(block.truth.shape[:2], dtype=bool) if block.seen is None else block.seen


def parse_bones(text: str, joints: int, usual: Sequence[tuple[int, int]] = ()) -> list[tuple[int, int]]:
    """Return pairs of joints from ``0-1,1-4``; those of the body where none are given.

    >>> parse_bones("0-1, 1-4", 5)
    [(0, 1), (1, 4)]
    """
    if not text:
        return list(usual)
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
