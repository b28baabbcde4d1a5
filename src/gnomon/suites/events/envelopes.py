"""The raw signal of a recording as an envelope: the least and the greatest value of every channel in bins of time.

Conventions
-----------
- Only the window of the recording is looked at. A channel is one value of one sensor; of more than 12 the first that
  occur are kept, and it is said how many are left out.
- A channel of at most 16,384 samples has bins as long as samples are usually apart, each in the middle of its bin, so
  that a bin is one sample; a longer one has 16,384 bins over the window. Bins in which nothing was recorded hold NaN.
- Records are streamed: memory does not grow with their number. Raw data that cannot be read gives no channel, and why.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gnomon.core.errors import GnomonError, counted
from gnomon.core.tallies import Array
from gnomon.suites.events import raw
from gnomon.suites.events.files import TruthCase
from gnomon.suites.events.record import Record

BINS = 1 << 14
CHANNELS = 12
LARGEST = 3e38
"""Values beyond are drawn as this one, so that an envelope is finite."""
AXES = {"accel": "xyz", "gyro": "xyz", "mag": "xyz", "gravity": "xyz"}
"""Sensors whose three values are known to be axes."""

Signals = tuple[list[dict[str, Any]], dict[str, Array], str]
"""What is said of every channel, the arrays ``low0``, ``high0``, ..., and a note."""


def envelope(case: TruthCase) -> Signals:
    """Return the channels of a recording, the arrays of their least and greatest values, and what is to be said."""
    if not case.data_glob:
        return [], {}, ""
    sensors: dict[tuple[str, int], _Sensor] = {}
    left: dict[tuple[str, int], int] = {}
    try:
        for kind, times, values in _columns(case):
            key = kind, values.shape[1]
            if key not in left:
                room = CHANNELS - sum(sensor.width for sensor in sensors.values())
                sensors[key] = _Sensor(case.window, min(values.shape[1], room))
                left[key] = values.shape[1] - sensors[key].width
            sensors[key].add(times, values[:, : sensors[key].width])
    except GnomonError as error:
        return [], {}, f"no raw signal: {error}"
    signals: list[dict[str, Any]] = []
    arrays: dict[str, Array] = {}
    for (kind, _), sensor in sensors.items():
        start, step, low, high = sensor.binned()
        for index in range(sensor.width):
            at = len(signals)
            signals.append({"name": _named(kind, index), "unit": "", "start": start, "step": step, "at": at})
            arrays |= {f"low{at}": low[:, index], f"high{at}": high[:, index]}
    lost = sum(left.values())
    return signals, arrays, f"{counted(lost, 'channel')} of the raw signal left out" if lost else ""


def _named(kind: str, index: int) -> str:
    axes = AXES.get(kind, "")
    return f"{kind} {axes[index] if index < len(axes) else index + 1}"


def _columns(case: TruthCase) -> Iterator[tuple[str, Array, Array]]:
    """Yield records of the window by sensor: its name, times ``(n,)`` and values ``(n, channels)``."""
    for chunk in raw.records(case):
        groups: dict[tuple[str, int], list[Record]] = {(chunk[0]["type"], len(chunk[0]["values"])): chunk}
        if any(
            record["type"] != chunk[0]["type"] or len(record["values"]) != len(chunk[0]["values"]) for record in chunk
        ):
            groups = {}
            for record in chunk:
                groups.setdefault((record["type"], len(record["values"])), []).append(record)
        for (kind, width), records in groups.items():
            times = np.array([record["time"] for record in records])
            values = np.array([record["values"] for record in records], dtype=np.float64).reshape(len(times), width)
            inside = slice(*np.searchsorted(times, case.window))
            if len(times[inside]):
                yield kind, times[inside], values[inside]


class _Sensor:
    """Channels of one sensor, in bounded memory: samples while there are few, then an envelope of the whole window."""

    def __init__(self, window: tuple[float, float], width: int) -> None:
        self.window, self.width = window, width
        self.parts: list[tuple[Array, Array]] = []
        self.count = 0
        self.spans: tuple[Array, Array] | None = None

    def add(self, times: Array, values: Array) -> None:
        """Take samples, each no earlier than those before it."""
        self.parts.append((times, values))
        self.count += len(times)
        if self.count > BINS:
            self.spans = self.spans or self._nothing(BINS)
            low, high = self.window
            for part in self.parts:
                _lay(*part, low, (high - low) / BINS, self.spans)
            self.parts = []

    def _nothing(self, n: int) -> tuple[Array, Array]:
        return np.full((n, self.width), np.inf, np.float32), np.full((n, self.width), -np.inf, np.float32)

    def binned(self) -> tuple[float, float, Array, Array]:
        """Return start and step of the bins, and their least and greatest values; NaN where nothing was recorded."""
        low, high = self.window
        if self.spans is not None:
            return low, (high - low) / BINS, *_holes(self.spans)
        times, values = (np.concatenate(side) for side in zip(*self.parts, strict=True))
        gaps = np.diff(times)
        usual = float(np.median(gaps[gaps > 0])) if (gaps > 0).any() else high - low
        step = max(usual, float(times[-1] - times[0]) / (BINS - 1))
        start = float(times[0]) - step / 2  # a sample lies in the middle of its bin
        spans = self._nothing(min(int((times[-1] - start) // step) + 1, BINS))
        _lay(times, values, start, step, spans)
        return start, step, *_holes(spans)


def _lay(times: Array, values: Array, start: float, step: float, spans: tuple[Array, Array]) -> None:
    """Lay samples, in the order of time, into bins."""
    places = np.clip(((times - start) / step).astype(np.int64), 0, len(spans[0]) - 1)
    firsts = np.flatnonzero(np.diff(places, prepend=-1))
    at, kept = places[firsts], np.clip(values, -LARGEST, LARGEST).astype(np.float32)
    spans[0][at] = np.minimum(spans[0][at], np.minimum.reduceat(kept, firsts))
    spans[1][at] = np.maximum(spans[1][at], np.maximum.reduceat(kept, firsts))


def _holes(spans: tuple[Array, Array]) -> tuple[Array, Array]:
    nothing = ~np.isfinite(spans[0])
    return np.where(nothing, np.float32(np.nan), spans[0]), np.where(nothing, np.float32(np.nan), spans[1])
