"""Marks and counts of bytes in one call, for threads that share an interpreter.

What :func:`gnomon.numerics.marks.mark` does with either side and :func:`gnomon.numerics.bytewise.many` with both, done
one after another, gives up the interpreter's lock three times and waits for it as often; with several threads that
costs more than what is done while it is held.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gnomon.core.canonical import digest
from gnomon.core.compiling import jit
from gnomon.numerics import bytewise, marks, vectors
from gnomon.numerics.bytewise import LANES, STEP, Bytes, Counts, count_joint, table_of
from gnomon.numerics.marks import BLOCK, as_bytes, beginning, stirred

Words = NDArray[np.uint64]


def marked_and_counted(truth: Bytes, prediction: Bytes, k: int) -> tuple[bytes, bytes, Counts, int]:
    """Return the marks of both sides, the confusion of ``k`` classes, and the largest code.

    Parameters
    ----------
    truth, prediction
        Contiguous bytes, both ``(n,)``, fewer than 2**32.
    k
        From 1 to :data:`gnomon.numerics.bytewise.MOST_CLASSES`; the counts are right where the largest code is less.
    """
    n = truth.size
    keys, lanes = beginning(2)
    whole = n // BLOCK * BLOCK
    rest = np.zeros((2, BLOCK), np.uint8)
    rest[0, : n - whole], rest[1, : n - whole] = truth[whole:], prediction[whole:]
    counts = np.zeros((k + LANES, k), np.uint32)
    found = np.zeros(2, np.uint64)
    largest = _pass(truth.ctypes.data, prediction.ctypes.data, n, rest, keys, lanes, counts, found)
    return as_bytes(found[0]), as_bytes(found[1]), table_of(counts, -n % STEP), int(largest)


def _revision() -> int:
    """Return a number of the sources that are compiled into the pass, other than this file."""
    return int(digest(Path(str(one.__file__)).read_bytes() for one in (bytewise, marks, vectors))[:12], 16)


def _compiled(revision: int) -> Callable[..., int]:
    """Return the pass. Machine code is kept by the content of this file alone, but for what is enclosed."""

    @jit
    def one_pass(
        truth: int,
        prediction: int,
        n: int,
        rest: Bytes,
        keys: Words,
        lanes: Words,
        counts: NDArray[np.uint32],
        found: Words,
    ) -> int:
        if revision < 0:  # never
            return revision
        found[0] = stirred(truth, n, rest[0], keys, lanes[0])
        found[1] = stirred(prediction, n, rest[1], keys, lanes[1])
        table, k = counts.ctypes.data, counts.shape[1]
        largest = count_joint(truth, prediction, n // STEP, k, table) if n >= STEP else 0
        if n % STEP:  # filled up with zeros
            at = n % BLOCK // STEP * STEP
            largest = max(largest, count_joint(rest[0, at:].ctypes.data, rest[1, at:].ctypes.data, 1, k, table))
        return largest

    return one_pass


_pass = _compiled(_revision())
