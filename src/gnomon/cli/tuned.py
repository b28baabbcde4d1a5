"""Commands over ``run`` of the suites whose systems have parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from gnomon.cli.building import Action, SuiteGroup, build
from gnomon.cli.formats import check_output, own, put
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
        taken = [self._single(item, suite.tuning.option) for item in command.params if item.name not in decided]
        command.params = [*self.own, *taken[:-1], *own(), taken[-1]]
        command.help = self.help
        return command

    def _single(self, parameter: click.Parameter, systems: str) -> click.Parameter:
        """Ask for exactly one system, whatever ``run`` takes where none is given."""
        if parameter.name == systems and isinstance(parameter, click.Option):
            parameter.required = True
            parameter.help = f"The one system to {self.verb}, with parameters as NAME@key=value."
        return parameter


def showing(given: dict[str, Any]) -> tuple[str, str | None]:
    """Take the format and the file out of what was given; refuse a file that cannot be written."""
    output = given.pop("output", None)
    check_output(output)
    return given.pop("format_"), output


def show(result: Any, as_json: bool, format: str, output: str | None) -> None:
    """Print or write a result, and say in one line where its many runs are."""
    from gnomon.cli.output import say

    put(result, "json" if as_json else format, output, result.record())
    folders = sorted({str(run.path.parent) for run in result.runs if run.path is not None})
    if folders:
        say(f"{counted(len(result.runs), 'run')} in {', '.join(folders)}")
