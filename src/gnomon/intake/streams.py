"""The bytes of a plain or gzip file as one bounded stream."""

from __future__ import annotations

import gzip
import io
import os
from collections.abc import Iterator
from types import TracebackType
from typing import IO

from gnomon.core.errors import InputError
from gnomon.intake.faults import guarded, shown
from gnomon.intake.limits import Limits, check_file


class Stream:
    """Read a file forwards, decompressing ``.gz``, counting every byte against the limits.

    Parameters
    ----------
    path
        A regular file.
    limits
        What it may decode to.
    """

    def __init__(self, path: str | os.PathLike[str], limits: Limits) -> None:
        self.path = path
        self._limits = limits
        self._ahead = b""
        self._decoded = 0
        check_file(path, limits)
        with guarded(path, "cannot be opened", "check that you may read it"):
            self._raw = io.FileIO(os.fspath(path), "rb")
        self._packed = os.fspath(path).lower().endswith(".gz")
        self._file: IO[bytes] | gzip.GzipFile = gzip.GzipFile(fileobj=self._raw) if self._packed else self._raw

    def push(self, data: bytes) -> None:
        """Put bytes back, to be read before the rest."""
        self._ahead = data + self._ahead

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes, none after the end."""
        if self._ahead:
            part, self._ahead = self._ahead[:size], self._ahead[size:]
            return part
        with guarded(self.path, "cannot be decompressed or read"):
            data = self._file.read(size)
            self._decoded += len(data)
            # What is packed is counted twice: parsed text takes a multiple of its bytes.
            self._limits.check_decoded(self.path, self._decoded * (1 + self._packed), self._raw.tell())
        return data

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        self._raw.close()


def whole_lines(stream: Stream, size: int, *, longest: int, start: int = 0) -> Iterator[tuple[int, bytes]]:
    """Yield blocks that end with a line, and where each of them starts.

    Parameters
    ----------
    stream
        The lines.
    size
        Bytes that are read at a time.
    longest
        Bytes that a line may have; of one that is longer, at most `size` more are read.
    start
        Where the stream stands in its file.
    """
    text, fresh = b"", b"more"
    while fresh:
        fresh = stream.read(size)
        text += fresh
        cut = text.rfind(b"\n") + 1 if fresh else len(text)
        if cut:
            yield start, text[:cut]
            text, start = text[cut:], start + cut
        elif len(text) > longest + size:
            raise InputError(f"{shown(stream.path)}: byte {start}: a line of more than {longest} bytes; break it")
