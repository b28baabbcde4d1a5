"""Where the right candidate of each query stands: how many candidates are more similar, how many exactly as similar.

Conventions
-----------
- Rows are queries, columns are candidates; a larger similarity is better. A query has one or more *positives*, and its
  rank is that of the best of them.
- Candidates of equal similarity form a block, whose order is left open: a rank is a distribution, of which the mean of
  any function, the best and the worst case are known from three numbers of a query: ``greater`` (candidates above the
  best positive), ``equal`` (candidates as similar as it, itself counted) and ``right`` (positives among those).
- ``cosine`` divides every row by its length; a row of zeros has no direction and is 0 to everything. ``dot`` takes rows
  as they are. Products are in float32 where both sides are (or are narrower), else in float64.

Similarities are computed for some queries and all candidates at a time, and counted in that block; nothing is sorted.
Equal rows are found first and computed once (-0 is 0), so that equal candidates tie exactly, wherever they are, and
equal queries see the same similarities. What is not equal but should tie in exact arithmetic may differ by rounding.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from gnomon.core.compiling import jit
from gnomon.core.errors import InputError
from gnomon.core.tallies import Array

Metric = Literal["cosine", "dot"]
METRICS = ("cosine", "dot")
BLOCK_BYTES = 32 << 20
"""Size of a block of similarities, where that leaves enough queries for a fast product."""
LARGE_BLOCK_BYTES = 192 << 20
ENOUGH = 512
PART = 4096
"""Rows, or columns of a row, that are handled at a time."""


@dataclass(frozen=True)
class Ranks:
    """Three counts per query, ``(n,)`` each, and how many candidates there are."""

    greater: Array
    equal: Array
    right: Array
    pool: int


@dataclass(frozen=True)
class Positives:
    """The right candidates of each query: those of query i are ``members[starts[i] : starts[i + 1]]``."""

    starts: Array
    members: Array

    @property
    def counts(self) -> Array:
        """How many each query has."""
        return np.diff(self.starts)

    @staticmethod
    def read(given: Any, n: int, pool: int) -> Positives:
        """Read what a user may give: nothing (the same index), an index per query, several, or booleans ``(n, pool)``.

        >>> Positives.read([{1, 0}, [2]], 2, 3).members.tolist()
        [0, 1, 2]
        """
        if given is None:
            if n > pool:
                raise InputError(f"positives: {n} queries, but {pool} candidates: say which candidates are right")
            return Positives(np.arange(n + 1), np.arange(n))
        if not isinstance(given, np.ndarray) and (isinstance(given, (str, bytes)) or not isinstance(given, Iterable)):
            raise InputError(f"positives: expected an index or several per query, but got {given!r:.80}")
        rows = given if isinstance(given, np.ndarray) else list(given)
        if len(rows) != n:
            raise InputError(f"positives: expected those of {n} queries, but got {len(rows)}")
        if isinstance(rows, np.ndarray) and rows.ndim == 2 and rows.dtype == np.bool_:
            return _from_table(rows, pool)
        parts = [_indices(row, i, pool) for i, row in enumerate(rows)]
        starts = np.cumsum([0, *map(len, parts)])
        return Positives(starts, np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64))


def from_matrix(similarity: Array, positives: Positives) -> Ranks:
    """Rank by similarities ``(n, pool)``, which may lie in a file; they are read by blocks of rows."""
    n, pool = similarity.shape
    out = np.zeros((3, n), dtype=np.int64)
    weights, column = np.ones(pool, dtype=np.int32), np.arange(pool)
    for part in _blocks(n, pool, 8):
        block = _numbers(similarity[part])
        own = np.arange(part.start, part.stop)
        bad = _stand(block, weights, column, own, own - part.start, (positives.starts, positives.members), out)
        if bad >= 0:
            place = int(np.argmax(np.isnan(block[bad - part.start])))
            raise InputError(f"similarity: not a number at row {bad}, column {place}: every pair needs a value")
    return Ranks(out[0], out[1], out[2], pool)


def from_vectors(queries: Array, candidates: Array, positives: Positives, metric: Metric = "cosine") -> Ranks:
    """Rank by the similarity of vectors ``(n, d)`` and ``(pool, d)``."""
    kind = np.float32 if all(side.dtype in (np.float16, np.float32) for side in (queries, candidates)) else np.float64
    asked, offered = (prepared(side, kind, metric, what) for side, what in _named(queries, candidates))
    _check_size(asked, offered)
    asked, which = distinct(asked)
    offered, column = distinct(offered)
    weights = np.bincount(column, minlength=len(offered)).astype(np.int32)
    order = np.argsort(which, kind="stable")
    stops = np.cumsum(np.bincount(which, minlength=len(asked)))
    out = np.zeros((3, len(which)), dtype=np.int64)
    room: Array = np.empty((0, len(offered)), dtype=kind)
    for part in _blocks(len(asked), len(offered), room.itemsize):
        if len(room) < part.stop - part.start:
            room = np.empty((part.stop - part.start, len(offered)), dtype=kind)
        block = np.matmul(asked[part], offered.T, out=room[: part.stop - part.start])
        own = order[stops[part.start - 1] if part.start else 0 : stops[part.stop - 1]]
        _stand(block, weights, column, own, which[own] - part.start, (positives.starts, positives.members), out)
    return Ranks(out[0], out[1], out[2], len(candidates))


def prepared(rows: Array, kind: type, metric: Metric, what: str) -> Array:
    """Return rows as the product takes them: of one dtype, without -0, of length 1 or 0 for ``cosine``."""
    out: Array = np.empty(rows.shape, dtype=kind)
    for start in range(0, len(rows), PART):
        part = np.asarray(rows[start : start + PART], dtype=np.float64)
        if not np.isfinite(part).all():
            row, place = np.argwhere(~np.isfinite(part))[0].tolist()
            raise InputError(f"{what}: the value at row {start + row}, column {place} is not finite")
        out[start : start + PART] = (_directions(part) if metric == "cosine" else part) + 0.0
    return out


def distinct(rows: Array) -> tuple[Array, Array]:
    """Return the different rows in order of first use, and which of them each row is.

    >>> different, which = distinct(np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]]))
    >>> different.tolist(), which.tolist()
    ([[1.0, 2.0], [3.0, 4.0]], [0, 1, 0])
    """
    words = np.ascontiguousarray(rows).view(np.uint32 if rows.itemsize == 4 else np.uint64)
    hashes = _hashes(words)
    first = np.arange(len(rows))
    _link(words, hashes, np.argsort(hashes, kind="stable"), first)
    kept = first == np.arange(len(rows))
    if kept.all():
        return rows, first
    return rows[kept], (np.cumsum(kept) - 1)[first]


def reciprocals(greater: Array, equal: Array, right: Array) -> Array:
    """Return the mean of 1 / rank over all orders of each block.

    The best of ``right`` positives is the j-th of ``equal`` with probability C(equal - j, right - 1) / C(equal, right).

    >>> reciprocals(np.array([0, 1]), np.array([2, 3]), np.array([1, 2])).round(6).tolist()
    [0.75, 0.444444]
    """
    cases, which = np.unique(np.stack([greater, equal, right]), axis=1, return_inverse=True)
    out = np.zeros(cases.shape[1])
    _reciprocals(cases[0], cases[1], cases[2], out)
    return np.asarray(out[which.ravel()])


def within(greater: Array, equal: Array, right: Array, k: int) -> Array:
    """Return the probability that the rank is at most k.

    >>> within(np.array([0, 1, 5]), np.array([4, 3, 1]), np.array([1, 2, 1]), 2).round(6).tolist()
    [0.5, 0.666667, 0.0]
    """
    out = np.zeros(len(greater))
    _within(greater, equal, right, k, out)
    return out


def means(greater: Array, equal: Array, right: Array) -> Array:
    """Return the mean rank over all orders of each block: greater + (equal + 1) / (right + 1)."""
    return np.asarray(greater + (equal + 1) / (right + 1))


def _named(queries: Array, candidates: Array) -> tuple[tuple[Array, str], tuple[Array, str]]:
    return (queries, "queries"), (candidates, "candidates")


def _blocks(n: int, pool: int, itemsize: int) -> Iterator[slice]:
    """Cut queries into blocks of bounded size; which depends on nothing else."""
    row = max(pool, 1) * itemsize
    size = max(BLOCK_BYTES // row, min(ENOUGH, LARGE_BLOCK_BYTES // row), 1)
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def _numbers(block: Array) -> Array:
    """Return a block in a type that keeps every value: int64, float32 or float64."""
    block = np.asarray(block)
    if block.dtype.kind in "biu":
        return np.ascontiguousarray(block, dtype=np.int64)
    return np.ascontiguousarray(block, dtype=np.float32 if block.dtype.itemsize <= 4 else np.float64)


def _directions(rows: Array) -> Array:
    """Divide rows by their lengths, by way of their largest entry, which cannot overflow; zeros stay."""
    largest = np.abs(rows).max(axis=1, keepdims=True)
    scaled = rows / np.where(largest > 0, largest, 1.0)
    lengths = np.sqrt(np.einsum("ij,ij->i", scaled, scaled))[:, np.newaxis]
    return np.asarray(scaled / np.where(lengths > 0, lengths, 1.0))


def _check_size(queries: Array, candidates: Array) -> None:
    """Refuse products that could overflow: they would tie."""
    largest = [float(np.abs(side).max(initial=0.0)) for side in (queries, candidates)]
    if largest[0] * largest[1] * queries.shape[1] > float(np.finfo(queries.dtype).max):
        raise InputError(
            f"queries and candidates: values up to {largest[0]:.3g} and {largest[1]:.3g} overflow "
            f"{queries.dtype} in a dot product: scale them, or use metric='cosine'"
        )


def _from_table(table: Array, pool: int) -> Positives:
    if table.shape[1] != pool:
        raise InputError(f"positives: expected booleans ({len(table)}, {pool}), but got {table.shape}")
    rows, members = np.nonzero(table)
    counts = np.bincount(rows, minlength=len(table))
    if len(table) and not counts.all():
        raise _lonely(int(np.argmin(counts)))
    return Positives(np.concatenate([[0], np.cumsum(counts)]), members)


def _indices(given: Any, query: int, pool: int) -> Array:
    """Return the distinct positives of one query."""
    several = given.ndim > 0 if isinstance(given, np.ndarray) else isinstance(given, Collection)
    try:
        found = np.asarray(list(given) if several else [given])
    except ValueError as error:
        raise InputError(f"positives: those of query {query} are no list of indices: {error}") from error
    if found.dtype == np.bool_ and several and found.shape == (pool,):
        found = np.flatnonzero(found)
    if not found.size:
        raise _lonely(query)
    if found.ndim != 1 or found.dtype.kind not in "iu":
        raise InputError(f"positives: expected indices of candidates for query {query}, but got {given!r:.80}")
    if found.min() < 0 or found.max() >= pool:
        wrong = int(found[(found < 0) | (found >= pool)][0])
        raise InputError(f"positives: query {query} has candidate {wrong}, but there are {pool} (from 0)")
    return np.unique(found).astype(np.int64)


def _lonely(query: int) -> InputError:
    return InputError(f"positives: query {query} has none, so it has no rank: leave such queries out")


@jit
def _stand(block: Any, weights: Any, column: Any, own: Any, row: Any, positives: Any, out: Any) -> int:
    """Count, for the queries ``own``, what is above their best positive; return one that has a value which is NaN."""
    starts, members = positives
    for at in range(own.size):
        q, values = own[at], block[row[at]]
        best = values[column[members[starts[q]]]]
        right = 0
        for p in range(starts[q], starts[q + 1]):
            value = values[column[members[p]]]
            if value > best:
                best, right = value, 0
            right += value == best
        above, upto, bad = _compared(values, weights, best)
        if bad:
            return int(q)
        out[0, q], out[1, q], out[2, q] = above, upto - above, right
    return -1


@jit
def _compared(values: Any, weights: Any, best: Any) -> tuple[int, int, bool]:
    """Add the weights of what is above a value, and of what is not below it; in parts whose sums fit 32 bits."""
    above, upto, bad = 0, 0, False
    for start in range(0, values.size, PART):
        part, times = values[start : start + PART], weights[start : start + PART]
        a, b, c = np.int32(0), np.int32(0), np.int32(0)
        for j in range(part.size):
            a = np.int32(a + (times[j] if part[j] > best else np.int32(0)))
            b = np.int32(b + (times[j] if part[j] >= best else np.int32(0)))
            c = np.int32(c | np.int32(part[j] != part[j]))
        above += int(a)
        upto += int(b)
        bad |= c != 0
    return above, upto, bad


@jit
def _reciprocals(greater: Any, equal: Any, right: Any, out: Any) -> None:
    for i in range(out.size):
        g, e, m = greater[i], equal[i], right[i]
        chance, total = m / e, 0.0
        for j in range(1, e - m + 2):
            if m == 1:
                total += 1 / (g + j)
                continue
            total += chance / (g + j)
            chance *= (e - j - m + 1) / (e - j)
        out[i] = total / e if m == 1 else total


@jit
def _within(greater: Any, equal: Any, right: Any, k: int, out: Any) -> None:
    for i in range(out.size):
        e, m = equal[i], right[i]
        tried = k - greater[i]
        if tried <= 0:
            continue
        if tried > e - m:
            out[i] = 1.0
        elif m == 1:
            out[i] = tried / e
        else:
            missed = 1.0
            for j in range(min(m, tried)):
                missed *= (e - max(m, tried) - j) / (e - j)
            out[i] = 1 - missed


@jit
def _hashes(words: Any) -> Any:
    out = np.empty(words.shape[0], dtype=np.uint64)
    for i in range(words.shape[0]):
        value = np.uint64(14695981039346656037)
        for j in range(words.shape[1]):
            value = (value ^ np.uint64(words[i, j])) * np.uint64(1099511628211)
            value ^= value >> np.uint64(29)
        out[i] = value
    return out


@jit
def _link(words: Any, hashes: Any, order: Any, first: Any) -> None:
    """Point each row to the first that equals it; only rows of one hash are compared, and they word by word."""
    begin = 0
    for at in range(order.size):
        i = order[at]
        if hashes[i] != hashes[order[begin]]:
            begin = at
        for before in range(begin, at):
            j = order[before]
            if first[j] != j:
                continue
            same = True
            for k in range(words.shape[1]):
                if words[i, k] != words[j, k]:
                    same = False
                    break
            if same:
                first[i] = j
                break
