"""Drafts: folders that are written under a unique name and appear under their final name complete, by one rename.

Several processes, containers and machines may write into one folder. Conventions:

- **A draft has a unique name and a lock.** Beside the folder ``NAME`` is a file ``NAME.lock``. Its owner holds the lock
  of that file (flock) from before the folder exists until it is gone; the lock ends with the process, however that
  ends. The name holds the boot id of the kernel under which the owner runs. Process ids are not used: they mean
  something else in another PID namespace, and nothing on another machine.
- **A sweep removes only what a dead process left.** :func:`sweep_drafts` removes a draft when its owner ran under this
  very kernel and its lock is free: one kernel keeps the locks of all of its processes, whatever container they are in
  and whatever the file system is. A draft of another machine, of before a restart, without a lock file, or on a file
  system that refuses locks is left alone, because nothing here tells whether its owner lives.
- **A wrong sweep cannot damage what is published.** A sweep renames a draft before it deletes anything. Where the
  owner's rename to the final name came first, the sweep finds nothing; else the owner's rename fails, and is reported.
- **Publishing replaces nothing by accident**; see :func:`publish_draft`.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import functools
import os
import re
import shutil
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

LOCK, SWEPT, OLD = ".lock", ".swept", ".old"
"""Ends of the names of what lies beside a draft: its lock file, the draft itself while it is swept, and a folder with
what stood under the final name and had to make room. There it has that name as long as it may be put back, and the name
of the draft when it is to be deleted."""
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
UNKNOWN = "unknown"
TAKEN = (errno.EEXIST, errno.ENOTEMPTY)
"""Errors of renaming a folder onto one that is not empty."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


@contextlib.contextmanager
def new_draft(folder: Path, prefix: str) -> Iterator[Path]:
    """Make an empty draft in a folder and give it; what is left of it at the end is removed.

    Where the file system refuses locks, the draft has no lock file, and nobody sweeps it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    while True:
        draft = folder / f"{prefix}{_kernel()}-{uuid.uuid4().hex}"
        with _opened(_beside(draft, LOCK), os.O_RDWR | os.O_CREAT | os.O_EXCL) as lock:
            has_lock = _take(lock, fcntl.LOCK_EX)
            if has_lock and not _is_lock_of(lock, draft):  # a sweep took it before this process could, and removed it
                continue
            try:
                draft.mkdir()
                if not has_lock:
                    _beside(draft, LOCK).unlink()
                yield draft
                return
            finally:
                _remove(draft)


def sweep_drafts(folder: Path, prefix: str = "") -> None:
    """Remove the drafts in a folder whose owners ran under this kernel and are dead; see the module's conventions."""
    if _kernel() == UNKNOWN or not folder.is_dir():
        return
    ours = re.compile(rf"({re.escape(prefix)}.*{_kernel()}-[0-9a-f]{{32}}){re.escape(LOCK)}")
    with os.scandir(folder) as entries:
        found = [folder / match[1] for entry in entries if (match := ours.fullmatch(entry.name))]
    for draft in found:
        with contextlib.suppress(OSError), _opened(_beside(draft, LOCK), os.O_RDWR | os.O_NOFOLLOW) as lock:
            # Where the file is not that of the draft any more, its owner finished after it was opened.
            if _take(lock, fcntl.LOCK_EX | fcntl.LOCK_NB) and _is_lock_of(lock, draft):
                with contextlib.suppress(FileNotFoundError):
                    os.rename(draft, _beside(draft, SWEPT))
                _remove(draft)


def _remove(draft: Path) -> None:
    """Remove a draft, its lock file last: what cannot be removed stays a draft that can be swept.

    What had to make room is put back where nothing took its place: publishing failed or died between two renames.
    """
    with contextlib.suppress(OSError):
        with contextlib.suppress(FileNotFoundError), _opened(_beside(draft, OLD), _FOLDER) as old:
            for name in os.listdir(old):
                if name != draft.name and not _rename(name, draft.parent / name, old):
                    os.rename(name, draft.name, src_dir_fd=old, dst_dir_fd=old)
            with contextlib.suppress(FileNotFoundError):
                shutil.rmtree(draft.name, dir_fd=old)
            _beside(draft, OLD).rmdir()
        for path in (draft, _beside(draft, SWEPT)):
            with contextlib.suppress(FileNotFoundError):
                shutil.rmtree(path)
        _beside(draft, LOCK).unlink(missing_ok=True)


def publish_draft(draft: Path, target: Path, keep: Callable[[Path], bool]) -> bool:
    """Rename a draft to its final name; return False where `keep` chose what was there already.

    The rename is the plain one: for a folder it fails unless the target is missing or an empty folder (POSIX), also on
    network file systems, which have no rename flags. So nothing is replaced that was not looked at by `keep`.

    What `keep` rejects is exchanged with the draft in one step where the system can (Linux, local file systems): a
    reader finds the old folder or the new one, whole. Nothing of another publisher is lost by that, even where it
    published between the look and the exchange: all that publish under one name agree that the newest stays, each
    reports success after its own folder stood there complete, and so it is as if this one had come a moment later.
    What was exchanged has the name of the draft then, and goes as the rest of it. Elsewhere the old folder is moved
    beside the draft first, and readers find nothing in between; it is put back if the second rename fails, or by a
    sweep if this process dies.
    """
    discarded = _beside(draft, OLD) / draft.name
    old = discarded.with_name(target.name) if target.parent == draft.parent else discarded
    while True:
        if _rename(draft, target):
            return True
        if keep(target):
            return False
        if _exchange(draft, target):
            return True
        old.parent.mkdir(exist_ok=True)
        try:
            os.rename(target, old)
        except FileNotFoundError:  # another publisher has just moved it
            continue
        is_published = _rename(draft, target)
        os.rename(old, discarded)
        shutil.rmtree(discarded, ignore_errors=True)
        if is_published:
            return True
        # Else another publisher was quicker, and the next turn looks at what it published.


def _rename(folder: str | Path, target: Path, inside: int | None = None) -> bool:
    """Rename a folder (`inside` an open one); return False where another one that is not empty has the name."""
    try:
        os.rename(folder, target, src_dir_fd=inside)
    except OSError as error:
        if error.errno in TAKEN:
            return False
        raise
    return True


def _exchange(a: Path, b: Path) -> bool:
    """Swap two folders in one step; return False where the system cannot, or one is not there."""
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    here, swap = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return bool(renameat2(here, os.fsencode(a), here, os.fsencode(b), swap) == 0)


@functools.cache
def _kernel() -> str:
    """Return what tells the running kernel from others, and from itself before a restart."""
    try:
        return BOOT_ID.read_text().replace("-", "")[:12]
    except OSError:
        return UNKNOWN


def _beside(draft: Path, end: str) -> Path:
    return draft.with_name(draft.name + end)


@contextlib.contextmanager
def _opened(path: Path, flags: int) -> Iterator[int]:
    """Open a file or a folder, and close it at the end."""
    handle = os.open(path, flags, 0o644)
    try:
        yield handle
    finally:
        os.close(handle)


def _take(lock: int, how: int) -> bool:
    """Take the lock of an open file; return False where somebody holds it, or the file system refuses locks."""
    try:
        fcntl.flock(lock, how)
    except OSError:
        return False
    return True


def _is_lock_of(lock: int, draft: Path) -> bool:
    """Say whether an open file still is the lock file of a draft."""
    try:
        return os.path.samestat(os.fstat(lock), os.lstat(_beside(draft, LOCK)))
    except FileNotFoundError:
        return False
