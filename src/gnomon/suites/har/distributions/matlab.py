"""Matlab 5 files, as much of them as is needed to write tables of numbers and cells of text.

A file is a header of 128 bytes and elements: a type, a length, and bytes up to a multiple of eight. A variable is an
element ``miMATRIX`` of flags, dimensions, name and content in the order of columns, here compressed, as ``save`` does
(MathWorks, *MAT-File Format*, Level 5).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gnomon.core.tallies import Array

_INT8, _UINT16, _INT32, _UINT32, _DOUBLE, _MATRIX, _COMPRESSED = 1, 4, 5, 6, 9, 14, 15
_CELL, _CHAR, _NUMBERS = 1, 4, 6
_HEADER = b"MATLAB 5.0 MAT-file, simulated".ljust(124) + struct.pack("<H", 0x0100) + b"IM"


def numbers(name: str, values: Array) -> bytes:
    """Return a table of doubles as a variable."""
    content = np.asarray(values, dtype="<f8").tobytes(order="F")
    return _matrix(_NUMBERS, values.shape, name, _element(_DOUBLE, content))


def cells(name: str, table: Sequence[Sequence[str]]) -> bytes:
    """Return a table of texts as a variable."""
    columns = [text for column in zip(*table, strict=True) for text in column]
    return _matrix(_CELL, (len(table), len(table[0])), name, b"".join(_text(each) for each in columns))


def write(path: Path, *variables: bytes) -> None:
    """Write variables to a file; its folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    packed = [zlib.compress(variable, 6) for variable in variables]
    path.write_bytes(_HEADER + b"".join(struct.pack("<II", _COMPRESSED, len(each)) + each for each in packed))


def _text(text: str) -> bytes:
    return _matrix(_CHAR, (1, len(text)), "", _element(_UINT16, text.encode("utf-16-le")))


def _matrix(kind: int, shape: Sequence[int], name: str, content: bytes) -> bytes:
    parts = _element(_UINT32, struct.pack("<II", kind, 0)) + _element(_INT32, struct.pack(f"<{len(shape)}i", *shape))
    return _element(_MATRIX, parts + _element(_INT8, name.encode()) + content)


def _element(kind: int, content: bytes) -> bytes:
    return struct.pack("<II", kind, len(content)) + content + b"\0" * (-len(content) % 8)
