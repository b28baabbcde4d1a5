"""Hostile files: a value or an InputError of one line that names the file, and nothing else.

Random bytes, valid files that were damaged in random ways, and files built by hand to be wrong. Nothing in a
file is ever executed, and neither time nor memory follows what a file claims.
"""

from __future__ import annotations

import gzip
import io
import pickle
import resource
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.intake.arrays import read_npz
from gnomon.intake.documents import read_json
from gnomon.intake.tables import SUFFIXES, read_table

SECONDS = 10.0
MEMORY_MIB = 1500
EFFORT = {"deadline": None, "suppress_health_check": list(HealthCheck)}
PIECES = st.lists(
    st.sampled_from([b",", b'"', b"\n", b"\r", b"\t", b"{", b"}", b"[", b"]", b":", b"\\", b"\\u", b"d800", b"null"])
    | st.sampled_from(
        [b"1", b"-0", b"1e999", b"true", b"NaN", b'"a"', b"a", b" ", b"\0", b"\xff", b"\xef\xbb\xbf", b"\xc3"]
    ),
    max_size=40,
).map(b"".join)
BYTES = st.binary(max_size=300) | PIECES


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


@pytest.fixture(scope="module", autouse=True)
def bounded_memory():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert grown < MEMORY_MIB, f"the peak grew by {grown:.0f} MiB"


def attempt(path: Path, data: bytes, read: Callable[[Path], object]) -> object:
    """Read hostile bytes; return the value, or None where they were refused as they should be."""
    path.write_bytes(data)
    start = time.monotonic()
    try:
        value = read(path)
    except InputError as error:
        message = str(error)
        assert "\n" not in message
        assert "\r" not in message
        assert path.name in message
        value = None
    assert time.monotonic() - start < SECONDS
    return value


def attempt_table(path: Path, data: bytes, **options: object) -> object:
    table = attempt(path, data, lambda p: read_table(p, text=("id", "label"), **options))
    if table is not None:
        assert isinstance(table, pa.Table)
        table.validate(full=True)
        assert all(
            table.schema.field(n).type in (pa.string(), pa.list_(pa.string()))
            for n in ("id", "label")
            if n in table.schema.names
        )
    return table


def rows(count: int) -> pa.Table:
    return pa.table(
        {
            "id": [f"s{i:03d}" for i in range(count)],
            "label": ["abc"[i % 3] if i % 7 else None for i in range(count)],
            "score": [i / 7 for i in range(count)],
            "n": list(range(count)),
            "flag": [i % 2 == 0 for i in range(count)],
        }
    )


def samples() -> dict[str, list[bytes]]:
    """Return valid files of every kind, in several encodings."""
    lists = rows(40).append_column("labels", pa.array([["x", "y"][: i % 3] for i in range(40)]))
    text = b"id,label,score\n" + b"".join(b'"s%d",a b,0.5\n' % i for i in range(20))
    lines = b"".join(b'{"id": "s%d", "label": %d, "tags": ["x"], "score": 0.5}\n' % (i, i) for i in range(20))
    found = {
        ".csv": [text],
        ".tsv": [text.replace(b",", b"\t")],
        ".jsonl": [lines],
        ".ndjson": [lines],
        ".parquet": [_parquet(lists, **options) for options in PARQUET],
        ".npz": [_npz(np.savez), _npz(np.savez_compressed)],
    }
    packed = {f"{suffix}.gz": [gzip.compress(data, mtime=0) for data in found[suffix]] for suffix in list(found)[:4]}
    return found | packed


PARQUET = [
    {"compression": "none"},
    {"compression": "zstd", "write_page_checksum": True},
    {"compression": "snappy", "data_page_version": "2.0", "row_group_size": 15, "store_schema": False},
    {"compression": "gzip", "use_dictionary": False},
    {"compression": "none", "data_page_size": 64, "write_page_index": True},
    {
        "compression": "none",
        "use_dictionary": False,
        "column_encoding": {"id": "DELTA_BYTE_ARRAY", "label": "DELTA_LENGTH_BYTE_ARRAY", "n": "DELTA_BINARY_PACKED"},
    },
]


def _parquet(table: pa.Table, **options: object) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def _npz(save: Callable[..., None]) -> bytes:
    sink = io.BytesIO()
    save(sink, id=np.array(["a", "bc", "d"]), label=np.array([1, 2, 3]), score=np.array([0.5, np.nan, 1], ">f4"))
    return sink.getvalue()


SAMPLES = samples()
POSITION = st.floats(0, 1, exclude_max=True)
DAMAGE = st.lists(
    st.one_of(
        st.tuples(st.just("flip"), POSITION, st.integers(0, 7)),
        st.tuples(st.just("set"), POSITION, st.sampled_from([0, 1, 0x7F, 0x80, 0xFE, 0xFF])),
        st.tuples(st.just("flip near the end"), POSITION, st.integers(0, 7)),
        st.tuples(st.just("cut"), POSITION, st.integers(1, 60)),
        st.tuples(st.just("truncate"), POSITION, st.none()),
        st.tuples(st.just("insert"), POSITION, st.binary(min_size=1, max_size=12)),
        st.tuples(st.just("repeat"), POSITION, st.integers(1, 200)),
    ),
    min_size=1,
    max_size=4,
)


def damaged(data: bytes, damage: list[tuple[str, float, object]]) -> bytes:
    out = bytearray(data)
    for kind, position, detail in damage:
        at = int(position * len(out))
        if kind == "flip near the end":
            at = max(0, len(out) - 1 - int(position * 600))
        if kind.startswith("flip") and out:
            out[at] ^= 1 << detail
        elif kind == "set" and out:
            out[at] = detail
        elif kind == "cut":
            del out[at : at + detail]
        elif kind == "truncate":
            del out[at:]
        elif kind == "insert":
            out[at:at] = detail
        elif kind == "repeat":
            out[at:at] = out[at : at + detail]
    return bytes(out)


@pytest.mark.parametrize("suffix", SUFFIXES)
@settings(max_examples=80, **EFFORT)
@given(data=BYTES)
def test_random_bytes(folder, suffix, data):
    packed = suffix.endswith(".gz")
    attempt_table(folder / f"random{suffix}", data)
    if packed:
        attempt_table(folder / f"random{suffix}", gzip.compress(data))


@settings(max_examples=300, **EFFORT)
@given(data=PIECES, columns=st.none() | st.lists(st.sampled_from(["id", "label", "a"]), max_size=2))
def test_random_text_after_a_header(folder, data, columns):
    attempt_table(folder / "header.csv", b"id,label\n" + data, columns=columns)
    attempt_table(folder / "header.jsonl", b'{"id": "x"}\n{"label": ' + data + b"}\n", columns=columns)


@pytest.mark.parametrize("suffix", SUFFIXES)
@settings(max_examples=100, **EFFORT)
@given(damage=DAMAGE, choice=st.integers(0, 100))
def test_damaged_files(folder, suffix, damage, choice):
    sample = SAMPLES[suffix][choice % len(SAMPLES[suffix])]
    attempt_table(folder / f"damaged{suffix}", damaged(sample, damage))


@settings(max_examples=600, **EFFORT)
@given(damage=DAMAGE, choice=st.integers(0, len(PARQUET) - 1))
def test_damaged_parquet(folder, damage, choice):
    attempt_table(folder / "more.parquet", damaged(SAMPLES[".parquet"][choice], damage))


@settings(max_examples=300, **EFFORT)
@given(damage=DAMAGE, data=BYTES)
def test_damaged_json(folder, damage, data):
    sample = b'{"a": [1, 2.5, {"b": "x\\u00e9", "c": null}], "d": {"e": true, "f": "\xc3\xa9"}}'
    attempt(folder / "d.json", damaged(sample, damage), read_json)
    attempt(folder / "d.json", data, read_json)


@settings(max_examples=300, **EFFORT)
@given(first=POSITION, second=POSITION, one=st.booleans())
def test_spliced_archives(folder, first, second, one):
    a, b = SAMPLES[".npz"] if one else reversed(SAMPLES[".npz"])
    spliced = a[: int(first * len(a))] + b[int(second * len(b)) :]
    attempt(folder / "splice.npz", spliced, read_npz)
    attempt_table(folder / "splice.npz", spliced)


class Trap:
    """Unpickling this creates a file."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return (Path.touch, (self.marker,))


def npy(header: str, data: bytes) -> bytes:
    text = header.encode("utf-8", "surrogatepass")
    return b"\x93NUMPY\x02\x00" + len(text).to_bytes(4, "little") + text + data


def archive(members: dict[str, bytes]) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as file:
        for name, data in members.items():
            file.writestr(name, data)
    return sink.getvalue()


def test_nothing_is_ever_executed(folder):
    marker = folder / "executed"
    load = pickle.dumps(Trap(marker))
    sink = io.BytesIO()
    np.savez(sink, id=np.array([Trap(marker)], dtype=object))
    code = f"__import__('pathlib').Path({str(marker)!r}).touch()"
    header = "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"
    traps = [
        sink.getvalue(),
        archive({"id.npy": load}),
        archive({"id.pkl": load}),
        archive({"id.npy": npy(header, load)}),
        archive({"id.npy": npy(f"{{'descr': {code}, 'fortran_order': False, 'shape': (1,), }}", load)}),
        archive({"id.npy": npy(code, load)}),
        load,
        b"\x93NUMPY" + load,
    ]
    for data in traps:
        for suffix in SUFFIXES:
            assert attempt_table(folder / f"trap{suffix}", data) is None or suffix in (".csv", ".tsv")
        assert attempt(folder / "trap.npz", data, read_npz) is None
        attempt(folder / "trap.json", data, read_json)
    assert not marker.exists()
    pickle.loads(load)
    assert marker.exists(), "the trap itself has to work, or this test shows nothing"


HEADER_PARTS = st.one_of(
    st.sampled_from("{}()[]:, \n\0\ud800"),
    st.sampled_from(["'descr'", "'fortran_order'", "'shape'", "True", "False", "None", "lambda", "\\d"]),
    st.sampled_from(["'<f8'", "'|O'", "'<U9'", "'>M8[s]'", "'?'", "'|S0'"]),
    st.sampled_from(["0", "1", "-1", "9" * 19, "9" * 30]),
)


@settings(max_examples=400, **EFFORT)
@given(parts=st.lists(HEADER_PARTS, max_size=14), data=st.binary(max_size=40))
def test_random_array_headers(folder, parts, data):
    attempt_table(folder / "header.npz", archive({"id.npy": npy("".join(parts), data)}))


@settings(max_examples=400, **EFFORT)
@given(
    descr=st.sampled_from(
        ["<f8", ">i4", "|b1", "<U2", ">U1", "|S3", "<M8[ns]", "<m8", "<c16", "<f2", "|O", "<U0", "|i1"]
    ),
    order=st.booleans(),
    shape=st.lists(st.integers(0, 4) | st.sampled_from([2**31, 2**63, 10**18]), max_size=4),
    data=st.binary(max_size=64),
)
def test_well_formed_headers_with_any_content(folder, descr, order, shape, data):
    header = f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {tuple(shape)!r}, }}"
    found = attempt(folder / "any.npz", archive({"id.npy": npy(header, data)}), read_npz)
    if found is not None:
        assert found["id"].shape == tuple(shape)
        assert not found["id"].flags.writeable
    attempt_table(folder / "any.npz", archive({"id.npy": npy(header, data)}))


@settings(max_examples=150, **EFFORT)
@given(
    offset=st.integers(0, 60),
    value=st.sampled_from([0, 1, 0x20, 0x41, 0x7F, 0x80, 0xFF]),
    where=st.sampled_from([b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06"]),
)
def test_lying_zip_records(folder, offset, value, where):
    for sample in SAMPLES[".npz"]:
        data = bytearray(sample)
        data[min(data.index(where) + offset, len(data) - 1)] = value
        attempt_table(folder / "lie.npz", bytes(data))


HOSTILE_JSON = {
    "deep lists": b"[" * 3_000_000,
    "deep objects": b'{"a":' * 1_000_000,
    "deep and closed": b"[" * 500_000 + b"]" * 500_000,
    "deep inside a string that never ends": b'"' + b"[" * 3_000_000,
    "long integer": b"9" * 3_000_000,
    "long fraction": b"0." + b"1" * 3_000_000,
    "long exponent": b"1e" + b"9" * 3_000_000,
    "surrogates": b'["' + b"\\ud800" * 100_000 + b'"]',
    "NUL": b"\0" * 100_000,
    "quotes": b'"' * 1_000_001,
    "backslashes": b'"' + b"\\" * 1_000_001 + b'"',
    "many repeated keys": b"{" + b",".join(b'"%d":0' % (i // 2) for i in range(100_000)) + b"}",
}


@pytest.mark.parametrize("data", HOSTILE_JSON.values(), ids=HOSTILE_JSON)
def test_hostile_json(folder, data):
    attempt(folder / "hostile.json", data, read_json)
    attempt_table(folder / "hostile.jsonl", data)
    attempt_table(folder / "hostile.jsonl", b'{"id":' + data + b"}\n" + data)
    attempt_table(folder / "hostile.csv", data)


HOSTILE_TEXT = {
    "commas": b"," * 1_000_000,
    "many columns": b",".join(b"c%d" % i for i in range(20_000)) + b"\n",
    "wide and long": b",".join(b"c%d" % i for i in range(9_000)) + b"\n" + (b"," * 8_999 + b"\n") * 100,
    "quotes": b'id,label\n"' + b'""' * 1_000_000,
    "carriage returns": b"id,label\n" + b"\r" * 1_000_000,
    "long name": b"x" * 200_000 + b",label\n1,2\n",
    "marks": b"\xef\xbb\xbf" * 100_000,
    "NUL": b"\0" * 1_000_000,
}


@pytest.mark.parametrize("data", HOSTILE_TEXT.values(), ids=HOSTILE_TEXT)
def test_hostile_text(folder, data):
    for name, content in (("hostile.csv", data), ("hostile.tsv.gz", gzip.compress(data.replace(b",", b"\t")))):
        attempt_table(folder / name, content)


def test_a_gzip_bomb_is_cut_short(folder):
    bomb = gzip.compress(b"id,label\n" + b"0,0\n" * 30_000_000, compresslevel=9)
    for suffix in (".csv.gz", ".jsonl.gz"):
        assert attempt_table(folder / f"bomb{suffix}", bomb) is None
