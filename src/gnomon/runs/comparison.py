"""Comparing runs: only what was scored on the same data, case by case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gnomon.core.errors import InputError, plural
from gnomon.core.measure import Measure
from gnomon.core.table import Cell, Column, Table
from gnomon.inference.intervals import Groups
from gnomon.inference.paired import Paired, compare
from gnomon.runs.run import Run
from gnomon.runs.tables import partial, ranked, shown, titled

ALPHA = 0.05


@dataclass(frozen=True)
class Comparison:
    """System A against system B on one measure."""

    a: str
    b: str
    measure: Measure
    result: Paired


def comparable(runs: Sequence[Run]) -> None:
    """Refuse runs that were not scored on the same cases by the same protocol."""
    if len(runs) < 2:
        raise InputError(f"expected at least two runs to compare, but got {len(runs)}")
    first = runs[0]
    for run in runs[1:]:
        for key, what in (("suite", "suites"), ("data_fingerprint", "data"), ("protocol_fingerprint", "protocols")):
            if run.manifest[key] != first.manifest[key]:
                raise InputError(
                    f"{first.system} and {run.system} were scored on different {what} "
                    f"({str(first.manifest[key])[:12]} and {str(run.manifest[key])[:12]}): score both on the same"
                )
        for system in (run, first):
            if not system.complete:
                raise InputError(f"{system.system} is {partial(system)}: complete it before comparing")
        if run.plan != first.plan:
            raise InputError(
                f"{first.system} and {run.system} were scored with different interval plans "
                f"({first.plan} and {run.plan}): score both with the same options"
            )
        if run.roster.ids != first.roster.ids:
            raise InputError(f"{first.system} and {run.system} do not hold the same cases: score both on the same")


def compare_runs(runs: Sequence[Run], measures: Sequence[str] = ()) -> list[Comparison]:
    """Compare the best run with every other, on the named measures (default: the headline)."""
    comparable(runs)
    best, *others = ranked(runs)
    by_name = {measure.name: measure for measure in best.measures}
    chosen = list(measures) or [best.measures[0].name]
    unknown = [name for name in chosen if name not in by_name]
    if unknown:
        raise InputError(f"no measure {unknown[0]!r} in these runs; they have {', '.join(list(by_name)[:12])}")
    return [
        Comparison(
            best.system, other.system, by_name[name], compare(by_name[name], *_aligned(by_name[name], best, other))
        )
        for name in chosen
        for other in others
    ]


def with_best(table: Table, runs: Sequence[Run]) -> Table:
    """Mark in every column of a leaderboard the best system, if it can be told apart from the second.

    It can if the interval of the paired difference does not hold 0; without intervals, if p is below 0.05.
    """
    by_name = {measure.name: measure for measure in runs[0].measures}
    marked = [dict(row) for row in table.rows]
    for column in table.columns:
        winner = _winner(by_name[column.key], runs) if column.key in by_name else ""
        for row in marked:
            if winner and row["system"].value == winner:
                row[column.key] = replace(row[column.key], mark="best")
    note = "marked (*, bold): the best, and told apart from the second by the interval of the paired difference"
    notes = (*table.notes, note) if marked != [dict(row) for row in table.rows] else table.notes
    return replace(table, rows=tuple(marked), notes=notes)


def _winner(measure: Measure, runs: Sequence[Run]) -> str:
    """Return the system that is distinguishably the best by a measure, or nothing."""
    sign = 1.0 if measure.direction == "up" else -1.0
    scored = [(score.value, run) for run in runs if (score := run.find(measure.name)) and score.value is not None]
    if len(scored) < len(runs) or len(scored) < 2:
        return ""
    ordered = sorted(scored, key=lambda item: -sign * item[0])
    first, second = ordered[0][1], ordered[1][1]
    found = compare(measure, *_aligned(measure, first, second))
    if found.low is not None and found.high is not None:
        return first.system if found.low > 0 or found.high < 0 else ""
    return first.system if found.p is not None and found.p < ALPHA and found.interval_why == "" else ""


def comparison_table(comparisons: Sequence[Comparison], run: Run) -> Table:
    """Show comparisons: difference with interval, p-value, groups; ``run`` is any of those compared."""
    level, coverage = run.roster.level, run.plan.level
    rows = tuple(
        {
            "measure": Cell(titled(item.measure)),
            "a": Cell(item.a),
            "b": Cell(item.b),
            "difference": _difference(item),
            "p": Cell(item.result.p, why=item.result.why),
            "groups": Cell(item.result.groups),
        }
        for item in comparisons
    )
    columns = (
        Column("measure", "measure"),
        Column("a", "A"),
        Column("b", "B"),
        Column("difference", "A - B", "score"),
        Column("p", "p", "probability", digits=4),
        Column("groups", plural(level), "count"),
    )
    exact = all(item.result.exact for item in comparisons)
    how = "all swaps enumerated" if exact else "random swaps"
    lines = []
    if any(item.result.low is not None for item in comparisons):
        lines.append(f"[low, high]: {100 * coverage:g}% jackknife-t interval of the difference over {plural(level)}")
    lines += [f"p: two-sided swap test, tallies of A and B exchanged per {level} ({how}); not corrected for many tests"]
    lines += [
        f"interval {why}" for why in dict.fromkeys(i.result.interval_why for i in comparisons) if why.startswith("un")
    ]
    lines += list(dict.fromkeys(note for item in comparisons for note in item.result.notes))
    return Table("comparison", "paired comparison", columns, rows, tuple(lines))


def _difference(item: Comparison) -> Cell:
    found = item.result
    value, low, high = (shown(number, item.measure) for number in (found.difference, found.low, found.high))
    return Cell(value, low, high, found.why, found.interval_why)


def _aligned(measure: Measure, a: Run, b: Run) -> tuple[Groups, Groups]:
    left, right = a.groups(measure), b.groups(measure)
    if a.roster.groups != b.roster.groups:
        raise InputError(f"{a.system} and {b.system} group their cases differently")
    return left, right
