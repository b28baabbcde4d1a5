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

_LANES, _ROUNDS = 8, 16
_WORD = (1 << 64) - 1
_PRIME = 0x9E3779B185EBCA87
_KEYS = np.random.Generator(np.random.PCG64(20261)).integers(0, 1 << 64, _LANES * _ROUNDS, dtype=np.uint64)
"""Constants of places; any will do that look like chance."""


def mark(data: NDArray[np.uint8]) -> bytes:
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
    block = _LANES * _ROUNDS * 8
    blocks = data.size // block
    lanes = _KEYS[:_LANES].copy()
    if blocks:
        _stir(data.ctypes.data, blocks, _KEYS.ctypes.data, lanes.ctypes.data)
    rest = np.zeros(block, np.uint8)
    rest[: data.size - blocks * block] = data[blocks * block :]
    _stir(rest.ctypes.data, 1, _KEYS.ctypes.data, lanes.ctypes.data)
    found = data.size * _PRIME & _WORD
    for lane in lanes.tolist():
        found = (found ^ lane) * _PRIME & _WORD
        found ^= found >> 32
    return found.to_bytes(8, "little")


@jit
def _stir(words: int, blocks: int, keys: int, lanes: int) -> None:
    _stir_blocks(words, blocks, keys, lanes)


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
