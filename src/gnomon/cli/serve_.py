"""``gnomon serve``."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(help="Look at a folder of runs in a browser: lists, comparisons, single cases, work under way.")
@click.option("--runs", default="runs", show_default=True, metavar="DIR", help="Folder of runs, or of such folders.")
@click.option("--port", default=8765, show_default=True, type=click.IntRange(0, 65535), help="0 takes any free one.")
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Address to listen on.")
@click.option("--allow-remote", is_flag=True, help="Let other machines ask; they need the token.")
@click.option(
    "--token",
    default="",
    metavar="TEXT",
    envvar="GNOMON_TOKEN",
    help="Token that other machines need (or in GNOMON_TOKEN); default: a random one.",
)
@click.option("--open", "open_", is_flag=True, help="Open the address in a browser.")
def command(runs: str, port: int, host: str, allow_remote: bool, token: str, open_: bool) -> None:
    """Serve until interrupted."""
    from gnomon.cli.output import say
    from gnomon.dashboard.serving import Address, serve

    def ready(address: str) -> None:
        say(f"dashboard of {runs}: {address}\nread-only; end it with Ctrl-C")
        if open_:
            click.launch(address)

    serve(Path(runs), Address(host, port, allow_remote, token), ready)
