"""One system run with several seeds: its mean score, with the luck of seeds and of groups both in the interval.

Runs of one system on one data that differ in the seed are taken together. The difference of two systems with the same
seeds is, seed by seed, itself a score over groups, and its mean over seeds has the same crossed standard error and the
same interval (:mod:`gnomon.inference.crossed`), cut to the differences that there can be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gnomon.core.errors import InputError, plural, some
from gnomon.core.measure import Measure
from gnomon.core.table import Cell, Column, Table, make_cells, text_columns
from gnomon.core.tallies import Array
from gnomon.inference.crossed import Crossed, crossed, crossed_spread, seed_notes
from gnomon.inference.intervals import Groups, Interval, filled, gaps, left_out, no_spread, same
from gnomon.inference.paired import ends
from gnomon.runs.alignment import align
from gnomon.runs.comparison import Asked, chosen, direction_notes, pairings, qualified
from gnomon.runs.run import Run
from gnomon.runs.tables import shown, titled

BySeed = Mapping[int, Groups]


@dataclass(frozen=True)
class Difference:
    """The difference of two means over the same seeds, with its interval; or why there is none."""

    a: str
    b: str
    measure: Measure
    seeds: int
    groups: int
    value: float | None
    interval: Interval
    why: str = ""


def compare_seeds(runs: Sequence[Run], asked: Asked) -> list[Table]:
    """Show the mean of every system over its seeds, and compare systems that were run with the same seeds."""
    if not runs:
        raise InputError("--over seeds: no run given")
    aligned = align([replace(run, alias="") for run in runs], seeds=True)
    systems = _by_system(aligned.runs)
    if max(map(len, systems.values())) < 2:
        raise InputError(
            "--over seeds: no system has runs of several seeds; give runs of one system made with different --seed"
        )
    means: list[tuple[Measure, str, Crossed]] = []
    differences: list[Difference] = []
    apart: list[str] = []
    for measure in chosen(aligned.runs[0], asked.measures):
        groups = _groups(systems, measure)
        made = {system: crossed(measure, list(own.values())) for system, own in groups.items()}
        ordered = _ordered(made, measure)
        means += [(measure, system, made[system]) for system in ordered]
        for left, right in pairings([(name,) for name in ordered], asked):
            a, b = ordered[left], ordered[right]
            if groups[a].keys() == groups[b].keys() and len(groups[a]) > 1:
                differences.append(mean_difference(measure, (a, groups[a]), (b, groups[b])))
            else:
                apart.append(f"{a} and {b} are not compared: {_listed(groups[a])} against {_listed(groups[b])}")
    notes = [*aligned.notes, *dict.fromkeys(apart), *_unmoved(systems)]
    tables = [_means(means, aligned.runs[0], notes)]
    return [*tables, _differences(differences, aligned.runs[0])] if differences else tables


def seed_of(run: Run) -> int:
    """Return the seed that a run was made with: as resolved, as asked for, or that of its interval plan."""
    options = run.manifest.get("options", {})
    for part in (options.get("resolved", {}), options.get("asked", {})):
        if isinstance(found := part.get("seed"), int):
            return found
    return run.plan.seed


def _by_system(runs: Sequence[Run]) -> dict[str, dict[int, Run]]:
    found: dict[str, dict[int, Run]] = {}
    for run in runs:
        own = found.setdefault(run.system, {})
        seed = seed_of(run)
        if seed in own:
            ids = f"{own[seed].manifest['id']} and {run.manifest['id']}"
            raise InputError(f"{run.system} has several runs with seed {seed} ({ids}): give one run per seed")
        own[seed] = run
    return {system: dict(sorted(own.items())) for system, own in found.items()}


def _groups(systems: Mapping[str, Mapping[int, Run]], measure: Measure) -> dict[str, BySeed]:
    """Return tallies by group under one interval plan, without groups in which no run tallied anything."""
    runs = [run for own in systems.values() for run in own.values()]
    plan = runs[0].plan
    found = {id(run): run.groups(measure) for run in runs}
    kept = np.any([filled(groups.tallies) for groups in found.values()], axis=0)
    rows = kept if kept.any() else np.ones_like(kept)
    return {
        system: {seed: Groups(found[id(run)].tallies.take(rows), plan, run.roster.level) for seed, run in own.items()}
        for system, own in systems.items()
    }


def _ordered(made: Mapping[str, Crossed], measure: Measure) -> list[str]:
    """Return systems by mean, the best first; undefined last."""

    def key(system: str) -> tuple[bool, float]:
        value = made[system].value
        return value is None, 0.0 if value is None else measure.loss(value)

    return sorted(made, key=key)


def mean_difference(measure: Measure, a: tuple[str, BySeed], b: tuple[str, BySeed]) -> Difference:
    """Return the mean over seeds of score(A) - score(B); each side is a name with groups by seed, the same seeds."""
    pairs = [(left, b[1][seed]) for seed, left in a[1].items()]
    first = pairs[0][0]
    scored = [[measure.score(side.total) for side in pair] for pair in pairs]
    if not all(bool(one.defined) for pair in scored for one in pair):
        side = a[0] if not all(bool(left.defined) for left, _ in scored) else b[0]
        why = f"the score of {side} is undefined for some seed"
        return Difference(a[0], b[0], measure, len(pairs), first.n, None, Interval(None, None, why), why)
    values = np.array([float(left.values) - float(right.values) for left, right in scored])
    value = float(values.mean())
    return Difference(a[0], b[0], measure, len(pairs), first.n, value, _interval(measure, pairs, values, value))


def _interval(measure: Measure, pairs: Sequence[tuple[Groups, Groups]], values: Array, value: float) -> Interval:
    first = pairs[0][0]
    if first.plan.method == "none":
        return Interval(None, None, "not asked for")
    if first.n < 2:
        return Interval(None, None, f"undefined ({first.name(first.n)})")
    notes = tuple(seed_notes(measure, [side for pair in pairs for side in pair], len(pairs)))
    left = [[left_out(measure, side, measure.freeze(side.total)) for side in pair] for pair in pairs]
    defined = np.all([one.defined for pair in left for one in pair], axis=0)
    if not defined.all():
        return Interval(None, None, gaps(first, defined), notes)
    without = np.stack([one.values - other.values for one, other in left])
    if no_spread(without.mean(axis=0)):
        return Interval(None, None, same(first), notes)
    low, high = ends(measure, value, crossed_spread(values, without).half(first.plan.level))
    return Interval(low, high, "", notes)


def _listed(seeds: BySeed) -> str:
    return f"{plural('seed', len(seeds))} {some(seeds, show=8)}"


def _unmoved(systems: Mapping[str, Mapping[int, Run]]) -> list[str]:
    """Name systems whose predictions are the same whatever the seed."""
    found = [
        system
        for system, own in systems.items()
        if len(own) > 1 and len({run.manifest["prediction_fingerprint"] for run in own.values()}) == 1
    ]
    return [f"{', '.join(found)}: the same predictions with every seed, so that seeds show no spread"] if found else []


def _means(means: Sequence[tuple[Measure, str, Crossed]], run: Run, notes: Sequence[str]) -> Table:
    level, plan = run.roster.level, run.plan
    rows = []
    for measure, system, found in means:
        value, low, high = (shown(number, measure) for number in (found.value, found.low, found.high))
        rows.append(
            {
                **make_cells(measure=titled(measure), system=system, seeds=found.seeds, groups=found.groups),
                "mean": Cell(value, low, high, found.why, found.interval_why),
                **_parts(found, measure),
            }
        )
    columns = (
        Column("measure", "measure"),
        Column("system", "system"),
        Column("seeds", "seeds", "count"),
        Column("groups", plural(level), "count"),
        Column("mean", "mean over seeds", "score"),
        Column("se", "se", "number", digits=4),
        Column("se_groups", f"se: {plural(level)}", "number", digits=4),
        Column("se_seeds", "se: seeds", "number", digits=4),
    )
    lines = [*notes]
    if any(found.low is not None for _, _, found in means):
        lines.append(
            f"[low, high]: {100 * plan.level:g}% {plan.method} interval for other {plural(level)} and other seeds"
        )
    lines.append(
        f"se: standard error of the mean; se: {plural(level)}, se: seeds: what each brings to it; "
        "they overlap, so that the whole is less than both together"
    )
    whys = (found.interval_why for _, _, found in means if found.interval_why.startswith("undefined"))
    lines += [f"interval {why}" for why in dict.fromkeys(whys)]
    lines += qualified([(measure, found.notes) for measure, _, found in means])
    title = f"{run.suite}: mean scores over seeds"
    return Table("seeds", title, columns, tuple(rows), tuple(lines))


def _parts(found: Crossed, measure: Measure) -> dict[str, Cell]:
    """Return the parts of the standard error, or why there are none."""
    if (spread := found.spread) is not None:
        parts = {"se": spread.se, "se_groups": spread.groups, "se_seeds": spread.seeds}
        return {key: Cell(shown(part, measure)) for key, part in parts.items()}
    why = "one seed" if found.seeds == 1 else found.interval_why or "only a jackknife-t interval has it"
    return {key: Cell(None, why=why) for key in ("se", "se_groups", "se_seeds")}


def _differences(differences: Sequence[Difference], run: Run) -> Table:
    level = run.roster.level
    rows = []
    for item in differences:
        found = item.interval
        value, low, high = (shown(number, item.measure) for number in (item.value, found.low, found.high))
        rows.append(
            {
                **make_cells(measure=titled(item.measure), a=item.a, b=item.b),
                "difference": Cell(value, low, high, item.why, found.why),
                "seeds": Cell(item.seeds),
                "groups": Cell(item.groups),
            }
        )
    columns = (
        *text_columns(measure="measure", a="A", b="B"),
        Column("difference", "A - B", "score"),
        Column("seeds", "seeds", "count"),
        Column("groups", plural(level), "count"),
    )
    lines = []
    if any(item.interval.low is not None for item in differences):
        lines.append(
            f"[low, high]: {100 * run.plan.level:g}% jackknife-t interval of the difference for other {plural(level)} "
            "and other seeds, differences taken seed by seed"
        )
    lines += direction_notes([item.measure for item in differences])
    lines.append("no p-value: the swap test holds for one run of each system; the interval without 0 tells them apart")
    if len(differences) > 1:
        lines.append("every interval is for itself, not corrected for the number of rows")
    whys = (item.interval.why for item in differences if item.interval.why.startswith("undefined"))
    lines += [f"interval {why}" for why in dict.fromkeys(whys)]
    lines += qualified([(item.measure, item.interval.notes) for item in differences])
    return Table("comparison", "comparison of mean scores over the same seeds", columns, tuple(rows), tuple(lines))
