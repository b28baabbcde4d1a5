"""Commands of suites, built from their option structs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import click

from gnomon.cli.groups import Group
from gnomon.core import registry
from gnomon.core.errors import instead
from gnomon.core.options import Parameter, elsewhere, parameters
from gnomon.core.suite import Suite

Action = Callable[[Suite, dict[str, Any], bool], int | None]


class SuiteGroup(Group):
    """``gnomon VERB SUITE``: one command for every installed suite that offers the verb."""

    kind = "suite"

    def __init__(self, verb: str, action: Action, **attributes: Any) -> None:
        super().__init__(name=verb, **attributes)
        self.verb = verb
        self.action = action

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the suites that offer the verb."""
        del ctx
        return [name for name, suite in sorted(registry.suites().items()) if self.verb in suite.verbs]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Build the command of one suite."""
        del ctx
        suite = registry.suites().get(cmd_name)
        if suite is None or self.verb not in suite.verbs:
            for item in registry.broken():
                click.echo(f"gnomon: {item}", err=True)
            return None
        return build(suite, self.verb, self.action)

    def unknown(self, ctx: click.Context, name: str) -> str:
        """Say which suites offer the verb, or what a suite offers that does not."""
        suite = registry.suites().get(name)
        if suite is None:
            return super().unknown(ctx, name)
        return f"suite {name!r} does not offer {self.verb!r}; {instead(self.verb, suite.verbs, 'it offers')}"


class SuiteCommand(click.Command):
    """A command of a suite, which says how something is given that is no option of it."""

    elsewhere: Mapping[str, str] = MappingProxyType({})

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Explain options of other commands instead of guessing at a spelling."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            said = self.elsewhere.get(error.option_name.lstrip("-").replace("-", "_"))
            if said is None:
                raise
            raise click.UsageError(f"{error.message.rstrip('.')}: {said}", ctx) from error


def build(suite: Suite, verb: str, action: Action) -> click.Command:
    """Turn an option struct into a command; ``action`` gets the options that were given."""
    offered = suite.verbs[verb]

    def callback(json_: bool, **values: Any) -> int | None:
        given = {name: value for name, value in values.items() if value is not None and value != ()}
        return action(suite, given, json_)

    params: list[click.Parameter] = [_parameter(parameter) for parameter in parameters(offered.options)]
    params.append(click.Option(["--json", "json_"], is_flag=True, help="Machine output on stdout."))
    command = SuiteCommand(
        suite.name, params=params, callback=callback, help=f"{offered.help[0].upper()}{offered.help[1:]}."
    )
    command.elsewhere = elsewhere(offered.options)
    return command


def _parameter(parameter: Parameter) -> click.Parameter:
    option = parameter.option
    kind: Any = click.Choice([choice for choice in option.choices if choice]) if option.choices else parameter.type
    if option.metavar in ("FILE", "DIR", "TRUTH..."):
        kind = click.Path()
    if option.argument:
        metavar, many = option.metavar or None, -1 if parameter.many else 1
        return click.Argument([parameter.name], type=kind, metavar=metavar, required=parameter.required, nargs=many)
    spellings = [parameter.flag, *option.aliases]
    if "_" in parameter.name:
        spellings.append(f"--{parameter.name}")
    if parameter.type is bool:
        return click.Option([*spellings, parameter.name], is_flag=True, default=None, help=option.help)
    return click.Option(
        [*spellings, parameter.name],
        type=kind,
        multiple=parameter.many,
        required=parameter.required,
        metavar=option.metavar or None,
        help=option.help + _default(parameter),
    )


def _default(parameter: Parameter) -> str:
    if parameter.required or parameter.default in ((), "", None):
        return ""
    default = parameter.default
    return f"  [default: {', '.join(map(str, default)) if isinstance(default, tuple) else default}]"
