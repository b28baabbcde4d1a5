"""perfboard's ``scores.json`` as timelines; :mod:`gnomon.suites.events.perfboard` says what is in such a file.

Conventions
-----------
- A recording is what results have in common: file of labels, id and window. It is named after its ``id``, else after
  the file of labels. Its timeline holds all recognisers that have a result for it.
- Errors are shown as the file has them (``segments``), not counted anew. Of results by class the worst category is
  shown; where a recogniser has pooled results and results by class it has an error lane of each.
- The file is one of anybody: its size is bounded, and whatever does not have the form of such a file is refused.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from gnomon.core.errors import InputError, some
from gnomon.core.table import View
from gnomon.core.tallies import natural_key
from gnomon.intake.documents import read_json
from gnomon.intake.faults import shown as quoted
from gnomon.intake.limits import DEFAULT, MIB
from gnomon.numerics import segments as kernel
from gnomon.suites.events import lanes
from gnomon.suites.events.files import stretches_of
from gnomon.suites.events.times import Stretch, Zone, place, show, zone_of

LIMITS = replace(DEFAULT, max_json_bytes=128 * MIB)
MOST_LABELS = 1 << 16
LOOK = 1 << 16
MARKS = (b'"recognizers"', b'"recognizer"', b'"frame_scores"')
"""Of these keys one stands near the beginning of such a file."""
NOTHING = "TN"


@dataclass
class Recogniser:
    """Results of one recogniser for a recording: the pooled one, where there is one, and those by class."""

    pooled: Mapping[str, Any] | None = None
    by_class: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def parts(self) -> list[tuple[str, list[Mapping[str, Any]]]]:
        """Return what has an error lane of its own: what to call it, and its results."""
        found = [("pooled", [self.pooled])] if self.pooled is not None else []
        return [*found, ("by class", list(self.by_class.values()))] if self.by_class else found

    def results(self) -> list[Mapping[str, Any]]:
        """Return results that together hold everything that was true and returned."""
        return self.parts()[0][1]


@dataclass
class Recording:
    """A recording and its results by recogniser."""

    name: str
    where: str
    zone: Zone
    window: tuple[float, float]
    recognisers: dict[str, Recogniser] = field(default_factory=dict)


def is_legacy(path: str | os.PathLike[str]) -> bool:
    """Say whether a file may be one of perfboard's, from its size and its beginning alone."""
    try:
        if not 2 < Path(path).stat().st_size <= LIMITS.max_json_bytes:
            return False
        with Path(path).open("rb") as file:
            start = file.read(LOOK).removeprefix(b"\xef\xbb\xbf").lstrip()
    except (OSError, ValueError):
        return False
    return start.startswith(b"{") and any(mark in start for mark in MARKS)


def results(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Return the names of the recordings in a file."""
    return tuple(_read(path))


def shown(path: str | os.PathLike[str], name: str) -> View:
    """Return the timeline of a recording: truth, then what every recogniser returned and its errors."""
    recordings = _read(path)
    if name not in recordings:
        raise InputError(f"{quoted(path)}: no recording {quoted(name, 80)!r}; there are {some(recordings)}")
    recording = recordings[name]
    first = next(iter(recording.recognisers.values()))
    truth = list(_stretches(recording, first.results(), "labels"))
    returned = {
        name: list(_stretches(recording, own.results(), "detected")) for name, own in recording.recognisers.items()
    }
    labels = sorted({s.label for side in (truth, *returned.values()) for s in side}, key=natural_key)
    if len(labels) >= MOST_LABELS:
        raise InputError(f"{recording.where}: {len(labels)} labels, expected fewer than {MOST_LABELS}")
    shown_lanes = lanes.label_lanes("truth", "truth", _track(truth, labels, recording.window), labels)
    wrong = []
    for name, own in recording.recognisers.items():
        group = lanes.unused(name, [lane["group"] for lane in shown_lanes])
        shown_lanes += lanes.label_lanes("returned", group, _track(returned[name], labels, recording.window), labels)
        parts = [(title, _errors(recording, part)) for title, part in own.parts()]
        for title, spans in parts:
            told = "errors" if len(parts) == 1 else f"errors, {title}"
            shown_lanes.append(lanes.lane(told, group, "outcomes", spans))
        wrong.append((group, parts[0][1]))
    clock = None if recording.zone.origin is None else show(0.0, recording.zone)
    data = lanes.timeline(recording.name, recording.window, clock, labels, shown_lanes, wrong)
    return View("timeline", f"{recording.name}: truth, returns and errors", "timeline", data)


def _read(path: str | os.PathLike[str]) -> dict[str, Recording]:
    try:
        state = Path(path).stat()
        return _recordings(os.fspath(path), state.st_mtime_ns, state.st_size)
    except OSError as error:
        raise InputError(f"{quoted(path)}: cannot be read ({error.strerror}); check the path") from error


@functools.lru_cache(maxsize=2)
def _recordings(path: str, *state: int) -> dict[str, Recording]:
    """Read a file once for all its recordings, and again when it has changed."""
    del state
    document = read_json(path, limits=LIMITS)
    listed = document.get("results") if isinstance(document, dict) else None
    if not isinstance(listed, list):
        raise InputError(f"{quoted(path)}: not a file of perfboard's results: expected an object with a list 'results'")
    found: dict[tuple[Any, ...], Recording] = {}
    for number, result in enumerate(listed):
        where = f"{quoted(path)}: results[{number}]"
        _checked(result, where)
        key = tuple(repr(result.get(name)) for name in ("labels_file", "id", "data_path", "t1", "t2"))
        if key not in found:
            found[key] = _recording(result, where, [one.name for one in found.values()])
        own = found[key].recognisers.setdefault(result["recognizer"], Recogniser())
        if "label" in result:
            own.by_class.setdefault(str(result["label"]), result)
        elif own.pooled is None:
            own.pooled = result
        else:
            raise InputError(f"{where}: a second result of {quoted(result['recognizer'], 80)!r} for one recording")
    return {one.name: one for one in found.values()}


def _checked(result: Any, where: str) -> None:
    """Refuse what is not a result."""
    if not isinstance(result, dict):
        raise InputError(f"{where}: got {type(result).__name__}, expected an object")
    lacking = [name for name in ("t1", "t2", "labels", "recognizer", "detected", "scores") if name not in result]
    if lacking:
        raise InputError(f"{where}: no field {some(lacking)}; it is not a result of perfboard")
    if not isinstance(result["recognizer"], str):
        raise InputError(f"{where}.recognizer: got {type(result['recognizer']).__name__}, expected a name")
    scores = result["scores"]
    if not isinstance(scores, dict) or not isinstance(scores.get("segments"), list):
        raise InputError(f"{where}.scores: expected an object with a list 'segments'")


def _recording(result: Mapping[str, Any], where: str, taken: Sequence[str]) -> Recording:
    zone = zone_of(result["t1"], f"{where}.t1")
    window = (zone.seconds(result["t1"], f"{where}.t1"), zone.seconds(result["t2"], f"{where}.t2"))
    if not window[0] < window[1]:
        raise InputError(f"{where}.t2: the window ends at {result['t2']}, expected later than t1, {result['t1']}")
    named = result.get("id")
    if not isinstance(named, str) or not named.strip():
        named = PurePosixPath(str(result.get("labels_file", ""))).stem or "recording"
    return Recording(lanes.unused(named, taken), where, zone, window)


def _stretches(recording: Recording, parts: Sequence[Mapping[str, Any]], name: str) -> Iterator[Stretch[float]]:
    where = f"{recording.where}.{name}"
    for part in parts:
        yield from place(stretches_of(part[name], where), recording.zone, where, relative=False)


def _track(stretches: Sequence[Stretch[float]], labels: Sequence[str], window: tuple[float, float]) -> kernel.Track:
    code = {label: index for index, label in enumerate(labels)}
    starts, ends = (np.array([s[side] for s in stretches], dtype=np.float64) for side in (0, 1))
    codes = np.array([code[s.label] for s in stretches], dtype=np.int64)
    return kernel.tidy(starts, ends, codes, max(len(labels), 1), window)


def _errors(recording: Recording, parts: Sequence[Mapping[str, Any]]) -> lanes.Spans:
    """Return the segments of results, joined by the worst category."""
    rows = [row for part in parts for row in _segments(part["scores"]["segments"], recording)]
    starts, ends = (np.array([row[side] for row in rows], dtype=np.float64) for side in (0, 1))
    return lanes.painted(starts, ends, np.array([row[2] for row in rows], dtype=np.int64))


def _segments(items: Sequence[Any], recording: Recording) -> Iterator[tuple[float, float, int]]:
    low, high = recording.window
    for number, item in enumerate(items):
        where = f"{recording.where}.scores.segments[{number}]"
        if not isinstance(item, dict) or not {"t1", "t2", "score"} <= set(item):
            raise InputError(f"{where}: expected an object with t1, t2 and score")
        name = item.get("err", item["score"])
        if name == NOTHING:
            continue
        if not isinstance(name, str) or name not in lanes.SEVERITY:
            raise InputError(f"{where}: got {quoted(repr(name), 40)}, expected one of {', '.join(lanes.SEVERITY)}")
        start, end = (recording.zone.seconds(item[edge], f"{where}.{edge}") for edge in ("t1", "t2"))
        if max(start, low) < min(end, high):
            yield max(start, low), min(end, high), lanes.SEVERITY.index(name)
