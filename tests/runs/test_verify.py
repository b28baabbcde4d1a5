"""A good run passes; each kind of tampering is found by the check that is there for it, also after a new seal."""

import dataclasses
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gnomon
from gnomon import api
from gnomon.core.canonical import encode_pretty
from gnomon.core.errors import InputError
from gnomon.core.evidence import Claim, Need
from gnomon.core.ledgers import Ledger
from gnomon.core.tallies import Tallies
from gnomon.inference.intervals import Plan
from gnomon.measures.classification import ClassPrecision
from gnomon.runs import packing, seal
from gnomon.runs.directory import publish
from gnomon.runs.provenance import Clock
from gnomon.runs.run import make
from gnomon.runs.verify import verify

CHECKS = ["seal", "readable", "fingerprints", "identities", "predictions", "coverage", "claims", "form", "scores"]
SUMMARY = "the summary in the manifest does not follow from scores and coverage"
DISAGREE = "classification: the confusion ledger does not sum to the tallies"


@pytest.fixture
def folder(stored_run):
    return stored_run.path


def problems(folder):
    """Return what was wrong, by check."""
    return {check.name: check.problems for check in verify(folder) if not check.passed}


def reseal(folder):
    (folder / seal.NAME).write_bytes(seal.make(folder))


def edit(folder, name, change):
    """Change a document and make a new seal, as a forger would."""
    value = json.loads((folder / name).read_text())
    change(value)
    (folder / name).write_bytes(encode_pretty(value))
    reseal(folder)


def edit_tallies(folder, change):
    """Change counts and make a new seal."""
    path = folder / "tallies.npz"
    part = packing.unpack_tallies(packing.read_packed(path))["classification"]
    fields = {name: array.copy() for name, array in part.fields.items()}
    change(fields)
    packing.write_npz(path, packing.pack_tallies({"classification": Tallies(part.layout, part.axes, fields)}))
    reseal(folder)


def edit_ledger(folder, change):
    """Change rows of the confusion ledger and make a new seal."""
    path = folder / "ledgers.npz"
    ledger = packing.unpack_ledgers(packing.read_packed(path))["confusion"]
    columns = {name: column.copy() for name, column in ledger.columns.items()}
    change(columns)
    changed = Ledger(ledger.case, columns, ledger.labels)
    packing.write_npz(path, packing.pack_ledgers({"confusion": changed}))
    reseal(folder)


def edit_predictions(folder, change, **options):
    """Change the stored predictions and make a new seal."""
    path = folder / "predictions.parquet"
    pq.write_table(change(pq.read_table(path)), path, **options)
    reseal(folder)


def with_labels(change):
    """Return what changes the labels of a table by position."""

    def changed(table):
        labels = table["label"].to_pylist()
        labels = change(labels) or labels
        return table.set_column(1, "label", pa.array(labels, pa.string()))

    return changed


def add(name, index, amount):
    def change(fields):
        fields[name][index] += amount

    return change


def test_a_good_run_passes_every_check(folder):
    checks = verify(folder)
    assert [check.name for check in checks] == CHECKS
    assert all(check.passed for check in checks)
    assert "all 9 scores follow from the tallies" in checks[-1].detail


def test_a_run_of_the_labels_suite_passes_every_check(tmp_path):
    truth = {"id": [1, 2, 3, 4], "label": ["a", "b", "a", "b"], "group": ["x", "y", "x", "z"]}
    predictions = {"id": [1, 2, 3, 4], "label": ["a", "b", "b", "b"]}
    (run,) = api.score("labels", truth, predictions, out=tmp_path, interval="bca").runs
    assert problems(run.path) == {}


@pytest.mark.parametrize("missing", ["wrong", "skip"])
def test_a_run_with_missing_predictions_passes_every_check(tmp_path, missing):
    truth = {"id": [1, 2, 3, 4], "label": ["a", "b", "a", "b"], "group": ["x", "y", "x", "z"], "room": list("hhll")}
    predictions = {"id": [4, 2, 1], "label": ["b", "c", "a"]}
    (run,) = api.score("labels", truth, predictions, out=tmp_path, missing=missing, slice="room").runs
    assert problems(run.path) == {}


def test_a_run_of_label_sets_passes_every_check(tmp_path):
    truth = {"id": [1, 2, 3], "label": [["a", "b"], ["b"], []], "group": ["x", "y", "x"]}
    predictions = {"id": [1, 2, 3], "label": [["a"], ["b", "c"], []]}
    (run,) = api.score("labels", truth, predictions, out=tmp_path).runs
    assert problems(run.path) == {}


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(InputError, match="no such folder"):
        verify(tmp_path / "nothing")


def test_a_folder_of_runs_is_checked_run_by_run(tmp_path):
    truth = {"id": range(4), "label": list("abab"), "group": list("xyzx")}
    systems = {name: {"id": range(4), "label": list(labels)} for name, labels in (("one", "abba"), ("two", "aaab"))}
    one, two = (run.path for run in api.score("labels", truth, systems, out=tmp_path / "runs").runs)
    checks = gnomon.verify(tmp_path / "runs")
    assert [(check.run, check.name) for check in checks] == [
        (str(path), name) for path in sorted((one, two)) for name in CHECKS
    ]
    assert all(check.passed for check in checks)
    assert gnomon.verify(str(tmp_path / "runs"), one) == checks  # what is given again is checked once
    edit(two, "scores.json", lambda value: value["scores"][0].update(n=1))
    assert {check.run for check in gnomon.verify(tmp_path / "runs") if not check.passed} == {str(two)}


def test_a_run_directory_is_checked_by_itself(folder):
    checks = gnomon.verify(folder)
    assert [dataclasses.replace(check, run="") for check in checks] == verify(folder)
    assert {check.run for check in checks} == {str(folder)}
    (folder / "manifest.json").unlink()
    found = {check.name: check.passed for check in gnomon.verify(folder)}
    assert found == {"seal": False, "readable": False}


def test_folders_without_runs_are_refused(tmp_path):
    with pytest.raises(InputError, match="no run in "):
        gnomon.verify(tmp_path)
    with pytest.raises(InputError, match="neither a run directory nor a folder of runs"):
        gnomon.verify(tmp_path / "nothing")
    with pytest.raises(InputError, match="no run in what was given"):
        gnomon.verify()


def test_an_empty_folder_fails(tmp_path):
    assert set(problems(tmp_path)) == {"seal", "readable"}


def test_a_changed_byte_is_found_by_the_seal(folder):
    path = folder / "audit.json"
    path.write_bytes(path.read_bytes() + b" ")
    assert problems(folder) == {"seal": ("audit.json: content differs from the seal",)}


def test_an_added_file_is_found_by_the_seal(folder):
    (folder / "extra.txt").write_text("x")
    assert problems(folder) == {"seal": ("extra.txt: not in the seal",)}


@pytest.mark.parametrize("key", ["value", "low", "high"])
def test_a_changed_score_is_found_although_the_seal_is_new(folder, key):
    edit(folder, "scores.json", lambda value: value["scores"][1].update({key: 0.999}))
    found = problems(folder)
    assert list(found) == ["scores"]
    assert f"Accuracy() on all: {key} 0.999 should be" in found["scores"][0]


@pytest.mark.parametrize("change", [{"n": 12}, {"groups": 30}, {"notes": []}, {"why": "x"}, {"value": None}])
@pytest.mark.parametrize("row", [0, 1], ids=["headline", "other"])
def test_whatever_defends_a_score_is_checked_too(folder, row, change):
    edit(folder, "scores.json", lambda value: value["scores"][row].update(change))
    summed_up = row == 0 and change.keys() & {"n", "groups", "value"}
    assert list(problems(folder)) == (["coverage", "scores"] if summed_up else ["scores"])


@pytest.mark.parametrize(
    "change",
    [
        {"value": 0.999},
        {"low": None},
        {"high": 0.9},
        {"n": 12},
        {"groups": 30},
        {"headline": "accuracy"},
        {"complete": False},
        {"cells": {"done": 4, "total": 4}},
        {"extra": 1},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_forged_summary_is_found(folder, change):
    edit(folder, "manifest.json", lambda manifest: manifest["summary"].update(change))
    assert problems(folder) == {"coverage": (SUMMARY,)}


@pytest.mark.parametrize(
    "coverage",
    [
        {"complete": False, "rows": {"truth": 12, "scored": 11, "missing": 1, "extra": 0}},
        {"complete": False, "cells": {"done": 3, "total": 4, "missing": 1}},
        {"complete": False, "rows": {"truth": 11, "scored": 11}, "cells": {"done": 3, "total": 4, "missing": 1}},
    ],
    ids=["rows", "cells", "rows and cells"],
)
def test_a_partial_run_that_is_called_complete_is_found(evaluation, tmp_path, coverage):
    folder = publish(make(dataclasses.replace(evaluation, coverage=coverage), Plan(), Clock()), tmp_path).path
    assert problems(folder) == {}
    edit(folder, "coverage.json", lambda value: value.update(complete=True))
    wrong = "complete is True, but the counts say False"
    assert problems(folder) == {"coverage": (wrong, SUMMARY)}
    edit(folder, "manifest.json", lambda manifest: manifest["summary"].update(complete=True))
    assert problems(folder) == {"coverage": (wrong,)}


def test_a_complete_run_that_is_called_partial_is_found(folder):
    edit(folder, "coverage.json", lambda value: value.update(complete=False))
    assert problems(folder) == {"coverage": ("complete is False, but the counts say True", SUMMARY)}


def test_a_removed_score_is_found(folder):
    edit(folder, "scores.json", lambda value: value["scores"].pop())
    assert problems(folder) == {"scores": ("8 scores stored, 9 follow from the tallies",)}


def test_a_score_that_differs_by_rounding_passes_and_is_mentioned(folder):
    def nudge(value):
        value["scores"][1]["value"] += 1e-12

    edit(folder, "scores.json", nudge)
    checks = verify(folder)
    assert all(check.passed for check in checks)
    assert "rounding" in checks[-1].detail


def test_a_score_that_differs_by_more_than_rounding_is_found(folder):
    def nudge(value):
        value["scores"][1]["value"] += 1e-8

    edit(folder, "scores.json", nudge)
    assert list(problems(folder)) == ["scores"]


def test_changed_tallies_are_found_although_the_seal_is_new(folder):
    # Possible counts: one wrong answer of the first case becomes a right one.
    def better(fields):
        fields["tp"][0, 2] += 1
        fields["predicted"][0, 2] += 1
        fields["predicted"][0, 1] -= 1

    edit_tallies(folder, better)
    found = problems(folder)
    assert list(found) == ["identities", "scores"]
    assert found["identities"] == (DISAGREE,)
    assert any("Accuracy() on all" in text for text in found["scores"])

    # The third sample of the first case is walk taken for sit: the ledger can be made to agree, the scores cannot.
    edit_ledger(folder, lambda columns: columns["predicted"].__setitem__(2, 2))
    assert list(problems(folder)) == ["scores"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (add("tp", (0, 1), 5), "tp exceeds truth or predicted support"),
        (add("truth", (1, 0), 1), "truth supports do not sum to n"),
        (add("n", 2, 1), "truth supports do not sum to n"),
        (add("predicted", (3, 0), 9), "predicted supports exceed n"),
    ],
)
def test_impossible_tallies_are_found(folder, change, message):
    edit_tallies(folder, change)
    found = problems(folder)
    assert f"classification: {message}" in found["identities"]
    assert set(found) <= {"identities", "scores"}


@pytest.mark.parametrize(
    "change",
    [
        lambda columns: columns["predicted"].__setitem__(0, 2),
        lambda columns: columns["predicted"].__setitem__(0, -1),
        lambda columns: columns["truth"].__setitem__(0, 0),
        lambda columns: columns["count"].__setitem__(0, 2),
        lambda columns: columns["count"].__setitem__(3, 0),
    ],
    ids=["other prediction", "no prediction", "other truth", "counted twice", "not counted"],
)
def test_a_ledger_that_does_not_agree_with_the_tallies_is_found(folder, change):
    edit_ledger(folder, change)
    assert problems(folder) == {"identities": (DISAGREE,)}


@pytest.mark.parametrize("sides", [("truth",), ("predicted",), ("truth", "predicted")], ids=" and ".join)
def test_a_ledger_over_other_classes_is_found(folder, sides):
    path = folder / "ledgers.npz"
    ledger = packing.unpack_ledgers(packing.read_packed(path))["confusion"]
    labels = {name: values[::-1] if name in sides else values for name, values in ledger.labels.items()}
    packing.write_npz(path, packing.pack_ledgers({"confusion": Ledger(ledger.case, ledger.columns, labels)}))
    reseal(folder)
    assert problems(folder) == {"identities": (DISAGREE,)}


def test_a_ledger_without_what_it_counts_is_reported(folder):
    path = folder / "ledgers.npz"
    packing.write_npz(path, packing.pack_ledgers({"confusion": Ledger([0], {"score": [0.5]})}))
    reseal(folder)
    (problem,) = problems(folder)["identities"]
    assert "could not be checked (KeyError" in problem


def test_a_run_without_ledgers_passes_every_check(evaluation, tmp_path):
    run = publish(make(dataclasses.replace(evaluation, ledgers={}), Plan(), Clock()), tmp_path)
    assert problems(run.path) == {}


@pytest.mark.parametrize(
    "change",
    [
        with_labels(lambda labels: labels.__setitem__(0, "walk")),
        with_labels(lambda labels: labels.__setitem__(0, None)),
        with_labels(lambda labels: labels.__setitem__(-1, "")),
        with_labels(lambda labels: labels.__setitem__(0, "sit ")),
        with_labels(lambda labels: labels[::-1]),
        lambda table: table[:-1],
        lambda table: table.rename_columns(["id", "labels"]),
        lambda table: table.select(["label", "id"]),
        lambda table: table.append_column("score", pa.array([1.0] * table.num_rows)),
    ],
    ids=[
        "changed",
        "removed",
        "emptied",
        "padded",
        "reordered",
        "row removed",
        "renamed",
        "columns swapped",
        "column added",
    ],
)
def test_changed_predictions_are_found_although_the_seal_is_new(folder, change):
    edit_predictions(folder, change)
    assert problems(folder) == {"predictions": ("predictions.parquet does not have the recorded fingerprint",)}


def test_predictions_are_checked_as_they_are_stored_not_as_they_would_be_taken_in(evaluation, tmp_path):
    # Reading for scoring takes blank text for missing; the fingerprint tells them apart.
    labels = ["", " ", " sit", None, *evaluation.table["label"].to_pylist()[4:]]
    table = evaluation.table.set_column(1, "label", pa.array(labels))
    folder = publish(make(dataclasses.replace(evaluation, table=table), Plan(), Clock()), tmp_path).path
    assert problems(folder) == {}


def test_the_same_predictions_in_another_file_pass(folder):
    before = (folder / "predictions.parquet").read_bytes()
    edit_predictions(folder, lambda table: table, row_group_size=2, compression="none", use_dictionary=False)
    assert (folder / "predictions.parquet").read_bytes() != before
    assert problems(folder) == {}


@pytest.mark.parametrize(
    ("content", "error"), [(None, "no such file"), (b"", "the file is empty"), (b"PAR1", "not a parquet file")]
)
def test_missing_or_damaged_predictions_are_reported(folder, content, error):
    path = folder / "predictions.parquet"
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    reseal(folder)
    found = problems(folder)
    assert list(found) == ["predictions"]
    assert "could not be checked (InputError: " in found["predictions"][0]
    assert f"predictions.parquet: {error}" in found["predictions"][0]


@pytest.mark.parametrize(("fact", "value"), [("groups", 6), ("cases", 400), ("groups", None), ("groups", "3")])
def test_facts_that_the_cases_do_not_tell_are_found(folder, fact, value):
    edit(folder, "manifest.json", lambda manifest: manifest["facts"].update({fact: value}))
    found = problems(folder)
    assert list(found) == ["claims"]
    truth = {"groups": 3, "cases": 4}[fact]
    assert found["claims"][0] == f"fact {fact!r} is {value!r}, but the cases say {truth}"


def test_a_missing_fact_is_found(folder):
    edit(folder, "manifest.json", lambda manifest: manifest["facts"].pop("groups"))
    assert problems(folder)["claims"][0] == "fact 'groups' is None, but the cases say 3"


@pytest.mark.parametrize(
    "change",
    [
        lambda audit: audit["claims"][0].update(supported=True),
        lambda audit: audit["claims"][0].update(supported=True, missing=[]),
        lambda audit: audit["claims"][0].update(missing=["at least 6 groups (found 5)"]),
        lambda audit: audit["claims"][0].update(statement="holds for everyone"),
        lambda audit: audit["claims"].clear(),
        lambda audit: audit["claims"].append(audit["claims"][0]),
    ],
    ids=["supported", "nothing missing", "less missing", "says more", "removed", "doubled"],
)
def test_a_verdict_that_does_not_follow_from_the_facts_is_found(folder, change):
    edit(folder, "audit.json", change)
    assert problems(folder) == {"claims": ("the verdicts on claims do not follow from the facts and the findings",)}


def test_a_changed_fact_of_the_suite_is_found_by_the_claim_that_hangs_on_it(evaluation, tmp_path):
    claim = Claim("balanced", "holds for every class", (Need("least_class_groups", 5, "every class in 5 groups"),))
    protocol = dataclasses.replace(evaluation.protocol, claims=(claim,))
    folder = publish(make(dataclasses.replace(evaluation, protocol=protocol), Plan(), Clock()), tmp_path).path
    assert problems(folder) == {}
    edit(folder, "manifest.json", lambda manifest: manifest["facts"].update(least_class_groups=9))
    assert problems(folder) == {"claims": ("the verdicts on claims do not follow from the facts and the findings",)}


def test_a_verdict_with_its_facts_and_cases_forged_is_found_by_the_scores(folder):
    def regroup(coverage):
        coverage["roster"]["groups"] = ["a", "b", "c", "d"]

    edit(folder, "coverage.json", regroup)
    edit(folder, "manifest.json", lambda manifest: manifest["facts"].update(groups=4))
    edit(folder, "audit.json", lambda audit: audit["claims"][0].update(missing=["at least 6 groups (found 4)"]))
    assert list(problems(folder)) == ["scores"]


@pytest.mark.parametrize(
    "change",
    [
        lambda value: value.update(headline="accuracy"),
        lambda value: value.update(schema="gnomon.scores/2"),
        lambda value: value.update(extra=1),
        lambda value: value["scores"][0].update(extra=1),
        lambda value: value.pop("headline"),
    ],
    ids=["headline", "schema", "key added", "key added to a score", "key removed"],
)
def test_scores_with_another_frame_are_found(folder, change):
    edit(folder, "scores.json", change)
    assert problems(folder) == {
        "form": ("scores.json is not what its scores give: schema, headline or form were changed",)
    }


def test_scores_in_another_form_are_found(folder):
    path = folder / "scores.json"
    path.write_text(json.dumps(json.loads(path.read_text())))
    reseal(folder)
    assert list(problems(folder)) == ["form"]


def test_whole_numbers_in_place_of_scores_are_found(evaluation, tmp_path):
    # 1 is read as the score 1.0, but it is not what was written.
    protocol = dataclasses.replace(evaluation.protocol, measures=(*evaluation.protocol.measures, ClassPrecision("run")))
    folder = publish(make(dataclasses.replace(evaluation, protocol=protocol), Plan(), Clock()), tmp_path).path
    assert json.loads((folder / "scores.json").read_text())["scores"][-1]["value"] == 1.0
    edit(folder, "scores.json", lambda value: value["scores"][-1].update(value=1))
    assert list(problems(folder)) == ["form"]


def test_tallies_of_another_number_of_cases_are_found(folder):
    path = folder / "tallies.npz"
    part = packing.unpack_tallies(packing.read_packed(path))["classification"]
    packing.write_npz(path, packing.pack_tallies({"classification": part.take(np.array([0, 1, 2]))}))
    reseal(folder)
    found = problems(folder)
    assert list(found) == ["readable"]
    assert "the tallies of 'classification' are of 3 cases, expected 4 as in coverage.json" in found["readable"][0]


def test_rows_of_cases_that_the_run_does_not_have_are_found(folder):
    path = folder / "ledgers.npz"
    ledger = packing.unpack_ledgers(packing.read_packed(path))["confusion"]
    moved = Ledger(ledger.case + 3, ledger.columns, ledger.labels)
    packing.write_npz(path, packing.pack_ledgers({"confusion": moved}))
    reseal(folder)
    found = problems(folder)
    assert list(found) == ["readable"]
    assert "the rows of 'confusion' are of 7 cases, expected 4" in found["readable"][0]


def test_tallies_of_another_family_are_found(folder):
    path = folder / "tallies.npz"
    part = packing.unpack_tallies(packing.read_packed(path))["classification"]
    packing.write_npz(path, packing.pack_tallies({"other": part}))
    reseal(folder)
    assert set(problems(folder)) == {"identities", "scores"}


def test_changed_groups_are_found(folder):
    edit(folder, "coverage.json", lambda value: value["roster"].update(groups=["a", "b", "c", "d"]))
    found = problems(folder)
    assert list(found) == ["claims", "scores"]
    assert found["claims"] == ("fact 'groups' is 3, but the cases say 4",)


def test_a_changed_protocol_is_found(folder):
    edit(folder, "manifest.json", lambda value: value["protocol"]["settings"].update(window_s=9))
    found = problems(folder)
    assert found == {"fingerprints": ("the protocol's record does not have the recorded fingerprint",)}


@pytest.mark.parametrize(
    ("key", "value"), [("system", "better"), ("data_fingerprint", "0" * 64), ("prediction_fingerprint", "0" * 64)]
)
def test_a_run_under_another_name_is_found(folder, key, value):
    edit(folder, "manifest.json", lambda manifest: manifest.update({key: value}))
    found = problems(folder)
    (problem,) = found["fingerprints"]
    assert "the run's id should be" in problem
    assert ("predictions" in found) == (key == "prediction_fingerprint")


def test_a_changed_plan_is_found_by_name_and_by_scores(folder):
    edit(folder, "manifest.json", lambda manifest: manifest["plan"].update(level=0.5))
    assert list(problems(folder)) == ["fingerprints", "scores"]


def test_a_plan_with_an_unknown_key_is_found_by_the_name_of_the_run(folder):
    edit(folder, "manifest.json", lambda manifest: manifest["plan"].update(colour="red"))
    found = problems(folder)
    assert list(found) == ["fingerprints"]


def test_an_unknown_schema_is_reported(folder):
    edit(folder, "manifest.json", lambda manifest: manifest.update(schema="gnomon.run/99"))
    found = problems(folder)
    assert list(found) == ["readable"]
    assert "schema 'gnomon.run/99', expected 'gnomon.run/1'; read it with that version" in found["readable"][0]


@pytest.mark.parametrize("name", ["coverage.json", "scores.json", "audit.json", "tallies.npz", "manifest.json"])
def test_a_missing_file_is_reported_by_seal_and_reader(folder, name):
    (folder / name).unlink()
    found = problems(folder)
    assert found["seal"] == (f"{name}: sealed but missing",)
    assert name in found["readable"][0]
