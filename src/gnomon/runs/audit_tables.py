"""The tables of an audit, as plain data."""

from __future__ import annotations

from collections import Counter

from gnomon.core.errors import plural
from gnomon.core.table import Cell, Column, Table
from gnomon.runs.grounds import Audited, Report


def tables(report: Report) -> tuple[Table, ...]:
    """Return the summary, the findings and what was not made; and the runs that could not be audited."""
    found = [_summary(report), _findings(report), _not_made(report)]
    return tuple([*found, _broken(report)] if report.broken else found)


def _summary(report: Report) -> Table:
    rows = []
    for item in report.all:
        counts = Counter(finding.severity for finding in item.audit.findings)
        rows.append(
            {
                "run": Cell(item.name),
                "made": Cell(len(item.audit.made)),
                "not_made": Cell(len(item.audit.not_made)),
                "info": Cell(counts["info"]),
                "warnings": Cell(counts["warning"]),
                "errors": Cell(counts["error"]),
            }
        )
    columns = (
        Column("run", "run"),
        Column("made", "checks made", "count"),
        Column("not_made", "not made", "count"),
        *(Column(key, key, "count") for key in ("info", "warnings", "errors")),
    )
    n = len(report.runs)
    return Table("audit", f"audit of {n} {plural('run', n)}", columns, tuple(rows))


def _findings(report: Report) -> Table:
    rows = tuple(
        {
            "severity": Cell(finding.severity),
            "finding": Cell(finding.id),
            "runs": Cell(names(items)),
            "where": Cell(finding.where),
            "evidence": Cell(finding.evidence),
            "remedy": Cell(finding.remedy),
        }
        for finding, items in report.findings()
    )
    keys = ("severity", "finding", "runs", "where", "evidence", "remedy")
    title = "findings, worst first" if rows else "no findings"
    return Table("findings", title, tuple(Column(key, key) for key in keys), rows)


def _not_made(report: Report) -> Table:
    rows = tuple(
        {"why": Cell(why), "checks": Cell(", ".join(checks)), "runs": Cell(names(items))}
        for why, checks, items in report.not_made()
    )
    columns = tuple(Column(key, key) for key in ("why", "checks", "runs"))
    return Table("not_made", "checks that were not made, by reason", columns, rows)


def _broken(report: Report) -> Table:
    rows = tuple({"run": Cell(path), "why": Cell("; ".join(why))} for path, why in report.broken.items())
    columns = (Column("run", "run"), Column("why", "why"))
    return Table("broken", "runs that could not be audited", columns, rows)


def names(items: tuple[Audited, ...]) -> str:
    """Return what audits are called, one after another."""
    return ", ".join(item.name for item in items)
