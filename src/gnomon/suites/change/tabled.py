"""Tables of boxes, a row each, read by columns: what is usual, and many times faster than row by row.

Of a table with anything wrong in it, or with columns of numbers that are something else, nothing is said but that it
is none of these: whoever asked reads it row by row, and that says what is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from gnomon.core.errors import InputError
from gnomon.core.scans import BOX_CLASSES, Boxes, parted
from gnomon.core.tallies import Array
from gnomon.numerics.solids import solids
from gnomon.suites.change.shapes import FRAME, class_code, together
from gnomon.suites.change.uniform import BATCH


class _Numbers(NamedTuple):
    values: Array
    given: Array


class Tabled(NamedTuple):
    """The scenes of a table in the order of their first rows: boxes, and the seconds that each took."""

    scenes: list[str]
    boxes: list[Boxes]
    seconds: list[float | None]


def read(table: pa.Table, form: Sequence[str]) -> Tabled | None:
    """Return the scenes of a table whose columns ``form`` give a box, or None where rows have to be looked at."""
    try:
        return _read(table, form)
    except (InputError, pa.ArrowException):
        return None


def _read(table: pa.Table, form: Sequence[str]) -> Tabled | None:
    names, place = _encoded(table, "scene")
    if not len(place) or int(place.min()) < 0 or not all(name.strip() for name in names):
        return None
    order = np.argsort(place, kind="stable")
    place, sizes = place[order], np.bincount(place, minlength=len(names))
    classes, codes = _encoded(table, "class")
    lookup = np.array([*(class_code(name, "a box") for name in classes), -1], np.int64)
    codes = lookup[codes][order]
    columns = [_numbers(table, name, order) for name in (*form, "score", "seconds")]
    if any(column is None or not np.isfinite(column.values).all() for column in columns):
        return None
    *corners, score, seconds = (column for column in columns if column is not None)
    filled, alone = codes >= 0, sizes[place] == 1
    given = np.stack([column.given for column in corners], axis=1)
    if (given != filled[:, np.newaxis]).any() or not (filled | alone & ~score.given).all():
        return None
    scored = score.given[filled]
    times = _times(seconds, sizes)
    if times is None or (scored.any() and not scored.all()):
        return None
    geometry = np.stack([column.values[filled] for column in corners], axis=1)
    for start in range(0, len(geometry), BATCH):
        solids(geometry[start : start + BATCH])
    sure = score.values[filled] if scored.any() else None
    boxes = Boxes(geometry, codes[filled], BOX_CLASSES, sure, FRAME)
    parts = parted(boxes, np.bincount(place[filled], minlength=len(names)).tolist())
    nothing = together([], [])
    return Tabled(names, [part if len(part) else nothing for part in parts], times)


def _encoded(table: pa.Table, name: str) -> tuple[list[str], Array]:
    """Return the texts of a column in the order in which they occur, and the place of each row's; -1 where none is."""
    column = table.column(name).combine_chunks()
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        raise InputError(f"{name} is no text")
    found = column.dictionary_encode()
    return found.dictionary.to_pylist(), found.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)


def _numbers(table: pa.Table, name: str, order: Array) -> _Numbers | None:
    """Return the numbers of a column in an order, 0 where there are none; None for a column of something else."""
    if name not in table.column_names:
        return _Numbers(np.zeros(len(order)), np.zeros(len(order), np.bool_))
    column = table.column(name).combine_chunks()
    kind = column.type
    if not (pa.types.is_null(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return None
    given = column.is_valid().to_numpy(zero_copy_only=False)
    values = column.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
    return _Numbers(values[order], given[order])


def _times(seconds: _Numbers, sizes: Array) -> list[float | None] | None:
    """Return the seconds of each scene, the rows of which follow one another; None where they are not the same."""
    first = np.cumsum(sizes) - sizes
    same = [np.array_equal(own, np.repeat(own[first], sizes)) for own in seconds]
    if not all(same) or (seconds.values < 0).any():
        return None
    pairs = zip(seconds.values[first].tolist(), seconds.given[first].tolist(), strict=True)
    return [value if given else None for value, given in pairs]
