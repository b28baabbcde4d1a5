"""Tables for documents."""

from __future__ import annotations

from collections.abc import Sequence

from gnomon.core.table import Cell, Table, View
from gnomon.report import terminal
from gnomon.report.cells import grid, numeric
from gnomon.report.markup import printable


def render(items: Sequence[Table | View]) -> str:
    """Return tables as Markdown with their notes as a list."""
    shown = (_table(item) if isinstance(item, Table) else _drawn(item) for item in items)
    return "\n".join(text for text in shown if text)


def escape(text: str) -> str:
    r"""Keep text from being read as Markdown or ending its cell.

    >>> print(escape("a|b_*"))
    a\|b\_\*
    """
    for mark in "\\`*_{}[]<>#|":
        text = text.replace(mark, "\\" + mark)
    return printable(" ".join(text.split()))


def _table(table: Table) -> str:
    headings, rows = grid(table)
    rule = ["---:" if numeric(column) else "---" for column in table.columns]
    lines = [f"**{escape(table.title)}**", "", _line([escape(h) for h in headings]), _line(rule)]
    for row, cells in zip(rows, table.rows, strict=True):
        marks = [cells.get(column.key, Cell("")).mark for column in table.columns]
        lines.append(_line([_marked(escape(value), mark) for value, mark in zip(row, marks, strict=True)]))
    notes = [f"- {escape(note)}" for note in table.notes]
    return "\n".join([*lines, *(["", *notes] if notes else []), ""])


def _drawn(view: View) -> str:
    """Return what a terminal draws of a view, as it is."""
    drawn = terminal.render([view]).rstrip()
    return f"```text\n{drawn}\n```\n" if drawn and "```" not in drawn else ""


def _marked(text: str, mark: str) -> str:
    return {"best": f"**{text}** \\*", "partial": f"{text} †"}.get(mark, text)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
