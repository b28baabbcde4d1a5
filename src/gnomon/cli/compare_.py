"""``gnomon compare RUN RUN...``."""

from __future__ import annotations

import click


@click.command(help="Compare runs that were scored on the same data: the best against every other.")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=click.Path())
@click.option("--measure", "measures", multiple=True, metavar="NAME", help="Measure to compare by; may be repeated.")
@click.option("--json", "json_", is_flag=True, help="Machine output on stdout.")
def command(runs: tuple[str, ...], measures: tuple[str, ...], json_: bool) -> None:
    """Compare runs."""
    from gnomon.api import compare
    from gnomon.cli.output import emit
    from gnomon.report.terminal import display

    result = compare(*runs, measures=measures)
    if json_:
        emit({"tables": result.record()["tables"], "runs": [run["id"] for run in result.record()["runs"]]})
    else:
        display(result.items)
