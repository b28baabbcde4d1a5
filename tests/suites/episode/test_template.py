"""The example of ``gnomon template episode``: its command, run as printed, scores it."""

import shlex
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("h5py")
pytest.importorskip("av")

from gnomon.cli.main import main
from gnomon.intake.tables import read_table
from gnomon.suites.episode.template import LABELLED


def call(*words):
    with pytest.raises(SystemExit) as left:
        main([*words])
    return left.value.code


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder that holds the example, which was asked for as ``my data``."""
    folder = tmp_path_factory.mktemp("template")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert call("template", "episode", "my data") == 0
    return folder


def command(folder):
    text = (folder / "my data" / "README.md").read_text()
    found = [line.strip() for line in text.splitlines() if line.startswith("    gnomon ")]
    assert len(found) == 1
    return shlex.split(found[0])[1:]


def test_the_command_works_as_printed(made, monkeypatch, capsys):
    monkeypatch.chdir(made)
    assert call(*command(made)) == 0
    shown = capsys.readouterr().out
    rows = {line.split()[0]: line for line in shown.partition("paired")[0].splitlines() if line.startswith(" ")}
    assert {*LABELLED, "hand_trajectory_forecast"} <= set(rows)
    assert "simulated episodes, no recordings of people" in shown
    assert len(list(Path("runs").iterdir())) == 1


def test_the_forms_of_answers_are_there_and_nothing_is_missing(made):
    answers = made / "my data" / "predictions"
    table = read_table(answers / "labels.csv", text=("task", "sample", "label"))
    assert table.column_names == ["task", "sample", "label"]
    assert tuple(dict.fromkeys(table["task"].to_pylist())) == LABELLED
    assert any("|" in label for label in table["label"].to_pylist() if label)
    with np.load(answers / "hand_trajectory_forecast.npz") as file:
        assert set(file.files) == {"samples", "values"}
        assert file["values"].shape == (len(file["samples"]), 10 * 42 * 3)


@pytest.mark.slow
def test_the_same_again_is_the_same(made, monkeypatch):
    answers = made / "my data" / "predictions"
    before, table = dict(np.load(answers / "hand_trajectory_forecast.npz")), (answers / "labels.csv").read_bytes()
    monkeypatch.chdir(made)
    assert call("template", "episode", "my data") == 0
    assert (answers / "labels.csv").read_bytes() == table
    after = dict(np.load(answers / "hand_trajectory_forecast.npz"))
    assert {name: values.tolist() for name, values in after.items()} == {n: v.tolist() for n, v in before.items()}


def test_what_is_in_the_way_is_not_overwritten(tmp_path, capsys):
    (tmp_path / "episodes").mkdir()
    (tmp_path / "episodes" / "mine.txt").write_text("mine")
    assert call("template", "episode", str(tmp_path)) == 2
    assert "choose an empty folder" in capsys.readouterr().err
