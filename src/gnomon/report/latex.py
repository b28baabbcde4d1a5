"""Tables for a paper: booktabs, plain digits, arrows for the better direction.

The best of a column is bold only where it can be told apart from the second; a dagger stands behind partial runs. A
table needs the packages ``booktabs`` and ``graphicx`` and, on engines older than 2020, ``textcomp``; text is UTF-8 and
escaped. Numbers are plain digits without separators of thousands, as columns of ``siunitx`` expect them. Intervals are
set small, and under their numbers where the table would be too wide for a page; what is still too wide is scaled to the
line. An opening bracket or a star is kept from being read as an argument of a line's end.
"""

from __future__ import annotations

from collections.abc import Sequence

from gnomon.core.table import Cell, Column, Table, View
from gnomon.report.cells import grid, numeric, show

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
}
ARROWS = {"up": r" $\uparrow$", "down": r" $\downarrow$", "": ""}
DAGGER = r"$^{\dagger}$"
LINE = 80
"""Characters that a line of a page holds, about."""


def render(items: Sequence[Table | View]) -> str:
    """Return tables as LaTeX, one ``table`` environment each."""
    return "\n".join(_table(item) for item in items if isinstance(item, Table))


def escape(text: str) -> str:
    r"""Keep text from being read as LaTeX; what fonts lack by default is left to them.

    >>> print(escape("50 % of a_b & {c}"))
    50 \% of a\_b \& \{c\}
    """
    plain = " ".join("".join(char if char.isprintable() or char.isspace() else " " for char in text).split())
    return "".join(ESCAPED.get(char, char) for char in plain)


def _table(table: Table) -> str:
    sides = "".join("r" if numeric(column) else "l" for column in table.columns)
    stacked = _wide(table)
    head = " & ".join(_heading(column, stacked) for column in table.columns)
    rows = [" & ".join(_cell(row[column.key], column, stacked) for column in table.columns) for row in table.rows]
    notes = [rf"  \\[2pt] \parbox{{\linewidth}}{{\footnotesize {escape(note)}.}}" for note in table.notes]
    if any(cell.mark == "partial" for row in table.rows for cell in row.values()):
        notes.append(rf"  \\[2pt] \parbox{{\linewidth}}{{\footnotesize {DAGGER} partial run.}}")
    lines = [
        r"\begin{table}",
        r"  \centering\small\setlength{\tabcolsep}{4pt}",
        rf"  \caption{{{escape(table.title)}}}",
        r"  \resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"  \begin{{tabular}}{{{sides}}}",
        r"    \toprule",
        rf"    {head} \\",
        r"    \midrule",
        *(rf"    {row} \\" for row in rows),
        r"    \bottomrule",
        r"  \end{tabular}}",
        *notes,
        r"\end{table}",
        "",
    ]
    return "\n".join(lines)


def _wide(table: Table) -> bool:
    """Say whether a table would not fit a page with intervals beside the numbers; they go under them then."""
    headings, rows = grid(table)
    widths = [max(map(len, texts)) for texts in zip(headings, *rows, strict=True)]
    return sum(widths) > LINE


def _heading(column: Column, stacked: bool) -> str:
    unit = f" ({escape(column.unit)})" if column.unit else ""
    text = f"{escape(column.title)}{unit}"
    words, side = text.split(" "), "r" if numeric(column) else "l"
    if stacked and len(words) > 1:
        half = min(range(1, len(words)), key=lambda at: max(len(" ".join(words[:at])), len(" ".join(words[at:]))))
        lines = [" ".join(words[:half]), " ".join(words[half:]) + ARROWS[column.direction]]
        return rf"\begin{{tabular}}[b]{{@{{}}{side}@{{}}}}" + r"\\".join(lines) + r"\end{tabular}"
    return text + ARROWS[column.direction]


def _cell(cell: Cell, column: Column, stacked: bool) -> str:
    text = show(cell, column).replace(",", "") if column.kind == "count" else show(cell, column)
    number, gap, span = text.partition(" [") if isinstance(cell.value, float) else (text, "", "")
    shown = escape(number)
    if cell.mark == "best":
        shown = rf"\textbf{{{shown}}}"
    if gap:
        small = rf"{{\scriptsize {escape('[' + span)}}}"
        shown = (
            rf"\begin{{tabular}}[t]{{@{{}}r@{{}}}}{shown}\\{small}\end{{tabular}}" if stacked else f"{shown} {small}"
        )
    return shown + (DAGGER if cell.mark == "partial" else "")
