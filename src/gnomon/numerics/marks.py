"""A mark of bytes: a fast fingerprint by which a change of content is noticed, at the speed of memory.

A mark is no cryptographic hash: whoever wants to can make different bytes with one mark. Chance cannot: two different
contents share one with a probability of about 2**-64. Arrays that are read at gigabytes per second get one; everything
else has SHA-256.

Bytes are read as 64-bit words in eight lanes. A word, combined with a constant of its place, is split into halves that
are multiplied, and the product and the word of the neighbouring lane are added up; after 128 words lanes are stirred by
a shift and a multiplication, so that places further on count differently. The last words are filled up with zeros, and
the length enters the end, so that bytes that differ only in trailing zeros differ.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.core.compiling import jit

_LANES, _ROUNDS = 8, 16
_HALF = np.uint64(0xFFFFFFFF)
_PRIME = np.uint64(0x9E3779B185EBCA87)
_KEYS = np.random.Generator(np.random.PCG64(20261)).integers(0, 1 << 64, _LANES * _ROUNDS, dtype=np.uint64)
"""Constants of places; any will do that look like chance."""


def mark(data: NDArray[np.uint8]) -> bytes:
    """Return the mark of bytes, eight bytes.

    Parameters
    ----------
    data
        Contiguous bytes, shape ``(n,)``.

    Examples
    --------
    >>> mark(np.zeros(3, np.uint8)) == mark(np.zeros(4, np.uint8))
    False
    """
    block = _LANES * _ROUNDS * 8
    whole = data.size // block * block
    lanes = _KEYS[:_LANES].copy()
    _stir(data[:whole].view(np.uint64), _KEYS, lanes)
    rest = np.zeros(block, np.uint8)
    rest[: data.size - whole] = data[whole:]
    _stir(rest.view(np.uint64), _KEYS, lanes)
    return int(_end(lanes, np.uint64(data.size))).to_bytes(8, "little")


@jit
def _stir(words: Any, keys: Any, lanes: Any) -> None:
    a0, a1, a2, a3, a4, a5, a6, a7 = lanes
    for start in range(0, words.size, 128):
        for step in range(0, 128, 8):
            at = start + step
            w0, w1, w2, w3 = words[at], words[at + 1], words[at + 2], words[at + 3]
            w4, w5, w6, w7 = words[at + 4], words[at + 5], words[at + 6], words[at + 7]
            x0, x1, x2, x3 = w0 ^ keys[step], w1 ^ keys[step + 1], w2 ^ keys[step + 2], w3 ^ keys[step + 3]
            x4, x5, x6, x7 = w4 ^ keys[step + 4], w5 ^ keys[step + 5], w6 ^ keys[step + 6], w7 ^ keys[step + 7]
            a0 += (x0 & _HALF) * (x0 >> np.uint64(32)) + w1
            a1 += (x1 & _HALF) * (x1 >> np.uint64(32)) + w0
            a2 += (x2 & _HALF) * (x2 >> np.uint64(32)) + w3
            a3 += (x3 & _HALF) * (x3 >> np.uint64(32)) + w2
            a4 += (x4 & _HALF) * (x4 >> np.uint64(32)) + w5
            a5 += (x5 & _HALF) * (x5 >> np.uint64(32)) + w4
            a6 += (x6 & _HALF) * (x6 >> np.uint64(32)) + w7
            a7 += (x7 & _HALF) * (x7 >> np.uint64(32)) + w6
        a0, a1 = (a0 ^ (a0 >> np.uint64(47))) * _PRIME, (a1 ^ (a1 >> np.uint64(47))) * _PRIME
        a2, a3 = (a2 ^ (a2 >> np.uint64(47))) * _PRIME, (a3 ^ (a3 >> np.uint64(47))) * _PRIME
        a4, a5 = (a4 ^ (a4 >> np.uint64(47))) * _PRIME, (a5 ^ (a5 >> np.uint64(47))) * _PRIME
        a6, a7 = (a6 ^ (a6 >> np.uint64(47))) * _PRIME, (a7 ^ (a7 >> np.uint64(47))) * _PRIME
    lanes[0], lanes[1], lanes[2], lanes[3] = a0, a1, a2, a3
    lanes[4], lanes[5], lanes[6], lanes[7] = a4, a5, a6, a7


@jit
def _end(lanes: Any, size: Any) -> Any:
    found = size * _PRIME
    for lane in lanes:
        found = (found ^ lane) * _PRIME
        found ^= found >> np.uint64(32)
    return found
