"""Groups of commands: without arguments they show their help, and a name that they do not know brings near ones."""

from __future__ import annotations

import click

from gnomon.core.errors import instead


class NoArguments(click.UsageError):
    """Nothing was given where something must be: the message is the help, over many lines."""

    def __init__(self, ctx: click.Context) -> None:
        super().__init__(ctx.get_help(), ctx)


class Group(click.Group):
    """A group whose refusals say what there is instead."""

    kind = "command"
    """What its commands are called in messages."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Show the help where nothing is given, and say what is missing before an option of a command."""
        if not args and self.no_args_is_help and not ctx.resilient_parsing:
            raise NoArguments(ctx)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.possibilities:
                raise
            raise click.UsageError(self.misplaced(ctx, error.option_name), ctx) from error

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the first word names."""
        command = self.get_command(ctx, args[0])
        if command is None and not ctx.resilient_parsing:
            raise click.UsageError(self.unknown(ctx, args[0]), ctx)
        return args[0] if command else None, command, args[1:]

    def misplaced(self, ctx: click.Context, option: str) -> str:
        """Say of an option that it stands before the name of a command."""
        path, kind = ctx.command_path, self.kind
        return (
            f"no option {option!r} of {path!r} itself: name the {kind} first, as in "
            f"'{path} {kind.upper()} {option} ...'; {kind}s are {', '.join(self.list_commands(ctx))}"
        )

    def unknown(self, ctx: click.Context, name: str) -> str:
        """Say of a name that no command has it, and which have."""
        known = self.list_commands(ctx)
        where = f" of {ctx.command_path!r}" if ctx.parent else ""
        return f"no {self.kind} {name!r}{where}; {instead(name, known, f'{self.kind}s are')}"
