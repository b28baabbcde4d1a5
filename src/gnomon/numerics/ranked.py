"""Rows sorted once and scored under many weights: average precision and quantiles, a weight for every group of rows.

Conventions
-----------
- A weight is a whole number of 0 or more and says how often the rows of its group occur. Scoring under weights is
  scoring the repeated rows: counts are whole numbers below 2**53 and exact, so that only the order of the scores, never
  that of the rows, can show in a result.
- Rows of equal score enter together: they are one *block*.

Average precision is found in one walk over the rows from the lowest score up. What is above a block is what is left
after everything below was taken away, so precision and recall need no second array, and the best precision at a higher
recall is a running maximum over what was passed. A block without a hit cannot hold that maximum: such rows are only
counted. Nor can what follows upon a block of nothing but hits: taking these away never raises the precision, whatever
the weights; so hits in a row are one step. Weights of :data:`LANES` replicates lie side by side, so that one step
serves all of them.

A quantile is looked for from where it is under equal weights: the number of rows below that place is one product of
weights and counts, and a replicate moves it little.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnomon.core.compiling import jit, jit_ieee
from gnomon.core.tallies import Array

LANES = 64
"""Replicates that are scored together."""


@dataclass(frozen=True)
class Ranking:
    """Scored rows by class and rising score, with what every group holds.

    Attributes
    ----------
    group
        The group of each row, ``(rows,)``.
    hits
        Whether a row hits, by threshold: ``(thresholds, rows)``.
    steps
        By threshold, the rows at which a walk stops: where blocks with hits begin, where they end, and where a class
        begins.
    offsets
        The first row of every class, and the end, ``(classes + 1,)``.
    returns, found, truths
        Rows ``(classes, groups)``, hits ``(thresholds, classes, groups)`` and things to be found ``(classes, groups)``.
    points
        How many recalls are asked for: 0 for every truth, -1 for every truth without interpolation.
    """

    group: Array
    hits: Array
    steps: tuple[Array, ...]
    offsets: Array
    returns: Array
    found: Array
    truths: Array
    points: int


def rank(
    scores: Array, classes: Array, group: Array, hits: Array, truths: Array, *, interpolation: str = "all-point"
) -> Ranking:
    """Sort rows for :func:`average_precision`.

    Parameters
    ----------
    scores, classes, group
        Of each row, ``(rows,)``.
    hits
        ``(thresholds, rows)`` of booleans.
    truths
        How many things there are to be found, ``(classes, groups)``.
    interpolation
        ``all-point``: the mean over truths of the best precision at that recall or a higher one. ``none``: the mean
        over truths of the precision at that recall. ``11-point``, ``101-point``: the mean over recalls from 0 to 1 in
        equal steps of the best precision at that recall or a higher one.
    """
    points = {"all-point": 0, "none": -1, "11-point": 11, "101-point": 101}[interpolation]
    n_classes, n_groups = truths.shape
    order = np.lexsort((scores, classes))
    scores, classes, group, hits = scores[order], classes[order], group[order], np.ascontiguousarray(hits[:, order])
    offsets = np.searchsorted(classes, np.arange(n_classes + 1)).astype(np.int64)
    opens = np.ones(len(order) + 1, dtype=np.bool_)
    opens[1:-1] = (scores[1:] != scores[:-1]) | (classes[1:] != classes[:-1])
    opens = opens if len(order) else np.zeros(1, dtype=np.bool_)
    cell = classes * n_groups + group
    returns, found = (_counted(cell, n_classes, n_groups, side) for side in (np.ones((1, len(order))), hits))
    steps = tuple(_steps(np.flatnonzero(opens), row, offsets, joined=points >= 0) for row in hits)
    return Ranking(group.astype(np.int64), hits, steps, offsets, returns[0], found, truths.astype(np.float64), points)


def average_precision(ranking: Ranking, weights: Array) -> tuple[Array, Array]:
    """Return the average precision by replicate, threshold and class, and the truths by replicate and class.

    Parameters
    ----------
    weights
        ``(batch, groups)``.

    Returns
    -------
    tuple
        ``(batch, thresholds, classes)``, 0 where a class has no truths; and ``(batch, classes)``.
    """
    factors = np.asarray(weights, dtype=np.float64)
    sums = _sums(ranking, factors)
    out = np.zeros((len(factors), len(ranking.hits), len(ranking.truths)))
    for start in range(0, len(factors), LANES):
        own = slice(start, min(start + LANES, len(factors)))
        lanes = _side_by_side(factors[own])
        common = np.where((factors[own] == factors[start]).all(axis=0), factors[start], -1.0)
        for t, steps in enumerate(ranking.steps):
            state = np.stack([_side_by_side(sums[own, part]) for part in (2 + t, 1, 0)])
            found = np.zeros((len(ranking.truths), LANES))
            _precision(
                ranking.group, ranking.hits[t], steps, ranking.offsets, lanes, common, state, ranking.points, found
            )
            out[own, t] = found[:, : own.stop - start].T
    return out, sums[:, 0]


def _sums(ranking: Ranking, factors: Array) -> Array:
    """Return truths, returns and hits by threshold, ``(batch, 2 + thresholds, classes)``, in one product."""
    parts = np.concatenate([ranking.truths[np.newaxis], ranking.returns[np.newaxis], ranking.found])
    flat = parts.reshape(math.prod(parts.shape[:2]), parts.shape[2])
    return np.asarray(factors @ flat.T).reshape(len(factors), *parts.shape[:2])


def _side_by_side(rows: Array) -> Array:
    """Return rows of a batch as columns, filled up to the number of lanes."""
    out = np.zeros((rows.shape[1], LANES))
    out[:, : len(rows)] = rows.T
    return out


@dataclass(frozen=True)
class Sorted:
    """Rising values with the group of each; ``counts`` by group of all of them, ``below`` of those before ``start``."""

    values: Array
    group: Array
    counts: Array
    start: int
    below: Array


def arrange(values: Array, group: Array, n_groups: int, share: float) -> Sorted:
    """Sort values for :func:`quantile`; a search starts where this share of them lies."""
    order = np.argsort(values, kind="stable")
    values, group = np.ascontiguousarray(values[order], dtype=np.float64), group[order].astype(np.int64)
    start = int(share * max(len(values) - 1, 0))
    counts, below = (np.bincount(part, minlength=n_groups) for part in (group, group[:start]))
    return Sorted(values, group, counts, start, below)


def quantile(given: Sorted, weights: Array, shares: Array) -> tuple[Array, Array]:
    """Return the quantile at a share under each row of weights ``(batch, groups)``, and whether there are rows at all.

    By linear interpolation between the values at ranks around ``share * (n - 1)``, n counting repeated rows (the
    seventh definition of Hyndman and Fan, 1996).

    >>> given = arrange(np.array([3.0, 1.0, 2.0]), np.array([0, 0, 1]), 2, 0.5)
    >>> quantile(given, np.array([[1, 1], [1, 0], [1, 3]]), np.full(3, 0.5))[0].tolist()
    [2.0, 2.0, 2.0]
    """
    whole = np.ascontiguousarray(weights, dtype=np.int64)
    sizes = whole @ given.counts
    out = np.zeros(len(whole))
    _seek(given.values, given.group, given.start, whole, (sizes, whole @ given.below), np.asarray(shares), out)
    return out, sizes > 0


def below(given: Sorted, value: float) -> Array:
    """Return how many rows of each group are below a value, those equal to it counted half, ``(groups,)``."""
    first, last = (np.bincount(given.group[:end], minlength=len(given.counts)) for end in _ends(given, value))
    return np.asarray((first + last) / 2)


def _ends(given: Sorted, value: float) -> tuple[int, int]:
    return int(np.searchsorted(given.values, value)), int(np.searchsorted(given.values, value, "right"))


def _counted(cell: Array, n_classes: int, n_groups: int, sides: Array) -> Array:
    """Count rows by class and group, for every row of ``sides`` that says which."""
    size = n_classes * n_groups
    counts = [np.bincount(cell[np.asarray(side, dtype=np.bool_)], minlength=size) for side in sides]
    return np.array(counts, dtype=np.float64).reshape(len(sides), n_classes, n_groups)


def _steps(opens: Array, hits: Array, offsets: Array, *, joined: bool) -> Array:
    """Return where blocks with hits begin and end and where classes begin, from 0 to the number of rows.

    Where they are joined, a block with a hit goes on with the one before it if that has nothing but hits.
    """
    if not len(hits):
        return np.zeros(1, dtype=np.int64)
    counts = np.add.reduceat(hits, opens[:-1], dtype=np.int64)
    some, all_hit = counts > 0, counts == np.diff(opens)
    kept = np.append(some, False) | np.insert(some, 0, False)
    if joined:
        kept[1:-1] &= ~(all_hit[:-1] & some[1:])
    return np.unique(np.concatenate([opens[kept], offsets, [0, len(hits)]]))


@jit_ieee
def _precision(
    group: Any, hits: Any, steps: Any, offsets: Any, weights: Any, common: Any, sums: Any, points: int, out: Any
) -> None:
    """Walk over every class; ``points`` as in :class:`Ranking`.

    Where all lanes have a weight in ``common`` (-1 elsewhere; with one group left out after another that is most of
    them) one number is counted for all: `gone` rows and `lost` hits come off every lane.
    """
    lanes = LANES
    best, missed, taken = np.zeros(lanes), np.zeros(lanes), np.zeros(lanes)
    lifted = 0.0 if points < 0 else 1.0
    place = 0
    for c in range(offsets.size - 1):
        tp, n, truths, total = sums[0, c], sums[1, c], sums[2, c], out[c]
        best[:] = 0.0
        gone, lost = 0.0, 0.0
        while steps[place] < offsets[c + 1]:
            first, stop = steps[place], steps[place + 1]
            place += 1
            some, apart, all_missed, all_taken = False, False, 0.0, 0.0
            for r in range(first, stop):
                some |= hits[r]
                alike = common[group[r]]
                if alike >= 0.0:
                    if hits[r]:
                        all_taken += alike
                    else:
                        all_missed += alike
                    continue
                apart = True
                own, side = weights[group[r]], taken if hits[r] else missed
                for k in range(lanes):
                    side[k] += own[k]
            if some:
                for k in range(lanes):
                    rows = n[k] - gone
                    rows = rows if rows > 1.0 else 1.0  # weights are whole; without rows there are no hits
                    precision = (tp[k] - lost) / rows
                    best[k] = precision if precision > best[k] * lifted else best[k]
                if points <= 0:
                    for k in range(lanes):
                        total[k] += best[k] * (taken[k] + all_taken)
                else:
                    for k in range(lanes):
                        if truths[k] > 0:
                            found = tp[k] - lost
                            passed = _passed(found, found - taken[k] - all_taken, truths[k], points - 1)
                            total[k] += best[k] * passed
            gone += all_taken + all_missed
            lost += all_taken
            if apart:
                for k in range(lanes):
                    n[k] -= taken[k] + missed[k]
                    tp[k] -= taken[k]
                    taken[k] = 0.0
                    missed[k] = 0.0
        for k in range(lanes):
            if truths[k] > 0:
                total[k] = total[k] / truths[k] if points <= 0 else (total[k] + best[k]) / points


@jit
def _passed(high: float, low: float, truths: float, steps: int) -> float:
    """Return how many recalls on a grid lie above one recall and up to another."""
    return math.floor(high * steps / truths) - math.floor(low * steps / truths)


@jit
def _seek(values: Any, group: Any, start: int, weights: Any, known: Any, shares: Any, out: Any) -> None:
    sizes, below = known
    for b in range(sizes.size):
        if sizes[b] == 0:
            continue
        place = shares[b] * (sizes[b] - 1)
        low = int(place)
        i, before = start, below[b]
        while before > low:
            i -= 1
            before -= weights[b, group[i]]
        while before + weights[b, group[i]] <= low:
            before += weights[b, group[i]]
            i += 1
        out[b] = values[i]
        if place > low and before + weights[b, group[i]] == low + 1:
            j = i + 1
            while weights[b, group[j]] == 0:
                j += 1
            out[b] += (place - low) * (values[j] - values[i])
