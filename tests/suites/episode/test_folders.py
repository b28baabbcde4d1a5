"""Folders of answers: what in them is answers, what is left alone, and what is refused by its name."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("h5py")
pytest.importorskip("av")

from gnomon.core.errors import InputError
from gnomon.intake.sources import Source
from gnomon.suites.episode import folders
from gnomon.suites.episode.tasks.declared import TASKS

FORECAST = "hand_trajectory_forecast"
LEFT_ALONE = (".DS_Store", ".labels.csv", "._labels.csv", "_SUCCESS", "_old.npz", "config.json", "readme.txt")


def filled(folder, *names):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return folder


def units(folder):
    return folders.units(Source("mine", str(folder)))


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_what_is_no_answer_is_left_alone(tmp_path, name):
    shards = filled(tmp_path / "shards", "labels/a.parquet", f"{FORECAST}/a.npz", name)
    assert list(units(shards)) == ["labels/a", f"{FORECAST}/a"]
    plain = filled(tmp_path / "plain", "labels.csv", f"{FORECAST}.npz", name)
    assert set(folders.plain(plain)) == {"labels", FORECAST}


def test_hidden_folders_are_left_alone(tmp_path):
    folder = filled(tmp_path, "labels/a.parquet", ".cache/a.npz", "_temporary/a.npz")
    assert list(units(folder)) == ["labels/a"]


def test_files_beside_shards_are_answers_too(tmp_path):
    folder = filled(tmp_path, "labels/a.parquet", "caption_grounding.npz", ".DS_Store")
    assert list(units(folder)) == ["caption_grounding.npz", "labels/a"]


@pytest.mark.parametrize(
    ("name", "near"),
    [("hand_forecast", FORECAST), ("Labels", "labels"), ("timeline_actions", "timeline_action"), ("plots", None)],
)
def test_a_folder_that_is_no_task_is_named(tmp_path, name, near):
    known = f"olders of shards are labels, {', '.join(TASKS)}; rename it, or move it elsewhere"
    hint = f"did you mean '{near}'? F" if near else "f"
    said = re.escape(f"{tmp_path / name}: no task '{name}'; {hint}{known}")
    filled(tmp_path, f"{name}/a.npz")
    for more in ("labels.csv", f"{FORECAST}/a.npz"):  # alone, beside files, beside shards
        with pytest.raises(InputError, match=said):
            units(tmp_path)
        with pytest.raises(InputError, match=said):
            folders.plain(tmp_path)
        filled(tmp_path, more)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("hand_forecast.npz", rf"no task 'hand_forecast'; did you mean '{FORECAST}'\? There are timeline_action, .*"),
        ("zzz.npz", "no task 'zzz'; there are timeline_action, .*"),
        ("label.csv", r"a table that is not called labels\.csv, which holds the labels of all tasks; put its rows .*"),
        ("timeline_action.jsonl.gz", r"a table that is not called labels\.jsonl\.gz, .*"),
    ],
)
def test_a_file_that_is_no_task_is_named(tmp_path, name, said):
    whole = rf"{re.escape(str(tmp_path / name))}: {said}.*, or move it elsewhere"
    filled(tmp_path, name)
    for more in (f"{FORECAST}.npz", "labels/a.parquet"):
        with pytest.raises(InputError, match=whole):
            units(tmp_path)
        with pytest.raises(InputError, match=whole):
            folders.plain(tmp_path)
        filled(tmp_path, more)


def test_the_folder_of_a_run_has_tables_and_arrays_of_its_own(tmp_path):
    own = ("manifest.json", "tallies.npz", "ledgers.npz", "exhibits.npz", "per_class.csv", "samples.parquet")
    folder = filled(tmp_path, "predictions.parquet", f"{FORECAST}.npz", "figures/a.png", *own)
    assert set(folders.plain(folder)) == {"labels", FORECAST}


def test_folders_without_answers(tmp_path):
    filled(tmp_path, ".DS_Store", "config.json")
    for look in (units, folders.plain):
        with pytest.raises(InputError, match=r"expected labels\.csv, \.parquet or \.jsonl, or TASK\.npz in it"):
            look(tmp_path)


def test_a_folder_that_cannot_be_listed(tmp_path, monkeypatch):
    def refused(_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(folders.os, "listdir", refused)
    with pytest.raises(InputError, match=r"cannot be read \(Permission denied\); check path and rights"):
        folders.plain(tmp_path)
