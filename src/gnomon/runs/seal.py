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
    files = sorted(path for path in directory.rglob("*") if _plain(path) and path != own)
    return b"".join(
        f"{hash_file(path)}  ".encode() + os.fsencode(path.relative_to(directory).as_posix()) + b"\n" for path in files
    )


def problems(directory: Path) -> list[str]:
    """Name what does not agree with the seal; empty when everything does."""
    path = directory / NAME
    if not path.is_file():
        return [f"{NAME} is missing: the run was not finished, or the file was removed"]
    odd = [p for p in directory.rglob("*") if p.is_symlink() or not (p.is_dir() or p.is_file()) or "\n" in p.name]
    out = [f"{str(p.relative_to(directory))!r}: a link, or not a plain file" for p in sorted(odd)]
    stored, now = path.read_bytes(), make(directory)
    if stored == now:
        return out
    sealed, found = _entries(stored), _entries(now)
    out += [f"{name}: sealed but missing" for name in sorted(sealed.keys() - found.keys())]
    out += [f"{name}: not in the seal" for name in sorted(found.keys() - sealed.keys())]
    changed = sorted(name for name in sealed.keys() & found.keys() if sealed[name] != found[name])
    out += [f"{name}: content differs from the seal" for name in changed]
    return out or [f"{NAME} itself is changed"]


def _entries(seal: bytes) -> dict[str, str]:
    lines = seal.decode("utf-8", "backslashreplace").splitlines()
    return {line[66:]: line[:64] for line in lines}


def _plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()
