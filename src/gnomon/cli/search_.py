"""``gnomon search SUITE``."""

from __future__ import annotations

import sys
from typing import Any

import click

from gnomon.cli.tuned import TunedGroup
from gnomon.core.suite import Suite


def _search(suite: Suite, given: dict[str, Any], as_json: bool) -> int:
    from gnomon.cli.output import conclude
    from gnomon.cli.tuned import show, showing
    from gnomon.core import grids
    from gnomon.tuning import perform_search

    shown = showing(given)
    axes = grids.parse(given.pop("grid", ()))
    result = perform_search(suite.name, given, axes, given.pop("random", 0), stream=sys.stderr)
    show(result, as_json, *shown)
    return conclude(result)


OWN = (
    click.Option(
        ["--grid"],
        multiple=True,
        required=True,
        metavar="KEY=A,B,C",
        help="Values of a parameter; may be repeated, then every combination is tried. With --random also "
        "KEY=LOW..HIGH and KEY=LOW..HIGH:log.",
    ),
    click.Option(["--random"], type=click.IntRange(1), metavar="N", help="Try N combinations, drawn with --seed."),
)
command = TunedGroup(
    "search",
    _search,
    OWN,
    decides_part=True,
    help="Search a system's parameters on the validation part; the test part is not read.",
    no_args_is_help=True,
)
