"""Tallies of scenes: boxes and classes of points of one system against the truth.

Where a prediction holds no classes of points, its boxes give them, as they do for a truth without such a file: points
of the comparison inside an Add box are Add, points of the reference inside a Remove box are Remove.

Variants differ in the order of matching alone, which names a family of tallies. So all variants are tallied together:
families that they share are tallied once.

The classes that boxes give to points, compiled: for scoring, where there are many scenes.

The same as :func:`gnomon.suites.change.labels.by_boxes`, which is what is used where nothing else needs the compiler,
and for boxes whose sides are not parallel to the axes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from gnomon.core.cases import Roster
from gnomon.core.compiling import jit
from gnomon.core.errors import InputError
from gnomon.core.ledgers import Ledger
from gnomon.core.measure import Measure, by_family
from gnomon.core.protocol import Protocol
from gnomon.core.scans import BOX_CLASSES, CHANGES, Boxes, Changed, PointLabels
from gnomon.core.tallies import Array, Tallies
from gnomon.intake.clouds import Cloud
from gnomon.measures import boxes as box_measures
from gnomon.measures.plausibility import BOX_OF_SCAN, measure_boxes, measure_scene
from gnomon.measures.points import PointCounts
from gnomon.measures.scene_boxes import BoxMeasure, Scenes
from gnomon.measures.scenes import SceneCounts
from gnomon.runs import exhibits
from gnomon.runs.exhibits import Exhibit, Worst
from gnomon.runs.parts import Part
from gnomon.suites.change import labels
from gnomon.suites.change.files import Scene
from gnomon.suites.change.keeping import Judged, Scans, count_boxes, make_snapshot, measure_badness
from gnomon.suites.change.options import ChangeOptions
from gnomon.suites.change.predictions import Prediction
from gnomon.suites.change.protocol import DETECTIONS, MATCHING, protocol
from gnomon.suites.change.shapes import together
from gnomon.suites.change.sizes import implausible_sizes

CATEGORY = "category"
TOLD = ("unchanged", "true", "predicted", "from_boxes", "without_scores")
"""What is counted of scenes besides their tallies."""
MUCH, BOX = 1 << 18, 8
"""Points after which scenes are tallied together, and how many of them a box counts for."""


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
        clouds, true = self.scans().clouds, self.classes()
        found = prediction.point_labels(*clouds)
        return true, np.concatenate(found or by_boxes(prediction.boxes, *(cloud.points for cloud in clouds)))

    def classes(self) -> Array:
        """Return the true classes of the points of both scans, one after another, read once."""
        if self.true is None:
            clouds, scene = self.scans().clouds, self.scene
            places = (cloud.points for cloud in clouds)
            known = by_boxes(scene.boxes, *places) if scene.points is None else scene.point_labels(*clouds)
            self.true = np.concatenate(known)
        return self.true

    def scans(self) -> Scans:
        """Return both scans, read once."""
        if self._scans is None:
            how = {"invalid": self.options.invalid, "unit": self.options.unit}
            clouds = self.scene.clouds(reference=self._reference, **how)
            self._scans = Scans(self.scene.id, clouds, self.options.seed)
        return self._scans


def settle_protocol(variant: str, options: ChangeOptions) -> Protocol:
    """Return the protocol of a variant with these options."""
    matching: Any = options.matching or MATCHING[variant]
    return protocol(variant, matching, options.iou_threshold, (CATEGORY,) if options.per_category else ())


def families_of(settled: Protocol) -> dict[str, Measure]:
    """Return the families of tallies of a protocol, each with a measure that tallies it."""
    return by_family([m for m in settled.measures if isinstance(m, (BoxMeasure, PointCounts, SceneCounts))])


class SceneTallies:
    """Collects the tallies of one system in some variants; scenes are tallied together, until they hold much.

    ``snapshots``: how many scenes are kept to be looked at, in each variant.
    """

    def __init__(self, variants: Sequence[str], snapshots: int, options: ChangeOptions) -> None:
        protocols = {variant: settle_protocol(variant, options) for variant in variants}
        self.iou, self.unit = options.iou_threshold, options.unit
        self.matching = {variant: settled.settings["matching"] for variant, settled in protocols.items()}
        self.families = {name: m for settled in protocols.values() for name, m in families_of(settled).items()}
        self.worst = {variant: Worst[Exhibit](snapshots) for variant in variants}
        self.rows: dict[str, list[Tallies]] = {name: [] for name in self.families}
        self.ledgers: list[tuple[Ledger, int]] = []
        self.scenes: list[Scene] = []
        self.predictions: list[Prediction] = []
        self.told: Counter[str] = Counter(dict.fromkeys(TOLD, 0))
        self.times: list[float] = []
        self.large: list[tuple[str, float, float]] = []
        """Scenes with a predicted box that is too large for the scan: the extents of both."""
        self.insisted: list[tuple[str, float, float]] = []
        """Scenes that ``--unit m`` lets pass in spite of their size: the extents of the largest true box and scan."""
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

    def part(self) -> Part:
        """Return what was tallied of all scenes."""
        self._tally()
        roster = Roster(
            tuple(scene.id for scene in self.scenes),
            tuple(scene.room for scene in self.scenes),
            {CATEGORY: tuple(scene.category for scene in self.scenes)},
            "room",
        )
        tallies = {name: self._stack(name, rows) for name, rows in self.rows.items()}
        files = {
            f"{variant}/{name}": data
            for variant, worst in self.worst.items()
            for name, data in exhibits.files_of(worst.items, len(roster)).items()
        }
        facts = {"told": dict(self.told), "seconds": self.times, "large": self.large, "insisted": self.insisted}
        return Part(roster, tallies, {DETECTIONS: _stack_ledgers(self.ledgers)}, facts, files=files)

    def _tally(self) -> None:
        """Tally the scenes that are held, and let go of them."""
        held, self._held, self._size = self._held, [], 0
        if not held:
            return
        try:
            rows, ledger = self._tally_scenes(held)
        except InputError:
            if len(held) == 1:
                raise
            parts = [self._tally_scenes([one]) for one in held]
            rows = {name: Tallies.stack([own[name] for own, _ in parts]) for name in self.families}
            ledger = _stack_ledgers([(own, 1) for _, own in parts])
        for name, own in rows.items():
            self.rows[name].append(own)
        self.ledgers.append((ledger, len(held)))
        for one in held:
            self._count(one)
        for variant, worst in self.worst.items():
            if worst.most:
                self._offer(held, rows, variant)

    def _tally_scenes(self, held: Sequence[Judged]) -> tuple[dict[str, Tallies], Ledger]:
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

    def _count(self, one: Judged) -> None:
        """Count what is told of a scene besides its tallies."""
        true, found = one.scene.boxes, one.found.boxes
        self.scenes.append(one.scene)
        self.predictions.append(one.found)
        self.told["unchanged"] += not len(true)
        self.told["true"] += len(true)
        self.told["predicted"] += len(found)
        self.told["from_boxes"] += one.found.points is None
        self.told["without_scores"] += bool(len(found)) and found.scores is None
        self.times += [] if one.found.seconds is None else [one.found.seconds]
        if self.unit == "m" and (sizes := implausible_sizes(true, one.scans.clouds)):
            self.insisted.append((one.scene.id, *sizes))
        if len(found):
            largest = float(measure_boxes(found.geometry).max())
            extent = max(measure_scene(cloud.points) for cloud in one.scans.clouds)
            self.large += [(one.scene.id, largest, extent)] if largest > BOX_OF_SCAN * extent else []

    def _offer(self, held: Sequence[Judged], rows: dict[str, Tallies], variant: str) -> None:
        """Keep snapshots of scenes that are among the worst of a variant so far."""
        matching = self.matching[variant]
        family = next(name for name, m in self.families.items() if isinstance(m, BoxMeasure) and m.matching == matching)
        counts = count_boxes(rows[family])
        self.worst[variant].offer_all(
            [one.scene.id for one in held],
            [measure_badness(one, own) for one, own in zip(held, counts, strict=True)],
            lambda place: make_snapshot(held[place], counts[place], self.iou, matching),
        )

    def _stack(self, name: str, rows: Sequence[Tallies]) -> Tallies:
        if rows:
            return Tallies.stack(rows)
        blank = together([], [])
        empty = PointLabels(np.zeros(0, dtype=np.uint8), CHANGES)
        signals: dict[type, Any] = {Boxes: blank, PointLabels: empty, Changed: Changed(False)}
        measure = self.families[name]
        return measure.tally(*(signals[measure.signal],) * 2).take(slice(0, 0))


def _stack_ledgers(parts: Sequence[tuple[Ledger, int]]) -> Ledger:
    if parts:
        return Ledger.stack(parts)
    blank = together([], [])
    return box_measures.detections(blank, blank)


def by_boxes(boxes: Boxes, reference: Array, comparison: Array) -> tuple[Array, Array]:
    """Return the classes of points ``(N, 3)`` and ``(M, 3)`` that boxes give them."""
    if boxes.geometry.shape[1:] != (6,):
        return labels.by_boxes(boxes, reference, comparison)
    found = np.zeros(len(reference), np.uint8), np.zeros(len(comparison), np.uint8)
    if len(boxes):
        _mark(reference, boxes.geometry, boxes.codes, _WANTED[0], found[0])
        _mark(comparison, boxes.geometry, boxes.codes, _WANTED[1], found[1])
    return found


_WANTED = tuple((BOX_CLASSES.index(CHANGES[code]), code) for code in labels.SIDES.values())
"""For each scan: the class of the boxes that count, and that of the points inside them."""


@jit
def _mark(points: Any, geometry: Any, codes: Any, wanted: Any, found: Any) -> None:
    """Write a class for each point that is in a box of the wanted one, its surface included."""
    for k in range(points.shape[0]):
        x, y, z = np.float64(points[k, 0]), np.float64(points[k, 1]), np.float64(points[k, 2])
        for b in range(geometry.shape[0]):
            if (
                codes[b] == wanted[0]
                and geometry[b, 0] <= x <= geometry[b, 3]
                and geometry[b, 1] <= y <= geometry[b, 4]
                and geometry[b, 2] <= z <= geometry[b, 5]
            ):
                found[k] = wanted[1]
                break
