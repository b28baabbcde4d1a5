"""How a cell reads, for every format that people read."""

from __future__ import annotations

from gnomon.core.table import Cell, Column, Table

ARROWS = {"up": "↑", "down": "↓", "": ""}


def heading(column: Column) -> str:
    """Return the heading of a column: title, unit, better direction.

    >>> heading(Column("e", "error", "score", "mm", "down"))
    'error (mm) ↓'
    """
    unit = f" ({column.unit})" if column.unit else ""
    arrow = f" {ARROWS[column.direction]}" if column.direction else ""
    return f"{column.title}{unit}{arrow}"


def show(cell: Cell, column: Column) -> str:
    """Return the text of a cell: the number with its interval, or "undefined" with the reason.

    >>> show(Cell(0.81234, 0.7, 0.9), Column("f", "F1", "score"))
    '0.812 [0.700, 0.900]'
    >>> show(Cell(1.0, interval_why="undefined (1 group)"), Column("f", "F1", "score"))
    '1.000 [undefined]'
    >>> show(Cell(None, why="no samples"), Column("f", "F1", "score"))
    'undefined (no samples)'
    """
    if cell.value is None:
        return (
            f"undefined ({cell.why})" if cell.why and not cell.why.startswith("undefined") else cell.why or "undefined"
        )
    if isinstance(cell.value, str):
        return cell.value
    if column.kind == "count":
        return f"{cell.value:,}"
    text = _number(cell.value, column)
    if cell.low is None or cell.high is None:
        return f"{text} [undefined]" if cell.interval_why.startswith("undefined") else text
    return f"{text} [{_number(cell.low, column)}, {_number(cell.high, column)}]"


def grid(table: Table) -> tuple[list[str], list[list[str]]]:
    """Return headings and rows of text."""
    empty = Cell("")
    rows = [[show(row.get(c.key, empty), c) for c in table.columns] for row in table.rows]
    return [heading(column) for column in table.columns], rows


def numeric(column: Column) -> bool:
    """Say whether a column is set flush right."""
    return column.kind != "text"


def _number(value: float | int, column: Column) -> str:
    if column.kind == "probability" and 0 < value < 10**-column.digits:
        return f"<{10**-column.digits:.{column.digits}f}"
    text = f"{value:.{column.digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text
