"""``gnomon ablate SUITE``."""

from __future__ import annotations

import sys
from typing import Any

import click

from gnomon.cli.tuned import TunedGroup
from gnomon.core.suite import Suite


def _ablate(suite: Suite, given: dict[str, Any], as_json: bool) -> int:
    from gnomon.cli.output import conclude
    from gnomon.cli.tuned import show, showing
    from gnomon.tuning import perform_ablation

    shown = showing(given)
    result = perform_ablation(suite.name, given, given.pop("without", ()), stream=sys.stderr)
    show(result, as_json, *shown)
    return conclude(result)


OWN = (
    click.Option(
        ["--without"],
        multiple=True,
        required=True,
        metavar="A,B",
        help="Switches of the system, each turned off by itself.",
    ),
)
command = TunedGroup(
    "ablate",
    _ablate,
    OWN,
    decides_part=False,
    help="Switch off parts of a system, one at a time, and show what each is worth.",
    no_args_is_help=True,
)
