"""LZF, the compression inside PCD files: short copies from the last 8,192 bytes, literal runs of up to 32.

A control byte below 32 says how many literal bytes follow, less one. Any other one starts a copy: its upper three bits
are the length less two (7: the next byte is added), its lower five bits and one more byte are the distance less one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gnomon.core.compiling import jit

Bytes = npt.NDArray[np.uint8]

LARGEST_RATIO = 88
"""Bytes that one compressed byte can stand for: a copy of three bytes gives at most 264."""
_LITERALS = 32
_SHORTEST, _LONGEST = 3, 264
_REACH = 1 << 13
_SLOTS = 1 << 15
_SHIFT = 32 - 15
_MIX = 2654435761  # 2^32 over the golden ratio, rounded to a prime


class LzfError(ValueError):
    """The compressed bytes are damaged."""


def decompress(data: Bytes, size: int) -> Bytes:
    """Return the `size` bytes that `data` stands for.

    Raises
    ------
    LzfError
        They are more or fewer, or a copy reaches before the beginning.

    >>> decompress(np.frombuffer(bytes([1, 97, 98, 0xE0, 3, 1]), np.uint8), 14).tobytes()
    b'ababababababab'
    """
    if size > LARGEST_RATIO * data.size:
        raise LzfError(f"{data.size} compressed bytes cannot hold {size}")
    out = np.empty(size, dtype=np.uint8)
    done = int(_decode(data, out))
    if done < 0:
        raise LzfError(f"the compressed bytes are damaged before byte {-done}")
    if done != size:
        raise LzfError(f"the compressed bytes hold {done} bytes, expected {size}")
    return out


def compress(data: Bytes) -> Bytes:
    """Return bytes that :func:`decompress` turns back into `data`; incompressible data grow by one part in 32.

    >>> text = np.frombuffer(b"a room, a room, a room", np.uint8)
    >>> packed = compress(text)
    >>> packed.size < text.size, decompress(packed, text.size).tobytes() == text.tobytes()
    (True, True)
    """
    out = np.empty(data.size + data.size // _LITERALS + 2, dtype=np.uint8)
    table = np.full(_SLOTS, -_REACH - 1, dtype=np.int64)
    return out[: int(_encode(np.ascontiguousarray(data), out, table))]


@jit
def _decode(data: Any, out: Any) -> int:
    """Return how many bytes were written, or minus the number of bytes read when something was wrong."""
    i, o = 0, 0
    length: Any
    while i < data.size:
        control = np.int64(data[i])
        i += 1
        if control < 32:
            length = control + 1
            if i + length > data.size or o + length > out.size:
                return -i
            for k in range(length):
                out[o + k] = data[i + k]
            i += length
        else:
            length = (control >> 5) + 2
            if length == 9 and i < data.size:
                length += np.int64(data[i])
                i += 1
            if i >= data.size:
                return -i
            start = o - ((control & 31) << 8) - np.int64(data[i]) - 1
            i += 1
            if start < 0 or o + length > out.size:
                return -i
            for k in range(length):
                out[o + k] = out[start + k]
        o += length
    return o


@jit
def _put_literals(data: Any, start: int, end: int, out: Any, o: int) -> int:
    while start < end:
        length = min(end - start, _LITERALS)
        out[o] = length - 1
        for k in range(length):
            out[o + 1 + k] = data[start + k]
        start += length
        o += length + 1
    return o


@jit
def _put_copy(distance: int, length: int, out: Any, o: int) -> int:
    high = (distance - 1) >> 8
    if length - 2 < 7:
        out[o] = ((length - 2) << 5) | high
        o += 1
    else:
        out[o] = (7 << 5) | high
        out[o + 1] = length - 9
        o += 2
    out[o] = (distance - 1) & 255
    return o + 1


@jit
def _encode(data: Any, out: Any, table: Any) -> int:
    """Copy greedily from the last place at which the next three bytes were seen; return the bytes written."""
    i, o, kept = 0, 0, 0  # bytes from `kept` to `i` wait to be written as literals
    while i + _SHORTEST <= data.size:
        three = (np.int64(data[i]) << 16) | (np.int64(data[i + 1]) << 8) | np.int64(data[i + 2])
        slot = ((three * _MIX) & 0xFFFFFFFF) >> _SHIFT
        seen = table[slot]
        table[slot] = i
        length = 0
        if i - seen <= _REACH:
            most = min(_LONGEST, data.size - i)
            while length < most and data[seen + length] == data[i + length]:
                length += 1
        if length < _SHORTEST:
            i += 1
            continue
        o = _put_literals(data, kept, i, out, o)
        o = _put_copy(i - seen, length, out, o)
        i += length
        kept = i
    return int(_put_literals(data, kept, data.size, out, o))
