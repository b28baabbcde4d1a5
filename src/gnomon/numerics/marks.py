"""A mark of bytes: a fast fingerprint by which a change of content is noticed, at the speed of memory.

A mark is no cryptographic hash: whoever wants to can make different bytes with one mark. Chance cannot: two different
contents share one with a probability of about 2**-64. Arrays that are read at gigabytes per second get one; everything
else has SHA-256.

Bytes are read as 64-bit words in eight lanes. A word, combined with a constant of its place, is split into halves that
are multiplied, and the product and the word of the neighbouring lane are added up; after 128 words lanes are stirred by
a shift and a multiplication, so that places further on count differently. The last words are filled up with zeros, and
the length enters the end, so that bytes that differ only in trailing zeros differ. The eight lanes are one vector; as
eight numbers they were three times slower.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numpy.typing import NDArray

from gnomon.core.compiling import jit
from gnomon.numerics.vectors import I32, I64, Loop, emit, splat, value_at

Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]

_LANES, _ROUNDS = 8, 16
BLOCK = _LANES * _ROUNDS * 8
"""Bytes after which lanes are stirred."""
_PRIME = 0x9E3779B185EBCA87
_KEYS = np.random.Generator(np.random.PCG64(20261)).integers(0, 1 << 64, _LANES * _ROUNDS, dtype=np.uint64)
"""Constants of places; any will do that look like chance."""


def mark(data: Bytes) -> bytes:
    """Return the mark of bytes, eight bytes.

    Parameters
    ----------
    data
        Bytes, shape ``(n,)``.

    Examples
    --------
    >>> mark(np.zeros(3, np.uint8)) == mark(np.zeros(4, np.uint8))
    False
    """
    data = np.ascontiguousarray(data, np.uint8)
    whole = data.size // BLOCK * BLOCK
    rest = np.zeros(BLOCK, np.uint8)
    rest[: data.size - whole] = data[whole:]
    keys, lanes = beginning(1)
    return as_bytes(stirred(data.ctypes.data, data.size, rest, keys, lanes[0]))


def beginning(sides: int) -> tuple[Words, Words]:
    """Return the keys, and lanes for some sides, as they are before anything is taken into them."""
    return _KEYS, np.tile(_KEYS[:_LANES], (sides, 1))


def as_bytes(word: Any) -> bytes:
    """Return the bytes of a mark."""
    return int(word).to_bytes(8, "little")


@jit
def stirred(words: int, size: int, rest: Bytes, keys: Words, lanes: Words) -> Any:
    """Return the mark of bytes at an address, as a word.

    Parameters
    ----------
    words, size
        Address and number of the bytes, of which those of whole blocks are read.
    rest
        What is left of them, filled up with zeros to a block.
    keys, lanes
        As they are at the :func:`beginning`; shape of lanes ``(8,)``.
    """
    if size >= BLOCK:
        _stir_blocks(words, size // BLOCK, keys.ctypes.data, lanes.ctypes.data)
    _stir_blocks(rest.ctypes.data, 1, keys.ctypes.data, lanes.ctypes.data)
    found = np.uint64(size) * np.uint64(_PRIME)
    for lane in lanes:
        found = (found ^ lane) * np.uint64(_PRIME)
        found ^= found >> np.uint64(32)
    return found


@emit
def _stir_blocks(_: Any, words: Any, blocks: Any, keys: Any, lanes: Any) -> Any:
    """Take at least one block of words into the lanes, all of them addresses."""

    def code(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        vector = ir.VectorType(I64, _LANES)
        words, keys, lanes = (builder.inttoptr(arguments[i], vector.as_pointer()) for i in (0, 2, 3))
        low, half, most = splat(vector, 0xFFFFFFFF), splat(vector, 32), splat(vector, 47)
        neighbours = ir.Constant(ir.VectorType(I32, _LANES), [lane ^ 1 for lane in range(_LANES)])
        loop = Loop(builder, arguments[1], [value_at(builder, lanes, I64(0))])
        (sums,) = loop.carried
        first = builder.mul(loop.index, I64(_ROUNDS))
        for step in range(_ROUNDS):
            word = value_at(builder, words, builder.add(first, I64(step)))
            keyed = builder.xor(word, value_at(builder, keys, I64(step)))
            product = builder.mul(builder.and_(keyed, low), builder.lshr(keyed, half))
            beside = builder.shuffle_vector(word, ir.Constant(vector, ir.Undefined), neighbours)
            sums = builder.add(sums, builder.add(product, beside))
        stirred = builder.mul(builder.xor(sums, builder.lshr(sums, most)), splat(vector, _PRIME))
        builder.store(loop.close([stirred])[0], lanes, align=8)
        return None

    return types.void(words, blocks, keys, lanes), code
