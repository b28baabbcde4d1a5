"""The header of one NumPy array, parsed by pattern and never evaluated."""

from __future__ import annotations

import re
from typing import IO, Any, NamedTuple

import numpy as np

_MAGIC = b"\x93NUMPY"
_LONGEST = 1 << 16
_MOST_AXES = 32
_AXIS = r"\d{1,19}L?"
_VALUE = rf"'[^']*'|\"[^\"]*\"|True|False|\( ?(?:{_AXIS}(?: ?, ?{_AXIS})* ?,? ?)?\)"
_PAIR = rf"""(?:'|")(descr|fortran_order|shape)(?:'|") ?: ?({_VALUE})"""
_HEADER = re.compile(rf"\{{ ?{_PAIR} ?, ?{_PAIR} ?, ?{_PAIR} ?,? ?\}}")
_STRUCTURED = re.compile(r"""(?:'|")descr(?:'|") ?: ?[\[({]""")
_PLAIN = re.compile(
    r"[<>|=]?(?:\?|b1|[iu][1248]|f(?:2|4|8|12|16)|c(?:8|16|24|32)|[SU]\d{1,9}|[mM]8(?:\[\d{0,6}\w{1,7}\])?)"
)
_OBJECT = re.compile(r"[<>|=]?O\d*")


class HeaderError(ValueError):
    """The header of an array is damaged, or describes an array that is not taken."""


class Header(NamedTuple):
    """What an array is, and how many bytes said so."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran: bool
    length: int


def read_header(file: IO[bytes]) -> Header:
    """Read the header of an array and leave the file at its first value.

    Raises
    ------
    HeaderError
        Not an array, a header that is not plain, or an array of objects.
    """
    start = file.read(8)
    if start[:6] != _MAGIC or len(start) < 8 or start[6] not in (1, 2, 3) or start[7]:
        raise HeaderError("does not start like a NumPy array; save it with numpy.savez")
    width = 2 if start[6] == 1 else 4
    size = int.from_bytes(_exactly(file, width), "little")
    if size > _LONGEST:
        raise HeaderError(f"has a header of {size} bytes, expected at most {_LONGEST}; save a plain array")
    text = _exactly(file, size).decode("utf-8" if start[6] == 3 else "latin-1")
    dtype, shape, fortran = _parse(text)
    return Header(dtype, shape, fortran, 8 + width + size)


def _exactly(file: IO[bytes], size: int) -> bytes:
    data = file.read(size)
    if len(data) != size:
        raise HeaderError("ends inside its header; save it again")
    return data


def _parse(text: str) -> tuple[np.dtype[Any], tuple[int, ...], bool]:
    line = " ".join(text.split())  # runs of blanks would make the patterns slow
    if _STRUCTURED.search(line):
        raise HeaderError("is a structured array, expected a plain one; save one array per field")
    match = _HEADER.fullmatch(line)
    fields = dict(zip(match.groups()[::2], match.groups()[1::2], strict=True)) if match else {}
    if len(fields) != 3 or fields["fortran_order"] not in ("True", "False") or fields["shape"][0] != "(":
        raise HeaderError("has a header that cannot be parsed; save it with numpy.savez")
    shape = tuple(int(axis) for axis in re.findall(r"\d+", fields["shape"]))
    if len(shape) > _MOST_AXES:
        raise HeaderError(f"has {len(shape)} axes, expected at most {_MOST_AXES}; reshape it")
    return _dtype(fields["descr"].strip("'\"")), shape, fields["fortran_order"] == "True"


def _dtype(descr: str) -> np.dtype[Any]:
    if _OBJECT.fullmatch(descr):
        raise HeaderError("is an object array and would need pickle; save ids as a unicode array")
    if not _PLAIN.fullmatch(descr):
        raise HeaderError(f"has type {descr[:40]!r}, expected numbers, booleans or text; convert it before saving")
    try:
        dtype = np.dtype(descr)
    except (TypeError, ValueError) as error:
        raise HeaderError(f"has type {descr[:40]!r}, which does not exist here; convert it before saving") from error
    if not dtype.itemsize:
        raise HeaderError("has elements of width 0; save text with at least one character of width")
    return dtype
