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

Vectors are written in LLVM's own terms, so that every processor gets what it has: the loops that a compiler finds by
itself were three times slower. Nothing here looks at memory outside the arrays it is given.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from threading import Thread
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from gnomon.core.compiling import jit

Bytes = NDArray[np.uint8]
Counts = NDArray[np.int64]
Function = Callable[..., Any]

MOST_CLASSES = 252
"""More would not fit: ``(k + LANES) * k`` cells are numbered with 16 bits."""

LANES = 8
"""Rows in front of the table for agreement."""

_BYTES = 32  # bytes per vector of the kernel for few classes
_FLUSH = 127  # vectors that a byte lane survives: each adds at most 2
_AHEAD = 64  # vectors to fetch ahead: a quarter faster than what the hardware guesses
_STEP = 16  # samples per round of the table kernel: their 16-bit codes fill one 256-bit vector

_PART = 1 << 19  # samples that a thread takes at a time

_I8, _I16, _I32, _I64 = (ir.IntType(bits) for bits in (8, 16, 32, 64))


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
    parts = deque(_whole_vectors(truth, prediction, _STEP, _PART if threads > 1 else truth.size + 1))
    tables = np.zeros((threads, k + LANES, k), np.uint32)
    largest: list[int] = []
    helpers = [Thread(target=_work, args=(parts, counts, largest)) for counts in tables[1:]]
    for helper in helpers:
        helper.start()
    _work(parts, tables[0], largest)
    for helper in helpers:
        helper.join()
    counts = tables.sum(axis=0, dtype=np.int64)
    table = counts[LANES:]
    table.flat[:: k + 1] += counts[:LANES].sum(axis=0)
    table[0, 0] -= -truth.size % _STEP
    return table, max(largest, default=0)


def _work(parts: deque[tuple[Bytes, Bytes]], counts: NDArray[np.uint32], largest: list[int]) -> None:
    """Take parts while there are any; count them and note the largest code of each."""
    table, k = counts.ctypes.data, counts.shape[1]
    with suppress(IndexError):
        while True:
            t, p = parts.popleft()
            largest.append(_count_joint(t.ctypes.data, p.ctypes.data, t.size // _STEP, k, table))


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


def emit(function: Function) -> Function:
    """Let compiled code call a function that writes its own instructions."""
    return cast(Function, intrinsic(function))


@jit
def _sum_products(truth: int, prediction: int, steps: int, sums: int) -> int:
    largest = 0
    for start in range(0, steps, _FLUSH):
        some = min(steps - start, _FLUSH)
        offset = start * _BYTES
        largest = max(largest, _products_of(truth + offset, prediction + offset, some, sums))
    return largest


@jit
def _count_joint(truth: int, prediction: int, steps: int, k: int, table: int) -> int:
    return int(_joint_of(truth, prediction, steps, k, table))


@emit
def _products_of(_: Any, truth: Any, prediction: Any, steps: Any, sums: Any) -> Any:
    """Add the eight sums over ``1 .. _FLUSH`` vectors to ``sums`` and return the largest byte."""

    def code(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        vector = ir.VectorType(_I8, _BYTES)
        zero, one = _splat(vector, 0), _splat(vector, 1)
        truth, prediction = (builder.inttoptr(argument, vector.as_pointer()) for argument in arguments[:2])
        loop = _Loop(builder, arguments[2], [zero] * 9)
        for pointer in (truth, prediction):
            _prefetch(builder, builder.gep(pointer, [builder.add(loop.index, _I64(_AHEAD))]))
        t, p = (_value_at(builder, pointer, loop.index) for pointer in (truth, prediction))
        a, b = (builder.sext(builder.icmp_unsigned("==", codes, one), vector) for codes in (t, p))  # 0 or -1
        taken = (a, b, builder.and_(a, b))
        added = (t, p, builder.and_(a, p), builder.and_(t, b), builder.and_(t, p))
        lanes = [builder.sub(lane, term) for lane, term in zip(loop.carried[:3], taken, strict=True)]
        lanes += [builder.add(lane, term) for lane, term in zip(loop.carried[3:8], added, strict=True)]
        largest = _larger(builder, loop.carried[8], _larger(builder, t, p))
        lanes = loop.close([*lanes, largest])
        wide = ir.VectorType(_I16, _BYTES)
        for position, lane in enumerate(lanes[:8]):
            total = _reduce(builder, "add", builder.zext(lane, wide))
            pointer = builder.gep(builder.inttoptr(arguments[3], _I64.as_pointer()), [_I64(position)])
            builder.store(builder.add(builder.load(pointer), builder.zext(total, _I64)), pointer)
        return builder.zext(_reduce(builder, "umax", lanes[8]), _I64)

    return types.int64(truth, prediction, steps, sums), code


@emit
def _joint_of(_: Any, truth: Any, prediction: Any, steps: Any, classes: Any, table: Any) -> Any:
    """Count ``steps`` vectors of joint codes in a table of 32-bit counts and return the largest byte."""

    def code(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        steps = arguments[2]
        cells = builder.inttoptr(arguments[4], _I32.as_pointer())
        words_at = _joint_words(builder, arguments[0], arguments[1], arguments[3])
        largest, words = words_at(_I64(0), _splat(ir.VectorType(_I8, _STEP), 0))
        loop = _Loop(builder, steps, [largest, *words])
        # The next codes are computed while the current ones are counted; the last round computes its own again.
        following = _smaller(builder, builder.add(loop.index, _I64(1)), builder.sub(steps, _I64(1)))
        largest, words = words_at(following, loop.carried[0])
        for position in range(_STEP):
            word = loop.carried[1 + position // 4]
            cell = builder.and_(builder.lshr(word, _I64(position % 4 * 16)), _I64(0xFFFF))
            pointer = builder.gep(cells, [cell])
            builder.store(builder.add(builder.load(pointer), _I32(1)), pointer)
        return builder.zext(_reduce(builder, "umax", loop.close([largest, *words])[0]), _I64)

    return types.int64(truth, prediction, steps, classes, table), code


def _joint_words(builder: Any, truth: Any, prediction: Any, classes: Any) -> Function:
    """Return what emits the joint codes of vector ``index``, four to a word, and updates the largest byte."""
    vector, wide = ir.VectorType(_I8, _STEP), ir.VectorType(_I16, _STEP)
    pointers = [builder.inttoptr(address, vector.as_pointer()) for address in (truth, prediction)]
    k = _spread(builder, builder.trunc(classes, _I16), wide)
    last = _spread(builder, builder.trunc(builder.sub(classes, _I64(1)), _I8), vector)
    lanes = builder.mul(k, ir.Constant(wide, [position % LANES for position in range(_STEP)]))
    table_start = builder.mul(k, _splat(wide, LANES))

    def words_at(index: Any, largest: Any) -> tuple[Any, list[Any]]:
        t, p = (_value_at(builder, pointer, index) for pointer in pointers)
        largest = _larger(builder, largest, _larger(builder, t, p))
        t, p = (_smaller(builder, codes, last) for codes in (t, p))
        row, column = builder.zext(t, wide), builder.zext(p, wide)
        joint = builder.add(builder.mul(row, k), builder.add(column, table_start))
        joint = builder.select(builder.icmp_unsigned("==", t, p), builder.add(row, lanes), joint)
        words = builder.bitcast(joint, ir.VectorType(_I64, _STEP // 4))
        return largest, [builder.extract_element(words, _I32(word)) for word in range(_STEP // 4)]

    return words_at


class _Loop:
    """A counted loop of at least one round that carries values; opened here, ended by :meth:`close`."""

    def __init__(self, builder: Any, rounds: Any, first: list[Any]) -> None:
        self._builder, self._rounds = builder, rounds
        before = builder.block
        self._body = builder.append_basic_block("body")
        builder.branch(self._body)
        builder.position_at_end(self._body)
        self.index = builder.phi(_I64)
        self.index.add_incoming(_I64(0), before)
        self.carried = [builder.phi(value.type) for value in first]
        for slot, value in zip(self.carried, first, strict=True):
            slot.add_incoming(value, before)

    def close(self, values: list[Any]) -> list[Any]:
        """Go round again with these values; after the last round they are the result."""
        builder = self._builder
        following = builder.add(self.index, _I64(1))
        for slot, value in zip([self.index, *self.carried], [following, *values], strict=True):
            slot.add_incoming(value, self._body)
        after = builder.append_basic_block("after")
        jump = builder.cbranch(builder.icmp_unsigned("<", following, self._rounds), self._body, after)
        jump.set_metadata("llvm.loop", _as_it_is(builder.module))
        builder.position_at_end(after)
        return values


def _as_it_is(module: Any) -> Any:
    """Loop metadata against unrolling, which would push the carried vectors out of the registers."""
    node = module.add_metadata([module.add_metadata(["llvm.loop.unroll.disable"])])
    if node.operands[0] is not node:  # loop metadata must name itself first
        node.operands = (node, *node.operands)
    return node


def _splat(vector: Any, value: int) -> Any:
    return ir.Constant(vector, [value] * vector.count)


def _spread(builder: Any, value: Any, vector: Any) -> Any:
    """Copy a value that is known at run time to all places of a vector."""
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, value, _I32(0))
    return builder.shuffle_vector(first, undefined, _splat(ir.VectorType(_I32, vector.count), 0))


def _value_at(builder: Any, pointer: Any, index: Any) -> Any:
    value = builder.load(builder.gep(pointer, [index]))
    value.align = 1
    return value


def _larger(builder: Any, a: Any, b: Any) -> Any:
    return builder.select(builder.icmp_unsigned(">", a, b), a, b)


def _smaller(builder: Any, a: Any, b: Any) -> Any:
    return builder.select(builder.icmp_unsigned("<", a, b), a, b)


def _reduce(builder: Any, operation: str, vector: Any) -> Any:
    count, item = vector.type.count, vector.type.element
    name = f"llvm.vector.reduce.{operation}.v{count}i{item.width}"
    return builder.call(builder.module.declare_intrinsic(name, (), ir.FunctionType(item, [vector.type])), [vector])


def _prefetch(builder: Any, pointer: Any) -> None:
    """Ask for data that will be read soon; an address past the end is allowed."""
    byte = _I8.as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [byte, _I32, _I32, _I32])
    read, keep, data = _I32(0), _I32(3), _I32(1)
    function = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
    builder.call(function, [builder.bitcast(pointer, byte), read, keep, data])
