"""Views as bytes: a JSON header and the arrays as they are in memory, which a page reads without copying.

Little-endian uint32 length of the header, the header padded with spaces to a multiple of 8 after those 4 bytes, then
the arrays, each at a multiple of 8 from the end of the header. An array stands in the header as
``{"$": [kind, shape, offset]}`` with kind one of f4, f8, u1, u2, i4. NaN occurs in arrays only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from gnomon.core.table import View

KINDS = {"f4", "f8", "u1", "u2", "i4"}
WIDER = {"i1": "i4", "i2": "i4", "i8": "f8", "u4": "f8", "u8": "f8", "b1": "u1", "f2": "f4"}


def encode(view: View) -> bytes:
    """Return a view as bytes."""
    buffers: list[bytes] = []
    header = msgspec.json.encode(_plain(view.record(), buffers))
    header += b" " * (-(len(header) + 4) % 8)
    return b"".join((len(header).to_bytes(4, "little"), header, *buffers))


def _plain(value: Any, buffers: list[bytes]) -> Any:
    if isinstance(value, np.ndarray):
        return _array(value, buffers)
    if isinstance(value, Mapping):
        return {str(key): _plain(item, buffers) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return [_plain(item, buffers) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _array(array: np.ndarray[Any, Any], buffers: list[bytes]) -> dict[str, Any]:
    kind = array.dtype.kind + str(array.dtype.itemsize)
    kind = kind if kind in KINDS else WIDER[kind]
    data = np.ascontiguousarray(array, dtype=f"<{kind}").tobytes()
    offset = sum(map(len, buffers))
    buffers.append(data + bytes(-len(data) % 8))
    return {"$": [kind, list(array.shape), offset]}
