"""Runs made from a small evaluation; expected numbers are counted from its labels by hand."""

import dataclasses
import json

import pyarrow as pa
import pytest

from gnomon import api
from gnomon.core.canonical import encode_pretty, fingerprint
from gnomon.core.errors import GnomonError, InputError, IntegrityError
from gnomon.core.tallies import Tallies
from gnomon.inference.intervals import Plan
from gnomon.inference.scoring import derive
from gnomon.runs import packing
from gnomon.runs.content import table_digest
from gnomon.runs.directory import publish
from gnomon.runs.provenance import Clock
from gnomon.runs.run import SCHEMA, load, make, run_id

TRUTH = {"id": [1, 2, 3, 4], "label": ["a", "b", "a", "b"], "group": ["x", "y", "x", "z"]}
PREDICTIONS = {"id": [4, 3, 2, 1], "label": ["b", "b", "b", "a"]}


def edit(path, change):
    value = json.loads(path.read_text())
    change(value)
    path.write_bytes(encode_pretty(value))


def test_a_run_holds_every_score_of_the_protocol(small_run, evaluation):
    assert [(s.slice, s.name) for s in small_run.scores] == [
        (part, name) for part in ("all", "room=hall", "room=lab") for name in ("macro_f1", "accuracy", "kappa")
    ]
    again = derive(evaluation.protocol.measures, evaluation.tallies, evaluation.roster, ("room",), Plan())
    assert small_run.scores == tuple(again)


def test_scores_are_found_by_name_and_slice(small_run):
    # 7 of 11 samples are right; in the hall 2 of 3.
    assert small_run.find("accuracy").value == pytest.approx(7 / 11)
    assert small_run.find("accuracy", "room=hall").value == pytest.approx(2 / 3)
    assert small_run.find("accuracy", "room=attic") is None
    assert small_run.find("nothing") is None


def test_the_groups_of_a_measure_are_those_of_the_roster(small_run):
    assert small_run.groups(small_run.measures[0]).tallies.fields["n"].tolist() == [5, 3, 3]
    assert small_run.groups(small_run.measures[0], {"room": "lab"}).tallies.fields["n"].tolist() == [2, 3, 3]


def test_the_manifest_says_what_was_asked_and_what_it_resolved_to(small_run, evaluation):
    manifest = small_run.manifest
    assert manifest["schema"] == SCHEMA
    assert manifest["options"] == {"asked": {"out": "runs"}, "resolved": {"interval": "jackknife-t"}}
    assert manifest["protocol"] == evaluation.protocol.record()
    assert manifest["protocol_fingerprint"] == fingerprint(evaluation.protocol.record())
    assert manifest["data_fingerprint"] == "d" * 64
    assert manifest["prediction_fingerprint"] == table_digest(evaluation.table)
    assert manifest["plan"] == {"method": "jackknife-t", "level": 0.95, "resamples": 10_000, "seed": 0}
    assert manifest["provenance"]["gnomon"]
    assert manifest["time"]["wall_s"] >= 0


def test_the_manifest_sums_up_the_headline(small_run):
    headline, summary = small_run.scores[0], small_run.manifest["summary"]
    assert summary == {
        "headline": "macro_f1",
        "direction": "up",
        "value": headline.value,
        "low": headline.low,
        "high": headline.high,
        "shown": {"factor": 1.0, "unit": "", "digits": 3},
        "n": 11,
        "groups": 3,
        "complete": True,
        "cells": None,
    }


def test_facts_count_groups_and_cases(small_run):
    assert small_run.manifest["facts"] == {"groups": 3, "cases": 4, "least_class_groups": 2}


def test_facts_that_the_cases_tell_cannot_be_overruled(evaluation):
    bold = make(dataclasses.replace(evaluation, facts={"groups": 99, "cases": 99}), Plan(), Clock())
    assert bold.manifest["facts"] == {"groups": 3, "cases": 4}
    assert not bold.verdicts[0].supported


def test_claims_are_judged_by_the_facts(small_run):
    (verdict,) = small_run.verdicts
    assert not verdict.supported
    assert verdict.missing == ("at least 6 groups (found 3)",)


def test_a_run_knows_its_suite_system_plan_and_coverage(small_run):
    assert (small_run.suite, small_run.system) == ("labels", "nearest neighbour")
    assert small_run.plan == Plan()
    assert small_run.complete
    assert small_run.coverage["rows"]["missing"] == 1


def test_a_run_is_complete_unless_the_suite_says_otherwise(evaluation):
    partial = make(dataclasses.replace(evaluation, coverage={"complete": False}), Plan(), Clock())
    assert not partial.complete
    assert make(dataclasses.replace(evaluation, coverage={}), Plan(), Clock()).complete


def test_the_same_work_gets_the_same_name(evaluation, small_run):
    again = make(evaluation, Plan(), Clock(), {"asked": {"out": "elsewhere"}})
    assert again.manifest["id"] == small_run.manifest["id"]
    assert again.scores == small_run.scores


@pytest.mark.parametrize(
    ("changes", "plan"),
    [
        ({"system": "other"}, Plan()),
        ({"suite": "har"}, Plan()),
        ({"data": "f" * 64}, Plan()),
        ({"table": pa.table({"id": ["0"], "label": ["sit"]})}, Plan()),
        ({}, Plan(seed=1)),
        ({}, Plan(level=0.9)),
        ({}, Plan("none")),
        ({}, Plan(resamples=500)),
    ],
)
def test_other_work_gets_another_name(evaluation, small_run, changes, plan):
    other = make(dataclasses.replace(evaluation, **changes), plan, Clock())
    assert other.manifest["id"] != small_run.manifest["id"]


def test_the_same_predictions_in_another_form_get_the_same_name(evaluation, small_run):
    whole = evaluation.table
    parts = pa.concat_tables([whole[:3], whole[3:]])
    wide = parts.cast(pa.schema([(name, pa.large_string()) for name in whole.column_names]))
    other = make(dataclasses.replace(evaluation, table=wide), Plan(), Clock())
    assert other.manifest["id"] == small_run.manifest["id"]


def test_any_other_prediction_gets_another_name(evaluation, small_run):
    labels = evaluation.table["label"].to_pylist()
    names = {small_run.manifest["id"]}
    for last in (None, ""):
        changed = evaluation.table.set_column(1, "label", pa.array([*labels[:-1], last]))
        names.add(make(dataclasses.replace(evaluation, table=changed), Plan(), Clock()).manifest["id"])
    assert len(names) == 3


def test_another_protocol_gets_another_name(evaluation, small_run):
    protocol = dataclasses.replace(evaluation.protocol, version="2")
    other = make(dataclasses.replace(evaluation, protocol=protocol), Plan(), Clock())
    assert other.manifest["id"] != small_run.manifest["id"]


@pytest.mark.parametrize(
    ("system", "slug"),
    [
        ("resnet-50_v1.2", "resnet-50_v1.2"),
        ("my model/2", "my-model-2"),
        ("../../etc", "etc"),
        ("漢字", "system"),
        ("", "system"),
        ("...", "system"),
        ("x" * 200, "x" * 48),
        ("a\nb\0c", "a-b-c"),
    ],
)
def test_a_run_is_named_in_plain_characters(small_run, system, slug):
    name = run_id({**small_run.manifest, "system": system})
    assert name.startswith(f"labels-{slug}-")
    assert len(name) == len(f"labels-{slug}-") + 10


def test_a_run_is_read_back_as_it_was_written(stored_run):
    assert load(stored_run.path) == dataclasses.replace(stored_run, table=None)
    assert load(str(stored_run.path)) == load(stored_run.path)


def test_a_run_of_the_labels_suite_is_read_back_as_it_was_written(tmp_path):
    (run,) = api.score("labels", TRUTH, PREDICTIONS, out=tmp_path).runs
    read = load(run.path)
    assert read.scores == run.scores
    assert read == dataclasses.replace(run, table=None)


def test_a_run_can_be_rescored_from_what_was_read(stored_run):
    read = load(stored_run.path)
    assert tuple(derive(read.measures, read.tallies, read.roster, ("room",), read.plan)) == stored_run.scores


def test_a_run_without_ledgers_is_read_back(evaluation, tmp_path):
    run = publish(make(dataclasses.replace(evaluation, ledgers={}), Plan(), Clock()), tmp_path)
    assert not (run.path / "ledgers.npz").exists()
    assert load(run.path) == dataclasses.replace(run, table=None)


def test_a_folder_without_a_manifest_is_not_a_run(tmp_path):
    with pytest.raises(InputError, match=r"not a run directory: it has no manifest\.json"):
        load(tmp_path)


@pytest.mark.parametrize("schema", ["gnomon.run/2", "", None, 1, ["gnomon.run/1"]])
def test_an_unknown_schema_is_refused(stored_run, schema):
    edit(stored_run.path / "manifest.json", lambda manifest: manifest.update(schema=schema))
    with pytest.raises(IntegrityError, match=r"another version of gnomon .* expected 'gnomon\.run/1'; read it with"):
        load(stored_run.path)


@pytest.mark.parametrize("content", ["[]", '"text"', "3", "null"])
def test_a_manifest_that_is_no_object_is_refused(stored_run, content):
    (stored_run.path / "manifest.json").write_text(content)
    with pytest.raises(IntegrityError, match=r"manifest\.json: holds no JSON object"):
        load(stored_run.path)


@pytest.mark.parametrize("name", ["coverage.json", "scores.json", "audit.json", "tallies.npz"])
def test_a_missing_file_is_named(stored_run, name):
    (stored_run.path / name).unlink()
    with pytest.raises(GnomonError, match=name):
        load(stored_run.path)


@pytest.mark.parametrize("name", ["manifest.json", "coverage.json", "scores.json", "audit.json", "tallies.npz"])
@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"PK\x03\x04"])
def test_a_damaged_file_is_named(stored_run, name, content):
    (stored_run.path / name).write_bytes(content)
    with pytest.raises(GnomonError, match=name):
        load(stored_run.path)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("coverage.json", lambda value: value.pop("roster")),
        ("coverage.json", lambda value: value["roster"].pop("groups")),
        ("coverage.json", lambda value: value["roster"].update(tags=[])),
        ("scores.json", lambda value: value.pop("scores")),
        ("scores.json", lambda value: value["scores"][0].pop("notes")),
        ("coverage.json", lambda value: value.pop("complete")),
        ("coverage.json", lambda value: value.update(roster=[])),
        ("manifest.json", lambda value: value.pop("suite")),
        ("manifest.json", lambda value: value.pop("system")),
        ("manifest.json", lambda value: value.pop("id")),
        ("manifest.json", lambda value: value.pop("plan")),
        ("manifest.json", lambda value: value.pop("facts")),
        ("manifest.json", lambda value: value.pop("summary")),
        ("manifest.json", lambda value: value.pop("data_fingerprint")),
        ("audit.json", lambda value: value["findings"][0].pop("severity")),
        ("audit.json", lambda value: value["claims"][0].update(missing=None)),
        ("manifest.json", lambda value: value.pop("protocol")),
        ("manifest.json", lambda value: value["protocol"]["measures"][0]["parameters"].update(average="median")),
        ("manifest.json", lambda value: value["protocol"]["measures"][0]["parameters"].update(beta=2)),
        ("manifest.json", lambda value: value["protocol"]["measures"][0].pop("type")),
    ],
)
def test_a_document_that_lacks_what_it_needs_is_refused(stored_run, name, change):
    edit(stored_run.path / name, change)
    with pytest.raises(GnomonError):
        load(stored_run.path)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("scores.json", lambda value: value["scores"][0].update(value="0.5")),
        ("scores.json", lambda value: value["scores"][0].update(value=True)),
        ("scores.json", lambda value: value["scores"][0].update(low=[0.5])),
        ("scores.json", lambda value: value["scores"][0].update(n=1.5)),
        ("scores.json", lambda value: value["scores"][0].update(groups=None)),
        ("scores.json", lambda value: value["scores"][0].update(why=None)),
        ("scores.json", lambda value: value["scores"][0].update(notes="text")),
        ("scores.json", lambda value: value["scores"][0].update(notes=[1])),
        ("scores.json", lambda value: value["scores"].append("text")),
        ("scores.json", lambda value: value.update(scores=3)),
        ("audit.json", lambda value: value["findings"][0].update(severity="fatal")),
        ("audit.json", lambda value: value["findings"][0].update(remedy=None)),
        ("audit.json", lambda value: value["findings"].append(None)),
        ("audit.json", lambda value: value["claims"][0].update(supported="yes")),
        ("audit.json", lambda value: value["claims"][0].update(missing="text")),
        ("audit.json", lambda value: value.update(claims=None)),
        ("coverage.json", lambda value: value["roster"].update(ids=[1, 2, 3, 4])),
        ("coverage.json", lambda value: value["roster"].update(ids="abcd")),
        ("coverage.json", lambda value: value["roster"].update(groups=[1, 1, 2, 3])),
        ("coverage.json", lambda value: value["roster"].update(groups=["a", "a", "b", None])),
        ("coverage.json", lambda value: value["roster"].update(groups={"a": 1, "b": 2, "c": 3, "d": 4})),
        ("coverage.json", lambda value: value["roster"]["tags"].update(room="abcd")),
        ("coverage.json", lambda value: value["roster"]["tags"].update(room=[["hall"]] * 4)),
        ("coverage.json", lambda value: value["roster"].update(level=3)),
        ("manifest.json", lambda value: value.update(suite=3)),
        ("manifest.json", lambda value: value.update(system=None)),
        ("manifest.json", lambda value: value.update(id=["a"])),
        ("manifest.json", lambda value: value.update(plan="bca")),
        ("manifest.json", lambda value: value["plan"].update(level="0.95")),
        ("manifest.json", lambda value: value["plan"].update(seed=0.5)),
        ("manifest.json", lambda value: value.update(facts=[])),
        ("manifest.json", lambda value: value.update(summary=None)),
        ("manifest.json", lambda value: value.update(protocol_fingerprint=3)),
        ("manifest.json", lambda value: value.update(data_fingerprint=None)),
        ("manifest.json", lambda value: value.update(prediction_fingerprint=[])),
        ("manifest.json", lambda value: value["protocol"].update(measures=["text"])),
        ("manifest.json", lambda value: value.update(protocol=[])),
    ],
)
def test_values_of_another_type_are_refused(stored_run, name, change):
    edit(stored_run.path / name, change)
    with pytest.raises(IntegrityError, match="the run cannot be read"):
        load(stored_run.path)


@pytest.mark.parametrize("name", ["scores.json", "audit.json", "coverage.json"])
@pytest.mark.parametrize("content", ["[]", "null", "3", '"text"'])
def test_a_document_that_is_no_object_is_refused(stored_run, name, content):
    (stored_run.path / name).write_text(content)
    with pytest.raises(IntegrityError, match=rf"{name}: holds no JSON object"):
        load(stored_run.path)


def test_a_whole_number_is_read_as_the_score_it_is(stored_run):
    edit(stored_run.path / "scores.json", lambda value: value["scores"][0].update(value=1))
    value = load(stored_run.path).scores[0].value
    assert (value, type(value)) == (1.0, float)


def test_a_measure_that_is_not_installed_is_named(stored_run):
    edit(
        stored_run.path / "manifest.json",
        lambda manifest: manifest["protocol"]["measures"][0].update(type="Novel"),
    )
    with pytest.raises(GnomonError, match="measure 'Novel' of family 'classification' is not installed"):
        load(stored_run.path)


def test_tallies_of_another_version_are_refused_by_name(stored_run):
    """As after a change of what a family of measures keeps of a case."""
    path = stored_run.path / "tallies.npz"
    tallies = packing.unpack_tallies(packing.read_packed(path))
    held = tallies["classification"]
    layout = tuple(field for field in held.layout if field.name != "n")
    fewer = Tallies(layout, held.axes, {field.name: held.fields[field.name] for field in layout})
    packing.write_npz(path, packing.pack_tallies({**tallies, "classification": fewer}))
    with pytest.raises(IntegrityError, match=r"family 'classification' have no field 'n'.*score its data again"):
        load(stored_run.path)
