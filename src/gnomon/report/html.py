"""Tables for a notebook or a page; everything from outside is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from gnomon.core.table import Cell, Table, View
from gnomon.report import terminal
from gnomon.report.cells import grid, numeric

RIGHT = ' style="text-align:right"'
LEFT = ' style="text-align:left"'
STYLE = "body{font-family:sans-serif;margin:2em}td,th{padding:.2em .6em}pre{font-size:.9em}table{margin-top:1.5em}"


def render(items: Sequence[Table | View]) -> str:
    """Return tables as an HTML fragment."""
    shown = (_table(item) if isinstance(item, Table) else _drawn(item) for item in items)
    return "\n".join(text for text in shown if text)


def page(items: Sequence[Table | View]) -> str:
    """Return tables as a whole page in UTF-8, which a browser can open from a file."""
    title = escape(items[0].title) if items else "gnomon"
    head = f'<meta charset="utf-8">\n<title>{title}</title>\n<style>{STYLE}</style>'
    return f'<!DOCTYPE html>\n<html lang="en">\n<head>\n{head}\n</head>\n<body>\n{render(items)}\n</body>\n</html>\n'


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
