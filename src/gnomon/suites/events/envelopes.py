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

BINS = 1 << 14
CHANNELS = 12
AXES = {"accel": "xyz", "gyro": "xyz", "mag": "xyz", "gravity": "xyz"}
"""Sensors whose three values are known to be axes."""

Signals = tuple[list[dict[str, Any]], dict[str, Array], str]
"""What is said of every channel, the arrays ``low0``, ``high0``, ..., and a note."""


def envelope(case: TruthCase) -> Signals:
    """Return the channels of a recording, the arrays of their least and greatest values, and what is to be said."""
    if not case.data_glob:
        return [], {}, ""
    channels: dict[tuple[str, int], _Channel] = {}
    names: dict[tuple[str, int], None] = {}
    try:
        for kind, times, values in _columns(case):
            for index, column in enumerate(values.T):
                names[kind, index] = None
                if (kind, index) not in channels and len(channels) < CHANNELS:
                    channels[kind, index] = _Channel(case.window)
                if (kind, index) in channels:
                    channels[kind, index].add(times, column)
    except GnomonError as error:
        return [], {}, f"no raw signal: {error}"
    signals: list[dict[str, Any]] = []
    arrays: dict[str, Array] = {}
    for number, ((kind, index), channel) in enumerate(channels.items()):
        start, step, low, high = channel.binned()
        if len(low):
            signals.append({"name": _named(kind, index), "unit": "", "start": start, "step": step, "at": number})
            arrays |= {f"low{number}": low, f"high{number}": high}
    left = len(names) - len(channels)
    return signals, arrays, f"{counted(left, 'channel')} of the raw signal left out" if left else ""


def _named(kind: str, index: int) -> str:
    axes = AXES.get(kind, "")
    return f"{kind} {axes[index] if index < len(axes) else index + 1}"


def _columns(case: TruthCase) -> Iterator[tuple[str, Array, Array]]:
    """Yield records of the window by sensor: its name, times ``(n,)`` and values ``(n, channels)``."""
    for chunk in raw.records(case):
        groups: dict[tuple[str, int], tuple[list[float], list[list[float]]]] = {}
        for record in chunk:
            times, values = groups.setdefault((record["type"], len(record["values"])), ([], []))
            times.append(record["time"])
            values.append(record["values"])
        for (kind, width), (times, values) in groups.items():
            when, what = np.array(times), np.array(values, dtype=np.float64).reshape(len(times), width)
            inside = (when >= case.window[0]) & (when < case.window[1])
            if inside.any():
                yield kind, when[inside], what[inside]


class _Channel:
    """One channel, in bounded memory: its samples while there are few, then an envelope of the whole window."""

    def __init__(self, window: tuple[float, float]) -> None:
        self.window = window
        self.times, self.values = np.empty(0), np.empty(0)
        self.spans: tuple[Array, Array] | None = None

    def add(self, times: Array, values: Array) -> None:
        if self.spans is None and len(self.times) + len(times) <= BINS:
            self.times, self.values = np.concatenate([self.times, times]), np.concatenate([self.values, values])
            return
        if self.spans is None:
            self.spans = np.full(BINS, np.inf, np.float32), np.full(BINS, -np.inf, np.float32)
            self._fold(self.times, self.values)
            self.times = self.values = np.empty(0)
        self._fold(times, values)

    def _fold(self, times: Array, values: Array) -> None:
        assert self.spans is not None  # noqa: S101 - made just before
        low, high = self.window
        _lay(times, values, low, (high - low) / BINS, self.spans)

    def binned(self) -> tuple[float, float, Array, Array]:
        """Return start and step of the bins, and their least and greatest values; NaN where nothing was recorded."""
        low, high = self.window
        if self.spans is not None:
            return low, (high - low) / BINS, *_holes(self.spans)
        if len(self.times) < 2:
            only = self.values.astype(np.float32)
            return low, high - low, only, only
        gaps, length = np.diff(self.times), float(self.times[-1] - self.times[0])
        usual = float(np.median(gaps[gaps > 0])) if (gaps > 0).any() else high - low
        step = max(usual, length / (BINS - 1))
        start = float(self.times[0]) - step / 2  # a sample lies in the middle of its bin
        n = min(int((self.times[-1] - start) // step) + 1, BINS)
        spans = np.full(n, np.inf, np.float32), np.full(n, -np.inf, np.float32)
        _lay(self.times, self.values, start, step, spans)
        return start, step, *_holes(spans)


def _lay(times: Array, values: Array, start: float, step: float, spans: tuple[Array, Array]) -> None:
    """Lay samples, in the order of time, into bins."""
    places = np.clip(((times - start) / step).astype(np.int64), 0, len(spans[0]) - 1)
    order = np.argsort(places, kind="stable")
    places, kept = places[order], np.clip(values[order], -3e38, 3e38).astype(np.float32)
    firsts = np.flatnonzero(np.diff(places, prepend=-1))
    at = places[firsts]
    spans[0][at] = np.minimum(spans[0][at], np.minimum.reduceat(kept, firsts))
    spans[1][at] = np.maximum(spans[1][at], np.maximum.reduceat(kept, firsts))


def _holes(spans: tuple[Array, Array]) -> tuple[Array, Array]:
    nothing = ~np.isfinite(spans[0])
    return np.where(nothing, np.float32(np.nan), spans[0]), np.where(nothing, np.float32(np.nan), spans[1])
