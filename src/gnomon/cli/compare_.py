"""``gnomon compare RUN RUN...``."""

from __future__ import annotations

from typing import Any

import click

from gnomon.cli.formats import check_output, formatted, put


@click.command(help="Compare runs that were scored on the same data: the best against every other.")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=click.Path())
@click.option(
    "--metrics",
    multiple=True,
    metavar="METRIC",
    help="Metrics to compare by: names as stored or as printed, or your own as file.py:Class; several with commas.",
)
@click.option("--against", default="", metavar="SYSTEM", help="Compare every system with this one, not with the best.")
@click.option("--all-pairs", is_flag=True, help="Compare every system with every other.")
@click.option(
    "--common",
    is_flag=True,
    help="Where runs lack cases, compare every pair on those that all runs scored, not on those that the two scored.",
)
@click.option(
    "--over",
    type=click.Choice(["datasets", "seeds"]),
    help="Systems over several datasets, or over several seeds on the same data.",
)
@click.option(
    "--ragged",
    type=click.Choice(["error", "dash"]),
    default="error",
    show_default=True,
    help="Over datasets, what is done with a system that was not scored on every one: refuse, or leave it out and "
    "show a dash.",
)
@formatted
@click.option("--json", "json_", is_flag=True, help="The same as --format json.")
def command(
    runs: tuple[str, ...], over: str | None, format_: str, output: str | None, json_: bool, **options: Any
) -> int:
    """Compare runs."""
    from gnomon.api import compare
    from gnomon.cli.output import say_unscored
    from gnomon.runs.run import raise_as_damage

    check_output(output)
    result = compare(*runs, over=over or "", **options)
    with raise_as_damage([run.path for run in result.runs if run.path]):
        held = result.record()
        record = {"tables": held["tables"], "runs": [run["id"] for run in held["runs"]]}
        put(result, "json" if json_ else format_, output, record)
        return int(say_unscored(result))
