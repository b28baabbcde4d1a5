"""What a system finds, and what the built-in ones share: parameters that are checked, and a watch."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.scans import BOX_CLASSES, CHANGES
from gnomon.core.tallies import Array
from gnomon.numerics.neighbours import finite_points

ADD, REMOVE = BOX_CLASSES


@dataclass(frozen=True)
class Detection:
    """Changes between two scans.

    Parameters
    ----------
    boxes
        ``(K, 6)`` float64: lowest x, y, z, then highest, in the coordinates of the reference.
    classes
        ``"Add"`` or ``"Remove"`` per box.
    scores
        ``(K,)`` confidences, between 0 and 1, both excluded.
    reference_labels, comparison_labels
        Per point, uint8: 0 or 2 (removed) in the reference, 0 or 1 (added) in the comparison.
    seconds
        Wall time by stage.
    facts
        What else a reader should know; plain data.
    """

    boxes: Array
    classes: tuple[str, ...]
    scores: Array
    reference_labels: Array
    comparison_labels: Array
    seconds: Mapping[str, float] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        boxes = np.array(self.boxes, dtype=np.float64).reshape(-1, 6)
        scores = np.array(self.scores, dtype=np.float64).reshape(-1)
        object.__setattr__(self, "boxes", boxes)
        object.__setattr__(self, "scores", scores)
        object.__setattr__(self, "classes", tuple(self.classes))
        if not len(boxes) == len(scores) == len(self.classes):
            sizes = f"{len(boxes)} boxes, {len(self.classes)} classes and {len(scores)} scores"
            raise InputError(f"detection: {sizes}, expected as many of each")
        strange = next((name for name in self.classes if name not in BOX_CLASSES), None)
        if strange is not None:
            raise InputError(f"detection: class {strange!r}, expected {' or '.join(BOX_CLASSES)}")
        if not (np.isfinite(boxes).all() and (boxes[:, :3] < boxes[:, 3:]).all()):
            raise InputError("detection: a box is not finite or has no volume; expected low < high along every axis")
        if not ((scores > 0) & (scores < 1)).all():
            raise InputError("detection: a score is not between 0 and 1, both excluded")
        for name, code in (("reference_labels", 2), ("comparison_labels", 1)):
            labels = np.array(getattr(self, name), dtype=np.uint8).reshape(-1)
            if not ((labels == 0) | (labels == code)).all():
                raise InputError(f"detection: {name} hold other codes than 0 and {code} ({CHANGES[code]})")
            object.__setattr__(self, name, labels)
            labels.flags.writeable = False
        boxes.flags.writeable = scores.flags.writeable = False


class Parameters:
    """Base of built-in systems: every field is a number that is finite and not negative, or a switch."""

    def __post_init__(self) -> None:
        for item in dataclasses.fields(self):  # type: ignore[arg-type]
            value, where = getattr(self, item.name), f"{type(self).__name__}: {item.name}"
            if isinstance(item.default, bool):
                if not isinstance(value, bool):
                    raise InputError(f"{where} is {value!r}, expected true or false")
            elif isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
                raise InputError(f"{where} is {value!r}, expected a number")
            elif not (math.isfinite(value) and value >= 0) or (isinstance(item.default, int) and value != int(value)):
                kind = "whole number" if isinstance(item.default, int) else "number"
                raise InputError(f"{where} is {value!r}, expected a finite {kind} that is not negative")


class Watch:
    """Measures the wall time of stages."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time of a block to a stage."""
        start = perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + perf_counter() - start


def scans(reference: Any, comparison: Any) -> tuple[Array, Array]:
    """Return both scans as ``(N, 3)`` float64, or refuse them."""
    return finite_points(reference, "reference scan"), finite_points(comparison, "comparison scan")


@dataclass(frozen=True)
class Found:
    """What one class has: boxes, their scores, the rows of the points that changed, and facts."""

    boxes: Array
    scores: Array
    rows: Array
    facts: Mapping[str, Any]


def nothing(why: str) -> Found:
    """Return that there is nothing, and why."""
    return Found(np.empty((0, 6)), np.empty(0), np.empty(0, dtype=np.int64), {"why": why})


def assemble(found: Mapping[str, Found], sizes: Mapping[str, int], watch: Watch, facts: Mapping[str, Any]) -> Detection:
    """Return a detection from what both classes have; facts of a class become ``{fact: {class: value}}``.

    Boxes come class by class, in the order of falling scores. ``sizes`` are the points of the scan of each class.
    """
    orders = {name: np.argsort(-found[name].scores, kind="stable") for name in BOX_CLASSES}
    labels = {}
    for name in BOX_CLASSES:
        labels[name] = np.zeros(sizes[name], dtype=np.uint8)
        labels[name][found[name].rows] = code_of(name)
    names = list(dict.fromkeys(key for name in BOX_CLASSES for key in found[name].facts))
    return Detection(
        boxes=np.concatenate([found[name].boxes[orders[name]] for name in BOX_CLASSES]),
        classes=tuple(name for name in BOX_CLASSES for _ in orders[name]),
        scores=np.concatenate([found[name].scores[orders[name]] for name in BOX_CLASSES]),
        reference_labels=labels[REMOVE],
        comparison_labels=labels[ADD],
        seconds=watch.seconds,
        facts={**facts, **{key: {name: found[name].facts.get(key) for name in BOX_CLASSES} for key in names}},
    )


def code_of(name: str) -> int:
    """Return the code of a class of change.

    >>> code_of("Add"), code_of("Remove")
    (1, 2)
    """
    return CHANGES.index(name)
