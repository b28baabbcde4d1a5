"""Arrays in Matlab files of level 5 (``-v6`` and ``-v7``): numbers, text and cells, nothing that could run.

After a header of 128 bytes come elements: a tag with kind and length, then data up to a multiple of eight bytes; small
data stand in the tag itself. A variable is an element of kind matrix, or a compressed one that holds it (MathWorks,
*MAT-File Format*). Numbers may be stored in a smaller kind than their class, which Matlab does wherever none is lost.

Numbers become float64, in the shape that the file states; text of one row becomes ``str``; cells become
:class:`Cells`. Variables of other classes (structures, objects, sparse, complex) are passed over. Files of version 7.3
are HDF5 and are refused. Lengths are checked against the bytes that are there before anything is made of them.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
from gnomon.intake.faults import shown
from gnomon.intake.limits import DEFAULT, Limits

HEADER = 128
DEEPEST = 4
"""Cells inside cells that are read."""
_NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_TEXTS = {2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
_INT8, _INT32, _UINT32, _MATRIX, _COMPRESSED = 1, 5, 6, 14, 15
_CELL, _CHAR, _FIRST_NUMBER, _LAST_NUMBER = 1, 4, 6, 15
_COMPLEX = 0x0800
_AGAIN = "obtain the file again"


@dataclass(frozen=True)
class Cells:
    """A cell array: its shape, and what is in it, column by column."""

    shape: tuple[int, ...]
    items: tuple[Value, ...]


Value = Array | str | Cells | None
"""What a variable or a cell holds; None where it is of a class that is not read, or empty."""


@dataclass(frozen=True)
class _Element:
    """One element: kind, its data, and at which byte of the file (or of what was decompressed) it begins."""

    kind: int
    data: memoryview
    at: int


def read(data: bytes, where: str, limits: Limits = DEFAULT) -> dict[str, Value]:
    """Return the variables of a file by name.

    Raises
    ------
    InputError
        Bytes that are not such a file, with the byte at which that was seen.
    """
    order = _order(data, where)
    found: dict[str, Value] = {}
    for element in _elements(memoryview(data)[HEADER:], HEADER, order, where):
        inside = [element]
        if element.kind == _COMPRESSED:
            text = _decompressed(element, where, limits.raised())
            inside = list(_elements(memoryview(text), 0, order, where))
        for one in inside:
            if one.kind != _MATRIX:
                raise _fault(where, one.at, f"an element of kind {one.kind}", f"a matrix ({_MATRIX})")
            name, value = _matrix(one, order, where, 0)
            found[name] = value
    return found


def _order(data: bytes, where: str) -> str:
    """Return the byte order that the header states."""
    if data[:19] == b"MATLAB 7.3 MAT-file":
        raise InputError(f"{where}: is a Matlab file of version 7.3, expected level 5; save it again with -v7")
    mark = data[126:128]
    if len(data) < HEADER or mark not in (b"IM", b"MI"):
        raise InputError(f"{where}: {shown(repr(data[:24]))}... is no Matlab file of level 5; {_AGAIN}")
    order = "<" if mark == b"IM" else ">"
    version = struct.unpack_from(order + "H", data, 124)[0]
    if version != 0x0100:
        raise InputError(f"{where}: byte 124: version {version:#06x}, expected 0x0100 (level 5); {_AGAIN}")
    return order


def _elements(data: memoryview, base: int, order: str, where: str) -> Iterator[_Element]:
    at = 0
    while at < len(data):
        if len(data) - at < 8:
            raise _fault(where, base + at, f"{len(data) - at} bytes", "a tag of 8")
        kind, length = struct.unpack_from(order + "II", data, at)
        begin, step = at + 8, -(-length // 8) * 8
        if kind >> 16:
            kind, length, begin, step = kind & 0xFFFF, kind >> 16, at + 4, 0
            if length > 4:
                raise _fault(where, base + at, f"a small element of {length} bytes", "at most 4")
        if begin + length > len(data):
            raise _fault(where, base + at, f"{len(data) - begin} bytes", f"the {length} that its tag states")
        yield _Element(kind, data[begin : begin + length], base + at)
        at = begin + length if kind == _COMPRESSED else at + 8 + step


def _decompressed(element: _Element, where: str, limits: Limits) -> bytes:
    most = limits.decoded_bytes(len(element.data))
    machine = zlib.decompressobj()
    try:
        text = machine.decompress(element.data, most + 1)
    except zlib.error as error:
        raise InputError(f"{where}: byte {element.at}: cannot be decompressed ({error}); {_AGAIN}") from error
    limits.check_decoded(where, len(text), len(element.data))
    if not machine.eof:
        raise _fault(where, element.at, "a compressed element that does not end", "a whole one")
    return text


def _matrix(element: _Element, order: str, where: str, depth: int) -> tuple[str, Value]:
    """Return the name and the value of a matrix."""
    if not len(element.data):
        return "", None
    parts = _elements(element.data, element.at + 8, order, where)
    flags = _next(parts, element, where, (_UINT32,), "array flags")
    about = struct.unpack_from(order + "II", _at_least(flags, 8, where))[0]
    sizes = _next(parts, element, where, (_INT32,), "dimensions")
    shape = tuple(int(n) for n in np.frombuffer(_whole(sizes, 4, where), order + "i4"))
    if len(shape) < 2 or min(shape) < 0:
        raise _fault(where, sizes.at, f"dimensions {shape}", "two or more, none below 0")
    name = bytes(_next(parts, element, where, (_INT8,), "a name").data).decode("latin-1")
    group, count = about & 0xFF, math.prod(shape)
    if group == _CELL and depth < DEEPEST:
        return name, Cells(shape, _cells(parts, count, element, order, where, depth))
    if group == _CHAR:
        return name, _text(_next(parts, element, where, tuple(_TEXTS), "text"), shape, count, order, where)
    if _FIRST_NUMBER <= group <= _LAST_NUMBER and not about & _COMPLEX:
        values = _next(parts, element, where, tuple(_NUMBERS), "numbers")
        return name, _numbers(values, shape, count, order, where)
    return name, None


def _cells(
    parts: Iterator[_Element], count: int, element: _Element, order: str, where: str, depth: int
) -> tuple[Value, ...]:
    if count * 8 > len(element.data):
        raise _fault(where, element.at, f"{count} cells in {len(element.data)} bytes", "8 bytes or more for each")
    return tuple(
        _matrix(_next(parts, element, where, (_MATRIX,), "a cell"), order, where, depth + 1)[1] for _ in range(count)
    )


def _text(element: _Element, shape: tuple[int, ...], count: int, order: str, where: str) -> Value:
    if len(shape) != 2 or shape[0] > 1:
        return None
    code = _TEXTS[element.kind]
    ends = {"<": "-le", ">": "-be"}[order] if code in ("utf-16", "utf-32") else ""
    try:
        text = bytes(element.data).decode(code + ends)
    except UnicodeDecodeError as error:
        raise _fault(where, element.at, f"text that is not {code}", "text") from error
    if len(text) != count:
        raise _fault(where, element.at, f"{len(text)} characters", f"the {count} that its dimensions state")
    return text


def _numbers(element: _Element, shape: tuple[int, ...], count: int, order: str, where: str) -> Array:
    kind = np.dtype(order + _NUMBERS[element.kind])
    if count * kind.itemsize != len(element.data):
        raise _fault(
            where, element.at, f"{len(element.data)} bytes of numbers", f"{count} of {kind.itemsize} bytes for {shape}"
        )
    return np.frombuffer(element.data, kind).astype(np.float64).reshape(shape, order="F")


def _next(parts: Iterator[_Element], whole: _Element, where: str, kinds: tuple[int, ...], what: str) -> _Element:
    part = next(parts, None)
    if part is None:
        raise _fault(where, whole.at, "a matrix that ends", what)
    if part.kind not in kinds:
        raise _fault(where, part.at, f"an element of kind {part.kind}", what)
    return part


def _at_least(element: _Element, size: int, where: str) -> memoryview:
    if len(element.data) < size:
        raise _fault(where, element.at, f"{len(element.data)} bytes", f"{size}")
    return element.data


def _whole(element: _Element, size: int, where: str) -> memoryview:
    if len(element.data) % size:
        raise _fault(where, element.at, f"{len(element.data)} bytes", f"a multiple of {size}")
    return element.data


def _fault(where: str, at: int, got: str, expected: str) -> InputError:
    return InputError(f"{where}: byte {at}: {got}, expected {expected}; {_AGAIN}")
