"""Parts of the groups in ``gnomon run labels``, and parameters of systems. Expected values by hand."""

import json

import numpy as np
import pytest

import gnomon
from gnomon.core.errors import InputError
from gnomon.core.partition import parts, shares
from gnomon.suites.labels.systems import NearestMean

pytestmark = pytest.mark.usefixtures("in_this_process")

GROUPS = [f"g{n}" for n in range(10)]
SPLIT = "60/20/20"
SPY = """
import json, os
import numpy as np

class Spy:
    def fit(self, features, labels, rng):
        self.fitted = sorted(set(features[:, 0].tolist()))

    def predict(self, features):
        with open(os.environ["SPY_LOG"], "a") as log:
            log.write(json.dumps([self.fitted, sorted(set(features[:, 0].tolist()))]) + "\\n")
        return np.full(len(features), "a")
"""


@pytest.fixture
def table():
    """Ten groups of three rows; the only feature is the number of the group."""
    rows = [(f"{group}-{row}", "ab"[row % 2], group, number) for number, group in enumerate(GROUPS) for row in range(3)]
    return {name: [row[at] for row in rows] for at, name in enumerate(("id", "label", "group", "number"))}


@pytest.fixture
def spied(tmp_path, monkeypatch, table):
    (tmp_path / "spy.py").write_text(SPY)
    monkeypatch.setenv("SPY_LOG", str(tmp_path / "log"))

    def run(**options):
        (tmp_path / "log").unlink(missing_ok=True)
        given = {"truth": table, "systems": f"{tmp_path / 'spy.py'}:Spy", "out": "none", "split": SPLIT}
        result = gnomon.run("labels", **{**given, **options})
        return result, [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]

    return run


def of(part):
    return [number for number, own in enumerate(parts(GROUPS, shares(SPLIT), 42).values()) if own == part]


@pytest.mark.parametrize("part", ["val", "test"])
def test_systems_are_fitted_on_train_and_asked_about_the_part(spied, part):
    result, calls = spied(part=part)
    assert calls == [[of("train"), of(part)]]
    run = result.runs[0]
    assert sorted(run.roster.groups) == [GROUPS[number] for number in of(part)]
    assert run.manifest["protocol"]["split"] == {
        "part": part,
        "by": "group",
        "shares": "60/20/20",
        "seed": 42,
        "groups": {"train": 6, "val": 2, "test": 2},
        "features": ["number"],
    }
    assert run.find("accuracy").value == pytest.approx(2 / 3)  # every group has a, b, a


def test_the_train_part_is_dealt_into_folds(spied):
    result, calls = spied(part="train", folds=3)
    assert len(calls) == 3
    assert sorted(number for _, asked in calls for number in asked) == of("train")
    assert all(not set(fitted) & set(asked) and set(fitted) <= set(of("train")) for fitted, asked in calls)
    assert result.runs[0].manifest["protocol"]["split"]["folds"] == 3


def test_too_few_groups(table):
    few = {name: values[:9] for name, values in table.items()}
    with pytest.raises(InputError, match="3 groups split 70/15/15 leave none for test"):
        gnomon.run("labels", truth=few, part="val", out="none")


def test_parameters_of_systems(table, tmp_path):
    systems = ("nearest_mean,nearest_mean@shrinkage=0.5", "nearest_mean@scaling=false", "majority")
    result = gnomon.run("labels", truth=table, systems=systems, folds=2, out=tmp_path)
    assert len(result.runs) == 4
    by_name = {run.manifest["system"]: run for run in result.runs}
    resolved = by_name["nearest_mean@shrinkage=0.5"].manifest["options"]["resolved"]
    assert resolved["parameters"] == {"shrinkage": 0.5}
    with pytest.raises(InputError, match="'majority' has no parameter 'scaling'; it has none"):
        gnomon.run("labels", truth=table, systems="majority@scaling=true", out="none")
    with pytest.raises(InputError, match="no system given"):
        gnomon.run("labels", truth=table, systems=(), out="none")


def test_nearest_mean_by_hand():
    """Means are 0 (a) and 10 (b) on the first axis; 4 is nearer to 0, 7 to 10; shrunk onto the mean, a tie is a."""
    features = np.array([[-1.0], [1.0], [9.0], [11.0]])
    labels = np.array(["a", "a", "b", "b"])
    asked = np.array([[4.0], [7.0]])
    for scaling in (True, False):
        system = NearestMean(scaling=scaling)
        system.fit(features, labels, np.random.default_rng(0))
        assert system.predict(asked).tolist() == ["a", "b"]
        shrunk = NearestMean(scaling=scaling, shrinkage=1.0)
        shrunk.fit(features, labels, np.random.default_rng(0))
        assert shrunk.predict(asked).tolist() == ["a", "a"]
    # unscaled, the second axis of a hundred times the spread decides; scaled, both count alike
    wide = np.array([[0.0, 0.0], [0.0, 100.0], [1.0, 50.0], [1.0, 170.0]])
    point = np.array([[0.0, 109.0]])
    answers = []
    for scaling in (True, False):
        system = NearestMean(scaling=scaling)
        system.fit(wide, labels, np.random.default_rng(0))
        answers += system.predict(point).tolist()
    assert answers == ["a", "b"]


@pytest.mark.parametrize("shrinkage", [-0.1, 1.1, float("nan")])
def test_shrinkage_is_a_share(shrinkage):
    with pytest.raises(InputError, match="expected 0 to 1"):
        NearestMean(shrinkage=shrinkage)


ODD = """
import numpy as np

class Odd:
    '''Answers the class that it was told, whatever it learns.'''
    def __init__(self, answer: str = "c"):
        self.answer = answer

    def fit(self, features, labels, rng):
        pass

    def predict(self, features):
        return np.full(len(features), self.answer)
"""


def test_classes_of_another_part_are_no_misspelt_labels(tmp_path, table):
    """The class c is in the train part alone: an answer c is wrong there, not misspelt; d is nowhere."""
    (tmp_path / "odd.py").write_text(ODD)
    only = GROUPS[of("train")[0]]
    labels = ["c" if group == only else label for label, group in zip(table["label"], table["group"], strict=True)]
    systems = f"{tmp_path / 'odd.py'}:Odd,{tmp_path / 'odd.py'}:Odd@answer=d"
    given = {"truth": {**table, "label": labels}, "systems": systems, "split": SPLIT, "out": "none"}
    one, other = gnomon.run("labels", **given, part="val").runs
    assert "labels-never-true" not in {finding.id for finding in one.findings}
    (finding,) = [finding for finding in other.findings if finding.id == "labels-never-true"]
    assert "'d'" in finding.evidence
    assert finding.where == other.manifest["system"]
    assert "spelling" not in finding.remedy
