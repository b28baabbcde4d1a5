"""Tables for a terminal.

Divided bars in text: what a whole consists of, however small a part is.

A view of kind ``bars`` holds ``bars`` (each with ``label``, ``parts`` by name in the order of drawing, and the ``text``
that stands behind it) and ``right``, the names of the parts that are no errors.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from gnomon.core.table import Table, View
from gnomon.report.cells import grid, numeric
from gnomon.report.markup import printable

WIDE = 400
"""Columns assumed where the output is not a terminal: nothing is cut."""
MATRIX = 12
"""Largest matrix that is drawn in a terminal."""
MOST_ROWS = 60
"""Rows of a table that a terminal shows."""
BAR = 60
"""Places of a divided bar in a terminal."""


def render(items: Sequence[Table | View], most: int = MOST_ROWS) -> str:
    """Return tables and the views that a terminal can show, without colour."""
    stream = io.StringIO()
    console = Console(file=stream, width=WIDE, color_system=None, highlight=False)
    _show(console, items, most)
    return "".join(f"{line.rstrip()}\n" for line in stream.getvalue().splitlines())


def display(items: Sequence[Table | View], stream: Any = None, most: int = MOST_ROWS) -> None:
    """Print to a terminal (in its width, with emphasis) or to a pipe (plain); tables longer than ``most`` are cut."""
    target = stream or sys.stdout
    if target.isatty():
        _show(Console(file=target, width=width_of(target), highlight=False), items, most)
    else:
        target.write(render(items, most))


def width_of(terminal: Any) -> int:
    """Return the columns of the terminal that a stream writes to, as ``COLUMNS`` says or else the terminal itself."""
    try:
        columns = int(os.environ.get("COLUMNS", "0")) or os.get_terminal_size(terminal.fileno()).columns
    except (ValueError, OSError):
        columns = 0
    return max(60, columns or 80)


def _show(console: Console, items: Sequence[Table | View], most: int) -> None:
    for item in items:
        if isinstance(item, Table):
            _table(console, item, most)
        elif item.kind == "matrix" and len(item.data["labels"]) <= MATRIX:
            _matrix(console, item)
        elif item.kind == "bars":
            _bars(console, item)
        elif item.kind == "lines":
            _lines(console, item)


def _table(console: Console, table: Table, most: int) -> None:
    headings, rows = grid(table)
    drawn = _framed(console, table.title)
    for column, heading in zip(table.columns, headings, strict=True):
        drawn.add_column(_text(heading), justify="right" if numeric(column) else "left", overflow="fold")
    hidden = max(0, len(rows) - most)
    for row, cells in zip(rows[: len(rows) - hidden], table.rows, strict=False):
        marks = [cells[column.key].mark if column.key in cells else "" for column in table.columns]
        drawn.add_row(*(_marked(value, mark) for value, mark in zip(row, marks, strict=True)))
    console.print(drawn)
    if hidden:
        console.print(
            _text(f"  ... and {hidden:,} more rows: --format csv, json, markdown or html shows all"), style="dim"
        )
    for note in table.notes:
        console.print(_text(f"  {note}"), style="dim", soft_wrap=True)
    console.print()


def _text(value: str, style: str = "") -> Text:
    return Text(printable(value), style=style)


def _marked(text: str, mark: str) -> Text:
    return _text(text + {"best": " *", "partial": " †"}.get(mark, ""), style="bold" if mark == "best" else "")


def _framed(console: Console, title: str) -> RichTable:
    """Print a title, which may be wider than what stands under it, and begin a table."""
    console.print(_text(title), style="bold", soft_wrap=True)
    return RichTable(box=box.SIMPLE_HEAD, pad_edge=False)


def _matrix(console: Console, view: View) -> None:
    drawn = _framed(console, view.title)
    drawn.add_column("truth \\ predicted")
    for label in view.data["predicted"]:
        drawn.add_column(_text(label), justify="right", overflow="fold")
    for label, counts in zip(view.data["labels"], view.data["counts"], strict=True):
        drawn.add_row(
            _text(label), *(_text(f"{count:,}" if isinstance(count, int) else f"{count:,.1f}") for count in counts)
        )
    console.print(drawn)
    console.print()


def _bars(console: Console, view: View) -> None:
    console.print(_text(view.title), style="bold")
    bars = view.data["bars"]
    width = max((len(bar["label"]) for bar in bars), default=0)
    for bar in bars:
        line = _text(f"  {bar['label']:<{width}}  ")
        drawn = pieces(bar["parts"], BAR)
        for index, (name, text) in enumerate(drawn):
            line.append(text, style="green" if name in view.data["right"] else "red")
            line.append(EDGE if index < len(drawn) - 1 else "", style="dim")
        used = sum(len(text) for _, text in drawn) + max(0, len(drawn) - 1)
        line.append(" " * (BAR + len(bar["parts"]) + 1 - used) + printable(bar["text"]))
        console.print(line, soft_wrap=True)
    for note in view.notes:
        console.print(_text(f"  {note}"), style="dim", soft_wrap=True)
    console.print()


def _lines(console: Console, view: View) -> None:
    """Print lines as they are, for those who search for them."""
    console.print(_text(view.title), style="bold", soft_wrap=True)
    for line in view.data["lines"]:
        console.print(_text(line), soft_wrap=True)
    console.print()


FILL, EDGE = "┄", "│"


def lengths(parts: Mapping[str, float], width: int) -> dict[str, int]:
    """Share a width among parts in proportion; every part that is not zero keeps at least one place.

    >>> lengths({"D": 1, "C": 97, "I'": 2, "F": 0}, 20)
    {'D': 1, 'C': 18, "I'": 1}
    """
    kept = {name: value for name, value in parts.items() if value > 0}
    whole = sum(kept.values())
    if not kept:
        return {}
    places = dict.fromkeys(kept, 1)
    for _ in range(width - len(kept)):
        lagging = max(kept, key=lambda name: kept[name] / whole * width - places[name])
        places[lagging] += 1
    return places


def pieces(parts: Mapping[str, float], width: int) -> list[tuple[str, str]]:
    """Return each part's name and what is drawn for it: its name, if there is room, and a line.

    >>> [text for _, text in pieces({"D": 2, "C": 6}, 8)]
    ['D┄', 'C┄┄┄┄┄']
    """
    found = []
    for name, places in lengths(parts, width).items():
        text = name if len(name) <= places else ""
        found.append((name, text + FILL * (places - len(text))))
    return found
