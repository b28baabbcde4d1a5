"""Outcomes of planted cases as tables: what was found, and what findings say."""

from __future__ import annotations

from collections.abc import Sequence

from gnomon.testing.planted.case import Outcome

CASES = ("check", "planted case", "found", "clean twin")
SAID = ("finding", "severity", "evidence", "remedy")
Row = tuple[str, str, str, str]


def cases(outcomes: Sequence[Outcome]) -> list[Row]:
    """Return one row per planted case, under :data:`CASES`."""
    return [_case(outcome) for outcome in outcomes]


def said(outcomes: Sequence[Outcome]) -> list[Row]:
    """Return the first finding of every kind, under :data:`SAID`."""
    first: dict[str, Row] = {}
    for outcome in outcomes:
        if outcome.found:
            found = outcome.found
            first.setdefault(found.id, (f"`{found.id}`", found.severity, found.evidence, found.remedy))
    return list(first.values())


def markdown(head: Row, rows: Sequence[Row]) -> str:
    """Return a table in Markdown."""
    lines = (head, ("---",) * len(head), *rows)
    return "\n".join(f"| {' | '.join(text.replace('|', '/') for text in line)} |" for line in lines)


def _case(outcome: Outcome) -> Row:
    found = outcome.found
    verdict = f"{found.severity}: `{found.id}`" if found else "MISSED"
    clean = ", ".join(finding.id for finding in outcome.clean) or "no finding"
    return f"`{outcome.planted.check}`", outcome.planted.case, verdict, clean
