"""Faults known from other tools, each in a test of its own, through files and the verbs.

Those of the measures alone (windows that abut, FM' told as M', empty lists, P = 0, N = 0, clipping, touching) are with
:mod:`gnomon.measures.events`; the cost is with the benchmark ``events``. Expected values are worked by hand.
"""

import json
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest

import gnomon
from gnomon.core.errors import InputError

pytestmark = pytest.mark.usefixtures("in_this_process")

RECOGNIZERS = """
import os
import time

class Sound:
    '''Returns a stretch wherever a value is over 1, with the label that the second value stands for.'''
    odd = False
    def __init__(self):
        self.results, self.open = [], None
    def process(self, recs):
        for record in recs:
            value, kind = record["values"]
            if value == 99:
                self.odd = True
                self.met()
            high = value > 1
            if high and self.open is None:
                self.open = record["time"], "AB"[int(kind)]
            if not high and self.open is not None:
                self.results.append({"t1": self.open[0], "t2": record["time"], "label": self.open[1]})
                self.open = None
    def met(self):
        '''Called where the recording asks for the fault.'''
    def detected(self, time_range=None):
        return self.spoilt(self.results) if self.odd else self.results
    def spoilt(self, results):
        return results
    def labels(self):
        return ["A", "B"]

class Swaps(Sound):
    def detected(self, time_range=None):
        return [dict(r, label="BA"["AB".index(r["label"])]) for r in self.results]

class Zoned(Sound):
    '''Returns dates of another zone than that of the truth and that of the data.'''
    def detected(self, time_range=None):
        from datetime import datetime, timedelta
        zero = datetime.fromisoformat("2012-05-16T18:00:00+01:00")
        moved = lambda second: (zero + timedelta(seconds=second)).isoformat()
        return [dict(r, t1=moved(r["t1"]), t2=moved(r["t2"])) for r in self.results]

class Hangs(Sound):
    def met(self):
        while True:
            pass

class Dies(Sound):
    def met(self):
        os._exit(3)

class Raises(Sound):
    def met(self):
        raise RuntimeError("sensor fault")

class RaisesLate(Sound):
    def spoilt(self, results):
        return 1 / 0

class Nothing(Sound):
    def spoilt(self, results):
        return None

class NoTimes(Sound):
    def spoilt(self, results):
        return [{"t1": "noon", "t2": 3, "label": "A"}]

class NoLabel(Sound):
    def spoilt(self, results):
        return [{"t1": 1, "t2": 3}]

class Backwards(Sound):
    def spoilt(self, results):
        return [{"t1": 3, "t2": 1, "label": "A"}]

class NotFinite(Sound):
    def spoilt(self, results):
        return [{"t1": 1, "t2": float("inf"), "label": "A"}]

class Mixed(Sound):
    def spoilt(self, results):
        return [{"t1": 1, "t2": 3, "label": "A"}, {"t1": "2012-05-16T09:00:00Z", "t2": 3, "label": "A"}]

class Unsorted(Sound):
    def spoilt(self, results):
        return results[::-1]

class Overlapping(Sound):
    def spoilt(self, results):
        return [results[0], dict(results[0]), results[1]]

class Outside(Sound):
    def spoilt(self, results):
        return [{"t1": -5, "t2": 2, "label": "A"}, *results]

class Unknown(Sound):
    def spoilt(self, results):
        return [*results, {"t1": 18, "t2": 19, "label": "zumba"}]
"""

EVENTS = [(4, 8, "A"), (12, 15, "B")]
CASES = ("one", "two")
COMMON = ("any_overlap_recall", "any_overlap_precision", "TPr[A]", "Ir[A]", "TPr[B]")


def values(second):
    label = next((label for start, end, label in EVENTS if start <= second < end), None)
    return [0.0 if label is None else 2.0, float(label == "B")]


def record(second, time=None):
    return {"time": second if time is None else time, "type": "accel", "values": values(second)}


def truth(**fields):
    labels = [{"t1": start, "t2": end, "label": label} for start, end, label in EVENTS]
    return {"t1": 0, "t2": 20, "labels": labels, **fields}


def put(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def run(folder, name, **options):
    """Run one recogniser over all truth files of a folder."""
    recognizer = put(folder / "code" / "rec.py", RECOGNIZERS)
    chosen = {"truth": tuple(sorted(map(str, folder.glob("*.json")))), "recognizers": (f"{recognizer}:{name}",)}
    return gnomon.run("events", **{**chosen, "out": "none", "retries": 0, **options}).runs[0]


def scores(run):
    return {score.name: score.value for score in run.scores}


def stored(run):
    """What a run keeps of every case: the counts, and the results in seconds."""
    fields = run.tallies["recognition"].fields
    return {name: np.asarray(value).tolist() for name, value in fields.items()}, run.table.to_pylist()


@pytest.fixture
def pair(tmp_path):
    """Two recordings of 20 s at 1 Hz; in the second, a value of 99 after both events asks for the fault."""
    for name in CASES:
        rows = [record(second) for second in range(20)]
        if name == "two":
            rows[16]["values"][0] = 99
            rows[17:17] = [{"time": 16, "type": "accel", "values": [0, 0]}]  # the stretch that 99 opens has no length
        put(tmp_path / "raw" / f"{name}.json", rows)
        put(tmp_path / f"{name}.json", truth(data_path=f"raw/{name}.json"))
    return tmp_path


@pytest.mark.parametrize("chunk", [1, 7, 10_000])
@pytest.mark.parametrize("parts", [[range(20)], [range(20, 60), range(-30, 20)], [range(7), range(7, 9), range(9, 16)]])
def test_the_window_is_not_overwritten_by_raw_chunks(tmp_path, parts, chunk):
    """The data of one case: as long as the window, 90 s in two files whose names are not in order, and too short."""
    for index, part in enumerate(parts):
        put(tmp_path / "raw" / f"{index}.json", [record(second) for second in part])
    put(tmp_path / "case.json", truth(data_path="raw/*.json"))
    found = run(tmp_path, "Sound", chunk=chunk)
    assert found.tallies["recognition"].fields["window_s"].tolist() == [20]
    assert found.find("time_accuracy").value == 1
    assert found.find("TNr[A]").value == 1
    window = gnomon.api.present([found]).tables["cases"].rows[0]["window"]
    assert window.value == 20


def test_the_window_of_a_case_is_not_that_of_the_case_before(tmp_path):
    put(tmp_path / "raw" / "all.json", [record(second) for second in range(20)])
    for name, window in (("one", (0, 20)), ("two", (2, 10)), ("three", (-100, 100))):
        put(tmp_path / f"{name}.json", truth(data_path="raw/*", t1=window[0], t2=window[1]))
    found = run(tmp_path, "Sound")
    windows = dict(zip(found.roster.ids, found.tallies["recognition"].fields["window_s"].tolist(), strict=True))
    assert windows == {"one": 20, "two": 8, "three": 200}


PACIFIC, INDIA = timedelta(hours=-8), timedelta(hours=5, minutes=30)
ZERO = datetime(2012, 5, 16, 17, tzinfo=UTC)


def dated(second, offset):
    return (ZERO + timedelta(seconds=second)).astimezone(timezone(offset)).isoformat()


def put_dated(folder, truth_offset, raw_offset):
    put(folder / "raw" / "a.json", [record(second, dated(second, raw_offset)) for second in range(20)])
    labels = [{"t1": dated(a, truth_offset), "t2": dated(b, truth_offset), "label": label} for a, b, label in EVENTS]
    put(
        folder / "case.json",
        truth(data_path="raw/*", t1=dated(0, truth_offset), t2=dated(20, truth_offset), labels=labels),
    )
    return folder


@pytest.mark.parametrize("name", ["Sound", "Zoned"])
@pytest.mark.parametrize("offsets", [(PACIFIC, timedelta()), (PACIFIC, INDIA), (timedelta(), PACIFIC)])
def test_truth_data_and_results_may_be_written_in_different_time_zones(tmp_path, offsets, name):
    """The same moments give the same run, whatever the zones that they are written in."""
    same = run(put_dated(tmp_path / "same", PACIFIC, PACIFIC), "Sound")
    other = run(put_dated(tmp_path / "other", *offsets), name)
    assert stored(other) == stored(same)
    assert other.ground == same.ground, "the digests of the data agree"
    assert other.find("time_accuracy").value == 1


def test_header_and_axis_are_in_one_time_zone(tmp_path):
    """Window, labels, results and segments are all written in the zone of the truth."""
    folder = put_dated(tmp_path / "case", PACIFIC, timedelta())
    run(folder, "Zoned", export_perfboard=str(tmp_path / "scores.json"))
    times = list(written(json.loads((tmp_path / "scores.json").read_text())["results"]))
    assert dated(4, PACIFIC) in times
    assert len(times) > 20
    assert {time[-6:] for time in times} == {"-08:00"}


def written(item):
    """Give every time of a result."""
    if isinstance(item, list):
        for inner in item:
            yield from written(inner)
    elif isinstance(item, dict):
        for key, inner in item.items():
            yield from [inner] if key in ("t1", "t2") else written(inner)


def test_labels_are_not_ignored_and_pooled(pair):
    """Every A is called B and the other way round: nothing is right by class, everything when pooled."""
    strict, published = (run(pair, "Swaps", variant=variant) for variant in ("strict", "published"))
    assert strict.find("event_macro_f1").value == 0
    assert strict.find("Dr[A]").value == strict.find("Dr[B]").value == 1
    assert strict.find("time_accuracy").value == pytest.approx(13 / 20)
    assert published.find("event_macro_f1").value == 1
    assert published.find("TPr[event]").value == 1


def as_of_one(found):
    """What a run keeps of the first case alone: what was counted, without zeros (of classes of the other case)."""
    fields, rows = stored(found)
    assert found.roster.ids[0] == "one"
    counted = {name: [count for count in np.ravel(value[0]).tolist() if count] for name, value in fields.items()}
    return counted, [row for row in rows if row["case"] == "one"]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("Raises", "RuntimeError: sensor fault"),
        ("RaisesLate", "ZeroDivisionError"),
        ("Nothing", "detected() returned NoneType: expected a list"),
        ("NoTimes", "detected()[0].t1: 'noon' is not an ISO"),
        ("NoLabel", "detected()[0]: no label"),
        ("Backwards", "detected()[0]: ends before it starts"),
        ("NotFinite", "detected()[0].t2: got a number that is not finite"),
        ("Mixed", "detected()[1].start: got a date with an offset"),
    ],
)
def test_one_case_that_fails_is_reported_and_does_not_take_the_others_down(pair, name, why):
    found = run(pair, name)
    assert not found.complete
    assert found.roster.ids == ("one",)
    (missing,) = found.coverage["cells"]["missing"]
    assert missing["cell"].endswith(f":{name} two")
    assert why in missing["why"]
    assert as_of_one(found) == as_of_one(run(pair, "Sound"))


@pytest.mark.parametrize(
    ("name", "problem", "worse"),
    [
        ("Unsorted", "not in the order of time", {}),
        ("Overlapping", "1 result overlapping", {}),
        ("Outside", "1 result reaching beyond the window", {"any_overlap_precision": 4 / 5, "Ir[A]": 2 / (40 - 8)}),
        ("Unknown", "labels() does not name: 'zumba'", {"any_overlap_precision": 4 / 5}),
    ],
)
def test_odd_results_of_one_case_are_reported_by_case_and_scored(pair, name, problem, worse):
    """Order and doubling change nothing; what reaches out counts for its 2 s within; an unknown label is insertion."""
    found, sound = run(pair, name), run(pair, "Sound")
    assert found.complete
    (finding,) = (finding for finding in found.findings if finding.id == "recognizer-output")
    assert finding.evidence.startswith("two: ")
    assert problem in finding.evidence
    assert as_of_one(found) == as_of_one(sound)
    assert not [finding for finding in sound.findings if finding.id == "recognizer-output"]
    before, after = ({name: scores(run)[name] for name in COMMON} for run in (sound, found))
    assert after == pytest.approx(before | worse)


@pytest.mark.parametrize(
    ("name", "why", "limits"),
    [
        ("Hangs", "exceeded its time limit of 4 s (1 attempt)", {"timeout": 4.0}),
        ("Dies", "its worker died (exit code 3) (1 attempt)", {"deaths": 0}),
    ],
)
def test_a_recogniser_that_hangs_or_dies_on_one_case_is_stopped_and_the_others_are_done(pair, name, why, limits):
    found = run(pair, name, executor="processes", workers=2, **limits)
    assert found.roster.ids == ("one",)
    (missing,) = found.coverage["cells"]["missing"]
    assert missing["cell"].endswith(f":{name} two")
    assert missing["why"] == why
    assert as_of_one(found) == as_of_one(run(pair, "Sound"))


def test_a_time_limit_that_nobody_would_keep_is_refused(pair):
    """This process cannot stop a recogniser that hangs in it: it says so before anything is begun."""
    with pytest.raises(InputError, match="time and memory limits need worker processes: give --executor processes"):
        run(pair, "Hangs", executor="inline", timeout=1.0)


@pytest.mark.parametrize(
    ("labels", "results"),
    [
        ([], []),
        ([], [(3, 5)]),
        ([(3, 5)], []),
        ([(0, 20)], [(0, 20)]),
        ([(7, 7)], [(9, 9)]),
        ([(12, 15), (2, 4)], [(13, 14), (1, 3)]),
        ([(2, 4)], [(4, 6)]),
        ([(-9, 2), (18, 40)], [(-50, 90)]),
        ([(2, 4), (30, 40)], [(-5, -1)]),
        ([(0, 2), (2, 5), (5, 8)], [(0, 8)]),
    ],
)
@pytest.mark.parametrize("variant", ["published", "strict"])
def test_no_list_of_events_stops_the_way_from_files_to_a_report(tmp_path, labels, results, variant):
    """Nothing, everything, no length, no order, touching, reaching out, outside and abutting."""
    items = [[{"t1": start, "t2": end, "label": "A"} for start, end in side] for side in (labels, results)]
    case = put(tmp_path / "case.json", {"t1": 0, "t2": 20, "labels": items[0]})
    given = put(tmp_path / "mine.json", items[1])
    result = gnomon.score("events", (str(case),), (str(given),), variant=variant, out=tmp_path / "runs")
    assert all(check.passed for check in gnomon.verify(result.runs[0].path))
    assert all(result.to(kind) for kind in ("terminal", "json", "markdown", "html"))
    reasons = {score.name: score.why for score in result.runs[0].scores if score.value is None}
    assert all(reasons.values()), reasons
    if labels == results:
        assert result.runs[0].find("time_accuracy").value == 1
