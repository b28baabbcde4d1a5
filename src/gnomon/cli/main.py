"""``gnomon``: verbs are imported when they are called, so that help is instant."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any, NoReturn

import click

from gnomon.cli.groups import Group, NoArguments
from gnomon.core.errors import GnomonError
from gnomon.core.stdout import reserve_stdout

VERBS = {
    "score": "score predictions that were made elsewhere",
    "run": "predict with systems, then score them; resumes where it was stopped",
    "search": "search a system's parameters on the validation part",
    "ablate": "switch off parts of a system, one at a time",
    "compare": "compare runs on the same data: difference, interval, p-value",
    "report": "show runs as tables: terminal, json, csv, markdown, latex, html",
    "serve": "look at a folder of runs in a browser, while they are made and after",
    "audit": "look for leaks, idle arms, trivial answers and gaps, in runs and between them",
    "verify": "check that runs agree with themselves: hashes, identities, scores",
    "list": "list suites, measures or runs",
    "data": "list the datasets that suites know, check a folder for them, describe one",
    "template": "write a small example of a suite's files",
    "simulate": "write generated data in a suite's files",
    "demo": "evaluate on generated data, from nothing to tables",
    "doctor": "say what is installed, what is missing for which feature, and how to get it",
    "completion": "print the script that completes commands in your shell",
}

RENAMED = {"--measure": "--metrics", "--measures": "--metrics", "--metric": "--metrics"}
"""Options that had another name before, and what they are called now."""


class Unread(Exception):
    """Nobody reads on what is printed."""


class Verbs(Group):
    """A group that knows its commands by name and imports one when it is called."""

    kind = "verb"

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the verbs in the order of their use."""
        del ctx
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of a verb."""
        del ctx
        if cmd_name not in VERBS:
            return None
        command: click.Command = importlib.import_module(f"gnomon.cli.{cmd_name}_").command
        return command

    def unknown(self, ctx: click.Context, name: str) -> str:
        """Say which verbs there are; the name of a suite stands behind one."""
        import difflib

        from gnomon.core import registry

        near = difflib.get_close_matches(name, [*VERBS, *registry.suites()], 1)
        if not near or near[0] in VERBS:
            return super().unknown(ctx, name)
        suite = registry.suites()[near[0]]
        said = ": it is a suite, and a" if name == suite.name else f"; did you mean the suite {suite.name!r}? A"
        ways = ", ".join(f"'gnomon {verb} {suite.name}'" for verb in VERBS if verb in suite.verbs)
        return f"no verb {name!r}{said} verb comes first, as in {ways}"

    def invoke(self, ctx: click.Context) -> Any:
        """Call a verb; click takes a closed pipe for a failure, where it sees one."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise Unread from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs without importing them."""
        del ctx
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))


def _version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        from importlib.metadata import version

        click.echo(f"gnomon {version('gnomon')}")
        ctx.exit()


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version.")
@click.option("--debug", is_flag=True, help="Show tracebacks.")
def gnomon(debug: bool) -> None:
    """Evaluate systems that perceive people and places through sensors.

    Start with: gnomon demo
    """
    del debug


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and leave with its exit code: 2 for bad input, 1 for failed or partial work.

    Standard output holds the result alone: what systems, libraries and their processes write there goes to standard
    error. Without arguments, this is the program itself, and nothing is put back at its end.
    """
    with reserve_stdout(restore=arguments is not None):
        _main(sys.argv[1:] if arguments is None else arguments)


def _main(given: list[str]) -> NoReturn:
    debug = "--debug" in given
    given = [item for item in given if item != "--debug"]
    try:
        code = gnomon.main(given, prog_name="gnomon", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Abort:
        _fail("interrupted", 130)
    except NoArguments as error:
        click.echo(error.message, err=True)
        sys.exit(error.exit_code)
    except click.UsageError as error:
        _fail(_usage(error), 2)
    except click.ClickException as error:
        _fail(error.format_message(), error.exit_code)
    except GnomonError as error:
        if debug:
            raise
        _fail(str(error), error.exit_code)
    except (Unread, BrokenPipeError):
        # Whoever read has seen enough: no failure of the work, and told as other programs tell it, as ended by SIGPIPE.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except Exception as error:
        if debug:
            raise
        _fail(f"internal error: {type(error).__name__}: {error} (--debug shows where)", 1)
    sys.exit(code if isinstance(code, int) else 0)


def _usage(error: click.UsageError) -> str:
    path = error.ctx.command_path if error.ctx else "gnomon"
    message = error.format_message()
    if isinstance(error, click.NoSuchOption) and _renamed(error):
        message = f"{error.message.rstrip('.')}: it is {_renamed(error)}."
    elif isinstance(error, click.NoSuchOption) and error.possibilities:
        import difflib

        words = {name.lstrip("-"): name for name in error.possibilities}  # the dashes are no likeness
        near = difflib.get_close_matches(error.option_name.lstrip("-"), words, 1)
        message = f"{error.message} Did you mean {words[near[0]]!r}?" if near else error.message
    return f"{message} (see '{path} --help')"


def _renamed(error: click.NoSuchOption) -> str:
    """Return what an option is called that had another name before, where the command has it; else nothing."""
    now = RENAMED.get(error.option_name, "")
    return now if error.ctx and any(now in parameter.opts for parameter in error.ctx.command.params) else ""


def _fail(message: str, code: int) -> NoReturn:
    from gnomon.report.markup import printable

    click.echo(f"gnomon: {printable(' '.join(message.split()))}", err=True)
    sys.exit(code)
