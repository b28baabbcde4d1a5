"""Rows of numbers as text, in the digits that the originals have, at the speed of memory.

A :class:`Form` says what a row is: its cells, what stands between them, and how it begins and ends. :func:`rows` gives
the bytes of many rows at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gnomon.core.tallies import Array
from gnomon.suites.har.distributions import _cells

_BLOCK = 1 << 15


@dataclass(frozen=True)
class Cell:
    """How a number is written.

    Attributes
    ----------
    kind
        ``WHOLE`` an integer; ``FIXED`` rounded to decimals, then as Python writes it (``0.5``, ``1.2e-05``);
        ``GENERAL`` significant digits as C's ``%g`` (``0.5``, ``1.2e-05``, ``3``); ``SINGLE`` the fewest digits that
        give the single-precision number back, as Java writes it (``0.5``, ``1.2E-5``, ``3.0``); ``POWERS`` always with
        a power of three digits and a blank for plus (`` 5.0000000e-001``); ``WORD`` one of some words, by its number.
    digits
        Decimals of ``FIXED``, significant digits of ``GENERAL`` and ``POWERS``.
    """

    kind: int
    digits: int = 0


WHOLE = Cell(_cells.WHOLE)
SINGLE = Cell(_cells.SINGLE)
WORD = Cell(_cells.WORD)


def fixed(decimals: int) -> Cell:
    """Return a cell of numbers that are rounded to decimals."""
    return Cell(_cells.FIXED, decimals)


def general(digits: int) -> Cell:
    """Return a cell of numbers with significant digits."""
    return Cell(_cells.GENERAL, digits)


def powers(digits: int) -> Cell:
    """Return a cell of numbers with a power of ten."""
    return Cell(_cells.POWERS, digits)


@dataclass(frozen=True)
class Form:
    """What a row is: cells, what stands before, between and after them, and the words that cells may hold."""

    cells: tuple[Cell, ...]
    separator: str = ","
    begin: str = ""
    end: str = "\n"
    words: tuple[str, ...] = ()


def rows(form: Form, *columns: Array) -> Iterator[bytes]:
    """Yield the bytes of rows, some thousands at a time.

    Parameters
    ----------
    form
        What a row is.
    columns
        ``(n,)`` or ``(n, k)``, together one column per cell. NaN is written ``NaN``.
    """
    table = [column for array in columns for column in (array.T if array.ndim > 1 else [array])]
    if len(table) != len(form.cells):
        raise ValueError(f"expected {len(form.cells)} columns, but got {len(table)}")
    whole = [cell.kind in (_cells.WHOLE, _cells.WORD) for cell in form.cells]
    kinds = np.array([cell.kind for cell in form.cells], dtype=np.int64)
    digits = np.array([cell.digits for cell in form.cells], dtype=np.int64)
    sources = np.array([whole[:k].count(whole[k]) for k in range(len(whole))], dtype=np.int64)
    words, starts = _joined([word.encode() for word in form.words])
    between = [form.begin, *[form.separator] * (len(whole) - 1), form.end]
    marks, ends = _joined([text.encode() for text in between])
    longest = max((len(word.encode()) for word in form.words), default=0)
    width = len(marks) + len(whole) * max(_cells.WIDEST, longest)
    for first in range(0, len(table[0]), _BLOCK):
        part = [column[first : first + _BLOCK] for column in table]
        wholes = _stacked([c for c, is_whole in zip(part, whole, strict=True) if is_whole], len(part[0]), np.int64)
        numbers = _stacked([c for c, is_whole in zip(part, whole, strict=True) if not is_whole], len(part[0]), float)
        if not (np.abs(numbers) < _cells.MOST).all(where=~np.isnan(numbers)):
            raise ValueError(f"numbers of {_cells.MOST:g} and more cannot be written")
        out = np.empty(len(part[0]) * width, dtype=np.uint8)
        size = _cells.write(kinds, digits, sources, wholes, numbers, words, starts, marks, ends, out)
        yield out[:size].tobytes()


def joined(form: Form, *columns: Array, header: str = "") -> bytes:
    """Return rows as bytes, after a header."""
    return header.encode() + b"".join(rows(form, *columns))


def write(path: Path, form: Form, *columns: Array, header: str = "") -> None:
    """Write rows to a file, after a header; its folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(header.encode())
        file.writelines(rows(form, *columns))


def _joined(parts: Sequence[bytes]) -> tuple[Array, Array]:
    whole = np.frombuffer(b"".join(parts), dtype=np.uint8)
    return whole, np.cumsum([0, *map(len, parts)], dtype=np.int64)


def _stacked(columns: list[Array], count: int, kind: type) -> Array:
    if not columns:
        return np.empty((count, 0), dtype=kind)
    return np.ascontiguousarray(np.stack(columns, axis=1), dtype=kind)
