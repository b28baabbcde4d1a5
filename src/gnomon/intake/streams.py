"""The bytes of a plain or gzip file as one bounded stream."""

from __future__ import annotations

import gzip
import io
import os
from types import TracebackType
from typing import IO

from gnomon.intake.faults import guarded
from gnomon.intake.limits import Limits, check_file


class Stream:
    """Read a file forwards, decompressing ``.gz``, counting every byte against the limits.

    It is also a file object as far as Arrow needs one. ``push`` puts bytes back in front of the rest,
    and ``tail`` is appended after the end of the file.
    """

    def __init__(self, path: str | os.PathLike[str], limits: Limits) -> None:
        self.path = path
        self.tail = b""
        self.closed = False
        self._limits = limits
        self._ahead = b""
        self._decoded = 0
        self._last = b""
        check_file(path, limits)
        with guarded(path, "cannot be opened", "check that you may read it"):
            self._raw = io.FileIO(os.fspath(path), "rb")
        packed = str(path).lower().endswith(".gz")
        self._file: IO[bytes] | gzip.GzipFile = gzip.GzipFile(fileobj=self._raw) if packed else self._raw

    def push(self, data: bytes) -> None:
        """Put bytes back, to be read before the rest."""
        self._ahead = data + self._ahead

    def read(self, size: int) -> bytes:
        """Return up to ``size`` bytes, or an empty string after the end and the tail."""
        if self._ahead:
            part, self._ahead = self._ahead[:size], self._ahead[size:]
            return part
        data = self._fetch(size)
        if data or size == 0:
            return data
        if self.tail:
            self._ahead, self.tail = self._end_line() + self.tail, b""
            return self.read(size)
        return b""

    def _fetch(self, size: int) -> bytes:
        with guarded(self.path, "cannot be decompressed or read"):
            data = self._file.read(size)
            self._decoded += len(data)
            self._limits.check_decoded(self.path, self._decoded, self._raw.tell())
        self._last = data[-1:] or self._last
        return data

    def _end_line(self) -> bytes:
        return b"" if self._last in (b"\n", b"\r") else b"\n"

    def readable(self) -> bool:
        """Say yes: Arrow asks."""
        return True

    def writable(self) -> bool:
        """Say no: Arrow asks."""
        return False

    def seekable(self) -> bool:
        """Say no: Arrow asks."""
        return False

    def close(self) -> None:
        """Close the file; more than once is fine."""
        self.closed = True
        self._file.close()
        self._raw.close()

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
