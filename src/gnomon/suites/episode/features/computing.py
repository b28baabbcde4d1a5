"""Computing the features of an episode: one pass over each stream, in bounded memory.

A block whose stream is missing, damaged or left out on purpose is zeros with coverage 0, and ``facts.json`` says why;
the vector always has its full length. Audio is looked for and never read: its presence is recorded, and that it is not
part of the vector.

Blocks that are the same in all windows of an episode: the map of the place, and the calibration.

Point cloud
    Points that are not finite are left out, then those farther from the middle (the median of x, y and z) than 95 % of
    them. Of the rest: the 7 statistics of x, y and z in the order of the file, and the logarithm of 1 + their number.
    The last three statistics depend on that order and mean little; they are kept as published. The map is made from the
    whole episode, so every window knows of places that come later.
Calibration
    All numbers of the calibration, by sorted path, row by row. Another count than 117 gives no block at all, since
    numbers would be in the wrong places.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.core.canonical import encode_pretty
from gnomon.core.errors import InputError, some
from gnomon.core.tallies import Array
from gnomon.engine import begun
from gnomon.intake.faults import guarded
from gnomon.suites.episode import videos
from gnomon.suites.episode.features import sources
from gnomon.suites.episode.features.blocks import BLOCKS, LENGTH, NAMES, VIDEOS, Block, manifest, spans
from gnomon.suites.episode.features.statistics import Rolling, Validity, plain_seven, single
from gnomon.suites.episode.features.stored import COVERAGE, FACTS, MANIFEST, VALUES, WINDOWS, Features, blank
from gnomon.suites.episode.features.windows import starts, window_table, write_windows

if TYPE_CHECKING:
    from gnomon.suites.episode.captions import FrameLabels
    from gnomon.suites.episode.episode import Episode

LEFT_OUT = "left out on request"
_RELATIVE = ("camera_translation",)

__all__ = ["LEFT_OUT", "Features", "compute"]


def compute(
    episode: Episode,
    out: Path,
    *,
    validity: Validity,
    skip: Collection[str] = (),
    tell: Callable[[str], None] = begun.tell,
) -> None:
    """Write the features of an episode to a folder, as :mod:`gnomon.suites.episode.features.stored` describes it.

    Parameters
    ----------
    episode
        An open episode of at least one window.
    out
        A folder, made where it is not there.
    validity
        How frames that are not valid enter, as :mod:`gnomon.suites.episode.features.statistics` says.
    skip
        Names of blocks or streams that are left out, such as videos.
    tell
        Is told now and then how far the work is.
    """
    if validity not in ("as-zero", "masked"):
        raise InputError(f"features: expected validity 'as-zero' or 'masked', but got {validity!r}")
    if episode.n_frames < LENGTH:
        raise InputError(f"episode {episode.id}: {episode.n_frames} frames, but a window has {LENGTH}; leave it out")
    work = _Work(episode, out, validity == "masked", _skipped(skip), tell)
    work.do()


@dataclass
class _Work:
    """One computation: what it reads, where it writes, and what it has found out so far."""

    episode: Episode
    out: Path
    masked: bool
    skip: frozenset[str]
    tell: Callable[[str], None]
    why: dict[str, str] = field(default_factory=dict)
    invalid: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    cpu_seconds: dict[str, float] = field(default_factory=dict)

    def do(self) -> None:
        """Write all files; the vectors block by block."""
        n = len(starts(self.episode.n_frames))
        with self.writing():
            self.out.mkdir(parents=True, exist_ok=True)
            values = blank(self.out / VALUES, n)
        coverage = np.zeros((n, len(BLOCKS)), dtype=np.float32)
        with self.timed("caption"):
            labels = self.labels()
            columns = window_table(labels or _Unlabelled(self.episode.n_frames), self.episode.n_frames)
            write_windows(columns, self.out / WINDOWS)
        places = spans()
        for k, block in enumerate(BLOCKS):
            with self.timed(block.name):
                self.fill(block, values[:, places[block.name]], coverage[:, k], labels)
        facts = self.facts(labels, coverage)
        with self.writing():
            np.save(self.out / COVERAGE, coverage, allow_pickle=False)
            (self.out / MANIFEST).write_bytes(encode_pretty(manifest()))
            (self.out / FACTS).write_bytes(encode_pretty(facts))

    def writing(self) -> AbstractContextManager[None]:
        """Say clearly what is wrong when a file cannot be written."""
        return guarded(self.out, "cannot be written", "check the folder and the space on the disk")

    def labels(self) -> FrameLabels | None:
        """Return the labels of frames; None where there is no caption."""
        return None if self.episode.streams["caption"] else self.episode.frame_labels()

    def fill(self, block: Block, values: Array, coverage: Array, labels: FrameLabels | None) -> None:
        """Fill in a block and its coverage, and keep why some of it is missing."""
        if block.name in self.skip or self.skip.intersection(block.stream):
            self.why[block.name] = LEFT_OUT
            return
        reasons = [f"{name}: {self.episode.streams[name]}" for name in block.stream if self.episode.streams[name]]
        if not self.episode.streams[block.stream[0]]:
            rolls = block.per_frame > 0
            reasons += self.roll(block, values, coverage, labels) if rolls else self.hold(block, values, coverage)
        if coverage.min() < 1:
            partial = self.episode.partial
            reasons += [f"{name}: {partial[name]}" for name in block.stream if name in partial]
        if reasons:  # the same wherever the episode lies
            self.why[block.name] = "; ".join(dict.fromkeys(reasons)).replace(f"{self.episode.folder}/", "")

    def roll(self, block: Block, values: Array, coverage: Array, labels: FrameLabels | None) -> list[str]:
        """Fill in a dynamic block, and return why some of it is missing."""
        relative = block.name in _RELATIVE
        rolling = Rolling(values, coverage, self.episode.n_frames, masked=self.masked, relative=relative)
        reasons: list[str] = []
        for piece in sources.pieces(block, self.episode, labels):
            rolling.add(piece.frames, piece.share)
            reasons += [piece.why] if piece.why else []
            self.tell(f"{self.episode.id}, {block.name}, frame {rolling.seen:,} of {rolling.n_frames:,}")
        rolling.close()
        self.invalid[block.name] = rolling.invalid
        return reasons

    def hold(self, block: Block, values: Array, coverage: Array) -> list[str]:
        """Fill in a block that is the same in all windows, and return why some of it is missing."""
        try:
            if block.name == "calibration":
                numbers, share, why = calibration_numbers(self.episode.calibration())
            else:
                numbers, share, why = cloud_numbers(self.episode.point_cloud())
        except InputError as error:
            return [str(error)]
        values[:], coverage[:] = single(numbers), share
        return [why] if why else []

    def facts(self, labels: FrameLabels | None, coverage: Array) -> dict[str, Any]:
        """Return what ``facts.json`` says."""
        means = coverage.mean(axis=0, dtype=np.float64)
        return {
            "episode": self.episode.id,
            "frames": self.episode.n_frames,
            "windows": len(coverage),
            "validity": "masked" if self.masked else "as-zero",
            "streams": dict(self.episode.streams),
            "partial": dict(self.episode.partial),
            "masked": self.why,
            "invalid_frames": self.invalid,
            "coverage": {name: float(mean) for name, mean in zip(NAMES, means, strict=True)},
            "audio": self.audio(),
            "repairs": dict(labels.repairs) if labels else {},
            "seconds": self.seconds,
            "cpu_seconds": self.cpu_seconds,
        }

    def audio(self) -> dict[str, Any]:
        """Return whether any video has sound; None where no video was looked at."""
        looked = [name for name in VIDEOS if not self.episode.streams[name] and self.reads_video(name)]
        found: dict[str, Any] = {}
        for name in looked:
            try:
                found[name] = videos.probe(self.episode.folder / f"{name}.mp4")["audio"]
            except InputError as error:
                found[name] = {"present": None, "why": str(error)}
        known = [one["present"] for one in found.values() if one["present"] is not None]
        return {"present": any(known) if known else None, "featurized": False, "streams": found}

    def reads_video(self, name: str) -> bool:
        """Return whether a video is not left out."""
        return not self.skip.intersection({name, f"video_{name}"})

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Add what a stage takes to its seconds."""
        wall, cpu = time.perf_counter(), time.process_time()
        yield
        self.seconds[stage] = self.seconds.get(stage, 0.0) + round(time.perf_counter() - wall, 3)
        self.cpu_seconds[stage] = self.cpu_seconds.get(stage, 0.0) + round(time.process_time() - cpu, 3)


@dataclass(frozen=True)
class _Unlabelled:
    """Labels of an episode without a caption."""

    n_frames: int

    @property
    def action(self) -> tuple[str, ...]:
        return ("",) * self.n_frames

    subtask = action


def _skipped(names: Collection[str]) -> frozenset[str]:
    known = {*NAMES, *(stream for block in BLOCKS for stream in block.stream)}
    unknown = sorted(set(names) - known)
    if unknown:
        raise InputError(f"features: no block or stream {some(unknown)} to leave out; there are {', '.join(NAMES)}")
    return frozenset(names)


FAR = 95.0
"""Percentile of the distance from the middle up to which points are kept."""
_DIM = {block.name: block.dim for block in BLOCKS}


def cloud_numbers(points: Array) -> tuple[Array, float, str]:
    """Return 22 numbers of points ``(m, 3)``, the share that could be read, and why not all."""
    finite = points[np.isfinite(points).all(axis=1)].astype(np.float64)
    if not len(finite):
        return np.zeros(_DIM["slam_point_cloud"]), 0.0, f"none of {len(points)} points is finite"
    away = np.sqrt(np.square(finite - np.median(finite, axis=0)).sum(axis=1))
    near = finite[away <= np.percentile(away, FAR)]
    return np.append(plain_seven(near), np.log1p(len(near))), 1.0, ""


def calibration_numbers(leaves: Mapping[str, Array]) -> tuple[Array, float, str]:
    """Return 117 numbers of calibration, the share that could be read, and why not all."""
    wanted = _DIM["calibration"]
    parts = [np.asarray(leaves[name], dtype=np.float64).reshape(-1) for name in sorted(leaves)]
    numbers = np.concatenate([np.empty(0), *parts])
    if len(numbers) != wanted:
        return np.zeros(wanted), 0.0, f"{len(numbers)} numbers in {len(leaves)} datasets, expected {wanted}"
    finite = np.isfinite(numbers)
    why = "" if finite.all() else f"{wanted - int(finite.sum())} of {wanted} numbers are not finite"
    return np.where(finite, numbers, 0.0), float(finite.mean()), why
