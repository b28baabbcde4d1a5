"""Standard output for results alone: what anything else writes to file descriptor 1 goes to standard error.

A system under test, the libraries that it uses and the processes that it starts may write to file descriptor 1. Mixed
with a result, that makes a JSON document invalid. So a command gives ``sys.stdout`` a descriptor of its own, which no
other process inherits, and lets descriptor 1 be standard error.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import TextIO

STDOUT, STDERR = 1, 2


@contextlib.contextmanager
def reserve_stdout(*, restore: bool) -> Iterator[None]:
    """Keep standard output for what is written to ``sys.stdout`` inside the block.

    Parameters
    ----------
    restore
        Put everything back at the end, for a caller that goes on. Otherwise the process is about to end: descriptor 1
        and ``sys.stdout`` are standard error from then on, also for whatever is still called when Python ends.
    """
    before: TextIO | None = sys.stdout
    if before is None:  # standard output is closed, and descriptor 1 may be any file
        yield
        return
    before.flush()
    held = os.dup(STDOUT)
    if _descriptor(before) == STDOUT:  # otherwise a caller has replaced it, and it does not write to descriptor 1
        sys.stdout = _reopen(before, os.dup(held))
    results = sys.stdout
    _point_stdout_at_stderr()
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            results.flush()
        if restore:
            os.dup2(held, STDOUT)
            sys.stdout = before
        else:
            sys.stdout = sys.stderr
        if results is not before:
            with contextlib.suppress(OSError):
                results.close()
        os.close(held)


@contextlib.contextmanager
def divert_prints() -> Iterator[None]:
    """Let what a user's systems and metrics print inside the block go to standard error; also a decorator."""
    with contextlib.redirect_stdout(sys.stderr):
        yield


def _descriptor(stream: TextIO) -> int | None:
    try:
        return stream.fileno()
    except (AttributeError, OSError, ValueError):
        return None


def _reopen(stream: TextIO, descriptor: int) -> TextIO:
    """Return a stream like another one, on another descriptor."""
    lines = getattr(stream, "line_buffering", False)
    return open(descriptor, "w", buffering=1 if lines else -1, encoding=stream.encoding, errors=stream.errors)


def _point_stdout_at_stderr() -> None:
    try:
        os.dup2(STDERR, STDOUT)
    except OSError:  # standard error is closed
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, STDOUT)
        os.close(nowhere)
