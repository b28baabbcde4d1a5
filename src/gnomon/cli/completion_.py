"""``gnomon completion SHELL``."""

from __future__ import annotations

import click


@click.command(help='Print the completion script of a shell; for bash: eval "$(gnomon completion bash)".')
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print a completion script."""
    from click.shell_completion import get_completion_class

    from gnomon.cli.main import gnomon

    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"no completion for {shell}")
    click.echo(kind(gnomon, {}, "gnomon", "_GNOMON_COMPLETE").source())
