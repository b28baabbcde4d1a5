"""Verbs that write files and name them."""

from __future__ import annotations

from typing import Any

import click

from gnomon.cli.building import Action
from gnomon.core.errors import InputError
from gnomon.core.suite import Suite


def writer(verb: str) -> Action:
    """Return the action of a verb whose handler returns the paths that it wrote."""

    def action(suite: Suite, given: dict[str, Any], as_json: bool) -> None:
        from gnomon.cli.output import emit
        from gnomon.core.options import build

        offered = suite.verb(verb)
        try:
            paths = [str(path) for path in offered.load()(build(offered.options, given))]
        except OSError as error:
            raise InputError(f"{error.filename or 'files'}: cannot be written: {error.strerror or error}") from error
        if as_json:
            emit({"suite": suite.name, "written": paths})
        else:
            click.echo("\n".join(paths))

    return action
