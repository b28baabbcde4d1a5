"""A claim about new people falls with a leak that the audit finds; runs on other inputs are not compared."""

import importlib
import json
from dataclasses import replace

import numpy as np
import pytest

import gnomon
from gnomon.core.canonical import encode_pretty
from gnomon.core.errors import InputError
from gnomon.core.evidence import NOT_TRAINED_ON, Claim, Finding, Need
from gnomon.report.sections import sections
from gnomon.runs import samples, seal


def table(rows=8, groups=8, seed=0):
    """Rows of two classes with a feature that tells them apart."""
    n = rows * groups
    return {
        "id": [f"{i:03d}" for i in range(n)],
        "label": ["ab"[i % 2] for i in range(n)],
        "group": [f"g{i // rows}" for i in range(n)],
        "x": [i % 2 + 0.001 * ((i * (7 + seed)) % 101) for i in range(n)],
    }


def verdict(run, claim="new-groups"):
    return next(v for v in run.verdicts if v.id == claim)


def test_a_clean_split_supports_new_groups(tmp_path):
    run = gnomon.run("labels", truth=table(), systems="nearest_mean", out=str(tmp_path)).runs[0]
    assert run.manifest["facts"]["leak_free"] == 1
    assert verdict(run).supported


def test_copied_rows_refute_it(tmp_path):
    given = table()
    names = ("x", "y", "z")
    given |= {name: [value + 0.0001 * i * i for i, value in enumerate(given["x"])] for name in names[1:]}
    for name in names:
        given[name][16:24] = given[name][8:16]  # all inputs of a group are those of another
    run = gnomon.run("labels", truth=given, systems="nearest_mean", out=str(tmp_path)).runs[0]
    found = verdict(run)
    assert (run.manifest["facts"]["leak_free"], found.supported) == (0, False)
    assert found.missing == (
        "test data and groups that were not trained on (found 0)",
        "an audit without errors (found exact-duplicates)",
    )
    assert not verdict(run, "every-class").supported


def refuted(notes):
    return [note for note in notes if "not supported: the scores describe groups" in note and "found " in note]


def places(folder):
    """Return what every place says of the claim about new groups: whether it is supported, and what is missing."""
    run = gnomon.load(folder).runs[0]
    (page,) = [item for part in sections(gnomon.load(folder)) for item in part.items if item.name == "claims"]
    row = next(row for row in page.rows if row["claim"].value.startswith("the scores describe groups"))
    audit = gnomon.audit(folder).extra["audit"]["runs"][0]["claims"]
    told = next(one for one in audit if one["id"] == "new-groups")
    return {
        "report": (verdict(run).supported, "; ".join(verdict(run).missing)),
        "page": (row["verdict"].value == "supported", row["missing"].value),
        "audit": (told["supported"], "; ".join(told["missing"])),
    }


def sealed(folder, **changed):
    """Change the stored audit of a run, and seal it again."""
    audit = json.loads((folder / "audit.json").read_bytes())
    (folder / "audit.json").write_bytes(encode_pretty({**audit, **changed}))
    (folder / seal.NAME).write_bytes(seal.make(folder))


def test_an_error_of_any_check_vetoes_every_claim(tmp_path):
    """A run of which an earlier version found an error, and stored its claims as supported all the same."""
    result = gnomon.run("labels", truth=table(), systems=("nearest_mean", "majority"), out=str(tmp_path))
    assert set(places(result.runs[0].path).values()) == {(True, "")}
    for run in result.runs:
        error = Finding("selected-on-test", "error", "selection", "looked at 3 of 8 test samples", "select elsewhere")
        sealed(run.path, findings=[error.record()])
        said = (False, "an audit without errors (found selected-on-test)")
        assert set(places(run.path).values()) == {said}
    assert refuted(gnomon.load(tmp_path).tables["scores"].notes)
    assert refuted(gnomon.compare(tmp_path).tables["comparison"].notes)
    assert not [check for check in gnomon.verify(result.runs[0].path) if check.name == "claims" and check.passed]


def test_an_error_that_is_found_after_the_run_was_written_vetoes_its_claims(tmp_path):
    run = gnomon.run("labels", truth=table(), systems="nearest_mean", out=str(tmp_path)).runs[0]
    (run.path / samples.NAME).unlink()
    (run.path / seal.NAME).write_bytes(seal.make(run.path))
    assert set(places(run.path).values()) == {(False, "an audit without errors (found samples-missing)")}


def test_samples_that_cannot_be_read_cost_the_claim_and_not_the_report(tmp_path):
    run = gnomon.run("labels", truth=table(), systems="nearest_mean", out=str(tmp_path)).runs[0]
    (run.path / samples.NAME).write_bytes(b"no table")
    (run.path / seal.NAME).write_bytes(seal.make(run.path))
    found = gnomon.load(run.path)
    assert found.runs[0].scores == run.scores
    assert verdict(found.runs[0]).missing == ("an audit without errors (found audit-failed)",)


SUITES = ("labels", "har", "events", "episode", "change", "skeleton")


@pytest.mark.parametrize("suite", SUITES)
def test_an_error_vetoes_the_claims_of_every_suite(suite):
    module = importlib.import_module(f"gnomon.suites.{suite}.protocol")
    claims = module.claims(["sup-1", "zs-open"]) if suite == "har" else module.CLAIMS
    assert claims
    error = Finding("exact-duplicates", "error", "parts", "55 of 55 test samples", "drop them")
    for claim in claims:
        facts = {need.fact: need.at_least for need in claim.needs}
        assert claim.judge(facts).supported
        assert claim.judge(facts, [error]).missing == ("an audit without errors (found exact-duplicates)",)


def test_a_warning_vetoes_no_claim():
    error = Finding("x", "error", "w", "e", "r")
    assert not Claim("a", "s").judge({}, [error]).supported
    assert Claim("a", "s").judge({}, [replace(error, severity="warning")]).supported


def test_systems_of_different_coverage_are_said_to_be_so_and_not_starred(tmp_path):
    """Eight groups of ten rows; 'short' lacks the last, on which it would be perfect."""
    ids = range(80)
    truth = {"id": ids, "label": ["a", "b"] * 40, "group": [i // 10 for i in ids]}
    other = {"a": "b", "b": "a"}
    poor = [other[x] if i % 10 < 4 + i // 10 % 2 and i < 70 else x for i, x in enumerate(truth["label"])]
    systems = {"good": {"id": ids, "label": truth["label"]}, "short": {"id": range(70), "label": poor[:70]}}
    result = gnomon.score("labels", truth, systems, missing="skip", out=tmp_path)
    notes = result.tables["scores"].notes
    assert any("error: systems were scored on different cases of 8" in note for note in notes)
    assert [row["accuracy"].mark for row in result.tables["scores"].rows] == ["", ""]
    assert "compared on 7 of 8 cases: '7' was not scored by short" in result.tables["comparison"].notes
    assert result.tables["comparison"].rows[0]["p"].value == 2 / 2**7
    # Shown together, no claim is supported; what is stored of each run, and each by itself, stays as it was.
    vetoed = ("an audit without errors (found coverage-differs)",)
    compared, audited = gnomon.compare(tmp_path), gnomon.audit(tmp_path).extra["audit"]
    assert [verdict(run).missing for run in (*result.runs, *gnomon.load(tmp_path).runs)] == [vetoed] * 4
    assert [verdict(run).missing for run in compared.runs] == [vetoed] * 2
    assert any(
        "an audit without errors (found coverage-differs)" in note for note in compared.tables["comparison"].notes
    )
    assert [run["claims"][0]["missing"] for run in audited["runs"]] == [list(vetoed)] * 2
    assert not any(claim["supported"] for run in audited["runs"] for claim in run["claims"])
    for run in result.runs:
        (alone,) = gnomon.audit(run.path).extra["audit"]["runs"]
        assert alone["claims"][0]["supported"]
        assert verdict(gnomon.load(run.path).runs[0]).supported


ROWS = range(120)
GROUPED = {"id": [f"r{i}" for i in ROWS], "label": ["a", "b"] * 60, "group": [f"g{i // 10}" for i in ROWS]}


def without(lost, wrong=()):
    """Return answers without some rows, with others wrong."""
    other = {"a": "b", "b": "a"}
    kept = [i for i in ROWS if i not in lost]
    label = [other[GROUPED["label"][i]] if i in wrong else GROUPED["label"][i] for i in kept]
    return {"id": [GROUPED["id"][i] for i in kept], "label": label}


@pytest.mark.parametrize(
    ("lost", "differ"),
    [
        pytest.param((range(1, 4), range(11, 14)), True, id="rows of different groups"),
        pytest.param((range(1, 4), range(3, 6)), True, id="rows of one group"),
        pytest.param((range(1, 4), range(1, 4)), False, id="the same rows"),
    ],
)
@pytest.mark.parametrize("kind", ["file", "shards", "codes"])
def test_as_many_missing_rows_are_not_the_same_rows(tmp_path, kind, lost, differ):
    """Twelve groups of ten rows; 'good' is right, 'poor' is wrong in every third row: a star if coverage is equal."""
    systems = {"good": without(lost[0]), "poor": without(lost[1], range(0, 120, 3))}
    if kind == "file":
        result = gnomon.score("labels", GROUPED, systems, missing="skip")
    else:
        write = write_tables if kind == "shards" else write_codes
        write(tmp_path / "truth", GROUPED)
        for name, given in systems.items():
            write(tmp_path / name, given)
        given = {name: tmp_path / name for name in systems}
        result = gnomon.score("labels", tmp_path / "truth", given, missing="skip")
    scores = result.tables["scores"]
    assert [row["n"].value for row in scores.rows] == [117, 117]
    assert [row["accuracy"].mark for row in scores.rows] == ["" if differ else "best", ""]
    errors = [f.evidence for f in result.runs[0].findings if f.id == "coverage-differs"]
    assert len(errors) == differ
    if differ:
        assert "good 117 rows, poor 117 rows; they differ in 'g0'" in errors[0]


def write_tables(folder, columns):
    """Write rows of two shards: each holds every second row of every group."""
    folder.mkdir()
    for shard in (0, 1):
        rows = [row for row, name in enumerate(columns["id"]) if int(name[1:]) % 2 == shard]
        lines = [",".join(columns), *(",".join(str(own[row]) for own in columns.values()) for row in rows)]
        (folder / f"part{shard}.csv").write_text("\n".join(lines) + "\n")


def write_codes(folder, columns):
    """Write a shard per group, with -1 where a row is missing."""
    code = dict(zip(columns["id"], ({"a": 0, "b": 1}[label] for label in columns["label"]), strict=True))
    for group in range(12):
        (folder / f"g{group}").mkdir(parents=True)
        codes = [code.get(f"r{row}", -1) for row in range(10 * group, 10 * group + 10)]
        np.save(folder / f"g{group}" / "1.npy", np.array(codes, np.int8))


def test_what_was_predicted_elsewhere_is_not_judged():
    truth = {name: column for name, column in table().items() if name != "x"}
    run = gnomon.score("labels", truth, {"id": truth["id"], "label": truth["label"][::-1]}).runs[0]
    assert "leak_free" not in run.manifest["facts"]
    assert verdict(run).supported


@pytest.mark.parametrize(("facts", "supported"), [({"n": 3}, True), ({"n": 3, "leak_free": 0}, False), ({}, False)])
def test_a_need_that_holds_only_where_it_is_known(facts, supported):
    claim = Claim("c", "s", (Need("n", 2, "two"), NOT_TRAINED_ON))
    assert claim.judge(facts).supported is supported


def test_runs_on_other_inputs_are_not_compared(tmp_path):
    one, other = (
        gnomon.run("labels", truth=table(seed=seed), systems="nearest_mean", out=str(tmp_path / str(seed)))
        for seed in (0, 1)
    )
    assert one.runs[0].manifest["data_fingerprint"] == other.runs[0].manifest["data_fingerprint"]
    assert one.runs[0].manifest["id"] != other.runs[0].manifest["id"]
    with pytest.raises(InputError, match="were given different inputs for the same truth"):
        gnomon.compare(one, other)


def test_the_order_of_rows_is_no_other_input(tmp_path):
    given = table()
    turned = {name: column[::-1] for name, column in given.items()}
    runs = [gnomon.run("labels", truth=t, systems="majority", out=str(tmp_path)).runs[0] for t in (given, turned)]
    assert runs[0].manifest["id"] == runs[1].manifest["id"]


def test_a_comparison_says_what_is_not_supported_and_which_part_it_is():
    truth = {name: column[:24] for name, column in table().items() if name != "x"}
    other = ["ab"[(i // 3) % 2] for i in range(24)]
    systems = {"a": {"id": truth["id"], "label": truth["label"]}, "b": {"id": truth["id"], "label": other}}
    notes = gnomon.compare(gnomon.score("labels", truth, systems)).tables["comparison"].notes
    assert any(note.startswith("not supported: ") and "at least 6 groups" in note for note in notes)


def test_nothing_is_bold_where_no_test_could_tell():
    truth = {name: column[:24] for name, column in table().items() if name != "x"}  # three groups
    wrong = {5, 6, 12, 13, 20, 21, 22}
    poor = [("b" if label == "a" else "a") if i in wrong else label for i, label in enumerate(truth["label"])]
    systems = {"a": {"id": truth["id"], "label": truth["label"]}, "b": {"id": truth["id"], "label": poor}}
    result = gnomon.score("labels", truth, systems)
    assert result.tables["comparison"].rows[0]["p"].value == 0.25
    assert not [cell for row in result.tables["scores"].rows for cell in row.values() if cell.mark == "best"]


def test_without_intervals_p_decides():
    truth = {name: column for name, column in table().items() if name != "x"}
    poor = [("b" if label == "a" else "a") if i % 8 < 2 else label for i, label in enumerate(truth["label"])]
    systems = {"a": {"id": truth["id"], "label": truth["label"]}, "b": {"id": truth["id"], "label": poor}}
    result = gnomon.score("labels", truth, systems, interval="none")
    assert result.tables["comparison"].rows[0]["p"].value == 2 / 2**8
    assert result.tables["scores"].rows[0]["accuracy"].mark == "best"


def test_scores_of_a_part_say_so(tmp_path):
    result = gnomon.run("labels", truth=table(groups=12), systems="majority", part="val", out=str(tmp_path))
    assert result.tables["scores"].title == "labels: scores, on the val part"
