"""Raw records while they are read: their order, their rate, and whether their times fit the recording."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gnomon.core.errors import InputError, counted, some
from gnomon.core.evidence import Finding
from gnomon.suites.events.plausible import (
    CALLED,
    INERTIAL,
    INSIST,
    MOST,
    RATES_HZ,
    REACH,
    UNITS,
    Window,
    outside,
    shown,
)
from gnomon.suites.events.record import Record


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
    after_start: int = 0
    """How many records lie inside the window, but not at its very start, where also other units begin."""
    trusted: bool = False
    """Whether the user says that times are seconds."""
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
        self.after_start += int((inside > self.window[0]).sum())
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
        if not self._could_be_seconds(rates):
            raise InputError(
                f"{self.where}: records reach {shown(self.latest)} s, but the recording lasts {shown(length)} s: "
                f"times look like {CALLED[unit]}; write them in seconds, as the truth, or {INSIST}"
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

    def _could_be_seconds(self, rates: Mapping[str, float]) -> bool:
        """Say whether this may be a recording in seconds of which the window is a small part.

        Sensors whose usual rates are known tell; without any, a record inside the window does.
        """
        if self.trusted:
            return True
        return any(map(_is_usual, rates.values())) if rates else self.after_start > 0

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
