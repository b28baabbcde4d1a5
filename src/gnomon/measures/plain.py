"""The plain face of classification: labels in, a dictionary out.

Kept apart from the measures because it is about the caller's labels: it finds the classes, keeps the
caller's own label values as keys, and gives every number a value or a reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from gnomon.core.errors import InputError, some
from gnomon.core.measure import Measure, score_by_name
from gnomon.core.tallies import Array, Totals
from gnomon.measures import averaging
from gnomon.measures import classification as c
from gnomon.measures.accumulate import Accumulator
from gnomon.measures.averaging import Kind, ZeroDivision
from gnomon.numerics.coding import encode_pair
from gnomon.numerics.counting import confusion

AVERAGES = ("macro", "weighted", "micro")
SIDES: dict[Kind, str] = {"precision": "prediction", "recall": "truth", "f1": "truth or prediction"}
"""Where a class has to occur for its scores to be defined."""


@dataclass(frozen=True)
class Pairs:
    """How often each pair of true and predicted label occurs: the confusion matrix, without its empty cells."""

    labels: list[Any]
    """The labels that occur, sorted."""
    true: Array
    predicted: Array
    """Places in ``labels``, one for each pair."""
    count: Array

    def over(self, labels: list[Any]) -> Pairs:
        """Return the same over more labels."""
        place = {label: index for index, label in enumerate(labels)}
        moved = np.array([place[label] for label in self.labels], dtype=np.int64)
        return Pairs(labels, moved[self.true], moved[self.predicted], self.count)


def evaluate_labels(
    truth: Sequence[Any] | Array, prediction: Sequence[Any] | Array, *, classes: Any, zero_division: ZeroDivision
) -> dict[str, Any]:
    """See :func:`gnomon.measures.classification.evaluate`."""
    return score_pairs(add_labels(None, truth, prediction), classes=classes, zero_division=zero_division)


def accumulate_labels(*, classes: Any, zero_division: ZeroDivision) -> Accumulator[Pairs]:
    """See :func:`gnomon.measures.classification.accumulate`."""
    listed = classes if isinstance(classes, str) or not isinstance(classes, Iterable) else tuple(classes)
    finish = partial(score_pairs, classes=listed, zero_division=zero_division)
    finish(add_labels(None, (), ()))  # refuses options now, not at the end of the stream
    return Accumulator(add_labels, finish)


def add_labels(state: Pairs | None, truth: Sequence[Any] | Array, prediction: Sequence[Any] | Array) -> Pairs:
    """Count the pairs of labels of a part, and add them to those of the parts before it."""
    labels, true, predicted = encode_pair(truth, prediction)
    found = _count(labels, true, predicted)
    if state is None or not state.labels or not found.labels:
        return found if state is None or not state.labels else state
    if isinstance(state.labels[0], str) != isinstance(found.labels[0], str):
        raise InputError(
            f"labels are not of the kind of those before: got {some(found.labels)}, before {some(state.labels)}"
        )
    union = sorted({*state.labels, *found.labels})
    sides = state.over(union), found.over(union)
    flat = np.concatenate([side.true * len(union) + side.predicted for side in sides])
    cells, inverse = np.unique(flat, return_inverse=True)
    count = np.zeros(len(cells), dtype=np.int64)
    np.add.at(count, inverse, np.concatenate([side.count for side in sides]))
    return Pairs(union, cells // len(union), cells % len(union), count)


def score_pairs(pairs: Pairs, *, classes: Any, zero_division: ZeroDivision) -> dict[str, Any]:
    """Return what ``evaluate`` returns, from counted pairs."""
    labels, size, n = pairs.labels, len(pairs.labels), int(pairs.count.sum())
    right = pairs.true == pairs.predicted
    counts = [np.zeros(size, dtype=np.int64) for _ in range(3)]
    np.add.at(counts[0], pairs.true[right], pairs.count[right])
    for side, places in zip(counts[1:], (pairs.true, pairs.predicted), strict=True):
        np.add.at(side, places, pairs.count)
    fields = dict(zip(("tp", "truth", "predicted"), counts, strict=True))
    totals = Totals({**fields, "n": np.asarray(n)}, {"class": tuple(map(str, range(size)))})
    class_set, listed = _class_set(classes, labels, counts[1])
    undefined: dict[str, str] = {}
    result: dict[str, Any] = dict(score_by_name(_measures(class_set, zero_division), totals, undefined))
    result["classes"] = listed
    result["per_class"] = _per_class(listed, labels, totals, zero_division, undefined)
    result["confusion"] = _matrix(pairs, listed, undefined)
    result["n"] = n
    result["undefined"] = undefined
    return result


def _count(labels: list[Any], true: Array, predicted: Array) -> Pairs:
    """Count the pairs of codes; labels that do not occur are left out."""
    size = len(labels)
    if size <= c.MAX_CONFUSION:
        matrix = confusion(true, predicted, size)
        rows, columns = np.nonzero(matrix)
        count = matrix[rows, columns]
    else:
        flat = true.astype(np.int64) * size + predicted.astype(np.int64)
        cells, count = np.unique(flat, return_counts=True)
        rows, columns = cells // size, cells % size
    seen, codes = np.unique(np.concatenate([rows, columns]), return_inverse=True)
    kept = [labels[code] for code in seen.tolist()]
    return Pairs(kept, codes[: len(rows)], codes[len(rows) :], count.astype(np.int64))


def _class_set(classes: Any, labels: list[Any], support: Array) -> tuple[Any, list[Any]]:
    """Return the class set in terms of positions, and the labels that it lists."""
    if isinstance(classes, str):
        if classes == "present":
            return classes, [label for label, n in zip(labels, support.tolist(), strict=True) if n]
        return classes, labels
    if not isinstance(classes, Iterable):
        raise InputError(f"classes: expected 'union', 'present' or a list of labels, but got {classes!r}")
    listed = list(classes)
    if len(set(listed)) != len(listed):
        raise InputError(f"classes: expected distinct labels, but got {some(listed)}")
    if labels and listed and any(isinstance(label, str) != isinstance(labels[0], str) for label in listed):
        raise InputError(f"classes are not of the kind of the labels: got {some(listed)}, data has {some(labels)}")
    place = {label: str(index) for index, label in enumerate(labels)}
    return tuple(place.get(label, f"absent {index}") for index, label in enumerate(listed)), listed


def _measures(classes: Any, zero_division: ZeroDivision) -> dict[str, Measure]:
    averaged: dict[str, Measure] = {
        f"{average}_{kind.kind}": kind(average, classes, zero_division)  # type: ignore[arg-type]
        for kind in (c.F1, c.Precision, c.Recall)
        for average in AVERAGES
    }
    return {"accuracy": c.Accuracy(), **averaged, "balanced_accuracy": c.BalancedAccuracy(), "kappa": c.Kappa()}


def _per_class(
    listed: list[Any], labels: list[Any], totals: Totals, zero_division: ZeroDivision, undefined: dict[str, str]
) -> dict[Any, dict[str, Any]]:
    place = {label: index for index, label in enumerate(labels)}
    columns = {name: totals[name].tolist() for name in ("tp", "truth", "predicted")}
    ratios = {kind: [part.tolist() for part in averaging.ratios(kind, totals)] for kind in SIDES}
    out: dict[Any, dict[str, Any]] = {}
    for label in listed:
        index = place.get(label)
        tp, support, predicted = (0 if index is None else columns[name][index] for name in columns)
        row: dict[str, Any] = {"support": support, "predicted": predicted, "tp": tp}
        for kind, (tops, bottoms) in ratios.items():
            top, bottom = (0, 0) if index is None else (tops[index], bottoms[index])
            row[kind] = top / bottom if bottom else None if zero_division is None else float(zero_division)
            if row[kind] is None:
                undefined[f"per_class.{label}.{kind}"] = f"class {label!r} does not occur in {SIDES[kind]}"
        out[label] = row
    return out


def _matrix(pairs: Pairs, listed: list[Any], undefined: dict[str, str]) -> list[list[int]] | None:
    if len(pairs.labels) > c.MAX_CONFUSION:
        said = f"{len(pairs.labels)} classes: a dense matrix of more than {c.MAX_CONFUSION} is not made"
        undefined["confusion"] = said
        return None
    place = {label: index for index, label in enumerate(listed)}
    places = np.array([place.get(label, -1) for label in pairs.labels], dtype=np.int64)
    rows, columns = places[pairs.true], places[pairs.predicted]
    shown = (rows >= 0) & (columns >= 0)
    out = np.zeros((len(listed), len(listed)), dtype=np.int64)
    out[rows[shown], columns[shown]] = pairs.count[shown]
    nested: list[list[int]] = out.tolist()
    return nested
