"""Comparisons of small runs; differences are counted from their labels by hand."""

import dataclasses

import numpy as np
import pytest

import gnomon
from gnomon.core.canonical import encode
from gnomon.core.cases import Roster
from gnomon.core.errors import InputError
from gnomon.inference.intervals import Plan
from gnomon.inference.paired import compare
from gnomon.measures.classification import Accuracy
from gnomon.runs.comparison import compare_runs, comparison_table
from gnomon.runs.provenance import Clock
from gnomon.runs.run import make

PERFECT = (
    [("sit", "sit"), ("walk", "walk"), ("walk", "walk")],
    [("sit", "sit"), ("sit", "sit")],
    [("walk", "walk"), ("sit", "sit"), ("run", "run")],
    [("run", "run"), ("walk", "walk"), ("sit", "sit")],
)


@pytest.fixture(scope="session")
def perfect(evaluation, count_cases):
    """The small evaluation of a system that is always right."""
    tallies = {"classification": count_cases(*PERFECT, classes=("run", "sit", "walk"))}
    return dataclasses.replace(evaluation, system="oracle", tallies=tallies, ledgers={})


def run_of(evaluation, **changes):
    return make(dataclasses.replace(evaluation, **changes), Plan(), Clock())


def test_the_best_run_is_compared_with_the_others(small_run, perfect):
    (found,) = compare_runs([small_run, run_of(perfect)], ["accuracy"])
    assert (found.a, found.b) == ("oracle", "nearest neighbour")
    # 11 of 11 against 7 of 11 over 3 groups; the oracle is at least as good in each of them.
    assert found.result.difference == pytest.approx(4 / 11)
    assert (found.result.groups, found.result.p) == (3, 2 / 2**3)


def test_a_comparison_rests_on_the_groups_of_both_runs(small_run, perfect):
    (found,) = compare_runs([small_run, run_of(perfect)], ["accuracy"])
    again = compare(Accuracy(), run_of(perfect).groups(Accuracy()), small_run.groups(Accuracy()))
    assert found.result == again


def test_the_headline_is_compared_unless_told_otherwise(small_run, perfect):
    (found,) = compare_runs([small_run, run_of(perfect)])
    assert found.measure == small_run.measures[0]


def test_a_table_says_why_there_is_no_interval(evaluation, small_run):
    twin = run_of(evaluation, system="twin")
    table = comparison_table(compare_runs([small_run, twin], ["accuracy"]), small_run)
    cell = table.rows[0]["difference"]
    assert (cell.value, cell.low, cell.high, cell.why) == (0.0, None, None, "")
    why = "undefined (the score is the same without any one group: no spread to judge by)"
    assert cell.interval_why == why
    assert f"interval {why}" in table.notes
    assert table.rows[0]["p"].value == 1.0
    assert encode(table.record())


def test_a_table_with_intervals_has_no_note_about_missing_ones(small_run, perfect):
    table = comparison_table(compare_runs([small_run, run_of(perfect)], ["accuracy"]), small_run)
    assert table.rows[0]["difference"].low is not None
    assert not [note for note in table.notes if note.startswith("interval")]
    assert any("all swaps enumerated" in note for note in table.notes)


def test_one_run_is_not_compared(small_run):
    with pytest.raises(InputError, match="at least two runs to compare, but got 1"):
        compare_runs([small_run])


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


def test_an_unknown_measure_is_named_with_those_there_are(evaluation, small_run):
    with pytest.raises(InputError, match="no measure 'bleu' in these runs; they have macro_f1, accuracy, kappa"):
        compare_runs([small_run, run_of(evaluation, system="twin")], ["bleu"])


def test_the_best_is_marked_only_where_it_can_be_told_apart():
    """Forty groups with a clear winner, and the same system twice under two names."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 3, 4000)
    groups = np.repeat(np.arange(40), 100)
    noise = rng.random(4000)
    good, bad = (np.where(noise < rate, (truth + 1) % 3, truth) for rate in (0.1, 0.4))
    given = {"id": np.arange(4000), "label": truth, "group": groups}
    systems = {name: {"id": np.arange(4000), "label": label} for name, label in (("good", good), ("bad", bad))}
    table = gnomon.score("labels", given, systems).tables["scores"]
    marks = {row["system"].value: row["accuracy"].mark for row in table.rows}
    assert marks == {"good": "best", "bad": ""}
    twins = {"one": systems["good"], "two": systems["good"]}
    table = gnomon.score("labels", given, twins).tables["scores"]
    assert {row["accuracy"].mark for row in table.rows} == {""}
