"""Seeds crossed with groups: the same groups scored by the same system trained or drawn several times.

The score is the mean over seeds of the fold over groups. Both are samples: another seed would have given other
tallies on the same groups, other groups other tallies under the same seed. Neither may be ignored, and pooling the
rows of all seeds would count every group several times.

Methods
-------
jackknife-t (default)
    Leave one group out of the scores of all seeds: P_sg = G score_s - (G - 1) score_s(without g) is the pseudo-value
    of group g under seed s. Groups and seeds are random effects on it that cross without replication, so that

        se^2 = V_groups + V_seeds - V_both,

    with V_groups the jackknife variance over groups of the mean score, V_seeds the variance of the scores of seeds
    over their number, and V_both the residual variance, which both of the others contain (variance components:
    Searle, Casella and McCulloch, 1992; as in two-way clustering, Cameron, Gelbach and Miller, 2011). A component that
    comes out negative is 0, so se^2 is never below the larger of V_groups and V_seeds. Each part has degrees of freedom
    of its own (G - 1, S - 1, and their product), and each its own quantile of Student's t (Banerjee, 1960):

        half^2 = t_{G-1}^2 V_groups + t_{S-1}^2 V_seeds - t_{(G-1)(S-1)}^2 V_both,

    again not below the larger of the first two. One t for the sum, after Satterthwaite (1946), is too narrow with two
    or three seeds: a small V_seeds may be luck, and then hides how little is known of it. So few seeds make a wide
    interval.
percentile
    Each replicate draws seeds and, independently, groups, with replacement, the same groups for every seed (Owen, 2007:
    on the wide side where a group's luck depends on the seed; with few seeds on the narrow side, and then called
    unreliable).

One seed: the plain interval over groups, with a note. Conventions are those of :mod:`gnomon.inference.intervals`.

Undefined cases: those of a plain interval; a score that is undefined for some seed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gnomon.core.errors import InputError, plural, some
from gnomon.core.measure import Measure, Scored
from gnomon.core.seeds import generator
from gnomon.core.tallies import Array
from gnomon.inference.intervals import (
    CHUNK,
    Groups,
    Interval,
    around,
    between,
    draw_counts,
    gaps,
    interval,
    jackknife_se,
    left_out,
    no_spread,
    remarks,
    same,
    t_quantile,
    width,
)

FEW_SEEDS = 5
"""Below this many seeds an interval says so."""


@dataclass(frozen=True)
class Spread:
    """The parts of a standard error: over groups, over seeds, and what both contain; and how many there are of each."""

    groups: float
    seeds: float
    both: float
    se: float
    n_groups: int
    n_seeds: int

    def half(self, level: float) -> float:
        """Return half the width of an interval of a level.

        >>> round(Spread(0.0, 1.0, 0.0, 1.0, 12, 3).half(0.95), 3)
        4.303
        """
        free = (self.n_groups - 1, self.n_seeds - 1, (self.n_groups - 1) * (self.n_seeds - 1))
        parts = zip((self.groups, self.seeds, self.both), free, strict=True)
        groups, seeds, both = ((t_quantile(0.5 + level / 2, df) * part) ** 2 for part, df in parts)
        return math.sqrt(max(groups, seeds, groups + seeds - both))


@dataclass(frozen=True)
class Crossed:
    """A mean score over seeds with its interval, or why they are undefined."""

    value: float | None
    low: float | None
    high: float | None
    seeds: int
    groups: int
    n: int
    by_seed: tuple[float | None, ...]
    spread: Spread | None = None
    """Where the interval is a jackknife-t over several seeds."""
    why: str = ""
    interval_why: str = ""
    notes: tuple[str, ...] = ()


def crossed(measure: Measure, seeds: Sequence[Groups]) -> Crossed:
    """Score a measure over seeds, each given as the tallies of the same groups in the same order."""
    _check(seeds)
    first = seeds[0]
    scored = [measure.score(groups.total) for groups in seeds]
    by_seed = tuple(float(one.values) if bool(one.defined) else None for one in scored)
    values = [value for value in by_seed if value is not None]
    n = max(measure.count(groups.total) for groups in seeds)
    if len(values) < len(seeds):
        lost = by_seed.index(None)
        why = measure.why(seeds[lost].total)
        if len(seeds) > 1:
            why = f"undefined for {len(seeds) - len(values)} of {len(seeds)} seeds: {why}"
        interval_why = "the score itself is undefined"
        return Crossed(None, None, None, len(seeds), first.n, n, by_seed, None, why, interval_why)
    value = math.fsum(values) / len(values)
    spread, found = _interval(measure, seeds, value, np.array(values))
    low, high, notes = found.low, found.high, found.notes
    return Crossed(value, low, high, len(seeds), first.n, n, by_seed, spread, "", found.why, notes)


def crossed_spread(values: Array, left_out: Array) -> Spread:
    """Return the standard error of a mean over seeds, from scores ``(seeds,)`` and without groups ``(seeds, groups)``.

    >>> crossed_spread(np.array([1.0, 3.0]), np.array([[1.0, 1.0, 1.0], [3.0, 3.0, 3.0]])).se
    1.0
    """
    seeds, groups = left_out.shape
    over_groups = jackknife_se(left_out.mean(axis=0)) ** 2
    over_seeds = float(values.var(ddof=1)) / seeds
    pseudo = (groups - 1) * (values[:, np.newaxis] - left_out)
    rest = pseudo - pseudo.mean(axis=0) - pseudo.mean(axis=1, keepdims=True) + pseudo.mean()
    free = (seeds - 1) * (groups - 1)
    both = float(np.square(rest).sum()) / free / (seeds * groups)
    squared = max(over_groups, over_seeds, over_groups + over_seeds - both)
    return Spread(math.sqrt(over_groups), math.sqrt(over_seeds), math.sqrt(both), math.sqrt(squared), groups, seeds)


def _check(seeds: Sequence[Groups]) -> None:
    if not seeds:
        raise InputError("no seeds: expected the tallies of at least one")
    first = seeds[0]
    sizes = sorted({groups.n for groups in seeds})
    if len(sizes) > 1:
        what = plural(first.level)
        raise InputError(f"seeds have different numbers of {what}: {some(sizes)}; score all on the same ones")
    if any(groups.plan != first.plan for groups in seeds):
        raise InputError("seeds were given with different interval plans: expected one for all")


def _interval(measure: Measure, seeds: Sequence[Groups], value: float, values: Array) -> tuple[Spread | None, Interval]:
    first, plan = seeds[0], seeds[0].plan
    if len(seeds) == 1:
        found = interval(measure, first)
        note = "one seed: the interval does not hold the spread over seeds"
        return None, Interval(found.low, found.high, found.why, (*found.notes, note))
    if plan.method == "none":
        return None, Interval(None, None, "not asked for")
    if plan.method not in ("jackknife-t", "percentile"):
        raise InputError(f"interval over seeds: expected jackknife-t, percentile or none, but got {plan.method!r}")
    if first.n < 2:
        return None, Interval(None, None, f"undefined ({first.name(first.n)})")
    notes = seed_notes(measure, seeds, len(seeds))
    if plan.method == "percentile":
        if len(seeds) < FEW_SEEDS:
            notes.append(f"interval unreliable: a bootstrap of fewer than {FEW_SEEDS} seeds is too narrow")
        return None, between(measure, _replicates(measure, seeds), plan.level, notes, same(first))
    return _jackknife_t(measure, seeds, value, values, notes)


def seed_notes(measure: Measure, scored: Sequence[Groups], seeds: int) -> list[str]:
    """Return what qualifies an interval over so many seeds: few of them, few groups, classes that rest on few."""
    found = [note for groups in scored for note in remarks(measure, groups, measure.freeze(groups.total))]
    return [*dict.fromkeys(found), *([f"interval rests on only {seeds} seeds"] if seeds < FEW_SEEDS else [])]


def _jackknife_t(
    measure: Measure, seeds: Sequence[Groups], value: float, values: Array, notes: list[str]
) -> tuple[Spread | None, Interval]:
    first = seeds[0]
    left = [left_out(measure, groups, measure.freeze(groups.total)) for groups in seeds]
    defined = np.all([one.defined for one in left], axis=0)
    if not defined.all():
        return None, Interval(None, None, gaps(first, defined), tuple(notes))
    without = np.stack([one.values for one in left])
    if no_spread(without.mean(axis=0)):
        return None, Interval(None, None, same(first), tuple(notes))
    spread = crossed_spread(values, without)
    return spread, around(measure, value, spread.half(first.plan.level), notes)


def _replicates(measure: Measure, seeds: Sequence[Groups]) -> Scored:
    """Score replicates that draw seeds and groups; defined where the score of every drawn seed is."""
    plan, n = seeds[0].plan, seeds[0].n
    frozen = [measure.freeze(groups.total) for groups in seeds]
    rng, seed_rng = generator(plan.seed, "bootstrap"), generator(plan.seed, "bootstrap", "seeds")
    step = max(1, CHUNK // max(width(groups.tallies) for groups in seeds))
    values, defined = [], []
    for start in range(0, plan.resamples, step):
        size = min(step, plan.resamples - start)
        weights, taken = draw_counts(n, size, rng), draw_counts(len(seeds), size, seed_rng)
        parts = [measure.score(g.tallies.weighted(weights), f) for g, f in zip(seeds, frozen, strict=True)]
        each = np.stack([part.values for part in parts], axis=1)
        values.append((each * taken).sum(axis=1) / len(seeds))
        defined.append((np.stack([part.defined for part in parts], axis=1) | (taken == 0)).all(axis=1))
    return Scored(np.concatenate(values), np.concatenate(defined))
