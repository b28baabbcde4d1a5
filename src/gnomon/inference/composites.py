"""One number over several datasets: a weighted mean of the scores of slices, each with groups of its own.

Every slice is scored from its own tallies; only the scores are averaged, so that a large dataset does not drown a small
one. Weights are equal unless given, and are divided by their sum. Slices are taken to be independent: a group (a
subject, a room) that occurs in two of them makes the interval too narrow.

Methods
-------
jackknife-t (default)
    se^2 = sum w_i^2 se_i^2, with se_i the jackknife over the groups of slice i; degrees of freedom after Satterthwaite
    (1946), se^4 / sum (w_i^4 se_i^4 / (G_i - 1)).
percentile
    Each replicate draws, within every slice and independently of the others, as many groups as it has.

The paired comparison swaps the tallies of A and B per group of every slice and recomputes both composites; otherwise it
is that of :mod:`gnomon.inference.paired`. Its interval rests on the jackknife of the difference within each slice.

Undefined cases: an undefined score on any slice (the composite); a slice of one group, or one whose score is the same
without any one group (the interval). The reason names the slice.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from gnomon.core.errors import InputError, some
from gnomon.core.measure import Measure, Scored
from gnomon.core.seeds import generator
from gnomon.core.tallies import Array
from gnomon.inference.intervals import (
    Groups,
    Interval,
    Plan,
    around,
    between,
    drawn,
    gaps,
    jackknife_se,
    left_out,
    no_spread,
    remarks,
    same,
    t_quantile,
    width,
)
from gnomon.inference.paired import (
    Paired,
    align,
    apart,
    doubts,
    ends,
    few,
    left_out_differences,
    swap_p,
    swapped_difference,
)


@dataclass(frozen=True)
class Part:
    """One slice of a composite: its weight, its score, and what it rests on."""

    name: str
    weight: float
    value: float | None
    n: int
    groups: int


@dataclass(frozen=True)
class Composite:
    """A weighted mean of the scores of slices with its interval, or why they are undefined."""

    value: float | None
    low: float | None
    high: float | None
    parts: tuple[Part, ...]
    se: float | None = None
    df: float | None = None
    why: str = ""
    interval_why: str = ""
    notes: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """Units in all slices."""
        return sum(part.n for part in self.parts)

    @property
    def groups(self) -> int:
        """Groups in all slices."""
        return sum(part.groups for part in self.parts)


def composite(measure: Measure, slices: Mapping[str, Groups], weights: Mapping[str, float] | None = None) -> Composite:
    """Score a measure on every slice and average, by weights or equally."""
    shares = _shares(slices, weights)
    parts = tuple(_part(measure, name, groups, shares[name]) for name, groups in slices.items())
    lost = [part.name for part in parts if part.value is None]
    if lost:
        why = f"undefined on {some(lost)}: {measure.why(slices[lost[0]].total)}"
        return Composite(None, None, None, parts, why=why, interval_why="the score itself is undefined")
    value = _weighed(shares.values(), [part.value or 0.0 for part in parts])
    plan = next(iter(slices.values())).plan
    if plan.method == "none":
        return Composite(value, None, None, parts, interval_why="not asked for")
    if plan.method not in ("jackknife-t", "percentile"):
        raise InputError(f"interval of a composite: expected jackknife-t, percentile or none, but got {plan.method!r}")
    notes = _notes(measure, slices)
    single = _single(slices)
    if single:
        return Composite(value, None, None, parts, interval_why=single, notes=tuple(notes))
    if plan.method == "percentile":
        scored = _replicates(measure, slices, shares, plan)
        found = between(measure, scored, plan.level, notes, "undefined (no replicate differs from any other)")
        return Composite(value, found.low, found.high, parts, None, None, "", found.why, found.notes)
    return _jackknife_t(measure, slices, Composite(value, None, None, parts), plan, notes)


def compare_composites(
    measure: Measure, a: Mapping[str, Groups], b: Mapping[str, Groups], weights: Mapping[str, float] | None = None
) -> Paired:
    """Compare two systems on a composite of the same slices of the same groups, in the same order."""
    shares = _shares(a, weights)
    if list(a) != list(b):
        raise InputError(f"A has the slices {some(a)} and B has {some(b)}: compare them on the same ones, in one order")
    sides = {name: align(a[name], b[name]) for name in a}
    groups = sum(left.n for left, _ in sides.values())
    values: dict[str, list[float]] = {"A": [], "B": []}
    for name, pair in sides.items():
        for side, one in zip("AB", pair, strict=True):
            scored = measure.score(one.total)
            if not bool(scored.defined):
                return Paired(
                    None, None, None, None, groups, False, None, f"the score of {side} is undefined on {name!r}"
                )
            values[side].append(float(scored.values))
    whole_a, whole_b = (_weighed(shares.values(), values[side]) for side in "AB")
    difference, scale = whole_a - whole_b, max(abs(whole_a), abs(whole_b))
    first = next(iter(a.values()))
    if groups < 2:
        why = f"undefined ({first.name(groups)})"
        return Paired(difference, None, None, None, groups, False, None, why, why)
    low, high, interval_why = _interval(measure, sides, shares, difference, first.plan)
    widest = max(groups, *(width(left.tallies) for left, _ in sides.values()))
    differ = np.concatenate([apart(left, right) for left, right in sides.values()])
    p, exact, smallest = swap_p(
        lambda s: _after(measure, sides, shares, s), differ, difference, scale, first.plan, widest
    )
    notes = few(first, groups, smallest, " in all")
    if low is not None:
        notes += _doubts(measure, sides)
    return Paired(difference, low, high, p, groups, exact, smallest, "", interval_why, notes)


def _doubts(measure: Measure, sides: Mapping[str, tuple[Groups, Groups]]) -> tuple[str, ...]:
    """Say once, behind the names of the slices, why the interval of a difference is unreliable."""
    found: dict[str, list[str]] = {}
    for name, pair in sides.items():
        for note in doubts(measure, *pair):
            found.setdefault(note, []).append(name)
    return tuple(f"{', '.join(names)}: {note}" for note, names in found.items())


def satterthwaite(variances: Iterable[tuple[float, int]]) -> tuple[float, float]:
    """Return the sum of independent variances and its degrees of freedom, given those of each.

    >>> satterthwaite([(2.0, 9), (2.0, 9)])
    (4.0, 18.0)
    """
    given = list(variances)
    total = math.fsum(variance for variance, _ in given)
    return total, total**2 / math.fsum(variance**2 / df for variance, df in given)


def _shares(slices: Mapping[str, Groups], weights: Mapping[str, float] | None) -> dict[str, float]:
    if not slices:
        raise InputError("no slices: expected at least one to make a composite of")
    plans = {groups.plan for groups in slices.values()}
    if len(plans) > 1:
        raise InputError("slices were given with different interval plans: expected one for all")
    given = dict.fromkeys(slices, 1.0) if weights is None else dict(weights)
    if given.keys() != slices.keys():
        raise InputError(f"weights: expected one for each of {some(slices)}, but got them for {some(given)}")
    wrong = [name for name, weight in given.items() if not 0 < weight < math.inf]
    if wrong:
        raise InputError(f"weights: expected numbers above 0, but {wrong[0]!r} has {given[wrong[0]]!r}")
    total = math.fsum(given.values())
    return {name: given[name] / total for name in slices}


def _part(measure: Measure, name: str, groups: Groups, weight: float) -> Part:
    scored = measure.score(groups.total)
    value = float(scored.values) if bool(scored.defined) else None
    return Part(name, weight, value, measure.count(groups.total), groups.n)


def _weighed(shares: Iterable[float], values: Iterable[float]) -> float:
    return math.fsum(share * value for share, value in zip(shares, values, strict=True))


def _single(slices: Mapping[str, Groups]) -> str:
    """Say that a slice is too small to be resampled."""
    small = [(name, groups) for name, groups in slices.items() if groups.n < 2]
    return _on(small[0][0], f"undefined ({small[0][1].name(small[0][1].n)})") if small else ""


def _on(name: str, why: str) -> str:
    """Name the slice in the reason of an undefined interval.

    >>> _on("lab", "undefined (1 group)")
    "undefined ('lab': 1 group)"
    """
    return why.replace("undefined (", f"undefined ({name!r}: ", 1)


def _notes(measure: Measure, slices: Mapping[str, Groups]) -> list[str]:
    return [
        f"{name}: {note}"
        for name, groups in slices.items()
        for note in remarks(measure, groups, measure.freeze(groups.total))
    ]


def _jackknife_t(
    measure: Measure, slices: Mapping[str, Groups], made: Composite, plan: Plan, notes: list[str]
) -> Composite:
    variances = []
    for part, groups in zip(made.parts, slices.values(), strict=True):
        scored = left_out(measure, groups, measure.freeze(groups.total))
        why = gaps(groups, scored.defined) if not scored.defined.all() else ""
        why = why or (same(groups) if no_spread(scored.values) else "")
        if why:
            return _with(made, Interval(None, None, _on(part.name, why), tuple(notes)))
        variances.append(((part.weight * jackknife_se(scored.values)) ** 2, groups.n - 1))
    total, df = satterthwaite(variances)
    value, half = made.value or 0.0, t_quantile(0.5 + plan.level / 2, df) * math.sqrt(total)
    return _with(made, around(measure, value, half, notes), math.sqrt(total), df)


def _with(made: Composite, found: Interval, se: float | None = None, df: float | None = None) -> Composite:
    return Composite(made.value, found.low, found.high, made.parts, se, df, "", found.why, found.notes)


def _replicates(measure: Measure, slices: Mapping[str, Groups], shares: Mapping[str, float], plan: Plan) -> Scored:
    values, defined = np.zeros(plan.resamples), np.ones(plan.resamples, dtype=bool)
    for name, groups in slices.items():
        frozen = measure.freeze(groups.total)
        totals = drawn(groups.tallies, plan.resamples, generator(plan.seed, "bootstrap", name))
        scored = [measure.score(part, frozen) for part in totals]
        values += shares[name] * np.concatenate([part.values for part in scored])
        defined &= np.concatenate([part.defined for part in scored])
    return Scored(values, defined)


def _interval(
    measure: Measure,
    sides: Mapping[str, tuple[Groups, Groups]],
    shares: Mapping[str, float],
    difference: float,
    plan: Plan,
) -> tuple[float | None, float | None, str]:
    if plan.method == "none":
        return None, None, "not asked for"
    single = _single({name: left for name, (left, _) in sides.items()})
    if single:
        return None, None, single
    variances = []
    for name, (left, right) in sides.items():
        differences, why = left_out_differences(measure, left, right)
        if why:
            return None, None, _on(name, why)
        variances.append(((shares[name] * jackknife_se(differences)) ** 2, left.n - 1))
    total, df = satterthwaite(variances)
    half = t_quantile(0.5 + plan.level / 2, df) * math.sqrt(total)
    return *ends(measure, difference, half), ""


def _after(
    measure: Measure, sides: Mapping[str, tuple[Groups, Groups]], shares: Mapping[str, float], swaps: Array
) -> Scored:
    """Return the difference of the composites after swaps; columns are the groups of the slices, one after another."""
    values, defined, start = np.zeros(len(swaps)), np.ones(len(swaps), dtype=bool), 0
    for name, (left, right) in sides.items():
        part = swapped_difference(measure, left.tallies, right.tallies, swaps[:, start : start + left.n])
        values, defined, start = values + shares[name] * part.values, defined & part.defined, start + left.n
    return Scored(values, defined)
