"""Confusion tables of class codes that fit into bytes, by explicit vectors.

Both kernels walk over explicit vectors and keep a running maximum, so that the range check costs next to nothing.

* Up to 3 classes nothing is looked up. Eight sums over bytes determine all nine cells: with ``a = [t = 1]`` and
  ``b = [p = 1]`` these are the sums of ``a, b, a&b, t, p, a&p, t&b, t&p``. They are kept in byte lanes and widened
  before a lane can overflow.
* Up to 252 classes joint codes ``t * k + p`` are computed a vector at a time and counted in a table of 32-bit
  integers. Good predictions hit few cells, and an increment has to wait for an unfinished one of the same cell;
  so agreement is counted in :data:`LANES` private rows in front of the table. One table is kept, not several:
  four tables were slower as soon as they left the first-level cache. Codes are clamped to the table, so that a bad
  code is found by the maximum afterwards and can do no harm before. The time is that of one store per sample, which
  is all that one processor does; so many labels are shared among threads, in parts that go to whoever is free.

Vectors are written out (:mod:`gnomon.numerics.vectors`): the loops that a compiler finds by itself were three times
slower. Nothing here looks at memory outside the arrays it is given.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from threading import Thread
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numpy.typing import NDArray

from gnomon.core.compiling import jit
from gnomon.numerics.vectors import (
    I8,
    I16,
    I32,
    I64,
    Function,
    Loop,
    emit,
    larger,
    prefetch,
    reduce,
    smaller,
    splat,
    spread,
    value_at,
)

Bytes = NDArray[np.uint8]
Counts = NDArray[np.int64]

MOST_CLASSES = 252
"""More would not fit: ``(k + LANES) * k`` cells are numbered with 16 bits."""

LANES = 8
"""Rows in front of the table for agreement."""

STEP = 16
"""Samples per round of the table kernel: their 16-bit codes fill one 256-bit vector."""

_BYTES = 32  # bytes per vector of the kernel for few classes
_FLUSH = 127  # vectors that a byte lane survives: each adds at most 2
_AHEAD = 64  # vectors to fetch ahead: a quarter faster than what the hardware guesses
_PART = 1 << 19  # samples that a thread takes at a time


def few(truth: Bytes, prediction: Bytes, k: int) -> tuple[Counts, int]:
    """Confusion of at most 3 classes and the largest code."""
    sums = np.zeros(8, np.int64)
    largest = 0
    for t, p in _whole_vectors(truth, prediction, _BYTES, truth.size + 1):
        largest = max(largest, _sum_products(t.ctypes.data, p.ctypes.data, t.size // _BYTES, sums.ctypes.data))
    a, b, n11, t_sum, p_sum, a_p, t_b, t_p = (int(value) for value in sums)
    n12, n21, n22 = (a_p - n11) // 2, (t_b - n11) // 2, (t_p - n11) // 2
    n10, n01 = a - n11 - n12, b - n11 - n21
    n20, n02 = (t_sum - a) // 2 - n21 - n22, (p_sum - b) // 2 - n12 - n22
    n00 = truth.size - (n01 + n02 + n10 + n11 + n12 + n20 + n21 + n22)
    table = np.array([[n00, n01, n02], [n10, n11, n12], [n20, n21, n22]], np.int64)
    return table[:k, :k], largest


def many(truth: Bytes, prediction: Bytes, k: int, threads: int = 1) -> tuple[Counts, int]:
    """Confusion of 1 to ``MOST_CLASSES`` classes and the largest code; fewer than 2**32 samples."""
    parts = deque(_whole_vectors(truth, prediction, STEP, _PART if threads > 1 else truth.size + 1))
    tables = np.zeros((threads, k + LANES, k), np.uint32)
    largest: list[int] = []
    helpers = [Thread(target=_work, args=(parts, counts, largest)) for counts in tables[1:]]
    for helper in helpers:
        helper.start()
    _work(parts, tables[0], largest)
    for helper in helpers:
        helper.join()
    return table_of(tables.sum(axis=0, dtype=np.int64), -truth.size % STEP), max(largest, default=0)


def table_of(counts: NDArray[Any], padded: int) -> Counts:
    """Return the confusion of what :func:`count_joint` counted, without the samples that filled up the last vector."""
    table = counts[LANES:].astype(np.int64)
    table.flat[:: table.shape[1] + 1] += counts[:LANES].sum(axis=0, dtype=np.int64)
    table[0, 0] -= padded
    return table


def _work(parts: deque[tuple[Bytes, Bytes]], counts: NDArray[np.uint32], largest: list[int]) -> None:
    """Take parts while there are any; count them and note the largest code of each."""
    table, k = counts.ctypes.data, counts.shape[1]
    with suppress(IndexError):
        while True:
            t, p = parts.popleft()
            largest.append(count_joint(t.ctypes.data, p.ctypes.data, t.size // STEP, k, table))


def _whole_vectors(truth: Bytes, prediction: Bytes, width: int, part: int) -> Iterator[tuple[Bytes, Bytes]]:
    """Cut into parts of whole vectors; the last vector is padded with class 0 on both sides."""
    whole = truth.size // width * width
    for start in range(0, whole, part):
        yield truth[start : min(start + part, whole)], prediction[start : min(start + part, whole)]
    if whole < truth.size:
        padded = np.zeros((2, width), np.uint8)
        padded[0, : truth.size - whole] = truth[whole:]
        padded[1, : truth.size - whole] = prediction[whole:]
        yield padded[0], padded[1]


@jit
def _sum_products(truth: int, prediction: int, steps: int, sums: int) -> int:
    largest = 0
    for start in range(0, steps, _FLUSH):
        some = min(steps - start, _FLUSH)
        offset = start * _BYTES
        largest = max(largest, _products_of(truth + offset, prediction + offset, some, sums))
    return largest


@jit
def count_joint(truth: int, prediction: int, steps: int, k: int, table: int) -> int:
    """Count whole vectors at two addresses, at least one, in ``(k + LANES, k)`` counts; return the largest code."""
    return int(_joint_of(truth, prediction, steps, k, table))


@emit
def _products_of(_: Any, truth: Any, prediction: Any, steps: Any, sums: Any) -> Any:
    """Add the eight sums over ``1 .. _FLUSH`` vectors to ``sums`` and return the largest byte."""

    def code(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        vector = ir.VectorType(I8, _BYTES)
        zero, one = splat(vector, 0), splat(vector, 1)
        truth, prediction = (builder.inttoptr(argument, vector.as_pointer()) for argument in arguments[:2])
        loop = Loop(builder, arguments[2], [zero] * 9)
        for pointer in (truth, prediction):
            prefetch(builder, builder.gep(pointer, [builder.add(loop.index, I64(_AHEAD))]))
        t, p = (value_at(builder, pointer, loop.index) for pointer in (truth, prediction))
        a, b = (builder.sext(builder.icmp_unsigned("==", codes, one), vector) for codes in (t, p))  # 0 or -1
        taken = (a, b, builder.and_(a, b))
        added = (t, p, builder.and_(a, p), builder.and_(t, b), builder.and_(t, p))
        lanes = [builder.sub(lane, term) for lane, term in zip(loop.carried[:3], taken, strict=True)]
        lanes += [builder.add(lane, term) for lane, term in zip(loop.carried[3:8], added, strict=True)]
        largest = larger(builder, loop.carried[8], larger(builder, t, p))
        lanes = loop.close([*lanes, largest])
        wide = ir.VectorType(I16, _BYTES)
        for position, lane in enumerate(lanes[:8]):
            total = reduce(builder, "add", builder.zext(lane, wide))
            pointer = builder.gep(builder.inttoptr(arguments[3], I64.as_pointer()), [I64(position)])
            builder.store(builder.add(builder.load(pointer), builder.zext(total, I64)), pointer)
        return builder.zext(reduce(builder, "umax", lanes[8]), I64)

    return types.int64(truth, prediction, steps, sums), code


@emit
def _joint_of(_: Any, truth: Any, prediction: Any, steps: Any, classes: Any, table: Any) -> Any:
    """Count ``steps`` vectors of joint codes in a table of 32-bit counts and return the largest byte."""

    def code(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        steps = arguments[2]
        cells = builder.inttoptr(arguments[4], I32.as_pointer())
        words_at = _joint_words(builder, arguments[0], arguments[1], arguments[3])
        largest, words = words_at(I64(0), splat(ir.VectorType(I8, STEP), 0))
        loop = Loop(builder, steps, [largest, *words])
        # The next codes are computed while the current ones are counted; the last round computes its own again.
        following = smaller(builder, builder.add(loop.index, I64(1)), builder.sub(steps, I64(1)))
        largest, words = words_at(following, loop.carried[0])
        for position in range(STEP):
            word = loop.carried[1 + position // 4]
            cell = builder.and_(builder.lshr(word, I64(position % 4 * 16)), I64(0xFFFF))
            pointer = builder.gep(cells, [cell])
            builder.store(builder.add(builder.load(pointer), I32(1)), pointer)
        return builder.zext(reduce(builder, "umax", loop.close([largest, *words])[0]), I64)

    return types.int64(truth, prediction, steps, classes, table), code


def _joint_words(builder: Any, truth: Any, prediction: Any, classes: Any) -> Function:
    """Return what emits the joint codes of vector ``index``, four to a word, and updates the largest byte."""
    vector, wide = ir.VectorType(I8, STEP), ir.VectorType(I16, STEP)
    pointers = [builder.inttoptr(address, vector.as_pointer()) for address in (truth, prediction)]
    k = spread(builder, builder.trunc(classes, I16), wide)
    last = spread(builder, builder.trunc(builder.sub(classes, I64(1)), I8), vector)
    lanes = builder.mul(k, ir.Constant(wide, [position % LANES for position in range(STEP)]))
    table_start = builder.mul(k, splat(wide, LANES))

    def words_at(index: Any, largest: Any) -> tuple[Any, list[Any]]:
        t, p = (value_at(builder, pointer, index) for pointer in pointers)
        largest = larger(builder, largest, larger(builder, t, p))
        t, p = (smaller(builder, codes, last) for codes in (t, p))
        row, column = builder.zext(t, wide), builder.zext(p, wide)
        joint = builder.add(builder.mul(row, k), builder.add(column, table_start))
        joint = builder.select(builder.icmp_unsigned("==", t, p), builder.add(row, lanes), joint)
        words = builder.bitcast(joint, ir.VectorType(I64, STEP // 4))
        return largest, [builder.extract_element(words, I32(word)) for word in range(STEP // 4)]

    return words_at
