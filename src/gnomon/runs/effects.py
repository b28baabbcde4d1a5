"""What each group by itself says of two systems: size of the difference, who wins how often, classical tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gnomon.core.errors import plural
from gnomon.core.table import Cell, Column, Table, make_cells, text_columns
from gnomon.inference.classical import paired_t, signed_rank
from gnomon.inference.effects import Effect, detectable_difference, effects
from gnomon.inference.intervals import same
from gnomon.inference.pairs import Pairs, pair_scores
from gnomon.runs.comparison import Comparison, common_scope, direction_notes
from gnomon.runs.run import Run
from gnomon.runs.tables import each_notes, shown, titled

POWER = 0.8
"""The chance of finding the smallest detectable difference."""
NO_SPREAD = "undefined (no spread)"
NO_DIFFERENCE = "undefined (no difference)"
COLUMNS = (
    *text_columns(measure="measure", a="A", b="B"),
    Column("mean_difference", "mean A - B", "number"),
    Column("d_z", "d_z", "number", digits=2),
    Column("rank_biserial", "rank corr.", "number", digits=2),
    Column("win_rate", "win rate", "number", digits=2),
    Column("wins", "won/ tied/ lost"),
    Column("t_p", "t test p", "probability", digits=4),
    Column("wilcoxon_p", "Wilcoxon p", "probability", digits=4),
    Column("detectable", "80% power", "number"),
)


def effects_table(comparisons: Sequence[Comparison], run: Run) -> Table:
    """Show what single groups say of the same comparisons; ``run`` is any of those compared.

    One measure is named in the title, several in a column. Systems without a common case have no row.
    """
    rows, remarks = [], []
    for item in comparisons:
        if item.sides is None:
            continue
        row, said = _row(item, run.plan.level)
        rows.append(row)
        remarks += said
    measures = list(dict.fromkeys(item.measure for item in comparisons))
    several = len(measures) > 1
    title = " ".join(filter(None, ("per-group evidence", common_scope(comparisons))))
    title += "" if several else f": {titled(measures[0])}"
    single = each_notes(measures, run.roster.level)
    notes = (*_explained(run), *single, *direction_notes(measures), *dict.fromkeys(remarks))
    return Table("effects", title, COLUMNS if several else COLUMNS[1:], tuple(rows), notes)


def _row(item: Comparison, level: float) -> tuple[dict[str, Cell], list[str]]:
    """Return the row of one comparison, and what qualifies it."""
    if item.sides is None:
        raise ValueError("a comparison over several datasets has no groups of its own")
    pairs = pair_scores(item.measure, *item.sides)
    t, ranks = paired_t(pairs, level), signed_rank(pairs)
    size, biserial, rate = effects(pairs)
    least = detectable_difference(item.measure, *item.sides, power=POWER, alpha=round(1 - level, 12))
    mean, smallest = shown(t.difference, item.measure), shown(least.value, item.measure)
    row = {
        **make_cells(measure=titled(item.measure), a=item.a, b=item.b),
        "mean_difference": Cell(mean, why="" if mean is not None else t.why),
        "d_z": _cell(size.value, size.why, pairs, NO_SPREAD),
        "rank_biserial": _cell(biserial.value, biserial.why, pairs, NO_DIFFERENCE),
        "win_rate": Cell(rate.value, why=rate.why),
        "wins": _wins(pairs, rate),
        "t_p": _cell(t.p, t.why, pairs, NO_SPREAD),
        "wilcoxon_p": _cell(ranks.p, ranks.why, pairs, NO_DIFFERENCE),
        "detectable": Cell(smallest, why=NO_SPREAD if least.why == same(item.sides[0]) else least.why),
    }
    said = [*(f"t test: {note}" for note in t.notes), *(f"Wilcoxon: {note}" for note in ranks.notes), *least.notes]
    if pairs.left_out:
        name = item.measure.name.replace("_", " ")
        said.append(f"{item.a} and {item.b}, {name}: {pairs.name(pairs.left_out)} without a score of both left out")
    if NO_SPREAD in (row["d_z"].why, row["detectable"].why):
        said.append(f"no spread: A - B is the same on every {pairs.level}, or whichever is left out")
    return row, said


def _cell(value: float | None, why: str, pairs: Pairs, short: str) -> Cell:
    """Return a cell; with enough groups there is only one thing that can be wrong, and it has a short name."""
    return Cell(value, why=short if value is None and pairs.n > 1 else why)


def _wins(pairs: Pairs, rate: Effect) -> Cell:
    if rate.value is None:
        return Cell(None, why=rate.why)
    signs = np.sign(pairs.differences) * (1 if pairs.direction == "up" else -1)
    return Cell("/".join(str(int((signs == side).sum())) for side in (1, 0, -1)))


def _explained(run: Run) -> list[str]:
    """Say what every column is, in one line each."""
    level, coverage = run.roster.level, run.plan.level
    many = plural(level)
    return [
        f"mean A - B: mean of the differences on single {many}, each counting the same; "
        "the paired comparison has the difference of the pooled scores instead",
        f"d_z: mean A - B in standard deviations of the differences of single {many}",
        f"rank corr.: rank-biserial correlation of matched pairs; 1: A is higher on all {many} that differ, -1: B is",
        f"win rate: share of {many} on which A is better, a tie counting half; won/tied/lost: how many {many}",
        f"t test p, Wilcoxon p: paired t and signed-rank test of single {many}; not corrected for the number of rows",
        f"80% power: the smallest true difference of the pooled scores that a test at {1 - coverage:.3g} over so many "
        f"{many} finds with {100 * POWER:g}% power",
    ]
