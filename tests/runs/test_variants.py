"""Variants side by side, through the suite that has two. Expected values are worked by hand."""

import dataclasses
import json

import pytest
from scipy import stats

import gnomon
from gnomon.core.measure import Shown
from gnomon.runs import variants

CASE = {"t1": 0, "t2": 10, "labels": [{"t1": 0, "t2": 4, "label": "a"}, {"t1": 6, "t2": 8, "label": "b"}]}
EXCHANGED = [{"t1": 0, "t2": 4, "label": "b"}, {"t1": 6, "t2": 8, "label": "a"}]


@pytest.fixture
def both(tmp_path):
    """The right times under the wrong labels: perfect for who pools labels, nothing right for who does not."""
    (tmp_path / "case.json").write_text(json.dumps(CASE))
    (tmp_path / "exchanged.json").write_text(json.dumps(EXCHANGED))
    given = {"truth": str(tmp_path / "case.json"), "predictions": str(tmp_path / "exchanged.json")}
    return gnomon.score("events", **given, variant="both", out=tmp_path / "runs"), tmp_path


def test_both_variants_and_their_gap_stand_side_by_side(both):
    result, _ = both
    rows = {row["measure"].value: row for row in result.tables["variants"].rows}
    assert {name: row["gap"].value for name, row in rows.items() if name in ("event macro f1", "time accuracy")} == {
        "event macro f1": -1.0,
        "time accuracy": pytest.approx(-0.6),
    }
    assert rows["time accuracy"]["published"].value == 1.0
    assert rows["time accuracy"]["strict"].value == pytest.approx(0.4)


def test_systems_in_two_variants_have_two_names(both):
    result, _ = both
    assert list(result.scores) == ["exchanged [published]", "exchanged [strict]"]
    assert "protocol" not in "".join(table.title for table in result.tables.values())


def test_variants_are_found_again_on_disk(both):
    result, folder = both
    again = gnomon.load(folder / "runs")
    assert sorted(again.scores) == sorted(result.scores)
    assert again.tables["variants"].rows == result.tables["variants"].rows


def test_one_variant_has_no_gap(both):
    _, folder = both
    options = {"truth": str(folder / "case.json"), "predictions": str(folder / "exchanged.json")}
    assert "variants" not in gnomon.score("events", **options).tables


def subjects(folder, shifts):
    """Write a recording per subject, and results that are shifted and, with odd subjects, named wrongly."""
    truth, found = [], {}
    for number, shift in enumerate(shifts):
        case = {**CASE, "id": f"r{number}", "subject": {"id": f"s{number}"}}
        truth.append(folder / f"r{number}.json")
        truth[-1].write_text(json.dumps(case))
        names = ("b", "a") if number % 2 else ("a", "b")
        found[f"r{number}"] = [
            {"t1": 0, "t2": 4 - shift, "label": names[0]},
            {"t1": 6 + shift, "t2": 8, "label": names[1]},
        ]
    return [str(path) for path in truth], found


def gaps(truth, found, folder, name="found", **options):
    path = folder / f"{name}.json"
    path.write_text(json.dumps({case: found[case] for case in sorted(found)}))
    return gnomon.score("events", truth, [str(path)], variant="both", **options)


def test_the_gap_has_the_interval_of_a_paired_difference(tmp_path):
    """By brute force: both variants are scored again without each subject; t of 4 subjects is scipy's."""
    truth, found = subjects(tmp_path, (0.0, 0.5, 1.0, 1.5))
    rows = {row["measure"].value: row for row in gaps(truth, found, tmp_path).tables["variants"].rows}
    cell = rows["time accuracy"]["gap"]
    left = []
    for gone in range(4):
        kept = {case: value for case, value in found.items() if case != f"r{gone}"}
        scores = gaps([path for path in truth if f"r{gone}.json" not in path], kept, tmp_path, "part").scores
        left.append(scores["part [strict]"]["time_accuracy"] - scores["part [published]"]["time_accuracy"])
    spread = (3 / 4 * sum((value - sum(left) / 4) ** 2 for value in left)) ** 0.5
    half = stats.t.ppf(0.975, 3) * spread
    assert cell.low == pytest.approx(max(-1.0, cell.value - half))
    assert cell.high == pytest.approx(min(1.0, cell.value + half))
    assert cell.low < cell.value < cell.high


def test_the_interval_of_a_gap_is_explained(tmp_path):
    truth, found = subjects(tmp_path, (0.0, 0.5, 1.0, 1.5))
    table = gaps(truth, found, tmp_path).tables["variants"]
    notes = " ".join(table.notes)
    assert "strict - published: 95% jackknife-t interval of the difference over subjects" in notes
    assert "interval rests on only 4 subjects" in notes
    assert all(row["gap"].low is None for row in gaps(truth, found, tmp_path, interval="none").tables["variants"].rows)


def test_one_group_has_no_interval_and_says_so(both):
    result, _ = both
    table = result.tables["variants"]
    assert table.rows[0]["gap"].interval_why == "undefined (1 recording)"
    assert any("undefined (1 recording)" in note for note in table.notes)


def test_variants_of_other_groups_have_no_interval(tmp_path):
    truth, found = subjects(tmp_path, (0.0, 0.5, 1.0, 1.5))
    first, last = gaps(truth, found, tmp_path).runs
    other = dataclasses.replace(last, roster=dataclasses.replace(last.roster, groups=("s0", "s0", "s1", "s1")))
    assert "not scored on the same cases" in variants.difference(first, other, "time_accuracy").why


def test_a_system_in_one_variant_only_is_named(tmp_path):
    truth, found = subjects(tmp_path, (0.0, 0.5, 1.0, 1.5))
    gaps(truth, found, tmp_path, out=tmp_path / "runs")
    gnomon.score("events", truth, {"lone": str(tmp_path / "found.json")}, variant="strict", out=tmp_path / "runs")
    table = gnomon.load(tmp_path / "runs").tables["variants"]
    assert {row["system"].value for row in table.rows} == {"found"}
    assert "not shown: lone (only strict)" in table.notes


def test_two_runs_of_one_variant_are_named(tmp_path):
    truth, found = subjects(tmp_path, (0.0, 0.5, 1.0, 1.5))
    whole = gaps(truth, found, tmp_path)
    twice = gaps(truth, found, tmp_path, "twice")
    table = variants.gap([*whole.runs, *twice.runs, twice.runs[0]])
    assert "not shown: twice (several runs of one variant)" in table.notes


def test_digits_are_those_of_the_measures(tmp_path, monkeypatch):
    """One measure that is shown in percent with five digits."""
    truth, found = subjects(tmp_path, (0.0, 0.5))
    runs = [dataclasses.replace(run, measures=run.measures[:1]) for run in gaps(truth, found, tmp_path).runs]
    monkeypatch.setattr(type(runs[0].measures[0]), "shown", Shown(100.0, "%", 5))
    columns = {column.key: column.digits for column in variants.gap(runs).columns}
    assert (columns["strict"], columns["published"], columns["gap"]) == (5, 5, 5)


def test_published_figures_stand_beside_the_gap(both):
    result, _ = both
    runs = [
        dataclasses.replace(
            run,
            manifest={
                **run.manifest,
                "facts": {
                    **run.manifest["facts"],
                    variants.REPORTED: {"time_accuracy": 0.75},
                    variants.REPORTED_BY: "the authors",
                },
            },
        )
        for run in result.runs
    ]
    table = variants.gap(runs)
    found = {row["measure"].value: row["reported"] for row in table.rows}
    assert found["time accuracy"].value == 0.75
    assert found["event macro f1"].value == ""
    assert "reported: the authors" in table.notes
    assert "reported" not in {column.key for column in result.tables["variants"].columns}
