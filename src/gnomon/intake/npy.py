"""One NumPy array: its header, parsed by pattern and never evaluated, and its values, checked by content."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gnomon.core.errors import InputError
from gnomon.intake.faults import guarded, shown

Array = npt.NDArray[Any]
_MAGIC = b"\x93NUMPY"
_LONGEST = 1 << 16
MOST_AXES = 32
_LAST_CHARACTER = 0x10FFFF
_SURROGATES = (0xD800, 0xDFFF)
_AXIS = r"\d{1,19}L?"
_VALUE = rf"'[^']*'|\"[^\"]*\"|True|False|\( ?(?:{_AXIS}(?: ?, ?{_AXIS})* ?,? ?)?\)"
_PAIR = rf"""(?:'|")(descr|fortran_order|shape)(?:'|") ?: ?({_VALUE})"""
_HEADER = re.compile(rf"\{{ ?{_PAIR} ?, ?{_PAIR} ?, ?{_PAIR} ?,? ?\}}")
_STRUCTURED = re.compile(r"""(?:'|")descr(?:'|") ?: ?[\[({]""")
_PLAIN = re.compile(
    r"[<>|=]?(?:\?|b1|[iu][1248]|f(?:2|4|8|12|16)|c(?:8|16|24|32)|[SU]\d{1,9}|[mM]8(?:\[\d{0,6}\w{1,7}\])?)"
)
_AT_A_TIME = 1 << 20
_OBJECT = re.compile(r"[<>|=]?O\d*")


class HeaderError(ValueError):
    """The header of an array is damaged, or describes an array that is not taken."""


class Header(NamedTuple):
    """What an array is, and how many bytes said so."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran: bool
    length: int


def read_header(file: IO[bytes], *, objects: bool = False, writer: str = "numpy.save") -> Header:
    """Read the header of an array and leave the file at its first value.

    Parameters
    ----------
    file
        A file of one array, or a member of an archive of arrays.
    objects
        Also take arrays of objects.
    writer
        What writes such files, for messages.

    Raises
    ------
    HeaderError
        Not an array, a header that is not plain, or an array of objects where those are not asked for.
    """
    start = file.read(8)
    if start[:6] != _MAGIC or len(start) < 8 or start[6] not in (1, 2, 3) or start[7]:
        raise HeaderError(f"does not start like a NumPy array; save it with {writer}")
    width = 2 if start[6] == 1 else 4
    size = int.from_bytes(_exactly(file, width), "little")
    if size > _LONGEST:
        raise HeaderError(f"has a header of {size} bytes, expected at most {_LONGEST}; save a plain array")
    text = _exactly(file, size).decode("utf-8" if start[6] == 3 else "latin-1")
    dtype, shape, fortran = _parse(text, objects, writer)
    return Header(dtype, shape, fortran, 8 + width + size)


def as_array(buffer: npt.NDArray[np.uint8], header: Header) -> Array:
    """Return bytes as the array that a header describes, in native byte order and not writeable.

    Raises
    ------
    HeaderError
        Text that is not Unicode, or booleans that are neither 0 nor 1.
    """
    dtype = header.dtype
    if dtype.kind == "U":
        _check_characters(buffer.view(np.dtype(np.uint32).newbyteorder(dtype.byteorder)))
    if dtype.kind == "b" and buffer.max(initial=0) > 1:
        raise HeaderError("holds booleans that are neither 0 nor 1; save it again")
    array: Array = np.ndarray(header.shape, dtype, buffer=buffer, order="F" if header.fortran else "C")
    # A view cannot be made writeable again while what it looks at is not.
    owner: Array = buffer if dtype.isnative else array.astype(dtype.newbyteorder("="))
    owner.setflags(write=False)
    array = array if dtype.isnative else owner.view()
    array.setflags(write=False)
    return array


def read_npy(path: Path) -> Array:
    """Read an array file; what it declares is held against the size of the file."""
    with guarded(path, "cannot be read as .npy"), path.open("rb") as file:
        try:
            header = read_header(file)
            size = os.path.getsize(path) - header.length
            declared = int(np.prod(header.shape, dtype=object)) * header.dtype.itemsize
            if declared != size:
                raise HeaderError(f"declares {declared:,} bytes of values, but holds {size:,}; save it again")
            return as_array(np.frombuffer(file.read(size), np.uint8), header)
        except HeaderError as error:
            raise InputError(f"{shown(path)}: {error}") from error


def _check_characters(codes: npt.NDArray[np.uint32]) -> None:
    low, high = _SURROGATES
    largest = int(codes.max(initial=0))
    if largest > _LAST_CHARACTER or (largest >= low and bool(np.any((codes >= low) & (codes <= high)))):
        raise HeaderError("holds text that is not valid Unicode; save it again")


def _exactly(file: IO[bytes], size: int) -> bytes:
    data = file.read(size)
    if len(data) != size:
        raise HeaderError("ends inside its header; save it again")
    return data


def _parse(text: str, objects: bool, writer: str) -> tuple[np.dtype[Any], tuple[int, ...], bool]:
    line = " ".join(text.split())  # runs of blanks would make the patterns slow
    if _STRUCTURED.search(line):
        raise HeaderError("is a structured array, expected a plain one; save one array per field")
    match = _HEADER.fullmatch(line)
    fields = dict(zip(match.groups()[::2], match.groups()[1::2], strict=True)) if match else {}
    if len(fields) != 3 or fields["fortran_order"] not in ("True", "False") or fields["shape"][0] != "(":
        raise HeaderError(f"has a header that cannot be parsed; save it with {writer}")
    shape = tuple(int(axis) for axis in re.findall(r"\d+", fields["shape"]))
    if len(shape) > MOST_AXES:
        raise HeaderError(f"has {len(shape)} axes, expected at most {MOST_AXES}; reshape it")
    return _dtype(fields["descr"].strip("'\""), objects), shape, fields["fortran_order"] == "True"


def _dtype(descr: str, objects: bool) -> np.dtype[Any]:
    if _OBJECT.fullmatch(descr):
        if objects:
            return np.dtype(object)
        raise HeaderError(
            "is an object array and would need pickle; save numbers as an array of numbers (astype(int) or "
            "astype(float)), text as one of text (astype(str))"
        )
    if not _PLAIN.fullmatch(descr):
        raise HeaderError(f"has type {descr[:40]!r}, expected numbers, booleans or text; convert it before saving")
    try:
        dtype = np.dtype(descr)
    except (TypeError, ValueError) as error:
        raise HeaderError(f"has type {descr[:40]!r}, which does not exist here; convert it before saving") from error
    if not dtype.itemsize:
        raise HeaderError("has elements of width 0; save text with at least one character of width")
    return dtype


def blank(path: Path, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
    """Return an array of zeros on disk, to be filled in.

    The zeros are written, so that a full disk is an error here and not the end of the process later.
    """
    kind = np.dtype(dtype)
    size = kind.itemsize * int(np.prod(shape, dtype=object))
    zeros = bytes(min(size, _AT_A_TIME))
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": kind.str, "fortran_order": False, "shape": shape})
        for start in range(0, size, _AT_A_TIME):
            file.write(zeros[: size - start])
    # What holds nothing cannot be mapped.
    found: Array = np.load(path, mmap_mode="r+" if size else None, allow_pickle=False)
    return found
