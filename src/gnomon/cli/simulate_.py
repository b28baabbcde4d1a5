"""``gnomon simulate SUITE DIR``."""

from __future__ import annotations

from gnomon.cli.building import SuiteGroup
from gnomon.cli.writing import writer

command = SuiteGroup(
    "simulate", writer("simulate"), help="Write generated data in a suite's files.", no_args_is_help=True
)
