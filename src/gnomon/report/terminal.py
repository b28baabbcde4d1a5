"""Tables for a terminal."""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from gnomon.core.table import Table, View
from gnomon.report.cells import grid, numeric

WIDE = 400
"""Columns assumed where the output is not a terminal: nothing is cut."""
MATRIX = 12
"""Largest matrix that is drawn in a terminal."""


def render(items: Sequence[Table | View]) -> str:
    """Return tables and the views that a terminal can show, without colour."""
    stream = io.StringIO()
    console = Console(file=stream, width=WIDE, color_system=None, highlight=False)
    _show(console, items)
    return "".join(f"{line.rstrip()}\n" for line in stream.getvalue().splitlines())


def display(items: Sequence[Table | View], stream: Any = None) -> None:
    """Print to a terminal (in its width, with emphasis) or to a pipe (plain, nothing cut)."""
    target = stream or sys.stdout
    if target.isatty():
        width = max(60, shutil.get_terminal_size().columns)
        _show(Console(file=target, width=width, highlight=False), items)
    else:
        target.write(render(items))


def _show(console: Console, items: Sequence[Table | View]) -> None:
    for item in items:
        if isinstance(item, Table):
            _table(console, item)
        elif item.kind == "matrix" and len(item.data["labels"]) <= MATRIX:
            _matrix(console, item)


def _table(console: Console, table: Table) -> None:
    headings, rows = grid(table)
    drawn = RichTable(box=box.SIMPLE_HEAD, title=table.title, title_justify="left", title_style="bold", pad_edge=False)
    for column, heading in zip(table.columns, headings, strict=True):
        drawn.add_column(Text(heading), justify="right" if numeric(column) else "left", overflow="fold")
    for row in rows:
        drawn.add_row(*(Text(value) for value in row))
    console.print(drawn)
    for note in table.notes:
        console.print(Text(f"  {note}"), style="dim", soft_wrap=True)
    console.print()


def _matrix(console: Console, view: View) -> None:
    drawn = RichTable(box=box.SIMPLE_HEAD, title=view.title, title_justify="left", title_style="bold", pad_edge=False)
    drawn.add_column("truth \\ predicted")
    for label in view.data["predicted"]:
        drawn.add_column(Text(label), justify="right", overflow="fold")
    for label, counts in zip(view.data["labels"], view.data["counts"], strict=True):
        drawn.add_row(Text(label), *(Text(f"{count:,}") for count in counts))
    console.print(drawn)
    console.print()
