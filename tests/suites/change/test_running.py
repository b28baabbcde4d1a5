"""``gnomon run change``: which rooms are seen by whom, resumed work, failures, folds; spies are written here."""

import json
import shutil

import numpy as np
import pytest
from sklearn.model_selection import KFold

import gnomon
from gnomon.core.errors import InputError, NothingScoredError
from gnomon.runs.verify import verify
from gnomon.suites.change.files import read_dataset
from gnomon.suites.change.running import _room_folds, _scene_folds

pytestmark = pytest.mark.usefixtures("in_this_process")

SPY = '''
"""Systems that say what they were given."""

import os
from pathlib import Path

import numpy as np

from gnomon.suites.change.systems.detection import Detection


def note(kind, points):
    with open(os.environ["SPY"], "a") as file:
        file.write(f"{kind} {float(np.asarray(points, float).sum()):.6f}\\n")


class Plain:
    def __init__(self, *, shift: float = 0.0, quiet: bool = False):
        self.shift, self.quiet = shift, quiet

    def detect(self, reference, comparison):
        if len(comparison) > 1800:  # what is given to warm up is shorter
            note("detect", comparison)
        boxes = [] if self.quiet else [[0, 0, 0, 1 + self.shift, 1, 1]]
        zeros = np.zeros(len(reference)), np.zeros(len(comparison))
        return Detection(boxes, ("Add",) * len(boxes), [0.5] * len(boxes), *zeros, {"all": 0.1})


class Taught(Plain):
    def fit(self, scenes, seed):
        for scene in scenes:
            reference, comparison, gone, come = scene.read()
            assert set(np.unique(gone)) <= {0, 2} and set(np.unique(come)) <= {0, 1}
            note("fit", comparison)
        self.taught = len(scenes)
        return {"rounds": 3, "seed": seed}


class Saved(Taught):
    def save(self, folder):
        (Path(folder) / "own.txt").write_text(str(self.taught))

    def load(self, folder):
        self.taught = int((Path(folder) / "own.txt").read_text())


class Broken(Plain):
    def detect(self, reference, comparison):
        if len(comparison) > 1800 and note("broken", comparison) is None:
            raise ValueError("cannot see")
        return super().detect(reference, comparison)


class Odd(Plain):
    def detect(self, reference, comparison):
        return []
'''


@pytest.fixture
def spy(tmp_path, monkeypatch):
    """Return where the systems are, and what they have noted: the scenes by kind."""
    path = tmp_path / "spy.py"
    path.write_text(SPY)
    monkeypatch.setenv("SPY", str(tmp_path / "seen.txt"))

    def seen(rooms):
        names = {}
        for scene in read_dataset(rooms):
            total = float(scene.clouds()[1].points.astype(float).sum())
            names[f"{total:.6f}"] = scene.id
        found = {"fit": [], "detect": [], "broken": []}
        log = tmp_path / "seen.txt"
        for line in log.read_text().splitlines() if log.exists() else []:
            kind, total = line.split()
            found[kind].append(names[total])
        return found

    return path, seen


def run(rooms, tmp_path, systems, **options):
    return gnomon.run("change", data_path=str(rooms), systems=systems, out=str(tmp_path / "runs"), **options)


def rooms_of(scenes):
    return {scene.rpartition("-")[0] for scene in scenes}


def test_the_test_part_is_tested_and_written_in_the_published_form(rooms, tmp_path):
    result = run(rooms, tmp_path, "distance,nothing,everything")
    runs = {r.system: r for r in result.runs}
    assert list(runs) == ["distance", "nothing", "everything"]
    split = runs["nothing"].manifest["protocol"]["split"]
    assert (split["part"], split["by"], split["seed"], split["groups"]) == (
        "test",
        "room",
        42,
        {"train": 5, "val": 1, "test": 1},
    )
    assert len(set(runs["nothing"].roster.groups)) == 1
    assert runs["nothing"].manifest["facts"]["trivial"]
    assert runs["nothing"].find("far").value == 0.0
    assert runs["everything"].find("far").value == 1.0
    assert runs["everything"].find("point_macro3_recall").value == pytest.approx(2 / 3)
    value = json.loads((tmp_path / "runs" / "results.json").read_text())
    assert list(value["methods"]) == ["distance", "nothing", "everything"]
    assert value["methods"]["nothing"]["num_scenes"] == 5
    assert all(check.passed for r in result.runs for check in verify(r.path))
    assert any("not simulated" in verdict.missing[0] for verdict in runs["nothing"].verdicts if verdict.missing)


def test_seed_decides_the_split_unless_another_is_given(rooms, tmp_path):
    tested = {}
    for options in ({"seed": 42}, {"seed": 1}, {"seed": 1, "split_seed": 42}):
        result = run(rooms, tmp_path, "nothing", **options)
        tested[tuple(options.items())] = set(result.runs[0].roster.groups)
    first, second, third = tested.values()
    assert first == third
    assert first != second


def test_training_sees_the_train_part_and_nothing_else(rooms, tmp_path, spy):
    path, seen = spy
    result = run(rooms, tmp_path, f"{path}:Taught")
    found = seen(rooms)
    trained, tested = rooms_of(found["fit"]), rooms_of(found["detect"])
    assert len(trained) == 5
    assert len(tested) == 1
    assert not trained & tested
    training = result.runs[0].manifest["facts"]["training"]
    assert [(item["scenes"], item["rounds"], item["seed"]) for item in training] == [(25, 3, 42)]
    assert result.tables["training"].rows[0]["scenes"].value == 25
    assert {"exact-duplicates", "shared-tags"} <= set(result.runs[0].made)
    assert not [f for f in result.runs[0].findings if f.severity == "error"]


def test_a_validation_run_never_opens_a_test_room(rooms, tmp_path, spy):
    path, seen = spy
    tested = set(run(rooms, tmp_path, "nothing").runs[0].roster.groups)
    run(rooms, tmp_path, f"{path}:Taught", part="val")
    found = seen(rooms)
    assert not tested & rooms_of(found["fit"] + found["detect"])


def test_done_work_is_not_done_again(rooms, tmp_path, spy):
    path, seen = spy
    first = run(rooms, tmp_path, f"{path}:Saved@shift=1")
    count = {kind: len(scenes) for kind, scenes in seen(rooms).items()}
    second = run(rooms, tmp_path, f"{path}:Saved@shift=1")
    assert {kind: len(scenes) for kind, scenes in seen(rooms).items()} == count
    assert [s.record() for s in first.runs[0].scores] == [s.record() for s in second.runs[0].scores]
    run(rooms, tmp_path, f"{path}:Saved@shift=2")
    assert len(seen(rooms)["detect"]) == 2 * count["detect"]


@pytest.mark.parametrize("folds", [3, 5])
def test_published_folds_are_those_of_scikit_learn(rooms, folds):
    scenes = read_dataset(rooms).scenes
    expected = {}
    for fold, (_, test) in enumerate(KFold(folds, shuffle=True, random_state=42).split(np.arange(len(scenes)))):
        expected |= {scenes[index].id: fold for index in test}
    assert _scene_folds(scenes, folds, 42) == expected


def test_strict_folds_keep_rooms_together(rooms):
    scenes = read_dataset(rooms).scenes
    names = sorted({scene.room for scene in scenes})
    folds = _room_folds(scenes, names, 3, 42)
    assert all(len({folds[scene.id] for scene in scenes if scene.room == name}) == 1 for name in names)
    assert sorted(np.bincount([folds[f"{name}-2"] for name in names]).tolist()) == [2, 2, 3]


def test_folds_test_every_scene_once_with_what_others_taught(rooms, tmp_path, spy):
    path, seen = spy
    result = run(rooms, tmp_path, f"{path}:Taught", folds=3)
    found = seen(rooms)
    assert sorted(found["detect"]) == sorted(scene.id for scene in read_dataset(rooms))
    assert len(found["fit"]) == 2 * 35
    assert result.runs[0].manifest["protocol"]["split"] == {"folds": 3, "by": "room"}
    assert len(result.runs[0].manifest["facts"]["training"]) == 3


def test_both_variants_of_folds_are_trained_apart(rooms, tmp_path, spy):
    path, seen = spy
    result = run(rooms, tmp_path, f"{path}:Taught", folds=2, variant="both")
    assert len(seen(rooms)["detect"]) == 2 * 35
    assert {r.manifest["protocol"]["split"]["by"] for r in result.runs} == {"scene", "room"}
    published, strict = sorted(result.runs, key=lambda r: r.system)
    assert "room" in {f.where for f in published.findings if f.id == "shared-tag"}
    assert not [f for f in strict.findings if f.id == "shared-tag"]


def test_a_system_that_fails_leaves_a_partial_run_and_the_others(rooms, tmp_path, spy):
    path, _ = spy
    result = run(rooms, tmp_path, f"{path}:Broken,nothing", retries=0)
    broken, nothing = result.runs
    assert (broken.complete, nothing.complete, result.complete) == (False, True, False)
    assert len(broken.roster) == 0
    assert "cannot see" in broken.coverage["cells"]["missing"][0]["why"]
    assert broken.scores[0].why


def test_a_system_that_returns_something_else_is_named(rooms, tmp_path, spy):
    path, _ = spy
    with pytest.raises(NothingScoredError, match=r"detect\(\) returned list: expected a Detection"):
        run(rooms, tmp_path, f"{path}:Odd", retries=0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"systems": "multi_stag"}, "multi_stag"),
        ({"systems": "multi_stage@epss=1"}, "no parameter 'epss'; it has"),
        ({"systems": "nothing", "folds": 1}, "at least 2"),
        ({"systems": "nothing", "folds": 2, "part": "val"}, "leave --part out"),
        ({"systems": "nothing", "folds": 100}, "100 folds need at least as many scenes"),
        ({"systems": "nothing", "split": "100/0/0"}, "gives it no room"),
    ],
)
def test_what_cannot_be_done_is_refused(rooms, tmp_path, options, message):
    with pytest.raises(InputError, match=message):
        run(rooms, tmp_path, options.pop("systems"), **options)


def test_training_and_testing_on_everything_is_refused(rooms, tmp_path, spy):
    path, _ = spy
    with pytest.raises(InputError, match="is trained: give --part test"):
        run(rooms, tmp_path, f"{path}:Taught", part="all")
    with pytest.raises(InputError, match="is trained on the train part"):
        run(rooms, tmp_path, f"{path}:Taught", part="train")


def test_a_training_scene_whose_label_cannot_be_read_is_left_out_and_named(rooms, tmp_path, spy):
    path, seen = spy
    data = shutil.copytree(rooms, tmp_path / "rooms")
    trained = run(rooms, tmp_path, f"{path}:Taught").runs[0].manifest["facts"]["training"][0]["scenes"]
    scene = next(name for name in seen(rooms)["fit"])
    (data / "Label" / f"{scene}.json").write_text('{"bad":')
    result = run(data, tmp_path / "again", f"{path}:Taught,nothing")
    taught, plain = result.runs
    assert taught.manifest["facts"]["training"][0]["scenes"] == trained - 1
    assert not taught.coverage["complete"]
    assert plain.coverage["complete"]  # it is not trained
    (said,) = (item for item in taught.findings if item.id == "dataset-gaps")
    assert "left out of training, since the label cannot be read" in said.evidence
    assert f"{scene}.json" in said.evidence
