"""Exhibits: what is kept of single cases so that people can look at them, with truth and prediction side by side.

A run directory holds them in ``exhibits.npz``, so that a report can be sent and a dashboard reads nothing outside of
the runs. How many are kept is an option of the verb that makes the run; the worst come first. What the arrays mean is
the affair of the suite, which makes a view of them (:attr:`gnomon.core.suite.Suite.exhibit`).
"""

from __future__ import annotations

import bisect
import contextlib
import io
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec
import numpy as np

from gnomon.core.canonical import encode
from gnomon.core.errors import InputError, IntegrityError, counted
from gnomon.core.tallies import Array
from gnomon.intake.arrays import read_some
from gnomon.intake.documents import parse_json
from gnomon.intake.limits import MIB, RUN
from gnomon.runs.packing import write_npz

if TYPE_CHECKING:
    from gnomon.runs.run import Run

Item = TypeVar("Item")
NAME = "exhibits.npz"
LIMITS = replace(RUN, max_decoded_bytes=256 * MIB)
"""Of the arrays of one case."""
PLAIN = replace(RUN, max_decoded_bytes=128 * MIB)
"""Of the list of exhibits, or the plain data of one."""
_INDEX = "index"


@dataclass(frozen=True)
class Exhibit:
    """One case to look at."""

    case: str
    data: Mapping[str, Any] = field(default_factory=dict)
    """Plain data."""
    arrays: Mapping[str, Array] = field(default_factory=dict)
    """By names of letters, digits and underscores."""
    badness: float = 0.0
    """How bad it is, for the order of a list; larger is worse."""
    note: str = ""
    """What a list says of it, such as its score."""


class Entry(msgspec.Struct, frozen=True):
    """One exhibit in the list of them."""

    case: str
    note: str
    badness: float
    arrays: tuple[str, ...]


class Listing(msgspec.Struct, frozen=True):
    """The exhibits of a run, the worst first, and how many cases there are of which they were chosen."""

    entries: tuple[Entry, ...] = ()
    of: int = 0


class Worst(Generic[Item]):
    """The worst cases of those that are offered: at most ``most`` of them, and no more than ``room`` by their sizes.

    The worst one is kept whatever its size. Equally bad cases are kept in the order of their names, so that what is
    kept does not depend on the order in which cases are offered.

    >>> worst = Worst[str](2)
    >>> for case, badness in (("a", 0.1), ("b", 0.5), ("c", 0.3)):
    ...     worst.offer(case, badness, lambda case=case: f"snapshot of {case}")
    >>> worst.items
    ['snapshot of b', 'snapshot of c']
    """

    def __init__(self, most: int, room: float = math.inf) -> None:
        self.most, self.room = most, room
        self._kept: list[tuple[float, str, int, Item]] = []
        self._end = (math.inf, "")
        """The worst case that found no room: none that is less bad does."""

    @property
    def items(self) -> list[Item]:
        """What is kept, the worst first."""
        return [item for *_, item in self._kept]

    def offer(
        self, case: str, badness: float, make: Callable[[], Item | None], size: int | Callable[[Item], int] = 0
    ) -> None:
        """Take a case where it is among the worst so far; only then is it made. None is one that cannot be shown.

        ``size`` is a number, or a function that measures the item once it is made.
        """
        place = -badness, case
        full = len(self._kept) == self.most and bool(self._kept) and self._kept[-1][:2] < place
        if not self.most or full or place > self._end:
            return
        item = make()
        if item is None:
            return
        taken = size(item) if callable(size) else size
        bisect.insort(self._kept, (*place, taken, item), key=lambda one: one[:2])
        del self._kept[self.most :]
        ends = itertools.accumulate(size for _, _, size, _ in self._kept)
        fitting = max(1, sum(1 for _ in itertools.takewhile(lambda end: end <= self.room, ends)))
        if fitting < len(self._kept):
            self._end = min(self._end, self._kept[fitting][:2])
            del self._kept[fitting:]

    def offer_all(
        self,
        cases: Sequence[str],
        badness: Sequence[float],
        make: Callable[[int], Item | None],
        size: int | Callable[[Item], int] = 0,
    ) -> None:
        """Offer cases that are all known, the worst first, so that no more are made than are kept."""
        for place in sorted(range(len(cases)), key=lambda place: (-badness[place], cases[place])):
            self.offer(cases[place], badness[place], lambda place=place: make(place), size)  # type: ignore[misc]


def files_of(kept: Sequence[Exhibit], of: int) -> dict[str, bytes]:
    """Return the file of a run directory that holds exhibits, by name; none where none are kept."""
    return {NAME: pack(kept, of)} if kept else {}


def pack(exhibits: Sequence[Exhibit], of: int) -> bytes:
    """Return the content of the file; ``of`` is how many cases there are in all. It depends on the exhibits alone."""
    ordered = sorted(exhibits, key=lambda item: (-item.badness, item.case))
    entries = [Entry(item.case, item.note, item.badness, tuple(item.arrays)) for item in ordered]
    arrays: dict[str, Array] = {_INDEX: _text(msgspec.to_builtins(Listing(tuple(entries), of)))}
    for place, item in enumerate(ordered):
        arrays[f"data{place}"] = _text(dict(item.data))
        arrays |= {f"array{place}.{name}": array for name, array in item.arrays.items()}
    file = io.BytesIO()
    write_npz(file, arrays)
    return file.getvalue()


def listed(folder: Path | None) -> Listing:
    """Return the list of exhibits of a run directory; an empty one where none were kept."""
    if folder is None or not (folder / NAME).is_file():
        return Listing()
    found: Listing = _converted(read_some(folder / NAME, [_INDEX], PLAIN.raised())[_INDEX], Listing, folder)
    return found


def read(folder: Path | None, case: str) -> Exhibit:
    """Read the exhibit of a case from a run directory."""
    entries = listed(folder).entries
    place = next((index for index, entry in enumerate(entries) if entry.case == case), None)
    if folder is None or place is None:
        raise InputError(f"no exhibit of case {case!r} in this run: it keeps {len(entries)} cases (option --exhibits)")
    entry = entries[place]
    found = read_some(
        folder / NAME, [f"data{place}", *(f"array{place}.{name}" for name in entry.arrays)], LIMITS.raised()
    )
    data: Any = _converted(found[f"data{place}"], dict, folder)
    arrays = {name: found[f"array{place}.{name}"] for name in entry.arrays}
    return Exhibit(case, data, arrays, entry.badness, entry.note)


def kept_by(runs: Sequence[Run], case: str) -> tuple[dict[str, tuple[Run, Exhibit]], list[str]]:
    """Return the runs that keep a case with its exhibit, each by a name of its own, and why others are left out.

    Raises
    ------
    InputError
        None of them keeps it.
    """
    found: dict[str, tuple[Run, Exhibit]] = {}
    notes = []
    for run in runs:
        if any(entry.case == case for entry in listed(run.path).entries):
            names = (run.system if n == 1 else f"{run.system} ({n})" for n in count(1))
            found[next(name for name in names if name not in found)] = (run, read(run.path, case))
        else:
            notes.append(f"{run.system} is left out: its run does not keep {case} (option --exhibits)")
    if not found:
        where = counted(len(runs), "run")
        raise InputError(f"no exhibit of case {case!r} in {where}: the worst cases are kept (option --exhibits)")
    return found, notes


@contextlib.contextmanager
def undamaged(case: str) -> Iterator[None]:
    """Say of whatever cannot be made of an exhibit that it is damaged: no suite writes such a one."""
    try:
        yield
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        if isinstance(error, InputError):
            raise
        raise IntegrityError(f"the exhibit of case {case!r} is damaged ({type(error).__name__}: {error})") from error


def _text(value: object) -> Array:
    return np.frombuffer(encode(value), dtype=np.uint8)


def _converted(array: Array, kind: Any, folder: Path) -> Any:
    try:
        return msgspec.convert(parse_json(array.tobytes(), "the list of exhibits", limits=PLAIN)[0], kind)
    except (InputError, msgspec.ValidationError) as error:
        raise IntegrityError(f"{folder / NAME}: the list of exhibits is damaged ({error})") from error
