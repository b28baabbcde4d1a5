"""Comparing runs that were scored on the same data, case by case: who differs from whom, by how much, how surely."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from gnomon.core.errors import InputError, plural, some
from gnomon.core.measure import Measure, find_measure
from gnomon.core.table import Cell, Column, Table
from gnomon.inference.intervals import Groups
from gnomon.inference.multiplicity import holm
from gnomon.inference.paired import Paired, compare
from gnomon.runs.alignment import align
from gnomon.runs.run import Run
from gnomon.runs.tables import ranked, shown, titled

ALPHA = 0.05
TOLD = "told apart from the second (interval of the paired difference, and p < 0.05)"
"""What is asked of the best before it is marked."""
UNTESTED = Paired(None, None, None, None, 0, False, None, "not tested")


@dataclass(frozen=True)
class Asked:
    """What is to be compared: by which measures, who with whom, and on which cases."""

    measures: tuple[str, ...] = ()
    """Names; none is the headline."""
    against: str = ""
    """The system that all others are compared with; none is the best."""
    all_pairs: bool = False
    common: bool = False
    """Compare on the cases that all runs scored, where some lack cases."""
    ragged: str = "error"
    """What is done with a system that was not scored on every dataset: ``error``, or ``dash`` to leave it out."""
    tested: bool = True
    """Whether differences are tested; tables of single groups need only the two sides."""


@dataclass(frozen=True)
class Comparison:
    """System A against system B on one measure, with the groups that it rests on."""

    a: str
    b: str
    measure: Measure
    result: Paired
    sides: tuple[Groups, Groups] | None = None
    """The groups of A and of B, where both are of one dataset."""
    scope: str = ""
    """On which cases, where not on all."""
    notes: tuple[str, ...] = ()


def compare_runs(runs: Sequence[Run], asked: Asked | None = None) -> list[Comparison]:
    """Compare the best run with every other by the headline, or as asked."""
    asked = asked or Asked()
    if len(runs) < 2:
        raise InputError(f"expected at least two runs to compare, but got {len(runs)}")
    aligned = align(runs, common=asked.common)
    ordered = ranked(aligned.runs)
    pairs = pairings([(run.system, str(run.manifest["system"])) for run in ordered], asked)
    found = []
    for measure in chosen(ordered[0], asked.measures):
        groups = [run.groups(measure) for run in ordered]
        answered = [(score := run.find(measure.name)) is not None and score.n > 0 for run in ordered]
        both = [pair for pair in pairs if answered[pair[0]] and answered[pair[1]]]
        for left, right in pairs if asked.measures or asked.against else both or pairs:
            names, sides = (ordered[left].system, ordered[right].system), (groups[left], groups[right])
            result = compare(measure, *sides) if asked.tested else UNTESTED
            found.append(Comparison(*names, measure, result, sides, aligned.scope, aligned.notes))
    return found


def chosen(run: Run, names: Sequence[str]) -> list[Measure]:
    """Return the measures of these names; without any, the headline."""
    found = {measure.name: measure for measure in (find_measure(run.measures, name) for name in names)}
    return list(found.values()) or [run.measures[0]]


def pairings(systems: Sequence[tuple[str, ...]], asked: Asked) -> list[tuple[int, int]]:
    """Return who is compared with whom, as places in the order given: by falling score, each with its names.

    >>> pairings([("x",), ("y",), ("z",)], Asked())
    [(0, 1), (0, 2)]
    >>> pairings([("x",), ("y",), ("z",)], Asked(against="y"))
    [(0, 1), (2, 1)]
    """
    if asked.against and asked.all_pairs:
        raise InputError("--against and --all-pairs exclude each other: give one of them")
    if asked.all_pairs:
        return list(combinations(range(len(systems)), 2))
    if not asked.against:
        return [(0, place) for place in range(1, len(systems))]
    found = [place for place, names in enumerate(systems) if asked.against in names]
    known = some([names[0] for names in systems], show=12)
    if not found:
        raise InputError(f"no system {asked.against!r} to compare with; there are {known}")
    if len(found) > 1:
        raise InputError(f"several runs are of {asked.against!r}: name one of {known}")
    return [(place, found[0]) for place in range(len(systems)) if place != found[0]]


def comparison_table(comparisons: Sequence[Comparison], run: Run, *, what: str = "") -> Table:
    """Show comparisons: difference with interval, p-values, groups; ``run`` is any of those compared.

    Several p-values are also corrected, all rows of the table as one family.
    """
    level = run.roster.level
    corrected = holm([item.result.p for item in comparisons])
    rows = tuple(
        {
            "measure": Cell(titled(item.measure)),
            "a": Cell(item.a),
            "b": Cell(item.b),
            "difference": _difference(item),
            "p": Cell(item.result.p, why=item.result.why),
            "p_holm": Cell(adjusted, why=item.result.why),
            "groups": Cell(item.result.groups),
        }
        for item, adjusted in zip(comparisons, corrected.p, strict=True)
    )
    columns = [
        Column("measure", "measure"),
        Column("a", "A"),
        Column("b", "B"),
        Column("difference", "A - B", "score"),
        Column("p", "p", "probability", digits=4),
        Column("p_holm", "p (Holm)", "probability", digits=4),
        Column("groups", plural(level), "count"),
    ]
    if len(rows) < 2:
        columns = [column for column in columns if column.key != "p_holm"]
        rows = tuple({key: cell for key, cell in row.items() if key != "p_holm"} for row in rows)
    title = " ".join(filter(None, ("paired comparison", what, comparisons[0].scope)))
    return Table("comparison", title, tuple(columns), rows, _notes(comparisons, run, corrected.tests))


def scope_notes(comparisons: Sequence[Comparison]) -> list[str]:
    """Say on which cases systems were compared, where not on all, and which runs lack the others."""
    scope = comparisons[0].scope
    return [*([f"compared only {scope}"] if scope else []), *comparisons[0].notes]


def direction_notes(measures: Sequence[Measure]) -> list[str]:
    """Say where a negative difference is a good one."""
    names = [measure.name.replace("_", " ") for measure in dict.fromkeys(measures) if measure.direction == "down"]
    return [f"{', '.join(names)}: lower is better, so that A - B below 0 speaks for A"] if names else []


def qualified(notes: Sequence[tuple[Measure, Sequence[str]]]) -> list[str]:
    """Say every note once, behind the names of the measures that it holds for, unless it holds for all."""
    found: dict[str, list[str]] = {}
    for measure, texts in notes:
        for text in texts:
            found.setdefault(text, []).append(measure.name.replace("_", " "))
    every = len({measure.name for measure, _ in notes})
    whose = ((text, list(dict.fromkeys(names))) for text, names in found.items())
    return [text if len(names) == every else f"{', '.join(names)}: {text}" for text, names in whose]


def _notes(comparisons: Sequence[Comparison], run: Run, tests: int) -> tuple[str, ...]:
    level, coverage = run.roster.level, run.plan.level
    tested = [item.result for item in comparisons if item.result.p is not None]
    how = "all swaps enumerated" if all(result.exact for result in tested) else "random swaps"
    lines = scope_notes(comparisons)
    if any(item.result.low is not None for item in comparisons):
        lines.append(f"[low, high]: {100 * coverage:g}% jackknife-t interval of the difference over {plural(level)}")
    lines += direction_notes([item.measure for item in comparisons])
    if tested:
        lines.append(f"p: two-sided swap test, tallies of A and B exchanged per {level} ({how})")
    if len(comparisons) > 1 and tested:
        one = f"p (Holm): p corrected for the {tests} {plural('test', tests)} of this table, taken as one family"
        lines.append(f"{one}; judge by this one")
    lines += [
        f"interval {why}" for why in dict.fromkeys(i.result.interval_why for i in comparisons) if why.startswith("un")
    ]
    lines += qualified([(item.measure, item.result.notes) for item in comparisons])
    return (*lines, *_at_odds(comparisons, level, round(1 - coverage, 12)))


def _at_odds(comparisons: Sequence[Comparison], level: str, alpha: float) -> list[str]:
    """Name comparisons whose interval and p do not say the same, and what each of them asks.

    Where no swap could give a small p, that is said elsewhere.
    """
    found: dict[bool, list[str]] = {True: [], False: []}
    for item in comparisons:
        result = item.result
        if result.low is None or result.high is None or result.p is None or (result.smallest_p or 0) > alpha:
            continue
        without = not result.low <= 0 <= result.high
        if without != (result.p <= alpha):
            found[without].append(f"{item.a} and {item.b} ({item.measure.name.replace('_', ' ')})")
    asked = f"the interval asks how far the scores lie apart, p whether A and B could change places in every {level}"
    if found[True]:
        asked += "; systems of different kinds of errors cannot, and p is then on the large side"
    said = {
        True: f"the interval leaves out 0, yet p is above {alpha:g}",
        False: f"p is {alpha:g} or less, yet the interval holds 0",
    }
    lines = [f"{', '.join(names)}: {said[without]}" for without, names in found.items() if names]
    return [*lines, asked] if lines else []


def _difference(item: Comparison) -> Cell:
    found = item.result
    value, low, high = (shown(number, item.measure) for number in (found.difference, found.low, found.high))
    return Cell(value, low, high, found.why if found.difference is None else "", found.interval_why)


def with_best(table: Table, runs: Sequence[Run]) -> Table:
    """Mark in every column of a leaderboard the best system, if it can be told apart from the second.

    See :func:`told_apart`.
    """
    runs = align(runs).runs
    by_name = {measure.name: measure for measure in runs[0].measures}
    marked = [dict(row) for row in table.rows]
    for column in table.columns:
        winner = best(by_name[column.key], runs) if column.key in by_name else ""
        for row in marked:
            if winner and row["system"].value == winner:
                row[column.key] = replace(row[column.key], mark="best")
    notes = (
        (*table.notes, f"marked (*, bold): the best, and {TOLD}")
        if marked != [dict(row) for row in table.rows]
        else table.notes
    )
    return replace(table, rows=tuple(marked), notes=notes)


def best(measure: Measure, runs: Sequence[Run]) -> str:
    """Return the system that is distinguishably the best by a measure, or nothing; runs are over the same cases."""
    sign = 1.0 if measure.direction == "up" else -1.0
    scored = [(score.value, run) for run in runs if (score := run.find(measure.name)) and score.value is not None]
    if len(scored) < len(runs) or len(scored) < 2:
        return ""
    ordered = sorted(scored, key=lambda item: -sign * item[0])
    first, second = ordered[0][1], ordered[1][1]
    found = compare(measure, first.groups(measure), second.groups(measure))
    return first.system if told_apart(found) else ""


def told_apart(found: Paired) -> bool:
    """Say whether a difference is distinguishable from none: its interval does not hold 0, and p is below 0.05.

    Both are asked for: over a few groups an interval may miss 0 where no swap test can tell anything. Where there is no
    interval, p decides.
    """
    held = found.low is not None and found.high is not None and found.low <= 0 <= found.high
    return not held and found.p is not None and found.p < ALPHA
