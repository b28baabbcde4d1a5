"""Verb ``run``: heads and baselines on the twelve tasks, through the engine.

Features and annotation of every episode are artefacts that all cells share; a cell is one system, variant and task. A
run is a system in a variant, with all its tasks.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from gnomon.core import options as opt
from gnomon.core.canonical import fingerprint
from gnomon.core.errors import InputError, some
from gnomon.engine.job import Job, Outcome
from gnomon.engine.plan import Node, Plan
from gnomon.engine.store import Store
from gnomon.runs.auditing import TRIVIAL
from gnomon.runs.run import Evaluation
from gnomon.suites.episode import cells, layout, scoring, systems
from gnomon.suites.episode.answers import Answers
from gnomon.suites.episode.features import blocks
from gnomon.suites.episode.features.stored import Features
from gnomon.suites.episode.options import VARIANTS, RunOptions
from gnomon.suites.episode.simulation.marks import simulated, unfinished
from gnomon.suites.episode.tasks.declared import TASKS
from gnomon.suites.episode.tasks.splitting import CHRONOLOGICAL, DISJOINT, held_out

CELLS = "gnomon.suites.episode.cells"


@dataclass(frozen=True)
class Work:
    """What was asked for, checked and resolved."""

    options: RunOptions
    places: tuple[layout.Place, ...]
    content: Mapping[str, str]
    systems: tuple[str, ...]
    tasks: tuple[str, ...]
    skip: tuple[str, ...]

    @property
    def variants(self) -> tuple[str, ...]:
        """The variants that were asked for."""
        return VARIANTS[:2] if self.options.variant == "both" else (self.options.variant,)

    def how(self, variant: str) -> dict[str, Any]:
        """Return how samples are built."""
        return {
            "variant": variant,
            "split": self.options.split,
            "embargo": self.options.embargo,
            "seed": self.options.seed,
            "test_episodes": list(words(self.options.test_episodes)),
        }


def run(options: RunOptions) -> Job:
    """Check what was given, then plan a cell for every system, variant and task."""
    work = _resolved(options)
    nodes = Nodes(work)
    planned = {
        (name, variant, task): nodes.cell(name, variant, task)
        for name in work.systems
        for variant in work.variants
        for task in work.tasks
        if systems.answers(name, TASKS[task])
    }
    return Job(Plan(planned.values()), lambda outcome: _assemble(outcome, work, nodes, planned))


def words(given: Sequence[str]) -> tuple[str, ...]:
    """Return the words of an option that may be repeated and may hold several, separated by commas."""
    return tuple(dict.fromkeys(word for item in given for word in map(str.strip, item.split(",")) if word))


def checked_tasks(given: Sequence[str]) -> tuple[str, ...]:
    """Return tasks by name, in the order of the tables."""
    asked = words(given)
    unknown = [task for task in asked if task not in TASKS]
    if unknown or not asked:
        raise InputError(f"--tasks: no task {some(unknown)}; there are {', '.join(TASKS)}")
    return tuple(task for task in TASKS if task in asked)


def checked_split(split: str, names: Sequence[str], seed: int, test: Sequence[str]) -> None:
    """Refuse a split that these episodes do not allow, before any work is done."""
    if test and split != DISJOINT:
        raise InputError(f"--test-episodes: the split {split} tests a part of every episode; give --split {DISJOINT}")
    if split == DISJOINT:
        held_out(names, seed, list(test) or None)


def whole(places: Sequence[layout.Place]) -> None:
    """Refuse episodes whose simulation was interrupted."""
    broken = [place.id for place in places if unfinished(place.folder)]
    if broken:
        raise InputError(f"episodes {some(broken)} were not written to the end; give gnomon simulate the same again")


def _resolved(options: RunOptions) -> Work:
    tasks, chosen = checked_tasks(options.tasks), systems.expanded(options.systems)
    skip = words(options.skip)
    known = {*blocks.NAMES, *(stream for block in blocks.BLOCKS for stream in block.stream)}
    strange = [name for name in skip if name not in known]
    if strange:
        raise InputError(f"--skip: no block or stream {some(strange)}; there are {', '.join(sorted(known))}")
    places = layout.find(options.episodes)
    whole(places)
    checked_split(options.split, [place.id for place in places], options.seed, words(options.test_episodes))
    content = {place.id: layout.content(place) for place in places}
    return Work(options, tuple(places), content, chosen, tasks, skip)


def code(*rooms: str) -> str:
    """Return the hash of the code of some modules and folders of this suite."""
    here, content = Path(__file__).parent, hashlib.sha256()
    for room in rooms:
        files = sorted((here / room).glob("*.py")) if (here / room).is_dir() else [here / f"{room}.py"]
        for path in files:
            content.update(path.read_bytes())
    return content.hexdigest()[:16]


class Nodes:
    """The nodes of a plan, made from what they depend on."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.node = partial(Node, limits=work.options.limits())
        self.reading = code("annotation", "annotated", "captions", "episode", "frames", "layout", "videos", "features")
        self.answering = code("answers", "systems", "tasks", "heads")

    def features(self, place: layout.Place, variant: str) -> Node:
        """Artefact: the feature vectors of an episode."""
        validity = cells.VALIDITY[variant]
        skip = sorted(self.work.skip)
        return self.node(
            f"features of {place.id} ({validity})",
            f"{CELLS}:features",
            {**self._episode(place), "validity": validity, "skip": skip},
            kind="artefact",
            labels={"dataset": place.id},
            context={"folder": os.fspath(place.folder)},
            heavy=True,
        )

    def annotation(self, place: layout.Place) -> Node:
        """Artefact: what was annotated of an episode."""
        return self.node(
            f"annotation of {place.id}",
            f"{CELLS}:annotation",
            self._episode(place),
            kind="artefact",
            labels={"dataset": place.id},
            context={"folder": os.fspath(place.folder)},
        )

    def cell(self, name: str, variant: str, task: str) -> Node:
        """Cell: a system on a task."""
        work = self.work
        needs = {}
        for place in work.places:
            needs[f"annotation {place.id}"] = self.annotation(place)
            needs[f"features {place.id}"] = self.features(place, variant)
        arguments = {
            "system": name,
            "code": self.answering,
            "task": task,
            "episodes": [place.id for place in work.places],
            **work.how(variant),
        }
        labels = {"system": name, "variant": variant, "task": task}
        heavy = not systems.is_trivial(name)
        return self.node(f"{name} {task} ({variant})", f"{CELLS}:answer", arguments, needs, labels=labels, heavy=heavy)

    def _episode(self, place: layout.Place) -> dict[str, Any]:
        return {"episode": place.id, "content": self.work.content[place.id], "code": self.reading}


def _assemble(
    outcome: Outcome, work: Work, nodes: Nodes, planned: Mapping[tuple[str, str, str], Node]
) -> list[Evaluation]:
    store = Store(work.options.store_folder())
    found = []
    for variant in work.variants:
        ground = _ground(store, work, nodes, variant)
        for name in work.systems:
            own = {task: node for (system, kind, task), node in planned.items() if (system, kind) == (name, variant)}
            answers = {
                task: Answers.read(TASKS[task], outcome.done[node.name])
                for task, node in own.items()
                if node.name in outcome.done
            }
            part = outcome.of(system=name, variant=variant)
            found.append(
                scoring.evaluation(
                    ground,
                    name,
                    answers,
                    coverage={"complete": part.complete, "cells": part.coverage()},
                    options={**opt.record(work.options), "system": name, "store": os.fspath(store.folder)},
                    inputs=[
                        {"name": place.id, "path": os.fspath(place.folder), "bytes": None, "sha256": None}
                        for place in work.places
                    ],
                    facts={TRIVIAL: systems.is_trivial(name), "progress_logs": 1, "seed": work.options.seed},
                )
            )
    return found


def _ground(store: Store, work: Work, nodes: Nodes, variant: str) -> scoring.Ground:
    recorded, files, coverage = [], {}, {}
    for place in work.places:
        folders = [store.path(node.key) for node in (nodes.annotation(place), nodes.features(place, variant))]
        missing = [path for path in folders if not path.is_dir()]
        if missing:
            raise InputError(f"episode {place.id}: its features could not be computed; see what failed above")
        one = cells.read(*folders)
        recorded.append(one)
        features = Features.read(folders[1])
        coverage[place.id] = {key: features.facts[key] for key in ("coverage", "masked", "streams", "audio", "repairs")}
        name = place.id.replace("/", "_")
        files[f"windows.{name}.csv" if len(work.places) > 1 else "windows.csv"] = (
            folders[1] / "windows.csv"
        ).read_bytes()
        files["feature_manifest.json"] = (folders[1] / "feature_manifest.json").read_bytes()
    how = work.how(variant)
    data = {task: cells.built(task, recorded, how) for task in work.tasks}
    split = {
        "name": work.options.split,
        "share": "70/30",
        **({"embargo": work.options.embargo} if variant == "strict" and work.options.split == CHRONOLOGICAL else {}),
        **({"test_episodes": list(how["test_episodes"])} if how["test_episodes"] else {}),
    }
    settings = {
        "windows": {"frames": blocks.LENGTH, "stride": blocks.STRIDE},
        "features": {"dimensions": blocks.DIM, "blocks": fingerprint(blocks.manifest()), "skip": sorted(work.skip)},
        "validity": cells.VALIDITY[variant],
        "seed": work.options.seed,
    }
    marked = [place.id for place in work.places if simulated(place.folder)]
    return scoring.Ground.of(variant, data, work.content, marked, split, settings, files=files, streams=coverage)
