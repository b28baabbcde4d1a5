"""``gnomon run events``: recognisers over raw recordings through the engine. Expected values are worked by hand."""

import json

import pytest

import gnomon
from gnomon.core.errors import InputError

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
    assert "two: 1 results reach beyond the window" in texts
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
