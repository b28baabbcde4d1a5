"""Paired comparison: is A better than B on the same groups.

The test swaps, per group, the tallies of A and B: under the null hypothesis the names are exchangeable
within each group. Every swap gives new totals for both systems, which are scored; the p-value is the share
of swaps whose difference is at least as large as the observed one, in absolute value. Scores of parts are
never averaged. With few groups all 2^G swaps are enumerated and the p-value is exact; otherwise they are
drawn at random and the observed arrangement is counted as one of them.

The interval of the difference is the group jackknife-t of score(A) - score(B), whatever method the scores' own
intervals were made with; where no intervals were asked for, there is none.

Class sets that depend on the prediction are recomputed in every swap.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.measure import Measure
from gnomon.core.seeds import generator
from gnomon.core.tallies import Array, Tallies, Totals, union
from gnomon.inference.intervals import (
    CHUNK,
    FEW_GROUPS,
    Groups,
    Plan,
    gaps,
    jackknife_se,
    no_spread,
    same,
    t_quantile,
)

EXACT_GROUPS = 13
"""Up to this many groups all swaps are enumerated."""


@dataclass(frozen=True)
class Paired:
    """The difference A - B with its interval and p-value, or why they are undefined."""

    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    groups: int
    exact: bool
    smallest_p: float | None
    why: str = ""
    """Why there is no difference or no p-value."""
    interval_why: str = ""
    notes: tuple[str, ...] = ()


def compare(measure: Measure, a: Groups, b: Groups) -> Paired:
    """Compare two systems over the same groups, in the same order."""
    if a.n != b.n:
        raise InputError(f"A has {a.name(a.n)} and B has {b.name(b.n)}: compare them on the same ones")
    axes = {name: union([a.tallies.axes[name], b.tallies.axes[name]]) for name in a.tallies.axes}
    a, b = (Groups(side.tallies.relabel(axes), a.plan, a.level) for side in (a, b))
    score_a, score_b = measure.score(a.total), measure.score(b.total)
    if not (bool(score_a.defined) and bool(score_b.defined)):
        side = "A" if not bool(score_a.defined) else "B"
        return Paired(None, None, None, None, a.n, False, None, f"the score of {side} is undefined")
    difference = float(score_a.values) - float(score_b.values)
    if a.n < 2:
        why = f"undefined ({a.name(a.n)})"
        return Paired(difference, None, None, None, a.n, False, None, why, why)
    exact = a.n <= EXACT_GROUPS
    p = _swap_p(measure, a, b, difference, exact)
    low, high, interval_why = _interval(measure, a, b, difference)
    if a.plan.method == "none":
        low, high, interval_why = None, None, "not asked for"
    smallest = 2.0 / 2**a.n if exact else 1.0 / (a.plan.resamples + 1)
    notes = []
    if a.n < FEW_GROUPS:
        notes.append(f"only {a.name(a.n)}: the smallest attainable p is {smallest:.3g}")
    return Paired(difference, low, high, p, a.n, exact, smallest, "", interval_why, tuple(notes))


def _interval(measure: Measure, a: Groups, b: Groups, difference: float) -> tuple[float | None, float | None, str]:
    left_a = measure.score(a.left_out, measure.freeze(a.total))
    left_b = measure.score(b.left_out, measure.freeze(b.total))
    defined = left_a.defined & left_b.defined
    if not defined.all():
        return None, None, gaps(a, defined)
    differences = left_a.values - left_b.values
    if no_spread(differences):
        return None, None, same(a)
    half = t_quantile(0.5 + a.plan.level / 2, a.n - 1) * jackknife_se(differences)
    return difference - half, difference + half, ""


def _swap_p(measure: Measure, a: Groups, b: Groups, observed: float, exact: bool) -> float:
    at_least = drawn = 0
    edge = abs(observed) * (1 - 1e-12) - 1e-15
    step = max(1, CHUNK // _width(a.tallies))
    for swaps in _all_swaps(a.n, step) if exact else _random_swaps(a.n, a.plan, step):
        with_a, with_b = _swapped(a.tallies, b.tallies, swaps)
        score_a, score_b = measure.score(with_a), measure.score(with_b)
        defined = score_a.defined & score_b.defined
        at_least += int((np.abs(score_a.values - score_b.values)[defined] >= edge).sum()) + int((~defined).sum())
        drawn += len(swaps)
    return at_least / drawn if exact else (at_least + 1) / (drawn + 1)


def _swapped(a: Tallies, b: Tallies, swaps: Array) -> tuple[Totals, Totals]:
    keep = 1 - swaps
    a_kept, b_taken = a.weighted(keep), b.weighted(swaps)
    b_kept, a_taken = b.weighted(keep), a.weighted(swaps)
    left = {name: a_kept[name] + b_taken[name] for name in a.fields}
    right = {name: b_kept[name] + a_taken[name] for name in a.fields}
    return Totals(left, a.axes, (len(swaps),)), Totals(right, a.axes, (len(swaps),))


def _width(tallies: Tallies) -> int:
    return max(tallies.n_cases, *(int(array[0].size) for array in tallies.fields.values()))


def _all_swaps(groups: int, step: int) -> Iterator[Array]:
    for start in range(0, 2**groups, step):
        codes = np.arange(start, min(start + step, 2**groups))[:, np.newaxis]
        yield np.asarray((codes >> np.arange(groups)) & 1)


def _random_swaps(groups: int, plan: Plan, step: int) -> Iterator[Array]:
    rng = generator(plan.seed, "swap")
    for start in range(0, plan.resamples, step):
        yield rng.integers(0, 2, size=(min(step, plan.resamples - start), groups), dtype=np.int8).astype(np.int64)
