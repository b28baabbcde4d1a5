"""Scoring of shards through the engine: a cell per shard, whose result is a part, and one evaluation per system.

A shard that cannot be read fails alone: the run is partial, names it, and the same command finishes the rest once it
is mended. A shard is known by where it lies, its size and its time stamps, which are looked at again when it was read;
the content that was scored has its fingerprint in the run. What was tallied by other code is tallied anew.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, overload

import numpy as np
import pyarrow as pa

from gnomon.core.canonical import digest, fingerprint
from gnomon.core.errors import InputError, some
from gnomon.core.evidence import Finding
from gnomon.core.suite import load
from gnomon.engine.job import Job, Outcome
from gnomon.engine.options import EngineOptions
from gnomon.engine.plan import Node, Plan
from gnomon.intake.faults import shown
from gnomon.intake.shards import identity, unchanged
from gnomon.intake.texts import hashes
from gnomon.runs import once, parts
from gnomon.runs.parts import Part
from gnomon.runs.run import Evaluation

TRUTH, PREDICTIONS = "truth_digest", "predictions_digest"
"""Facts of a part: fingerprints of the content of both sides."""
ROOMS = ("core", "intake", "numerics", "measures", "runs")
System = TypeVar("System")
LARGE = 256 << 20
"""Bytes of a shard from which it is worth a process of its own."""


@dataclass(frozen=True)
class Given:
    """The shards of one system: name, truth, predictions (None where there are none)."""

    system: str
    where: str
    """The folder of predictions."""
    shards: Sequence[tuple[str, Path, Path | None]]
    others: Sequence[Path] = ()
    """Files beside shards of either side, which are none by their suffix."""


class NothingScoredError(InputError):
    """All cells of a system failed: there is no run of it, whatever becomes of the others."""

    @staticmethod
    def of(where: str, outcome: Outcome, what: str = "shard") -> NothingScoredError:
        """Name the first of the reasons."""
        why = next(iter(outcome.missing.values()))
        return NothingScoredError(f"{where}: no {what} could be scored; the first: {why}")


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
            raise NothingScoredError.of(one.where, own)
        names = {_named(one.system, name): name for name, *_ in one.shards}
        folders = [(names[cell], folder) for cell, folder in own.done.items()]
        lacking = {names[cell] for cell in own.refused}
        alone = _truths(
            function, [shard for shard in one.shards if shard[0] in lacking], {**settings, **(context or {})}
        )
        left = left_alone(one.others)
        return [
            replace(found, findings=(*found.findings, *left)) for found in assemble(one, Stored(folders, alone), own)
        ]

    return Job(Plan(nodes), lambda outcome: for_each(given, lambda one: made(one, outcome)))


def for_each(systems: Iterable[System], make: Callable[[System], Sequence[Evaluation]]) -> list[Evaluation]:
    """Make the evaluations of every system; one of which nothing could be scored has none, and its cells say why.

    Raises
    ------
    NothingScoredError
        No system has any.
    """
    found: list[Evaluation] = []
    lost: list[NothingScoredError] = []
    for one in systems:
        try:
            found += make(one)
        except NothingScoredError as error:
            lost.append(error)
    if lost and not found:
        raise lost[0]
    return found


def left_alone(files: Sequence[Path]) -> tuple[Finding, ...]:
    """Say which files beside shards were not read."""
    if not files:
        return ()
    count = f"{len(files)} file{' is' if len(files) == 1 else 's are'}"
    names = some([path.name for path in files], show=3)
    return (
        Finding(
            "files-left-alone",
            "warning",
            str(files[0].parent),
            f"{count} no shard by the suffix, and not scored: {names}",
            "write data in a format that is read, and keep other files elsewhere",
        ),
    )


class Stored(Sequence[tuple[str, Part]]):
    """Parts by the names of their shards, read from their folders when they are asked for.

    ``alone`` holds, by name, what is known of shards whose predictions cannot be scored, from their truth alone: the
    facts of a part in which nothing was scored.
    """

    def __init__(
        self, folders: Sequence[tuple[str, Path]], alone: Mapping[str, Mapping[str, Any]] | None = None
    ) -> None:
        self.folders, self.alone = folders, dict(alone or {})

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


def _truths(
    function: str, shards: Sequence[tuple[str, Path, Path | None]], settings: Mapping[str, Any]
) -> dict[str, Mapping[str, Any]]:
    """Return the facts of the truth of shards that could not be scored, where it can be read without predictions.

    A run in which a shard is missing is then known to be of the same data as one that has it.
    """
    found: dict[str, Mapping[str, Any]] = {}
    for name, truth, predictions in shards:
        paths = {"truth": os.path.abspath(truth), "predictions": None}
        if predictions is None or "missing" not in settings:
            continue
        with tempfile.TemporaryDirectory(prefix="gnomon-") as folder, contextlib.suppress(InputError):
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
        {**settings, "tally": function, "code": code(function), "shard": name, "known": known},
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


@cache
def code(function: str) -> str:
    """Return the hash of the code that a part depends on: that of its suite, and of the rooms below it."""
    root = Path(__file__).parents[1]
    package, *rest = function.partition(":")[0].split(".")
    own = [root.joinpath(*rest[:2])] if package == root.name else _package(package)
    folders = [*(root / room for room in ROOMS), *own]
    files = [path for one in folders for path in (sorted(one.rglob("*.py")) if one.is_dir() else [one])]
    return digest(path.read_bytes() for path in files)


def _package(name: str) -> list[Path]:
    """Return the folders of a package that is not ours, or the file of a module."""
    found = importlib.util.find_spec(name)
    if found is None or not (found.submodule_search_locations or found.origin):
        raise InputError(f"{name}: no such package; is what scores these shards installed?")
    return [Path(place) for place in found.submodule_search_locations or [str(found.origin)]]


def gathered(read: Stored, columns: Sequence[str]) -> tuple[Part, dict[str, Mapping[str, Any]]]:
    """Fold parts of counts, few at a time; return the facts of each by name, too."""
    facts: dict[str, Mapping[str, Any]] = {}

    def every() -> Iterator[Part]:
        for name, part in read:
            facts[name] = part.facts
            yield part

    return parts.gathered(every(), columns), facts


def table(facts: Mapping[str, Mapping[str, Any]], key: str = PREDICTIONS) -> pa.Table:
    """Return what a run keeps in place of predictions that are too many: the shards, with their fingerprints."""
    return pa.table(
        {
            "shard": pa.array(list(facts), pa.string()),
            "predictions": pa.array([str(own[key]) for own in facts.values()], pa.string()),
        }
    )


def covered(own: Mapping[str, Any], given: Given, read: Stored, outcome: Outcome, missing: str) -> dict[str, Any]:
    """Return what was scored of the shards of the truth, beside what a suite says of what is in them.

    ``missing`` is what was asked for where predictions are missing: ``skip`` leaves such shards out.
    """
    without = [name for name, _, predictions in given.shards if predictions is None]
    skipped = without if missing == "skip" else []
    shards = {
        "truth": len(given.shards),
        "scored": len({name for name, _ in read.folders} - set(skipped)),
        "without predictions": len(without),
    }
    complete = bool(own["complete"]) and outcome.complete and not skipped
    return {
        **own,
        "complete": complete,
        "shards": {**shards, "skipped": skipped} if skipped else shards,
        **cells(outcome, complete=complete),
    }


def cells(outcome: Outcome, *, complete: bool) -> dict[str, Any]:
    """Return what a run records of its cells; where all are done and it is partial, they are not what makes it so."""
    return {"cells": outcome.coverage()} if complete or not outcome.complete else {}


def content(given: Given, facts: Mapping[str, Mapping[str, Any]], read: Stored) -> str:
    """Return the fingerprint of the truth of all shards, of those that could not be scored, too."""
    known = {**read.alone, **facts}
    return fingerprint([[name, known[name][TRUTH]] for name, *_ in given.shards if name in known])
