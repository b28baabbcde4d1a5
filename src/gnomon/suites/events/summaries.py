"""What does not fold over recordings: rows of returns and latencies, which are scored; and what is said besides scores.

Seconds of each class taken for each other and signed offsets stand without intervals; they are kept with the run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gnomon.core.ledgers import Ledger
from gnomon.core.tallies import Array, natural_key
from gnomon.measures import _stretches, event_rows, timing
from gnomon.measures._stretches import Pair
from gnomon.numerics import segments as kernel
from gnomon.runs.variants import DIFFERS
from gnomon.suites.events.columns import Columns, Recording

NULL = "(nothing)"
"""The class of time that nothing covers."""
MOST_CLASSES = 200
"""Above this many classes no confusion is kept."""
EDGES = "edges"
"""The ledger of errors of matched edges, of which facts are made."""
COUNTS = ("events", "detected")
_NO_EDGES = Ledger(np.zeros(0, np.int64), {"onset": np.zeros(0), "offset": np.zeros(0)})


def confusion(recordings: Sequence[Recording]) -> Ledger:
    """Return seconds by true and returned class; recordings whose classes overlap have none."""
    names = sorted(
        {label for one in recordings for side in (one.truth, one.returned) for label in side.classes}, key=natural_key
    )
    place = {label: index for index, label in enumerate([*names, NULL])}
    parts: list[tuple[Array, Array, Array, Array]] = []
    for number, one in enumerate(recordings if len(names) <= MOST_CLASSES else ()):
        own = sorted({*one.truth.classes, *one.returned.classes}, key=natural_key)
        truth, returned = (_track(side, own, one.case.window) for side in (one.truth, one.returned))
        if kernel.overlapping(truth) or kernel.overlapping(returned):
            continue
        found, _ = kernel.segments(truth, returned, one.case.window)
        table, _ = kernel.joint(found, truth, returned, one.case.window)
        a, b = np.nonzero(table > 0)
        code = np.array([place[label] for label in (*own, NULL)], dtype=np.int64)
        parts.append((np.full(len(a), number), code[a], code[b], table[a, b]))
    empty = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    case, true, got, seconds = (np.concatenate(side) for side in zip(*(parts or [empty]), strict=True))
    return _labelled(case, {"truth": true, "predicted": got, "seconds": seconds}, [*names, NULL])


def left(recordings: Sequence[Recording], *, ranked: bool) -> tuple[dict[str, Ledger], dict[str, int]]:
    """Return every ledger of the strict variant, and how many events there are and how many of them were detected.

    Ledgers are the confusion, what was returned, how late events were detected, and the errors of matched edges. Unless
    every return has a score (``ranked``), none has one.
    """
    kept: dict[str, list[Ledger]] = {"detections": [], "latency": [], EDGES: []}
    counts = dict.fromkeys(COUNTS, 0)
    for one in recordings:
        truth, returned = one.truth.signal(one.case.window), one.returned.signal(one.case.window, scores=ranked)
        pair = _stretches.paired(truth, returned)
        kept["detections"].append(event_rows.detected(pair))
        kept["latency"].append(event_rows.late_by(pair))
        tracks = _whole(one).tracks()
        kept[EDGES].append(_edges(*tracks))
        late = timing.lateness(*tracks)
        counts["events"] += len(late)
        counts["detected"] += int(np.isfinite(late).sum())
    if not recordings:
        nothing = event_rows.detections({}, {}, window={}), event_rows.latencies({}, {}, window={})
        kept = {name: [rows] for name, rows in zip(kept, (*nothing, _NO_EDGES), strict=True)}
    stacked = {name: Ledger.stack([(rows, 1) for rows in own]) for name, own in kept.items()}
    return {"confusion": confusion(recordings), **stacked}, counts


def settled(kept: Mapping[str, Ledger], *, ranked: bool) -> dict[str, Ledger]:
    """Return the ledgers of all parts as those of all recordings at once would be; none where there are none."""
    if not kept:
        return {}
    table, returned = kept["confusion"], kept["detections"]
    names = [label for label in table.labels["truth"] if label != NULL]
    place = {label: index for index, label in enumerate([*names, NULL])}
    code = np.array([place[label] for label in table.labels["truth"]], dtype=np.int64)
    few = len(names) <= MOST_CLASSES
    rows = np.ones(len(table), np.bool_) if few else np.zeros(len(table), np.bool_)
    columns = {side: code[table.columns[side][rows]] for side in ("truth", "predicted")}
    whole = _labelled(table.case[rows], {**columns, "seconds": table.columns["seconds"][rows]}, [*names, NULL])
    if not ranked:
        blank = {
            name: np.full(len(column), np.nan) if name == "score" else np.zeros_like(column)
            for name, column in returned.columns.items()
            if name == "score" or name.startswith("hit")
        }
        returned = Ledger(returned.case, {**returned.columns, **blank}, returned.labels)
    return {**kept, "confusion": whole, "detections": returned}


def facts(told: Mapping[str, Any], edges: Ledger, recordings: int) -> dict[str, Any]:
    """Return how many events were detected, and boundary offsets."""
    classes = len(told["true"])
    apart = f"strict keeps {classes} classes apart, published pools them into one"
    found: dict[str, Any] = {DIFFERS: [apart] if classes > 1 else []}
    if not recordings:
        return found
    found["timing"] = {
        "latency": {name: told[name] for name in COUNTS},
        **{side: _spread(edges.columns[side]) for side in ("onset", "offset")},
        "matched": len(edges),
    }
    return found


def _spread(errors: Array) -> dict[str, float | None]:
    """Summarise signed errors; whatever their order, to the last bit."""
    names = ("mean", "median", "mean_absolute", "p90_absolute")
    if not len(errors):
        return dict.fromkeys(names)
    size = np.abs(errors)
    found = (
        math.fsum(errors) / len(errors),
        float(np.median(errors)),
        math.fsum(size) / len(size),
        float(np.percentile(size, 90)),
    )
    return dict(zip(names, found, strict=True))


def _edges(true: kernel.Track, returned: kernel.Track) -> Ledger:
    """Return the signed errors of both edges of every matched event."""
    i, j = timing.matched(true, returned, 0.0)
    errors = {"onset": returned.starts[j] - true.starts[i], "offset": returned.ends[j] - true.ends[i]}
    return Ledger(np.zeros(len(i), np.int64), errors)


def _whole(one: Recording) -> Pair:
    """Return both sides as they were given, also beyond the window."""
    sides = one.truth, one.returned
    low = min(one.case.window[0], *(float(side.starts.min(initial=np.inf)) for side in sides))
    high = max(one.case.window[1], *(float(side.ends.max(initial=-np.inf)) for side in sides))
    return _stretches.paired(*(side.signal((low, high)) for side in sides))


def _track(side: Columns, names: Sequence[str], window: tuple[float, float]) -> kernel.Track:
    place = {label: index for index, label in enumerate(names)}
    own = np.array([place[label] for label in side.classes], dtype=np.int64)
    return kernel.tidy(side.starts, side.ends, own[side.codes], len(names), window)


def _labelled(case: Array, columns: Mapping[str, Array], labels: Sequence[str]) -> Ledger:
    return Ledger(case, columns, {"truth": labels, "predicted": labels})
