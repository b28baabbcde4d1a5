"""Scoring of shards through the engine: a cell per shard, whose result is a part, and one evaluation per system.

A shard that cannot be read fails alone: the run is partial, names it, and the same command finishes the rest once it
is mended. A shard is known by its name, its size and its time stamp; the content that was scored has its fingerprint
in the run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import pyarrow as pa

from gnomon.core.canonical import fingerprint
from gnomon.engine.job import Job, Outcome
from gnomon.engine.options import EngineOptions
from gnomon.engine.plan import Node, Plan
from gnomon.intake.shards import identity
from gnomon.runs import parts
from gnomon.runs.parts import Part
from gnomon.runs.run import Evaluation

TRUTH, PREDICTIONS = "truth_digest", "predictions_digest"
"""Facts of a part: fingerprints of the content of both sides."""
LARGE = 256 << 20
"""Bytes of a shard from which it is worth a process of its own."""


@dataclass(frozen=True)
class Given:
    """The shards of one system: name, truth, predictions (None where there are none)."""

    system: str
    where: str
    """The folder of predictions."""
    shards: Sequence[tuple[str, Path, Path | None]]


def job(
    function: str,
    systems: Iterable[Given],
    settings: Mapping[str, Any],
    options: EngineOptions,
    assemble: Callable[[Given, Sequence[tuple[str, Part]], Outcome], Evaluation | Sequence[Evaluation]],
    *,
    threaded: bool = False,
    lazily: bool = False,
) -> Job:
    """Plan a cell per shard and system.

    Parameters
    ----------
    function
        ``module:function`` of the suite; it gets ``settings`` and the name of the shard, with the paths ``truth`` and
        ``predictions`` (None where there are none), and writes a :class:`gnomon.runs.parts.Part`.
    systems
        What is scored.
    settings
        Plain data that the result depends on.
    assemble
        Makes the evaluation of a system, or several, of its parts, by the names of their shards, and of what became of
        its cells.
    threaded
        The function uses all processors by itself.
    lazily
        Parts are read whenever they are gone through, so that not all of them are held.
    """
    given = list(systems)
    nodes = [_node(function, one.system, shard, settings, options, threaded) for one in given for shard in one.shards]

    def assembled(outcome: Outcome) -> list[Evaluation]:
        found: list[Evaluation] = []
        for one in given:
            own = outcome.of(system=one.system)
            names = {_named(one.system, name): name for name, *_ in one.shards}
            read = Stored([(names[cell], folder) for cell, folder in own.done.items()])
            made = assemble(one, read if lazily else list(read), own)
            found += [made] if isinstance(made, Evaluation) else made
        return found

    return Job(Plan(nodes), assembled)


class Stored(Sequence[tuple[str, Part]]):
    """Parts by the names of their shards, read from their folders when they are asked for."""

    def __init__(self, folders: Sequence[tuple[str, Path]]) -> None:
        self.folders = folders

    def __len__(self) -> int:
        return len(self.folders)

    @overload
    def __getitem__(self, index: int) -> tuple[str, Part]: ...
    @overload
    def __getitem__(self, index: slice) -> Stored: ...
    def __getitem__(self, index: int | slice) -> tuple[str, Part] | Stored:
        if isinstance(index, slice):
            return Stored(self.folders[index])
        name, folder = self.folders[index]
        return name, parts.read(folder)


def _named(system: str, shard: str) -> str:
    return f"{system}: {shard}"


def _node(
    function: str,
    system: str,
    shard: tuple[str, Path, Path | None],
    settings: Mapping[str, Any],
    options: EngineOptions,
    threaded: bool,
) -> Node:
    name, truth, predictions = shard
    known = {"truth": identity(truth), "predictions": identity(predictions)}
    paths = {"truth": os.path.abspath(truth), "predictions": predictions and os.path.abspath(predictions)}
    size = sum(side["bytes"] for side in known.values() if side)
    return Node(
        _named(system, name),
        function,
        {**settings, "shard": name, "known": known},
        context={"paths": paths},
        labels={"system": system, "task": name},
        limits=options.limits(),
        heavy=size > LARGE and not threaded,
    )


def table(read: Sequence[tuple[str, Part]]) -> pa.Table:
    """Return what a run keeps in place of predictions that are too many: the shards, with their fingerprints."""
    return pa.table(
        {
            "shard": pa.array([name for name, _ in read], pa.string()),
            "predictions": pa.array([str(part.facts[PREDICTIONS]) for _, part in read], pa.string()),
        }
    )


def content(read: Sequence[tuple[str, Part]]) -> str:
    """Return the fingerprint of the truth of all shards."""
    return fingerprint([[name, part.facts[TRUTH]] for name, part in read])
