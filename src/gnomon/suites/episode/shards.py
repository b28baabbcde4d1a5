"""Answers in folders of shards, tallied one at a time: ``labels`` with tables, ``TASK`` with files of arrays.

All answers to a task of one episode are in one shard, so that a segment is scored at once and a sample that has no
answer is known where its episode is scored. Tasks that rank every answer among all candidates (retrieval) are given in
one file. Annotation and features of every episode are artefacts; a cell reads its shard and the episodes that it
answers for, one after another, and holds no more than one. What is held of all episodes at the end is what was written
about their frames and a row for every sample, as in any run of this suite; streams and vectors never are
(:mod:`gnomon.suites.episode.unread`), and the run does not keep them.

An episode that cannot be read fails the cells that need it, and is left out of the run, which is partial.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from gnomon.core import options as opt
from gnomon.core.cases import Roster
from gnomon.core.errors import InputError, some
from gnomon.core.ledgers import Ledger
from gnomon.core.tallies import natural_key
from gnomon.engine import sharding
from gnomon.engine.job import Job, Outcome
from gnomon.engine.plan import WHOLE, Node, Plan
from gnomon.engine.store import Store
from gnomon.intake.shards import identity, unchanged
from gnomon.intake.sources import Source
from gnomon.runs import parts
from gnomon.runs.parts import Part
from gnomon.runs.run import Evaluation
from gnomon.suites.episode import cells, exhibits, layout
from gnomon.suites.episode.answers import Answers, Tallied, tallied
from gnomon.suites.episode.features import blocks
from gnomon.suites.episode.features.stored import Features
from gnomon.suites.episode.given import Told, read_unit, units
from gnomon.suites.episode.heads import form
from gnomon.suites.episode.measured import of_task
from gnomon.suites.episode.options import ScoreOptions
from gnomon.suites.episode.predictions import answered, chosen_tasks, findings, ground_of, possible, read_of
from gnomon.suites.episode.running import CELLS, built_by, checked_split, code, whole, words
from gnomon.suites.episode.scoring import About, Clear, Ground, Said, assembled, clear, table, without_overlap
from gnomon.suites.episode.tasks.data import Recorded
from gnomon.suites.episode.tasks.declared import TASKS
from gnomon.suites.episode.tasks.sampling import TaskData
from gnomon.suites.episode.tasks.splitting import DISJOINT, TEST, held_out
from gnomon.suites.episode.unread import stored

TALLY = "gnomon.suites.episode.shards:tally"
WITHOUT = "without answers, "
ROWS = "rows.parquet"
CLEAR = "clear__"
"""Before the names of tallies without samples that overlap training."""
OFFERED = "add them, or choose --missing wrong"


@dataclass(frozen=True)
class Unit:
    """A file of answers, or an episode without answers to some tasks."""

    name: str
    path: Path | None
    told: Mapping[str, tuple[str, ...]] | None
    """Episodes by task; None where it could not be read."""


def score(sources: Sequence[Source], options: ScoreOptions) -> Job:
    """Plan a cell per shard and system."""
    places = {place.id: place for place in layout.find(options.truth)}
    whole(list(places.values()))
    test = words(options.test_episodes)
    checked_split(options.split, list(places), options.seed, test)
    held = held_out(list(places), options.seed, list(test) or None) if options.split == DISJOINT else None
    found = {source.name: _units(source, list(places)) for source in sources}
    told = {source.where: {task for one in found[source.name] for task in one.told or ()} for source in sources}
    tasks = chosen_tasks(options, {where: own for where, own in told.items() if own} if not options.tasks else told)
    if not tasks:
        raise InputError(f"{sources[0].where}: no shard could be read; the first: {_fault(found)}")
    work = _Work(options, places, tasks, None if held is None else sorted(held))
    for source in sources:
        found[source.name] += _lacking(found[source.name], work)
    nodes = [work.cell(name, unit) for name, own in found.items() for unit in own]

    def made(outcome: Outcome) -> list[Evaluation]:
        keeper = exhibits.Keeper(0 if options.out == "none" else options.exhibits, list(places.values()), sound=False)
        ground = work.ground(Store(options.store_folder()))
        return [
            _evaluation(ground, source, found[source.name], outcome.of(system=source.name), options, keeper)
            for source in sources
        ]

    artefacts = [node for own in work.artefacts.values() for node in own.values()]
    return Job(Plan([*artefacts, *nodes]), made)


def _units(source: Source, episodes: Sequence[str]) -> list[Unit]:
    """Return the files of a system and what they answer; an episode answered twice is refused."""
    found: list[Unit] = []
    of: dict[tuple[str, str], str] = {}
    for name, path in units(source).items():
        try:
            told = read_unit(name, path)
        except InputError:  # its cell says so
            found.append(Unit(name, path, None))
            continue
        own = {task: _episodes(one, episodes) for task, one in told.items()}
        found.append(Unit(name, path, own))
        for key in ((task, episode) for task, names in own.items() for episode in names):
            if of.setdefault(key, name) != name:
                raise InputError(
                    f"{source.where}: {key[0]} of episode {key[1]} is in the shards {of[key]!r} and {name!r}; "
                    "give all its answers in one of them"
                )
    return found


def _episodes(told: Told, episodes: Sequence[str]) -> tuple[str, ...]:
    """Return the episodes of the samples of a task."""
    known = set(episodes)
    names = {sample: _episode(sample, known) for sample in told.samples}
    strange = [sample for sample, episode in names.items() if not episode]
    if strange:
        raise InputError(
            f"{told.where}: samples of episodes that are not in the truth: {some(strange)}; it has {some(episodes)}"
        )
    return tuple(name for name in episodes if name in set(names.values()))


def _episode(sample: str, episodes: set[str]) -> str:
    """Return the episode of a sample: ``EPISODE/FRAME`` or ``EPISODE/FRAME/PAIR``."""
    outer = sample.rpartition("/")[0]
    return next((name for name in (outer, outer.rpartition("/")[0]) if name in episodes), "")


def _fault(found: Mapping[str, Sequence[Unit]]) -> str:
    name, path = next((unit.name, unit.path) for own in found.values() for unit in own if unit.path)
    try:
        read_unit(name, path)
    except InputError as error:
        return str(error)
    return "it holds no answers"


def _lacking(found: Sequence[Unit], work: _Work) -> list[Unit]:
    """Return the episodes that a system says nothing of, where all its shards can be read."""
    if any(unit.told is None for unit in found):
        return []
    every = {task for unit in found for task in unit.told or ()}
    by_episode = [task for task in work.tasks if task in every and TASKS[task].kind != "retrieval"]
    have = {(task, name) for unit in found for task, names in (unit.told or {}).items() for name in names}
    lacking: dict[str, list[str]] = {}
    for episode in work.places:
        for task in by_episode:
            if (task, episode) not in have and (work.held is None or episode in work.held):
                lacking.setdefault(episode, []).append(task)
    return [Unit(f"{WITHOUT}{episode}", None, dict.fromkeys(tasks, (episode,))) for episode, tasks in lacking.items()]


@dataclass(frozen=True)
class _Work:
    """What was asked for, and the nodes that are made of it."""

    options: ScoreOptions
    places: Mapping[str, layout.Place]
    tasks: tuple[str, ...]
    held: list[str] | None

    @property
    def wanted(self) -> list[str]:
        """Blocks that are targets of the tasks."""
        named = {block for task in self.tasks for block in TASKS[task].target_blocks}
        return [name for name in blocks.NAMES if name in named]

    @property
    def how(self) -> dict[str, Any]:
        """How samples are built."""
        return {**built_by(self.options, self.options.seed, self.options.variant), "held": self.held}

    def cell(self, system: str, unit: Unit) -> Node:
        """Cell: a shard of a system."""
        episodes = dict.fromkeys(name for names in (unit.told or {}).values() for name in names)
        if any(TASKS[task].kind == "retrieval" for task in unit.told or ()):
            episodes = dict.fromkeys(self.places)
        needs = {f"{role} {name}": node for name in episodes for role, node in self.artefacts[name].items()}
        known = identity(unit.path)
        return Node(
            f"{system}: {unit.name}",
            TALLY,
            {
                **self.how,
                "missing": self.options.missing,
                "tasks": list(self.tasks),
                "unit": unit.name,
                "told": None if unit.told is None else {task: list(names) for task, names in unit.told.items()},
                "episodes": list(episodes),
                "known": known,
                "code": sharding.code(TALLY),
            },
            needs,
            labels={"system": system, "task": unit.name},
            context={"path": unit.path and os.path.abspath(unit.path)},
            limits=self.options.limits(),
            heavy=bool(known and known["bytes"] > sharding.LARGE),
        )

    @cached_property
    def artefacts(self) -> dict[str, dict[str, Node]]:
        """By episode: its annotation, and the blocks that are targets."""
        reading = code("annotation", "annotated", "captions", "episode", "frames", "layout", "videos", "features")
        return {name: self._read(place, reading) for name, place in self.places.items()}

    def _read(self, place: layout.Place, reading: str) -> dict[str, Node]:
        about = {"episode": place.id, "content": layout.content(place), "code": reading}
        shared: dict[str, Any] = {
            "kind": "artefact",
            "labels": {"dataset": place.id},
            "context": {"folder": os.fspath(place.folder)},
            "limits": self.options.limits(),
            "read": WHOLE,
        }
        found = {"annotation": Node(f"annotation of {place.id}", f"{CELLS}:annotation", about, **shared)}
        if self.wanted:
            skip = [name for name in blocks.NAMES if name not in self.wanted]
            arguments = {**about, "validity": cells.VALIDITY[self.options.variant], "skip": skip}
            found["features"] = Node(f"targets of {place.id}", f"{CELLS}:features", arguments, heavy=True, **shared)
        return found

    def ground(self, store: Store) -> Ground:
        """Return what all systems stand on, without the episodes that could not be read."""
        recorded, streams, left_out, places = [], {}, {}, []
        for episode, place in self.places.items():
            folders = {role: store.path(node.key) for role, node in self.artefacts[episode].items()}
            if not all(folder.is_dir() for folder in folders.values()):
                left_out[episode] = "it could not be read"
                continue
            features = Features.read(folders["features"]) if self.wanted else None
            if features is not None:
                streams[episode] = read_of(features.facts, self.wanted)
            recorded.append(stored(folders["annotation"], features))
            places.append(place)
        if not recorded:
            raise InputError("no episode could be read; see what failed above")
        return ground_of(self.options, self.tasks, places, recorded, streams, self.held, left_out)


def tally(arguments: Mapping[str, Any], needs: Mapping[str, Path], out: Path) -> None:
    """Tally one shard, an episode after another, unless it is not what it was; a cell of the engine."""
    with unchanged([(arguments["path"], arguments["known"])]):
        _tally(arguments, needs, out)


def _tally(arguments: Mapping[str, Any], needs: Mapping[str, Path], out: Path) -> None:
    path = arguments["path"]
    told = read_unit(arguments["unit"], Path(path)) if path else {}
    if path and (arguments["told"] is None or set(told) != set(arguments["told"])):
        raise InputError(f"{path}: changed while it was scored; give the same command again")
    made: list[Part] = []
    rows: list[tuple[Any, ...]] = []
    lost: list[str] = []
    for task, names in arguments["told"].items():
        if task not in arguments["tasks"]:
            continue
        together = TASKS[task].kind == "retrieval"
        for group in [arguments["episodes"]] if together else [[name] for name in names]:
            found = _tallied(task, group, told.get(task), arguments, needs)
            if isinstance(found, str):
                lost.append(found)
            elif found is not None:
                made.append(found[0])
                rows += found[1]
    whole_part = parts.folded(made) if made else Part(Roster((), (), {"episode": ()}, "episode"), {})
    parts.write(replace(whole_part, facts={"tasks": [part.facts for part in made], "lost": lost}), out)
    pq.write_table(table(rows), out / ROWS)


def _tallied(
    task: str, episodes: Sequence[str], told: Told | None, arguments: Mapping[str, Any], needs: Mapping[str, Path]
) -> tuple[Part, list[tuple[Any, ...]]] | str | None:
    """Tally a task in some episodes; return what is lacking where there have to be answers and are none.

    What is read of the episodes ends with it, so that the next ones find the memory free.
    """
    path, missing = arguments["path"], arguments["missing"]
    data = cells.built(task, [_recorded(name, needs, len(episodes)) for name in episodes], arguments)
    if not path and not len(data.of(TEST)):
        return None
    if not path and (missing == "error" or form(data.task.kind) == "vectors"):
        return f"{task} of {episodes[0]}"
    return _part(answered(_only(told, episodes, arguments["unit"]), data, missing), data)


def _recorded(name: str, needs: Mapping[str, Path], count: int) -> Recorded:
    """Read an episode from its artefacts: whole where it is alone, else its streams when they are asked for."""
    annotation, features = needs[f"annotation {name}"], needs.get(f"features {name}")
    if count == 1:
        return cells.read(annotation, features)
    return stored(annotation, None if features is None else Features.read(features))


def _only(told: Told | None, episodes: Sequence[str], unit: str) -> Told:
    """Return the answers for some episodes."""
    if told is None:
        return Told(unit, {}, {}, np.zeros((0, 0)))
    known = set(episodes)
    labels = {name: label for name, label in told.labels.items() if _episode(name, known)}
    return replace(told, labels=labels, rows={name: row for name, row in told.rows.items() if _episode(name, known)})


def _part(answers: Answers, data: TaskData) -> tuple[Part, list[tuple[Any, ...]]]:
    """Tally answers over the segments that they are of; return the rows of the table of a run, too."""
    test = data.of(TEST)
    of = {data.segment[row]: data.episode[row] for row in test.tolist()}
    ids = tuple(sorted(of, key=natural_key))
    groups = tuple(of[name] for name in ids)
    place = {name: index for index, name in enumerate(ids)}
    case = np.array([place[data.segment[row]] for row in test.tolist()], dtype=np.int64)
    done = tallied(answers, data, test, case, len(ids))
    rest = clear(answers, data, case, done)
    facts = {
        "task": data.task.name,
        "n": len(answers.ids),
        "missing": answers.facts.get("missing", 0),
        "classes": list(answers.classes),
        "left_out": rest.left_out,
        "clear": rest.n,
        "families": list(done.tallies),
        "ledgers": list(done.ledgers),
        "done": done.facts,
    }
    tallies = {**done.tallies, f"{CLEAR}{rest.measure.family}": rest.tallies}
    return Part(Roster(ids, groups, {"episode": groups}, "episode"), tallies, done.ledgers, facts), done.rows


def _evaluation(
    ground: Ground,
    source: Source,
    found: Sequence[Unit],
    outcome: Outcome,
    options: ScoreOptions,
    keeper: exhibits.Keeper,
) -> Evaluation:
    """Fold the parts of a system."""
    read = [parts.read(folder) for folder in outcome.done.values()]
    lost = [name for part in read for name in part.facts["lost"]]
    if lost:
        raise InputError(f"{source.where}: no answers to {some(lost)}; {OFFERED} where answers are labels")
    facts = [fact for part in read for fact in part.facts["tasks"]]
    given = {fact["task"] for fact in facts}
    if not given:
        why = next(iter(outcome.missing.values()), "no test sample is answered")
        raise InputError(f"{source.where}: no shard could be scored; the first: {why}")
    chosen = possible(ground, given, source.where)
    rows = _rows(outcome.done.values())
    folded = parts.folded([part for part in read if len(part.roster)])
    by_task = {task: [fact for fact in facts if fact["task"] == task] for task in chosen}
    done = {task: _moved(folded, own, rows.get(task, []), ground) for task, own in by_task.items()}
    missing = sum(fact["missing"] for own in by_task.values() for fact in own)
    scored = sum(fact["n"] for own in by_task.values() for fact in own)
    asked = sum(len(data.of(TEST)) for task, data in ground.data.items() if task in given)
    classes = {task: sorted({name for fact in own for name in fact["classes"]}) for task, own in by_task.items()}
    shards = [unit for unit in found if unit.path is not None]
    complete = scored == asked and outcome.complete and not ground.left_out
    # Where an episode is lacking and no cell is, the cells are not what makes it partial.
    cells_done = {"cells": outcome.coverage()} if complete or not outcome.complete else {}
    about = About(
        coverage={
            "complete": complete,
            "samples": {"truth": asked, "scored": scored, "missing": missing},
            "tasks": {"asked": list(ground.data), "answered": chosen},
            "policy": {"missing": options.missing},
            "shards": {"given": len(shards), "scored": sum(f"{source.name}: {u.name}" in outcome.done for u in shards)},
            **cells_done,
        },
        options=opt.record(replace(options, predictions=(source.where,))),
        inputs=(),
        facts={"seed": options.seed},
    )
    told = findings(ground, source.where, given, classes, missing)
    said = {task: _said(folded, own) for task, own in by_task.items()}
    ground = replace(ground, findings=(*ground.findings, *told))
    return assembled(ground, source.name, done, said, about, keeper)


def _rows(folders: Iterable[Path]) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows of all shards by task."""
    found: dict[str, list[tuple[Any, ...]]] = {}
    for folder in folders:
        for row in pq.read_table(folder / ROWS).to_pylist():
            found.setdefault(row["task"], []).append(tuple(row.values()))
    return found


def _moved(part: Part, facts: Sequence[Mapping[str, Any]], rows: list[tuple[Any, ...]], ground: Ground) -> Tallied:
    """Return what was tallied of a task over the cases of the ground, and its rows in the order of samples."""
    cases = {name: index for index, name in enumerate(ground.roster.ids)}
    order = np.array([cases[name] for name in part.roster.ids], dtype=np.int64)
    data = ground.data[facts[0]["task"]]
    place = {name: index for index, name in enumerate(data.ids)}
    held = {name: part.ledgers[name] for name in facts[0]["ledgers"]}
    return Tallied(
        {name: part.tallies[name].grouped(order, len(cases)) for name in facts[0]["families"]},
        {name: Ledger(order[one.case], one.columns, one.labels) for name, one in held.items()},
        sorted(rows, key=lambda row: place[row[1]]),
        dict(facts[0]["done"]),
    )


def _said(part: Part, facts: Sequence[Mapping[str, Any]]) -> Said:
    measure = of_task(TASKS[facts[0]["task"]])[0]
    tallies = part.tallies[f"{CLEAR}{measure.family}"]
    left_out, n, missing = (sum(fact[name] for fact in facts) for name in ("left_out", "clear", "missing"))
    return Said({"missing": missing} if missing else {}, without_overlap([Clear(measure, left_out, n, tallies)]))
