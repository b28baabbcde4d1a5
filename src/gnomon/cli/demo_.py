"""``gnomon demo``: every installed suite, from generated data to tables, with the commands that do it."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gnomon.core.errors import InputError
from gnomon.core.suite import Step, Suite, load

if TYPE_CHECKING:
    from gnomon.runs.run import Run


ORDER = ("labels", "events", "har", "skeleton", "change", "episode")
"""Suites in the order of the demonstration, the plainest first; others come after them, by name."""


@click.command(help="Evaluate on generated data: every suite, from nothing to tables and runs.")
@click.option("--out", default="demo", show_default=True, metavar="DIR", help="Folder to write into.")
@click.option("--quick", is_flag=True, help="Smaller data: under a minute.")
@click.option("--suite", "chosen", multiple=True, metavar="NAME", help="Only this suite; may be repeated.")
def command(out: str, quick: bool, chosen: tuple[str, ...]) -> int:
    """Demonstrate."""
    from gnomon.core import registry
    from gnomon.runs.verify import verify

    suites = [registry.suite(name) for name in chosen] or demonstrated(registry.suites().values())
    runs: dict[Path, Run] = {}
    for suite in suites:
        if not suite.demo:
            raise InputError(f"suite {suite.name!r} has no demonstration")
        for step in load(suite.demo)(Path(out) / suite.name, quick):
            runs |= _do(suite, step)
    click.echo("$ gnomon verify " + " ".join(shlex.quote(str(path)) for path in runs))
    failed = [path for path in runs if not all(check.passed for check in verify(path))]
    click.echo(f"{len(runs) - len(failed)} of {len(runs)} runs verified\n")
    if failed:
        return 1
    if not runs:
        return 0
    hints = _hints(runs, out)
    width = max(len(command) for command, _ in hints)
    click.echo("Open next:")
    for command, purpose in hints:
        click.echo(f"  {command:<{width}}  {purpose}")
    return 0


def demonstrated(suites: Iterable[Suite]) -> list[Suite]:
    """Return the suites that have a demonstration, in the order in which they are shown."""
    place = {name: index for index, name in enumerate(ORDER)}
    return sorted((s for s in suites if s.demo), key=lambda suite: (place.get(suite.name, len(place)), suite.name))


def _hints(runs: Mapping[Path, Run], out: str) -> list[tuple[str, str]]:
    program = _program()
    folders: dict[str, Run] = {}
    for path, run in runs.items():
        folders.setdefault(shlex.quote(str(path.parent)), run)
    first, run = next(iter(folders.items()))
    hints = [(f"{program} report {folder}", "its tables again, from the runs on disk") for folder in folders]
    hints.append((f"{program} report {first} --format markdown", "the same for a document"))
    hints.append((f"{program} serve --runs {shlex.quote(out)}", "all of it in a browser (extra dashboard)"))
    second = run.measures[1].name
    hints.append((f"{program} compare {first} --metrics {second}", "the paired comparison by another metric"))
    hints.append((f"{program} template {run.suite} my-data", "files to fill with your own results"))
    return hints


def _program() -> str:
    """Return how this program can be called again from here."""
    called = Path(sys.argv[0])
    if called.name != "gnomon" or shutil.which("gnomon"):
        return "gnomon"
    here = Path.cwd()
    return shlex.quote(str(called.relative_to(here) if called.is_relative_to(here) else called))


def _do(suite: Suite, step: Step) -> dict[Path, Run]:
    from gnomon.api import perform
    from gnomon.core.options import ScoringOptions, build
    from gnomon.report.terminal import display

    click.echo(f"$ {spelled(suite, step)}")
    offered = suite.verb(step.verb)
    if issubclass(offered.options, ScoringOptions):
        result = perform(suite.name, step.verb, step.options)
        display(result.items)
        return {run.path: run for run in result.runs if run.path is not None}
    for path in offered.load()(build(offered.options, step.options)):
        click.echo(str(path))
    click.echo()
    return {}


def spelled(suite: Suite, step: Step) -> str:
    """Return a step as the command that a user would type."""
    from gnomon.core.options import parameters

    words: list[Any] = ["gnomon", step.verb, suite.name]
    for parameter in parameters(suite.verb(step.verb).options):
        if parameter.name not in step.options:
            continue
        value = step.options[parameter.name]
        if parameter.type is bool:
            words += [parameter.flag] if value else []
            continue
        for item in value if isinstance(value, tuple) else (value,):
            words += [item] if parameter.option.argument else [parameter.flag, item]
    return " ".join(shlex.quote(str(word)) for word in words)
