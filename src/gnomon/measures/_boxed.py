"""What the measures of boxes are given, and how it is matched: boxes of truth and prediction within their groups.

Conventions
-----------
- Boxes are in metres, in one of the forms of :mod:`gnomon.numerics.solids`; the sides may use different ones.
- Classes are given to both sides or to neither; boxes of different classes, or of different scenes, never meet.
- Scores belong to predictions and rise with certainty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.signals import NONE, Boxes, same_frame
from gnomon.core.tallies import Array, union
from gnomon.measures import _stretches
from gnomon.measures._reading import encode
from gnomon.numerics import assignment
from gnomon.numerics.boxes import Codes, Floats, Overlaps, overlaps
from gnomon.numerics.foreign import to_native
from gnomon.numerics.solids import ALIGNED, Solids, in_order, solids

SIDES = ("truth", "prediction")


@dataclass(frozen=True, eq=False)
class Pair:
    """Both sides: boxes, their classes as codes into ``labels``, their scenes, and scores of the prediction.

    Where scenes are ``apart``, what becomes of one does not depend on which others are there: not even ties do.
    """

    truth: Solids
    prediction: Solids
    classes: tuple[Codes, Codes]
    scenes: tuple[Codes, Codes]
    labels: list[Any]
    scores: Floats | None = None
    apart: bool = False
    _met: dict[float, Overlaps] = field(default_factory=dict)

    def meeting(self, least: float) -> Overlaps:
        """Return the pairs of one scene and class with a common volume and at least this IoU; looked for once."""
        if least not in self._met:
            size = max(len(self.labels), 1)
            true, returned = (scene * size + code for scene, code in zip(self.scenes, self.classes, strict=True))
            self._met[least] = overlaps(self.truth, self.prediction, (true, returned), least=least)
        return self._met[least]

    def matched(self, iou: float, order: str) -> Overlaps:
        """Match one to one; see :mod:`gnomon.numerics.assignment`."""
        least = 0.0 if order == "hungarian-then-filter" else iou - assignment.SLACK
        pairs = self.meeting(least)
        most = None
        if self.apart:
            size = 1 + max(int(scene.max(initial=0)) for scene in self.scenes)
            true, returned = (np.bincount(scene, minlength=size) for scene in self.scenes)
            most = np.minimum(true, returned)[self.scenes[0][pairs.i]]
        return pairs.take(assignment.match(pairs, iou, order, self.scores, self.places, most))

    def hits(self, thresholds: Array) -> Array:
        """Say for each threshold which predictions find a free truth, by falling score: ``(thresholds, M)``."""
        pairs = self.meeting(float(thresholds.min()) - assignment.SLACK)
        ranked = assignment.by_score(pairs, self.scores, self.places)
        out = np.zeros((len(thresholds), len(self.prediction)), np.bool_)
        for row, threshold in zip(out, thresholds.tolist(), strict=True):
            reached = pairs.iou[ranked] >= threshold - assignment.SLACK
            row[pairs.j[assignment.greedy(pairs, ranked[reached])]] = True
        return out

    def places(self) -> tuple[Codes, Codes]:
        """Number the boxes of each side by where they are, whatever their order and that of their vertices."""
        sides = zip((self.truth, self.prediction), self.scenes, strict=True)
        first, second = (_places(boxes, scene if self.apart else None) for boxes, scene in sides)
        return first, second

    def count(self, codes: Codes) -> Codes:
        """Count boxes by class."""
        return np.bincount(codes, minlength=len(self.labels))


def read(
    truth: Any,
    prediction: Any,
    *,
    classes: tuple[Any, Any] = (None, None),
    scenes: tuple[Any, Any] = (None, None),
    score: Any = None,
) -> Pair:
    """Read plain arrays or sequences; without classes there are no labels."""
    first, second = (solids(to_native(side, name), name) for side, name in zip((truth, prediction), SIDES, strict=True))
    classes, scenes = ((to_native(a, "truth"), to_native(b, "prediction")) for a, b in (classes, scenes))
    score = to_native(score, "score")
    lengths = len(first), len(second)
    for side, name, given, n in zip(
        SIDES * 2, ("class",) * 2 + ("scene",) * 2, classes + scenes, lengths * 2, strict=True
    ):
        _check_length(f"{side}_{name}", given, n)
    labels, *codes = encode(*classes, lengths)
    _, *places = encode(*scenes, lengths)
    _check_length("score", score, lengths[1])
    return Pair(first, second, (codes[0], codes[1]), (places[0], places[1]), labels, _scores(score))


def paired(truth: Boxes, prediction: Boxes) -> Pair:
    """Take both sides of one scene as signals."""
    same_frame(truth, prediction)
    labels = union([truth.classes, prediction.classes])
    codes = []
    for side, name in ((truth, "truth"), (prediction, "prediction")):
        if len(side) and int(side.codes.min()) == NONE:
            raise InputError(f"{name}: box {int(side.codes.argmin())} has no class; every box needs one")
        lookup = np.array([labels.index(label) for label in side.classes], np.int64)
        codes.append(lookup[side.codes] if len(side) else np.zeros(0, np.int64))
    first, second = solids(truth.geometry, "truth"), solids(prediction.geometry, "prediction")
    one = np.zeros(len(first), np.int64), np.zeros(len(second), np.int64)
    scores = None if prediction.scores is None else np.array(prediction.scores)
    return Pair(first, second, (codes[0], codes[1]), one, list(labels), scores)


def gathered(truths: Sequence[Boxes], predictions: Sequence[Boxes]) -> Pair | None:
    """Take both sides of many scenes, at least one, apart from one another.

    None where they have to be taken one by one: scenes differ in their classes, or only some predictions have scores,
    or there is a fault, which a scene alone can name.
    """
    sides = truths, predictions
    filled = {boxes.scores is not None for boxes in predictions if len(boxes)}
    kinds = {boxes.classes for side in sides for boxes in side}
    if len({boxes.frame for side in sides for boxes in side}) > 1 or len(filled) > 1 or len(kinds) != 1:
        return None
    labels = union(list(kinds))
    lookup = np.array([labels.index(label) for label in kinds.pop()], np.int64)
    given = [np.concatenate([boxes.codes for boxes in side]) for side in sides]
    if any(int(codes.min(initial=0)) == NONE for codes in given):
        return None
    codes = [lookup[own] if len(own) else np.zeros(0, np.int64) for own in given]
    try:
        first, second = (_solid(side, name) for side, name in zip(sides, SIDES, strict=True))
    except InputError:
        return None
    scenes = [np.repeat(np.arange(len(side)), [len(boxes) for boxes in side]) for side in sides]
    scores = None
    if filled == {True}:
        scores = np.concatenate([boxes.scores for boxes in predictions if boxes.scores is not None])
    return Pair(first, second, (codes[0], codes[1]), (scenes[0], scenes[1]), list(labels), scores, apart=True)


def joined(pairs: Sequence[Pair]) -> Pair:
    """Put scenes that were read one by one together, apart from one another."""
    sides = [[pair.truth for pair in pairs], [pair.prediction for pair in pairs]]
    first, second = (
        Solids(*(np.concatenate([getattr(part, name) for part in side]) for name in Solids.__dataclass_fields__))
        for side in sides
    )
    names = [
        [pair.labels[code] for pair in pairs for code in pair.classes[side].tolist()] if _labelled(pairs) else None
        for side in (0, 1)
    ]
    labels, *codes = encode(names[0], names[1], (len(first), len(second)))
    scenes = [np.repeat(np.arange(len(pairs)), [len(part) for part in side]) for side in sides]
    given = [pair.scores for pair in pairs if pair.scores is not None]
    if len(given) not in (0, len(pairs)):
        raise InputError("score: given for some scenes only: give it for all, or for none")
    scores = np.concatenate(given) if given else None
    return Pair(first, second, (codes[0], codes[1]), (scenes[0], scenes[1]), labels, scores, apart=True)


def _labelled(pairs: Sequence[Pair]) -> bool:
    """Say whether boxes have classes; refuse scenes of which only some have."""
    filled = [bool(pair.labels) for pair in pairs if len(pair.truth) or len(pair.prediction)]
    if len(set(filled)) > 1:
        raise InputError("classes are given for some scenes only: give them for all, or for none")
    return bool(filled) and filled[0]


def _solid(side: Sequence[Boxes], where: str) -> Solids:
    """Return the boxes of many scenes; those that are not parallel to the axes are worked out scene by scene."""
    if all(boxes.geometry.shape[1:] == (6,) for boxes in side):
        return solids(np.concatenate([boxes.geometry for boxes in side]), where)
    parts = [solids(boxes.geometry, where) for boxes in side]
    return Solids(*(np.concatenate([getattr(part, n) for part in parts]) for n in Solids.__dataclass_fields__))


def threshold(iou: Any) -> float:
    """Return one threshold of IoU, above 0 and up to 1."""
    values = _stretches.limits(iou, "iou")
    if np.ndim(iou):
        raise InputError(f"iou: expected one number above 0 and up to 1, but got {iou!r:.80}")
    return float(values[0])


def _check_length(name: str, given: Any, n: int) -> None:
    if given is not None and (not hasattr(given, "__len__") or len(given) != n):
        found = len(given) if hasattr(given, "__len__") else repr(given)[:80]
        raise InputError(f"{name}: expected one for each of {n} boxes, but got {found}")


def _scores(score: Any) -> Floats | None:
    if score is None:
        return None
    try:
        values = np.array(score, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"score: expected numbers, but got {score!r:.80}") from error
    if values.ndim != 1 or not np.isfinite(values).all():
        raise InputError(f"score: expected finite numbers, one for each prediction, but got {score!r:.80}")
    return values


def _places(boxes: Solids, scenes: Codes | None) -> Codes:
    """Return numbers by bounds, and by vertices where a box, of a scene of its own, is not parallel to the axes."""
    keys = [*boxes.low.T, *boxes.high.T]
    turned = boxes.stand != ALIGNED
    if turned.any():
        corners = in_order(boxes.corners()).reshape(len(boxes), -1)
        if scenes is not None:
            corners[~(np.bincount(scenes, turned) > 0)[scenes]] = 0.0
        keys += [*corners.T]
    place = np.empty(len(boxes), np.int64)
    place[np.lexsort(keys)] = np.arange(len(boxes))
    return place
