"""Which episodes count as valid: those whose files have every stream, whichever of them the tasks read."""

from __future__ import annotations

import os
import shutil

import numpy as np
import pytest

h5py = pytest.importorskip("h5py")

import gnomon  # noqa: E402
from gnomon.suites.episode.layout import VIDEOS  # noqa: E402
from gnomon.suites.episode.simulation.recording import Request, act_out, datasets  # noqa: E402

FRAMES = 300
WHOLE, BARE = "session_000/ep0", "session_001/ep0"
TASK, GROUNDING = "transition_detection", "caption_grounding"


def an_index_of_frames():
    """An MP4 file as far as it is looked at before a frame is read."""
    return b"".join((8).to_bytes(4, "big") + kind for kind in (b"ftyp", b"moov"))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Two episodes that are not marked as simulated; the second has no IMU, no depth and no videos."""
    root = tmp_path_factory.mktemp("episodes")
    whole, bare = root / WHOLE, root / BARE
    whole.mkdir(parents=True)
    request = Request(5, 0, FRAMES, 16, False)
    with h5py.File(whole / "annotation.hdf5", "w") as file:
        for name, values in datasets(request, act_out(request)).items():
            file[name] = values
        if "slam/point_cloud" not in file:
            file["slam/point_cloud"] = np.random.default_rng(0).normal(size=(200, 3))
        for name, kind in (("depth/depth", "f4"), ("depth/confidence", "u1")):
            if name not in file:
                file.create_dataset(name, (FRAMES, 256, 256), kind, chunks=(1, 256, 256))
        file["depth/depth"][100, 0, 0] = 1.0
    bare.mkdir(parents=True)
    shutil.copy(whole / "annotation.hdf5", bare)
    with h5py.File(bare / "annotation.hdf5", "a") as file:
        del file["imu"], file["depth"]
    for name in VIDEOS:
        (whole / f"{name}.mp4").write_bytes(an_index_of_frames())
    return os.fspath(root)


def facts_of(data, answers, **more):
    (run,) = gnomon.score("episode", (data,), {"mine": answers}, **more).runs
    return run, run.manifest["facts"]


def check(facts):
    assert facts["not_valid"].get(WHOLE) is None
    assert facts["valid_episodes"] == 1
    assert list(facts["not_valid"]) == [BARE]
    for stream in ("imu", "depth", *VIDEOS):
        assert f"no {stream} (" in facts["not_valid"][BARE]


def test_files_count_where_tasks_read_no_block(data, tmp_path):
    """Labels are scored without features, and yet the whole episode is valid and the other is not."""
    table = {"task": [TASK], "sample": [f"{WHOLE}/215"], "label": ["boundary"]}
    run, facts = facts_of(data, {"labels": table}, missing="wrong", out=os.fspath(tmp_path))
    check(facts)
    report = (run.path / "DATA_BLOCKER_REPORT.md").read_text()
    assert "| at least 32 valid episodes, real and with every stream | 32 | 1 | **no** |" in report
    assert f"Episodes that are not valid: {BARE}: no imu (imu/keyframe_indices is missing)" in report


def test_files_count_where_tasks_read_one_block(data):
    """The caption is the only block that is read, and both episodes have it."""
    (run,) = gnomon.run("episode", episodes=(data,), systems=("random",), tasks=(GROUNDING,), skip=VIDEOS).runs
    ids = run.table["sample"].to_pylist()
    assert {name.rpartition("/")[0] for name in ids} == {WHOLE, BARE}
    _, facts = facts_of(data, {GROUNDING: {"samples": ids, "values": np.eye(len(ids), 896)}})
    assert set(facts["streams"]) == {WHOLE, BARE}
    check(facts)


def test_what_is_left_out_on_request_says_nothing_of_the_files(data):
    """Of the whole episode the videos and the depth are left out."""
    (run,) = gnomon.run("episode", episodes=(data,), systems=("random",), tasks=(TASK,), skip=(*VIDEOS, "depth")).runs
    check(run.manifest["facts"])


@pytest.mark.parametrize(
    ("stream", "dataset", "value"),
    [
        ("hand_left", "hand_mocap/left_joints_3d", np.nan),
        ("imu", "imu/accel_xyz", np.nan),
        ("depth", "depth/depth", 0.0),
    ],
)
def test_a_stream_without_a_valid_frame_counts_alike_in_score_and_run(data, tmp_path, stream, dataset, value):
    root = tmp_path / "episodes"
    shutil.copytree(data, root)
    with h5py.File(root / WHOLE / "annotation.hdf5", "a") as file:
        file[dataset][:] = value
    table = {"task": [TASK], "sample": [f"{WHOLE}/215"], "label": ["boundary"]}
    _, scored = facts_of(os.fspath(root), {"labels": table}, missing="wrong", out="none")
    asked = {"systems": ("random",), "tasks": (TASK,), "skip": VIDEOS, "out": os.fspath(tmp_path / "out")}
    (run,) = gnomon.run("episode", episodes=(os.fspath(root),), **asked).runs
    facts = run.manifest["facts"]
    assert scored["valid_episodes"] == facts["valid_episodes"] == 0
    assert scored["not_valid"] == facts["not_valid"]
    assert facts["not_valid"][WHOLE] == f"no {stream} (no frame is valid)"
