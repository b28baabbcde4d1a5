"""3D boxes found in a scene: matched to the true ones by IoU, counted per class.

Conventions
-----------
- Boxes are ``(M, 6)`` min-max, ``(M, 7)`` centre-size-yaw or ``(M, 8, 3)`` vertices, in metres; see
  :mod:`gnomon.numerics.solids`. IoU is exact for boxes of any orientation. Boxes match within their class only.
- Truth of implausible size, and a prediction that is the truth in another unit, are errors
  (:mod:`gnomon.measures.plausibility`).
- A match needs an IoU of at least the threshold; 1e-9 below it is enough, since coordinates are rounded.
- The order of matching is part of a measure and of its name: ``hungarian-then-filter`` (as published),
  ``gated-hungarian``, ``max-cardinality`` and ``greedy``; :mod:`gnomon.numerics.assignment` says what each does and how
  ties are broken.

Measures
--------
precision, recall, F1
    tp / predicted, tp / truth, 2 tp / (truth + predicted): of one class, pooled over classes (``micro``), or the mean
    over classes (``macro``). Macro F1 is the mean of the classes' F1.
F1 of macro means
    Harmonic mean of macro precision and macro recall: another number than macro F1, and often larger.
mean IoU
    Over the matches.
average precision
    Predictions of a class, over all scenes, by falling score; equal scores enter as one block. Each takes the free
    truth of its class and scene with the largest IoU, at least the threshold, and is a false positive without one. The
    area under the curve of precision against recall, with the largest precision at that recall or a higher one
    (Everingham et al., 2010); the mean over classes with truths, and over thresholds.

:mod:`gnomon.measures.scene_boxes` folds the same over many scenes.

Undefined cases
---------------
Precision without predictions, recall without truths, F1 without either, mean IoU without matches; a class without the
value is left out of a macro average, unless ``zero_division`` names a value for it. Nothing true and nothing predicted
is neither right nor wrong: undefined, not 1 and not 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gnomon.core.ledgers import Ledger
from gnomon.core.measure import Measure, score_by_name
from gnomon.core.signals import Boxes
from gnomon.core.tallies import Array, Totals
from gnomon.measures import _boxed, _stretches
from gnomon.measures._folding import family_of
from gnomon.measures.accumulate import Accumulator, score_function
from gnomon.measures.plausibility import check_box_size, check_same_unit, measure_distances
from gnomon.measures.scene_boxes import BoxF1, BoxF1OfMeans, BoxPrecision, BoxRecall, Scenes, counts
from gnomon.numerics import matching1d
from gnomon.numerics.assignment import Order, check_order

THRESHOLDS = tuple(round(0.25 + 0.05 * step, 2) for step in range(15))
"""Least IoU of average precision: 0.25, 0.3, ... 0.95."""

NO_TRUTHS = "no true boxes"


def evaluate(
    truth: Any,
    prediction: Any,
    *,
    iou: float = 0.25,
    matching: Order = "hungarian-then-filter",
    truth_class: Sequence[Any] | Array | None = None,
    prediction_class: Sequence[Any] | Array | None = None,
    score: Sequence[float] | Array | None = None,
    truth_scene: Sequence[Any] | Array | None = None,
    prediction_scene: Sequence[Any] | Array | None = None,
) -> dict[str, Any]:
    """Score the boxes of one scene, or of many put together.

    Parameters
    ----------
    truth, prediction
        Boxes as ``(M, 6)`` min-max, ``(M, 7)`` centre-size-yaw or ``(M, 8, 3)`` vertices; the forms may differ.
    iou
        Least IoU of a match, above 0.
    matching
        ``hungarian-then-filter``, ``gated-hungarian``, ``max-cardinality`` or ``greedy``.
    truth_class, prediction_class
        Class of each box, integers or text; boxes of different classes never match.
    score
        Of each prediction: the order of ``greedy``, and what average precision needs.
    truth_scene, prediction_scene
        Scene of each box, integers or text, where there are several; boxes of different scenes never match.

    Returns
    -------
    dict
        ``precision, recall, f1`` (pooled), ``mean_iou``; ``tp, fp, fn``; ``matches`` (truth, prediction, IoU);
        ``per_class`` by class, with the same; ``macro`` (``precision, recall, f1``: mean over classes, and
        ``f1_of_means``: of macro precision and macro recall); ``average_precision`` where there are scores, see
        :func:`average_precision`; ``iou`` and ``matching`` as asked for; ``undefined`` by name.

    Examples
    --------
    >>> truth = [[0, 0, 0, 2, 2, 2], [5, 5, 0, 6, 6, 1]]
    >>> result = evaluate(truth, [[0, 0, 0, 2, 2, 1], [8, 8, 0, 9, 9, 1]])
    >>> result["precision"], result["recall"], result["mean_iou"], result["matches"]
    (0.5, 0.5, 0.5, [(0, 0, 0.5)])
    >>> evaluate([], [])["undefined"]["f1"]
    'no boxes in truth or prediction'
    """
    asked = _boxed.threshold(iou)
    check_order(matching)
    sides = {"classes": (truth_class, prediction_class), "scenes": (truth_scene, prediction_scene)}
    pair = _boxed.read(truth, prediction, **sides, score=score)
    if truth_scene is not None or prediction_scene is not None:
        pair = replace(pair, apart=True)
    return _evaluated(pair, asked, matching)


def accumulate(*, iou: float = 0.25, matching: Order = "hungarian-then-filter") -> Accumulator[tuple[_boxed.Pair, ...]]:
    """Score a stream of scenes: ``update(truth, prediction, truth_class=..., prediction_class=..., score=...)``.

    The boxes are kept. Places in ``matches`` count over all scenes; the rest is as :func:`evaluate` returns it.

    >>> here, there = [[0, 0, 0, 2, 2, 2]], [[5, 5, 0, 6, 6, 1]]
    >>> accumulate().update(here, here).update(here, there).compute()["recall"]
    0.5
    """
    asked = _boxed.threshold(iou)
    check_order(matching)
    return Accumulator(_step, lambda state: _evaluated(_boxed.joined(state), asked, matching), by_row=False)


precision = score_function(evaluate, "precision", "Share of predicted boxes that match a true one.")
recall = score_function(evaluate, "recall", "Share of true boxes that a prediction matches.")
f1 = score_function(evaluate, "f1", "F1 of boxes.")
mean_iou = score_function(evaluate, "mean_iou", "Mean IoU of the matched boxes.")
macro_precision = score_function(evaluate, "macro.precision", "Mean precision over classes.")
macro_recall = score_function(evaluate, "macro.recall", "Mean recall over classes.")
macro_f1 = score_function(evaluate, "macro.f1", "Mean F1 over classes.")


def _step(
    state: tuple[_boxed.Pair, ...] | None,
    truth: Any,
    prediction: Any,
    *,
    truth_class: Any = None,
    prediction_class: Any = None,
    score: Any = None,
) -> tuple[_boxed.Pair, ...]:
    """Keep a scene behind those before it."""
    pair = _boxed.read(truth, prediction, classes=(truth_class, prediction_class), score=score)
    _check_sizes(pair)
    return (*(state or ()), pair)


def _evaluated(pair: _boxed.Pair, asked: float, matching: Order) -> dict[str, Any]:
    """Return what :func:`evaluate` does."""
    _check_sizes(pair)
    matches = pair.matched(asked, matching)
    fields = {name: np.asarray(values) for name, values in counts(pair, matches).items()}
    undefined: dict[str, str] = {}
    found = list(zip(matches.i.tolist(), matches.j.tolist(), matches.iou.tolist(), strict=True))
    sides = len(pair.truth), len(pair.prediction)
    result = _scores(len(found), sides, matches.iou, "", undefined)
    result |= {"matches": found, "per_class": _per_class(pair, matches, fields, undefined)}
    result["macro"] = _macro(fields, pair.labels, undefined)
    if pair.scores is not None:
        parts = _stretches.gathered(average_precision=_averaged(pair, _stretches.limits(THRESHOLDS)))
        undefined |= parts.pop("undefined")
        result |= parts
    return {**result, "iou": asked, "matching": matching, "undefined": undefined}


def average_precision(
    truth: Any,
    prediction: Any,
    score: Sequence[float] | Array,
    *,
    truth_class: Sequence[Any] | Array | None = None,
    prediction_class: Sequence[Any] | Array | None = None,
    truth_scene: Sequence[Any] | Array | None = None,
    prediction_scene: Sequence[Any] | Array | None = None,
    thresholds: Sequence[float] | Array = THRESHOLDS,
) -> dict[str, Any]:
    """Return average precision over thresholds of IoU, for one scene or many.

    Parameters
    ----------
    truth, prediction, truth_class, prediction_class
        As in :func:`evaluate`.
    score
        Of each prediction; larger is more certain.
    truth_scene, prediction_scene
        Scene of each box, integers or text; boxes of different scenes never match.
    thresholds
        Least IoU of a true positive, above 0.

    Returns
    -------
    dict
        ``mAP``, the mean over thresholds; ``mAP@0.25`` and so on; ``classes`` by class (``AP``, ``AP@0.25`` and so on,
        ``truths``, ``predicted``), empty without classes; ``undefined``.

    Examples
    --------
    >>> truth = [[0, 0, 0, 1, 1, 1], [5, 0, 0, 6, 1, 1]]
    >>> average_precision(truth, [[0, 0, 0, 1, 1, 1], [9, 0, 0, 10, 1, 1]], [0.9, 0.8])["mAP@0.5"]
    0.5
    """
    scenes, classes = (truth_scene, prediction_scene), (truth_class, prediction_class)
    pair = _boxed.read(truth, prediction, classes=classes, scenes=scenes, score=score)
    _check_sizes(pair)
    return _averaged(pair, _stretches.limits(thresholds))


def _check_sizes(pair: _boxed.Pair) -> None:
    """Refuse true boxes of implausible size, and predicted ones in another unit."""
    true, predicted = (2 * side.half.max(axis=1, initial=0.0) for side in (pair.truth, pair.prediction))
    check_box_size(true, what="truth")
    far = measure_distances(pair.truth.centre), measure_distances(pair.prediction.centre)
    check_same_unit(true, predicted, distances_m=far, what="boxes", remedy="give both sides in metres")


def detections(truth: Boxes, prediction: Boxes, thresholds: Sequence[float] = THRESHOLDS) -> Ledger:
    """Return the rows that average precision over many scenes needs of one scene (case 0).

    Columns: ``class``; ``score`` (NaN where none was given); ``returned``, 1 for a prediction; ``truths``, how many
    true boxes the row stands for; ``hit_0p25`` and so on, whether the prediction is right at a threshold. There is a
    row for each prediction, then one for the true boxes of each class that has any. :mod:`gnomon.measures.ranked`
    scores such rows.
    """
    return _detected(_boxed.paired(truth, prediction), _stretches.limits(thresholds))


def detections_of_scenes(scenes: Scenes, thresholds: Sequence[float] = THRESHOLDS) -> Ledger:
    """Return the rows of many scenes at once: those that :func:`detections` gives of each, cases from 0."""
    if scenes.pair is None:
        return Ledger.stack([(detections(truth, prediction, thresholds), 1) for truth, prediction in scenes])
    return _detected(scenes.pair, _stretches.limits(thresholds))


def _detected(pair: _boxed.Pair, thresholds: Array) -> Ledger:
    """Return a row for each prediction of a scene, then one for each of its classes that is true; then the next."""
    size = max(len(pair.labels), 1)
    cells, truths = np.unique(pair.scenes[0] * size + pair.classes[0], return_counts=True)
    scene, present = np.divmod(cells, size)
    n, more = len(pair.prediction), len(cells)
    case = np.concatenate([pair.scenes[1], scene])
    order = np.argsort(case, kind="stable")
    scores = np.full(n, np.nan) if pair.scores is None else pair.scores
    columns: dict[str, Array] = {
        "class": np.concatenate([pair.classes[1], present]),
        "score": np.concatenate([scores, np.full(more, np.nan)]),
        "returned": np.repeat(np.array([1, 0], np.int64), [n, more]),
        "truths": np.concatenate([np.zeros(n, np.int64), truths]),
    }
    for value, hit in zip(thresholds.tolist(), pair.hits(thresholds), strict=True):
        columns[family_of("hit", value)] = np.concatenate([hit, np.zeros(more, np.bool_)]).astype(np.int64)
    return Ledger(case[order], {name: own[order] for name, own in columns.items()}, {"class": tuple(pair.labels)})


def _scores(tp: int, sides: tuple[int, int], overlap: Array, where: str, undefined: dict[str, str]) -> dict[str, Any]:
    """Return the ratios and counts of some matches, and the mean of their IoU."""
    n, m = sides
    fields = {"tp": tp, "truth": n, "predicted": m}
    totals = Totals({**{k: np.array([v]) for k, v in fields.items()}, "n": np.asarray(1)}, {"class": ("",)})
    kinds: dict[str, Measure] = {kind.kind: kind(average="micro") for kind in (BoxPrecision, BoxRecall, BoxF1)}
    out: dict[str, Any] = dict(score_by_name(kinds, totals, undefined, where))
    out["mean_iou"] = math.fsum(overlap) / tp if tp else None
    if not tp:
        undefined[f"{where}mean_iou"] = "no matched boxes"
    return {**out, "tp": tp, "fp": m - tp, "fn": n - tp}


def _per_class(pair: _boxed.Pair, matches: Any, fields: dict[str, Array], undefined: dict[str, str]) -> dict[Any, Any]:
    codes = pair.classes[0][matches.i]
    out = {}
    for c, label in enumerate(pair.labels):
        tp, sides = int(fields["tp"][c]), (int(fields["truth"][c]), int(fields["predicted"][c]))
        out[label] = _scores(tp, sides, matches.iou[codes == c], f"per_class.{label}.", undefined)
    return out


def _macro(fields: dict[str, Array], labels: list[Any], undefined: dict[str, str]) -> dict[str, float | None]:
    """Return the means over classes, and the F1 of the means."""
    measures = {"precision": BoxPrecision(), "recall": BoxRecall(), "f1": BoxF1(), "f1_of_means": BoxF1OfMeans()}
    if not labels:
        undefined |= {f"macro.{name}": "no classes were given" for name in measures}
        return dict.fromkeys(measures)
    totals = Totals(fields, {"class": tuple(map(str, range(len(labels))))})
    return score_by_name(measures, totals, undefined, "macro.")


def _averaged(pair: _boxed.Pair, thresholds: Array) -> dict[str, Any]:
    truths, predicted = (pair.count(codes) for codes in pair.classes)
    size = max(len(pair.labels), 1)
    truths, predicted = (np.pad(side, (0, size - len(side))) for side in (truths, predicted))
    table = _table(pair, thresholds, truths, predicted)
    names = [f"@{round(value, 9):g}" for value in thresholds.tolist()]
    undefined: dict[str, str] = {}
    classes: dict[Any, dict[str, Any]] = {}
    for c, label in enumerate(pair.labels):
        known = table[:, c].tolist() if truths[c] else [None] * len(names)
        scores = {"AP": float(table[:, c].mean()) if truths[c] else None}
        scores |= {f"AP{name}": value for name, value in zip(names, known, strict=True)}
        classes[label] = {**scores, "truths": int(truths[c]), "predicted": int(predicted[c])}
        undefined |= {f"classes.{label}.{name}": NO_TRUTHS for name in scores if not truths[c]}
    rows = table[:, truths > 0]
    found = rows.mean(axis=1).tolist() if rows.size else [None] * len(names)
    result = {"mAP": float(rows.mean()) if rows.size else None}
    result |= {f"mAP{name}": value for name, value in zip(names, found, strict=True)}
    undefined |= {name: NO_TRUTHS for name, value in result.items() if value is None}
    return {**result, "classes": classes, "undefined": undefined}


def _table(pair: _boxed.Pair, thresholds: Array, truths: Array, predicted: Array) -> Array:
    """Return average precision, ``(thresholds, classes)``."""
    scores = np.zeros(0) if pair.scores is None else pair.scores
    order = np.lexsort((-scores, pair.classes[1]))
    keys = np.stack([pair.classes[1][order].astype(np.float64), scores[order]])
    ends = np.flatnonzero(np.append((keys[:, 1:] != keys[:, :-1]).any(axis=0), [True] * bool(len(order))))
    last = np.repeat(ends, np.diff(ends, prepend=-1)).astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(predicted)]).astype(np.int64)
    hits = np.ascontiguousarray(pair.hits(thresholds)[:, order])
    return matching1d.average_precision(hits, last, offsets, truths)
