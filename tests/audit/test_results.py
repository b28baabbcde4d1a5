"""Findings about results; expected texts are written by hand, scores by plain counting."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.audit.results import (
    coverage,
    identities,
    no_op_arms,
    same_predictions,
    selection,
    shortfall,
    trivial_baselines,
)
from gnomon.core.errors import InputError
from gnomon.core.ledgers import Ledger
from gnomon.core.samples import Samples
from gnomon.core.tallies import Tallies
from gnomon.measures.classification import F1, Accuracy, Kappa
from gnomon.measures.ranked import Percentile

PAIRS = [("a", "a"), ("b", "a"), ("b", "b")]


def ids(findings):
    return [finding.id for finding in findings]


@pytest.mark.parametrize(
    ("systems", "baselines", "direction", "beaten"),
    [
        ({"s": 0.9}, {"majority": 0.8}, "up", []),
        ({"s": 0.9}, {"majority": 0.9}, "up", ["s"]),
        ({"s": 0.9, "t": 0.5}, {"majority": 0.7, "random": 0.2}, "up", ["t"]),
        ({"s": 0.9, "t": 0.5}, {"last": 0.7}, "down", ["s"]),
        ({"s": None, "t": 0.5}, {"last": 0.7, "mean": None}, "up", ["t"]),
        ({"s": 0.9, "majority": 0.8}, {"majority": 0.8}, "up", []),
    ],
)
def test_systems_that_are_no_better_than_the_best_baseline_are_named(systems, baselines, direction, beaten):
    findings = trivial_baselines(systems, baselines, measure="score", direction=direction)
    assert ids(findings) == (["trivial-baseline-wins"] if beaten else [])
    for name in beaten:
        assert f"{name} {systems[name]:.4g}" in findings[0].evidence


@pytest.mark.parametrize("baselines", [{}, {"majority": None}])
def test_a_table_without_a_baseline_says_so(baselines):
    assert ids(trivial_baselines({"s": 0.9}, baselines, measure="accuracy")) == ["baseline-missing"]


def test_identical_arms_are_grouped(count_cases):
    one, other = count_cases(PAIRS, PAIRS[:2]), count_cases(PAIRS, PAIRS[1:])
    arms = {"full": one, "no merge": one, "no budget": other, "no filter": other, "none": count_cases(PAIRS, [])}
    findings = no_op_arms({name: {"classification": tallies} for name, tallies in arms.items()})
    assert [f.where for f in findings] == ["full, no merge", "no budget, no filter"]
    assert findings[0].evidence.startswith("2 of 5 arms have identical tallies on all 2 cases")


def test_labels_without_a_count_do_not_make_arms_differ(count_cases):
    wide = count_cases(PAIRS, PAIRS[:2], classes=("z", "b", "a"))
    assert ids(no_op_arms({"a": {"c": count_cases(PAIRS, PAIRS[:2])}, "b": {"c": wide}})) == ["no-op-arm"]


@given(st.integers(0, 1), st.sampled_from(["tp", "truth", "predicted"]), st.integers(0, 1))
def test_one_count_makes_arms_differ(count_cases, case, field, label):
    one = count_cases(PAIRS, PAIRS[:2])
    changed = one.fields[field].copy()
    changed[case, label] += 1
    other = Tallies(one.layout, one.axes, {**one.fields, field: changed})
    assert no_op_arms({"a": {"c": one}, "b": {"c": other}}) == ()


def test_all_families_must_be_the_same(count_cases):
    one, other = count_cases(PAIRS), count_cases(PAIRS[:2])
    assert no_op_arms({"a": {"c": one, "d": one}, "b": {"c": one, "d": other}}) == ()
    assert no_op_arms({"a": {"c": one}, "b": {"d": one}}) == ()
    assert no_op_arms({}) == ()


IDS = ["a", "b", "c", "d"]


def test_missing_cases_are_counted_by_reason():
    (finding,) = coverage(IDS, {"s": ["a"]}, {"s": {"b": "timeout", "c": "timeout", "a": "unused"}})
    assert (finding.id, finding.where) == ("partial-coverage", "s")
    assert finding.evidence == "3 of 4 cases have no score (timeout 2, no reason given 1): 'b', 'c', 'd'"


@given(st.lists(st.sets(st.sampled_from([*IDS, "x"])), min_size=1, max_size=4))
def test_coverage_is_that_of_sets(scored):
    systems = {f"s{i}": kept for i, kept in enumerate(scored)}
    found = ids(coverage(IDS, systems))
    assert found.count("partial-coverage") == sum(not kept >= set(IDS) for kept in scored)
    assert found.count("unexpected-cases") == sum("x" in kept for kept in scored)
    assert ("coverage-differs" in found) == (len({frozenset(kept - {"x"}) for kept in scored}) > 1)


def test_different_gaps_are_an_error_with_what_is_common():
    finding = coverage(IDS, {"s": ["a", "b", "c"], "t": ["b", "c", "d"]})[-1]
    assert (finding.id, finding.severity) == ("coverage-differs", "error")
    assert finding.evidence == "systems were scored on different cases of 4 (s 3, t 3); 2 are common to all"


def test_possible_tallies_and_their_scores_are_clean(count_cases):
    tallies = {"classification": count_cases(PAIRS, PAIRS[:1])}
    assert (
        identities([Accuracy(), F1("macro")], tallies, scores={"accuracy": 3 / 4, "macro_f1": 0.5 * (0.8 + 2 / 3)})
        == ()
    )


def test_impossible_tallies_are_found(count_cases):
    one = count_cases(PAIRS)
    broken = Tallies(one.layout, one.axes, {**one.fields, "n": one.fields["n"] + 1})
    findings = identities([Accuracy()], {"classification": broken})
    assert findings
    assert {(f.id, f.severity, f.where) for f in findings} == {("broken-identity", "error", "classification")}


@pytest.mark.parametrize(("stored", "clean"), [(2 / 3, True), (2 / 3 + 1e-12, True), (0.667, False), (None, False)])
def test_stored_scores_follow_from_the_tallies(count_cases, stored, clean):
    findings = identities([Accuracy()], {"classification": count_cases(PAIRS)}, scores={"accuracy": stored})
    assert ids(findings) == ([] if clean else ["score-does-not-follow"])


def test_undefined_follows_only_from_undefined(count_cases):
    tallies = {"classification": count_cases([("a", "a")])}
    assert identities([Kappa()], tallies, scores={"kappa": None}) == ()
    (finding,) = identities([Kappa()], tallies, scores={"kappa": 0.0})
    assert finding.evidence == "stored 0.0, but the tallies give None"


def test_tallies_that_are_not_there_are_refused():
    with pytest.raises(InputError, match="no tallies of family 'classification'; there are none"):
        identities([Accuracy()], {})


def samples():
    parts = ("train", "val", "val", "test", "test")
    ranges = np.tile([0.0, 1.0], (5, 1))
    return Samples(("t0", "v0", "v1", "x0", "x1"), ("r",) * 5, parts, ranges, ranges)


def test_the_metric_that_selects_is_reported():
    assert selection("f1", ["accuracy", "f1"]) == ()
    (finding,) = selection("loss", ["accuracy", "f1"])
    assert (finding.id, finding.severity) == ("selection-metric-not-reported", "warning")
    assert finding.evidence == "selected by 'loss', but the 2 reported metrics are 'accuracy', 'f1'"


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        (["v0", "v1"], []),
        (["t0", "v0"], []),
        (["v0", "x1"], ["selected-on-test"]),
        (["v0", "zz"], ["selected-elsewhere"]),
        (["x0", "x1", "zz"], ["selected-on-test", "selected-elsewhere"]),
    ],
)
def test_what_selection_looked_at_is_compared_with_the_split(used, expected):
    assert ids(selection("f1", ["f1"], used, samples())) == expected


def test_a_selection_that_recorded_nothing_is_refused():
    with pytest.raises(InputError, match="no sample was recorded as looked at"):
        selection("f1", ["f1"], [], samples())


def test_counts_without_a_score_are_said_by_reason():
    (finding,) = shortfall(12, {"timeout": 1, "no result": 3}, unit="cell", where="x")
    assert (finding.id, finding.severity, finding.where) == ("partial-coverage", "warning", "x")
    assert finding.evidence == "4 of 12 cells have no score (no result 3, timeout 1)"
    assert shortfall(12, {"timeout": 0}, where="x") == shortfall(12, {}, where="x") == ()


def test_names_of_the_same_predictions_are_found_together():
    (finding,) = same_predictions({"a": "1" * 64, "b": "2" * 64, "c": "1" * 64, "d": "1" * 64})
    assert (finding.id, finding.severity, finding.where) == ("same-predictions", "error", "a, c, d")
    assert finding.evidence == "3 of 4 names have the same predictions (111111111111): 'a', 'c', 'd'"
    assert same_predictions({"a": "1", "b": "2"}) == same_predictions({}) == ()


@pytest.mark.parametrize(
    ("systems", "severity"),
    [({"a": "x", "b": "x"}, "warning"), ({"a": "x", "b": "y"}, "error"), ({"a": "x"}, "error"), ({}, "error")],
)
def test_settings_of_one_system_may_have_the_same_predictions(systems, severity):
    (finding,) = same_predictions({"a": "1", "b": "1"}, systems)
    assert finding.severity == severity


def test_scores_from_rows_are_derived_again():
    """By hand: the median of 1, 2 and 9 is 2."""
    measure = Percentile("values", "value", 50)
    ledgers = {"values": Ledger(np.array([0, 0, 1]), {"value": np.array([1.0, 2.0, 9.0])})}
    assert identities([measure], {}, ledgers, {measure.name: 2.0}) == ()
    (finding,) = identities([measure], {}, ledgers, {measure.name: 3.0})
    assert (finding.id, finding.where) == ("score-does-not-follow", measure.name)
