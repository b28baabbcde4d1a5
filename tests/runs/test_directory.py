"""Publishing: what is written, what is replaced, and what is left behind when writing fails."""

import dataclasses
import errno
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from gnomon.core.errors import InputError, WorkError
from gnomon.inference.intervals import Plan
from gnomon.runs import directory, packing, seal
from gnomon.runs.directory import publish
from gnomon.runs.provenance import Clock
from gnomon.runs.run import load, make

FILES = {
    "manifest.json",
    "coverage.json",
    "scores.json",
    "audit.json",
    "tallies.npz",
    "ledgers.npz",
    "predictions.parquet",
    "seal.sha256",
}


def full_disk(*arguments, **options):
    raise OSError(errno.ENOSPC, "No space left on device")


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_run_is_published_under_its_id_with_all_its_files(small_run, tmp_path):
    run = publish(small_run, tmp_path / "deep" / "runs")
    assert run.path == tmp_path / "deep" / "runs" / small_run.manifest["id"]
    assert set(contents(run.path)) == FILES
    assert run == dataclasses.replace(small_run, path=run.path)


def test_nothing_else_is_left_in_the_folder_of_runs(stored_run):
    assert list(stored_run.path.parent.iterdir()) == [stored_run.path]


def test_a_published_run_agrees_with_its_seal(stored_run):
    assert seal.problems(stored_run.path) == []


def test_the_predictions_are_kept(stored_run):
    assert pq.read_table(stored_run.path / "predictions.parquet").to_pydict() == stored_run.table.to_pydict()


def test_scores_are_stored_with_the_headline(stored_run):
    stored = json.loads((stored_run.path / "scores.json").read_text())
    assert stored["schema"] == "gnomon.scores/1"
    assert stored["headline"] == "macro_f1"
    assert stored["scores"] == [score.record() for score in stored_run.scores]


def test_an_undefined_score_is_stored_as_null_with_its_reason(count_cases, evaluation, tmp_path):
    empty = {"classification": count_cases([], [], [], [], classes=("a",))}
    run = publish(make(dataclasses.replace(evaluation, tallies=empty), Plan(), Clock()), tmp_path)
    first = json.loads((run.path / "scores.json").read_text())["scores"][0]
    assert (first["value"], first["why"]) == (None, "no samples")
    assert load(run.path).scores == run.scores


def test_equal_work_gives_equal_bytes(evaluation, tmp_path):
    first, second = (publish(make(evaluation, Plan(), Clock()), tmp_path / name) for name in "ab")
    one, two = contents(first.path), contents(second.path)
    differing = {name for name in FILES if one[name] != two[name]}
    assert differing <= {"manifest.json", "seal.sha256"}


def test_a_run_of_the_same_name_is_replaced(evaluation, stored_run):
    (stored_run.path / "scores.json").write_text("damaged")
    (stored_run.path / "stray.txt").write_text("old")
    again = publish(make(evaluation, Plan(), Clock()), stored_run.path.parent)
    assert again.path == stored_run.path
    assert set(contents(again.path)) == FILES
    assert load(again.path).scores == stored_run.scores
    assert list(again.path.parent.iterdir()) == [again.path]


def test_runs_of_different_names_stand_side_by_side(evaluation, stored_run):
    other = make(dataclasses.replace(evaluation, system="other"), Plan(), Clock())
    publish(other, stored_run.path.parent)
    assert len(list(stored_run.path.parent.iterdir())) == 2


def test_a_file_is_no_folder_for_runs(small_run, tmp_path):
    (tmp_path / "runs").write_text("")
    with pytest.raises(InputError, match="expected a folder for runs, but it is a file"):
        publish(small_run, tmp_path / "runs")


def test_a_folder_of_runs_inside_a_file_cannot_be_made(small_run, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(WorkError, match="nothing was published"):
        publish(small_run, tmp_path / "file" / "runs")


@pytest.mark.parametrize(
    ("owner", "name"),
    [(packing, "write_npz"), (directory, "encode_pretty"), (seal, "make"), (directory.os, "fsync")],
    ids=["npz", "json", "seal", "sync"],
)
def test_a_failed_write_publishes_nothing(small_run, tmp_path, monkeypatch, owner, name):
    monkeypatch.setattr(owner, name, full_disk)
    with pytest.raises(WorkError, match=r"could not write the run .*No space left on device; nothing was published"):
        publish(dataclasses.replace(small_run, table=None), tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["write_npz", "pack_tallies"])
def test_a_failed_write_leaves_the_old_run_alone(small_run, stored_run, monkeypatch, name):
    before = contents(stored_run.path)
    monkeypatch.setattr(packing, name, full_disk)
    with pytest.raises(WorkError, match="nothing was published"):
        publish(small_run, stored_run.path.parent)
    assert contents(stored_run.path) == before
    assert list(stored_run.path.parent.iterdir()) == [stored_run.path]


def test_a_failed_rename_publishes_nothing(small_run, tmp_path, monkeypatch):
    monkeypatch.setattr(Path, "rename", full_disk)
    with pytest.raises(WorkError, match="nothing was published"):
        publish(small_run, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_replacement_puts_the_old_run_back(small_run, stored_run, monkeypatch):
    before, rename = contents(stored_run.path), Path.rename

    def refuse_drafts(self, target):
        return full_disk() if self.name.startswith(".draft") else rename(self, target)

    monkeypatch.setattr(Path, "rename", refuse_drafts)
    with pytest.raises(WorkError, match="nothing was published"):
        publish(small_run, stored_run.path.parent)
    assert contents(stored_run.path) == before
    assert list(stored_run.path.parent.iterdir()) == [stored_run.path]


def test_an_interrupted_write_leaves_no_draft(small_run, tmp_path, monkeypatch):
    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(packing, "write_npz", interrupt)
    with pytest.raises(KeyboardInterrupt):
        publish(small_run, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_of_the_predictions_publishes_nothing(small_run, tmp_path, monkeypatch):
    monkeypatch.setattr(directory, "write_table", full_disk)
    with pytest.raises(WorkError, match="nothing was published"):
        publish(small_run, tmp_path)
    assert list(tmp_path.iterdir()) == []
