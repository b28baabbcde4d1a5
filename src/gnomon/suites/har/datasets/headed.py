"""Numbers in text under a header, taken by the names of their columns, in whatever order these are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from gnomon.core.errors import InputError, some
from gnomon.core.tallies import Array
from gnomon.intake.faults import shown
from gnomon.intake.numbers import Layout, parse

LARGEST = 1e6
"""No acceleration, angular rate or unit of them is larger."""


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


def bounded(values: Sequence[Array], name: str, what: str = "a value") -> Array:
    """Return columns beside one another, ``(n, k)``, after a look at their size; NaN passes."""
    table = np.stack(values, axis=1)
    wild = np.abs(table) > LARGEST
    if wild.any():
        row = int(np.argmax(wild.any(axis=1)))
        got = float(table[row][wild[row]][0])
        raise InputError(f"{name}: row {row + 1}: {what} of {got:g}, expected at most {LARGEST:g}; correct the file")
    return table
