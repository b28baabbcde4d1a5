"""The store: one sealed folder per key, published by rename, built once under a lock.

Layout: ``store/ab/abcdef.../`` holds a result and its seal; ``store/locks/`` the lock files, whose locks die with
the process that holds them, and which name the command that last made a result afresh; ``store/failures/`` the last
error of what failed; ``store/extracts/`` the files of results that other machines keep; ``store/shared-...`` marks by
which machines tell whether they see it. A folder under its final name is whole as far as processes go. Nothing is
forced to the disk: what a power cut tears does not agree with its seal any more, is set aside under ``store/damaged/``
when it is next looked at, and is built again.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gnomon.core.canonical import encode_pretty
from gnomon.core.errors import InputError, WorkError
from gnomon.runs import seal
from gnomon.runs.drafts import is_alive

FULL = (errno.ENOSPC, errno.EDQUOT)
LEAST_FREE = 1 << 20
"""Bytes below which a disk is taken for full where an error does not say so."""
EXTRACTS = "extracts"
MARK = "shared-"
"""How the names of marks begin."""


class StoreFullError(WorkError):
    """The disk that holds the store is full: nothing more can be stored until space is freed."""


class Store:
    """Results by key under one folder."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def path(self, key: str) -> Path:
        """Where the result of a key is, or would be."""
        return self.folder / key[:2] / key

    def has(self, key: str) -> bool:
        """Say whether a result is there (not whether it is undamaged)."""
        return (self.path(key) / seal.NAME).is_file()

    def check(self, key: str) -> bool:
        """Say whether a whole result is there; a damaged one is set aside."""
        path = self.path(key)
        if not path.exists():
            return False
        if not seal.problems(path):
            return True
        aside = self.folder / "damaged" / f"{key}-{uuid.uuid4().hex[:8]}"
        aside.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            path.rename(aside)
        return False

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
        try:
            return (self.folder / "locks" / key).read_text()
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
        draft = self.folder / "drafts" / f"{key}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        try:
            with self.writing():
                draft.mkdir(parents=True)
                yield draft
                (draft / seal.NAME).write_bytes(seal.make(draft))
                self._publish(draft, self.path(key))
        finally:
            shutil.rmtree(draft, ignore_errors=True)

    def _publish(self, draft: Path, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():  # built again on request: the old result goes first
            old = draft.with_name(f"{draft.name}-old")
            target.rename(old)
            shutil.rmtree(old, ignore_errors=True)
        draft.rename(target)

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
        """Put a file here by which other machines can tell whether they see this folder; its owner holds its lock."""
        name = f"{MARK}{uuid.uuid4().hex[:12]}"
        with self.writing():
            self.folder.mkdir(parents=True, exist_ok=True)
            draft, mark = self.folder / f".{name}", self.folder / name
            handle = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
        try:
            _hold(handle, draft)
            draft.rename(mark)  # under this name others may sweep it, and find it locked
            yield mark
        finally:
            draft.unlink(missing_ok=True)
            mark.unlink(missing_ok=True)
            os.close(handle)

    def sweep(self) -> None:
        """Remove the drafts and the marks of processes that are gone; those of other machines are known by locks."""
        for store in (self, self.extracts):
            drafts = store.folder / "drafts"
            for path in drafts.iterdir() if drafts.is_dir() else ():
                store._sweep_draft(path)
        for mark in self.folder.glob(f"{MARK}*"):
            _sweep_mark(mark)

    def _sweep_draft(self, draft: Path) -> None:
        """Remove a draft unless a process here writes it, or one on another machine, which holds the lock of its key.

        The number of a process says nothing on another machine; a lock does, wherever the file system keeps locks.
        """
        key, _, rest = draft.name.partition("-")
        if is_alive(rest.partition("-")[0]):
            return
        with _free(self.folder / "locks" / key) as free:
            if free:
                shutil.rmtree(draft, ignore_errors=True)

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


@contextlib.contextmanager
def _free(path: Path) -> Iterator[bool]:
    """Say whether nobody holds the lock of a file, and hold it meanwhile; without the file, nobody does."""
    try:
        handle = os.open(path, os.O_RDWR)
    except OSError as error:  # gone, or of somebody else
        yield error.errno == errno.ENOENT
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        free = False
    else:
        free = True
    try:
        yield free
    finally:
        os.close(handle)


def _sweep_mark(mark: Path) -> None:
    """Remove a mark that no process holds; the lock ends with its owner, however that ends."""
    with _free(mark) as free:
        if free:
            mark.unlink(missing_ok=True)
