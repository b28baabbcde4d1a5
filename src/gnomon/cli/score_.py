"""``gnomon score SUITE``."""

from __future__ import annotations

from typing import Any

from gnomon.cli.building import SuiteGroup
from gnomon.core.suite import Suite


def _score(suite: Suite, given: dict[str, Any], as_json: bool) -> int:
    from gnomon.api import perform
    from gnomon.cli.output import conclude, show

    result = perform(suite.name, "score", given)
    show(result, as_json)
    return conclude(result)


command = SuiteGroup("score", _score, help="Score predictions that were made elsewhere.", no_args_is_help=True)
