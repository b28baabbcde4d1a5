"""Streams that fold the tallies of cases, which are read from array files; without intervals."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.sharding import CLASSES, FRAMES, JOINTS, guesses, poses, sides

from gnomon.core.seeds import generator

EVENT_CLASSES = 20
SPANS = 1_000
"""Events of a recording, where each is compared with others."""
BOXES = 50
"""Boxes of a scene."""
STEPS, FORECAST_JOINTS = 8, 3


def write_points(folder: Path, number: int, size: int) -> int:
    """Classes of the points of a scene, unchanged, added or removed, as ``.npy``."""
    rng = generator(0, "growth", "points", str(number))
    truth = rng.choice(3, size, p=[0.9, 0.05, 0.05]).astype(np.uint8)
    for path, codes in zip(sides(folder, number, ".npy"), (truth, guesses(rng, truth, 3)), strict=True):
        np.save(path, codes)
    return size


def score_points(folder: Path) -> int:
    """Tally scenes, one after another."""
    from gnomon.core.scans import CHANGES
    from gnomon.core.signals import PointLabels
    from gnomon.measures.points import MEASURES

    def scenes() -> Iterator[Any]:
        for path in sorted((folder / "truth").glob("*.npy")):
            both = (np.load(own, allow_pickle=False) for own in (path, folder / "said" / path.name))
            yield MEASURES[0].tally(*(PointLabels(codes, CHANGES) for codes in both))

    return folded(scenes(), MEASURES, "n")


def write_stretches(folder: Path, number: int, size: int) -> int:
    """Recordings of events of 20 classes with gaps between them, in milliseconds, as ``.npz``; both sides in a file."""
    rng, arrays = generator(0, "growth", "stretches", str(number)), {}
    for side in ("truth", "said"):
        arrays[f"{side}_edges"] = np.cumsum(rng.integers(200, 3000, 2 * size)) / 1000
        arrays[f"{side}_codes"] = rng.integers(0, EVENT_CLASSES, size, np.uint8)
    np.savez(folder / f"{number:05d}.npz", **arrays)
    return size


def score_stretches(folder: Path) -> int:
    """Tally recordings, one after another."""
    from gnomon.core.signals import Intervals
    from gnomon.measures.recognition import MEASURES

    names = tuple(str(code) for code in range(EVENT_CLASSES))

    def recordings() -> Iterator[Any]:
        for path in sorted(folder.glob("*.npz")):
            with np.load(path, allow_pickle=False) as held:
                edges = [held[f"{side}_edges"] for side in ("truth", "said")]
                codes = [held[f"{side}_codes"] for side in ("truth", "said")]
            window = (0.0, float(max(own[-1] for own in edges)))
            both = zip(edges, codes, strict=True)
            yield MEASURES[0].tally(*(Intervals(own[::2], own[1::2], code, names, window) for own, code in both))

    return folded(recordings(), MEASURES, "n")


def score_spans(folder: Path) -> int:
    """Match events within collars, in time and by overlap, and compare their order, in recordings of 1,000 of them.

    What is kept is a row for each recording.
    """
    from gnomon.core.signals import Intervals
    from gnomon.core.tallies import Tallies
    from gnomon.measures import _stretches
    from gnomon.measures.matching import CollarF1, FirstOnsetNoLater, OnsetError
    from gnomon.measures.segmentation import EditScore

    names, measures = (
        tuple(map(str, range(EVENT_CLASSES))),
        (CollarF1(), FirstOnsetNoLater(), OnsetError(), EditScore()),
    )
    found: list[list[Any]] = []
    for path in sorted(folder.glob("*.npz")):
        with np.load(path, allow_pickle=False) as held:
            sides = [(held[f"{side}_edges"].reshape(-1, 2), held[f"{side}_codes"]) for side in ("truth", "said")]
        pairs = []
        for first in range(0, len(sides[0][0]), SPANS):
            own = [(edges[first : first + SPANS], codes[first : first + SPANS]) for edges, codes in sides]
            window = float(min(edges[0, 0] for edges, _ in own)), float(max(edges[-1, 1] for edges, _ in own))
            pairs.append(
                _stretches.paired(*(Intervals(edges[:, 0], edges[:, 1], code, names, window) for edges, code in own))
            )
        found.append([Tallies.stack([measure.folded(pair) for pair in pairs]) for measure in measures])
    every = zip(measures, zip(*found, strict=True), strict=True)
    counts = [folded(iter(tallies), [measure], measure.layout[-1].name) for measure, tallies in every]
    return counts[1]


def write_poses(folder: Path, number: int, size: int) -> int:
    """Joints as ``.npy``, truth first."""
    samples = -(-size // JOINTS)
    np.save(folder / f"{number:05d}.npy", poses(generator(0, "growth", "poses", str(number)), samples))
    return samples * JOINTS


def score_poses(folder: Path) -> int:
    """Sum the errors of sequences of 250 skeletons under every alignment, a file at a time."""
    from gnomon.measures.skeletons import MEASURES, MPJPE

    names = tuple(map(str, range(JOINTS)))

    def files() -> Iterator[Any]:
        for path in sorted(folder.glob("*.npy")):
            truth, said = np.load(path, allow_pickle=False)
            codes = np.arange(len(truth)) // FRAMES
            yield MPJPE().tally_many(truth, said, codes, int(codes[-1]) + 1, names)

    return folded(files(), MEASURES, "n") * JOINTS


def write_vectors(folder: Path, number: int, size: int) -> int:
    """Vectors of 24 numbers as ``.npy``, truth first."""
    rng, rows = generator(0, "growth", "vectors", str(number)), -(-size // JOINTS)
    truth = rng.standard_normal((rows, JOINTS), np.float32)
    np.save(folder / f"{number:05d}.npy", np.stack([truth, truth + 0.3 * rng.standard_normal(truth.shape, np.float32)]))
    return truth.size


def score_vectors(folder: Path) -> int:
    """Tally files, one after another."""
    from gnomon.core.signals import Vectors
    from gnomon.measures.regression import R2, Mae, Rmse

    measures = (R2(), Mae(), Rmse())

    def files() -> Iterator[Any]:
        for path in sorted(folder.glob("*.npy")):
            yield measures[0].tally(*map(Vectors, np.load(path, allow_pickle=False)))

    return folded(files(), measures, "n") * JOINTS


def write_sets(folder: Path, number: int, size: int) -> int:
    """Sets of 13 labels as ``.npy``, truth first; about a quarter of the labels are in a set."""
    rng = generator(0, "growth", "sets", str(number))
    truth = rng.integers(0, 4, (size, CLASSES), np.uint8) == 0
    np.save(folder / f"{number:05d}.npy", np.stack([truth, truth ^ (rng.integers(0, 8, truth.shape, np.uint8) == 0)]))
    return size


def score_sets(folder: Path) -> int:
    """Tally files, one after another."""
    from gnomon.core.signals import LabelSets
    from gnomon.measures.multilabel import MEASURES

    names = tuple(map(str, range(CLASSES)))

    def files() -> Iterator[Any]:
        for path in sorted(folder.glob("*.npy")):
            yield MEASURES[0].tally(*(LabelSets(own, names) for own in np.load(path, allow_pickle=False)))

    return folded(files(), MEASURES, "n")


def write_boxes(folder: Path, number: int, size: int) -> int:
    """Scenes of 50 boxes of two classes as ``.npz``; four in five are found, a little beside where they are."""
    rng = generator(0, "growth", "boxes", str(number))
    low = rng.random((size, 3)) * 20
    truth = np.hstack([low, low + 0.3 + rng.random((size, 3))])
    said = truth + np.where(rng.random((size, 1)) < 0.8, 0.05, 5.0)
    scores, codes = rng.random(size), rng.integers(0, 2, size, np.uint8)
    np.savez(folder / f"{number:05d}.npz", truth=truth, said=said, codes=codes, scores=scores)
    return size


def score_boxes(folder: Path) -> int:
    """Match the scenes of a file together, one file after another; what is kept is a row for each scene."""
    from gnomon.core.scans import BOX_CLASSES, parted
    from gnomon.core.signals import Boxes
    from gnomon.measures.scene_boxes import MEASURES, Scenes

    def files() -> Iterator[Any]:
        for path in sorted(folder.glob("*.npz")):
            with np.load(path, allow_pickle=False) as held:
                truth = Boxes(held["truth"], held["codes"], BOX_CLASSES)
                said = Boxes(held["said"], held["codes"], BOX_CLASSES, held["scores"])
            sizes = [min(BOXES, len(truth) - first) for first in range(0, len(truth), BOXES)]
            yield MEASURES[0].tally_scenes(Scenes(parted(truth, sizes), parted(said, sizes)))

    return folded(files(), [one for one in MEASURES if one.family == MEASURES[0].family], "truth")


def write_forecasts(folder: Path, number: int, size: int) -> int:
    """Forecasts of 8 steps of 3 joints as ``.npy``, truth first."""
    samples = -(-size // (STEPS * FORECAST_JOINTS))
    shape = samples, STEPS, FORECAST_JOINTS, 3
    rng = generator(0, "growth", "forecasts", str(number))
    truth = rng.standard_normal(shape, np.float32)
    np.save(folder / f"{number:05d}.npy", np.stack([truth, truth + np.float32(0.05) * rng.standard_normal(shape)]))
    return samples * STEPS * FORECAST_JOINTS


def score_forecasts(folder: Path) -> int:
    """Tally files, one after another."""
    from gnomon.measures.trajectories import FinalError, Trajectories, TrajectoryError

    measures = (TrajectoryError(), FinalError())

    def files() -> Iterator[Any]:
        for path in sorted(folder.glob("*.npy")):
            yield measures[0].tally(*map(Trajectories.of, np.load(path, allow_pickle=False)))

    return folded(files(), measures, "n") * STEPS * FORECAST_JOINTS


def folded(tallies: Iterator[Any], measures: Any, count: str) -> int:
    """Score the sum of tallies by all measures of a family; return what they counted."""
    from gnomon.core.tallies import Tallies

    total = Tallies.stack(tallies).total()
    for measure in measures:
        measure.score(total, measure.freeze(total))
    return int(total[count].sum())
