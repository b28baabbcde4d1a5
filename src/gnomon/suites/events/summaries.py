"""What does not fold over recordings: rows of returns and onset errors, which are scored; and what is said besides.

Seconds of each class taken for each other and signed errors of edges stand without intervals; they are kept with the
run. Everything is cut to the windows, as in all other scores.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gnomon.core.ledgers import Ledger
from gnomon.core.tallies import Array
from gnomon.measures import event_rows, timing
from gnomon.measures._stretches import Pair
from gnomon.numerics.joint_labels import MOST_CLASSES, Joint
from gnomon.runs.variants import DIFFERS

NULL = "(nothing)"
"""The class of time that nothing covers."""
EDGES = "edges"
"""The ledger of errors of matched edges, of which facts are made."""
COUNTS = ("events", "detected")


def confusion(pair: Pair, tables: Joint) -> Ledger:
    """Return class-seconds by true and returned class, of every recording; none above ``MOST_CLASSES`` classes.

    A class that is called as the time that nothing covers counts as that.
    """
    labels = [*(str(label) for label in pair.labels if label != NULL), NULL]
    null = len(labels) - 1
    if null > MOST_CLASSES:
        none = np.zeros(0, np.int64)
        return _labelled(none, {"truth": none, "predicted": none, "seconds": np.zeros(0)}, labels)
    firsts = np.searchsorted(pair.recording_of, np.arange(len(pair.recordings) + 1))
    place = {label: index for index, label in enumerate(labels)}
    code = np.array([place[str(label)] for label in pair.labels], dtype=np.int64)
    stops, classes = firsts[tables.recording + 1], np.append(code[pair.class_of], null)
    sides = {}
    for side, codes in (("truth", tables.truth), ("predicted", tables.returned)):
        groups = firsts[tables.recording] + codes
        sides[side] = classes[np.where(groups < stops, groups, len(pair.class_of))]
    return _labelled(tables.recording, {**sides, "seconds": tables.seconds}, labels)


def make_ledgers(pair: Pair, tables: Joint) -> tuple[dict[str, Ledger], dict[str, int]]:
    """Return every ledger of the strict variant, and how many events there are and how many of them were detected.

    Ledgers are the confusion, what was returned, the first onset errors, and the errors of matched edges. ``pair``
    holds all recordings, clipped to their windows, and ``tables`` what they are jointly; unless every return has a
    score, none has one in it.
    """
    kept = {
        "confusion": confusion(pair, tables),
        "detections": _by_case(event_rows.detected(pair)),
        "first_onsets": event_rows.onset_rows(pair),
        EDGES: _edges(pair),
    }
    return kept, {"events": len(pair.tracks()[0].starts), "detected": len(kept["first_onsets"])}


def _by_case(rows: Ledger) -> Ledger:
    """Return rows by case, those of one case in their order."""
    if (np.diff(rows.case) >= 0).all():
        return rows
    order = np.argsort(rows.case, kind="stable")
    columns = {name: column[order] for name, column in rows.columns.items()}
    for column in columns.values():
        column.setflags(write=False)  # a ledger copies what others may write to; nobody holds these
    return Ledger(rows.case[order], columns, rows.labels)


def settle_ledgers(kept: Mapping[str, Ledger], *, ranked: bool) -> dict[str, Ledger]:
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
        **{name: told[name] for name in COUNTS},
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


def _edges(pair: Pair) -> Ledger:
    """Return the signed errors of both edges of every matched event."""
    true, returned = pair.tracks()
    i, j = timing.matched(true, returned, 0.0)
    errors = {"onset": returned.starts[j] - true.starts[i], "offset": returned.ends[j] - true.ends[i]}
    return Ledger(pair.recording_of[true.codes()[i]], errors)


def _labelled(case: Array, columns: Mapping[str, Array], labels: Sequence[str]) -> Ledger:
    return Ledger(case, columns, {"truth": labels, "predicted": labels})
