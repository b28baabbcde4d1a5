"""Walking over rows of bytes whose length is written in them."""

from __future__ import annotations

from typing import Any

import numpy as np

from gnomon.core.compiling import jit


@jit
def walk(data: Any, at: int, rows: int, lengths: Any, signed: Any, sizes: Any, big: bool, places: Any) -> int:
    """Return the byte after the last of `rows` rows that begin at byte `at`, or minus the number of a broken row.

    Parameters
    ----------
    data
        Unsigned bytes.
    at, rows
        Where the first row begins, and how many there are.
    lengths
        For each property the bytes of the count before its items; 0 for one item without a count.
    signed
        For each property whether that count is a signed number.
    sizes
        For each property the bytes of an item.
    big
        Whether counts are big-endian.
    places
        ``(rows, properties)``, receives where each property begins; of no rows if that is not asked for.
    """
    for row in range(rows):
        for p in range(sizes.size):
            if row < places.shape[0]:
                places[row, p] = at
            if at + max(lengths[p], 1) > data.size:
                return -row - 1
            count: Any = 1
            if lengths[p]:
                count = 0
                for k in range(lengths[p]):
                    place = at + (k if big else lengths[p] - 1 - k)
                    count = (count << 8) | np.int64(data[place])
                if signed[p] and count >= 1 << (8 * lengths[p] - 1):
                    return -row - 1
            at += lengths[p] + count * sizes[p]
            if at > data.size:
                return -row - 1
    return at
