"""The store: one sealed folder per key, published by rename, built once under a lock.

Layout: ``store/ab/abcdef.../`` holds a result, the record of what belongs to it (``result.json``) and its seal;
``store/drafts/`` results that are being written (:mod:`gnomon.intake.drafts`); ``store/locks/`` the lock files, whose
locks die with the process that holds them, and which name the command that last made a result afresh;
``store/failures/`` the last error of what failed; ``store/extracts/`` the files of results that other machines keep;
``store/shared-...`` marks by which machines tell whether they see it.

A folder under its final name is whole as far as processes go. Nothing is forced to the disk: what a power cut tears
does not agree with its seal or its record any more. A result that is not whole is set aside under ``store/damaged/``
when it is next looked at, and is built again.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import stat
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from gnomon.core.canonical import encode_pretty
from gnomon.core.errors import GnomonError, InputError, WorkError
from gnomon.intake.drafts import new_draft, publish_draft, sweep_drafts
from gnomon.runs import seal

FULL = (errno.ENOSPC, errno.EDQUOT)
LEAST_FREE = 1 << 20
"""Bytes below which a disk is taken for full where an error does not say so."""
EXTRACTS = "extracts"
MARK = "shared-"
"""How the names of marks begin."""
RECORD = "result.json"
LARGEST_RECORD = 64 << 20
"""Bytes of a record."""
OWN = (RECORD, seal.NAME)
"""Files that the store adds to a result."""


class StoreFullError(WorkError):
    """The disk that holds the store is full: nothing more can be stored until space is freed."""


class _Record(msgspec.Struct):
    """What belongs to a result: its key, and the sizes of the files that were written, by name."""

    key: str
    files: dict[str, int]


class Store:
    """Results by key under one folder."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def path(self, key: str) -> Path:
        """Where the result of a key is, or would be."""
        return self.folder / key[:2] / key

    def has(self, key: str) -> bool:
        """Say whether a result is there with all of its files in their sizes; their content is not read."""
        path = self.path(key)
        try:
            record = _read_record(path, key)
            found = {name: (path / name).stat().st_size for name in record}
            return found == record and (path / seal.NAME).stat().st_size > 0
        except (OSError, ValueError):
            return False

    def check(self, key: str) -> bool:
        """Say whether a whole result is there, reading all of it; a damaged one is set aside."""
        path = self.path(key)
        if not os.path.lexists(path):
            return False
        # What is replaced while it is read looks damaged; looking again finds what replaced it.
        if _is_whole(path, key) or _is_whole(path, key):
            return True
        self.set_aside(key)
        return False

    def set_aside(self, key: str) -> None:
        """Move a result that must not be used out of the way, so that it is made again."""
        aside = self.folder / "damaged" / f"{key}-{uuid.uuid4().hex[:8]}"
        try:
            aside.parent.mkdir(parents=True, exist_ok=True)
            self.path(key).rename(aside)
        except FileNotFoundError:  # somebody else has set it aside
            pass
        except OSError as error:
            raise WorkError(
                f"{self.path(key)}: this result must not be used, and cannot be moved out of the way "
                f"({error.strerror}); remove it"
            ) from error

    @contextlib.contextmanager
    def lock(self, key: str) -> Iterator[None]:
        """Hold the lock of a key; whoever else wants it waits. It ends with the process, however that ends."""
        with self.writing():
            path = self.folder / "locks" / key
            handle = _opened(path)
        try:
            _hold(handle, path)
            yield
        finally:
            os.close(handle)

    def serves(self, key: str, fresh: str = "") -> bool:
        """Say whether a result is there, and, where a command wants all afresh, that command made it."""
        return self.has(key) and (not fresh or self.made_by(key) == fresh)

    def made_by(self, key: str) -> str:
        """Return the command that last made a result afresh; empty where none did."""
        path = self.folder / "locks" / key
        try:
            return path.read_text() if stat.S_ISREG(path.lstat().st_mode) else ""
        except FileNotFoundError:
            return ""

    def note(self, key: str, command: str) -> None:
        """Keep which command made a result afresh; the caller holds its lock."""
        with self.writing():
            (self.folder / "locks" / key).write_text(command)

    @property
    def extracts(self) -> Store:
        """Files of results that other machines keep."""
        return Store(self.folder / EXTRACTS)

    @contextlib.contextmanager
    def draft(self, key: str) -> Iterator[Path]:
        """Give an empty folder; when the block ends well, seal it and publish it under the key."""
        target = self.path(key)
        with self.writing(), new_draft(self.folder / "drafts", f"{key}-") as draft:
            yield draft
            files = {
                path.relative_to(draft).as_posix(): path.stat().st_size for path in draft.rglob("*") if path.is_file()
            }
            if taken := files.keys() & OWN:
                raise GnomonError(f"a result cannot have a file {min(taken)!r}: the store writes one of that name")
            (draft / RECORD).write_bytes(encode_pretty({"key": key, "files": files}))
            (draft / seal.NAME).write_bytes(seal.make(draft))
            target.parent.mkdir(parents=True, exist_ok=True)
            publish_draft(draft, target, lambda _: False)  # what is there was built again on request

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Turn a full disk into an error that says so."""
        try:
            yield
        except (OSError, InputError) as error:
            if self._is_full(error):
                raise StoreFullError(
                    f"the disk of the store is full ({self.folder}): what was stored before is whole; "
                    "free space and give the same command again to continue"
                ) from error
            raise

    def _is_full(self, error: BaseException | None) -> bool:
        """Say whether an error, or what it came from, is that of a full disk."""
        while error is not None:
            # numpy tells only how much of an array it could write.
            untold = isinstance(error, OSError) and error.errno is None
            if getattr(error, "errno", None) in FULL or (untold and shutil.disk_usage(self.folder).free < LEAST_FREE):
                return True
            error = error.__cause__
        return False

    @contextlib.contextmanager
    def marked(self) -> Iterator[Path]:
        """Put a folder here by which other machines can tell whether they see this store; it goes like a draft."""
        with contextlib.ExitStack() as stack:
            with self.writing():
                mark = stack.enter_context(new_draft(self.folder, MARK))
            yield mark

    def sweep(self) -> None:
        """Remove the drafts and the marks of processes that are gone."""
        for store in (self, self.extracts):
            sweep_drafts(store.folder / "drafts")
        sweep_drafts(self.folder, MARK)

    def fail(self, key: str, record: dict[str, Any]) -> None:
        """Keep the error of a key; a full disk must not hide it, so failing to store is no error."""
        path = self.folder / "failures" / f"{key}.json"
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(encode_pretty(record))

    def failure(self, key: str) -> dict[str, Any] | None:
        """Return the last error of a key."""
        path = self.folder / "failures" / f"{key}.json"
        if not path.is_file():
            return None
        from gnomon.intake.documents import read_json

        record: Any = read_json(path)
        return record if isinstance(record, dict) else None

    def forgive(self, key: str) -> None:
        """Forget the error of a key that has been done."""
        (self.folder / "failures" / f"{key}.json").unlink(missing_ok=True)


class Reading(Store):
    """A store as results are put together from it: what is not there whole may be there in part."""

    def path(self, key: str) -> Path:
        """Where the result of a key is, or what came of it from another machine."""
        whole = super().path(key)
        extract = self.extracts.path(key)
        return extract if extract.is_dir() and not whole.is_dir() else whole


def _opened(path: Path) -> int:
    """Open a file of locks; its folder is made where it is missing, which is only once."""
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o644)


def _hold(handle: int, path: Path) -> None:
    """Wait for the lock of a file, and hold it."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
    except OSError as error:
        raise WorkError(
            f"{path.parent}: its file system gives no locks ({error.strerror}), without which two could store the same "
            "work; give --store a folder on one that does"
        ) from error


def _read_record(path: Path, key: str) -> dict[str, int]:
    """Return the sizes of the files of a result by name; raises where there is no record of this key."""
    status = (path / RECORD).lstat()
    if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_RECORD:  # a pipe would be waited for without end
        raise InputError(f"{path / RECORD}: not a regular file of at most {LARGEST_RECORD} bytes")
    record = msgspec.json.decode((path / RECORD).read_bytes(), type=_Record)
    if record.key != key:
        raise InputError(f"{path / RECORD}: the record of another result, {record.key:.80}")
    return record.files


def _is_whole(path: Path, key: str) -> bool:
    """Say whether a folder holds the result of a key with all that was written for it, unchanged."""
    try:
        record = _read_record(path, key)
        return not seal.problems(path) and seal.read(path).keys() == {RECORD, *record}
    except PermissionError as error:
        raise WorkError(
            f"{path}: this result cannot be read; check its permissions, or give another --store"
        ) from error
    except (OSError, ValueError):  # what cannot be read, or goes away meanwhile, is not whole
        return False
