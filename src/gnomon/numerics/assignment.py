"""One-to-one matching of boxes by their overlap, in four orders.

Orders
------
``hungarian-then-filter``
    The assignment with the largest sum of IoU over all pairs, whatever their IoU; then pairs below the threshold are
    struck out. A pair that is struck out may have taken a box that another would have been matched with.
``gated-hungarian``
    Pairs below the threshold are struck out first; then the assignment with the largest sum of IoU.
``max-cardinality``
    Pairs below the threshold are struck out first; then the most pairs, and of those the largest sum of IoU.
``greedy``
    Pairs that reach the threshold, by falling score of the second side where there are scores and by falling IoU; each
    is taken if both boxes are free.

Ties
----
IoU is counted in units of 2**-40 (about 1e-12), in whole numbers: sums are exact, and what differs by rounding alone is
equal. Of assignments with the largest sum, one with the most pairs that reach the threshold is taken, and of those one
with the largest sum over these pairs. So neither the number of matches nor their sum depends on the order of the boxes;
which of several such assignments is returned may. In ``greedy`` equal pairs go by the place of their boxes among all,
which the caller gives.

How
---
Pairs without overlap add nothing to a sum, so only pairs that overlap are looked at. Weights are pairs of integers that
are compared one after the other; a largest sum is found by shortest augmenting paths with potentials (Kuhn, 1955;
Edmonds and Karp, 1972; Dijkstra, 1959), one box at a time, each path ending as soon as leaving a box unmatched is as
good. A search never leaves its connected component, and hardly its neighbourhood.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from gnomon.core.compiling import jit
from gnomon.core.errors import InputError
from gnomon.numerics.boxes import Codes, Floats, Overlaps
from gnomon.numerics.matching1d import one_to_one

Places = Callable[[], tuple[Codes, Codes]]
Order = Literal["hungarian-then-filter", "gated-hungarian", "max-cardinality", "greedy"]
ORDERS: tuple[str, ...] = get_args(Order)

SLACK = 1e-9
"""An IoU this little below a threshold reaches it: coordinates are decimal in files and binary in memory."""

_UNIT = 1 << 40
_BITS = 61  # of a sum of weights


def match(
    pairs: Overlaps,
    threshold: float,
    order: str,
    scores: Floats | None = None,
    places: Places | None = None,
    most: Codes | None = None,
) -> Codes:
    """Match boxes one to one.

    Parameters
    ----------
    pairs
        Overlapping pairs; for ``hungarian-then-filter`` all of them.
    threshold
        Least IoU of a match.
    order
        One of :data:`ORDERS`.
    scores
        Of the second side, for ``greedy``.
    places
        For ``greedy``: gives a number to each box of either side, by which equal pairs are ordered; asked for only
        where there are any. By default the index.
    most
        Of each pair: how many pairs at most can be matched of all that have to do with it, those of its scene. By
        default the boxes of the smaller side.

    Returns
    -------
    Indices of the chosen pairs, rising: by the first box.

    Examples
    --------
    >>> a, b = np.array([0, 0, 1]), np.array([0, 1, 1])
    >>> pairs = Overlaps(a, b, np.array([0.2778, 0.7647, 0.4286]), 2, 2)
    >>> [match(pairs, 0.25, order).tolist() for order in ("gated-hungarian", "max-cardinality")]
    [[1], [0, 2]]
    """
    check_order(order)
    reached = pairs.iou >= threshold - SLACK
    if order == "greedy":
        ranked = by_score(pairs, scores, places)
        return greedy(pairs, ranked[reached[ranked]])
    if order != "hungarian-then-filter":
        inside = np.flatnonzero(reached)
        kept = pairs.take(inside)
        whole = np.rint(kept.iou * _UNIT).astype(np.int64)
        one = np.ones(len(kept), np.int64)
        weights = (whole, one) if order == "gated-hungarian" else (one, whole)
        return np.asarray(inside[heaviest(kept, *weights)])
    whole = np.rint(pairs.iou * _UNIT).astype(np.int64)
    most = np.full(len(pairs), min(pairs.n, pairs.m)) if most is None else most
    chosen = heaviest(pairs, whole, _second(whole, reached, most))
    return np.asarray(chosen[reached[chosen]])


def check_order(order: str) -> None:
    """Refuse an order of matching that is none."""
    if order not in ORDERS:
        raise InputError(f"matching: expected one of {', '.join(ORDERS)}, but got {order!r:.80}")


def heaviest(pairs: Overlaps, major: Codes, minor: Codes) -> Codes:
    """Return the pairs of a one-to-one matching with the largest sum of ``major``, and of those of ``minor``.

    Weights are whole numbers of 0 or more; pairs are sorted by their first box.
    """
    starts = np.searchsorted(pairs.i, np.arange(pairs.n + 1))
    chosen = np.full(pairs.n, -1)
    _assign(starts, (pairs.i, pairs.j, major, minor), pairs.m, chosen)
    return np.asarray(chosen[chosen >= 0])


def _second(whole: Codes, reached: NDArray[np.bool_], most: Codes) -> Codes:
    """Return weights that order by the number of pairs that reach the threshold, then by their sum.

    The sum of ``most`` parts stays below one whole; both together, times ``most``, within the bits of a sum.
    """
    length = np.frexp(most)[1].astype(np.int64)
    bits = np.maximum(_BITS - 2 * length, 0)
    part = whole >> np.maximum(40 - bits, 0)
    return np.where(reached, (most << np.minimum(bits, 40)) + 1 + part, 0)


def by_score(pairs: Overlaps, scores: Floats | None, places: Places | None = None) -> Codes:
    """Return the order of pairs by falling score of the second box, falling IoU, and the places of the boxes."""
    less = -np.rint(pairs.iou * _UNIT)
    worse = np.zeros(len(pairs)) if scores is None else -scores[pairs.j]
    order = np.lexsort((less, worse))
    equal = (less[order[1:]] == less[order[:-1]]) & (worse[order[1:]] == worse[order[:-1]])
    if places is None or not equal.any():
        return np.asarray(order)
    first, second = places()
    return np.lexsort((second[pairs.j], first[pairs.i], less, worse))


def greedy(pairs: Overlaps, order: Codes) -> Codes:
    """Take pairs in an order, each box once; return the pairs taken, by their first box."""
    chosen = one_to_one(pairs.i[order], pairs.j[order], pairs.n, pairs.m)
    taken = np.zeros(len(pairs), np.bool_)
    taken[order] = pairs.j[order] == chosen[pairs.i[order]]
    return np.flatnonzero(taken)


@jit
def _assign(starts: Any, edges: Any, m: int, chosen: Any) -> None:
    """Fill ``chosen`` with the pair of each row, or leave -1.

    Potentials u of rows and v of columns are never negative, u + v is at least the weight of a pair and equal to it
    for a chosen one, and what is not matched has none. A row starts with the least u that its pairs allow.
    """
    n = starts.size - 1
    _, columns, major, minor = edges
    u, v = np.zeros((n, 2), np.int64), np.zeros((m, 2), np.int64)
    owner = np.full(m, -1)  # row of a column
    matching = u, v, owner, chosen
    distance, via = np.zeros((m, 2), np.int64), np.full(m, -1)  # of a column, and the pair through which it was reached
    state, seen = np.zeros(m, np.int8), np.empty(m, np.int64)  # 1 in the heap, 2 done
    queue = np.empty(m, np.int64), np.zeros(m, np.int64), np.zeros(1, np.int64)  # heap, place in it, length
    for row in range(n):
        tight = -1
        for e in range(starts[row], starts[row + 1]):
            c = columns[e]
            high, low = major[e] - v[c, 0], minor[e] - v[c, 1]
            more = _less(u[row, 0], u[row, 1], high, low)
            if more:
                u[row, 0], u[row, 1] = high, low
            if more or (tight < 0 and high == u[row, 0] and low == u[row, 1]):
                tight = e if owner[c] < 0 else -1
        if tight >= 0:
            chosen[row], owner[columns[tight]] = tight, row
        elif u[row, 0] != 0 or u[row, 1] != 0:
            _augment(row, starts, edges, matching, (distance, via, state, seen, queue))


@jit
def _augment(root: int, starts: Any, edges: Any, matching: Any, search: Any) -> None:
    """Find the shortest way to a free column, or to a row that is left unmatched instead, and change along it."""
    rows, columns, major, minor = edges
    u, v, owner, chosen = matching
    distance, via, state, seen, queue = search
    heap, length = queue[0], queue[2]
    best_high, best_low = u[root, 0], u[root, 1]
    end, left = -1, root  # the column where the way ends, or the row that is left
    row, high, low, found = root, np.int64(0), np.int64(0), 0
    length[0] = 0
    while True:
        for e in range(starts[row], starts[row + 1]):
            c = columns[e]
            d_high, d_low = high + u[row, 0] + v[c, 0] - major[e], low + u[row, 1] + v[c, 1] - minor[e]
            if state[c] == 2 or not _less(d_high, d_low, best_high, best_low):
                continue
            if state[c] == 1 and not _less(d_high, d_low, distance[c, 0], distance[c, 1]):
                continue
            distance[c, 0], distance[c, 1], via[c] = d_high, d_low, e
            if owner[c] < 0:
                best_high, best_low, end, left = d_high, d_low, c, -1
            if state[c] == 0:
                state[c], seen[found] = 1, c
                found += 1
                _push(queue, c)
            _rise(queue, distance, queue[1][c])
        if length[0] == 0 or not _less(distance[heap[0], 0], distance[heap[0], 1], best_high, best_low):
            break
        c = _pop(queue, distance)
        state[c] = 2
        row, high, low = owner[c], distance[c, 0], distance[c, 1]
        if _less(high + u[row, 0], low + u[row, 1], best_high, best_low):
            best_high, best_low, end, left = high + u[row, 0], low + u[row, 1], -1, row
    _shift(root, (best_high, best_low), matching, (distance, state, seen, found))
    if left == root:
        return
    if left >= 0:
        end, chosen[left] = columns[chosen[left]], -1
    _flip(root, end, (rows, columns), via, owner, chosen)


@jit
def _shift(root: int, best: Any, matching: Any, search: Any) -> None:
    """Move the potentials of everything that is nearer than the end, and forget the search."""
    u, v, owner, _ = matching
    distance, state, seen, found = search
    for part in range(2):
        u[root, part] -= best[part]
    for k in range(found):
        c = seen[k]
        if state[c] == 2:
            for part in range(2):
                gap = best[part] - distance[c, part]
                v[c, part] += gap
                u[owner[c], part] -= gap
        state[c] = 0


@jit
def _flip(root: int, column: int, ends: Any, via: Any, owner: Any, chosen: Any) -> None:
    """Exchange the pairs along the way back from a column."""
    rows, columns = ends
    while True:
        e = via[column]
        row = rows[e]
        before = chosen[row]
        owner[column], chosen[row] = row, e
        if row == root:
            return
        column = columns[before]


@jit
def _less(a_high: int, a_low: int, b_high: int, b_low: int) -> bool:
    return a_high < b_high or (a_high == b_high and a_low < b_low)


@jit
def _push(queue: Any, c: int) -> None:
    heap, place, length = queue
    heap[length[0]], place[c] = c, length[0]
    length[0] += 1


@jit
def _rise(queue: Any, distance: Any, at: int) -> None:
    heap, place, _ = queue
    c = heap[at]
    while at > 0:
        above = (at - 1) // 2
        p = heap[above]
        if not _less(distance[c, 0], distance[c, 1], distance[p, 0], distance[p, 1]):
            break
        heap[at], place[p] = p, at
        at = above
    heap[at], place[c] = c, at


@jit
def _pop(queue: Any, distance: Any) -> int:
    heap, place, length = queue
    top = heap[0]
    length[0] -= 1
    size = length[0]
    c, at = heap[size], 0
    while 2 * at + 1 < size:
        below = 2 * at + 1
        if below + 1 < size:
            x, y = heap[below], heap[below + 1]
            below += _less(distance[y, 0], distance[y, 1], distance[x, 0], distance[x, 1])
        x = heap[below]
        if not _less(distance[x, 0], distance[x, 1], distance[c, 0], distance[c, 1]):
            break
        heap[at], place[x] = x, at
        at = below
    heap[at], place[c] = c, at
    return int(top)
