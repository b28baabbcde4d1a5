"""What the files of events hold and nobody reads is named; a score has three names."""

import json

import pytest

import gnomon
from gnomon.core.errors import InputError

LABELS = [{"t1": 1, "t2": 3, "label": "a"}, {"t1": 5, "t2": 6, "label": "a"}]


def truth(folder, **more):
    (folder / "one.json").write_text(json.dumps({"t1": 0, "t2": 10, "labels": LABELS, **more}))
    return str(folder / "one.json")


def unread(run):
    return [f for f in run.findings if f.id == "unread-input"]


@pytest.mark.parametrize("name", ["score", "confidence", "probability"])
@pytest.mark.parametrize("form", ["csv", "tsv", "json", "slow.json"])
def test_a_score_has_three_names(tmp_path, name, form):
    rows = [(1, 3, 0.4), (8, 9, 0.9)]
    path = tmp_path / f"mine.{form}"
    if form.endswith("json"):
        extra = {"note": "x"} if form.startswith("slow") else {}
        path.write_text(json.dumps([{"t1": a, "t2": b, "label": "a", name: s, **extra} for a, b, s in rows]))
    else:
        mark = "," if form == "csv" else "\t"
        lines = [("start", "end", "label", name), *((a, b, "a", s) for a, b, s in rows)]
        path.write_text("".join(mark.join(map(str, line)) + "\n" for line in lines))
    result = gnomon.score("events", truth(tmp_path), str(path))
    assert result.runs[0].table["score"].to_pylist() == [0.4, 0.9]
    assert bool(unread(result.runs[0])) == form.startswith("slow")


@pytest.mark.parametrize("form", ["csv", "json"])
def test_two_names_of_a_score_are_an_error_that_names_both(tmp_path, form):
    path = tmp_path / f"mine.{form}"
    if form == "csv":
        path.write_text("start,end,label,confidence,score\n1,3,a,0.5,0.6\n")
    else:
        path.write_text(json.dumps([{"t1": 1, "t2": 3, "label": "a", "confidence": 0.5, "score": 0.6}]))
    with pytest.raises(InputError, match="'score' and 'confidence' are names of the same thing; keep one"):
        gnomon.score("events", truth(tmp_path), str(path))


def test_columns_of_results_are_named_for_their_system_alone(tmp_path):
    (tmp_path / "a.csv").write_text("start,end,label,colour,note\n1,3,a,red,\n5,6,a,,\n")
    (tmp_path / "b.csv").write_text("start,end,label\n1,3,a\n")
    result = gnomon.score("events", truth(tmp_path), [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")])
    runs = {run.system: run for run in result.runs}
    (finding,) = unread(runs["a"])
    assert finding.severity == "info"
    assert finding.where == str(tmp_path / "a.csv")
    assert finding.evidence == "not read: a.csv: 'colour' (1 row)"
    assert not unread(runs["b"])


def test_fields_of_truth_and_results_are_named(tmp_path):
    labels = [{**LABELS[0], "body_position": "hip"}, {**LABELS[1], "quality": 3}]
    path = truth(tmp_path, labels=labels, device="phone", tracks=[1, 2], subject={"id": "s", "history": [1]})
    (tmp_path / "mine.json").write_text(json.dumps([{"t1": 1, "t2": 3, "label": "a", "colour": "red"}]))
    (finding,) = unread(gnomon.score("events", path, str(tmp_path / "mine.json")).runs[0])
    own, _, truths = finding.evidence.partition("; ")
    assert own == "not read: mine.json: 'colour' (1 row)"
    assert truths.startswith("one.json: ")
    assert truths.endswith(" (1 row)")
    for name in ("tracks", "subject.history", "labels.body_position", "labels.quality"):
        assert repr(name) in truths
    assert "device" not in finding.evidence


def test_the_usual_fields_are_named_where_files_are_read_in_bulk(tmp_path):
    path = truth(tmp_path, labels=[{**one, "body_position": "hip", "score": 1.0} for one in LABELS])
    (tmp_path / "mine.json").write_text(json.dumps([{"t1": 1, "t2": 3, "label": "a", "data": {"x": 1}}]))
    (finding,) = unread(gnomon.score("events", path, str(tmp_path / "mine.json")).runs[0])
    assert finding.evidence.startswith("not read: mine.json: 'data' (1 row); one.json: ")
    assert finding.evidence.endswith(" (2 rows)")
    for name in ("labels.body_position", "labels.score"):
        assert repr(name) in finding.evidence


def test_shards_name_theirs_and_add_up(tmp_path):
    for side in ("truth", "mine"):
        (tmp_path / side).mkdir()
    for name in ("x", "y"):
        (tmp_path / "truth" / f"{name}.json").write_text(json.dumps({"t1": 0, "t2": 10, "labels": LABELS}))
        (tmp_path / "mine" / f"{name}.csv").write_text("start,end,label,colour\n1,3,a,red\n5,6,a,blue\n")
    (finding,) = unread(gnomon.score("events", str(tmp_path / "truth"), str(tmp_path / "mine")).runs[0])
    assert finding.evidence == "not read: mine/*.csv: 'colour' (4 rows)"


RECOGNIZER = """
class Sure:
    def process(self, recs):
        pass
    def detected(self, time_range=None):
        return [{"t1": 1, "t2": 3, "label": "a", "confidence": 0.7, "colour": "red"}]
    def labels(self):
        return ["a"]
"""


@pytest.mark.parametrize("lines", [True, False])
@pytest.mark.parametrize("executor", ["inline", "processes"])
def test_fields_of_records_and_of_what_a_recognizer_returns_are_named(tmp_path, lines, executor):
    records = [{"time": t, "type": "accel", "values": [1.0], **({"battery": 3} if t % 2 else {})} for t in range(10)]
    text = "\n".join(map(json.dumps, records)) if lines else json.dumps(records)
    (tmp_path / "raw.json").write_text(text)
    (tmp_path / "rec.py").write_text(RECOGNIZER)
    path = truth(tmp_path, data_path="raw.json")
    result = gnomon.run("events", truth=path, recognizers=f"{tmp_path}/rec.py:Sure", out="none", executor=executor)
    (finding,) = unread(result.runs[0])
    assert "rec.py:Sure on one: detected(): 'colour' (1 row); " in finding.evidence
    assert finding.evidence.endswith("; raw.json: 'battery' (5 rows)")
    assert result.runs[0].table["score"].to_pylist() == [0.7]
