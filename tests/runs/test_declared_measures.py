"""The measures that a suite declares before the work are those of its runs afterwards."""

import json

import pytest

from gnomon.api import runs_of_verb
from gnomon.core import registry


def template(suite, folder):
    verb = registry.suite(suite).verb("template")
    verb.load()(verb.options(directory=str(folder)))
    return folder


def labels(folder):
    table = {"id": list("abcd"), "label": ["x", "y", "x", "z"], "group": list("ghgh"), "v": [1.0, 2.0, 3.0, 4.0]}
    return {"truth": table, "systems": ("majority",), "folds": 2}


def events(folder):
    for name, label in (("one", "walking"), ("two", "visit"), ("three", "idle")):
        (folder / f"{name}.raw.json").write_text(json.dumps([{"time": 0, "type": "accel", "values": [1.0]}]))
        case = {"data_path": f"{name}.raw.json", "t1": 0, "t2": 9, "labels": [{"t1": 1, "t2": 3, "label": label}]}
        (folder / f"{name}.json").write_text(json.dumps(case))
    truth = [str(folder / f"{name}.json") for name in ("one", "two", "three")]
    return {"truth": truth, "recognizers": ("never",), "background": ("idle",)}


def change(folder):
    return {"data_path": str(template("change", folder) / "dataset"), "systems": ("nothing",), "part": "all"}


@pytest.mark.parametrize(("suite", "given"), [("labels", labels), ("events", events), ("change", change)])
@pytest.mark.parametrize("more", [{}, {"variant": "published"}], ids=["default", "published"])
def test_declared_measures_are_those_of_the_run(tmp_path, suite, given, more):
    if suite == "labels" and more:
        pytest.skip("labels has no variants")
    seen = []
    runs, _ = runs_of_verb(
        suite, "run", {**given(tmp_path), "out": "none", **more}, None, lambda measures: seen.append(measures) or {}
    )
    assert [measure.name for measure in seen[0]] == [measure.name for measure in runs[0].measures]
    assert seen[0] == runs[0].measures
