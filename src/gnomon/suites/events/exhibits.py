"""Recordings to look at: what a run of ``events`` keeps of the worst of them, and the timeline that is made of it.

Conventions
-----------
- The worst recording has the largest share of wrong time, which is 1 less its time accuracy
  (:class:`gnomon.measures.recognition.WindowShare`).
- Kept are the true and the returned stretches as they were scored, and the envelope of the raw signal
  (:mod:`gnomon.suites.events.envelopes`). Raw data of recordings that are not kept is not read.
- At most 4,000,000 stretches are kept in one run; the worst recording is kept whatever it holds.
- What the lanes of a timeline are says :mod:`gnomon.suites.events.lanes`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from gnomon.core.errors import IntegrityError
from gnomon.core.table import View
from gnomon.core.tallies import Array, Tallies, natural_key
from gnomon.measures._ward import wrong_shares
from gnomon.numerics import segments as kernel
from gnomon.runs import exhibits
from gnomon.runs.exhibits import Exhibit, Worst
from gnomon.runs.run import Run
from gnomon.suites.events import columns
from gnomon.suites.events.envelopes import Signals, envelope
from gnomon.suites.events.files import called
from gnomon.suites.events.lanes import Spans, error_spans, label_lanes, lane, timeline, unused
from gnomon.suites.events.times import show

MOST_STRETCHES = 4_000_000
MOST_LABELS = 1 << 16
SIDES = ("truth", "returned")


def keep_worst(
    ids: Sequence[str],
    tallies: Mapping[str, Tallies],
    read: Callable[[int], columns.Recording | None],
    most: int,
    signals: dict[str, Signals],
) -> dict[str, bytes]:
    """Return the file of a run that holds its worst recordings; none where none are asked for.

    Parameters
    ----------
    ids, tallies
        All recordings of the run, and what was tallied of them.
    read
        Reads a recording by its place among ``ids``; None is one that cannot be shown.
    most
        How many are kept.
    signals
        Raw signals that were read, by case; those of recordings that are kept are added.
    """
    if not most or not ids:
        return {}
    shares = wrong_shares(tallies["recognition"]).tolist()
    overlaps = tallies["recognition"].fields["overlap_s"] > 0

    def find(place: int) -> tuple[int, columns.Recording] | None:
        one = read(place)
        return (place, one) if one is not None and len(_name_labels(one)) < MOST_LABELS else None

    worst = Worst[tuple[int, columns.Recording]](most, MOST_STRETCHES)
    worst.offer_all(ids, shares, find, lambda item: len(item[1].truth) + len(item[1].returned))
    kept = []
    for place, one in worst.items:
        if one.case.id not in signals:
            signals[one.case.id] = envelope(one.case)
        told = f"{100 * shares[place]:.3g} % of the {'class-seconds' if overlaps[place] else 'window'} is wrong"
        kept.append(make_snapshot(one, signals[one.case.id], shares[place], told))
    return exhibits.files_of(kept, len(ids))


def make_snapshot(one: columns.Recording, signals: Signals, share: float, note: str) -> Exhibit:
    """Return what is kept of a recording: both sides as they were scored, and its raw signal."""
    labels, (channels, envelopes, lacking) = _name_labels(one), signals
    data = {
        "window": list(one.case.window),
        "clock": None if one.case.zone.origin is None else show(0.0, one.case.zone),
        "labels": labels,
        "signals": channels,
        "note": lacking,
    }
    place = {label: index for index, label in enumerate(labels)}
    sides: dict[str, Array] = {}
    for name, side in zip(SIDES, (one.truth, one.returned), strict=True):
        code = np.array([place[label] for label in side.classes], dtype=np.uint16)
        sides |= {f"{name}_start": side.starts, f"{name}_end": side.ends, f"{name}_code": code[side.codes]}
    return Exhibit(called(one.case.id), data, {**sides, **envelopes}, share, note)


def _name_labels(one: columns.Recording) -> list[str]:
    return sorted({*one.truth.classes, *one.returned.classes}, key=natural_key)


class Signal(msgspec.Struct, frozen=True):
    """One channel as an exhibit keeps it; ``at`` is the number of its arrays."""

    name: str
    unit: str
    start: float
    step: float
    at: int


class Kept(msgspec.Struct, frozen=True):
    """The plain data of an exhibit."""

    window: tuple[float, float]
    clock: str | None
    labels: tuple[str, ...]
    signals: tuple[Signal, ...]
    note: str


@dataclass(frozen=True, eq=False)
class Recording:
    """What a run keeps of a recording, checked; ``name`` is what its system is called beside others."""

    name: str
    pooled: bool
    kept: Kept
    arrays: Mapping[str, Array]

    def side(self, side: str) -> Spans:
        """Return the stretches of the truth, or those returned."""
        start, end, code = (self.arrays[f"{side}_{part}"] for part in ("start", "end", "code"))
        return start, end, code

    def track(self, side: str, labels: Sequence[str]) -> kernel.Track:
        """Return one side by class, clipped to the window, overlapping and abutting stretches united."""
        place = {label: index for index, label in enumerate(labels)}
        own = np.array([place[label] for label in self.kept.labels], dtype=np.int64)
        starts, ends, codes = self.side(side)
        return kernel.tidy(starts, ends, own[codes], max(len(labels), 1), self.kept.window)

    def same_truth(self, other: Recording) -> bool:
        """Say whether another run scored the same truth."""
        sides = [
            (*item.side("truth")[:2], np.array(item.kept.labels, dtype=object)[item.side("truth")[2]])
            for item in (self, other)
        ]
        return self.kept.window == other.kept.window and all(map(np.array_equal, *sides))

    def signals(self) -> list[dict[str, Any]]:
        """Return the channels of the raw signal as a timeline shows them."""
        return [
            {
                **{key: getattr(signal, key) for key in ("name", "unit", "start", "step")},
                **{edge: self.arrays[f"{edge}{signal.at}"] for edge in ("low", "high")},
            }
            for signal in self.kept.signals
        ]


def shown(runs: Sequence[Run], case: str) -> View:
    """Return the timeline of a recording: truth, what every system returned, its errors, and where systems differ."""
    found, notes = _found(runs, case)
    first = found[0].kept
    labels = sorted({label for item in found for label in item.kept.labels}, key=natural_key)
    truth = found[0].track("truth", labels)
    lanes = label_lanes("truth", "truth", truth, labels)
    wrong = []
    for item in found:
        returned = item.track("returned", labels)
        errors = error_spans(truth, returned, first.window, pooled=item.pooled)
        lanes += [*label_lanes("returned", item.name, returned, labels), lane("errors", item.name, "outcomes", errors)]
        wrong.append((item.name, errors))
    data = timeline(case, first.window, first.clock, labels, lanes, wrong, found[0].signals())
    told = dict.fromkeys(item.kept.note for item in found if item.kept.note)
    return View("timeline", f"{case}: truth, returns and errors", "timeline", data, (*notes, *told))


def _found(runs: Sequence[Run], case: str) -> tuple[list[Recording], tuple[str, ...]]:
    """Return the runs that keep the case, each by a name of its own, and why others are left out."""
    found: list[Recording] = []
    kept, notes = exhibits.kept_by(runs, case)
    for system, (run, item) in kept.items():
        name = unused(system, [one.name for one in found])
        recording = Recording(name, run.manifest["protocol"]["variant"] == "published", *_checked(item, run))
        if found and not found[0].same_truth(recording):
            notes.append(f"{run.system} is left out: its run has another truth for this recording")
            continue
        found.append(recording)
    return found, tuple(notes)


def _checked(item: Exhibit, run: Run) -> tuple[Kept, Mapping[str, Array]]:
    """Return what an exhibit holds; what no run of this suite has written is refused."""
    where = f"{run.path}: the exhibit of case {item.case!r} is damaged"
    try:
        kept = msgspec.convert(item.data, Kept)
        for side in SIDES:
            start, end, code = (item.arrays[f"{side}_{name}"] for name in ("start", "end", "code"))
            if not (start.dtype == end.dtype == np.float64 and code.dtype == np.uint16 and start.ndim == 1):
                raise IntegrityError(f"{where}: stretches of another kind")
            fits = start.shape == end.shape == code.shape and bool(np.isfinite(start).all() and np.isfinite(end).all())
            if not fits or (len(code) and int(code.max()) >= len(kept.labels)):
                raise IntegrityError(f"{where}: stretches that do not fit each other")
        for signal in kept.signals:
            low, high = (item.arrays[f"{edge}{signal.at}"] for edge in ("low", "high"))
            if not (low.dtype == high.dtype == np.float32 and low.shape == high.shape and low.ndim == 1):
                raise IntegrityError(f"{where}: a signal of another kind")
    except (msgspec.ValidationError, KeyError) as error:
        raise IntegrityError(f"{where} ({error})") from error
    if not (math.isfinite(kept.window[1] - kept.window[0]) and kept.window[0] < kept.window[1]):
        raise IntegrityError(f"{where}: a window without time")
    return kept, item.arrays
