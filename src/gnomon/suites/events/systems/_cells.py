"""Accelerometer records as cells of equal length, whatever the rate of the sensor and the chunks they come in.

Conventions
-----------
- A cell is 1/25 s of time and holds the mean of the samples in it; an empty one repeats the one before.
- Where more than 2 s are missing, a new piece begins: nothing is known of the time between.
- Cells are handed over in blocks of one minute, counted from the start of their piece; the last one of a piece is
  shorter. Blocks depend on the records alone, so that all that is computed from them does, to the last bit.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.tallies import Array

RATE = 25
"""Cells per second."""
BLOCK = 60 * RATE
MOST_GAP = 2 * RATE
_BATCH = 4096


class Block(NamedTuple):
    """Mean accelerations ``(n, 3)`` of the cells from `start` on; `fresh` begins a new piece."""

    start: int
    values: Array
    fresh: bool


class Cells:
    """Collects records of the type ``accel`` and gives them back as blocks."""

    def __init__(self) -> None:
        self._held: list[Any] = []
        self._start: int | None = None
        """First cell of the block under way; None before a piece begins."""
        self._last = np.zeros(3)
        self._fresh = True

    def add(self, recs: Iterable[Any]) -> Iterator[Block]:
        """Take records, and yield the blocks that are complete."""
        remaining = iter(recs)
        while batch := list(itertools.islice(remaining, _BATCH)):
            self._held += [record for record in batch if record["type"] == "accel"]
            if self._held and self._held[-1]["time"] - self._held[0]["time"] > BLOCK / RATE:
                yield from self._complete()

    def rest(self) -> list[Block]:
        """Return what is not complete yet, as blocks, without giving it away."""
        ahead = Cells()
        ahead._held, ahead._start = list(self._held), self._start
        ahead._last, ahead._fresh = self._last, self._fresh
        blocks = list(ahead._complete())
        if ahead._held:
            cells, values = _arrays(ahead._held)
            blocks.append(ahead._block(cells, values, int(cells[-1]) + 1))
        return blocks

    def _complete(self) -> Iterator[Block]:
        cells, values = _arrays(self._held)
        breaks = [*(np.flatnonzero(np.diff(cells) > MOST_GAP) + 1).tolist(), len(cells)]
        done = 0
        for stop in breaks:
            while done < stop:
                start = int(cells[done]) if self._start is None else self._start
                end = start + BLOCK
                cut = done + int(np.searchsorted(cells[done:stop], end))
                if cut == len(cells):
                    break
                whole = cut < stop
                block_end = end if whole else int(cells[stop - 1]) + 1
                yield self._block(cells[done:cut], values[done:cut], block_end)
                if not whole:
                    self._start, self._fresh = None, True
                done = cut
        del self._held[:done]

    def _block(self, cells: Array, values: Array, end: int) -> Block:
        start = int(cells[0]) if self._start is None else self._start
        count, places = end - start, cells - start
        number = np.bincount(places, minlength=count)
        sums = np.stack([np.bincount(places, weights=axis, minlength=count) for axis in values.T], axis=1)
        means = np.concatenate([self._last[np.newaxis], sums / np.maximum(number, 1)[:, np.newaxis]])
        source = np.maximum.accumulate(np.where(number > 0, np.arange(1, count + 1), 0))
        block = Block(start, means[source], self._fresh)
        self._start, self._last, self._fresh = end, block.values[-1], False
        return block


def _arrays(held: list[Any]) -> tuple[Array, Array]:
    times = np.fromiter(map(itemgetter("time"), held), dtype=np.float64, count=len(held))
    listed = [record["values"] for record in held]
    if {*map(len, listed)} - {3}:
        wrong = next(record for record in held if len(record["values"]) != 3)
        raise InputError(f"accel record at {wrong['time']} s: {len(wrong['values'])} values, expected x, y and z")
    values = np.fromiter(itertools.chain.from_iterable(listed), dtype=np.float64, count=3 * len(held))
    return np.floor(times * RATE).astype(np.int64), values.reshape(-1, 3)
