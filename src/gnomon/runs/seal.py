"""The seal of a directory: the SHA-256 of every file in it, in the format that ``sha256sum -c`` reads.

The seal file is compared byte by byte with what the files give now, so that a change of any byte, of the
seal itself, of a name, or an added or removed file is found. An empty seal agrees with nothing. Links, devices and
pipes are named and not opened. Of a run directory, which may have come from somebody else, the number of files and
their sizes are bounded as well.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import stat
from functools import cache
from pathlib import Path
from typing import NamedTuple

from gnomon.core.errors import InputError
from gnomon.intake.faults import shown
from gnomon.intake.limits import DEFAULT, MIB

NAME = "seal.sha256"
LARGEST = 4 * MIB
"""Bytes of a seal."""
MOST_FILES = 10_000
DEEPEST = 8
"""Folders in folders."""
SMALL = 256 * MIB
"""Bytes of a file that may be a hole in the disk."""


class _Found(NamedTuple):
    """What lies below a directory, by path in it."""

    files: list[Path]
    odd: dict[Path, str]
    """What is not hashed, with the reason."""


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file, read in pieces."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def hash_file_once(path: Path) -> str:
    """Return the SHA-256 of a file, which is read once in a process, and again when size or time stamp changed."""
    found = path.stat()
    return _hash_state(path.absolute(), found.st_mtime_ns, found.st_size)


@cache
def _hash_state(path: Path, *state: int) -> str:
    del state
    return hash_file(path)


def make(directory: Path) -> bytes:
    """Return the seal of a directory as it is now."""
    return _seal_files(directory, _find(directory, bounded=False).files)


def problems(directory: Path, *, bounded: bool = False) -> list[str]:
    """Name what does not agree with the seal; empty when everything does.

    With ``bounded``, a directory with more or larger files than a run has is not hashed; it says so.
    """
    path = directory / NAME
    found = _find(directory, bounded)
    out = [f"{str(odd)[:300]!r}: {why}" for odd, why in sorted(found.odd.items())]
    if Path(NAME) in found.odd:
        return out
    if not path.is_file():
        return [*out, f"{NAME} is missing: the run was not finished, or the file was removed"]
    if path.stat().st_size > LARGEST:
        return [*out, f"{NAME} has {path.stat().st_size} bytes, expected at most {LARGEST}"]
    try:
        stored, now = path.read_bytes(), _seal_files(directory, found.files)
    except OSError as error:
        return [*out, f"{shown(str(error.filename))}: cannot be read ({error.strerror})"]
    if not stored:
        return [*out, f"{NAME} is empty: it says nothing of what belongs here"]
    if stored == now:
        return out
    sealed, present = _entries(stored), _entries(now)
    out += [f"{shown(name)}: sealed but missing" for name in sorted(sealed.keys() - present.keys())]
    out += [f"{shown(name)}: not in the seal" for name in sorted(present.keys() - sealed.keys())]
    changed = sorted(name for name in sealed.keys() & present.keys() if sealed[name] != present[name])
    out += [f"{shown(name)}: content differs from the seal" for name in changed]
    return out or [f"{NAME} itself is changed"]


def read(directory: Path) -> dict[str, str]:
    """Return the hashes that the seal of a directory lists, by the name of the file."""
    return _entries((directory / NAME).read_bytes())


def check_links(directory: Path) -> None:
    """Refuse a run directory that holds a link, a device or a pipe: a run is made of plain files."""
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_symlink() or not (entry.is_file() or entry.is_dir()):
                raise InputError(
                    f"{shown(directory)}: {shown(entry.name, 80)!r} is a link, a device or a pipe, expected plain "
                    "files; copy the run with what its links lead to"
                )


def _find(directory: Path, bounded: bool) -> _Found:
    """Return the files below a directory in the order of their names, without its seal."""
    files: list[Path] = []
    odd: dict[Path, str] = {}
    open_folders = [Path()]
    while open_folders:
        folder = open_folders.pop()
        try:
            with os.scandir(directory / folder) as entries:
                inside = list(itertools.islice(entries, MOST_FILES + 1 if bounded else None))
        except OSError as error:
            odd[folder] = f"cannot be read ({error.strerror})"
            continue
        for entry in inside:
            own = folder / entry.name
            if bounded and len(files) + len(odd) + len(open_folders) >= MOST_FILES:
                odd[own] = f"one of more than {MOST_FILES} files, which no run has; the others were not looked at"
                return _Found(sorted(files), odd)
            if "\n" not in entry.name and _is_searched(entry, own, bounded):
                open_folders.append(own)
            elif why := _refusal(entry, bounded):
                odd[own] = why
            elif own != Path(NAME):
                files.append(own)
    return _Found(sorted(files), odd)


def _is_searched(entry: os.DirEntry[str], own: Path, bounded: bool) -> bool:
    return entry.is_dir(follow_symlinks=False) and (not bounded or len(own.parts) <= DEEPEST)


def _refusal(entry: os.DirEntry[str], bounded: bool) -> str:
    """Say why a file is not hashed, or nothing."""
    found, most = entry.stat(follow_symlinks=False), DEFAULT.raised().max_file_bytes
    if not stat.S_ISREG(found.st_mode) or "\n" in entry.name:
        return "a link, or not a plain file"
    if not bounded:
        return ""
    if found.st_size > most:
        return f"{found.st_size} bytes, expected at most {most}"
    if found.st_size > SMALL and 512 * found.st_blocks < found.st_size // 100:
        return f"{found.st_size} bytes, of which {512 * found.st_blocks} are on the disk: a hole and no content"
    return ""


def _seal_files(directory: Path, files: list[Path]) -> bytes:
    return b"".join(
        f"{hash_file(directory / path)}  ".encode() + os.fsencode(path.as_posix()) + b"\n" for path in files
    )


def _entries(seal: bytes) -> dict[str, str]:
    lines = seal.decode("utf-8", "backslashreplace").split("\n")
    return {line[66:]: line[:64] for line in lines if line}
