"""Tables of every format: what cells mean, what is refused and how, and that writing and reading agree."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.intake.limits import Limits
from gnomon.intake.tables import read_table
from gnomon.intake.writing import write_table

WRITABLE = (".csv", ".tsv", ".jsonl", ".parquet", ".npz")
TEXTS = st.one_of(st.none(), st.text(min_size=1, max_size=12).filter(lambda text: bool(text.strip())))


def put(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def refusal(path: Path, **options: object) -> str:
    """Return the message with which a file is refused, which is one line that names the file."""
    with pytest.raises(InputError) as caught:
        read_table(path, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert path.name in message
    return message


CSV = [
    ("text is not a number", b"id,label\n007,1.0\n1e5,true\n", {"id": ["007", "1e5"], "label": ["1.0", "true"]}),
    ("names are stripped", b" id ,\tlabel\na,b\n", {"id": ["a"], "label": ["b"]}),
    ("cells are not", b"id,label\n a ,b \n", {"id": [" a "], "label": ["b "]}),
    ("blank is null", b'id,label\na,\n" ",b\n\xc2\xa0,""\n', {"id": ["a", None, None], "label": [None, "b", None]}),
    ("byte order mark", b"\xef\xbb\xbfid,label\na,b\n", {"id": ["a"], "label": ["b"]}),
    ("quotes", b'id,label\n"a,1","say ""b"""\n', {"id": ["a,1"], "label": ['say "b"']}),
    ("newline in a cell", b'id,label\n"a\nb",c\n', {"id": ["a\nb"], "label": ["c"]}),
    ("quoted header", b'"id","label"\na,b\n', {"id": ["a"], "label": ["b"]}),
    ("carriage returns", b"id,label\r\na,b\rc,d", {"id": ["a", "c"], "label": ["b", "d"]}),
    ("blank lines", b"\n\nid,label\n\na,b\n\n\n", {"id": ["a"], "label": ["b"]}),
    ("NUL", b"id,label\na\0b,c\n", {"id": ["a\0b"], "label": ["c"]}),
    ("NA is a label", b"id,label\nNA,null\n", {"id": ["NA"], "label": ["null"]}),
    ("mark in the first cell", b"id,label\n\xef\xbb\xbfa,b\n", {"id": ["\ufeffa"], "label": ["b"]}),
    ("no rows", b"id,label\n", {"id": [], "label": []}),
    ("no rows, no newline", b"id,label", {"id": [], "label": []}),
    ("quote inside a cell", b'id,label\n5" disk,b\n', {"id": ['5" disk'], "label": ["b"]}),
    ("long cell", b"id,label\n" + b"x" * 5_000_000 + b",b\n", {"id": ["x" * 5_000_000], "label": ["b"]}),
]


@pytest.mark.parametrize(("data", "expected"), [case[1:] for case in CSV], ids=[case[0] for case in CSV])
def test_csv_cells(tmp_path, data, expected):
    for name, content in (("t.csv", data), ("T.CSV.GZ", gzip.compress(data))):
        table = read_table(put(tmp_path, name, content), text=("id", "label"))
        assert table.to_pydict() == expected
        assert set(table.schema.types) == {pa.string()}


BAD_CSV = [
    ("short row", b"a,b\n1,2\n\n3\n", "row 3: 1 cells, expected 2"),
    ("long row", b"a,b\n1,2\n3,4\n5,6,7\n", "row 4: 3 cells, expected 2"),
    ("bad row far down", b"a,b\n" + b"1,2\n" * 2_000_000 + b"3\n", "row 2000002: 1 cells"),
    ("not UTF-8, text", b"a,b\n1,2\n\xff,2\n", "row 3: column 'a': not UTF-8"),
    ("not UTF-8, inferred", b"a,b\n1,x\n3,\xff\n", "row 3: column 'b': not UTF-8"),
    ("header not UTF-8", b"\xff,b\n1,2\n", "row 1: the name of column 1 is not UTF-8"),
    ("UTF-16", "a,b\n1,2\n".encode("utf-16"), "UTF-16"),
    ("duplicate", b"a,b, a\n1,2,3\n", "duplicate column 'a'"),
    ("unnamed", b"a,,b\n0,1,2\n", "column 2 has no name"),
    ("numbers for names", b"0.5,1\n0.5,2\n", "no header row"),
    ("only blank lines", b"\n\n", "no header row"),
    ("empty", b"", "the file is empty"),
    ("open quote", b'a,b\n1,2\n3,"4\n5,6\n', "row 3: a quote is opened and never closed"),
    ("open quote at the end", b'a\n1\n"', "row 3: a quote is opened and never closed"),
    ("open quote in the header", b'a,"b\n1,2\n', "row 1: the header cannot be parsed"),
    ("endless row", b"a,b\n" + b"x" * 40_000_000, "longer than"),
    ("endless header", b'"a,b\n' + b"x" * 20_000_000, "row 1: the header is longer than"),
]


@pytest.mark.parametrize(("data", "fragment"), [case[1:] for case in BAD_CSV], ids=[case[0] for case in BAD_CSV])
def test_csv_is_refused_by_row(tmp_path, data, fragment):
    assert fragment in refusal(put(tmp_path, "bad.csv", data), text=("a",))


def test_an_open_quote_is_seen_when_other_columns_are_asked_for(tmp_path):
    path = put(tmp_path, "t.csv", b'a,b,c\n1,2,3\n4,5,"6\n7,8,9\n')
    assert "never closed" in refusal(path, columns=["a"])


def test_other_columns_get_a_type(tmp_path):
    path = put(tmp_path, "t.tsv", b'i\tf\tb\tt\te\n1\t0.5\ttrue\t"x\ty"\t\n2\t\tfalse\t\t\n')
    table = read_table(path)
    assert table.to_pydict() == {
        "i": [1, 2],
        "f": [0.5, None],
        "b": [True, False],
        "t": ["x\ty", None],
        "e": [None, None],
    }


def test_columns_are_chosen_and_ordered(tmp_path):
    data = pa.table({"a": ["1"], "b": ["2"], "c": ["3"]})
    for suffix in WRITABLE:
        write_table(data, tmp_path / f"t{suffix}")
        table = read_table(tmp_path / f"t{suffix}", columns=["c", "a", "c"], text=("a", "c", "absent"))
        assert table.to_pydict() == {"c": ["3"], "a": ["1"]}
        assert "no column 'x'; the file has 'a', 'b', 'c'" in refusal(tmp_path / f"t{suffix}", columns=["a", "x"])


def test_a_wrong_delimiter_is_suspected(tmp_path):
    assert "semicolons" in refusal(put(tmp_path, "t.csv", b"a;b\n1;2\n"), columns=["a"])
    assert "semicolons" not in refusal(put(tmp_path, "t.csv", b"a;b\n1;2\n"), columns=["c"])
    assert "by tabs, as 'a', 'b': name it .tsv" in refusal(put(tmp_path, "t.csv", b"a\tb\n1\t2\n"), columns=["b"])
    assert "by commas, as 'a', 'b': name it .csv" in refusal(put(tmp_path, "t.tsv", b"a,b\n1,2\n"), columns=["b"])
    assert "by bars" in refusal(put(tmp_path, "t.csv", b"a | b\n1|2\n"), columns=["b"])


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"id;speed\n1;0,5\n", "row 2: 2 cells, expected 1"),  # decimal commas
        (b'"id";"speed"\n"1";"a"\n', "the header cannot be parsed"),
        (b'"id";"speed"\n' + 9_000 * b'"1";"a"\n', "the header cannot be parsed"),
    ],
)
def test_a_wrong_delimiter_is_suspected_where_rows_cannot_be_read(tmp_path, data, what):
    message = refusal(put(tmp_path, "t.csv", data))
    assert what in message
    assert "separated by semicolons, as 'id', 'speed': save it with commas (.csv) or tabs (.tsv)" in message


def test_a_header_that_never_ends_is_suspected_too(tmp_path):
    path = put(tmp_path, "t.csv", b'"id";"speed"\n' + 9_000 * b'"1";"a"\n')
    message = refusal(path, limits=Limits(max_line_bytes=1 << 15))
    assert "longer than 32768 bytes; the table seems to be separated by semicolons" in message


LINES = [
    ("whole numbers and booleans", b'{"a":7}\n{"a":true}\n{"a":"x"}', ["7", "true", "x"]),
    ("large number", b'{"a":123456789012345678901234567890}', ["123456789012345678901234567890"]),
    ("missing and null", b'{"b":1}\r\n\r\n{"a":null}\n{"a":"x"}\n', [None, None, "x"]),
    ("blank", b'\xef\xbb\xbf{"a":""}\n{"a":" \\n"}', [None, None]),
    ("lists", b'{"a":["x",1,false]}\n{"a":[]}\n{"a":null}', [["x", "1", "false"], [], None]),
    ("not integral", b'{"a":0.5}\n', ["0.5"]),
    ("NUL and escapes", b'{"a":"\\u0000\\ud83d\\ude00"}', ["\0😀"]),
]


@pytest.mark.parametrize(("data", "expected"), [case[1:] for case in LINES], ids=[case[0] for case in LINES])
def test_jsonl_text(tmp_path, data, expected):
    for name, content in (("t.jsonl", data), ("t.ndjson.gz", gzip.compress(data))):
        assert read_table(put(tmp_path, name, content), text="a").column("a").to_pylist() == expected


BAD_LINES = [
    ("not JSON", b'{"a":1}\n\n{"a":}\n', "line 3: not a JSON object"),
    ("no object", b'{"a":1}\n[1]\n', "line 2: not a JSON object"),
    ("nested object", b'{"a":1}\n\n{"a":{"b":1}}\n', "line 3: key 'a': an object inside"),
    ("nested list", b'{"a":[["x"]]}\n', "line 1: key 'a': a list holds a list"),
    ("mixed", b'{"a":1}\n{"a":"x"}\n{"a":2}\n', "line 2: key 'a'"),
    ("mixed, in the last line", b'{"a":true}\n' * 200_000 + b'{"a":[]}', "line 200001: key 'a'"),
    ("too large a number", b'{"a":1}\n{"a":99999999999999999999}\n', "line 2: key 'a': the whole number is too large"),
    ("not UTF-8", b'{"a":"x"}\n{"a":"\xff"}\n', "line 2: not a JSON object"),
    ("NaN", b'{"a":NaN}\n', "line 1"),
    ("deep", b'{"a":1}\n{"a":' + b"[" * 70 + b"]" * 70 + b"}\n", "line 2: nested 71 deep, expected at most 64"),
    ("blank item", b'{"a":["x"," "]}\n', "column 'a': a list holds an empty or missing item"),
    ("nothing", b"\n\n", "no line holds a key"),
    ("long line", b'{"a":1}\n{"a":"' + b"x" * 17_000_000 + b'"}\n', "line 2"),
]


@pytest.mark.parametrize(("data", "fragment"), [case[1:] for case in BAD_LINES], ids=[case[0] for case in BAD_LINES])
def test_jsonl_is_refused_by_line(tmp_path, data, fragment):
    assert fragment in refusal(put(tmp_path, "bad.jsonl", data))


def test_jsonl_with_few_of_many_keys_is_refused(tmp_path):
    wide = json.dumps({f"k{i}": 0 for i in range(5000)}).encode()
    assert "too sparse" in refusal(put(tmp_path, "t.jsonl", wide + b"\n{}" * 100_000))


def test_jsonl_numbers_widen_across_blocks(tmp_path):
    path = put(tmp_path, "t.jsonl", b'{"a":1}\n' * 200_000 + b'{"a":0.5,"b":"late"}\n')
    table = read_table(path)
    assert table.schema.types == [pa.float64(), pa.string()]
    assert table.column("b").null_count == 200_000


@pytest.mark.parametrize("suffix", [".parquet", ".npz", ".jsonl"])
def test_typed_values_become_text(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    write_table(pa.table({"i": [7, -1], "b": [True, False], "f": [0.5, 1.5]}), path)
    assert read_table(path, text="ibf").to_pydict() == {"i": [7, -1], "b": [True, False], "f": [0.5, 1.5]}
    expected = {"i": ["7", "-1"], "b": ["true", "false"], "f": ["0.5", "1.5"]}
    assert read_table(path, text=("i", "b", "f")).to_pydict() == expected
    write_table(pa.table({"label": [1.0, 2.5]}), path)
    assert "labels are floats; store them as integers or text" in refusal(path, text=["label"])


def test_parquet_types(tmp_path):
    path = tmp_path / "t.parquet"
    table = pa.table(
        {
            "coded": pa.array(["x", None]).dictionary_encode(),
            "large": pa.array(["x", " "], pa.large_string()),
            "bytes": [b"x", b"y"],
            "labels": [["x"], []],
            "a.b": [1, 2],
            "a": pa.nulls(2),
        }
    )
    pq.write_table(table, path)
    found = read_table(path)
    assert found.schema.types == [*[pa.string()] * 3, pa.list_(pa.string()), pa.int64(), pa.null()]
    assert found.column("large").to_pylist() == ["x", None]
    assert read_table(path, columns=["a"], text=["a"]).to_pydict() == {"a": [None, None]}


def test_parquet_nesting_is_refused_only_where_it_is_read(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"s": [{"x": 1, "y": [2]}], "n": [[1, 2]], "id": ["a"]}), path)
    assert "column 's' has type struct" in refusal(path)
    assert "column 'n' has type list" in refusal(path, columns=["n"])
    assert read_table(path, columns=["id"]).to_pydict() == {"id": ["a"]}


def test_parquet_damage_is_refused(tmp_path):
    good, bad = tmp_path / "good.parquet", tmp_path / "bad.parquet"
    pq.write_table(pa.table([["x"], ["y"]], names=["a", "a"]), bad)
    assert "duplicate column 'a'" in refusal(bad)
    pq.write_table(pa.table({"a": pa.array([b"\xff"]).view(pa.string())}), bad)
    assert "UTF8" in refusal(bad)
    write_table(pa.table({"id": [f"row {i}" for i in range(100)]}), good)
    data = good.read_bytes()
    assert "cut off" in refusal(put(tmp_path, "bad.parquet", data[:-9]))
    page = data.index(b"\x28\xb5\x2f\xfd") + 20  # inside the first zstd frame
    flipped = data[:page] + bytes([data[page] ^ 1]) + data[page + 1 :]
    assert "CRC" in refusal(put(tmp_path, "bad.parquet", flipped))


def test_parquet_expansion_is_bounded(tmp_path):
    path = tmp_path / "t.parquet"
    codes = pa.DictionaryArray.from_arrays(pa.array(np.zeros(100_000, np.int32)), pa.array(["x" * 1_000_000]))
    pq.write_table(pa.table({"a": codes}), path, dictionary_pagesize_limit=1 << 26)
    assert "content too large" in refusal(path)
    pq.write_table(pa.table({"a": np.zeros(4_000_000)}), path, compression="zstd", use_dictionary=False)
    small = Limits(ratio_floor_bytes=1 << 20, column_floor_bytes=20 << 20)
    assert "decompression bomb" in refusal(path, limits=small)
    assert "content too large" in refusal(path, limits=Limits(max_decoded_bytes=1_000_000))


def test_npz_becomes_a_table(tmp_path):
    path = tmp_path / "t.npz"
    np.savez(path, id=np.array(["007", "", "a\0b"]), n=np.arange(3), raw=np.array([b"x", b"y", b"z"]))
    assert read_table(path).to_pydict() == {"id": ["007", None, "a\0b"], "n": [0, 1, 2], "raw": ["x", "y", "z"]}
    np.savez(path, id=np.array(["a", "b"]), score=np.zeros((2, 3)), short=np.zeros(1))
    assert read_table(path, columns=["id"]).num_rows == 2
    assert "'score' has shape (2, 3)" in refusal(path)
    assert "'short' has shape (1,)" in refusal(path, columns=["id", "short"])
    np.savez(path, z=np.array([1j]))
    assert "array 'z' cannot be a column" in refusal(path)


def test_gzip_is_bounded(tmp_path):
    path = put(tmp_path, "t.csv.gz", gzip.compress(b"a,b\n" + b"1,2\n" * 1_000_000))
    assert read_table(path).num_rows == 1_000_000
    assert "decompression bomb" in refusal(path, limits=Limits(max_ratio=10, ratio_floor_bytes=1000))
    assert "content too large" in refusal(path, limits=Limits(max_decoded_bytes=1000))
    assert "decompressed" in refusal(put(tmp_path, "t.csv.gz", path.read_bytes()[:-20]))
    assert "no header row" in refusal(put(tmp_path, "t.csv.gz", gzip.compress(b"")))


def test_paths_are_looked_at_first(tmp_path, monkeypatch):
    assert "no such file" in refusal(tmp_path / "absent.csv")
    (tmp_path / "folder.csv").mkdir()
    assert "is a folder" in refusal(tmp_path / "folder.csv")
    os.mkfifo(tmp_path / "pipe.csv")
    assert "not a regular file" in refusal(tmp_path / "pipe.csv")
    assert "'.csv', '.tsv'" in refusal(put(tmp_path, "t.feather", b"x"))
    with pytest.raises(InputError, match=r"a\\nb\.csv: no such file"):
        read_table(tmp_path / "a\nb.csv")
    with pytest.raises(InputError, match="cannot be looked at"):
        read_table("a\0b.csv")
    path = put(tmp_path, "t.csv", b"a,b\n1,2\n")
    small = Limits(max_file_bytes=4, max_columns=2)
    assert "8 bytes, expected at most 4" in refusal(path, limits=small)
    monkeypatch.setenv("GNOMON_MAX_FILE_BYTES", "1000")
    assert read_table(path, limits=small).num_rows == 1
    assert "3 columns, expected at most 2" in refusal(put(tmp_path, "t.csv", b"a,b,c\n"), limits=small)
    monkeypatch.setenv("GNOMON_MAX_FILE_BYTES", "lots")
    with pytest.raises(InputError, match="GNOMON_MAX_FILE_BYTES"):
        read_table(path)


@pytest.mark.parametrize("suffix", WRITABLE)
@settings(max_examples=80, deadline=None)
@given(rows=st.lists(st.tuples(TEXTS, TEXTS), max_size=6))
def test_reading_what_was_written_is_the_identity(tmp_path_factory, suffix, rows):
    path = tmp_path_factory.getbasetemp() / f"round{suffix}"
    ids, labels = [row[0] for row in rows], [row[1] for row in rows]
    for columns in ({"id": ids, "label": labels}, {"id": ids}):
        table = pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})
        if suffix == ".npz" and any((text or "").endswith("\0") for text in ids + labels):
            with pytest.raises(InputError, match="NUL"):
                write_table(pa.table({"x": [text for text in ids + labels if (text or "").endswith("\0")]}), path)
        elif suffix == ".jsonl" and not rows:
            write_table(table, path)  # no line can say which columns there are
            assert "empty" in refusal(path)
        else:
            write_table(table, path)
            assert read_table(path, text=("id", "label")).equals(table)


def test_lists_survive_where_the_format_has_them(tmp_path):
    table = pa.table({"id": ["a", "b", "c"], "labels": [["x", "y,z"], [], None]})
    for suffix in (".parquet", ".jsonl"):
        write_table(table, tmp_path / f"t{suffix}")
        assert read_table(tmp_path / f"t{suffix}", text=("id", "labels")).to_pydict() == table.to_pydict()
    for suffix in (".csv", ".npz"):
        with pytest.raises(InputError, match=f"t{suffix}"):
            write_table(table, tmp_path / f"t{suffix}")


def test_dictionaries_are_written_as_text(tmp_path):
    table = pa.table({"a": pa.array(["x", None, "x"]).dictionary_encode(), "b": [1, 2, 3]})
    for suffix in WRITABLE:
        write_table(table, tmp_path / f"t{suffix}")
        assert read_table(tmp_path / f"t{suffix}", text="a").column("a").to_pylist() == ["x", None, "x"]


def test_npz_says_what_it_cannot_hold(tmp_path):
    path = tmp_path / "t.npz"
    write_table(pa.table({"f": [0.5, None]}), path)
    assert np.isnan(read_table(path).column("f")[1].as_py())
    with pytest.raises(InputError, match="column 'i': 1 missing values"):
        write_table(pa.table({"i": [1, None]}), path)
    with pytest.raises(InputError, match="cannot name an array"):
        write_table(pa.table({"a/b": [1]}), path)


def test_writing_is_all_or_nothing(tmp_path):
    path = tmp_path / "t.csv"
    write_table(pa.table({"a": [1]}), path)
    before = path.read_bytes()
    for wrong in (pa.table({"a": [{"x": 1}]}), pa.table({" a": [1]}), pa.table([[1], [2]], names=["a", "a"])):
        with pytest.raises(InputError, match=r"t\.csv"):
            write_table(wrong, path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["t.csv"]
    with pytest.raises(InputError, match="does not exist"):
        write_table(pa.table({"a": [1]}), tmp_path / "absent" / "t.csv")
    with pytest.raises(InputError, match="unknown kind of table"):
        write_table(pa.table({"a": [1]}), tmp_path / "t.csv.gz")


@pytest.mark.parametrize("name", ["a.xlsb", "b.XLS", "c.ods"])
def test_workbooks_are_named_with_the_way_to_convert_them(tmp_path, name):
    with pytest.raises(InputError, match="a workbook of a spreadsheet, which is not read here; save the sheet as CSV"):
        read_table(tmp_path / name)


def test_an_unknown_suffix_is_not_just_to_be_renamed(tmp_path):
    with pytest.raises(InputError, match=r"convert it to one of these formats, or rename it where it is in one"):
        read_table(tmp_path / "a.feather")
