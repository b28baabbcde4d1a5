"""Files of which parts are read: from the system's cache where they are in it, and past it where the disk is fast.

What is read for the first time usually goes through the cache of the system: pages are found for it, filled, and copied
from there. On a fast disk that is most of the work, and what is read once was not worth keeping. So a part that is not
in the cache is read straight into the room of the reader (``O_DIRECT``), as long as the disk gives at least
:data:`FAST` bytes per second to a reader. A slower disk is read through the cache, so that a second reader is served
from memory.

What cannot be asked or done is done the usual way: systems and file systems without direct reading, and files of other
users, of which the system does not tell what is cached. The bytes are the same either way.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import mmap
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gnomon.core.errors import InputError

Bytes = npt.NDArray[np.uint8]

BLOCK = 4096
"""Direct reads begin and end at multiples of this, in the file and in memory."""
FAST = 2.5e8
"""Bytes per second from which a disk is read past the cache. A disk on a SATA bus gives 5.5e8 to all of its readers."""
TRIED = 1 << 25
"""Bytes that are read from a disk before it is judged."""
PROBES = 3
"""Places of a part that are looked up in the cache."""


def room(size: int) -> Bytes:
    """Return uninitialised room for parts of up to ``size`` bytes, wherever they begin."""
    whole = np.empty(size + 3 * BLOCK, np.uint8)
    return whole[-whole.ctypes.data % BLOCK :][: size + 2 * BLOCK]


@dataclass
class Pace:
    """How fast a disk was, read past the cache: bytes and the seconds of all who read them."""

    bytes: int = 0
    seconds: float = 0.0

    @property
    def fast(self) -> bool:
        """Whether it is worth going on; True before enough is known."""
        return self.bytes < TRIED or self.bytes >= FAST * self.seconds


@cache
def pace(device: int) -> Pace:
    """Return what is known of a disk in this process."""
    del device
    return Pace()


@dataclass
class Reader:
    """An open file.

    Attributes
    ----------
    path, usual, direct
        The file, and its descriptors: through the cache, and past it (None where that cannot be done).
    cached
        Tells whether the bytes from a place on are in the cache: ``cached(begin, size)``.
    pace
        How fast its disk is.
    """

    path: Path
    usual: int
    direct: int | None
    cached: Callable[[int, int], bool]
    pace: Pace = field(default_factory=Pace)

    def read(self, begin: int, size: int, into: Bytes) -> Bytes:
        """Read ``size`` bytes from ``begin`` on; return where in ``into`` (see :func:`room`) they are."""
        shift, have = 0, 0
        if self.direct is not None and self.pace.fast and not self.cached(begin, size):
            shift, have = self._past(begin, size, into)
        while have < size:
            got = os.preadv(self.usual, [into[shift + have : shift + size].data], begin + have)
            if not got:
                raise InputError(f"{self.path}: ends {size - have} bytes too early; write it again")
            have += got
        return into[shift : shift + size]

    def _past(self, begin: int, size: int, into: Bytes) -> tuple[int, int]:
        """Read past the cache; return where in the room the part begins, and how much of it came."""
        assert self.direct is not None  # noqa: S101 - asked before
        first, stop = begin // BLOCK * BLOCK, -(-(begin + size) // BLOCK) * BLOCK
        begun = time.perf_counter()
        try:
            got = os.preadv(self.direct, [into[: stop - first].data], first)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            self.direct = None  # it wants larger blocks than ours, or cannot after all
            return 0, 0
        self.pace.seconds += time.perf_counter() - begun
        self.pace.bytes += got
        return begin - first, min(max(got - (begin - first), 0), size)


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Reader]:
    """Open a file to read parts of it; threads need one each."""
    with contextlib.ExitStack() as until:
        usual = _descriptor(path, os.O_RDONLY, until)
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(usual, 0, 0, os.POSIX_FADV_SEQUENTIAL)
        cached = _residence(usual, until)
        direct = None
        if cached is not None:
            with contextlib.suppress(OSError):  # a file system that cannot
                direct = _descriptor(path, os.O_RDONLY | os.O_DIRECT, until)
        yield Reader(path, usual, direct, cached or (lambda *_: True), pace(os.fstat(usual).st_dev))


def _descriptor(path: Path, flags: int, until: contextlib.ExitStack) -> int:
    found = os.open(path, flags)
    until.callback(os.close, found)
    return found


def _residence(file: int, until: contextlib.ExitStack) -> Callable[[int, int], bool] | None:
    """Return what looks up places of a file in the cache; None where it cannot be known or is of no use."""
    size, ask = os.fstat(file).st_size, _mincore()
    if ask is None or not size or not hasattr(os, "O_DIRECT"):
        return None
    held = until.enter_context(mmap.mmap(file, size, access=mmap.ACCESS_READ))
    # The address outlives the array: a map that is still exported could not be closed.
    start = np.frombuffer(held, np.uint8, 1).ctypes.data
    answer = (ctypes.c_ubyte * 1)()

    def cached(begin: int, length: int) -> bool:
        places = (begin + (length - 1) * probe // (PROBES - 1) for probe in range(PROBES))
        pages = (start + place // mmap.PAGESIZE * mmap.PAGESIZE for place in places)
        return all(ask(page, 1, answer) != 0 or answer[0] & 1 for page in pages)

    return cached


@cache
def _mincore() -> Callable[..., int] | None:
    """Return the function of the C library that tells which pages of a map are in memory."""
    try:
        found = ctypes.CDLL(None, use_errno=True).mincore
    except (OSError, AttributeError, TypeError):  # another system
        return None
    found.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(ctypes.c_ubyte))
    found.restype = ctypes.c_int
    return found
