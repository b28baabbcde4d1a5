"""What does not fold over recordings: rows of returns and latencies, which are scored; and what is said besides scores.

Seconds of each class taken for each other and signed offsets stand without intervals; they are kept with the run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gnomon.core.ledgers import Ledger
from gnomon.core.tallies import natural_key
from gnomon.measures import event_rows, timing
from gnomon.numerics import segments as kernel
from gnomon.runs.variants import DIFFERS
from gnomon.suites.events.files import TruthCase
from gnomon.suites.events.times import Stretch

NULL = "(nothing)"
"""The class of time that nothing covers."""
MOST_CLASSES = 200
"""Above this many classes no confusion is kept."""
Results = Mapping[str, Sequence[Stretch[float]]]


def confusion(cases: Sequence[TruthCase], results: Results) -> Ledger:
    """Return seconds by true and returned class; recordings whose classes overlap have none."""
    names = sorted({s.label for case in cases for s in (*case.stretches, *results[case.id])}, key=natural_key)
    labels = [*names, NULL]
    place = {label: index for index, label in enumerate(names)}
    rows: list[tuple[int, int, int, float]] = []
    for number, case in enumerate(cases if len(names) <= MOST_CLASSES else ()):
        truth, returned = (_track(side, place, case.window) for side in (case.stretches, results[case.id]))
        if kernel.overlapping(truth) or kernel.overlapping(returned):
            continue
        found, _ = kernel.segments(truth, returned, case.window)
        table, _ = kernel.joint(found, truth, returned, case.window)
        rows += [(number, int(a), int(b), float(table[a, b])) for a, b in np.argwhere(table > 0)]
    case_of, true, got, seconds = zip(*rows, strict=True) if rows else ((), (), (), ())
    columns = {
        "truth": np.array(true, dtype=np.int64),
        "predicted": np.array(got, dtype=np.int64),
        "seconds": np.array(seconds, dtype=np.float64),
    }
    return Ledger(np.array(case_of, dtype=np.int64), columns, {"truth": labels, "predicted": labels})


def ledgers(cases: Sequence[TruthCase], results: Results) -> dict[str, Ledger]:
    """Return every ledger of the strict variant: the confusion, what was returned, and how late events were detected.

    Unless every return has a score, none has one.
    """
    ranked = all(s.score is not None for case in cases for s in results[case.id])
    returned = {case.id: [s if ranked else s[:3] for s in results[case.id]] for case in cases}
    truth = {case.id: [s[:3] for s in case.stretches] for case in cases}
    windows = {case.id: case.window for case in cases}
    return {
        "confusion": confusion(cases, results),
        "detections": event_rows.detections(truth, returned, window=windows),
        "latency": event_rows.latencies(truth, returned, window=windows),
    }


def facts(cases: Sequence[TruthCase], results: Results, classes: int) -> dict[str, Any]:
    """Return how many events were detected, and boundary offsets."""
    apart = f"strict keeps {classes} classes apart, published pools them into one"
    found: dict[str, Any] = {DIFFERS: [apart] if classes > 1 else []}
    truth = {case.id: [(s.start, s.end, s.label) for s in case.stretches] for case in cases}
    returned = {case.id: [(s.start, s.end, s.label) for s in results[case.id]] for case in cases}
    if not cases:
        return found
    late = timing.latency(truth, returned)
    edges = timing.boundary_offsets(truth, returned)
    found["timing"] = {
        "latency": {name: late[name] for name in ("events", "detected")},
        **{side: {k: v for k, v in edges[side].items() if k != "errors"} for side in ("onset", "offset")},
        "matched": edges["matched"],
    }
    return found


def _track(stretches: Sequence[Stretch[float]], place: Mapping[str, int], window: tuple[float, float]) -> kernel.Track:
    starts, ends = (np.array([s[side] for s in stretches], dtype=np.float64) for side in (0, 1))
    codes = np.array([place[s.label] for s in stretches], dtype=np.int64)
    return kernel.tidy(starts, ends, codes, len(place), window)
