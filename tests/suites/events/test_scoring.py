"""``events`` from files to runs. Expected values are worked by hand."""

import json

import pytest

import gnomon
from gnomon.core.errors import InputError
from gnomon.core.options import build
from gnomon.suites.events.options import TemplateOptions
from gnomon.suites.events.template import template


@pytest.fixture
def data(tmp_path):
    """Two recordings of 100 s: in the first A is found late, in the second B is called A and a B is inserted."""
    cases = {
        "one": {"t1": 0, "t2": 100, "subject": {"id": "s1"}, "labels": [{"t1": 10, "t2": 30, "label": "A"}]},
        "two": {"t1": 0, "t2": 100, "subject": {"id": "s2"}, "labels": [{"t1": 50, "t2": 60, "label": "B"}]},
    }
    paths = []
    for name, case in cases.items():
        paths.append(tmp_path / f"{name}.json")
        paths[-1].write_text(json.dumps(case))
    results = {
        "one": [{"t1": 15, "t2": 30, "label": "A"}],
        "two": [{"t1": 50, "t2": 60, "label": "A"}, {"t1": 80, "t2": 90, "label": "B"}],
    }
    (tmp_path / "mine.json").write_text(json.dumps(results))
    return paths, tmp_path / "mine.json"


def score(data, **options):
    paths, results = data
    return gnomon.score("events", tuple(map(str, paths)), (str(results),), **options)


def test_hand_worked_scores(data):
    """A: TP 15, Us 5, I 10. B: D 10, I 10. Wrong: Us 5 (timing), A for B 10 and the inserted B 10 (serious)."""
    run = score(data).runs[0]
    scores = {s.name: s.value for s in run.scores}
    assert scores["TPr[A]"] == pytest.approx(15 / 20)
    assert scores["Usr[A]"] == pytest.approx(5 / 20)
    assert scores["Ir[A]"] == pytest.approx(10 / 180)
    assert scores["Dr[B]"] == 1.0
    assert scores["Ir[B]"] == pytest.approx(10 / 190)
    assert scores["time_accuracy"] == pytest.approx(1 - 25 / 200)
    assert scores["serious_error"] == pytest.approx(20 / 200)
    assert scores["timing_error"] == pytest.approx(5 / 200)
    assert scores["any_overlap_recall"] == 0.5
    assert scores["any_overlap_precision"] == pytest.approx(1 / 3)
    assert scores["event_macro_f1"] == pytest.approx((2 * 1 / (1 + 2) + 0) / 2)


def test_published_pools_all_labels(data):
    """Pooled: both events are found; the return at 80 is an insertion."""
    run = score(data, variant="published").runs[0]
    scores = {s.name: s.value for s in run.scores}
    assert scores["any_overlap_recall"] == 1.0
    assert scores["TPr[event]"] == pytest.approx(25 / 30)
    assert run.manifest["protocol"]["variant"] == "published"


def test_both_variants_are_two_runs(data, tmp_path):
    result = score(data, variant="both", out=tmp_path / "runs")
    assert [run.manifest["protocol"]["variant"] for run in result.runs] == ["published", "strict"]
    assert all(check.passed for run in result.runs for check in gnomon.verify(run.path))


def test_subjects_are_groups(data):
    run = score(data).runs[0]
    assert run.roster.level == "subject"
    assert run.roster.groups == ("s1", "s2")
    assert score(data, group="recording").runs[0].roster.groups == ("one", "two")


def test_missing_cases_are_explicit(data, tmp_path):
    paths, _ = data
    (tmp_path / "half.json").write_text(json.dumps({"one": []}))
    with pytest.raises(InputError, match=r"no result for cases 'two'.*--missing empty"):
        score((paths, tmp_path / "half.json"))
    empty = score((paths, tmp_path / "half.json"), missing="empty").runs[0]
    assert empty.complete
    assert empty.find("any_overlap_recall").value == 0.0
    skipped = score((paths, tmp_path / "half.json"), missing="skip").runs[0]
    assert not skipped.complete
    assert skipped.find("any_overlap_recall").groups == 1
    (tmp_path / "odd.json").write_text(json.dumps({"one": [], "two": [], "three": []}))
    with pytest.raises(InputError, match="not in the truth: 'three'"):
        score((paths, tmp_path / "odd.json"))


def test_the_template_is_scorable_in_every_format(tmp_path):
    found = []
    for suffix in ("json", "csv"):
        *truth, results = template(build(TemplateOptions, {"directory": str(tmp_path / suffix), "format": suffix}))
        run = score((truth, results)).runs[0]
        found.append([s.record() for s in run.scores])
        outcomes = gnomon.api.present([run]).tables["outcomes"]
        walking = next(row for row in outcomes.rows if row["class"].value == "walking")
        assert {key: walking[key].value for key in ("truth", "F", "C", "F'", "I'")} == {
            "truth": 2,
            "F": 1,
            "C": 1,
            "F'": 2,
            "I'": 1,
        }
    assert found[0] == found[1]


def test_findings(data, tmp_path):
    paths, _ = data
    (tmp_path / "odd.json").write_text(json.dumps({"one": [{"t1": 90, "t2": 120, "label": "Z"}], "two": []}))
    run = score((paths, tmp_path / "odd.json")).runs[0]
    assert [finding.id for finding in run.findings] == ["labels-never-true", "outside-window"]


def test_pairs_confusion_and_timing_by_hand(tmp_path):
    """Truth a 0-4, b 6-8 of 10 s; returned b 0-4 (scored .9), b 7-9 (.8).

    By hand: a is deleted and b inserted for 4 s; b is found from 7 to 8, late by 1 s, and runs over by 1 s.
    """
    truth = {"t1": 0, "t2": 10, "labels": [{"t1": 0, "t2": 4, "label": "a"}, {"t1": 6, "t2": 8, "label": "b"}]}
    found = [{"t1": 0, "t2": 4, "label": "b", "score": 0.9}, {"t1": 7, "t2": 9, "label": "b", "score": 0.8}]
    (tmp_path / "truth.json").write_text(json.dumps(truth))
    (tmp_path / "found.json").write_text(json.dumps(found))
    given = {"truth": str(tmp_path / "truth.json"), "predictions": str(tmp_path / "found.json")}
    result = gnomon.score("events", **given, out=tmp_path / "runs")
    pairs = {row["pair"].value: row["seconds"].value for row in result.tables["pairs"].rows}
    assert pairs == {"I | D": 4.0, "- | Us": 1.0, "Oe | -": 1.0}
    assert next(iter(result.scores.values()))["substitution_error"] == pytest.approx(0.4)
    matrix = next(item for item in result.items if item.name == "confusion").data
    assert matrix["labels"] == ["a", "b", "(nothing)"]
    assert matrix["counts"] == [[0.0, 4.0, 0.0], [0.0, 1.0, 1.0], [0.0, 1.0, 3.0]]
    when = result.tables["when"].rows[0]
    assert (when["median"].value, when["onset"].value, when["offset"].value) == (1.0, 1.0, 1.0)
    assert when["map50"].value == 0.0
    assert result.tables["cases"].rows[0]["right"].value == pytest.approx(0.4)
    again = gnomon.load(tmp_path / "runs")
    assert again.tables["when"].rows == result.tables["when"].rows
    assert all(check.passed for check in gnomon.verify(result.runs[0].path))


def test_an_empty_list_of_cases_is_named(tmp_path):
    (tmp_path / "none.json").write_text("[]")
    (tmp_path / "found.json").write_text("{}")
    with pytest.raises(InputError, match="no case in it"):
        gnomon.score("events", truth=str(tmp_path / "none.json"), predictions=str(tmp_path / "found.json"))


@pytest.mark.parametrize(
    ("classes", "said"), [(0, "the truth holds no events"), (101, "the truth holds more than 100 classes"), (1, None)]
)
def test_why_there_are_no_rates_by_class(tmp_path, classes, said):
    labels = [{"t1": t, "t2": t + 1, "label": f"class {t}"} for t in range(classes)]
    (tmp_path / "case.json").write_text(json.dumps({"t1": 0, "t2": 200, "labels": labels}))
    (tmp_path / "found.json").write_text(json.dumps([{"t1": 3, "t2": 4, "label": "class 3"}]))
    result = gnomon.score("events", str(tmp_path / "case.json"), str(tmp_path / "found.json"))
    told = [note.removeprefix("no rates by class: ") for note in result.items[0].notes if "no rates by class" in note]
    assert told == ([said] if said else [])
