"""``gnomon list suites|measures|runs``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from gnomon.core.table import Table

WHAT = ("suites", "measures", "runs")


@click.command(help="List suites, measures or runs.")
@click.argument("what", type=click.Choice(WHAT))
@click.option("--runs", "folder", default="runs", show_default=True, metavar="DIR", help="Folder of runs.")
@click.option("--json", "json_", is_flag=True, help="Machine output on stdout.")
def command(what: str, folder: str, json_: bool) -> None:
    """List things."""
    from gnomon.cli.output import say
    from gnomon.core import registry
    from gnomon.report import render
    from gnomon.report.terminal import display

    table = _runs(folder) if what == "runs" else _measures() if what == "measures" else _suites()
    if json_:
        click.echo(render([table], "json"), nl=False)
    else:
        display([table])
    for item in registry.broken():
        say(f"gnomon: {item}")


def _suites() -> Table:
    from gnomon.core import registry

    rows = [(name, ", ".join(suite.verbs), suite.summary) for name, suite in sorted(registry.suites().items())]
    return _table("suites", "installed suites", ("suite", "verbs", "what it is"), rows)


def _measures() -> Table:
    from gnomon.core import registry

    rows = [
        (m.name, m.family, m.direction, f"{m.bounds[0]:g} to {m.bounds[1]:g}", repr(m)) for m in registry.measures()
    ]
    return _table("measures", "registered measures", ("name", "family", "better", "range", "identity"), rows)


def _runs(folder: str) -> Table:
    from gnomon.api import find_runs
    from gnomon.runs.run import load

    rows = []
    for path in find_runs(folder):
        run = load(path)
        headline = run.find(run.measures[0].name)
        value = "undefined" if headline is None or headline.value is None else f"{headline.value:.3f}"
        state = "complete" if run.complete else "partial"
        rows.append((path.name, run.suite, run.system, f"{run.measures[0].name} {value}", state))
    return _table("runs", f"runs in {folder}", ("run", "suite", "system", "headline", "state"), rows)


def _table(name: str, title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    from gnomon.core.table import Cell, Column, Table

    cells = tuple({h: Cell(value) for h, value in zip(headings, row, strict=True)} for row in rows)
    return Table(name, title, tuple(Column(h, h) for h in headings), cells)
