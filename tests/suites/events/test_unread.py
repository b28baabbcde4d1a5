"""What the files of events hold and nobody reads is named; a score has three names."""

import json

import pytest

import gnomon
from gnomon.core.errors import InputError

pytestmark = pytest.mark.usefixtures("in_this_process")

LABELS = [{"t1": 1, "t2": 3, "label": "a"}, {"t1": 5, "t2": 6, "label": "a"}]


def truth(folder, **more):
    (folder / "one.json").write_text(json.dumps({"t1": 0, "t2": 10, "labels": LABELS, **more}))
    return str(folder / "one.json")


def unread(run):
    return [f for f in run.findings if f.id == "unread-input"]


@pytest.mark.parametrize("name", ["score", "confidence", "probability", "prob"])
@pytest.mark.parametrize("form", ["csv", "tsv", "json", "slow.json"])
def test_a_score_has_four_names(tmp_path, name, form):
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


def put(folder, form, *rows):
    """Write results that are objects as a table or as JSON."""
    path = folder / f"mine.{form}"
    if form == "json":
        path.write_text(json.dumps(rows))
    else:
        mark = "," if form == "csv" else "\t"
        path.write_text("".join(mark.join(map(str, line)) + "\n" for line in (rows[0], *(r.values() for r in rows))))
    return str(path)


FORMS = pytest.mark.parametrize("form", ["csv", "tsv", "json"])


@FORMS
def test_of_two_names_the_first_is_read_and_the_other_named(tmp_path, form):
    row = {"t1": 1, "t2": 3, "onset": 1, "label": "a", "confidence": 0.5, "score": 0.6}
    (run,) = gnomon.score("events", truth(tmp_path), put(tmp_path, form, row)).runs
    assert run.table["score"].to_pylist() == [0.6]
    (finding,) = unread(run)
    assert "'confidence'" in finding.evidence
    assert "'onset'" in finding.evidence


@FORMS
@pytest.mark.parametrize("word", ["high", "87%"])
@pytest.mark.parametrize("name", ["confidence", "probability"])
def test_words_beside_a_result_are_no_score_and_are_named(tmp_path, form, word, name):
    rows = [{"t1": 1, "t2": 3, "label": "a", name: 0.5}, {"t1": 5, "t2": 6, "label": "a", name: word}]
    (run,) = gnomon.score("events", truth(tmp_path), put(tmp_path, form, *rows)).runs
    assert run.find("event_macro_f1").value == 1
    assert run.table["score"].to_pylist() == [None, None]
    assert f"'{name}' (2 rows)" in unread(run)[0].evidence


@FORMS
def test_a_number_is_read_beside_words(tmp_path, form):
    row = {"t1": 1, "t2": 3, "label": "a", "confidence": "high", "probability": 0.7}
    (run,) = gnomon.score("events", truth(tmp_path), put(tmp_path, form, row)).runs
    assert run.table["score"].to_pylist() == [0.7]
    assert "'confidence' (1 row)" in unread(run)[0].evidence


@FORMS
@pytest.mark.parametrize("word", ["high", "2024-05-01T09:00:00Z"])
def test_a_score_that_is_no_number_is_an_error_that_says_so(tmp_path, form, word):
    row = {"t1": 1, "t2": 3, "label": "a", "score": word}
    with pytest.raises(InputError, match=f"score: a score must be a number, got '{word}'"):
        gnomon.score("events", truth(tmp_path), put(tmp_path, form, row))


def test_words_beside_a_true_event_are_named(tmp_path):
    path = truth(tmp_path, labels=[{**one, "confidence": "high", "score": "good"} for one in LABELS])
    (tmp_path / "mine.json").write_text(json.dumps(LABELS))
    (finding,) = unread(gnomon.score("events", path, str(tmp_path / "mine.json")).runs[0])
    assert "'labels.confidence'" in finding.evidence
    assert "'labels.score'" in finding.evidence


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
