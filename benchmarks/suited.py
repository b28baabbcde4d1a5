"""Streams that go through a suite, from a folder of files to scores with their intervals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.sharding import CLASSES, FRAMES, JOINTS, guesses, poses, sides

from gnomon.core.seeds import generator

STRETCH = 200
"""Frames of a stretch, in the middle."""
SCAN = 20_000
"""Most points of a scan."""
BODY, SHORTEST = 94, 240
"""Joints of hands and body in a frame of an episode, and the fewest frames that have samples of every task."""
GROUPS = 200
"""Groups of a table of labels."""
ACTIVITIES = ("jogging", "sitting", "standing", "walking")


def of_suite(name: str, folder: Path) -> Any:
    """Score both sides of a folder by a suite, in this process, and keep nothing."""
    import gnomon

    (run,) = gnomon.score(
        name, str(folder / "truth"), {"mine": str(folder / "said")}, out="none", executor="inline"
    ).runs
    return run


def write_codes(folder: Path, number: int, size: int) -> int:
    """Class codes as ``.npy``; a shard is a group."""
    rng = generator(0, "growth", "codes", str(number))
    truth = rng.integers(0, CLASSES, size, np.uint8)
    for path, codes in zip(sides(folder, number, ".npy"), (truth, guesses(rng, truth, CLASSES)), strict=True):
        np.save(path, codes)
    return size


def write_tables(folder: Path, number: int, size: int) -> int:
    """Tables of id, label and group as parquet; every group is in every shard, predictions are in another order."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = generator(0, "growth", "tables", str(number))
    truth = rng.integers(0, CLASSES, size, np.uint8)
    said, order = guesses(rng, truth, CLASSES), rng.permutation(size)
    ids = pa.array([f"{number}-{row}" for row in range(size)])
    names = pa.array([f"class {code}" for code in range(CLASSES)])
    paths = sides(folder, number, ".parquet")
    groups = pa.array([f"group {code}" for code in range(GROUPS)]).take(pa.array(rng.integers(0, GROUPS, size)))
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


def write_windows(folder: Path, number: int, size: int) -> int:
    """Tables of windows of one dataset as parquet, a person each; predictions are in another order."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = generator(0, "growth", "windows", str(number))
    truth = rng.integers(0, len(ACTIVITIES), size, np.uint8)
    said, order = guesses(rng, truth, len(ACTIVITIES)), rng.permutation(size)
    names, person = pa.array(ACTIVITIES), f"{number + 1}"
    ids = pa.array([f"{person}/{row}" for row in range(size)])
    same = {"task": "zs-closed", "dataset": "motionsense"}
    whole = {name: pa.repeat(pa.scalar(value), size) for name, value in (*same.items(), ("subject", person))}
    recordings = pa.array([f"{person}/{name}" for name in ACTIVITIES]).take(pa.array(truth))
    paths = sides(folder, number, ".parquet")
    table = pa.table({**whole, "id": ids, "label": names.take(pa.array(truth)), "recording": recordings})
    pq.write_table(table, paths[0])
    asked = pa.table({**{name: whole[name] for name in same}, "id": ids, "label": names.take(pa.array(said))})
    pq.write_table(asked.take(pa.array(order)), paths[1])
    return size


def score_windows(folder: Path) -> int:
    return int(of_suite("har", folder).coverage["windows"]["scored"])


def write_scans(folder: Path, number: int, size: int) -> int:
    """Rooms of two scans with classes of points and five boxes; predictions as JSON, files of points beside it."""
    from benchmarks.million import write_room

    rng, count = generator(0, "growth", "scans", str(number)), -(-size // (2 * SCAN))
    points, scenes = -(-size // (2 * count)), []
    for room in range(count):
        name = f"{number:05d}{room:03d}"
        scenes += write_room(folder / "truth", folder / "said", name, rng, (points, 5), (2,), points=True)
    (folder / "said" / f"{number:05d}.json").write_text(json.dumps({"scenes": scenes}), encoding="utf-8")
    return count * 2 * points


def score_scans(folder: Path) -> int:
    return int(of_suite("change", folder).tallies["points"].total()["n"])


def write_episodes(folder: Path, number: int, size: int) -> int:
    """Annotated episodes without depth and video, 94 joints a frame; answers to five tasks, two files an episode."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from benchmarks.million import FORECAST, answers_to, write_annotation

    rng, frames = generator(0, "growth", "episodes", str(number)), max(-(-size // BODY), SHORTEST)
    place = folder / "truth" / f"session-{number:05d}-{frames}" / "ep0"
    place.mkdir(parents=True)
    write_annotation(place / "annotation.hdf5", rng, frames)
    columns, vectors = answers_to([place], rng, folder)
    for name in ("labels", FORECAST):
        (folder / "said" / name).mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), folder / "said" / "labels" / f"{number:05d}.parquet")
    np.savez(folder / "said" / FORECAST / f"{number:05d}.npz", **vectors)
    return frames * BODY


def score_episodes(folder: Path) -> int:
    run = of_suite("episode", folder)
    named = [name.split("/")[0] for name in run.manifest["facts"]["test_episodes"]]
    return BODY * sum(int(name.rsplit("-", 1)[1]) for name in named) if run.coverage["complete"] else 0
