"""``gnomon run events``: recognisers over raw recordings through the engine. Expected values are worked by hand."""

import importlib
import json
import sys

import pytest

import gnomon
from gnomon.core.errors import InputError

pytestmark = pytest.mark.usefixtures("in_this_process")

GOOD = """
class Threshold:
    '''Returns a stretch of "moving" wherever consecutive values exceed 1.'''
    def __init__(self):
        self.results, self.open = [], None
    def process(self, recs):
        for record in recs:
            high = record["values"][0] > 1
            if high and self.open is None:
                self.open = record["time"]
            if not high and self.open is not None:
                self.results.append({"t1": self.open, "t2": record["time"], "label": "moving"})
                self.open = None
    def detected(self, time_range=None):
        return self.results
    def labels(self):
        return ["moving"]

class Bad(Threshold):
    def detected(self, time_range=None):
        return [{"t1": 8, "t2": 30, "label": "odd"}, {"t1": 1, "t2": 3, "label": "moving"}]

class Raises(Threshold):
    def process(self, recs):
        raise RuntimeError("sensor fault")
"""


@pytest.fixture
def data(tmp_path):
    """Two recordings of 20 s at 1 Hz; values exceed 1 from 5 to 9 and from 12 to 15."""
    for name in ("one", "two"):
        records = [
            {"time": t, "type": "accel", "values": [2.0 if 5 <= t < 9 or 12 <= t < 15 else 0.0]} for t in range(20)
        ]
        (tmp_path / f"{name}.raw.json").write_text(json.dumps(records))
        labels = [{"t1": 5, "t2": 9, "label": "moving"}, {"t1": 11, "t2": 15, "label": "moving"}]
        case = {"data_path": f"{name}.raw.json", "t1": 0, "t2": 20, "device": name, "labels": labels}
        (tmp_path / f"{name}.json").write_text(json.dumps(case))
    (tmp_path / "rec.py").write_text(GOOD)
    return tmp_path


def run(data, *names, **options):
    truth = tuple(str(data / f"{case}.json") for case in ("one", "two"))
    chosen = tuple(f"{data / 'rec.py'}:{name}" for name in names)
    return gnomon.run("events", **{"truth": truth, "recognizers": chosen, "out": data / "runs", **options})


@pytest.mark.parametrize("chunk", [1, 7, 10_000])
def test_a_recogniser_is_run_and_scored(data, chunk):
    """By hand: 7 of 8 s found in each recording, the second event one second late; both events correct."""
    result = run(data, "Threshold", chunk=chunk, out="none")
    scores = next(iter(result.scores.values()))
    assert scores["TPr[moving]"] == pytest.approx(7 / 8)
    assert scores["Usr[moving]"] == pytest.approx(1 / 8)
    assert scores["event_macro_f1"] == 1.0
    assert result.complete


def test_odd_output_is_reported_by_case_and_others_go_on(data):
    result = run(data, "Bad", "Raises", "Threshold", retries=0)
    by_name = {run.manifest["system"].rpartition(":")[2]: run for run in result.runs}
    assert by_name["Threshold"].complete
    texts = [finding.evidence for finding in by_name["Bad"].findings if finding.id == "recognizer-output"]
    assert "one: results are not in the order of time" in texts
    assert "two: 1 result reaching beyond the window" in texts
    assert "two: labels that labels() does not name: 'odd'" in texts
    failed = by_name["Raises"]
    assert not failed.complete
    assert failed.find("event_macro_f1").value is None
    assert all("RuntimeError: sensor fault" in item["why"] for item in failed.coverage["cells"]["missing"])
    assert all(check.passed for run in result.runs for check in gnomon.verify(run.path))


def test_done_cells_are_not_done_again(data):
    run(data, "Threshold")
    run(data, "Threshold", chunk=7)
    events = (data / "runs" / "store" / "progress.jsonl").read_text()
    assert events.count('"event": "done"') == 2


def test_select(data):
    assert run(data, "Threshold", select=("device=one",)).runs[0].roster.ids == ("one",)
    with pytest.raises(InputError, match="leaves no case"):
        run(data, "Threshold", select=("device=three",))


@pytest.mark.parametrize(("name", "words"), [("Nobody", "process and detected and labels"), ("", "expected|no recogn")])
def test_bad_recognisers_are_named(data, name, words):
    with pytest.raises(InputError, match=words):
        run(data, name)


def test_two_recognisers_of_one_source_both_get_results(data):
    (data / "copy.py").write_text(GOOD)
    names = tuple(f"{data / name}:Threshold" for name in ("rec.py", "copy.py"))
    result = gnomon.run("events", truth=str(data / "one.json"), recognizers=names, out="none")
    assert [run.coverage["cells"]["done"] for run in result.runs] == [1, 1]
    assert len({scores["TPr[moving]"] for scores in result.scores.values()}) == 1


def test_what_a_recogniser_imports_is_part_of_it(data):
    """A changed neighbour changes the result; it is found beside the file, whatever the working folder."""
    (data / "limits.py").write_text("LEVEL = 1\n")
    source = "from limits import LEVEL\n" + GOOD.replace("> 1", "> LEVEL")
    (data / "uses.py").write_text(source)
    options = {"truth": str(data / "one.json"), "recognizers": f"{data / 'uses.py'}:Threshold", "out": data / "runs"}
    first = next(iter(gnomon.run("events", **options).scores.values()))["TPr[moving]"]
    (data / "limits.py").write_text("LEVEL = 5\n")
    importlib.invalidate_caches()
    sys.modules.pop("limits", None)
    second = next(iter(gnomon.run("events", **options).scores.values()))["TPr[moving]"]
    assert (first, second) == (pytest.approx(7 / 8), 0.0)


def test_a_list_of_cases_is_read_once(data, monkeypatch):
    from gnomon.suites.events import cells, files

    cases = [json.loads((data / "one.json").read_text()) | {"id": str(number)} for number in range(5)]
    (data / "list.json").write_text(json.dumps(cases))
    calls = []
    real = files.read_truth
    monkeypatch.setattr(cells.files, "read_truth", lambda *paths: calls.append(paths) or real(*paths))
    recognizer = f"{data / 'rec.py'}:Threshold"
    gnomon.run("events", truth=str(data / "list.json"), recognizers=recognizer, out="none", executor="inline")
    assert len(calls) == 2  # the plan, and all five cells


def test_slices_are_checked_before_the_work(data):
    with pytest.raises(InputError, match="no tag 'nosuch' in every case"):
        run(data, "Threshold", slice=("nosuch",))
    assert not (data / "runs" / "store" / "progress.jsonl").exists()


@pytest.mark.parametrize("place", ["one.json", "one.raw.json", "rec.py"])
def test_an_export_never_replaces_an_input(data, place):
    before = (data / place).read_bytes()
    with pytest.raises(InputError, match="is an input of this work"):
        run(data, "Threshold", export_perfboard=str(data / place))
    assert (data / place).read_bytes() == before


def test_background_is_dropped_from_both_sides(data):
    """Called background, `moving` is nothing: no events, no returns, all time right."""
    scores = next(iter(run(data, "Threshold", background=("moving",), out="none").scores.values()))
    assert scores["time_accuracy"] == 1.0
    assert scores["any_overlap_recall"] is None
