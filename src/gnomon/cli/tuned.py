"""Commands over ``run`` of the suites whose systems have parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from gnomon.cli.building import Action, SuiteGroup, build
from gnomon.core import registry
from gnomon.core.errors import InputError, counted


class TunedGroup(SuiteGroup):
    """``gnomon VERB SUITE``: the options of ``run``, those of the verb, and without those that the verb decides."""

    def __init__(
        self, verb: str, action: Action, own: Sequence[click.Option], *, decides_part: bool, **attributes: Any
    ) -> None:
        super().__init__(verb, action, **attributes)
        self.own = tuple(own)
        self.decides_part = decides_part

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the suites whose systems have parameters."""
        del ctx
        return [name for name, suite in sorted(registry.suites().items()) if suite.tuning]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Build the command of one suite."""
        suite = registry.suites().get(cmd_name)
        if suite is None:
            return super().get_command(ctx, cmd_name)
        if suite.tuning is None:
            able = ", ".join(self.list_commands(ctx))
            raise InputError(
                f"the systems of suite {cmd_name!r} have no parameters to {self.verb}; those of {able} have"
            )
        command = build(suite, "run", self.action)
        decided = {suite.tuning.part} if self.decides_part else set()
        command.params = [*self.own, *(parameter for parameter in command.params if parameter.name not in decided)]
        command.help = self.help
        return command


def show(result: Any, as_json: bool) -> None:
    """Print a result, and say in one line where its many runs are."""
    from gnomon.cli.output import emit, say
    from gnomon.report.terminal import display

    if as_json:
        emit(result.record())
    else:
        display(result.items)
    folders = sorted({str(run.path.parent) for run in result.runs if run.path is not None})
    if folders:
        say(f"{counted(len(result.runs), 'run')} in {', '.join(folders)}")
