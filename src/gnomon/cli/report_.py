"""``gnomon report RUN...``."""

from __future__ import annotations

import click

from gnomon.cli.formats import paged, put
from gnomon.report import RAGGED


@click.command(
    help="Show runs (run directories, or folders of runs) as tables, or as a page with figures: --format html --output "
    "PATH writes one file where PATH ends in .html, else a folder with tables and figures as files."
)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=click.Path())
@paged
@click.option(
    "--metrics",
    multiple=True,
    metavar="METRIC",
    help="Metrics of the tables: names as stored or as printed, or your own as file.py:Class; several with commas.",
)
@click.option("--figures", type=click.Path(file_okay=False), metavar="DIR", help="Write figures as SVG, PNG and PDF.")
@click.option(
    "--ragged",
    type=click.Choice(RAGGED),
    default="error",
    show_default=True,
    help="Tables that lack cells: refuse, or -.",
)
@click.option("--json", "json_", is_flag=True, help="The same as --format json.")
def command(
    runs: tuple[str, ...],
    metrics: tuple[str, ...],
    format_: str,
    ragged: str,
    output: str | None,
    figures: str | None,
    json_: bool,
) -> int:
    """Report runs."""
    from gnomon.api import load
    from gnomon.cli.output import say_unscored
    from gnomon.runs.run import raise_as_damage

    result = load(*runs, metrics=metrics)
    form = "json" if json_ else format_
    with raise_as_damage([run.path for run in result.runs if run.path]):
        if form == "html" and output:
            _page(result, output, ragged)
        else:
            put(result, form, output, result.record(), ragged)
        if figures:
            _figures(result, figures, ragged)
    return int(say_unscored(result))


def _page(result: object, output: str, ragged: str) -> None:
    from gnomon.cli.output import say
    from gnomon.report import page
    from gnomon.report.figures import drawing

    first, *others = page.write(result, output, ragged)  # type: ignore[arg-type]
    say(f"wrote {first}" + (f" and {len(others)} files of its tables and figures" if others else ""))
    if not drawing.available():
        say(f"without figures: {drawing.NEEDED}")


def _figures(result: object, folder: str, ragged: str) -> None:
    from gnomon.cli.output import say
    from gnomon.report import page

    written = page.write_figures(result, folder, ragged)  # type: ignore[arg-type]
    say(f"wrote {len(written)} files of figures to {folder}" if written else "these runs have no figures")
