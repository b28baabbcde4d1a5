"""Options of every verb that works through the engine; light enough to be imported for help."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from gnomon.core.options import Option, ScoringOptions
from gnomon.engine.plan import Limits

EXECUTORS = ("auto", "inline", "processes")


@dataclass(frozen=True, kw_only=True)
class EngineOptions(ScoringOptions):
    """What every verb that works through the engine accepts."""

    executor: Annotated[
        str, Option("who does the work; auto: worker processes where models train, else inline", choices=EXECUTORS)
    ] = "auto"
    workers: Annotated[int, Option("worker processes; 0 is one per core", low=0, high=1024)] = 0
    retries: Annotated[int, Option("further attempts at a cell after an error", low=0, high=100)] = 1
    deaths: Annotated[int, Option("further attempts at a cell after its worker died", low=0, high=1000)] = 3
    timeout: Annotated[float, Option("time limit of one cell in seconds; 0 is none", low=0)] = 0.0
    memory: Annotated[float, Option("memory limit of one cell in MB; 0 is none", low=0)] = 0.0
    fresh: Annotated[bool, Option("do everything again, whatever is stored")] = False
    store: Annotated[str, Option("folder of stored work  [default: OUT/store]", metavar="DIR")] = ""

    def limits(self) -> Limits:
        """Return the limits of one cell."""
        memory = int(self.memory * 1e6) or None
        return Limits(retries=self.retries, deaths=self.deaths, seconds=self.timeout or None, memory_bytes=memory)

    def store_folder(self) -> Path:
        """Return where stored work is."""
        return Path(self.store or os.path.join("runs" if self.out == "none" else self.out, "store"))
