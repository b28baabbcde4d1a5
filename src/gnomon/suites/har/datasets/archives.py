"""Zip archives, with the archives inside them as folders: ``outer.zip`` holds ``inner.zip/table.csv``.

An inner archive is put on disk as a nameless temporary file while it is open, since a zip archive is read from its end;
its members are never unpacked. Members are checked before they are read: no passwords, no names that lead out, no
sizes beyond the limits of input.
"""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from gnomon.core.errors import InputError
from gnomon.intake.faults import guarded, shown
from gnomon.intake.limits import DEFAULT, check_file

MOST = 1_000_000
"""Members of an archive, inner ones included."""
DEEPEST = 3
"""Archives inside archives that are looked into."""
KEPT = 8
"""Inner archives that stay open."""
SUFFIX = ".zip"
_ENCRYPTED = 0x1 | 0x40


class Archive:
    """An open zip archive."""

    def __init__(self, source: Path | IO[bytes], where: str, depth: int = 0) -> None:
        if isinstance(source, Path):
            check_file(source, DEFAULT.raised())
        self.where, self.depth, self._source = where, depth, source
        with guarded(where, "not a readable zip archive", "obtain it again"):
            self._zip = zipfile.ZipFile(source)
            infos = [info for info in self._zip.infolist() if not info.is_dir()]
        if len(infos) > MOST:
            raise InputError(f"{where}: {len(infos):,} members, expected at most {MOST:,}")
        self._infos = {info.filename: info for info in infos if not info.filename.startswith("__MACOSX/")}
        self._inner = Inner(self._opened)

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the archive and those inside it."""
        self._inner.close()
        self._zip.close()
        if not isinstance(self._source, Path):
            self._source.close()

    def names(self) -> Iterator[str]:
        """Yield the members; an archive inside stands for what it holds, or for itself where it cannot be read."""
        for name in self._infos:
            yield from (f"{name}/{below}" if below else name for below in self._below(name))

    def _below(self, name: str) -> list[str]:
        if not is_archive(name) or self.depth + 1 >= DEEPEST:
            return [""]
        try:
            return list(self._inner[name].names())
        except InputError:
            return [""]

    def read(self, name: str) -> bytes:
        """Return the bytes of a member."""
        outer, below = split(name)
        if below and name not in self._infos:
            return self._inner[outer].read(below)
        info = self._info(name)
        damaged = guarded(self._shown(name), "cannot be read from the archive", "obtain the archive again")
        with damaged, self._zip.open(info) as file:
            data = file.read(info.file_size + 1)
        if len(data) != info.file_size:
            said = f"{len(data)} bytes, expected {info.file_size} as the archive says"
            raise InputError(f"{self._shown(name)}: {said}; obtain the archive again")
        if not data:
            raise InputError(f"{self._shown(name)}: is empty, expected rows; obtain the archive again")
        return data

    def open(self, name: str) -> IO[bytes]:
        """Return a member as a stream."""
        outer, below = split(name)
        if below and name not in self._infos:
            return self._inner[outer].open(below)
        info = self._info(name)
        with guarded(self._shown(name), "cannot be read from the archive", "obtain the archive again"):
            return self._zip.open(info)

    def _opened(self, name: str) -> Archive:
        """Copy an archive that is a member to a temporary file, and open it."""
        info, where = self._info(name), self._shown(name)
        with guarded(where, "cannot be copied out of its archive", "make room for temporary files"):
            copy = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the archive)
        try:
            damaged = guarded(where, "cannot be read from the archive", "obtain the archive again")
            with damaged, self._zip.open(info) as file:
                shutil.copyfileobj(file, copy, 1 << 20)
            return Archive(copy, where, self.depth + 1)
        except BaseException:
            copy.close()
            raise

    def _info(self, name: str) -> zipfile.ZipInfo:
        where = self._shown(name)
        info = self._infos.get(name)
        if info is None:
            raise InputError(f"{where}: not in the archive; obtain the archive again")
        if info.flag_bits & _ENCRYPTED:
            raise InputError(f"{where}: is encrypted; store it without a password")
        if name.startswith("/") or ".." in name.split("/") or "\\" in info.orig_filename:
            raise InputError(f"{where}: leaves its archive by its name; obtain the archive again")
        DEFAULT.raised().check_decoded(where, info.file_size, info.compress_size)
        return info

    def _shown(self, name: str) -> str:
        return f"{self.where}/{shown(name)}"


class Inner:
    """Archives that are open, the last :data:`KEPT` that were used."""

    def __init__(self, opened: Callable[[str], Archive]) -> None:
        self._opened = opened
        self._kept: OrderedDict[str, Archive] = OrderedDict()

    def __getitem__(self, name: str) -> Archive:
        if name not in self._kept:
            self._kept[name] = self._opened(name)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)[1].close()
        self._kept.move_to_end(name)
        return self._kept[name]

    def close(self) -> None:
        """Close them all."""
        while self._kept:
            self._kept.popitem()[1].close()


def is_archive(name: str) -> bool:
    """Say whether a file is called like an archive."""
    return name.lower().endswith(SUFFIX)


def split(name: str) -> tuple[str, str]:
    """Return the outermost archive in a path and the path inside it; two empty texts where there is none.

    >>> split("data/outer.zip/inner.zip/a.csv")
    ('data/outer.zip', 'inner.zip/a.csv')
    """
    parts = name.split("/")
    for k, part in enumerate(parts[:-1], start=1):
        if is_archive(part):
            return "/".join(parts[:k]), "/".join(parts[k:])
    return "", ""
