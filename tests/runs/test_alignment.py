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
from gnomon.runs.alignment import align, merge_left_out
from gnomon.runs.comparison import Asked, compare_runs
from gnomon.runs.provenance import Clock
from gnomon.runs.run import make

pytestmark = pytest.mark.usefixtures("in_this_process")


def run_of(evaluation, plan=None, **changes):
    return make(dataclasses.replace(evaluation, **changes), plan or Plan(), Clock())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"data": "f" * 64}, "scored on different data"),
        ({"suite": "har"}, "scored on different suites"),
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
    found = align([short, runs[1]])
    assert found.scope == "on 3 of 4 cases"
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


def test_one_recording_that_every_system_lacks_removes_no_comparison():
    """Six groups; the last has no prediction in any of three systems. p of five groups is at least 2 / 2**5."""
    kept = range(20)
    result = gnomon.score(
        "labels",
        TRUTH,
        {"one": answers({0}, kept), "two": answers({1, 2}, kept), "three": answers({1, 2, 3}, kept)},
        missing="skip",
    )
    table = result.tables["comparison"]
    assert table.title == "paired comparison on 5 of 6 cases"
    assert [row["groups"].value for row in table.rows] == [5, 5]
    assert all(row["p"].value is not None for row in table.rows)
    assert "one and two: compared on 5 of 6 cases: 'g5' was not scored by one, two" in table.notes


def test_systems_that_lack_different_cases_are_compared_pair_by_pair():
    """'one' lacks group 5, 'two' group 4, 'three' both and two rows of group 3."""
    runs = scored(
        one=answers({0}, range(20)),
        two=answers({1, 2}, [*range(16), *range(20, 24)]),
        three=answers({1, 2, 3}, range(14)),
    )
    found = {(item.a, item.b): item for item in compare_runs(runs, Asked(all_pairs=True))}
    assert {pair: item.result.groups for pair, item in found.items()} == {
        ("one", "two"): 4,
        ("one", "three"): 3,
        ("two", "three"): 3,
    }
    assert found["one", "two"].notes == (
        "compared on 4 of 6 cases: 'g5' was not scored by one; 'g4' was not scored by two",
    )
    assert found["one", "three"].notes == (
        "compared on 3 of 6 cases: 'g5' was not scored by one, three; 'g3' was not scored in full by three; "
        "'g4' was not scored by three",
    )
    common = compare_runs(runs, Asked(all_pairs=True, common=True))
    assert [item.result.groups for item in common] == [3, 3, 3]


def test_systems_without_a_common_case_are_undefined_and_the_others_are_compared():
    """'two' and 'three' have no group in common with each other; 'one' has all."""
    runs = scored(one=answers({0}), two=answers({1, 2}, range(12)), three=answers({14, 15, 16}, range(12, 24)))
    found = {(item.a, item.b): item.result for item in compare_runs(runs, Asked(all_pairs=True))}
    assert found["one", "two"].groups == found["one", "three"].groups == 3
    assert found["two", "three"].why == "undefined (no case was scored in full by two and three)"
    table = gnomon.compare(*runs, all_pairs=True).tables["comparison"]
    assert table.rows[2]["p"].value is None
    assert len(gnomon.compare(*runs, all_pairs=True).tables["effects"].rows) == 2


def test_common_cases_are_those_that_every_run_scored_in_full():
    """On 16 rows of four groups: 'full' has one wrong, 'short' two."""
    runs = scored(full=answers({0, 17, 23}), short=answers({1, 5}, range(18)))
    (found,) = compare_runs(runs, Asked(("accuracy",), common=True))
    assert (found.a, found.b, found.result.groups) == ("full", "short", 4)
    assert found.result.difference == pytest.approx(15 / 16 - 14 / 16)
    cut = {name: column[:16] for name, column in TRUTH.items()}
    pair = gnomon.score("labels", cut, {"full": answers({0}, range(16)), "short": answers({1, 5}, range(16))}).runs
    assert found.result == compare(Accuracy(), *(run.groups(Accuracy()) for run in pair))
    assert found.scope == "on 4 of 6 cases"
    assert found.notes == (
        "compared on 4 of 6 cases: 'g4' was not scored in full by short; 'g5' was not scored by short",
    )


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
    assert found.scope == "on 2 of 6 cases"


def test_a_case_of_which_systems_lack_different_rows_is_left_out():
    """Both have two rows of the last group, but not the same two, and neither has its last row."""
    runs = scored(one=answers({0}, [*range(20), 20, 21]), two=answers({1}, [*range(20), 21, 22]))
    (found,) = compare_runs(runs)
    assert found.notes == ("compared on 5 of 6 cases: 'g5' was not scored in full by one, two",)
    assert found.result.groups == 5


def test_rows_that_nobody_scored_leave_it_open_which_cases_are_whole():
    """Runs of which it is not recorded how many rows each case lacks."""
    runs = scored(one=answers({0}, [*range(20), 20, 21]), two=answers({1}, [*range(20), 21, 22]))
    old = [dataclasses.replace(run, coverage={k: v for k, v in run.coverage.items() if k != "lacking"}) for run in runs]
    (found,) = compare_runs(old)
    assert found.result.p is None
    assert "cannot be told which cases all runs scored in full" in found.result.why


def test_the_same_rows_are_the_same_cases(tmp_path):
    """The last row has no prediction in either run: all six groups are compared, also from disk."""
    systems = {"one": answers({0}, range(23)), "two": answers({1, 2}, range(23))}
    result = gnomon.score("labels", TRUTH, systems, missing="skip", out=tmp_path)
    for runs in (result, tmp_path):
        row = gnomon.compare(runs, metrics="accuracy", common=True).tables["comparison"].rows[0]
        assert row["groups"].value == 6
        assert row["difference"].value == pytest.approx(1 / 23)


def test_runs_without_a_case_in_common_are_refused():
    runs = scored(one=answers({0}, range(12)), two=answers({20}, range(12, 24)))
    with pytest.raises(InputError, match="no case was scored in full by one and two"):
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
    for found in (result.tables["comparison"], gnomon.compare(tmp_path / "runs").tables["comparison"]):
        assert found.title == "paired comparison on 4 of 6 cases"
        assert found.notes[0].startswith("compared on 4 of 6 cases: ")
        assert "were not scored by " in found.notes[0]
        assert found.rows[0]["groups"].value == 4


def test_systems_that_fail_in_the_same_cell_are_compared_on_the_rest(tmp_path):
    """A cell holds whole groups, so that what both lack cannot cut a case."""
    table = {**TRUTH, "x": [float(i // 4) for i in range(24)]}
    for name in ("one", "two"):
        (tmp_path / f"{name}.py").write_text(f"{FRAGILE}\nNAME = {name!r}\n")
    systems = tuple(f"{tmp_path / name}.py:Fragile" for name in ("one", "two"))
    result = gnomon.run("labels", truth=table, folds=3, retries=0, systems=systems, out=tmp_path / "runs")
    (found,) = compare_runs(result.runs, Asked(common=True))
    assert found.scope == "on 4 of 6 cases"


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
    table = gnomon.compare(tmp_path / "runs", metrics="time_macro_f1", against="short").tables["comparison"]
    assert table.title == "paired comparison on 8 of 12 cases"
    left_out = "'s0am', 's0pm', 's1am' and 1 more (4 in all) were not scored by short"
    assert table.notes[0] == f"compared on 8 of 12 cases: {left_out}"
    # By hand: of the true seconds 'whole' finds all but 2, 'short' all but 2 + 1.5 k, for subjects k = 2..5 twice.
    true = sum(2 * (20 + k) for k in range(2, 6))
    missed = {"whole": 2 * 4 * 2, "short": sum(2 * (2 + 1.5 * k) for k in range(2, 6))}
    f1 = {name: 2 * (true - lost) / (2 * true - lost) for name, lost in missed.items()}
    row = table.rows[0]
    assert (row["a"].value, row["b"].value, row["groups"].value) == ("whole", "short", 4)
    assert row["difference"].value == pytest.approx(f1["whole"] - f1["short"])


def test_what_a_file_left_out_is_what_its_one_chunk_left_out():
    assert merge_left_out({"": {"a": "x"}}) == {"a": "x"}
    shards = merge_left_out({"one": {"a": "x", "b": "y"}, "two": {"a": "z"}})
    assert shards.keys() == {"a", "b"}
    assert shards["a"] != merge_left_out({"one": {"a": "x"}, "two": {}})["a"]
