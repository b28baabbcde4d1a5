"""Rendering: one model of tables and views, many formats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gnomon.core.errors import InputError
from gnomon.core.suite import load

if TYPE_CHECKING:
    from gnomon.core.table import Table, View

FORMATS = {
    "terminal": "gnomon.report.terminal:render",
    "json": "gnomon.report.plain:render_json",
    "csv": "gnomon.report.plain:render_csv",
    "markdown": "gnomon.report.markdown:render",
    "latex": "gnomon.report.latex:render",
    "html": "gnomon.report.html:render",
}
PAGES = {"html": "gnomon.report.html:page"}
"""Formats whose files hold more than what is put into a page of somebody else."""

RAGGED = ("error", "dash")
"""What is done with a table in which a row lacks a cell: refuse it, or show that it is missing."""


def render(items: Sequence[Table | View], format: str, ragged: str = "error", *, page: bool = False) -> str:
    """Render tables and views as text in one of the formats; ``page`` makes it whole, as a file of its own."""
    if format not in FORMATS:
        raise InputError(f"unknown format {format!r}; expected one of {', '.join(FORMATS)}")
    function: Callable[[Sequence[Table | View]], str] = load((PAGES if page and format in PAGES else FORMATS)[format])
    return function([whole(item, ragged) for item in items])


def whole(item: Table | View, ragged: str = "error") -> Table | View:
    """Return a table in which every row has every cell: refuse one that has not, or fill it where that is asked for."""
    from gnomon.core.table import Cell, Table

    if ragged not in RAGGED:
        raise InputError(f"ragged: expected one of {', '.join(RAGGED)}, but got {ragged!r}")
    if not isinstance(item, Table):
        return item
    keys = [column.key for column in item.columns]
    lacking = [(number, key) for number, row in enumerate(item.rows, start=1) for key in keys if key not in row]
    if not lacking:
        return item
    if ragged == "error":
        number, key = lacking[0]
        raise InputError(
            f"table {item.name!r} is ragged: {len(lacking)} cells are missing, the first in row {number}, "
            f"column {key!r}; complete it, or ask for dashes (--ragged dash)"
        )
    rows = tuple({key: row.get(key, Cell("-")) for key in keys} for row in item.rows)
    note = f"-: not there ({len(lacking)} of {len(rows) * len(keys)} cells)"
    return replace(item, rows=rows, notes=(*item.notes, note))
