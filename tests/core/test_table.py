"""Expected records and rows are written by hand."""

import json
from types import MappingProxyType

from gnomon.core.canonical import encode
from gnomon.core.table import Cell, Column, Table, View, count_columns, make_cells, text_columns

COLUMNS = (Column("system", "system"), Column("f1", "macro F1", "score", "", "up"), Column("n", "n", "count"))


def table(*rows, notes=()):
    return Table("scores", "labels: scores", COLUMNS, rows, notes)


def test_a_record_keeps_only_what_cells_have():
    record = table({"system": Cell("a"), "f1": Cell(0.5, 0.25, 0.75), "n": Cell(3)}, notes=("three rows",)).record()
    assert record["rows"] == [
        {"system": {"value": "a"}, "f1": {"value": 0.5, "low": 0.25, "high": 0.75}, "n": {"value": 3}}
    ]
    assert record["notes"] == ["three rows"]
    assert record["columns"][1] == {
        "key": "f1",
        "title": "macro F1",
        "kind": "score",
        "unit": "",
        "direction": "up",
        "digits": 3,
    }


def test_a_record_keeps_an_undefined_value_with_its_reason():
    row = table({"f1": Cell(None, why="no samples", interval_why="1 group")}).record()["rows"][0]
    assert row == {"f1": {"value": None, "why": "no samples", "interval_why": "1 group"}}


def test_a_record_keeps_zeros():
    assert table({"f1": Cell(0.0, 0.0, 0.0)}).record()["rows"][0]["f1"] == {"value": 0.0, "low": 0.0, "high": 0.0}


def test_a_record_is_canonical_plain_data():
    record = table({"system": Cell("a"), "f1": Cell(0.5)}).record()
    assert json.loads(encode(record)) == record


def test_flat_rows_give_an_interval_three_columns():
    flat = table({"system": Cell("a"), "f1": Cell(0.5, 0.25, 0.75), "n": Cell(3)}).flat()
    assert flat == [{"system": "a", "f1": 0.5, "f1_low": 0.25, "f1_high": 0.75, "n": 3}]
    assert list(flat[0]) == ["system", "f1", "f1_low", "f1_high", "n"]


def test_flat_rows_all_have_the_same_columns():
    flat = table({"f1": Cell(0.5, 0.25, 0.75)}, {"f1": Cell(None)}, {"system": Cell("c")}).flat()
    assert [row["f1_low"] for row in flat] == [0.25, None, None]
    assert [row["f1"] for row in flat] == [0.5, None, ""]
    assert len({tuple(row) for row in flat}) == 1


def test_flat_rows_without_intervals_have_no_interval_columns():
    assert table({"f1": Cell(0.5)}).flat() == [{"system": "", "f1": 0.5, "n": ""}]


def test_an_empty_table_is_flat():
    assert table().flat() == []


def test_a_view_is_recorded_as_plain_data():
    view = View("confusion", "confusion", "matrix", {"cells": [[1, 0]]}, ("rows are truth",))
    assert view.record() == {
        "name": "confusion",
        "title": "confusion",
        "kind": "matrix",
        "data": {"cells": [[1, 0]]},
        "notes": ["rows are truth"],
    }


def test_a_view_of_a_read_only_mapping_is_recorded():
    view = View("confusion", "confusion", "matrix", MappingProxyType({"cells": [[1, 0]]}))
    assert view.record()["data"] == {"cells": [[1, 0]]}
    assert type(view.record()["data"]) is dict
    assert json.loads(encode(view.record())) == view.record()


def test_a_table_of_read_only_rows_is_recorded():
    row = MappingProxyType({"f1": Cell(0.5)})
    assert table(row).record()["rows"] == [{"f1": {"value": 0.5}}]
    assert table(row).flat() == [{"system": "", "f1": 0.5, "n": ""}]


def test_plain_columns_and_cells():
    assert (*text_columns(system="system"), *count_columns(n="n")) == (COLUMNS[0], COLUMNS[2])
    assert make_cells(system="a", n=3) == {"system": Cell("a"), "n": Cell(3)}
