"""How deep JSON nests and how many pairs it holds, from its bytes, before it is parsed.

The scan agrees with any JSON parser up to the first malformed byte, and a parser stops there; so a bound
found here is a bound on what the parser will meet.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gnomon.core.errors import InputError

_BLOCK = 1 << 18
_KEEP = b'"[]{}:'
_DROP = bytes(sorted(set(range(256)) - set(_KEEP)))
_STEP = np.zeros(256, dtype=np.int64)
_STEP[list(b"[{")] = 1
_STEP[list(b"]}")] = -1


class Outline(NamedTuple):
    """The greatest nesting in a JSON text and the number of its key-value pairs."""

    depth: int
    pairs: int


def outline(data: bytes) -> Outline:
    r"""Return nesting and number of pairs, looking only outside strings.

    >>> outline(b'{"a": [1, {"b": "[[[:"}], "c\\"": 2}')
    Outline(depth=3, pairs=3)
    """
    quotes = level = deepest = pairs = 0
    for part in _marks(data):
        seen = quotes + np.cumsum(part == ord('"'), dtype=np.int64)
        outside = seen % 2 == 0
        nesting = level + np.cumsum(np.where(outside, _STEP[part], 0))
        pairs += int(np.count_nonzero(outside & (part == ord(":"))))
        deepest = max(deepest, int(nesting.max()))
        quotes, level = int(seen[-1]), int(nesting[-1])
    return Outline(deepest, pairs)


def _marks(data: bytes) -> Iterator[NDArray[np.uint8]]:
    """Return the bytes that tell the outline block by block: copies and sums of the whole would take many times it."""
    rest = b""
    for start in range(0, len(data), _BLOCK):
        block = rest + data[start : start + _BLOCK]
        rest = b""
        if b"\\" in block:
            if (len(block) - len(block.rstrip(b"\\"))) % 2:  # the last one escapes what the next block begins with
                block, rest = block[:-1], b"\\"
            # Escapes pair up from the left, so an escaped backslash goes before an escaped quote.
            block = block.replace(b"\\\\", b"").replace(b'\\"', b"")
        if marks := block.translate(None, _DROP):
            yield np.frombuffer(marks, dtype=np.uint8)


def check_depth(data: bytes, deepest: int, where: str) -> Outline:
    """Return the outline of JSON that nests no deeper than allowed; `where` opens the message otherwise."""
    found = outline(data)
    if found.depth > deepest:
        raise InputError(f"{where}: nested {found.depth} deep, expected at most {deepest}; flatten it")
    return found
