"""``gnomon report RUN...``."""

from __future__ import annotations

import click

from gnomon.cli.formats import formatted, put
from gnomon.report import RAGGED


@click.command(help="Show runs (run directories, or folders of runs) as tables.")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=click.Path())
@formatted
@click.option(
    "--ragged",
    type=click.Choice(RAGGED),
    default="error",
    show_default=True,
    help="Tables that lack cells: refuse, or -.",
)
@click.option("--json", "json_", is_flag=True, help="The same as --format json.")
def command(runs: tuple[str, ...], format_: str, ragged: str, output: str | None, json_: bool) -> None:
    """Report runs."""
    from gnomon.api import load

    result = load(*runs)
    put(result, "json" if json_ else format_, output, result.record(), ragged)
