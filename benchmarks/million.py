"""Data of about a million units for ``gnomon score`` of every suite, in the files that users have, seeded.

A command writes its data into a folder and returns the words after ``gnomon score``. Units are what a suite counts:
rows of labels, windows, events, frames, joints, points and boxes. Answers are right about four times in five.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.core.seeds import generator

CLASSES = 12
GROUPS = 100
RIGHT = 0.8
EVENTS, FRAMES, POINTS, BOXES = 1_000, 5_821, 20_000, 50
"""Events of a recording, frames of an episode, points of a scan, boxes of a scene."""
ACTIVITIES = ("jogging", "sitting", "standing", "walking")
COMPARISONS = (2, 3, 4, 5)
FORECAST = "hand_trajectory_forecast"


@dataclass(frozen=True)
class Command:
    """A command on data of its own.

    Attributes
    ----------
    unit
        What ``n`` counts.
    write
        Write data of about ``n`` units into a folder; return the words after ``gnomon score``.
    needs
        A module that writing needs beside those of gnomon itself.
    """

    unit: str
    write: Callable[[Path, int], list[str]]
    needs: str = "numpy"


def answered(rng: np.random.Generator, truth: np.ndarray, classes: int) -> np.ndarray:
    """Return codes of which about four in five are right."""
    return np.where(rng.random(len(truth)) < RIGHT, truth, rng.integers(0, classes, len(truth)))


def write_csv(path: Path, columns: Mapping[str, Any]) -> None:
    import pyarrow as pa
    import pyarrow.csv

    pyarrow.csv.write_csv(pa.table(dict(columns)), path)


def both(folder: Path, suffix: str = ".csv") -> list[str]:
    """Return the words that name truth and predictions."""
    return ["--truth", str(folder / f"truth{suffix}"), "--predictions", f"mine={folder / f'said{suffix}'}"]


def write_labels(folder: Path, n: int) -> list[str]:
    """Tables of id, label and group; predictions in another order."""
    rng = generator(0, "million", "labels")
    truth, order = rng.integers(0, CLASSES, n), rng.permutation(n)
    names = np.array([f"class {code}" for code in range(CLASSES)])
    ids = np.array([f"r{row:07d}" for row in range(n)])
    groups = np.array([f"s{row * GROUPS // n:03d}" for row in range(n)])
    write_csv(folder / "truth.csv", {"id": ids, "label": names[truth], "group": groups})
    write_csv(folder / "said.csv", {"id": ids[order], "label": names[answered(rng, truth, CLASSES)][order]})
    return ["labels", *both(folder)]


def write_windows(folder: Path, n: int) -> list[str]:
    """Windows of two datasets under two metrics, each window in both; predictions in another order."""
    rng, columns = generator(0, "million", "windows"), []
    names = np.array(ACTIVITIES)
    for dataset in ("motionsense", "mobiact"):
        for metric in ("zs-closed", "sup-10"):
            size = n // 4
            truth = rng.integers(0, len(names), size)
            subject = np.arange(size) * 24 // size + 1
            ids = [f"{own}/{names[code]}/{row}" for row, (own, code) in enumerate(zip(subject, truth, strict=True))]
            recordings = [f"{own}/{names[code]}" for own, code in zip(subject, truth, strict=True)]
            said = names[answered(rng, truth, len(names))]
            columns.append(
                ([metric] * size, [dataset] * size, ids, names[truth], subject.astype(str), recordings, said)
            )
    *own, said = (np.concatenate([np.asarray(part) for part in parts]) for parts in zip(*columns, strict=True))
    heads = ("task", "dataset", "id", "label", "subject", "recording")
    write_csv(folder / "truth.csv", dict(zip(heads, own, strict=True)))
    order = rng.permutation(len(said))
    mixed = {name: column[order] for name, column in zip(heads[:3], own, strict=False)}
    write_csv(folder / "said.csv", {**mixed, "label": said[order]})
    return ["har", *both(folder)]


def write_events(folder: Path, n: int) -> list[str]:
    """Recordings of 1,000 events of 12 classes as JSON of truth, and a table of results with times as ISO text."""
    rng, cases = generator(0, "million", "events"), max(n // EVENTS, 2)
    origin, records, rows = np.datetime64("2026-01-01T00:00:00.000"), [], []
    for case in range(cases):
        edges = np.cumsum(rng.integers(500, 4_000, 2 * (n // cases)))
        codes = rng.integers(0, CLASSES, n // cases)
        moved = np.sort(np.maximum(edges + rng.integers(-300, 300, len(edges)), 0))
        times = [np.datetime_as_string(origin + own.astype("timedelta64[ms]"), "ms") for own in (edges, moved)]
        first, last = origin, origin + np.timedelta64(int(edges[-1]) + 1_000, "ms")
        labels = [
            {"t1": f"{start}Z", "t2": f"{end}Z", "label": f"class {code}"}
            for start, end, code in zip(times[0][::2], times[0][1::2], codes, strict=True)
        ]
        name = f"c{case:05d}"
        records.append(
            {"id": name, "t1": f"{first}Z", "t2": f"{last}Z", "labels": labels, "subject": f"s{case % GROUPS}"}
        )
        said = answered(rng, codes, CLASSES)
        rows += [
            f"{name},{start}Z,{end}Z,class {code}\n"
            for start, end, code in zip(times[1][::2], times[1][1::2], said, strict=True)
            if start < end
        ]
    (folder / "truth.json").write_text(json.dumps(records), encoding="utf-8")
    (folder / "said.csv").write_text("case,start,end,label\n" + "".join(rows), encoding="utf-8")
    return ["events", "--truth", str(folder / "truth.json"), "--predictions", f"mine={folder / 'said.csv'}"]


def write_frames(folder: Path, n: int) -> list[str]:
    """Episodes of 5,821 annotated frames without depth and video, and answers to five tasks."""
    rng, episodes = generator(0, "million", "frames"), max(n // FRAMES, 2)
    for number in range(episodes):
        place = folder / "episodes" / f"session_{number:04d}" / "ep0"
        place.mkdir(parents=True)
        write_annotation(place / "annotation.hdf5", rng, n // episodes)
    write_answers(folder / "said", [folder / "episodes"], rng)
    return ["episode", "--truth", str(folder / "episodes"), "--predictions", f"mine={folder / 'said'}"]


def write_annotation(path: Path, rng: np.random.Generator, frames: int) -> None:
    import h5py

    stamps = 10**12 + 50_000_000 * np.arange(frames)
    imu = 10 * frames
    sizes = {
        "hand_mocap/left_joints_3d": (frames, 21, 3),
        "hand_mocap/right_joints_3d": (frames, 21, 3),
        "full_body_mocap/keypoints": (frames, 52, 3),
        "imu/accel_xyz": (imu, 3),
        "imu/gyro_xyz": (imu, 3),
        "slam/trans_xyz": (frames, 3),
    }
    with h5py.File(path, "w") as file:
        file["video/device_timestamp"] = stamps.astype("S16")
        for name, shape in sizes.items():
            spread = np.float32(0.01 if name.startswith("hand") else 0.1)  # bodies of human size, that stay
            file[name] = rng.standard_normal(shape, np.float32) * spread
        file["full_body_mocap/contacts"] = rng.random((frames, 21), np.float32)
        file["slam/quat_wxyz"] = np.tile([1.0, 0.0, 0.0, 0.0], (frames, 1))
        file["imu/keyframe_indices"] = np.arange(frames) * 10
        file["calibration/cam01/T_c0_b"] = np.eye(4)
        file["caption"] = json.dumps(captions(rng, stamps))


def captions(rng: np.random.Generator, stamps: np.ndarray) -> dict[str, Any]:
    """Return segments of 15 seconds with four actions each."""
    things = ("knife", "bowl", "tomato", "milk", "door", "cup")
    segments = []
    for number, first in enumerate(range(0, len(stamps), 300)):
        last = min(first + 300, len(stamps)) - 1
        cuts = np.linspace(first, last + 1, 5).astype(int)
        segments.append(
            {
                "segment_id": number,
                "start_frame": str(stamps[first]),
                "end_frame": str(stamps[last]),
                "Sub Task": f"Part {rng.integers(6)}",
                "Current Action": [
                    {
                        "label": f"Action {rng.integers(CLASSES)}",
                        "description": "Something is done.",
                        "start_frame": str(stamps[start]),
                        "end_frame": str(stamps[max(end - 1, start)]),
                    }
                    for start, end in itertools.pairwise(cuts)
                ],
                "objects": {str(stamps[cut]): sorted(rng.choice(things, 2, replace=False)) for cut in cuts[:-1]},
                "interaction": {str(stamps[cut]): "The hand holds it." for cut in cuts[:-1]},
            }
        )
    return {"config": {"total_frames": len(stamps), "Main Task": "Work"}, "segments": segments}


def write_answers(folder: Path, episodes: list[Path], rng: np.random.Generator) -> None:
    """Answer what can be answered from the annotation, in one table and one file of vectors."""
    folder.mkdir()
    columns, vectors = answers_to(episodes, rng, folder.parent)
    np.savez(folder / f"{FORECAST}.npz", **vectors)
    write_csv(folder / "labels.csv", columns)


def answers_to(
    episodes: list[Path], rng: np.random.Generator, folder: Path
) -> tuple[dict[str, list[str]], dict[str, np.ndarray]]:
    """Return answers to what can be answered from the annotation, as ``gnomon template episode`` does.

    Those by labels are columns of a table, those by vectors arrays; ``folder`` is where there is room.
    """
    import tempfile

    from gnomon.suites.episode import layout
    from gnomon.suites.episode.tasks.declared import TASKS
    from gnomon.suites.episode.tasks.sampling import build
    from gnomon.suites.episode.tasks.splitting import TEST
    from gnomon.suites.episode.unread import read_truth

    columns: dict[str, list[str]] = {"task": [], "sample": [], "label": []}
    with tempfile.TemporaryDirectory(dir=folder) as held:
        recorded, _ = read_truth(layout.find(episodes), "strict", (), Path(held))
        for task in ("timeline_action", "transition_detection", "object_relevance", "temporal_order"):
            data = build(TASKS[task], recorded, "strict")
            rows = data.of(TEST)
            texts = np.array(["|".join(sorted(own)) for own in data.sets] if data.sets else data.labels)[rows]
            columns["task"] += [task] * len(rows)
            columns["sample"] += [data.ids[row] for row in rows]
            columns["label"] += np.where(rng.random(len(rows)) < RIGHT, texts, rng.permutation(texts)).tolist()
        data = build(TASKS[FORECAST], recorded, "strict")
        rows = data.of(TEST)
        truth = data.y(rows)
    said = (truth + rng.normal(0.0, 0.02, truth.shape)).astype(np.float32)
    return columns, {"samples": np.array([data.ids[row] for row in rows]), "values": said}


def write_skeletons(folder: Path, n: int) -> list[str]:
    """One file of skeletons with 24 joints and two cameras."""
    from benchmarks.suited import write_skeletons as write

    write(folder / "said", 0, n)
    return ["skeleton", "--pred-file", f"mine={folder / 'said' / '00000.npz'}"]


def write_points(folder: Path, n: int) -> list[str]:
    """Scans of about 20,000 points in binary PCD, with classes of points and a few boxes."""
    return ["change", *write_rooms(folder, max(n // (5 * POINTS), 2), POINTS, 5, points=True)]


def write_boxes(folder: Path, n: int) -> list[str]:
    """Scenes of 50 boxes, whose scans have few points."""
    return ["change", *write_rooms(folder, max(n // (4 * BOXES), 2), 64, BOXES, points=False)]


def write_rooms(folder: Path, rooms: int, size: int, boxes: int, *, points: bool) -> list[str]:
    """Rooms with a reference and four comparisons; predictions as JSON, with points where there are some."""
    rng, scenes = generator(0, "million", "rooms", str(boxes)), []
    for number in range(rooms):
        scenes += write_room(folder / "truth", folder, f"{number:05d}", rng, (size, boxes), COMPARISONS, points=points)
    (folder / "said.json").write_text(json.dumps({"scenes": scenes}), encoding="utf-8")
    return ["--truth", str(folder / "truth"), "--predictions", f"mine={folder / 'said.json'}"]


def write_room(
    truth: Path,
    said: Path,
    room: str,
    rng: np.random.Generator,
    sizes: tuple[int, int],
    comparisons: Sequence[int],
    *,
    points: bool,
) -> list[dict[str, Any]]:
    """Write scans of so many points, and so many boxes, into the folder of a dataset; return predictions of scenes.

    Classes of predicted points are written into ``said``.
    """
    size, boxes = sizes
    scans, labels = truth / "Data" / room, truth / "Label"
    for folder in (scans, labels, said):
        folder.mkdir(parents=True, exist_ok=True)
    write_pcd(scans / f"{room}-1.pcd", rng, size)
    scenes: list[dict[str, Any]] = []
    for name in (f"{room}-{comparison}" for comparison in comparisons):
        write_pcd(scans / f"{name}.pcd", rng, size)
        true, found = boxes_of(rng, boxes)
        (labels / f"{name}.json").write_text(json.dumps({"boxes": true}), encoding="utf-8")
        scenes.append({"scene": name, "boxes": found})
        if points:
            scenes[-1]["points"] = f"{name}.points.npz"
            for path in (labels, said):
                write_classes(path / f"{name}.points.npz", rng, size)
    return scenes


def boxes_of(rng: np.random.Generator, boxes: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the boxes of a scene, true and found, as they are written."""
    low = rng.random((boxes, 3)) * 20
    high = low + 0.3 + rng.random((boxes, 3))
    kinds = np.where(rng.random(boxes) < 0.5, "Add", "Remove").tolist()
    shift = np.where(rng.random((boxes, 1)) < RIGHT, 0.05, 5.0)
    scores = rng.random(boxes).round(3).tolist()
    true, found = (
        list(zip((low + by).round(4).tolist(), (high + by).round(4).tolist(), strict=True)) for by in (0.0, shift)
    )
    return (
        [{"label": kind, "min": a, "max": b} for kind, (a, b) in zip(kinds, true, strict=True)],
        [
            {"class": kind, "min": a, "max": b, "score": score}
            for kind, (a, b), score in zip(kinds, found, scores, strict=True)
        ],
    )


def write_pcd(path: Path, rng: np.random.Generator, size: int) -> None:
    head = (
        "# .PCD v0.7\nVERSION 0.7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\n"
        f"WIDTH {size}\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS {size}\nDATA binary\n"
    )
    path.write_bytes(head.encode() + (rng.random((size, 3), np.float32) * 20).tobytes())


def write_classes(path: Path, rng: np.random.Generator, size: int) -> None:
    reference = np.where(rng.random(size) < 0.1, 2, 0).astype(np.uint8)
    comparison = np.where(rng.random(size) < 0.1, 1, 0).astype(np.uint8)
    np.savez(path, reference=reference, comparison=comparison)


COMMANDS: Mapping[str, Command] = {
    "labels": Command("row", write_labels),
    "har": Command("window", write_windows),
    "events": Command("event", write_events),
    "episode": Command("frame", write_frames, needs="h5py"),
    "change-points": Command("point", write_points),
    "change-boxes": Command("box", write_boxes),
    "skeleton": Command("joint", write_skeletons),
}
"""Commands by name; that of a suite begins with the suite."""
