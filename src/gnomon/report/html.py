"""Tables for a notebook or a page; everything from outside is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from gnomon.core.table import Table, View
from gnomon.report.cells import grid, numeric

RIGHT = ' style="text-align:right"'
LEFT = ' style="text-align:left"'


def render(items: Sequence[Table | View]) -> str:
    """Return tables as an HTML fragment."""
    return "\n".join(_table(item) for item in items if isinstance(item, Table))


def _table(table: Table) -> str:
    headings, rows = grid(table)
    sides = [RIGHT if numeric(column) else LEFT for column in table.columns]
    head = "".join(f"<th{side}>{escape(text)}</th>" for text, side in zip(headings, sides, strict=True))
    body = "".join(
        "<tr>" + "".join(f"<td{s}>{escape(text)}</td>" for text, s in zip(row, sides, strict=True)) + "</tr>"
        for row in rows
    )
    notes = "".join(f"<li>{escape(note)}</li>" for note in table.notes)
    return (
        f'<table class="gnomon"><caption style="text-align:left"><b>{escape(table.title)}</b></caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        + (f'<ul class="gnomon-notes">{notes}</ul>' if notes else "")
    )
