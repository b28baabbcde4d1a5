"""Detection of events as things to be found: average precision, collar F1, and intersection criteria.

Conventions
-----------
- Stretches as in :mod:`gnomon.measures.events`: half-open, in seconds, of one recording or, in a mapping by name, of
  several. Unlike there each stretch is an event of its own: nothing is united, except as said below.
- Background is what nothing covers, and what is named as ``background``; it is dropped from both sides and never found.
- Scores rise with certainty. Events of a class are pooled over recordings; a match never crosses recordings.

Measures
--------
mAP@tIoU
    Returns of a class by falling score; each takes the free event of its recording with the largest IoU, if that is at
    least t. Average precision is the mean over events of the best precision at that recall or a higher one (no grid of
    recalls). Returns of equal score enter the curve together, so that no order of input matters. ``mAP@t`` is the mean
    over classes that occur in truth, ``mAP`` the mean over thresholds. Thresholds: :data:`ACTIVITYNET` or
    :data:`THUMOS`.
collar F1
    A return and an event may be matched if their onsets differ by at most the collar, and their offsets by at most
    max(collar, share x length of the event), to the microsecond. The largest number of pairs, one to one, is tp.
    ``f1`` is over all classes and recordings, ``macro_f1`` the mean over classes of truth or prediction (Mesaros et
    al., 2016).
intersection criteria
    A return passes DTC if events of its class cover at least ``dtc`` of it; otherwise it is a false positive. An event
    is found (GTC) if returns that pass cover at least ``gtc`` of it. A false positive of which events of another class
    cover at least ``cttc`` is a cross trigger of that class as well (Bilen et al., 2020). TPR is found events over
    events; false positives are per hour of the windows. Overlapping events of one class are united, and so are
    overlapping returns; returns with scores must not overlap in a class, and give the curve of TPR against false
    positives per hour over all thresholds of the score.

Undefined cases
---------------
A class without events: its AP, recall and TPR. No class with events: mAP and the mean TPR. No event and no return: F1.
No return: precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
from gnomon.measures import _stretches
from gnomon.measures._stretches import Pair, Side, arranged
from gnomon.numerics import matching1d
from gnomon.numerics.segments import Codes, Track

ACTIVITYNET = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
THUMOS = (0.3, 0.4, 0.5, 0.6, 0.7)
NO_EVENTS = "no events in truth"
_SLACK = 1e-9  # of a share: parts of a whole add up to a little less


def evaluate(truth: Any, prediction: Any, *, background: Any = ()) -> dict[str, Any]:
    """Return ``collar`` and, if returns have scores, ``average_precision``, with the defaults of their functions.

    Intersection criteria need a window: see :func:`intersection_criteria`.
    """
    parts = {"collar": collar_f1(truth, prediction, background=background)}
    if _stretches.read(truth, prediction, background=background).prediction.scores is not None:
        parts["average_precision"] = mean_average_precision(truth, prediction, background=background)
    return _stretches.gathered(**parts)


def mean_average_precision(
    truth: Any, prediction: Any, *, thresholds: Sequence[float] = ACTIVITYNET, background: Any = ()
) -> dict[str, Any]:
    """Return mAP over overlaps.

    Parameters
    ----------
    truth, prediction, background
        As in :mod:`gnomon.measures._stretches`; predictions with scores.
    thresholds
        Least IoU of a true positive, above 0.

    Returns
    -------
    dict
        ``mAP``; ``mAP@0.5`` and so on; ``classes`` by label (``AP``, mean over thresholds, ``AP@0.5`` and so on,
        ``events``, ``returned``); ``undefined``.

    Examples
    --------
    >>> returned = [(0, 9, "run", 0.9), (50, 60, "run", 0.8), (20, 30, "run", 0.7)]
    >>> mean_average_precision([(0, 10, "run"), (20, 30, "run")], returned, thresholds=[0.5])["mAP@0.5"]
    0.8333333333333333
    """
    values = _stretches.limits(thresholds)
    pair = _stretches.read(truth, prediction, background=background, scores=True)
    events, returns = pair.count(pair.truth.groups), pair.count(pair.prediction.groups)
    table = _average_precisions(pair, values, events, returns)
    names = [f"@{round(t, 9):g}" for t in values.tolist()]
    undefined: dict[str, str] = {}
    classes = {}
    for c, label in enumerate(pair.labels):
        known = table[:, c].tolist() if events[c] else [None] * len(names)
        scores = {"AP": float(table[:, c].mean()) if events[c] else None}
        scores |= {f"AP{name}": value for name, value in zip(names, known, strict=True)}
        classes[label] = {**scores, "events": int(events[c]), "returned": int(returns[c])}
        undefined |= {f"classes.{label}.{name}": NO_EVENTS for name in scores if not events[c]}
    rows = table[:, events > 0]
    found = rows.mean(axis=1).tolist() if rows.size else [None] * len(names)
    result = {"mAP": float(rows.mean()) if rows.size else None}
    result |= {f"mAP{name}": value for name, value in zip(names, found, strict=True)}
    undefined |= {name: NO_EVENTS for name, value in result.items() if value is None}
    return {**result, "classes": classes, "undefined": undefined}


def collar_f1(
    truth: Any,
    prediction: Any,
    *,
    collar_s: float = 0.2,
    length_share: float = 0.5,
    offsets: bool = True,
    background: Any = (),
) -> dict[str, Any]:
    """Match by onset and offset within a collar.

    Parameters
    ----------
    truth, prediction, background
        As in :mod:`gnomon.measures._stretches`.
    collar_s
        How far an onset may be off, in seconds.
    length_share
        An offset may be off by this share of the event's length, if that is more than the collar.
    offsets
        Whether offsets matter at all.

    Returns
    -------
    dict
        ``f1, precision, recall, tp, fp, fn`` over everything; ``macro_f1``; ``classes`` by label; ``undefined``.

    Examples
    --------
    >>> result = collar_f1([(1, 3, "dog"), (5, 6, "dog")], [(1.1, 3.9, "dog"), (5.5, 6, "dog")])
    >>> result["f1"], result["tp"]
    (0.5, 1)
    """
    collar, share = _stretches.amount(collar_s, "collar_s"), _stretches.amount(length_share, "length_share")
    pair = _stretches.read(truth, prediction, background=background)
    tables = collar_counts(pair, collar, share, offsets)
    undefined: dict[str, str] = {}
    classes = {
        label: _f1([int(table[c]) for table in tables], f"classes.{label}.", undefined)
        for c, label in enumerate(pair.labels)
    }
    scores = [found["f1"] for found in classes.values() if found["f1"] is not None]
    if not scores:
        undefined["macro_f1"] = "no events and no returns"
    macro = sum(scores) / len(scores) if scores else None
    overall = _f1([int(table.sum()) for table in tables], "", undefined)
    return {**overall, "macro_f1": macro, "classes": classes, "undefined": undefined}


def collar_counts(pair: Pair, collar: float, share: float, offsets: bool) -> tuple[Array, Array, Array]:
    """Return the numbers of pairs, of events and of returns by class."""
    true, returned = (arranged(side, pair.groups)[0] for side in (pair.truth, pair.prediction))
    rows, columns = matching1d.within_collar(true, returned, collar, share, offsets)
    matched = true.codes()[_largest_matching(rows, columns, len(returned.starts))]
    return pair.count(matched), pair.count(true.codes()), pair.count(returned.codes())


def intersection_criteria(
    truth: Any,
    prediction: Any,
    *,
    window: Any,
    dtc: float = 0.7,
    gtc: float = 0.7,
    cttc: float | None = None,
    background: Any = (),
) -> dict[str, Any]:
    """Find events by shares of common time.

    Parameters
    ----------
    truth, prediction, background, window
        As in :mod:`gnomon.measures._stretches`.
    dtc, gtc, cttc
        Least share of a return that is in events, of an event that is in returns, of a false positive that is in events
        of another class (``None``: not asked).

    Returns
    -------
    dict
        ``tpr`` (mean over classes with events), ``hours``, ``classes`` by label: ``tpr, fp_per_hour, tp, fn, fp,
        cross_triggers`` (by label, if asked) and, with scores, ``curve`` (``score, tpr, fp_per_hour``: what holds if
        returns below the score are left out); ``undefined``.

    Examples
    --------
    >>> result = intersection_criteria([(0, 10, "dog")], [(0, 4, "dog"), (5, 9, "dog"), (9, 20, "dog")], window=(0, 60))
    >>> result["tpr"], result["classes"]["dog"]["fp_per_hour"]
    (1.0, 60.0)
    """
    asked = {name: v for name, v in (("dtc", dtc), ("gtc", gtc), ("cttc", cttc)) if v is not None}
    shares = {name: float(_stretches.limits(value, name)[0]) - _SLACK for name, value in asked.items()}
    pair, windows = _stretches.read_within(truth, prediction, window, background=background)
    hours = float((windows[:, 1] - windows[:, 0]).sum()) / 3600
    true, returned, scores = _tracks(pair)
    passed, reached = _criteria(true, returned, scores, shares)
    crossed = _cross_triggers(pair, true, returned, ~passed, shares["cttc"]) if "cttc" in shares else None
    codes, undefined = returned.codes(), dict[str, str]()
    found, own = pair.by_class(true.codes(), reached), pair.by_class(codes, scores)
    false = pair.by_class(codes[~passed], scores[~passed])
    classes: dict[Any, dict[str, Any]] = {}
    for c, label in enumerate(pair.labels):
        classes[label] = _found(found[c], len(false[c]), hours, f"classes.{label}.", undefined)
        if crossed is not None:
            classes[label]["cross_triggers"] = dict(zip(pair.labels, crossed[c].tolist(), strict=True))
        if pair.prediction.scores is not None:
            classes[label]["curve"] = _curve(found[c], false[c], own[c], hours)
    known = [row["tpr"] for row in classes.values() if row["tpr"] is not None]
    if not known:
        undefined["tpr"] = NO_EVENTS
    tpr = sum(known) / len(known) if known else None
    return {"tpr": tpr, "hours": hours, "classes": classes, "undefined": undefined}


def ranked_hits(pair: Pair, thresholds: Array) -> tuple[Array, Array]:
    """Return the order of returns by class and falling score, and which of them hit, ``(thresholds, returns)``."""
    true, returned = pair.truth, pair.prediction
    scores = np.zeros(0) if returned.scores is None else returned.scores
    classes = pair.class_of[returned.groups]
    order = np.lexsort((returned.ends, returned.starts, returned.groups, -scores, classes))
    ranked = returned.starts[order], returned.ends[order], returned.groups[order]
    return order, matching1d.locked((true.starts, true.ends, true.groups), ranked, thresholds)


def _average_precisions(pair: Pair, thresholds: Array, events: Codes, returns: Codes) -> Array:
    """Return average precision, ``(thresholds, classes)``."""
    order, hits = ranked_hits(pair, thresholds)
    classes, scores = pair.class_of[pair.prediction.groups], pair.prediction.scores
    block = np.stack([classes[order].astype(np.float64), np.zeros(0) if scores is None else scores[order]])
    ends = np.flatnonzero(np.append((block[:, 1:] != block[:, :-1]).any(axis=0), [True] * bool(len(order))))
    last = np.repeat(ends, np.diff(ends, prepend=-1)).astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(returns)]).astype(np.int64)
    return matching1d.average_precision(hits, last, offsets, events)


def _largest_matching(rows: Codes, columns: Codes, n_columns: int) -> Array:
    """Return the truths that a largest matching holds."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    if not len(columns):
        return np.zeros(0, np.int64)
    graph = csr_array((np.ones(len(columns), np.int8), columns, rows), shape=(len(rows) - 1, n_columns))
    return np.flatnonzero(maximum_bipartite_matching(graph, perm_type="column") >= 0)


def _f1(counts: list[int], where: str, undefined: dict[str, str]) -> dict[str, Any]:
    """Return precision, recall and F1 from the numbers of pairs, events and returns."""
    tp, n, m = counts
    scores = {
        "f1": 2 * tp / (n + m) if n + m else None,
        "precision": tp / m if m else None,
        "recall": tp / n if n else None,
    }
    reasons = {"f1": "no events and no returns", "precision": "no returns", "recall": NO_EVENTS}
    undefined.update({f"{where}{name}": reasons[name] for name, value in scores.items() if value is None})
    return {**scores, "tp": tp, "fp": m - tp, "fn": n - tp}


def _tracks(pair: Pair) -> tuple[Track, Track, Array]:
    """Return events, returns, and the scores of the returns (zero where there are none)."""
    true = pair.track(pair.truth, keep_abutting=True)
    if pair.prediction.scores is None:
        returned = pair.track(pair.prediction, keep_abutting=True)
        return true, returned, np.zeros(len(returned.starts))
    returned, order = arranged(pair.prediction, pair.groups)
    groups = returned.codes()
    wrong = np.flatnonzero((returned.starts[1:] < returned.ends[:-1]) & (groups[1:] == groups[:-1]))
    if len(wrong):
        at, group = int(wrong[0]), groups[wrong[0]]
        name, label = pair.recordings[pair.recording_of[group]], pair.labels[pair.class_of[group]]
        raise InputError(
            f"prediction: returns of {label!r} with scores overlap in {name!r}: [{returned.starts[at]}, "
            f"{returned.ends[at]}) and the one from {returned.starts[at + 1]}: their common time would count twice"
        )
    return true, returned, pair.prediction.scores[order]


def _criteria(true: Track, returned: Track, scores: Array, shares: dict[str, float]) -> tuple[Array, Array]:
    """Return which returns pass DTC, and the score down to which an event is found (``-inf``: never)."""
    i, j, common = matching1d.overlaps(true, returned)
    inside = np.bincount(j, weights=common, minlength=len(scores))
    passed = inside >= shares["dtc"] * (returned.ends - returned.starts)
    order = np.lexsort((j, -scores[j], i))
    order = order[passed[j[order]]]
    needed = shares["gtc"] * (true.ends - true.starts)
    return passed, matching1d.reached(i[order], common[order], scores[j[order]], needed)


def _cross_triggers(pair: Pair, true: Track, returned: Track, false: Array, share: float) -> Array:
    """Count false positives of a class (row) that lie in events of another (column)."""
    n = len(pair.labels)
    sides = [(track, track.codes()[kept], kept) for track, kept in ((true, slice(None)), (returned, false))]
    tracks, classes = [], []
    for track, groups, kept in sides:
        side = Side(track.starts[kept], track.ends[kept], pair.recording_of[groups])
        found, order = arranged(side, len(pair.recordings))
        tracks.append(found)
        classes.append(pair.class_of[groups][order])
    i, j, common = matching1d.overlaps(tracks[0], tracks[1])
    keys, where = np.unique(j * max(n, 1) + classes[0][i], return_inverse=True)
    j, other = keys // max(n, 1), keys % max(n, 1)
    inside = np.bincount(where, weights=common, minlength=len(keys))
    enough = inside >= share * (tracks[1].ends - tracks[1].starts)[j]
    kept = enough & (classes[1][j] != other)
    return np.bincount(classes[1][j[kept]] * n + other[kept], minlength=n * n).reshape(n, n)


def _found(reached: Array, fp: int, hours: float, where: str, undefined: dict[str, str]) -> dict[str, Any]:
    tp, n = int((reached > -np.inf).sum()), len(reached)
    if not n:
        undefined[f"{where}tpr"] = NO_EVENTS
    if not hours:
        undefined[f"{where}fp_per_hour"] = "no time is scored"
    rates = {"tpr": tp / n if n else None, "fp_per_hour": fp / hours if hours else None}
    return {**rates, "tp": tp, "fn": n - tp, "fp": fp}


def _curve(reached: Array, false: Array, scores: Array, hours: float) -> dict[str, Any]:
    """Return one point for every score of a class, falling; a rate that is undefined is ``None``."""
    levels = np.unique(scores)[::-1]
    found, wrong = (len(x) - np.searchsorted(np.sort(x), levels) for x in (reached, false))
    return {
        "score": levels.tolist(),
        "tpr": (found / len(reached)).tolist() if len(reached) else None,
        "fp_per_hour": (wrong / hours).tolist() if hours else None,
    }
