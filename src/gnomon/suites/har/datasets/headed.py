"""Numbers in text under a header, taken by the names of their columns, in whatever order these are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from gnomon.core.errors import InputError, some
from gnomon.core.tallies import Array
from gnomon.intake.faults import shown
from gnomon.intake.numbers import Layout, parse
from gnomon.suites.har.recordings import LARGEST


def header(data: bytes, name: str, separator: str = ",") -> tuple[str, ...]:
    """Return the names in the first line; a name that is there twice is refused."""
    line = data.partition(b"\n")[0].decode("utf-8", "replace").strip().lstrip("\ufeff")
    names = tuple(cell.strip().strip('"').strip() for cell in line.split(separator))
    twice = sorted({each for each in names if each and names.count(each) > 1})
    if twice:
        raise InputError(f"{name}: line 1: column {some(twice)} more than once; correct the header")
    return names


def columns(data: bytes, name: str, wanted: Mapping[str, str], *, missing: bool = False) -> dict[str, Array]:
    """Return columns of a file, by name.

    Parameters
    ----------
    data
        The whole file: a line of names, then rows between commas.
    name
        What to call it in messages.
    wanted
        Column -> its kind, a letter of :data:`gnomon.intake.numbers.KINDS`.
    missing
        Whether floats may be empty or ``nan``; they are NaN then.
    """
    names = header(data, name)
    absent = [each for each in wanted if each not in names]
    if absent:
        there = shown(some(names, show=12), 200)
        raise InputError(f"{name}: line 1: no column {some(absent)}, it has {there}; obtain the file again")
    cells = "".join(wanted.get(each, "-") for each in names)
    values = parse(data, Layout(cells, header=1, missing=missing), name)
    if not len(values[0]):
        raise InputError(f"{name}: no rows after the header; obtain the file again")
    return dict(zip((each for each in names if each in wanted), values, strict=True))


def bounded(
    values: Sequence[Array], name: str, text: bytes, *, line: int = 1, header: int = 0, unit: float = 1.0
) -> Array:
    """Return columns beside one another, ``(n, k)``, after a look at their size; NaN passes.

    Parameters
    ----------
    values
        Columns as they are written.
    name
        What to call the file in messages.
    text
        What was parsed, to tell the line.
    line, header
        Number of its first line, and lines before the first row.
    unit
        What a written 1 is in m/s^2 or rad/s.
    """
    table = np.stack(values, axis=1)
    most = LARGEST / unit
    wild = np.abs(table) > most
    if wild.any():
        row = int(np.argmax(wild.any(axis=1)))
        where = f"{name}: line {line_of(text, row, line=line, header=header)}"
        raise InputError(
            f"{where}: a value of {float(table[row][wild[row]][0]):g}, expected at most {most:.3g}; correct the file"
        )
    return table


def line_of(text: bytes, row: int, *, line: int = 1, header: int = 0) -> int:
    r"""Return the line of a row, counted from 0: blank lines are no rows, and neither are those of the header.

    >>> line_of(b"time,x\n1,2\n\n3,4\n", 1, header=1)
    4
    """
    for number, content in enumerate(text.split(b"\n")[header:], start=line + header):
        row -= bool(content.strip())
        if row < 0:
            return number
    raise AssertionError("a row is one of the lines")
