"""NumPy archives without pickle: what is declared is checked before anything is decompressed or allocated.

The reader is its own. It takes the plain part of the format (fixed-width arrays of numbers, booleans, times,
bytes and text), parses the header of an array by pattern, and compares the shape in it with the size of the
archive member. NumPy's loader is not involved, so neither is pickle.
"""

from __future__ import annotations

import math
import os
import zipfile
from collections.abc import Collection
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from gnomon.core.errors import InputError
from gnomon.intake.archives import open_archive
from gnomon.intake.faults import guarded, shown
from gnomon.intake.header import check_columns
from gnomon.intake.limits import DEFAULT, MIB, Limits
from gnomon.intake.npy import Header, HeaderError, read_header

Array = npt.NDArray[Any]
_LAST_CHARACTER = 0x10FFFF
_SURROGATES = (0xD800, 0xDFFF)


def read_npz(path: str | os.PathLike[str], *, limits: Limits = DEFAULT) -> dict[str, Array]:
    """Return the arrays of an ``.npz`` file by name, in native byte order and not writeable.

    Parameters
    ----------
    path
        An archive as ``numpy.savez`` or ``numpy.savez_compressed`` writes it.
    limits
        What the archive may declare.

    Raises
    ------
    InputError
        The archive is damaged, declares too much, or holds anything but plain arrays.
    """
    return read_some(path, None, limits.raised())


def read_some(path: str | os.PathLike[str], names: Collection[str] | None, limits: Limits) -> dict[str, Array]:
    """Return the named arrays, or all of them; the members of the others are checked but not opened."""
    with open_archive(path, limits) as (archive, members):
        check_columns(path, list(members), None if names is None else list(names))
        wanted = members if names is None else names
        return {name: _read_member(path, archive, name, members[name]) for name in wanted}


def _read_member(path: str | os.PathLike[str], archive: zipfile.ZipFile, name: str, info: zipfile.ZipInfo) -> Array:
    where = f"array {shown(name, 80)!r}"
    with guarded(path, f"{where} cannot be read"), archive.open(info) as member:
        try:
            header = read_header(member)
            _check_size(header, info.file_size)
            return _view(_fill(member, info.file_size - header.length), header)
        except HeaderError as error:
            raise InputError(f"{shown(path)}: {where} {error}") from error


def _check_size(header: Header, stored: int) -> None:
    declared = math.prod(header.shape) * header.dtype.itemsize
    if header.length + declared != stored:
        raise HeaderError(
            f"declares shape {shown(str(header.shape), 80)} of {header.dtype}, {declared} bytes, but holds "
            f"{stored - header.length}; save it again"
        )


def _fill(member: IO[bytes], size: int) -> npt.NDArray[np.uint8]:
    """Read exactly `size` bytes and the end, which is where the checksum is compared."""
    buffer = np.empty(size, dtype=np.uint8)
    position = 0
    while data := member.read(MIB):
        if position + len(data) > size:
            raise HeaderError("holds more than it declares; save it again")
        buffer[position : position + len(data)] = np.frombuffer(data, dtype=np.uint8)
        position += len(data)
    if position != size:
        raise HeaderError(f"ends after {position} of {size} bytes; save it again")
    return buffer


def _view(buffer: npt.NDArray[np.uint8], header: Header) -> Array:
    dtype = header.dtype
    if dtype.kind == "U":
        _check_characters(buffer.view(np.dtype(np.uint32).newbyteorder(dtype.byteorder)))
    if dtype.kind == "b" and buffer.max(initial=0) > 1:
        raise HeaderError("holds booleans that are neither 0 nor 1; save it again")
    array: Array = np.ndarray(header.shape, dtype, buffer=buffer, order="F" if header.fortran else "C")
    if not dtype.isnative:
        array = array.astype(dtype.newbyteorder("="))
    buffer.setflags(write=False)
    array.setflags(write=False)
    return array


def _check_characters(codes: npt.NDArray[np.uint32]) -> None:
    low, high = _SURROGATES
    largest = int(codes.max(initial=0))
    if largest > _LAST_CHARACTER or (largest >= low and bool(np.any((codes >= low) & (codes <= high)))):
        raise HeaderError("holds text that is not valid Unicode; save it again")
