"""Distributions by name, of a file or of all of its shards: quantiles that are exact, or found by counting.

Where all numbers are in one chunk, their exact quantiles are stored. Quantiles of shards do not add up, so that the
numbers of a shard are counted in fine bins, which do. A bin holds the numbers whose float32 begin with the same
:data:`KEPT_BITS` bits: it is at most 2**-12 of its numbers wide. A quantile lies between the edges of the bin that the
sorted numbers would have it in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from gnomon.core.ledgers import Ledger
from gnomon.core.tallies import Array

KEPT_BITS = 21
_CUT = 32 - KEPT_BITS


def counted(values: Array) -> tuple[Array, Array]:
    """Return the bins of finite numbers >= 0 and how many lie in each.

    >>> counted(np.array([1.0, 0.0, 1.0]))[1].tolist()
    [1, 2]
    """
    bits = np.abs(values).astype(np.float32).view(np.uint32) >> _CUT
    counts = np.bincount(bits)
    used = np.flatnonzero(counts)
    return used, counts[used]


def quantiles(bins: Array, counts: Array, shares: Sequence[float]) -> list[float]:
    """Return quantiles by linear interpolation, numbers being taken as evenly spread in their bins; none of nothing.

    >>> bool(quantiles(*counted(np.array([4.0, 0.0, 1.0, 3.0])), [0.0, 1.0])[0] < 1e-9)
    True
    """
    if not len(bins):
        return []
    bins, place = np.unique(bins, return_inverse=True)  # one bin may come from several shards
    counts = np.bincount(place, weights=counts).astype(np.int64)
    lows, highs = (((bins + step).astype(np.uint32) << _CUT).view(np.float32).astype(np.float64) for step in (0, 1))
    before = np.concatenate([[0], np.cumsum(counts)])
    found = []
    for share in shares:
        place = share * (before[-1] - 1)
        ends = []
        for rank in (int(place), min(int(place) + 1, int(before[-1]) - 1)):
            at = int(np.searchsorted(before, rank, side="right")) - 1
            inside = (rank - before[at] + 0.5) / counts[at]
            ends.append(float(lows[at] + inside * (highs[at] - lows[at])))
        found.append(ends[0] + (place - int(place)) * (ends[1] - ends[0]))
    return found


@dataclass(frozen=True)
class Spreads:
    """Distributions by name: ``bins`` holds the counts of those that are not ``exact``."""

    bins: Ledger
    """From :func:`ledger`, perhaps of several shards under one another."""
    exact: Mapping[str, Mapping[float, float]] = field(default_factory=dict)
    """By name, the quantile at every share that is asked for; none where there are no numbers."""

    def quantiles(self, name: str, shares: Sequence[float]) -> list[float]:
        """Return the quantiles of one distribution; none where it holds no numbers."""
        if name not in self.exact:
            return quantiles(*of(self.bins, name), shares)
        known = self.exact[name]
        return [known[share] for share in shares] if known else []


def ledger(named: Mapping[str, Array]) -> Ledger:
    """Return the counts of several distributions as rows of the first case."""
    names = list(named)
    parts = [counted(values) for values in named.values()]
    what = np.repeat(np.arange(len(names)), [len(bins) for bins, _ in parts])
    columns = {"what": what, "bin": _joined([b for b, _ in parts]), "count": _joined([c for _, c in parts])}
    return Ledger(np.zeros(len(what), np.int64), columns, {"what": names})


def of(kept: Ledger, name: str) -> tuple[Array, Array]:
    """Return the bins and counts of one distribution."""
    if name not in kept.labels["what"]:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    own = kept.columns["what"] == kept.labels["what"].index(name)
    return kept.columns["bin"][own], kept.columns["count"][own]


def _joined(parts: list[Array]) -> Array:
    return np.concatenate([np.zeros(0, np.int64), *parts])
