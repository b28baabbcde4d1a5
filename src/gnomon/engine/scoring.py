"""Scoring: chunks of truth and predictions are tallied, and what they leave becomes the evaluations of a system.

There is one path for files, for arrays in memory and for folders of shards. A suite gives two functions
(:class:`Scorer`): ``tally(chunk, options) -> Part`` and ``finish(partials, options) -> evaluations``. A file, or what
is in memory, is one chunk, which is tallied in this process. In a folder every shard is a chunk, and tallying it is a
cell of the engine: shards are done one at a time, in any order and anywhere, and what is stored is not done again.

A shard that cannot be read fails alone: the run is partial, names it, and the same command finishes the rest once it
is mended. A shard is known by where it lies, its size and its time stamps, which are looked at again when it was read;
the content that was scored has its fingerprint in the run. A system of which nothing could be scored has no run.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import pyarrow as pa

from gnomon.core import options as opt
from gnomon.core.canonical import fingerprint
from gnomon.core.errors import InputError, NothingScoredError, counted, some
from gnomon.core.evidence import Finding
from gnomon.core.suite import load
from gnomon.engine.job import Job, Outcome
from gnomon.engine.options import EngineOptions
from gnomon.engine.plan import Node, Plan
from gnomon.engine.progress import pulse
from gnomon.intake import shards
from gnomon.intake.faults import shown
from gnomon.intake.shards import identity, is_folder, unchanged
from gnomon.intake.texts import hashes
from gnomon.intake.unread import CELL, reading_for
from gnomon.runs import exhibits, once, parts
from gnomon.runs.content import table_digest
from gnomon.runs.exhibits import Exhibit, Worst
from gnomon.runs.parts import Part
from gnomon.runs.run import Evaluation

LARGE = 256 << 20
"""Bytes of a shard from which it is worth a process of its own."""
TRUTH, PREDICTIONS = "truth_digest", "predictions_digest"
"""Facts of a part: fingerprints of the content of both sides. A suite gives the first."""

Options = TypeVar("Options", bound=EngineOptions)


@dataclass(frozen=True)
class Chunk:
    """What is tallied at once: the shard of a system, or all that there is (without a name).

    Attributes
    ----------
    name
        The shard; empty for a file, or what is in memory.
    truth, predictions
        A path, or whatever the suite hands to itself in memory; None where there is none.
    given
        Plain data of the suite that the result depends on.
    files
        Further files that are read; a change of one is noticed, too.
    context
        Plain data that the result does not depend on, such as where a file of known content lies.
    reader
        For whom predictions are read, for :func:`gnomon.intake.unread.reading_for`.
    needs
        By role: the nodes whose results the cell of a shard reads, such as artefacts. In place of each node, the tally
        finds the folder of its result.
    """

    name: str
    truth: Any
    predictions: Any = None
    given: Mapping[str, Any] = field(default_factory=dict)
    files: tuple[Path, ...] = ()
    context: Mapping[str, Any] = field(default_factory=dict)
    reader: str = CELL
    needs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class System:
    """One system: its name, where its predictions are, and its chunks."""

    name: str
    where: str
    chunks: Sequence[Chunk]
    others: Sequence[Path] = ()
    """Files beside shards of either side, which are none by their suffix."""

    @property
    def is_whole(self) -> bool:
        """Whether all that there is, is one chunk."""
        return len(self.chunks) == 1 and not self.chunks[0].name


def pair_shards(
    folder: str,
    truth: Mapping[str, Path],
    sources: Iterable[tuple[str, str, Any]],
    suffixes: Sequence[str],
    *,
    given: Mapping[str, Any] | None = None,
    beside: Sequence[Path] = (),
    known: Sequence[str] = (),
    **choices: Any,
) -> list[System]:
    """Return every system with a chunk for each shard of the truth, beside its predictions in the shard of that name.

    ``sources`` are name, place for messages, and folder of each system. ``beside`` are files of the truth that are no
    shards, ``known`` names of files that may be beside predictions, ``choices`` those of :func:`shards.paired`.
    """
    systems = []
    for name, where, content in sources:
        if not is_folder(content):
            raise InputError(f"{where}: expected a folder of shards, as the truth {folder} is one")
        pairs = shards.paired(truth, shards.listed(content, suffixes), where, **choices)
        others = [*beside, *shards.others(content, suffixes, known)]
        systems.append(System(name, where, [Chunk(*pair, given or {}) for pair in pairs], others))
    return systems


@dataclass(frozen=True)
class Scorer(Generic[Options]):
    """How a suite scores.

    Attributes
    ----------
    tally
        Tallies one chunk; a function of a module, since other processes have to find it. The part that it returns
        holds the table of predictions, ids that may be in one chunk only, and files of snapshots, where there are such.
    finish
        Makes the evaluations of one system of what its chunks left.
    settings
        Names of the options that a part depends on.
    tally_together
        Tallies chunks in memory, one of each system, and returns the part of each: for suites whose systems share a
        truth that is costly to read. Without it every chunk is tallied alone.
    describe_truth
        Returns the facts of the truth of a chunk that could not be scored, or None. Without it the chunk is tallied
        without its predictions.
    noun
        What a chunk holds, for the message that none of it could be scored.
    """

    tally: Callable[[Chunk, Options], Part]
    finish: Callable[[Partials, Options], Sequence[Evaluation]]
    settings: tuple[str, ...]
    tally_together: Callable[[Sequence[Chunk], Options], Sequence[Part]] | None = None
    describe_truth: Callable[[Chunk, Options], Mapping[str, Any] | None] | None = None
    noun: str = "shard"

    def score(
        self,
        systems: Iterable[System],
        options: Options,
        *,
        threaded: bool = False,
        export: Callable[[list[Evaluation]], object] | None = None,
    ) -> list[Evaluation] | Job:
        """Score systems: at once where each is one chunk, else by a plan with a cell for every chunk.

        Parameters
        ----------
        threaded
            Tallying uses all processors by itself, as :class:`gnomon.engine.plan.Node` says.
        export
            Called with the evaluations of all systems once they are made, to write what a user asked for beside runs.
        """
        given = list(systems)

        def hand_over(made: list[Evaluation]) -> list[Evaluation]:
            if export is not None:
                export(made)
            return made

        if all(one.is_whole for one in given):
            with pulse(f"scoring {counted(len(given), 'system')}"):
                return hand_over(self.score_at_once(given, options))
        job = self.plan(given, options, threaded=threaded)
        return replace(job, assemble=lambda outcome: hand_over(list(job.assemble(outcome))))

    def plan(self, systems: Iterable[System], options: Options, *, threaded: bool = False) -> Job:
        """Plan a cell for every chunk of every system; a suite may add artefacts to the plan."""
        given = list(systems)
        nodes = [self._node(one.name, chunk, options, threaded) for one in given for chunk in one.chunks]
        return Job(Plan(nodes), lambda outcome: self._assemble(given, outcome, options))

    def score_whole(self, name: str, where: str, chunk: Chunk, options: Options) -> list[Evaluation]:
        """Score a system that is one chunk in memory, as ``run`` does with what its cells predicted."""
        return self.score_at_once([System(name, where, [chunk])], options)

    def score_at_once(self, systems: Sequence[System], options: Options) -> list[Evaluation]:
        """Score systems of which each is one chunk in memory."""
        chunks = [replace(one.chunks[0], reader=one.name) for one in systems]
        together = self.tally_together or (lambda chunks, options: [self.tally(chunk, options) for chunk in chunks])
        tallied = zip(systems, together(chunks, options), strict=True)
        return [made for one, part in tallied for made in self.finish(Partials.whole(one, part), options)]

    def _assemble(self, systems: Sequence[System], outcome: Outcome, options: Options) -> list[Evaluation]:
        """Make the evaluations of every system; one without a scored chunk has none, and its cells say why."""
        found: list[Evaluation] = []
        lost: list[NothingScoredError] = []
        for one in systems:
            try:
                partials = Partials.stored(one, outcome.of(system=one.name), self, options)
                with reading_for(one.name):
                    made = self.finish(partials, options)
                found += [replace(item, findings=(*item.findings, *_left_alone(one.others))) for item in made]
            except NothingScoredError as error:
                lost.append(error)
        if lost and not found:
            raise lost[0]
        return found

    def _node(self, system: str, chunk: Chunk, options: Options, threaded: bool) -> Node:
        paths = [_path(chunk.truth), _path(chunk.predictions), *map(_path, chunk.files)]
        known = [identity(Path(path)) if path and os.path.isfile(path) else None for path in paths]
        size = sum(one["bytes"] for one in known if one)
        function = f"{self.tally.__module__}:{self.tally.__qualname__}"
        record = opt.record(options)
        return Node(
            _cell(system, chunk.name),
            f"{__name__}:tally_chunk",
            {
                "tally": function,
                "options": f"{type(options).__module__}:{type(options).__qualname__}",
                "settings": {name: record[name] for name in self.settings},
                "shard": chunk.name,
                "known": known,
                "given": dict(chunk.given),
            },
            chunk.needs,
            calls=(function,),
            context={"paths": paths, "context": dict(chunk.context)},
            labels={"system": system, "task": chunk.name},
            limits=options.limits(),
            heavy=size > LARGE and not threaded,
            threaded=threaded,
        )

    def facts_of_truth(self, chunk: Chunk, options: Options) -> Mapping[str, Any] | None:
        """Return the facts of a chunk without its predictions, where its truth can be read; else None.

        A run in which a shard could not be scored is then known to be of the same data as one that has it.
        """
        if self.describe_truth is not None:
            return self.describe_truth(chunk, options)
        if chunk.truth is None or chunk.predictions is None or not hasattr(options, "missing"):
            return None
        with contextlib.suppress(InputError, OSError):
            asked: Any = replace(options, missing="skip")  # type: ignore[call-arg]
            return self.tally(replace(chunk, predictions=None), asked).facts
        return None


def tally_chunk(arguments: Mapping[str, Any], needs: Mapping[str, Path], out: Path) -> None:
    """Cell: let the suite tally one chunk, unless a file of it is not what it was."""
    paths, known = arguments["paths"], arguments["known"]
    truth, predictions, *files = paths
    chunk = Chunk(
        arguments["shard"],
        truth,
        predictions,
        arguments["given"],
        tuple(map(Path, files)),
        arguments["context"],
        needs=needs,
    )
    kind, settings = load(arguments["options"]), arguments["settings"]
    blank = {one.name: () for one in opt.parameters(kind) if one.required}  # what the chunk stands for
    options = kind(**blank, **{name: tuple(v) if isinstance(v, list) else v for name, v in settings.items()})
    with unchanged(list(zip(paths, known, strict=True))):
        part = load(arguments["tally"])(chunk, options)
    facts = dict(part.facts)
    if part.table is not None:
        facts[PREDICTIONS] = table_digest(part.table)
    for key, table in part.tables.items():
        facts[key] = {**facts[key], PREDICTIONS: table_digest(table)}
    if part.ids is not None:
        once.write(hashes(part.ids), out)
    parts.write(replace(part, facts=facts), out)
    for name, content in part.files.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_bytes(content)


class Partials(Sequence[tuple[str, Part]]):
    """What the chunks of one system left, by the names of their shards; read when it is asked for."""

    def __init__(
        self,
        system: System,
        held: Sequence[tuple[str, Part | Path]],
        outcome: Outcome | None = None,
        alone: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        self.system, self.outcome, self.alone = system, outcome, dict(alone or {})
        """``alone``: facts of shards whose predictions cannot be scored, from their truth."""
        self._held = held
        self._facts: dict[str, Mapping[str, Any]] = {}

    @staticmethod
    def whole(system: System, part: Part) -> Partials:
        """Return what one chunk in memory left."""
        return Partials(system, [("", part)])

    @staticmethod
    def stored(system: System, outcome: Outcome, scorer: Scorer[Any], options: Any) -> Partials:
        """Return what cells left in their folders."""
        if not outcome.done:
            raise Partials(system, (), outcome).nothing_scored(scorer.noun)
        chunks = {_cell(system.name, chunk.name): chunk for chunk in system.chunks}
        refused = {chunks[cell].name: chunks[cell] for cell in chunks if cell in outcome.refused}
        alone = {name: scorer.facts_of_truth(chunk, options) for name, chunk in refused.items()}
        return Partials(
            system,
            [(chunks[cell].name, folder) for cell, folder in outcome.done.items()],
            outcome,
            {name: facts for name, facts in alone.items() if facts is not None},
        )

    def nothing_scored(self, noun: str = "shard") -> NothingScoredError:
        """Return the error for a system without any result, with the reason why the first of its cells failed."""
        why = next(iter(self.outcome.missing.values())) if self.outcome else ""
        return NothingScoredError(f"{self.system.where}: no {noun} could be scored; the first: {why}")

    def __len__(self) -> int:
        return len(self._held)

    def __getitem__(self, index: Any) -> Any:
        name, held = self._held[index]
        return name, parts.read(held) if isinstance(held, Path) else held

    def __iter__(self) -> Iterator[tuple[str, Part]]:
        for index in range(len(self)):
            name, part = self[index]
            self._facts[name] = part.facts
            yield name, part

    @property
    def is_whole(self) -> bool:
        """Whether all is one chunk in memory."""
        return self.outcome is None

    @property
    def complete(self) -> bool:
        """Whether every chunk was tallied."""
        return self.outcome is None or self.outcome.complete

    @property
    def facts(self) -> dict[str, Mapping[str, Any]]:
        """The facts of every chunk that was tallied, by name."""
        if len(self._facts) < len(self):
            for _ in self:
                pass
        return self._facts

    @property
    def every(self) -> dict[str, Mapping[str, Any]]:
        """The facts of every chunk whose truth is known, by name."""
        return {**self.facts, **self.alone}

    @property
    def folders(self) -> list[tuple[str, Path]]:
        """The folder of every chunk that was tallied by a cell."""
        return [(name, held) for name, held in self._held if isinstance(held, Path)]

    def gather(self, columns: Sequence[str]) -> Part:
        """Fold parts of counts, few at a time."""
        return parts.gathered((part for _, part in self), columns)

    def snapshots(self, most: int, of: int, under: str = "") -> dict[str, bytes]:
        """Return the file of the worst snapshots that chunks kept, by name; none where none are kept.

        Parameters
        ----------
        most, of
            How many are kept at most, and of how many cases.
        under
            The folder among the files of a part, where it keeps several such files.
        """
        if self.is_whole:
            files = self[0][1].files
            held = files.get(f"{under}/{exhibits.NAME}" if under else exhibits.NAME)
            return {} if held is None else {exhibits.NAME: held}
        worst = Worst[Exhibit](most)
        for _, folder in self.folders:
            for entry in exhibits.listed(folder / under).entries:
                worst.offer(entry.case, entry.badness, partial(exhibits.read, folder / under, entry.case))
        return exhibits.files_of(worst.items, of)

    def data(self, key: str = "") -> str:
        """Return the fingerprint of the truth, of shards that could not be scored, too.

        ``key``: whose facts count, where several evaluations are made of one chunk.
        """
        known = {name: facts[key] if key else facts for name, facts in self.every.items()}
        if self.is_whole:
            return str(known[""][TRUTH])
        return fingerprint([[one.name, known[one.name][TRUTH]] for one in self.system.chunks if one.name in known])

    def table(self, key: str = "") -> pa.Table:
        """Return what a run keeps of predictions: all of them, or the shards with their fingerprints.

        ``key``: of which of the tables of a part, where it holds several.
        """
        if self.is_whole:
            part: Part = self[0][1]
            return part.tables[key] if key else part.table
        digests = [str((facts[key] if key else facts)[PREDICTIONS]) for facts in self.facts.values()]
        return pa.table(
            {"shard": pa.array(list(self.facts), pa.string()), "predictions": pa.array(digests, pa.string())}
        )

    def coverage(self, own: Mapping[str, Any], missing: str | None) -> dict[str, Any]:
        """Return what was scored of the shards of the truth, beside what a suite says of what is in them.

        ``missing`` is what was asked for where predictions are missing: ``skip`` leaves such shards out. None: a shard
        holds both sides, so that none can be without predictions.
        """
        if self.outcome is None:
            return dict(own)
        without = [chunk.name for chunk in self.system.chunks if chunk.predictions is None]
        skipped = without if missing == "skip" else []
        shards = {
            "truth": len(self.system.chunks),
            "scored": len({name for name, _ in self._held} - set(skipped)),
            "without predictions": len(without),
        }
        if missing is None:
            shards = {"given": shards["truth"], "scored": shards["scored"]}
        complete = bool(own["complete"]) and self.outcome.complete and not skipped
        return {
            **own,
            "complete": complete,
            "shards": {**shards, "skipped": skipped} if skipped else shards,
            **self.cells(complete=complete),
        }

    def cells(self, *, complete: bool) -> dict[str, Any]:
        """Return what a run records of its cells; of a partial run only where cells are what makes it so."""
        if self.outcome is None or not (complete or not self.outcome.complete):
            return {}
        return {"cells": self.outcome.coverage()}

    def check_ids(self, texts: Callable[[Any], pa.Array]) -> None:
        """Refuse ids that are in several shards of the truth.

        ``texts`` reads the ids of a shard of the truth again, as they were hashed: hashes may be equal by chance.
        """
        folders = self.folders
        if not folders:
            return
        truths = {chunk.name: chunk.truth for chunk in self.system.chunks}
        for one, places in once.twice([folder for _, folder in folders]):
            where: dict[str, list[str]] = {}
            for name in (folders[place][0] for place in places):
                own = texts(truths[name])
                for text in own.filter(pa.array(hashes(own) == np.uint64(one))).to_pylist():
                    where.setdefault(text, []).append(name)
            for text, names in where.items():
                if len(names) > 1:
                    raise InputError(
                        f"{self.system.where}: the id {shown(text, 80)!r} is in more than one shard of the truth: "
                        f"{some(names)}; give it in one of them"
                    )


def _left_alone(files: Sequence[Path]) -> tuple[Finding, ...]:
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


def _cell(system: str, chunk: str) -> str:
    return f"{system}: {chunk}"


def _path(side: Any) -> str | None:
    return None if side is None else os.path.abspath(side)
