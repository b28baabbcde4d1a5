"""Names of the published indoor change benchmark, kept for their users.

The evaluators take ``(prediction, truth)``, the other way round than :mod:`gnomon.measures`, and return the published
keys; matching is the published one (Hungarian, then filtered). Where a value is undefined it is ``None``, with the
reason under ``undefined``, not 0.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.scans import BOX_CLASSES
from gnomon.core.table import Cell, Column, Table
from gnomon.core.tallies import Array, Tallies
from gnomon.intake.documents import read_json
from gnomon.measures import boxes, points, scenes
from gnomon.measures.scene_boxes import BoxClassF1, BoxF1, BoxIoU, BoxMeasure, BoxPrecision, BoxRecall
from gnomon.report.latex import render
from gnomon.suites.change.files import Scene, read_dataset
from gnomon.suites.change.shapes import together
from gnomon.suites.change.systems.multi_stage import MultiStage

Point = Sequence[float] | Array


@dataclass(frozen=True)
class GroundTruthBox:
    """A true box: ``Add`` or ``Remove``, and its corners."""

    label: str
    min: Point
    max: Point


@dataclass(frozen=True)
class DetectedBox:
    """A detected box: ``Add`` or ``Remove``, its corners, and a confidence."""

    label: str
    min: Point
    max: Point
    score: float = 1.0


Box = GroundTruthBox | DetectedBox


class MultiStageDetector:
    """The multi-stage detector under its published name; parameters are those of ``multi_stage``.

    >>> MultiStageDetector(eps=0.02).parameters.eps
    0.02
    """

    def __init__(self, **parameters: Any) -> None:
        self.parameters = MultiStage(**parameters)

    def detect(self, reference: Array, comparison: Array) -> list[DetectedBox]:
        """Return what changed from the reference to the comparison, ``(N, 3)`` points each."""
        found = self.parameters.detect(reference, comparison)
        return [
            DetectedBox(label, box[:3], box[3:], float(score))
            for label, box, score in zip(found.classes, found.boxes, found.scores, strict=True)
        ]


class Detector(Protocol):
    """What grid search tries."""

    def detect(self, reference: Array, comparison: Array) -> Sequence[DetectedBox]:
        """Return what changed."""


def compute_iou(box1: Box, box2: Box) -> float:
    """Return the IoU of two boxes; 0 where neither has a volume.

    >>> compute_iou(GroundTruthBox("Add", [0, 0, 0], [1, 1, 1]), DetectedBox("Add", [0, 0, 0], [1, 1, 0.5]))
    0.5
    """
    (low1, high1), (low2, high2) = ((np.asarray(b.min, float), np.asarray(b.max, float)) for b in (box1, box2))
    common = float(np.prod(np.maximum(np.minimum(high1, high2) - np.maximum(low1, low2), 0.0)))
    union = float(np.prod(high1 - low1)) + float(np.prod(high2 - low2)) - common
    return common / union if union > 0 else 0.0


class PointLevelEvaluator:
    """Classes of points: 0 NoChange, 1 Add, 2 Remove."""

    def evaluate(self, pred_labels: Sequence[int] | Array, gt_labels: Sequence[int] | Array) -> dict[str, Any]:
        """Return accuracy, values by class, macro values over three classes and over Add and Remove."""
        found = points.evaluate(gt_labels, pred_labels)
        by_class = {kind: {label: found["per_class"][label][kind] for label in found["per_class"]} for kind in KINDS}
        macro = {f"macro_{kind}": found["macro3"][kind] for kind in KINDS}
        return {"accuracy": found["accuracy"], **macro, **by_class, "undefined": found["undefined"]}


KINDS = ("precision", "recall", "f1")


class BoxLevelEvaluator:
    """Boxes, matched by the Hungarian algorithm and then filtered by IoU."""

    def __init__(self, iou_threshold: float = 0.25) -> None:
        self.iou_threshold = iou_threshold

    def evaluate(self, pred_boxes: Sequence[DetectedBox], gt_boxes: Sequence[GroundTruthBox]) -> dict[str, Any]:
        """Return precision, recall, F1 and mean IoU, the same by class, and macro values."""
        found = boxes.evaluate(
            _corners(gt_boxes),
            _corners(pred_boxes),
            iou=self.iou_threshold,
            matching="hungarian-then-filter",
            truth_class=[box.label for box in gt_boxes],
            prediction_class=[box.label for box in pred_boxes],
        )
        plain = {key: found[key] for key in (*KINDS, "mean_iou", "tp", "fp", "fn", "per_class", "undefined")}
        return {**plain, **{f"macro_{kind}": found["macro"][kind] for kind in KINDS}}


class SceneLevelEvaluator:
    """Whether a scene changed."""

    def evaluate(self, predictions: Sequence[bool], ground_truths: Sequence[bool]) -> dict[str, Any]:
        """Return accuracy, change detection rate and false alarm rate."""
        return scenes.evaluate(ground_truths, predictions)


def grid_search(
    detector_class: type[Detector] | Any,
    param_grid: Mapping[str, Sequence[Any]],
    dataset: Iterable[Any] | str | os.PathLike[str],
    metric: str = "macro_f1",
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Try every combination of parameters on a dataset, and return the best and all results.

    Parameters
    ----------
    detector_class
        Called with parameters; has ``detect(reference, comparison)``.
    param_grid
        Parameter -> values.
    dataset
        A folder, scenes of :func:`gnomon.suites.change.files.read_dataset`, or ``(reference, comparison, true boxes)``.
        Give validation scenes: what is chosen on test scenes says nothing about others.
    metric
        ``macro_f1``, ``macro_precision``, ``macro_recall`` or ``mean_iou``, over all scenes together.

    Returns
    -------
    best_params, results
        Parameters of the best, and ``{"params", "metrics"}`` of each, in the order of the grid.
    """
    if not param_grid or any(not len(values) for values in param_grid.values()):
        raise InputError("param_grid: expected at least one parameter, each with at least one value")
    known = _metrics(BoxF1().tally(together([], []), together([], [])))
    if metric not in known:
        raise InputError(f"metric {metric!r}: expected one of {', '.join(known)}")
    given = read_dataset(dataset) if isinstance(dataset, (str, os.PathLike)) else dataset
    scenes_ = [_scene(item) for item in given]
    if not scenes_:
        raise InputError("dataset: expected at least one scene")
    results = []
    for values in itertools.product(*param_grid.values()):
        params = dict(zip(param_grid, values, strict=True))
        try:
            detector = detector_class(**params)
        except TypeError as error:
            raise InputError(f"param_grid: {detector_class.__name__} does not take {params}: {error}") from error
        rows = [BoxF1().tally(truth, _signal(detector.detect(*clouds))) for *clouds, truth in scenes_]
        results.append({"params": params, "metrics": _metrics(Tallies.stack(rows))})
    best = max(results, key=lambda result: (result["metrics"][metric] is not None, result["metrics"][metric] or 0.0))
    return dict(best["params"]), results


def generate_latex_tables(results: Mapping[str, Any] | str | os.PathLike[str] = "results.json") -> str:
    """Return the published table of results (as ``gnomon run change`` writes them to results.json) in LaTeX.

    Nothing is bold: the file does not hold what tells two methods apart. ``gnomon report --format latex`` does that.
    """
    given: Any = results if isinstance(results, Mapping) else read_json(results)
    if not isinstance(given, Mapping) or not isinstance(given.get("methods"), Mapping):
        raise InputError("results: expected an object with 'methods', as gnomon run change writes it to results.json")
    titles = {"macro_precision": "Precision", "macro_recall": "Recall", "macro_f1": "F1", "mean_iou": "mIoU"}
    columns = (Column("method", "Method"), *(Column(key, title, "score") for key, title in titles.items()))
    rows = [
        {"method": Cell(name), **{key: Cell(method["metrics"].get(key)) for key in titles}}
        for name, method in given["methods"].items()
    ]
    return render([Table("boxes", "Box-Level Evaluation Results", columns, tuple(rows))])


def _corners(listed: Sequence[Box]) -> Array:
    return np.array([[*box.min, *box.max] for box in listed], dtype=np.float64).reshape(-1, 6)


def _signal(listed: Sequence[Box]) -> Any:
    strange = [box.label for box in listed if box.label not in BOX_CLASSES]
    if strange:
        raise InputError(f"box of class {strange[0]!r}: expected {' or '.join(BOX_CLASSES)}")
    return together(list(_corners(listed)), [BOX_CLASSES.index(box.label) for box in listed])


def _scene(item: Any) -> tuple[Array, Array, Any]:
    if isinstance(item, Scene):
        reference, comparison = item.clouds()
        return reference.points, comparison.points, item.boxes
    if not isinstance(item, Sequence) or len(item) != 3:
        raise InputError(f"dataset: expected scenes or (reference, comparison, true boxes), but got {item!r:.60}")
    reference, comparison, truth = item
    return np.asarray(reference), np.asarray(comparison), _signal(truth)


def _metrics(tallies: Tallies) -> dict[str, float | None]:
    measures: dict[str, BoxMeasure] = {
        "macro_precision": BoxPrecision(classes=BOX_CLASSES),
        "macro_recall": BoxRecall(classes=BOX_CLASSES),
        "macro_f1": BoxF1(classes=BOX_CLASSES),
        "mean_iou": BoxIoU(),
        **{f"f1_{label}": BoxClassF1(label=label) for label in BOX_CLASSES},
    }
    scored = {name: measure.score(tallies.total()) for name, measure in measures.items()}
    return {name: float(one.values) if bool(one.defined) else None for name, one in scored.items()}
