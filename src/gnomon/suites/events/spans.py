"""Stretches of one case as columns that read as a sequence of stretches: what files hold by the million.

Conventions
-----------
- :class:`Read` is what stands in a file, :class:`Placed` the same in the seconds of its case. An item of either is the
  :class:`~gnomon.suites.events.times.Stretch` that reading one row at a time gives.
- Times of one column are of one kind. :func:`moments` reads what Arrow understands, of which Python's own reading is a
  superset that agrees with it; a column that it returns nothing for is read one by one, which also says what is wrong.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from operator import eq
from typing import Any, Self, overload

import numpy as np
import pyarrow as pa

from gnomon.core.tallies import Array
from gnomon.suites.events import times
from gnomon.suites.events.times import AWARE, NAIVE, NUMBER, Moment, Stretch, T, Zone

EXACT = 1 << 53
"""Whole numbers below are floats without rounding."""
_STEP = timedelta(microseconds=1)
_EPOCHS = {AWARE: datetime(1970, 1, 1, tzinfo=UTC), NAIVE: datetime(1970, 1, 1)}
_DATES = {AWARE: pa.timestamp("us", "UTC"), NAIVE: pa.timestamp("us")}
_EARLIEST = (
    datetime(1, 1, 3, tzinfo=UTC) - _EPOCHS[AWARE]
) // _STEP  # later than any date of the year 0, which is none


class _Rows(Sequence[Stretch[T]]):
    """A sequence whose items are made when they are asked for; it equals any sequence of the same items."""

    starts: Array

    @abstractmethod
    def __iter__(self) -> Iterator[Stretch[T]]:
        """Make the stretches, one after another."""

    @abstractmethod
    def only(self, kept: Any) -> Self:
        """Return some of the stretches: a slice or places."""

    def __len__(self) -> int:
        return len(self.starts)

    @overload
    def __getitem__(self, at: int) -> Stretch[T]: ...

    @overload
    def __getitem__(self, at: slice) -> Self: ...

    def __getitem__(self, at: int | slice) -> Stretch[T] | Self:
        if isinstance(at, slice):
            return self.only(at)
        for found in self.only(slice(at, at + 1 or None)):
            return found
        raise IndexError(f"stretch {at} of {len(self)}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(map(eq, self, other))

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, eq=False)
class Placed(_Rows[float]):
    """Stretches in the seconds of their case.

    Attributes
    ----------
    starts, ends
        Seconds, ``(n,)``.
    codes, names
        The label of each as a place in a list of names, in any order, of which some may not be in use.
    scores
        NaN where none was given.
    """

    starts: Array
    ends: Array
    codes: Array
    names: Sequence[str]
    scores: Array

    def __iter__(self) -> Iterator[Stretch[float]]:
        labels = [self.names[code] for code in self.codes.tolist()]
        return map(Stretch, self.starts.tolist(), self.ends.tolist(), labels, _known(self.scores))

    def only(self, kept: Any) -> Placed:
        """Return some of the stretches."""
        return Placed(self.starts[kept], self.ends[kept], self.codes[kept], self.names, self.scores[kept])

    def without(self, names: Collection[str]) -> Placed:
        """Leave out stretches of some names."""
        used = np.unique(self.codes)
        unwanted = [code for code in used.tolist() if self.names[code] in names]
        return self.only(np.flatnonzero(~np.isin(self.codes, unwanted))) if unwanted else self

    def labels(self) -> pa.Array:
        """Return the label of each."""
        return pa.array(self.names, pa.string()).take(pa.array(self.codes))


@dataclass(frozen=True, eq=False)
class Read(_Rows[Moment]):
    """Stretches as they stand in a file, all times of one kind.

    Attributes
    ----------
    kind
        That of the times.
    starts, ends
        Microseconds since 1970 of dates, which are those of UTC if they have an offset; seconds of numbers.
    texts
        Starts and ends as they are written, of dates; nothing for numbers.
    codes, names, scores
        As in :class:`Placed`.
    """

    kind: str
    starts: Array
    ends: Array
    texts: tuple[Any, Any] | None
    codes: Array
    names: Sequence[str]
    scores: Array

    def __iter__(self) -> Iterator[Stretch[Moment]]:
        labels = [self.names[code] for code in self.codes.tolist()]
        sides: list[list[Moment]] = [self.starts.tolist(), self.ends.tolist()]
        if self.texts is not None:
            sides = [[datetime.fromisoformat(text) for text in side.to_pylist()] for side in self.texts]
        return map(Stretch, *sides, labels, _known(self.scores))

    def only(self, kept: Any) -> Read:
        """Return some of the stretches."""
        texts = self.texts
        if texts is not None:
            texts = tuple(side[kept] if isinstance(kept, slice) else side.take(kept) for side in texts)
        return Read(
            self.kind, self.starts[kept], self.ends[kept], texts, self.codes[kept], self.names, self.scores[kept]
        )

    def split(self, counts: Sequence[int]) -> list[Read]:
        """Return the first stretches, then those after them, and so on."""
        ends = np.cumsum(counts).tolist()
        return [self[end - count : end] for end, count in zip(ends, counts, strict=True)]

    def placed(self, zone: Zone) -> Placed | None:
        """Return them in the seconds of a zone; None where a time does not fit it or an end comes before a start."""
        if zone.kind != self.kind and len(self):
            return None
        if (self.starts > self.ends).any():
            return None
        starts, ends = self.starts, self.ends
        if zone.origin is not None:
            origin = (zone.origin - _EPOCHS[zone.kind]) // _STEP
            spans = starts - origin, ends - origin
            if any(np.abs(span).max(initial=0) >= EXACT for span in spans):
                return None
            starts, ends = spans[0] / 1e6, spans[1] / 1e6
        return Placed(starts, ends, self.codes, self.names, self.scores)


def place(
    stretches: Sequence[Stretch[Moment]], zone: Zone, where: str, *, relative: bool = True
) -> Sequence[Stretch[float]]:
    """Return the stretches of one case in the seconds of that case: :func:`gnomon.suites.events.times.place`, at once.

    What does not fit is left to that function, and with it what is said of it.
    """
    if isinstance(stretches, Read):
        found = stretches.placed(Zone() if relative and (stretches.kind == NUMBER or not len(stretches)) else zone)
        if found is not None:
            return found
    return times.place(stretches, zone, where, relative=relative)


def in_seconds(stretches: Sequence[Stretch[Moment]], per_second: float) -> Sequence[Stretch[Moment]]:
    """Return stretches whose times are numbers of a unit in seconds; dates stay as they are.

    >>> in_seconds([Stretch(1500.0, 2000.0, "a")], 1000.0)
    [Stretch(start=1.5, end=2.0, label='a', score=None)]
    """
    if per_second == 1 or not are_numbers(stretches):
        return stretches
    if isinstance(stretches, Read):
        return replace(stretches, starts=stretches.starts / per_second, ends=stretches.ends / per_second)

    def seconds(edge: Moment) -> Moment:
        return edge / per_second if isinstance(edge, float) else edge

    return [one._replace(start=seconds(one.start), end=seconds(one.end)) for one in stretches]


def are_numbers(stretches: Sequence[Stretch[Moment]]) -> bool:
    """Say whether all times are numbers."""
    if isinstance(stretches, Read):
        return stretches.kind == NUMBER
    return all(isinstance(edge, float) for one in stretches for edge in (one.start, one.end))


def joined(parts: Iterable[Sequence[Stretch[float]]]) -> Placed:
    """Return the stretches of several cases, one case after another.

    >>> joined([[Stretch(0.0, 1.0, "a")], [], [Stretch(0.5, 2.0, "b", 0.9)]])[1]
    Stretch(start=0.5, end=2.0, label='b', score=0.9)
    """
    names: list[str] = []
    firsts: dict[int, int] = {}
    columns: list[tuple[Array, ...]] = [(np.zeros(0), np.zeros(0), np.zeros(0, np.int64), np.zeros(0))]
    held = [part if isinstance(part, Placed) else _placed(part) for part in parts]
    for part in held:
        if id(part.names) not in firsts:  # those of one file share their names
            firsts[id(part.names)] = len(names)
            names += part.names
        columns.append((part.starts, part.ends, part.codes + firsts[id(part.names)], part.scores))
    starts, ends, codes, scores = (np.concatenate(column) for column in zip(*columns, strict=True))
    return Placed(starts, ends, codes, names, scores)


def moments(texts: pa.Array | pa.ChunkedArray, kind: str) -> Array | None:
    """Return times that are all written in one way: microseconds since 1970, or seconds; None where they are not.

    >>> moments(pa.array(["1970-01-01T00:00:01Z", "1970-01-01T01:00+01:00"]), AWARE).tolist()
    [1000000, 0]
    >>> moments(pa.array(["1.5", "x"]), NUMBER) is None
    True
    """
    try:
        found = texts.cast(_DATES[kind] if kind != NUMBER else pa.float64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    if kind == NUMBER:
        seconds: Array = found.to_numpy()
        return seconds if np.isfinite(seconds).all() else None
    moved: Array = found.cast(pa.int64()).to_numpy()
    return moved if moved.min(initial=0) >= _EARLIEST else None


def _placed(stretches: Sequence[Stretch[float]]) -> Placed:
    starts, ends = (np.array([stretch[side] for stretch in stretches], dtype=np.float64) for side in (0, 1))
    labels, scores = [stretch.label for stretch in stretches], [stretch.score for stretch in stretches]
    return Placed(starts, ends, np.arange(len(labels)), labels, np.array(scores, dtype=np.float64))


def _known(scores: Array) -> list[float | None]:
    missing = np.isnan(scores)
    listed: list[float | None] = scores.tolist()
    return [None if lacks else score for score, lacks in zip(listed, missing, strict=True)] if missing.any() else listed
