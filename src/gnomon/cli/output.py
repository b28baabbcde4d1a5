"""Where output goes: results on stdout, everything else on stderr."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from gnomon.core.errors import some
from gnomon.report.markup import printable
from gnomon.result import Result


def emit(value: Any) -> None:
    """Print machine output: one JSON document on stdout."""
    put_text(json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1) + "\n")


def put_text(text: str) -> None:
    """Print text of a machine format on stdout as it is; to a terminal without what moves its cursor."""
    click.echo(printable(text) if sys.stdout.isatty() else text, nl=False)


def say(text: str) -> None:
    """Tell a person something, on stderr."""
    click.echo(printable(text), err=True)


def tell(text: str) -> None:
    """Print a line of a result for a person, on stdout."""
    click.echo(printable(text))


def show(result: Result, as_json: bool) -> None:
    """Print a result as tables or as JSON, and say where its runs are."""
    if as_json:
        emit(result.record())
    else:
        from gnomon.report.terminal import display

        display(result.items)
    if result.lost:
        reasons = [f"{name}: {why}" for name, why in result.lost.items()]
        say(f"not scored, and in no run: {some(reasons, show=3, sentences=True)}")
    for run in result.runs:
        if run.path is not None:
            say(f"run: {run.path}")


def conclude(result: Result) -> int:
    """Say which systems have no scored case; return the exit code: 1 where one has none, or work is missing."""
    return 1 if say_unscored(result) or not result.complete else 0


def say_unscored(result: Result) -> bool:
    """Say in one line which systems have no scored case, and why; return whether there are any."""
    from gnomon.runs.unscored import describe_unscored

    reasons = result.unscored
    if reasons:
        say(f"gnomon: {' '.join(describe_unscored(reasons).split())}")
    return bool(reasons)
