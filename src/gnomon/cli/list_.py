"""``gnomon list suites|measures|runs``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from gnomon.core.table import Table
    from gnomon.runs.index import Entry, Query

WHAT = ("suites", "measures", "runs")


@click.command(help="List suites, measures or runs.")
@click.argument("what", type=click.Choice(WHAT))
@click.option(
    "--runs", "folder", default="runs", show_default=True, metavar="DIR", type=click.Path(), help="Folder of runs."
)
@click.option("--suite", default="", metavar="NAME", help="Runs of one suite.")
@click.option("--system", default="", metavar="NAME", help="Runs of one system.")
@click.option("--search", default="", metavar="WORDS", help="Runs whose name, system or protocol holds all words.")
@click.option("--partial", is_flag=True, help="Only runs that lack something.")
@click.option("--limit", default=50, show_default=True, help="How many runs, newest first; 0 for all.")
@click.option("--json", "json_", is_flag=True, help="Machine output on stdout.")
def command(
    what: str, folder: str, suite: str, system: str, search: str, partial: bool, limit: int, json_: bool
) -> None:
    """List things."""
    from gnomon.runs.index import Query

    query = Query(suite, system, search, partial, limit)
    table = _runs(folder, query) if what == "runs" else _measures() if what == "measures" else _suites()
    if json_:
        from gnomon.cli.output import put_text
        from gnomon.report import render

        put_text(render([table], "json"))
    else:
        from gnomon.report.terminal import display

        display([table], most=len(table.rows))
    if what != "runs":
        from gnomon.core import registry

        for item in registry.broken():
            click.echo(f"gnomon: {item}", err=True)


def _suites() -> Table:
    from gnomon.core import registry

    rows = [(name, ", ".join(suite.verbs), suite.summary) for name, suite in sorted(registry.suites().items())]
    return _table("suites", "installed suites", ("suite", "verbs", "what it is"), rows)


def _measures() -> Table:
    from gnomon.core import registry

    rows = [
        (m.name, m.title, m.family, m.direction or "0 is best", f"{m.bounds[0]:g} to {m.bounds[1]:g}", repr(m))
        for m in registry.measures()
    ]
    return _table(
        "measures", "registered measures", ("name", "what it is", "family", "better", "range", "identity"), rows
    )


def _runs(folder: str, query: Query) -> Table:
    from dataclasses import replace

    from gnomon.core.table import Cell, Column, Table
    from gnomon.runs.index import Index, Query

    index = Index(folder)
    entries, total = index.find(query), index.count(query)
    rows = tuple(
        {
            "run": Cell(entry.name),
            "suite": Cell(entry.suite),
            "system": Cell(entry.system),
            "headline": Cell(entry.headline.replace("_", " ") + (f" ({entry.unit})" if entry.unit else "")),
            "value": entry.cell()[0],
            "n": Cell(entry.n),
            "groups": Cell(entry.groups),
            "state": Cell(_state(entry)),
            "started": Cell(entry.started),
        }
        for entry in entries
    )
    everything = query == replace(Query(), limit=query.limit)
    rows += tuple(
        {"run": Cell(name), "state": Cell("another version")} for name in sorted(index.other_versions) if everything
    )
    texts, counts = ("run", "suite", "system", "headline"), ("n", "groups")
    columns = (
        *(Column(key, key) for key in texts),
        Column("value", "value", "score"),
        *(Column(key, key, "count") for key in counts),
        *(Column(key, key) for key in ("state", "started")),
    )
    notes = [f"{len(entries)} of {total} runs shown; --limit 0 shows all"] if len(entries) < total else []
    notes += [why for _, why in sorted(index.other_versions.items())]
    notes += [f"{name} cannot be read ({why})" for name, why in index.unreadable.items()]
    index.close()
    return Table("runs", f"runs in {folder}", columns, rows, tuple(notes))


def _state(entry: Entry) -> str:
    if entry.cells_total is not None:
        cells = f"{entry.cells_done} of {entry.cells_total} cells"
        return cells if entry.complete else f"partial: {cells}"
    return "complete" if entry.complete else "partial"


def _table(name: str, title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    from gnomon.core.table import Cell, Column, Table

    cells = tuple({h: Cell(value) for h, value in zip(headings, row, strict=True)} for row in rows)
    return Table(name, title, tuple(Column(h, h) for h in headings), cells)
