"""Paired t and Wilcoxon signed-rank tests on one score per group.

Both ask whether the differences A - B of groups' own scores lie around 0. They are what readers know; the swap test of
:mod:`gnomon.inference.paired` asks the same of the scores of the whole and needs no average of ratios.

Tests
-----
paired t (Student, 1908)
    t = mean / (sd / sqrt(n)) with the sample standard deviation (n - 1) of the differences, and n - 1 degrees of
    freedom; the interval of the mean difference is mean +- t_{n-1} sd / sqrt(n).
Wilcoxon signed-rank (Wilcoxon, 1945)
    Groups without a difference are dropped and counted; the others are ranked by the size of their difference, ties
    sharing the mean of their ranks. The statistic is W+, the sum of the ranks of the positive differences. Up to 50
    differences p is exact: the share of all 2^n signs whose W+ lies at least as far from n (n + 1) / 4, given the ties.
    Above, the normal approximation with the variance corrected for ties and no correction for continuity.

All p-values are two-sided. Below 6 groups the result says so; the smallest p that signs can give is 2 / 2^n, for the
signed-rank test as for swaps.

Undefined cases: fewer than two groups with both scores; differences that are all the same (t); no difference that is
not 0 (Wilcoxon).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gnomon.core.tallies import Array
from gnomon.inference.intervals import FEW_GROUPS, no_spread, t_quantile
from gnomon.inference.pairs import Pairs, average_ranks

EXACT_SIGNS = 50
"""Up to this many differences the signed-rank test counts every assignment of signs."""


@dataclass(frozen=True)
class PairedT:
    """The mean difference with its interval, and the t test; or why there is none."""

    difference: float | None
    low: float | None
    high: float | None
    t: float | None
    p: float | None
    n: int
    left_out: int
    why: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class SignedRank:
    """The rank sum of the positive differences and its test; or why there is none."""

    statistic: float | None
    p: float | None
    n: int
    """Groups that differ; ``zeros`` do not, and ``left_out`` lack a score."""
    zeros: int
    left_out: int
    exact: bool
    smallest_p: float | None
    why: str = ""
    notes: tuple[str, ...] = ()


def paired_t(pairs: Pairs, level: float = 0.95) -> PairedT:
    """Test the mean difference of groups' scores."""
    from scipy.special import stdtr

    differences, n = pairs.differences, pairs.n
    if n < 2:
        mean = float(differences[0]) if n else None
        return PairedT(mean, None, None, None, None, n, pairs.left_out, f"undefined ({pairs.name(n)})")
    mean = math.fsum(differences) / n
    if no_spread(differences):
        why = f"undefined (all {pairs.name(n)} differ by the same amount: no spread to judge by)"
        return PairedT(mean, None, None, None, None, n, pairs.left_out, why)
    error = float(differences.std(ddof=1)) / math.sqrt(n)
    t, half = mean / error, t_quantile(0.5 + level / 2, n - 1) * error
    p = min(1.0, 2 * float(stdtr(n - 1, -abs(t))))
    notes = (f"only {pairs.name(n)}: the t test leans on normal differences",) if n < FEW_GROUPS else ()
    return PairedT(mean, mean - half, mean + half, t, p, n, pairs.left_out, "", notes)


def signed_rank(pairs: Pairs) -> SignedRank:
    """Test whether positive and negative differences of groups' scores balance, by their ranks."""
    differences = pairs.differences[pairs.differences != 0]
    n, zeros = len(differences), pairs.n - len(differences)
    if pairs.n < 2 or not n:
        why = (
            f"undefined ({pairs.name(pairs.n)})" if pairs.n < 2 else f"undefined (none of {pairs.name(zeros)} differs)"
        )
        return SignedRank(None, None, n, zeros, pairs.left_out, False, None, why)
    ranks, ties = average_ranks(np.abs(differences))
    statistic = float(ranks[differences > 0].sum())
    exact = n <= EXACT_SIGNS
    p = _exact_p(ranks, statistic) if exact else _normal_p(ties, statistic, n)
    smallest = 2.0 / 2**n if exact else None
    notes = []
    if smallest is not None and n < FEW_GROUPS:
        notes.append(f"only {pairs.name(n)} differ: the smallest attainable p is {smallest:.3g}")
    return SignedRank(statistic, p, n, zeros, pairs.left_out, exact, smallest, "", tuple(notes))


def _exact_p(ranks: Array, statistic: float) -> float:
    """Count, over all signs, the sums of positive ranks that lie at least as far from the middle; in half ranks."""
    doubled = np.rint(2 * ranks).astype(np.int64)
    ways = np.zeros(int(doubled.sum()) + 1)
    ways[0] = 1.0
    for rank in doubled.tolist():
        ways[rank:] = ways[rank:] + ways[:-rank]
    far = np.abs(2 * np.arange(len(ways)) - int(doubled.sum()))
    return float(ways[far >= abs(2 * round(2 * statistic) - int(doubled.sum()))].sum() / 2.0 ** len(ranks))


def _normal_p(ties: Array, statistic: float, n: int) -> float:
    from scipy.special import ndtr

    variance = n * (n + 1) * (2 * n + 1) / 24 - float((ties.astype(np.float64) ** 3 - ties).sum()) / 48
    return min(1.0, 2 * float(ndtr(-abs(statistic - n * (n + 1) / 4) / math.sqrt(variance))))
