"""Verb ``run``: detectors over pairs of scans, through the engine; one cell per system and scene.

Which rooms are tested: those of the test part (70/15/15 by room), or all with ``--folds``, each with a system that was
trained on the other folds. A system without ``fit`` is run as it is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.core.canonical import fingerprint
from gnomon.core.errors import InputError
from gnomon.core.loading import is_foreign
from gnomon.core.partition import ALL, TEST, TRAIN
from gnomon.core.samples import Samples
from gnomon.core.scans import BOX_CLASSES
from gnomon.core.seeds import generator
from gnomon.core.systems import Spec, split
from gnomon.core.tallies import natural_key
from gnomon.engine.job import Job, Outcome
from gnomon.engine.plan import Node, Plan
from gnomon.engine.simulated import MARK
from gnomon.runs.auditing import TRIVIAL
from gnomon.runs.run import INPUTS, Evaluation
from gnomon.runs.seal import hash_file
from gnomon.suites.change import cells, indoorcd, samples, scoring, systems
from gnomon.suites.change.files import Scene, read_dataset
from gnomon.suites.change.options import VARIANTS, RunOptions
from gnomon.suites.change.predictions import Prediction
from gnomon.suites.change.shapes import together

RESULTS = "results.json"


@dataclass(frozen=True)
class Fold:
    """Training scenes that some test scenes share."""

    name: str
    scenes: tuple[Scene, ...]


@dataclass(frozen=True)
class _Work:
    """What was asked for, checked and resolved."""

    options: RunOptions
    specs: Mapping[str, Spec]
    tested: tuple[Scene, ...]
    folds: Mapping[str, Mapping[str, Fold]]
    """Variant -> scene -> what a system is trained on; nothing where no system is trained."""
    split: Mapping[str, Mapping[str, Any]]
    simulated: bool
    notes: tuple[str, ...] = ()
    """What was left out of the dataset."""

    def asked(self) -> list[tuple[str, str]]:
        """Return every system with every variant."""
        variants = VARIANTS[:2] if self.options.variant == "both" else (self.options.variant,)
        return [(name, variant) for name in self.specs for variant in variants]

    def fold(self, name: str, variant: str, scene: Scene) -> Fold | None:
        """Return what a system is trained on before it sees a scene."""
        return self.folds[variant][scene.id] if systems.learns(self.specs[name].name) else None


def run(options: RunOptions) -> Job:
    """Check what was given, then plan a cell for every system and scene."""
    if options.folds == 1 or (options.folds and options.part not in ("", ALL)):
        raise InputError("--folds: expected at least 2, over all rooms; leave --part out")
    seed = options.seed if options.split_seed is None else options.split_seed
    part = options.part or (ALL if options.folds else TEST)
    options = replace(options, split_seed=seed, part=part)
    dataset = read_dataset(options.data_path, missing=options.gaps)
    specs = {spec.text: spec for spec in map(systems.known, split(options.systems))}
    if not specs:
        raise InputError("no system given: --systems NAME, package.module:Class or file.py:Class")
    for spec in specs.values():
        if not is_foreign(
            spec.name, systems.BUILTIN
        ):  # a user's constructor may load a model: that is the work of a cell
            systems.make(spec)
        systems.ready(spec.name)
    work = _planned(options, specs, dataset.scenes, (Path(options.data_path) / MARK).is_file())
    work = replace(work, notes=dataset.notes)
    nodes = {
        (name, variant, scene.id): _cell(work, name, variant, scene)
        for name, variant in work.asked()
        for scene in work.tested
    }
    protocols = [scoring.settled_protocol(variant, options) for variant in dict.fromkeys(v for _, v in work.asked())]
    measures = {measure.name: measure for one in protocols for measure in one.measures}
    return Job(Plan(nodes.values()), lambda outcome: _assemble(outcome, work, nodes), tuple(measures.values()))


def _planned(options: RunOptions, specs: Mapping[str, Spec], scenes: Sequence[Scene], simulated: bool) -> _Work:
    taught = [name for name, spec in specs.items() if systems.learns(spec.name)]
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
        return _Work(options, specs, tuple(scenes), folds, record, simulated)
    if options.part == ALL:
        if taught:
            raise InputError(f"{taught[0]} is trained: give --part test, --part val or --folds, or leave it out")
        return _Work(options, specs, tuple(scenes), {}, {}, simulated)
    of = options.parts(rooms, "room")
    if taught and options.part == TRAIN:
        raise InputError(f"{taught[0]} is trained on the train part: test it on another, or leave it out")
    tested = tuple(scene for scene in scenes if of[scene.room] == options.part)
    fold = Fold("on the train part", tuple(scene for scene in scenes if of[scene.room] == TRAIN))
    each = dict.fromkeys((scene.id for scene in tested), fold)
    record = dict.fromkeys(VARIANTS[:2], options.split_record(of, "room"))
    return _Work(options, specs, tested, dict.fromkeys(VARIANTS[:2], each), record, simulated)


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
    made = {n: Fold(f"without fold {n + 1}", tuple(s for s in scenes if places[s.id] != n)) for n in names}
    return {scene.id: made[places[scene.id]] for scene in scenes}


@cache
def _hashed(path: Path, *state: int) -> str:
    del state
    return hash_file(path)


def _sha(path: Path) -> str:
    """Hash a file once for all systems, and again when it has changed."""
    found = path.stat()
    return _hashed(path, found.st_mtime_ns, found.st_size)


def _cell(work: _Work, name: str, variant: str, scene: Scene) -> Node:
    spec, options = work.specs[name], work.options
    node = partial(Node, limits=options.limits(), foreign=is_foreign(spec.name, systems.BUILTIN))
    shared = {"system": spec.text, "identity": systems.identity(spec.name), "invalid": options.invalid}
    fold = work.fold(name, variant, scene)
    needs, suffix = {}, ""
    if fold is not None:
        suffix = f" ({variant})" if options.folds and options.variant == "both" else ""
        needs["trained"] = node(
            f"train {name} {fold.name}{suffix}",
            "gnomon.suites.change.cells:train",
            {**shared, "seed": options.seed, "training": [_content(item) for item in fold.scenes]},
            kind="artefact",
            labels={"system": name},
            context={"places": cells.places(fold.scenes)},
        )
    return node(
        f"{name} {scene.id}{suffix}",
        "gnomon.suites.change.cells:detect",
        {**shared, "scene": scene.id, "content": [_sha(scene.reference), _sha(scene.comparison)]},
        needs=needs,
        labels={"system": name, "dataset": scene.id},
        context={"reference": os.fspath(scene.reference), "comparison": os.fspath(scene.comparison)},
    )


def _content(scene: Scene) -> list[str]:
    return [scene.id, *(_sha(path) for path in (scene.reference, scene.comparison, scene.points or scene.label))]


def _assemble(outcome: Outcome, work: _Work, nodes: Mapping[tuple[str, str, str], Node]) -> list[Evaluation]:
    options = work.options
    asked: list[tuple[scoring.System, str]] = []
    parts: dict[int, Outcome] = {}
    for name, variant in work.asked():
        own = {scene: node for (system, kind, scene), node in nodes.items() if (system, kind) == (name, variant)}
        done = {scene: outcome.done[node.name] for scene, node in own.items() if node.name in outcome.done}
        found = {scene: _prediction(scene, folder) for scene, folder in done.items()}
        facts = _facts(work.specs[name], work.simulated, done.values())
        asked.append((scoring.System(name, name, found, facts), variant))
        parts[id(asked[-1][0])] = _part(outcome, [node.name for node in own.values()])
    evaluations = scoring.evaluate(
        work.tested,
        asked,
        options,
        coverage=lambda system: {"complete": parts[id(system)].complete, "cells": parts[id(system)].coverage()},
        split=work.split,
        notes=work.notes,
    )
    given = fingerprint([[scene.id, _sha(scene.reference), _sha(scene.comparison)] for scene in work.tested])
    settled = [
        replace(
            item,
            options={**item.options, **_named(work.specs[item.system])},
            facts={**item.facts, INPUTS: given},
            samples=_samples(work, item),
        )
        for item in evaluations
    ]
    if options.export_indoorcd or options.out != "none":
        indoorcd.write(options.export_indoorcd or Path(options.out) / RESULTS, settled)
    return settled


def _samples(work: _Work, item: Evaluation) -> Samples | None:
    """Return what a trained system was trained on and tested on; nothing for one that is not trained."""
    if not systems.learns(work.specs[item.system].name):
        return None
    return samples.of(work.tested, work.folds[item.protocol.variant], _sha)


def _named(spec: Spec) -> dict[str, Any]:
    return {"system": spec.text, "parameters": dict(spec.parameters), "system_source": systems.identity(spec.name)}


def _part(outcome: Outcome, names: Sequence[str]) -> Outcome:
    wanted = set(names)
    done = {name: path for name, path in outcome.done.items() if name in wanted}
    missing = {name: why for name, why in outcome.missing.items() if name in wanted}
    return Outcome(done, missing, tuple(cell for cell in outcome.cells if cell.name in wanted))


def _prediction(scene: str, folder: Path) -> Prediction:
    stored = _stored(folder / cells.DETECTED)
    boxes = [np.array(box) for box in stored["boxes"]]
    codes = [BOX_CLASSES.index(label) for label in stored["classes"]]
    return Prediction(scene, together(boxes, codes, stored["scores"]), folder / cells.POINTS, stored["seconds"])


def _stored(path: Path) -> Any:
    return json.loads(path.read_bytes())


def _facts(spec: Spec, simulated: bool, folders: Iterable[Path]) -> dict[str, Any]:
    """Return what a reader should know of a system: whether it is trivial, its training, its stages."""
    facts: dict[str, Any] = {"real_scans": int(not simulated), TRIVIAL: spec.name in systems.TRIVIAL}
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
