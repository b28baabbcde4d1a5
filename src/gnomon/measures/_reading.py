"""What the measures of events are given, as arrays: times, labels, scores, and a window."""

from __future__ import annotations

from typing import Any

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
from gnomon.numerics.coding import as_labels, encode_pair
from gnomon.numerics.foreign import to_native

EVENT = "event"
"""Name of the one class of input without labels."""

Window = tuple[float, float]


def read_window(window: Any) -> Window:
    """Return start and end in seconds."""
    try:
        low, high = (float(edge) for edge in window)
    except (TypeError, ValueError) as error:
        raise InputError(f"window: expected (start, end) in seconds, but got {window!r}") from error
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise InputError(f"window: expected start < end, but got [{low}, {high})")
    return low, high


def read_side(given: Any, side: str, *, scores: bool = False) -> tuple[Array, Array, Any, Array | None]:
    """Return starts, ends, labels (or ``None``) and, where they are allowed, scores (or ``None``) of one recording."""
    most = 4 if scores else 3
    columns = _columns(given, side, most)
    starts, ends, *rest = (_numbers(column, side) for column in (*columns[:2], *columns[3:]))
    if len({len(column) for column in columns}) > 1:
        raise InputError(f"{side}: expected columns of one length, but got {[len(column) for column in columns]}")
    wrong = np.flatnonzero(ends < starts)
    if len(wrong):
        where = int(wrong[0])
        raise InputError(f"{side}: interval {where} ends before it starts: [{starts[where]}, {ends[where]})")
    return starts, ends, columns[2] if len(columns) > 2 else None, rest[0] if rest else None


def encode(true: Any, returned: Any, lengths: tuple[int, int]) -> tuple[list[Any], Array, Array]:
    """Return the classes that occur and the codes of both sides, of whatever lengths; no class without any label."""
    given = [labels is not None for labels, n in zip((true, returned), lengths, strict=True) if n]
    if not any(given):
        return [], np.zeros(lengths[0], np.int64), np.zeros(lengths[1], np.int64)
    if not all(given):
        raise InputError("one side has labels and the other has none: give labels to both, or to neither")
    sides = [as_labels(side, name) for side, name in ((true, "truth"), (returned, "prediction")) if side is not None]
    filled = [side for side in sides if len(side)]
    if len({side.dtype for side in filled}) > 1:
        filled = [side.astype(object) for side in filled]
    joined = np.concatenate(filled)
    labels, codes, _ = encode_pair(joined, joined)
    used, codes = np.unique(codes, return_inverse=True)
    codes = codes.astype(np.int64)
    return [labels[code] for code in used.tolist()], codes[: lengths[0]], codes[lengths[0] :]


def _columns(given: Any, side: str, most: int) -> tuple[Any, ...]:
    """Return the columns of rows, or of a tuple of arrays."""
    given = to_native(given, side)
    if isinstance(given, tuple) and any(hasattr(part, "__array__") or hasattr(part, "__dlpack__") for part in given):
        given = tuple(np.asarray(to_native(part, side)) for part in given)
    if isinstance(given, tuple) and 2 <= len(given) <= most and all(isinstance(part, np.ndarray) for part in given):
        if any(part.ndim != 1 for part in given):
            raise InputError(f"{side}: expected arrays of one dimension, but got {[part.shape for part in given]}")
        return given
    if isinstance(given, np.ndarray) and given.ndim == 2 and given.shape[1] == 2:
        return given[:, 0], given[:, 1]
    form = "(start, end[, label[, score]])" if most == 4 else "(start, end[, label])"
    try:
        rows = [tuple(row) for row in given]
    except TypeError as error:
        raise InputError(f"{side}: expected a sequence of {form}, but got {given!r:.80}") from error
    widths = {len(row) for row in rows}
    if len(widths) > 1 or not widths <= set(range(2, most + 1)):
        raise InputError(f"{side}: expected rows of {form}, all of one width, but got widths {sorted(widths)}")
    return tuple(zip(*rows, strict=True)) if rows else ([], [])


def _numbers(column: Any, side: str) -> Array:
    try:
        numbers = np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{side}: expected times in seconds, but got {column!r:.80}") from error
    if numbers.ndim != 1 or not np.isfinite(numbers).all():
        raise InputError(f"{side}: expected finite times in seconds")
    return numbers
