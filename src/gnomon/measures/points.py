"""Change of single points: each is unchanged, added or removed.

Every point of both scans has one true class and one predicted class. Points of the reference can be unchanged or
removed, those of the comparison unchanged or added; all of them count together.

Conventions
-----------
- Labels are codes: 0 ``NoChange``, 1 ``Add`` (only in the comparison), 2 ``Remove`` (only in the reference).
- ``truth, prediction`` in this order; rows of the confusion matrix are truth. Bytes are counted fastest.

Measures
--------
accuracy
    Points with the right class over points. Most points do not change, so it says little.
precision, recall, F1 of a class
    tp / predicted, tp / truth, 2 tp / (truth + predicted).
macro
    Mean over the three classes (``macro3``), and over Add and Remove alone (``macro2``), which unchanged points cannot
    carry. Macro F1 is the mean of the classes' F1; the F1 of macro precision and recall is another number.

Undefined cases
---------------
No points: everything. A class that is neither true nor predicted has no F1, one that is not predicted no precision, one
that is not true no recall; a macro average leaves out a class without the value, unless ``zero_division`` names one.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.measure import Measure, score_by_name
from gnomon.core.scans import BOX_CLASSES, CHANGES, PointLabels
from gnomon.core.signals import Labels
from gnomon.core.tallies import Array, Tallies, Totals
from gnomon.measures import classification
from gnomon.measures._means import F1OfMeans
from gnomon.measures.accumulate import Accumulator, score_function
from gnomon.measures.averaging import AveragedRatio, ClassSet, Kind, ZeroDivision
from gnomon.numerics.counting import confusion
from gnomon.numerics.foreign import to_native

FIELDS = ("tp", "truth", "predicted")
FEW = 1 << 13
"""Points of a scene up to which many scenes are counted in one go: the kernels for long rows do not pay."""


class PointCounts(classification.ClassCounts):
    """Base of the measures over points; tallied as classification is, and faster where codes are bytes."""

    signal: ClassVar[type] = PointLabels
    family: ClassVar[str] = "points"

    @property
    def name(self) -> str:
        """Column key."""
        return f"point_{super().name}"

    def tally(self, truth: Labels, prediction: Labels) -> Tallies:
        """Count one scene."""
        same = truth.classes == prediction.classes and len(truth) == len(prediction)
        if not same or any(side.codes.dtype != np.uint8 for side in (truth, prediction)):
            return super().tally(truth, prediction)
        table = confusion(truth.codes, prediction.codes, len(truth.classes))
        fields = {name: values[np.newaxis] for name, values in _marginals(table).items()}
        return Tallies(classification.LAYOUT, {"class": truth.classes}, {**fields, "n": np.array([len(truth)])})

    def tally_scenes(self, truth: Labels, prediction: Labels, sizes: Sequence[int]) -> Tallies:
        """Count many scenes, whose points come one after another, so many each: a row each.

        Codes of both sides are bytes, in one order of classes.
        """
        size, ends = len(truth.classes), np.cumsum([0, *sizes])
        if not len(truth) == len(prediction) == ends[-1]:
            got = f"{len(truth)} and {len(prediction)}"
            raise InputError(f"expected {ends[-1]} points of scenes in truth and prediction, but got {got}")
        if ends[-1] < FEW * len(sizes):
            scene = np.repeat(np.arange(len(sizes)) * size, sizes)
            cells = ((scene + truth.codes) * size) + prediction.codes
            tables = np.bincount(cells, minlength=len(sizes) * size**2).reshape(-1, size, size)
        else:
            sides = itertools.pairwise(ends.tolist())
            each = [confusion(truth.codes[a:b], prediction.codes[a:b], size) for a, b in sides]
            tables = np.stack(each)
        fields = dict(zip(FIELDS, (tables.diagonal(0, 1, 2), tables.sum(axis=2), tables.sum(axis=1)), strict=True))
        return Tallies(classification.LAYOUT, {"class": truth.classes}, {**fields, "n": np.array(sizes, np.int64)})

    def why(self, totals: Totals) -> str:
        """As for labels, in terms of points."""
        return super().why(totals).replace("no samples", "no points")


def _marginals(table: Array) -> dict[str, Array]:
    return dict(zip(FIELDS, (np.diagonal(table).copy(), table.sum(axis=1), table.sum(axis=0)), strict=True))


class PointAccuracy(PointCounts, classification.Accuracy):
    """Share of points with the right class."""

    title = "accuracy of points"


@dataclass(frozen=True)
class _Averaged(PointCounts, AveragedRatio):
    """A ratio averaged over the three classes, or over those given."""

    classes: ClassSet = CHANGES
    zero_division: ZeroDivision = None

    @property
    def name(self) -> str:
        """Column key; it tells how many classes there are."""
        if isinstance(self.classes, str):
            return super().name
        return f"point_{self.average}{len(self.classes)}_{self.kind}"


class PointF1(_Averaged):
    """F1 of points, the harmonic mean of precision and recall."""

    title, kind = "F1 of points", "f1"


class PointPrecision(_Averaged):
    """Precision of points: of those predicted as a class, the share that is right."""

    title, kind = "precision of points", "precision"


class PointRecall(_Averaged):
    """Recall of points: of those truly of a class, the share that was found."""

    title, kind = "recall of points", "recall"


@dataclass(frozen=True)
class PointF1OfMeans(PointCounts, F1OfMeans):
    """Harmonic mean of macro precision and macro recall of points, which is not the mean of the classes' F1."""

    classes: ClassSet = CHANGES
    title: ClassVar[str] = "F1 of macro precision and recall of points"

    @property
    def name(self) -> str:
        """Column key; it tells how many classes there are."""
        return f"point_f1_of_macro{self.classes if isinstance(self.classes, str) else len(self.classes)}_means"

    def why(self, totals: Totals) -> str:
        """One of both is undefined."""
        return "macro precision or macro recall is undefined" if int(totals["n"]) else "no points"


@dataclass(frozen=True)
class _OfClass(PointCounts, classification.ClassF1):
    zero_division: ZeroDivision = None
    kind: ClassVar[Kind]


class PointClassF1(_OfClass):
    """F1 of the points of one class."""

    title, kind = "F1 of the points of a class", "f1"


class PointClassPrecision(_OfClass):
    """Precision of the points of one class: of those predicted as it, the share that is right."""

    title, kind = "precision of the points of a class", "precision"


class PointClassRecall(_OfClass):
    """Recall of the points of one class: of those truly of it, the share that was found."""

    title, kind = "recall of the points of a class", "recall"


MEASURES: tuple[Measure, ...] = (
    PointAccuracy(),
    PointF1(),
    PointF1(classes=BOX_CLASSES),
    PointF1(average="micro", classes="union"),
    PointPrecision(),
    PointPrecision(classes=BOX_CLASSES),
    PointRecall(),
    PointRecall(classes="present"),
    PointF1OfMeans(),
    PointF1OfMeans(classes=BOX_CLASSES),
    PointClassF1("Add"),
    PointClassPrecision("Remove"),
    PointClassRecall("0", 0),
)


def evaluate(truth: Sequence[int] | Array, prediction: Sequence[int] | Array) -> dict[str, Any]:
    """Score the points of one scene, or of many put together.

    Parameters
    ----------
    truth, prediction
        Codes 0, 1 and 2, one per point, of equal length.

    Returns
    -------
    dict
        ``accuracy``; ``per_class`` by name (``precision, recall, f1, support, predicted, tp``); ``macro3`` over the
        three classes and ``macro2`` over Add and Remove (``precision, recall, f1`` and ``f1_of_means``, the F1 of the
        two means); ``confusion`` (rows truth, columns prediction); ``classes``; ``n``; ``undefined`` by name.

    Examples
    --------
    >>> result = evaluate([0, 0, 1, 2], [0, 1, 1, 0])
    >>> result["accuracy"], result["per_class"]["Add"]["precision"], result["macro2"]["recall"]
    (0.5, 0.5, 0.5)
    >>> result["undefined"]["per_class.Remove.precision"]
    "class 'Remove' does not occur in prediction"
    """
    return _finish(_step(None, truth, prediction))


def accumulate() -> Accumulator[Array]:
    """Score points that come in parts, such as scene by scene; see :func:`evaluate`.

    >>> accumulate().update([0, 0, 1], [0, 1, 1]).update([2], [0]).compute()["accuracy"]
    0.5
    """
    return Accumulator(_step, _finish)


def _step(state: Array | None, truth: Any, prediction: Any) -> Array:
    """Add the confusion matrix of a part to that of the parts before it."""
    true, predicted = (_codes(side, name) for side, name in ((truth, "truth"), (prediction, "prediction")))
    table = confusion(true, predicted, len(CHANGES))
    return table if state is None else state + table


def _finish(table: Array) -> dict[str, Any]:
    n = int(table.sum())
    totals = Totals({**_marginals(table), "n": np.asarray(n)}, {"class": CHANGES})
    undefined: dict[str, str] = {}
    result: dict[str, Any] = {**score_by_name({"accuracy": PointAccuracy()}, totals, undefined)}
    result["per_class"] = {label: _of_class(label, totals, undefined) for label in CHANGES}
    for name, classes in (("macro3", CHANGES), ("macro2", BOX_CLASSES)):
        measures: dict[str, Measure] = {
            "precision": PointPrecision(classes=classes),
            "recall": PointRecall(classes=classes),
            "f1": PointF1(classes=classes),
            "f1_of_means": PointF1OfMeans(classes=classes),
        }
        result[name] = score_by_name(measures, totals, undefined, f"{name}.")
    return {
        **result,
        "confusion": table.tolist(),
        "classes": list(CHANGES),
        "n": n,
        "undefined": undefined,
    }


accuracy = score_function(evaluate, "accuracy", "Share of points whose class is right.")
macro3_f1 = score_function(evaluate, "macro3.f1", "Mean F1 over NoChange, Add and Remove.")
macro3_precision = score_function(evaluate, "macro3.precision", "Mean precision over the three classes.")
macro3_recall = score_function(evaluate, "macro3.recall", "Mean recall over the three classes.")
macro2_f1 = score_function(evaluate, "macro2.f1", "Mean F1 over Add and Remove.")
macro2_precision = score_function(evaluate, "macro2.precision", "Mean precision over Add and Remove.")
macro2_recall = score_function(evaluate, "macro2.recall", "Mean recall over Add and Remove.")


def _codes(labels: Sequence[int] | Array, side: str) -> Array:
    wanted = f"{side}: expected one code 0 (NoChange), 1 (Add) or 2 (Remove) per point"
    try:
        array = np.asarray(to_native(labels, side))
    except ValueError as error:
        raise InputError(f"{wanted}: {error}") from error
    if array.shape == (0,):
        return np.zeros(0, np.uint8)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise InputError(f"{wanted}, but got {array.dtype} {array.shape}")
    return array


def _of_class(label: str, totals: Totals, undefined: dict[str, str]) -> dict[str, Any]:
    measures: dict[str, Measure] = {
        "precision": PointClassPrecision(label),
        "recall": PointClassRecall(label),
        "f1": PointClassF1(label),
    }
    ratios = score_by_name(measures, totals, undefined, f"per_class.{label}.")
    index = CHANGES.index(label)
    tp, support, predicted = (int(totals[name][index]) for name in FIELDS)
    return {**ratios, "support": support, "predicted": predicted, "tp": tp}
