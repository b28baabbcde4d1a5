"""A store that somebody else handed over: trained systems in it are not run, but fitted again, with the same scores."""

import contextlib
import json
import os
import pickle
import shutil

import pytest

import gnomon
from gnomon.engine import signing
from gnomon.runs import seal
from gnomon.suites.change.options import SimulateOptions
from gnomon.suites.change.simulate import simulate

from .suites.events.test_training import HEIGHT, SOURCE, levels
from .suites.har.conftest import write_dataset

pytestmark = pytest.mark.usefixtures("in_this_process")

DETECTORS = '''
"""Detectors that are trained: one is pickled, one has a format of its own, which is a pickle, too."""

import pickle
from pathlib import Path

import numpy as np

from gnomon.suites.change.systems.detection import Detection


class Taught:
    def fit(self, scenes, seed):
        self.size = 1.0 + len(scenes)
        return {}

    def detect(self, reference, comparison):
        zeros = np.zeros(len(reference)), np.zeros(len(comparison))
        return Detection([[0, 0, 0, self.size, 1, 1]], ("Add",), [0.5], *zeros, {"all": 0.1})


class Saved(Taught):
    def save(self, folder):
        (Path(folder) / "own.pickle").write_bytes(pickle.dumps(self.size))

    def load(self, folder):
        self.size = pickle.loads((Path(folder) / "own.pickle").read_bytes())
'''


class Poison:
    """Makes a folder when it is unpickled."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return os.mkdir, (str(self.marker),)


def events(folder):
    (folder / "rec.py").write_text(SOURCE)
    for subject, height in HEIGHT.items():
        values = [height if 5 <= t < 9 else 1.0 for t in range(20)]
        records = [{"time": t, "type": "accel", "values": [value]} for t, value in enumerate(values)]
        (folder / f"{subject}.raw.json").write_text(json.dumps(records))
        case = {"data_path": f"{subject}.raw.json", "t1": 0, "t2": 20, "subject": {"id": subject}}
        case["labels"] = [{"t1": 5, "t2": 9, "label": "moving"}]
        (folder / f"{subject}.json").write_text(json.dumps(case))

    def run(**more):
        given = {"truth": [f"{subject}.json" for subject in HEIGHT], "recognizers": "rec.py:Level", "out": "runs"}
        with contextlib.chdir(folder):
            return gnomon.run("events", leave_out="subject", retries=0, **given, **more)

    return run


def har(folder):
    root = folder / "root"
    root.mkdir()
    write_dataset(root, "source", "train", ["sitting", "walking"], subjects=2, seed=1)
    write_dataset(root, "target", "test", ["sitting", "walking"], subjects=2, seed=2)
    given = {"systems": "nearest_mean", "profile": "smoke", "variant": "strict", "tasks": "zs-closed"}
    return lambda **more: gnomon.run("har", data_root=str(root), out=folder / "runs", retries=0, **given, **more)


def change(name):
    def prepare(folder):
        simulate(SimulateOptions(directory=str(folder / "rooms"), rooms=3, seed=3, points=2500, format="npz"))
        (folder / "own.py").write_text(DETECTORS)
        given = {"data_path": str(folder / "rooms"), "systems": f"{folder / 'own.py'}:{name}", "folds": 2}
        given["variant"] = "strict"
        return lambda **more: gnomon.run("change", out=folder / "runs", retries=0, **given, **more)

    return prepare


SUITES = {"events": events, "har": har, "change": change("Taught"), "change-saved": change("Saved")}
PICKLES = {
    "events": "system.pickle",
    "har": "system.pickle",
    "change": "system.pickle",
    "change-saved": "own.pickle",
}


def results(store):
    return [path.parent for path in store.glob("??/*/seal.sha256")]


def keep_trained_alone(store, pickle_name):
    """Remove every result but trained systems, so that these are needed again; return their folders."""
    for folder in results(store):
        if not (folder / pickle_name).exists():
            shutil.rmtree(folder)
    found = results(store)
    assert found
    return found


def reseal(folder):
    """Give a folder the seal of its files as they are now, so that it looks whole."""
    (folder / seal.NAME).unlink()
    (folder / seal.NAME).write_bytes(seal.make(folder))
    assert not seal.problems(folder)


def scores(result):
    return {run.system: dict(result.scores[run.system]) for run in result.runs}


def run_without(marker, run, **options):
    """Run, and fail where a poisoned pickle was executed, whatever came of that."""
    try:
        return run(**options)
    finally:
        assert not marker.exists(), "a poisoned pickle was executed"


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Let this be the home of the user."""

    def move(name):
        monkeypatch.delenv("GNOMON_KEY_FILE", raising=False)
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / f"home of {name}"))

    move("first")
    return move


@pytest.mark.parametrize(
    ("suite", "user"),
    [("events", "first"), ("events", "second"), ("har", "second"), ("change", "first"), ("change-saved", "second")],
)
def test_a_poisoned_store_runs_nothing(tmp_path, home, capfd, suite, user):
    run = SUITES[suite](tmp_path)
    honest = scores(run(executor="inline"))
    store, marker = tmp_path / "runs" / "store", tmp_path / "marker"
    poisoned = keep_trained_alone(store, PICKLES[suite])
    for folder in poisoned:
        (folder / PICKLES[suite]).write_bytes(pickle.dumps(Poison(marker)))
        reseal(folder)
    home(user)
    capfd.readouterr()
    assert scores(run_without(marker, run, executor="inline")) == honest
    assert "not signed with this user's key: not loaded, set aside and fitted again" in capfd.readouterr().err
    assert len(list((store / "damaged").iterdir())) == len(poisoned)
    keep_trained_alone(store, PICKLES[suite])
    assert scores(run(executor="inline")) == honest  # what was fitted again is loaded by the next command
    assert "not signed" not in capfd.readouterr().err


def test_a_store_of_another_user_runs_nothing_in_worker_processes(tmp_path, home):
    """The attacker has signed with a key of their own."""
    run = events(tmp_path)
    honest = scores(run())
    store, marker = tmp_path / "runs" / "store", tmp_path / "marker"
    for folder in keep_trained_alone(store, PICKLES["events"]):
        (folder / PICKLES["events"]).write_bytes(pickle.dumps(Poison(marker)))
        signing.sign(folder, signing.secrets_of([folder.name])[folder.name])
        reseal(folder)
    home("second")
    assert scores(run_without(marker, run, executor="processes", workers=2)) == honest


def test_a_trained_system_that_was_moved_to_another_key_is_fitted_again(tmp_path, home):
    """The threshold, which the recogniser gives as its score, is 3 without c, and 2 without a or b."""
    run = events(tmp_path)
    assert levels(run(executor="inline")) == {"a": 2, "b": 2}
    trained = keep_trained_alone(tmp_path / "runs" / "store", PICKLES["events"])
    (odd,) = [folder for folder in trained if pickle.loads((folder / PICKLES["events"]).read_bytes()).level == 3]
    for folder in trained:
        if folder != odd:
            shutil.rmtree(folder)
            shutil.copytree(odd, folder)
    assert levels(run(executor="inline")) == {"a": 2, "b": 2}


def test_a_signed_system_is_loaded_by_a_later_command_also_where_its_files_were_moved(tmp_path, home, capfd):
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    honest = scores(events(first)())
    first.rename(second)
    trained = keep_trained_alone(second / "runs" / "store", PICKLES["events"])
    states = {folder: folder.stat().st_ino for folder in trained}
    assert scores(events(second)(executor="processes", workers=1)) == honest
    assert {folder: folder.stat().st_ino for folder in trained} == states
    assert "fitted again" not in capfd.readouterr().err


def test_users_who_take_turns_with_one_store_each_fit_their_own(tmp_path, home, capfd):
    run = events(tmp_path)
    honest = scores(run(executor="inline"))
    for user in ("second", "first", "second"):
        home(user)
        keep_trained_alone(tmp_path / "runs" / "store", PICKLES["events"])
        assert scores(run(executor="inline")) == honest
        assert capfd.readouterr().err.count("3 trained systems in the store not signed") == 1
