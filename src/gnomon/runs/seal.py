"""The seal of a directory: the SHA-256 of every file in it, in the format that ``sha256sum -c`` reads.

The seal file is compared byte by byte with what the files give now, so that a change of any byte, of the
seal itself, of a name, or an added or removed file is found.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

NAME = "seal.sha256"


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file, read in pieces."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def make(directory: Path) -> bytes:
    """Return the seal of a directory as it is now."""
    own = directory / NAME
    files = sorted(path for path in directory.rglob("*") if not path.is_dir() and path != own)
    return b"".join(
        f"{_content(path)}  ".encode() + os.fsencode(path.relative_to(directory).as_posix()) + b"\n" for path in files
    )


def problems(directory: Path) -> list[str]:
    """Name what does not agree with the seal; empty when everything does."""
    path = directory / NAME
    if not path.is_file():
        return [f"{NAME} is missing: the run was not finished, or the file was removed"]
    stored, now = path.read_bytes(), make(directory)
    if stored == now:
        return []
    sealed, found = _entries(stored), _entries(now)
    out = [f"{name}: sealed but missing" for name in sorted(sealed.keys() - found.keys())]
    out += [f"{name}: not in the seal" for name in sorted(found.keys() - sealed.keys())]
    changed = sorted(name for name in sealed.keys() & found.keys() if sealed[name] != found[name])
    out += [f"{name}: content differs from the seal" for name in changed]
    return out or [f"{NAME} itself is changed"]


def _entries(seal: bytes) -> dict[str, str]:
    lines = seal.decode("utf-8", "backslashreplace").splitlines()
    return {line[66:]: line[:64] for line in lines}


def _content(path: Path) -> str:
    """Return the hash of a file; what is not a plain file (a link, a pipe) never agrees with a seal."""
    return hash_file(path) if path.is_file() and not path.is_symlink() else "not a plain file".ljust(64, "-")
