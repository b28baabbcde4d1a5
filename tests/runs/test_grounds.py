"""Runs side by side. What must be found is planted by hand in copies of a small run."""

import dataclasses

import pyarrow as pa
import pytest

import gnomon
from gnomon.inference.intervals import Plan
from gnomon.runs import grounds
from gnomon.runs.directory import publish
from gnomon.runs.grounds import audit_folders, audit_runs, side_by_side
from gnomon.runs.provenance import Clock
from gnomon.runs.run import make

RIGHT = [("sit", "sit"), ("walk", "walk"), ("sit", "sit")]
MIXED = [("sit", "sit"), ("walk", "walk"), ("sit", "walk")]
WRONG = [("sit", "walk"), ("walk", "sit"), ("sit", "walk")]
CONSTANT = [("sit", "sit"), ("walk", "sit"), ("sit", "sit")]


@pytest.fixture
def system(evaluation, count_cases):
    """Build a run of a system from its answers in each of four cases."""

    def build(name, answers, said=None, **changes):
        table = pa.table({"id": ["1", "2"], "label": [said or name, "sit"]})
        tallies = {"classification": count_cases(*[answers] * 4, classes=("sit", "walk"))}
        changes = {"system": name, "tallies": tallies, "ledgers": {}, "table": table, "findings": (), **changes}
        return make(dataclasses.replace(evaluation, **changes), Plan(), Clock())

    return build


def ids(audit):
    return {(finding.id, finding.severity) for finding in audit.findings}


def test_different_systems_with_a_baseline_are_clean(system):
    audit = side_by_side([system("good", RIGHT), system("fair", MIXED), system("plain", CONSTANT)])
    assert audit.findings == ()
    assert set(audit.made) == {"same-predictions", "coverage", "no-op-arms", "trivial-baselines"}


def test_the_same_predictions_under_two_names(system):
    audit = side_by_side([system("one", RIGHT, "x"), system("two", RIGHT, "x"), system("plain", CONSTANT)])
    assert ids(audit) == {("same-predictions", "error"), ("no-op-arm", "warning")}


def test_other_predictions_that_err_alike_are_a_no_op(system):
    audit = side_by_side([system("one", RIGHT), system("two", RIGHT), system("plain", CONSTANT)])
    assert ids(audit) == {("no-op-arm", "warning")}


def cells(done, total=4):
    missing = [{"cell": "x", "why": "failed"}] * (total - done)
    return {"complete": done == total, "cells": {"total": total, "done": done, "missing": missing}}


def test_arms_that_failed_are_not_accused_of_being_alike(system):
    """What failed everywhere has no predictions, and no predictions are like no predictions."""
    runs = [system(name, MIXED, "x", coverage=cells(0)) for name in ("one", "two")]
    made = side_by_side([*runs, system("plain", CONSTANT)])
    assert "same-predictions" not in {finding.id for finding in made.findings}
    worked = side_by_side([system(name, MIXED, "x", coverage=cells(1)) for name in ("one", "two")])
    assert ("same-predictions", "error") in ids(worked)


@pytest.mark.parametrize(
    ("names", "severity"),
    [
        (("mean", "mean@shrinkage=0.001"), "warning"),
        (("mean@shrinkage=0.001", "mean@shrinkage=0.002"), "warning"),
        (("mean", "other@shrinkage=0.001"), "error"),
    ],
)
def test_settings_of_one_system_may_be_alike(system, names, severity):
    runs = [system(name, RIGHT, "x", options={"parameters": {}}) for name in names]
    assert ids(side_by_side([*runs, system("plain", CONSTANT)])) == {
        ("same-predictions", severity),
        ("no-op-arm", "warning"),
    }


def test_names_alone_do_not_make_settings(system):
    """Predictions that were made elsewhere have no record of parameters."""
    found = ids(side_by_side([system(name, RIGHT, "x") for name in ("mean", "mean@shrinkage=1")]))
    assert ("same-predictions", "error") in found


def test_constant_answers_may_be_alike(system):
    audit = side_by_side([system("one", CONSTANT, "x"), system("two", CONSTANT, "x"), system("good", RIGHT)])
    assert "same-predictions" not in {finding.id for finding in audit.findings}


def test_the_order_of_cases_does_not_hide_a_no_op(system, evaluation):
    """The same four cases in another order; every case has the same answers, so that the tallies are equal."""
    backwards = evaluation.roster.take([3, 2, 1, 0])
    audit = side_by_side([system("one", RIGHT), system("two", RIGHT, roster=backwards), system("plain", CONSTANT)])
    assert ids(audit) == {("no-op-arm", "warning")}


def test_a_trivial_answer_that_is_as_good_is_found(system):
    audit = side_by_side([system("bad", WRONG), system("plain", CONSTANT)])
    assert ids(audit) == {("trivial-baseline-wins", "warning")}
    declared = side_by_side([system("bad", WRONG), system("any", MIXED, facts={"trivial": True})])
    assert ids(declared) == {("trivial-baseline-wins", "warning")}


def test_a_missing_baseline_is_said(system):
    assert ids(side_by_side([system("good", RIGHT), system("fair", MIXED)])) == {("baseline-missing", "warning")}


def test_baselines_alone_are_not_compared(system):
    audit = side_by_side([system("a", CONSTANT), system("b", MIXED, facts={"trivial": True})])
    assert audit.not_made == {"trivial-baselines": "every run is a trivial baseline"}


def test_runs_of_different_cases_are_found_and_compared_no_further(system, evaluation, count_cases):
    fewer = {"classification": count_cases(*[RIGHT] * 3, classes=("sit", "walk"))}
    part = system("part", RIGHT, tallies=fewer, roster=evaluation.roster.take([0, 1, 2]))
    audit = side_by_side([system("whole", MIXED), part])
    assert ids(audit) == {("coverage-differs", "error")}
    assert set(audit.not_made) == {"no-op-arms", "trivial-baselines"}


def test_runs_of_different_rows_of_the_same_cases_are_found(system):
    def rows(n):
        return {"complete": n == 11, "rows": {"truth": 11, "scored": n, "missing": 11 - n, "extra": 0}}

    one, two = system("one", RIGHT, coverage=rows(11)), system("two", MIXED, coverage=rows(9))
    (finding,) = [f for f in side_by_side([one, two]).findings if f.id == "coverage-differs"]
    assert "one 11 rows, two 9 rows" in finding.evidence


def test_runs_of_one_name_are_told_apart_by_their_ids(system):
    runs = [system("same", RIGHT, "x"), system("same", MIXED, "y"), system("same", RIGHT, "z")]
    (finding,) = [f for f in side_by_side(runs).findings if f.id == "no-op-arm"]
    assert finding.where == f"{runs[0].manifest['id']}, {runs[2].manifest['id']}"


def test_only_runs_of_one_ground_are_put_side_by_side(system):
    one, two = system("one", RIGHT, "x"), system("two", RIGHT, "x", data="e" * 64)
    report = audit_runs([one, two])
    assert report.across == ()
    assert report.worst is None
    assert any(why == grounds.ALONE for why, _, _ in report.not_made())


def test_a_run_that_is_given_twice_counts_once(system):
    one = system("one", RIGHT)
    assert len(audit_runs([one, one]).runs) == 1


def test_a_broken_seal_is_no_finding_but_fails_always(system, tmp_path):
    whole, other = (publish(system(name, answers), tmp_path).path for name, answers in (("a", RIGHT), ("b", MIXED)))
    (other / "scores.json").write_bytes((other / "scores.json").read_bytes() + b" ")
    report = audit_folders([whole, other])
    assert list(report.broken) == [str(other)]
    assert report.broken[str(other)] == ("scores.json: content differs from the seal",)
    assert report.fails(None)
    assert len(report.runs) == 1


def test_a_broken_run_stands_in_the_table_as_not_audited(system, tmp_path):
    path = publish(system("a", RIGHT), tmp_path).path
    (path / "scores.json").write_bytes(b"")
    result = gnomon.audit(path)
    (row,) = result.tables["audit"].rows
    assert row["run"].value == str(path)
    assert (row["made"].value, row["errors"].value, row["errors"].why) == (0, None, "not audited")
    assert result.tables["audit"].title == "audit of 0 runs, 1 not audited"
    assert result.tables["findings"].title == "nothing was audited"
    assert "undefined (not audited)" in str(result)
    assert result.to_pandas("audit")["errors"].isna().all()


def test_findings_are_listed_once_and_worst_first(system):
    runs = [system("one", RIGHT, "x"), system("two", RIGHT, "x")]
    report = audit_runs(runs)
    assert [finding.severity for finding, _ in report.findings()] == ["error", "warning", "warning"]
    assert not report.fails(None)
    assert report.fails("warning")
    assert report.fails("error")


def test_the_verb_in_python_is_the_package_and_takes_results(system, tmp_path):
    import gnomon.audit.split  # puts the package where the verb is looked for

    folder = publish(system("one", RIGHT), tmp_path).path
    result = gnomon.audit(folder, system("two", MIXED), fail_on="error")
    assert folder.name in [row["run"].value for row in result.tables["audit"].rows]
    assert result.extra["audit"]["failed"] is False
    assert set(result.tables) == {"audit", "findings", "claims", "not_made"}
    assert "audit of 2 runs" in str(result)
    assert result.to_pandas("not_made")["why"].tolist()


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [((), {}, "no run in what was given"), ((3,), {}, "expected a run directory"), ((), {"fail_on": "fatal"}, "fatal")],
)
def test_bad_arguments_are_named(arguments, options, words):
    with pytest.raises(gnomon.InputError, match=words):
        gnomon.audit(*arguments, **options)
