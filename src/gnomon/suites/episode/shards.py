"""Answers in folders of shards, tallied one at a time: ``labels`` with tables, ``TASK`` with files of arrays.

All answers to a task of one episode are in one shard, so that a segment is scored at once and a sample that has no
answer is known where its episode is scored. Tasks that rank every answer among all candidates (retrieval) are given in
one file. Annotation and features of every episode are artefacts; a cell reads its shard and the episodes that it
answers for, one after another, and holds no more than one. So does who puts a run together: samples are built for one
episode and counted (:mod:`gnomon.suites.episode.tasks.outlines`), and what parts hold is put in place one after
another (:mod:`gnomon.suites.episode.gathering`).

An episode that cannot be read fails the cells that need it, and is left out of the run, which is partial.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from gnomon.core.errors import InputError, some
from gnomon.engine import folding, sharding
from gnomon.engine.job import Job, Outcome
from gnomon.engine.plan import WHOLE, Node, Plan
from gnomon.engine.store import Store
from gnomon.intake.shards import identity
from gnomon.intake.sources import Source
from gnomon.intake.unread import collecting
from gnomon.runs.run import Evaluation
from gnomon.suites.episode import cells, exhibits, layout
from gnomon.suites.episode.features import blocks
from gnomon.suites.episode.features.stored import Features
from gnomon.suites.episode.folders import others, units
from gnomon.suites.episode.gathering import Given, evaluation
from gnomon.suites.episode.given import episode_of, read_unit, samples_of, unanswered
from gnomon.suites.episode.ground import Ground
from gnomon.suites.episode.options import ScoreOptions
from gnomon.suites.episode.predictions import chosen_tasks, ground_of, read_of
from gnomon.suites.episode.running import CELLS, built_by, checked_split, whole, words
from gnomon.suites.episode.tasks.declared import TASKS
from gnomon.suites.episode.tasks.outlines import Outline
from gnomon.suites.episode.tasks.sampling import TaskData
from gnomon.suites.episode.tasks.splitting import DISJOINT, held_out
from gnomon.suites.episode.unread import stored

TALLY = "gnomon.suites.episode.tallying:tally"
WITHOUT = "without answers, "


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
        raise _untold(sources[0], [unit for own in found.values() for unit in own])
    work = _Work(options, places, tasks, None if held is None else sorted(held))
    for source in sources:
        found[source.name] += _lacking(found[source.name], work)
    nodes = [work.cell(name, unit) for name, own in found.items() for unit in own]
    known = {source.name: _given(source, found[source.name]) for source in sources}

    def made(outcome: Outcome) -> list[Evaluation]:
        keeper = exhibits.Keeper(0 if options.out == "none" else options.exhibits, list(places.values()), sound=False)
        ground = work.ground(Store(options.store_folder()))
        outcome = _readable(outcome, ground.left_out)
        return folding.for_each(
            sources,
            lambda source: [evaluation(ground, known[source.name], outcome.of(system=source.name), options, keeper)],
        )

    artefacts = [node for own in work.artefacts.values() for node in own.values()]
    return Job(Plan([*artefacts, *nodes]), made)


def _given(source: Source, found: Sequence[Unit]) -> Given:
    files = [f"{source.name}: {unit.name}" for unit in found if unit.path is not None]
    return Given(source, files, {task for unit in found for task in unit.told or ()}, others(source))


def _units(source: Source, episodes: Sequence[str]) -> list[Unit]:
    """Return the files of a system and what they answer; an episode answered twice is refused."""
    found: list[Unit] = []
    of: dict[tuple[str, str], str] = {}
    for name, path in units(source).items():
        try:
            with collecting():  # its cell says what is not read
                told = samples_of(name, path)
        except InputError:  # its cell says so
            found.append(Unit(name, path, None))
            continue
        own = {task: _episodes(names, os.fspath(path), episodes) for task, names in told.items()}
        found.append(Unit(name, path, own))
        for key in ((task, episode) for task, names in own.items() for episode in names):
            if of.setdefault(key, name) != name:
                raise InputError(
                    f"{source.where}: {key[0]} of episode {key[1]} is in the shards {of[key]!r} and {name!r}; "
                    "give all its answers in one of them"
                )
    return found


def _episodes(samples: Sequence[str], where: str, episodes: Sequence[str]) -> tuple[str, ...]:
    """Return the episodes of the samples of a task."""
    known = set(episodes)
    names = {sample: episode_of(sample, known) for sample in samples}
    strange = [sample for sample, episode in names.items() if not episode]
    if strange:
        raise InputError(
            f"{where}: samples of episodes that are not in the truth: {some(strange)}; it has {some(episodes)}"
        )
    there = set(names.values())
    return tuple(name for name in episodes if name in there)


def _untold(source: Source, found: Sequence[Unit]) -> InputError:
    """Return what is said where no shard answers anything: why the first cannot be read, or that all are empty."""
    for name, path in ((unit.name, unit.path) for unit in found if unit.path is not None):
        try:
            read_unit(name, path)
        except InputError as error:
            return InputError(f"{source.where}: no shard could be read; the first: {error}")
    return unanswered(source)


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
        return {name: self._read(place) for name, place in self.places.items()}

    def _read(self, place: layout.Place) -> dict[str, Node]:
        about = {"episode": place.id, "content": layout.content(place)}
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
        """Return what all systems stand on, without the episodes that could not be read; one is held at a time."""
        found: dict[str, list[Outline]] = {task: [] for task in self.tasks}
        repairs, streams, left_out, places = {}, {}, {}, []
        for episode, place in self.places.items():
            folders = self.folders(store, episode)
            if not all(folder.is_dir() for folder in folders.values()):
                left_out[episode] = "it could not be read"
                continue
            if self.wanted:
                streams[episode] = read_of(Features.read(folders["features"]).facts, self.wanted)
            for task, one in self.samples(store, episode).items():
                found[task].append(one.outline)
                repairs[episode] = one.recorded[episode].labels.repairs
            del one  # so that the next one finds the memory free
            places.append(place)
        if not places:
            raise InputError("no episode could be read; see what failed above")
        tasks = {task: Outline.added(own) for task, own in found.items()}
        return ground_of(self.options, tasks, partial(self.samples, store), places, repairs, streams, left_out)

    def samples(self, store: Store, episode: str) -> dict[str, TaskData]:
        """Build the samples of every task in one episode."""
        folders = self.folders(store, episode)
        features = Features.read(folders["features"]) if self.wanted else None
        recorded = stored(folders["annotation"], features)
        return {task: cells.built(task, [recorded], self.how) for task in self.tasks}

    def folders(self, store: Store, episode: str) -> dict[str, Path]:
        """Return where the artefacts of an episode are, by what they are."""
        return {role: store.path(node.key) for role, node in self.artefacts[episode].items()}


def _readable(outcome: Outcome, left_out: Mapping[str, str]) -> Outcome:
    """Count cells as missing that were done before, of episodes that can no longer be read."""
    lost = {
        cell.name: f"episode {name}: {left_out[name]}, though it was scored before; mend it and give the command again"
        for cell in outcome.cells
        for name in cell.arguments.get("episodes", ())
        if name in left_out and cell.name in outcome.done
    }
    done = {name: folder for name, folder in outcome.done.items() if name not in lost}
    return replace(outcome, done=done, missing={**outcome.missing, **lost}) if lost else outcome
