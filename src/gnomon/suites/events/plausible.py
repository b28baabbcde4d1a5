"""Whether times can be seconds of their recordings: where another unit fits and seconds do not, that is an error.

Conventions
-----------
- Times are looked at against the window of their recording. Something is outside where it does not touch the window.
- Times are in another unit where at least nine tenths are outside as seconds and inside in that unit, and the farthest
  is then at least a hundredth of the window from its start. So milliseconds reach ten window lengths or more: offsets
  and wrong zones shift times, and do not stretch them.
- What counts are all recordings of a truth, or of a system, together, and at least three stretches. One recording that
  is elsewhere is scored as it stands, and named in a finding.
- Raw data may be far longer than the window. So it is refused only where its sensors would have rates that no such
  sensor has, or, without such a sensor, where it does not cover the window as seconds.
- Dates have no unit, and are not looked at here.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from gnomon.core.errors import InputError, counted, some
from gnomon.core.evidence import Finding
from gnomon.core.tallies import Array
from gnomon.suites.events.record import Record

UNITS = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
"""How many of a unit are a second."""
CALLED = {"ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
MOST = 0.9
"""The share of times that counts as nearly all."""
FEWEST = 3
"""With fewer stretches in all recordings together nothing is refused."""
COVERED = 0.5
"""The share of a window that records in seconds cover, where no rate of a sensor is known."""
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


@dataclass(frozen=True)
class Evidence:
    """What times say about their unit, counted so that recordings that are read apart can be added up."""

    count: int = 0
    recordings: int = 0
    inside: Mapping[str, int] = field(default_factory=dict)
    """By unit: how many stretches touch their window if times are in it."""
    in_windows: Mapping[str, int] = field(default_factory=dict)
    """By unit: how many stretches touch their window if windows are in it, and times are seconds."""
    share: float = 0.0
    """How far the farthest end is from the start of its window, in lengths of the window."""
    reach: float = -math.inf
    latest: float = -math.inf
    longest: float = 0.0
    """The last end, the end of the last window, and the length of the longest window, in seconds."""

    def __add__(self, other: Evidence) -> Evidence:
        return Evidence(
            self.count + other.count,
            self.recordings + other.recordings,
            dict(Counter(self.inside) + Counter(other.inside)),
            dict(Counter(self.in_windows) + Counter(other.in_windows)),
            max(self.share, other.share),
            max(self.reach, other.reach),
            max(self.latest, other.latest),
            max(self.longest, other.longest),
        )

    def record(self) -> dict[str, Any]:
        """Return the evidence as plain values, from which :meth:`of` makes it again."""
        return asdict(self) if self.count else {}

    @staticmethod
    def of(record: Mapping[str, Any]) -> Evidence:
        """Return the evidence that was recorded."""
        return Evidence(**record)


def weigh(recordings: Iterable[Timed]) -> Evidence:
    """Return what the stretches of recordings say about their unit."""
    whole = Evidence()
    for window, starts, ends in recordings:
        if len(starts):
            inside = {unit: _inside(window, starts, ends, per_second) for unit, per_second in UNITS.items()}
            in_windows = {unit: _inside(window, starts, ends, 1 / UNITS[unit]) for unit in CALLED}
            length = window[1] - window[0]
            share = float(np.abs(ends - window[0]).max()) / length
            whole += Evidence(len(starts), 1, inside, in_windows, share, float(ends.max()), window[1], length)
    return whole


def check_unit(evidence: Evidence, where: str, what: str, advice: Callable[[str], str]) -> None:
    """Refuse numbers that are not seconds.

    Parameters
    ----------
    evidence
        Of all recordings together: that of a few says too little.
    where, what
        What a message opens with, and what the stretches are called in it, as ``detections``.
    advice
        What to do about times in a unit, by the unit's short name.
    """
    most = MOST * evidence.count
    if evidence.count < FEWEST or evidence.inside.get("s", 0) > evidence.count - most:
        return
    reach, latest, longest = evidence.reach, evidence.latest, evidence.longest
    far = (unit for unit in CALLED if evidence.share / UNITS[unit] >= REACH)
    unit = next((one for one in far if evidence.inside.get(one, 0) >= most), "")
    if unit:
        which = "recordings last" if evidence.recordings > 1 else "the recording lasts"
        upto = "" if latest == longest else f" (up to {_shown(latest)} s)"
        raise InputError(
            f"{where}: {what} reach {_shown(reach)} s, but {which} {_shown(longest)} s{upto}: times look like "
            f"{CALLED[unit]}; {advice(unit)}"
        )
    unit = next((one for one in CALLED if evidence.in_windows.get(one, 0) >= most), "")
    if unit:
        raise InputError(
            f"{where}: {what} reach {_shown(reach)} s, but windows end at {_shown(latest)} s: windows "
            f"look like {CALLED[unit]}; write t1, t2 and labels of the truth in seconds"
        )


def _inside(window: Window, starts: Array, ends: Array, per_second: float) -> int:
    """Count the stretches that touch a window in a unit."""
    return int((~outside(starts / per_second, ends / per_second, window)).sum())


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
    first: float = math.inf
    latest: float = -math.inf
    covered: Window = (math.inf, -math.inf)
    """The first and the last time inside the window."""
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
        self.first = min(self.first, float(times[0]))
        self.latest = max(self.latest, float(times[-1]))
        inside = times[~outside(times, times, self.window)]
        self.inside += len(inside)
        if len(inside):
            self.covered = min(self.covered[0], float(inside.min())), max(self.covered[1], float(inside.max()))
        for unit in CALLED:
            scaled = times / UNITS[unit]
            self.in_unit[unit] += int((~outside(scaled, scaled, self.window)).sum())
        for kind in {record["type"] for record in chunk} & set(INERTIAL):
            own = times[[record["type"] == kind for record in chunk]]
            count, first, _ = self.gaps.get(kind, (0, float(own[0]), 0.0))
            self.gaps[kind] = count + len(own), first, float(own[-1])

    def problems(self) -> dict[str, Any]:
        """Return what is odd about the times of all records; raise where they are in another unit than seconds.

        ``elsewhere`` is whether no record is in the window; ``rates`` are those of inertial sensors that no such sensor
        has; ``unit`` is one that times fit as well as they fit seconds. What is not odd is left out.
        """
        if not self.count:
            return {}
        rates = self._rates()
        odd = {kind: rate for kind, rate in rates.items() if not _is_usual(rate)}
        found: dict[str, Any] = {} if self.inside else {"elsewhere": True}
        found |= {"rates": odd} if odd else {}
        length = self.window[1] - self.window[0]
        unit = self._other_unit(length)
        if not unit:
            return found
        if not self._could_be_seconds(rates, length):
            raise InputError(
                f"{self.where}: records reach {_shown(self.latest)} s, but the recording lasts {_shown(length)} s: "
                f"times look like {CALLED[unit]}; write them in seconds, as the truth"
            )
        fits = (self.latest - self.first) / UNITS[unit] >= MOST * length
        return found | ({"unit": unit} if fits else {})

    def _other_unit(self, length: float) -> str:
        """Return the unit in which nearly all records are in the window, where they are outside as seconds."""
        if self.inside > (1 - MOST) * self.count:
            return ""
        reach = abs(self.latest - self.window[0]) / length
        far = (unit for unit in CALLED if reach / UNITS[unit] >= REACH)
        return next((one for one in far if self.in_unit[one] >= MOST * self.count), "")

    def _could_be_seconds(self, rates: Mapping[str, float], length: float) -> bool:
        """Say whether this may be a recording in seconds of which the window is a small part.

        Sensors whose usual rates are known tell; without any, the records have to cover half of the window.
        """
        if rates:
            return any(map(_is_usual, rates.values()))
        return self.covered[1] - self.covered[0] >= COVERED * length

    def _rates(self) -> dict[str, float]:
        """Return the records per second of inertial sensors that have enough of them."""
        known = {kind: gap for kind, gap in self.gaps.items() if gap[0] > 10 and gap[2] > gap[1]}
        return {kind: (count - 1) / (last - first) for kind, (count, first, last) in known.items()}


def _is_usual(rate: float) -> bool:
    return RATES_HZ[0] <= rate <= RATES_HZ[1]


def record_findings(odd: Mapping[str, Mapping[str, Any]], where: str) -> list[Finding]:
    """Return warnings about the times of raw data, one for all recordings with the same trouble.

    Parameters
    ----------
    odd
        By recording, what :meth:`Watch.problems` returned.
    where
        Whose results are concerned.
    """
    said: list[tuple[str, str]] = []
    lost = [case for case, found in odd.items() if found.get("elsewhere")]
    if lost:
        said.append((f"no record of the raw data is in the window: {_listed(lost)}", "check windows and time zones"))
    for unit, called in CALLED.items():
        fitting = [case for case, found in odd.items() if found.get("unit") == unit]
        if fitting:
            evidence = f"raw data as long as the window if times are {called}, and far longer as seconds"
            said.append((f"{evidence}: {_listed(fitting)}", "check that times of the raw data are seconds"))
    for kind in INERTIAL:
        rates = {case: found["rates"][kind] for case, found in odd.items() if kind in found.get("rates", {})}
        if rates:
            low, high = f"{min(rates.values()):.3g}", f"{max(rates.values()):.3g}"
            span = low if low == high else f"{low} to {high}"
            evidence = f"{kind} has {span} records per second of its times: {_listed(list(rates))}"
            said.append((evidence, "check that times of the raw data are seconds, and that no records are missing"))
    return [Finding("raw-times", "warning", where, *one) for one in said]


def _listed(cases: Sequence[str]) -> str:
    return f"{counted(len(cases), 'recording')}, {some(cases)}"
