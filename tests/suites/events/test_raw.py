"""Raw recordings: the same records whatever the file, the chunk and the block, and nothing but InputError otherwise."""

from __future__ import annotations

import gzip
import itertools
import json
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.intake.limits import Limits
from gnomon.suites.events import raw
from gnomon.suites.events.files import TruthCase
from gnomon.suites.events.raw import records
from gnomon.suites.events.times import Zone, zone_of

EFFORT = settings(deadline=None, suppress_health_check=list(HealthCheck))
START = "2012-05-16T09:00:00-08:00"


def case(folder, pattern="*", zone=None):
    return TruthCase("c", Path(folder) / "truth.json", (0, 1), (), {}, zone or Zone(), pattern, {})


def some_records(count, first=0.0, step=0.5, kind="accel"):
    return [{"time": first + i * step, "type": kind, "values": [i / 4, -1.0]} for i in range(count)]


def flat(parts):
    return list(itertools.chain.from_iterable(parts))


def put(folder, name, data):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def encoded(rows, name, dates=False):
    """Return records as the bytes of a file of any kind."""
    if dates:
        rows = [
            row | {"time": (datetime.fromisoformat(START) + timedelta(seconds=row["time"])).isoformat()} for row in rows
        ]
    if ".csv" in name:
        lines = [f"{row['time']},{row['type']},{row['values'][0]},{row['values'][1]}" for row in rows]
        return "\n".join(["time,type,x,y", *lines]).encode()
    if ".parquet" in name:
        columns = {key: [row[key] for row in rows] for key in ("time", "type")}
        sink = pa.BufferOutputStream()
        table = pa.table(columns | {key: [row["values"][i] for row in rows] for i, key in enumerate("xy")})
        pq.write_table(table, sink, row_group_size=300)
        return sink.getvalue().to_pybytes()
    if ".jsonl" in name:
        return b"\n".join(json.dumps(row).encode() for row in rows)
    return json.dumps(rows, indent=1 if "pretty" in name else None).encode()


NAMES = ["a.json", "a.json.gz", "a.pretty.json", "a.jsonl", "a.jsonl.gz", "a.csv", "a.csv.gz", "a.parquet"]


@pytest.mark.parametrize("dates", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_every_kind_of_file_in_chunks_of_any_size(tmp_path, monkeypatch, name, dates):
    rows = some_records(300)
    put(tmp_path, name, encoded(rows, name, dates))
    here = case(tmp_path, name, zone_of(START) if dates else Zone())
    for chunk in (1, 7, 300, 10**9):
        parts = list(records(here, chunk=chunk))
        assert flat(parts) == rows
        assert {len(part) for part in parts[:-1]} <= {chunk}
    for block in (13, 100, 1 << 20):
        monkeypatch.setattr(raw, "_BLOCK", block)
        assert flat(records(here)) == rows


def test_files_one_after_the_other_and_interleaved(tmp_path):
    one, two = some_records(500), some_records(500, 250.0)
    three = some_records(3000, 0.25, 0.125, "gyro")
    put(tmp_path, "b/1.json", encoded(two, ".json"))
    put(tmp_path, "b/2.jsonl.gz", encoded(one, ".jsonl"))
    put(tmp_path, "b/3.json", encoded(some_records(0), ".json"))
    assert flat(records(case(tmp_path, "b/*"))) == one + two
    put(tmp_path, "b/0.csv", encoded(three, ".csv"))
    merged = sorted(three + two + one, key=lambda row: row["time"])  # stable: at one time, files in the order of names
    assert flat(records(case(tmp_path, "b/*"), chunk=7)) == merged


ROWS = st.lists(st.tuples(st.integers(0, 6), st.sampled_from("ab")), max_size=12).map(
    lambda rows: [{"time": float(time), "type": kind, "values": []} for time, kind in sorted(rows)]
)


@EFFORT
@given(st.lists(ROWS, min_size=2, max_size=4), st.sampled_from([1, 50, 1 << 18]), st.integers(1, 5))
def test_merging_is_a_stable_sort(tmp_path_factory, groups, block, chunk):
    folder = tmp_path_factory.mktemp("merge")
    for index, rows in enumerate(groups):
        tagged = [row | {"values": [float(index), float(i)]} for i, row in enumerate(rows)]
        groups[index] = tagged
        put(folder, f"{index}.json", json.dumps(tagged).encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(raw, "_BLOCK", block)
        found = flat(records(case(folder), chunk=chunk))
    assert found == sorted(itertools.chain.from_iterable(groups), key=lambda row: row["time"])


AWKWARD = st.text(st.sampled_from('"\\{}[],: \n\u00e9a')) | st.lists(st.just({"a": [{}]}), max_size=3)
BLANKS = st.text(st.sampled_from(" \t\r\n"), max_size=3).map(str.encode)


@EFFORT
@given(st.lists(st.dictionaries(st.sampled_from(["time2", "{", "["]), AWKWARD), max_size=8), BLANKS, st.integers(1, 80))
def test_brackets_in_text_and_objects_in_objects(tmp_path_factory, extras, blank, block):
    rows = [{"time": float(i), "type": 't"},{', "values": [1.5]} for i in range(len(extras))]
    items = [json.dumps(row | extra).encode() for row, extra in zip(rows, extras, strict=True)]
    data = blank + b"[" + (blank + b"," + blank).join(items) + blank + b"]" + blank
    path = put(tmp_path_factory.getbasetemp(), "awkward.json", b"\xef\xbb\xbf" + data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(raw, "_BLOCK", block)
        assert flat(records(case(path.parent, path.name))) == rows


R = b'{"time": 1, "type": "a", "values": [1]}'


@pytest.mark.parametrize("block", [1, 16, 1 << 18])
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"[" + R + b", ]", r"byte 40: a comma without a record"),
        (b"[" + R + R + b"]", r"byte 40: "),
        (b"[" + R + b"]" + R, r"byte 41: "),
        (b"[" + R + b"] , " + R + b"," + R, r"byte 42: "),
        (b"[," + R + b"]", r"byte 1: "),
        (b"[" + R, "truncated"),
        (b"[" + R + b",", "truncated"),
        (b"[" + R + b', {"time": "', "truncated"),
        (b"[" + R + b",3]", "record 2: Expected `object`, got `int`"),
        (b"[" + R + b"," + R.replace(b"[1]", b"[1, null]") + b"]", r"record 2: values\[1\]: Expected `float`"),
        (b"[" + R.replace(b'"a"', b"3") + b"]", "record 1: type: Expected `str`, got `int`"),
        (b"[" + R.replace(b"1,", b'"2012-05-16",') + b"]", "record 1: time: Expected `float`, got `str`"),
        (b"[" + R.replace(b"1,", b"NaN,") + b"]", "byte 10: "),
        (b"[" + R + b"," + R.replace(b"1,", b"0,") + b"]", "record 2: earlier than the one before"),
        (R + b"\n" + R.replace(b'"type"', b'"kind"'), "record 2: Object missing required field `type`"),
        (b"3", "expected a JSON list"),
        (b" \n ", "expected a JSON list"),
        (b"[" + R.replace(b"[1]", b'[], "x": ' + b"[" * 100 + b"]" * 100) + b"]", "nested 102 deep, expected at most"),
        (b"[" + R.replace(b"[1]", b'[], "x": ' + b"[" * 90000) + b"]", "recursion|truncated|malformed"),
        (b"[" + R.replace(b'"a"', b'"\xff"') + b"]", "between bytes .*utf-8"),
    ],
)  # fmt: skip
def test_errors_name_the_place(tmp_path, monkeypatch, data, message, block):
    monkeypatch.setattr(raw, "_BLOCK", block if len(data) < 1000 else 1 << 14)
    put(tmp_path, "a.json", data)
    with pytest.raises(InputError, match=rf"a\.json: .*({message})"):
        flat(records(case(tmp_path)))


def test_endless_records_and_lines(tmp_path):
    put(tmp_path, "a.json", b'[{"time": "' + b"x" * 3_000_000)
    with pytest.raises(InputError, match="byte 1: no record ends in"):
        flat(records(case(tmp_path)))
    put(tmp_path, "a.json", b'{"time": "' + b"x" * 3_000_000)
    with pytest.raises(InputError, match="byte 0: a line of more than"):
        flat(records(case(tmp_path)))


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.csv", b"t,x\n1,2\n", "no column 'time'"),
        ("a.csv", b"time,x\n1,2\n2,\n", "rows 1 to 2: column 'x': a missing value"),
        ("a.csv", b"time,x\n1,nan\n", "a missing value"),
        ("a.csv", b"time,x\ninf,1\n", "column 'time': a number that is not finite"),
        ("a.csv", b"time,x\n1,b\n", "cannot be read"),
        ("a.csv", b"time,x\n1\n", "cannot be read"),
        ("a.csv", b"time,type\n1,\n", "column 'type': expected text"),
        ("a.csv", b"time,x\n2,1\n1,1\n", "record 2: earlier"),
        ("a.parquet", b"PAR1", "parquet"),
    ],
)
def test_wrong_tables(tmp_path, name, data, message):
    put(tmp_path, name, data)
    with pytest.raises(InputError, match=rf"{name}: .*{message}"):
        flat(records(case(tmp_path)))


def parquet(folder, **columns):
    pq.write_table(pa.table(columns), folder / "light.x.parquet")
    return folder


def test_parquet_types(tmp_path):
    stamps = pa.array([0, 1_500_000_001], pa.timestamp("ns", "Europe/Berlin"))
    here = case(parquet(tmp_path, time=stamps, n=[1, 2], flag=[True, False]), zone=zone_of("1970-01-01T00:00Z"))
    assert flat(records(here)) == [
        {"time": 0.0, "type": "light", "values": [1.0, 1.0]}, {"time": 1.5, "type": "light", "values": [2.0, 0.0]}
    ]  # fmt: skip
    with pytest.raises(InputError, match="got a date with an offset"):
        flat(records(case(tmp_path)))
    with pytest.raises(InputError, match="column 'word': expected numbers"):
        flat(records(case(parquet(tmp_path, time=[1, 2], word=["1", "2"]))))
    with pytest.raises(InputError, match="text of 1000 bytes"):
        flat(records(case(parquet(tmp_path, time=[1, 2], type=["x" * 1000] * 2))))


@pytest.mark.parametrize("pattern", ["../*.json", "/etc/*", "a/../../b", "**/a/**/b", "", None, "none-*", "\0", "a**b"])
def test_patterns(tmp_path, pattern):
    with pytest.raises(InputError, match=r"truth\.json: data_path"):
        records(case(tmp_path, pattern))


def test_bombs(tmp_path):
    put(tmp_path, "a.json.gz", b"[" + b" " * 3_000_000 + b"]")
    with pytest.raises(InputError, match="bomb"):
        flat(records(case(tmp_path), limits=Limits(ratio_floor_bytes=1 << 20, max_ratio=10)))
    with pytest.raises(InputError, match="at least 1"):
        records(case(tmp_path), chunk=0)


PIECES = st.lists(
    st.sampled_from([*'{}[]:,"\\ \n01', '"time":1', '"type":"a"', '"values":[', "null", "1e999", R.decode()]),
    max_size=25,
).map("".join)  # fmt: skip


@EFFORT
@given(PIECES.map(str.encode) | st.binary(min_size=1, max_size=60), st.sampled_from([1, 20, 1 << 18]), st.booleans())
def test_hostile_files(tmp_path_factory, data, block, dates):
    folder = tmp_path_factory.getbasetemp()
    heads = {"h.json": b"", "h2.json": b"[", "h.csv": b"time,type,x\n", "h.json.gz": b"[", "h.parquet": b"PAR1"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(raw, "_BLOCK", block)
        for name, head in heads.items():
            put(folder, name, head + data or b" ")
            try:
                flat(records(case(folder, name, zone_of(START) if dates else Zone())))
            except InputError as error:
                message = str(error)
                assert "\n" not in message
                assert name in message


MEASURE = """
import resource, sys
from pathlib import Path
from gnomon.suites.events.files import TruthCase
from gnomon.suites.events.raw import records
from gnomon.suites.events.times import Zone
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
path = Path(sys.argv[1])
before = peak()
case = TruthCase("c", path, (0, 1), (), {}, Zone(), path.name, {})
print(sum(map(len, records(case))), peak() - before)
"""


def measured(path):
    """Return how many records a file holds and by how many MiB the peak of a fresh process grows over them."""
    done = subprocess.run([sys.executable, "-c", MEASURE, str(path)], capture_output=True, text=True, check=True)
    count, grown = done.stdout.split()
    return int(count), float(grown)


def test_memory_does_not_follow_the_length_of_a_list(tmp_path):
    record = '{"time": %d, "type": "accel", "values": [0.123456, -9.812345, 1.234567, 0.001234, -0.123456, 2.345678]}'
    path, count = tmp_path / "long.json", 0
    with path.open("w") as file:
        while file.tell() < 50_000_000:
            file.write("[" * (count == 0) + "," * (count > 0) + ",".join(record % (count + i) for i in range(1000)))
            count += 1000
        file.write("]")
    found, grown = measured(path)
    assert found == count
    assert grown < 100


def test_memory_does_not_follow_the_length_of_a_table(tmp_path):
    rng = np.random.default_rng(0)
    columns = {f"c{name}": rng.random(200_000) for name in range(50)}
    pq.write_table(pa.table({"time": np.arange(200_000)} | columns), tmp_path / "long.parquet", row_group_size=20_000)
    found, grown = measured(tmp_path / "long.parquet")
    assert found == 200_000
    assert grown < 70, "the columns alone are 76 MiB"
