"""What grows: measures that take data part by part, and seeded data for each, in shards on disk.

A stream writes shards and scores a folder of them. Some go through a suite, from files to scores with their intervals
(``labels-codes``, ``labels-tables``, ``events-frames``, ``skeleton-files``); the others fold tallies of cases that are
read from array files, without intervals. At least four shards are written, so that there always are groups; the larger
the data the more of them there are, none larger than a stream says. Retrieval compares every query with every
candidate: it grows with the square, and is not here.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.core.seeds import generator

LEAST_SHARDS = 4
JOINTS, FRAMES = 24, 250
"""Joints of a skeleton, skeletons of a sequence."""
CLASSES, EVENT_CLASSES = 13, 20
PART = 250_000
"""Frames of a recording, points of a scene, joints of a file: large enough that its own cost hardly counts."""
STRETCH = 200
"""Frames of a stretch, in the middle."""


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
    needs
        The module that scores such folders.
    """

    unit: str
    shard: int
    bytes: int
    write: Callable[[Path, int, int], int]
    score: Callable[[Path], int]
    most: int = 100_000_000
    needs: str = "gnomon"

    @property
    def available(self) -> bool:
        """Whether this version of gnomon has it."""
        return find_spec(self.needs) is not None


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


def of_suite(name: str, folder: Path) -> Any:
    """Score both sides of a folder by a suite, in this process, and keep nothing."""
    import gnomon

    (run,) = gnomon.score(
        name, str(folder / "truth"), {"mine": str(folder / "said")}, out="none", executor="inline"
    ).runs
    return run


def guesses(rng: np.random.Generator, truth: np.ndarray, classes: int) -> np.ndarray:
    """Return codes of which four in five are right, and some of the others by chance."""
    right = rng.integers(0, 256, len(truth), np.uint8) < 205
    return np.where(right, truth, rng.integers(0, classes, len(truth), np.uint8))


def write_codes(folder: Path, number: int, size: int) -> int:
    """Class codes as ``.npy``; a shard is a group."""
    rng = generator(0, "growth", "codes", str(number))
    truth = rng.integers(0, CLASSES, size, np.uint8)
    for path, codes in zip(sides(folder, number, ".npy"), (truth, guesses(rng, truth, CLASSES)), strict=True):
        np.save(path, codes)
    return size


def write_tables(folder: Path, number: int, size: int) -> int:
    """Tables of id, label and group as parquet; predictions are in another order."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = generator(0, "growth", "tables", str(number))
    truth = rng.integers(0, CLASSES, size, np.uint8)
    said, order = guesses(rng, truth, CLASSES), rng.permutation(size)
    ids = pa.array([f"{number}-{row}" for row in range(size)])
    names = pa.array([f"class {code}" for code in range(CLASSES)])
    paths = sides(folder, number, ".parquet")
    groups = pa.repeat(pa.scalar(f"group {number}"), size)
    pq.write_table(pa.table({"id": ids, "label": names.take(pa.array(truth)), "group": groups}), paths[0])
    pq.write_table(pa.table({"id": ids.take(pa.array(order)), "label": names.take(pa.array(said[order]))}), paths[1])
    return size


def score_labels(folder: Path) -> int:
    return int(of_suite("labels", folder).coverage["rows"]["scored"])


def write_frames(folder: Path, number: int, size: int) -> int:
    """Codes of frames as ``.npy``, a recording each: stretches of about 200 frames, found with errors."""
    rng = generator(0, "growth", "frames", str(number))
    lasting = np.maximum(rng.lognormal(np.log(STRETCH), 0.8, 2 * size // STRETCH + 16), 2).astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(lasting)])
    starts = starts[starts < size]
    truth = rng.integers(0, CLASSES, len(starts), np.uint8)
    said = np.where(rng.random(len(starts)) < 0.9, truth, rng.integers(0, CLASSES, len(starts), np.uint8))
    moved = np.clip(starts + rng.integers(-20, 21, len(starts)), 0, size)
    moved = np.maximum.accumulate(np.concatenate([[0], moved[1:]]))
    for path, firsts, codes in zip(sides(folder, number, ".npy"), (starts, moved), (truth, said), strict=True):
        np.save(path, np.repeat(codes, np.diff(firsts, append=size)))
    names = ["nothing", *(f"class {code}" for code in range(1, CLASSES))]
    meaning = {"classes": names, "rate_hz": 50, "nothing": 0}
    (folder / "truth" / "classes.json").write_text(json.dumps(meaning), encoding="utf-8")
    return size


def score_frames(folder: Path) -> int:
    run = of_suite("events", folder)
    return round(float(run.tallies["recognition"].total()["window_s"]) * 50)


def poses(rng: np.random.Generator, samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Standing skeletons with an error of about 5 cm per axis."""
    truth = rng.standard_normal((samples, JOINTS, 3), np.float32) * np.array([0.2, 0.2, 0.5], np.float32)
    return truth, truth + np.float32(0.05) * rng.standard_normal(truth.shape, np.float32)


def write_skeletons(folder: Path, number: int, size: int) -> int:
    """Prediction files of skeletons as ``.npz``: ids, joints and two cameras, sequences of 250 skeletons."""
    rng, samples = generator(0, "growth", "skeletons", str(number)), -(-size // JOINTS)
    truth, said = poses(rng, samples)
    cameras = np.zeros((samples, 2, 9), np.float32)
    cameras[:, :, 2], cameras[:, :, 6] = 3.0, 1.0
    ids = [f"p{number:06d}_a{k // FRAMES:06d}_rgb_kinect_000_depth_kinect_000_{k % FRAMES}" for k in range(samples)]
    folder.mkdir(exist_ok=True)
    np.savez(
        folder / f"{number:05d}.npz",
        sample_ids=np.array(ids),
        pred_keypoints=said,
        gt_keypoints=truth,
        pred_cameras_stream=cameras + rng.normal(scale=0.01, size=cameras.shape).astype(np.float32),
        gt_cameras_stream=cameras,
        camera_stream_modalities=np.array(["rgb", "lidar"]),
        camera_stream_sensor_indices=np.array([0, 0]),
    )
    return samples * JOINTS


def score_skeletons(folder: Path) -> int:
    import gnomon

    (run,) = gnomon.score("skeleton", pred_file=(f"mine={folder}",), out="none", executor="inline").runs
    return int(run.coverage["samples"]["valid"]) * JOINTS


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


def folded(tallies: Iterator[Any], measures: Any, count: str) -> int:
    """Score the sum of tallies by all measures of a family; return what they counted."""
    from gnomon.core.tallies import Tallies

    total = Tallies.stack(list(tallies)).total()
    for measure in measures:
        measure.score(total, measure.freeze(total))
    return int(total[count])


STREAMS = {
    "labels-codes": Stream("label", 25_000_000, 2, write_codes, score_labels, most=1_000_000_000),
    "labels-tables": Stream("label", 1_000_000, 30, write_tables, score_labels, most=10_000_000),
    "events-frames": Stream("frame", PART, 2, write_frames, score_frames, needs="gnomon.suites.events.shards"),
    "skeleton-files": Stream(
        "joint", 2_400_000, 40, write_skeletons, score_skeletons, needs="gnomon.suites.skeleton.shards"
    ),
    "points": Stream("point", PART, 2, write_points, score_points),
    "ward": Stream("event", 100_000, 34, write_stretches, score_stretches),
    "pose": Stream("joint", PART, 24, write_poses, score_poses),
    "vectors": Stream("number", PART, 8, write_vectors, score_vectors),
    "sets": Stream("set", PART, 2 * CLASSES, write_sets, score_sets),
}
