"""Figures of runs as plain data. Expected values: brute force over the raw labels; by hand; the scores of the runs."""

import dataclasses
import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gnomon
from gnomon.core.evidence import Finding, Verdict
from gnomon.core.table import Cell, Column, Table
from gnomon.inference.friedman import critical_value
from gnomon.runs import pictures

TRUTH = {"id": range(12), "label": list("aabbabababab"), "group": list("xxxxyyyyzzzz")}
SYSTEMS = {
    "good": {"id": range(12), "label": list("aabbabababab")},
    "fair": {"id": range(12), "label": list("aabbabababba")},
    "poor": {"id": range(12), "label": list("bbaaabababba")},
}


@pytest.fixture(scope="module")
def runs():
    return list(gnomon.score("labels", TRUTH, SYSTEMS).runs)


def accuracy_by_group(name):
    right = Counter()
    for group, a, b in zip(TRUTH["group"], TRUTH["label"], SYSTEMS[name]["label"], strict=True):
        right[group] += a == b
    return {group: count / 4 for group, count in right.items()}


def by_accuracy(run):
    """The run with accuracy as its headline."""
    first = next(m for m in run.measures if m.name == "accuracy")
    return dataclasses.replace(run, measures=(first, *(m for m in run.measures if m != first)))


def test_intervals_hold_what_the_scores_say(runs):
    views = pictures.intervals(runs)
    assert len(views) == pictures.LEADING
    view = views[0]
    assert view.kind == "intervals"
    assert [row["system"] for row in view.data["rows"]] == ["good", "fair", "poor"]
    for row, run in zip(view.data["rows"], sorted(runs, key=lambda r: -r.find("macro_f1").value), strict=True):
        score = run.find("macro_f1")
        assert (row["value"], row["low"], row["high"]) == (score.value, score.low, score.high)


def compared(wrong, groups=8):
    """Runs over groups of six rows; a system is wrong in so many rows of each group."""
    rows = range(6 * groups)
    truth = {"id": rows, "label": list("ababab") * groups, "group": [f"g{row // 6}" for row in rows]}
    other = {"a": "b", "b": "a"}
    systems = {
        name: {"id": rows, "label": [other[t] if r % 6 < own[r // 6] else t for r, t in enumerate(truth["label"])]}
        for name, own in wrong.items()
    }
    return gnomon.score("labels", truth, systems)


def marked(view):
    return [row["system"] for row in view.data["rows"] if row["best"]]


def test_the_best_is_marked_where_it_is_told_apart_as_tables_do():
    """By hand: right is better in every one of eight groups, so that 2 of 256 swaps are as far apart, p = 0.0078."""
    result = compared({"right": [0] * 8, "fair": [1, 2, 1, 2, 1, 2, 1, 2], "poor": [3, 2, 3, 2, 3, 2, 3, 2]})
    table = result.tables["scores"]
    for view in pictures.intervals(result.runs):
        assert marked(view) == ["right"]
        assert view.notes == (
            "marked as best: significantly better than every other system (Holm over all pairs, p < 0.05)",
        )
    stars = {row["system"].value for row in table.rows if row["accuracy"].mark == "best"}
    assert stars == {"right"}


def test_nobody_is_marked_where_the_best_is_not_told_apart():
    """By hand: one is better in four groups and worse in three, and the difference of a row is no more than chance."""
    result = compared({"one": [0, 1, 0, 1, 0, 1, 0, 1], "two": [1, 0, 1, 0, 1, 0, 1, 1], "poor": [3] * 8})
    assert not any(row["accuracy"].mark for row in result.tables["scores"].rows)
    views = pictures.intervals(result.runs)
    assert [row["system"] for row in views[0].data["rows"]] == ["one", "two", "poor"]
    for view in views:
        assert marked(view) == []
        assert view.notes == (
            "none is marked: no system is significantly better than every other system (Holm over all pairs, p < 0.05)",
        )


def test_three_groups_tell_nothing_apart(runs):
    """By hand: of 8 swaps 2 are always as far apart, and 0.25 is above 0.05."""
    assert [marked(view) for view in pictures.intervals(runs)] == [[]] * pictures.LEADING


def test_nobody_is_marked_without_a_paired_comparison():
    result = compared({"right": [0] * 8, "poor": [3] * 8})
    elsewhere = dataclasses.replace(result.runs[1], manifest={**result.runs[1].manifest, "data_fingerprint": "f" * 64})
    for view in pictures.intervals([result.runs[0], elsewhere]):
        assert marked(view) == []
        assert view.notes[0].startswith("none is marked: no paired comparison: right and poor were scored on different")
    silent = dataclasses.replace(result.runs[1], scores=())
    assert pictures.intervals([result.runs[0], silent])[0].notes == ("none is marked: not every system has a score",)


def test_a_best_that_is_not_shown_is_named(monkeypatch):
    monkeypatch.setattr(pictures, "MOST_SYSTEMS", 1)
    result = compared({"right": [0] * 8, "poor": [3, 2] * 4})
    monkeypatch.setattr(pictures, "ranked", lambda runs: sorted(runs, key=lambda run: run.system))
    view = pictures.intervals(result.runs)[0]
    assert [row["system"] for row in view.data["rows"]] == ["poor"]
    assert view.notes[-1].endswith("p < 0.05); it is right, which is not shown")


def test_nobody_is_best_alone_or_where_all_are_alike(runs):
    alone = pictures.intervals(runs[:1])[0]
    assert not alone.data["rows"][0]["best"]
    assert alone.notes == ()
    twins = [runs[0], dataclasses.replace(runs[0], alias="twin")]
    assert not any(row["best"] for row in pictures.intervals(twins)[0].data["rows"])


def test_measures_that_nobody_has_a_score_of_are_left_out(runs):
    empty = [dataclasses.replace(run, scores=()) for run in runs]
    assert pictures.intervals(empty) == []


def test_a_case_is_scored_from_its_own_tallies(runs):
    for run in runs:
        measure = next(m for m in run.measures if m.name == "accuracy")
        assert pictures.case_scores(run, measure) == pytest.approx(accuracy_by_group(run.system))


def test_ledgers_have_no_scores_of_single_cases(runs):
    from gnomon.measures.ranked import AveragePrecision

    assert pictures.case_scores(runs[0], AveragePrecision()) == {}


def test_strips_have_a_point_for_each_case_and_system_and_their_mean(runs):
    (view,) = pictures.strips([by_accuracy(run) for run in runs])
    points = {(p["system"], p["case"]): p["value"] for p in view.data["points"]}
    expected = {(name, case): value for name in SYSTEMS for case, value in accuracy_by_group(name).items()}
    assert points == pytest.approx(expected)
    means = {row["system"]: row["value"] for row in view.data["means"]}
    assert means == pytest.approx({"good": 1.0, "fair": 10 / 12, "poor": 6 / 12})
    assert not any("left out" in note for note in view.notes)


def test_too_many_points_are_thinned_and_counted(runs, monkeypatch):
    monkeypatch.setattr(pictures, "MOST_POINTS", 6)
    (view,) = pictures.strips([by_accuracy(run) for run in runs])
    assert len(view.data["points"]) == 6
    assert "2 of 3 cases, spread over the groups; 1 are left out" in view.notes
    assert {row["system"]: row["value"] for row in view.data["means"]}["fair"] == pytest.approx(10 / 12)


@given(
    st.lists(st.tuples(st.text("abc", min_size=1, max_size=4), st.sampled_from("xyz")), max_size=60),
    st.integers(1, 30),
)
def test_a_stratified_choice_is_in_proportion_and_the_same_every_time(pairs, most):
    cases = dict(pairs)
    kept = pictures.stratified(cases, most)
    assert len(kept) == min(most, len(cases))
    assert len(set(kept)) == len(kept)
    assert set(kept) <= set(cases)
    assert kept == pictures.stratified(cases, most)
    whole, part = Counter(cases.values()), Counter(cases[case] for case in kept)
    if len(cases) > most >= len(whole):
        for group, size in whole.items():
            assert part[group] >= 1
            assert abs(part[group] - size * most / len(cases)) <= len(whole)


def test_the_worst_cases_come_first(runs):
    """By hand: poor has nothing right in x and half of z, fair half of z: means 2/3, 2/3 and 1; ties by name."""
    table = pictures.worst([by_accuracy(run) for run in runs])
    assert [row["case"].value for row in table.rows] == ["x", "z", "y"]
    assert [row["system:poor"].value for row in table.rows] == [0.0, 0.5, 1.0]
    assert "group" not in table.rows[0]  # a case is a group here
    assert table.columns[1].direction == "up"


def test_where_lower_is_better_the_largest_is_the_worst(runs, monkeypatch):
    measure = by_accuracy(runs[0]).measures[0]
    monkeypatch.setattr(type(measure), "direction", "down")
    table = pictures.worst([by_accuracy(run) for run in runs])
    assert table.rows[0]["case"].value == "y"


def test_the_gap_holds_both_ends_of_every_measure():
    columns = (
        Column("system", "system"),
        Column("measure", "measure"),
        Column("published", "published", "score"),
        Column("strict", "strict", "score"),
        Column("gap", "strict - published", "score"),
    )
    rows = tuple(
        {
            "system": Cell(system),
            "measure": Cell(measure),
            "published": Cell(a),
            "strict": Cell(b, why="" if b is not None else "nothing"),
            "gap": Cell(None if b is None else b - a, -0.3, 0.1),
        }
        for system, measure, a, b in (
            ("s", "f1", 0.9, 0.5),
            ("t", "f1", 0.8, None),
            *(("s", f"m{n}", 0.1, 0.2) for n in range(5)),
        )
    )
    view = pictures.gap(Table("variants", "side by side", columns, rows))
    assert view.data["names"] == ["published", "strict"]
    assert len(view.data["panels"]) == pictures.LEADING
    assert view.data["panels"][0] == {
        "measure": "f1",
        "rows": [
            {"system": "s", "first": 0.9, "last": 0.5, "low": -0.3, "high": 0.1},
            {"system": "t", "first": 0.8, "last": None, "low": -0.3, "high": 0.1},
        ],
    }
    assert view.notes == ("2 more measures in the table",)
    assert pictures.gap(Table("variants", "t", columns, ())) is None


def datasets(n):
    """The three systems on several datasets, whose first id differs; good is always first, poor always last."""
    found = []
    for k in range(n):
        truth = {**TRUTH, "group": [f"{g}{k}" for g in TRUTH["group"]]}
        found += gnomon.score("labels", truth, SYSTEMS).runs
    return found


def test_ranks_over_five_datasets_have_their_critical_difference():
    """By hand: every dataset ranks good, fair, poor; k = 3, N = 5."""
    from gnomon.runs.comparison import Asked
    from gnomon.runs.datasets import compare_datasets

    (view,) = pictures.ranks_of_tables(compare_datasets(datasets(5), Asked()))
    assert [(row["system"], row["rank"]) for row in view.data["ranks"]] == [("good", 1), ("fair", 2), ("poor", 3)]
    distance = critical_value(3) * math.sqrt(3 * 4 / (6 * 5))
    assert view.data["distance"] == pytest.approx(distance)
    assert view.data["cliques"] == [["good", "fair"], ["fair", "poor"]]


def test_ranks_over_four_datasets_are_not_drawn():
    from gnomon.runs.comparison import Asked
    from gnomon.runs.datasets import compare_datasets

    assert pictures.ranks_of_tables(compare_datasets(datasets(4), Asked())) == []
    assert pictures.ranks_of_tables([]) == []


@pytest.mark.parametrize("n", [4, 5])
def test_ranks_over_the_datasets_of_one_run(runs, n):
    """A measure of each dataset, in which the systems score 3, 2 and 1 tenths; under five there is no figure."""
    from gnomon.suites.har.metrics import TaskAccuracy

    measures = tuple(TaskAccuracy("zs-open", f"d{k}") for k in range(n))
    held = []
    for place, run in enumerate(runs):
        scores = tuple(
            dataclasses.replace(run.scores[0], name=m.name, slice="all", value=(3 - place) / 10) for m in measures
        )
        held.append(dataclasses.replace(run, measures=(run.measures[0], *measures), scores=(*run.scores, *scores)))
    views = pictures.ranks(held)
    assert len(views) == (n == 5)
    if views:
        assert [row["rank"] for row in views[0].data["ranks"]] == [1, 2, 3]
        assert views[0].data["datasets"] == 5


def with_facts(run, **facts):
    return dataclasses.replace(run, manifest={**run.manifest, "facts": {**run.manifest["facts"], **facts}})


def test_curves_are_found_wherever_facts_keep_losses(runs):
    facts = {
        "tasks": {
            "sup-1 a": {"fine_tuned": [{"curve": {"losses": [3.0, 2.0]}}, {"curve": {"losses": [2.0, 1.0]}}]},
            "order": {"answered": {"training": {"loss": [1.0, 0.5, 0.25]}}},
        },
        "fitted": {"curve": {"losses": [0.5]}},
        "loss": "not a curve",
    }
    (view,) = pictures.curves([with_facts(runs[0], **facts)])
    names = [own["name"] for own in view.data["series"]]
    assert names == ["sup-1 a fine-tuned 1", "sup-1 a fine-tuned 2", "order"]
    assert view.data["series"][2] == {"name": "order", "x": [1, 2, 3], "y": [1.0, 0.5, 0.25]}
    assert pictures.curves(runs) == []


def test_many_curves_are_shared_among_figures_and_long_ones_thinned(runs):
    facts = {"tasks": {f"t{n}": {"loss": [1.0 / (k + 1) for k in range(1001)]} for n in range(60)}}
    views = pictures.curves([with_facts(runs[0], **facts)])
    assert [len(view.data["series"]) for view in views] == [pictures.MOST_SERIES] * pictures.MOST_CURVES
    assert views[-1].notes == ("12 more curves not shown",)
    series = views[0].data["series"][0]
    assert len(series["x"]) <= pictures.LONGEST_CURVE + 1
    assert (series["x"][0], series["x"][-1], series["y"][-1]) == (1, 1001, 1 / 1001)


def test_findings_are_the_worst_first_and_say_whose_they_are(runs):
    info, bad = Finding("a", "info", "w", "e", "r"), Finding("b", "error", "w", "e", "r")
    held = [dataclasses.replace(runs[0], findings=(info, bad)), dataclasses.replace(runs[1], findings=(info,))]
    table = pictures.findings(held)
    assert [(row["severity"].value, row["systems"].value) for row in table.rows] == [
        ("error", runs[0].system),
        ("info", "all"),
    ]
    assert pictures.findings([dataclasses.replace(runs[0], findings=())]).title == "no findings"


def test_claims_say_what_is_missing(runs):
    verdicts = (Verdict("a", "holds", True, ()), Verdict("b", "does not", False, ("six groups (found 3)", "more")))
    table = pictures.claims([dataclasses.replace(run, verdicts=verdicts) for run in runs])
    assert [(row["verdict"].value, row["missing"].value, row["systems"].value) for row in table.rows] == [
        ("not supported", "six groups (found 3); more", "all"),
        ("supported", "", "all"),
    ]
    assert pictures.claims([dataclasses.replace(runs[0], verdicts=())]) is None
