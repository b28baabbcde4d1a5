"""Windows of six seconds: where they are cut, and their signals at any rate.

Conventions
-----------
- A span is seconds on the time axis of its recording, half-open. Windows lie inside one recording, which is one person
  doing one activity; they follow one another without overlap, and what is left at the end is not used.
- A recording that is shorter than a window is left out and counted, or filled up with zeros and masked where its
  dataset says ``pad``.
- Ids and spans come from :func:`cut` alone; :func:`at_rate` adds signals. So window i is the same at every rate.
- Where a recording has the wanted rate already, samples are copied; else they are resampled by their times
  (:mod:`gnomon.suites.har.resampling`). The filter reads its reach before and after a window, inside the recording and
  never beyond it. Uneven time stamps are put on an even grid first, by straight lines.

The published pre-cutting
-------------------------
The published windows of MotionSense are 12,080, but windows of its recordings without overlap are 4,534. They came from
random sessions that overlap, put one behind the other and cut again. :func:`published_precut` does this: sessions of
:data:`SESSION_S` seconds at random places of a recording, concatenated and cut every six seconds, until there are
12,080 / 4,534 as many windows as without overlap. How long the sessions were is not known, so the windows are not the
published ones; what matters is the same: a moment is in several windows, and a random split puts it on both sides. A
window over a seam has two pieces; its span is the longer one, which it really reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.seeds import generator
from gnomon.core.tallies import Array
from gnomon.suites.har.recordings import CHANNELS, WINDOW_S, Recording, Short, Windows
from gnomon.suites.har.resampling import reach_s, resample
from gnomon.suites.har.stored import load, store

SESSION_S = (10.0, 60.0)
"""Shortest and longest session of the pre-cutting."""
PRECUT = 12_080 / 4_534
"""Windows of the pre-cutting for each window without overlap."""
_GRID_S = 0.1
_TINY = 1e-6
_UNEVEN = 0.25
Pair = tuple[tuple[float, float], tuple[float, float]]
"""Two pieces of a recording, of which the second may be empty."""
Windowed = tuple[Array, Array]
"""Signals and valid steps of one window, to be filled."""

__all__ = [
    "PRECUT",
    "SESSION_S",
    "Precutting",
    "Spans",
    "at_rate",
    "cut",
    "load",
    "native_rate",
    "published_precut",
    "store",
    "stream",
]


@dataclass(frozen=True, eq=False)
class Spans:
    """Where windows are.

    Attributes
    ----------
    seconds
        Length of a window.
    ids
        Name of each.
    recording
        ``(n,)``: index of its recording.
    pieces
        ``(n, 2, 2)``: seconds of one or two pieces, one behind the other in the window; the second is empty where
        there is one.
    dropped
        Recordings that were too short.
    """

    seconds: float
    ids: tuple[str, ...]
    recording: Array
    pieces: Array
    dropped: int

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def ranges(self) -> Array:
        """The longer piece of each window, ``(n, 2)``."""
        lengths = self.pieces[:, :, 1] - self.pieces[:, :, 0]
        longer: Array = self.pieces[np.arange(len(self)), np.argmax(lengths, axis=1)]
        return longer


def cut(recordings: Iterable[Recording], seconds: float = WINDOW_S, short: Short = "drop") -> Spans:
    """Return the windows of recordings, non-overlapping.

    Parameters
    ----------
    recordings
        In the order in which windows are numbered.
    seconds
        Length of a window.
    short
        Whether recordings shorter than that are left out (and counted) or give one window that is filled up.
    """
    if seconds <= 0:
        raise InputError(f"windows: expected a length over 0 s, but got {seconds}")
    ids, index, pieces, dropped = [], [], [], 0
    for k, recording in enumerate(recordings):
        count = int(recording.seconds / seconds + _TINY)
        start = float(recording.times[0]) if len(recording.times) else 0.0
        spans = [(start + w * seconds, start + (w + 1) * seconds) for w in range(count)]
        if not count and short == "pad" and len(recording.times):
            spans = [(start, start + recording.seconds)]
        dropped += not spans
        for w, span in enumerate(spans):
            ids.append(f"{recording.id}#{w:04d}")
            index.append(k)
            pieces.append((span, (span[1], span[1])))
    return _spans(seconds, ids, index, pieces, dropped)


class Precutting:
    """The published pre-cutting, as the module says, of recordings that come some at a time."""

    def __init__(self, seed: int, seconds: float = WINDOW_S, short: Short = "drop") -> None:
        self._random = generator(seed, "har", "published pre-cutting")
        self._seconds, self._short = seconds, short
        self._plain = 0

    def spans(self, recordings: Iterable[Recording]) -> Spans:
        """Return the windows of the next recordings."""
        ids, index, pieces, dropped = [], [], [], 0
        for k, recording in enumerate(recordings):
            count = int(recording.seconds / self._seconds + _TINY)
            if not count and self._short == "pad" and len(recording.times):
                start = float(recording.times[0])
                ids.append(f"{recording.id}#p0000")
                index.append(k)
                pieces.append(((start, start + recording.seconds), (start + recording.seconds,) * 2))
                continue
            dropped += not count
            wanted = round((self._plain + count) * PRECUT) - round(self._plain * PRECUT)
            self._plain += count
            for w, pair in enumerate(_recut(recording, wanted, self._seconds, self._random)):
                ids.append(f"{recording.id}#p{w:04d}")
                index.append(k)
                pieces.append(pair)
        return _spans(self._seconds, ids, index, pieces, dropped)


def published_precut(
    recordings: Iterable[Recording], seed: int, seconds: float = WINDOW_S, short: Short = "drop"
) -> Spans:
    """Return windows of random, overlapping sessions, as the module says; short recordings as :func:`cut` has them."""
    return Precutting(seed, seconds, short).spans(recordings)


def _recut(recording: Recording, wanted: int, seconds: float, random: np.random.Generator) -> Iterator[Pair]:
    """Yield the pieces of each window over sessions that are put one behind the other."""
    if not wanted:
        return
    whole, start = recording.seconds, float(recording.times[0])
    low, high = max(seconds, min(SESSION_S[0], whole)), min(SESSION_S[1], whole)
    begin = end = 0.0  # of the session that is being cut, on the recording
    for _ in range(wanted):
        if end - begin >= seconds - _TINY:
            yield (start + begin, start + begin + seconds), (start + begin + seconds,) * 2
            begin += seconds
            continue
        first = (start + begin, start + end)
        length = np.floor(random.uniform(low, high) / _GRID_S + _TINY) * _GRID_S
        fresh = float(np.floor(random.uniform(0, max(whole - length, 0)) / _GRID_S) * _GRID_S)
        rest = seconds - (end - begin)
        second = (start + fresh, start + fresh + rest)
        begin, end = fresh + rest, fresh + float(length)
        yield (second, (second[1],) * 2) if first[1] - first[0] < _TINY else (first, second)


def _spans(seconds: float, ids: list[str], index: list[int], pieces: list[Pair], dropped: int) -> Spans:
    return Spans(
        seconds,
        tuple(ids),
        np.array(index, dtype=np.int64),
        np.array(pieces, dtype=np.float64).reshape(len(ids), 2, 2),
        dropped,
    )


def native_rate(recordings: Iterable[Recording]) -> float:
    """Return the measured rate of a dataset: the median over its recordings."""
    rates = [recording.rate_hz for recording in recordings]
    if not rates:
        raise InputError("native rate: no recordings")
    return float(np.median(rates))


def at_rate(recordings: Sequence[Recording], spans: Spans, rate_hz: float | None) -> Windows:
    """Return the signals of windows at a rate, or at the measured rate of the dataset where that is None."""
    if not len(recordings):
        raise InputError("windows: no recordings to cut from")
    rate = native_rate(recordings) if rate_hz is None else rate_hz
    if rate <= 0:
        raise InputError(f"windows: expected a rate over 0 Hz, but got {rate}")
    steps = int(spans.seconds * rate + _TINY)
    signals = np.zeros((len(spans), steps, len(CHANNELS)), dtype=np.float32)
    valid = np.zeros((len(spans), steps), dtype=np.bool_)
    even: dict[int, bool] = {}
    for w, k in enumerate(spans.recording.tolist()):
        if k not in even:
            even[k] = _is_even(recordings[k])
        _fill(recordings[k], even[k], spans.pieces[w], spans.seconds, rate, (signals[w], valid[w]))
    mine = [recordings[k] for k in spans.recording.tolist()]
    return Windows(
        dataset=recordings[0].dataset,
        rate_hz=rate,
        signals=signals,
        valid=valid,
        mask=np.array([recording.mask for recording in mine], dtype=np.bool_).reshape(-1, len(CHANNELS)),
        ids=spans.ids,
        labels=tuple(recording.label for recording in mine),
        subjects=tuple(recording.subject for recording in mine),
        recordings=tuple(recording.id for recording in mine),
        spans=spans.ranges,
    )


def stream(
    recordings: Iterable[Recording], rate_hz: float, seconds: float = WINDOW_S, short: Short = "drop"
) -> Iterator[Windows]:
    """Yield the windows of one recording after another, for :func:`store`: memory is that of one recording."""
    for recording in recordings:
        spans = cut([recording], seconds, short)
        if len(spans):
            yield at_rate([recording], spans, rate_hz)


def _is_even(recording: Recording) -> bool:
    """Say whether no sample is further than a quarter of a step from an even grid."""
    grid = recording.times[0] + np.arange(len(recording.times)) / recording.rate_hz
    return bool(np.abs(recording.times - grid).max() * recording.rate_hz <= _UNEVEN)


def _fill(recording: Recording, even: bool, pieces: Array, seconds: float, rate: float, into: Windowed) -> None:
    """Fill one window; steps after the end of a short recording stay as they are."""
    signals, valid = into
    lengths = pieces[:, 1] - pieces[:, 0]
    whole = len(signals) if lengths.sum() >= seconds - _TINY else int(lengths.sum() * rate + _TINY)
    first = whole if lengths[1] < _TINY else min(round(lengths[0] * rate), whole)
    valid[:whole] = True
    for (start, end), begin, stop in zip(pieces.tolist(), (0, first), (first, whole), strict=True):
        if stop > begin:
            signals[begin:stop] = _piece(recording, even, start, end, stop - begin, rate)


def _piece(recording: Recording, even: bool, start: float, end: float, count: int, rate: float) -> Array:
    """Return ``count`` samples from ``start`` on at a rate; a filter reads its reach around them."""
    own, times = recording.rate_hz, recording.times
    first = int(np.searchsorted(times, start - 0.01 / own))
    stop = max(int(np.searchsorted(times, end - 0.01 / own)), first + 1)
    if even and abs(own - rate) * (end - start) < 0.5 and stop - first >= count:
        return recording.signals[first : first + count]
    reach = reach_s(own, rate)
    first = int(np.searchsorted(times, start - reach - 1 / own))
    stop = int(np.searchsorted(times, end + reach + 1 / own))
    source = recording.signals[first:stop]
    if not even:
        grid = times[first] + np.arange(int((times[stop - 1] - times[first]) * own + _TINY) + 1) / own
        source = np.stack([np.interp(grid, times[first:stop], source[:, c]) for c in range(source.shape[1])], axis=1)
    positions = (start + np.arange(count) / rate - times[first]) * own
    return resample(source, positions, rate / own)
