"""Truth and results: what was written is read, and what is wrong is named."""

from __future__ import annotations

import json
import os
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.suites.events.files import ONLY, read_predictions, read_truth, stretches_of, write_predictions
from gnomon.suites.events.times import Stretch, place, show

EFFORT = settings(deadline=None, suppress_health_check=list(HealthCheck))
WALK = {"t1": "2012-05-16T09:01:00-08:00", "t2": "2012-05-16T17:02:00Z", "label": "walk", "body_position": "hip"}
TRUTH = {
    "data_path": "raw/*.json.gz",
    "description": "a walk",
    "subject": {"id": "s1", "age": 31},
    "device": {"model": "x", "sensors": ["accel"]},
    "hw": 2.5,
    "extra": [1, 2],
    "t1": "2012-05-16T09:00:00-08:00",
    "t2": "2012-05-16T10:00:00-08:00",
    "labels": [WALK],
}


@pytest.fixture(autouse=True, scope="module")
def without_waiting_for_the_disk():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        yield


def put(folder, content, name="case.json"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def test_a_truth_file(tmp_path):
    (case,) = read_truth(put(tmp_path, TRUTH))
    assert (case.id, case.window, case.data_glob) == ("case", (0, 3600), "raw/*.json.gz")
    assert case.stretches == (Stretch(60, 120, "walk"),)
    assert case.fields == TRUTH
    assert case.tags == {
        "description": "a walk", "subject": "s1", "subject.id": "s1", "subject.age": "31",
        "device.model": "x", "hw": "2.5"
    }  # fmt: skip
    assert show(case.stretches[0].start, case.zone) == "2012-05-16T09:01:00-08:00"


def test_ids(tmp_path):
    plain = {"t1": 10, "t2": 20.5, "labels": []}
    paths = [put(tmp_path, [plain, plain | {"id": "b"}, plain | {"id": 7}]), put(tmp_path, plain, "other.json")]
    cases = read_truth(*paths)
    assert [case.id for case in cases] == ["case-0", "b", "7", "other"]
    assert [case.window for case in cases] == [(10, 20.5)] * 4
    with pytest.raises(InputError, match=r"id: 'other' is also in .*other.json"):
        read_truth(*paths, paths[1])


def test_a_subject_without_a_name_is_known_by_its_description(tmp_path):
    (case,) = read_truth(put(tmp_path, TRUTH | {"subject": {"b": 1, "a": "x"}}))
    assert case.tags["subject"] == '{"a":"x","b":1}'
    (case,) = read_truth(put(tmp_path, TRUTH | {"subject": "s9"}))
    assert case.tags["subject"] == "s9"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"t1": None}, "case.json: t1: got NoneType"),
        ({"t2": "2012-05-16T09:00:00-08:00"}, "t2: the window ends"),
        ({"t2": "2012-05-16T09:00:00"}, "t2: got a date without an offset .*expected a date with an offset"),
        ({"t2": 5}, "t2: got seconds as a number"),
        ({"labels": {}}, "labels: got dict"),
        ({"labels": [WALK, 3]}, r"labels\[1\]: got int"),
        ({"labels": [WALK, {"t1": 3, "label": "x"}]}, r"labels\[1\]: no end or t2 or offset"),
        ({"labels": [WALK, WALK | {"t2": "noon"}]}, r"labels\[1\].t2: 'noon' is not an ISO"),
        ({"labels": [WALK, WALK | {"label": " "}]}, r"labels\[1\].label: got ' '"),
        ({"labels": [WALK | {"t1": 3, "t2": 4}]}, r"labels\[0\].start: got seconds"),
        ({"labels": [WALK | {"t2": WALK["t1"], "t1": WALK["t2"]}]}, r"labels\[0\]: ends before it starts"),
        ({"data_path": ["a"]}, "data_path: got list"),
        ({"id": ""}, "id: got ''"),
    ],
)
def test_errors_name_file_index_and_field(tmp_path, change, message):
    with pytest.raises(InputError, match=message):
        read_truth(put(tmp_path, TRUTH | change))
    with pytest.raises(InputError, match=r"case.json: \[1\]\."):
        read_truth(put(tmp_path, [TRUTH, TRUTH | change]))


@pytest.mark.parametrize("content", [b"", b"[1]", b"3", b"{", b'{"t1": 1, "t2": 2}', b'{"t1": 1, "t1": 1}'])
def test_what_is_no_truth(tmp_path, content):
    with pytest.raises(InputError, match=r"case\.json"):
        read_truth(put(tmp_path, content))


WORDS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8).filter(str.strip)
TAME = WORDS.filter(lambda word: not set(word) & set("\t\r\n") and not word.startswith("\ufeff"))
SCORES = st.none() | st.floats(allow_nan=False, allow_infinity=False)
SECONDS = st.floats(-1e9, 1e9) | st.integers(0, 1000).map(float)
DATES = st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1), timezones=st.just(timezone(timedelta(hours=-8))))


def results(words, times=SECONDS, scores=SCORES):
    listed = st.lists(st.builds(Stretch, times, times, words, scores), max_size=4)
    return st.dictionaries(words, listed, max_size=4) | listed.map(lambda group: {ONLY: group})


def round_trip(path, content):
    write_predictions(path, content)
    found = read_predictions(path)
    assert found == content
    assert list(found) == list(content)


@EFFORT
@given(results(WORDS) | results(WORDS, DATES))
def test_json_and_csv_come_back(tmp_path_factory, content):
    for suffix in (".json", ".csv"):
        round_trip(tmp_path_factory.getbasetemp() / f"r{suffix}", content)


@EFFORT
@given(results(TAME), results(TAME, scores=st.none()))
def test_tabbed_text_comes_back(tmp_path_factory, scored, plain):
    round_trip(tmp_path_factory.getbasetemp() / "r.tsv", scored)
    if ONLY in plain:
        round_trip(tmp_path_factory.getbasetemp() / "r.txt", plain)


ONE = Stretch(0.5, 1.0, "walk")
SURE = ONE._replace(score=0.25)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("r.txt", {"a": [ONE]}, "hold one case"),
        ("r.txt", {ONLY: [ONE._replace(score=1.0)]}, "no scores"),
        ("r.txt", {ONLY: [ONE._replace(start=datetime(2012, 5, 16))]}, "not dates"),
        ("r.tsv", {"a": [ONE._replace(label="a\tb")]}, "a tab or a new line"),
        ("r.csv", {"a": [ONE], ONLY: [ONE]}, "name it"),
        ("r.xml", {"a": [ONE]}, "unknown kind"),
        ("no/r.csv", {"a": [ONE]}, "cannot be written"),
        ("r.csv", {"a": [ONE._replace(label="\ud800")]}, "cannot be written"),
    ],
)
def test_what_a_format_cannot_hold(tmp_path, name, content, message):
    with pytest.raises(InputError, match=message):
        write_predictions(tmp_path / name, content)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.tsv", "filename\tonset\toffset\tevent_label\nx\t0.5\t1\twalk\ny\t\t\t\n", {"x": [ONE], "y": []}),
        ("a.tsv", "x.wav\t0.5\t1\twalk\r\ny.wav\t0.5\t1.0\twalk\r\n", {"x.wav": [ONE], "y.wav": [ONE]}),
        ("a.tsv", "onset\toffset\tevent_label\n0.5\t1\twalk\n", {ONLY: [ONE]}),
        ("a.txt", "\ufeff0.500000\t1.000000\twalk\n\\\t100.0\t200.0\n", {ONLY: [ONE]}),
        ("a.txt", "", {ONLY: []}),
        ("a.csv", "label,end,start,more\nwalk,1,0.5,x\n", {ONLY: [ONE]}),
        ("a.csv", "case,start,end,label,score\nx,0.5,1,walk,\nx,0.5,1,walk,0.25\n", {"x": [ONE, SURE]}),
        ("a.json", '[{"t1": 0.5, "t2": 1, "label": "walk", "score": null}]', {ONLY: [ONE]}),
        ("a.json", '{"x": [{"t1": 0.5, "t2": 1, "label": "walk"}], "y": []}', {"x": [ONE], "y": []}),
    ],
)  # fmt: skip
def test_formats_as_others_write_them(tmp_path, name, text, expected):
    assert read_predictions(put(tmp_path, text.encode(), name)) == expected


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "start,end\n1,2\n", "no label or event_label"),
        ("a.csv", "start,end,label\n1,2,a\n1,x,a\n", "row 3.end: 'x' is not an ISO"),
        ("a.csv", "start,end,label,score\n1,2,a,2012-01-01\n", "row 2.score: a score must be a number, got "),
        ("a.csv", "case,start,end,label\n,2,3,a\n", "row 2.case: got None"),
        ("a.tsv", "1\t2\ta\n1\ta\n", "row 2: expected 3 cells"),
        ("a.txt", "1\t2\t\n", "row 1.label: got ''"),
        ("a.txt", "\xff\xfe", "row 1: expected 3 cells"),
        ("a.json", "3", "got int, expected a list"),
        ("a.json", '{"": []}', "the name of a case"),
        ("a.json", '{"x": [{"t1": true, "t2": 1, "label": "a"}]}', r"x\[0\].t1: got bool"),
        ("a.json", '[{"t1": 0, "t2": 1, "label": "a", "score": "high"}]', r"\[0\].score"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, name, text, message):
    with pytest.raises(InputError, match=message):
        read_predictions(put(tmp_path, text.encode(), name))


def test_results_in_memory():
    found = stretches_of([{"t1": datetime(2012, 5, 16, 9), "t2": "2012-05-16T09:01", "label": 3}], "detected")
    assert found == [Stretch(datetime(2012, 5, 16, 9), datetime(2012, 5, 16, 9, 1), "3")]


PIECES = st.lists(
    st.sampled_from([*'\t\n\r,"\\{}[]:01.', "t1", '"t1"', '"t2"', '"label"', "null", "NaN", "1e999", "2012-05-16"])
    | st.text(max_size=3),
    max_size=30,
).map("".join)


@EFFORT
@given(PIECES.map(lambda text: text.encode("utf-8", "surrogatepass")) | st.binary(max_size=60))
def test_hostile_files(tmp_path_factory, data):
    folder = tmp_path_factory.getbasetemp()
    heads = {"h.csv": b"case,start,end,label,score\n", "h.tsv": b"onset\toffset\tlabel\n", "h.txt": b"", "h.json": b""}
    for name, head in heads.items():
        path = put(folder, head + data, name)
        for read in (read_predictions, read_truth):
            try:
                for group in read(path).values() if read is read_predictions else ():
                    place(group, read_truth(put(folder, TRUTH))[0].zone, "group")
            except InputError as error:
                message = str(error)
                assert "\n" not in message
