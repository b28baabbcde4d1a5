"""Average ranks of systems over datasets, as tables: whether they differ at all, and who cannot be told apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gnomon.core.errors import counted
from gnomon.core.measure import Measure
from gnomon.core.table import Cell, Column, Table, make_cells
from gnomon.inference.friedman import Ranking
from gnomon.runs.tables import titled


def rank_tables(rankings: Sequence[tuple[Measure, Ranking]]) -> list[Table]:
    """Show whether systems differ in rank at all, and which cannot be told apart."""
    tests: list[dict[str, Cell]] = []
    ranks: list[dict[str, Cell]] = []
    notes: list[str] = []
    for measure, found in rankings:
        later = "see chi2" if found.why else ""
        tests.append(
            {
                **make_cells(measure=titled(measure), systems=len(found.systems), datasets=found.datasets),
                "chi2": Cell(found.chi2, why=found.why),
                "p": Cell(found.p, why=later),
                "f": Cell(found.f, why=found.f_why or later),
                "f_p": Cell(found.f_p, why="see F" if found.f_why else later),
                "critical_difference": Cell(found.critical_difference, why=later),
            }
        )
        ranks += _rank_rows(measure, found)
        notes += found.notes
        if found.left_out:
            lost = counted(found.left_out, "dataset")
            notes.append(f"{measure.name.replace('_', ' ')}: {lost} without a score of every system left out")
    return [_tests(tests, rankings[0][1].alpha, notes), _ranks(ranks)]


def _tests(rows: Sequence[Mapping[str, Cell]], alpha: float, notes: Sequence[str]) -> Table:
    columns: tuple[Column, ...] = (
        Column("measure", "measure"),
        Column("systems", "systems", "count"),
        Column("datasets", "datasets", "count"),
        Column("chi2", "chi2", "number"),
        Column("p", "p", "probability", digits=4),
        Column("f", "F", "number"),
        Column("f_p", "p of F", "probability", digits=4),
        Column("critical_difference", "critical difference", "number"),
    )
    lines = ["chi2, p: Friedman test of whether all systems rank alike over the datasets"]
    if any(row["p"].value is not None for row in rows):
        lines[0] += "; F: the same after Iman and Davenport"
        lines.append(f"critical difference: mean ranks so far apart differ at {alpha:g} (Nemenyi, all pairs at once)")
    else:
        columns = columns[:4]
    return Table("friedman", "do the systems differ in rank?", columns, tuple(rows), (*lines, *dict.fromkeys(notes)))


def _rank_rows(measure: Measure, found: Ranking) -> list[dict[str, Cell]]:
    rows = []
    means: Sequence[float | None] = found.ranks or [None] * len(found.systems)
    for system, mean in sorted(zip(found.systems, means, strict=True), key=lambda pair: pair[1] or 0.0):
        near = [name for clique in found.cliques if system in clique for name in clique if name != system]
        apart = Cell(None, why="see chi2") if found.why else Cell(", ".join(dict.fromkeys(near)) or "nobody")
        rank = Cell(mean, why=found.why if mean is None else "")
        rows.append({"measure": Cell(titled(measure)), "system": Cell(system), "rank": rank, "near": apart})
    return rows


def _ranks(rows: Sequence[Mapping[str, Cell]]) -> Table:
    columns: tuple[Column, ...] = (
        Column("measure", "measure"),
        Column("system", "system"),
        Column("rank", "mean rank", "number", digits=2),
        Column("near", "not told apart from"),
    )
    lines = ["mean rank: 1 is the best system of a dataset, ties share a rank; mean over the datasets"]
    if any(row["near"].value is not None for row in rows):
        lines.append("not told apart from: systems whose mean rank is less than the critical difference away")
    else:
        columns = columns[:3]
    return Table("ranks", "mean ranks over the datasets", columns, tuple(rows), tuple(lines))
