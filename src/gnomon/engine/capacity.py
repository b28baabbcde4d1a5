"""What workers of a cluster have of what nodes take, such as GPUs and memory, and how it is said that it is lacking."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gnomon.core.errors import counted, some
from gnomon.engine.plan import Plan

Resources = tuple[tuple[str, float], ...]


@dataclass
class Lack:
    """What no worker has; nothing where there are no workers."""

    what: Resources
    since: float
    said: float


def takes(plan: Plan) -> dict[str, Resources]:
    """Return what every node takes, by key: where some are heavy, only those do."""
    heavy = any(node.heavy for node in plan)
    return {node.key: node.limits.resources if node.heavy or not heavy else () for node in plan}


def slots(worker: Mapping[str, Any], asked: Resources) -> int:
    """Return how many nodes that take something can be at work on one worker: it has to have all of that.

    >>> slots({"nthreads": 8, "resources": {"GPU": 2}}, (("GPU", 1.0),))
    2
    """
    has = worker.get("resources") or {}
    fits = (math.floor(float(has.get(name, 0)) / amount + 1e-9) for name, amount in asked)
    return min([int(worker["nthreads"]), *fits])


def declared(resources: Iterable[tuple[str, float]]) -> str:
    """Write resources as ``dask worker --resources`` takes them.

    >>> declared([("GPU", 1.0), ("MEMORY", 64e9)])
    'GPU=1,MEMORY=6.4e+10'
    """
    return ",".join(f"{name}={float(amount):g}" for name, amount in resources)


def instead(workers: Sequence[Mapping[str, Any]]) -> str:
    """Say what workers declare, each for itself."""
    known = sorted({declared(sorted((worker.get("resources") or {}).items())) for worker in workers} - {""})
    declare = "declares" if len(workers) == 1 else "declare"
    return f": {counted(len(workers), 'worker')} {declare} {some(known) if known else 'nothing'}"
