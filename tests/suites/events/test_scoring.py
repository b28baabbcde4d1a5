"""``events`` from files to runs. Expected values are worked by hand."""

import json

import pytest

import gnomon
from gnomon.cli.main import main
from gnomon.core.errors import InputError
from gnomon.core.options import build
from gnomon.core.tallies import Tallies
from gnomon.measures.recognition import WindowShare
from gnomon.runs import exhibits
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
    errors = result.tables["edge_errors"].rows[0]
    assert (errors["median"].value, errors["onset"].value, errors["offset"].value) == (1.0, 1.0, 1.0)
    assert errors["map50"].value == 0.0
    assert result.tables["cases"].rows[0]["right"].value == pytest.approx(0.4)
    again = gnomon.load(tmp_path / "runs")
    assert again.tables["edge_errors"].rows == result.tables["edge_errors"].rows
    assert all(check.passed for check in gnomon.verify(result.runs[0].path))


@pytest.fixture
def overlapping(tmp_path):
    """Eight recordings of 1,000 s, some of time lost and added; ``more`` has 1 s of b within an event of a besides."""
    truth = {"t1": 0, "t2": 1000, "labels": [stretch(100, 500, "a"), stretch(600, 700, "b")]}
    cases = [{**truth, "id": f"r{i}", "subject": {"id": f"s{i}"}} for i in range(8)]
    plain = {f"r{i}": [stretch(110, 500 + i, "a"), stretch(600, 690, "b")] for i in range(8)}
    more = {**plain, "r3": [*plain["r3"], stretch(200, 201, "b")]}
    for name, held in {"truth": cases, "plain": plain, "more": more}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(held))
    return tmp_path


def stretch(start, end, label):
    return {"t1": start, "t2": end, "label": label}


def test_one_overlapping_false_alarm_changes_the_shares_of_time_a_little(overlapping):
    """By hand: 80 s of Us, 80 of Ue and 28 of Oe in 8,000 s; the alarm is 1 s more of each."""
    files = [str(overlapping / f"{name}.json") for name in ("plain", "more")]
    result = gnomon.score("events", str(overlapping / "truth.json"), files, out=overlapping / "runs")
    plain, more = result.runs
    assert [plain.find(name).value for name in ("time_accuracy", "serious_error", "timing_error")] == pytest.approx(
        [1 - 188 / 8000, 0, 188 / 8000]
    )
    assert [more.find(name).value for name in ("time_accuracy", "serious_error", "timing_error")] == pytest.approx(
        [1 - 189 / 8001, 1 / 8001, 188 / 8001]
    )
    assert more.find("time_accuracy").low < more.find("time_accuracy").value < more.find("time_accuracy").high
    rows = {
        row["case"].value: row["right"].value for row in result.tables["cases"].rows if row["system"].value == "more"
    }
    assert rows["r3"] == pytest.approx(1 - 24 / 1001)
    notes = {
        item.name: sum("8,001.0 class-seconds (windows: 8,000.0 s)" in note for note in item.notes)
        for item in result.items
    }
    assert notes.pop("scores") == 1
    assert not any(notes.values())
    assert all(check.passed for run in result.runs for check in gnomon.verify(run.path))


def test_shares_of_time_agree_wherever_they_stand(tmp_path):
    """Truth of r2 overlaps; 250 s of 1,000 are wrong in r1, 200 of 1,100 class-seconds in r2."""
    truth = [
        {"id": "r1", "t1": 0, "t2": 1000, "labels": [stretch(0, 500, "a")]},
        {"id": "r2", "t1": 0, "t2": 1000, "labels": [stretch(0, 500, "a"), stretch(400, 600, "b")]},
    ]
    (tmp_path / "truth.json").write_text(json.dumps(truth))
    (tmp_path / "mine.json").write_text(json.dumps({"r1": [stretch(0, 250, "a")], "r2": [stretch(0, 500, "a")]}))
    result = gnomon.score("events", str(tmp_path / "truth.json"), str(tmp_path / "mine.json"), out=tmp_path / "runs")
    (run,) = result.runs
    rows = {row["pair"].value: (row["seconds"].value, row["share"].value) for row in result.tables["pairs"].rows}
    assert rows == {"- | Ue": (250, pytest.approx(250 / 2100)), "- | D": (200, pytest.approx(200 / 2100))}
    assert run.find("serious_error").value == rows["- | D"][1]
    assert run.find("timing_error").value == rows["- | Ue"][1]
    assert run.find("time_accuracy").value == pytest.approx(1 - 450 / 2100)
    matrix = next(item for item in result.items if item.name == "confusion").data["counts"]
    assert matrix == [[750, 0, 250], [0, 0, 200], [0, 0, 900]]
    shown = {entry.case: (entry.badness, entry.note) for entry in exhibits.listed(run.path).entries}
    assert shown["r1"] == (0.25, "25 % of the window is wrong")
    assert shown["r2"] == (pytest.approx(200 / 1100), "18.2 % of the class-seconds is wrong")
    right = {row["case"].value: row["right"].value for row in result.tables["cases"].rows}
    assert right == {case: pytest.approx(1 - badness) for case, (badness, _) in shown.items()}


def test_edges_are_cut_to_the_window_in_every_table(tmp_path):
    """Truth 90-120, returned 90-100, window to 100: no error of an end. A return of 100-120 is none of this window."""
    (tmp_path / "truth.json").write_text(json.dumps({"t1": 0, "t2": 100, "labels": [stretch(90, 120, "a")]}))
    for returned, detected in (([stretch(90, 100, "a")], 1), ([stretch(100, 120, "a")], 0)):
        (tmp_path / "mine.json").write_text(json.dumps(returned))
        result = gnomon.score("events", str(tmp_path / "truth.json"), str(tmp_path / "mine.json"))
        (run,) = result.runs
        row = result.tables["edge_errors"].rows[0]
        edges = row["offset"].value, row["offset_median"].value, run.find("offset_error").value
        assert edges == ((0, 0, 0) if detected else (None, None, None))
        assert (row["detected"].value, row["matched"].value) == (detected, detected)
        assert run.find("first_onset_error_median").n == detected


def test_nothing_that_is_asked_for_at_the_end_is_called_latency(data):
    """Onsets are those that were returned, however late: a system that dates events back has no error of onsets."""
    result = score(data)
    names = {measure.name for measure in result.runs[0].measures}
    assert {"first_onset_no_later_than_1s", "first_onset_error_median", "onset_error"} <= names
    shown = json.dumps([item.record() for item in result.items])
    assert "latency" not in shown.lower()
    assert not any("latency" in name for name in (*names, *result.runs[0].ledgers, *result.runs[0].tallies))


def test_pairs_that_leave_out_a_recording_are_found(overlapping):
    """A recording whose classes overlap, with its seconds by class but without its pairs."""
    files = str(overlapping / "truth.json"), str(overlapping / "more.json")
    tallies = gnomon.score("events", *files).runs[0].tallies["recognition"]
    measure = WindowShare("correct")
    assert measure.identities(tallies, {}) == []
    pairs = tallies.fields["pairs"].copy()
    pairs[3] = 0
    broken = Tallies(tallies.layout, tallies.axes, {**tallies.fields, "pairs": pairs})
    assert measure.identities(broken, {}) == ["the pairs of a category do not sum to its seconds by class"]


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


def test_the_denominator_of_shares_is_stated_once_for_systems_that_have_the_same(tmp_path):
    truth = [{"id": "r", "t1": 0, "t2": 1000, "labels": [stretch(0, 500, "a"), stretch(400, 600, "b")]}]
    (tmp_path / "truth.json").write_text(json.dumps(truth))
    both = [stretch(0, 500, "a"), stretch(400, 600, "b")]
    for name, found in {"x": both, "y": both[:1], "z": [*both, stretch(0, 900, "c")]}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps({"r": found}))
    result = gnomon.score("events", str(tmp_path / "truth.json"), [str(tmp_path / f"{name}.json") for name in "xyz"])
    said = [(item.name, note) for item in result.items for note in item.notes if "classes overlap" in note]
    assert [(name, note.split(":")[0]) for name, note in said] == [("scores", "x, y"), ("scores", "z")]


@pytest.mark.parametrize("sharded", [False, True])
def test_a_background_that_is_no_label_is_named(tmp_path, sharded):
    labels = [{"t1": 1, "t2": 2, "label": "fall"}, {"t1": 4, "t2": 5, "label": "null"}]
    for side, content in (("truth", {"t1": 0, "t2": 10, "labels": labels}), ("found", labels[:1])):
        (tmp_path / side).mkdir()
        (tmp_path / side / "one.json").write_text(json.dumps(content))
    given = [tmp_path / side if sharded else tmp_path / side / "one.json" for side in ("truth", "found")]
    options = {"background": ("null", "nosuch"), "out": str(tmp_path / "out")}
    (run,) = gnomon.score("events", *map(str, given), **options).runs
    (said,) = (finding for finding in run.findings if finding.id == "background-not-found")
    assert said.severity == "warning"
    assert said.evidence == "--background 'nosuch': no such label in truth or results; there are 'fall'"
    (run,) = gnomon.score("events", *map(str, given), **{**options, "background": ("null",)}).runs
    assert "background-not-found" not in {finding.id for finding in run.findings}


@pytest.mark.parametrize("background", [(), ("null",)])
def test_a_truth_whose_events_all_lie_outside_fails_as_bad_input(tmp_path, capsys, background):
    """What lies in the window is background, or nothing; so nothing can be scored."""
    inside = [stretch(1_700_000_010, 1_700_000_020, "null")] if background else []
    truth = {"t1": 1_700_000_000, "t2": 1_700_000_600, "labels": [*inside, stretch(20, 30, "a"), stretch(90, 98, "a")]}
    (tmp_path / "one.json").write_text(json.dumps(truth))
    (tmp_path / "mine.json").write_text(json.dumps([stretch(20, 30, "a")]))
    chosen = [part for label in background for part in ("--background", label)]
    given = str(tmp_path / "one.json"), "--predictions", str(tmp_path / "mine.json")
    with pytest.raises(SystemExit) as ended:
        main(["score", "events", "--truth", *given, "--out", "none", *chosen])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert "true events of 'one' lie from 20 to 98, but its window is from 1700000000 to 1700000600" in said


def test_a_truth_without_events_is_scored(tmp_path):
    (tmp_path / "one.json").write_text(json.dumps({"t1": 0, "t2": 100, "labels": []}))
    (tmp_path / "mine.json").write_text("[]")
    (run,) = gnomon.score("events", str(tmp_path / "one.json"), str(tmp_path / "mine.json")).runs
    assert run.find("time_accuracy").value == 1.0
    assert "times-elsewhere" not in {finding.id for finding in run.findings}
