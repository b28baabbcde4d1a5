"""The protocol of ``events``: Ward's categories of time and events, as published (binary) and strict (by class)."""

from __future__ import annotations

from collections.abc import Sequence

from gnomon.core.evidence import Claim, Need
from gnomon.core.measure import Measure
from gnomon.core.protocol import Protocol
from gnomon.measures import recognition as ward
from gnomon.numerics.segments import CATEGORIES

MAX_PER_CLASS = 100
"""Above this many classes no rates by class are derived."""
POOLED = "event"
"""The one class of the published variant."""

CLAIMS = (
    Claim(
        "new-groups",
        "the scores describe people or recordings that are not in the data",
        (Need("groups", 6, "at least 6 groups to resample"),),
    ),
)


def protocol(classes: Sequence[str], variant: str, class_set: str, slices: Sequence[str], group: str) -> Protocol:
    """Return the protocol of a variant for data with the given true classes."""
    overall: list[Measure] = [
        ward.EventF1("macro", class_set),
        ward.TimeF1("macro", class_set),
        ward.AnyOverlap("recall"),
        ward.AnyOverlap("precision"),
        ward.WindowShare("correct"),
        ward.WindowShare("serious"),
        ward.WindowShare("timing"),
        ward.EventPrecision("macro", class_set),
        ward.EventRecall("macro", class_set),
        ward.TimePrecision("macro", class_set),
        ward.TimeRecall("macro", class_set),
    ]
    shown = classes if len(classes) <= MAX_PER_CLASS else ()
    rates = [ward.CategoryRate(label, category) for label in shown for category in CATEGORIES]
    return Protocol(
        name="events",
        version="1",
        measures=(*overall, *rates),
        group=group,
        slices=tuple(slices),
        settings={"labels": "pooled" if variant == "published" else "by class"},
        claims=CLAIMS,
        variant=variant,
    )
