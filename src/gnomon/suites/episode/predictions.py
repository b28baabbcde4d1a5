"""Verb ``score``: answers to tasks that were made elsewhere (:mod:`gnomon.suites.episode.given`), tallied and scored.

Truth is made from the episodes: from the annotation alone, unless the target of a task is a block of features; then
only such blocks are computed. Nothing is trained here, so that there is no training part to audit, and no training to
record. A score stands on the same ground as one of ``gnomon run episode`` with the same tasks, split and seed.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.core import options as opt
from gnomon.core.errors import InputError, counted, some
from gnomon.core.evidence import Finding
from gnomon.engine.job import Job
from gnomon.intake.shards import is_folder
from gnomon.intake.sources import systems
from gnomon.intake.unread import reading_for
from gnomon.measures.plausibility import check_same_unit, measure_bodies, measure_distances
from gnomon.runs.run import Evaluation
from gnomon.runs.seal import hash_file
from gnomon.suites.episode import cells, exhibits, layout
from gnomon.suites.episode.answers import JOINTS, Answers
from gnomon.suites.episode.features import blocks
from gnomon.suites.episode.features.stored import Features
from gnomon.suites.episode.folders import sharded
from gnomon.suites.episode.given import SEPARATOR, Given, Told, read
from gnomon.suites.episode.ground import Ground, outlines
from gnomon.suites.episode.heads import form
from gnomon.suites.episode.options import ScoreOptions
from gnomon.suites.episode.running import built_by, checked_split, checked_tasks, described, generated, whole, words
from gnomon.suites.episode.scoring import evaluation
from gnomon.suites.episode.tasks.data import SIDES, Recorded
from gnomon.suites.episode.tasks.declared import FORECAST, TASKS
from gnomon.suites.episode.tasks.outlines import Outline
from gnomon.suites.episode.tasks.sampling import TaskData
from gnomon.suites.episode.tasks.splitting import TEST
from gnomon.suites.episode.tasks.vocabulary import codes, multi_hot
from gnomon.suites.episode.unread import opened

MEASURED_SAMPLES = 500
"""About how many samples of each side are measured to compare their units, evenly spread."""


def score(options: ScoreOptions) -> list[Evaluation] | Job:
    """Score every given system against the truth of the test samples; folders of shards are scored one at a time."""
    sources = systems(options.predictions, "sample")
    if any(is_folder(source.content) and sharded(Path(source.content)) for source in sources):
        from gnomon.suites.episode import shards

        return shards.score(sources, options)
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
        truth = [_described(place.id, place.folder) for place in places]
        keeper = exhibits.Keeper(0 if options.out == "none" else options.exhibits, places, sound=False)
        return [_evaluated(options, ground, one, truth, keeper) for one in given]


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
    ground = ground_of(options, outlines(data), lambda _: data, places, repairs, streams)
    return ground.holding(data, trained=False)


def ground_of(
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


def read_truth(
    places: Sequence[layout.Place], variant: str, wanted: Collection[str], folder: Path
) -> tuple[list[Recorded], dict[str, Any]]:
    """Read what was written about episodes, and compute the blocks that are wanted in a folder; return both."""
    recorded, streams = [], {}
    for number, place in enumerate(places):
        held = folder / str(number)
        if not wanted:
            recorded.append(opened(place, held))
            continue
        recorded.append(opened(place, held, partial(_features, place, variant, wanted, held)))
        streams[place.id] = read_of(Features.read(held).facts, wanted)
    return recorded, streams


def _features(place: layout.Place, variant: str, wanted: Collection[str], held: Path) -> Features:
    """Compute the blocks that are wanted of an episode in a folder of their own."""
    held.mkdir()
    skip = [name for name in blocks.NAMES if name not in wanted]
    arguments = {"episode": place.id, "folder": os.fspath(place.folder)}
    cells.features({**arguments, "validity": cells.VALIDITY[variant], "skip": skip}, {}, held)
    return Features.read(held)


def read_of(facts: Mapping[str, Any], wanted: Collection[str]) -> dict[str, Any]:
    """Return what is known of the blocks that were computed."""
    kept = {key: facts[key] for key in ("frames", "audio", "repairs")}
    for key in ("coverage", "masked", "invalid_frames"):
        kept[key] = {name: value for name, value in facts[key].items() if name in wanted}
    return kept


def _evaluated(
    options: ScoreOptions,
    ground: Ground,
    given: Given,
    truth: Sequence[Mapping[str, Any]],
    keeper: exhibits.Keeper,
) -> Evaluation:
    where = given.source.where
    chosen = possible(ground, given.tasks, where)
    answers = {task: answered(given.tasks[task], ground.data[task], options.missing) for task in chosen}
    lost = sum(one.facts.get("missing", 0) for one in answers.values())
    asked = {task: one.asked for task, one in ground.tasks.items() if task in given.tasks}
    scored = sum(len(one.ids) for one in answers.values())
    return evaluation(
        replace(
            ground,
            findings=(
                *ground.findings,
                *findings(ground, where, given.tasks, {task: one.classes for task, one in answers.items()}, lost),
            ),
        ),
        given.source.name,
        answers,
        coverage={
            "complete": scored == sum(asked.values()),
            "samples": {"truth": sum(asked.values()), "scored": scored, "missing": lost},
            "tasks": {"asked": list(ground.tasks), "answered": list(answers)},
            "policy": {"missing": options.missing},
        },
        options=opt.record(replace(options, predictions=(where,))),
        inputs=[*truth, *(_described(given.source.name, path) for path in given.files)],
        facts={"seed": options.seed},
        keeper=keeper,
    )


def possible(ground: Ground, given: Collection[str], where: str) -> list[str]:
    """Return the tasks that a system answers and that can be scored."""
    found = [task for task, one in ground.tasks.items() if task in given and not one.lacks]
    if not found:
        reasons = [f"{task}: {one.lacks}" for task, one in ground.tasks.items() if one.lacks]
        raise InputError(f"{where}: nothing can be scored: {some(reasons, sentences=True)}; give longer episodes")
    return found


def answered(told: Told, data: TaskData, missing: str) -> Answers:
    """Put the answers to a task in the order of its test samples."""
    ids = tuple(data.ids[place] for place in data.of(TEST).tolist())
    place = {name: row for row, name in enumerate(data.ids)}
    wanted = set(ids)
    strange = [name for name in told.samples if name not in wanted]
    if strange:
        said = [f"{name} ({data.part[place[name]] if name in place else 'unknown'})" for name in strange[:5]]
        raise InputError(
            f"{told.where}: {data.task.name}: answers for samples that are no test samples: {some(said, len(strange))};"
            f" expected {counted(len(ids), 'test sample')}{f' such as {ids[0]!r}' if ids else ''}; remove the others"
        )
    if form(data.task.kind) == "vectors":
        return _placed(told, data, ids)
    sets = data.task.kind == "multilabel"
    lost = [name for name in ids if name not in told.labels or not (sets or told.labels[name])]
    if lost and missing == "error":
        raise InputError(
            f"{told.where}: no label for samples of {data.task.name}: {some(lost)}; add them, or choose --missing wrong"
        )
    facts = {"missing": len(lost)} if lost else {}
    labels = [told.labels.get(name, "") for name in ids]
    if sets:
        names = [frozenset(part.strip() for part in label.split(SEPARATOR)) - {""} for label in labels]
        known = tuple(sorted(frozenset().union(*names)))
        given = np.array([name in told.labels for name in ids], dtype=np.bool_) if lost else None
        return Answers(data.task, ids, multi_hot(names, known), known, facts, given)
    known = tuple(sorted({*labels} - {""}))
    wrong = [label for label in known if data.task.classes and label not in data.task.classes]
    if wrong:
        raise InputError(f"{told.where}: {data.task.name}: no class {some(wrong)}; there are {some(data.task.classes)}")
    return Answers(data.task, ids, codes(labels, known), known, facts)


def _placed(told: Told, data: TaskData, ids: tuple[str, ...]) -> Answers:
    lost = [name for name in ids if name not in told.rows]
    if lost:
        raise InputError(f"{told.where}: no vector for samples of {data.task.name}: {some(lost)}; add them")
    wide = data.y(data.of(TEST)[:1]).shape[1]
    if told.values.shape[1] != wide:
        raise InputError(
            f"{told.where}: {data.task.name}: expected vectors of {wide:,} numbers, but got {told.values.shape[1]:,}"
        )
    if data.task.name == FORECAST and len(told.values):
        _check_hands(told, data)
    rows = [told.rows[name] for name in ids]
    values = told.values if rows == list(range(len(told.values))) else told.values[rows]
    return Answers(data.task, ids, values if values.dtype.kind == "f" else values.astype(np.float64))


def _check_hands(told: Told, data: TaskData) -> None:
    """Refuse forecasts of hands in another unit than that of the true hands; any others are scored."""
    test = data.of(TEST)
    some_true = data.y(test[:: max(len(test) // MEASURED_SAMPLES, 1)])
    some_told = told.values[:: max(len(told.values) // MEASURED_SAMPLES, 1)]
    sides = [np.asarray(own, np.float64).reshape(-1, JOINTS // len(SIDES), 3) for own in (some_true, some_told)]
    check_same_unit(
        *map(measure_bodies, sides),
        distances_m=(measure_distances(sides[0]), measure_distances(sides[1])),
        what=f"{told.where}: {FORECAST}: hands",
    )


def findings(
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


def _described(name: str, path: Path) -> dict[str, Any]:
    """Describe a file, or an episode, whose content the fingerprint of the data holds."""
    if path.is_dir():
        return {"name": name, "path": os.fspath(path), "bytes": None, "sha256": None}
    return {"name": name, "path": os.fspath(path), "bytes": path.stat().st_size, "sha256": hash_file(path)}
