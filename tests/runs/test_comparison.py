"""Comparisons of small runs; differences are counted from their labels by hand."""

import dataclasses

import numpy as np
import pytest

import gnomon
from gnomon.core.canonical import encode
from gnomon.core.errors import InputError
from gnomon.inference.intervals import Plan
from gnomon.inference.paired import Paired, compare
from gnomon.measures.classification import Accuracy
from gnomon.runs.comparison import LEGEND, Asked, Comparison, compare_runs, comparison_table, pairings
from gnomon.runs.provenance import Clock
from gnomon.runs.run import make

ACCURACY = Asked(("accuracy",))
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
    (found,) = compare_runs([small_run, run_of(perfect)], ACCURACY)
    assert (found.a, found.b) == ("oracle", "nearest neighbour")
    # 11 of 11 against 7 of 11 over 3 groups; the oracle is at least as good in each of them.
    assert found.result.difference == pytest.approx(4 / 11)
    assert (found.result.groups, found.result.p) == (3, 2 / 2**3)


def test_a_comparison_rests_on_the_groups_of_both_runs(small_run, perfect):
    (found,) = compare_runs([small_run, run_of(perfect)], ACCURACY)
    again = compare(Accuracy(), run_of(perfect).groups(Accuracy()), small_run.groups(Accuracy()))
    assert found.result == again


def test_the_headline_is_compared_unless_told_otherwise(small_run, perfect):
    (found,) = compare_runs([small_run, run_of(perfect)])
    assert found.measure == small_run.measures[0]


def test_a_table_says_why_there_is_no_interval(evaluation, small_run):
    twin = run_of(evaluation, system="twin")
    table = comparison_table(compare_runs([small_run, twin], ACCURACY), small_run)
    cell = table.rows[0]["difference"]
    assert (cell.value, cell.low, cell.high, cell.why) == (0.0, None, None, "")
    why = "undefined (the score is the same without any one group: no spread to judge by)"
    assert cell.interval_why == why
    assert f"interval {why}" in table.notes
    assert table.rows[0]["p"].value == 1.0
    assert encode(table.record())


def test_a_table_with_intervals_has_no_note_about_missing_ones(small_run, perfect):
    table = comparison_table(compare_runs([small_run, run_of(perfect)], ACCURACY), small_run)
    assert table.rows[0]["difference"].low is not None
    assert not [note for note in table.notes if note.startswith("interval")]
    assert any("all swaps enumerated" in note for note in table.notes)


def test_one_run_is_not_compared(small_run):
    with pytest.raises(InputError, match="at least two runs to compare, but got 1"):
        compare_runs([small_run])


def test_an_unknown_measure_is_named_with_those_there_are(evaluation, small_run):
    with pytest.raises(InputError, match="no measure 'bleu' in these runs; there are macro_f1, accuracy, kappa"):
        compare_runs([small_run, run_of(evaluation, system="twin")], Asked(("bleu",)))


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


def row(a, b, p):
    return Comparison(a, b, Accuracy(), Paired(0.1, 0.0, 0.2, p, 8, True, 2 / 2**8))


def test_all_rows_of_a_table_are_one_family_for_holm(small_run):
    """By hand, m = 4: 0.01 x 4 = 0.04; 0.02 x 3 = 0.06; 0.03 x 2 = 0.06; 0.04 x 1 = 0.04, but not below 0.06."""
    table = comparison_table([row("a", "b", p) for p in (0.02, 0.04, 0.01, 0.03)], small_run)
    assert [cells["p_holm"].value for cells in table.rows] == pytest.approx([0.06, 0.06, 0.04, 0.06])
    assert [cells["p"].value for cells in table.rows] == [0.02, 0.04, 0.01, 0.03]
    assert "p (Holm): p corrected for the 4 tests of this table, taken as one family; judge by this one" in table.notes


def test_a_row_without_p_is_no_test_for_holm(small_run):
    """By hand, m = 2: 0.02 x 2 = 0.04 and 0.03 x 1 = 0.03, but not below 0.04."""
    none = Comparison(
        "a", "c", Accuracy(), Paired(None, None, None, None, 8, False, None, "the score of B is undefined")
    )
    table = comparison_table([row("a", "b", 0.03), none, row("a", "d", 0.02)], small_run)
    assert [cells["p_holm"].value for cells in table.rows] == [0.04, None, 0.04]
    assert table.rows[1]["p_holm"].why == "the score of B is undefined"
    assert any("for the 2 tests" in note for note in table.notes)


def test_one_test_needs_no_correction(small_run):
    table = comparison_table([row("a", "b", 0.03)], small_run)
    assert "p_holm" not in [column.key for column in table.columns]
    assert "p_holm" not in table.rows[0]
    assert not any("Holm" in note for note in table.notes)


def test_several_systems_are_corrected_after_a_score():
    """Three systems: the best was chosen, so that all three pairs are tested, and two of them are shown."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 400)
    given = {"id": np.arange(400), "label": truth, "group": np.repeat(np.arange(10), 40)}
    answers = {rate: np.where(rng.random(400) < rate, 1 - truth, truth) for rate in (0.05, 0.1, 0.4)}
    systems = {f"s{rate}": {"id": np.arange(400), "label": label} for rate, label in answers.items()}
    result = gnomon.score("labels", given, systems)
    table = result.tables["comparison"]
    every = gnomon.compare(result, all_pairs=True).tables["comparison"].rows
    ordered = sorted(cells["p"].value for cells in every)  # Holm by hand: times 3, 2 and 1, never falling
    holm = [min(1, max((3 - i) * ordered[i] for i in range(place + 1))) for place in range(3)]
    expected = [holm[ordered.index(cells["p"].value)] for cells in every]
    by_pair = {(row["a"].value, row["b"].value): p for row, p in zip(every, expected, strict=True)}
    assert len(every) == 3
    assert len(table.rows) == 2
    for row in table.rows:
        assert row["p_holm"].value == pytest.approx(by_pair[row["a"].value, row["b"].value])
    assert any("all 3 pairs of systems, since the best was chosen by its score" in note for note in table.notes)


def test_a_system_that_was_named_before_is_corrected_for_its_own_tests():
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 400)
    given = {"id": np.arange(400), "label": truth, "group": np.repeat(np.arange(10), 40)}
    answers = {rate: np.where(rng.random(400) < rate, 1 - truth, truth) for rate in (0.05, 0.1, 0.4)}
    systems = {f"s{rate}": {"id": np.arange(400), "label": label} for rate, label in answers.items()}
    result = gnomon.score("labels", given, systems)
    table = gnomon.compare(result, against="s0.1").tables["comparison"]
    small, large = sorted(cells["p"].value for cells in table.rows)
    assert sorted(cells["p_holm"].value for cells in table.rows) == sorted([min(1, 2 * small), max(2 * small, large)])
    assert any("for the 2 tests of this table" in note for note in table.notes)


def test_a_star_needs_a_difference_from_every_other_system():
    """'one' is ahead of 'two' in all of twelve groups; 'wild' is far behind in seven groups, and ahead in five."""
    wrong = {"one": [4] * 12, "two": [6, 7] * 6, "wild": [0, 0, 0, 0, 0, *[12] * 7]}
    truth = {"id": range(240), "label": ["a", "b"] * 120, "group": [row // 20 for row in range(240)]}
    other = {"a": "b", "b": "a"}
    systems = {
        name: {
            "id": range(240),
            "label": [other[x] if r % 20 < own[r // 20] else x for r, x in enumerate(truth["label"])],
        }
        for name, own in wrong.items()
    }
    pair = gnomon.score("labels", truth, {name: systems[name] for name in ("one", "two")})
    assert [row["accuracy"].mark for row in pair.tables["scores"].rows] == ["best", ""]
    assert LEGEND in pair.tables["scores"].notes
    assert LEGEND.startswith("* significantly better than every other system (Holm over all pairs, p < 0.05)")
    three = gnomon.score("labels", truth, systems)
    assert three.tables["scores"].rows[0]["system"].value == "one"
    assert {row["accuracy"].mark for row in three.tables["scores"].rows} == {""}
    assert LEGEND not in three.tables["scores"].notes


def test_a_star_is_decided_after_the_correction():
    """By hand: 'a' is ahead of four others in each of six groups; p is 2 / 64 each, and 10 pairs make it 0.3125."""
    truth = {"id": range(60), "label": ["a", "b"] * 30, "group": [row // 10 for row in range(60)]}
    other = {"a": "b", "b": "a"}
    labels = {
        name: [other[x] if r % 10 < n + (r // 10) % 2 else x for r, x in enumerate(truth["label"])]
        for n, name in enumerate("acegi")
    }
    systems = {name: {"id": range(60), "label": label} for name, label in labels.items()}
    result = gnomon.score("labels", truth, {name: systems[name] for name in "ag"})
    assert result.tables["comparison"].rows[0]["p"].value == 2 / 64
    assert result.tables["scores"].rows[0]["accuracy"].mark == "best"
    five = gnomon.score("labels", truth, systems)
    assert {row["p"].value for row in five.tables["comparison"].rows} == {2 / 64}
    assert {row["p_holm"].value for row in five.tables["comparison"].rows} == {10 * 2 / 64}
    assert not [cell for row in five.tables["scores"].rows for cell in row.values() if cell.mark == "best"]


def test_a_measure_where_less_is_better_says_which_sign_is_good(small_run):
    class Error(Accuracy):
        direction = "down"

    table = comparison_table([Comparison("a", "b", Error(), row("a", "b", 0.1).result)], small_run)
    assert "accuracy: lower is better, so that A - B below 0 speaks for A" in table.notes


def test_one_group_has_a_difference_and_no_p(count_cases, evaluation, perfect):
    roster = dataclasses.replace(evaluation.roster, groups=("a",) * 4)
    runs = [run_of(evaluation, roster=roster), run_of(perfect, roster=roster)]
    cells = comparison_table(compare_runs(runs, ACCURACY), runs[0]).rows[0]
    assert cells["difference"].value == pytest.approx(4 / 11)
    assert (cells["difference"].why, cells["p"].why) == ("", "undefined (1 group)")


NAMES = [("best", "best"), ("second", "second"), ("third (a1)", "third"), ("third (b2)", "third")]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (Asked(), [(0, 1), (0, 2), (0, 3)]),
        (Asked(against="second"), [(0, 1), (2, 1), (3, 1)]),
        (Asked(against="third (b2)"), [(0, 3), (1, 3), (2, 3)]),
        (Asked(all_pairs=True), [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]),
    ],
)
def test_who_is_compared_with_whom(asked, expected):
    assert pairings(NAMES, asked) == expected


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (Asked(against="fourth"), "no system 'fourth' to compare with; there are 'best', 'second', 'third"),
        (Asked(against="third"), "several runs are of 'third': name one of"),
        (Asked(against="best", all_pairs=True), "exclude each other"),
    ],
)
def test_whom_to_compare_with_must_be_clear(asked, message):
    with pytest.raises(InputError, match=message):
        pairings(NAMES, asked)


def test_one_group_has_no_line_about_swaps(evaluation, perfect):
    roster = dataclasses.replace(evaluation.roster, groups=("a",) * 4)
    runs = [run_of(evaluation, roster=roster), run_of(perfect, roster=roster)]
    notes = comparison_table(compare_runs(runs, ACCURACY), runs[0]).notes
    assert "interval undefined (1 group)" in notes
    assert not any("swap" in note for note in notes)


def test_a_row_without_p_does_not_make_the_others_random(small_run):
    none = Comparison("a", "c", Accuracy(), Paired(None, None, None, None, 8, False, None, "undefined"))
    assert any(
        "(all swaps enumerated)" in note for note in comparison_table([row("a", "b", 0.3), none], small_run).notes
    )


def ended(low, high, p, smallest=2 / 2**8):
    return Comparison("x", "y", Accuracy(), Paired(0.1, low, high, p, 8, True, smallest))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (ended(0.05, 0.2, 0.2), "x and y (accuracy): the interval leaves out 0, yet p is above 0.05"),
        (ended(-0.2, -0.05, 0.2), "x and y (accuracy): the interval leaves out 0, yet p is above 0.05"),
        (ended(-0.05, 0.2, 0.02), "x and y (accuracy): p is 0.05 or less, yet the interval holds 0"),
        (ended(0.05, 0.2, 0.02), ""),
        (ended(-0.05, 0.2, 0.2), ""),
        (ended(0.05, 0.2, 0.0625, 0.0625), ""),
        (ended(None, None, 0.2), ""),
    ],
)
def test_an_interval_and_a_p_that_disagree_are_named(small_run, given, said):
    notes = comparison_table([given], small_run).notes
    found = [note for note in notes if "yet" in note]
    assert found == ([said] if said else [])
    assert any("could change places in every group" in note for note in notes) == bool(said)


def test_systems_that_err_in_different_classes_differ_in_score_and_p_stays_large():
    """A is good at one class, B at the other and worse in all: swapping people mixes both kinds of errors."""
    rng = np.random.default_rng(6)
    groups, rows = 12, 60
    truth = np.concatenate([rng.choice(3, rows, p=rng.dirichlet([1, 1, 1])) for _ in range(groups)])
    given = {"id": np.arange(len(truth)), "label": truth, "group": np.repeat(np.arange(groups), rows)}

    def answers(skill):
        return np.where(
            rng.random(len(truth)) < np.array(skill)[truth], truth, (truth + rng.integers(1, 3, len(truth))) % 3
        )

    systems = {"a": answers([0.95, 0.6, 0.9]), "b": answers([0.6, 0.95, 0.6])}
    found = gnomon.score("labels", given, {n: {"id": given["id"], "label": label} for n, label in systems.items()})
    table = gnomon.compare(found, metrics="macro_f1").tables["comparison"]
    (cells,) = table.rows
    assert cells["difference"].low > 0
    assert cells["p"].value > 0.05
    assert "a and b (macro f1): the interval leaves out 0, yet p is above 0.05" in table.notes


def test_notes_name_the_measures_they_hold_for():
    """Eight groups and three classes: only the macro average hangs on classes."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 160)
    given = {"id": np.arange(160), "label": truth, "group": np.repeat(np.arange(8), 20)}
    systems = {
        name: {"id": np.arange(160), "label": np.where(rng.random(160) < rate, truth, 0)}
        for name, rate in (("good", 0.9), ("poor", 0.5))
    }
    run = gnomon.score("labels", given, systems)
    note = "interval unreliable: 3 classes rest on fewer than 10 groups"
    assert note in gnomon.compare(run, metrics="macro_f1").tables["comparison"].notes
    both = gnomon.compare(run, metrics=("macro_f1", "accuracy")).tables["comparison"].notes
    assert f"macro f1: {note}" in both
    assert note not in both


def test_a_run_given_twice_counts_once():
    truth = {"id": range(12), "label": list("aabbab") * 2, "group": np.repeat(np.arange(6), 2)}
    labels = {"good": list("aabbab") * 2, "fair": list("aabbaa") * 2, "poor": list("ababab") * 2}
    run = gnomon.score("labels", truth, {n: {"id": range(12), "label": label} for n, label in labels.items()})
    once, twice = gnomon.compare(run), gnomon.compare(run, run)
    assert twice.tables == once.tables
    assert [run.manifest["id"] for run in twice.runs] == [run.manifest["id"] for run in once.runs]
    with pytest.raises(InputError, match="at least two runs to compare, but got 1"):
        gnomon.compare(run.runs[0], run.runs[0])
