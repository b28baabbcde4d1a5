"""Evaluations in which a system has no scored case: never exit code 0, one line that says which and why."""

import json

import numpy as np
import pytest

import gnomon
from gnomon.cli.main import main
from gnomon.core.errors import NothingScoredError
from gnomon.suites.skeleton.files import write

pytestmark = pytest.mark.usefixtures("in_this_process")

SYSTEM = """
class Fails:
    def __init__(self, *, careful=True):
        pass

    def fit(self, features, labels, rng):
        raise RuntimeError("boom")

    def predict(self, features):
        return features
"""


def call(capsys, *arguments):
    with pytest.raises(SystemExit) as left:
        main([str(item) for item in arguments])
    captured = capsys.readouterr()
    return left.value.code, captured.out, captured.err


def last(err):
    return [line for line in err.splitlines() if line.startswith("gnomon: ")]


@pytest.fixture
def labels(tmp_path):
    rows = [f"{i},{'ab'[i % 2]},g{i % 6},{i % 7}" for i in range(24)]
    (tmp_path / "truth.csv").write_text("\n".join(["id,label,group,x", *rows]))
    (tmp_path / "system.py").write_text(SYSTEM)
    return tmp_path / "truth.csv", f"{tmp_path / 'system.py'}:Fails"


@pytest.fixture
def skeletons(tmp_path):
    """Return a maker of prediction files, with cameras that can be used or without a single one."""

    def make(path, *, cameras):
        joints = np.tile(np.array([[0, 0, 0], [0.5, 0, 0], [0, 1.5, 0]]), (6, 1, 1))
        fields = {"sample_ids": [f"p{i % 3}_a1_{i}" for i in range(6)], "pred_keypoints": joints + 0.01}
        stream = np.tile([0.0, 0, 0, 0, 0, 0, 1, 1, 1], (6, 1, 1)) + (0.0 if cameras else np.nan)
        fields |= {"pred_cameras_stream": stream, "gt_cameras_stream": stream}
        fields |= {"camera_stream_modalities": ["lidar"], "camera_stream_sensor_indices": [0]}
        path.parent.mkdir(exist_ok=True)
        write(path, {**fields, "gt_keypoints": joints})
        return path

    return make


@pytest.mark.parametrize("shards", [False, True])
@pytest.mark.parametrize("verb", ["score", "run"])
def test_skeletons_without_usable_cameras(capsys, tmp_path, skeletons, shards, verb):
    path = skeletons(tmp_path / "given" / "a.npz", cameras=False)
    given = path.parent if shards else path
    code, out, err = call(capsys, verb, "skeleton", "--pred-file", f"mine={given}", "--out", tmp_path / "runs")
    assert code == 1
    assert "undefined (no samples)" in out
    (line,) = last(err)
    assert line.startswith("gnomon: no case was scored of 'mine': all 6 samples were dropped: 6 no reference camera")
    assert line.endswith("correct this and score again")
    assert len(gnomon.load(tmp_path / "runs").runs) == 1


def test_one_system_of_two_without_cases(capsys, tmp_path, skeletons):
    files = {name: skeletons(tmp_path / f"{name}.npz", cameras=name == "good") for name in ("good", "bad")}
    given = [item for name, path in files.items() for item in ("--pred-file", f"{name}={path}")]
    code, out, err = call(capsys, "score", "skeleton", *given, "--out", "none", "--json")
    assert code == 1
    assert {run["system"] for run in json.loads(out)["runs"]} == {"good", "bad"}
    (line,) = last(err)
    assert "'bad'" in line
    assert "'good'" not in line


def test_labels_whose_cells_all_fail(capsys, tmp_path, labels):
    truth, system = labels
    code, _, err = call(capsys, "run", "labels", "--truth", truth, "--systems", system, "--out", tmp_path / "runs")
    assert code == 1
    (line,) = last(err)
    assert "all 5 cells failed; the first: RuntimeError: boom" in line
    assert len(gnomon.load(tmp_path / "runs").runs) == 1
    code, _, err = call(capsys, "run", "labels", "--truth", truth, "--systems", f"{system},majority", "--out", "none")
    assert code == 1
    assert "Fails': all 5 cells failed" in last(err)[0]


def test_search_and_ablation_whose_arms_all_fail(capsys, labels):
    truth, system = labels
    given = ["labels", "--truth", truth, "--systems", system, "--out", "none"]
    code, _, err = call(capsys, "search", *given, "--grid", "careful=true,false", "--metrics", "accuracy")
    assert code == 1
    assert "Fails': its only cell failed; the first: RuntimeError: boom" in last(err)[0]
    code, _, err = call(capsys, "ablate", *given, "--without", "careful")
    assert code == 1
    assert "all 5 cells failed" in last(err)[0]


def test_events_of_which_every_recording_is_skipped(capsys, tmp_path):
    (tmp_path / "morning.json").write_text(
        json.dumps(
            {
                "t1": "2012-05-16T09:00:00-08:00",
                "t2": "2012-05-16T10:00:00-08:00",
                "labels": [{"label": "walking", "t1": "2012-05-16T09:05:00-08:00", "t2": "2012-05-16T09:12:30-08:00"}],
            }
        )
    )
    (tmp_path / "results.json").write_text("{}")
    given = ["--truth", tmp_path / "morning.json", "--predictions", tmp_path / "results.json", "--missing", "skip"]
    code, _, err = call(capsys, "score", "events", *given, "--out", "none")
    assert code == 1
    assert last(err)[0].startswith("gnomon: no case was scored of 'results': no recordings")


def test_a_comparison_of_runs_without_cases(capsys, tmp_path, skeletons):
    path = skeletons(tmp_path / "a.npz", cameras=False)
    files = ["--pred-file", f"a={path}", "--pred-file", f"b={path}"]
    call(capsys, "score", "skeleton", *files, "--out", tmp_path / "runs")
    code, _, err = call(capsys, "compare", tmp_path / "runs")
    assert code == 1
    assert last(err)[0].startswith("gnomon: no case was scored of 'a': ")


@pytest.mark.parametrize("command", [("report",), ("report", "--json"), ("audit",), ("audit", "--json"), ("compare",)])
def test_stored_runs_whose_cells_all_failed(capsys, tmp_path, labels, command):
    truth, system = labels
    call(capsys, "run", "labels", "--truth", truth, "--systems", f"{system},majority", "--out", tmp_path / "runs")
    code, _, err = call(capsys, *command, tmp_path / "runs")
    assert code == 1
    (line,) = last(err)
    assert line.startswith(
        f"gnomon: no case was scored of {system!r}: all 5 cells failed; the first: RuntimeError: boom"
    )
    scored = next(path for path in (tmp_path / "runs").iterdir() if "majority" in path.name)
    if command[0] != "compare":
        assert call(capsys, *command, scored)[0] in (0, None)


def test_python_raises_where_nothing_was_scored_and_keeps_what_was_computed(tmp_path, labels):
    truth, system = labels
    with pytest.raises(NothingScoredError, match=r"all 5 cells failed; the first: RuntimeError: boom"):
        gnomon.run("labels", truth=str(truth), systems=system, out=tmp_path / "runs")
    assert list(gnomon.load(tmp_path / "runs").unscored) == [system]
    both = gnomon.run("labels", truth=str(truth), systems=f"{system},majority", out="none")
    assert list(both.unscored) == [system]
    assert both.scores["majority"]["accuracy"] is not None
    with pytest.raises(NothingScoredError):
        gnomon.ablate("labels", truth=str(truth), systems=system, without="careful", out="none")
    with pytest.raises(NothingScoredError):
        gnomon.search(
            "labels", truth=str(truth), systems=system, grid={"careful": [False]}, metrics="accuracy", out="none"
        )


def test_a_system_that_no_chosen_task_is_for_is_no_failure(labels):
    """Baselines of an episode are for some tasks alone: without a cell nothing failed."""
    from dataclasses import replace

    from gnomon.runs.unscored import why_unscored

    run = gnomon.score("labels", str(labels[0]), {"id": list(range(24)), "label": ["a"] * 24}).runs[0]
    facts = {**run.manifest["facts"], "groups": 0}
    cells = {"total": 0, "done": 0, "missing": []}
    empty = replace(run, manifest={**run.manifest, "facts": facts}, coverage={**run.coverage, "cells": cells})
    assert why_unscored(empty) == ""
    failed = {"total": 1, "done": 0, "missing": [{"cell": "c", "why": "boom"}]}
    assert "boom" in why_unscored(replace(empty, coverage={**run.coverage, "cells": failed}))
