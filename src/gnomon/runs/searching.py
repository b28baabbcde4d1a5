"""What a search found: every arm with its score, the best so far, and whether the winner beats the default.

The winner is the arm with the best score; of equal ones the default, else the first. It was chosen for its score on
these very cases, so that score is optimistic, the more the more arms there were; only a part that the search has not
seen can tell how good it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gnomon.core.errors import InputError, counted, plural
from gnomon.core.evidence import Finding
from gnomon.core.measure import Measure
from gnomon.core.systems import written
from gnomon.core.table import Cell, Column, Table, View, make_cells, text_columns
from gnomon.inference.multiplicity import Adjusted, holm
from gnomon.inference.paired import Paired
from gnomon.runs.arms import Arm, failures, no_ops, paired, said, settings
from gnomon.runs.comparison import is_significant
from gnomon.runs.tables import claims, column, interval_notes, part_of, shown, titled

SPARKS = "▁▂▃▄▅▆▇█"
MOST_SPARKS = 60


@dataclass(frozen=True)
class Search:
    """Arms in the order in which they were tried, the measure that decides, and the part they were scored on."""

    arms: tuple[Arm, ...]
    measure: Measure
    part: str

    @property
    def default(self) -> Arm:
        """The system as it was given."""
        return next(arm for arm in self.arms if arm.default)

    @property
    def ranked(self) -> list[Arm]:
        """Arms that have a score, the best first; of equal ones the default, then in the order of trial."""
        scored = [arm for arm in self.arms if arm.value(self.measure) is not None]
        return sorted(scored, key=lambda arm: (self._key(arm), not arm.default))

    @property
    def winner(self) -> Arm | None:
        """The best arm, if any has a score."""
        return next(iter(self.ranked), None)

    def rank(self, arm: Arm) -> int:
        """Return how many arms are better, plus one."""
        return 1 + sum(self._key(other) < self._key(arm) for other in self.ranked)

    def best_so_far(self) -> list[Arm | None]:
        """Return the best arm after each trial; None before the first score."""
        best: list[Arm | None] = []
        for arm in self.arms:
            last = best[-1] if best else None
            scored = arm.value(self.measure) is not None
            better = scored and (last is None or self._key(arm) < self._key(last))
            best.append(arm if better else last)
        return best

    def _key(self, arm: Arm) -> float:
        value = arm.value(self.measure)
        if value is None:
            raise InputError(f"{arm.name} has no {self.measure.name}")
        return self.measure.loss(value)


def items(search: Search) -> tuple[list[Table | View], list[Finding]]:
    """Return the tables and views of a search, and what was noticed."""
    winner, default = search.winner, search.default
    findings = list(no_ops(search.arms))
    shown_items: list[Table | View] = [_table(search, findings), _curve(search)]
    if winner is None or winner is default:
        return shown_items, findings
    others = [arm for arm in search.arms if arm is not default]
    tests = [paired(search.measure, arm, default) for arm in others]
    place, corrected = others.index(winner), holm([test.p for test in tests])
    found = tests[place]
    doubt = _doubt(search, winner, found, corrected.p[place])
    findings = [*doubt, *findings]
    return [*shown_items, _comparison(search, winner, found, corrected.p[place], corrected, doubt)], findings


def _table(search: Search, findings: Sequence[Finding]) -> Table:
    keys = list(dict.fromkeys(key for arm in search.arms for key in arm.setting))
    winner = search.winner
    rows = []
    for number, (arm, best) in enumerate(zip(search.arms, search.best_so_far(), strict=True), start=1):
        scored = arm.value(search.measure) is not None
        what = ["winner"] * (arm is winner) + ["default"] * arm.default
        rows.append(
            {
                "arm": Cell(number),
                **{key: Cell(written(arm.setting[key]) if key in arm.setting else "") for key in keys},
                "score": arm.cell(search.measure),
                "best": _number(best, search.measure),
                "rank": Cell(search.rank(arm)) if scored else Cell(""),
                "which": Cell(", ".join(what)),
            }
        )
    scores = column(search.measure)
    columns = (
        Column("arm", "arm", "count"),
        *(Column(key, key) for key in keys),
        Column("score", scores.title, "score", scores.unit, scores.direction, scores.digits),
        Column("best", "best so far", "number", digits=scores.digits),
        Column("rank", "rank", "count"),
        Column("which", ""),
    )
    run = search.arms[0].run
    title = f"{run.suite}: search of {search.default.run.manifest['system']} by {titled(search.measure)}"
    return Table("search", title + part_of(run), columns, tuple(rows), _notes(search, findings))


def _notes(search: Search, findings: Sequence[Finding]) -> tuple[str, ...]:
    run, winner, count = search.default.run, search.winner, len(search.arms)
    lines = [*interval_notes(run, [arm.run.find(search.measure.name) for arm in search.arms if not arm.failure])]
    if winner is None:
        lines.append("no arm has a score: nothing is chosen")
    elif winner is search.default:
        lines.append(
            f"no arm is better than the default, of {counted(count, 'arm')} on the {search.part} part: keep it"
        )
    else:
        lines.append(
            f"the winner is the best of {counted(count, 'arm')} on these very cases, so its score here is optimistic"
        )
    return (*lines, *failures(search.arms), *said(findings), *claims([run]))


def _number(arm: Arm | None, measure: Measure) -> Cell:
    value = None if arm is None else shown(arm.value(measure), measure)
    return Cell("") if value is None else Cell(value)


def _curve(search: Search) -> View:
    """Return the best so far after each arm: as numbers, and drawn for those who read text."""
    best = search.best_so_far()
    values = [None if arm is None else shown(arm.value(search.measure), search.measure) for arm in best]
    steps = [arm for at, arm in enumerate(best) if arm is not None and (not at or arm is not best[at - 1])]
    digits = column(search.measure).digits
    width = max((len(arm.name) for arm in steps), default=0)
    lines = [f"  {sparks(values, search.measure.direction)}"] if steps else []
    for arm in steps:
        what = "  default" * arm.default + "  winner" * (arm is search.winner)
        value = shown(arm.value(search.measure), search.measure)
        lines.append(f"  {arm.name:<{width}}  {value:.{digits}f}  {settings(arm.setting)}{what}".rstrip())
    data = {
        "lines": lines,
        "x": [arm.name for arm in search.arms],
        "y": values,
        "x_title": "arm",
        "y_title": titled(search.measure),
        "direction": search.measure.direction,
    }
    return View("best_so_far", f"best {titled(search.measure)} so far, over {len(best)} arms", "lines", data)


def sparks(values: Sequence[float | None], direction: str) -> str:
    """Draw a curve in one line, higher is better; of many values the last of each stretch is drawn.

    >>> sparks([0.1, 0.1, 0.5, 0.8], "up"), sparks([3.0, 2.0], "down"), sparks([None, 1.0], "up")
    ('▁▁▅█', '▁█', ' █')
    """
    known = [value for value in values if value is not None]
    worst, best = (min(known), max(known)) if direction == "up" else (max(known), min(known))
    step = max(1, -(-len(values) // MOST_SPARKS))
    drawn = [values[min(at + step, len(values)) - 1] for at in range(0, len(values), step)]
    top = len(SPARKS) - 1
    levels = [None if v is None else top if best == worst else round(top * (v - worst) / (best - worst)) for v in drawn]
    return "".join(" " if level is None else SPARKS[level] for level in levels)


def _doubt(search: Search, winner: Arm, found: Paired, p: float | None) -> list[Finding]:
    """Warn of a winner that is not significantly better than the default; p is corrected for the choice."""
    if is_significant(found, p):
        return []
    run, measure = search.default.run, search.measure
    level = plural(run.roster.level, found.groups)
    if found.difference is None:
        text = f"{winner} cannot be compared with the default: {found.why}"
    else:
        low, high = shown(found.low, measure), shown(found.high, measure)
        held = low is not None and high is not None and low <= 0 <= high
        span = f"the interval [{low:.3g}, {high:.3g}] holds 0" if held else found.why or f"p (Holm) is {p:.3g}"
        difference = shown(found.difference, measure)
        text = f"{winner} minus the default is {difference:.3g}, over {found.groups} {level}: {span}"
    remedy = f"keep the default, or search with more {plural(run.roster.level)} in the {search.part} part"
    return [Finding("winner-not-distinguishable", "warning", measure.name, text, remedy)]


def _comparison(
    search: Search, winner: Arm, found: Paired, p: float | None, corrected: Adjusted, doubt: Sequence[Finding]
) -> Table:
    measure, run = search.measure, search.default.run
    level = run.roster.level
    low, high = (shown(edge, measure) for edge in (found.low, found.high))
    row = {
        **make_cells(measure=titled(measure), winner=str(winner), default=str(search.default)),
        "difference": Cell(shown(found.difference, measure), low, high, found.why, found.interval_why),
        "p": Cell(found.p, why=found.why),
        "p_holm": Cell(p, why=found.why),
        "groups": Cell(found.groups),
    }
    columns = (
        *text_columns(measure="measure", winner="winner", default="default"),
        Column("difference", "winner - default", "score", digits=column(measure).digits),
        Column("p", "p", "probability", digits=4),
        Column("p_holm", "p (Holm)", "probability", digits=4),
        Column("groups", plural(level), "count"),
    )
    notes = []
    if found.low is not None:
        notes.append(
            f"[low, high]: {100 * run.plan.level:g}% jackknife-t interval of the difference over {plural(level)}"
        )
    notes.append(f"p: two-sided swap test per {level}")
    notes.append(
        f"p (Holm): p corrected for {counted(corrected.tests, 'comparison')} of an arm with the default, since the "
        "winner was chosen by its score; judge by this one"
    )
    notes += [*found.notes, *said(doubt)]
    return Table("winner", "the winner against the default", columns, (row,), tuple(notes))
