"""What an ablation found: the full system, and what is lost when one switch at a time is off.

Differences are configuration minus Full: a useful part has a negative one where higher is better. Scores from 0 to 1
differ in points, hundredths of the whole; others in the unit that they are shown in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gnomon.core.errors import plural
from gnomon.core.evidence import Finding
from gnomon.core.measure import Measure
from gnomon.core.table import Cell, Column, Table
from gnomon.inference.multiplicity import holm
from gnomon.inference.paired import Paired
from gnomon.runs.arms import Arm, failures, no_ops, paired, said
from gnomon.runs.tables import claims, column, interval_notes, part_of, titled

FULL = "Full"


@dataclass(frozen=True)
class Ablation:
    """The full system, the arms with one switch off each, and the measure that is shown."""

    full: Arm
    arms: tuple[Arm, ...]
    measure: Measure


def items(ablation: Ablation) -> tuple[list[Table], list[Finding]]:
    """Return the table of an ablation, and what was noticed."""
    findings = list(no_ops((ablation.full, *ablation.arms)))
    return [_table(ablation, findings)], findings


def points(measure: Measure) -> tuple[float, str, int]:
    """Return the factor, the unit and the digits that differences of a measure are shown with."""
    if measure.shown is not None:
        return measure.shown.factor, measure.shown.unit or "points", measure.shown.digits
    if measure.unit:
        return 1.0, measure.unit, 3
    return (100.0, "points", 2) if measure.bounds == (0.0, 1.0) else (1.0, "", 3)


def _table(ablation: Ablation, findings: Sequence[Finding]) -> Table:
    measure, run = ablation.measure, ablation.full.run
    found = [paired(measure, arm, ablation.full) for arm in ablation.arms]
    corrected = holm([item.p for item in found]).p
    _, unit, digits = points(measure)
    rows = [{"configuration": Cell(FULL), "score": ablation.full.cell(measure)}]
    rows[0] |= {key: Cell("") for key in ("difference", "p", "groups")}
    for arm, item, p in zip(ablation.arms, found, corrected, strict=True):
        rows.append(
            {
                "configuration": Cell(arm.name),
                "score": arm.cell(measure),
                "difference": _difference(item, measure),
                "p": Cell(p, why=item.why),
                "groups": Cell(item.groups),
            }
        )
    scores, many = column(measure), len(found) > 1
    columns = (
        Column("configuration", "configuration"),
        Column("score", scores.title, "score", scores.unit, scores.direction, scores.digits),
        Column("difference", "difference", "score", unit, digits=digits),
        Column("p", "p (Holm)" if many else "p", "probability", digits=4),
        Column("groups", plural(run.roster.level), "count"),
    )
    title = f"{run.suite}: ablation of {run.manifest['system']} by {titled(measure)}"
    return Table("ablation", title + part_of(run), columns, tuple(rows), _notes(ablation, found, findings))


def _difference(found: Paired, measure: Measure) -> Cell:
    factor = points(measure)[0]
    value, low, high = (None if v is None else factor * v for v in (found.difference, found.low, found.high))
    return Cell(value, low, high, found.why, found.interval_why)


def _notes(ablation: Ablation, found: Sequence[Paired], findings: Sequence[Finding]) -> tuple[str, ...]:
    run = ablation.full.run
    level = run.roster.level
    complete = [arm for arm in (ablation.full, *ablation.arms) if not arm.failure]
    lines = list(interval_notes(run, [arm.run.find(ablation.measure.name) for arm in complete]))
    span = f", with its {100 * run.plan.level:g}% jackknife-t interval" if any(i.low is not None for i in found) else ""
    lines.append(f"difference: configuration minus {FULL}, paired over {plural(level)}{span}")
    holm_said = f", corrected after Holm for {len(found)} rows" if len(found) > 1 else ""
    lines.append(f"p: two-sided swap test per {level}{holm_said}")
    lines += dict.fromkeys(note for item in found for note in item.notes)
    return (*lines, *failures((ablation.full, *ablation.arms)), *said(findings), *claims([run]))
