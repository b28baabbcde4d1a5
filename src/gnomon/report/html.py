"""Tables for a notebook or a page; everything from outside is escaped.

:func:`render` makes a part of somebody else's page, with its few styles in it. :func:`table` makes the block of one
table for pages that have the style sheet of this package (``report/assets/style.css``): the report and the dashboard.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from html import escape

from gnomon.core.errors import counted
from gnomon.core.table import Cell, Column, Table, View
from gnomon.report import terminal
from gnomon.report.cells import grid, heading, numeric, show
from gnomon.report.markup import Markup, join, printable, shortened, tag

RIGHT = ' style="text-align:right"'
LEFT = ' style="text-align:left"'
STYLE = "body{font-family:sans-serif;margin:2em}td,th{padding:.2em .6em}pre{font-size:.9em}table{margin-top:1.5em}"
RowAddress = Callable[[Mapping[str, Cell]], str]
"""From a row of a table to the address of a page about it; nothing where there is none."""
Links = Callable[[Table | View], Markup]
"""What makes the downloads of an item."""
MOST_ROWS = 2_000
"""Rows of a table that a page shows; downloads hold all."""
LONG = 20
"""A table of more rows scrolls within a box, under its headings."""
MOST_NOTES, FIRST_NOTES = 9, 6
"""Notes that are shown at once, and those that are shown where there are more."""
BREAK = 12
"""Characters from which on a name may be broken."""
CELL, NOTE = 300, 4_000
"""Characters of a cell and of a note that a page shows."""
BADGES: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "severity": {"error": ("bad", "✖"), "warning": ("warn", "▲"), "info": ("calm", "ℹ")},
    "verdict": {"supported": ("good", "✔"), "not supported": ("bad", "✖")},
    "sealed": {"intact": ("good", "✔"), "changed": ("bad", "✖"), "not stored": ("calm", "ℹ")},
}
"""Columns whose words are badges, by key: a class and a symbol for each word, which stands beside it."""


def render(items: Sequence[Table | View]) -> str:
    """Return tables as an HTML fragment."""
    shown = (_table(item) if isinstance(item, Table) else _drawn(item) for item in items)
    return "\n".join(text for text in shown if text)


def page(items: Sequence[Table | View]) -> str:
    """Return tables as a whole page in UTF-8, which a browser can open from a file."""
    title = _escape(items[0].title) if items else "gnomon"
    head = f'<meta charset="utf-8">\n<title>{title}</title>\n<style>{STYLE}</style>'
    return f'<!DOCTYPE html>\n<html lang="en">\n<head>\n{head}\n</head>\n<body>\n{render(items)}\n</body>\n</html>\n'


def _table(table: Table) -> str:
    headings, rows = grid(table)
    sides = [RIGHT if numeric(column) else LEFT for column in table.columns]
    head = "".join(f"<th{side}>{_escape(text)}</th>" for text, side in zip(headings, sides, strict=True))
    body = ""
    for row, cells in zip(rows, table.rows, strict=True):
        marks = [cells.get(column.key, Cell("")).mark for column in table.columns]
        shown = zip(row, sides, marks, strict=True)
        body += (
            "<tr>" + "".join(f"<td{side}>{_marked(_escape(text), mark)}</td>" for text, side, mark in shown) + "</tr>"
        )
    notes = "".join(f"<li>{_escape(note)}</li>" for note in table.notes)
    return (
        f'<table class="gnomon"><caption style="text-align:left"><b>{_escape(table.title)}</b></caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        + (f'<ul class="gnomon-notes">{notes}</ul>' if notes else "")
    )


def _drawn(view: View) -> str:
    """Return what a terminal draws of a view, as it is."""
    drawn = terminal.render([view]).rstrip()
    return f'<pre class="gnomon">{_escape(drawn)}</pre>' if drawn else ""


def _escape(text: str) -> str:
    return escape(printable(text))


def _marked(text: str, mark: str) -> str:
    return {"best": f"<b>{text}</b>&nbsp;*", "partial": f"{text}&nbsp;&dagger;"}.get(mark, text)


def table(
    item: Table, links: Links | None = None, *, id: str | None = None, rows_at: RowAddress | None = None
) -> Markup:
    """Return the block of a table: title, downloads, cells in a box that scrolls by itself, notes.

    Parameters
    ----------
    item
        The table; a row may lack cells.
    links
        What makes its downloads; none without.
    id
        Of the block, for links to it.
    rows_at
        What gives a row an address, to which its first cell leads.
    """
    hidden = max(0, len(item.rows) - MOST_ROWS)
    rows = join(_row(row, item.columns, rows_at(row) if rows_at else "") for row in item.rows[:MOST_ROWS])
    within = _measure_column(item)
    head = tag("tr", join(_heading(column, within) for column in item.columns))
    grid = tag("table", tag("thead", head), tag("tbody", rows), cls="sortable")
    title = shortened(item.title, CELL)
    long = " long" if len(item.rows) > LONG else ""
    box = tag("div", grid, cls=f"scroll{long}", tabindex="0", role="region", aria_label=title)
    more = (f"... and {counted(hidden, 'more row')}: the downloads hold all",) if hidden else ()
    top = tag("div", tag("h3", title), links(item) if links else None, cls="bar")
    empty = None if item.title.startswith("no ") else tag("p", "no rows", cls="empty")
    body = box if item.rows else empty
    return tag("div", top, body, notes((*more, *item.notes)), cls="block", id=id)


def notes(lines: Sequence[str]) -> Markup:
    """Return what stands under a table or a figure; nothing where there is nothing to say. Many are folded away."""
    items = [tag("li", shortened(line, NOTE)) for line in lines]
    if not items:
        return Markup()
    if len(items) <= MOST_NOTES:
        return tag("ul", join(items), cls="notes")
    rest = tag("summary", f"{len(items) - FIRST_NOTES} more notes"), tag("ul", join(items[FIRST_NOTES:]))
    return tag("div", tag("ul", join(items[:FIRST_NOTES])), tag("details", *rest), cls="notes")


def _measure_column(item: Table) -> int | None:
    """Return the place of the column that names measures, where the rows are of several."""
    place = next((place for place, column in enumerate(item.columns) if column.key == "measure"), None)
    several = len({row["measure"].value for row in item.rows if "measure" in row}) > 1
    return place if several else None


def _heading(column: Column, within: int | None) -> Markup:
    """Return a heading; values of different measures are sorted within each measure (``within``, its column)."""
    apart = within is not None and column.kind in ("score", "number")
    return tag(
        "th",
        shortened(heading(column), CELL),
        scope="col",
        cls="number" if numeric(column) else None,
        data_within=str(within) if apart else None,
    )


def _row(row: Mapping[str, Cell], columns: Sequence[Column], address: str = "") -> Markup:
    first, *rest = columns
    name = _content(row.get(first.key, Cell("")), first)
    begun = tag("th", tag("a", name, href=address) if address else name, scope="row", **_kind(row, first))
    return tag("tr", begun, join(tag("td", _content(row.get(c.key, Cell("")), c), **_kind(row, c)) for c in rest))


def _kind(row: Mapping[str, Cell], column: Column) -> dict[str, str | None]:
    """Return what an element of a cell says of it: how it is set, and by what it is sorted."""
    value = row.get(column.key, Cell("")).value
    number = numeric(column) and not isinstance(value, str)
    names = ["number"] if numeric(column) else []
    names += ["undefined"] if value is None else []
    return {"cls": " ".join(names) or None, "data_value": repr(value) if number and value is not None else None}


def _content(cell: Cell, column: Column) -> Markup:
    said = shortened(show(cell, column), CELL)
    badge = BADGES.get(column.key, {}).get(said)
    if badge is not None:
        kind, symbol = badge
        return tag("span", tag("span", symbol, aria_hidden="true"), " ", said, cls=f"badge {kind}")
    number, bracket, span = said.partition(" [") if not isinstance(cell.value, (str, type(None))) else (said, "", "")
    shown = join([number, tag("span", bracket + span, cls="interval")] if bracket else [_breakable(said)])
    if cell.mark == "best":
        return join(
            [tag("b", shown), tag("abbr", "*", title="significantly better than every other system", cls="mark")]
        )
    if cell.mark == "partial":
        return join([shown, tag("abbr", "†", title="of a partial run", cls="mark")])
    return shown


def _breakable(said: str) -> Markup:
    """Let a long name go on in the next line behind a mark between its words."""
    pieces = re.split(r"(?<=[_/.,:-])(?=\w)", said) if len(said) > BREAK else [said]
    return join(pieces, Markup("<wbr>"))
