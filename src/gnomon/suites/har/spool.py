"""Recordings on disk while windows are made from them, so that a dataset takes the memory of a batch of recordings.

What has to be known of all recordings before the first window is cut (the middle of their rates), and what an audit
wants to know of them, is gathered as they are written.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.core.tallies import Array
from gnomon.suites.har.datasets.units import resting, turning
from gnomon.suites.har.recordings import CHANNELS, Recording

BATCH = 64
"""Recordings of a batch, at most."""
SAMPLES = 2_000_000
"""Samples of a batch, unless one recording has more."""
STEP = 0.005
"""Relative width of the bins in which lengths of accelerations are counted."""
SHORTEST_MS2, BINS = 0.01, 2400
"""Where the bins begin; they end beyond 1,000 m/s^2."""


@dataclass(frozen=True, eq=False)
class _Row:
    """A recording without its signals, and where they begin, in samples."""

    empty: Recording
    start: int
    count: int


class Spool:
    """Recordings in a nameless file; to be closed.

    Attributes
    ----------
    lacking
        Recordings without a channel, by channel.
    """

    def __init__(self, folder: Path) -> None:
        self._times, self._signals = (tempfile.TemporaryFile(dir=folder) for _ in range(2))  # noqa: SIM115
        self._rows: list[_Row] = []
        self._samples = 0
        self._lengths: dict[str, Array] = {}
        self._resting: dict[str, float] = {}
        self._turning: dict[str, float] = {}
        self.lacking: Array = np.zeros(len(CHANNELS), dtype=np.int64)

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *exc: object) -> None:
        self._times.close()
        self._signals.close()

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def rates(self) -> Array:
        """Rate of every recording in Hz."""
        return np.array([row.empty.rate_hz for row in self._rows])

    def add(self, recording: Recording) -> None:
        """Write a recording."""
        self._times.write(recording.times.data)
        self._signals.write(recording.signals.data)
        nothing = replace(recording, times=recording.times[:0], signals=recording.signals[:0])
        self._rows.append(_Row(nothing, self._samples, len(recording.times)))
        self._samples += len(recording.times)
        self.lacking = self.lacking + ~recording.mask
        self._resting.update(resting([recording]))
        self._turning.update(turning([recording]))
        if recording.mask[:3].all():
            self._measure(recording)

    def batches(self) -> Iterator[list[Recording]]:
        """Yield the recordings in their order, some at a time."""
        batch: list[_Row] = []
        for row in self._rows:
            if batch and (len(batch) == BATCH or sum(one.count for one in batch) + row.count > SAMPLES):
                yield [self._read(one) for one in batch]
                batch = []
            batch.append(row)
        if batch:
            yield [self._read(one) for one in batch]

    def about(self) -> dict[str, Any]:
        """Return extents, labels and rates of the recordings, lengths of accelerations, and channels that some lack."""
        rates = self.rates
        lacking = {name: int(count) for name, count in zip(CHANNELS, self.lacking, strict=True)}
        return {
            "resting": self._resting,
            "turning": self._turning,
            "lacking": {name: count for name, count in lacking.items() if 0 < count < len(self)},
            "extents": {one.id: [low, high] for one, (low, high) in zip(self._empty(), self._ends(), strict=True)},
            "magnitudes": {name: _middle(counts) for name, counts in self._lengths.items()},
            "rates": {"least": float(rates.min()), "median": float(np.median(rates)), "most": float(rates.max())},
            "labels": {one.id: one.label for one in self._empty()},
        }

    def _empty(self) -> list[Recording]:
        return [row.empty for row in self._rows]

    def _ends(self) -> Iterator[tuple[float, float]]:
        for row in self._rows:
            if not row.count:
                yield 0.0, 0.0
                continue
            first, last = (self._time(row.start + k) for k in (0, row.count - 1))
            yield first, last + 1 / row.empty.rate_hz

    def _time(self, sample: int) -> float:
        self._times.seek(sample * 8)
        return float(np.frombuffer(self._times.read(8), dtype=np.float64)[0])

    def _read(self, row: _Row) -> Recording:
        wide = 4 * len(CHANNELS)
        self._times.seek(row.start * 8)
        self._signals.seek(row.start * wide)
        times = np.frombuffer(self._times.read(row.count * 8), dtype=np.float64)
        signals = np.frombuffer(self._signals.read(row.count * wide), dtype=np.float32)
        return replace(row.empty, times=times, signals=signals.reshape(row.count, len(CHANNELS)))

    def _measure(self, recording: Recording) -> None:
        """Count the lengths of accelerations in bins, since a median needs all of them."""
        lengths = np.sqrt(np.square(recording.signals[:, :3]).sum(axis=1))
        bins = np.log(np.maximum(lengths, SHORTEST_MS2) / SHORTEST_MS2) / STEP
        found = np.bincount(np.minimum(bins, BINS - 1).astype(np.int64), minlength=BINS)
        self._lengths[recording.subject] = self._lengths.get(recording.subject, 0) + found


def _middle(counts: Array) -> float:
    """Return the median of values in bins, as the middle of its bin."""
    return float(SHORTEST_MS2 * np.exp((np.searchsorted(np.cumsum(counts), counts.sum() / 2) + 0.5) * STEP))
