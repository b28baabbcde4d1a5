"""``perfboard``: the published command over ``gnomon run events``, and the published base class of recognisers.

All labels are pooled, as published (variant ``published``); the result is perfboard's own file, described in
:mod:`gnomon.suites.events.perfboard`, and nothing else is left behind. ``gnomon run events`` can do more: classes,
intervals over subjects, stored work, runs that can be verified; with ``--export-perfboard`` it writes this file too.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from gnomon.core.errors import GnomonError
from gnomon.core.stdout import reserve_stdout
from gnomon.suites.events.recognizers import AbstractRecognizer

__all__ = ["AbstractRecognizer", "main"]

OUTPATH = os.path.join("static", "scores.json")
INTERRUPTED = 130
"""Exit code of work that the user stopped; nothing of it is stored here, whatever the engine says."""


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are one line."""

    def error(self, message: str) -> NoReturn:
        """Complain and leave."""
        _fail(f"{message} (see '{self.prog} --help')", 2)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and leave with its exit code: 2 for bad input, 1 for failed or partial work."""
    given = _parser().parse_args(arguments)
    with reserve_stdout(restore=arguments is not None):
        _main(given)


def _main(given: argparse.Namespace) -> NoReturn:
    try:
        code = _run(given.recognizers, given.truth, given.outpath)
    except KeyboardInterrupt:
        _fail("interrupted", INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except GnomonError as error:
        if given.debug:
            raise
        _fail("interrupted" if error.exit_code == INTERRUPTED else str(error), error.exit_code)
    except Exception as error:
        if given.debug:
            raise
        _fail(f"internal error: {type(error).__name__}: {error} (--debug shows where)", 1)
    sys.exit(code)


def _parser() -> Parser:
    parser = Parser(prog="perfboard", description="Run recognisers over recordings and score what they detect.")
    parser.add_argument(
        "--outpath", metavar="OUTPUT_PATH", default=OUTPATH, help="file for the scores  [default: %(default)s]"
    )
    parser.add_argument(
        "--recognizers",
        metavar="RECOGNIZER_LIST",
        required=True,
        action="append",
        help="package.module.Class or file.py:Class; several with commas",
    )
    parser.add_argument("--debug", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("truth", metavar="TRUTH_FILE", nargs="+", help="truth file (JSON)")
    return parser


def _run(recognizers: Sequence[str], truth: Sequence[str], outpath: str) -> int:
    from gnomon.api import perform
    from gnomon.report.terminal import display
    from gnomon.runs.unscored import describe_unscored
    from gnomon.suites.events.perfboard import check

    check(outpath)
    options = {"truth": tuple(truth), "recognizers": tuple(recognizers), "export_perfboard": outpath}
    result = perform("events", "run", {**options, "variant": "published", "out": "none"}, stream=sys.stderr)
    display(result.items)
    sys.stdout.flush()
    _say(f"scores: {outpath}")
    if result.unscored:
        _say(f"perfboard: {' '.join(describe_unscored(result.unscored).split())}")
    return 0 if result.complete and not result.unscored else 1


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def _fail(message: str, code: int) -> NoReturn:
    _say(f"perfboard: {' '.join(message.split())}")
    sys.exit(code)
