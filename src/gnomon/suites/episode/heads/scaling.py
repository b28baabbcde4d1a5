"""Standardising by what is trained on: column by column, in double precision, a few columns at a time.

A column whose spread (standard deviation, ddof 0) is below :data:`LEAST` is only centred. With a mask, mean and spread
are those of the valid numbers of a column; a column that has none gets NaN for both.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gnomon.core.tallies import Array

LEAST = 1e-6
COLUMNS = 1024
"""Columns that are in double precision at a time."""


class Scaler:
    """Mean and spread of the columns of rows ``(n, d)``.

    >>> scaler = Scaler(np.array([[0.0, 5.0], [2.0, 5.0]]))
    >>> scaler(np.array([[3.0, 6.0]])).tolist(), scaler.back(np.array([[2.0, 1.0]])).tolist()
    ([[2.0, 1.0]], [[3.0, 6.0]])
    """

    def __init__(self, rows: Array, mask: Array | None = None) -> None:
        width = rows.shape[1]
        self.mean, self.scale = np.empty(width), np.empty(width)
        for part in _parts(width):
            values = rows[:, part].astype(np.float64)
            valid = None if mask is None else mask[:, part]
            self.mean[part], self.scale[part] = _moments(values, valid)

    def blocks(self, rows: Array) -> Iterator[tuple[slice, Array]]:
        """Yield standardised columns ``(n, some)`` in double precision, and which they are."""
        for part in _parts(rows.shape[1]):
            values = rows[:, part].astype(np.float64)
            values -= self.mean[part]
            values /= self.scale[part]
            yield part, values

    def __call__(self, rows: Array) -> Array:
        """Return standardised rows, in the precision that they have."""
        out = np.empty(rows.shape, dtype=rows.dtype)
        for part, values in self.blocks(rows):
            out[:, part] = values
        return out

    def back(self, rows: Array) -> Array:
        """Return standardised rows as they were before."""
        return np.asarray(rows * self.scale + self.mean)


def _moments(values: Array, valid: Array | None) -> tuple[Array, Array]:
    if valid is None:
        mean = values.mean(axis=0)
        values -= mean
        spread = np.sqrt(np.square(values, out=values).mean(axis=0))
    else:
        counts = valid.sum(axis=0)
        many = np.where(counts, counts, np.nan)
        mean = np.where(valid, values, 0.0).sum(axis=0) / many
        spread = np.sqrt(np.square(np.where(valid, values - mean, 0.0)).sum(axis=0) / many)
    return mean, np.where(spread < LEAST, 1.0, spread)


def _parts(width: int) -> Iterator[slice]:
    for start in range(0, width, COLUMNS):
        yield slice(start, min(start + COLUMNS, width))
