"""Tables for a notebook or a page; everything from outside is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from gnomon.core.table import Cell, Table, View
from gnomon.report import terminal
from gnomon.report.cells import grid, numeric

RIGHT = ' style="text-align:right"'
LEFT = ' style="text-align:left"'


def render(items: Sequence[Table | View]) -> str:
    """Return tables as an HTML fragment."""
    shown = (_table(item) if isinstance(item, Table) else _drawn(item) for item in items)
    return "\n".join(text for text in shown if text)


def _table(table: Table) -> str:
    headings, rows = grid(table)
    sides = [RIGHT if numeric(column) else LEFT for column in table.columns]
    head = "".join(f"<th{side}>{escape(text)}</th>" for text, side in zip(headings, sides, strict=True))
    body = ""
    for row, cells in zip(rows, table.rows, strict=True):
        marks = [cells.get(column.key, Cell("")).mark for column in table.columns]
        shown = zip(row, sides, marks, strict=True)
        body += (
            "<tr>" + "".join(f"<td{side}>{_marked(escape(text), mark)}</td>" for text, side, mark in shown) + "</tr>"
        )
    notes = "".join(f"<li>{escape(note)}</li>" for note in table.notes)
    return (
        f'<table class="gnomon"><caption style="text-align:left"><b>{escape(table.title)}</b></caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        + (f'<ul class="gnomon-notes">{notes}</ul>' if notes else "")
    )


def _drawn(view: View) -> str:
    """Return what a terminal draws of a view, as it is."""
    drawn = terminal.render([view]).rstrip()
    return f'<pre class="gnomon">{escape(drawn)}</pre>' if drawn else ""


def _marked(text: str, mark: str) -> str:
    return {"best": f"<b>{text}</b>", "partial": f"{text}&nbsp;&dagger;"}.get(mark, text)
