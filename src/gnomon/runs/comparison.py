"""Comparing runs that were scored on the same data, case by case: who differs from whom, by how much, how surely."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from gnomon.core.errors import InputError, plural, some
from gnomon.core.measure import Measure, find_measure
from gnomon.core.table import Cell, Column, Table, make_cells, text_columns
from gnomon.inference.intervals import Groups
from gnomon.inference.multiplicity import holm
from gnomon.inference.paired import Paired, compare
from gnomon.runs.alignment import Aligned, NothingCommonError, align, comparable, have_same_coverage
from gnomon.runs.run import Run
from gnomon.runs.tables import NO_BETTER, ranked, shown, titled

ALPHA = 0.05
BETTER = f"significantly better than every other system (Holm over all pairs, p < {ALPHA})"
"""What the best must be before it is marked."""
LEGEND = f"* {BETTER}, and no interval of a difference holds 0"
"""The note under a table with a marked system."""
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
    """Where runs lack cases, compare every pair on the cases that all runs scored, not on those that the two scored."""
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
    adjusted: float | None = None
    """p after Holm, for the ``tests`` that it was corrected for; 0 tests: not corrected yet."""
    tests: int = 0


class Contest:
    """Runs of one ground, compared pair by pair on the cases that both of a pair scored; results are kept.

    ``same_cases`` says that the runs were aligned before.
    """

    def __init__(self, runs: Sequence[Run], *, same_cases: bool = False) -> None:
        comparable(runs)
        self.runs = tuple(runs)
        self._same_cases = same_cases
        self._aligned: dict[tuple[int, int], Aligned | str] = {}
        self._groups: dict[tuple[int, Measure], Groups] = {}
        self._found: dict[tuple[int, int, Measure], Paired] = {}

    def aligned(self, a: int, b: int) -> Aligned | str:
        """Return two runs on the cases that both scored, or why there are none."""
        if (a, b) not in self._aligned:
            pair = self.runs[a], self.runs[b]
            try:
                self._aligned[a, b] = Aligned(pair) if self._same_cases else align(pair)
            except NothingCommonError as error:
                self._aligned[a, b] = f"undefined ({error})"
        return self._aligned[a, b]

    def sides(self, measure: Measure, a: int, b: int) -> tuple[Groups, Groups] | None:
        """Return the groups of two runs on the cases that both scored; None where there are none."""
        found = self.aligned(a, b)
        if isinstance(found, str):
            return None
        left, right = (self._of(run, measure) for run in found.runs)
        return left, right

    def _of(self, run: Run, measure: Measure) -> Groups:
        key = id(run), measure  # runs are kept in _aligned, so that no id is given twice
        if key not in self._groups:
            self._groups[key] = run.groups(measure)
        return self._groups[key]

    def paired(self, measure: Measure, a: int, b: int) -> Paired:
        """Compare two runs, given by their places."""
        key = (a, b, measure)
        if key not in self._found:
            sides = self.sides(measure, a, b)
            why = self.aligned(a, b)
            undefined = Paired(None, None, None, None, 0, False, None, why if isinstance(why, str) else "")
            self._found[key] = undefined if sides is None else compare(measure, *sides)
        return self._found[key]

    def comparison(self, measure: Measure, a: int, b: int, *, tested: bool = True) -> Comparison:
        """Return the comparison of two runs with the cases that it rests on."""
        found = self.aligned(a, b)
        scope, notes = ("", ()) if isinstance(found, str) else (found.scope, found.notes)
        result = self.paired(measure, a, b) if tested else UNTESTED
        names = self.runs[a].system, self.runs[b].system
        return Comparison(*names, measure, result, self.sides(measure, a, b), scope, notes)

    def winner(self, measure: Measure) -> str:
        """Return the system that is significantly better than every other by a measure, or nothing.

        The best was chosen by its score. Each of its p-values is therefore corrected after Holm over all pairs of
        systems: whichever system had come out best, its tests would be among them. Scores over different cases have no
        winner, although the systems can be compared on the cases that both scored. Signed errors have none either: a
        difference of two of them does not say which is nearer to 0.
        """
        if not measure.direction or not have_same_coverage(self.runs):
            return ""
        values = [None if (score := run.find(measure.name)) is None else score.value for run in self.runs]
        known = [value for value in values if value is not None]
        if len(known) < len(values) or len(known) < 2:
            return ""
        sign = 1.0 if measure.direction == "up" else -1.0
        first = min(range(len(known)), key=lambda place: measure.loss(known[place]))
        own = [(min(first, other), max(first, other)) for other in range(len(known)) if other != first]
        ahead = {pair: sign if pair[0] == first else -sign for pair in own}
        found = {pair: self.paired(measure, *pair) for pair in own}
        if not all((one.difference or 0.0) * ahead[pair] > 0 for pair, one in found.items()):
            return ""
        if not all(is_significant(one, one.p) for one in found.values()):  # corrected, p is not smaller
            return ""
        pairs = list(combinations(range(len(known)), 2))
        corrected = holm([self.paired(measure, *pair).p for pair in pairs])
        adjusted = dict(zip(pairs, corrected.p, strict=True))
        return self.runs[first].system if all(is_significant(found[pair], adjusted[pair]) for pair in own) else ""

    @property
    def scope_notes(self) -> list[str]:
        """Say on which cases pairs were compared, where not on all."""
        found = [one.notes for one in self._aligned.values() if isinstance(one, Aligned)]
        return list(dict.fromkeys(note for notes in found for note in notes))


def compare_runs(runs: Sequence[Run], asked: Asked | None = None) -> list[Comparison]:
    """Compare the best run with every other by the headline, or as asked.

    Where the best is compared, p-values are corrected for all pairs of systems, since it was chosen by its score.
    """
    asked = asked or Asked()
    if len(runs) < 2:
        raise InputError(f"expected at least two runs to compare, but got {len(runs)}")
    shared = align(runs) if asked.common else Aligned(tuple(runs))
    ordered = ranked(shared.runs)
    contest = Contest(ordered, same_cases=asked.common)
    pairs = pairings([(run.system, str(run.manifest["system"])) for run in ordered], asked)
    planned = pairs if asked.against or asked.all_pairs else list(combinations(range(len(ordered)), 2))
    found: list[Comparison] = []
    family: list[float | None] = []
    for measure in chosen(ordered[0], asked.measures):
        answered = [(score := run.find(measure.name)) is not None and score.n > 0 for run in ordered]
        both = [pair for pair in pairs if answered[pair[0]] and answered[pair[1]]]
        for pair in pairs if asked.measures or asked.against else both or pairs:
            item = contest.comparison(measure, *pair, tested=asked.tested)
            found.append(replace(item, scope=shared.scope, notes=shared.notes) if shared.scope else item)
        family += [contest.paired(measure, *pair).p for pair in planned] if asked.tested else []
    return with_holm(found, family) if asked.tested else found


def with_holm(shown: Sequence[Comparison], family: Sequence[float | None] = ()) -> list[Comparison]:
    """Correct p-values after Holm for all tests of a family, which holds all that are shown; default: just those."""
    tests = list(family) or [item.result.p for item in shown]
    by_p = dict(zip(tests, holm(tests).p, strict=True))
    count = sum(p is not None for p in tests)
    return [replace(item, adjusted=by_p[item.result.p], tests=count) for item in shown]


def is_significant(found: Paired, p: float | None) -> bool:
    """Say whether a difference is significant: p is below 0.05, and the interval of the difference does not hold 0.

    ``p`` is the corrected one where several were tested. Where there is no interval, p decides.
    """
    held = found.low is not None and found.high is not None and found.low <= 0 <= found.high
    return not held and p is not None and p < ALPHA


def chosen(run: Run, names: Sequence[str]) -> list[Measure]:
    """Return the measures of these names; without any, the first that can be computed from what the run holds."""
    found = {measure.name: measure for measure in (find_measure(run.measures, name) for name in names)}
    return list(found.values()) or [run.computable[0]]


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

    Several p-values are also corrected: as :func:`compare_runs` did, else all rows of the table as one family.
    """
    level = run.roster.level
    comparisons = comparisons if any(item.tests for item in comparisons) else with_holm(comparisons)
    tests = max(item.tests for item in comparisons)
    rows = tuple(
        {
            **make_cells(measure=titled(item.measure), a=item.a, b=item.b),
            "difference": _difference(item),
            "p": Cell(item.result.p, why=item.result.why),
            "p_holm": Cell(item.adjusted, why=item.result.why),
            "groups": Cell(item.result.groups),
        }
        for item in comparisons
    )
    columns = [
        *text_columns(measure="measure", a="A", b="B"),
        Column("difference", "A - B", "score"),
        Column("p", "p", "probability", digits=4),
        Column("p_holm", "p (Holm)", "probability", digits=4),
        Column("groups", plural(level), "count"),
    ]
    if len(rows) < 2 and tests < 2:
        columns = [column for column in columns if column.key != "p_holm"]
        rows = tuple({key: cell for key, cell in row.items() if key != "p_holm"} for row in rows)
    title = " ".join(filter(None, ("paired comparison", what, common_scope(comparisons))))
    return Table("comparison", title, tuple(columns), rows, _notes(comparisons, run, tests))


def common_scope(comparisons: Sequence[Comparison]) -> str:
    """Return on which cases systems were compared, where that is the same in all rows."""
    scopes = {item.scope for item in comparisons}
    return scopes.pop() if len(scopes) == 1 else ""


def scope_notes(comparisons: Sequence[Comparison]) -> list[str]:
    """Say on which cases systems were compared, where not on all, and which runs lack the others."""
    found: dict[str, list[str]] = {}
    for item in comparisons:
        for note in item.notes:
            found.setdefault(note, []).append(f"{item.a} and {item.b}")
    rows = {f"{item.a} and {item.b}" for item in comparisons}
    whose = ((note, list(dict.fromkeys(pairs))) for note, pairs in found.items())
    return [note if len(pairs) == len(rows) else f"{', '.join(pairs)}: {note}" for note, pairs in whose]


def direction_notes(measures: Sequence[Measure]) -> list[str]:
    """Say where a negative difference is a good one, and where its sign says nothing."""
    lines = []
    told = {
        "down": "lower is better, so that A - B below 0 speaks for A",
        "": f"{NO_BETTER}, so that A - B speaks for neither",
    }
    for direction, said in told.items():
        own = [measure for measure in dict.fromkeys(measures) if measure.direction == direction]
        lines += [f"{', '.join(measure.name.replace('_', ' ') for measure in own)}: {said}"] if own else []
    return lines


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
    first = run.measures[0]
    if not first.computable:
        lines.append(f"not compared by {first.name}, a user's own metric: name its class in --metrics to compare by it")
    if any(item.result.low is not None for item in comparisons):
        lines.append(f"[low, high]: {100 * coverage:g}% jackknife-t interval of the difference over {plural(level)}")
    lines += direction_notes([item.measure for item in comparisons])
    if tested:
        lines.append(f"p: two-sided swap test, tallies of A and B exchanged per {level} ({how})")
    if (len(comparisons) > 1 or tests > 1) and tested:
        lines.append(f"p (Holm): p corrected for {_family(comparisons, tests)}; judge by this one")
    lines += [
        f"interval {why}" for why in dict.fromkeys(i.result.interval_why for i in comparisons) if why.startswith("un")
    ]
    lines += qualified([(item.measure, item.result.notes) for item in comparisons])
    return (*lines, *_at_odds(comparisons, level, round(1 - coverage, 12)))


def _family(comparisons: Sequence[Comparison], tests: int) -> str:
    """Say which tests p-values were corrected for."""
    if tests > sum(item.result.p is not None for item in comparisons):
        several = " and measures" if len({item.measure for item in comparisons}) > 1 else ""
        return f"all {tests} pairs of systems{several}, since the best was chosen by its score"
    return f"the {tests} {plural('test', tests)} of this table, taken as one family"


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
    """Mark in every column of a leaderboard the system that is significantly better than every other, if there is one.

    See :meth:`Contest.winner`.
    """
    contest = Contest(runs)
    by_name = {measure.name: measure for measure in runs[0].measures}
    marked = [dict(row) for row in table.rows]
    for column in table.columns:
        measure = by_name.get(column.key)
        winner = contest.winner(measure) if measure and measure.computable else ""
        for row in marked:
            if winner and row["system"].value == winner:
                row[column.key] = replace(row[column.key], mark="best")
    if not any(cell.mark == "best" for row in marked for cell in row.values()):
        return table
    return replace(table, rows=tuple(marked), notes=(*table.notes, LEGEND, *contest.scope_notes))
