"""Rows of numbers in text, read at the speed of memory: what sensors write as CSV, but faster than a CSV reader.

Conventions
-----------
- One row per line, the same number of cells in every row. Cells stand between a separator byte; blanks around a cell
  are passed over. With a blank as the separator any run of blanks and tabs separates. A row may end in a byte of its
  own (``;``) before the line does. A carriage return before the newline is passed over, and so are blank lines, which
  are counted.
- A cell may stand in double quotes. A number is ``[+-] digits [. digits] [e [+-] digits]`` with at least one digit; an
  integer has no point and fits 64 bits; text has 1 to 8 bytes. Where ``missing`` is allowed, an empty cell and ``nan``
  (in any case) are NaN. Everything else is an error with file, line and cell.
- A number is the double that is nearest to what is written, to the last bit, as Python's ``float`` gives it.

How numbers are rounded
-----------------------
Up to 19 digits are gathered in 64 bits. Small mantissas with small exponents are one exact multiplication or division
(Clinger, *How to read floating point numbers accurately*, PLDI 1990). Others are multiplied with a 128-bit power of
five, of which the high bits decide (Lemire, *Number parsing at a gigabyte per second*, Software: Practice and
Experience 51, 2021). The few that these cannot decide (over 19 digits, the very small and the very large) go to
``float``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gnomon.core.errors import InputError, counted
from gnomon.intake import _digits
from gnomon.intake.faults import shown
from gnomon.intake.limits import DEFAULT, Limits
from gnomon.intake.npy import Array
from gnomon.intake.streams import Stream, whole_lines

KINDS = {"-": _digits.SKIP, "f": _digits.FLOAT, "i": _digits.INTEGER, "s": _digits.TEXT}
"""Letter of a cell: passed over without a look, a float, an integer, text."""
_SLOW = 4096  # cells that are left to Python before it is called
_BLOCK = 8 << 20
_LONGEST_ROW = 1 << 20


@dataclass(frozen=True)
class Layout:
    """What a row is.

    Attributes
    ----------
    cells
        One letter of :data:`KINDS` per cell.
    separator
        The byte between cells; a blank stands for any run of blanks and tabs.
    end
        The byte at the end of a row, or none.
    header
        Lines before the first row.
    missing
        Whether floats may be empty or ``nan``.
    """

    cells: str
    separator: str = ","
    end: str = ""
    header: int = 0
    missing: bool = False

    def __post_init__(self) -> None:
        odd = sorted(set(self.cells) - set(KINDS))
        if odd or not self.cells or len(self.separator) != 1 or len(self.end) > 1:
            raise InputError(
                f"layout {self.cells!r} between {self.separator!r} to {self.end!r}: expected letters of "
                f"{' '.join(KINDS)}, one byte between cells and at most one at the end"
            )


def parse(data: bytes, layout: Layout, name: str | os.PathLike[str] = "<bytes>", *, line: int = 1) -> tuple[Array, ...]:
    """Return one array per cell of a row that is not passed over: float64, int64 or ``S8``.

    Parameters
    ----------
    data
        Whole lines; the last one need not be ended.
    layout
        What a row is; its header is passed over.
    name
        What to call the source in messages.
    line
        Number of the first line.

    Raises
    ------
    InputError
        A line that is not a row, with its number and the cell.
    """
    start = 0
    for _ in range(layout.header):
        start = data.find(b"\n", start) + 1
        if not start:
            raise InputError(f"{shown(name)}: ends in its header of {counted(layout.header, 'line')}; write it again")
    values = _rows(data, start, layout, name, line + layout.header)
    return tuple(_typed(values[:, k], kind) for k, kind in enumerate(layout.cells.replace("-", "")))


def read(
    path: str | os.PathLike[str], layout: Layout, limits: Limits = DEFAULT, *, block: int = _BLOCK
) -> tuple[Array, ...]:
    """Return the columns of a file, as :func:`parse` does; ``.gz`` is decompressed, memory is that of the columns."""
    parts = list(blocks(path, layout, limits, block=block))
    return tuple(np.concatenate(column) for column in zip(*parts, strict=True))


def blocks(
    path: str | os.PathLike[str], layout: Layout, limits: Limits = DEFAULT, *, block: int = _BLOCK
) -> Iterator[tuple[Array, ...]]:
    """Yield the columns of a file a block of lines at a time, for files that are larger than memory."""
    line, plain = 1, Layout(layout.cells, layout.separator, layout.end, 0, layout.missing)
    with Stream(path, limits.raised()) as stream:
        for _, text in whole_lines(stream, block, longest=_LONGEST_ROW):
            yield parse(text, layout if line == 1 else plain, path, line=line)
            line += text.count(b"\n")


def _rows(data: bytes, start: int, layout: Layout, name: str | os.PathLike[str], line: int) -> Array:
    text = np.frombuffer(data + b"\n" * _digits.AHEAD, dtype=np.uint8)
    kinds = np.array([KINDS[letter] for letter in layout.cells], dtype=np.int64)
    rows = data.count(b"\n", start) + (start < len(data) and not data.endswith(b"\n"))
    out = np.empty((rows, int((kinds != _digits.SKIP).sum())), dtype=np.float64)
    slow = np.empty((_SLOW, 4), dtype=np.int64)
    state = np.array([start, 0, line, 0], dtype=np.int64)
    marks = (ord(layout.separator), ord(layout.end) if layout.end else -1)
    fault = _digits.SLOW
    while fault == _digits.SLOW:
        fault, cell, at = _digits.scan(
            text, kinds, marks[0], marks[1], layout.missing, out, slow, state, _digits.tables()
        )
        for column, row, first, last in slow[: state[3]].tolist():
            out[row, column] = float(data[first:last])
        state[3] = 0
    if fault != _digits.DONE:
        raise InputError(_explained(data, layout, name, int(state[2]), fault, cell, at))
    return out[: int(state[1])]


def _typed(values: Array, kind: str) -> Array:
    return values if kind == "f" else values.view(np.int64 if kind == "i" else "S8")


def _explained(
    data: bytes, layout: Layout, name: str | os.PathLike[str], line: int, fault: int, cell: int, at: int
) -> str:
    where = f"{shown(name)}: line {line}"
    first = data.rfind(b"\n", 0, at) + 1
    last = data.find(b"\n", first)
    whole = data[first : last if last >= 0 else len(data)].decode("latin-1").strip("\r")
    row = f"{counted(len(layout.cells), 'cell')} between {_between(layout.separator, whole)}"
    row += f" and {layout.end!r} at the end" if layout.end else ""
    if fault == _digits.SHORT:
        return f"{where}: ends after {counted(cell, 'cell')} ({shown(whole, 60)!r}), expected {row}; write it again"
    if fault == _digits.LONG:
        return f"{where}: goes on after its last cell ({shown(whole, 60)!r}), expected {row}; correct the line"
    kind = {"f": "a number", "i": "a whole number of 64 bits", "s": "text of 1 to 8 bytes", "-": "a cell"}
    marks = {"\n", layout.separator, layout.end, *(" \t" if layout.separator == " " else "")} - {""}
    stop = min((k for k in (data.find(mark.encode("latin-1"), at) for mark in marks) if k >= 0), default=len(data))
    got = data[at:stop].decode("latin-1").strip()
    return f"{where}: cell {cell + 1} is {shown(got, 40)!r}, expected {kind[layout.cells[cell]]}; correct the line"


def _between(separator: str, line: str) -> str:
    """Say what stands between cells; a blank stands for tabs too, so a line says which."""
    if separator == "\t" or (separator == " " and "\t" in line):
        return "tabs"
    return "blanks" if separator == " " else repr(separator)
