"""Inputs as arrays: columns of the features of one window, or of two.

A pair of windows ``a, b`` enters ``temporal_order`` as ``[a, b, b - a]`` and ``misalignment_detection`` as
``[motion of a, depth and video of b]``. Where windows and columns are one run each, the input is a view of the
features; else only what is read is copied.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np

from gnomon.core.tallies import Array
from gnomon.suites.episode.tasks.data import Table
from gnomon.suites.episode.tasks.declared import MOTION, VISUAL, Task, input_blocks

DIGEST_BYTES = 16
_BATCH = 256


def sides(task: Task, variant: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the blocks that are read of the first and of the second window; nothing of a second one where none is."""
    blocks = input_blocks(task, variant)
    if task.inputs == "motion and visual":
        return tuple(name for name in blocks if name in MOTION), tuple(name for name in blocks if name in VISUAL)
    return blocks, blocks if task.kind == "pair" else ()


def width(table: Table, task: Task, variant: str) -> int:
    """Return the number of columns of an input."""
    first, second = (len(table.columns(names)) if names else 0 for names in sides(task, variant))
    return first + second + (first if task.name == "temporal_order" else 0)


def runs(numbers: Array) -> list[slice]:
    """Return rising numbers as runs without gaps.

    >>> runs(np.array([3, 4, 5, 9]))
    [slice(3, 6, None), slice(9, 10, None)]
    """
    if not len(numbers):
        return []
    breaks = np.flatnonzero(np.diff(numbers) != 1) + 1
    return [slice(int(part[0]), int(part[-1]) + 1) for part in np.split(np.asarray(numbers), breaks)]


def taken(table: Table, rows: Array, blocks: Sequence[str]) -> Array:
    """Return some blocks of some windows, ``(n, d)``; a view where both are one run."""
    columns = runs(table.columns(blocks))
    chosen: Array | slice = np.asarray(rows, dtype=np.int64)
    if len(rows) and (np.diff(rows) == 1).all():
        chosen = slice(int(rows[0]), int(rows[-1]) + 1)
    if len(columns) == 1:
        return np.asarray(table.values[chosen, columns[0]])
    if not columns:
        return np.zeros((len(rows), 0), dtype=np.float32)
    return np.concatenate([np.asarray(table.values[chosen, run]) for run in columns], axis=1)


def of_windows(table: Table, task: Task, variant: str, rows: Array, out: Array | None = None) -> Array:
    """Return the inputs of samples of one episode, ``(n, d)`` float32, in ``out`` if it is given."""
    first, second = sides(task, variant)
    if rows.ndim == 1:
        found = taken(table, rows, first)
        if out is None:
            return found
        out[:] = found
        return out
    out = np.empty((len(rows), width(table, task, variant)), dtype=np.float32) if out is None else out
    a, b = taken(table, rows[:, 0], first), taken(table, rows[:, 1], second)
    split = a.shape[1]
    out[:, :split] = a
    out[:, split : split + b.shape[1]] = b
    if task.name == "temporal_order":
        np.subtract(b, a, out=out[:, 2 * split :])
    return out


def digests(table: Table, task: Task, variant: str, rows: Array) -> list[str]:
    """Return a hash of the content of every input: BLAKE2b of what is read of its windows."""
    first, second = sides(task, variant)
    if rows.ndim == 1:
        return [one.hex() for one in _hashed(table, rows, first)]
    own = dict(zip(np.unique(rows[:, 0]).tolist(), _hashed(table, np.unique(rows[:, 0]), first), strict=True))
    other = dict(zip(np.unique(rows[:, 1]).tolist(), _hashed(table, np.unique(rows[:, 1]), second), strict=True))
    return [hashlib.blake2b(own[a] + other[b], digest_size=DIGEST_BYTES).hexdigest() for a, b in rows.tolist()]


def _hashed(table: Table, rows: Array, blocks: Sequence[str]) -> Iterator[bytes]:
    for start in range(0, len(rows), _BATCH):
        part = np.ascontiguousarray(taken(table, rows[start : start + _BATCH], blocks))
        for row in part:
            yield hashlib.blake2b(row.tobytes(), digest_size=DIGEST_BYTES).digest()
