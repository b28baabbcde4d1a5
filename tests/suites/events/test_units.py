"""Times that are not seconds: refused where another unit fits, never scored in silence."""

import json
from datetime import UTC, datetime, timedelta

import pytest

import gnomon
from gnomon.core.errors import InputError
from gnomon.suites.events.plausible import check_unit, outside, weigh

pytestmark = pytest.mark.usefixtures("in_this_process")

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
def test_one_recording_that_is_elsewhere_is_named_and_the_others_count(tmp_path, form):
    write(tmp_path)
    rows = json.loads((tmp_path / "mine.json").read_text())
    rows["two"] = [{"t1": 7200.0, "t2": 7230.0, "label": "walk"}]
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


NAMED = ("one", "two", "three", "four")


def write_four(folder, *, truth=1.0, labels=None, found=1.0, others=1.0):
    """Four recordings of 600 s; the window, labels and detections of the last are in units of so many a second."""
    sides = {}
    for name in NAMED:
        own = (truth, truth if labels is None else labels, found) if name == "four" else (1.0, 1.0, others)
        events = [[{"t1": a * scale, "t2": b * scale, "label": "walk"} for a, b in EVENTS] for scale in own[1:]]
        (folder / f"{name}.json").write_text(json.dumps({"t1": 0, "t2": 600 * own[0], "labels": events[0]}))
        sides[name] = events[1]
    (folder / "mine.json").write_text(json.dumps(sides))


def score_four(form, folder, **options):
    if form == "shards":
        return score_as(form, folder, **options)
    return gnomon.score(
        "events", [str(folder / f"{name}.json") for name in NAMED], str(folder / "mine.json"), **options
    )


@FORMS
@pytest.mark.parametrize(
    ("scales", "said"),
    [
        (
            {"truth": 1e3},
            "its window and labels look like milliseconds; write t1, t2 and labels of the truth in seconds",
        ),
        ({"labels": 1e3}, "its labels look like milliseconds; write the labels in seconds"),
        ({"found": 1e3}, "these detections look like milliseconds; write them in seconds, as the others"),
        ({"found": 1e6}, "these detections look like microseconds; write them in seconds, as the others"),
    ],
)
def test_one_recording_in_another_unit_is_named(tmp_path, form, scales, said):
    write_four(tmp_path, **scales)
    figures = r"detections last 56\S* s on average and reach 598\S* s, but true events last 56\S* s and reach 598\S* s"
    with pytest.raises(InputError, match=f"recording 'four': {figures}: {said}, or give --unit s if they are seconds"):
        score_four(form, tmp_path)
    assert len(score_four("file", tmp_path, unit="s").runs[0].roster) == 4


@FORMS
@pytest.mark.parametrize(
    ("scales", "said"),
    [
        ({"truth": 1e3, "labels": 1.0}, "reach 598 s, but its window ends at 600,000 s: its window looks like milli"),
        ({"truth": 1e-3, "labels": 1.0}, r"reach 598 s, but its window ends at 0\.6 s: they look like milli"),
        ({"labels": 1e3, "found": 1e3}, "reach 598,000 s, but its window ends at 600 s: they look like milliseconds"),
        ({"labels": 1e6, "found": 1e6}, "reach 598,000,000 s, but its window ends at 600 s: they look like micro"),
    ],
)
def test_a_window_in_another_unit_than_both_sides_is_named(tmp_path, form, scales, said):
    write_four(tmp_path, **scales)
    with pytest.raises(InputError, match=f"recording 'four': labels and detections {said}.*--unit s"):
        score_four(form, tmp_path)
    assert score_four("file", tmp_path, unit="s").runs


@pytest.mark.parametrize(
    ("window", "labels", "found"),
    [
        pytest.param(86_400, [(30, 33)], [(30, 33)], id="one label in a day"),
        pytest.param(86_400, [(100 * k, 100 * k + 50) for k in range(800)], [(9, 20), (40, 50), (60, 70)], id="early"),
        pytest.param(86_400, [(2 * k, 2 * k + 1) for k in range(3000)], [(2 * k, 2 * k + 1) for k in range(3000)]),
        pytest.param(600, [(k, k + 0.05) for k in range(300)], [(k, k + 0.05) for k in range(300)], id="50 ms"),
        pytest.param(60, [(k, k + 9) for k in range(20, 5000, 20)], [(k, k + 9) for k in range(20, 5000, 20)]),
    ],
)
def test_an_unusual_recording_among_others_is_scored(tmp_path, window, labels, found):
    write_four(tmp_path)
    listed = [[{"t1": a, "t2": b, "label": "walk"} for a, b in side] for side in (labels, found)]
    (tmp_path / "four.json").write_text(json.dumps({"t1": 0, "t2": window, "labels": listed[0]}))
    rows = json.loads((tmp_path / "mine.json").read_text())
    (tmp_path / "mine.json").write_text(json.dumps({**rows, "four": listed[1]}))
    assert len(score_four("file", tmp_path).runs[0].roster) == 4


def test_one_recording_that_is_not_in_the_unit_given_is_named(tmp_path):
    write_four(tmp_path, others=1e3)
    said = "with --unit ms, detections last 0.056 s .*: these detections look like seconds; write them in milliseconds"
    with pytest.raises(InputError, match=f"recording 'four': {said}, as the others"):
        score_four("file", tmp_path, unit="ms")
    write_four(tmp_path, others=1e3, found=1e3)
    assert score_four("file", tmp_path, unit="ms").scores["mine"]["event_macro_f1"] == 1.0


def test_one_large_recording_in_another_unit_does_not_speak_for_the_others(tmp_path):
    """Nine tenths of all detections would be in their windows as milliseconds, but three recordings are right."""
    write_four(tmp_path)
    many = [{"t1": 5.0 * k, "t2": 5.0 * k + 3, "label": "walk"} for k in range(1, 119)]
    (tmp_path / "four.json").write_text(json.dumps({"t1": 0, "t2": 600, "labels": many}))
    rows = json.loads((tmp_path / "mine.json").read_text())
    rows["four"] = [{**one, "t1": one["t1"] * 1e3, "t2": one["t2"] * 1e3} for one in many]
    (tmp_path / "mine.json").write_text(json.dumps(rows))
    with pytest.raises(InputError, match=r"recording 'four': .* write them in seconds, as the others"):
        score_four("file", tmp_path)


def test_one_recording_with_a_clock_in_milliseconds_is_named(tmp_path):
    """Units stretch times from the zero of the clock, not from the start of the window."""
    write(tmp_path, start=1.7e9)
    labels = [{"t1": (1.7e9 + a) * 1e3, "t2": (1.7e9 + b) * 1e3, "label": "walk"} for a, b in EVENTS]
    (tmp_path / "two.json").write_text(json.dumps({"t1": 1.7e12, "t2": 1.7e12 + 6e5, "labels": labels}))
    with pytest.raises(InputError, match=r"recording 'two': .*: its window and labels look like milliseconds"):
        score(tmp_path)


def test_dates_beside_numbers_in_milliseconds_are_named(tmp_path):
    """The second recording has dates; numbers are seconds from its start."""
    write(tmp_path)
    start = datetime(2024, 5, 1, 9, tzinfo=UTC)
    dates = [[(start + timedelta(seconds=edge)).isoformat() for edge in event] for event in ((0.0, 600.0), *EVENTS)]
    labels = [{"t1": a, "t2": b, "label": "walk"} for a, b in dates[1:]]
    (tmp_path / "two.json").write_text(json.dumps({"t1": dates[0][0], "t2": dates[0][1], "labels": labels}))
    assert score(tmp_path).scores["mine"]["event_macro_f1"] == 1.0
    rows = json.loads((tmp_path / "mine.json").read_text())
    rows["two"] = [{**one, "t1": one["t1"] * 1e3, "t2": one["t2"] * 1e3} for one in rows["two"]]
    (tmp_path / "mine.json").write_text(json.dumps(rows))
    with pytest.raises(InputError, match=r"recording 'two': .* these detections look like milliseconds"):
        score(tmp_path, "mine.json")


@pytest.mark.parametrize(
    "found",
    [
        [(0.02 + 0.1 * k, 0.05 + 0.1 * k) for k in range(3)],  # short and early, but of no unit
        [(60.0 * k, 60.0 * k + 0.05) for k in range(1, 10)],  # a thousandth as long, all over the recording
        [(0.1 * k, 0.1 * k + 0.05) for k in range(1, 3)],  # too few
        [(20_000.0, 20_030.0), (30_000.0, 30_060.0), (590_000.0, 590_100.0)],  # far away, of the right length
    ],
)
def test_one_recording_of_a_bad_system_is_scored(tmp_path, found):
    write_four(tmp_path)
    rows = json.loads((tmp_path / "mine.json").read_text())
    rows["four"] = [{"t1": a, "t2": b, "label": "walk"} for a, b in found]
    (tmp_path / "mine.json").write_text(json.dumps(rows))
    assert len(score_four("file", tmp_path).runs[0].roster) == 4


@FORMS
@pytest.mark.parametrize(("start", "count"), [(0.0, 1), (0.0, 3), (1.7e9, 3)])
def test_a_wrong_unit_is_questioned_before_the_truth(tmp_path, form, start, count):
    write(tmp_path, start=start, results=EVENTS[-count:])
    said = r"check --unit ms: with it, .*detections .*: detections look like seconds; leave --unit out, or, if they are"
    with pytest.raises(InputError, match=said):
        score_as(form, tmp_path, unit="ms")


def test_a_wrong_unit_is_questioned_with_the_one_that_fits(tmp_path):
    write(tmp_path, scale=1e3)
    with pytest.raises(InputError, match=r"check --unit us: .* milliseconds; give --unit ms in place of --unit us"):
        score(tmp_path, unit="us")
    write(tmp_path, scale=1e6)
    with pytest.raises(InputError, match=r"check --unit ms: .* microseconds; give --unit us in place of --unit ms"):
        score(tmp_path, unit="ms")


def test_a_truth_that_no_unit_of_the_results_fits_is_to_be_corrected(tmp_path):
    write(tmp_path, scale=1e3)
    labels = [{"t1": a * 1e6, "t2": b * 1e6, "label": "walk"} for a, b in EVENTS]
    for name in ("one", "two"):
        (tmp_path / f"{name}.json").write_text(json.dumps({"t1": 0, "t2": 6e8, "labels": labels}))
    said = "the truth looks like microseconds, or without --unit ms like milliseconds; write t1, t2 and labels"
    with pytest.raises(InputError, match=said):
        score(tmp_path, unit="ms")


def test_results_relative_to_a_truth_of_epoch_seconds_are_a_matter_of_clocks(tmp_path):
    write(tmp_path, start=1.7e9)
    rows = {name: [{"t1": a, "t2": b, "label": "walk"} for a, b in EVENTS] for name in ("one", "two")}
    (tmp_path / "mine.json").write_text(json.dumps(rows))
    (finding,) = (f for f in score(tmp_path, "mine.json").runs[0].findings if f.id == "times-elsewhere")
    assert finding.remedy == "check that times are seconds of the same clock as the windows"


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


def test_seconds_over_a_long_recording_of_which_the_window_is_a_small_part(tmp_path):
    """Two of 61 detections are in the window of a minute, and right; all would be in it as milliseconds."""
    later = [{"t1": 600 * k, "t2": 600 * k + 20, "label": "walk"} for k in range(1, 60)]
    labels = [{"t1": 10, "t2": 15, "label": "walk"}, {"t1": 30, "t2": 40, "label": "walk"}]
    (tmp_path / "one.json").write_text(json.dumps({"t1": 0, "t2": 60, "labels": labels}))
    (tmp_path / "day.json").write_text(json.dumps({"t1": 0, "t2": 60, "labels": labels + later}))
    (tmp_path / "mine.json").write_text(json.dumps(labels + later))
    for truth in ("one.json", "day.json"):
        (run,) = gnomon.score("events", str(tmp_path / truth), str(tmp_path / "mine.json")).runs
        assert run.find("event_macro_f1").value == 1.0
        assert "times-elsewhere" in {finding.id for finding in run.findings}


def test_the_way_to_insist_on_seconds_is_named(tmp_path):
    write(tmp_path, scale=1e3)
    with pytest.raises(InputError, match="give --unit ms, or give --unit s if they are seconds"):
        score(tmp_path)


@FORMS
def test_a_window_in_milliseconds_around_labels_in_seconds(tmp_path, form):
    """Labels and detections agree, so that scores would look right, but for the time without events."""
    write(tmp_path, window=600_000.0)
    figures = "all 6 labels end by 598 s, but windows end at 600,000 s: windows look like milliseconds"
    with pytest.raises(InputError, match=figures):
        score_as(form, tmp_path)
    assert score(tmp_path, unit="s").scores["mine"]["event_macro_f1"] == 1.0


@FORMS
def test_a_truth_in_milliseconds_against_results_in_seconds(tmp_path, form):
    write(tmp_path)
    for name in ("one", "two"):
        labels = [{"t1": a * 1e3, "t2": b * 1e3, "label": "walk"} for a, b in EVENTS]
        (tmp_path / f"{name}.json").write_text(json.dumps({"t1": 0, "t2": 6e5, "labels": labels}))
    figures = "all 6 detections end by 598 s, but true events reach 598,000 s and windows end at 600,000 s"
    with pytest.raises(InputError, match=f"{figures}: the truth looks like milliseconds"):
        score_as(form, tmp_path)
    (finding,) = (f for f in score(tmp_path, unit="s").runs[0].findings if f.id == "times-elsewhere")
    assert finding.severity == "error"
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


@FORMS
@pytest.mark.parametrize("unit", ["", "s"])
def test_labels_that_are_all_elsewhere_cannot_be_scored(tmp_path, form, unit):
    write(tmp_path)
    labels = [{"t1": a + 700, "t2": b + 700, "label": "walk"} for a, b in EVENTS]
    for name in ("one", "two"):
        (tmp_path / f"{name}.json").write_text(json.dumps({"t1": 0, "t2": 600, "labels": labels}))
    ranges = "true events of 'one' lie from 720 to 1298, but its window is from 0 to 600; write t1 and t2"
    with pytest.raises(InputError, match=f"no true event touches the window of its recording.*: {ranges}"):
        score_as(form, tmp_path, unit=unit)


def test_labels_relative_to_a_window_of_epoch_seconds_cannot_be_scored(tmp_path):
    labels = [{"t1": a, "t2": b, "label": "walk"} for a, b in EVENTS]
    truth = {"t1": 1_700_000_000, "t2": 1_700_000_600, "labels": labels}
    (tmp_path / "one.json").write_text(json.dumps(truth))
    (tmp_path / "mine.json").write_text(json.dumps(labels))
    given = str(tmp_path / "one.json"), str(tmp_path / "mine.json")
    ranges = "'one' lie from 20 to 598, but its window is from 1700000000 to 1700000600; the labels seem to count from"
    with pytest.raises(InputError, match=ranges):
        gnomon.score("events", *given)


def test_no_recogniser_runs_over_a_truth_whose_labels_are_all_elsewhere(tmp_path):
    recorded(tmp_path)
    truth = json.loads((tmp_path / "one.json").read_text())
    truth["labels"] = [{"t1": 700, "t2": 730, "label": "walk"}]
    (tmp_path / "one.json").write_text(json.dumps(truth))
    with pytest.raises(InputError, match="'one' lie from 700 to 730, but its window is from 0 to 600"):
        run(tmp_path)


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


LABELS = """    def labels(self):
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


def run(folder, system="rec.py:Scaled", **more):
    options = {"out": "none", "executor": "inline", "retries": 0, **more}
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
    with pytest.raises(gnomon.NothingScoredError, match=r"60 s: times look like milliseconds.* or give --unit s"):
        run(tmp_path)
    assert run(tmp_path, unit="s").complete


def test_a_sparse_sensor_over_many_days_is_seconds(tmp_path):
    """A door opens every 20 minutes for ten days, once in the labelled 15 minutes; as milliseconds all would fit."""
    recorded_long(tmp_path, "door", step=1200.0, length=840_000, window=900)
    lines = [json.dumps({"time": 300.0 + 1200.0 * n, "type": "door", "values": [1.0]}) for n in range(700)]
    (tmp_path / "one.jsonl").write_text("\n".join(lines))
    assert run(tmp_path).complete


def test_detections_as_far_as_the_records_reach_are_seconds(tmp_path):
    """The window is the first minute of an hour of records; detections go on to the end, none of them in the window."""
    recorded_long(tmp_path)
    later = "[{'t1': 600.0 * k, 't2': 600.0 * k + 20, 'label': 'walk'} for k in range(1, 12)]"
    (tmp_path / "rec.py").write_text(RECOGNIZER.split("        edges")[0] + f"        return {later}\n" + LABELS)
    assert run(tmp_path).complete


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


def score_one(folder, window, labels, found, **options):
    """Score one recording: a window from 0 on, labels and detections as starts and ends."""
    sides = [[{"t1": a, "t2": b, "label": "fall"} for a, b in side] for side in (labels, found)]
    (folder / "one.json").write_text(json.dumps({"t1": 0, "t2": window, "labels": sides[0]}))
    (folder / "mine.json").write_text(json.dumps(sides[1]))
    return gnomon.score("events", str(folder / "one.json"), str(folder / "mine.json"), out="none", **options)


@pytest.mark.parametrize("labels", [[(20, 30)], [(20, 30), (200, 260)], [(5, 6), (10, 11), (30, 32)]])
def test_a_window_in_milliseconds_is_refused_however_few_labels_there_are(tmp_path, labels):
    with pytest.raises(InputError, match=r"windows end at 600,000 s: windows look like milliseconds; write t1 and t2"):
        score_one(tmp_path, 600_000, labels, labels)
    assert score_one(tmp_path, 600_000, labels, labels, unit="s").scores["mine"]["event_macro_f1"] == 1.0


@pytest.mark.parametrize("count", [1, 2])
def test_a_few_labels_in_milliseconds_against_detections_in_seconds(tmp_path, count):
    found = [(20.4, 29.5), (52.0, 61.0)][:count]
    labels = [(20_000, 30_000), (52_000, 60_000)][:count]
    figures = r"detections last 9\S* s on average and reach \S+ s, but true events last \S+ s and reach \S+ s"
    with pytest.raises(
        InputError, match=rf"{figures}: the truth looks like milliseconds; say so with --truth-unit, or write t1"
    ):
        score_one(tmp_path, 600_000, labels, found)


def test_a_few_detections_in_milliseconds_are_refused(tmp_path):
    with pytest.raises(InputError, match="detections look like milliseconds; give --unit ms"):
        score_one(tmp_path, 600, [(20, 30), (52, 60)], [(20_400, 29_500), (52_000, 61_000)])


@pytest.mark.parametrize("start", [0.5, 30, 4_000, 86_000])
@pytest.mark.parametrize("found", [[], [(33, 34)], [(40_000, 40_003)], [(100 * k, 100 * k + 2) for k in range(800)]])
def test_one_label_of_three_seconds_in_a_day_is_seconds(tmp_path, start, found):
    assert score_one(tmp_path, 86_400, [(start, start + 3)], found).runs


def test_short_detections_of_a_bad_system_are_scored(tmp_path):
    """A thousandth as long as events, but all over the recording."""
    found = [(60 * k, 60 * k + 0.03) for k in range(1, 10)]
    assert score_one(tmp_path, 600, [(20, 50), (300, 330)], found).runs


def test_a_system_that_stops_early_is_scored(tmp_path):
    """Five detections in the first 83 s of a day, as long as events: the reach is short, lengths are not."""
    labels = [(3_600 * k + 10, 3_600 * k + 20) for k in range(24)]
    found = [(10, 20), (30, 38), (45, 52), (60, 66), (75, 83)]
    (run,) = score_one(tmp_path, 86_400, labels, found).runs
    (finding,) = (f for f in run.findings if f.id == "times-elsewhere")
    assert (finding.severity, finding.remedy) == ("warning", "check that the system processed recordings to their end")
    with pytest.raises(InputError, match=r"all 5 detections end by 83 s.*: the truth looks like milliseconds"):
        score_one(tmp_path, 86_400, [(a, a + 9_000) for a, _ in labels[::3]], found)
