"""The audit of both variants of one run: what it finds by itself in the published protocol, and not in the strict one.

Expected values: the flaws that are known of the published protocol; counted in the test.
"""

import pytest

import gnomon
from gnomon.audit.ranges import read_ranges
from gnomon.suites.episode import audited
from gnomon.suites.episode.tasks.auditing import samples
from gnomon.suites.episode.tasks.declared import TASKS
from gnomon.suites.episode.tasks.sampling import build

FLAWS = (
    "read-ranges-overlap",
    "cuts-differ",
    "label-derived-input",
    "whole-recording-input",
    "tags-differ",
    "one-class-target",
    "fitted-on-test",
    "invalid-as-values",
    "target-clamped",
    "overlapping-units",
    "duplicate-queries",
)


def found(run):
    return {finding.id: finding for finding in run.findings}


@pytest.mark.parametrize("name", FLAWS)
def test_a_flaw_of_the_published_protocol_is_found_in_it_and_not_in_strict(runs, name):
    assert name in found(runs["published"]["minimal"])
    assert name not in found(runs["strict"]["minimal"])


def test_what_is_true_of_several_tasks_is_said_once_with_their_names(runs):
    """Six tasks read caption text as published, and nothing else tells them apart."""
    finding = found(runs["published"]["minimal"])["label-derived-input"]
    tasks = [task.name for task in TASKS.values() if task.inputs == "all"]
    assert len(tasks) == 6
    assert finding.where == ", ".join(tasks)
    assert finding.evidence.startswith(f"{', '.join(tasks)}: 1 of 17 input blocks")


def test_one_cut_for_all_tasks_is_no_finding_and_one_by_task_is(recorded):
    for variant, differ in (("published", True), ("strict", False)):
        data = {name: build(task, recorded[variant], variant) for name, task in TASKS.items()}
        findings = audited.audit(data, audited.collected(data), "ids").findings
        assert ("cuts-differ" in {finding.id for finding in findings}) is differ


def test_samples_of_all_tasks_are_one_list_with_a_fold_each(recorded):
    data = {name: build(TASKS[name], recorded["strict"], "strict") for name in ("next_action", "temporal_order")}
    by_task = audited.collected(data)
    whole = audited.joined(by_task)
    assert len(whole) == sum(len(one) for one in by_task.values())
    assert set(whole.parts) == {"train", "test"}
    assert whole.column("fold").count("next_action") == len(by_task["next_action"])
    assert audited.joined({}) is None


def test_purged_samples_are_in_no_part_and_the_rest_share_nothing(recorded):
    data = build(TASKS["misalignment_detection"], recorded["strict"], "strict")
    kept = audited.collected({"misalignment_detection": data})["misalignment_detection"]
    assert len(kept) == len(data) - data.facts["samples"]["purged"] < len(data)
    assert not read_ranges(kept)
    assert read_ranges(samples(build(TASKS["misalignment_detection"], recorded["published"], "published")))


def test_ties_decide_a_published_rank_and_not_the_mean_over_their_order():
    scores = {"optimistic": 0.9, "pessimistic": 0.1, "average": 0.5}
    queries = ["a", "b"]
    assert "ties-decide" in {one.id for one in audited.ties("t", scores, "order", queries, None)}
    assert not audited.ties("t", scores, "average", queries, None)


def test_the_audit_of_the_folder_of_runs_finds_the_same_again(runs, out):
    report = gnomon.audit(str(out)).extra["audit"]
    by_name = {item["name"]: {finding["id"] for finding in item["findings"]} for item in report["runs"]}
    ids = {str(run.manifest["id"]): variant for variant, own in runs.items() for run in own.values()}
    for name, findings in by_name.items():
        assert (set(FLAWS[:-1]) <= findings) is (ids[name] == "published"), name


def test_what_was_left_out_or_not_seen_is_said(runs):
    strict = found(runs["strict"]["minimal"])
    assert "left out on request" in strict["masked-blocks"].evidence
    assert "hand_left_joints" in strict["invalid-frames"].evidence
    assert strict["purged-samples"].severity == "info"
