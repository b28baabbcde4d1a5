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

The functions of these measures share three parameters: ``truth`` and ``prediction``, as above, and ``background``, a
label, or several, that count as nothing. Those with a ``window`` score the time from its start to its end and clip
everything to it; it is one for all recordings, or a mapping of them by recording.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np

from gnomon.core.errors import InputError, some
from gnomon.core.signals import NONE, Intervals
from gnomon.core.tallies import Array, union
from gnomon.measures._reading import EVENT, encode, read_side, read_window
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

    def tracks(self) -> tuple[Track, Track]:
        """Return both sides by group and time, overlapping and abutting stretches united; made once."""
        return self._tracks

    @cached_property
    def _tracks(self) -> tuple[Track, Track]:
        return self.track(self.truth), self.track(self.prediction)

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
    lengths = len(columns[0][0]), len(columns[1][0])
    labels, *codes = encode(columns[0][2], columns[1][2], lengths)
    labels = labels or [EVENT] * any(lengths)
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


def read_within(truth: Any, prediction: Any, window: Any, *, background: Any = ()) -> tuple[Pair, Array]:
    """Read both sides, clipped to windows, and the windows of the recordings, ``(recordings, 2)``."""
    pair = read(truth, prediction, background=background)
    limits = _windows(pair, window)
    return pair.clipped(limits), limits


def paired(truth: Intervals, prediction: Intervals) -> Pair:
    """Return one recording that is given as signals, clipped to its window; its groups are its classes."""
    if truth.window != prediction.window:
        raise InputError(f"truth and prediction have different windows: {truth.window} and {prediction.window}")
    classes = union([truth.classes, prediction.classes])
    place = {label: index for index, label in enumerate(classes)}
    sides = []
    for given in (truth, prediction):
        codes = np.array([*(place[label] for label in given.classes), NONE], dtype=np.int64)[given.codes]
        sides.append(Side(given.starts, given.ends, codes, given.scores).only(codes != NONE))
    groups = np.arange(len(classes))
    return Pair([ONE], list(classes), sides[0], sides[1], np.zeros_like(groups), groups).clipped(
        np.array([truth.window])
    )


def together(truth: Sequence[Intervals], prediction: Sequence[Intervals]) -> tuple[Pair, Array]:
    """Return recordings that are given as signals, clipped to their windows, and the windows, ``(recordings, 2)``.

    A recording is called by its number. Predictions have scores where all that hold anything do.
    """
    for true, returned in zip(truth, prediction, strict=True):
        if true.window != returned.window:
            raise InputError(f"truth and prediction have different windows: {true.window} and {returned.window}")
    classes = union([one.classes for side in (truth, prediction) for one in side])
    place, width = {label: index for index, label in enumerate(classes)}, max(len(classes), 1)
    sides = [_numbered(side, place, width) for side in (truth, prediction)]
    used, groups = np.unique(np.concatenate([side.groups for side in sides]), return_inverse=True)
    cut = len(sides[0].groups)
    true_side, returned_side = (
        replace(side, groups=own) for side, own in zip(sides, (groups[:cut], groups[cut:]), strict=True)
    )
    windows = np.array([one.window for one in truth]).reshape(-1, 2)
    names = list(range(len(truth)))
    return Pair(names, list(classes), true_side, returned_side, used // width, used % width).clipped(windows), windows


def _numbered(signals: Sequence[Intervals], place: Mapping[str, int], width: int) -> Side:
    """Return the stretches of all recordings; a group is the number of a recording times ``width``, plus a class."""
    groups = [np.zeros(0, np.int64)]
    for number, one in enumerate(signals):
        codes = np.array([*(place[label] for label in one.classes), NONE], dtype=np.int64)[one.codes]
        groups.append(np.where(codes == NONE, NONE, codes + number * width))
    starts, ends = (
        np.concatenate([np.zeros(0), *(getattr(one, edge) for one in signals)]) for edge in ("starts", "ends")
    )
    given = [one.scores for one in signals if len(one) and one.scores is not None]
    scored = bool(given) and len(given) == sum(len(one) > 0 for one in signals)
    scores = np.concatenate(given) if scored else None
    whole = np.concatenate(groups)
    return Side(starts, ends, whole, scores).only(whole != NONE)


def uncovered(pair: Pair, windows: Array) -> Array:
    """Return the seconds of each recording's window in which truth holds nothing of any class; none is exactly 0."""
    recordings, whole = len(pair.recordings), (-np.inf, np.inf)
    side = pair.truth
    track = kernel.tidy(side.starts, side.ends, pair.recording_of[side.groups], recordings, whole)
    gaps = np.insert(track.starts, track.offsets[1:], windows[:, 1])
    gaps -= np.insert(track.ends, track.offsets[:-1], windows[:, 0])
    of = np.repeat(np.arange(recordings), np.diff(track.offsets) + 1)
    return np.bincount(of, weights=gaps, minlength=recordings)


def arranged(side: Side, groups: int) -> tuple[Track, Array]:
    """Return stretches by group and time, none united, and their order."""
    order = np.lexsort((side.ends, side.starts, side.groups))
    offsets = np.concatenate([[0], np.cumsum(np.bincount(side.groups, minlength=groups))])
    return Track(side.starts[order], side.ends[order], offsets.astype(np.int64)), order


def limits(thresholds: Any, name: str = "thresholds") -> Array:
    """Return thresholds between 0 (exclusive) and 1."""
    try:
        values = np.array(thresholds, dtype=np.float64, ndmin=1)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}: expected numbers, but got {thresholds!r:.80}") from error
    if values.ndim != 1 or not len(values) or not ((values > 0) & (values <= 1)).all():
        raise InputError(f"{name}: expected values above 0 and up to 1, but got {thresholds!r:.80}")
    return values


def amount(value: Any, name: str) -> float:
    """Return a number of 0 or more."""
    try:
        number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else np.nan
    except OverflowError:
        number = np.inf
    if not 0 <= number < np.inf:
        raise InputError(f"{name}: expected a number of 0 or more, but got {value!r:.80}")
    return number


def gathered(**parts: dict[str, Any]) -> dict[str, Any]:
    """Return results by name, with the reasons of all of them under one ``undefined``."""
    undefined = {f"{name}.{key}": why for name, part in parts.items() for key, why in part["undefined"].items()}
    cut = {name: {key: part[key] for key in part if key != "undefined"} for name, part in parts.items()}
    return {**cut, "undefined": undefined}


def _windows(pair: Pair, window: Any) -> Array:
    if not isinstance(window, Mapping):
        return np.array([read_window(window)] * len(pair.recordings)).reshape(-1, 2)
    if set(window) != set(pair.recordings):
        odd = set(window) ^ set(pair.recordings)
        raise InputError(f"window: expected one per recording, but {some(sorted(map(str, odd)))} is on one side only")
    return np.array([read_window(window[name]) for name in pair.recordings]).reshape(-1, 2)


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
    sides = (read_side(given, side, scores=side == "prediction") for given in recordings)
    parts = [(k, *part) for k, part in enumerate(sides) if len(part[0])]
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
