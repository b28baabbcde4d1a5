"""Verb ``score``: boxes and classes of points against the truth of scenes.

Scenes are the outer loop, so that the truth of each is read once for all systems. Where a prediction holds no classes
of points, its boxes give them, as they do for a truth without such a file: points of the comparison inside an Add box
are Add, points of the reference inside a Remove box are Remove.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.core import options as opt
from gnomon.core.cases import Roster
from gnomon.core.errors import InputError, some
from gnomon.core.evidence import Finding
from gnomon.core.ledgers import Ledger
from gnomon.core.measure import by_family
from gnomon.core.scans import CHANGES, Boxes, Changed, PointLabels
from gnomon.core.tallies import Array, Tallies
from gnomon.engine.job import Job
from gnomon.engine.simulated import MARK
from gnomon.intake.clouds import Cloud
from gnomon.intake.faults import shown
from gnomon.intake.shards import is_folder
from gnomon.intake.sources import check_names, named
from gnomon.measures import boxes as box_measures
from gnomon.measures.points import PointCounts
from gnomon.measures.scene_boxes import BoxMeasure, Scenes
from gnomon.measures.scenes import SceneCounts
from gnomon.runs.parts import Part
from gnomon.runs.run import Evaluation
from gnomon.runs.variants import DIFFERS
from gnomon.suites.change import content, indoorcd
from gnomon.suites.change.files import Dataset, Scene, read_dataset
from gnomon.suites.change.keeping import Judged, Keeper, Scans
from gnomon.suites.change.options import ChangeOptions, ScoreOptions
from gnomon.suites.change.predictions import Prediction, read_predictions
from gnomon.suites.change.protocol import DETECTIONS, DIFFERENT, MATCHING, protocol
from gnomon.suites.change.shapes import together
from gnomon.suites.change.sizes import check_prediction
from gnomon.suites.change.within import by_boxes

CATEGORY = "category"
TOLD = ("unchanged", "true", "predicted", "from_boxes", "without_scores")
"""What is counted of scenes besides their tallies."""
MUCH, BOX = 1 << 18, 8
"""Points after which scenes are tallied together, and how many of them a box counts for."""
MANY = 3.0
"""A system that predicts this many times the true boxes is said to do so."""


@dataclass(frozen=True)
class System:
    """What a system says of scenes."""

    name: str
    where: str
    predictions: Mapping[str, Prediction]
    facts: Mapping[str, Any] = field(default_factory=dict)


def score(options: ScoreOptions) -> list[Evaluation] | Job:
    """Score every given system in every asked variant; folders of shards are scored shard by shard."""
    sources = [named(text) for text in options.predictions]
    check_names([name for name, _ in sources])
    if any(is_folder(path) for _, path in sources):
        from gnomon.suites.change import shards

        return shards.score(sources, options)
    dataset = read_dataset(options.truth, missing=options.gaps)
    facts = known(dataset.path)
    systems = [System(name, path, _matched(path, dataset, options.missing), facts) for name, path in sources]
    coverage = {"policy": {"missing": options.missing}}
    asked = [(system, variant) for system in systems for variant in variants(options)]
    evaluations = evaluate(dataset.scenes, asked, options, coverage=lambda _: coverage, notes=dataset.notes)
    if options.export_indoorcd:
        indoorcd.write(options.export_indoorcd, evaluations)
    return evaluations


def known(folder: Path) -> dict[str, Any]:
    """Return what is known of the scans of a dataset."""
    return {"real_scans": int(not (folder / MARK).is_file())}


def variants(options: ChangeOptions) -> tuple[str, ...]:
    """Return the variants that are asked for."""
    return ("published", "strict") if options.variant == "both" else (options.variant,)


def _matched(path: str, dataset: Dataset, missing: str) -> dict[str, Prediction]:
    given = read_predictions(path)
    check_prediction(dataset, given, shown(path))
    lacking = unmatched(path, given, [scene.id for scene in dataset], missing)
    if missing == "empty":
        given |= {name: nothing(name) for name in lacking}
    return given


def nothing(scene: str) -> Prediction:
    """Return the prediction that nothing changed."""
    return Prediction(scene, together([], []))


def unmatched(path: str, given: Collection[str], scenes: Collection[str], missing: str) -> list[str]:
    """Return the scenes without a prediction; those that are not in the truth are refused."""
    there = set(scenes)
    extra = [name for name in given if name not in there]
    if extra:
        raise InputError(f"{shown(path)}: scenes that are not in the truth: {some(extra)}; it has {some(scenes)}")
    held = set(given)
    lacking = [name for name in scenes if name not in held]
    if lacking and missing == "error":
        raise InputError(
            f"{shown(path)}: no prediction for {some(lacking)}; add them (an empty list where nothing changed), "
            "or choose --missing empty or --missing skip"
        )
    return lacking


def evaluate(
    scenes: Sequence[Scene],
    asked: Sequence[tuple[System, str]],
    options: ChangeOptions,
    *,
    coverage: Callable[[System], Mapping[str, Any]],
    split: Mapping[str, Mapping[str, Any]] | None = None,
    notes: Sequence[str] = (),
) -> list[Evaluation]:
    """Tally systems, each in a variant; ``split``: how scenes are split, by variant; ``notes``: what was left out."""
    books = {index: Book(variant, options, (split or {}).get(variant, {})) for index, (_, variant) in enumerate(asked)}
    truth = None
    for scene in scenes:
        truth = Truth(scene, options, truth)
        for index, book in books.items():
            found = asked[index][0].predictions.get(scene.id)
            if found is not None:
                book.add(truth, found)
    data, inputs = content.fingerprint_of(scenes), content.inputs(scenes)
    made = []
    for index, book in books.items():
        system, part = asked[index][0], book.part()
        held = system.predictions
        seen = Seen(
            [scene.id for scene in scenes],
            [scene.id for scene in scenes if scene.id not in held],
            data,
            coverage(system),
            tuple(inputs),
        )
        evaluation = book.evaluation(part, part.facts, system, seen)
        kept = book.keeper.files(len(part.roster))
        made.append(replace(evaluation, table=content.table([held[name] for name in part.roster.ids]), files=kept))
    return [replace(item, findings=(*gaps(notes), *item.findings)) for item in made]


def gaps(notes: Sequence[str]) -> list[Finding]:
    """Say what a dataset lacks."""
    return [Finding("dataset-gaps", "info", "dataset", note, "complete the dataset") for note in notes]


@dataclass(frozen=True)
class Seen:
    """What was to be scored: the ids of all scenes and of those that were not, their fingerprint, coverage, files."""

    scenes: Sequence[str]
    missing: Sequence[str]
    data: str
    coverage: Mapping[str, Any]
    inputs: tuple[Mapping[str, Any], ...] = ()


class Truth:
    """The classes of the points of a scene, read once; files of them are held against the scans.

    ``before`` is another scene, of whose scans the reference is taken where it is the same.
    """

    def __init__(self, scene: Scene, options: ChangeOptions, before: Truth | None = None) -> None:
        self.scene, self.options = scene, options
        self._scans: Scans | None = None
        self._reference: Cloud | None = None
        if before is not None and before._scans is not None and before.scene.reference == scene.reference:
            self._reference = before._scans.clouds[0]
        self.true: Array | None = None

    def points(self, prediction: Prediction) -> tuple[Array, Array]:
        """Return true and predicted classes of the points of both scans, one after another."""
        clouds = self.scans().clouds
        places = [cloud.points for cloud in clouds]
        if self.true is None:
            scene = self.scene
            known = by_boxes(scene.boxes, *places) if scene.points is None else scene.point_labels(*clouds)
            self.true = np.concatenate(known)
        found = prediction.point_labels(*clouds)
        return self.true, np.concatenate(found or by_boxes(prediction.boxes, *places))

    def scans(self) -> Scans:
        """Return both scans, read once."""
        if self._scans is None:
            clouds = self.scene.clouds(invalid=self.options.invalid, reference=self._reference)
            self._scans = Scans(self.scene.id, clouds, self.options.seed)
        return self._scans


class Book:
    """Collects the tallies of one system in one variant; scenes are tallied together, until they hold much."""

    def __init__(self, variant: str, options: ChangeOptions, split: Mapping[str, Any] | None = None) -> None:
        self.variant, self.options = variant, options
        matching: Any = options.matching or MATCHING[variant]
        slices = (CATEGORY,) if options.per_category else ()
        self.protocol = protocol(variant, matching, options.iou_threshold, slices, split or {})
        measures = [m for m in self.protocol.measures if isinstance(m, (BoxMeasure, PointCounts, SceneCounts))]
        self.families = by_family(measures)
        self.rows: dict[str, list[Tallies]] = {name: [] for name in self.families}
        self.ledgers: list[tuple[Ledger, int]] = []
        self.done: list[Scene] = []
        self.told: Counter[str] = Counter(dict.fromkeys(TOLD, 0))
        self.times: list[float] = []
        self.boxes = next(name for name, measure in self.families.items() if measure.signal is Boxes)
        self.keeper = Keeper(0 if options.out == "none" else options.exhibits, options.iou_threshold, matching)
        self._held: list[Judged] = []
        self._size = 0

    def add(self, truth: Truth, found: Prediction) -> None:
        """Take one scene."""
        try:
            points = truth.points(found)
        except InputError:
            self._tally()  # what is wrong with a scene before it comes first
            raise
        self._held.append(Judged(truth.scene, found, points, truth.scans()))
        self._size += len(points[0]) + BOX * (len(truth.scene.boxes) + len(found.boxes))
        if self._size >= MUCH:
            self._tally()

    def _tally(self) -> None:
        """Tally the scenes that are held, and let go of them."""
        held, self._held, self._size = self._held, [], 0
        if not held:
            return
        try:
            rows, ledger = self._tallied(held)
        except InputError:
            if len(held) == 1:
                raise
            parts = [self._tallied([one]) for one in held]
            rows = {name: Tallies.stack([own[name] for own, _ in parts]) for name in self.families}
            ledger = _ledger([(own, 1) for _, own in parts])
        for name, own in rows.items():
            self.rows[name].append(own)
        self.ledgers.append((ledger, len(held)))
        self._tell(held)
        self.keeper.offer(held, rows[self.boxes])

    def _tallied(self, held: Sequence[Judged]) -> tuple[dict[str, Tallies], Ledger]:
        """Return a row of every family for each scene, and the rows of its boxes."""
        scenes = Scenes([one.scene.boxes for one in held], [one.found.boxes for one in held])
        sizes = [len(one.points[0]) for one in held]
        rows = {}
        for name, measure in self.families.items():
            if isinstance(measure, BoxMeasure):
                rows[name] = measure.tally_scenes(scenes)
            elif isinstance(measure, PointCounts):
                points = [PointLabels(np.concatenate([one.points[n] for one in held]), CHANGES) for n in range(2)]
                rows[name] = measure.tally_scenes(points[0], points[1], sizes)
            elif isinstance(measure, SceneCounts):
                sides = scenes.truths, scenes.predictions
                rows[name] = measure.tally_scenes(*(np.array([len(own) > 0 for own in side]) for side in sides))
        return rows, box_measures.detections_of_scenes(scenes)

    def _tell(self, held: Sequence[Judged]) -> None:
        """Count what is told of scenes besides their tallies."""
        for one in held:
            true, found = one.scene.boxes, one.found.boxes
            self.done.append(one.scene)
            self.told["unchanged"] += not len(true)
            self.told["true"] += len(true)
            self.told["predicted"] += len(found)
            self.told["from_boxes"] += one.found.points is None
            self.told["without_scores"] += bool(len(found)) and found.scores is None
            self.times += [] if one.found.seconds is None else [one.found.seconds]

    def part(self) -> Part:
        """Return what was tallied; its facts are those that :meth:`evaluation` needs."""
        self._tally()
        roster = Roster(
            tuple(scene.id for scene in self.done),
            tuple(scene.room for scene in self.done),
            {CATEGORY: tuple(scene.category for scene in self.done)},
            "room",
        )
        tallies = {name: self._stacked(name, rows) for name, rows in self.rows.items()}
        facts = {"told": dict(self.told), "seconds": self.times}
        return Part(roster, tallies, {DETECTIONS: _ledger(self.ledgers)}, facts)

    def evaluation(self, part: Part, facts: Mapping[str, Any], system: System, seen: Seen) -> Evaluation:
        """Return what became of all scenes; what a run keeps of predictions is left to be filled in."""
        n = len(part.roster)
        counted = {"truth": len(seen.scenes), "scored": n, "missing": list(seen.missing)}
        return Evaluation(
            protocol=self.protocol,
            suite="change",
            system=system.name,
            roster=part.roster,
            tallies=part.tallies,
            data=seen.data,
            table=content.table([]),
            ledgers=part.ledgers,
            coverage={"complete": not seen.missing, "scenes": counted, **seen.coverage},
            findings=_findings(facts["told"], n, system.name),
            inputs=seen.inputs,
            options={**opt.record(self.options), "variant": self.variant, "source": system.where},
            facts={**self._facts(facts["told"], facts["seconds"], n), **system.facts},
        )

    def _stacked(self, name: str, rows: Sequence[Tallies]) -> Tallies:
        if rows:
            return Tallies.stack(rows)
        blank = together([], [])
        empty = PointLabels(np.zeros(0, dtype=np.uint8), CHANGES)
        signals: dict[type, Any] = {Boxes: blank, PointLabels: empty, Changed: Changed(False)}
        measure = self.families[name]
        return measure.tally(*(signals[measure.signal],) * 2).take(slice(0, 0))

    def _facts(self, told: Mapping[str, int], times: Sequence[float], n: int) -> dict[str, Any]:
        return {
            "unchanged_scenes": told["unchanged"],
            "boxes_per_scene": {"true": told["true"] / n, "predicted": told["predicted"] / n} if n else {},
            "seconds_per_scene": math.fsum(times) / n if n and len(times) == n else None,
            "points_from_boxes": told["from_boxes"],
            **({DIFFERS: list(DIFFERENT)} if self.variant == "strict" and not self.options.matching else {}),
        }


def _findings(told: Mapping[str, int], n: int, name: str) -> tuple[Finding, ...]:
    true, found, findings = told["true"], told["predicted"], []
    if true and found > MANY * true:
        text = f"{found} predicted boxes for {true} true ones ({found / true:.1f} times as many)"
        remedy = "read recall together with false boxes per scene"
        findings.append(Finding("many-boxes", "warning", name, text, remedy))
    if told["from_boxes"]:
        text = f"classes of points come from the boxes in {told['from_boxes']} of {n} scenes"
        remedy = "give classes of points, or do not report scores of points"
        findings.append(Finding("points-from-boxes", "info", name, text, remedy))
    if told["without_scores"]:
        text, remedy = "boxes have no scores, so there is no average precision", "give every box a confidence"
        findings.append(Finding("no-scores", "info", name, text, remedy))
    return tuple(findings)


def _ledger(parts: Sequence[tuple[Ledger, int]]) -> Ledger:
    if parts:
        return Ledger.stack(parts)
    blank = together([], [])
    return box_measures.detections(blank, blank)
