"""Which runs may be compared and on which cases; counts of cases and rows are made by hand."""

import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gnomon
from gnomon.core.cases import Roster
from gnomon.core.errors import InputError
from gnomon.inference.intervals import Plan
from gnomon.inference.paired import compare
from gnomon.measures.classification import Accuracy
from gnomon.runs.alignment import align
from gnomon.runs.comparison import Asked, compare_runs
from gnomon.runs.provenance import Clock
from gnomon.runs.run import make


def run_of(evaluation, plan=None, **changes):
    return make(dataclasses.replace(evaluation, **changes), plan or Plan(), Clock())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"data": "f" * 64}, "scored on different data"),
        ({"suite": "har"}, "scored on different suites"),
        ({"coverage": {"complete": False}}, "other is partial"),
        (
            {"roster": Roster(("1", "2", "3", "4"), ("a", "a", "b", "c"), {"room": ("hall", "lab", "lab", "lab")})},
            "do not hold the same cases",
        ),
        (
            {"roster": Roster(("a/1", "a/2", "b/1", "c/1"), ("a", "a", "b", "d"), {"room": ("h", "l", "l", "l")})},
            "group their cases differently",
        ),
        (
            # The same three groups, but the second case belongs to another of them.
            {"roster": Roster(("a/1", "a/2", "b/1", "c/1"), ("a", "b", "b", "c"), {"room": ("h", "l", "l", "l")})},
            "group their cases differently",
        ),
    ],
)
def test_runs_of_different_work_are_not_compared(evaluation, small_run, changes, message):
    with pytest.raises(InputError, match=message):
        compare_runs([small_run, run_of(evaluation, system="other", **changes)])


def test_runs_of_different_protocols_are_not_compared(evaluation, small_run):
    protocol = dataclasses.replace(evaluation.protocol, version="2")
    with pytest.raises(InputError, match="scored on different protocols"):
        compare_runs([small_run, run_of(evaluation, system="other", protocol=protocol)])


def test_runs_of_different_interval_plans_are_not_compared(evaluation, small_run):
    with pytest.raises(InputError, match="different interval plans"):
        compare_runs([small_run, run_of(evaluation, Plan(level=0.9), system="other")])
    with pytest.raises(InputError, match=r"different seeds \(0 and 3\): .* --over seeds"):
        compare_runs([small_run, run_of(evaluation, Plan(seed=3), system="other")])


def pooled(evaluation, name, pool):
    facts = {"pool_fingerprint": pool} if pool else {}
    return run_of(evaluation, system=name, facts={**evaluation.facts, **facts})


@pytest.mark.parametrize(
    ("pools", "shown"), [(("a" * 64, "b" * 64), ("a" * 12, "b" * 12)), (("a" * 64, ""), ("a", "none"))]
)
def test_runs_that_rank_in_different_pools_are_not_compared(evaluation, pools, shown):
    runs = [pooled(evaluation, name, pool) for name, pool in zip(("one", "two"), pools, strict=True)]
    with pytest.raises(InputError, match=f"one and two .* different candidate pools \\({shown[0]}.* and {shown[1]}"):
        compare_runs(runs)
    with pytest.raises(InputError, match="different candidate pools"):
        compare_runs(runs, Asked(common=True))


def test_runs_that_rank_in_the_same_pool_are_compared(evaluation):
    assert compare_runs([pooled(evaluation, name, "a" * 64) for name in ("one", "two")])


@given(order=st.permutations(range(4)))
def test_the_order_of_cases_changes_nothing(evaluation, small_run, order):
    other = run_of(
        evaluation,
        system="other",
        roster=evaluation.roster.take(order),
        tallies={"classification": evaluation.tallies["classification"].take(np.array(order))},
    )
    found = align([small_run, other]).runs
    assert found[1].roster == small_run.roster
    assert found[1].tallies == small_run.tallies


def rows(ledger):
    return list(zip(ledger.case.tolist(), *(column.tolist() for column in ledger.columns.values()), strict=True))


def test_ledgers_follow_their_cases(small_run):
    """The small run has 3, 2, 3 and 3 rows in its cases; the third comes first and the second is left out."""
    runs = [dataclasses.replace(small_run, alias=name) for name in ("a", "b")]
    wanted = small_run.roster.take([2, 0, 3])
    short = dataclasses.replace(
        runs[0],
        roster=wanted,
        tallies={"classification": small_run.tallies["classification"].take(np.array([2, 0, 3]))},
        ledgers={},
    )
    found = align([short, runs[1]], common=True)
    assert found.scope == "on 3 of 4 cases that all runs scored"
    ledger, whole = found.runs[1].ledgers["confusion"], small_run.ledgers["confusion"]
    assert np.bincount(ledger.case).tolist() == [3, 3, 3]
    place = {2: 0, 0: 1, 3: 2}
    moved = [(place[case], *rest) for case, *rest in rows(whole) if case in place]
    assert sorted(rows(ledger)) == sorted(moved)


TRUTH = {
    "id": [f"r{i:02}" for i in range(24)],
    "label": list("aabb" * 6),
    "group": [f"g{i // 4}" for i in range(24)],
}


def answers(wrong, kept=range(24)):
    """Return the truth with some rows wrong, and only some rows kept."""
    flip = {"a": "b", "b": "a"}
    label = [flip[x] if i in wrong else x for i, x in enumerate(TRUTH["label"])]
    return {"id": [TRUTH["id"][i] for i in kept], "label": [label[i] for i in kept]}


def scored(**systems):
    return gnomon.score("labels", TRUTH, systems, missing="skip").runs


def test_a_run_that_lacks_cases_is_refused_with_the_number_of_those_in_common():
    """Six groups of four rows; 'short' has the first four groups and half of the fifth."""
    runs = scored(full=answers({0}), short=answers({1, 5}, range(18)))
    with pytest.raises(InputError) as refused:
        compare_runs(runs)
    assert "short is partial: 18 of 24 rows scored" in str(refused.value)
    assert "--common (in Python: common=True) compares on 4 of 6 cases that all runs scored" in str(refused.value)


def test_common_cases_are_those_that_every_run_scored_in_full():
    """On 16 rows of four groups: 'full' has one wrong, 'short' two."""
    runs = scored(full=answers({0, 17, 23}), short=answers({1, 5}, range(18)))
    (found,) = compare_runs(runs, Asked(("accuracy",), common=True))
    assert (found.a, found.b, found.result.groups) == ("full", "short", 4)
    assert found.result.difference == pytest.approx(15 / 16 - 14 / 16)
    cut = {name: column[:16] for name, column in TRUTH.items()}
    pair = gnomon.score("labels", cut, {"full": answers({0}, range(16)), "short": answers({1, 5}, range(16))}).runs
    assert found.result == compare(Accuracy(), *(run.groups(Accuracy()) for run in pair))
    assert found.scope == "on 4 of 6 cases that all runs scored"
    assert found.notes == ("short: partial: 18 of 24 rows scored",)


def test_the_best_is_the_best_on_the_common_cases():
    """'full' is better on everything (5 of 24 wrong against 4 of 16), and worse on the first four groups (5 of 16)."""
    runs = scored(full=answers(range(5)), short=answers({0, 2, 4, 6}, range(16)))
    (found,) = compare_runs(runs, Asked(("accuracy",), common=True))
    assert (found.a, found.b) == ("short", "full")


def test_two_partial_runs_share_what_both_scored_in_full():
    """Rows 0-15 and rows 6-23: together all of the truth, and of the groups 2 and 3 both have all four rows."""
    runs = scored(one=answers({8}, range(16)), two=answers({9, 12}, range(6, 24)))
    (found,) = compare_runs(runs, Asked(("accuracy",), common=True))
    assert found.result.groups == 2
    assert found.result.difference == pytest.approx(1 / 8)
    assert found.scope == "on 2 cases that all runs scored, of 6 that any did"


@pytest.mark.parametrize("common", [False, True])
def test_rows_that_nobody_scored_leave_it_open_which_cases_are_whole(common):
    """Both have two rows of the last group, but not the same two, and neither has its last row."""
    runs = scored(one=answers({0}, [*range(20), 20, 21]), two=answers({1}, [*range(20), 21, 22]))
    with pytest.raises(InputError, match="cannot be told which cases all runs scored in full"):
        compare_runs(runs, Asked(common=common))


def test_the_same_rows_are_the_same_cases(tmp_path):
    """The last row has no prediction in either run: all six groups are compared, also from disk."""
    systems = {"one": answers({0}, range(23)), "two": answers({1, 2}, range(23))}
    result = gnomon.score("labels", TRUTH, systems, missing="skip", out=tmp_path)
    for runs in (result, tmp_path):
        row = gnomon.compare(runs, measures="accuracy", common=True).tables["comparison"].rows[0]
        assert row["groups"].value == 6
        assert row["difference"].value == pytest.approx(1 / 23)


def test_runs_without_a_case_in_common_are_refused():
    runs = scored(one=answers({0}, range(12)), two=answers({20}, range(12, 24)))
    with pytest.raises(InputError, match="no case was scored in full by all of them"):
        compare_runs(runs, Asked(common=True))


def test_common_changes_nothing_where_all_is_there():
    runs = scored(one=answers({0}), two=answers({1, 2}))
    assert [(f.result, f.scope) for f in compare_runs(runs, Asked(common=True))] == [
        (f.result, "") for f in compare_runs(runs)
    ]


FRAGILE = """
import numpy as np

class Fragile:
    def fit(self, features, labels, rng):
        self.label = labels[0]

    def predict(self, features):
        if (features[:, 0] == 3).any():
            raise RuntimeError("group 3 hurts")
        return np.full(len(features), self.label)
"""


def test_a_run_with_a_failed_cell_is_compared_on_the_rest(tmp_path):
    """Six groups in three folds of two: the fold of group 3 fails, four groups are left."""
    table = {**TRUTH, "x": [float(i // 4) for i in range(24)]}
    (tmp_path / "fragile.py").write_text(FRAGILE)
    system = f"{tmp_path / 'fragile.py'}:Fragile"
    options = {"truth": table, "folds": 3, "retries": 0, "out": tmp_path / "runs"}
    result = gnomon.run("labels", systems=(system, "majority"), **options)
    assert not result.complete
    assert "comparison" not in result.tables
    assert any("--common" in note for note in result.tables["scores"].notes)
    with pytest.raises(InputError, match=r"2 of 3 cells.* on 4 of 6 cases"):
        gnomon.compare(tmp_path / "runs")
    found = gnomon.compare(tmp_path / "runs", common=True).tables["comparison"]
    assert found.title == "paired comparison on 4 of 6 cases that all runs scored"
    assert found.notes[0] == "compared only on 4 of 6 cases that all runs scored"
    assert "partial: 2 of 3 cells" in found.notes[1]
    assert found.rows[0]["groups"].value == 4


def test_systems_that_fail_in_the_same_cell_are_compared_on_the_rest(tmp_path):
    """A cell holds whole groups, so that what both lack cannot cut a case."""
    table = {**TRUTH, "x": [float(i // 4) for i in range(24)]}
    for name in ("one", "two"):
        (tmp_path / f"{name}.py").write_text(f"{FRAGILE}\nNAME = {name!r}\n")
    systems = tuple(f"{tmp_path / name}.py:Fragile" for name in ("one", "two"))
    result = gnomon.run("labels", truth=table, folds=3, retries=0, systems=systems, out=tmp_path / "runs")
    (found,) = compare_runs(result.runs, Asked(common=True))
    assert found.scope == "on 4 cases that all runs scored, of 4 that any did"


def events(path, subjects, shift):
    """Write two recordings of a minute for each subject, and results that begin late; without the subjects 0 and 1."""
    truth, results = [], {"whole": {}, "short": {}}
    for number in range(subjects):
        for part in ("am", "pm"):
            name = f"s{number}{part}"
            stretch = {"label": "walk", "t1": 10.0, "t2": 30.0 + number}
            record = {"t1": 0.0, "t2": 60.0, "subject": {"id": f"s{number}"}, "labels": [stretch]}
            (path / f"{name}.json").write_text(json.dumps(record))
            truth.append(str(path / f"{name}.json"))
            results["whole"][name] = [{**stretch, "t1": 12.0}]
            if number > 1:
                results["short"][name] = [{**stretch, "t1": 12.0 + shift * number}]
    for name, found in results.items():
        (path / f"results-{name}.json").write_text(json.dumps(found))
    return truth, [f"{name}={path / f'results-{name}.json'}" for name in results]


def test_events_with_missing_cases_are_compared_on_the_rest(tmp_path):
    """Six subjects with two recordings each; 'short' has no result for the four recordings of two of them."""
    truth, results = events(tmp_path, 6, 1.5)
    gnomon.score("events", truth, results, missing="skip", out=tmp_path / "runs")
    with pytest.raises(InputError, match=r"short is partial.* on 8 of 12 cases"):
        gnomon.compare(tmp_path / "runs")
    table = gnomon.compare(tmp_path / "runs", measures="time_macro_f1", against="short", common=True).tables[
        "comparison"
    ]
    assert table.title == "paired comparison on 8 of 12 cases that all runs scored"
    # By hand: of the true seconds 'whole' finds all but 2, 'short' all but 2 + 1.5 k, for subjects k = 2..5 twice.
    true = sum(2 * (20 + k) for k in range(2, 6))
    missed = {"whole": 2 * 4 * 2, "short": sum(2 * (2 + 1.5 * k) for k in range(2, 6))}
    f1 = {name: 2 * (true - lost) / (2 * true - lost) for name, lost in missed.items()}
    row = table.rows[0]
    assert (row["a"].value, row["b"].value, row["groups"].value) == ("whole", "short", 4)
    assert row["difference"].value == pytest.approx(f1["whole"] - f1["short"])
