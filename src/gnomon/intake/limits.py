"""What a file from outside may cost, and the first look at a path.

The caps are generous for honest data and exist so that a hostile file fails early and by name.
``GNOMON_MAX_FILE_BYTES`` in the environment raises the file cap (it never lowers it), and the
decoded cap with it.
"""

from __future__ import annotations

import dataclasses
import os
import stat
from pathlib import Path

from gnomon.core.errors import InputError
from gnomon.intake.faults import shown

MIB = 1 << 20
GIB = 1 << 30
MAX_FILE_BYTES = "GNOMON_MAX_FILE_BYTES"


@dataclasses.dataclass(frozen=True)
class Limits:
    """Upper bounds on what reading one file may cost.

    Attributes
    ----------
    max_file_bytes
        Size of the file on disk.
    max_decoded_bytes
        What the file may declare, or turn out, to hold once decompressed.
    max_ratio
        Decoded over compressed bytes; enforced only above ``ratio_floor_bytes`` decoded.
    max_json_depth, max_json_bytes
        Nesting of JSON, and the size of one JSON document.
    max_line_bytes
        Length of one JSON line; rows of CSV are bounded by about the same length.
    max_columns
        Columns of a table, members of an archive.
    ratio_floor_bytes
        Small files compress by any factor without harm.
    """

    max_file_bytes: int = 8 * GIB
    max_decoded_bytes: int = 16 * GIB
    max_ratio: int = 1000
    max_json_depth: int = 64
    max_json_bytes: int = 256 * MIB
    max_line_bytes: int = 16 * MIB
    max_columns: int = 10_000
    ratio_floor_bytes: int = 64 * MIB

    def raised(self) -> Limits:
        """Return these limits with the file cap of the environment, where that is higher."""
        wanted = _from_environment()
        if wanted <= self.max_file_bytes:
            return self
        decoded = max(self.max_decoded_bytes, 2 * wanted)
        return dataclasses.replace(self, max_file_bytes=wanted, max_decoded_bytes=decoded)

    def check_decoded(self, path: str | os.PathLike[str], decoded: int, compressed: int | None = None) -> None:
        """Refuse content that decodes to too much, in bytes or as a multiple of its compressed size."""
        if decoded > self.max_decoded_bytes:
            raise InputError(
                f"{shown(path)}: content too large: decodes to {decoded} bytes or more, expected at most "
                f"{self.max_decoded_bytes}; split the file or raise {MAX_FILE_BYTES}"
            )
        if compressed is None or decoded <= self.ratio_floor_bytes:
            return
        if decoded > self.max_ratio * max(compressed, 1):
            raise InputError(
                f"{shown(path)}: looks like a decompression bomb: {compressed} compressed bytes decode to {decoded} "
                f"or more, expected a ratio of at most {self.max_ratio}; store the file uncompressed"
            )


DEFAULT = Limits()


def check_file(path: str | os.PathLike[str], limits: Limits = DEFAULT) -> int:
    """Return the size of a regular, non-empty file within the limits.

    Raises
    ------
    InputError
        The path does not exist, is a folder or a device, cannot be looked at, is empty or too large.
    """
    try:
        status = Path(path).stat()
    except FileNotFoundError as error:
        raise InputError(f"{shown(path)}: no such file; check the spelling of the path") from error
    except (OSError, ValueError) as error:
        raise InputError(f"{shown(path)}: cannot be looked at ({shown(str(error))}); check the path") from error
    if not stat.S_ISREG(status.st_mode):
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        raise InputError(f"{shown(path)}: is {kind}, expected a file; give the path of one file")
    if status.st_size == 0:
        raise InputError(f"{shown(path)}: the file is empty (0 bytes); write it again")
    if status.st_size > limits.max_file_bytes:
        raise InputError(
            f"{shown(path)}: file too large: {status.st_size} bytes, expected at most {limits.max_file_bytes}; "
            f"split it or raise {MAX_FILE_BYTES}"
        )
    return status.st_size


def _from_environment() -> int:
    text = os.environ.get(MAX_FILE_BYTES, "").strip()
    if not text:
        return 0
    if not (text.isascii() and text.isdecimal() and len(text) < 19):
        raise InputError(
            f"environment variable {MAX_FILE_BYTES} is {shown(text)}, expected a whole number of bytes; "
            "correct or unset it"
        )
    return int(text)
