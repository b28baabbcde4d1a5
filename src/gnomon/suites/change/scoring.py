"""Verb ``score``: boxes and classes of points against the truth of scenes.

Scenes are the outer loop, so that the truth of each is read once for all systems. Where a prediction holds no classes
of points, its boxes give them, as they do for a truth without such a file: points of the comparison inside an Add box
are Add, points of the reference inside a Remove box are Remove.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from gnomon.core import options as opt
from gnomon.core.cases import Roster
from gnomon.core.errors import InputError, some
from gnomon.core.evidence import Finding
from gnomon.core.ledgers import Ledger
from gnomon.core.measure import by_family
from gnomon.core.scans import BOX_CLASSES, CHANGES, Boxes, Changed, PointLabels
from gnomon.core.tallies import Array, Tallies
from gnomon.engine.simulated import MARK
from gnomon.intake.faults import shown
from gnomon.intake.sources import check_names, named
from gnomon.measures import boxes as box_measures
from gnomon.measures.points import PointCounts
from gnomon.measures.scene_boxes import BoxMeasure
from gnomon.measures.scenes import SceneCounts
from gnomon.runs.content import column_digest
from gnomon.runs.run import Evaluation
from gnomon.runs.seal import hash_file
from gnomon.runs.variants import DIFFERS
from gnomon.suites.change import indoorcd
from gnomon.suites.change.files import Dataset, Scene, read_dataset
from gnomon.suites.change.keeping import Judged, Keeper, Scans
from gnomon.suites.change.labels import by_boxes
from gnomon.suites.change.options import ChangeOptions, ScoreOptions
from gnomon.suites.change.predictions import Prediction, read_predictions
from gnomon.suites.change.protocol import DETECTIONS, DIFFERENT, MATCHING, protocol
from gnomon.suites.change.shapes import together

CATEGORY = "category"
MANY = 3.0
"""A system that predicts this many times the true boxes is said to do so."""


@dataclass(frozen=True)
class System:
    """What a system says of scenes."""

    name: str
    where: str
    predictions: Mapping[str, Prediction]
    facts: Mapping[str, Any] = field(default_factory=dict)


def score(options: ScoreOptions) -> list[Evaluation]:
    """Score every given system in every asked variant."""
    dataset = read_dataset(options.truth, missing=options.gaps)
    sources = [named(text) for text in options.predictions]
    check_names([name for name, _ in sources])
    facts = {"real_scans": int(not (dataset.path / MARK).is_file())}
    systems = [System(name, path, _matched(path, dataset, options.missing), facts) for name, path in sources]
    coverage = {"policy": {"missing": options.missing}}
    variants = ("published", "strict") if options.variant == "both" else (options.variant,)
    asked = [(system, variant) for system in systems for variant in variants]
    evaluations = evaluate(dataset.scenes, asked, options, coverage=lambda _: coverage, notes=dataset.notes)
    if options.export_indoorcd:
        indoorcd.write(options.export_indoorcd, evaluations)
    return evaluations


def _matched(path: str, dataset: Dataset, missing: str) -> dict[str, Prediction]:
    given = read_predictions(path)
    known = {scene.id: scene for scene in dataset}
    extra = [name for name in given if name not in known]
    if extra:
        raise InputError(f"{shown(path)}: scenes that are not in the truth: {some(extra)}; it has {some(known)}")
    lacking = [name for name in known if name not in given]
    if lacking and missing == "error":
        raise InputError(
            f"{shown(path)}: no prediction for {some(lacking)}; add them (an empty list where nothing changed), "
            "or choose --missing empty or --missing skip"
        )
    if missing == "empty":
        given |= {name: Prediction(name, together([], [])) for name in lacking}
    return given


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
    books = [_Book(system, variant, options, (split or {}).get(variant, {})) for system, variant in asked]
    for scene in scenes:
        truth = _Truth(scene, options)
        for book in books:
            found = book.system.predictions.get(scene.id)
            if found is not None:
                book.add(scene, found, truth.points(found), truth.scans())
    data, inputs = _data_digest(scenes), _inputs(scenes)
    made = [book.evaluation(scenes, data, inputs, coverage(book.system)) for book in books]
    gaps = tuple(Finding("dataset-gaps", "info", "dataset", note, "complete the dataset") for note in notes)
    return [replace(item, findings=(*gaps, *item.findings)) for item in made]


class _Truth:
    """The classes of the points of a scene, read once; files of them are held against the scans."""

    def __init__(self, scene: Scene, options: ChangeOptions) -> None:
        self.scene, self.options = scene, options
        self._scans: Scans | None = None
        self.true: PointLabels | None = None

    def points(self, prediction: Prediction) -> tuple[PointLabels, PointLabels]:
        """Return true and predicted classes of the points of both scans, one after another."""
        clouds = self.scans().clouds
        if self.true is None:
            self.true = _labels(self.scene.point_labels(*clouds))
        found = prediction.point_labels(*clouds)
        return self.true, _labels(found or by_boxes(prediction.boxes, *(cloud.points for cloud in clouds)))

    def scans(self) -> Scans:
        """Return both scans, read once."""
        if self._scans is None:
            clouds = self.scene.clouds(invalid=self.options.invalid)
            self._scans = Scans(self.scene.id, clouds, self.options.seed)
        return self._scans


def _labels(codes: tuple[Array, Array]) -> PointLabels:
    return PointLabels(np.concatenate(codes), CHANGES)


class _Book:
    """Collects the tallies of one system in one variant."""

    def __init__(self, system: System, variant: str, options: ChangeOptions, split: Mapping[str, Any]) -> None:
        self.system, self.variant, self.options = system, variant, options
        matching: Any = options.matching or MATCHING[variant]
        slices = (CATEGORY,) if options.per_category else ()
        self.protocol = protocol(variant, matching, options.iou_threshold, slices, split)
        measures = [m for m in self.protocol.measures if isinstance(m, (BoxMeasure, PointCounts, SceneCounts))]
        self.families = by_family(measures)
        self.rows: dict[str, list[Tallies]] = {name: [] for name in self.families}
        self.ledgers: list[Ledger] = []
        self.done: list[Scene] = []
        self.boxes = next(name for name, measure in self.families.items() if measure.signal is Boxes)
        self.keeper = Keeper(0 if options.out == "none" else options.exhibits, options.iou_threshold, matching)

    def add(self, scene: Scene, found: Prediction, points: tuple[PointLabels, PointLabels], scans: Scans) -> None:
        """Tally one scene."""
        signals: dict[type, tuple[Any, Any]] = {
            Boxes: (scene.boxes, found.boxes),
            PointLabels: points,
            Changed: (Changed.by(scene.boxes), Changed.by(found.boxes)),
        }
        for name, measure in self.families.items():
            self.rows[name].append(measure.tally(*signals[measure.signal]))
        self.ledgers.append(box_measures.detections(scene.boxes, found.boxes))
        self.done.append(scene)
        self.keeper.offer(Judged(scene, found, points, self.rows[self.boxes][-1]), scans)

    def evaluation(
        self, scenes: Sequence[Scene], data: str, inputs: Sequence[Mapping[str, Any]], coverage: Mapping[str, Any]
    ) -> Evaluation:
        """Return what became of all scenes."""
        predictions = [self.system.predictions[scene.id] for scene in self.done]
        missing = [scene.id for scene in scenes if scene.id not in self.system.predictions]
        counted = {"truth": len(scenes), "scored": len(self.done), "missing": missing}
        return Evaluation(
            protocol=self.protocol,
            suite="change",
            system=self.system.name,
            roster=Roster(
                tuple(scene.id for scene in self.done),
                tuple(scene.room for scene in self.done),
                {CATEGORY: tuple(scene.category for scene in self.done)},
                "room",
            ),
            tallies={name: self._stacked(name, parts) for name, parts in self.rows.items()},
            data=data,
            table=_table(predictions),
            ledgers={DETECTIONS: _ledger(self.ledgers)},
            coverage={"complete": not missing, "scenes": counted, **coverage},
            findings=self._findings(predictions),
            inputs=tuple(inputs),
            options={**opt.record(self.options), "variant": self.variant, "source": self.system.where},
            facts={**self._facts(predictions), **self.system.facts},
            files=self.keeper.files(len(self.done)),
        )

    def _stacked(self, name: str, parts: Sequence[Tallies]) -> Tallies:
        if parts:
            return Tallies.stack(parts)
        blank = together([], [])
        empty = PointLabels(np.zeros(0, dtype=np.uint8), CHANGES)
        signals: dict[type, Any] = {Boxes: blank, PointLabels: empty, Changed: Changed(False)}
        measure = self.families[name]
        return measure.tally(*(signals[measure.signal],) * 2).take(slice(0, 0))

    def _facts(self, predictions: Sequence[Prediction]) -> dict[str, Any]:
        times = [item.seconds for item in predictions if item.seconds is not None]
        n = len(predictions)
        return {
            "unchanged_scenes": sum(not len(scene.boxes) for scene in self.done),
            "boxes_per_scene": {"true": self._true() / n, "predicted": _count(predictions) / n} if n else {},
            "seconds_per_scene": sum(times) / n if n and len(times) == n else None,
            "points_from_boxes": sum(item.points is None for item in predictions),
            **({DIFFERS: list(DIFFERENT)} if self.variant == "strict" and not self.options.matching else {}),
        }

    def _true(self) -> int:
        return sum(len(scene.boxes) for scene in self.done)

    def _findings(self, predictions: Sequence[Prediction]) -> tuple[Finding, ...]:
        true, found, name = self._true(), _count(predictions), self.system.name
        findings = []
        if true and found > MANY * true:
            text = f"{found} predicted boxes for {true} true ones ({found / true:.1f} times as many)"
            remedy = "read recall together with false boxes per scene"
            findings.append(Finding("many-boxes", "warning", name, text, remedy))
        derived = sum(item.points is None for item in predictions)
        if derived:
            text = f"classes of points come from the boxes in {derived} of {len(predictions)} scenes"
            remedy = "give classes of points, or do not report scores of points"
            findings.append(Finding("points-from-boxes", "info", name, text, remedy))
        if any(len(item.boxes) and item.boxes.scores is None for item in predictions):
            text, remedy = "boxes have no scores, so there is no average precision", "give every box a confidence"
            findings.append(Finding("no-scores", "info", name, text, remedy))
        return tuple(findings)


def _count(predictions: Sequence[Prediction]) -> int:
    return sum(len(item.boxes) for item in predictions)


def _ledger(parts: Sequence[Ledger]) -> Ledger:
    if parts:
        return Ledger.stack([(part, 1) for part in parts])
    blank = together([], [])
    return box_measures.detections(blank, blank)


def _table(predictions: Sequence[Prediction]) -> pa.Table:
    """Return what was scored: a row per box, one without a class for a scene without boxes."""
    rows: list[tuple[Any, ...]] = []
    for item in predictions:
        scores = [None] * len(item.boxes) if item.boxes.scores is None else item.boxes.scores.tolist()
        digest = hash_file(item.points) if item.points is not None else None
        for geometry, code, sure in zip(item.boxes.geometry, item.boxes.codes, scores, strict=True):
            rows.append((item.scene, BOX_CLASSES[code], geometry.ravel().tolist(), sure, digest))
        if not len(item.boxes):
            rows.append((item.scene, None, None, None, digest))
    kinds = {
        "scene": pa.string(),
        "class": pa.string(),
        "geometry": pa.list_(pa.float64()),
        "score": pa.float64(),
        "points_sha256": pa.string(),
    }
    return pa.table({name: pa.array([row[i] for row in rows], kind) for i, (name, kind) in enumerate(kinds.items())})


def _data_digest(scenes: Sequence[Scene]) -> str:
    """Return the fingerprint of scenes, their boxes and the classes of their points."""
    boxes = [(scene.id, BOX_CLASSES[code], geometry) for scene in scenes for code, geometry in _listed(scene.boxes)]
    points = [
        hash_file(scene.points) if scene.points else f"{hash_file(scene.reference)} {hash_file(scene.comparison)}"
        for scene in scenes
    ]
    return column_digest(
        pa.array([scene.id for scene in scenes], pa.string()),
        pa.array(points, pa.string()),
        pa.array([scene for scene, _, _ in boxes], pa.string()),
        pa.array([label for _, label, _ in boxes], pa.string()),
        pa.array([value for _, _, geometry in boxes for value in geometry.ravel().tolist()], pa.float64()),
    )


def _listed(boxes: Boxes) -> list[tuple[int, Array]]:
    return list(zip(boxes.codes.tolist(), boxes.geometry, strict=True))


def _inputs(scenes: Sequence[Scene]) -> list[dict[str, Any]]:
    return [{"path": str(scene.label), "sha256": hash_file(scene.label)} for scene in scenes]
