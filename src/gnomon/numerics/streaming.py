"""Count class codes of two array files in one pass over both, in parts: memory does not grow with them.

Every thread has a stretch of its own, of both files; it reads it part by part, marks each part and counts it
(:mod:`gnomon.numerics.marks`), and helps the others when it is done. Reading, marking and counting leave the
interpreter's lock, so that they go on side by side. A stretch is read from one end to the other through a reader of its
own, so that a system that reads through its cache can read ahead; a fast disk is read past it
(:mod:`gnomon.intake.disks`).
Counts are integers and marks are put together in the order of parts: neither depends on the number of threads.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import reduce
from threading import Event

import numpy as np

from gnomon.core.canonical import digest
from gnomon.core.errors import InputError
from gnomon.core.processors import processors
from gnomon.core.tallies import Array
from gnomon.intake.shards import Plain
from gnomon.numerics.bytewise import MOST_CLASSES, few, many
from gnomon.numerics.marks import mark
from gnomon.numerics.onepass import marked_and_counted

Sides = tuple[Plain, Plain | None]

PART = 1 << 21
"""Samples that are read at a time."""
MOST = 4096
"""Classes up to which a table of counts is made."""
MOST_THREADS = 8
"""Threads that count: more would want more than a disk or memory gives."""
FEWEST = 4
"""Classes from which a table is looked up; fewer are counted by sums, which is faster by far."""
SIGNED = 128
"""The first code that a signed byte cannot hold: there it would be negative."""

_pools: dict[int, ThreadPoolExecutor] = {}


@dataclass(frozen=True)
class Counted:
    """Counts ``(true classes, predicted classes + 1)``, of which the first column is "none given", and both digests."""

    table: Array
    truth: str
    predictions: str


def count(
    truth: Plain,
    predictions: Plain | None,
    *,
    ignore: int | None = None,
    threads: int | None = None,
    stop: Event | None = None,
) -> Counted:
    """Count how often each class was predicted as each class.

    Parameters
    ----------
    truth, predictions
        Array files of integer codes, both ``(n,)`` or both of one shape; a signed prediction may be -1, none given.
        Without predictions none is given for any sample.
    ignore
        A code of the truth whose samples are not counted.
    threads
        How many threads work, at most 8; by default one more than there are processors, at most 7: some wait for a
        disk. All counting of a process shares them (:func:`_pool`): what is counted beside it gets what it leaves.
    stop
        Counting ends by ``KeyboardInterrupt`` when this is set, in whatever thread it is done.

    Raises
    ------
    InputError
        Names what is wrong with shapes, types or codes.
    """
    _check(truth, predictions)
    n = int(np.prod(truth.shape, dtype=np.int64))
    parts = [(first, min(first + PART, n)) for first in range(0, n, PART)]
    workers = max(1, min(threads or min(processors() + 1, MOST_THREADS - 1), len(parts), MOST_THREADS))
    flat = _flat(truth, n), None if predictions is None else _flat(predictions, n)
    ends = [len(parts) * place // workers for place in range(workers + 1)]
    left = [deque(range(first, stop)) for first, stop in itertools.pairwise(ends)]
    marks = [(b"", b"")] * len(parts)
    failed: dict[int, InputError] = {}
    stop = stop or Event()

    def work(own: deque[int]) -> Array:
        return _work(flat, ((at, parts[at]) for at in _taken(own, left, stop)), marks, failed, ignore)

    if workers == 1:
        tables = [work(left[0])]
    else:
        tables = _together(work, left)
    if stop.is_set():
        raise KeyboardInterrupt
    if failed:
        raise failed[min(failed)]
    table = reduce(_sum, tables, np.zeros((1, 2), np.int64))
    shapes = [f"{side.dtype.str}{side.shape}".encode() if side else b"none" for side in (truth, predictions)]
    return Counted(table, digest([shapes[0], *(a for a, _ in marks)]), digest([shapes[1], *(b for _, b in marks)]))


def _together(work: Callable[[deque[int]], Array], stretches: list[deque[int]]) -> list[Array]:
    """Work on stretches in the threads of this process; when this ends, however it ends, no thread is at them."""
    own: list[Future[Array]] = []
    try:
        for stretch in stretches:
            own.append(_pool().submit(work, stretch))
        for one in wait(own, return_when=FIRST_EXCEPTION).done:
            one.result()  # raises what went wrong there
        return [one.result() for one in own]
    except BaseException:
        for stretch in stretches:
            stretch.clear()
        for one in own:
            one.cancel()
        wait(own)
        raise


def _pool() -> ThreadPoolExecutor:
    """Return the threads that count in this process; one that was forked has none of those of its parent."""
    size = min(processors() + 2, MOST_THREADS)
    # An executor that was never asked for anything has no threads: a second one, made at the same time, costs nothing.
    return _pools.get(os.getpid()) or _pools.setdefault(os.getpid(), ThreadPoolExecutor(size, "counting"))


def _taken(own: deque[int], left: list[deque[int]], stop: Event) -> Iterator[int]:
    """Give the places of a stretch from its beginning, then, while others have some, of the longest from its end."""
    while any(left) and not stop.is_set():
        with contextlib.suppress(IndexError):  # somebody else may have been faster
            yield own.popleft() if own else max(left, key=len).pop()


def _flat(side: Plain, n: int) -> Plain:
    return Plain(side.path, side.dtype, (n,), side.start)


def _work(
    sides: Sides,
    parts: Iterable[tuple[int, tuple[int, int]]],
    marks: list[tuple[bytes, bytes]],
    failed: dict[int, InputError],
    ignore: int | None,
) -> Array:
    """Count parts, in a thread of their own; put the marks of each, or what is wrong with it, at its place.

    What comes after a wrong part is left out, so that the first one is found by any number of threads.
    """
    truth, predictions = sides
    table = np.zeros((1, 2), np.int64)
    with contextlib.ExitStack() as until:
        read_truth = until.enter_context(truth.reading(PART))
        read_said = until.enter_context(predictions.reading(PART)) if predictions is not None else None
        for at, (first, stop) in parts:
            if failed and at > min(list(failed)):
                continue
            try:
                t = read_truth(first, stop)
                if read_said is None:
                    marks[at] = mark(t.view(np.uint8)), b""
                    table = _added(table, t, np.full(len(t), -1, np.int8), sides, first, ignore)
                else:
                    table, marks[at] = _passed(table, t, read_said(first, stop), sides, first, ignore)
            except InputError as error:
                failed[at] = error
    return table


def _passed(
    table: Array, t: Array, p: Array, sides: Sides, first: int, ignore: int | None
) -> tuple[Array, tuple[bytes, bytes]]:
    """Return a table with the counts of a part added to it, and the marks of both sides of the part."""
    a, b = t.view(np.uint8), p.view(np.uint8)
    k = len(table)
    if ignore is None and _are_bytes(t, p, table) and FEWEST <= k <= MOST_CLASSES:
        *marks, counts, largest = marked_and_counted(a, b, k)
        if largest < k and not _negative(largest, t, p):
            return _sum(table, _none_missing(counts)), (marks[0], marks[1])
    else:
        marks = [mark(a), mark(b)]
    return _added(table, t, p, sides, first, ignore), (marks[0], marks[1])


def _added(table: Array, t: Array, p: Array, sides: Sides, first: int, ignore: int | None) -> Array:
    """Return a table with the counts of a part, whose first sample is told, added to it."""
    if ignore is not None:
        kept = t != ignore
        t, p = t[kept], p[kept]
    return _sum(table, _counts(t, p, sides, first, table)) if len(t) else table


def _counts(t: Array, p: Array, sides: Sides, first: int, before: Array) -> Array:
    """Count one part; as many classes as were met before are expected again, and samples without a prediction too."""
    if sides[1] is not None and _are_bytes(t, p, before):
        table = _byte_counts(t, p, len(before))
        if table is not None:
            return _none_missing(table)
    low = int(p.min()) if p.dtype.kind == "i" else 0
    k = max(int(t.max()), int(p.max())) + 1
    if k > MOST or int(t.min()) < 0 or low < -1:
        _reject(t, p, sides, first)
    cells = t.astype(np.int64) * (k + 1) + p.astype(np.int64) + 1
    return np.bincount(cells, minlength=k * (k + 1)).reshape(k, k + 1)


def _byte_counts(t: Array, p: Array, known: int) -> Array | None:
    """Count codes of bytes; None where they do not fit, or where one is negative. The kernels find the largest code."""
    a, b = t.view(np.uint8), p.view(np.uint8)
    k = known if known <= MOST_CLASSES else 1
    while k <= MOST_CLASSES:
        table, largest = few(a, b, k) if k < FEWEST else many(a, b, k, 1)
        if _negative(largest, t, p):
            return None
        if largest < k:
            return table
        k = largest + 1
    return None


def _are_bytes(t: Array, p: Array, before: Array) -> bool:
    """Say whether codes are bytes, and likely to be of classes: none before them was without a prediction."""
    return t.dtype.itemsize == p.dtype.itemsize == 1 and not before[:, 0].any()


def _negative(largest: int, t: Array, p: Array) -> bool:
    """Say whether a code is negative, of which the largest, read without sign, is known."""
    return largest >= SIGNED and any(side.dtype.kind == "i" and side.min() < 0 for side in (t, p))


def _none_missing(table: Array) -> Array:
    """Return counts with a column in front, of samples without a prediction: none."""
    return np.concatenate([np.zeros((len(table), 1), np.int64), table], axis=1)


def _reject(t: Array, p: Array, sides: Sides, first: int) -> None:
    for codes, side, low in ((t, sides[0], 0), (p, sides[1], -1)):
        bad = (codes.astype(np.int64) < low) | (codes.astype(np.int64) >= MOST)
        if side is not None and bad.any():
            at = int(bad.argmax())
            raise InputError(
                f"{side.path}: code {codes[at]} near sample {first + at}, expected {low} to {MOST - 1}; correct it"
            )


def _check(truth: Plain, predictions: Plain | None) -> None:
    for side in filter(None, (truth, predictions)):
        if side.dtype.kind not in "iu":
            raise InputError(
                f"{side.path}: values of type {side.dtype}, expected integer codes; encode the labels first"
            )
        if not side.dtype.isnative:
            raise InputError(f"{side.path}: foreign byte order; save it in that of this machine")
    if predictions is not None and predictions.shape != truth.shape:
        raise InputError(f"{predictions.path}: shape {predictions.shape}, expected that of the truth {truth.shape}")


def _sum(a: Array, b: Array) -> Array:
    """Add tables of counts over different numbers of classes."""
    if a.shape == b.shape:
        return np.asarray(a + b)
    rows = max(a.shape[0], b.shape[0])
    out = np.zeros((rows, rows + 1), np.int64)
    for table in (a, b):
        out[: table.shape[0], : table.shape[1]] += table
    return out
