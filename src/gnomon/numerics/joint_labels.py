"""Which classes are true and returned at the same time: seconds by pair, of one recording or of many at once.

Conventions
-----------
- Tracks and segments are those of :mod:`gnomon.numerics.segments`.
- NULL is what holds where no class does: the index after all classes.
- Classes of one track may overlap; tables then hold *class-seconds*. Where the classes A are true and the classes B are
  returned, a class in both is right. Missing classes (in A, not in B) and extra ones (in B, not in A) are paired one to
  one, those left over with NULL; a table holds the mean over all ways to pair them. A moment so counts as often as the
  larger of A and B has classes, and once where both are empty. A row adds up to the seconds in which its class is true,
  a column to those in which it is returned. Without overlaps a moment has one pair, and tables add up to the window.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gnomon.core.compiling import jit
from gnomon.numerics.segments import TN, TP, Codes, D, Floats, I, Segments, Track, overlapping, rising

MOST_CLASSES = 200
"""Above this many classes no confusion is kept; a recording in which so many overlap has pairs alone."""


def joint(found: Segments, truth: Track, returned: Track, window: tuple[float, float]) -> tuple[Floats, Floats]:
    """Return seconds by (true class, returned class) and by (FP category, FN category); the last index is NULL.

    The second table counts what is not right: rows are ``I, M, Os, Oe`` of the returned class, columns ``D, F, Us, Ue``
    of the true class.
    """
    if overlapping(truth) or overlapping(returned):
        return _join_overlapping(found, (0, truth.classes), float(window[1]), tabled=True)[:2]
    classes = truth.classes
    confusion, pairs = np.zeros((classes + 1, classes + 1)), np.zeros((5, 5))
    tracks = []
    for track in (truth, returned):
        order = np.argsort(track.starts, kind="stable")
        tracks.append((track.starts[order], track.ends[order], track.codes()[order]))
    low, high = (float(edge) for edge in window)
    _join(tracks[0], tracks[1], (found.starts, found.categories, found.offsets), (low, high), confusion, pairs)
    return confusion, pairs


@dataclass(frozen=True)
class Joint:
    """What :func:`joint` gives, of several recordings.

    Attributes
    ----------
    overlap_s
        ``(recordings,)``: class-seconds beyond the seconds of the window; above 0 where classes of one track overlap.
    pairs
        ``(recordings, 5, 5)`` seconds.
    recording, truth, returned, seconds
        Every entry of the confusions that is above 0, by recording, true and returned class; the class after all those
        of a recording is NULL.
    """

    overlap_s: Floats
    pairs: Floats
    recording: Codes
    truth: Codes
    returned: Codes
    seconds: Floats


def joints(found: Segments, truth: Track, returned: Track, windows: Floats, of: Codes) -> Joint:
    """Return the tables of :func:`joint` of several recordings at once.

    Parameters
    ----------
    found, truth, returned
        Segments and tracks whose classes are those of the recordings, one recording after another.
    windows
        ``(recordings, 2)``.
    of
        The recording of every class, rising.
    """
    count = len(windows)
    firsts = np.searchsorted(of, np.arange(count + 1)).astype(np.int64)
    sides = [_by_recording(track, of, count) for track in (truth, returned)]
    tied = np.zeros(count, np.bool_)
    for side in sides:
        _overlap(side, tied)
    own = np.where(tied, 0, np.diff(firsts)) + 1  # overlapping ones are added below
    steps = sum(2 * np.diff(side[3]) for side in sides) + 1
    room = int(np.minimum(own * own, steps).sum())
    entries = tuple(np.empty(room, np.int64) for _ in range(3)), np.empty(room)
    pairs, table = np.zeros((count, 5, 5)), np.zeros((int(own.max(initial=1)),) * 2)
    limits = np.ascontiguousarray(windows, dtype=np.float64)
    segmented = (found.starts, found.categories, found.offsets)
    n = _joins(sides[0], sides[1], segmented, (limits, firsts, tied), table, pairs, entries)
    overlap_s = np.zeros(count)
    parts = [(*(part[:n] for part in entries[0]), entries[1][:n])]
    for r in np.flatnonzero(tied).tolist():
        span = int(firsts[r]), int(firsts[r + 1])
        tabled = span[1] - span[0] <= MOST_CLASSES
        confusion, pairs[r], overlap_s[r] = _join_overlapping(found, span, float(limits[r, 1]), tabled=tabled)
        a, b = np.nonzero(confusion)
        parts.append((np.full(len(a), r), a, b, confusion[a, b]))
    recording, true, got, seconds = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(recording, kind="stable")
    return Joint(overlap_s, pairs, recording[order], true[order], got[order], seconds[order])


def _join_overlapping(
    found: Segments, span: tuple[int, int], high: float, *, tabled: bool
) -> tuple[Floats, Floats, float]:
    """Return both tables of one recording whose classes overlap, and its class-seconds beyond the window.

    ``span`` is the range of the recording's classes, ``high`` the end of its window. Unless ``tabled``, the first table
    is empty.
    """
    first, stop = span
    offsets = found.offsets[first : stop + 1]
    own = slice(offsets[0], offsets[-1])
    classes = np.repeat(np.arange(stop - first), np.diff(offsets))
    order = np.argsort(found.starts[own], kind="stable")
    pairs, confusion = np.zeros((5, 5)), np.zeros((stop - first + 1,) * 2 if tabled else (0, 0))
    steps = found.starts[own][order], found.categories[own][order], classes[order]
    return confusion, pairs, float(_join_sets(steps, stop - first, high, confusion, pairs))


def _by_recording(track: Track, of: Codes, recordings: int) -> tuple[Floats, Floats, Codes, Codes]:
    """Return stretches by recording and start, their classes, and where each recording begins."""
    codes = track.codes()
    owner = of[codes]  # rising, as classes are
    offsets = np.searchsorted(owner, np.arange(recordings + 1)).astype(np.int64)
    if rising(track.starts, owner):  # as where all have one class
        return track.starts, track.ends, codes, offsets
    order = np.lexsort((track.starts, owner))
    return track.starts[order], track.ends[order], codes[order], offsets


@jit
def _join(truth: Any, returned: Any, found: Any, window: Any, confusion: Any, pairs: Any) -> None:
    ts, te, tc = truth
    rs, re, rc = returned
    starts, categories, offsets = found
    low, high = window
    null = confusion.shape[0] - 1
    at = offsets[:-1].copy()
    i = j = 0
    x = low
    while x < high:
        while i < ts.size and te[i] <= x:
            i += 1
        while j < rs.size and re[j] <= x:
            j += 1
        in_t = i < ts.size and ts[i] <= x
        in_r = j < rs.size and rs[j] <= x
        y = high
        if i < ts.size:
            y = min(y, te[i] if in_t else ts[i])
        if j < rs.size:
            y = min(y, re[j] if in_r else rs[j])
        a = tc[i] if in_t else null
        b = rc[j] if in_r else null
        confusion[a, b] += y - x
        if a != b:
            fp = fn = 4
            if b != null:
                fp = _category(starts, categories, offsets, at, b, x) - I
            if a != null:
                fn = _category(starts, categories, offsets, at, a, x) - D
            pairs[fp, fn] += y - x
        x = y


@jit
def _join_sets(steps: Any, n_classes: int, high: float, confusion: Any, pairs: Any) -> float:
    """Go through all segments of all classes by time; what is right, missing and extra at a moment are three lists."""
    times, categories, classes = steps
    counts = np.zeros(10, np.int64)  # classes by their present category
    lists, sizes = np.empty((3, n_classes), np.int64), np.zeros(3, np.int64)
    now, place = np.full(n_classes, TN), np.zeros(n_classes, np.int64)
    beyond = 0.0
    s = 0
    while s < times.size:
        x = times[s]
        while s < times.size and times[s] == x:
            c, new = classes[s], categories[s]
            if now[c] != TN:
                kind = _kind(now[c])
                sizes[kind] -= 1
                last = lists[kind, sizes[kind]]
                lists[kind, place[c]], place[last] = last, place[c]
                counts[now[c]] -= 1
            if new != TN:
                kind = _kind(new)
                lists[kind, sizes[kind]], place[c] = c, sizes[kind]
                sizes[kind] += 1
                counts[new] += 1
            now[c] = new
            s += 1
        length = (times[s] if s < times.size else high) - x
        right, k, m = sizes[0], sizes[1], sizes[2]
        beyond += length * (max(right + max(k, m), 1) - 1)
        both = length / max(k, m, 1)
        lost = length * max(k - m, 0) / max(k, 1)
        added = length * max(m - k, 0) / max(m, 1)
        for i in range(4):
            pairs[4, i] += lost * counts[D + i]
            pairs[i, 4] += added * counts[I + i]
            for j in range(4):
                pairs[i, j] += both * counts[I + i] * counts[D + j]
        if confusion.size:
            _add_moment(confusion, lists, sizes, length, both, lost, added)
    return beyond


@jit
def _kind(category: int) -> int:
    """Return 0 for what is right, 1 for what is missing, 2 for what is extra."""
    return 0 if category == TP else 1 if category < I else 2


@jit
def _add_moment(confusion: Any, lists: Any, sizes: Any, length: float, both: float, lost: float, added: float) -> None:
    null = confusion.shape[0] - 1
    if sizes.sum() == 0:
        confusion[null, null] += length
    for c in lists[0, : sizes[0]]:
        confusion[c, c] += length
    for a in lists[1, : sizes[1]]:
        confusion[a, null] += lost
        for b in lists[2, : sizes[2]]:
            confusion[a, b] += both
    for b in lists[2, : sizes[2]]:
        confusion[null, b] += added


@jit
def _category(starts: Any, categories: Any, offsets: Any, at: Any, c: int, x: float) -> int:
    """Return the category of a class at a time, moving the class's place in its segments forward."""
    s = at[c]
    while s + 1 < offsets[c + 1] and starts[s + 1] <= x:
        s += 1
    at[c] = s
    return int(categories[s])


@jit
def _overlap(side: Any, tied: Any) -> None:
    starts, ends, _, offsets = side
    for r in range(offsets.size - 1):
        reach = -np.inf
        for i in range(offsets[r], offsets[r + 1]):
            tied[r] = tied[r] or starts[i] < reach
            reach = max(reach, ends[i])


@jit
def _joins(truth: Any, returned: Any, found: Any, about: Any, table: Any, pairs: Any, entries: Any) -> int:
    """Join recording by recording, in a table of its own classes, and keep the entries above 0."""
    ts, te, tc, toff = truth
    rs, re, rc, roff = returned
    starts, categories, offsets = found
    windows, firsts, tied = about
    (recording, true, got), seconds = entries
    n = 0
    for r in range(windows.shape[0]):
        if tied[r]:
            continue
        first, stop = firsts[r], firsts[r + 1]
        null = stop - first
        own = table[: null + 1, : null + 1]
        own[:] = 0.0
        t, u = slice(toff[r], toff[r + 1]), slice(roff[r], roff[r + 1])
        _join(
            (ts[t], te[t], tc[t] - first),
            (rs[u], re[u], rc[u] - first),
            (starts, categories, offsets[first : stop + 1]),
            (windows[r, 0], windows[r, 1]),
            own,
            pairs[r],
        )
        for a in range(null + 1):
            for b in range(null + 1):
                if own[a, b] > 0:
                    recording[n], true[n], got[n], seconds[n] = r, a, b, own[a, b]
                    n += 1
    return n
