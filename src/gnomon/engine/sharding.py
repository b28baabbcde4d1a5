"""Scoring of shards through the engine: a cell per shard, whose result is a part, and one evaluation per system.

A shard that cannot be read fails alone: the run is partial, names it, and the same command finishes the rest once it
is mended. A shard is known by where it lies, its size and its time stamps, which are looked at again when it was read;
the content that was scored has its fingerprint in the run. What was tallied by other code is tallied anew.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from gnomon.core.errors import InputError, some
from gnomon.core.suite import load
from gnomon.engine.folding import Given, Stored, for_each, left_alone, nothing_scored
from gnomon.engine.job import Job, Outcome
from gnomon.engine.options import EngineOptions
from gnomon.engine.plan import Node, Plan
from gnomon.intake.faults import shown
from gnomon.intake.shards import identity, unchanged
from gnomon.intake.texts import hashes
from gnomon.intake.unread import reading_for
from gnomon.runs import once, parts
from gnomon.runs.run import Evaluation

LARGE = 256 << 20
"""Bytes of a shard from which it is worth a process of its own."""


def job(
    function: str,
    systems: Iterable[Given],
    settings: Mapping[str, Any],
    options: EngineOptions,
    assemble: Callable[[Given, Stored, Outcome], Sequence[Evaluation]],
    *,
    context: Mapping[str, Any] | None = None,
    threaded: bool = False,
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
        Makes the evaluations of a system of its parts, at least one, by the names of their shards, and of what became
        of its cells.
    context
        Plain data that the result does not depend on, such as where a file lies whose content is in the settings by its
        hash; copies of data by address are found in it.
    threaded
        The function uses all processors by itself, as :class:`gnomon.engine.plan.Node` says.
    """
    given = list(systems)
    nodes = [_node(function, one.system, shard, settings, options, threaded) for one in given for shard in one.shards]
    nodes = [replace(node, context={**(context or {}), **node.context}) for node in nodes]

    def made(one: Given, outcome: Outcome) -> list[Evaluation]:
        own = outcome.of(system=one.system)
        if not own.done:
            raise nothing_scored(one.where, own)
        names = {_named(one.system, name): name for name, *_ in one.shards}
        folders = [(names[cell], folder) for cell, folder in own.done.items()]
        lacking = {names[cell] for cell in own.refused}
        alone = _truths(
            function, [shard for shard in one.shards if shard[0] in lacking], {**settings, **(context or {})}
        )
        left = left_alone(one.others)
        with reading_for(one.system):
            made = assemble(one, Stored(folders, alone), own)
        return [replace(found, findings=(*found.findings, *left)) for found in made]

    return Job(Plan(nodes), lambda outcome: for_each(given, lambda one: made(one, outcome)))


def _truths(
    function: str, shards: Sequence[tuple[str, Path, Path | None]], settings: Mapping[str, Any]
) -> dict[str, Mapping[str, Any]]:
    """Return the facts of the truth of shards that could not be scored, where it can be read without predictions.

    A run in which a shard is missing is then known to be of the same data as one that has it. Where it cannot be read,
    or there is no room for what is known of it, the run stands without.
    """
    found: dict[str, Mapping[str, Any]] = {}
    for name, truth, predictions in shards:
        paths = {"truth": os.path.abspath(truth), "predictions": None}
        if predictions is None or "missing" not in settings:
            continue
        with contextlib.suppress(InputError, OSError), tempfile.TemporaryDirectory(prefix="gnomon-") as folder:
            arguments = {**settings, "missing": "skip", "shard": name, "paths": paths}
            load(function)(arguments, {}, Path(folder))
            found[name] = parts.read(Path(folder)).facts
    return found


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
        f"{__name__}:tally",
        {**settings, "tally": function, "shard": name, "known": known},
        calls=(function,),
        context={"paths": paths},
        labels={"system": system, "task": name},
        limits=options.limits(),
        heavy=size > LARGE and not threaded,
        threaded=threaded,
    )


def tally(arguments: Mapping[str, Any], needs: Mapping[str, Path], out: Path) -> None:
    """Let the suite tally one shard, unless it is not what it was; a cell of the engine."""
    paths, known = arguments["paths"], arguments["known"]
    with unchanged([(paths[side], known[side]) for side in ("truth", "predictions")]):
        load(arguments["tally"])(arguments, needs, out)


def check_once(given: Given, outcome: Outcome, texts: Callable[[Path], pa.Array]) -> None:
    """Refuse ids that are in several shards of the truth; their hashes are in the folders of the cells.

    Parameters
    ----------
    given, outcome
        A system, and what became of its cells.
    texts
        Reads the ids of a shard of the truth again, as they were hashed: hashes may be equal by chance.
    """
    paths = {_named(given.system, name): (name, truth) for name, truth, _ in given.shards}
    shards = [paths[cell] for cell in outcome.done]
    for one, places in once.twice(list(outcome.done.values())):
        where: dict[str, list[str]] = {}
        for place in places:
            own = texts(shards[place][1])
            for text in own.filter(pa.array(hashes(own) == np.uint64(one))).to_pylist():
                where.setdefault(text, []).append(shards[place][0])
        for text, names in where.items():
            if len(names) > 1:
                raise InputError(
                    f"{given.where}: the id {shown(text, 80)!r} is in more than one shard of the truth: {some(names)}; "
                    "give it in one of them"
                )
