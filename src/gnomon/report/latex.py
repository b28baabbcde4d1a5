"""Tables for a paper: booktabs, plain digits, arrows for the better direction.

The best of a column is bold only where it can be told apart from the second; a dagger stands behind partial runs. A
table needs the packages ``booktabs`` and, on old engines, ``textcomp``; text is UTF-8 and escaped.
"""

from __future__ import annotations

from collections.abc import Sequence

from gnomon.core.errors import InputError
from gnomon.core.table import Cell, Column, Table, View
from gnomon.report.cells import numeric, show

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
    '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}",
    "'": r"{\textquotesingle}",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "±": r"$\pm$",
    "×": r"$\times$",
}
ARROWS = {"up": r" $\uparrow$", "down": r" $\downarrow$", "": ""}
DAGGER = r"$^{\dagger}$"


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
    keys = {column.key for column in table.columns}
    ragged = [row for row in table.rows if not keys <= row.keys()]
    if ragged:
        lacking = sorted(keys - ragged[0].keys())
        raise InputError(
            f"table {table.name!r}: a row has no cell for {', '.join(lacking)}; a paper needs whole tables"
        )
    sides = "".join("r" if numeric(column) else "l" for column in table.columns)
    head = " & ".join(_heading(column) for column in table.columns)
    rows = [" & ".join(_cell(row[column.key], column) for column in table.columns) for row in table.rows]
    notes = [rf"  \\[2pt] \parbox{{\linewidth}}{{\footnotesize {escape(note)}.}}" for note in table.notes]
    if any(cell.mark == "partial" for row in table.rows for cell in row.values()):
        notes.append(rf"  \\[2pt] \parbox{{\linewidth}}{{\footnotesize {DAGGER} partial run.}}")
    lines = [
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{{escape(table.title)}}}",
        rf"  \begin{{tabular}}{{{sides}}}",
        r"    \toprule",
        rf"    {head} \\",
        r"    \midrule",
        *(rf"    {row} \\" for row in rows),
        r"    \bottomrule",
        r"  \end{tabular}",
        *notes,
        r"\end{table}",
        "",
    ]
    return "\n".join(lines)


def _heading(column: Column) -> str:
    unit = f" ({escape(column.unit)})" if column.unit else ""
    return f"{escape(column.title)}{unit}{ARROWS[column.direction]}"


def _cell(cell: Cell, column: Column) -> str:
    text = escape(show(cell, column).replace(",", "") if column.kind == "count" else show(cell, column))
    if cell.mark == "best":
        return rf"\textbf{{{text}}}"
    return text + (DAGGER if cell.mark == "partial" else "")
