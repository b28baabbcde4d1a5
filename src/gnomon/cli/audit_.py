"""``gnomon audit RUN|DIR...``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gnomon.runs.grounds import Audited, Report

WIDTH = 100
"""Columns of a line of text where the output is not a terminal."""
SHOWN = 3
"""Names of runs that stand behind a finding; the summary has all of them."""


@click.command(help="Check runs for leaks and other faults: each by itself, then those on the same data side by side.")
@click.argument("runs", nargs=-1, required=True, metavar="RUN|DIR...", type=click.Path())
@click.option(
    "--fail-on",
    type=click.Choice(["warning", "error"]),
    help="Exit code 1 when a finding is as bad as this or worse; default: findings never fail.",
)
@click.option("--json", "json_", is_flag=True, help="Machine output on stdout.")
def command(runs: tuple[str, ...], fail_on: str | None, json_: bool) -> int:
    """Audit runs."""
    from gnomon.api import audit
    from gnomon.cli.output import emit, say, say_unscored, tell
    from gnomon.report.terminal import display

    result = audit(*runs, fail_on=fail_on)
    report: Report = result.extra["report"]
    if json_:
        emit(result.extra["audit"])
    else:
        display([result.tables["audit"]])
        for line in lines(report, _width()):
            tell(line)
    for path, why in report.broken.items():
        say(f"gnomon: {path} was not audited: {'; '.join(why)}")
    unscored = say_unscored(result)
    return 1 if unscored or result.extra["audit"]["failed"] else 0


def _width() -> int:
    import sys

    from gnomon.report.terminal import width_of

    return width_of(sys.stdout) if sys.stdout.isatty() else WIDTH


def lines(report: Report, width: int) -> Iterator[str]:
    """Return what a person reads under the summary: findings, worst first, then what was made, and not made and why."""
    from gnomon.runs.audit_tables import but, nothing

    found = report.findings()
    yield f"findings, worst first ({len(found)}){but(report)}" if found else nothing(report)
    yield ""
    if not report.runs:
        return
    for finding, items in found:
        yield f"  {finding.severity}: {finding.id} ({finding.where})"
        yield from _wrapped(f"{_upper(finding.evidence)}.", width)
        yield from _wrapped(f"To do: {finding.remedy}.", width)
        if len(report.all) > 1:
            yield from _wrapped(f"In: {_named(items)}", width)
        yield ""
    refuted = report.unsupported()
    if refuted:
        yield "claims that are not supported"
        yield ""
    for verdict, items in refuted:
        yield from _wrapped(f"{verdict.statement}{_somewhere(items, report)}", width, "  ")
        yield from _wrapped(f"Needs {', '.join(verdict.missing)}.", width)
    if refuted:
        yield ""
    yield "made"
    yield ""
    for checks, items in report.made():
        yield from _wrapped(f"{', '.join(checks)}{_somewhere(items, report)}", width, "  ")
    yield ""
    skipped = report.not_made()
    if skipped:
        yield "not made, by reason"
        yield ""
    for why, checks, items in skipped:
        yield from _wrapped(", ".join(checks), width, "  ")
        yield from _wrapped(f"{_upper(why)}{_somewhere(items, report)}.", width)


def _wrapped(text: str, width: int, indent: str = "      ") -> list[str]:
    import textwrap

    return textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)


def _somewhere(items: tuple[Audited, ...], report: Report) -> str:
    everywhere = [item.name for item in items] == [item.name for item in report.runs]
    return "" if everywhere else f" (in {_named(items)})"


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _named(items: tuple[Audited, ...]) -> str:
    head = ", ".join(item.name for item in items[:SHOWN])
    return head if len(items) <= SHOWN else f"{head} and {len(items) - SHOWN} more"
