"""``gnomon template SUITE DIR``."""

from __future__ import annotations

from gnomon.cli.building import SuiteGroup
from gnomon.cli.writing import writer

command = SuiteGroup(
    "template", writer("template"), help="Write a small example of a suite's files.", no_args_is_help=True
)
