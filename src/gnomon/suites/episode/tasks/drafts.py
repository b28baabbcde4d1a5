"""The samples of one task in one episode, before they are split: what they read, and which windows cannot be used.

A sample reads a range of frames for its input (its window, or all from the first to the last frame of a pair of
windows) and one for its target: the window itself, the frames around its centre, or frames after its end. The target of
a pair reads nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from gnomon.core.tallies import Array
from gnomon.suites.episode.features.blocks import NAMES
from gnomon.suites.episode.features.windows import LENGTH
from gnomon.suites.episode.tasks import targets
from gnomon.suites.episode.tasks.data import Recorded
from gnomon.suites.episode.tasks.declared import Task

NO_LABEL = "no label"
NO_COMMON = "no label in 60 % of the labelled frames"
TOO_LATE = "the target lies after the end of the episode"
NO_CONTACTS = "no valid contact scores"
NO_HANDS = "no valid hand in the target"
NO_STREAM = "no valid stream in the target"
NO_PARTNER = "no second window"


@dataclass(frozen=True, eq=False)
class Draft:
    """Samples of one episode.

    Attributes
    ----------
    rows
        ``(n,)`` window of each sample, or ``(n, 2)`` both windows of a pair.
    input_range, target_range
        ``(n, 2)`` half-open frames.
    labels
        Class of each sample, for tasks with classes.
    sets
        Names of each sample, for multi-label tasks.
    dropped
        How many windows give no sample, by reason.
    """

    rows: Array
    input_range: Array
    target_range: Array
    labels: tuple[str, ...] = ()
    sets: tuple[frozenset[str], ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)

    @property
    def units(self) -> Array:
        """Number of the unit of each sample, in time: samples of one pair are one unit."""
        n = len(self.rows)
        return np.arange(n) // 2 if self.rows.ndim == 2 else np.arange(n)

    @property
    def reads(self) -> Array:
        """``(n, 2)``: from the first to the last frame that the unit of a sample reads, for input or target."""
        low = np.minimum(self.input_range[:, 0], self.target_range[:, 0])
        high = np.maximum(self.input_range[:, 1], self.target_range[:, 1])
        if self.rows.ndim == 2:
            low = np.repeat(low.reshape(-1, 2).min(axis=1), 2)
            high = np.repeat(high.reshape(-1, 2).max(axis=1), 2)
        return np.stack([low, high], axis=1)


def draft(task: Task, one: Recorded, variant: str) -> Draft:
    """Return the samples of a task in an episode."""
    return _DRAFTS[task.name](task, one, variant)


def _windows(one: Recorded) -> Array:
    return np.stack([one.windows, one.windows + LENGTH], axis=1)


def _draft(
    one: Recorded,
    usable: Array,
    why: str,
    target_range: Array | None = None,
    labels: tuple[str, ...] = (),
    sets: tuple[frozenset[str], ...] = (),
) -> Draft:
    """Return a sample for every usable window."""
    rows = np.flatnonzero(usable)
    kept = rows.tolist()
    lost = len(usable) - len(kept)
    return Draft(
        rows=rows,
        input_range=_windows(one)[rows],
        target_range=(_windows(one) if target_range is None else target_range)[rows],
        labels=tuple(labels[row] for row in kept) if labels else (),
        sets=tuple(sets[row] for row in kept) if sets else (),
        dropped={why: lost} if lost else {},
    )


def _named(labels: tuple[str, ...]) -> Array:
    return np.array([bool(label) for label in labels], dtype=np.bool_)


def _classes(task: Task, positive: Array) -> tuple[str, ...]:
    return tuple(task.classes[flag] for flag in positive.astype(np.int64).tolist())


def _timeline(task: Task, one: Recorded, _: str) -> Draft:
    labels = targets.majorities(one, task.name.removeprefix("timeline_"))
    return _draft(one, _named(labels), NO_COMMON, labels=labels)


def _transition(task: Task, one: Recorded, _: str) -> Draft:
    ranges = targets.around(one, task.tolerance)
    labels = _classes(task, targets.changes(one, ranges))
    return _draft(one, targets.annotated(one, ranges), NO_LABEL, ranges, labels)


def _next(task: Task, one: Recorded, variant: str) -> Draft:
    frames, labels = targets.later(one, task.horizon)
    has = _named(labels)
    inside = (one.windows + LENGTH + task.horizon <= one.n_frames) | (variant == "published")
    kept = _draft(one, inside & has, "", np.stack([frames, frames + 1], axis=1), labels)
    return _because(kept, {NO_LABEL: int((inside & ~has).sum()), TOO_LATE: int((~inside).sum())})


def _because(found: Draft, reasons: Mapping[str, int]) -> Draft:
    return replace(found, dropped={why: count for why, count in reasons.items() if count})


def _forecast(task: Task, one: Recorded, variant: str) -> Draft:
    stops = one.windows + LENGTH + task.horizon
    ranges = np.stack([one.windows + LENGTH, stops], axis=1)
    inside = stops <= one.n_frames
    usable = inside.copy()
    if variant == "strict":
        valid = targets.flags(one, variant).valid
        usable[inside] = targets.ahead(valid, one.windows[inside], task.horizon).any(axis=(1, 2))
    kept = _draft(one, usable, "", ranges)
    return _because(kept, {TOO_LATE: int((~inside).sum()), NO_HANDS: int((inside & ~usable).sum())})


def _contact(task: Task, one: Recorded, variant: str) -> Draft:
    contact, valid = targets.touched(one, variant)
    usable = valid if variant == "strict" else np.ones_like(valid)
    return _draft(one, usable, NO_CONTACTS, labels=_classes(task, contact))


def _objects(__: Task, one: Recorded, _: str) -> Draft:
    return _draft(one, np.ones(len(one.windows), dtype=np.bool_), "", sets=targets.objects(one))


def _features(task: Task, one: Recorded, variant: str) -> Draft:
    usable: Array = np.ones(len(one.windows), dtype=np.bool_)
    if variant == "strict":
        places = [NAMES.index(name) for name in task.target_blocks]
        usable = np.any(one.features.coverage[:, places] > 0, axis=1)
    return _draft(one, usable, NO_STREAM)


def _pairs(task: Task, one: Recorded, _: str) -> Draft:
    """Return both samples of every pair, the positive one first."""
    count = max(len(one.windows) - task.shift, 0)
    a = np.arange(count, dtype=np.int64)
    b = a + task.shift
    ordered = task.name == "temporal_order"
    positive, negative = ((a, b), (b, a)) if ordered else ((a, a), (a, b))
    rows = np.stack([np.stack(positive, axis=1), np.stack(negative, axis=1)], axis=1).reshape(-1, 2)
    low, high = one.windows[rows.min(axis=1)], one.windows[rows.max(axis=1)] + LENGTH
    lost = len(one.windows) - count
    return Draft(
        rows=rows,
        input_range=np.stack([low, high], axis=1),
        target_range=np.stack([low, low], axis=1),
        labels=(task.classes[1], task.classes[0]) * count,
        dropped={NO_PARTNER: lost} if lost else {},
    )


_DRAFTS: Mapping[str, Callable[[Task, Recorded, str], Draft]] = MappingProxyType(
    {
        "timeline_action": _timeline,
        "timeline_subtask": _timeline,
        "transition_detection": _transition,
        "next_action": _next,
        "hand_trajectory_forecast": _forecast,
        "contact_prediction": _contact,
        "object_relevance": _objects,
        "caption_grounding": _features,
        "cross_modal_retrieval": _features,
        "modality_reconstruction": _features,
        "temporal_order": _pairs,
        "misalignment_detection": _pairs,
    }
)
"""How the samples of every task are made."""
