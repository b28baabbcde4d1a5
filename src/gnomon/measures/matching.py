"""Scores of matched events over many recordings: found within a collar, and how far their edges are off.

:mod:`gnomon.measures.detections` and :mod:`gnomon.measures.timing` define them, :mod:`gnomon.measures._folding` the
conventions. False alarms per hour follow from Ward's categories: see :mod:`gnomon.measures.recognition`.

Measures
--------
collar F1
    2 tp / (events + returns) of a class within a collar; over all classes (``micro``), or averaged over a class set.
first onset no later than x seconds
    Share of the events whose first return starts no later than x seconds after they do: early returns count, however
    early; a missed event does not.
onset and offset error
    Mean absolute error of the edges of matched events, in seconds.

All edges are those within the window: an event or return that reaches beyond it ends there.

Undefined cases
---------------
Collar F1: no event and no return. First onset: no event. Onset and offset error: no matched event.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.measure import Direction, Measure, Scored
from gnomon.core.tallies import Array, Field, Totals
from gnomon.measures import _stretches
from gnomon.measures._folding import Folded, family_of
from gnomon.measures._stretches import Pair
from gnomon.measures.accumulate import Accumulator, score_function
from gnomon.measures.averaging import Average, AveragedRatio, Kind
from gnomon.measures.detections import collar_counts
from gnomon.measures.recordings import Stored, accumulate_recordings, evaluate_recordings
from gnomon.measures.timing import first_onsets, matched


@dataclass(frozen=True)
class CollarF1(AveragedRatio, Folded):
    """F1 of events that are found to within a collar, in seconds; see :func:`gnomon.measures.detections.collar_f1`.

    Parameters
    ----------
    offsets
        ``True``: starts differ by at most the collar, ends by at most the collar or a share of the event's length;
        ``False``: starts differ by at most the collar.
    """

    average: Average = "micro"
    collar: float = 0.2
    share: float = 0.5
    offsets: bool = True
    title: ClassVar[str] = "F1 of events within a collar"
    kind: ClassVar[Kind] = "f1"
    layout: ClassVar[tuple[Field, ...]] = (
        Field("tp", ("class",)),
        Field("truth", ("class",)),
        Field("predicted", ("class",)),
        Field("n"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("collar", "share"):
            object.__setattr__(self, name, _stretches.amount(getattr(self, name), name))
        if not isinstance(self.offsets, bool):
            raise InputError(f"offsets: expected True or False, but got {self.offsets!r:.80}")

    @property
    def family(self) -> str:  # type: ignore[override]
        """One tally for each rule of matching."""
        rule = (self.collar, self.share) if self.offsets else (self.collar,)
        return family_of("collar" if self.offsets else "collar_onset", *rule)

    @property
    def name(self) -> str:
        """Column key."""
        return f"collar_{super().name}@{self.collar:g}s"

    def kept(self, pair: Pair) -> dict[str, Any]:
        """Pairs, events and returns by class; ``n`` counts recordings."""
        tp, truth, predicted = collar_counts(pair, self.collar, self.share, self.offsets)
        return {"tp": tp, "truth": truth, "predicted": predicted, "n": 1}

    def broken(self, fields: Mapping[str, Array]) -> dict[str, Array]:
        """More pairs than events or returns."""
        return {"more pairs than events or returns": fields["tp"] > np.minimum(fields["truth"], fields["predicted"])}

    def why(self, totals: Totals) -> str:
        """No recording, or no class to average over."""
        return super().why(totals).replace("no samples", "no recordings")

    def count(self, totals: Totals) -> int:
        """True events."""
        return int(totals["truth"].sum())


@dataclass(frozen=True)
class FirstOnsetNoLater(Folded):
    """Share of the events whose first return starts no later than so many seconds after their start, however early.

    See :func:`gnomon.measures.timing.first_onset_errors`.
    """

    seconds: float = 1.0
    title: ClassVar[str] = "events whose first onset is not late"
    layout: ClassVar[tuple[Field, ...]] = (Field("reached"), Field("n"))

    def __post_init__(self) -> None:
        object.__setattr__(self, "seconds", _stretches.amount(self.seconds, "seconds"))

    @property
    def family(self) -> str:  # type: ignore[override]
        """One tally for each limit."""
        return family_of("first_onset", self.seconds)

    @property
    def name(self) -> str:
        """Column key."""
        return f"first_onset_no_later_than_{self.seconds:g}s"

    def kept(self, pair: Pair) -> dict[str, Any]:
        """Events whose first return starts no later than the limit, and events."""
        errors = first_onsets(*pair.tracks())
        return {"reached": int((errors <= self.seconds).sum()), "n": len(errors)}

    def broken(self, fields: Mapping[str, Array]) -> dict[str, Array]:
        """More events with a first onset in time than events."""
        return {"more events with a first onset in time than events": fields["reached"] > fields["n"]}

    def score(self, totals: Totals, frozen: Array | None = None) -> Scored:
        """Events whose first return starts no later than the limit, over all events."""
        del frozen
        return Scored.ratio(totals["reached"], totals["n"])

    def why(self, totals: Totals) -> str:
        """No event."""
        del totals
        return "no events in truth"


@dataclass(frozen=True)
class _EdgeError(Folded):
    """Mean absolute error of one edge of matched events; see :func:`gnomon.measures.timing.boundary_offsets`."""

    least_iou: float | None = None
    edge: ClassVar[str]
    direction: ClassVar[Direction] = "down"
    bounds: ClassVar[tuple[float, float]] = (0.0, math.inf)
    unit: ClassVar[str] = "s"
    layout: ClassVar[tuple[Field, ...]] = (
        Field("onset_s", (), "sum", "s"),
        Field("offset_s", (), "sum", "s"),
        Field("n"),
        Field("truth"),
        Field("returned"),
    )

    def __post_init__(self) -> None:
        if self.least_iou is not None:
            object.__setattr__(self, "least_iou", float(_stretches.limits([self.least_iou], "least_iou")[0]))

    @property
    def family(self) -> str:  # type: ignore[override]
        """One tally for each least overlap of a match."""
        return "edges" if self.least_iou is None else family_of("edges", self.least_iou)

    @property
    def name(self) -> str:
        """Column key."""
        return f"{self.edge}_error" if self.least_iou is None else f"{self.edge}_error@{100 * self.least_iou:g}"

    def kept(self, pair: Pair) -> dict[str, Any]:
        """Sums of absolute errors over the matched events; ``n`` counts them."""
        true, returned = pair.tracks()
        i, j = matched(true, returned, self.least_iou or 0.0)
        return {
            "onset_s": math.fsum(np.abs(returned.starts[j] - true.starts[i])),
            "offset_s": math.fsum(np.abs(returned.ends[j] - true.ends[i])),
            "n": len(i),
            "truth": len(true.starts),
            "returned": len(returned.starts),
        }

    def broken(self, fields: Mapping[str, Array]) -> dict[str, Array]:
        """More pairs than events or returns, errors below 0."""
        return {
            "more pairs than events or returns": fields["n"] > np.minimum(fields["truth"], fields["returned"]),
            "a sum of absolute errors is below 0": np.minimum(fields["onset_s"], fields["offset_s"]) < 0,
        }

    def score(self, totals: Totals, frozen: Array | None = None) -> Scored:
        """Mean absolute error."""
        del frozen
        return Scored.ratio(totals[f"{self.edge}_s"], totals["n"])

    def why(self, totals: Totals) -> str:
        """No match."""
        del totals
        return "no matched events"


class OnsetError(_EdgeError):
    """Mean absolute error of the starts of matched events; see :func:`gnomon.measures.timing.boundary_offsets`."""

    edge, title = "onset", "absolute onset error"


class OffsetError(_EdgeError):
    """Mean absolute error of the ends of matched events; see :func:`gnomon.measures.timing.boundary_offsets`."""

    edge, title = "offset", "absolute offset error"


MEASURES: tuple[Measure, ...] = (
    CollarF1(),
    CollarF1("macro"),
    CollarF1("macro", "present", None, collar=1.0, share=0.2),
    CollarF1("weighted", collar=1.0, offsets=False),
    FirstOnsetNoLater(1.0),
    FirstOnsetNoLater(2.0),
    FirstOnsetNoLater(5.0),
    OnsetError(),
    OffsetError(),
    OffsetError(0.5),
)
SCORED: tuple[Measure, ...] = (
    CollarF1(),
    CollarF1("macro"),
    FirstOnsetNoLater(1.0),
    FirstOnsetNoLater(2.0),
    FirstOnsetNoLater(5.0),
    OnsetError(),
    OffsetError(),
)
"""What :func:`evaluate` computes."""


def evaluate(truth: Any, prediction: Any, *, window: Any, background: Any = ()) -> dict[str, Any]:
    """Score matched events of one recording, or of several as mappings by recording.

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
    >>> result = evaluate([(10, 20, "walk")], [(10.1, 20.1, "walk")], window=(0, 30))
    >>> result["collar_micro_f1@0.2s"]
    1.0
    """
    return evaluate_recordings(SCORED, truth, prediction, window=window, background=background)


def accumulate(*, background: Any = ()) -> Accumulator[Stored]:
    """Score a stream of recordings: ``update(truth, prediction, window=...)`` takes one; see :func:`evaluate`."""
    return accumulate_recordings(SCORED, background=background)


collar_micro_f1 = score_function(
    evaluate, "collar_micro_f1@0.2s", "F1 of events within a collar of 0.2 s.", "collar_micro_f1"
)
collar_macro_f1 = score_function(
    evaluate, "collar_macro_f1@0.2s", "The same, as the mean over classes.", "collar_macro_f1"
)
onset_error = score_function(evaluate, "onset_error", "Mean distance of the starts of matched events, seconds.")
offset_error = score_function(evaluate, "offset_error", "Mean distance of the ends of matched events, seconds.")
