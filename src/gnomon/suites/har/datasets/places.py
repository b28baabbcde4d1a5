"""Where a dataset is: a folder or a zip archive, read member by member, never unpacked to disk."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gnomon.core.errors import InputError, some
from gnomon.intake.faults import guarded, shown
from gnomon.intake.limits import DEFAULT, check_file

DEEPEST = 8
"""Folders below a root that are looked into."""
_MOST = 1_000_000
_ENCRYPTED = 0x1 | 0x40


@dataclass(frozen=True)
class Place:
    """A folder or an archive, and the folder inside it under which a dataset begins."""

    path: Path
    inside: str = ""

    @property
    def is_archive(self) -> bool:
        """Whether this is a zip file."""
        return self.path.is_file()

    def __str__(self) -> str:
        return f"{shown(self.path)}{'/' if self.inside else ''}{shown(self.inside.rstrip('/'))}"

    def names(self) -> list[str]:
        """Return the files below, as paths with slashes, in the order of their names."""
        return sorted(_in_archive(self.path) if self.is_archive else _in_folder(self.path))

    @contextmanager
    def open(self) -> Iterator[Files]:
        """Give the files; an archive is kept open meanwhile."""
        if not self.is_archive:
            yield Files(self.path, None)
            return
        check_file(self.path, DEFAULT.raised())
        with guarded(self.path, "not a readable zip archive"), zipfile.ZipFile(self.path) as archive:
            yield Files(self.path, archive)


@dataclass(frozen=True)
class Files:
    """The files of a place while it is open."""

    root: Path
    archive: zipfile.ZipFile | None

    def shown(self, name: str) -> str:
        """Return how a file is called in messages."""
        return f"{shown(self.root)}/{shown(name)}"

    def read(self, name: str) -> bytes:
        """Return the bytes of a file within the limits of input."""
        where, limits = self.shown(name), DEFAULT.raised()
        if self.archive is None:
            check_file(self.root / name, limits)
            with guarded(where, "cannot be read", "check that you may read it"):
                return (self.root / name).read_bytes()
        with guarded(where, "cannot be read from the archive", "obtain the archive again"):
            info = self.archive.getinfo(name)
            _check(where, info)
            limits.check_decoded(where, info.file_size, info.compress_size)
            with self.archive.open(info) as file:
                data = file.read(info.file_size + 1)
        if len(data) != info.file_size or not data:
            raise InputError(
                f"{where}: {len(data)} bytes, expected {info.file_size} and some; obtain the archive again"
            )
        return data


def candidates(root: str | os.PathLike[str]) -> list[Place]:
    """Return the places in which a dataset may be: the folder itself, then the archives in it and one level below."""
    path = Path(root)
    if path.is_file():
        if not zipfile.is_zipfile(path):
            raise InputError(f"{shown(path)}: is no zip archive; give a folder or a zip archive")
        return [Place(path)]
    if not path.is_dir():
        raise InputError(f"{shown(path)}: no such folder; give the folder or the zip archive that holds the data")
    archives = [item for pattern in ("*.zip", "*/*.zip") for item in sorted(path.glob(pattern)) if item.is_file()]
    return [Place(path), *(Place(item) for item in archives if zipfile.is_zipfile(item))]


def find(places: list[tuple[Place, list[str]]], member: re.Pattern[str], name: str) -> list[Place]:
    """Return the places of a dataset, folders first; a folder that holds it twice is refused."""
    found = []
    for place, names in places:
        inside = sorted({each[: match.start()] for each in names if (match := member.search(each))})
        if len(inside) > 1:
            where = some(each or "." for each in inside)
            raise InputError(f"{place}: holds {name} {len(inside)} times, in {where}; name one of them")
        found += [Place(place.path, each) for each in inside]
    return found


def _in_folder(root: Path) -> Iterator[str]:
    count = 0
    for folder, below, files in os.walk(root):
        here = Path(folder).relative_to(root)
        below[:] = sorted(name for name in below if not name.startswith(".")) if len(here.parts) < DEEPEST else []
        count += len(files)
        if count > _MOST:
            raise InputError(f"{shown(root)}: more than {_MOST:,} files; name the folder of the dataset")
        yield from ((here / name).as_posix() for name in files)


def _in_archive(path: Path) -> list[str]:
    with guarded(path, "not a readable zip archive", "obtain it again"), zipfile.ZipFile(path) as archive:
        names = [info.filename for info in archive.infolist() if not info.is_dir()]
    if len(names) > _MOST:
        raise InputError(f"{shown(path)}: {len(names):,} members, expected at most {_MOST:,}")
    return [name for name in names if not name.startswith("__MACOSX/")]


def _check(where: str, info: zipfile.ZipInfo) -> None:
    if info.flag_bits & _ENCRYPTED:
        raise InputError(f"{where}: is encrypted; store it without a password")
    if info.filename.startswith("/") or ".." in info.filename.split("/") or "\\" in info.orig_filename:
        raise InputError(f"{where}: leaves its archive by its name; obtain the archive again")
