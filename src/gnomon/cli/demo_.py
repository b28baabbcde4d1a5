"""``gnomon demo``: every installed suite, from generated data to tables, with the commands that do it."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import click

from gnomon.core.suite import Step, Suite, load


@click.command(help="Evaluate on generated data: every suite, from nothing to tables and runs.")
@click.option("--out", default="demo", show_default=True, metavar="DIR", help="Folder to write into.")
@click.option("--quick", is_flag=True, help="Smaller data, a few seconds.")
def command(out: str, quick: bool) -> int:
    """Demonstrate."""
    from gnomon.core import registry
    from gnomon.runs.verify import verify

    runs: list[Path] = []
    name = ""
    for name, suite in sorted(registry.suites().items()):
        if suite.demo:
            for step in load(suite.demo)(Path(out) / name, quick):
                runs += _do(suite, step)
    click.echo("$ gnomon verify " + " ".join(shlex.quote(str(path)) for path in runs))
    failed = [path for path in runs if not all(check.passed for check in verify(path))]
    click.echo(f"{len(runs) - len(failed)} of {len(runs)} runs verified\n")
    if failed:
        return 1
    program = _program()
    folders = list(dict.fromkeys(shlex.quote(str(path.parent)) for path in runs))
    hints = [(f"{program} report {folder}", "its tables again, from the runs on disk") for folder in folders]
    hints.append((f"{program} report {folders[0]} --format markdown", "the same for a document"))
    hints.append((f"{program} compare {folders[0]} --measure accuracy", "the paired comparison by another measure"))
    hints.append((f"{program} template {name} my-data", "files to fill with your own results"))
    width = max(len(command) for command, _ in hints)
    click.echo("Open next:")
    for command, purpose in hints:
        click.echo(f"  {command:<{width}}  {purpose}")
    return 0


def _program() -> str:
    """Return how this program can be called again from here."""
    called = Path(sys.argv[0])
    if called.name != "gnomon" or shutil.which("gnomon"):
        return "gnomon"
    here = Path.cwd()
    return shlex.quote(str(called.relative_to(here) if called.is_relative_to(here) else called))


def _do(suite: Suite, step: Step) -> list[Path]:
    from gnomon.api import perform
    from gnomon.core.options import ScoringOptions, build
    from gnomon.report.terminal import display

    click.echo(f"$ {spelled(suite, step)}")
    offered = suite.verb(step.verb)
    if issubclass(offered.options, ScoringOptions):
        result = perform(suite.name, step.verb, step.options)
        display(result.items)
        return [run.path for run in result.runs if run.path is not None]
    for path in offered.load()(build(offered.options, step.options)):
        click.echo(str(path))
    click.echo()
    return []


def spelled(suite: Suite, step: Step) -> str:
    """Return a step as the command that a user would type."""
    from gnomon.core.options import parameters

    words: list[Any] = ["gnomon", step.verb, suite.name]
    for parameter in parameters(suite.verb(step.verb).options):
        if parameter.name not in step.options:
            continue
        value = step.options[parameter.name]
        for item in value if isinstance(value, tuple) else (value,):
            words += [item] if parameter.option.argument else [parameter.flag, item]
    return " ".join(shlex.quote(str(word)) for word in words)
