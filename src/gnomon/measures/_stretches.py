"""Stretches of time as the measures of events take them: one recording or several, with classes and perhaps scores.

Conventions
-----------
- A recording is a sequence of ``(start, end)``, ``(start, end, label)`` or, for predictions, ``(start, end, label,
  score)``, or a tuple of arrays in this order; in any order of time. Several recordings are a mapping from a
  recording's name to its stretches, with the same names on both sides: a recording in which nothing was returned holds
  an empty sequence.
- Stretches are half-open ``[start, end)`` in seconds; empty ones are dropped. What is given as ``background`` is
  dropped too: time that nothing covers is background.
- A *group* is one class in one recording; only stretches of one group are ever compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gnomon.core.errors import InputError, some
from gnomon.core.tallies import Array
from gnomon.measures.events import EVENT, _codes, _times, _window
from gnomon.numerics import segments as kernel
from gnomon.numerics.segments import Track

ONE = "recording"
"""Name of the only recording where recordings are not named."""


@dataclass(frozen=True)
class Side:
    """Stretches of truth or of prediction: starts, ends, groups, and scores where there are some."""

    starts: Array
    ends: Array
    groups: Array
    scores: Array | None = None

    def only(self, kept: Array) -> Side:
        """Return some of the stretches."""
        scores = None if self.scores is None else self.scores[kept]
        return Side(self.starts[kept], self.ends[kept], self.groups[kept], scores)


@dataclass(frozen=True)
class Pair:
    """Truth and prediction over common recordings, classes and groups; a group knows its recording and its class."""

    recordings: list[Any]
    labels: list[Any]
    truth: Side
    prediction: Side
    recording_of: Array
    class_of: Array

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return len(self.class_of)

    def track(self, side: Side, *, keep_abutting: bool = False) -> Track:
        """Return stretches by group and time, overlapping (and, unless kept apart, abutting) ones united."""
        whole = (-np.inf, np.inf)
        return kernel.tidy(side.starts, side.ends, side.groups, self.groups, whole, keep_abutting=keep_abutting)

    def count(self, groups: Array) -> Array:
        """Count groups by class."""
        return np.bincount(self.class_of[groups], minlength=len(self.labels))

    def by_class(self, groups: Array, values: Array) -> list[Array]:
        """Return the values of each class, given their groups."""
        classes = self.class_of[groups]
        order = np.argsort(classes, kind="stable")
        ends = np.cumsum(np.bincount(classes, minlength=len(self.labels)))
        return np.split(values[order], ends[:-1]) if self.labels else []

    def clipped(self, windows: Array) -> Pair:
        """Return what lies within the windows of the recordings, ``(recordings, 2)``."""
        sides = []
        for side in (self.truth, self.prediction):
            low, high = windows[self.recording_of[side.groups]].T
            inside = replace(side, starts=np.maximum(side.starts, low), ends=np.minimum(side.ends, high))
            sides.append(inside.only(inside.starts < inside.ends))
        return replace(self, truth=sides[0], prediction=sides[1])


def read(truth: Any, prediction: Any, *, background: Any = (), scores: bool = False) -> Pair:
    """Read both sides; with ``scores`` every prediction needs one."""
    names, sides = _recordings(truth, prediction)
    columns = [_joined(side, name) for side, name in zip(sides, ("truth", "prediction"), strict=True)]
    if scores and columns[1][4] is None and len(columns[1][0]):
        raise InputError(
            "prediction: expected (start, end, label, score), but got no scores: this measure ranks by them"
        )
    labels, codes = _classes(columns[0][2], columns[1][2], [len(side[0]) for side in columns])
    unwanted = _background(background)
    wanted = np.array([label not in unwanted for label in labels], dtype=bool)
    labels = [label for label in labels if label not in unwanted]
    rank, width = np.cumsum(wanted) - 1, max(len(labels), 1)
    found = []
    for (starts, ends, _, recording, given), code in zip(columns, codes, strict=True):
        kept = np.flatnonzero((starts < ends) & wanted[code])
        side = Side(starts, ends, recording * width + rank[code], given)
        found.append(side.only(kept))
    used, groups = np.unique(np.concatenate([side.groups for side in found]), return_inverse=True)
    cut = len(found[0].groups)
    true, returned = (replace(s, groups=g) for s, g in zip(found, (groups[:cut], groups[cut:]), strict=True))
    return Pair(names, labels, true, returned, used // width, used % width)


def arranged(side: Side, groups: int) -> tuple[Track, Array]:
    """Return stretches by group and time, none united, and their order."""
    order = np.lexsort((side.ends, side.starts, side.groups))
    offsets = np.concatenate([[0], np.cumsum(np.bincount(side.groups, minlength=groups))])
    return Track(side.starts[order], side.ends[order], offsets.astype(np.int64)), order


def windows(pair: Pair, window: Any) -> Array:
    """Return the window of every recording, ``(recordings, 2)``: one for all, or a mapping by recording."""
    if not isinstance(window, Mapping):
        return np.array([_window(window)] * len(pair.recordings)).reshape(-1, 2)
    if set(window) != set(pair.recordings):
        odd = set(window) ^ set(pair.recordings)
        raise InputError(f"window: expected one per recording, but {some(sorted(map(str, odd)))} is on one side only")
    return np.array([_window(window[name]) for name in pair.recordings]).reshape(-1, 2)


def limits(thresholds: Any, name: str = "thresholds") -> Array:
    """Return thresholds between 0 (exclusive) and 1."""
    try:
        values = np.array(thresholds, dtype=np.float64, ndmin=1)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}: expected numbers, but got {thresholds!r:.80}") from error
    if values.ndim != 1 or not len(values) or not ((values > 0) & (values <= 1)).all():
        raise InputError(f"{name}: expected values above 0 and up to 1, but got {thresholds!r:.80}")
    return values


def gathered(**parts: dict[str, Any]) -> dict[str, Any]:
    """Return results by name, with the reasons of all of them under one ``undefined``."""
    undefined = {f"{name}.{key}": why for name, part in parts.items() for key, why in part["undefined"].items()}
    cut = {name: {key: part[key] for key in part if key != "undefined"} for name, part in parts.items()}
    return {**cut, "undefined": undefined}


def _background(background: Any) -> set[Any]:
    try:
        return {background} if isinstance(background, (str, int)) else set(background)
    except TypeError as error:
        raise InputError(f"background: expected a label or several, but got {background!r:.80}") from error


def _recordings(truth: Any, prediction: Any) -> tuple[list[Any], tuple[list[Any], list[Any]]]:
    if isinstance(truth, Mapping) != isinstance(prediction, Mapping):
        raise InputError("one side is a mapping by recording and the other is not: give both in the same form")
    if not isinstance(truth, Mapping):
        return [ONE], ([truth], [prediction])
    if set(truth) != set(prediction):
        odd = sorted(map(str, set(truth) ^ set(prediction)))
        raise InputError(
            f"recordings differ: {some(odd)} on one side only; where nothing was returned give an empty list"
        )
    names = list(truth)
    return names, ([truth[name] for name in names], [prediction[name] for name in names])


def _joined(recordings: list[Any], side: str) -> tuple[Array, Array, Any, Array, Array | None]:
    """Return starts, ends, labels (or ``None``), recordings and scores (or ``None``) of all recordings."""
    parts = [part for part in ((k, *_read(given, side)) for k, given in enumerate(recordings)) if len(part[1])]
    if not parts:
        return np.zeros(0), np.zeros(0), None, np.zeros(0, np.int64), None
    if len({part[3] is None for part in parts}) > 1 or len({part[4] is None for part in parts}) > 1:
        raise InputError(f"{side}: some recordings have labels or scores and others have none")
    starts, ends = (np.concatenate([part[k] for part in parts]) for k in (1, 2))
    recording = np.repeat([part[0] for part in parts], [len(part[1]) for part in parts]).astype(np.int64)
    labels = parts[0][3]
    if labels is not None and len(parts) > 1:
        labels = [label for part in parts for label in np.asarray(part[3], dtype=object).tolist()]
    scores = None if parts[0][4] is None else np.concatenate([part[4] for part in parts])
    return starts, ends, labels, recording, scores


def _classes(true: Any, returned: Any, lengths: list[int]) -> tuple[list[Any], tuple[Array, Array]]:
    given = [labels is not None for labels, n in zip((true, returned), lengths, strict=True) if n]
    if not any(given):
        return [EVENT] * any(lengths), (np.zeros(lengths[0], np.int64), np.zeros(lengths[1], np.int64))
    if not all(given):
        raise InputError("one side has labels and the other has none: give labels to both, or to neither")
    labels, first, second = _codes(true, returned)
    return labels, (first, second)


def _read(given: Any, side: str) -> tuple[Array, Array, Any, Array | None]:
    """Return starts, ends, labels and scores of one recording."""
    most = 4 if side == "prediction" else 3
    if isinstance(given, tuple) and 2 <= len(given) <= most and all(isinstance(part, np.ndarray) for part in given):
        columns: tuple[Any, ...] = given
    else:
        columns = _columns(given, side, most)
    starts, ends, *rest = (_times(column, side) for column in (*columns[:2], *columns[3:]))
    if len({len(column) for column in columns}) > 1:
        raise InputError(f"{side}: expected columns of one length, but got {[len(column) for column in columns]}")
    wrong = np.flatnonzero(ends < starts)
    if len(wrong):
        where = int(wrong[0])
        raise InputError(f"{side}: interval {where} ends before it starts: [{starts[where]}, {ends[where]})")
    return starts, ends, columns[2] if len(columns) > 2 else None, rest[0] if rest else None


def _columns(given: Any, side: str, most: int) -> tuple[Any, ...]:
    form = "(start, end[, label[, score]])" if most == 4 else "(start, end[, label])"
    try:
        rows = [tuple(row) for row in given]
    except TypeError as error:
        raise InputError(f"{side}: expected a sequence of {form}, but got {given!r:.80}") from error
    widths = {len(row) for row in rows}
    if len(widths) > 1 or not widths <= set(range(2, most + 1)):
        raise InputError(f"{side}: expected rows of {form}, all of one width, but got widths {sorted(widths)}")
    return tuple(zip(*rows, strict=True)) if rows else ([], [])
