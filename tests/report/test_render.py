"""One table model, every format. Expected texts are written by hand."""

import csv
import io
import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.core.table import Cell, Column, Table, View
from gnomon.report import FORMATS, render
from gnomon.report.terminal import display, lengths

NASTY = "a|b_*<script>&\"'`[x](y)"
TABLE = Table(
    "t",
    "a title",
    (
        Column("system", "system"),
        Column("n", "n", "count"),
        Column("error", "error", "score", "mm", "down", 1),
        Column("p", "p", "probability", digits=4),
    ),
    (
        {"system": Cell(NASTY), "n": Cell(12345), "error": Cell(80.529, 70.0, 91.06), "p": Cell(0.00001)},
        {"system": Cell("b"), "n": Cell(0), "error": Cell(None, why="no samples"), "p": Cell(0.5)},
    ),
    ("a note",),
)
MATRIX = View("m", "confusion", "matrix", {"labels": ["x"], "predicted": ["x", "(none)"], "counts": [[1234, 2]]})


def test_terminal():
    text = render([TABLE, MATRIX], "terminal")
    assert "80.5 [70.0, 91.1]" in text
    assert "12,345" in text
    assert "undefined (no samples)" in text
    assert "<0.0001" in text
    assert "error (mm) ↓" in text
    assert NASTY in text
    assert "a note" in text
    assert "1,234" in text
    assert not any(line != line.rstrip() for line in text.splitlines())


def test_terminal_to_a_pipe_is_plain_and_uncut():
    wide = Table("w", "wide", tuple(Column(f"c{i}", "c" * 30) for i in range(8)), ())
    stream = io.StringIO()
    display([wide], stream)
    assert stream.getvalue().count("c" * 30) == 8
    assert "\x1b" not in stream.getvalue()


def test_json_keeps_full_precision_and_reasons():
    record = json.loads(render([TABLE, MATRIX], "json"))
    row = record["tables"][0]["rows"]
    assert row[0]["error"] == {"value": 80.529, "low": 70.0, "high": 91.06}
    assert row[1]["error"] == {"value": None, "why": "no samples"}
    assert record["views"][0]["data"]["counts"] == [[1234, 2]]


def test_csv_reads_back():
    rows = list(csv.DictReader(io.StringIO(render([TABLE], "csv"))))
    assert rows[0]["system"] == NASTY
    assert float(rows[0]["error"]) == 80.529
    assert (rows[0]["error_low"], rows[1]["error"], rows[1]["error_low"]) == ("70.0", "", "")
    assert (rows[0]["error_why"], rows[1]["error_why"]) == ("", "no samples")


def test_markdown_escapes_cells():
    line = next(line for line in render([TABLE], "markdown").splitlines() if "12,345" in line)
    assert line.replace("\\|", "").count("|") == 5
    assert "\\<script\\>" in line


def test_html_escapes():
    text = render([TABLE], "html")
    assert "<script>" not in text
    assert "&lt;script&gt;" in text
    assert text.count("<tr>") == 3


def test_html_of_a_file_is_a_whole_page_in_utf_8():
    title = Table("t", "µ < ν", TABLE.columns, TABLE.rows)
    whole, part = render([title], "html", page=True), render([title], "html")
    assert whole.startswith("<!DOCTYPE html>")
    assert '<meta charset="utf-8">' in whole
    assert "<title>µ &lt; ν</title>" in whole
    assert part in whole
    assert "<html" not in part
    assert render([title], "markdown", page=True) == render([title], "markdown")


def test_every_format_renders_an_empty_table():
    empty = Table("e", "empty", (Column("a", "A"),), ())
    for form in FORMATS:
        assert render([empty], form)


def test_unknown_format():
    with pytest.raises(InputError, match=r"unknown format 'docx'.*markdown"):
        render([TABLE], "docx")


BARS = View(
    "b",
    "time [strict]",
    "bars",
    {
        "bars": [
            {"label": "walking", "parts": {"TP": 97.0, "D": 1.0, "F": 0.0, "Us": 2.0}, "text": "100 s"},
            {"label": "none", "parts": {}, "text": "no time"},
        ],
        "right": ["TP"],
    },
    ("what the letters mean",),
)


def test_bars_are_drawn_and_no_part_vanishes():
    """By hand: 60 places, of which 97 % are 58, the two small parts keep one each; what is zero is not drawn."""
    text = render([BARS], "terminal")
    lines = text.splitlines()
    assert lines[0] == "time [strict]"
    assert lines[1] == "  walking  TP" + "┄" * 56 + "│D│┄" + "   100 s"
    assert lines[2].split() == ["none", "no", "time"]
    assert "what the letters mean" in text


@given(st.dictionaries(st.text("abcdef", min_size=1, max_size=2), st.floats(0, 1e6), max_size=6))
def test_a_bar_shares_its_width_and_keeps_every_part(parts):
    found = lengths(parts, 40)
    assert set(found) == {name for name, value in parts.items() if value > 0}
    assert sum(found.values()) == (40 if found else 0)
    assert all(places >= 1 for places in found.values())
    order = sorted(found, key=lambda name: parts[name])
    assert all(found[a] <= found[b] or parts[a] == parts[b] for a, b in itertools.pairwise(order))


def test_titles_are_text_not_markup():
    assert "[strict]" in render([Table("t", "scores [strict]", (Column("a", "a"),), ())], "terminal")
