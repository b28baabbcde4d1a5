"""How large a difference is, and how small a one could have been seen.

Effect sizes, of one score per group
------------------------------------
d_z
    Mean of the differences A - B over their sample standard deviation (Cohen, 1988).
rank-biserial correlation of matched pairs
    (W+ - W-) / (W+ + W-), with W the rank sums of positive and negative differences, groups without a difference
    dropped (Kerby, 2014). 1: A is higher on every group that differs; -1: B is.
win rate
    Share of groups on which A is better, given the measure's direction; a tie counts half.

Minimum detectable difference
-----------------------------
(t_{1 - alpha/2, n-1} + t_{power, n-1}) se: the true difference that a two-sided test at alpha would find with the
stated power (Bloom, 1995, with Student's t for the normal). se is the jackknife over groups of the difference of the
scores of the whole, the one that the interval of the paired comparison rests on.

Undefined cases: no groups with both scores; one group, or differences that are all the same (d_z, detectable
difference); no difference that is not 0 (rank-biserial); an undefined score (detectable difference).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.measure import Measure
from gnomon.inference.intervals import Groups, jackknife_se, no_spread, t_quantile
from gnomon.inference.paired import align, left_out_differences, smallest_p
from gnomon.inference.pairs import NO_DIRECTION, Pairs, average_ranks


@dataclass(frozen=True)
class Effect:
    """An effect size, over how many groups, or why it is undefined."""

    name: str
    value: float | None
    n: int
    why: str = ""


@dataclass(frozen=True)
class Detectable:
    """The smallest true difference that a comparison like this one finds with the stated power, or why unknown."""

    value: float | None
    se: float | None
    n: int
    power: float
    alpha: float
    why: str = ""
    notes: tuple[str, ...] = ()


def effects(pairs: Pairs) -> tuple[Effect, Effect, Effect]:
    """Return d_z, rank-biserial correlation and win rate."""
    return d_z(pairs), rank_biserial(pairs), win_rate(pairs)


def d_z(pairs: Pairs) -> Effect:
    """Mean difference in units of the standard deviation of the differences."""
    differences = pairs.differences
    if pairs.n < 2:
        return Effect("d_z", None, pairs.n, f"undefined ({pairs.name(pairs.n)})")
    if no_spread(differences):
        return Effect("d_z", None, pairs.n, f"undefined (all {pairs.name(pairs.n)} differ by the same amount)")
    return Effect("d_z", math.fsum(differences) / pairs.n / float(differences.std(ddof=1)), pairs.n)


def rank_biserial(pairs: Pairs) -> Effect:
    """Share of the rank sum that speaks for A less the share that speaks for B; ``n`` counts groups that differ."""
    differences = pairs.differences[pairs.differences != 0]
    if not len(differences):
        return Effect("rank_biserial", None, 0, f"undefined (none of {pairs.name(pairs.n)} differs)")
    ranks, _ = average_ranks(np.abs(differences))
    return Effect("rank_biserial", float((ranks * np.sign(differences)).sum() / ranks.sum()), len(differences))


def win_rate(pairs: Pairs) -> Effect:
    """Share of groups on which A is better, ties counting half."""
    if not pairs.n:
        return Effect("win_rate", None, 0, f"undefined ({pairs.name(0)})")
    if not pairs.direction:
        return Effect("win_rate", None, pairs.n, NO_DIRECTION)
    signs = np.sign(pairs.differences) * (1 if pairs.direction == "up" else -1)
    return Effect("win_rate", float((1 + signs).sum() / 2 / pairs.n), pairs.n)


def detectable_difference(
    measure: Measure, a: Groups, b: Groups, *, power: float = 0.8, alpha: float = 0.05
) -> Detectable:
    """Return the smallest difference that comparing over these groups finds with the stated power."""
    if not (0.5 <= power < 1 and 0 < alpha < 1):
        raise InputError(f"expected a power from 0.5 and an alpha between 0 and 1, but got {power!r} and {alpha!r}")
    a, b = align(a, b)
    why, se = f"undefined ({a.name(a.n)})" if a.n < 2 else "", None
    for side, groups in (("A", a), ("B", b)):
        if not bool(measure.score(groups.total).defined):
            why = f"the score of {side} is undefined"
    if not why:
        differences, why = left_out_differences(measure, a, b)
        se = None if why else jackknife_se(differences)
    if se is None:
        return Detectable(None, None, a.n, power, alpha, why)
    value = (t_quantile(1 - alpha / 2, a.n - 1) + t_quantile(power, a.n - 1)) * se
    floor = smallest_p(a.n, a.plan)
    notes = [f"the swap test cannot reach p = {alpha:g} with {a.name(a.n)}: its smallest is {floor:.3g}"]
    return Detectable(value, se, a.n, power, alpha, "", tuple(notes if floor > alpha else ()))
