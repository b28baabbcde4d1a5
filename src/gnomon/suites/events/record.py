"""What a recogniser is given: records.

A record is ``{"time", "type", "values"}``: when, what kind of sensor (``accel``, ``gyro``, ``location``, ...), and a
list of numbers. Every record of a file is checked against this before anybody sees it.
"""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

import msgspec

LONGEST_KIND = 256
"""Characters that the kind of a sensor may have."""

Kind = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_KIND)]
Rows = list[Any]
"""Records whose time may still be text or a date."""


class Record(TypedDict):
    """One reading of one sensor, at a second of its case."""

    time: float
    type: Kind
    values: list[float]


class DatedRecord(TypedDict):
    """One reading as it stands in a file of a case with dates."""

    time: str
    type: Kind
    values: list[float]
