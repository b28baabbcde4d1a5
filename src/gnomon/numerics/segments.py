"""Stretches of time against stretches of time, in one sort and one pass: segments and events.

Conventions
-----------
- Intervals are half-open ``[start, end)``. :func:`tidy` clips them to a window, drops what is empty and sorts by class,
  then by time; overlapping stretches of one class are united, abutting ones too unless identity is kept.
- For one class, a *segment* is a maximal stretch in which (truth, returned) does not change. Its kind is TP, TN, FP or
  FN; an FP or FN is further told apart by whether the segment before it (L) or after it (R) is a TP. A missing
  neighbour is not a TP.
- Everything after the sort is linear in the number of intervals, however many classes there are.
- A class may stand for a class of one of several recordings: a window is one for all classes, or has an edge for each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.core.compiling import jit

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Window = tuple[float | Floats, float | Floats]
"""Start and end, of all classes or ``(classes,)``."""

CATEGORIES = ("TP", "TN", "D", "F", "Us", "Ue", "I", "M", "Os", "Oe")
"""What a segment can be, in the order of its codes."""
TP, TN, D, F, US, UE, I, M, OS, OE = range(10)  # noqa: E741 - Ward's own letters
TRUTH_LABELS = ("C", "D", "F", "FM", "M")
RETURN_LABELS = ("C'", "I'", "F'", "FM'", "M'")


@dataclass(frozen=True)
class Track:
    """Stretches of several classes: those of class ``c`` are ``offsets[c] : offsets[c + 1]``, in the order of time."""

    starts: Floats
    ends: Floats
    offsets: Codes

    @property
    def classes(self) -> int:
        """How many classes the track distinguishes."""
        return len(self.offsets) - 1

    def codes(self) -> Codes:
        """Return the class of every stretch."""
        return np.repeat(np.arange(self.classes), np.diff(self.offsets))


@dataclass(frozen=True)
class Segments:
    """Segments of every class in the order of time; each ends where the next begins, the last at the window's end."""

    starts: Floats
    categories: NDArray[np.int8]
    offsets: Codes


def tidy(
    starts: Floats,
    ends: Floats,
    codes: Codes,
    classes: int,
    window: tuple[float, float],
    *,
    keep_abutting: bool = False,
) -> Track:
    """Clip, drop, sort and unite."""
    starts, ends = np.maximum(starts, window[0]), np.minimum(ends, window[1])
    kept = np.flatnonzero(starts < ends)
    order = _by_class(kept, codes, classes)
    if not rising(starts[order], codes[order]):  # most often they come in the order of time
        order = _by_class(kept[np.argsort(starts[kept], kind="stable")], codes, classes)
    counts = np.bincount(codes[order], minlength=classes)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    s, e = starts[order], ends[order]
    new_offsets = np.zeros(classes + 1, dtype=np.int64)
    kept_n = _unite(s, e, offsets, new_offsets, keep_abutting)
    return Track(s[:kept_n], e[:kept_n], new_offsets)


def segments(truth: Track, returned: Track, window: Window) -> tuple[Segments, Floats]:
    """Return the segments of every class and the seconds in each category, ``(classes, 10)``."""
    most = 2 * (np.diff(truth.offsets) + np.diff(returned.offsets)) + 1
    room = np.concatenate([[0], np.cumsum(most)])
    starts, categories = np.empty(room[-1]), np.empty(room[-1], dtype=np.int8)
    offsets = np.zeros(len(room), dtype=np.int64)
    seconds = np.zeros((truth.classes, len(CATEGORIES)))
    _segment(
        (truth.starts, truth.ends, truth.offsets),
        (returned.starts, returned.ends, returned.offsets),
        _edges(window, truth.classes),
        (starts, categories, offsets),
        seconds,
    )
    n = int(offsets[-1])
    return Segments(starts[:n], categories[:n], offsets), seconds


def events(found: Segments, truth: Track, returned: Track, window: Window) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Return the label of every event (an index into ``TRUTH_LABELS``) and of every return (``RETURN_LABELS``)."""
    sides = []
    for track in (truth, returned):
        n = len(track.starts)
        sides.append((track.starts, track.ends, track.offsets, np.zeros(n, np.int64), np.zeros(n, np.int8)))
    labels = np.zeros(len(truth.starts), np.int8), np.zeros(len(returned.starts), np.int8)
    _, high = _edges(window, truth.classes)
    for linking in (False, True):
        _visit((found.starts, found.categories, found.offsets), high, sides[0], sides[1], linking)
    for side, out in zip(sides, labels, strict=True):
        _label(side[3], side[4], out)
    labels[1][:] = _RETURN_OF[labels[1]]
    return labels


def overlapping(track: Track) -> bool:
    """Say whether stretches of different classes overlap."""
    order = np.argsort(track.starts, kind="stable")
    return bool((track.starts[order][1:] < np.maximum.accumulate(track.ends[order])[:-1]).any())


def _edges(window: Window, classes: int) -> tuple[Floats, Floats]:
    """Return the start and the end of the window of every class."""
    low, high = (np.full(classes, edge, dtype=np.float64) for edge in window)
    return low, high


def _by_class(places: Codes, codes: Codes, classes: int) -> Codes:
    """Return places by the class of what is there, those of one class in their order."""
    narrow = np.uint8 if classes <= 256 else np.uint16 if classes <= 65536 else np.int64
    return places[np.argsort(codes[places].astype(narrow), kind="stable")]


def rising(starts: Floats, groups: Codes) -> bool:
    """Say whether starts rise within each group."""
    return bool(((starts[1:] >= starts[:-1]) | (groups[1:] != groups[:-1])).all())


# Codes of truth labels 0..4 = C D F FM M; the same rules give returns C' I' M' FM' F'.
_RETURN_OF = np.array([0, 1, 4, 3, 2], dtype=np.int8)


@jit
def _unite(starts: Any, ends: Any, offsets: Any, new_offsets: Any, keep_abutting: bool) -> int:
    n = 0
    for c in range(offsets.size - 1):
        first = n
        for i in range(offsets[c], offsets[c + 1]):
            s, e = starts[i], ends[i]
            if n > first and (s < ends[n - 1] or (s == ends[n - 1] and not keep_abutting)):
                ends[n - 1] = max(ends[n - 1], e)
            else:
                starts[n], ends[n] = s, e
                n += 1
        new_offsets[c + 1] = n
    return n


@jit
def _segment(truth: Any, returned: Any, window: Any, out: Any, seconds: Any) -> None:
    ts, te, toff = truth
    rs, re, roff = returned
    starts, categories, offsets = out
    n = 0
    for c in range(toff.size - 1):
        low, high = window[0][c], window[1][c]
        first = n
        i, i1, j, j1 = toff[c], toff[c + 1], roff[c], roff[c + 1]
        x = low
        while x < high:
            while i < i1 and te[i] <= x:
                i += 1
            while j < j1 and re[j] <= x:
                j += 1
            in_t = i < i1 and ts[i] <= x
            in_r = j < j1 and rs[j] <= x
            y = high
            if i < i1:
                y = min(y, te[i] if in_t else ts[i])
            if j < j1:
                y = min(y, re[j] if in_r else rs[j])
            kind = TP if in_t and in_r else D if in_t else I if in_r else TN
            if n == first or categories[n - 1] != kind:
                starts[n], categories[n] = x, kind
                n += 1
            x = y
        offsets[c + 1] = n
        _categorise(categories, starts, first, n, high, seconds[c])


@jit
def _categorise(categories: Any, starts: Any, first: int, stop: int, high: float, seconds: Any) -> None:
    """Tell FN (D) and FP (I) apart by their neighbours and add up time, with the rounding of each sum carried along."""
    carry = np.zeros(seconds.size)
    before = TN
    for s in range(first, stop):
        kind = categories[s]
        left = before == TP
        right = s + 1 < stop and categories[s + 1] == TP
        before = kind
        if kind == D:
            kind = F if left and right else US if right else UE if left else D
        elif kind == I:
            kind = M if left and right else OS if right else OE if left else I
        categories[s] = kind
        length = (starts[s + 1] if s + 1 < stop else high) - starts[s]
        y = length - carry[kind]
        t = seconds[kind] + y
        carry[kind] = (t - seconds[kind]) - y
        seconds[kind] = t


@jit
def _visit(found: Any, high: Any, truth: Any, returned: Any, linking: bool) -> None:
    """Go through the TP segments: count those of every event and return or, once counted, mark what they link."""
    starts, categories, offsets = found
    for c in range(offsets.size - 1):
        i, j = truth[2][c], returned[2][c]
        for s in range(offsets[c], offsets[c + 1]):
            if categories[s] != TP:
                continue
            x = starts[s]
            y = starts[s + 1] if s + 1 < offsets[c + 1] else high[c]
            i, many_t = _touch(truth, c, i, x, y, not linking)
            j, many_r = _touch(returned, c, j, x, y, not linking)
            if linking and many_r:
                _mark(truth, c, i, y)
            if linking and many_t:
                _mark(returned, c, j, y)


@jit
def _touch(side: Any, c: int, i: int, x: float, y: float, count: bool) -> tuple[int, bool]:
    """Move on to what lies in a TP segment, count it if asked, and say whether any has several hits."""
    starts, ends, offsets, hits, _ = side
    while i < offsets[c + 1] and ends[i] <= x:
        i += 1
    k, many = i, False
    while k < offsets[c + 1] and starts[k] < y:
        if count:
            hits[k] += 1
        many = many or hits[k] >= 2
        k += 1
    return i, many


@jit
def _mark(side: Any, c: int, i: int, y: float) -> None:
    starts, _, offsets, _, linked = side
    while i < offsets[c + 1] and starts[i] < y:
        linked[i] = 1
        i += 1


@jit
def _label(hits: Any, linked: Any, out: Any) -> None:
    for k in range(hits.size):
        if hits[k] == 0:
            out[k] = 1
        elif hits[k] >= 2:
            out[k] = 3 if linked[k] else 2
        else:
            out[k] = 4 if linked[k] else 0
