"""The plain face of classification: labels in, a dictionary out.

Kept apart from the measures because it is about the caller's labels: it finds the classes, keeps the
caller's own label values as keys, and gives every number a value or a reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from gnomon.core.errors import InputError, some
from gnomon.core.measure import Measure, score_by_name
from gnomon.core.tallies import Array, Totals
from gnomon.measures import averaging
from gnomon.measures import classification as c
from gnomon.measures.averaging import Kind, ZeroDivision
from gnomon.numerics.coding import encode_pair
from gnomon.numerics.counting import class_counts, confusion

AVERAGES = ("macro", "weighted", "micro")
SIDES: dict[Kind, str] = {"precision": "prediction", "recall": "truth", "f1": "truth or prediction"}
"""Where a class has to occur for its scores to be defined."""


def evaluate_labels(
    truth: Sequence[Any] | Array, prediction: Sequence[Any] | Array, *, classes: Any, zero_division: ZeroDivision
) -> dict[str, Any]:
    """See :func:`gnomon.measures.classification.evaluate`."""
    labels, true, predicted = encode_pair(truth, prediction)
    counts, matrix = _count(true, predicted, len(labels))
    seen = counts[1] + counts[2] > 0
    labels = [label for label, used in zip(labels, seen.tolist(), strict=True) if used]
    counts = [array[seen] for array in counts]
    matrix = None if matrix is None else matrix[np.ix_(seen, seen)]
    keys = tuple(str(index) for index in range(len(labels)))
    fields = dict(zip(("tp", "truth", "predicted"), counts, strict=True))
    totals = Totals({**fields, "n": np.asarray(len(true))}, {"class": keys})
    class_set, listed = _class_set(classes, labels, counts[1])
    undefined: dict[str, str] = {}
    result: dict[str, Any] = dict(score_by_name(_measures(class_set, zero_division), totals, undefined))
    result["classes"] = listed
    result["per_class"] = _per_class(listed, labels, totals, zero_division, undefined)
    result["confusion"] = _matrix(matrix, listed, labels, undefined)
    result["n"] = len(true)
    result["undefined"] = undefined
    return result


def _count(true: Array, predicted: Array, n_classes: int) -> tuple[list[Array], Array | None]:
    if n_classes <= c.MAX_CONFUSION:
        matrix = confusion(true, predicted, n_classes)
        return [np.diagonal(matrix).copy(), matrix.sum(axis=1), matrix.sum(axis=0)], matrix
    one = np.zeros(len(true), dtype=np.int64)
    return [array[0] for array in class_counts(true, predicted, one, n_classes, 1)], None


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


def _matrix(
    matrix: Array | None, listed: list[Any], labels: list[Any], undefined: dict[str, str]
) -> list[list[int]] | None:
    if matrix is None:
        undefined["confusion"] = f"{len(labels)} classes: a dense matrix of more than {c.MAX_CONFUSION} is not made"
        return None
    place = {label: index for index, label in enumerate(labels)}
    out = np.zeros((len(listed), len(listed)), dtype=np.int64)
    known = [(row, place[label]) for row, label in enumerate(listed) if label in place]
    if known:
        rows, source = (list(side) for side in zip(*known, strict=True))
        out[np.ix_(rows, rows)] = matrix[np.ix_(source, source)]
    nested: list[list[int]] = out.tolist()
    return nested
