"""``gnomon run labels``: folds over groups through the engine. Expected values by hand or by plain references."""

import json

import numpy as np
import pytest

import gnomon
from gnomon.core.errors import InputError
from gnomon.core.options import build
from gnomon.suites.labels.options import SimulateOptions
from gnomon.suites.labels.simulate import simulate

pytestmark = pytest.mark.usefixtures("in_this_process")


@pytest.fixture
def truth(tmp_path):
    return simulate(build(SimulateOptions, {"directory": str(tmp_path / "data"), "groups": 8, "rows": 30}))[0]


def test_built_in_systems_are_ordered_as_they_should_be(truth, tmp_path):
    result = gnomon.run("labels", truth=truth, out=tmp_path / "runs")
    scores = {name: values["macro_f1"] for name, values in result.scores.items()}
    assert scores["nearest_mean"] > 0.5 > max(scores["majority"], scores["stratified"])
    assert result.complete
    assert all(run.coverage["cells"] == {"total": 5, "done": 5, "missing": []} for run in result.runs)


def test_majority_by_a_plain_reference(tmp_path):
    """Leave-one-group-out majority vote, computed by hand below."""
    table = {
        "id": list("abcdef"),
        "label": ["x", "x", "x", "y", "y", "y"],
        "group": ["g", "g", "h", "h", "i", "i"],
    }
    run = gnomon.run("labels", truth=table, systems=("majority",), folds=3, out=tmp_path).runs[0]
    # without g: x 1, y 3 -> y for a, b (both wrong); without h: x 2, y 2 -> x, the first, for c (right), d (wrong);
    # without i: x 3, y 1 -> x for e, f (both wrong)
    assert run.find("accuracy").value == pytest.approx(1 / 6)


SPY = """
import json, os
import numpy as np

class Spy:
    def fit(self, features, labels, rng):
        print("hello from fit")
        self.seen = sorted(set(features[:, 0].tolist()))

    def predict(self, features):
        with open(os.environ["SPY_LOG"], "a") as log:
            log.write(json.dumps([self.seen, sorted(set(features[:, 0].tolist()))]) + "\\n")
        return np.full(len(features), "walking")
"""


def test_a_system_from_a_file_never_sees_its_test_groups(tmp_path, monkeypatch, capsys):
    """The only feature is the number of the group: what a system saw and what it was asked about must be disjoint."""
    table = {"id": [str(i) for i in range(24)], "label": ["a", "b"] * 12, "group": [f"g{i // 3}" for i in range(24)]}
    table["number"] = [i // 3 for i in range(24)]
    (tmp_path / "spy.py").write_text(SPY)
    monkeypatch.setenv("SPY_LOG", str(tmp_path / "log"))
    gnomon.run("labels", truth=table, systems=(f"{tmp_path / 'spy.py'}:Spy",), folds=4, out=tmp_path / "runs")
    pairs = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert len(pairs) == 4
    assert all(not set(seen) & set(asked) for seen, asked in pairs)
    assert sorted(group for _, asked in pairs for group in asked) == list(range(8))
    assert "hello" not in capsys.readouterr().out


def test_slices_and_groups_are_no_features(tmp_path):
    table = {"id": list("abcdef"), "label": list("xyxyxy"), "group": [1, 1, 2, 2, 3, 3], "session": [1, 2, 1, 2, 1, 2]}
    table["speed"] = [0.1, 0.9, 0.2, 0.8, 0.1, 0.9]
    options = {"truth": table, "systems": ("nearest_mean",), "folds": 3, "slice": ("session",)}
    run = gnomon.run("labels", out=tmp_path, **options).runs[0]
    assert run.manifest["options"]["resolved"]["features"] == ["speed"]
    assert run.manifest["protocol"]["split"] == {"folds": 3, "by": "group", "features": ["speed"]}
    assert run.manifest["options"]["resolved"]["system_source"].startswith("NearestMean:")


@pytest.mark.parametrize(
    ("body", "why"),
    [("return [None] * len(features)", "returned NoneType"), ("raise SystemExit(0)", "SystemExit: 0")],
)
def test_a_system_that_returns_nothing_or_leaves_fails_alone(truth, tmp_path, body, why):
    source = f"class Odd:\n    def fit(self, *a): pass\n    def predict(self, features):\n        {body}\n"
    (tmp_path / "odd.py").write_text(source)
    systems = (f"{tmp_path / 'odd.py'}:Odd", "majority")
    result = gnomon.run("labels", truth=truth, systems=systems, folds=2, retries=0, out=tmp_path / "runs")
    assert result.scores["majority"]["accuracy"] is not None
    assert all(why in text for text in result.record()["missing"].values())


def test_the_spelling_of_a_path_does_not_matter(truth, tmp_path):
    for path in (truth, truth.parent / ".." / truth.parent.name / truth.name):
        gnomon.run("labels", truth=path, systems=("majority",), out=tmp_path / "runs")
    events = (tmp_path / "runs" / "store" / "progress.jsonl").read_text()
    assert events.count('"event": "done"') == 6


def test_a_changed_system_is_run_again(truth, tmp_path, monkeypatch):
    monkeypatch.setenv("SPY_LOG", str(tmp_path / "log"))
    for text in (SPY, SPY.replace("walking", "sitting")):
        (tmp_path / "spy.py").write_text(text)
        gnomon.run("labels", truth=truth, systems=(f"{tmp_path / 'spy.py'}:Spy",), folds=4, out=tmp_path / "runs")
    assert len((tmp_path / "log").read_text().splitlines()) == 8


FRAGILE = """
import numpy as np

class Fragile:
    def fit(self, features, labels, rng):
        self.label = labels[0]

    def predict(self, features):
        if features[0, 0] == np.float64(%r):
            raise RuntimeError("the third fold hurts")
        return np.full(len(features), self.label)
"""


def test_a_failing_fold_leaves_a_partial_run_that_says_so(truth, tmp_path):
    import pyarrow.parquet as pq

    options = {"truth": truth, "folds": 4, "retries": 0, "out": tmp_path / "runs"}
    gnomon.run("labels", systems=("majority",), **options)
    (data,) = (tmp_path / "runs" / "store").glob("??/*/data.parquet")
    table = pq.read_table(data)
    first = table["x:x1"].to_numpy()[table["__fold__"].to_numpy() == 2][0]
    (tmp_path / "fragile.py").write_text(FRAGILE % float(first))
    system = f"{tmp_path / 'fragile.py'}:Fragile"
    result = gnomon.run("labels", systems=(system, "majority"), **options)
    run = next(run for run in result.runs if run.system == system)
    assert not result.complete
    assert run.coverage["cells"]["done"] == 3
    assert run.coverage["cells"]["missing"] == [
        {"cell": f"{system} fold 2", "why": "RuntimeError: the third fold hurts (fragile.py:10) (1 attempt)"}
    ]
    assert any("partial: 3 of 4 cells" in note for note in result.tables["scores"].notes)
    why = "RuntimeError: the third fold hurts (fragile.py:10) (1 attempt)"
    assert result.record()["missing"] == {f"{system} fold 2": why}
    assert all(check.passed for check in gnomon.verify(run.path))
    (note, *_) = gnomon.compare(result).tables["comparison"].notes
    assert note.startswith("compared on ")
    assert note.endswith(f"not scored by {system}")


def test_a_system_whose_cells_all_fail_is_there_with_everything_undefined(tmp_path):
    (tmp_path / "own.py").write_text(
        "class Broken:\n    def fit(self, *a):\n        raise ValueError('no such luck')\n"
        "    def predict(self, features):\n        return ['x'] * len(features)\n"
    )
    broken = f"{tmp_path / 'own.py'}:Broken"
    table = {"id": list("abcd"), "label": list("xyxy"), "group": list("gghh"), "speed": [1.0, 2.0, 3.0, 4.0]}
    result = gnomon.run("labels", truth=table, systems=(broken, "majority"), folds=2, out=tmp_path / "runs")
    assert not result.complete
    again = gnomon.load(tmp_path / "runs")
    assert not again.complete
    failed = next(run for run in again.runs if run.system == broken)
    assert failed.find("macro_f1").value is None
    assert failed.find("macro_f1").why == "no samples"
    assert all(check.passed for check in gnomon.verify(failed.path))
    notes = "\n".join(again.tables["scores"].notes)
    assert f"{broken}: partial: 0 of 2 cells; missing {broken} fold 0: ValueError: no such luck" in notes
    (row,) = again.tables["comparison"].rows
    assert row["p"].value is None
    assert row["p"].why.startswith("undefined (no case was scored in full by ")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"systems": ("nothing",)}, "built in are majority, stratified, nearest_mean"),
        ({"systems": ("absent.py:X",)}, "no such file"),
        ({"systems": ("absent_module:X",)}, "cannot be imported"),
        ({"systems": ("json:decoder",)}, "a class with fit and predict, or a function"),
        ({"systems": ("json:JSONDecoder",)}, "a class with fit and predict"),
        ({"systems": ("json:loads",)}, "cannot be made without 's': give json:loads@s=..."),
        ({"truth": "absent.csv"}, "no such file"),
    ],
)
def test_bad_input_is_named(truth, tmp_path, options, words):
    with pytest.raises(InputError, match=words):
        gnomon.run("labels", **{"truth": truth, "out": tmp_path, **options})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"folds": 9}, "9 folds need at least as many groups"),
        ({"features": ("nope",)}, "no column 'nope'"),
        ({"features": ("placement",)}, "'placement' is not numeric"),
        ({"slice": ("nope",)}, "no column 'nope'"),
        ({"group": "nope"}, "no column 'nope'"),
        ({"timeout": 1.0, "executor": "inline"}, "--executor processes"),
    ],
)
def test_bad_input_is_found_before_any_work(truth, tmp_path, options, words):
    with pytest.raises(InputError, match=words):
        gnomon.run("labels", truth=truth, out=tmp_path / "runs", **options)
    assert not (tmp_path / "runs" / "store").exists()


TEXT_ONLY = {"id": list("abcdef"), "label": list("xyxyxy"), "group": list("gghhii"), "room": list("kkkkll")}


def test_without_numeric_columns_it_is_refused_before_any_work(tmp_path):
    with pytest.raises(InputError) as caught:
        gnomon.run("labels", truth=TEXT_ONLY, folds=3, out=tmp_path / "runs")
    assert str(caught.value) == (
        "<truth in memory>: no numeric column for 'nearest_mean' to learn from, besides id, label, group and slices "
        "(not numeric: 'room'); add feature columns, or choose systems that need none (--systems majority,stratified)"
    )
    assert not (tmp_path / "runs" / "store").exists()


def test_trivial_baselines_need_no_numeric_columns(tmp_path):
    (tmp_path / "own.py").write_text(
        "class Constant:\n    trivial = True\n    def fit(self, *a): pass\n"
        "    def predict(self, features):\n        return ['x'] * len(features)\n"
    )
    names = ("majority", "stratified", f"{tmp_path / 'own.py'}:Constant")
    result = gnomon.run("labels", truth=TEXT_ONLY, folds=3, systems=names, out=tmp_path / "runs")
    assert result.complete
    assert result.scores[names[-1]]["accuracy"] == 0.5  # by hand: three of six are x


def test_folds_keep_groups_together_and_are_even(truth, tmp_path):
    from gnomon.suites.labels.cells import deal

    groups = np.repeat([f"g{i}" for i in range(10)], 3)

    class Column:
        def to_pylist(self):
            return groups.tolist()

    folds = deal(Column(), 4, seed=1)
    assert all(len(set(folds[groups == name])) == 1 for name in set(groups))
    assert sorted(np.bincount(folds)) == [6, 6, 9, 9]
    assert not np.array_equal(folds, deal(Column(), 4, seed=2))
