"""Which classes are true and returned at the same time: seconds by pair, of one recording or of many at once.

Conventions
-----------
- Tracks and segments are those of :mod:`gnomon.numerics.segments`. No two classes of one track may overlap in time; a
  recording in which they do has no tables.
- NULL is what holds where no class does: the index after all classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.core.compiling import jit
from gnomon.numerics.segments import Codes, D, Floats, I, Segments, Track, rising


def joint(found: Segments, truth: Track, returned: Track, window: tuple[float, float]) -> tuple[Floats, Floats]:
    """Return seconds by (true class, returned class) and by (FP category, FN category); the last index is NULL.

    Neither track may hold overlapping classes. The second table counts stretches whose true and returned classes
    differ: rows are ``I, M, Os, Oe`` of the returned class, columns ``D, F, Us, Ue`` of the true class.
    """
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
    overlaps
        ``(recordings,)``: in which stretches of different classes of one track overlap; they have no tables.
    pairs
        ``(recordings, 5, 5)`` seconds.
    recording, truth, returned, seconds
        Every entry of the confusions that is above 0, by recording, true and returned class; the class after all those
        of a recording is NULL.
    """

    overlaps: NDArray[np.bool_]
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
    own = np.where(tied, 0, np.diff(firsts)) + 1  # those without tables need no room, however many classes they have
    steps = sum(2 * np.diff(side[3]) for side in sides) + 1
    room = int(np.minimum(own * own, steps).sum())
    entries = tuple(np.empty(room, np.int64) for _ in range(3)), np.empty(room)
    pairs, table = np.zeros((count, 5, 5)), np.zeros((int(own.max(initial=1)),) * 2)
    limits = np.ascontiguousarray(windows, dtype=np.float64)
    segmented = (found.starts, found.categories, found.offsets)
    n = _joins(sides[0], sides[1], segmented, (limits, firsts, tied), table, pairs, entries)
    recording, true, got = (part[:n] for part in entries[0])
    return Joint(tied, pairs, recording, true, got, entries[1][:n])


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
