"""A good run passes; each kind of tampering is found by the check that is there for it, also after a new seal."""

import json

import numpy as np
import pytest

from gnomon import api
from gnomon.core.canonical import encode_pretty
from gnomon.core.errors import InputError
from gnomon.core.tallies import Tallies
from gnomon.runs import packing, seal
from gnomon.runs.verify import verify

CHECKS = ["seal", "readable", "fingerprints", "identities", "scores"]


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


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(InputError, match="no such folder"):
        verify(tmp_path / "nothing")


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
def test_whatever_defends_a_score_is_checked_too(folder, change):
    edit(folder, "scores.json", lambda value: value["scores"][0].update(change))
    assert list(problems(folder)) == ["scores"]


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
    assert list(found) == ["scores"]
    assert any("Accuracy() on all" in text for text in found["scores"])


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


def test_tallies_of_another_number_of_cases_are_found(folder):
    path = folder / "tallies.npz"
    part = packing.unpack_tallies(packing.read_packed(path))["classification"]
    packing.write_npz(path, packing.pack_tallies({"classification": part.take(np.array([0, 1, 2]))}))
    reseal(folder)
    found = problems(folder)
    assert found["identities"] == ("classification: 3 tallies for 4 cases",)
    assert "could not be checked" in found["scores"][0]


def test_tallies_of_another_family_are_found(folder):
    path = folder / "tallies.npz"
    part = packing.unpack_tallies(packing.read_packed(path))["classification"]
    packing.write_npz(path, packing.pack_tallies({"other": part}))
    reseal(folder)
    assert set(problems(folder)) == {"identities", "scores"}


def test_changed_groups_are_found(folder):
    edit(folder, "coverage.json", lambda value: value["roster"].update(groups=["a", "b", "c", "d"]))
    assert list(problems(folder)) == ["scores"]


def test_a_changed_protocol_is_found(folder):
    edit(folder, "manifest.json", lambda value: value["protocol"]["settings"].update(window_s=9))
    found = problems(folder)
    assert found == {"fingerprints": ("the protocol's record does not have the recorded fingerprint",)}


@pytest.mark.parametrize(
    ("key", "value"), [("system", "better"), ("data_fingerprint", "0" * 64), ("prediction_fingerprint", "0" * 64)]
)
def test_a_run_under_another_name_is_found(folder, key, value):
    edit(folder, "manifest.json", lambda manifest: manifest.update({key: value}))
    (problem,) = problems(folder)["fingerprints"]
    assert "the run's id should be" in problem


def test_a_changed_plan_is_found_by_name_and_by_scores(folder):
    edit(folder, "manifest.json", lambda manifest: manifest["plan"].update(level=0.5))
    assert list(problems(folder)) == ["fingerprints", "scores"]


def test_a_plan_that_means_nothing_is_reported_and_does_not_stop_the_other_checks(folder):
    edit(folder, "manifest.json", lambda manifest: manifest["plan"].update(colour="red"))
    found = problems(folder)
    assert list(found) == ["fingerprints", "scores"]
    assert "could not be checked (TypeError" in found["scores"][0]


def test_an_unknown_schema_is_reported(folder):
    edit(folder, "manifest.json", lambda manifest: manifest.update(schema="gnomon.run/99"))
    found = problems(folder)
    assert list(found) == ["readable"]
    assert "unknown run schema 'gnomon.run/99'" in found["readable"][0]


@pytest.mark.parametrize("name", ["coverage.json", "scores.json", "audit.json", "tallies.npz", "manifest.json"])
def test_a_missing_file_is_reported_by_seal_and_reader(folder, name):
    (folder / name).unlink()
    found = problems(folder)
    assert found["seal"] == (f"{name}: sealed but missing",)
    assert name in found["readable"][0]
