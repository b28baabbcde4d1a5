"""Recordings from tables of intervals: cases whose truth has no window of its own.

Conventions
-----------
- Times that are numbers count from the start of the recording. The window begins at 0, or where the file says that the
  recording begins (``xmin`` of a TextGrid), and ends, in this order: at the duration that the user gives; where the
  file says that the recording ends (``xmax``); with the last true event. The run says which of them it was.
- Times that are dates count from the first true event of the recording.
- Columns that are read for nothing else and have one value per recording are tags. Others are not read.
- A recording in which nothing happens is a row with its name alone, or an empty label track. Its window has to be
  given.
- Where a window is derived, times can be implausible by themselves: all of them far from 0 (a clock), or whole numbers
  that as seconds would last longer than two days (milliseconds). Both are refused, unless seconds are asked for.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from gnomon.core.errors import InputError, counted, some
from gnomon.core.evidence import Finding
from gnomon.intake.faults import shown
from gnomon.intake.formats.intervals import NAMES, Intervals
from gnomon.intake.memory import table_of
from gnomon.intake.unread import filled, note
from gnomon.suites.events.files import ONLY, TruthCase, check_order, group_intervals
from gnomon.suites.events.plausible import CALLED, TWO_DAYS_S, UNITS
from gnomon.suites.events.plausible import shown as shown_seconds
from gnomon.suites.events.spans import are_numbers, in_seconds, joined, place
from gnomon.suites.events.times import Moment, Stretch, Zone, kind_of, written, zone_of

LAST_EVENT, FILE, GIVEN = "last-event", "file", "duration"
"""Where a window comes from: the end of the last true event, what the file says of the recording, the user."""
_ENDS = {LAST_EVENT: "with the last true event", FILE: "where the file says", GIVEN: "as --duration says"}
CLOCK = 10.0
"""How many times as far from 0 as they are apart times of a clock begin."""
_LENGTHS = ("duration", "duration_s", "length", "seconds")


@dataclass(frozen=True)
class Durations:
    """How long recordings last, as a user gives it: one number, a number per recording, or until the last event."""

    seconds: float | None = None
    by_recording: Mapping[str, float] = field(default_factory=dict)
    until_last: bool = False
    where: str = ""

    def find(self, recording: str) -> float | None:
        """Return the duration of a recording; None where none is given."""
        return self.by_recording.get(recording, self.seconds)


def read_durations(given: Any) -> Durations:
    """Return what an option says: a number, ``last-event``, a table of recordings and durations, or a mapping."""
    if given is None or (isinstance(given, str) and not given):
        return Durations()
    if isinstance(given, str) and given == LAST_EVENT:
        return Durations(until_last=True)
    number = _to_number(given)
    if number is not None:
        return Durations(seconds=_check_length(number, "--duration"), where=f"{number:g}")
    if isinstance(given, Mapping) and not any(name in given for name in _LENGTHS):
        held = {str(name): _check_length(_to_number(value), f"duration of {name!r}") for name, value in given.items()}
        return Durations(by_recording=held, where="<durations in memory>")
    if isinstance(given, (str, os.PathLike)) and not os.path.isfile(given):
        raise InputError(
            f"--duration {shown(given)!r}: expected seconds, {LAST_EVENT}, or a table with recording and duration"
        )
    where = os.fspath(given) if isinstance(given, (str, os.PathLike)) else "<durations in memory>"
    table = table_of(given, text=NAMES["case"], name="durations")
    name = next((name for name in NAMES["case"] if name in table.column_names), None)
    length = next((name for name in _LENGTHS if name in table.column_names), None)
    if name is None or length is None:
        raise InputError(
            f"{shown(where)}: expected the columns recording and duration, but got {some(table.column_names)}"
        )
    rows = zip(table.column(name).to_pylist(), table.column(length).to_pylist(), strict=True)
    found: dict[str, float] = {}
    for index, (recording, value) in enumerate(rows, start=1):
        if recording is None or recording in found:
            raise InputError(f"{shown(where)}: row {index}: {shown(repr(recording), 80)}: expected each recording once")
        found[recording] = _check_length(_to_number(value), f"{shown(where)}: row {index}.{length}")
    return Durations(by_recording=found, where=where)


def _to_number(value: Any) -> float | None:
    try:
        return None if isinstance(value, (bool, Mapping)) else float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _check_length(seconds: float | None, where: str) -> float:
    if seconds is None or not (math.isfinite(seconds) and seconds > 0):
        raise InputError(f"{where}: got {seconds}, expected a number of seconds above 0")
    return seconds


@dataclass(frozen=True)
class Tabled:
    """The truth of one table or file, before its windows are known.

    Attributes
    ----------
    held
        The intervals.
    name
        What a recording is called that the table does not name.
    unit
        That of times which are numbers; empty for seconds.
    """

    held: Intervals
    name: str
    unit: str = ""

    def make_cases(self, durations: Durations) -> list[TruthCase]:
        """Return the recordings with their windows."""
        groups = group_intervals(self.held)
        check_order(self.held, groups)
        if ONLY in groups:
            groups = {self.name: groups[ONLY]}
        tags = self._find_tags(list(groups))
        return [self._make_case(name, items, tags.get(name, {}), durations) for name, items in groups.items()]

    def list_rows(self) -> list[str]:
        """Return the recording of every row."""
        case = self.held.columns.get("case")
        return self.held.table.column(case).to_pylist() if case else [self.name] * self.held.table.num_rows

    def _make_case(
        self, name: str, items: Sequence[Stretch[Moment]], tags: Mapping[str, str], durations: Durations
    ) -> TruthCase:
        where = f"{shown(self.held.where)}: {shown(name, 80)}"
        scale = 1.0 if self.held.in_seconds else UNITS[self.unit or "s"]
        zone = _find_zone(items, where)
        stretches = place(in_seconds(items, scale), zone, where, relative=False)
        window, source = self._find_window(name, stretches, durations, scale)
        return TruthCase(name, Path(self.held.where), window, stretches, dict(tags), zone, None, {}, source)

    def _find_window(
        self, name: str, stretches: Sequence[Stretch[float]], durations: Durations, scale: float
    ) -> tuple[tuple[float, float], str]:
        """Return the window of a recording, and where it comes from."""
        where, asked = shown(self.held.where), durations.find(name)
        low, high = (edge / scale for edge in self.held.extent or (0.0, 0.0))
        if asked is not None:
            latest = float(joined([stretches]).starts.max(initial=low))
            if latest > low + asked:  # an end beyond the window is cut there; an event beyond it would not count
                raise InputError(
                    f"{where}: a true event of {shown(name, 80)!r} starts at {shown_seconds(latest)} s, but --duration "
                    f"ends the recording at {shown_seconds(low + asked)} s; correct --duration, which is in seconds"
                )
            return (low, low + asked), GIVEN
        if durations.by_recording:
            raise InputError(f"{shown(durations.where)}: no duration of the recording {shown(name, 80)!r}; add it")
        if self.held.extent is not None and not durations.until_last:
            return (low, high), FILE
        last = float(joined([stretches]).ends.max(initial=low))
        if not last > low:
            raise InputError(
                f"{where}: recording {shown(name, 80)!r} has no event after its start, so that its length is not "
                "known; give --duration, as seconds or as a table with recording and duration"
            )
        return (low, last), LAST_EVENT

    def _find_tags(self, recordings: Sequence[str]) -> dict[str, dict[str, str]]:
        """Return the values of columns that have one in every recording, and note all other columns."""
        case = self.held.columns.get("case")
        rows = self.list_rows()
        found: dict[str, dict[str, str]] = {name: {} for name in recordings}
        unread = [self.held.columns["score"]] if "score" in self.held.columns else []
        for name in self.held.others():
            values = _as_text(self.held.table.column(name))
            pairs = set(zip(rows, values, strict=True)) if values is not None and None not in values else set()
            if not pairs or len(pairs) != len(set(rows)) or name == case:
                unread.append(name)
                continue
            for recording, value in pairs:
                found[recording][name] = str(value)
        note(self.held.where, {name: filled(self.held.table.column(name)) for name in unread})
        return found


def _find_zone(items: Sequence[Stretch[Moment]], where: str) -> Zone:
    """Return the zone of a recording: that of its first event, if times are dates."""
    if not len(items) or are_numbers(items):
        return Zone()
    first = items[0].start
    alike: list[Any] = [one.start for one in items if kind_of(one.start) == kind_of(first)]
    return zone_of(min(alike), where)


def _as_text(column: pa.ChunkedArray) -> list[str | None] | None:
    """Return the values of a column as text; None where they are no text, number or boolean."""
    kind = column.type
    if pa.types.is_string(kind):
        return [value or None for value in column.to_pylist()]
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return list(column.cast(pa.string()).to_pylist())
    if pa.types.is_floating(kind):
        return [None if value is None else written(value) for value in column.to_pylist()]
    return None


def check_times(cases: Sequence[TruthCase], unit: str) -> None:
    """Refuse times that cannot be seconds from the start of a recording, where windows end with the last event."""
    derived = [case for case in cases if case.window_from == LAST_EVENT and case.zone.origin is None]
    held = joined(case.stretches for case in derived)
    if not len(held) or unit == "s":
        return
    first, last = float(held.starts.min()), float(held.ends.max())
    where = some(dict.fromkeys(shown(case.path) for case in derived), show=2)
    if first > TWO_DAYS_S and first > CLOCK * (last - first):
        raise InputError(
            f"{where}: all times lie from {shown_seconds(first)} s to {shown_seconds(last)} s: they look like those of "
            "a clock; write them from the start of the recording, or as dates"
        )
    edges = np.concatenate([held.starts, held.ends])
    if not unit and last > TWO_DAYS_S and (edges == np.floor(edges)).all():
        days = last / (TWO_DAYS_S / 2)
        raise InputError(
            f"{where}: true events reach {last:,.0f}, all in whole numbers, which would be {days:,.1f} days: times "
            f"look like {CALLED['ms']}; give --truth-unit ms (and --unit ms where predictions have it, too), or "
            "--truth-unit s if they are seconds"
        )


def count_windows(cases: Sequence[TruthCase]) -> dict[str, tuple[int, float, float]]:
    """Return by where windows come from: how many there are, and the lengths of the shortest and the longest."""
    lengths: dict[str, list[float]] = {}
    for case in cases:
        lengths.setdefault(case.window_from, []).append(case.window[1] - case.window[0])
    return {source: (len(held), min(held), max(held)) for source, held in lengths.items() if source}


def find_windows(windows: Mapping[str, tuple[int, float, float]], where: str) -> list[Finding]:
    """Say which windows were used, where the truth states none."""
    if not windows:
        return []
    said = []
    for source, (count, low, high) in windows.items():
        length = f"{shown_seconds(low)} s" if low == high else f"{shown_seconds(low)} to {shown_seconds(high)} s"
        said.append(f"{_ENDS[source]} ({counted(count, 'recording')}, {length})")
    counts = "time without events counts, too"
    remedy = counts if set(windows) == {GIVEN} else f"give --duration where recordings last longer: {counts}"
    evidence = f"the truth states no windows: they end {'; '.join(said)}"
    return [Finding("windows-used", "info", where, evidence, remedy)]
