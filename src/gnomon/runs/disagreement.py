"""Where runs disagree: the difference of every case, and the units that two systems answer differently."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.core.errors import InputError
from gnomon.core.measure import Measure
from gnomon.core.table import Cell, Column, Table, View
from gnomon.intake.limits import MIB, RUN
from gnomon.intake.tables import read_table
from gnomon.runs.pictures import case_scores
from gnomon.runs.run import Run
from gnomon.runs.tables import NO_BETTER, column, each_notes, titled

if TYPE_CHECKING:
    import pyarrow as pa

MOST_CASES = 200
MOST_PAIRS = 40
MOST_UNITS = 5_000_000
"""Above this many units two systems are not compared unit by unit."""
LIMITS = replace(RUN, max_decoded_bytes=256 * MIB)
"""Above this many bytes neither."""
UNIT = ("metric", "dataset", "task", "id", "sample")
"""Columns that name a unit, as far as they are there; a unit needs the last but one or the last."""
ANSWER = ("label", "prediction")


def by_case(a: Run, b: Run, measure: Measure) -> tuple[Table, View] | None:
    """Return A - B of every case that both scored, the largest first, as a table and as points.

    None where the measure has no scores of single cases, or no case is scored by both.
    """
    mine, other = case_scores(a, measure), case_scores(b, measure)
    cases = [case for case in mine if case in other]
    if not cases:
        return None
    groups = dict(zip(a.roster.ids, a.roster.groups, strict=True))
    apart = {case: mine[case] - other[case] for case in cases}
    sign = {"up": 1.0, "down": -1.0, "": 0.0}[measure.direction]
    won = sum(1 for value in apart.values() if (sign or 1.0) * value > 0)
    lost = sum(1 for value in apart.values() if (sign or 1.0) * value < 0)
    ahead = "better" if sign else "higher"
    told = f"{a.system} is {ahead} in {won:,} cases, {b.system} in {lost:,}, equal in {len(cases) - won - lost:,}"
    told += "" if sign else f"; {NO_BETTER}"
    ordered = sorted(cases, key=lambda case: (-abs(apart[case]), case))
    own = column(measure)
    columns = (
        Column("case", "case"),
        Column("group", a.roster.level),
        Column("a", a.system, "number", own.unit, measure.direction, own.digits),
        Column("b", b.system, "number", own.unit, measure.direction, own.digits),
        Column("difference", "A - B", "number", own.unit, "", own.digits),
        Column("better", "better"),
    )
    rows = tuple(
        {
            "case": Cell(case),
            "group": Cell(groups[case]),
            "a": Cell(mine[case]),
            "b": Cell(other[case]),
            "difference": Cell(apart[case]),
            "better": Cell(_better(sign * apart[case], a.system, b.system) if sign else ""),
        }
        for case in ordered[:MOST_CASES]
    )
    notes = [told, "each case scored by itself; the largest difference first", *each_notes([measure], "case")]
    if len(cases) > MOST_CASES:
        notes.append(f"the first {MOST_CASES} of {len(cases):,} cases")
    title = f"difference of every case, {titled(measure)}: A {a.system}, B {b.system}"
    name = f"{a.system} - {b.system}"
    points = [{"system": name, "case": c, "group": groups[c], "value": apart[c]} for c in ordered[:2_000]]
    mean = [{"system": name, "value": math.fsum(apart.values()) / len(apart)}]
    data = {
        "measure": f"{titled(measure)}, A - B",
        "unit": own.unit,
        "direction": measure.direction,
        "digits": own.digits,
        "points": points,
        "means": mean,
    }
    return Table("differences", title, columns, rows, tuple(notes)), View("differences", title, "strips", data, (told,))


def by_unit(a: Run, b: Run) -> Table | None:
    """Return how often two systems answered the same unit differently, by what they answered and what is true."""
    mine, other = _answers(a.path), _answers(b.path)
    if mine is None or other is None or mine[1] != other[1]:
        return None
    unit = list(mine[1])
    joined = mine[0].join(other[0].drop_columns("truth"), keys=unit, join_type="inner", right_suffix="_b")
    if not joined.num_rows:
        return None
    pairs = joined.group_by(["answer", "answer_b", "truth"]).aggregate([([], "count_all")]).to_pylist()
    counts = {(p["answer"], p["answer_b"], p["truth"]): p["count_all"] for p in pairs if p["answer"] != p["answer_b"]}
    known = any(pair["truth"] for pair in pairs)
    differing = sum(counts.values())
    columns = (
        Column("a", f"A {a.system}"),
        Column("b", f"B {b.system}"),
        *((Column("truth", "true"), Column("right", "right")) if known else ()),
        Column("n", "units", "count"),
    )
    rows = []
    for (left, right, truth), n in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MOST_PAIRS]:
        cells = {"a": Cell(left or "(none)"), "b": Cell(right or "(none)"), "n": Cell(n)}
        if known:
            who = "A" if left == truth else "B" if right == truth else "neither"
            cells |= {"truth": Cell(truth), "right": Cell(who)}
        rows.append(cells)
    share = 100 * differing / joined.num_rows
    notes = [f"{differing:,} of {joined.num_rows:,} units are answered differently ({share:.1f}%)"]
    if len(counts) > MOST_PAIRS:
        notes.append(f"the {MOST_PAIRS} most frequent of {len(counts):,} pairs")
    return Table("disagreement", "where they disagree, unit by unit", columns, tuple(rows), tuple(notes))


def _better(gain: float, a: str, b: str) -> str:
    return "equal" if gain == 0 else a if gain > 0 else b


def _answers(path: Path | None) -> tuple[pa.Table, tuple[str, ...]] | None:
    """Return units with their answers and, where it is known, their truth; None where a run holds no such table."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from gnomon.intake.columnar import read_schema

    file = None if path is None else path / "predictions.parquet"
    if file is None or not file.is_file():
        return None
    try:
        if read_schema(file, LIMITS.raised())[1] > MOST_UNITS:
            return None
        table = read_table(file, limits=LIMITS)
    except InputError:  # what was scored is no table of answers, such as boxes
        return None
    unit = tuple(name for name in UNIT if name in table.column_names)
    answer = next((name for name in ANSWER if name in table.column_names), None)
    if answer is None or not {"id", "sample"} & set(unit):
        return None
    kept = {name: pc.cast(table[name], pa.string()) for name in unit}
    empty = pa.nulls(table.num_rows, pa.string())
    kept["answer"] = pc.fill_null(pc.cast(table[answer], pa.string()), "")
    kept["truth"] = pc.fill_null(pc.cast(table["truth"], pa.string()) if "truth" in table.column_names else empty, "")
    return pa.table(kept), unit
