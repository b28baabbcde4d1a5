"""The audit of one run. What must be found is planted in a small run by hand."""

import dataclasses
import json

import numpy as np
import pytest

from gnomon.audit import CHECKS, Audit
from gnomon.core.canonical import encode_pretty
from gnomon.core.errors import GnomonError
from gnomon.core.evidence import Claim, Finding, Need
from gnomon.core.samples import Samples
from gnomon.inference.intervals import Plan
from gnomon.runs import auditing, seal
from gnomon.runs import samples as stored
from gnomon.runs.directory import publish
from gnomon.runs.provenance import Clock
from gnomon.runs.run import load, make
from gnomon.runs.verify import verify


def split(parts="train train test test", people="a b c d", digests="1 2 3 4", spans=None, **tags):
    parts, people, digests = (tuple(text.split()) for text in (parts, people, digests))
    n = len(parts)
    spans = np.array(spans if spans else [(0, 1)] * n, dtype=float)
    tags = {"group": people, **{name: tuple(text.split()) for name, text in tags.items()}}
    return Samples(tuple(f"s{i}" for i in range(n)), people, parts, spans, spans, digests, tags)


def run_of(evaluation, **changes):
    return make(dataclasses.replace(evaluation, **changes), Plan(), Clock())


def edit(folder, name, change):
    value = json.loads((folder / name).read_text())
    change(value)
    (folder / name).write_bytes(encode_pretty(value))
    (folder / seal.NAME).write_bytes(seal.make(folder))


def new(run):
    return {f.id: f for f in run.findings if f.id != "missing-predictions"}


def test_every_check_is_made_or_has_a_reason(evaluation, small_run):
    for run in (small_run, run_of(evaluation, samples=split())):
        assert set(run.made) | set(run.not_made) == set(CHECKS)
        assert not set(run.made) & set(run.not_made)
        assert all(run.not_made.values())


def test_a_run_without_training_is_checked_for_what_it_holds(small_run):
    assert set(small_run.made) == {"coverage", "identities", "degenerate-targets"}
    assert new(small_run) == {}
    for name in ("read-ranges", "exact-duplicates", "shared-tags"):
        assert small_run.not_made[name].startswith("no training part")
    assert small_run.not_made["refit"].startswith("asks the system itself")


def test_a_clean_split_has_no_finding(evaluation):
    run = run_of(evaluation, samples=split())
    assert new(run) == {}
    assert {"read-ranges", "exact-duplicates", "shared-tags"} <= set(run.made)
    assert run.manifest["facts"]["samples"] == {"parts": {"test": 2, "train": 2}, "stored": True}


@pytest.mark.parametrize(
    ("changes", "finding", "severity"),
    [
        ({"digests": "1 2 3 1"}, "exact-duplicates", "error"),
        ({"people": "a b c a", "spans": [(0, 1), (0, 1), (0, 1), (5, 6)]}, "shared-tag", "warning"),
        ({"people": "a b c a", "spans": [(0, 1), (0, 1), (0, 1), (0.5, 2)]}, "read-ranges-overlap", "error"),
        ({"session": "m n o m"}, "shared-tag", "warning"),
        ({"target": "x y x z"}, "unseen-test-classes", "warning"),
        ({"parts": "fold fold fold fold", "fold": "1 1 2 2", "digests": "1 2 3 1"}, "exact-duplicates", "error"),
    ],
)
def test_a_planted_leak_is_found(evaluation, changes, finding, severity):
    found = new(run_of(evaluation, samples=split(**changes)))
    assert found[finding].severity == severity


def test_a_shared_device_is_nobody(evaluation):
    assert new(run_of(evaluation, samples=split(device="m m m m"))) == {}


def test_shared_groups_are_an_error_where_new_groups_are_claimed(evaluation):
    """The run has three groups: a claim that needs three is supported, so the number says too much."""
    shared = split(people="a b c a", spans=[(0, 1), (0, 1), (0, 1), (5, 6)])
    for least, severity in ((3, "error"), (4, "warning")):
        claim = Claim("new-groups", "holds for others", (Need("groups", least, "groups"),))
        protocol = dataclasses.replace(evaluation.protocol, claims=(claim,))
        run = run_of(evaluation, samples=shared, protocol=protocol)
        assert new(run)["shared-tag"].severity == severity


def test_what_the_samples_lack_is_said(evaluation):
    bare = dataclasses.replace(
        split(), digests=(), tags={}, input_range=np.zeros((4, 2)), target_range=np.zeros((4, 2))
    )
    run = run_of(evaluation, samples=bare)
    assert run.not_made["exact-duplicates"] == "no sample has a digest of its input"
    assert run.not_made["read-ranges"] == "no sample names a range that it reads"
    assert run.not_made["shared-tags"] == "no sample names its group"


def test_samples_of_one_side_are_compared_with_nothing(evaluation):
    run = run_of(evaluation, samples=split(parts="test test test test"))
    assert "so there is nothing to compare" in run.not_made["exact-duplicates"]


def test_input_blocks_are_checked_where_samples_name_them(evaluation):
    tagged = dataclasses.replace(split(), tags={"group": tuple("abcd"), "block:text": ("derived-from-annotation",) * 4})
    assert new(run_of(evaluation, samples=tagged))["label-derived-input"].severity == "error"


@pytest.mark.parametrize(
    ("coverage", "text"),
    [
        ({"rows": {"truth": 14, "scored": 11}}, "3 of 14 rows have no score (no prediction 3)"),
        ({"cases": {"truth": 5, "scored": 4}}, "1 of 5 cases have no score (no result 1)"),
        (
            {"cells": {"total": 4, "done": 2, "missing": [{"cell": "x", "why": "timeout"}] * 2}},
            "2 of 4 cells have no score (timeout 2)",
        ),
        ({"samples": {"total": 9, "valid": 7, "dropped": {"blur": 2}}}, "2 of 9 samples have no score (blur 2)"),
    ],
)
def test_what_has_no_score_is_counted_by_reason(evaluation, coverage, text):
    found = new(run_of(evaluation, coverage={"complete": False, **coverage}))
    assert found["partial-coverage"].evidence == text
    assert found["partial-coverage"].severity == ("info" if "samples" in coverage else "warning")


def test_impossible_tallies_are_found(evaluation):
    tallies = evaluation.tallies["classification"]
    fields = {**tallies.fields, "n": tallies.fields["n"] + 1}
    changed = type(tallies)(tallies.layout, tallies.axes, fields)
    assert "broken-identity" in new(run_of(evaluation, tallies={"classification": changed}))


def test_one_true_class_is_found(evaluation, count_cases):
    tallies = {"classification": count_cases(*[[("sit", "sit"), ("sit", "walk")]] * 4)}
    found = new(run_of(evaluation, tallies=tallies, ledgers={}))
    assert found["one-class-target"].evidence == "all 8 test targets are 'sit'"


def test_constant_answers_are_trivial_and_so_is_what_says_so(evaluation, small_run, count_cases):
    constant = {"classification": count_cases(*[[("sit", "sit"), ("walk", "sit")]] * 4)}
    assert auditing.trivial(small_run) == ""
    assert auditing.trivial(run_of(evaluation, tallies=constant, ledgers={})) == "always answers 'sit'"
    assert auditing.trivial(run_of(evaluation, facts={"trivial": True})) == "declared"
    silent = {"classification": count_cases(*[[("sit", None), ("walk", None)]] * 4)}
    assert auditing.trivial(run_of(evaluation, tallies=silent, ledgers={})) == "never answers"


def test_a_selection_by_an_unreported_metric_is_found(evaluation):
    found = run_of(evaluation, facts={"selection": {"metric": "val_loss"}})
    assert new(found)["selection-metric-not-reported"].where == "val_loss"
    clean = run_of(evaluation, facts={"selection": {"metric": "accuracy"}})
    assert new(clean) == {}
    assert "selection" in clean.made


def test_a_check_that_the_suite_made_is_not_made_again(evaluation):
    own = Finding("copies", "error", "here", "2 of 2", "drop them")
    audit = Audit().add("exact-duplicates", [own]).skip("scales", "no lengths").skip("shared-tags", "known people")
    run = run_of(evaluation, samples=split(digests="1 2 3 1"), audit=audit)
    assert set(new(run)) == {"copies"}
    assert run.suite_made == ("exact-duplicates",)
    assert run.not_made["scales"] == "no lengths"
    assert "shared-tags" in run.made


def test_everything_is_read_back_and_verified(evaluation, tmp_path):
    run = publish(run_of(evaluation, samples=split(digests="1 2 3 1")), tmp_path)
    found = load(run.path)
    assert found == dataclasses.replace(run, table=None, samples=None)
    assert all(check.passed for check in verify(run.path))
    again = auditing.again(found)
    assert (again.findings, set(again.made), dict(again.not_made)) == (run.findings, set(run.made), dict(run.not_made))


def test_an_older_audit_is_read_and_made_good(stored_run):
    edit(stored_run.path, "audit.json", lambda audit: [audit.pop(key) for key in ("made", "not_made", "suite_made")])
    run = load(stored_run.path)
    assert (run.made, dict(run.not_made), run.suite_made) == ((), {}, ())
    assert run.findings == stored_run.findings
    assert all(check.passed for check in verify(stored_run.path))
    again = auditing.again(run)
    assert set(again.made) == set(stored_run.made)
    assert set(again.made) | set(again.not_made) == set(CHECKS)


def test_a_finding_that_was_removed_is_found_again(evaluation, tmp_path):
    folder = publish(run_of(evaluation, samples=split(digests="1 2 3 1")), tmp_path).path
    edit(folder, "audit.json", lambda audit: audit["findings"].clear())
    assert [f.id for f in auditing.again(load(folder)).findings] == ["exact-duplicates"]


@pytest.mark.parametrize("key", ["made", "not_made", "suite_made"])
def test_an_audit_of_other_types_is_refused(stored_run, key):
    edit(stored_run.path, "audit.json", lambda audit: audit.update({key: 3}))
    with pytest.raises(GnomonError, match="the run cannot be read"):
        load(stored_run.path)


def test_changed_samples_are_found_by_the_seal(evaluation, tmp_path):
    folder = publish(run_of(evaluation, samples=split()), tmp_path).path
    stored.write(split(digests="1 2 3 9"), folder)
    (failed,) = [check for check in verify(folder) if not check.passed]
    assert failed.problems == ("samples.parquet: content differs from the seal",)


def test_samples_that_are_gone_or_fewer_are_found_although_the_seal_is_new(evaluation, tmp_path):
    folder = publish(run_of(evaluation, samples=split()), tmp_path).path
    stored.write(split("train test", "a b", "1 2"), folder)
    (folder / seal.NAME).write_bytes(seal.make(folder))
    (failed,) = [check for check in verify(folder) if not check.passed]
    assert failed.name == "samples"
    (folder / stored.NAME).unlink()
    (folder / seal.NAME).write_bytes(seal.make(folder))
    (failed,) = [check for check in verify(folder) if not check.passed]
    assert failed.problems == ("samples.parquet is missing",)


def test_checks_of_samples_that_are_gone_are_not_said_to_be_made(evaluation, tmp_path):
    folder = publish(run_of(evaluation, samples=split(target="x y x y")), tmp_path).path
    before = auditing.again(load(folder))
    assert before.findings == load(folder).findings
    (folder / stored.NAME).unlink()
    (folder / seal.NAME).write_bytes(seal.make(folder))
    found = auditing.again(load(folder))
    gone = {"read-ranges", "exact-duplicates", "shared-tags", "unseen-classes"}
    assert set(before.made) - set(found.made) == gone
    assert {name for name, why in found.not_made.items() if why == auditing.GONE} == gone
    (finding,) = set(found.findings) - set(before.findings)
    assert (finding.id, finding.severity) == ("samples-missing", "error")
    assert set(found.made) | set(found.not_made) == set(CHECKS)


def test_samples_that_were_too_many_to_store_are_not_missed(evaluation, tmp_path, monkeypatch):
    monkeypatch.setattr(stored, "MOST_STORED", 3)
    folder = publish(run_of(evaluation, samples=split()), tmp_path).path
    assert not (folder / stored.NAME).exists()
    assert "samples-missing" not in {finding.id for finding in auditing.again(load(folder)).findings}


def test_samples_that_several_systems_share_are_checked_once(evaluation, monkeypatch):
    calls = []
    real = auditing.exact_duplicates
    monkeypatch.setattr(auditing, "exact_duplicates", lambda part: calls.append(part) or real(part))
    shared = split(digests="1 2 3 1")
    found = [new(run_of(evaluation, samples=shared, system=name)) for name in ("one", "two")]
    assert len(calls) == 1
    assert found[0] == found[1] != {}
