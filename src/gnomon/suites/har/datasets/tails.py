"""Text that is larger than memory: blocks of whole lines, and runs of lines that end in the same cells.

In a table such as HHAR's the last cells of a row say whose it is. Lines that follow one another and end in the same
text are a run; a file is passed over once to find the runs, and what a run holds is read later, when it is wanted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from gnomon.core.compiling import jit
from gnomon.core.errors import InputError

BLOCK = 4 << 20
"""Bytes that are read at a time."""
LONGEST = 1 << 20
"""Bytes that a line may have."""
MOST = 200_000
"""Runs that a file may have."""
_COMMA, _NEWLINE, _RETURN = 44, 10, 13


@dataclass(frozen=True)
class Block:
    """Whole lines of a file: the number of the first one, at which byte it begins, and the text."""

    line: int
    start: int
    text: bytes


@dataclass(frozen=True)
class Run:
    """Lines that end the same: bytes from start to stop, the number of the first line, and how they end."""

    start: int
    stop: int
    line: int
    tail: str


def blocks(file: IO[bytes], where: str, *, line: int = 1, start: int = 0, stop: int | None = None) -> Iterator[Block]:
    """Yield the lines from a byte on, up to another; the file stands at the first of them."""
    text, left, fresh = b"", math.inf if stop is None else stop - start, b"more"
    while fresh:
        fresh = file.read(int(min(BLOCK, left)))
        left -= len(fresh)
        text += fresh
        cut = text.rfind(b"\n") + 1 if fresh else len(text)
        if not cut and len(text) > LONGEST:
            raise InputError(f"{where}: line {line}: more than {LONGEST} bytes; obtain the file again")
        if cut:
            block, text = Block(line, start, text[:cut]), text[cut:]
            yield block
            line, start = line + _lines(block.text), start + cut


def _lines(text: bytes) -> int:
    """Return how many lines end in a text; faster than counting bytes where they are many."""
    return int(np.count_nonzero(np.frombuffer(text, dtype=np.uint8) == _NEWLINE))


def runs(file: IO[bytes], where: str, cells: int, *, line: int = 1, start: int = 0) -> list[Run]:
    """Return the runs of lines that are the same after so many cells between commas; blank lines belong to any.

    That all lines have the same number of cells is for the reader of a run to check.

    Parameters
    ----------
    file
        Stands at the first line.
    where
        What to call it in messages.
    cells
        Cells at the beginning of a line that may differ.
    line, start
        Number of the first line, and at which byte of the file it begins.
    """
    found: list[tuple[int, int, str]] = []
    stop, out = start, np.empty((MOST + 1, 4), dtype=np.int64)
    for block in blocks(file, where, line=line, start=start):
        data = np.frombuffer(block.text, dtype=np.uint8)
        ends = np.flatnonzero(data == _NEWLINE)
        count = _changes(data, ends if block.text.endswith(b"\n") else np.append(ends, len(data)), cells, out)
        for first, number, begin, end in out[:count].tolist():
            tail = block.text[begin:end].decode("latin-1")
            if not found or found[-1][2] != tail:
                found.append((block.start + first, block.line + number, tail))
        if len(found) > MOST or count > MOST:
            raise InputError(
                f"{where}: line {found[-1][1]}: the last cells change more than {MOST:,} times; sort the file by them"
            )
        stop = block.start + len(block.text)
    stops = [*(first for first, _, _ in found), stop][1:]
    return [Run(first, end, number, tail) for (first, number, tail), end in zip(found, stops, strict=False)]


@jit
def _changes(text: Any, ends: Any, cells: int, out: Any) -> int:
    """Write lines that end otherwise than the one before: first byte, number, and the bytes of the end.

    Most lines end as the one before does, which is seen from their last bytes alone.
    """
    count, begin, end, first = 0, 0, -1, 0
    for line in range(len(ends)):
        stop = ends[line]
        if stop > first and text[stop - 1] == _RETURN:
            stop -= 1
        if stop > first:
            tail = stop - (end - begin)
            same = end >= begin and tail > first and text[tail - 1] == _COMMA
            k = 0
            while same and tail + k < stop:
                same = text[begin + k] == text[tail + k]
                k += 1
            if not same:
                tail, seen = first, 0
                while tail < stop and seen < cells:
                    seen += text[tail] == _COMMA
                    tail += 1
                out[count, 0], out[count, 1], out[count, 2], out[count, 3] = first, line, tail, stop
                count += 1
                if count == len(out):
                    return count
            begin, end = tail, stop
        first = ends[line] + 1
    return count
