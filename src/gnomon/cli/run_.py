"""``gnomon run SUITE``."""

from __future__ import annotations

import sys
from typing import Any

from gnomon.cli.building import SuiteGroup
from gnomon.core.suite import Suite


def _run(suite: Suite, given: dict[str, Any], as_json: bool) -> int:
    from gnomon.api import perform
    from gnomon.cli.output import conclude, show

    result = perform(suite.name, "run", given, stream=sys.stderr)
    show(result, as_json)
    return conclude(result)


command = SuiteGroup("run", _run, help="Predict with systems, then score them.", no_args_is_help=True)
