"""Where runs disagree: differences and pairs counted by hand on twelve rows."""

from dataclasses import replace

import pytest

import gnomon
from gnomon.runs.disagreement import by_case, by_unit

TRUTH = {"id": list(range(12)), "label": list("aabbabbaabab"), "group": list("xxxxyyyyzzzz")}
GOOD = {"id": list(range(12)), "label": list("aabbabbaabba")}
"""Ten of twelve are right: all of x and y, two of z."""
POOR = {"id": list(range(12)), "label": list("abababababab")}
"""By hand: abab is right in two of aabb (x), in two of abba (y) and in all of abab (z)."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    found = gnomon.score("labels", TRUTH, {"good": GOOD, "poor": POOR}, out=tmp_path_factory.mktemp("runs")).runs
    by_name = {run.system: run for run in found}
    return by_name["good"], by_name["poor"]


def measure(run, name):
    return next(m for m in run.measures if m.name == name)


def test_the_difference_of_every_case_largest_first(runs):
    table, view = by_case(*runs, measure(runs[0], "accuracy"))
    found = [(row["case"].value, row["a"].value, row["b"].value, row["difference"].value) for row in table.rows]
    assert found == [("x", 1.0, 0.5, 0.5), ("y", 1.0, 0.5, 0.5), ("z", 0.5, 1.0, -0.5)]
    assert [row["better"].value for row in table.rows] == ["good", "good", "poor"]
    assert "good is better in 2 cases, poor in 1, equal in 0" in table.notes
    assert view.data["means"][0]["value"] == pytest.approx(0.5 / 3)


def test_where_lower_is_better_the_sign_says_so(runs):
    a, b = runs
    down = replace(measure(a, "accuracy"))
    object.__setattr__(down, "direction", "down")
    table, _ = by_case(a, b, down)
    assert [row["better"].value for row in table.rows] == ["poor", "poor", "good"]


def test_of_a_signed_error_neither_side_is_better(runs):
    signed = replace(measure(runs[0], "accuracy"))
    object.__setattr__(signed, "direction", "")
    table, _ = by_case(*runs, signed)
    assert {row["better"].value for row in table.rows} == {""}
    assert table.notes[0].startswith("good is higher in 2 cases, poor in 1, equal in 0; a signed error, 0 is best")


def test_units_that_are_answered_differently_are_counted_by_pair(runs):
    table = by_unit(*runs)
    counted = {(row["a"].value, row["b"].value): row["n"].value for row in table.rows}
    pairs = list(zip(GOOD["label"], POOR["label"], strict=True))
    expected = {pair: pairs.count(pair) for pair in set(pairs) if pair[0] != pair[1]}
    assert counted == expected
    assert table.notes[0].startswith(f"{sum(expected.values())} of 12 units are answered differently")


def test_runs_in_memory_have_no_answers_to_compare():
    found = gnomon.score("labels", TRUTH, {"good": GOOD, "poor": POOR}).runs
    assert by_unit(*found) is None


def test_runs_without_a_case_in_common_have_no_differences(runs):
    other = gnomon.score("labels", {**TRUTH, "group": list("pppppppppppp")}, {"good": GOOD}).runs[0]
    assert by_case(runs[0], other, measure(runs[0], "accuracy")) is None
