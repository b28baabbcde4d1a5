"""What a recording leaves of Ward's categories: seconds, events and pairs. :mod:`gnomon.measures.recognition` folds it.

A case keeps, per class, the seconds in each category of :mod:`gnomon.measures.events` but TN, and how many events and
returns have each label; the length of its window, and how much of it is free of any true event; the class-seconds of
each pair of categories, and by how much the class-seconds of the window exceed its seconds
(:mod:`gnomon.numerics.joint_labels` says what class-seconds are).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gnomon.core.measure import Measure
from gnomon.core.signals import Intervals
from gnomon.core.tallies import Array, Field, Tallies, Totals
from gnomon.measures import _stretches
from gnomon.measures.events import FN_SIDE, FP_SIDE
from gnomon.numerics import segments as kernel
from gnomon.numerics.joint_labels import Joint, joints
from gnomon.numerics.segments import CATEGORIES, RETURN_LABELS, TRUTH_LABELS

STORED = tuple(name for name in CATEGORIES if name != "TN")
OUTCOMES = (*TRUTH_LABELS, *RETURN_LABELS)
AXES = {"category": STORED, "outcome": OUTCOMES, "fp": FP_SIDE, "fn": FN_SIDE}
LAYOUT = (
    Field("seconds", ("class", "category"), "sum", "s"),
    Field("events", ("class", "outcome")),
    Field("pairs", ("fp", "fn"), "sum", "s"),
    Field("window_s", (), "sum", "s"),
    Field("null_s", (), "sum", "s"),
    Field("overlap_s", (), "sum", "s"),
    Field("n"),
)


class WardTally(Measure):
    """Base of the measures over Ward's categories; ``n`` is the number of true events."""

    signal: ClassVar[type] = Intervals
    family: ClassVar[str] = "recognition"
    layout: ClassVar[tuple[Field, ...]] = LAYOUT

    def tally(self, truth: Intervals, prediction: Intervals) -> Tallies:
        """Sum one recording."""
        pair, windows = _stretches.paired(truth, prediction), np.array([truth.window])
        return tally_cases(pair, windows, segmented(pair, windows))

    def identities(self, tallies: Tallies, ledgers: Any) -> list[str]:
        """Check that time and events can come from recordings."""
        del ledgers
        wrong = []
        events = {name: column(tallies.fields["events"], tallies.axes["outcome"], name) for name in OUTCOMES}
        if (events["C"] != events["C'"]).any():
            wrong.append("correct events and correct returns differ in number")
        if (np.sum([events[name] for name in TRUTH_LABELS], axis=(0, -1)) != tallies.fields["n"]).any():
            wrong.append("the labels of events do not sum to their number")
        spent = tallies.fields["seconds"].sum(axis=-1) - tallies.fields["window_s"][:, np.newaxis]
        if spent.size and spent.max() > 1e-6 * max(1.0, float(tallies.fields["window_s"].max())):
            wrong.append("a class has more time than its window")
        if (tallies.fields["null_s"] > tallies.fields["window_s"] * (1 + 1e-9)).any():
            wrong.append("a window has more time without events than time")
        if not _pairs_fit(tallies):
            wrong.append("the pairs of a category do not sum to its seconds by class")
        return wrong


def class_seconds(fields: Mapping[str, Array] | Totals) -> Array:
    """Return the denominator of every share of time: the seconds of the windows, and what overlapping classes add."""
    return np.asarray(fields["window_s"] + fields["overlap_s"])


def wrong_shares(tallies: Tallies) -> Array:
    """Return the share of the class-seconds of every recording that is wrong."""
    wrong = tallies.fields["pairs"].sum(axis=(1, 2))
    return np.asarray(wrong / class_seconds(tallies.fields))


def _pairs_fit(tallies: Tallies) -> bool:
    """Say whether the pairs of every category sum to what the classes spend in it."""
    fields, axes = tallies.fields, tallies.axes
    slack = 1e-6 * np.maximum(1.0, class_seconds(fields))
    for axis, other in (("fp", 2), ("fn", 1)):
        paired = fields["pairs"].sum(axis=other)
        for name in axes[axis]:
            if name in axes["category"]:
                spent = column(fields["seconds"], axes["category"], name).sum(axis=-1)
                if (np.abs(column(paired, axes[axis], name) - spent) > slack).any():
                    return False
    return True


@dataclass(frozen=True)
class Segmented:
    """Segments of many recordings: seconds by group and category, labels of events and returns, and joint tables."""

    seconds: Array
    labels: tuple[Array, Array]
    tables: Joint


def segmented(pair: _stretches.Pair, windows: Array) -> Segmented:
    """Go through many recordings once; they are clipped to their windows, ``(recordings, 2)``."""
    tracks = pair.tracks()
    edges = windows[pair.recording_of, 0], windows[pair.recording_of, 1]
    found, seconds = kernel.segments(*tracks, edges)
    tables = joints(found, *tracks, windows, pair.recording_of)
    return Segmented(seconds, kernel.events(found, *tracks, edges), tables)


def tally_cases(pair: _stretches.Pair, windows: Array, found: Segmented) -> Tallies:
    """Sum many recordings, one row each."""
    truth, returned = pair.tracks()
    counts = []
    for track, codes, names in zip((truth, returned), found.labels, (TRUTH_LABELS, RETURN_LABELS), strict=True):
        flat = np.bincount(track.codes() * len(names) + codes, minlength=pair.groups * len(names))
        counts.append(flat.reshape(pair.groups, len(names)))
    kept = [CATEGORIES.index(name) for name in STORED]
    fields = {
        "seconds": _placed(pair, found.seconds[:, kept]),
        "events": _placed(pair, np.concatenate(counts, axis=1)),
        "pairs": found.tables.pairs,
        "window_s": windows[:, 1] - windows[:, 0],
        "null_s": _stretches.uncovered(pair, windows),
        "overlap_s": found.tables.overlap_s,
        "n": np.bincount(pair.recording_of[truth.codes()], minlength=len(windows)),
    }
    return Tallies(LAYOUT, {"class": tuple(pair.labels), **AXES}, fields)


def _placed(pair: _stretches.Pair, values: Array) -> Array:
    """Return values by group ``(groups, k)`` as those of recordings and classes, zeros where there is no group."""
    out = np.zeros((len(pair.recordings), len(pair.labels), values.shape[1]), values.dtype)
    out[pair.recording_of, pair.class_of] = values
    return out


def column(array: Array, axis: tuple[str, ...], name: str) -> Array:
    """Return one entry of the last axis."""
    return np.asarray(array[..., axis.index(name)])


def summed(totals: Totals, field: str, axis: str, names: tuple[str, ...]) -> Array:
    """Return the sum of some entries of a field's last axis."""
    return np.asarray(sum(column(totals[field], totals.axes[axis], name) for name in names))
