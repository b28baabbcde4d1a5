"""Times that are not seconds: refused where another unit fits, never scored in silence."""

import json

import pytest

import gnomon
from gnomon.core.errors import InputError
from gnomon.suites.events.plausible import check_unit, outside

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


def test_one_recording_in_another_unit(tmp_path):
    write(tmp_path)
    rows = json.loads((tmp_path / "mine.json").read_text())
    rows["one"] = [{**row, "t1": row["t1"] * 1e3, "t2": row["t2"] * 1e3} for row in rows["one"][1:]]
    rows["two"] = rows["two"] * 20
    (tmp_path / "mine.json").write_text(json.dumps(rows))
    with pytest.raises(InputError, match="reach 598,000 s, but the recording lasts 600 s: times look like millisec"):
        score(tmp_path, "mine.json")


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


def test_labels_in_another_unit_than_their_window(tmp_path):
    write(tmp_path)
    labels = [{"t1": a * 1e3, "t2": b * 1e3, "label": "walk"} for a, b in EVENTS]
    (tmp_path / "one.json").write_text(json.dumps({"t1": 0, "t2": 600, "labels": labels}))
    with pytest.raises(InputError, match=r"one.json: labels reach 598,000 s, but the recording lasts 600 s"):
        score(tmp_path)


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
        return [{"t1": 20 * self.scale, "t2": 598 * self.scale, "label": "walk"}]
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


def test_a_rate_that_no_such_sensor_has_is_a_warning(tmp_path):
    recorded(tmp_path, step=20.0)
    (finding,) = (f for f in run(tmp_path).runs[0].findings if f.id == "recognizer-output")
    assert finding.severity == "warning"
    assert "accel has 0.05 records per second of its times; are these seconds?" in finding.evidence


def test_what_lies_far_away_but_fits_no_unit_is_no_error_of_units():
    import numpy as np

    starts = np.array([7e4, 8e5])
    check_unit([((0.0, 600.0), starts, starts + 1)], "here", "detections", str)  # in ms inside: 70 s, but 800 s is not
    assert outside(starts, starts + 1, (0.0, 600.0)).all()
    with pytest.raises(InputError, match="milliseconds"):
        check_unit([((0.0, 600.0), starts / 2, starts / 2 + 1)], "here", "detections", str)
