"""Verb ``run``: heads and baselines on the twelve tasks, through the engine.

Features and annotation of every episode are artefacts that all cells share; a cell is one system, variant and task. A
run is a system in a variant, with all its tasks.

Every cell reads all episodes, so that one which cannot be used at all (no annotation file that can be opened, no rising
times, a caption that is no JSON, fewer frames than a window) is an error before any work, or, where it is asked for,
left out and named in every run. A stream that is missing or damaged in part is no such fault: its block is masked.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

from gnomon.core import options as opt
from gnomon.core.canonical import fingerprint
from gnomon.core.errors import InputError, MissingExtraError, some
from gnomon.engine.job import Job, Outcome
from gnomon.engine.plan import Node, Plan
from gnomon.engine.planner import Planner
from gnomon.engine.scoring import Chunk, Partials, System
from gnomon.engine.store import Store
from gnomon.runs.auditing import TRIVIAL
from gnomon.runs.run import Evaluation
from gnomon.suites.episode import cells, exhibits, layout, systems
from gnomon.suites.episode.annotation import Annotation
from gnomon.suites.episode.answers import Answers
from gnomon.suites.episode.episode import Episode
from gnomon.suites.episode.evaluation import About, assemble, tally_whole
from gnomon.suites.episode.features import blocks
from gnomon.suites.episode.features.stored import Features
from gnomon.suites.episode.ground import Ground, outlines
from gnomon.suites.episode.measured import measures
from gnomon.suites.episode.options import TRIVIAL as TRIVIAL_NAMES
from gnomon.suites.episode.options import RunOptions, SplitOptions
from gnomon.suites.episode.plausible import check_imu_order, check_plausible
from gnomon.suites.episode.simulation.marks import simulated, unfinished
from gnomon.suites.episode.tasks.declared import TASKS
from gnomon.suites.episode.tasks.splitting import CHRONOLOGICAL, DISJOINT, held_out

MOST_FAULTS = 3
"""Episodes that cannot be used whose faults an error spells out."""
KEPT = ("frames", "coverage", "masked", "invalid_frames", "streams", "audio", "repairs")
"""What a run keeps of the facts about the features of an episode."""


@dataclass(frozen=True)
class Work:
    """What was asked for, checked and resolved."""

    options: RunOptions
    places: tuple[layout.Place, ...]
    content: Mapping[str, str]
    systems: tuple[str, ...]
    tasks: tuple[str, ...]
    skip: tuple[str, ...]
    left_out: Mapping[str, str]

    @property
    def variants(self) -> tuple[str, ...]:
        """The variants that were asked for."""
        return opt.list_variants(self.options.variant)

    def how(self, variant: str) -> dict[str, Any]:
        """Return how samples are built."""
        return built_by(self.options, self.options.seed, variant)


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
    if not planned:
        answered = [name for name, task in TASKS.items() if any(systems.answers(own, task) for own in work.systems)]
        raise InputError(
            f"--systems {','.join(work.systems)}: answers none of the tasks {', '.join(work.tasks)}; give one that it "
            f"answers ({', '.join(answered)}), or another system"
        )
    return Job(Plan(planned.values()), lambda outcome: _assemble(outcome, work, nodes, planned), measures(work.tasks))


def words(given: Sequence[str]) -> tuple[str, ...]:
    """Return the words of an option, each once."""
    return tuple(dict.fromkeys(opt.split_words(given)))


def built_by(options: SplitOptions, seed: int, variant: str) -> dict[str, Any]:
    """Return how the samples of a variant are built."""
    return {
        "variant": variant,
        "split": options.split,
        "embargo": options.embargo,
        "seed": seed,
        "test_episodes": list(words(options.test_episodes)),
    }


def described(options: SplitOptions, variant: str, skip: Sequence[str] = ()) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the split and the settings that the protocol of a variant records."""
    split: dict[str, Any] = {"name": options.split, "share": "70/30"}
    if variant == "strict" and options.split == CHRONOLOGICAL:
        split["embargo"] = options.embargo
    settings = {
        "windows": {"frames": blocks.LENGTH, "stride": blocks.STRIDE},
        "features": {"dimensions": blocks.DIM, "blocks": fingerprint(blocks.manifest()), "skip": sorted(skip)},
        "validity": cells.VALIDITY[variant],
    }
    return split, settings


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


def fault_of(place: layout.Place) -> str:
    """Say why an episode cannot be used at all; empty where it can. Reads shapes, times, bodies and the caption."""
    try:
        with Episode.open(place) as episode:
            if episode.n_frames < blocks.LENGTH:
                return f"{episode.n_frames} frames, but a window has {blocks.LENGTH}"
            check_plausible(episode)
            check_imu_order(episode)
            if not episode.streams["caption"]:
                episode.frame_labels()
            return "" if len(episode.times_ns) else "no frames"
    except InputError as error:
        return str(error)


def generated(place: layout.Place) -> bool:
    """Say whether an episode is simulated: by the mark above its folder, or by its own file where that was copied."""
    if simulated(place.folder):
        return True
    file = Annotation(place.annotation)
    try:
        return file.marked("simulated")
    finally:
        file.close()


def usable(places: Sequence[layout.Place], bad: str) -> tuple[list[layout.Place], dict[str, str]]:
    """Return the episodes that can be used, and why others cannot; those are an error unless they may be skipped."""
    faults = {place.id: why for place in places if (why := fault_of(place))}
    if faults and (bad == "error" or len(faults) == len(places)):
        said = "; ".join(f"{name}: {why}" for name, why in list(faults.items())[:MOST_FAULTS])
        more = f"; and {len(faults) - MOST_FAULTS} more" if len(faults) > MOST_FAULTS else ""
        few = len(faults) < len(places)
        raise InputError(
            f"{len(faults)} of {len(places)} episodes cannot be used, nothing was computed: {said}{more}; complete "
            f"{'them, or leave them out with --bad skip' if few else 'what is missing'}"
        )
    return [place for place in places if place.id not in faults], faults


def _resolved(options: RunOptions) -> Work:
    tasks, chosen = checked_tasks(options.tasks or tuple(TASKS)), systems.expanded(options.systems)
    if "neural" in chosen and find_spec("torch") is None:
        raise MissingExtraError(
            "neural heads need torch: pip install 'gnomon[models]', or give --systems minimal,trivial"
        )
    if any(not systems.is_trivial(name) for name in chosen):
        chosen = tuple(dict.fromkeys((*chosen, *TRIVIAL_NAMES)))  # no figure of a head can be read without them
    skip = words(options.skip)
    known = {*blocks.NAMES, *(stream for block in blocks.BLOCKS for stream in block.stream)}
    strange = [name for name in skip if name not in known]
    if strange:
        raise InputError(f"--skip: no block or stream {some(strange)}; there are {', '.join(sorted(known))}")
    places = layout.find(options.episodes)
    whole(places)
    places, left_out = usable(places, options.bad)
    checked_split(options.split, [place.id for place in places], options.seed, words(options.test_episodes))
    content = {place.id: layout.content(place) for place in places}
    return Work(options, tuple(places), content, chosen, tasks, skip, left_out)


class Nodes:
    """The nodes of a plan, made from what they depend on."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.planner = Planner(work.options)

    def artefacts(self, place: layout.Place, variant: str) -> dict[str, Node]:
        """Return the artefacts of an episode by role."""
        name = f"features of {place.id} ({cells.VALIDITY[variant]})"
        content, skip = self.work.content[place.id], sorted(self.work.skip)
        return cells.declare_artefacts(self.planner, place, content, variant, skip, name)

    def cell(self, name: str, variant: str, task: str) -> Node:
        """Cell: a system on a task."""
        work = self.work
        needs = {
            f"{role} {place.id}": node for place in work.places for role, node in self.artefacts(place, variant).items()
        }
        arguments = {
            "system": name,
            "task": task,
            "episodes": [place.id for place in work.places],
            **work.how(variant),
        }
        labels = {"system": name, "variant": variant, "task": task}
        heavy = not systems.is_trivial(name)
        return self.planner.cell(
            f"{name} {task} ({variant})", cells.answer, arguments, needs=needs, labels=labels, heavy=heavy
        )


def _assemble(
    outcome: Outcome, work: Work, nodes: Nodes, planned: Mapping[tuple[str, str, str], Node]
) -> list[Evaluation]:
    store = Store(work.options.store_folder())
    keep = exhibits.make_keeper(work.options, work.places, sound=True)
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
            about = About(
                coverage={"complete": part.complete, "cells": part.coverage()},
                options={**opt.record(work.options), "system": name, "store": os.fspath(store.folder)},
                inputs=ground.inputs,
                facts={TRIVIAL: systems.is_trivial(name), "progress_logs": 1, "seed": work.options.seed},
            )
            partials = Partials.whole(System(name, name, [Chunk("", ground, answers)]), tally_whole(ground, answers))
            found.append(assemble(ground, partials, answers, about, keep))
    return found


def _ground(store: Store, work: Work, nodes: Nodes, variant: str) -> Ground:
    recorded, files, coverage = [], {}, {}
    for place in work.places:
        folders = [store.path(node.key) for node in nodes.artefacts(place, variant).values()]
        missing = [path for path in folders if not path.is_dir()]
        if missing:
            raise InputError(f"episode {place.id}: its features could not be computed; see what failed above")
        one = cells.read(*folders)
        recorded.append(one)
        features = Features.read(folders[1])
        coverage[place.id] = {key: features.facts[key] for key in KEPT}
        name = place.id.replace("/", "_")
        files[f"windows.{name}.csv" if len(work.places) > 1 else "windows.csv"] = (
            folders[1] / "windows.csv"
        ).read_bytes()
        files["feature_manifest.json"] = (folders[1] / "feature_manifest.json").read_bytes()
    how = work.how(variant)
    data = {task: cells.built(task, recorded, how) for task in work.tasks}
    split, settings = described(work.options, variant, work.skip)
    marked = [place.id for place in work.places if generated(place)]
    tasks = outlines(data)
    ground = Ground.of(
        variant=variant,
        tasks=tasks,
        look=lambda _: data,
        places=work.places,
        content=work.content,
        simulated=marked,
        split=split,
        settings=settings,
        streams=coverage,
        left_out=work.left_out,
    )
    return replace(ground.holding(data, trained=True), files=files)
