"""Where a dataset is: a folder or a zip archive, read member by member, never unpacked.

Archives in a root and one level below are places of their own. An archive that lies deeper, or inside another one, is a
folder: its members are called ``proband1/data/acc_walking_csv.zip/acc_walking_waist.csv``.
"""

from __future__ import annotations

import os
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import IO

from gnomon.core.errors import InputError, some
from gnomon.intake.faults import guarded, reason, shown
from gnomon.intake.limits import DEFAULT, check_file
from gnomon.suites.har.datasets.archives import MOST, Archive, Inner, is_archive, split
from gnomon.suites.har.datasets.counting import UNREADABLE

DEEPEST = 8
"""Folders below a root that are looked into."""
APART = 2
"""Folders below a root from which on an archive is a folder."""


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
        return sorted(_listed(self.path) if self.is_archive else walk(self.path).names)

    def file_of(self, name: str) -> Path:
        """Return the file on disk that holds one of the names."""
        if self.is_archive:
            return self.path
        outer = split(name)[0]
        return self.path / (outer if outer and (self.path / outer).is_file() else name)

    @contextmanager
    def open(self) -> Iterator[Files]:
        """Give the files; archives are kept open meanwhile."""
        files = Files(self.path, Archive(self.path, shown(self.path)) if self.is_archive else None)
        try:
            yield files
        except UNREADABLE as error:
            raise InputError(f"{shown(self.path)}: cannot be read ({reason(error)}); obtain it again") from error
        finally:
            files.close()


class Files:
    """The files of a place while it is open."""

    def __init__(self, root: Path, archive: Archive | None = None) -> None:
        self.root, self.archive = root, archive
        self.inner = Inner(lambda name: Archive(root / name, self.shown(name)))

    def close(self) -> None:
        """Close the archives that are open."""
        self.inner.close()
        if self.archive is not None:
            self.archive.close()

    def shown(self, name: str) -> str:
        """Return how a file is called in messages."""
        return f"{shown(self.root)}/{shown(name)}"

    def read(self, name: str) -> bytes:
        """Return the bytes of a file within the limits of input."""
        if self.archive is not None:
            return self.archive.read(name)
        outer, below = split(name)
        if below and (self.root / outer).is_file():
            return self.inner[outer].read(below)
        check_file(self.root / name, DEFAULT.raised())
        with guarded(self.shown(name), "cannot be read", "check that you may read it"):
            return (self.root / name).read_bytes()

    def open(self, name: str) -> IO[bytes]:
        """Return a file as a stream, for files that are too large to hold; the caller closes it."""
        if self.archive is not None:
            return self.archive.open(name)
        outer, below = split(name)
        if below and (self.root / outer).is_file():
            return self.inner[outer].open(below)
        check_file(self.root / name, DEFAULT.raised())
        with guarded(self.shown(name), "cannot be read", "check that you may read it"):
            return (self.root / name).open("rb")

    @contextmanager
    def stream(self, name: str) -> Iterator[IO[bytes]]:
        """Give a file as a stream; what cannot be used of an archive is read to its end, so that its checksum speaks.

        Damaged bytes of an archive may still be text that looks like a wrong row: that the archive is damaged is what a
        user has to know then.
        """
        try:
            with self.open(name) as file:
                yield file
        except (InputError, zipfile.BadZipFile, zlib.error, EOFError):
            self._verify(name)
            raise

    def _verify(self, name: str) -> None:
        """Read a member to its end and raise where the archive is damaged; a plain file has no checksum."""
        if self.archive is None and not split(name)[1]:
            return
        with (
            guarded(self.shown(name), "is damaged in its archive", "obtain the archive again"),
            self.open(name) as file,
        ):
            while file.read(1 << 20):
                pass


@dataclass(frozen=True)
class Survey:
    """Places below a root with the names of their files, and archives that cannot be read with the reason.

    ``repeated``, ``unseen`` and ``dangling`` are those of :class:`Walk`.
    """

    places: list[tuple[Place, list[str]]]
    broken: dict[str, str]
    repeated: dict[str, str] = field(default_factory=dict)
    unseen: dict[str, str] = field(default_factory=dict)
    dangling: list[str] = field(default_factory=list)


def survey(root: str | os.PathLike[str]) -> Survey:
    """Look at the places in which a dataset may be: the folder itself, then the archives in it and one level below."""
    path = Path(root)
    if path.is_file() and not zipfile.is_zipfile(path):
        raise InputError(f"{shown(path)}: is no zip archive; give a folder or a zip archive")
    if not path.exists():
        raise InputError(f"{shown(path)}: no such folder; give the folder or the zip archive that holds the data")
    if path.is_file():
        return _surveyed([Place(path)], path)
    items = [item for pattern in ("*", "*/*") for item in sorted(path.glob(pattern)) if is_archive(item.name)]
    archives = [item for item in items if item.is_file() and not _hidden(item.relative_to(path))]
    there = _surveyed([Place(path), *map(Place, archives)], path)
    looked = walk(path)
    return replace(there, repeated=looked.repeated, unseen=looked.unseen, dangling=looked.dangling)


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _surveyed(candidates: list[Place], root: Path) -> Survey:
    found = Survey([], {})
    for place in candidates:
        try:
            found.places.append((place, place.names()))
        except InputError as error:
            if place.path == root:
                raise
            found.broken[place.path.relative_to(root).as_posix()] = str(error)
    tops = {place.path for place in candidates}
    for place, names in found.places:
        for name in names:
            if is_archive(name) and not _hidden(Path(name)) and place.path / name not in tops:
                where = (place.path.relative_to(root) / name).as_posix()
                said = "cannot be read as an archive, or lies in too many others; obtain it again, or unpack it"
                found.broken[where] = f"{place}/{shown(name)}: {said}"
    return found


def find(places: list[tuple[Place, list[str]]], member: re.Pattern[str], name: str) -> list[Place]:
    """Return the places of a dataset, folders first; a folder that holds it twice is refused."""
    found = []
    for place, names in places:
        inside = sorted({each[: match.start()] for each in names if (match := member.search(each))})
        if len(inside) > 1:
            where = some(each or "." for each in inside)
            said = f"holds {name} {len(inside)} times, in {where}"
            raise InputError(f"{place}: {said}; remove one, or point --data-root at one of them")
        found += [Place(place.path, each) for each in inside]
    return found


@dataclass
class Walk:
    """What is below a folder: the names of its files, links to folders that are looked into already, and the rest.

    Attributes
    ----------
    names
        Paths with slashes; of archives that lie deep, those of their members.
    repeated
        Link -> the folder that it leads to, by the path under which that was looked into.
    unseen
        Folder -> why it was not looked into.
    dangling
        Links that lead nowhere; they are among the names.
    """

    names: list[str] = field(default_factory=list)
    repeated: dict[str, str] = field(default_factory=dict)
    unseen: dict[str, str] = field(default_factory=dict)
    dangling: list[str] = field(default_factory=list)


def walk(root: Path) -> Walk:
    """List the files below a folder; links to folders are followed, each folder is looked into once.

    Folders come before links, so that a folder that is reached both ways has its own name.
    """
    found, seen = Walk(), dict[tuple[int, int], str]()
    folders, links = [Path()], list[Path]()
    count = 0
    while folders or links:
        here = folders.pop() if folders else links.pop(0)
        name = here.as_posix()
        try:
            state = (root / here).stat()
            if (state.st_dev, state.st_ino) in seen:
                found.repeated[name] = seen[state.st_dev, state.st_ino]
                continue
            seen[state.st_dev, state.st_ino] = name
            entries = sorted(os.scandir(root / here), key=lambda entry: entry.name)
        except OSError as error:
            found.unseen[name] = error.strerror or str(error)
            continue
        for entry in entries:
            path = here / entry.name
            if not entry.is_dir():
                count += 1
                if entry.is_symlink() and not os.path.exists(entry.path):
                    found.dangling.append(path.as_posix())
                archive = is_archive(entry.name) and len(here.parts) >= APART
                found.names += _in_archive(root, path.as_posix()) if archive else [path.as_posix()]
            elif not entry.name.startswith(".") and len(here.parts) >= DEEPEST:
                found.unseen[path.as_posix()] = f"more than {DEEPEST} folders deep"
            elif not entry.name.startswith("."):
                (links if entry.is_symlink() else folders).append(path)
        if count > MOST:
            raise InputError(f"{shown(root)}: more than {MOST:,} files; name the folder of the dataset")
    return found


def _in_archive(root: Path, name: str) -> Iterator[str]:
    """Yield the members of an archive, or its own name where it cannot be read."""
    try:
        members = _listed(root / name)
    except InputError:
        yield name
        return
    yield from (f"{name}/{member}" for member in members)


def _listed(path: Path) -> tuple[str, ...]:
    found = path.stat()
    return _members(path, found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=4096)
def _members(path: Path, *state: int) -> tuple[str, ...]:
    """List an archive once, and again when it has changed: one inside another has to be copied out for that."""
    del state
    with Archive(path, shown(path)) as archive:
        return tuple(archive.names())
