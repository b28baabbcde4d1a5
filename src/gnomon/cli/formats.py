"""``--format`` and ``--output`` of verbs that show tables."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from gnomon.core.errors import InputError
from gnomon.report import FORMATS

F = TypeVar("F", bound=Callable[..., Any])

_FORMAT: dict[str, Any] = {
    "type": click.Choice(list(FORMATS)),
    "default": "terminal",
    "show_default": True,
    "help": "How tables are written.",
}
_OUTPUT: dict[str, Any] = {"type": click.Path(dir_okay=False), "help": "File to write; default is stdout."}
_FOLDER: dict[str, Any] = {
    "type": click.Path(),
    "help": "File to write, or for html also a folder; default is stdout.",
}


def formatted(function: F) -> F:
    """Give a command both options, as ``format_`` and ``output``."""
    with_output = click.option("--output", **_OUTPUT)(function)
    return click.option("--format", "format_", **_FORMAT)(with_output)


def paged(function: F) -> F:
    """Give a command both options, where a page may be a folder too."""
    with_output = click.option("--output", **_FOLDER)(function)
    return click.option("--format", "format_", **_FORMAT)(with_output)


def own() -> tuple[click.Option, click.Option]:
    """Return both options, for commands that are built."""
    return click.Option(["--format", "format_"], **_FORMAT), click.Option(["--output"], **_OUTPUT)


def check_output(output: str | None) -> None:
    """Refuse a file that ``--output`` names and that cannot be written, before any work is done for it."""
    from gnomon.intake.writing import check_writable

    special = output and Path(output).exists() and not Path(output).is_file() and not Path(output).is_dir()
    if output and not special:  # a pipe or a device, such as /dev/stdout, can be written
        check_writable(output, said="--output")


def put(result: Any, format: str, output: str | None, record: Any, ragged: str = "error") -> None:
    """Print a result in a format, or write it to a file, HTML as a whole page; ``record`` is what JSON holds."""
    from gnomon.cli.output import put_text, say
    from gnomon.report import render
    from gnomon.report.terminal import display

    if format == "terminal" and not output:
        display(result.items)
        return
    if format == "json":
        text = json.dumps(record, ensure_ascii=False, allow_nan=False, indent=1) + "\n"
    else:
        text = render(result.items, format, ragged, page=bool(output))
    if not output:
        put_text(text)
        return
    try:
        Path(output).parent.mkdir(parents=True, exist_ok=True)
        Path(output).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"--output {output}: cannot be written: {error.strerror or error}") from error
    say(f"wrote {output}")
