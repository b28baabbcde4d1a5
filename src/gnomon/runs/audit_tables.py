"""The tables of an audit, as plain data."""

from __future__ import annotations

from collections import Counter

from gnomon.audit import CHECKS
from gnomon.core.errors import plural
from gnomon.core.table import Cell, Column, Table
from gnomon.runs.grounds import Audited, Report


def tables(report: Report) -> tuple[Table, ...]:
    """Return the summary, the findings and what was not made; and the runs that could not be audited."""
    found = [_summary(report), _findings(report), _claims(report), _not_made(report)]
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
    unknown = Cell(None, why="not audited")
    rows += [
        {"run": Cell(path), "made": Cell(0), "not_made": Cell(len(CHECKS))}
        | dict.fromkeys(("info", "warnings", "errors"), unknown)
        for path in report.broken
    ]
    n = len(report.runs)
    lost = f", {len(report.broken)} not audited" if report.broken else ""
    return Table("audit", f"audit of {n} {plural('run', n)}{lost}", columns, tuple(rows))


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
    title = f"findings, worst first{but(report)}" if rows else nothing(report)
    return Table("findings", title, tuple(Column(key, key) for key in keys), rows)


def _claims(report: Report) -> Table:
    rows = tuple(
        {"claim": Cell(verdict.statement), "missing": Cell("; ".join(verdict.missing)), "runs": Cell(names(items))}
        for verdict, items in report.unsupported()
    )
    columns = (Column("claim", "claim"), Column("missing", "what is missing"), Column("runs", "runs"))
    return Table("claims", "claims that are not supported", columns, rows)


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


def nothing(report: Report) -> str:
    """Say that there are no findings, and of how much that holds."""
    return f"no findings{but(report)}" if report.runs else "nothing was audited"


def but(report: Report) -> str:
    """Say how many runs a result does not speak of; nothing where it speaks of all."""
    n = len(report.broken)
    return f", but {n} {plural('run', n)} could not be audited" if n else ""


def names(items: tuple[Audited, ...]) -> str:
    """Return what audits are called, one after another."""
    return ", ".join(item.name for item in items)
