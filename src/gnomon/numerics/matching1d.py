"""Stretches of time matched to stretches of time: by overlap, by collar, by rank; and the edit distance.

Conventions
-----------
- Intervals are half-open ``[start, end)``, sorted by group (a class of a recording), then by start; those of group
  ``g`` are ``offsets[g] : offsets[g + 1]``. Only intervals of one group meet.
- Costs are a sort and the number of pairs that are found. An edit distance takes the product of the lengths over 64:
  sixty-four cells of the table are one machine word (Myers, 1999; Hyyrö, 2003).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.core.compiling import jit
from gnomon.numerics.segments import Codes, Floats, Track

SLACK_S = 1e-6
"""Times are decimal in files and binary in memory: a distance this little above a collar is within it."""

_ROOM = 4096  # of binary exponents: a double has fewer


def overlaps(truth: Track, returned: Track) -> tuple[Codes, Codes, Floats]:
    """Return the pairs that overlap as indices into both tracks, by return and then by truth, and their common time.

    Stretches of one group may overlap each other; a track without such overlaps has at most as many pairs as stretches.
    """
    sides = (truth.starts, truth.ends, truth.offsets), (returned.starts, returned.ends, returned.offsets)
    reach = truth.ends.copy()
    _reach(reach, truth.offsets)
    none = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    n = _meet(sides[0], sides[1], reach, none, False)
    out = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n)
    _meet(sides[0], sides[1], reach, out, True)
    return out


def iou(truth: Track, returned: Track, i: Codes, j: Codes, common: Floats) -> Floats:
    """Return the common time of overlapping pairs over the time of either."""
    either = np.maximum(truth.ends[i], returned.ends[j]) - np.minimum(truth.starts[i], returned.starts[j])
    return np.asarray(common / either)


def one_to_one(i: Codes, j: Codes, n: int, m: int) -> Codes:
    """Take pairs in the order given, each truth and each return once; return the return of each truth, or -1."""
    chosen = np.full(n, -1)
    _choose(i, j, chosen, np.zeros(m, np.bool_))
    return chosen


def reached(i: Codes, common: Floats, scores: Floats, needed: Floats) -> Floats:
    """Return for each truth the score at which the common time of its pairs, sorted by truth, is enough, or -inf."""
    out = np.full(len(needed), -np.inf)
    _fill(i, common, scores, needed, out)
    return out


def within_collar(truth: Track, returned: Track, collar: float, share: float, offsets: bool) -> tuple[Codes, Codes]:
    """Return the pairs whose starts (and ends, within ``max(collar, share * length)``) are close, in rows by truth."""
    sides = (truth.starts, truth.ends, truth.offsets), (returned.starts, returned.ends, returned.offsets)
    rows = np.zeros(len(truth.starts) + 1, np.int64)
    rule = (float(collar), float(share), bool(offsets))
    n = _near(sides[0], sides[1], rule, rows, np.empty(0, np.int64), False)
    columns = np.empty(n, np.int64)
    _near(sides[0], sides[1], rule, rows, columns, True)
    return rows, columns


def locked(
    truth: tuple[Floats, Floats, Codes], returned: tuple[Floats, Floats, Codes], thresholds: Floats
) -> NDArray[np.bool_]:
    """Say for each threshold which returns find a free truth, ``(thresholds, returns)``.

    Sides are starts, ends and groups; returns in the order in which they choose. A return takes the free truth of its
    group with the largest IoU, at least the threshold; of equal ones the earlier. Truths are looked up by their length
    and start, so that only those of a fitting size and place are compared.
    """
    starts, ends, groups = truth
    keys = groups * _ROOM + np.frexp(ends - starts)[1].astype(np.int64) + _ROOM // 2
    order = np.lexsort((ends, starts, keys))
    hits = np.zeros((len(thresholds), len(returned[0])), np.bool_)
    _lock((keys[order], starts[order], ends[order]), returned, thresholds, hits)
    return hits


def edit_distance(first: Codes, second: Codes) -> int:
    """Return the Levenshtein distance of two sequences of codes from 0 on.

    >>> edit_distance(np.array([0, 1, 2]), np.array([1, 2, 2]))
    2
    """
    short, long = sorted((first, second), key=len)
    differ = np.flatnonzero(short != long[: len(short)])
    head = int(differ[0]) if len(differ) else len(short)
    short, long = short[head:], long[head:]
    differ = np.flatnonzero(short[::-1] != long[len(long) - len(short) :][::-1])
    tail = int(differ[0]) if len(differ) else len(short)
    short, long = short[: len(short) - tail], long[: len(long) - tail]
    if not len(short):
        return len(long)
    codes = np.unique(np.concatenate([short, long]), return_inverse=True)[1]
    return int(_edit(codes[: len(short)], codes[len(short) :], np.zeros(int(codes.max()) + 1, np.uint64)))


def average_precision(hits: NDArray[np.bool_], last: Codes, offsets: Codes, truths: Codes) -> Floats:
    """Return the interpolated average precision by threshold and class; ``-1`` where a class has no truth.

    Returns are sorted by class and falling score; ``last`` is the last return of the same class and score.
    """
    out = np.full((len(hits), len(truths)), -1.0)
    _average(hits, last, offsets, truths, out)
    return out


@jit
def _reach(ends: Any, offsets: Any) -> None:
    for g in range(offsets.size - 1):
        for i in range(offsets[g] + 1, offsets[g + 1]):
            ends[i] = max(ends[i], ends[i - 1])


@jit
def _meet(truth: Any, returned: Any, reach: Any, out: Any, write: bool) -> int:
    ts, te, toff = truth
    rs, re, roff = returned
    n = 0
    for g in range(toff.size - 1):
        low = toff[g]
        for j in range(roff[g], roff[g + 1]):
            while low < toff[g + 1] and reach[low] <= rs[j]:
                low += 1
            i = low
            while i < toff[g + 1] and ts[i] < re[j]:
                common = min(te[i], re[j]) - max(ts[i], rs[j])
                if common > 0:
                    if write:
                        out[0][n], out[1][n], out[2][n] = i, j, common
                    n += 1
                i += 1
    return n


@jit
def _choose(i: Any, j: Any, chosen: Any, taken: Any) -> None:
    for k in range(i.size):
        if chosen[i[k]] < 0 and not taken[j[k]]:
            chosen[i[k]] = j[k]
            taken[j[k]] = True


@jit
def _fill(i: Any, common: Any, scores: Any, needed: Any, out: Any) -> None:
    total = 0.0
    for k in range(i.size):
        if k == 0 or i[k] != i[k - 1]:
            total = 0.0
        total += common[k]
        if total >= needed[i[k]] and out[i[k]] == -np.inf:
            out[i[k]] = scores[k]


@jit
def _near(truth: Any, returned: Any, rule: Any, rows: Any, columns: Any, write: bool) -> int:
    ts, te, toff = truth
    rs, re, roff = returned
    collar, share, with_ends = rule
    n = 0
    for g in range(toff.size - 1):
        low = roff[g]
        for i in range(toff[g], toff[g + 1]):
            while low < roff[g + 1] and ts[i] - rs[low] > collar + SLACK_S:
                low += 1
            tolerance = max(collar, share * (te[i] - ts[i])) + SLACK_S
            j = low
            while j < roff[g + 1] and rs[j] - ts[i] <= collar + SLACK_S:
                if not with_ends or abs(te[i] - re[j]) <= tolerance:
                    if write:
                        columns[n] = j
                    n += 1
                j += 1
            rows[i + 1] = n
    return n


@jit
def _lock(truth: Any, returned: Any, thresholds: Any, hits: Any) -> None:
    keys, ts, te = truth
    rs, re, groups = returned
    least = thresholds.min() * (1 - 1e-9)
    taken = np.zeros((thresholds.size, ts.size), np.bool_)
    best, place = np.empty(thresholds.size), np.empty(thresholds.size, np.int64)
    for j in range(rs.size):
        length = re[j] - rs[j]
        wide = 1e-9 * (length + abs(rs[j]))
        first, last = re[j] - length / least - wide, re[j] - least * length + wide
        shortest, longest = math.frexp(length * least)[1], math.frexp(length / least)[1]
        best[:] = 0.0
        place[:] = -1
        for exponent in range(shortest, longest + 1):
            key = groups[j] * _ROOM + exponent + _ROOM // 2
            i = _seek(keys, ts, key, first)
            while i < ts.size and keys[i] == key and ts[i] <= last:
                common = min(te[i], re[j]) - max(ts[i], rs[j])
                iou = common / (max(te[i], re[j]) - min(ts[i], rs[j]))
                for t in range(thresholds.size):
                    better = iou > best[t] or (iou == best[t] and ts[i] < ts[place[t]])
                    if better and iou >= thresholds[t] and not taken[t, i]:
                        best[t], place[t] = iou, i
                i += 1
        for t in range(thresholds.size):
            if place[t] >= 0:
                hits[t, j] = taken[t, place[t]] = True


@jit
def _seek(keys: Any, starts: Any, key: int, start: float) -> int:
    """Return the first place at or after (key, start)."""
    low, high = 0, keys.size
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key or (keys[middle] == key and starts[middle] < start):
            low = middle + 1
        else:
            high = middle
    return low


@jit
def _average(hits: Any, last: Any, offsets: Any, truths: Any, out: Any) -> None:
    precision = np.empty(last.size)
    for t in range(hits.shape[0]):
        for c in range(truths.size):
            if truths[c] == 0:
                continue
            first, stop = offsets[c], offsets[c + 1]
            found = 0
            for j in range(first, stop):
                found += hits[t, j]
                precision[j] = found / (j - first + 1)
            total, best = 0.0, 0.0
            for j in range(stop - 1, first - 1, -1):
                if last[j] == j:
                    best = max(best, precision[j])
                if hits[t, j]:
                    total += best
            out[t, c] = total / truths[c]


@jit
def _edit(down: Any, across: Any, where: Any) -> int:
    """Fill the table in strips of 64 rows; ``step`` is how the strip's lower edge changes from column to column."""
    one, zero = np.uint64(1), np.uint64(0)
    step = np.ones(across.size, np.int8)
    for top in range(0, down.size, 64):
        rows = min(64, down.size - top)
        for r in range(rows):
            where[down[top + r]] |= one << np.uint64(r)
        edge = np.uint64(rows - 1)
        more, less = ~zero, zero
        for j in range(across.size):
            equal = where[across[j]]
            fewer_in = one if step[j] < 0 else zero
            more_in = one if step[j] > 0 else zero
            vertical = equal | less
            equal |= fewer_in
            diagonal = (((equal & more) + more) ^ more) | equal
            up = less | ~(diagonal | more)
            fall = more & diagonal
            step[j] = np.int8((up >> edge) & one) - np.int8((fall >> edge) & one)
            up = (up << one) | more_in
            fall = (fall << one) | fewer_in
            more = fall | ~(vertical | up)
            less = up & vertical
        for r in range(rows):
            where[down[top + r]] = zero
    return int(down.size + step.sum())
