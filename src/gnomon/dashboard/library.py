"""The runs below one folder: found, listed, and read within limits.

What is in the folder may be hostile. A run is named by its path below the folder; a name with ``..``, a hidden part, or
a link anywhere on the way names nothing. Files of a run are regular files of bounded size, or the run is not opened.
Nothing is written: the list lives in memory, and a run whose stamp has not changed is not read again.
"""

from __future__ import annotations

import os
import stat
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from gnomon.core.errors import GnomonError, InputError
from gnomon.intake.limits import DEFAULT
from gnomon.runs.index import Entry, entry_of, stamps

if TYPE_CHECKING:
    from gnomon.runs.run import Run

T = TypeVar("T")
MIB = 1 << 20
LARGEST = 16 * MIB
"""Bytes of a manifest that is listed."""
OPENED = replace(DEFAULT, max_file_bytes=1024 * MIB, max_decoded_bytes=2048 * MIB, max_json_bytes=128 * MIB)
"""Limits of a run that is opened."""
DEEPEST = 4
"""Folders of runs are looked for this far below the first."""
MOST_FOLDERS = 2_000
MOST_FILES = 1_000
"""In one run directory."""
KEPT = 48
"""Runs and results that are kept in memory."""
MOST_BYTES = 512 * MIB
"""What the arrays of kept runs may come to."""
SKIPPED = ("store",)
"""Folders of the engine, which hold no runs."""


class NotHereError(InputError):
    """A name that names nothing in the folder."""


@dataclass(frozen=True)
class Listed:
    """A run in the list: its key and what the index knows of it; or why it cannot be read."""

    key: str
    entry: Entry | None
    why: str = ""

    @property
    def folder(self) -> str:
        """The folder of runs that it is in."""
        return self.key.rpartition("/")[0]


@dataclass
class Library:
    """All runs below a folder."""

    root: Path
    _known: dict[str, tuple[str, Listed]] = field(default_factory=dict)
    _cache: OrderedDict[tuple[object, ...], tuple[int, object]] = field(default_factory=OrderedDict)
    _making: dict[tuple[object, ...], threading.Lock] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _listing: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        if not self.root.is_dir():
            raise InputError(f"{self.root}: no such folder of runs; give one with --runs DIR")
        self.root = self.root.resolve()

    def listed(self) -> list[Listed]:
        """Return every run, in the order of their keys; only what is new or has changed is read."""
        with self._listing:
            found: dict[str, tuple[str, Listed]] = {}
            for folder in self.folders():
                prefix = self._key(folder)
                for name, stamp in _stamped(folder):
                    key = f"{prefix}/{name}" if prefix else name
                    known = self._known.get(key)
                    found[key] = known if known is not None and known[0] == stamp else (stamp, self._read(key))
            self._known = found
        return [item for _, (_, item) in sorted(found.items())]

    def marks(self) -> list[str]:
        """Return what tells that a listed run was published again."""
        return [stamp for stamp, _ in self._known.values()]

    def folders(self) -> Iterator[Path]:
        """Return the folder itself and those below it that may hold runs; links are not followed."""
        level, seen = [self.root], 0
        for _ in range(DEEPEST + 1):
            below = []
            for folder in level:
                yield folder
                seen += 1
                if seen >= MOST_FOLDERS:
                    return
                below += _subfolders(folder)
            level = below

    def path(self, key: str) -> Path:
        """Return the folder that a key names, or refuse it."""
        parts = key.split("/")
        if not key or "\0" in key or len(key) > 1000 or any(not part or part.startswith(".") for part in parts):
            raise NotHereError(f"no run {key[:80]!r} here: a name is made of folders below the runs folder")
        path = self.root
        for part in parts:
            path = path / part
            if not _is(path, stat.S_ISDIR):
                raise NotHereError(f"no run {key[:80]!r} in this folder (links are not followed)")
        return path

    def file(self, key: str, name: str) -> Path:
        """Return a regular file in a folder below the root, or refuse it."""
        folder = self.path(key) if key else self.root
        path = folder / name
        if "/" in name or "\0" in name or name.startswith(".") or not _is(path, stat.S_ISREG):
            raise NotHereError(f"no file {name[:80]!r} in {key[:80] or 'the folder'} (links are not followed)")
        return path

    def run(self, key: str) -> Run:
        """Read a run, or take it from memory if it has not changed."""
        from gnomon.runs.run import load

        path = self.path(key)
        _check_files(path)
        found = self.cached(("run", key, _stamp(path)), lambda: load(path, OPENED))
        self.path(key)  # what was read is still what the name names, and no link that took its place
        return found

    def cached(self, key: tuple[object, ...], make: Callable[[], T]) -> T:
        """Return what was made for a key before, or make it; the oldest give way."""
        with self._lock:
            own = self._making.setdefault(key, threading.Lock())
        try:
            with own:  # whoever asks for the same meanwhile waits for it
                with self._lock:
                    if key in self._cache:
                        self._cache.move_to_end(key)
                        return self._cache[key][1]  # type: ignore[return-value]
                made = make()
                with self._lock:
                    self._cache[key] = (_size(made), made)
                    while len(self._cache) > KEPT or sum(size for size, _ in self._cache.values()) > MOST_BYTES:
                        self._cache.popitem(last=False)
                return made
        finally:
            with self._lock:
                self._making.pop(key, None)

    def stamp(self, key: str) -> str:
        """Return a mark that changes when a run is published again."""
        return _stamp(self.path(key))

    def _key(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix() if path != self.root else ""

    def _read(self, key: str) -> Listed:
        """Read what is listed of a run; there may be thousands, so that this goes by plain names."""
        folder = os.path.join(self.root, key)
        try:
            _check_files(folder)
            return Listed(key, entry_of(key.rpartition("/")[2], _manifest(folder), f"{key}/manifest.json"))
        except (GnomonError, OSError) as error:
            return Listed(key, None, _without(str(error), self.root))

    def foreign(self, names: Sequence[str]) -> list[tuple[str, str]]:
        """Return folder and name of files with these names that do not belong to a run."""
        found = []
        for folder in self.folders():
            if not os.path.lexists(folder / "manifest.json"):
                found += [(self._key(folder), name) for name in names if _is(folder / name, stat.S_ISREG)]
        return sorted(found)

    def told(self, error: Exception) -> str:
        """Return the text of an error without the path of the folder."""
        return _without(str(error), self.root)


def _size(made: object) -> int:
    """Return the bytes of the arrays of a run; other things are small."""
    parts = [*getattr(made, "tallies", {}).values()]
    arrays = [array for part in parts for array in part.fields.values()]
    for ledger in getattr(made, "ledgers", {}).values():
        arrays += [ledger.case, *ledger.columns.values()]
    return sum(array.nbytes for array in arrays)


def _without(text: str, root: Path) -> str:
    return text.replace(f"{root}{os.sep}", "").replace(str(root), "the folder")


def _stamped(folder: Path) -> list[tuple[str, str]]:
    try:
        return list(stamps(folder, links=False))
    except OSError:
        return []


def _subfolders(folder: Path) -> list[Path]:
    """Return folders that are no runs and not hidden."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(e.name for e in entries if e.is_dir(follow_symlinks=False))
    except OSError:
        return []
    wanted = [folder / name for name in names if not name.startswith(".") and name not in SKIPPED]
    return [path for path in wanted if not os.path.lexists(path / "manifest.json")]


def _is(path: Path, kind: Callable[[int], bool]) -> bool:
    """Say whether a path is of a kind, itself and not what it may link to."""
    try:
        return kind(path.lstat().st_mode)
    except (OSError, ValueError):
        return False


def _stamp(path: Path) -> str:
    marks = []
    for name in ("seal.sha256", "manifest.json"):
        found = (path / name).stat() if (path / name).exists() else None
        marks.append("" if found is None else f"{found.st_mtime_ns}-{found.st_size}-{found.st_ino}")
    return " ".join(marks)


def _manifest(folder: str) -> bytes:
    """Return the manifest of a run directory of bounded size."""
    handle = os.open(os.path.join(folder, "manifest.json"), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST:
            raise InputError(f"{folder}/manifest.json: too large: {found.st_size} bytes, expected at most {LARGEST}")
        return os.read(handle, found.st_size)
    finally:
        os.close(handle)


def _check_files(path: Path | str) -> None:
    """Refuse a run directory that holds anything but regular files."""
    with os.scandir(path) as entries:
        for number, entry in enumerate(entries):
            if number >= MOST_FILES:
                raise InputError(f"{path}: more than {MOST_FILES} files, which no run has; it is not opened")
            if not entry.is_file(follow_symlinks=False):
                raise InputError(f"{path}: {entry.name[:80]!r} is a link, a folder or a device; it is not opened")
