"""Turning whatever goes wrong with a file into one line of :class:`InputError`."""

from __future__ import annotations

import csv
import os
import struct
import traceback
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import pyarrow as pa

from gnomon.core.errors import GnomonError, InputError

# What the decoders underneath raise on damaged or hostile bytes. ArrowInvalid is a ValueError,
# ArrowIOError an OSError and UnicodeDecodeError a ValueError; InputError is a ValueError too and
# therefore has to be let through first.
FAULTS: tuple[type[Exception], ...] = (
    pa.ArrowException,
    OSError,
    ValueError,
    TypeError,
    LookupError,
    ArithmeticError,
    MemoryError,
    EOFError,
    RuntimeError,
    AttributeError,
    struct.error,
    zlib.error,
    zipfile.BadZipFile,
    csv.Error,
    msgspec.MsgspecError,
)


def shown(text: str | os.PathLike[str], limit: int = 300) -> str:
    r"""Return text on one line, with everything unprintable escaped, cut to a length.

    >>> shown("a\nb")
    'a\\nb'
    """
    raw = text if isinstance(text, str) else os.fspath(text)
    cut = raw if len(raw) <= limit else raw[: limit // 2 - 1] + "…" + raw[-limit // 2 :]
    if cut.isprintable():
        return cut
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in cut)


def reason(error: BaseException) -> str:
    """Return the first line of what a library said, or the name of its exception."""
    first = str(error).strip().split("\n", 1)[0]
    return shown(first, 200) if first else type(error).__name__


def release(error: BaseException) -> None:
    """Let go of what the frames of an error and of its causes hold, which may be most of a large file.

    Errors and frames refer to each other, and the interpreter may free such cycles much later.
    """
    chain: list[BaseException] = []
    found: BaseException | None = error
    while found is not None and found not in chain:
        traceback.clear_frames(found.__traceback__)
        chain.append(found)
        found = found.__cause__ or found.__context__


@contextmanager
def guarded(path: str | os.PathLike[str], what: str, advice: str = "write the file again") -> Iterator[None]:
    """Raise every fault inside as an :class:`InputError` that names the file.

    Parameters
    ----------
    path
        The file being read or written.
    what
        What is wrong if a fault occurs, such as ``"not a readable parquet file"``.
    advice
        What the user can do about it.
    """
    try:
        yield
    except GnomonError:
        raise
    except FAULTS as error:
        raise InputError(f"{shown(path)}: {what} ({reason(error)}); {advice}") from error
