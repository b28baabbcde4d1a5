"""A table and a view, as plain data that suites emit and that report, dashboard and command line render.

A cell keeps the number itself with its interval, its count and the reason when it is undefined;
how many digits are shown is the column's affair, so that one model renders to every format.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Kind = Literal["text", "count", "number", "score", "probability"]


@dataclass(frozen=True)
class Column:
    """One column: key, heading, kind, unit, which direction is better, and digits after the point."""

    key: str
    title: str
    kind: Kind = "text"
    unit: str = ""
    direction: Literal["up", "down", ""] = ""
    digits: int = 3


@dataclass(frozen=True)
class Cell:
    """One value with what defends it."""

    value: float | int | str | None
    low: float | None = None
    high: float | None = None
    why: str = ""
    """Why the value is undefined."""
    interval_why: str = ""
    """Why there is no interval."""
    mark: Literal["", "best", "partial"] = ""
    """``best``: ahead in its column, and distinguishable from the second; ``partial``: of a partial run."""


@dataclass(frozen=True)
class Table:
    """Rows of cells under columns, with notes that belong under it wherever it is shown."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Mapping[str, Cell], ...]
    notes: tuple[str, ...] = ()

    def record(self) -> dict[str, Any]:
        """Return the table as plain data; cells keep only what they have."""
        return {
            "name": self.name,
            "title": self.title,
            "columns": [asdict(column) for column in self.columns],
            "rows": [{key: _trim(asdict(cell)) for key, cell in row.items()} for row in self.rows],
            "notes": list(self.notes),
        }

    def flat(self) -> list[dict[str, Any]]:
        """Return rows of plain values; ``x_low``, ``x_high`` and ``x_why`` stand beside ``x`` where they exist."""
        spans = {c.key for c in self.columns if any(_cell(row, c.key).low is not None for row in self.rows)}
        gaps = {c.key for c in self.columns if any(_cell(row, c.key).why for row in self.rows)}
        out = []
        for row in self.rows:
            line: dict[str, Any] = {}
            for column in self.columns:
                cell = _cell(row, column.key)
                line[column.key] = cell.value
                if column.key in spans:
                    line[f"{column.key}_low"], line[f"{column.key}_high"] = cell.low, cell.high
                if column.key in gaps:
                    line[f"{column.key}_why"] = cell.why
            out.append(line)
        return out


@dataclass(frozen=True)
class View:
    """A figure as plain data: what kind it is and its data; renderers decide how it looks."""

    name: str
    title: str
    kind: str
    data: Mapping[str, Any]
    notes: tuple[str, ...] = field(default=())

    def record(self) -> dict[str, Any]:
        """Return the view as plain data."""
        return {
            "name": self.name,
            "title": self.title,
            "kind": self.kind,
            "data": dict(self.data),
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class Board:
    """Tables and views that follow from what a reader chooses, with the choices that there are."""

    choices: Mapping[str, tuple[str, ...]]
    """What can be chosen, by name."""
    chosen: Mapping[str, str]
    """What is, by the same names."""
    items: tuple[Table | View, ...]


def text_columns(**titles: str) -> tuple[Column, ...]:
    """Return columns of text, by key and title.

    >>> [column.title for column in text_columns(task="task", n="n test")]
    ['task', 'n test']
    """
    return tuple(Column(key, title) for key, title in titles.items())


def count_columns(**titles: str) -> tuple[Column, ...]:
    """Return columns of counts, by key and title."""
    return tuple(Column(key, title, "count") for key, title in titles.items())


def make_cells(**values: Any) -> dict[str, Cell]:
    """Return the cells of a row that hold nothing but a value, by key."""
    return {key: Cell(value) for key, value in values.items()}


def _trim(cell: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in cell.items() if key == "value" or value not in (None, "")}


def _cell(row: Mapping[str, Cell], key: str) -> Cell:
    return row.get(key, Cell(""))
