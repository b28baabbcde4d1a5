"""Paired comparison: is A better than B on the same groups.

The test swaps, per group, the tallies (or the rows) of A and B: under the null hypothesis the names are exchangeable
within each group. Every swap gives new totals for both systems, which are scored; the p-value is the share
of swaps whose difference is at least as large as the observed one, in absolute value. Scores of parts are
never averaged. With few groups all 2^G swaps are enumerated and the p-value is exact; otherwise they are
drawn at random and the observed arrangement is counted as one of them. Groups in which the tallies of A and B are equal
are not counted among the few: swapping them changes nothing.

The null hypothesis is stronger than that of equal scores: systems of equal score that err in different classes are not
exchangeable, and the p-value of macro averages is then on the large side. The interval asks for the scores alone.

The interval of the difference is the group jackknife-t of score(A) - score(B), whatever method the scores' own
intervals were made with, cut to the differences that the measure's range allows; where no intervals were asked for,
there is none.

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
    remarks,
    same,
    t_quantile,
    width,
)

EXACT_GROUPS = 13
"""Up to this many groups that differ all swaps are enumerated."""
SMALL_P = 0.05
"""A test that cannot reach this p says so."""


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
    """The smallest p that swapping these tallies can give."""
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

    p, exact, smallest = swap_p(after, apart(a, b), difference, scale, a.plan, width(a.tallies))
    notes = few(a, a.n, smallest) + (doubts(measure, a, b) if low is not None else ())
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


def apart(a: Groups, b: Groups) -> Array:
    """Return in which groups the tallies of aligned sides differ; rows are taken to differ."""
    if not (isinstance(a.tallies, Tallies) and isinstance(b.tallies, Tallies)):
        return np.ones(a.n, dtype=np.bool_)
    differs = np.zeros(a.n, dtype=np.bool_)
    for name, field in a.tallies.fields.items():
        differs |= (field != b.tallies.fields[name]).reshape(a.n, -1).any(axis=1)
    return differs


def few(groups: Groups, n: int, smallest: float, where: str = "") -> tuple[str, ...]:
    """Say that there are few groups, or few that differ, and which p can be reached at all."""
    reached = f"the smallest attainable p is {smallest:.3g}"
    if n < FEW_GROUPS:
        return (f"only {groups.name(n)}{where}: {reached}",)
    return (f"{reached}: too few of the {groups.name(n)}{where} tell A and B apart",) if smallest > SMALL_P else ()


def doubts(measure: Measure, *sides: Groups) -> tuple[str, ...]:
    """Say why an interval over these sides is unreliable."""
    found = (note for side in sides for note in remarks(measure, side, measure.freeze(side.total)))
    return tuple(dict.fromkeys(note for note in found if note.startswith("interval unreliable")))


def ends(measure: Measure, difference: float, half: float) -> tuple[float, float]:
    """Return the interval of a difference and half its width, cut to the differences that there can be.

    >>> from gnomon.measures.classification import Accuracy
    >>> ends(Accuracy(), 0.25, 2.0)
    (-1.0, 1.0)
    """
    floor, ceiling = measure.bounds
    most = ceiling - floor
    return max(difference - half, -most), min(difference + half, most)


def smallest_p(groups: int, plan: Plan) -> float:
    """Return the smallest p-value that swapping so many groups can give, all of which differ."""
    return 2.0 / 2**groups if groups <= EXACT_GROUPS else 1.0 / (plan.resamples + 1)


def _interval(measure: Measure, a: Groups, b: Groups, difference: float) -> tuple[float | None, float | None, str]:
    if a.plan.method == "none":
        return None, None, "not asked for"
    differences, why = left_out_differences(measure, a, b)
    if why:
        return None, None, why
    half = t_quantile(0.5 + a.plan.level / 2, a.n - 1) * jackknife_se(differences)
    return *ends(measure, difference, half), ""


def swap_p(
    after: Callable[[Array], Scored], apart: Array, observed: float, scale: float, plan: Plan, width: int
) -> tuple[float, bool, float]:
    """Return the p-value of the swap test, whether it is exact, and the smallest that it could have been.

    Parameters
    ----------
    after
        Gives the difference A - B after swaps, ``(batch, groups)`` of 0 and 1.
    apart
        In which groups A and B differ, ``(groups,)``; the others need not be swapped.
    observed, scale
        The difference as it is, and the larger of the two scores, to which rounding is relative.
    width
        How many numbers one swap holds at a time.
    """
    step = max(1, CHUNK // width)
    exact = int(apart.sum()) <= EXACT_GROUPS
    sizes = []
    for swaps in _all_swaps(apart, step) if exact else _random_swaps(len(apart), plan, step):
        found = after(swaps)
        sizes.append(np.where(found.defined, np.abs(found.values), np.inf))
    size = np.concatenate(sizes)
    at_least = _reaching(size, abs(observed), scale)
    if not exact:
        return (at_least + 1) / (len(size) + 1), False, 1.0 / (len(size) + 1)
    most = float(size[np.isfinite(size)].max())
    return at_least / len(size), True, _reaching(size, most, scale) / len(size)


def _reaching(sizes: Array, size: float, scale: float) -> int:
    """Count swaps whose difference is of a size or more; those without a score count as such."""
    return int((sizes >= size - ROUNDING * max(scale, size)).sum())


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


def _all_swaps(apart: Array, step: int) -> Iterator[Array]:
    """Yield every choice of the groups that differ."""
    places = np.flatnonzero(apart)
    for start in range(0, 2 ** len(places), step):
        codes = np.arange(start, min(start + step, 2 ** len(places)))[:, np.newaxis]
        swaps = np.zeros((len(codes), len(apart)), dtype=np.int64)
        swaps[:, places] = (codes >> np.arange(len(places))) & 1
        yield swaps


def _random_swaps(groups: int, plan: Plan, step: int) -> Iterator[Array]:
    rng = generator(plan.seed, "swap")
    for start in range(0, plan.resamples, step):
        yield rng.integers(0, 2, size=(min(step, plan.resamples - start), groups), dtype=np.int8).astype(np.int64)
