"""Verb ``run``: detectors over pairs of scans, through the engine; one cell per system and scene.

Which rooms are tested: those of the test part (70/15/15 by room), or all with ``--folds``, each with a system that was
trained on the other folds. A system without ``fit`` is run as it is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.core import options as opt
from gnomon.core.canonical import fingerprint
from gnomon.core.errors import InputError, some
from gnomon.core.partition import ALL, TEST, TRAIN
from gnomon.core.samples import Samples
from gnomon.core.scans import BOX_CLASSES
from gnomon.core.seeds import generator
from gnomon.core.systems import Spec
from gnomon.core.tallies import natural_key
from gnomon.engine.job import Job, Outcome
from gnomon.engine.plan import Node, Plan
from gnomon.engine.planner import Planner
from gnomon.engine.scoring import Chunk, System
from gnomon.runs.auditing import TRIVIAL
from gnomon.runs.run import INPUTS, Evaluation
from gnomon.runs.seal import hash_file_once
from gnomon.suites.change import cells, samples, scoring
from gnomon.suites.change.files import Dataset, Scene, read_dataset
from gnomon.suites.change.options import VARIANTS, ChangeOptions, RunOptions, ScoreOptions
from gnomon.suites.change.predictions import Prediction
from gnomon.suites.change.shapes import together
from gnomon.suites.change.systems import SYSTEMS
from gnomon.suites.change.tallies import settle_protocol

RESULTS = "results.json"


@dataclass(frozen=True)
class Fold:
    """Training scenes that some test scenes share."""

    name: str
    scenes: tuple[Scene, ...]
    lost: tuple[Scene, ...] = ()
    """Scenes that are not trained on, since their label cannot be read."""

    @classmethod
    def of(cls, name: str, scenes: Iterable[Scene]) -> Fold:
        """Return the fold of training scenes, those apart whose label cannot be read."""
        given = tuple(scenes)
        return cls(name, tuple(s for s in given if not s.fault), tuple(s for s in given if s.fault))


@dataclass(frozen=True)
class _Work:
    """What was asked for, checked and resolved."""

    options: RunOptions
    specs: Mapping[str, Spec]
    tested: Dataset
    folds: Mapping[str, Mapping[str, Fold]]
    """Variant -> scene -> what a system is trained on; nothing where no system is trained."""
    split: Mapping[str, Mapping[str, Any]]

    def asked(self) -> list[tuple[str, str]]:
        """Return every system with every variant."""
        return [(name, variant) for name in self.specs for variant in opt.list_variants(self.options.variant)]

    def untrained(self, name: str, variant: str) -> dict[str, str]:
        """Return the training scenes that a system is not trained on, with what is wrong with their labels."""
        folds = self.folds.get(variant, {}).values() if SYSTEMS.offers(self.specs[name], "fit") else ()
        return {scene.id: scene.fault for fold in folds for scene in fold.lost}

    def fold(self, name: str, variant: str, scene: Scene) -> Fold | None:
        """Return what a system is trained on before it sees a scene."""
        return self.folds[variant][scene.id] if SYSTEMS.offers(self.specs[name], "fit") else None


def run(options: RunOptions) -> Job:
    """Check what was given, then plan a cell for every system and scene."""
    if options.folds == 1 or (options.folds and options.part not in ("", ALL)):
        raise InputError("--folds: expected at least 2, over all rooms; leave --part out")
    seed = options.seed if options.split_seed is None else options.split_seed
    part = options.part or (ALL if options.folds else TEST)
    options = replace(options, split_seed=seed, part=part)
    dataset = read_dataset(options.data_path, missing=options.gaps, unit=options.unit, lenient=True)
    specs = SYSTEMS.parse(options.systems)
    work = _planned(options, specs, dataset)
    tested = replace(work.tested, notes=(*work.tested.notes, *_untrained(work)))
    work = replace(work, tested=tested)
    nodes = {
        (name, variant, scene.id): _cell(work, name, variant, scene)
        for name, variant in work.asked()
        for scene in work.tested
    }
    protocols = [settle_protocol(variant, options) for variant in opt.list_variants(options.variant)]
    measures = {measure.name: measure for one in protocols for measure in one.measures}
    return Job(Plan(nodes.values()), lambda outcome: _assemble(outcome, work, nodes), tuple(measures.values()))


def _untrained(work: _Work) -> list[str]:
    """Say which scenes systems are not trained on, since their labels cannot be read."""
    lost = {scene: why for asked in work.asked() for scene, why in work.untrained(*asked).items()}
    if not lost:
        return []
    told = some((f"{scene} ({why})" for scene, why in lost.items()), len(lost), show=3, sentences=True)
    return [f"left out of training, since the label cannot be read: {told}"]


def _planned(options: RunOptions, specs: Mapping[str, Spec], dataset: Dataset) -> _Work:
    scenes = dataset.scenes
    taught = [name for name, spec in specs.items() if SYSTEMS.offers(spec, "fit")]
    rooms = sorted({scene.room for scene in scenes}, key=natural_key)
    if options.folds:
        dealt = {
            "published": _scene_folds(scenes, options.folds, options.seed),
            "strict": _room_folds(scenes, rooms, options.folds, options.seed),
        }
        folds = {name: _others(scenes, places) for name, places in dealt.items()}
        record = {
            name: {"folds": options.folds, "by": by} for name, by in zip(VARIANTS, ("scene", "room"), strict=False)
        }
        return _Work(options, specs, dataset, folds, record)
    if options.part == ALL:
        if taught:
            raise InputError(f"{taught[0]} is trained: give --part test, --part val or --folds, or leave it out")
        return _Work(options, specs, dataset, {}, {})
    of = options.parts(rooms, "room")
    if taught and options.part == TRAIN:
        raise InputError(f"{taught[0]} is trained on the train part: test it on another, or leave it out")
    tested = replace(dataset, scenes=tuple(scene for scene in scenes if of[scene.room] == options.part))
    fold = Fold.of("on the train part", (scene for scene in scenes if of[scene.room] == TRAIN))
    each = dict.fromkeys((scene.id for scene in tested), fold)
    record = dict.fromkeys(VARIANTS[:2], options.split_record(of, "room"))
    return _Work(options, specs, tested, dict.fromkeys(VARIANTS[:2], each), record)


def _scene_folds(scenes: Sequence[Scene], folds: int, seed: int) -> dict[str, int]:
    """Return the fold of every scene as the published protocol deals them: shuffled scenes, cut in order.

    Its shuffle is that of scikit-learn's ``KFold(shuffle=True, random_state=seed)``, so the legacy generator is needed.
    """
    if len(scenes) < folds:
        raise InputError(f"{folds} folds need at least as many scenes, but there are {len(scenes)}: give fewer --folds")
    order = np.arange(len(scenes))
    np.random.RandomState(seed).shuffle(order)
    return {scenes[index].id: fold for fold, part in enumerate(np.array_split(order, folds)) for index in part.tolist()}


def _room_folds(scenes: Sequence[Scene], rooms: Sequence[str], folds: int, seed: int) -> dict[str, int]:
    if len(rooms) < folds:
        raise InputError(f"{folds} folds need at least as many rooms, but there are {len(rooms)}: give fewer --folds")
    order = generator(seed, "change", "folds").permutation(len(rooms)).tolist()
    of = {rooms[index]: turn % folds for turn, index in enumerate(order)}
    return {scene.id: of[scene.room] for scene in scenes}


def _others(scenes: Sequence[Scene], places: Mapping[str, int]) -> dict[str, Fold]:
    names = sorted(set(places.values()))
    made = {n: Fold.of(f"without fold {n + 1}", (s for s in scenes if places[s.id] != n)) for n in names}
    return {scene.id: made[places[scene.id]] for scene in scenes}


def _cell(work: _Work, name: str, variant: str, scene: Scene) -> Node:
    spec, options = work.specs[name], work.options
    planner = Planner(options, SYSTEMS)
    reading = {"invalid": options.invalid, "unit": options.unit}
    fold = work.fold(name, variant, scene)
    needs, suffix = {}, ""
    if fold is not None:
        suffix = f" ({variant})" if options.folds and options.variant == "both" else ""
        training = [_content(item) for item in fold.scenes]
        needs["trained"] = planner.trained(
            f"train {name} {fold.name}{suffix}",
            cells.train,
            {**reading, "seed": options.seed, "training": training},
            spec=spec,
            context={"places": cells.places(fold.scenes)},
        )
    return planner.cell(
        f"{name} {scene.id}{suffix}",
        cells.detect,
        {**reading, "scene": scene.id, "scans": [hash_file_once(scene.reference), hash_file_once(scene.comparison)]},
        spec=spec,
        needs=needs,
        labels={"dataset": scene.id},
        context={"reference": os.fspath(scene.reference), "comparison": os.fspath(scene.comparison)},
    )


def _content(scene: Scene) -> list[str]:
    paths = (scene.reference, scene.comparison, scene.points or scene.label)
    return [scene.id, *(hash_file_once(path) for path in paths)]


def _assemble(outcome: Outcome, work: _Work, nodes: Mapping[tuple[str, str, str], Node]) -> list[Evaluation]:
    options = work.options
    asked = ScoreOptions(
        truth=options.data_path,
        predictions=(),
        missing="skip",
        **{one.name: getattr(options, one.name) for one in fields(ChangeOptions)},
    )
    systems, cells_of, facts = [], [], []
    for name, variant in work.asked():
        own = {scene: node for (system, kind, scene), node in nodes.items() if (system, kind) == (name, variant)}
        done = {scene: outcome.done[node.name] for scene, node in own.items() if node.name in outcome.done}
        found = {scene: _prediction(scene, folder) for scene, folder in done.items()}
        chunk = Chunk("", work.tested, found, scoring.ask([variant], options))
        systems.append(System(name, name, [chunk]))
        cells_of.append(outcome.named(node.name for node in own.values()))
        facts.append(_facts(work.specs[name], done.values()))
    given = fingerprint(
        [[one.id, hash_file_once(one.reference), hash_file_once(one.comparison)] for one in work.tested]
    )
    evaluations = []
    for item, done_cells, known in zip(scoring.SCORER.score_at_once(systems, asked), cells_of, facts, strict=True):
        variant, spec = item.protocol.variant, work.specs[item.system]
        coverage = {name: value for name, value in item.coverage.items() if name != "policy"}
        complete = coverage["complete"] and done_cells.complete and not work.untrained(item.system, variant)
        record = {"variant": variant, "source": item.system, **SYSTEMS.record(spec)}
        evaluations.append(
            replace(
                item,
                protocol=replace(item.protocol, split=dict(work.split.get(variant, {}))),
                coverage={**coverage, "complete": complete, "cells": done_cells.coverage()},
                options={**opt.record(options), **record},
                facts={**item.facts, **known, INPUTS: given},
                samples=_samples(work, item),
            )
        )
    export = options.export_indoorcd or ("" if options.out == "none" else os.fspath(Path(options.out) / RESULTS))
    return scoring.settle(evaluations, work.tested.notes, export)


def _samples(work: _Work, item: Evaluation) -> Samples | None:
    """Return what a trained system was trained on and tested on; nothing for one that is not trained."""
    if not SYSTEMS.offers(work.specs[item.system], "fit"):
        return None
    return samples.of(work.tested, work.folds[item.protocol.variant], hash_file_once)


def _prediction(scene: str, folder: Path) -> Prediction:
    stored = _stored(folder / cells.DETECTED)
    boxes = [np.array(box) for box in stored["boxes"]]
    codes = [BOX_CLASSES.index(label) for label in stored["classes"]]
    return Prediction(scene, together(boxes, codes, stored["scores"]), folder / cells.POINTS, stored["seconds"])


def _stored(path: Path) -> Any:
    return json.loads(path.read_bytes())


def _facts(spec: Spec, folders: Iterable[Path]) -> dict[str, Any]:
    """Return what a reader should know of a system: whether it is trivial, its training, its stages."""
    facts: dict[str, Any] = {TRIVIAL: SYSTEMS.declares(spec, "trivial")}
    found = [_stored(folder / cells.DETECTED) for folder in folders]
    stages = sorted({stage for item in found for stage in item["stages"]})
    if stages:
        facts["stage_seconds"] = {s: sum(item["stages"].get(s, 0.0) for item in found) / len(found) for s in stages}
    bound = [side["floor_binds"] for item in found for side in (item["facts"].get("eps") or {}).values() if side]
    if bound:
        facts["eps_floor_bound"] = sum(bound) / len(bound)
    trained = {json.dumps(item["training"], sort_keys=True): item["training"] for item in found if item["training"]}
    if trained:
        facts["training"] = list(trained.values())
    return facts
