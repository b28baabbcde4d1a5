"""NumPy archives without pickle: what is declared is checked before anything is decompressed or allocated.

The reader is its own. It takes the plain part of the format (fixed-width arrays of numbers, booleans, times,
bytes and text), parses the header of an array by pattern, and compares the shape in it with the size of the
archive member. NumPy's loader is not involved, so neither is pickle. Arrays of objects, which are pickles
inside the archive, are refused unless they are asked for; then :mod:`gnomon.intake.pickles` reads them.
"""

from __future__ import annotations

import dataclasses
import math
import os
import zipfile
from collections.abc import Collection
from typing import IO

import numpy as np
import numpy.typing as npt

from gnomon.core.errors import InputError
from gnomon.intake.archives import SUFFIX, open_archive
from gnomon.intake.faults import guarded, shown
from gnomon.intake.header import check_columns
from gnomon.intake.limits import DEFAULT, MIB, Limits
from gnomon.intake.npy import Array, Header, HeaderError, as_array, read_header
from gnomon.intake.pickles import PickleFault, unpickle

__all__ = ["Array", "read_npz", "read_some"]

_PIECE = 1 << 16
"""Bytes that are read at a time: larger ones would be mapped and unmapped by the allocator each time."""

_OBJECT_RATIO = 50
_OBJECT_FLOOR_BYTES = 16 * MIB


def read_npz(path: str | os.PathLike[str], *, objects: bool = False, limits: Limits = DEFAULT) -> dict[str, Array]:
    """Return the arrays of an ``.npz`` file by name, in native byte order and not writeable.

    Parameters
    ----------
    path
        An archive as ``numpy.savez`` or ``numpy.savez_compressed`` writes it.
    objects
        Also read arrays of objects (ragged or partly missing fields), through the allow-list of
        :func:`gnomon.intake.pickles.read_pickle`.
    limits
        What the archive may declare.

    Raises
    ------
    InputError
        The archive is damaged, declares too much, or holds anything but plain arrays.
    """
    return read_some(path, None, limits.raised(), objects=objects)


def read_some(
    path: str | os.PathLike[str], names: Collection[str] | None, limits: Limits, *, objects: bool = False
) -> dict[str, Array]:
    """Return the named arrays, or all of them; the members of the others are not opened."""
    bounds = _for_objects(limits) if objects else limits
    with open_archive(path, bounds) as (archive, members):
        check_columns(path, list(members), None if names is None else list(names))
        wanted = members if names is None else names
        # Members that overlap share their compressed bytes, so the sum is held against the file.
        bounds.check_decoded(path, sum(members[name].file_size for name in wanted), os.path.getsize(path))
        pickled = limits if objects else None
        return {name: _read_member(path, archive, members[name], pickled) for name in wanted}


def _read_member(
    path: str | os.PathLike[str], archive: zipfile.ZipFile, info: zipfile.ZipInfo, pickled: Limits | None
) -> Array:
    where = f"array {shown(info.filename.removesuffix(SUFFIX), 80)!r}"
    with guarded(path, f"{where} cannot be read"), archive.open(info) as member:
        try:
            header = read_header(member, objects=pickled is not None, writer="numpy.savez")
            if pickled is not None and header.dtype.hasobject:
                return _objects(_fill(member, info.file_size - header.length).tobytes(), header, pickled)
            _check_size(header, info.file_size)
            return as_array(_fill(member, info.file_size - header.length), header)
        except (HeaderError, PickleFault) as error:
            raise InputError(f"{shown(path)}: {where} {error}") from error


def _for_objects(limits: Limits) -> Limits:
    """Return stricter bounds on compression: a byte of a pickle may become an object, which costs many bytes."""
    return dataclasses.replace(
        limits,
        max_ratio=min(limits.max_ratio, _OBJECT_RATIO),
        ratio_floor_bytes=min(limits.ratio_floor_bytes, _OBJECT_FLOOR_BYTES),
    )


def _objects(data: bytes, header: Header, limits: Limits) -> Array:
    value = unpickle(data, limits)
    if not isinstance(value, np.ndarray) or not value.dtype.hasobject or value.shape != header.shape:
        raise HeaderError(
            f"holds a pickle that is not an array of {shown(str(header.shape), 80)} objects; save it again"
        )
    return value


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
    while data := member.read(_PIECE):
        if position + len(data) > size:
            raise HeaderError("holds more than it declares; save it again")
        buffer[position : position + len(data)] = np.frombuffer(data, dtype=np.uint8)
        position += len(data)
    if position != size:
        raise HeaderError(f"ends after {position} of {size} bytes; save it again")
    return buffer
