"""The runs below one folder: found, listed, and read within limits.

What is in the folder may be hostile. A run is named by its path below the folder; a name with ``..``, a hidden part, or
a link anywhere on the way names nothing. Files of a run are regular files of bounded size, or the run is not opened.
Nothing is written: the list lives in memory, and a run whose stamp has not changed is not read again. Of a run that was
refused its error is kept, so that asking for it again costs nothing.
"""

from __future__ import annotations

import hashlib
import math
import os
import stat
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from gnomon.core.errors import GnomonError, InputError
from gnomon.intake.limits import SHOWN, TooLargeError
from gnomon.runs.index import Entry, OtherVersionError, entry_of, read_manifest, stamps

if TYPE_CHECKING:
    from gnomon.runs.run import Run

T = TypeVar("T")
MIB = 1 << 20
DEEPEST = 4
"""Folders of runs are looked for this far below the first."""
MOST_FOLDERS = 2_000
MOST_FILES = 1_000
"""In one run directory."""
KEPT = 48
"""Runs and results that are kept in memory."""
MOST_BYTES = 256 * MIB
"""What kept runs may come to."""
CASE = 80
"""Bytes of an id, group or tag of a case."""
MOST_REFUSED, LONGEST_ERROR = 1_000, 2_000
"""Errors of runs that are kept, and their characters."""
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
    other_version: bool = False
    """Whether it cannot be read because another version of gnomon wrote it."""

    @property
    def folder(self) -> str:
        """The folder of runs that it is in."""
        return self.key.rpartition("/")[0]


@dataclass(frozen=True)
class Refusal:
    """Why a run could not be read, without anything that was read of it."""

    kind: type[GnomonError]
    text: str
    room: float
    """The bytes that it had; infinite where the error is not about them."""

    @classmethod
    def of(cls, error: GnomonError, room: float) -> Refusal:
        """Return what is kept of an error that was raised where a run had some room."""
        return cls(type(error), str(error)[:LONGEST_ERROR], room if is_too_large(error) else math.inf)

    def repeat(self) -> GnomonError:
        """Return an error that says the same as the first."""
        error = self.kind(self.text)
        if math.isfinite(self.room):
            error.__cause__ = TooLargeError(self.text)
        return error


@dataclass
class Library:
    """All runs below a folder."""

    root: Path
    _known: dict[str, tuple[str, Listed]] = field(default_factory=dict)
    _cache: OrderedDict[tuple[object, ...], tuple[int, object]] = field(default_factory=OrderedDict)
    _refused: OrderedDict[str, Refusal] = field(default_factory=OrderedDict)
    _making: dict[tuple[object, ...], threading.Lock] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _listing: threading.Lock = field(default_factory=threading.Lock)
    _loading: threading.Lock = field(default_factory=threading.Lock)

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

    def run(self, key: str, taken: int = 0) -> Run:
        """Read a run, or take it from memory if it has not changed.

        With all that is kept, and with other runs of the same page that have `taken` some bytes, it has to keep the
        limits of a page; what is kept gives way first.
        """
        from gnomon.runs.run import load

        path = self.path(key)
        _check_files(path)
        state = f"{key} {_digest_state(path)}"

        def read() -> Run:
            with self._loading, self._refusing(state, SHOWN.without(taken).max_decoded_bytes):
                # One at a time: each may take as much as a run may.
                try:
                    return load(path, SHOWN.without(taken + self._count_kept()))
                except GnomonError as error:
                    if not is_too_large(error):
                        raise
                with self._lock:
                    self._cache.clear()
                return load(path, SHOWN.without(taken))

        found = self.cached(("run", key, _stamp(path)), read)
        self.path(key)  # what was read is still what the name names, and no link that took its place
        return found

    @contextmanager
    def _refusing(self, state: str, room: int) -> Iterator[None]:
        """Refuse a run at once that was refused in this state with as much room before, and keep why it is refused."""
        with self._lock:
            known = self._refused.get(state)
        if known is not None and room <= known.room:
            raise known.repeat()
        try:
            yield
        except GnomonError as error:
            if not any(isinstance(cause, (OSError, MemoryError)) for cause in follow_causes(error)):  # those may pass
                with self._lock:
                    self._refused[state] = Refusal.of(error, room)
                    while len(self._refused) > MOST_REFUSED:
                        self._refused.popitem(last=False)
            raise

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
                    self._cache[key] = (measure_size(made), made)
                    while len(self._cache) > KEPT or sum(size for size, _ in self._cache.values()) > MOST_BYTES:
                        self._cache.popitem(last=False)
                return made
        finally:
            with self._lock:
                self._making.pop(key, None)

    def _count_kept(self) -> int:
        with self._lock:
            return sum(size for size, _ in self._cache.values())

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
            return Listed(key, entry_of(key.rpartition("/")[2], read_manifest(folder), f"{key}/manifest.json"))
        except (GnomonError, OSError) as error:
            return Listed(key, None, _without(str(error), self.root), isinstance(error, OtherVersionError))

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


def measure_size(made: object) -> int:
    """Return the bytes that a run takes, or the runs of a page: what reading them took, or their arrays and cases."""
    if (runs := getattr(made, "runs", None)) is not None:
        return sum(measure_size(run) for run in runs)
    parts = [*getattr(made, "tallies", {}).values()]
    arrays = [array for part in parts for array in part.fields.values()]
    for ledger in getattr(made, "ledgers", {}).values():
        arrays += [ledger.case, *ledger.columns.values()]
    roster = getattr(made, "roster", None)
    columns = 0 if roster is None else 2 + len(roster.tags)
    counted = sum(array.nbytes for array in arrays) + (CASE * columns * len(roster) if roster is not None else 0)
    return max(int(counted), getattr(made, "memory", 0))


def follow_causes(error: BaseException | None) -> Iterator[BaseException]:
    """Return an error, what caused it, what caused that and so on."""
    while error is not None:
        yield error
        error = error.__cause__


def is_too_large(error: BaseException) -> bool:
    """Say whether an error, or one that caused it, is about the room that reading takes."""
    return any(isinstance(cause, TooLargeError) for cause in follow_causes(error))


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


def _digest_state(path: Path) -> str:
    """Return a hash that changes when a file of a run directory is written again."""
    with os.scandir(path) as entries:
        found = sorted((entry.name, entry.stat(follow_symlinks=False)) for entry in entries)
    marks = [(name, status.st_mtime_ns, status.st_size, status.st_ino) for name, status in found]
    return hashlib.sha256(repr(marks).encode()).hexdigest()


def _check_files(path: Path | str) -> None:
    """Refuse a run directory that holds anything but regular files."""
    with os.scandir(path) as entries:
        for number, entry in enumerate(entries):
            if number >= MOST_FILES:
                raise InputError(f"{path}: more than {MOST_FILES} files, which no run has; it is not opened")
            if not entry.is_file(follow_symlinks=False):
                raise InputError(f"{path}: {entry.name[:80]!r} is a link, a folder or a device; it is not opened")
