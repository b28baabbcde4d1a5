"""Whether times can be seconds of their recordings: where another unit fits and seconds do not, that is an error.

Conventions
-----------
- Times are looked at against the window of their recording. Something is outside where it does not touch the window.
- Times are in another unit where at least nine tenths are outside as seconds and inside in that unit, and the farthest
  is then at least a hundredth of the window from its start. So milliseconds reach ten window lengths or more: offsets
  and wrong zones shift times, and do not stretch them.
- Dates have no unit, and are not looked at here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
from gnomon.suites.events.record import Record

UNITS = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
"""How many of a unit are a second."""
CALLED = {"ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
MOST = 0.9
"""The share of times that counts as nearly all."""
REACH = 0.01
"""The share of a window that times in the right unit reach at least."""
INERTIAL = ("accel", "gyro", "mag", "gravity")
"""Sensors of which the usual rates are known."""
RATES_HZ = (0.5, 20_000.0)

Window = tuple[float, float]
Timed = tuple[Window, Array, Array]
"""A window, and starts and ends ``(n,)`` that should lie in it."""


def outside(starts: Array, ends: Array, window: Window) -> Array:
    """Return which stretches do not touch a window, ``(n,)``."""
    found: Array = (ends < window[0]) | (starts > window[1])
    return found


def check_unit(recordings: Sequence[Timed], where: str, what: str, advice: Callable[[str], str]) -> None:
    """Refuse numbers that are not seconds: of all recordings together, then of each by itself.

    Parameters
    ----------
    recordings
        Windows with the stretches in them.
    where, what
        What a message opens with, and what the stretches are called in it, as ``detections``.
    advice
        What to do about times in a unit, by the unit's short name.
    """
    filled = [one for one in recordings if len(one[1])]
    for chosen in (filled, *([one] for one in filled)) if len(filled) > 1 else [filled]:
        unit = _other_unit(chosen)
        windows_in = "" if unit else _unit_of_windows(chosen)
        reach = max((ends.max() for _, _, ends in chosen), default=0.0)
        latest = max((window[1] for window, _, _ in chosen), default=0.0)
        if windows_in:
            raise InputError(
                f"{where}: {what} reach {_shown(reach)} s, but windows end at {_shown(latest)} s: windows "
                f"look like {CALLED[windows_in]}; write t1, t2 and labels of the truth in seconds"
            )
        if unit:
            longest = max(window[1] - window[0] for window, _, _ in chosen)
            which = "recordings last" if len(chosen) > 1 else "the recording lasts"
            upto = "" if latest == longest else f" (up to {_shown(latest)} s)"
            raise InputError(
                f"{where}: {what} reach {_shown(reach)} s, but {which} {_shown(longest)} s{upto}: times look like "
                f"{CALLED[unit]}; {advice(unit)}"
            )


def _other_unit(recordings: Sequence[Timed]) -> str:
    """Return the unit that nearly all times are in, where they cannot be seconds; else nothing."""
    total = sum(len(starts) for _, starts, _ in recordings)
    if not total or _inside(recordings, 1.0) > (1 - MOST) * total:
        return ""
    reach = max(float(np.abs(ends - window[0]).max()) / (window[1] - window[0]) for window, _, ends in recordings)
    far = (unit for unit in CALLED if reach / UNITS[unit] >= REACH)
    return next((unit for unit in far if _inside(recordings, UNITS[unit]) >= MOST * total), "")


def _unit_of_windows(recordings: Sequence[Timed]) -> str:
    """Return the unit of the windows, where times are seconds and nearly all of them outside; else nothing."""
    total = sum(len(starts) for _, starts, _ in recordings)
    if not total or _inside(recordings, 1.0) > (1 - MOST) * total:
        return ""
    return next((unit for unit in CALLED if _inside(recordings, 1 / UNITS[unit]) >= MOST * total), "")


def _inside(recordings: Sequence[Timed], per_second: float) -> int:
    """Count the stretches that touch their window in a unit."""
    counts = ((~outside(starts / per_second, ends / per_second, window)).sum() for window, starts, ends in recordings)
    return int(sum(counts))


def _shown(seconds: float) -> str:
    return f"{seconds:,.0f}" if abs(seconds) >= 100 else f"{seconds:.4g}"


@dataclass
class Watch:
    """Looks at the times of records while they pass by."""

    window: Window
    where: str
    count: int = 0
    inside: int = 0
    in_unit: dict[str, int] = field(default_factory=lambda: dict.fromkeys(CALLED, 0))
    latest: float = float("-inf")
    gaps: dict[str, tuple[int, float, float]] = field(default_factory=dict)
    """By kind of an inertial sensor: how many records, the first and the last time."""

    def passing(self, chunks: Iterable[list[Record]]) -> Iterator[list[Record]]:
        """Hand on chunks of records, and look at the times of each."""
        for chunk in chunks:
            self._look(chunk)
            yield chunk

    def _look(self, chunk: Sequence[Record]) -> None:
        times = np.array([record["time"] for record in chunk], dtype=np.float64)
        if not len(times):
            return
        self.count += len(times)
        self.latest = max(self.latest, float(times[-1]))
        self.inside += int((~outside(times, times, self.window)).sum())
        for unit in CALLED:
            scaled = times / UNITS[unit]
            self.in_unit[unit] += int((~outside(scaled, scaled, self.window)).sum())
        for kind in {record["type"] for record in chunk} & set(INERTIAL):
            own = times[[record["type"] == kind for record in chunk]]
            count, first, _ = self.gaps.get(kind, (0, float(own[0]), 0.0))
            self.gaps[kind] = count + len(own), first, float(own[-1])

    def problems(self) -> list[str]:
        """Say what is odd about the times of all records; raise where they are in another unit than seconds."""
        if not self.count:
            return []
        length = self.window[1] - self.window[0]
        if self.inside <= (1 - MOST) * self.count:
            reach = abs(self.latest - self.window[0]) / length
            far = (unit for unit in CALLED if reach / UNITS[unit] >= REACH)
            unit = next((one for one in far if self.in_unit[one] >= MOST * self.count), "")
            if unit:
                raise InputError(
                    f"{self.where}: records reach {_shown(self.latest)} s, but the recording lasts {_shown(length)} s: "
                    f"times look like {CALLED[unit]}; write them in seconds, as the truth"
                )
        found = [] if self.inside else ["no record of the raw data is in the window; check windows and time zones"]
        for kind, (count, first, last) in self.gaps.items():
            rate = (count - 1) / (last - first) if last > first else 0.0
            if count > 10 and last > first and not RATES_HZ[0] <= rate <= RATES_HZ[1]:
                found.append(f"{kind} has {rate:.3g} records per second of its times; are these seconds?")
        return found
