"""Scores of continuous recognition over many recordings, folded from Ward's categories.

A case (one recording) keeps, per class, the seconds in each category of :mod:`gnomon.measures.events` but TN, and how
many events and returns have each label; the length of its window; and the seconds of each pair of categories. What is
non-zero for a class that a recording does not have (TN, N) is derived from the windows when scores are made.

Measures
--------
time F1, precision, recall
    tp = TP seconds, truth = P, predicted = TP + I + M + Os + Oe; averaged over a class set.
event F1, precision, recall (*correct only*)
    tp = C; truth and predicted = numbers of events and returns.
event hit rate and reliability (*any overlap*)
    non-D / events, and non-I' / returns, over all classes.
rate of a category
    Seconds of a category of one class over P or N of the class.
time accuracy, serious and timing error
    Shares of the windows: time with the right class (or rightly none), with an I, D, M or F, with only O and U.

Undefined cases: no recordings; a class without support; overlapping classes in one track (the shares of the window).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.measure import Measure, Scored
from gnomon.core.signals import Intervals
from gnomon.core.tallies import Array, Field, Tallies, Totals, union
from gnomon.measures.averaging import AveragedRatio, Kind
from gnomon.measures.events import FN_SIDE, FP_SIDE, POSITIVE
from gnomon.numerics import segments as kernel
from gnomon.numerics.segments import CATEGORIES, RETURN_LABELS, TRUTH_LABELS

STORED = tuple(name for name in CATEGORIES if name != "TN")
OUTCOMES = (*TRUTH_LABELS, *RETURN_LABELS)
AXES = {"category": STORED, "outcome": OUTCOMES, "fp": FP_SIDE, "fn": FN_SIDE}
LAYOUT = (
    Field("seconds", ("class", "category"), "sum", "s"),
    Field("events", ("class", "outcome")),
    Field("pairs", ("fp", "fn"), "sum", "s"),
    Field("window_s", (), "sum", "s"),
    Field("unpaired"),
    Field("n"),
)


class WardTally(Measure):
    """Base of the measures over Ward's categories; ``n`` is the number of true events."""

    signal: ClassVar[type] = Intervals
    family: ClassVar[str] = "recognition"
    layout: ClassVar[tuple[Field, ...]] = LAYOUT

    def tally(self, truth: Intervals, prediction: Intervals) -> Tallies:
        """Sum one recording."""
        if truth.window != prediction.window:
            raise InputError(f"truth and prediction have different windows: {truth.window} and {prediction.window}")
        classes = union([truth.classes, prediction.classes])
        place = {label: index for index, label in enumerate(classes)}
        tracks = []
        for side in (truth, prediction):
            codes = np.array([place[label] for label in side.classes], dtype=np.int64)[side.codes]
            tracks.append(kernel.tidy(side.starts, side.ends, codes, len(classes), truth.window))
        return _tally(classes, tracks[0], tracks[1], truth.window)

    def identities(self, tallies: Tallies, ledgers: Any) -> list[str]:
        """Check that time and events can come from recordings."""
        del ledgers
        wrong = []
        events = {name: _column(tallies.fields["events"], tallies.axes["outcome"], name) for name in OUTCOMES}
        if (events["C"] != events["C'"]).any():
            wrong.append("correct events and correct returns differ in number")
        if (np.sum([events[name] for name in TRUTH_LABELS], axis=(0, -1)) != tallies.fields["n"]).any():
            wrong.append("the labels of events do not sum to their number")
        spent = tallies.fields["seconds"].sum(axis=-1) - tallies.fields["window_s"][:, np.newaxis]
        if spent.size and spent.max() > 1e-6 * max(1.0, float(tallies.fields["window_s"].max())):
            wrong.append("a class has more time than its window")
        return wrong


def _tally(
    classes: tuple[str, ...], truth: kernel.Track, returned: kernel.Track, window: tuple[float, float]
) -> Tallies:
    found, seconds = kernel.segments(truth, returned, window)
    labels = kernel.events(found, truth, returned, window)
    counts = []
    for track, codes, names in zip((truth, returned), labels, (TRUTH_LABELS, RETURN_LABELS), strict=True):
        flat = np.bincount(track.codes() * len(names) + codes, minlength=len(classes) * len(names))
        counts.append(flat.reshape(len(classes), len(names)))
    unpaired = kernel.overlapping(truth) or kernel.overlapping(returned)
    pairs = np.zeros((5, 5)) if unpaired else kernel.joint(found, truth, returned, window)[1]
    kept = [CATEGORIES.index(name) for name in STORED]
    fields = {
        "seconds": seconds[np.newaxis][:, :, kept],
        "events": np.concatenate(counts, axis=1)[np.newaxis],
        "pairs": pairs[np.newaxis],
        "window_s": np.array([window[1] - window[0]]),
        "unpaired": np.array([int(unpaired)]),
        "n": np.array([len(truth.starts)]),
    }
    return Tallies(LAYOUT, {"class": classes, **AXES}, fields)


def _column(array: Array, axis: tuple[str, ...], name: str) -> Array:
    return np.asarray(array[..., axis.index(name)])


def _summed(totals: Totals, field: str, axis: str, names: tuple[str, ...]) -> Array:
    return np.asarray(sum(_column(totals[field], totals.axes[axis], name) for name in names))


@dataclass(frozen=True)
class _Viewed(AveragedRatio, WardTally):
    """Averages whose class counts are derived from Ward's categories."""

    title: ClassVar[str]
    prefix: ClassVar[str]

    @property
    def name(self) -> str:
        """Column key."""
        return f"{self.prefix}_{super().name}"

    def view(self, totals: Totals) -> Totals:
        """Return the totals as tp, truth and predicted per class."""
        if self.prefix == "event":
            tp = _summed(totals, "events", "outcome", ("C",))
            truth = _summed(totals, "events", "outcome", TRUTH_LABELS)
            predicted = _summed(totals, "events", "outcome", RETURN_LABELS)
        else:
            tp = _summed(totals, "seconds", "category", ("TP",))
            truth = _summed(totals, "seconds", "category", POSITIVE)
            predicted = _summed(totals, "seconds", "category", ("TP", "I", "M", "Os", "Oe"))
        recordings = np.asarray(totals["window_s"] > 0).astype(np.int64)
        fields = {"tp": tp, "truth": truth, "predicted": predicted, "n": recordings}
        return Totals(fields, {"class": totals.axes["class"]}, totals.batch)

    def freeze(self, totals: Totals) -> Array:
        """Resolve the class set on the whole."""
        return super().freeze(self.view(totals))

    def support(self, totals: Totals, frozen: Array | None) -> Array | None:
        """Classes of a macro average with truth here."""
        return super().support(self.view(totals), frozen)

    def score(self, totals: Totals, frozen: Array | None = None) -> Scored:
        """Average over the class set."""
        return super().score(self.view(totals), frozen)

    def why(self, totals: Totals) -> str:
        """No recording, or no class to average over."""
        return super().why(self.view(totals)).replace("no samples", "no recordings")


@dataclass(frozen=True)
class TimeF1(_Viewed):
    """F1 of time."""

    title: ClassVar[str] = "F1 of time"
    prefix: ClassVar[str] = "time"
    kind: ClassVar[Kind] = "f1"


@dataclass(frozen=True)
class TimePrecision(_Viewed):
    """Precision of time."""

    title: ClassVar[str] = "precision of time"
    prefix: ClassVar[str] = "time"
    kind: ClassVar[Kind] = "precision"


@dataclass(frozen=True)
class TimeRecall(_Viewed):
    """Recall of time."""

    title: ClassVar[str] = "recall of time"
    prefix: ClassVar[str] = "time"
    kind: ClassVar[Kind] = "recall"


@dataclass(frozen=True)
class EventF1(_Viewed):
    """F1 of events, correct ones only."""

    title: ClassVar[str] = "F1 of events, correct only"
    prefix: ClassVar[str] = "event"
    kind: ClassVar[Kind] = "f1"


@dataclass(frozen=True)
class EventPrecision(_Viewed):
    """Precision of events, correct ones only."""

    title: ClassVar[str] = "precision of events, correct only"
    prefix: ClassVar[str] = "event"
    kind: ClassVar[Kind] = "precision"


@dataclass(frozen=True)
class EventRecall(_Viewed):
    """Recall of events, correct ones only."""

    title: ClassVar[str] = "recall of events, correct only"
    prefix: ClassVar[str] = "event"
    kind: ClassVar[Kind] = "recall"


@dataclass(frozen=True)
class AnyOverlap(WardTally):
    """Share of events that are not deleted (``recall``), or of returns that are not insertions (``precision``)."""

    side: Literal["recall", "precision"] = "recall"
    title: ClassVar[str] = "events with any overlap"

    def __post_init__(self) -> None:
        if self.side not in ("recall", "precision"):
            raise InputError(f"side: expected recall or precision, but got {self.side!r}")

    @property
    def name(self) -> str:
        """Column key."""
        return f"any_overlap_{self.side}"

    def score(self, totals: Totals, frozen: Array | None = None) -> Scored:
        """Hits over events or returns, all classes together."""
        del frozen
        names, lost = (TRUTH_LABELS, "D") if self.side == "recall" else (RETURN_LABELS, "I'")
        whole = _summed(totals, "events", "outcome", names).sum(axis=-1)
        return Scored.ratio(whole - _summed(totals, "events", "outcome", (lost,)).sum(axis=-1), whole)

    def why(self, totals: Totals) -> str:
        """Nothing on that side."""
        del totals
        return "no events in truth" if self.side == "recall" else "no returns"


@dataclass(frozen=True)
class CategoryRate(WardTally):
    """Seconds of a category of one class over the class's P (TP, D, F, Us, Ue) or N (TN, I, M, Os, Oe)."""

    label: str
    category: str
    title: ClassVar[str] = "rate of a category"

    def __post_init__(self) -> None:
        if self.category not in CATEGORIES:
            raise InputError(f"category: expected one of {', '.join(CATEGORIES)}, but got {self.category!r}")

    @property
    def direction(self) -> Literal["up", "down"]:  # type: ignore[override]
        """More is better for what is right, less for every error."""
        return "up" if self.category in ("TP", "TN") else "down"

    @property
    def name(self) -> str:
        """Column key."""
        return f"{self.category}r[{self.label}]"

    def score(self, totals: Totals, frozen: Array | None = None) -> Scored:
        """Seconds over P or N."""
        del frozen
        spent = {name: self._of(totals, name) for name in STORED}
        positive = np.sum([spent[name] for name in POSITIVE], axis=0)
        spent["TN"] = totals["window_s"] - np.sum([spent[name] for name in STORED], axis=0)
        whole = positive if self.category in POSITIVE else totals["window_s"] - positive
        return Scored.ratio(np.maximum(spent[self.category], 0.0), whole)

    def _of(self, totals: Totals, category: str) -> Array:
        if self.label not in totals.axes["class"]:
            return np.zeros(totals.batch)
        index = totals.axes["class"].index(self.label)
        return np.asarray(_column(totals["seconds"], totals.axes["category"], category)[..., index])

    def why(self, totals: Totals) -> str:
        """That half of the time is empty."""
        if not float(totals["window_s"]):
            return "no recordings"
        half = "no time of" if self.category in POSITIVE else "no time without"
        return f"{half} class {self.label!r} in truth"

    def count(self, totals: Totals) -> int:
        """True events of the class."""
        axis = totals.axes["class"]
        if self.label not in axis:
            return 0
        return int(_summed(totals, "events", "outcome", TRUTH_LABELS)[axis.index(self.label)])


@dataclass(frozen=True)
class WindowShare(WardTally):
    """Share of the windows that is right (``correct``), seriously wrong (``serious``) or off in time (``timing``)."""

    what: Literal["correct", "serious", "timing"] = "correct"
    title: ClassVar[str] = "share of the windows"

    def __post_init__(self) -> None:
        if self.what not in ("correct", "serious", "timing"):
            raise InputError(f"what: expected correct, serious or timing, but got {self.what!r}")

    @property
    def direction(self) -> Literal["up", "down"]:  # type: ignore[override]
        """More is better for what is right."""
        return "up" if self.what == "correct" else "down"

    @property
    def name(self) -> str:
        """Column key."""
        return {"correct": "time_accuracy"}.get(self.what, f"{self.what}_error")

    def score(self, totals: Totals, frozen: Array | None = None) -> Scored:
        """Seconds over the windows."""
        del frozen
        pairs, fps, fns = totals["pairs"], totals.axes["fp"], totals.axes["fn"]
        grave = np.array([[bool({fp, fn} & {"I", "M", "D", "F"}) for fn in fns] for fp in fps])
        wrong = {"serious": pairs[..., grave].sum(axis=-1), "timing": pairs[..., ~grave].sum(axis=-1)}
        spent = totals["window_s"] - wrong["serious"] - wrong["timing"] if self.what == "correct" else wrong[self.what]
        scored = Scored.ratio(np.maximum(spent, 0.0), totals["window_s"])
        return Scored(scored.values, scored.defined & (totals["unpaired"] == 0))

    def why(self, totals: Totals) -> str:
        """No recording, or overlapping classes."""
        return "classes overlap in one track" if int(totals["unpaired"]) else "no recordings"


MEASURES: tuple[Measure, ...] = (
    EventF1("macro"),
    EventF1("micro"),
    EventPrecision("macro", "present"),
    EventRecall("weighted"),
    TimeF1("macro"),
    TimePrecision("macro", "present", None),
    TimeRecall("micro"),
    AnyOverlap("recall"),
    AnyOverlap("precision"),
    CategoryRate("0", "TP"),
    CategoryRate("1", "Us"),
    CategoryRate("0", "I"),
    WindowShare("correct"),
    WindowShare("serious"),
    WindowShare("timing"),
)
