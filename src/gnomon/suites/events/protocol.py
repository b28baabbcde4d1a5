"""The protocol of ``events``: Ward's categories of time and events, as published (binary) and strict (by class)."""

from __future__ import annotations

from collections.abc import Sequence

from gnomon.core.evidence import NOT_TRAINED_ON, Claim, Need
from gnomon.core.measure import Measure
from gnomon.core.protocol import Protocol
from gnomon.measures import matching, segmentation
from gnomon.measures import recognition as ward
from gnomon.measures.detections import ACTIVITYNET
from gnomon.measures.ranked import AveragePrecision, Percentile
from gnomon.numerics.segments import CATEGORIES

FIRST_TABLE = (
    "event_macro_f1",
    "time_macro_f1",
    "any_overlap_recall",
    "any_overlap_precision",
    "time_accuracy",
    "serious_error",
    "timing_error",
)
"""The metrics that the first table shows unless ``--metrics`` names others."""
MAX_PER_CLASS = 100
"""Above this many classes no rates by class are derived."""
POOLED = "event"
"""The one class of the published variant."""
RANKED: dict[str, Measure] = {
    "median": Percentile("first_onsets", "first_onset_error", 50.0, "s", signed=True),
    "p90": Percentile("first_onsets", "first_onset_error", 90.0, "s", signed=True),
    "map": AveragePrecision("detections", ACTIVITYNET),
    "map50": AveragePrecision("detections", (0.5,)),
}
"""What is scored from rows in the strict variant."""

CLAIMS = (
    Claim(
        "new-groups",
        "the scores describe people or recordings that are not in the data",
        (Need("groups", 6, "at least 6 groups to resample"), NOT_TRAINED_ON),
    ),
)


def protocol(
    classes: Sequence[str],
    variant: str,
    class_set: str,
    slices: Sequence[str],
    group: str,
    *,
    edit: bool = True,
    background: Sequence[str] = (),
) -> Protocol:
    """Return the protocol of a variant for data with the given true classes.

    Labels that are background are dropped from both sides; the edit score may be left out for very long recordings.
    """
    overall: list[Measure] = [
        ward.EventF1("macro", class_set),
        ward.TimeF1("macro", class_set),
        ward.AnyOverlap("recall"),
        ward.AnyOverlap("precision"),
        ward.WindowShare("correct"),
        ward.WindowShare("serious"),
        ward.WindowShare("timing"),
        ward.WindowShare("substitution"),
        ward.EventPrecision("macro", class_set),
        ward.EventRecall("macro", class_set),
        ward.TimePrecision("macro", class_set),
        ward.TimeRecall("macro", class_set),
    ]
    shown = classes if len(classes) <= MAX_PER_CLASS else ()
    rates = [ward.CategoryRate(label, category) for label in shown for category in CATEGORIES]
    return Protocol(
        name="events",
        version="2",
        measures=(*overall, *((*further(edit)[1:], *RANKED.values()) if variant == "strict" else ()), *rates),
        group=group,
        slices=tuple(slices),
        settings={
            "labels": "pooled" if variant == "published" else "by class",
            "background": ",".join(sorted(background)) or "what nothing covers",
        },
        claims=CLAIMS,
        variant=variant,
    )


def further(edit: bool = True) -> tuple[Measure, ...]:
    """Return what people of the field expect beside Ward's categories."""
    found: list[Measure] = [
        ward.WindowShare("substitution"),
        ward.FalseAlarmsPerHour("total"),
        ward.FalseAlarmsPerHour("null"),
        matching.CollarF1(),
        *((segmentation.SegmentalF1 if edit else segmentation.RunF1)(at) for at in (0.1, 0.25, 0.5)),
        *((segmentation.EditScore(),) if edit else ()),
        *(matching.FirstOnsetNoLater(seconds) for seconds in (1.0, 2.0, 5.0)),
        matching.OnsetError(),
        matching.OffsetError(),
    ]
    return tuple(found)
