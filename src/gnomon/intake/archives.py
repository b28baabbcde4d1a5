"""Zip archives from outside: every member is checked by what it declares before one is opened."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager

from gnomon.core.errors import InputError
from gnomon.intake.faults import guarded, shown
from gnomon.intake.limits import MIB, Limits, check_file

SUFFIX = ".npy"
_ENCRYPTED = 0x1 | 0x40
_BYTES_PER_ENTRY = 1 << 10


@contextmanager
def open_archive(
    path: str | os.PathLike[str], limits: Limits
) -> Iterator[tuple[zipfile.ZipFile, dict[str, zipfile.ZipInfo]]]:
    """Open an archive of arrays and give its checked members by array name."""
    check_file(path, limits)
    with (
        guarded(path, "not a readable npz archive"),
        _Metered(path, limits) as file,
        zipfile.ZipFile(file) as archive,
    ):
        yield archive, _checked(path, archive.infolist(), limits)


def array_name(member: str) -> str | None:
    """Return the name of the array in a member, None for a name that no array may have.

    >>> array_name("labels.npy"), array_name("../labels.npy")
    ('labels', None)
    """
    name = member.removesuffix(SUFFIX)
    if name == member or not name or not name.isprintable() or any(c in name for c in "/\\"):
        return None
    return name


class _Metered(io.FileIO):
    """A file that refuses to be read in one large piece.

    The directory of a zip archive is read whole and becomes one object per entry; its length is a number
    in the file.
    """

    def __init__(self, path: str | os.PathLike[str], limits: Limits) -> None:
        super().__init__(os.fspath(path), "rb")
        self._most = max(2 * MIB, limits.max_columns * _BYTES_PER_ENTRY)

    def read(self, size: int | None = -1, /) -> bytes:
        """Return up to `size` bytes, or raise."""
        size = -1 if size is None else size
        data = super().read(size if 0 <= size <= self._most else self._most + 1) or b""
        if len(data) > self._most:
            raise zipfile.BadZipFile(f"the directory of the archive is larger than {self._most} bytes")
        return data


def _checked(path: str | os.PathLike[str], infos: list[zipfile.ZipInfo], limits: Limits) -> dict[str, zipfile.ZipInfo]:
    if not infos or len(infos) > limits.max_columns:
        raise InputError(
            f"{shown(path)}: {len(infos)} members, expected 1 to {limits.max_columns}; write the archive again"
        )
    found: dict[str, zipfile.ZipInfo] = {}
    for info in infos:
        name = _check_member(path, info)
        if name in found:
            raise InputError(f"{shown(path)}: duplicate array {shown(name, 80)!r}; give every array its own name")
        found[name] = info
    return found


def _check_member(path: str | os.PathLike[str], info: zipfile.ZipInfo) -> str:
    where = f"{shown(path)}: member {shown(info.orig_filename, 80)!r}"
    name = array_name(info.filename)
    if name is None or info.orig_filename != info.filename:
        raise InputError(f"{where} is not a plain array name ending in {SUFFIX}; write the archive with numpy.savez")
    if info.flag_bits & _ENCRYPTED:
        raise InputError(f"{where} is encrypted, expected plain; write the archive without a password")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise InputError(
            f"{where} uses compression method {info.compress_type}, expected stored or deflated; write the archive "
            "with numpy.savez"
        )
    if info.compress_type == zipfile.ZIP_STORED and info.compress_size != info.file_size:
        raise InputError(f"{where} contradicts itself about its size; write the archive again")
    return name
