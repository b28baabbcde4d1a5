"""Workbooks, as openpyxl writes them; expected values are those that were written."""

import contextlib
import datetime
import zipfile

import pytest

from gnomon.core.errors import InputError
from gnomon.intake.limits import Limits
from gnomon.intake.tables import read_table

openpyxl = pytest.importorskip("openpyxl")


def write_book(path, rows):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


def test_cells_come_out_as_csv_would_have_them(tmp_path):
    day = datetime.datetime(2026, 1, 2, 3, 4, 5)
    path = write_book(tmp_path / "a.xlsx", [["id", "x", "t"], [7, 0.5, day], [8.0, None, day], [None] * 3])
    table = read_table(path, text=("id",))
    assert table.to_pydict() == {"id": ["7", "8"], "x": [0.5, None], "t": ["2026-01-02T03:04:05"] * 2}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([["a", None, "b"], [1, 2, 3]], "row 1 of the first sheet: expected the name of every column"),
        ([["a", "a"], [1, 2]], "duplicate column 'a'"),
        ([], "expected the name of every column"),
    ],
)
def test_a_first_row_that_names_no_columns(rows, expected, tmp_path):
    with pytest.raises(InputError, match=expected):
        read_table(write_book(tmp_path / "a.xlsx", rows))


def test_a_file_that_is_no_workbook(tmp_path):
    (tmp_path / "a.xlsx").write_text("id,label\n1,a\n")
    with pytest.raises(InputError, match="no Excel workbook by its content"):
        read_table(tmp_path / "a.xlsx")


def test_a_workbook_that_unpacks_to_too_much_is_refused_before_it_is_opened(tmp_path):
    path = write_book(tmp_path / "a.xlsx", [["id"], ["x" * 5000]])
    with pytest.raises(InputError, match="when unpacked, expected at most 1,000"):
        read_table(path, limits=Limits(max_json_bytes=1000))


def test_xml_that_declares_entities_is_refused(tmp_path):
    path = write_book(tmp_path / "a.xlsx", [["id"], [1]])
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("xl/extra.xml", '<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>')
    with pytest.raises(InputError, match="declares a document type"):
        read_table(path)


@pytest.mark.parametrize("place", range(0, 4000, 400))
def test_a_damaged_workbook_raises_own_errors_only(place, tmp_path):
    path = write_book(tmp_path / "a.xlsx", [["id", "label"], *([n, "a"] for n in range(50))])
    content = bytearray(path.read_bytes())
    content[place % len(content)] ^= 0xFF
    path.write_bytes(content)
    with contextlib.suppress(InputError):
        read_table(path)
