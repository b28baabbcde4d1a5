"""What is given and not read is named once: columns, arrays, datasets, keys of captions and files."""

from __future__ import annotations

import json
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

h5py = pytest.importorskip("h5py")

import gnomon  # noqa: E402
from gnomon.suites.episode.simulation.recording import Request, act_out, datasets  # noqa: E402

TASK, FORECAST = "transition_detection", "hand_trajectory_forecast"


def written(folder, change=None):
    folder.mkdir(parents=True)
    request = Request(5, 0, 300, 16, False)
    with h5py.File(folder / "annotation.hdf5", "w") as file:
        for name, values in datasets(request, act_out(request)).items():
            file[name] = values
        if change:
            change(file)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    root = tmp_path_factory.mktemp("episodes")
    for name in ("session_000", "session_001"):
        written(root / name / "ep0")
    return os.fspath(root)


@pytest.fixture(scope="module")
def answers(data, tmp_path_factory):
    given = {"episodes": (data,), "systems": ("persistence", "random"), "tasks": (TASK, FORECAST)}
    return {run.system: run for run in gnomon.run("episode", **given, out=os.fspath(tmp_path_factory.mktemp("r"))).runs}


def labels_of(run):
    own = run.table.filter(pa.compute.equal(run.table["task"], TASK)).select(["task", "sample", "prediction"])
    return own.rename_columns(["task", "sample", "label"])


def told(run):
    return [finding.evidence for finding in run.findings if finding.id == "unread-input"]


def test_what_is_read_whole_is_not_named(data, answers):
    table = labels_of(answers["random"])
    for given in (table, os.fspath(answers["random"].path)):
        assert told(gnomon.score("episode", (data,), {"mine": given}).runs[0]) == []


def test_columns_and_arrays_are_named(data, answers, tmp_path):
    table = labels_of(answers["random"])
    table = table.append_column("score", pa.array(np.ones(len(table)))).append_column(
        "note", pa.array(["x"] * len(table))
    )
    pq.write_table(table, tmp_path / "labels.parquet")
    with np.load(answers["persistence"].path / f"{FORECAST}.npz") as file:
        np.savez(tmp_path / f"{FORECAST}.npz", **dict(file), confidence=np.ones(3))
        n = len(file["samples"])
    (run,) = gnomon.score("episode", (data,), {"mine": os.fspath(tmp_path)}).runs
    (text,) = told(run)
    labels = f"labels.parquet: 'score', 'note' ({len(table)} rows)"
    assert text == f"not read: {labels}; {FORECAST}.npz: 'confidence' ({n} rows)"


@pytest.mark.parametrize("shards", [False, True])
def test_files_beside_answers_are_named(data, answers, tmp_path, shards):
    folder = tmp_path / "mine"
    path = folder / "labels" / "all.parquet" if shards else folder / "labels.parquet"
    path.parent.mkdir(parents=True)
    pq.write_table(labels_of(answers["random"]), path)
    (folder / "notes.md").write_text("x")
    result = gnomon.score("episode", (data,), {"mine": os.fspath(folder)})
    assert told(result.runs[0]) == ["not read: mine/*: 'notes.md' (1 file)"]
    assert any("not read: mine/*: 'notes.md'" in note for note in result.tables["scores"].notes)


def test_columns_of_shards_are_named_once(data, answers, tmp_path):
    table = labels_of(answers["random"])
    table = table.append_column("score", pa.array(np.ones(len(table))))
    (tmp_path / "mine" / "labels").mkdir(parents=True)
    for name in ("session_000", "session_001"):
        own = table.filter(pa.compute.starts_with(table["sample"], name))
        pq.write_table(own, tmp_path / "mine" / "labels" / f"{name}.parquet")
    options = {"out": os.fspath(tmp_path / "runs")}
    (run,) = gnomon.score("episode", (data,), {"mine": os.fspath(tmp_path / "mine")}, **options).runs
    (text,) = told(run)
    assert text == f"not read: labels/*.parquet: 'score' ({len(table)} rows)"


def test_what_episodes_hold_beside_the_layout_is_named_once(tmp_path):
    def change(file):
        file["hand_mocap/left_confidence"] = np.ones(300)
        file["gaze/direction"] = np.ones((300, 3))
        caption = json.loads(file["caption"][()])
        caption["segments"][0]["Mood"] = "calm"
        caption["version"] = 2
        del file["caption"]
        file["caption"] = json.dumps(caption).encode()

    for name in ("session_000", "session_001"):
        written(tmp_path / name / "ep0", change)
    (tmp_path / "session_001" / "ep0" / "gaze.csv").write_text("x\n")
    (run,) = gnomon.run("episode", episodes=(os.fspath(tmp_path),), systems=("random",), tasks=(TASK,)).runs
    (text,) = told(run)
    names = "'gaze/direction', 'hand_mocap/left_confidence', 'caption.version', 'caption.segments.Mood'"
    sets = f"{tmp_path.name}/*.hdf5: {names} (up to 600 rows)"
    assert text == f"not read: {sets}; ep0/*: 'gaze.csv' (1 file)"
    (found, beside) = run.manifest["facts"]["unread"]
    assert list(found["names"].values()) == [600, 600, 2, 2]
    assert beside["file"].endswith("session_001/ep0/*")
