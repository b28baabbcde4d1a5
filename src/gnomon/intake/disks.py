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
import mmap
import os
import time
from collections import deque
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
FAST = 2e8
"""Bytes per second of each reader from which a disk is read past the cache; four on a SATA bus have 1.5e8 each."""
RECENT = 15
"""Reads by which a disk is judged, the last ones: most of them decide, not one that had to wait for long."""
AGAIN = 16
"""Of so many parts of a slow disk one is read past the cache, to see whether it still is."""
PROBES = 3
"""Places of a part that are looked up in the cache."""
SPARE = 16
"""Rooms of a size that are kept for the next reader."""

_spare: dict[int, list[Bytes]] = {}
_paces: dict[int, Pace] = {}


@contextlib.contextmanager
def room(size: int) -> Iterator[Bytes]:
    """Give room for parts of up to ``size`` bytes, wherever they begin; what is in it is gone afterwards.

    It is shared memory: in private memory, a process that forks while a direct read is under way may find other bytes
    than were read (open(2)). It is kept for the next reader, so that its pages need not be found again.
    """
    spare = _spare.setdefault(size, [])
    try:
        held = spare.pop()
    except IndexError:
        held = np.frombuffer(mmap.mmap(-1, size + 2 * BLOCK), np.uint8)
    try:
        yield held
    finally:
        if len(spare) < SPARE:
            spare.append(held)


@dataclass
class Pace:
    """How fast a disk is, read past the cache: whether each of the last reads was fast."""

    recent: deque[bool] = field(default_factory=lambda: deque(maxlen=RECENT))
    given: int = 0
    """Bytes that came from it."""
    passed: int = 0
    """Parts that were not read from it because it was slow."""

    def add(self, given: int, seconds: float) -> None:
        """Take a read into account."""
        self.given += given
        self.recent.append(given >= FAST * seconds)

    def fast(self) -> bool:
        """Say whether the next part is read from it; True before enough is known, and now and then of a slow one."""
        if len(self.recent) < RECENT or 2 * self.recent.count(True) > RECENT:
            return True
        self.passed += 1
        return self.passed % AGAIN == 0


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
    pace: Pace

    def read(self, begin: int, size: int, into: Bytes) -> Bytes:
        """Read ``size`` bytes from ``begin`` on; return where in ``into`` (see :func:`room`) they are."""
        shift, have = 0, 0
        if self.direct is not None and not self.cached(begin, size) and self.pace.fast():
            shift, have = self._past(self.direct, begin, size, into)
        while have < size:
            got = os.preadv(self.usual, [into[shift + have : shift + size].data], begin + have)
            if not got:
                raise InputError(f"{self.path}: ends {size - have} bytes too early; write it again")
            have += got
        return into[shift : shift + size]

    def _past(self, direct: int, begin: int, size: int, into: Bytes) -> tuple[int, int]:
        """Read past the cache; return where in the room the part begins, and how much of it came."""
        first, stop = begin // BLOCK * BLOCK, -(-(begin + size) // BLOCK) * BLOCK
        begun = time.perf_counter()
        try:
            got = os.preadv(direct, [into[: stop - first].data], first)
        except OSError:
            self.direct = None  # it cannot after all; if the disk is broken the usual way will say so
            return 0, 0
        took = time.perf_counter() - begun
        self.pace.add(got, took)
        return begin - first, min(max(got - (begin - first), 0), size)


@contextlib.contextmanager
def opened(path: Path, *, past: bool = True) -> Iterator[Reader]:
    """Open a file to read parts of it; threads need one each.

    Parameters
    ----------
    past
        Read what is not cached past the cache. A reader that is alone is better off without: the system reads ahead for
        it while it works.
    """
    with contextlib.ExitStack() as until:
        try:
            usual = _descriptor(path, os.O_RDONLY, until)
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror or error}); check the path") from error
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(usual, 0, 0, os.POSIX_FADV_SEQUENTIAL)
        cached = _residence(usual, until) if past else None
        direct = _direct(path, usual, until) if cached else None
        disk = _paces.setdefault(os.fstat(usual).st_dev, Pace())
        yield Reader(path, usual, direct, cached or (lambda *_: True), disk)


def _descriptor(path: Path, flags: int, until: contextlib.ExitStack) -> int:
    found = os.open(path, flags)
    until.callback(os.close, found)
    return found


def _direct(path: Path, usual: int, until: contextlib.ExitStack) -> int | None:
    """Return a descriptor of the same file past the cache, where there can be one."""
    try:
        found = _descriptor(path, os.O_RDONLY | os.O_DIRECT, until)
    except OSError:  # a file system that cannot
        return None
    return found if os.path.samestat(os.fstat(usual), os.fstat(found)) else None


def _residence(file: int, until: contextlib.ExitStack) -> Callable[[int, int], bool] | None:
    """Return what looks up places of a file in the cache; None where it cannot be known or is of no use."""
    size, ask = os.fstat(file).st_size, _mincore()
    if ask is None or not size or not hasattr(os, "O_DIRECT"):
        return None
    try:
        held = until.enter_context(mmap.mmap(file, size, access=mmap.ACCESS_READ))
    except (OSError, ValueError, OverflowError):  # cannot be mapped, no addresses left, or it is shorter now
        return None
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
        # It answers at once; to give up the interpreter's lock for it would be to wait for that lock afterwards.
        found = ctypes.PyDLL(None).mincore
    except (OSError, AttributeError, TypeError):  # another system
        return None
    found.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(ctypes.c_ubyte))
    found.restype = ctypes.c_int
    return found
