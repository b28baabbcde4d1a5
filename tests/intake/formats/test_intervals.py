"""Recognising files of intervals, and their columns. Expected values are stated beside the texts."""

import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gnomon.core.errors import InputError
from gnomon.intake.formats import intervals
from gnomon.intake.formats.intervals import of_memory, read_intervals, recognise

HEAD = "start,end,label\n0,1,a\n"
GRID = 'File type = "ooTextFile"\nObject class = "TextGrid"\n'
KINDS = [
    ("a.csv", HEAD, intervals.TABLE),
    ("a.dat", HEAD, intervals.TABLE),
    ("a.txt", HEAD, intervals.TABLE),
    ("a.csv", HEAD.replace(",", ";"), intervals.TABLE),
    ("a.csv", HEAD.replace(",", "\t"), intervals.TABS),
    ("a.txt", "0\t1\ta\n", intervals.TABS),
    ("a.txt", "", intervals.TABS),
    ("a.txt", GRID, intervals.TEXTGRID),
    ("a.csv", "<?xml version='1.0'?>\n<ANNOTATION_DOCUMENT>", intervals.ELAN),
    ("a.txt", "SPEAKER a 1 0 1 <NA> <NA> b <NA> <NA>\n", intervals.RTTM),
    ("a.txt", '[{"t1": 0}]', intervals.JSON),
    ("a.txt", '{"a": []}', intervals.JSON),
    ("a.jsonl", '{"start": 0}\n', intervals.LINES),
    ("a.txt", '{"start": 0}\n{"start": 1}\n', intervals.LINES),
    ("a.json", '{"start": 0}\n{"start": 1}\n', intervals.JSON),
]


@pytest.mark.parametrize(("name", "text", "kind"), KINDS)
def test_files_are_recognised_by_content(tmp_path, name, text, kind):
    (tmp_path / name).write_text(text)
    assert recognise(tmp_path / name) == kind


def test_packed_and_binary_files_are_recognised(tmp_path):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(HEAD.encode()))
    pq.write_table(pa.table({"start": [0.0]}), tmp_path / "a.bin")
    (tmp_path / "b.TextGrid").write_bytes(GRID.encode("utf-16"))
    found = [recognise(tmp_path / name) for name in ("a.csv.gz", "a.bin", "b.TextGrid")]
    assert found == [intervals.TABLE, intervals.PARQUET, intervals.TEXTGRID]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.csv", b"PK\x03\x04....", "this is a workbook of a spreadsheet or another archive; save the sheet as CSV"),
        ("a.npy", b"\x93NUMPY\x01\x00", "this is a NumPy array"),
        ("a.h5", b"\x89HDF\r\n", "this is an HDF5 file"),
        ("a.wav", b"RIFF....WAVE", "this is a sound or video; give its labels"),
        ("a.pkl", b"\x80\x04K\x01.", "this is a pickle, which is never read"),
        ("a.TextGrid", b"ooBinaryFile\x08TextGrid", "a binary file of Praat; save it there as text"),
        ("a.txt", b"WEBVTT\n\n00:00.000 --> 00:01.000\n", "this is WebVTT subtitles"),
        ("a.txt", b"1\n00:00:00,000 --> 00:00:01,000\nhello\n", r"this is subtitles \(SubRip\)"),
        ("a.xml", b"<?xml version='1.0'?><html/>", "this is XML, but no file of ELAN"),
        ("a.md", b"some words\n", "unknown kind of file: expected a table"),
        ("a.csv", b"", "the file is empty"),
    ],
)
def test_another_known_kind_is_called_by_its_name(tmp_path, name, data, message):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError, match=message):
        recognise(tmp_path / name)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Start,Stop,End,Label\n0,9,1,a\n", {"start": "Start", "end": "End", "label": "Label"}),
        ("begin,end time,class\n0,1,a\n", {"start": "begin", "end": "end time", "label": "class"}),
        ("id,file,onset,offset,activity,prob\n7,x,0,1,a,0.5\n", {
            "case": "file", "start": "onset", "end": "offset", "label": "activity", "score": "prob",
        }),
        ("start,end,label,confidence\n0,1,a,high\n", {"start": "start", "end": "end", "label": "label"}),
    ],
)  # fmt: skip
def test_columns_have_several_names(tmp_path, text, expected):
    (tmp_path / "a.csv").write_text(text)
    held = read_intervals(tmp_path / "a.csv", intervals.TABLE)
    assert held.columns == expected
    assert list(held.rows) == [2]


def test_ends_are_the_decimal_sum_of_start_and_duration(tmp_path):
    (tmp_path / "a.csv").write_text("start,duration,label\n0.1,0.2,a\n1.1,2.2,a\n")
    held = read_intervals(tmp_path / "a.csv", intervals.TABLE)
    assert held.table.column("end").to_pylist() == [0.3, 3.3]
    held = of_memory({"start": [0.1, 1.1], "duration": [0.2, 2.2], "label": ["a", "a"]}, "truth")
    assert held.table.column("end").to_pylist() == [0.3, 3.3]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0.5,1.0,walk\n", "a.csv: row 1: no header, but '0.5', '1.0', 'walk'; name the columns in row 1"),
        ("start,label\n0,a\n", "no end or t2 or offset or end_time; .*; there are 'start', 'label'"),
        ("start,duration,label\n0,1,a\n0,-1,a\n", "row 3.duration: got -1, expected at least 0"),
        ("start,duration,label\n0,x,a\n", "row 2.duration: got 'x', expected a number"),
        ("start,duration,label\n0,1e500,a\n", "row 2.duration: got '1e500', expected a number"),
    ],
)
def test_what_is_wrong_with_a_table(tmp_path, text, message):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        read_intervals(tmp_path / "a.csv", intervals.TABLE)


def test_a_table_under_another_suffix_says_how_to_name_it(tmp_path):
    pq.write_table(pa.table({"start": [0.0]}), tmp_path / "a.bin")
    with pytest.raises(InputError, match=r"this is parquet; name the file \.parquet"):
        read_intervals(tmp_path / "a.bin", intervals.PARQUET)
    (tmp_path / "a.txt").write_text('{"start": 0}\n{"start": 1}\n')
    with pytest.raises(InputError, match=r"these are JSON lines; name the file \.jsonl"):
        read_intervals(tmp_path / "a.txt", intervals.LINES)
