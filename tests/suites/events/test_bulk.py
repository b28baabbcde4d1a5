"""Files that are read as columns: what they give, and what they say, is what reading row by row gives and says."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.intake.limits import DEFAULT, Limits
from gnomon.runs.content import table_digest
from gnomon.suites.events import bulk, chunks, columns, files
from gnomon.suites.events.spans import Placed, Read
from gnomon.suites.events.times import Stretch

EFFORT = settings(deadline=None, max_examples=100, suppress_health_check=list(HealthCheck))
NUMBERS = ["0", "-0", "-0.0", "1", "1.5", "2e0", "10", "0.1"]
DATES = ['"2012-05-16T09:00:00-08:00"', '"2012-05-16T17:00:01Z"', '"2012-05-16 17:00:02.5+00:00"']
ODD = [
    "9007199254740993", "1e400", "-5", "1" + "0" * 30, "NaN", "true", "null", '""', "[]", '{"a":1,"a":2}', '"5"', '"x"',
    '"2012-05-16"', '"2012-05-16T09:00:00"', '"2012-05-16T17:00:01.1234567Z"', '"0001-01-01T00:00:00+01:00"',
    '"9999-12-31T23:59:59-23:59"', '"0000-01-01T00:00:00Z"', '" 2012-05-16T17:00:01Z"', '"2012-05-16T24:00:00Z"',
]  # fmt: skip
LABELS = ['"a"', '"b"', '"a10"', '"a9"', "5", '"5"']
ODD_LABELS = ["1.0", '""', '" "', '"\\u00a0"', "null", "true", '"\\ud800"', "-0", "1" + "0" * 30, '"\\u0061"', '"é"']
SCORES = ["0.5", "1", "-0", "null"]
ODD_SCORES = ['"0.5"', '""', "true", "1e400", "9007199254740993", '"2012-05-16"', "{}"]
EXTRAS = ['"data":{"k":[{"j":1}]}', '"body_position":null', '"data":{"a":1,"a":2}', '"t1":0', '"extra":1', '"start":1']
CELLS = ["0", "1", "2.5", "+1", "-0", "1e-400"], ["", " 1", "nan", "1e400", "x", "2012-05-16", "1_0", "\u00a01"]
DATE_CELLS = [text.strip('"') for text in DATES], ["", "5", "2012", "2012-05-16", " 2012-05-16T17:00:01Z"]
NAMES = ["x", "y", "7"], ["", " ", "\u00a0", '"a,b"', '"a""b"', "NA", "null", "é"]


def told(read):
    """What a call gives, or says; whatever is no error of the project is raised."""
    try:
        return read()
    except InputError as error:
        return str(error)


def bits(stretches):
    return [tuple(v.hex() if isinstance(v, float) else repr(v) for v in stretch) for stretch in stretches]


def slowly(monkeypatch):
    """Read everything row by row."""
    for name in ("read_results", "read_cases", "from_table"):
        monkeypatch.setattr(bulk, name, lambda *_: None)


def same(read):
    fast = told(read)
    with pytest.MonkeyPatch.context() as patch:
        slowly(patch)
        assert fast == told(read)


def results(path):
    return [(case, bits(stretches)) for case, stretches in files.read_predictions(path).items()]


def choice(draw, usual, odd, oddity):
    return draw(st.sampled_from(odd if draw(st.integers(0, 99)) < oddity else usual))


def items(draw, times, oddity):
    found = []
    for _ in range(draw(st.integers(0, 5))):
        t1, t2 = (choice(draw, times, ODD, oddity) for _ in range(2))
        pairs = [f'"t1":{t1}', f'"t2": {t2}', f'"label":{choice(draw, LABELS, ODD_LABELS, oddity)}']
        if draw(st.booleans()):
            pairs.append(f'"score":{choice(draw, SCORES, ODD_SCORES, oddity)}')
        pairs += [draw(st.sampled_from(EXTRAS))] if draw(st.integers(0, 99)) < oddity else []
        if draw(st.integers(0, 99)) < oddity:
            pairs.pop()
        found.append("{" + ",".join(draw(st.permutations(pairs))) + "}")
    return "[" + ",".join(found) + "]"


def wrapped(draw, text):
    data = draw(st.sampled_from([b"", b"", b"", b"\xef\xbb\xbf", b" \r\n\t"])) + text.encode() + b"\n"
    if draw(st.integers(0, 19)) == 0:
        at = draw(st.integers(0, len(data) - 1))
        data = data[:at] + draw(st.sampled_from([b"\x00", b"\xff", b'"', b"\\", b":", b",", b""])) + data[at + 1 :]
    return data


@EFFORT
@given(st.data())
def test_results_in_json(tmp_path_factory, data):
    times, oddity = data.draw(st.sampled_from([NUMBERS, DATES])), data.draw(st.sampled_from([0, 3, 12]))
    text = items(data.draw, times, oddity)
    if data.draw(st.booleans()):
        names = data.draw(st.lists(st.sampled_from(["x", "y", "", " ", "7"][: 5 if oddity else 2]), max_size=3))
        text = "{" + ",".join(f'"{name}":{items(data.draw, times, oddity)}' for name in names) + "}"
    path = tmp_path_factory.getbasetemp() / "said.json"
    path.write_bytes(wrapped(data.draw, text))
    same(lambda: results(path))


@EFFORT
@given(st.data())
def test_truth(tmp_path_factory, data):
    draw, oddity = data.draw, data.draw(st.sampled_from([0, 3, 12]))
    times, window = draw(st.sampled_from([(NUMBERS, ("0", "11")), (DATES, (DATES[0], '"2012-05-16T18:00:00Z"'))]))
    found = []
    for number in range(draw(st.integers(1, 3))):
        t1, t2 = (choice(draw, [edge], ODD, oddity // 2) for edge in window)
        fields = [f'"t1":{t1}', f'"t2":{t2}', f'"id":{number}', f'"labels":{items(draw, times, oddity)}']
        fields.append(draw(st.sampled_from(['"subject":{"id":1,"k":[2]}', '"subject":"s"', '"z":{"q":{"r":1}}'])))
        fields += ['"id":"twice"'] if draw(st.integers(0, 99)) < oddity else []
        found.append("{" + ",".join(fields) + "}")
    text = found[0] if draw(st.booleans()) else "[" + ",".join(found) + "]"
    path = tmp_path_factory.getbasetemp() / "truth.json"
    path.write_bytes(wrapped(draw, text))

    def read():
        cases = files.read_truth(path)
        returned = {case.id: case.stretches for case in cases}
        content = chunks.Content(chunks.Truth(cases), chunks.Detections(returned))
        kept = content.leave_out(("a", "5"))
        shown = [
            (case.id, case.window, bits(case.stretches), case.tags, case.zone, repr(dict(case.fields)))
            for case in (*cases, *kept.cases)
        ]
        sides = [columns.of(case.stretches) for case in cases]
        plain = [(side.classes, side.codes.tolist(), side.scores.tobytes()) for side in sides]
        digests = chunks.digest_truth(kept.cases, "subject"), table_digest(kept.make_table())
        return shown, plain, digests, chunks.describe_truth(kept.cases), content.make_table().to_pylist()

    same(read)


@EFFORT
@given(st.data())
def test_tables(tmp_path_factory, data):
    draw, oddity = data.draw, data.draw(st.sampled_from([0, 3, 12]))
    times, suffix = draw(st.sampled_from([CELLS, DATE_CELLS])), draw(st.sampled_from([".csv", ".tsv"]))
    kinds = {"start": times, "end": times, "label": NAMES}
    kinds |= {"case": NAMES} if draw(st.booleans()) else {}
    kinds |= {"score": (["0.5", "", "1"], ["nan", " ", "x", "1e400", "-0"])} if draw(st.booleans()) else {}
    kinds |= {"note": (["", "1"], ["x", "2.5"])} if draw(st.booleans()) else {}
    names = draw(st.permutations(list(kinds)))
    rows = [names]
    for _ in range(draw(st.integers(0, 5))):
        blank = draw(st.integers(0, 5)) == 0
        cells = {name: choice(draw, *kinds[name], oddity) for name in names}
        rows.append(["" if blank and name != "case" else cell for name, cell in cells.items()])
    mark = "," if suffix == ".csv" else "\t"
    text = draw(st.sampled_from(["\n", "\r\n"])).join(mark.join(row) for row in rows)
    path = tmp_path_factory.getbasetemp() / f"said{suffix}"
    path.write_bytes(wrapped(draw, text))
    same(lambda: results(path))


USUAL = [
    ("said.json", '[{"t1": 0, "t2": 1.5, "label": 3, "score": 1, "data": {"k": 1}}, {"label": "b", "t2": 9, "t1": 2}]'),
    ("said.csv", "start,end,label,score\r\n0,1.5,3,1\r\n2,9,b,\r\n"),
    ("said.tsv", "onset\toffset\tevent_label\tscore\n0\t1.5\t3\t1\n2\t9\tb\t\n"),
]


@pytest.mark.parametrize(("name", "text"), USUAL)
def test_what_is_usual_is_read_as_columns(tmp_path, name, text):
    (path := tmp_path / name).write_text(text, encoding="utf-8")
    (found,) = files.read_predictions(path).values()
    assert isinstance(found, Read)
    assert found == [Stretch(0.0, 1.5, "3", 1.0), Stretch(2.0, 9.0, "b", None)]


def test_usual_truth_is_read_as_columns(tmp_path):
    labels = [{"t1": DATES[1].strip('"'), "t2": "2012-05-16T18:00:00+01:00", "label": "a", "body_position": {"x": 1}}]
    fields = {"t1": DATES[0].strip('"'), "t2": "2012-05-16T10:00:00-08:00", "labels": labels, "device": {"hw": 2}}
    (path := tmp_path / "walk.json").write_text(json.dumps(fields | {"labels": []}), encoding="utf-8")
    assert isinstance(files.read_truth(path)[0].stretches, Placed)
    labels[0]["t2"] = "2012-05-16T18:30:00+01:00"
    path.write_text(json.dumps([fields]), encoding="utf-8")
    (case,) = files.read_truth(path)
    assert isinstance(case.stretches, Placed)
    assert case.stretches == (Stretch(1.0, 1800.0, "a"),)
    assert (case.fields, len(case.fields), "labels" in case.fields) == (fields, 4, True)


def test_cases_come_in_the_order_of_their_first_row(tmp_path):
    text = "case,start,end,label\ny,0,1,a\nx,,,\ny,5,6,b\nz,2,3,a\ny,1,2,c\n"
    (path := tmp_path / "said.csv").write_text(text, encoding="utf-8")
    found = files.read_predictions(path)
    assert {case: [s.label for s in stretches] for case, stretches in found.items()} == {
        "y": ["a", "b", "c"], "x": [], "z": ["a"]
    }  # fmt: skip
    assert list(found) == ["y", "x", "z"]
    assert all(isinstance(stretches, Read) for stretches in found.values())


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("said.json", '[{"t1":0,"t2":1,"label":"a","label":"b"}]', "key 'label' occurs twice"),
        ("said.json", '{"x":[],"x":[]}', "key 'x' occurs twice"),
        ("said.json", '[{"t1":0,"t2":1,"label":"a","data":{"k":1,"k":1}}]', "key 'k' occurs twice"),
        ("said.json", '[{"t1":0,"t2":1,"label":"a"},{"t1":0,"t2":1,"label":true}]', r"\[1\].label: got True"),
        ("said.json", '[{"t1":1e999,"t2":1,"label":"a"}]', "not a JSON document"),
        ("said.json", '[{"t1":0,"t2":1,"label":"\\ud800"}]', "not a JSON document"),
        ("said.csv", "start,end,label\n0,1,a\n0,1e999,b\n", "row 3.end: got a number that is not finite"),
        ("said.csv", "case,start,end,label\nx,0,1,a\n ,0,1,b\n", "row 3.case: got None"),
        ("said.tsv", "onset\toffset\tevent_label\n0\t1\ta\n\n1\t2\t\u2003\n", r"row 4.event_label: got '\\u2003'"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, name, text, message):
    (path := tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        files.read_predictions(path)


def test_many_objects_become_columns_part_by_part(tmp_path, monkeypatch):
    monkeypatch.setattr(bulk, "_ROOM", 3)
    cases = {f"c{n}": [{"t1": k, "t2": k + 0.5, "label": f"l{k % 2}"} for k in range(n)] for n in range(7)}
    (path := tmp_path / "said.json").write_text(json.dumps(cases), encoding="utf-8")
    assert all(isinstance(stretches, Read) for stretches in files.read_predictions(path).values())
    same(lambda: results(path))
    cases["c6"][5] |= {"t1": "2012-05-16T09:00:00Z", "t2": "2012-05-16T09:00:00Z"}
    path.write_text(json.dumps(cases), encoding="utf-8")
    assert bulk.read_results(path, DEFAULT, files.ONLY) is None


@pytest.mark.parametrize("field", ["t2", "score"])
def test_numbers_that_may_have_been_rounded_are_read_one_by_one(tmp_path, field):
    item = {"t1": 0, "t2": 1, "label": "a", "score": 1}
    (path := tmp_path / "said.json").write_text(json.dumps([item | {field: 2**53 - 1}]), encoding="utf-8")
    assert bulk.read_results(path, DEFAULT, files.ONLY) is not None
    path.write_text(json.dumps([item | {field: 2**53 + 1}]), encoding="utf-8")
    assert bulk.read_results(path, DEFAULT, files.ONLY) is None
    same(lambda: results(path))


def test_limits_hold(tmp_path):
    (path := tmp_path / "said.json").write_text('{"x": [{"t1":0,"t2":1,"label":"a","data":[[[]]]}]}', encoding="utf-8")
    for limits, message in (
        (Limits(max_json_depth=4), "nested 6 deep"),
        (Limits(max_json_bytes=9), "document too large"),
        (Limits(max_parsed_bytes=999), "content too large"),
    ):
        with pytest.raises(InputError, match=message):
            bulk.read_results(path, limits, files.ONLY)
        with pytest.raises(InputError, match=message):
            bulk.read_cases(path, limits)
