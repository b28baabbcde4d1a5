"""Verb ``score``: answers to tasks that were made elsewhere (:mod:`gnomon.suites.episode.given`), tallied and scored.

Truth is made from the episodes: from the annotation alone, unless the target of a task is a block of features; then
only such blocks are computed. Nothing is trained here, so that there is no training part to audit, and no training to
record. A score stands on the same ground as one of ``gnomon run episode`` with the same tasks, split and seed.

A system in files is one chunk. In folders (``labels`` with tables, ``TASK`` with files of arrays) every file is one,
and so is an episode without answers: all answers to a task of one episode are in one shard, so that a segment is scored
at once and a sample that has no answer is known where its episode is scored. Tasks that rank every answer among all
candidates (retrieval) are given in one file. Annotation and features of every episode are artefacts; a cell reads its
shard and the episodes that it answers for, one after another, and holds no more than one. So does who puts a run
together: samples are built for one episode and counted (:mod:`gnomon.suites.episode.tasks.outlines`).

An episode that cannot be read fails the cells that need it, and is left out of the run, which is partial.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.core import options as opt
from gnomon.core.errors import InputError, counted, some
from gnomon.core.evidence import Finding
from gnomon.engine.job import Job, Outcome
from gnomon.engine.plan import Node, Plan
from gnomon.engine.planner import Planner
from gnomon.engine.scoring import Chunk, Partials, Scorer, System
from gnomon.engine.store import Store
from gnomon.intake.shards import is_folder
from gnomon.intake.sources import Source, systems
from gnomon.intake.unread import reading_for
from gnomon.runs.parts import Part
from gnomon.runs.run import Evaluation
from gnomon.runs.seal import hash_file
from gnomon.suites.episode import cells, exhibits, layout
from gnomon.suites.episode.evaluation import About, Facts, Keep, assemble, merge_tasks, tally_task, tally_whole
from gnomon.suites.episode.features import blocks
from gnomon.suites.episode.features.stored import Features
from gnomon.suites.episode.folders import others, sharded
from gnomon.suites.episode.given import (
    Given,
    Told,
    Unit,
    align,
    explain_no_answers,
    list_units,
    read,
    read_unit,
    split_by_episode,
)
from gnomon.suites.episode.ground import Ground, outlines
from gnomon.suites.episode.heads import form
from gnomon.suites.episode.options import ScoreOptions
from gnomon.suites.episode.running import built_by, checked_split, checked_tasks, described, generated, whole, words
from gnomon.suites.episode.tasks.data import Recorded
from gnomon.suites.episode.tasks.declared import TASKS
from gnomon.suites.episode.tasks.outlines import Outline
from gnomon.suites.episode.tasks.sampling import TaskData
from gnomon.suites.episode.tasks.splitting import DISJOINT, TEST, held_out
from gnomon.suites.episode.unread import describe_blocks, read_truth, stored

SETTINGS = ("variant", "split", "embargo", "seed", "test_episodes", "missing")
WITHOUT = "without answers, "


def score(options: ScoreOptions) -> list[Evaluation] | Job:
    """Score every given system against the truth of the test samples; folders of shards are scored one at a time."""
    sources = systems(options.predictions, "sample")
    if any(is_folder(source.content) and sharded(Path(source.content)) for source in sources):
        return _score_shards(sources, options)
    given = []
    for source in sources:
        with reading_for(source.name):
            given.append(read(source))
    tasks = chosen_tasks(options, {one.source.where: one.tasks for one in given})
    places = layout.find(options.truth)
    whole(places)
    checked_split(options.split, [place.id for place in places], options.seed, words(options.test_episodes))
    with tempfile.TemporaryDirectory(prefix="gnomon-") as folder:
        ground = _ground(options, tasks, places, Path(folder))
        found = [System(one.source.name, one.source.where, [Chunk("", ground, one)]) for one in given]
        return _scorer(options, places, lambda: ground).score(found, options)


def _score_shards(sources: Sequence[Source], options: ScoreOptions) -> Job:
    """Plan a cell per shard and system, and the artefacts of every episode."""
    places = {place.id: place for place in layout.find(options.truth)}
    whole(list(places.values()))
    test = words(options.test_episodes)
    checked_split(options.split, list(places), options.seed, test)
    held = held_out(list(places), options.seed, list(test) or None) if options.split == DISJOINT else None
    found = {source.name: list_units(source, list(places)) for source in sources}
    told = {source.where: {task for one in found[source.name] for task in one.told or ()} for source in sources}
    tasks = chosen_tasks(options, {where: own for where, own in told.items() if own} if not options.tasks else told)
    if not tasks:
        raise explain_no_answers(sources[0], [unit for own in found.values() for unit in own])
    episodes = Episodes(options, places, tasks, None if held is None else sorted(held))
    given = []
    for source in sources:
        own = [*found[source.name], *_list_lacking(found[source.name], episodes)]
        chunks = [episodes.chunk(unit) for unit in own]
        given.append(System(source.name, source.where, chunks, others(source)))
    ground = cache(lambda: episodes.ground(Store(options.store_folder())))
    job = _scorer(options, list(places.values()), ground).plan(given, options)
    artefacts = [node for own in episodes.artefacts.values() for node in own.values()]
    return Job(
        Plan([*artefacts, *job.plan.cells]), lambda outcome: job.assemble(_count_lost(outcome, ground().left_out))
    )


def _scorer(
    options: ScoreOptions, places: Sequence[layout.Place], ground: Callable[[], Ground]
) -> Scorer[ScoreOptions]:
    keep = exhibits.make_keeper(options, places, sound=False)
    return Scorer(tally, partial(finish, ground=ground, keep=keep), SETTINGS)


def chosen_tasks(options: ScoreOptions, given: Mapping[str, Collection[str]]) -> tuple[str, ...]:
    """Return the tasks that are scored: those asked for, which all systems must answer, or all that are answered.

    ``given`` holds the tasks of every system, by where it is.
    """
    told = {task for one in given.values() for task in one}
    if not options.tasks:
        return tuple(task for task in TASKS if task in told)
    asked = checked_tasks(options.tasks)
    for where, one in given.items():
        lacking = [task for task in asked if task not in one]
        if lacking:
            raise InputError(f"{where}: no answers to {some(lacking)}; add them, or leave out --tasks")
    return asked


def _ground(options: ScoreOptions, tasks: Sequence[str], places: Sequence[layout.Place], folder: Path) -> Ground:
    """Build the samples of the tasks, and say what they stand on; nothing is trained here, so no split is audited."""
    wanted = {block for task in tasks for block in TASKS[task].target_blocks}
    recorded, streams = read_truth(places, options.variant, wanted, folder)
    how = built_by(options, options.seed, options.variant)
    data = {task: cells.built(task, recorded, how) for task in tasks}
    repairs = {one.id: one.labels.repairs for one in recorded}
    ground = _ground_of(options, outlines(data), lambda _: data, places, repairs, streams)
    return ground.holding(data, trained=False)


def _ground_of(
    options: ScoreOptions,
    tasks: Mapping[str, Outline],
    look: Callable[[str], Mapping[str, TaskData]],
    places: Sequence[layout.Place],
    repairs: Mapping[str, Mapping[str, int]],
    streams: Mapping[str, Any],
    left_out: Mapping[str, str] | None = None,
) -> Ground:
    """Say what answers to tasks stand on; ``repairs``: what had to be repaired in the caption of every episode."""
    split, settings = described(options, options.variant)
    told = {name: {"coverage": {}, "masked": {}, "repairs": own} for name, own in repairs.items()} | dict(streams)
    ground = Ground.of(
        variant=options.variant,
        tasks=tasks,
        look=look,
        places=places,
        content={place.id: layout.content(place) for place in places},
        simulated=[place.id for place in places if generated(place)],
        split=split,
        settings=settings,
        streams=told,
        left_out=left_out,
    )
    return replace(ground, streams=dict(streams))


def tally(chunk: Chunk, options: ScoreOptions) -> Part:
    """Tally the answers of a system in files, whose ground is in memory, or those of a shard."""
    if chunk.name:
        return _tally_shard(chunk, options)
    ground, given = chunk.truth, chunk.predictions
    tasks = possible(ground, given.tasks, given.source.where)
    return tally_whole(ground, {task: align(given.tasks[task], ground.data[task], options.missing) for task in tasks})


def _tally_shard(chunk: Chunk, options: ScoreOptions) -> Part:
    """Tally one shard, an episode after another; where there have to be answers and are none, say so."""
    path, asked = chunk.predictions, chunk.given
    with reading_for(chunk.reader):
        told = read_unit(chunk.name, Path(path)) if path else {}
    if path and (asked["told"] is None or set(told) != set(asked["told"])):
        raise InputError(f"{path}: changed while it was scored; give the same command again")
    by_episode = {task: split_by_episode(one, asked["told"][task]) for task, one in told.items() if not _ranked(task)}
    how = {**built_by(options, options.seed, options.variant), "held": asked["held"]}
    none = Told(chunk.name, {}, {}, np.zeros((0, 0)))
    made: list[Part] = []
    lost: list[tuple[str, str]] = []
    for episodes, tasks in _turns(asked):
        recorded = [_read_episode(name, chunk.needs, len(episodes)) for name in episodes]
        for task in tasks:
            data = cells.built(task, recorded, how)
            own = told.get(task) if _ranked(task) else by_episode.get(task, {}).get(episodes[0])
            if path or (options.missing != "error" and form(data.task.kind) != "vectors" and len(data.of(TEST))):
                made.append(tally_task(align(own or none, data, options.missing), data))
            elif len(data.of(TEST)):
                lost.append((task, episodes[0]))
        del recorded, data  # so that the next ones find the memory free
    return merge_tasks(made, lost)


def _ranked(task: str) -> bool:
    """Say whether the answers to a task are ranked among all of them."""
    return TASKS[task].kind == "retrieval"


def _turns(asked: Mapping[str, Any]) -> list[tuple[list[str], list[str]]]:
    """Return the episodes that are read at a time, and the tasks that are scored of them.

    An episode is read once for all tasks; a task that ranks its answers among all candidates needs every episode.
    """
    told = {task: names for task, names in asked["told"].items() if task in asked["tasks"]}
    by_episode: dict[str, list[str]] = {}
    for task, names in told.items():
        for name in names if not _ranked(task) else ():
            by_episode.setdefault(name, []).append(task)
    found = [([name], tasks) for name, tasks in by_episode.items()]
    return [*found, *((list(asked["episodes"]), [task]) for task in told if _ranked(task))]


def _read_episode(name: str, needs: Mapping[str, Path], count: int) -> Recorded:
    """Read an episode from its artefacts: whole where it is alone, else its streams when they are asked for."""
    annotation, features = needs[f"annotation {name}"], needs.get(f"features {name}")
    if count == 1:
        return cells.read(annotation, features)
    return stored(annotation, None if features is None else Features.read(features))


def finish(partials: Partials, options: ScoreOptions, *, ground: Callable[[], Ground], keep: Keep) -> list[Evaluation]:
    """Put together what the chunks of one system left."""
    where, base, chunks = partials.system.where, ground(), partials.system.chunks
    _check_lost([(task, name) for own in partials.facts.values() for task, name in own["lost"]], where)
    facts = [fact for own in partials.facts.values() for fact in own["tasks"]]
    tried = {task for chunk in chunks for task in _told_by(chunk)}
    answered = {task for task in base.tasks if task in tried} if partials.is_whole else {one["task"] for one in facts}
    if not answered and not partials.complete:
        raise partials.nothing_scored()
    if sum(fact["n"] - fact["missing"] for fact in facts) == 0:
        raise InputError(f"{where}: no test sample is answered: nothing can be scored")
    tasks = possible(base, answered, where)
    scored = [fact for fact in facts if fact["task"] in tasks]
    coverage = _coverage(base, partials, tasks, scored, sum(base.tasks[task].asked for task in answered))
    classes = {task: sorted({c for fact in scored if fact["task"] == task for c in fact["classes"]}) for task in tasks}
    about = About(
        coverage={"policy": {"missing": options.missing}, **coverage},
        options=opt.record(replace(options, predictions=(where,))),
        inputs=_inputs(base, chunks[0].predictions) if partials.is_whole else (),
        facts={"seed": options.seed},
        findings=tuple(_findings(base, where, {*answered, *tried}, classes, coverage["samples"]["missing"])),
    )
    return [assemble(base, partials, tasks, about, keep)]


def _told_by(chunk: Chunk) -> Collection[str]:
    """Return the tasks that a chunk answers; where one is not there in the end, its cell says why."""
    told: Collection[str] = chunk.given["told"] or () if chunk.name else chunk.predictions.tasks
    return told


def _coverage(
    ground: Ground, partials: Partials, tasks: Sequence[str], scored: Sequence[Facts], asked: int
) -> dict[str, Any]:
    """Return what was scored of the samples that were asked for."""
    n, missing = (sum(fact[name] for fact in scored) for name in ("n", "missing"))
    complete = n == asked and partials.complete and not ground.left_out
    found = {
        "complete": complete,
        "samples": {"truth": asked, "scored": n, "missing": missing},
        "tasks": {"asked": list(ground.tasks), "answered": list(tasks)},
    }
    if not partials.is_whole:
        files = [chunk.name for chunk in partials.system.chunks if chunk.predictions is not None]
        found["shards"] = {"given": len(files), "scored": sum(name in partials.facts for name in files)}
    return {**found, **partials.cells(complete=complete)}


def _inputs(ground: Ground, given: Given) -> tuple[Mapping[str, Any], ...]:
    """Describe the episodes and the files of a system."""
    files = [
        {"name": given.source.name, "path": os.fspath(path), "bytes": path.stat().st_size, "sha256": hash_file(path)}
        for path in given.files
    ]
    return (*ground.inputs, *files)


def _check_lost(lost: Sequence[tuple[str, str]], where: str) -> None:
    """Refuse that there are no answers where there have to be some.

    A vector cannot count as wrong. Answers that are labels are missing only as long as they are not asked to do so.
    """
    if not lost:
        return
    by_vectors = {form(TASKS[task].kind) == "vectors" for task, _ in lost}
    offered = f", or choose --missing wrong{' where answers are labels' if True in by_vectors else ''}"
    named = some([f"{task} of {episode}" for task, episode in lost])
    raise InputError(f"{where}: no answers to {named}; add them{offered if False in by_vectors else ''}")


def possible(ground: Ground, given: Collection[str], where: str) -> list[str]:
    """Return the tasks that a system answers and that can be scored."""
    found = [task for task, one in ground.tasks.items() if task in given and not one.lacks]
    if not found:
        reasons = [f"{task}: {one.lacks}" for task, one in ground.tasks.items() if one.lacks]
        raise InputError(f"{where}: nothing can be scored: {some(reasons, sentences=True)}; give longer episodes")
    return found


def _findings(
    ground: Ground, where: str, given: Collection[str], classes: Mapping[str, Collection[str]], lost: int
) -> list[Finding]:
    """Find samples without an answer, tasks that only others answer, and answers that no sample has."""
    found = []
    if lost:
        text = f"{counted(lost, 'sample')} without a label: counted as wrong"
        found.append(Finding("missing-predictions", "warning", where, text, "answer every test sample"))
    others = [task for task in ground.tasks if task not in given]
    if others:
        text = f"no answers to {some(others)}, which other systems answer"
        found.append(Finding("tasks-not-answered", "info", where, text, "give --tasks to ask all systems for the same"))
    for task, own in classes.items():
        known = ground.tasks[task].known
        odd = [name for name in own if name not in known]
        if odd:
            text = f"{task}: answers that no sample of these episodes has: {some(odd)}"
            found.append(Finding("impossible-answers", "warning", where, text, "check the spelling of the labels"))
    return found


def _list_lacking(found: Sequence[Unit], episodes: Episodes) -> list[Unit]:
    """Return the episodes that a system says nothing of, where all its shards can be read."""
    if any(unit.told is None for unit in found):
        return []
    every = {task for unit in found for task in unit.told or ()}
    by_episode = [task for task in episodes.tasks if task in every and not _ranked(task)]
    have = {(task, name) for unit in found for task, names in (unit.told or {}).items() for name in names}
    lacking: dict[str, list[str]] = {}
    for episode in episodes.places:
        for task in by_episode:
            if (task, episode) not in have and (episodes.held is None or episode in episodes.held):
                lacking.setdefault(episode, []).append(task)
    return [Unit(f"{WITHOUT}{episode}", None, dict.fromkeys(tasks, (episode,))) for episode, tasks in lacking.items()]


def _count_lost(outcome: Outcome, left_out: Mapping[str, str]) -> Outcome:
    """Count cells as missing that were done before, of episodes that can no longer be read."""
    lost = {
        cell.name: f"episode {name}: {left_out[name]}, though it was scored before; mend it and give the command again"
        for cell in outcome.cells
        for name in cell.arguments["given"]["episodes"]
        if name in left_out and cell.name in outcome.done
    }
    done = {name: folder for name, folder in outcome.done.items() if name not in lost}
    return replace(outcome, done=done, missing={**outcome.missing, **lost}) if lost else outcome


@dataclass(frozen=True)
class Episodes:
    """The episodes that shards are scored against, whose annotation and targets are artefacts.

    Attributes
    ----------
    options, places, tasks
        What was asked for.
    held
        The test episodes of a disjoint split.
    """

    options: ScoreOptions
    places: Mapping[str, layout.Place]
    tasks: tuple[str, ...]
    held: list[str] | None

    @property
    def wanted(self) -> list[str]:
        """Blocks that are targets of the tasks."""
        named = {block for task in self.tasks for block in TASKS[task].target_blocks}
        return [name for name in blocks.NAMES if name in named]

    def chunk(self, unit: Unit) -> Chunk:
        """Return a file of answers, or what lacks answers, with the artefacts that it is scored against."""
        episodes = dict.fromkeys(name for names in (unit.told or {}).values() for name in names)
        if any(_ranked(task) for task in unit.told or ()):
            episodes = dict.fromkeys(self.places)
        given = {
            "tasks": list(self.tasks),
            "told": None if unit.told is None else {task: list(names) for task, names in unit.told.items()},
            "episodes": list(episodes),
            "held": self.held,
        }
        needs = {f"{role} {name}": node for name in episodes for role, node in self.artefacts[name].items()}
        return Chunk(unit.name, None, unit.path, given, needs=needs)

    @cached_property
    def artefacts(self) -> dict[str, dict[str, Node]]:
        """By episode: its annotation, and the blocks that are targets."""
        planner, variant = Planner(self.options), self.options.variant
        skip = [name for name in blocks.NAMES if name not in self.wanted] if self.wanted else None
        return {
            name: cells.declare_artefacts(
                planner, place, layout.content(place), variant, skip, f"targets of {place.id}"
            )
            for name, place in self.places.items()
        }

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
                streams[episode] = describe_blocks(Features.read(folders["features"]).facts, self.wanted)
            for task, one in self.samples(store, episode).items():
                found[task].append(one.outline)
                repairs[episode] = one.recorded[episode].labels.repairs
            del one  # so that the next one finds the memory free
            places.append(place)
        if not places:
            raise InputError("no episode could be read; see what failed above")
        tasks = {task: Outline.added(own) for task, own in found.items()}
        return _ground_of(self.options, tasks, partial(self.samples, store), places, repairs, streams, left_out)

    def samples(self, store: Store, episode: str) -> dict[str, TaskData]:
        """Build the samples of every task in one episode."""
        folders = self.folders(store, episode)
        features = Features.read(folders["features"]) if self.wanted else None
        recorded = stored(folders["annotation"], features)
        how = {**built_by(self.options, self.options.seed, self.options.variant), "held": self.held}
        return {task: cells.built(task, [recorded], how) for task in self.tasks}

    def folders(self, store: Store, episode: str) -> dict[str, Path]:
        """Return where the artefacts of an episode are, by what they are."""
        return {role: store.path(node.key) for role, node in self.artefacts[episode].items()}
