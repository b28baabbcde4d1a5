"""Audacity labels and other tabbed text: cells, lines, headers. Expected values are read off the texts."""

import pytest

from gnomon.core.errors import InputError
from gnomon.intake.formats.audacity import read_tabbed
from gnomon.intake.formats.intervals import has_start
from gnomon.intake.limits import DEFAULT


def read(path, text):
    path.write_bytes(text.encode())
    table, lines = read_tabbed(path, has_start, DEFAULT)
    return table.to_pydict(), lines


def test_a_track(tmp_path):
    text = '\ufeff0.5\t1\twalk\r\n\\\t100\t200\r\n\r\n2\t3\tsay "hi"\r\n'
    columns = {"start": ["0.5", "2"], "end": ["1", "3"], "label": ["walk", 'say "hi"']}
    assert read(tmp_path / "a.txt", text) == (columns, [1, 4])


def test_a_track_without_labels(tmp_path):
    assert read(tmp_path / "a.txt", "") == ({"start": [], "end": [], "label": []}, [])


def test_four_cells_name_the_recording(tmp_path):
    columns = {"filename": ["x.wav"], "onset": ["0"], "offset": ["1"], "event_label": ["a"]}
    assert read(tmp_path / "a.tsv", "x.wav\t0\t1\ta\n") == (columns, [1])


def test_a_header(tmp_path):
    assert read(tmp_path / "a.tsv", "Onset\tlabel\n1\ta\n") == ({"Onset": ["1"], "label": ["a"]}, [2])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0\t1\ta\n2\t3\n", r"a.txt: row 2: expected 3 cells \(start, end, label\) between tabs"),
        ("start\tend\tstart\n", "row 1: the column 'start' is there twice"),
        ("0.5 1.0 walk\n", "row 1: expected 3 cells"),
    ],
)
def test_what_is_wrong_is_named_by_its_line(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read(tmp_path / "a.txt", text)
