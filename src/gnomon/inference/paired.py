"""Paired comparison: is A better than B on the same groups.

The test swaps, per group, the tallies (or the rows) of A and B: under the null hypothesis the names are exchangeable
within each group. Every swap gives new totals for both systems, which are scored; the p-value is the share
of swaps whose difference is at least as large as the observed one, in absolute value. Scores of parts are
never averaged. With few groups all 2^G swaps are enumerated and the p-value is exact; otherwise they are
drawn at random and the observed arrangement is counted as one of them.

The interval of the difference is the group jackknife-t of score(A) - score(B), whatever method the scores' own
intervals were made with; where no intervals were asked for, there is none.

Class sets that depend on the prediction are recomputed in every swap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.measure import Measure, Scored
from gnomon.core.rows import Rows
from gnomon.core.seeds import generator
from gnomon.core.tallies import Array, Tallies, Totals
from gnomon.inference.intervals import (
    CHUNK,
    FEW_GROUPS,
    ROUNDING,
    Groups,
    Plan,
    filled,
    gaps,
    jackknife_se,
    left_out,
    no_spread,
    same,
    t_quantile,
    width,
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
    a, b = align(a, b)
    score_a, score_b = measure.score(a.total), measure.score(b.total)
    if not (bool(score_a.defined) and bool(score_b.defined)):
        side = "A" if not bool(score_a.defined) else "B"
        return Paired(None, None, None, None, a.n, False, None, f"the score of {side} is undefined")
    difference = float(score_a.values) - float(score_b.values)
    if a.n < 2:
        why = f"undefined ({a.name(a.n)})"
        return Paired(difference, None, None, None, a.n, False, None, why, why)
    low, high, interval_why = _interval(measure, a, b, difference)
    scale = max(abs(float(score_a.values)), abs(float(score_b.values)))

    def after(swaps: Array) -> Scored:
        return swapped_difference(measure, a.tallies, b.tallies, swaps)

    p, exact = swap_p(after, a.n, difference, scale, a.plan, width(a.tallies))
    smallest = smallest_p(a.n, a.plan)
    notes = few(a, a.n, smallest)
    return Paired(difference, low, high, p, a.n, exact, smallest, "", interval_why, notes)


def align(a: Groups, b: Groups) -> tuple[Groups, Groups]:
    """Return both sides over common labels; refuse sides of different numbers of groups."""
    if a.n != b.n:
        raise InputError(f"A has {a.name(a.n)} and B has {b.name(b.n)}: compare them on the same ones")
    kept = filled(a.tallies) | filled(b.tallies)
    if kept.any() and not kept.all():  # groups without anything on either side are no evidence
        a, b = (Groups(side.tallies.take(kept), side.plan, side.level) for side in (a, b))
    left, right = _aligned(a.tallies, b.tallies)
    return Groups(left, a.plan, a.level), Groups(right, a.plan, a.level)


def _aligned(a: Tallies | Rows, b: Tallies | Rows) -> tuple[Tallies | Rows, Tallies | Rows]:
    if isinstance(a, Rows) and isinstance(b, Rows):
        return a.aligned(b)
    if isinstance(a, Tallies) and isinstance(b, Tallies):
        return a.aligned(b)
    raise InputError("A has tallies and B has rows, or the reverse: compare them by the same measure")


def left_out_differences(measure: Measure, a: Groups, b: Groups) -> tuple[Array, str]:
    """Return score(A) - score(B) without each group, of aligned sides, and why no spread can be had from them."""
    left_a = left_out(measure, a, measure.freeze(a.total))
    left_b = left_out(measure, b, measure.freeze(b.total))
    defined = left_a.defined & left_b.defined
    differences = left_a.values - left_b.values
    why = gaps(a, defined) if not defined.all() else same(a) if no_spread(differences) else ""
    return differences, why


def few(groups: Groups, n: int, smallest: float) -> tuple[str, ...]:
    """Say that there are few groups, and which p can be reached at all."""
    return (f"only {groups.name(n)}: the smallest attainable p is {smallest:.3g}",) if n < FEW_GROUPS else ()


def smallest_p(groups: int, plan: Plan) -> float:
    """Return the smallest p-value that swapping so many groups can give."""
    return 2.0 / 2**groups if groups <= EXACT_GROUPS else 1.0 / (plan.resamples + 1)


def _interval(measure: Measure, a: Groups, b: Groups, difference: float) -> tuple[float | None, float | None, str]:
    if a.plan.method == "none":
        return None, None, "not asked for"
    differences, why = left_out_differences(measure, a, b)
    if why:
        return None, None, why
    half = t_quantile(0.5 + a.plan.level / 2, a.n - 1) * jackknife_se(differences)
    return difference - half, difference + half, ""


def swap_p(
    after: Callable[[Array], Scored], groups: int, observed: float, scale: float, plan: Plan, width: int
) -> tuple[float, bool]:
    """Return the p-value of the swap test, and whether it is exact.

    Parameters
    ----------
    after
        Gives the difference A - B after swaps, ``(batch, groups)`` of 0 and 1.
    observed, scale
        The difference as it is, and the larger of the two scores, to which rounding is relative.
    width
        How many numbers one swap holds at a time.
    """
    exact = groups <= EXACT_GROUPS
    at_least = made = 0
    edge = abs(observed) - ROUNDING * max(scale, abs(observed))
    step = max(1, CHUNK // width)
    for swaps in _all_swaps(groups, step) if exact else _random_swaps(groups, plan, step):
        found = after(swaps)
        at_least += int((np.abs(found.values)[found.defined] >= edge).sum()) + int((~found.defined).sum())
        made += len(swaps)
    return at_least / made if exact else (at_least + 1) / (made + 1), exact


def swapped_difference(measure: Measure, a: Tallies | Rows, b: Tallies | Rows, swaps: Array) -> Scored:
    """Return score(A) - score(B) after swaps, defined where both are."""
    with_a, with_b = _swapped(a, b, swaps)
    score_a, score_b = measure.score(with_a), measure.score(with_b)
    return Scored(score_a.values - score_b.values, score_a.defined & score_b.defined)


def _swapped(a: Tallies | Rows, b: Tallies | Rows, swaps: Array) -> tuple[Totals, Totals]:
    if isinstance(a, Rows) and isinstance(b, Rows):
        return a.swapped(b, swaps)
    if isinstance(a, Rows) or isinstance(b, Rows):
        raise InputError("A has tallies and B has rows, or the reverse: compare them by the same measure")
    counts = [field.name for field in a.layout if field.kind == "count"]
    left, right = {}, {}
    factors = np.asarray(swaps, dtype=np.float64)
    for name in counts:
        of_a, of_b = a.fields[name], b.fields[name]
        moved = (factors @ (of_b - of_a).reshape(len(of_a), -1).astype(np.float64)).reshape(len(swaps), *of_a.shape[1:])
        left[name], right[name] = of_a.sum(axis=0) + moved, of_b.sum(axis=0) - moved
    if len(counts) < len(a.layout):
        # What floats leave after a subtraction is not exactly 0 where nothing is left: sum both sides.
        both, keep = _sums(a, b), 1 - swaps
        left |= both.weighted(np.hstack([keep, swaps])).fields
        right |= both.weighted(np.hstack([swaps, keep])).fields
    return Totals(left, a.axes, (len(swaps),)), Totals(right, a.axes, (len(swaps),))


def _sums(a: Tallies, b: Tallies) -> Tallies:
    """Return the float sums of both sides, the rows of B under those of A."""
    layout = [field for field in a.layout if field.kind == "sum"]
    return Tallies(layout, a.axes, {f.name: np.concatenate([a.fields[f.name], b.fields[f.name]]) for f in layout})


def _all_swaps(groups: int, step: int) -> Iterator[Array]:
    for start in range(0, 2**groups, step):
        codes = np.arange(start, min(start + step, 2**groups))[:, np.newaxis]
        yield np.asarray((codes >> np.arange(groups)) & 1)


def _random_swaps(groups: int, plan: Plan, step: int) -> Iterator[Array]:
    rng = generator(plan.seed, "swap")
    for start in range(0, plan.resamples, step):
        yield rng.integers(0, 2, size=(min(step, plan.resamples - start), groups), dtype=np.int8).astype(np.int64)
