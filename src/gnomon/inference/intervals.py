"""Intervals of a score, by resampling groups.

Methods
-------
jackknife-t (default)
    Leave out one group at a time: theta_(i) = score(total - tally_i). With theta_bar their mean and G groups,
    se^2 = (G - 1)/G * sum (theta_(i) - theta_bar)^2, and the interval is score +- t_{G-1} se, carried over to the
    scale on which the measure's range has no end: the logit between two bounds, the logarithm above one.
percentile
    Quantiles of the scores of bootstrap replicates; a replicate draws G groups with replacement, which is
    one matrix product of draw counts and tallies.
bca
    Percentile interval corrected for bias and acceleration (Efron, 1987); the acceleration comes from the
    same leave-one-out scores.

Scores of rows, not of sums, are resampled in the same way: a group that is left out, or drawn twice, takes its rows
along. Two things are particular with the jackknife-t:
* A score that few groups push upwards (average precision: the best precision is chosen) has its interval put around
  the value that the jackknife corrects for it, G score - (G - 1) theta_bar (Quenouille, 1956), on the same scale.
* A quantile: see :mod:`gnomon.inference.quantiles`.

Conventions: intervals stay in the measure's range. Class sets are frozen on the whole. A replicate in
which the score is undefined is left out and counted.

Undefined cases: one group (nothing can be resampled); a score that is itself undefined; a score that stays
the same whichever group is left out (a perfect score is no proof of certainty); leave-one-out or bootstrap
scores that are undefined.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gnomon.core.errors import InputError, plural
from gnomon.core.measure import Measure, Scored
from gnomon.core.rows import QuantileMeasure, Rows
from gnomon.core.seeds import generator
from gnomon.core.tallies import Array, Tallies, Totals
from gnomon.inference import quantiles

FEW_GROUPS = 6
"""Below this many groups every interval and test says that there are few."""
THIN_CLASS = 10
"""A class that rests on fewer groups than this makes a macro interval unreliable."""
ROUNDING = 1e-12
"""Scores that differ by less are equal."""
CHUNK = 2_000_000
"""Numbers held at once by a batch of replicates."""


@dataclass(frozen=True)
class Plan:
    """How intervals are made: method, coverage, replicates, seed."""

    method: str = "jackknife-t"
    level: float = 0.95
    resamples: int = 10_000
    seed: int = 0


@dataclass(frozen=True)
class Interval:
    """Both ends, or the reason why there is none; ``notes`` qualify it."""

    low: float | None
    high: float | None
    why: str = ""
    notes: tuple[str, ...] = ()


def filled(tallies: Tallies | Rows) -> Array:
    """Return which groups hold anything."""
    return tallies.filled()


class Groups:
    """Tallies with one row per group, or rows by group, and the resampled totals that several measures share."""

    def __init__(self, tallies: Tallies | Rows, plan: Plan, level: str = "group") -> None:
        self.tallies = tallies
        self.plan = plan
        self.level = level
        self.n = tallies.n_cases

    @cached_property
    def total(self) -> Totals:
        """The sum of all groups."""
        return self.tallies.total()

    @cached_property
    def left_out(self) -> Totals:
        """The sum of all groups but one, for each."""
        return self.tallies.without_each()

    @cached_property
    def draws(self) -> tuple[Totals, ...]:
        """Bootstrap totals, in batches; kept for the next measure of the family."""
        return tuple(drawn(self.tallies, self.plan.resamples, generator(self.plan.seed, "bootstrap")))

    @cached_property
    def rows(self) -> Totals:
        """Each group by itself."""
        return self.tallies.each()

    def name(self, count: int) -> str:
        """Count groups in words.

        >>> from gnomon.core.tallies import Field
        >>> import numpy as np
        >>> Groups(Tallies([Field("n")], {}, {"n": np.ones(2, int)}), Plan(), "subject").name(2)
        '2 subjects'
        """
        return f"{count} {plural(self.level, count)}"


def interval(measure: Measure, groups: Groups) -> Interval:
    """Return the interval of a measure over groups."""
    plan = groups.plan
    if plan.method == "none":
        return Interval(None, None, "not asked for")
    if groups.n < 2:
        return Interval(None, None, f"undefined ({groups.name(groups.n)})")
    whole = measure.score(groups.total)
    if not bool(whole.defined):
        return Interval(None, None, "the score itself is undefined")
    frozen = measure.freeze(groups.total)
    notes = remarks(measure, groups, frozen)
    if plan.method == "jackknife-t":
        return _jackknife_t(measure, groups, frozen, float(whole.values), notes)
    if plan.method in ("percentile", "bca"):
        return _bootstrap(measure, groups, frozen, float(whole.values), notes)
    raise InputError(f"interval: expected jackknife-t, percentile, bca or none, but got {plan.method!r}")


def draw_counts(groups: int, resamples: int, rng: np.random.Generator) -> Array:
    """Return how often each group is drawn in each replicate, ``(resamples, groups)``."""
    picks = rng.integers(0, groups, size=(resamples, groups), dtype=np.int64)
    picks += np.arange(0, resamples * groups, groups)[:, np.newaxis]
    return np.bincount(picks.ravel(), minlength=resamples * groups).reshape(resamples, groups)


def drawn(tallies: Tallies | Rows, resamples: int, rng: np.random.Generator) -> Iterator[Totals]:
    """Yield bootstrap totals, in batches of bounded size."""
    step = max(1, CHUNK // width(tallies))
    for start in range(0, resamples, step):
        yield tallies.weighted(draw_counts(tallies.n_cases, min(step, resamples - start), rng), rough=True)


def width(tallies: Tallies | Rows) -> int:
    """Return how many numbers one replicate holds."""
    return tallies.width


def replicates(measure: Measure, groups: Groups, frozen: Array | None) -> Scored:
    """Score bootstrap replicates: draws of as many groups, with replacement."""
    parts = [measure.score(totals, frozen) for totals in groups.draws]
    return Scored(np.concatenate([p.values for p in parts]), np.concatenate([p.defined for p in parts]))


def t_quantile(p: float, df: float) -> float:
    """Return the p-quantile of Student's t with df degrees of freedom."""
    from scipy.special import stdtrit

    return float(stdtrit(df, p))


def jackknife_se(values: Array) -> float:
    """Return the jackknife standard error of leave-one-out values."""
    n = len(values)
    return float(np.sqrt((n - 1) / n * np.square(values - values.mean()).sum()))


def left_out(measure: Measure, groups: Groups, frozen: Array | None) -> Scored:
    """Return the scores without each group; those of a quantile, which jumps, on a straight line through it."""
    if not isinstance(measure, QuantileMeasure):
        return measure.score(groups.left_out, frozen)
    shares = quantiles.shares(measure, groups.total, groups.left_out)
    return quantiles.straight(measure, groups.total, groups.left_out, shares, _half(groups, shares, quantiles.SPAN))


def _half(groups: Groups, values: Array, level: float) -> float:
    return t_quantile(0.5 + level / 2, groups.n - 1) * jackknife_se(values)


def _jackknife_t(measure: Measure, groups: Groups, frozen: Array | None, value: float, notes: list[str]) -> Interval:
    scored = left_out(measure, groups, frozen)
    if not scored.defined.all():
        return Interval(None, None, gaps(groups, scored.defined), tuple(notes))
    if no_spread(scored.values):
        return Interval(None, None, same(groups), tuple(notes))
    if isinstance(measure, QuantileMeasure):
        shares = quantiles.shares(measure, groups.total, groups.left_out)
        low, high = quantiles.ends(measure, groups.total, _half(groups, shares, groups.plan.level), notes)
        return Interval(low, high, "", tuple(notes))
    half = _half(groups, scored.values, groups.plan.level)
    if not measure.biased:
        return around(measure, value, half, notes)
    return _corrected(measure, value, groups.n * value - (groups.n - 1) * float(scored.values.mean()), half, notes)


def _corrected(measure: Measure, value: float, centre: float, half: float, notes: list[str]) -> Interval:
    """Return the interval around a corrected score, wide enough to hold the score; beyond the range it is not used."""
    floor, ceiling = measure.bounds
    if not floor < centre < ceiling:
        return around(measure, value, half, notes)
    found = around(measure, centre, half, notes)
    low, high = found.low or 0.0, found.high or 0.0
    return Interval(min(low, value), max(high, value), "", found.notes)


def _bootstrap(measure: Measure, groups: Groups, frozen: Array | None, value: float, notes: list[str]) -> Interval:
    def bent(kept: Array, tails: Array) -> Array:
        return _bca_tails(left_out(measure, groups, frozen), value, kept, tails)

    scored = replicates(measure, groups, frozen)
    bend = bent if groups.plan.method == "bca" else None
    return between(measure, scored, groups.plan.level, notes, same(groups), bend)


def between(
    measure: Measure,
    scored: Scored,
    level: float,
    notes: list[str],
    why_same: str,
    bend: Callable[[Array, Array], Array] | None = None,
) -> Interval:
    """Return the quantiles of replicates at the tails of a level; ``bend`` moves the tails, given the sorted values."""
    kept = np.sort(scored.values[scored.defined])
    lost, made = len(scored.values) - len(kept), len(scored.values)
    if lost > made // 10:
        return Interval(None, None, f"undefined (no score in {lost} of {made} replicates)", tuple(notes))
    if lost:
        notes.append(f"{lost} of {made} replicates left out: score undefined there")
    if no_spread(kept):
        return Interval(None, None, why_same, tuple(notes))
    tails = np.array([0.5 - level / 2, 0.5 + level / 2])
    low, high = np.quantile(kept, tails if bend is None else bend(kept, tails))
    return _clipped(measure, float(low), float(high), notes)


def _bca_tails(left: Scored, value: float, kept: Array, tails: Array) -> Array:
    from scipy.special import ndtr, ndtri

    below = (np.searchsorted(kept, value, "left") + np.searchsorted(kept, value, "right")) / 2 / len(kept)
    bias = ndtri(np.clip(below, 1 / (len(kept) + 1), len(kept) / (len(kept) + 1)))
    pull = left.values[left.defined].mean() - left.values[left.defined]
    spread = np.square(pull).sum() ** 1.5
    acceleration = (pull**3).sum() / (6 * spread) if spread > 0 else 0.0
    z = bias + ndtri(tails)
    return np.asarray(ndtr(bias + z / (1 - acceleration * z)))


def no_spread(values: Array) -> bool:
    """Say whether values are equal but for rounding."""
    return float(np.ptp(values)) <= ROUNDING * max(1.0, float(np.abs(values).max()))


def same(groups: Groups) -> str:
    """Say why there is no interval where leaving out a group changes nothing."""
    return f"undefined (the score is the same without any one {groups.level}: no spread to judge by)"


def gaps(groups: Groups, defined: Array) -> str:
    """Say why there is no interval where the score hangs on single groups."""
    return f"undefined ({groups.name(int((~defined).sum()))} cannot be left out: there is no score without)"


def around(measure: Measure, value: float, half: float, notes: list[str]) -> Interval:
    """Return the interval of a score and half its width, symmetric on the scale on which the range has no end.

    That scale is the logit between two bounds and the logarithm above one; half the width is carried over to it by the
    derivative at the score. Beyond one unit of that scale the odds, or the value, go on in a straight line: with two or
    three groups an exponential would promise nothing at all. A score on a bound keeps the plain interval, cut to the
    range.
    """
    floor, ceiling = measure.bounds
    above, below = value - floor, ceiling - value
    if math.isinf(floor) or min(above, below) <= 0:
        return _clipped(measure, value - half, value + half, notes)
    if math.isinf(ceiling):
        factor = _stretch(half / above)
        return Interval(floor + above / factor, floor + above * factor, "", tuple(notes))
    stretch = _stretch(half * (ceiling - floor) / (above * below))
    low, high = (floor + (ceiling - floor) / (1 + below / above * by) for by in (stretch, 1 / stretch))
    return Interval(min(low, value), max(high, value), "", tuple(notes))


def _stretch(units: float) -> float:
    """Return the exponential, and its tangent beyond 1.

    >>> _stretch(0.0), _stretch(2.0) == 2 * math.e
    (1.0, True)
    """
    return math.exp(units) if units <= 1 else math.e * units


def _clipped(measure: Measure, low: float, high: float, notes: list[str]) -> Interval:
    floor, ceiling = measure.bounds
    return Interval(max(floor, low), min(ceiling, high), "", tuple(notes))


def remarks(measure: Measure, groups: Groups, frozen: Array | None) -> list[str]:
    """Return what qualifies an interval over these groups: few of them, or classes that rest on few."""
    notes = []
    if groups.n < FEW_GROUPS:
        notes.append(f"interval rests on only {groups.name(groups.n)}")
    if isinstance(measure, QuantileMeasure):
        return notes + _outermost(measure, groups)
    support = measure.support(groups.rows, frozen)
    if support is not None:
        thin = int((support.sum(axis=0) < THIN_CLASS).sum())
        if thin:
            what = "1 class rests" if thin == 1 else f"{thin} classes rest"
            notes.append(f"interval unreliable: {what} on fewer than {groups.name(THIN_CLASS)}")
    return notes


def _outermost(measure: QuantileMeasure, groups: Groups) -> list[str]:
    """Say that there are too few groups for a quantile so far out: fewer than one for the rows beyond it."""
    beyond = min(measure.share, 1 - measure.share)
    needed = math.ceil(round(1 / beyond, 9))
    if groups.n >= needed:
        return []
    return [f"interval unreliable: a quantile with {100 * beyond:.4g} % beyond it needs {groups.name(needed)} or more"]
