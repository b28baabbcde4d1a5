"""Options of every verb that works through the engine; light enough to be imported for help."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from gnomon.core.errors import InputError
from gnomon.core.options import Option, ScoringOptions
from gnomon.engine.plan import Limits

CLUSTER = "dask"
EXECUTORS = ("auto", "inline", "processes", CLUSTER, f"{CLUSTER}://HOST:PORT", f"{CLUSTER}://FILE.json")


@dataclass(frozen=True, kw_only=True)
class EngineOptions(ScoringOptions):
    """What every verb that works through the engine accepts."""

    executor: Annotated[
        str,
        Option(
            "who does the work: auto (worker processes where systems are not gnomon's own, models train, shards are "
            "large or limits are given, else inline), inline, processes, dask (a cluster that is started here), "
            "dask://HOST:PORT or dask://FILE.json (one that runs already)",
            metavar="NAME",
        ),
    ] = "auto"
    workers: Annotated[int, Option("worker processes; 0 is one per core that may be used", low=0, high=1024)] = 0
    resources: Annotated[
        str, Option("what a cell takes of what workers of a cluster declare, such as GPU=1", metavar="NAME=N,...")
    ] = ""
    retries: Annotated[int, Option("further attempts at a cell after an error", low=0, high=100)] = 1
    deaths: Annotated[int, Option("further attempts at a cell after its worker died", low=0, high=1000)] = 3
    timeout: Annotated[float, Option("time limit of one cell in seconds; 0 is none", low=0)] = 0.0
    memory: Annotated[float, Option("memory limit of one cell in MB; 0 is none", low=0)] = 0.0
    fresh: Annotated[bool, Option("do everything again, whatever is stored")] = False
    store: Annotated[str, Option("folder of stored work  [default: OUT/store]", metavar="DIR")] = ""

    def limits(self) -> Limits:
        """Return the limits of one cell."""
        memory = int(self.memory * 1e6) or None
        return Limits(self.retries, self.deaths, self.timeout or None, memory, _resources(self.resources))

    def store_folder(self) -> Path:
        """Return where stored work is."""
        return Path(self.store or os.path.join("runs" if self.out == "none" else self.out, "store"))


def _resources(text: str) -> tuple[tuple[str, float], ...]:
    """Read ``GPU=1,MEMORY=4e9``.

    >>> _resources("GPU=1, MEMORY=4e9")
    (('GPU', 1.0), ('MEMORY', 4000000000.0))
    """
    found: dict[str, float] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, amount = part.partition("=")
        try:
            value = float(amount)
        except ValueError:
            value = math.nan
        if not name.strip() or not 0 < value < math.inf or name.strip() in found:
            raise InputError(f"option 'resources': expected NAME=AMOUNT, each name once, but got {part!r}")
        found[name.strip()] = value
    return tuple(found.items())
