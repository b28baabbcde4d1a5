"""Lanes of a timeline of events: truth, what systems returned, their errors, and where systems differ.

Conventions
-----------
- Spans of one lane are in the order of time and do not overlap. Classes are one lane, or one for each class where
  classes overlap.
- An error lane shows Ward's categories (:mod:`gnomon.measures.events`): of the one class in ``published``; in
  ``strict`` of every class, joined by the worst. Time that is rightly nothing is empty.
- Ranks, larger is worse: 0 right; 1 overfill (Os, Oe); 2 underfill (Us, Ue); 3 merge and fragmenting (M, F); 4
  insertion and deletion (I, D). Of two categories of one rank the one named later here is shown.
- The lane of differences shows of two systems where exactly one is wrong, of more how many are.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

import numpy as np

from gnomon.core.tallies import Array
from gnomon.numerics import segments as kernel
from gnomon.numerics.segments import CATEGORIES

SEVERITY = ("TP", "Os", "Oe", "Us", "Ue", "M", "F", "I", "D")
"""Categories of an error lane from right to worst; codes of outcomes are places in this list."""
TITLES = {
    "TP": "right",
    "Os": "overfill at the start",
    "Oe": "overfill at the end",
    "Us": "underfill at the start",
    "Ue": "underfill at the end",
    "M": "merge",
    "F": "fragmenting",
    "I": "insertion",
    "D": "deletion",
}
RANKS = dict(zip(SEVERITY, (0, 1, 1, 2, 2, 3, 3, 4, 4), strict=True))
ROLES = dict(zip(SEVERITY, ("right", *["timing"] * 4, "confused", "confused", "false", "missed"), strict=True))
"""Colours of a page by what they stand for."""
OUTCOMES = [
    {"name": name, "title": TITLES[name], "rank": RANKS[name], "wrong": RANKS[name] > 0, "role": ROLES[name]}
    for name in SEVERITY
]
Spans = tuple[Array, Array, Array]
"""Starts, ends and codes of a lane."""


def timeline(
    case: str,
    window: tuple[float, float],
    clock: str | None,
    labels: Sequence[str],
    lanes: list[dict[str, Any]],
    wrong: Sequence[tuple[str, Spans]],
    signals: Sequence[dict[str, Any]] = (),
) -> dict[str, Any]:
    """Return the data of a timeline, with a lane of differences where several systems have errors."""
    further, spans = differences(wrong)
    return {
        "case": case,
        "window": list(window),
        "clock": clock,
        "labels": list(labels),
        "outcomes": [*OUTCOMES, *further],
        "zones": [],
        "lanes": [*lanes, *([] if spans is None else [lane("difference", "", "outcomes", spans)])],
        "signals": list(signals),
    }


def unused(name: str, taken: Sequence[str]) -> str:
    """Return a name for a group of lanes that no other has.

    >>> unused("x", ["x"]), unused("truth", [])
    ('x (2)', 'truth (2)')
    """
    used = {"", "truth", *taken}
    return next(text for n in count(1) if (text := name if n == 1 else f"{name} ({n})") not in used)


def lane(name: str, group: str, kind: str, spans: Spans) -> dict[str, Any]:
    """Return a lane of a timeline."""
    start, end, code = spans
    return {"name": name, "group": group, "kind": kind, "start": start, "end": end, "code": code.astype(np.uint16)}


def label_lanes(name: str, group: str, track: kernel.Track, labels: Sequence[str]) -> list[dict[str, Any]]:
    """Return one lane of all classes, or one for each class where they overlap."""
    codes = track.codes()
    if not kernel.overlapping(track):
        order = np.argsort(track.starts, kind="stable")
        return [lane(name, group, "labels", (track.starts[order], track.ends[order], codes[order]))]
    found = []
    for index in np.flatnonzero(np.diff(track.offsets)).tolist():
        own = slice(track.offsets[index], track.offsets[index + 1])
        spans = (track.starts[own], track.ends[own], codes[own])
        found.append(lane(f"{name}: {labels[index]}", group, "labels", spans))
    return found


def error_spans(truth: kernel.Track, returned: kernel.Track, window: tuple[float, float], *, pooled: bool) -> Spans:
    """Return the worst category of any class at every time, as codes of :data:`SEVERITY`."""
    if pooled:
        truth, returned = (_pooled(track, window) for track in (truth, returned))
    found, _ = kernel.segments(truth, returned, window)
    ends = np.append(found.starts[1:], window[1])
    ends[found.offsets[1:-1] - 1] = window[1]
    codes = _CODES[found.categories]
    kept = np.flatnonzero(codes >= 0)
    spans = found.starts[kept], ends[kept], codes[kept]
    if truth.classes == 1:
        return spans
    return painted(*spans)


_CODES = np.array([SEVERITY.index(name) if name in SEVERITY else -1 for name in CATEGORIES], dtype=np.int64)


def _pooled(track: kernel.Track, window: tuple[float, float]) -> kernel.Track:
    return kernel.tidy(track.starts, track.ends, np.zeros(len(track.starts), dtype=np.int64), 1, window)


def painted(starts: Array, ends: Array, codes: Array) -> Spans:
    """Return spans that do not overlap, each with the largest code there; what is not cut by a larger one stays whole.

    >>> [part.tolist() for part in painted(np.array([0.0, 2.0]), np.array([9.0, 3.0]), np.array([1, 4]))]
    [[0.0, 2.0, 3.0], [2.0, 3.0, 9.0], [1, 4, 1]]
    """
    order = np.argsort(starts, kind="stable")
    starts, ends, codes = starts[order], ends[order], codes[order]
    before = np.append(-np.inf, np.maximum.accumulate(ends)[:-1]) if len(ends) else ends
    alone = (starts >= before) & (ends <= np.append(starts[1:], np.inf))
    parts = zip(
        (starts[alone], ends[alone], codes[alone]), _painted(starts[~alone], ends[~alone], codes[~alone]), strict=True
    )
    starts, ends, codes = (np.concatenate(part) for part in parts)
    order = np.argsort(starts, kind="stable")
    return starts[order], ends[order], codes[order]


def _painted(starts: Array, ends: Array, codes: Array) -> Spans:
    """Paint spans over each other, those with a larger code later."""
    edges = np.unique(np.concatenate([starts, ends]))
    if not len(edges):
        return starts, ends, codes
    track = kernel.tidy(starts, ends, codes, len(SEVERITY), (edges[0], edges[-1]), keep_abutting=True)
    first, last = np.searchsorted(edges, track.starts), np.searchsorted(edges, track.ends)
    worst, begins = np.full(len(edges), -1, dtype=np.int64), np.zeros(len(edges), dtype=np.bool_)
    for code in range(track.classes):
        own = slice(track.offsets[code], track.offsets[code + 1])
        steps = np.zeros(len(edges), dtype=np.int64)
        steps[first[own]] += 1
        steps[last[own]] -= 1  # spans of one code do not overlap: no edge is met twice by starts, nor by ends
        covered = np.cumsum(steps) > 0
        worst[covered], begins[covered] = code, False
        begins[first[own]] = True
    changes = np.flatnonzero(begins | (np.diff(worst, prepend=-1) != 0))
    kept = np.flatnonzero(worst[changes] >= 0)
    return edges[changes[kept]], edges[changes[kept + 1]], worst[changes[kept]]


def differences(wrong: Sequence[tuple[str, Spans]]) -> tuple[list[dict[str, Any]], Spans | None]:
    """Return outcomes that say which systems are wrong, and where: of two exactly one, of more how many."""
    if len(wrong) < 2:
        return [], None
    pair = len(wrong) == 2
    parts = [(spans[0][spans[2] > 0], spans[1][spans[2] > 0]) for _, spans in wrong]
    starts, ends, levels = _levels(parts, (1, 2) if pair else (1,) * len(parts))
    if pair:
        kept = levels < 3
        starts, ends, levels = starts[kept], ends[kept], levels[kept]
        titles = [f"only {name} wrong" for name, _ in wrong]
        named = [(f"only {x} wrong", title, 1, role) for x, title, role in zip("AB", titles, ("c4", "c3"), strict=True)]
    else:
        n = len(wrong)
        named = [(f"{k}/{n}", f"{k} of {n} wrong", k, "timing" if k == 1 else "confused") for k in range(1, n)]
        named.append((f"{n}/{n}", f"all {n} wrong", n, "missed"))
    keys = ("name", "title", "rank", "role")
    outcomes = [{**dict(zip(keys, item, strict=True)), "wrong": True} for item in named]
    return outcomes, (starts, ends, levels + len(OUTCOMES) - 1)


def _levels(parts: Sequence[tuple[Array, Array]], weights: Sequence[int]) -> Spans:
    """Return where the weights of what covers a moment add up to more than nothing, and to how much."""
    times = np.concatenate([side for part in parts for side in part])
    steps = np.concatenate([np.repeat([w, -w], len(p[0])) for p, w in zip(parts, weights, strict=True)])
    order = np.argsort(times, kind="stable")
    times, levels = times[order], np.cumsum(steps[order])
    cells = np.flatnonzero(np.diff(times) > 0)
    starts, ends, levels = times[cells], times[cells + 1], levels[cells]
    begins = np.flatnonzero(np.diff(levels, prepend=0) != 0)
    stops = np.append(begins[1:], len(levels)) - 1
    begins, stops = begins[levels[begins] > 0], stops[levels[begins] > 0]
    return starts[begins], ends[stops], levels[begins]
