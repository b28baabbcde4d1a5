"""The store: one sealed folder per key, published by rename, built once under a lock.

Layout: ``store/ab/abcdef.../`` holds a result and its seal; ``store/locks/`` the lock files, whose locks die with
the process that holds them; ``store/failures/`` the last error of what failed. A folder under its final name is
whole as far as processes go. Nothing is forced to the disk: what a power cut tears does not agree with its seal
any more, is set aside under ``store/damaged/`` when it is next looked at, and is built again.
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
from gnomon.core.errors import WorkError
from gnomon.runs import seal
from gnomon.runs.drafts import is_alive

FULL = (errno.ENOSPC, errno.EDQUOT)


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
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

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
        except OSError as error:
            if error.errno in FULL:
                raise StoreFullError(
                    f"the disk of the store is full ({self.folder}): what was stored before is whole; "
                    "free space and give the same command again to continue"
                ) from error
            raise

    def sweep(self) -> None:
        """Remove the drafts of processes that are gone."""
        drafts = self.folder / "drafts"
        if drafts.is_dir():
            for path in drafts.iterdir():
                if not is_alive(path.name.rsplit("-", 2)[-2]):
                    shutil.rmtree(path, ignore_errors=True)

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
