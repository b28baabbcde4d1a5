"""What a file from outside may cost, and the first look at a path.

A hostile file fails early and by name: what it would decode to is added up from what it declares and held against
the limits before it is decoded. A small file may decode to 128 MiB (a table in parquet, whose columns are counted
exactly, to 512 MiB), a larger one to a hundred times its size.
``GNOMON_MAX_FILE_BYTES`` in the environment raises the limits (it never lowers them): a file may then be that large,
and any file may decode to that much.
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


class TooLargeError(InputError):
    """A file decodes to more than may be held in memory, whatever its size."""


@dataclasses.dataclass(frozen=True)
class Limits:
    """Upper bounds on what reading one file may cost.

    Attributes
    ----------
    max_file_bytes
        Size of the file on disk.
    max_decoded_bytes
        What the file may declare, or turn out, to hold once it is decompressed and in memory.
    max_ratio
        Decoded bytes over those of the file; enforced only above ``ratio_floor_bytes`` decoded.
    max_json_depth, max_json_bytes, max_parsed_bytes
        Nesting of JSON, the size of one JSON document, and what it may take once it is parsed.
    max_line_bytes
        Length of one JSON line; rows of CSV are bounded by about the same length.
    max_columns
        Columns of a table, members of an archive.
    ratio_floor_bytes
        What any file may decode to: equal rows take next to nothing in a file.
    column_floor_bytes
        The same for parquet, where ten million equal rows take some ten kB.
    """

    max_file_bytes: int = 8 * GIB
    max_decoded_bytes: int = 16 * GIB
    max_ratio: int = 100
    max_json_depth: int = 64
    max_json_bytes: int = 256 * MIB
    max_parsed_bytes: int = 4 * GIB
    max_line_bytes: int = 16 * MIB
    max_columns: int = 10_000
    ratio_floor_bytes: int = 128 * MIB
    column_floor_bytes: int = 512 * MIB

    def raised(self) -> Limits:
        """Return these limits with those of the environment, where they are higher."""
        wanted = _from_environment()
        return dataclasses.replace(
            self,
            max_file_bytes=max(self.max_file_bytes, wanted),
            max_decoded_bytes=max(self.max_decoded_bytes, 2 * wanted),
            max_json_bytes=max(self.max_json_bytes, wanted),
            max_parsed_bytes=max(self.max_parsed_bytes, 2 * wanted),
            ratio_floor_bytes=max(self.ratio_floor_bytes, wanted),
        )

    def of_columns(self) -> Limits:
        """Return the limits of a file whose columns are counted one by one before they are decoded."""
        floor = max(self.ratio_floor_bytes, self.column_floor_bytes)
        return dataclasses.replace(self, ratio_floor_bytes=floor, column_floor_bytes=0)

    def of_documents(self) -> Limits:
        """Return the limits of a JSON document, which are those of any file and its own."""
        return dataclasses.replace(self, max_decoded_bytes=min(self.max_decoded_bytes, self.max_parsed_bytes))

    def decoded_bytes(self, size: int) -> int:
        """Return what a file of a size may decode to."""
        return min(self.max_decoded_bytes, max(self.ratio_floor_bytes, self.max_ratio * size))

    def without(self, taken: int) -> Limits:
        """Return what is left of these limits where other files, read before, take some bytes in memory."""
        return dataclasses.replace(self, max_decoded_bytes=max(0, self.max_decoded_bytes - taken))

    def check_decoded(self, path: str | os.PathLike[str], decoded: int, size: int | None = None) -> None:
        """Refuse a file that decodes to too much, in bytes or, where its size is given, as a multiple of it."""
        if decoded > self.max_decoded_bytes:
            raise TooLargeError(
                f"{shown(path)}: content too large: takes {decoded} bytes of memory or more, expected at most "
                f"{self.max_decoded_bytes}; split the file, or raise {MAX_FILE_BYTES}"
            )
        if size is not None and decoded > (allowed := self.decoded_bytes(size)):
            raise InputError(
                f"{shown(path)}: looks like a decompression bomb: {size} bytes take {decoded} bytes of memory or more, "
                f"expected at most {allowed}; split the file, or set {MAX_FILE_BYTES} above {decoded} if you trust it"
            )

    def check_scanned(self, path: str | os.PathLike[str], decoded: int, size: int) -> None:
        """Refuse a file that is read some rows at a time and would take very long: few bytes that stand for many."""
        if decoded > (most := max(self.max_decoded_bytes, self.max_ratio * size)):
            raise InputError(
                f"{shown(path)}: looks like a decompression bomb: {size} bytes decode to {decoded} bytes or more, "
                f"expected at most {most}; split the file, or raise {MAX_FILE_BYTES} if you trust it"
            )


DEFAULT = Limits()
RUN = Limits(
    max_decoded_bytes=640 * MIB, max_json_bytes=128 * MIB, ratio_floor_bytes=64 * MIB, column_floor_bytes=64 * MIB
)
"""What the documents, tallies and row tables of one run directory may take, all together.

A run of a million cases in six classes takes 370 MiB by this count.
"""
SHOWN = dataclasses.replace(RUN, max_decoded_bytes=400 * MIB)
"""What runs on one page of the dashboard may take, with what it keeps of others: it draws figures beside them."""


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
