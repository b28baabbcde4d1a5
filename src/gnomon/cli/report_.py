"""``gnomon report RUN...``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from gnomon.report import FORMATS, RAGGED


@click.command(help="Show runs (run directories, or folders of runs) as tables.")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=click.Path())
@click.option("--format", "format_", type=click.Choice(list(FORMATS)), default="terminal", show_default=True)
@click.option(
    "--ragged",
    type=click.Choice(RAGGED),
    default="error",
    show_default=True,
    help="Tables that lack cells: refuse, or -.",
)
@click.option("--output", type=click.Path(dir_okay=False), help="File to write; default is stdout.")
@click.option("--json", "json_", is_flag=True, help="The same as --format json.")
def command(runs: tuple[str, ...], format_: str, ragged: str, output: str | None, json_: bool) -> None:
    """Report runs."""
    from gnomon.api import load
    from gnomon.cli.output import say
    from gnomon.report.terminal import display

    result = load(*runs)
    chosen = "json" if json_ else format_
    text = json.dumps(result.record(), ensure_ascii=False, indent=1) + "\n" if chosen == "json" else ""
    if output:
        Path(output).parent.mkdir(parents=True, exist_ok=True)
        Path(output).write_text(text or result.to(chosen, ragged), encoding="utf-8")
        say(f"wrote {output}")
    elif chosen == "terminal":
        display(result.items)
    else:
        click.echo(text or result.to(chosen, ragged), nl=False)
