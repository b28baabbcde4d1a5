"""What the annotator wrote of an episode: sub-tasks, actions, objects and interactions, frame by frame.

Conventions
-----------
- A reference to a frame is a number or a name such as ``frame_0005822``. A number of at most seven digits counts
  frames from 0; a larger one is a time in nanoseconds and stands for the nearest frame.
- Ranges in a caption include their last frame; ranges here are half-open.
- A later action of the list overwrites an earlier one, also beyond its own segment. A gap inside a segment takes the
  action of that segment that ended last before it, else the segment's first. Objects and interaction hold from where
  they are written until the next or the end of their segment. Last, sub-task and action are carried forward.
- A range is cut to the episode, and what lies wholly outside it is left out: nothing is moved inside. Whatever had to
  be cut, left out or put in order is counted in ``repairs``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
from gnomon.intake.depth import check_depth
from gnomon.intake.documents import count_pairs
from gnomon.intake.faults import reason, shown
from gnomon.intake.limits import DEFAULT, MIB

LARGEST_BYTES = 64 * MIB
"""No caption is longer."""
FRAME_NUMBERS = 10_000_000
"""A number below this counts frames, and no episode is longer; a time in nanoseconds is larger."""
OUTSIDE = "references outside the episode"
UNREADABLE = "unreadable references"
DROPPED = "ranges wholly outside the episode, left out"
_REFERENCE = re.compile(r"(?:frame_)?(\d{1,19})(?:\.\w{1,4})?", re.ASCII)
Value = TypeVar("Value")


@dataclass(frozen=True)
class Segment:
    """An annotated stretch of an episode: frames ``start`` to ``stop``, half-open, and its sub-task."""

    id: str
    start: int
    stop: int
    subtask: str


@dataclass(frozen=True)
class FrameLabels:
    """What holds at each of N frames; empty where nothing was written.

    Attributes
    ----------
    action, subtask, interaction
        One text per frame.
    objects
        The names of the objects per frame.
    segments
        The annotated segments by rising start.
    repairs
        What had to be repaired in the caption, and how often.
    """

    action: tuple[str, ...]
    subtask: tuple[str, ...]
    objects: tuple[frozenset[str], ...]
    interaction: tuple[str, ...]
    segments: tuple[Segment, ...]
    repairs: Mapping[str, int]


class _Action(NamedTuple):
    label: str
    start: int
    stop: int


def parse(raw: bytes, times_ns: Array, n_frames: int, *, where: str = "caption") -> FrameLabels:
    """Return what a caption says of each frame.

    Parameters
    ----------
    raw
        The caption: JSON in UTF-8.
    times_ns
        Time of each frame in nanoseconds, rising.
    n_frames
        Number of frames, as many as there are times.
    where
        What opens the message of an error.

    Raises
    ------
    InputError
        The caption is too large, is not JSON, or has no list of segments.
    """
    repairs: Counter[str] = Counter()
    items = _segments(raw, where, repairs)
    reader = _Reader(np.asarray(times_ns, dtype=np.int64), n_frames, repairs)
    segments = [reader.segment(item, index) for index, item in enumerate(items)]
    actions = [reader.actions(item, segment) for item, segment in zip(items, segments, strict=True)]
    kept = [segment for segment in segments if segment is not None]
    reader.count_order(kept)
    return FrameLabels(
        _action_labels(segments, actions, n_frames),
        _carried(["" if s is None else s.subtask for s in segments], _spans(segments), n_frames),
        *_held(reader, items, segments, n_frames),
        tuple(sorted(_named(kept, repairs), key=lambda s: (s.start, s.stop))),
        dict(sorted(repairs.items())),
    )


def _segments(raw: bytes, where: str, repairs: Counter[str]) -> list[dict[str, Any]]:
    if len(raw) > LARGEST_BYTES:
        raise InputError(f"{where}: {len(raw)} bytes, expected at most {LARGEST_BYTES}; shorten it")
    found = check_depth(raw, DEFAULT.max_json_depth, where)
    try:
        value: Any = msgspec.json.decode(raw)
    except (msgspec.MsgspecError, ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"{where}: not a JSON document ({reason(error)}); correct it") from error
    if (again := found.pairs - count_pairs(value)) > 0:
        repairs["keys that are repeated, of which the last holds"] = again
    segments = value.get("segments") if isinstance(value, dict) else None
    if not isinstance(segments, list):
        got = f"the keys {shown(', '.join(map(str, value)), 80)}" if isinstance(value, dict) else type(value).__name__
        raise InputError(f"{where}: expected an object with a list of segments, but got {got}; correct it")
    for index, item in enumerate(segments):
        if not isinstance(item, dict):
            raise InputError(f"{where}: segments[{index}]: expected an object, but got {shown(repr(item), 80)}")
    return segments


class _Reader:
    """Turns references into frames of one episode, and counts what it had to repair."""

    def __init__(self, times_ns: Array, n_frames: int, repairs: Counter[str]) -> None:
        self.times = times_ns
        self.n = n_frames
        self.repairs = repairs
        self.slack = int(np.median(np.diff(times_ns)) / 2) if n_frames > 1 else 0

    def segment(self, item: Mapping[str, Any], index: int) -> Segment | None:
        """Return a segment, or nothing where none of it is in the episode."""
        span = self.span(item)
        name = item.get("segment_id")
        known = isinstance(name, str | int) and not isinstance(name, bool)
        return Segment(str(name if known else index), *span, self.text(item.get("Sub Task"))) if span else None

    def actions(self, item: Mapping[str, Any], segment: Segment | None) -> list[_Action]:
        """Return the actions of a segment that are in the episode, in the order of the list."""
        listed = item.get("Current Action") or []
        if not isinstance(listed, list):
            self.repairs["lists of actions that are none, left out"] += 1
            return []
        if segment and not listed:
            self.repairs["segments without actions"] += 1
        actions = []
        for entry in listed:
            label = self.text(entry.get("label")) if isinstance(entry, dict) else ""
            if not label:
                self.repairs["actions without a label, left out"] += 1
            elif span := self.span(entry):
                actions.append(_Action(label, *span))
        if segment:
            beyond = sum(a.start < segment.start or a.stop > segment.stop for a in actions)
            self._add("actions past their segment", beyond)
        self._add("actions out of order", sum(b.start < a.start for a, b in pairwise(actions)))
        return actions

    def span(self, item: Mapping[str, Any]) -> tuple[int, int] | None:
        """Return the frames of a range, half-open and cut to the episode, or nothing where none is left."""
        first, last = self.frame(item.get("start_frame")), self.frame(item.get("end_frame"))
        if first is None or last is None:
            return None
        if last < first:
            self.repairs["ranges that end before they start, left out"] += 1
            return None
        if last < 0 or first >= self.n:
            self.repairs[DROPPED] += 1
            return None
        return max(first, 0), min(last, self.n - 1) + 1

    def frame(self, reference: object) -> int | None:
        """Return the frame of a reference: -1 before the episode, N after it, nothing where it cannot be read."""
        number = _number(reference)
        if number is None:
            self.repairs[UNREADABLE] += 1
            return None
        timed = number >= FRAME_NUMBERS and not str(reference).startswith("frame_")
        index = self._nearest(number) if timed else min(max(number, -1), self.n)
        if not 0 <= index < self.n:
            self.repairs[OUTSIDE] += 1
        return index

    def text(self, value: object) -> str:
        """Return a label without blanks around it; empty where there is none."""
        if isinstance(value, str):
            return value.strip()
        if value is not None:
            self.repairs["labels that are not text, left out"] += 1
        return ""

    def points(self, item: Mapping[str, Any], key: str, segment: Segment) -> list[tuple[int, Any]]:
        """Return what is written at single frames of a segment, by rising frame."""
        written = item.get(key) or {}
        if not isinstance(written, dict):
            self.repairs[f"{key} that are no mapping, left out"] += 1
            return []
        placed = [(self.frame(reference), value) for reference, value in written.items()]
        inside = [(frame, value) for frame, value in placed if frame is not None and 0 <= frame < self.n]
        within = [(frame, value) for frame, value in inside if segment.start <= frame < segment.stop]
        self._add(f"{key} outside their segment, left out", len(inside) - len(within))
        return sorted(within, key=lambda pair: pair[0])

    def count_order(self, segments: Sequence[Segment]) -> None:
        """Count segments that come too early in the list, or that begin before another has ended."""
        self._add("segments out of order", sum(b.start < a.start for a, b in pairwise(segments)))
        ordered = sorted(segments, key=lambda s: (s.start, s.stop))
        self._add("segments that overlap", sum(b.start < a.stop for a, b in pairwise(ordered)))

    def _nearest(self, time: int) -> int:
        first, last = int(self.times[0]), int(self.times[-1])
        if time < first - self.slack:
            return -1
        if time > last + self.slack:
            return self.n
        after = min(max(int(np.searchsorted(self.times, time)), 1), self.n - 1)
        nearer = time - int(self.times[after - 1]) <= int(self.times[after]) - time
        return after - 1 if nearer else after

    def _add(self, what: str, count: int) -> None:
        if count:
            self.repairs[what] += count


def _number(reference: object) -> int | None:
    if isinstance(reference, bool):
        return None
    if isinstance(reference, int):
        return reference
    if isinstance(reference, float):
        return int(reference) if reference.is_integer() else None
    match = _REFERENCE.fullmatch(reference.strip()) if isinstance(reference, str) else None
    return int(match[1]) if match else None


def _named(segments: Iterable[Segment], repairs: Counter[str]) -> list[Segment]:
    """Return segments with names of their own: a name that is repeated gets its count behind it."""
    seen: Counter[str] = Counter()
    named = []
    for segment in segments:
        seen[segment.id] += 1
        if seen[segment.id] > 1:
            repairs["segment ids that are repeated, numbered"] += 1
            segment = Segment(f"{segment.id}#{seen[segment.id]}", segment.start, segment.stop, segment.subtask)
        named.append(segment)
    return named


def _spans(segments: Iterable[Segment | None]) -> list[tuple[int, int]]:
    return [(0, 0) if segment is None else (segment.start, segment.stop) for segment in segments]


def _action_labels(
    segments: Sequence[Segment | None], actions: Sequence[Sequence[_Action]], n_frames: int
) -> tuple[str, ...]:
    listed = [action for group in actions for action in group]
    codes = _painted([(a.start, a.stop) for a in listed], n_frames)
    first = 0
    for segment, own in zip(segments, actions, strict=True):
        if segment and own:
            _fill_gaps(codes, segment, own, first)
        first += len(own)
    return _texts([action.label for action in listed], _forward(codes))


def _fill_gaps(codes: Array, segment: Segment, own: Sequence[_Action], first: int) -> None:
    """Give frames of a segment that have no action the one of its own that ended last, else its first."""
    gaps = segment.start + np.flatnonzero(codes[segment.start : segment.stop] < 0)
    stops = np.array([action.stop for action in own])
    order = np.argsort(stops, kind="stable")
    ended = np.searchsorted(stops[order], gaps, side="right")
    codes[gaps] = first + np.where(ended > 0, order[ended - 1], 0)


def _carried(labels: Sequence[str], spans: Sequence[tuple[int, int]], n_frames: int) -> tuple[str, ...]:
    kept = [span if label else (0, 0) for label, span in zip(labels, spans, strict=True)]
    return _texts(labels, _forward(_painted(kept, n_frames)))


def _painted(spans: Iterable[tuple[int, int]], n_frames: int) -> Array:
    """Return which range holds at each frame: the last that covers it, -1 where none does."""
    codes = np.full(n_frames, -1, dtype=np.int64)
    for code, (start, stop) in enumerate(spans):
        codes[start:stop] = code
    return codes


def _forward(codes: Array) -> Array:
    """Return codes carried forward over frames that have none."""
    last = np.maximum.accumulate(np.where(codes >= 0, np.arange(len(codes)), -1))
    return np.where(last >= 0, codes[last], -1)


def _texts(labels: Sequence[str], codes: Array) -> tuple[str, ...]:
    return tuple(labels[code] if code >= 0 else "" for code in codes.tolist())


def _held(
    reader: _Reader, items: Sequence[Mapping[str, Any]], segments: Sequence[Segment | None], n_frames: int
) -> tuple[tuple[frozenset[str], ...], tuple[str, ...]]:
    """Return objects and interaction by frame, each held forward within its segment."""
    objects = [frozenset[str]()] * n_frames
    interaction = [""] * n_frames
    for item, segment in zip(items, segments, strict=True):
        if segment:
            named = [(f, _names(reader, value)) for f, value in reader.points(item, "objects", segment)]
            _hold(objects, named, segment, frozenset())
            told = [(f, reader.text(value)) for f, value in reader.points(item, "interaction", segment)]
            _hold(interaction, told, segment, "")
    return tuple(objects), tuple(interaction)


def _hold(frames: list[Value], points: Sequence[tuple[int, Value]], segment: Segment, nothing: Value) -> None:
    edges = [(segment.start, nothing), *points]
    for (start, value), stop in zip(edges, [*(f for f, _ in points), segment.stop], strict=True):
        frames[start:stop] = [value] * (stop - start)


def _names(reader: _Reader, value: object) -> frozenset[str]:
    if not isinstance(value, list):
        reader.repairs["labels that are not text, left out"] += value is not None
        return frozenset()
    return frozenset(name for name in (reader.text(entry) for entry in value) if name)
