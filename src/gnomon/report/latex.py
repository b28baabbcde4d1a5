"""Tables for a paper: booktabs, plain digits, arrows for the better direction.

The best of a column is bold only where it is significantly better than every other; a dagger stands behind partial
runs. A table needs the packages ``booktabs`` and ``graphicx`` and, on engines older than 2020, ``textcomp``; text is
UTF-8 and escaped. Numbers are plain digits without separators of thousands, behind a minus of mathematics. Intervals
are set small in cells of their own: beside their numbers, or in a line under them where the table would be too wide
for a page; what is still too wide is scaled to the line. Whatever is no number in a column of numbers stands in
braces, so that such a column may be made an ``S`` column of ``siunitx``. An opening bracket or a star is kept from
being read as an argument of a line's end. What notes advise somebody at a terminal is left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gnomon.core.table import Cell, Column, Table, View
from gnomon.report.cells import grid, numeric, show

MINUS = "{$-$}"
ESCAPED = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "_": r"\_",
    "%": r"\%",
    "&": r"\&",
    "#": r"\#",
    "$": r"\$",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"{\char34}",
    "`": r"\textasciigrave{}",
    "'": r"{\textquotesingle}",
    "[": "{[}",
    "*": "{*}",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "−": MINUS,
    "≤": r"$\leq$",
    "≥": r"$\geq$",
}
ARROWS = {"up": r" $\uparrow$", "down": r" $\downarrow$", "": ""}
DAGGER = r"{$^{\dagger}$}"
LINE = 80
"""Characters that a line of a page holds, about."""
PAGE, NOTE = 40, 100
"""Lines of a table that a page holds with its caption, and characters of a line of a note, about."""
_LIGATURE = re.compile(r"(?<=-)(?=-)|(?<=,)(?=,)")
"""Between hyphens that would become a dash, and commas that would become a quotation mark."""
_SIGN = re.compile(r"(?<= )-(?= )|(?<![^\s(\[])-(?=\.?\d)")
"""A hyphen that is a minus: between blanks, or before a number."""
_TERMINAL = re.compile(r"(?<![\w-])--[a-z]|\bgnomon [a-z]|\bcomplete the runs\b")
"""What only somebody at a terminal can follow."""


def render(items: Sequence[Table | View]) -> str:
    """Return tables as LaTeX, one ``table`` environment each."""
    return "\n".join(_table(item) for item in items if isinstance(item, Table))


def escape(text: str) -> str:
    r"""Keep text from being read as LaTeX; what fonts lack by default is left to them.

    >>> print(escape("50 % of a_b & {c}, A - B, a--b"))
    50 \% of a\_b \& \{c\}, A {$-$} B, a-{}-b
    """
    plain = " ".join("".join(char if char.isprintable() or char.isspace() else " " for char in text).split())
    signed = _SIGN.sub("−", plain)
    kept = ["".join(ESCAPED.get(char, char) for char in piece) for piece in _LIGATURE.split(signed)]
    return "{}".join(kept)


def for_paper(note: str) -> str:
    """Return a note without what it advises somebody at a terminal; nothing where that is all.

    >>> for_paper("no groups, so no interval is given; add a column, or --group id")
    'no groups, so no interval is given'
    """
    plain = re.sub(r"^\* ", "bold: ", re.sub(r" \(in Python: [^)]*\)", "", note))  # stars are for terminals
    first, *rest = re.split(r"(; |: )", plain)
    pieces = zip(rest[::2], rest[1::2], strict=True)
    kept = "" if _TERMINAL.search(first) else first
    kept += "".join(gap + piece for gap, piece in pieces if kept and not _TERMINAL.search(piece))
    return "" if kept.rpartition(": ")[2] in ("info", "warning", "error") else kept


def _table(table: Table) -> str:
    """Return a table, in parts of a page each where it is longer than one; notes are under the last part."""
    stacked = _wide(table)
    beside = () if stacked else tuple(column.key for column in table.columns if _spans(table, column))
    rows = [_row([row[c.key] for c in table.columns], table, stacked, beside) for row in table.rows]
    parts, notes = _pages(rows), _notes(table)
    room = PAGE - sum(map(len, parts[-1])) >= sum(1 + len(note) // NOTE for note in notes)
    lines = []
    for number, part in enumerate(parts):
        title = escape(table.title) + (" (continued)" if number else "")
        under = [rf"  \\[2pt] {note}" for note in notes] if room and number == len(parts) - 1 else []
        lines += _part(table, title, part, under, stacked, beside)
    if not room:
        lines += [r"{\setlength{\parindent}{0pt}", *(rf"  {note}\par" for note in notes), "}", ""]
    return "\n".join(lines)


def _part(
    table: Table,
    title: str,
    rows: Sequence[Sequence[str]],
    notes: Sequence[str],
    stacked: bool,
    beside: Sequence[str],
) -> list[str]:
    sides = "".join(_side(column, column.key in beside) for column in table.columns)
    head = " & ".join(_heading(column, stacked, column.key in beside) for column in table.columns)
    return [
        r"\begin{table}",
        r"  \centering\small\setlength{\tabcolsep}{4pt}\setlength{\belowcaptionskip}{6pt}",
        rf"  \caption{{{title}}}",
        r"  \resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"  \begin{{tabular}}{{{sides}}}",
        r"    \toprule",
        rf"    {head} \\",
        r"    \midrule",
        *(line for row in rows for line in row),
        r"    \bottomrule",
        r"  \end{tabular}}",
        *notes,
        r"\end{table}",
        "",
    ]


def _pages(rows: Sequence[list[str]]) -> list[list[list[str]]]:
    """Deal rows, of one or two lines each, to parts that fit a page."""
    parts: list[list[list[str]]] = [[]]
    for row in rows:
        if parts[-1] and sum(map(len, parts[-1])) + len(row) > PAGE:
            parts.append([])
        parts[-1].append(row)
    return parts


def _row(cells: Sequence[Cell], table: Table, stacked: bool, beside: Sequence[str]) -> list[str]:
    """Return the line of a row, and the line of its intervals where they go under the numbers."""
    pairs = list(zip(cells, table.columns, strict=True))
    numbers = [_cell(cell, column, column.key in beside) for cell, column in pairs]
    spans = [_span(cell, column) for cell, column in pairs]
    if stacked and any(spans):
        return [rf"    {' & '.join(numbers)} \\[-2pt]", rf"    {' & '.join(spans)} \\[2pt]"]
    return [rf"    {' & '.join(numbers)} \\"]


def _notes(table: Table) -> list[str]:
    notes = [rf"{escape(note)}." for note in map(for_paper, table.notes) if note]
    if any(cell.mark == "partial" for row in table.rows for cell in row.values()):
        notes.append(f"{DAGGER} partial run.")
    return [rf"\parbox{{\linewidth}}{{\footnotesize {note}}}" for note in notes]


def _wide(table: Table) -> bool:
    """Say whether a table would not fit a page with intervals beside the numbers; they go under them then."""
    headings, rows = grid(table)
    widths = [max(map(len, texts)) for texts in zip(headings, *rows, strict=True)]
    return sum(widths) > LINE


def _spans(table: Table, column: Column) -> bool:
    return any(_span(row[column.key], column) for row in table.rows)


def _side(column: Column, beside: bool) -> str:
    return r"r@{\hspace{3pt}}l" if beside else "r" if numeric(column) else "l"


def _heading(column: Column, stacked: bool, beside: bool) -> str:
    unit = f" ({escape(column.unit)})" if column.unit else ""
    text = f"{escape(column.title)}{unit}".replace(f" {MINUS} ", f"~{MINUS}~")
    words, side = text.split(" "), "r" if numeric(column) else "l"
    if stacked and len(words) > 1:
        half = min(range(1, len(words)), key=lambda at: max(len(" ".join(words[:at])), len(" ".join(words[at:]))))
        lines = [" ".join(words[:half]), " ".join(words[half:]) + ARROWS[column.direction]]
        return rf"{{\begin{{tabular}}[b]{{@{{}}{side}@{{}}}}" + r"\\".join(lines) + r"\end{tabular}}"
    text += ARROWS[column.direction]
    return rf"\multicolumn{{2}}{{r}}{{{text}}}" if beside else f"{{{text}}}" if numeric(column) else text


def _cell(cell: Cell, column: Column, beside: bool) -> str:
    """Return a value without its interval; ``beside`` puts that into the next cell."""
    number, span = _split(cell, column)
    shown = (r"\bfseries " if cell.mark == "best" else "") + escape(number)
    shown += DAGGER if cell.mark == "partial" else ""
    if shown and numeric(column) and not re.fullmatch(r"-?[\d.]+", number):
        return rf"\multicolumn{{2}}{{r}}{{{shown}}}" if beside else f"{{{shown}}}"
    return f"{shown} & {_small(span)}" if beside else shown


def _span(cell: Cell, column: Column) -> str:
    return _small(_split(cell, column)[1])


def _small(span: str) -> str:
    return rf"{{\scriptsize {escape(span)}}}" if span else ""


def _split(cell: Cell, column: Column) -> tuple[str, str]:
    """Return the text of a value and that of its interval."""
    text = show(cell, column)
    if cell.value is None or isinstance(cell.value, str):
        return text, ""
    if column.kind == "count":
        return text.replace(",", ""), ""
    number, gap, span = text.partition(" [")
    return number, f"[{span}" if gap else ""
