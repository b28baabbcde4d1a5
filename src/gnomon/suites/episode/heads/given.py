"""Arrays that heads are given, checked: shapes, finite numbers, codes within their classes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gnomon.core.errors import InputError, counted
from gnomon.core.tallies import Array

CHECKED = 1 << 22
"""Numbers that are looked at in one go."""


def rows(x: Array, width: int | None = None) -> Array:
    """Return features ``(n, d)`` as they are, after a look at every number; `width` is the d that a head knows."""
    if x.ndim != 2 or x.dtype.kind != "f":
        raise InputError(f"features: expected floats (rows, columns), but got {x.dtype} {x.shape}")
    if width is not None and x.shape[1] != width:
        raise InputError(f"features: the head was fitted on {counted(width, 'column')}, but got {x.shape[1]:,}")
    step = max(1, CHECKED // max(1, x.shape[1]))
    for start in range(0, len(x), step):
        finite = np.isfinite(x[start : start + step])
        if not finite.all():
            row, column = np.argwhere(~finite)[0]
            at = (int(row) + start, int(column))
            raise InputError(f"features: row {at[0]}, column {at[1]} is {x[at]}, expected a number; mask it before")
    return x


def as_many(x: Array, y: Array) -> None:
    """Refuse rows without an answer, answers without a row, and none at all."""
    if len(x) != len(y):
        raise InputError(f"fitting: got {counted(len(x), 'row')} of features and {len(y):,} answers")
    if not len(x):
        raise InputError("fitting: got no rows to learn from; the part that is trained on is empty")


def codes(y: Array, size: int) -> Array:
    """Return codes ``(n,)`` below `size`."""
    found = np.asarray(y)
    if found.ndim != 1 or found.dtype.kind not in "iu":
        raise InputError(f"codes: expected whole numbers (rows,), but got {found.dtype} {found.shape}")
    out = found.astype(np.int64)
    if len(out) and (out.min() < 0 or out.max() >= size):
        row = int(np.flatnonzero((out < 0) | (out >= size))[0])
        raise InputError(f"codes: row {row} is {out[row]}, expected 0 to {size - 1} for {counted(size, 'class')}")
    return out


def sets(y: Array, size: int) -> Array:
    """Return sets ``(n, size)`` as booleans."""
    found = np.asarray(y)
    if found.ndim != 2 or found.shape[1] != size:
        raise InputError(f"sets: expected (rows, {size}), a column per label, but got {found.shape}")
    if found.dtype != bool and not np.isin(found, (0, 1)).all():
        raise InputError("sets: expected 0 and 1 alone")
    return found.astype(bool)


def vectors(y: Array, mask: Array | None = None) -> tuple[Array, Array | None]:
    """Return vectors ``(n, k)`` as they are and their mask; None where everything is valid."""
    found = np.asarray(y)
    if found.ndim != 2 or found.dtype.kind != "f":
        raise InputError(f"vectors: expected floats (rows, columns), but got {found.dtype} {found.shape}")
    valid = None
    if mask is not None:
        if mask.shape != found.shape or mask.dtype != bool:
            raise InputError(f"mask: expected booleans {found.shape}, but got {mask.dtype} {mask.shape}")
        valid = None if mask.all() else mask
    wrong = ~np.isfinite(found) if valid is None else valid & ~np.isfinite(found)
    if wrong.any():
        row, column = (int(at) for at in np.argwhere(wrong)[0])
        raise InputError(
            f"vectors: row {row}, column {column} is {found[row, column]}, expected a number; say so in the mask"
        )
    return found, valid


def usable(x: Array, y: Array, mask: Array | None) -> tuple[Array, Array, Array | None]:
    """Return features, vectors and mask without the rows in which nothing is valid; what is not valid becomes 0."""
    if mask is None:
        return x, y, None
    kept = mask.any(axis=1)
    if not kept.any():
        raise InputError("fitting: no row has a valid target; there is nothing to learn from")
    y = np.where(mask, y, 0)
    return (x, y, mask) if kept.all() else (x[kept], y[kept], mask[kept])


def unmasked(mask: Array | None) -> None:
    """Refuse a mask where answers are not vectors."""
    if mask is not None:
        raise InputError("mask: it is for vectors alone; leave rows without a label out instead")


def names(classes: Sequence[str]) -> int:
    """Return how many classes there are; there has to be one."""
    if not len(classes):
        raise InputError("classes: got none; name those that codes or columns stand for")
    return len(classes)
