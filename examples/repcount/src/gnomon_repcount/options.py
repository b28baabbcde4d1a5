"""Options; imports nothing heavy, so that help stays instant."""

from dataclasses import dataclass
from typing import Annotated

from gnomon.core.options import Option, ScoringOptions


@dataclass(frozen=True, kw_only=True)
class ScoreOptions(ScoringOptions):
    """``gnomon score repcount``."""

    truth: Annotated[str, Option("table with id, subject, count", metavar="FILE", data=True)]
    predictions: Annotated[str, Option("table with id, count", metavar="FILE", data=True)]
    system: Annotated[str, Option("name of the system", metavar="NAME")] = "system"
