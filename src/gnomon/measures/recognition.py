"""Scores of continuous recognition over many recordings, folded from Ward's categories.

A case is one recording; :mod:`gnomon.measures._ward` says what is kept of it. What is non-zero for a class that a
recording does not have (TN, N) is derived from the windows when scores are made.

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
time accuracy, serious, timing and substitution error
    Shares of the class-seconds: right (or rightly nothing), with an I, D, M or F, with only O and U, of one class taken
    for another. Class-seconds are the seconds of the windows; where several classes are true or returned at once, a
    moment counts once for each of them (:mod:`gnomon.numerics.joint_labels`). Accuracy, serious and timing error sum to
    1, with or without overlaps.
false alarms per hour
    I' of all classes over hours of the windows (``total``), or of their time without any true event (``null``).

Undefined cases: no recordings; a class without support; no time without events (false alarms per NULL hour).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.measure import Direction, Measure, Scored
from gnomon.core.tallies import Array, Totals
from gnomon.measures._ward import STORED, WardTally, class_seconds, column, summed
from gnomon.measures.accumulate import Accumulator, score_function
from gnomon.measures.averaging import AveragedRatio, Kind
from gnomon.measures.events import POSITIVE
from gnomon.measures.recordings import Stored, accumulate_recordings, evaluate_recordings
from gnomon.measures.timing import HOUR_S
from gnomon.numerics.segments import CATEGORIES, RETURN_LABELS, TRUTH_LABELS


class _Viewed(AveragedRatio, WardTally):
    """Averages whose counts by class are sums over some of Ward's categories; one subclass for each kind of ratio."""

    prefix: ClassVar[str]
    of: ClassVar[str]
    field: ClassVar[str]
    axis: ClassVar[str]
    parts: ClassVar[dict[str, tuple[str, ...]]]

    def __init_subclass__(cls, kind: Kind | None = None) -> None:
        super().__init_subclass__()
        if kind is not None:
            cls.kind, cls.title = kind, f"{'F1' if kind == 'f1' else kind} of {cls.of}"

    @property
    def name(self) -> str:
        """Column key."""
        return f"{self.prefix}_{super().name}"

    def view(self, totals: Totals) -> Totals:
        """Return the totals as tp, truth and predicted per class."""
        fields = {part: summed(totals, self.field, self.axis, names) for part, names in self.parts.items()}
        fields["n"] = np.asarray(totals["window_s"] > 0).astype(np.int64)
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

    def score_each(self, totals: Totals) -> Scored:
        """Average over the classes that each single group or recording has in truth."""
        return super().score_each(self.view(totals))

    def why(self, totals: Totals) -> str:
        """No recording, or no class to average over."""
        return super().why(self.view(totals)).replace("no samples", "no recordings")


class _OfTime(_Viewed):
    prefix, of, field, axis = "time", "time", "seconds", "category"
    parts: ClassVar = {"tp": ("TP",), "truth": POSITIVE, "predicted": ("TP", "I", "M", "Os", "Oe")}


class _OfEvents(_Viewed):
    prefix, of, field, axis = "event", "events, correct only", "events", "outcome"
    parts: ClassVar = {"tp": ("C",), "truth": TRUTH_LABELS, "predicted": RETURN_LABELS}


class TimeF1(_OfTime, kind="f1"):
    """F1 of time: twice the seconds in which a class is true and returned, over its seconds on both sides."""


class TimePrecision(_OfTime, kind="precision"):
    """Precision of time: of the seconds that were returned as a class, the share in which it is true."""


class TimeRecall(_OfTime, kind="recall"):
    """Recall of time: of the seconds of a class in truth, the share in which it was returned."""


class EventF1(_OfEvents, kind="f1"):
    """F1 of events: right is an event that meets one return of its class, and that return no other event."""


class EventPrecision(_OfEvents, kind="precision"):
    """Precision of events: of the returns of a class, the share that meet one event, and that event no other return."""


class EventRecall(_OfEvents, kind="recall"):
    """Recall of events: of the events of a class, the share that meet one return, and that return no other event."""


@dataclass(frozen=True)
class AnyOverlap(WardTally):
    """What is met at all, however briefly, over all classes together.

    Parameters
    ----------
    side
        ``recall``: share of the events that share any time with a return of their class; ``precision``: share of the
        returns that share any time with an event of their class.
    """

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
        whole = summed(totals, "events", "outcome", names).sum(axis=-1)
        return Scored.ratio(whole - summed(totals, "events", "outcome", (lost,)).sum(axis=-1), whole)

    def why(self, totals: Totals) -> str:
        """No recording, or nothing on that side."""
        if not float(totals["window_s"]):
            return "no recordings"
        return "no events in truth" if self.side == "recall" else "no returns"


@dataclass(frozen=True)
class CategoryRate(WardTally):
    """Seconds of a category of one class over the class's P (TP, D, F, Us, Ue) or N (TN, I, M, Os, Oe).

    Parameters
    ----------
    category
        ``TP``: of the time of the class, what was found; ``D``: of the time of the class, events that were missed;
        ``F``: of the time of the class, gaps inside of events; ``Us``: of the time of the class, what was lost at
        starts; ``Ue``: of the time of the class, what was lost at ends; ``TN``: of the other time, what was left alone;
        ``I``: of the other time, what was inserted; ``M``: of the other time, what joins two events; ``Os``: of the
        other time, what runs ahead of starts; ``Oe``: of the other time, what runs on after ends.
    """

    label: str
    category: str
    title: ClassVar[str] = "rate of a category"

    def __post_init__(self) -> None:
        if self.category not in CATEGORIES:
            raise InputError(f"category: expected one of {', '.join(CATEGORIES)}, but got {self.category!r}")

    @property
    def direction(self) -> Direction:  # type: ignore[override]
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
        return np.asarray(column(totals["seconds"], totals.axes["category"], category)[..., index])

    def support(self, totals: Totals, frozen: Array | None) -> Array:
        """Whether the class has true events here."""
        del frozen
        axis = totals.axes["class"]
        if self.label not in axis:
            return np.zeros((*totals.batch, 1), dtype=np.bool_)
        return np.asarray(summed(totals, "events", "outcome", TRUTH_LABELS)[..., [axis.index(self.label)]] > 0)

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
        return int(summed(totals, "events", "outcome", TRUTH_LABELS)[axis.index(self.label)])


@dataclass(frozen=True)
class WindowShare(WardTally):
    """Share of the time of the windows.

    Where classes overlap, of the class-seconds of the windows.

    Parameters
    ----------
    what
        ``correct``: with the right class, or rightly with none; ``serious``: in which an event is missed (D) or broken
        up (F), or a return is of nothing (I) or joins events (M); ``timing``: wrong only since an event begins or ends
        too early or too late; ``substitution``: in which one class was taken for another.
    """

    what: Literal["correct", "serious", "timing", "substitution"] = "correct"
    title: ClassVar[str] = "share of the time"

    def __post_init__(self) -> None:
        if self.what not in ("correct", "serious", "timing", "substitution"):
            raise InputError(f"what: expected correct, serious, timing or substitution, but got {self.what!r}")

    @property
    def direction(self) -> Direction:  # type: ignore[override]
        """More is better for what is right."""
        return "up" if self.what == "correct" else "down"

    @property
    def name(self) -> str:
        """Column key."""
        return {"correct": "time_accuracy"}.get(self.what, f"{self.what}_error")

    def score(self, totals: Totals, frozen: Array | None = None) -> Scored:
        """Class-seconds over all class-seconds."""
        del frozen
        pairs, fps, fns = totals["pairs"], totals.axes["fp"], totals.axes["fn"]
        grave = np.array([[bool({fp, fn} & {"I", "M", "D", "F"}) for fn in fns] for fp in fps])
        both = np.array([["-" not in (fp, fn) for fn in fns] for fp in fps])
        kinds = {"serious": grave, "timing": ~grave, "substitution": both}
        wrong = {name: pairs[..., kind].sum(axis=-1) for name, kind in kinds.items()}
        whole = class_seconds(totals)
        spent = whole - wrong["serious"] - wrong["timing"] if self.what == "correct" else wrong[self.what]
        return Scored.ratio(np.maximum(spent, 0.0), whole)

    def why(self, totals: Totals) -> str:
        """No recording."""
        del totals
        return "no recordings"


@dataclass(frozen=True)
class FalseAlarmsPerHour(WardTally):
    """Returns that share no time with an event of their class, by the hour.

    Parameters
    ----------
    per
        ``total``: all hours of the windows; ``null``: hours of the windows without any true event.
    """

    per: Literal["total", "null"] = "total"
    title: ClassVar[str] = "false alarms per hour"
    direction: ClassVar[Direction] = "down"
    bounds: ClassVar[tuple[float, float]] = (0.0, math.inf)
    unit: ClassVar[str] = "1/h"

    def __post_init__(self) -> None:
        if self.per not in ("total", "null"):
            raise InputError(f"per: expected total or null, but got {self.per!r}")

    @property
    def name(self) -> str:
        """Column key; it names the denominator."""
        return f"false_alarms_per_{'' if self.per == 'total' else 'null_'}hour"

    def score(self, totals: Totals, frozen: Array | None = None) -> Scored:
        """Insertions over hours."""
        del frozen
        alarms = summed(totals, "events", "outcome", ("I'",)).sum(axis=-1)
        return Scored.ratio(HOUR_S * alarms, totals["window_s" if self.per == "total" else "null_s"])

    def why(self, totals: Totals) -> str:
        """No time to count in."""
        return "no time without events in the windows" if float(totals["window_s"]) else "no recordings"

    def count(self, totals: Totals) -> int:
        """Returns."""
        return int(summed(totals, "events", "outcome", RETURN_LABELS).sum())


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
    WindowShare("substitution"),
    FalseAlarmsPerHour("total"),
    FalseAlarmsPerHour("null"),
)
SCORED: tuple[Measure, ...] = (
    *(kind(average) for kind in (EventF1, EventPrecision, EventRecall) for average in ("macro", "micro", "weighted")),
    *(kind(average) for kind in (TimeF1, TimePrecision, TimeRecall) for average in ("macro", "micro", "weighted")),
    AnyOverlap("recall"),
    AnyOverlap("precision"),
    *(WindowShare(part) for part in ("correct", "serious", "timing", "substitution")),
    FalseAlarmsPerHour("total"),
    FalseAlarmsPerHour("null"),
)
"""What :func:`evaluate` computes."""


def evaluate(truth: Any, prediction: Any, *, window: Any, background: Any = ()) -> dict[str, Any]:
    """Score the recognition of events of one recording, or of several as mappings by recording.

    Parameters
    ----------
    truth, prediction
        Sequences of ``(start, end)`` or ``(start, end, label)``, or a tuple of arrays ``(starts, ends[, labels])``.
    window
        Start and end of the time that is scored; a mapping where recordings differ in it.
    background
        Labels that are no class.

    Returns
    -------
    dict
        The score of each measure in ``SCORED`` by its name; ``recordings``; ``undefined`` by name.

    Examples
    --------
    >>> result = evaluate([(10, 20, "walk")], [(12, 22, "walk")], window=(0, 30))
    >>> result["event_macro_f1"], round(result["time_macro_f1"], 6)
    (1.0, 0.8)
    """
    return evaluate_recordings(SCORED, truth, prediction, window=window, background=background)


def accumulate(*, background: Any = ()) -> Accumulator[Stored]:
    """Score a stream of recordings: ``update(truth, prediction, window=...)`` takes one; see :func:`evaluate`."""
    return accumulate_recordings(SCORED, background=background)


event_macro_f1 = score_function(evaluate, "event_macro_f1", "Mean F1 of events over classes.")
event_macro_precision = score_function(evaluate, "event_macro_precision", "Mean precision of events over classes.")
event_macro_recall = score_function(evaluate, "event_macro_recall", "Mean recall of events over classes.")
event_micro_f1 = score_function(evaluate, "event_micro_f1", "F1 of events of all classes together.")
event_micro_precision = score_function(
    evaluate, "event_micro_precision", "Precision of events of all classes together."
)
event_micro_recall = score_function(evaluate, "event_micro_recall", "Recall of events of all classes together.")
event_weighted_f1 = score_function(
    evaluate, "event_weighted_f1", "Mean F1 of events, each class weighted by its truth."
)
event_weighted_precision = score_function(
    evaluate, "event_weighted_precision", "Mean precision of events, each class weighted by its truth."
)
event_weighted_recall = score_function(
    evaluate, "event_weighted_recall", "Mean recall of events, each class weighted by its truth."
)
time_macro_f1 = score_function(evaluate, "time_macro_f1", "Mean F1 of time over classes.")
time_macro_precision = score_function(evaluate, "time_macro_precision", "Mean precision of time over classes.")
time_macro_recall = score_function(evaluate, "time_macro_recall", "Mean recall of time over classes.")
time_micro_f1 = score_function(evaluate, "time_micro_f1", "F1 of time of all classes together.")
time_micro_precision = score_function(evaluate, "time_micro_precision", "Precision of time of all classes together.")
time_micro_recall = score_function(evaluate, "time_micro_recall", "Recall of time of all classes together.")
time_weighted_f1 = score_function(evaluate, "time_weighted_f1", "Mean F1 of time, each class weighted by its truth.")
time_weighted_precision = score_function(
    evaluate, "time_weighted_precision", "Mean precision of time, each class weighted by its truth."
)
time_weighted_recall = score_function(
    evaluate, "time_weighted_recall", "Mean recall of time, each class weighted by its truth."
)
any_overlap_recall = score_function(
    evaluate, "any_overlap_recall", "Share of events that share any time with a detection of their class."
)
any_overlap_precision = score_function(
    evaluate, "any_overlap_precision", "Share of detections that share any time with an event of their class."
)
time_accuracy = score_function(evaluate, "time_accuracy", "Share of the time of the windows that is right.")
serious_error = score_function(
    evaluate, "serious_error", "Share of the time in insertions, deletions, merges and fragmentations."
)
timing_error = score_function(evaluate, "timing_error", "Share of the time in overfill and underfill.")
substitution_error = score_function(
    evaluate, "substitution_error", "Share of the time in which one class is reported in place of another."
)
false_alarms_per_hour = score_function(
    evaluate, "false_alarms_per_hour", "Detections without any event of their class, by the hour."
)
false_alarms_per_null_hour = score_function(
    evaluate, "false_alarms_per_null_hour", "The same by the hour without any true event."
)
