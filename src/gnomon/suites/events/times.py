"""Points in time of one case: dates with an offset, dates without, or seconds; inside, always seconds.

Conventions
-----------
- A case has one kind of time. Dates with an offset, dates without and plain numbers are never mixed in it: nobody can
  say how far apart they are.
- The seconds of a case with dates count from its origin, the start of its window; those of a case with numbers are
  the numbers themselves. Dates are exact to the microsecond.
- Offsets may differ inside a case (a recording may cross a border); everything is printed in the zone of the origin.
"""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Generic, NamedTuple, TypeVar

from gnomon.core.errors import InputError
from gnomon.intake.faults import shown

Moment = float | datetime
"""A point in time before it is placed in a case."""

T = TypeVar("T", bound=Moment)
AWARE, NAIVE, NUMBER = "a date with an offset", "a date without an offset", "seconds as a number"
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


class Stretch(NamedTuple, Generic[T]):
    """A stretch of time ``[start, end)`` with its label, and the score that a recogniser may have given it."""

    start: T
    end: T
    label: str
    score: float | None = None


@dataclass(frozen=True)
class Zone:
    """What the seconds of a case count from, and how they are printed.

    Attributes
    ----------
    origin
        The date at second 0: in UTC if dates have an offset, without one if they do not; None for plain numbers.
    zone
        Where dates are printed; None for dates without an offset and for plain numbers.
    """

    origin: datetime | None = None
    zone: tzinfo | None = None

    @property
    def kind(self) -> str:
        """Say what the times of the case have to be."""
        if self.origin is None:
            return NUMBER
        return NAIVE if self.origin.tzinfo is None else AWARE

    def seconds(self, value: object, where: str = "time") -> float:
        """Return a point in time as seconds of this case; `where` opens the message if it does not fit.

        >>> zone_of("2012-05-16T09:00:00-08:00").seconds("2012-05-16T17:00:01Z")
        1.0
        """
        found = moment(value, where)
        if kind_of(found) != self.kind:
            raise InputError(
                f"{where}: got {kind_of(found)} ({_quoted(value)}), expected {self.kind} as elsewhere in the case; "
                "write all times of a case in one way"
            )
        if isinstance(found, float):
            return found
        assert self.origin is not None  # noqa: S101 - the kinds agree
        return (found - self.origin).total_seconds()

    def date(self, seconds: float) -> datetime | None:
        """Return the date at a second of this case in the zone of the case; None where times are numbers."""
        if self.origin is None:
            return None
        try:
            found = self.origin + timedelta(seconds=seconds)
            return found if self.zone is None else found.astimezone(self.zone)
        except (OverflowError, ValueError) as error:
            raise InputError(f"second {seconds!r} after {self.origin} is not a date; check the times") from error


def zone_of(value: object, where: str = "time") -> Zone:
    """Return the zone of a case whose origin is this point in time."""
    found = moment(value, where)
    if isinstance(found, float):
        return Zone()
    if found.tzinfo is None:
        return Zone(found)
    try:
        return Zone(found.astimezone(UTC), found.tzinfo)
    except (OverflowError, ValueError) as error:
        raise InputError(f"{where}: {_quoted(value)} is outside the calendar; check the date") from error


def show(seconds: float, zone: Zone) -> str:
    """Return a second of a case as it is printed: a date in the zone of the case, or the number.

    >>> show(90.5, zone_of("2012-05-16T09:00:00-08:00")), show(90.0, Zone())
    ('2012-05-16T09:01:30.500000-08:00', '90')
    """
    return written(seconds if zone.origin is None else zone.date(seconds))


def written(value: Moment | None) -> str:
    """Return a point in time as text that reads back as the same; nothing for None.

    >>> written(3.0), written(0.1), written(1e-7), written(datetime(2012, 5, 16, 9)), written(None)
    ('3', '0.1', '1e-07', '2012-05-16T09:00:00', '')
    """
    if value is None:
        return ""
    return value.isoformat() if isinstance(value, datetime) else repr(float(value)).removesuffix(".0")


def kind_of(value: Moment) -> str:
    """Say which of the three kinds a point in time is."""
    if isinstance(value, float):
        return NUMBER
    return NAIVE if value.utcoffset() is None else AWARE


def moment(value: object, where: str = "time") -> Moment:
    """Return ISO 8601 text, a date or a number of seconds as a date or a float.

    Text is a date here, even ``"20120516"``; see :func:`from_text` for cells of text files.
    """
    if isinstance(value, datetime):
        return value if value.tzinfo is None or value.utcoffset() is not None else value.replace(tzinfo=None)
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value)
        except (ValueError, OverflowError) as error:
            if re.fullmatch(r"\s*-?[0-9]{1,20},[0-9]{1,20}\s*", value):
                raise InputError(
                    f"{where}: {_quoted(value)} has a decimal comma; write numbers with a point, as "
                    f"{value.strip().replace(',', '.')}"
                ) from error
            raise InputError(
                f"{where}: {_quoted(value)} is not an ISO 8601 date such as 2012-05-16T09:00:00-08:00; correct it"
            ) from error
    return _finite(value, where)


def from_text(cell: str, where: str = "time") -> Moment:
    """Return a cell of a text file as a point in time; what reads as a decimal number is seconds.

    >>> from_text(" 12.5 "), from_text("2012-05-16T09:00").year
    (12.5, 2012)
    """
    text = cell.strip()
    return _finite(float(text), where) if _DECIMAL.fullmatch(text) else moment(text, where)


def place(
    stretches: Iterable[Stretch[Moment]], zone: Zone, where: str, *, relative: bool = True
) -> tuple[Stretch[float], ...]:
    """Return the stretches of one case in the seconds of that case, in the order given.

    Parameters
    ----------
    stretches
        All of one kind of time, each ending no earlier than it starts.
    zone
        That of the case.
    where
        What the message of an error opens with, followed by the index of the stretch.
    relative
        Whether numbers are understood in a case with dates, as seconds from the start of its window; formats that
        know no dates have no other way to say it. Numbers and dates are never mixed.
    """
    listed = list(stretches)
    if relative and all(kind_of(stretch.start) == NUMBER for stretch in listed):
        zone = Zone()
    found = []
    for index, (start, end, label, score) in enumerate(listed):
        low = zone.seconds(start, f"{where}[{index}].start")
        high = zone.seconds(end, f"{where}[{index}].end")
        if low > high:
            raise InputError(f"{where}[{index}]: ends before it starts: {start} to {end}; exchange or correct them")
        found.append(Stretch(low, high, label, score))
    return tuple(found)


def _finite(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise InputError(
            f"{where}: got {type(value).__name__}, expected an ISO 8601 date or seconds as a number; correct it"
        )
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise InputError(f"{where}: got a number that is not finite, expected seconds; correct it")
    return found


def _quoted(value: object) -> str:
    return repr(shown(value if isinstance(value, str) else str(value), 60))
