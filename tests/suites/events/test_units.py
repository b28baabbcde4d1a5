"""Times that are not seconds: refused where another unit fits, never scored in silence."""

import json

import pytest

import gnomon
from gnomon.core.errors import InputError
from gnomon.suites.events.plausible import check_unit, outside, weigh

EVENTS = [(20.0, 30.0), (200.0, 260.0), (500.0, 598.0)]


def write(folder, *, scale=1.0, start=0.0, results=EVENTS, window=600.0):
    """Two recordings of 600 s; results are the events, in a unit of so many a second."""
    labels = [{"t1": start + a, "t2": start + b, "label": "walk"} for a, b in EVENTS]
    for name in ("one", "two"):
        truth = {"t1": start, "t2": start + window, "labels": labels}
        (folder / f"{name}.json").write_text(json.dumps(truth))
    rows = [(name, (start + a) * scale, (start + b) * scale) for name in ("one", "two") for a, b in results]
    lines = ["case,start,end,label", *(f"{name},{a!r},{b!r},walk" for name, a, b in rows), ""]
    (folder / "mine.csv").write_text("\n".join(lines))
    listed = {name: [{"t1": a, "t2": b, "label": "walk"} for n, a, b in rows if n == name] for name in ("one", "two")}
    (folder / "mine.json").write_text(json.dumps(listed))


def score(folder, file="mine.csv", **options):
    truth = [str(folder / "one.json"), str(folder / "two.json")]
    return gnomon.score("events", truth, str(folder / file), **options)


@pytest.mark.parametrize("file", ["mine.csv", "mine.json"])
@pytest.mark.parametrize(("scale", "unit", "name"), [(1e3, "ms", "milli"), (1e6, "us", "micro"), (1e9, "ns", "nano")])
def test_another_unit_is_an_error_that_shows_the_figures(tmp_path, file, scale, unit, name):
    write(tmp_path, scale=scale)
    figure = rf"detections reach {598 * scale:,.0f} s, but recordings last 600 s: times look like {name}seconds"
    with pytest.raises(InputError, match=rf"{figure}; give --unit {unit}"):
        score(tmp_path, file)
    assert score(tmp_path, file, unit=unit).scores["mine"]["event_macro_f1"] == 1.0


def test_a_unit_that_is_still_not_it_says_which_one_is(tmp_path):
    write(tmp_path, scale=1e6)
    with pytest.raises(InputError, match="give --unit us in place of --unit ms"):
        score(tmp_path, unit="ms")


def test_clocks_since_1970_in_milliseconds(tmp_path):
    write(tmp_path, scale=1e3, start=1.7e9)
    with pytest.raises(InputError, match="look like milliseconds; give --unit ms"):
        score(tmp_path)
    assert score(tmp_path, unit="ms").scores["mine"]["event_macro_f1"] == 1.0


def test_a_truth_with_a_clock_in_milliseconds_against_results_in_seconds(tmp_path):
    """Here it is the truth that has to be mended: the results are seconds since 1970."""
    write(tmp_path, start=1.7e9)
    for name in ("one", "two"):
        labels = [{"t1": (1.7e9 + a) * 1e3, "t2": (1.7e9 + b) * 1e3, "label": "walk"} for a, b in EVENTS]
        truth = {"t1": 1.7e12, "t2": 1.7e12 + 6e5, "labels": labels}
        (tmp_path / f"{name}.json").write_text(json.dumps(truth))
    with pytest.raises(InputError, match="reach 1,700,000,598 s, but windows end at 1,700,000,600,000 s"):
        score(tmp_path)


def in_shards(folder):
    """Write the truth and results as folders, with a file for every recording."""
    for side in ("truth", "mine"):
        (folder / side).mkdir()
    for name, rows in json.loads((folder / "mine.json").read_text()).items():
        (folder / "truth" / f"{name}.json").write_text((folder / f"{name}.json").read_text())
        (folder / "mine" / f"{name}.json").write_text(json.dumps(rows))


def score_as(form, folder, **options):
    if form == "file":
        return score(folder, "mine.json", **options)
    in_shards(folder)
    return gnomon.score("events", str(folder / "truth"), f"mine={folder / 'mine'}", **options)


FORMS = pytest.mark.parametrize("form", ["file", "shards"])


@FORMS
@pytest.mark.parametrize("found", [[(7200.0, 7230.0)], [(a * 1e3, b * 1e3) for a, b in EVENTS]])
def test_one_recording_that_is_elsewhere_is_named_and_the_others_count(tmp_path, form, found):
    write(tmp_path)
    rows = json.loads((tmp_path / "mine.json").read_text())
    rows["two"] = [{"t1": a, "t2": b, "label": "walk"} for a, b in found]
    (tmp_path / "mine.json").write_text(json.dumps(rows))
    (run,) = score_as(form, tmp_path).runs
    assert len(run.roster) == 2
    assert run.find("event_macro_f1").value == pytest.approx(3 / (3 + 0.5 * 3))
    (finding,) = (f for f in run.findings if f.id == "times-elsewhere")
    assert finding.severity == "warning"
    assert finding.evidence.endswith("and not counted; all of 1 recording: 'two'")


@FORMS
def test_all_recordings_together_decide(tmp_path, form):
    """Three detections are enough, one of one recording and two of the other."""
    write(tmp_path)
    rows = {"one": EVENTS[:1], "two": EVENTS[1:]}
    listed = {name: [{"t1": a * 1e3, "t2": b * 1e3, "label": "walk"} for a, b in own] for name, own in rows.items()}
    (tmp_path / "mine.json").write_text(json.dumps(listed))
    with pytest.raises(InputError, match="recordings last 600 s: times look like milliseconds; give --unit ms"):
        score_as(form, tmp_path)


@FORMS
def test_seconds_that_were_asked_for_are_obeyed(tmp_path, form):
    write(tmp_path, scale=1e3)
    (run,) = score_as(form, tmp_path, unit="s").runs
    assert run.find("event_macro_f1").value == 0
    assert [f.severity for f in run.findings if f.id == "times-elsewhere"] == ["error"]


def test_two_detections_are_too_few_to_refuse(tmp_path):
    write(tmp_path, scale=1e3, results=EVENTS[:1])
    assert [f.severity for f in score(tmp_path).runs[0].findings if f.id == "times-elsewhere"] == ["error"]


def test_results_that_are_all_elsewhere_are_an_error_of_the_audit(tmp_path):
    """Shifted, not stretched: no unit explains it."""
    write(tmp_path, results=[(a + 700, b + 700) for a, b in EVENTS])
    (finding,) = (f for f in score(tmp_path).runs[0].findings if f.id == "times-elsewhere")
    assert finding.severity == "error"
    assert finding.evidence.startswith("all 6 returns wholly outside the window of the recording")


def test_results_that_are_mostly_elsewhere_are_a_warning(tmp_path):
    write(tmp_path, results=[(5.0, 6.0), (700.0, 701.0), (800.0, 801.0)])
    (finding,) = (f for f in score(tmp_path).runs[0].findings if f.id == "times-elsewhere")
    assert (finding.severity, finding.evidence[:18]) == ("warning", "4 of 6 returns who")


def test_a_truth_in_milliseconds_against_results_in_seconds(tmp_path):
    write(tmp_path)
    for name in ("one", "two"):
        labels = [{"t1": a * 1e3, "t2": b * 1e3, "label": "walk"} for a, b in EVENTS]
        (tmp_path / f"{name}.json").write_text(json.dumps({"t1": 0, "t2": 6e5, "labels": labels}))
    (finding,) = (f for f in score(tmp_path).runs[0].findings if f.id == "times-elsewhere")
    assert finding.severity == "warning"
    assert "end within 0.10% of a recording" in finding.evidence


@FORMS
def test_labels_in_another_unit_than_their_window(tmp_path, form):
    write(tmp_path)
    labels = [{"t1": a * 1e3, "t2": b * 1e3, "label": "walk"} for a, b in EVENTS]
    for name in ("one", "two"):
        (tmp_path / f"{name}.json").write_text(json.dumps({"t1": 0, "t2": 600, "labels": labels}))
    with pytest.raises(InputError, match=r"labels reach 598,000 s, but recordings last 600 s: times look like milli"):
        score_as(form, tmp_path)


@FORMS
def test_labels_of_one_recording_that_are_elsewhere_are_named(tmp_path, form):
    write(tmp_path)
    labels = [{"t1": 7200, "t2": 7230, "label": "walk"}]
    (tmp_path / "one.json").write_text(json.dumps({"t1": 0, "t2": 600, "labels": labels}))
    (finding,) = (f for f in score_as(form, tmp_path).runs[0].findings if f.id == "times-elsewhere")
    assert (finding.severity, finding.where) == ("warning", "truth")
    assert finding.evidence.endswith("; all of 1 recording: 'one'")


def test_labels_that_are_all_elsewhere_are_an_error_of_the_audit(tmp_path):
    write(tmp_path)
    labels = [{"t1": a + 700, "t2": b + 700, "label": "walk"} for a, b in EVENTS]
    for name in ("one", "two"):
        (tmp_path / f"{name}.json").write_text(json.dumps({"t1": 0, "t2": 600, "labels": labels}))
    found = [f for f in score(tmp_path).runs[0].findings if f.id == "times-elsewhere"]
    assert [(f.severity, f.where) for f in found] == [("error", "truth")]


def test_dates_that_are_elsewhere_have_no_unit(tmp_path):
    labels = [{"t1": "2024-05-01T09:01:00Z", "t2": "2024-05-01T09:02:00Z", "label": "walk"}]
    truth = {"t1": "2024-05-01T09:00:00Z", "t2": "2024-05-01T09:10:00Z", "labels": labels}
    (tmp_path / "one.json").write_text(json.dumps(truth))
    found = [{"t1": "2024-05-02T09:01:00Z", "t2": "2024-05-02T09:02:00Z", "label": "walk"}]
    (tmp_path / "mine.json").write_text(json.dumps(found))
    result = gnomon.score("events", str(tmp_path / "one.json"), str(tmp_path / "mine.json"))
    assert [f.severity for f in result.runs[0].findings if f.id == "times-elsewhere"] == ["error"]


def test_shards_are_looked_at_too(tmp_path):
    write(tmp_path, scale=1e3)
    for side in ("truth", "predictions"):
        (tmp_path / side).mkdir()
    (tmp_path / "one.json").rename(tmp_path / "truth" / "one.json")
    rows = json.loads((tmp_path / "mine.json").read_text())["one"]
    (tmp_path / "predictions" / "one.json").write_text(json.dumps(rows))
    given = (str(tmp_path / "truth"), f"mine={tmp_path / 'predictions'}")
    with pytest.raises(Exception, match="look like milliseconds; give --unit ms"):
        gnomon.score("events", *given)
    assert gnomon.score("events", *given, unit="ms").scores["mine"]["event_macro_f1"] == 1.0


RECOGNIZER = """
class Scaled:
    def __init__(self, scale: float = 1.0):
        self.scale = scale
    def process(self, recs):
        pass
    def detected(self, time_range=None):
        edges = [20, 200, 400, 598]
        return [{"t1": a * self.scale, "t2": b * self.scale, "label": "walk"} for a, b in zip(edges, edges[1:])]
    def labels(self):
        return ["walk"]
"""


def recorded(folder, scale=1.0, step=1.0):
    labels = [{"t1": 20, "t2": 598, "label": "walk"}]
    truth = {"t1": 0, "t2": 600, "labels": labels, "data_path": "raw.jsonl"}
    (folder / "one.json").write_text(json.dumps(truth))
    times = [number * step for number in range(int(600 / step))]
    lines = [json.dumps({"time": time * scale, "type": "accel", "values": [1.0]}) for time in times]
    (folder / "raw.jsonl").write_text("\n".join(lines))
    (folder / "rec.py").write_text(RECOGNIZER)


def run(folder, system="rec.py:Scaled"):
    options = {"out": "none", "executor": "inline", "retries": 0}
    return gnomon.run("events", truth=str(folder / "one.json"), recognizers=f"{folder}/{system}", **options)


def test_a_recognizer_that_returns_milliseconds_fails_with_the_figures(tmp_path):
    recorded(tmp_path)
    figures = "results reach 598,000 s, but the recording lasts 600 s: times look like milliseconds"
    with pytest.raises(gnomon.NothingScoredError, match=figures):
        run(tmp_path, "rec.py:Scaled@scale=1000")
    assert run(tmp_path).complete


def test_raw_data_in_milliseconds_fails_with_the_figures(tmp_path):
    recorded(tmp_path, scale=1e3)
    figures = "raw data of one: records reach 599,000 s, but the recording lasts 600 s"
    with pytest.raises(gnomon.NothingScoredError, match=figures):
        run(tmp_path)


def recorded_long(folder, kind="accel", *, step=1.0, scale=1.0, name="one", length=7200, window=60):
    """Raw data of two hours, of which the first minute is labelled."""
    truth = {"id": name, "t1": 0, "t2": window, "labels": [{"t1": 20, "t2": 50, "label": "walk"}]}
    (folder / f"{name}.json").write_text(json.dumps({**truth, "data_path": f"{name}.jsonl"}))
    records = [{"time": n * step * scale, "type": kind, "values": [1.0]} for n in range(int(length / step))]
    (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, records)))
    (folder / "rec.py").write_text(RECOGNIZER)


@pytest.mark.parametrize(("kind", "step"), [("accel", 1.0), ("accel", 0.5), ("location", 10.0)])
def test_a_long_recording_with_a_short_window_is_scored(tmp_path, kind, step):
    recorded_long(tmp_path, kind, step=step)
    result = run(tmp_path)
    assert result.complete
    assert not [f for f in result.runs[0].findings if f.id == "raw-times"]


@pytest.mark.parametrize(("kind", "step"), [("accel", 0.02), ("accel", 0.01), ("location", 2.0)])
def test_raw_data_in_milliseconds_is_told_by_the_rate_or_by_what_it_covers(tmp_path, kind, step):
    recorded_long(tmp_path, kind, step=step, scale=1e3, length=60)
    with pytest.raises(gnomon.NothingScoredError, match="60 s: times look like milliseconds"):
        run(tmp_path)


def test_raw_data_that_fits_seconds_and_milliseconds_is_a_warning(tmp_path):
    """A thousand a second in milliseconds, or one a second over 1,000 windows."""
    recorded_long(tmp_path, step=1e-3, scale=1e3, length=60)
    (finding,) = (f for f in run(tmp_path).runs[0].findings if f.id == "raw-times")
    assert finding.evidence.startswith("raw data as long as the window if times are milliseconds")


def test_rates_that_no_such_sensor_has_are_one_warning(tmp_path):
    for name, step in (("one", 20.0), ("two", 10.0), ("three", 1.0)):
        recorded_long(tmp_path, step=step, name=name, length=600, window=600)
    truth = [str(tmp_path / f"{name}.json") for name in ("one", "two", "three")]
    options = {"out": "none", "executor": "inline", "retries": 0}
    (made,) = gnomon.run("events", truth=truth, recognizers=f"{tmp_path}/rec.py:Scaled", **options).runs
    (finding,) = (f for f in made.findings if f.id in ("raw-times", "recognizer-output"))
    assert (finding.id, finding.severity) == ("raw-times", "warning")
    said = "accel has 0.05 to 0.1 records per second of its times: 2 recordings, 'one', 'two'"
    assert finding.evidence == said
    assert finding.remedy == "check that times of the raw data are seconds, and that no records are missing"


def test_what_lies_far_away_but_fits_no_unit_is_no_error_of_units():
    import numpy as np

    starts = np.array([7e4, 8e4, 8e5])
    window = (0.0, 600.0)
    check_unit(weigh([(window, starts, starts + 1)]), "here", "detections", str)  # in ms inside: 70 s, but 800 s is not
    assert outside(starts, starts + 1, (0.0, 600.0)).all()
    with pytest.raises(InputError, match="milliseconds"):
        check_unit(weigh([(window, starts / 2, starts / 2 + 1)]), "here", "detections", str)
