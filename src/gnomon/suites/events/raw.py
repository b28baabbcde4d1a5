"""Raw recordings, streamed: memory does not grow with their length.

A record is ``{"time", "type", "values"}``: when, what kind of sensor (``accel``, ``gyro``, ``location``, ...), and a
list of numbers. In files the time is written as in the truth; here it is seconds of the case, as in its truth.

Conventions
-----------
- ``data_path`` of the truth is a pattern of file names below the folder of the truth file. A name ending in ``.gz`` is
  unpacked on the way.
- A file is one JSON list of records or JSON lines (its first byte tells; further keys are not read, and
  named in a finding), or, by its
  suffix, CSV or Parquet with a column ``time``. There, ``type`` is a column or else the name of the file up to the
  first point, and all other columns are the values. No number is missing, NaN or infinite.
- Inside a file, time never goes back. Several files are merged by time; at one time, files come in the order of their
  names. Neither the size of chunks nor that of the blocks that are read changes the records.
"""

from __future__ import annotations

import bisect
import heapq
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from operator import itemgetter
from pathlib import Path

from gnomon.core.errors import InputError
from gnomon.intake.faults import guarded, shown
from gnomon.intake.limits import DEFAULT, Limits
from gnomon.suites.events.files import TruthCase
from gnomon.suites.events.json_records import read_json_records
from gnomon.suites.events.record import Record, Rows
from gnomon.suites.events.table_records import read_csv_records, read_parquet_records
from gnomon.suites.events.times import Zone

MOST_FILES = 10_000
_BLOCK, _PEEK = 1 << 18, 1 << 14
_time = itemgetter("time")

Source = Callable[[int], Iterator[list[Record]]]
"""Called with the bytes to read at a time, gives the records of one file, list by list."""


def records(case: TruthCase, *, chunk: int = 10_000, limits: Limits = DEFAULT) -> Iterator[list[Record]]:
    """Return the records of a case in the order of time, in lists of `chunk`; only the last one may be shorter.

    Raises
    ------
    InputError
        There are no files, or one of them is damaged, hostile, not in order or not of the kind of time of the truth.
    """
    if chunk < 1:
        raise InputError(f"chunk: got {chunk}, expected at least 1")
    bounds = limits.raised()
    sources = [_source(path, case.zone, bounds) for path in data_files(case)]
    return _chunked(_merged(sources) if len(sources) > 1 else sources[0](_BLOCK), chunk)


def data_files(case: TruthCase) -> list[Path]:
    """Return the raw files of a case, in the order of their names."""
    where, pattern = f"{shown(case.path)}: data_path", case.data_glob or ""
    if not pattern.strip():
        raise InputError(f"{where}: missing, expected a pattern of file names; the case {case.id!r} has no raw data")
    parts = re.split(r"[/\\]", pattern)
    if ".." in parts or Path(pattern).is_absolute() or parts.count("**") > 1:
        raise InputError(f"{where}: {shown(pattern, 80)!r} leaves the folder of the truth file; move the data below it")
    with guarded(case.path, "data_path is not a pattern of file names", "correct it"):
        found = sorted(path for path, _ in zip(case.path.parent.glob(pattern), range(MOST_FILES + 1), strict=False))
    if not 0 < len(found) <= MOST_FILES:
        raise InputError(f"{where}: {len(found)} files match {shown(pattern, 80)!r}, expected 1 to {MOST_FILES}")
    return found


def _source(path: Path, zone: Zone, limits: Limits) -> Source:
    def read(size: int) -> Iterator[list[Record]]:
        name = path.name.lower().removesuffix(".gz")
        if name.endswith(".parquet"):
            return _ordered(path, zone, read_parquet_records(path, limits))
        reader = read_csv_records if name.endswith(".csv") else read_json_records
        return _ordered(path, zone, reader(path, dated=zone.origin is not None, limits=limits, size=size))

    return read


def _chunked(parts: Iterable[list[Record]], chunk: int) -> Iterator[list[Record]]:
    held: list[Record] = []
    for part in parts:
        held += part
        whole = len(held) - len(held) % chunk
        yield from (held[start : start + chunk] for start in range(0, whole, chunk))
        del held[:whole]
    if held:
        yield held


def _merged(sources: Sequence[Source]) -> Iterator[list[Record]]:
    """Merge files by (time, place in the list), opening a file only when its first record is due."""
    firsts = [next((rows[0]["time"] for rows in source(_PEEK) if rows), None) for source in sources]
    heap = [(first, index) for index, first in enumerate(firsts) if first is not None]
    heapq.heapify(heap)
    waiting: dict[int, tuple[list[Record], int, Iterator[list[Record]]]] = {}
    while heap:
        _, index = heapq.heappop(heap)
        rows, start, more = waiting.pop(index, ([], 0, iter(())))
        if not rows:
            more = filter(None, sources[index](_BLOCK))
            rows = next(more, [])
        while rows:
            end = len(rows)
            if heap and (rows[-1]["time"], index) > heap[0]:
                find = bisect.bisect_right if index < heap[0][1] else bisect.bisect_left
                end = find(rows, heap[0][0], start, key=_time)
            yield rows[start:end]
            if end < len(rows):
                heapq.heappush(heap, (rows[end]["time"], index))
                waiting[index] = rows, end, more
                break
            rows, start = next(more, []), 0


def _ordered(path: Path, zone: Zone, blocks: Iterator[Rows]) -> Iterator[list[Record]]:
    """Turn times into seconds and refuse a file in which they go back."""
    last, count = -math.inf, 0
    for rows in blocks:
        times = _seconds(path, zone, rows, count)
        if times and (times[0] < last or times != sorted(times)):
            wrong = next(i for i, (a, b) in enumerate(zip([last, *times], times, strict=False)) if b < a)
            raise InputError(f"{shown(path)}: record {count + wrong + 1}: earlier than the one before; sort by time")
        last, count = times[-1] if times else last, count + len(rows)
        yield rows


def _seconds(path: Path, zone: Zone, rows: Rows, count: int) -> list[float]:
    if zone.origin is None and (not rows or isinstance(rows[0]["time"], float)):
        return list(map(_time, rows))
    parse, origin = datetime.fromisoformat, zone.origin
    try:
        times = [(parse(row["time"]) - origin).total_seconds() for row in rows]  # type: ignore[operator]
    except (ValueError, TypeError, OverflowError):
        times = [zone.seconds(row["time"], f"{shown(path)}: record {count + i}") for i, row in enumerate(rows, start=1)]
    for row, time in zip(rows, times, strict=True):
        row["time"] = time
    return times
