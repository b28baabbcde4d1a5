"""Segmentation of a recording into a sequence of actions: segmental F1 at an overlap, and the edit score.

Both ask whether the right actions come in the right order, and forgive boundaries that are a little off: F1@k up to an
overlap, the edit score altogether (Lea et al., 2017).

Conventions
-----------
- Stretches as in :mod:`gnomon.measures.events`: half-open, in seconds, of one recording or, in a mapping by name, of
  several. Overlapping and abutting stretches of one class are one run.
- Background is part of the identity of these measures. What is named as ``background`` is dropped from both sides, and
  so is time that nothing covers; it is never a run of its own. Two runs of a class with background between them stay
  two. With background kept as a class, published numbers are many points higher.

Measures
--------
F1@k
    For every returned run the true run of its class with the largest IoU (of equal ones the first). It is a true
    positive if that IoU is at least k and no earlier return has hit the same true run; there is no second choice. Over
    all classes and recordings F1 = 2 tp / (2 tp + fp + fn), from 0 to 1.
edit score
    100 (1 - d / longer), with d the Levenshtein distance of the sequences of labels of both sides, and longer the
    length of the longer one; mean over recordings, from 0 to 100. Runs are in the order of their starts, then ends.
    Runs of several classes that begin and end together have no order: they are one place in the sequence, labelled by
    the set of their classes.

Undefined cases
---------------
F1@k: no run on either side. Edit score: a recording without a run on either side does not count; undefined if none is
left. Undefined is ``None`` with the reason under ``undefined``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gnomon.core.tallies import Array
from gnomon.measures import _stretches
from gnomon.measures._stretches import Pair
from gnomon.numerics import matching1d
from gnomon.numerics.segments import Track

THRESHOLDS = (0.1, 0.25, 0.5)
NO_RUNS = "no runs in truth or prediction"


def evaluate(
    truth: Any, prediction: Any, *, thresholds: Sequence[float] = THRESHOLDS, background: Any = ()
) -> dict[str, Any]:
    """Score segmentations: F1@k as :func:`segmental_f1` has it, and ``edit``.

    Examples
    --------
    >>> evaluate([(0, 4, "cut"), (4, 9, "stir")], [(0, 5, "cut"), (5, 9, "pour")])["edit"]
    50.0
    """
    result = segmental_f1(truth, prediction, thresholds=thresholds, background=background)
    undefined = result.pop("undefined")
    edit = edit_score(truth, prediction, background=background)
    if edit is None:
        undefined["edit"] = NO_RUNS
    return {**result, "edit": edit, "undefined": undefined}


def segmental_f1(
    truth: Any, prediction: Any, *, thresholds: Sequence[float] = THRESHOLDS, background: Any = ()
) -> dict[str, Any]:
    """Return F1 at each overlap, over all recordings.

    Parameters
    ----------
    truth, prediction, background
        As in :mod:`gnomon.measures._stretches`.
    thresholds
        Least IoU of a true positive, above 0.

    Returns
    -------
    dict
        ``F1@10`` and so on; ``counts`` by the same names (``tp, fp, fn``); ``truth`` and ``returned``, the numbers of
        runs; ``recordings``; ``undefined``.

    Examples
    --------
    >>> result = segmental_f1([(0, 4, "cut"), (4, 9, "stir")], [(0, 5, "cut"), (5, 9, "pour")])
    >>> result["F1@50"], result["counts"]["F1@50"]
    (0.5, {'tp': 1, 'fp': 1, 'fn': 1})
    """
    pair = _stretches.read(truth, prediction, background=background)
    true, returned = pair.tracks()
    best = best_overlaps(true, returned)
    n, m = len(true.starts), len(returned.starts)
    scores: dict[str, Any] = {}
    counts, undefined = {}, {}
    for k in _stretches.limits(thresholds).tolist():
        name = f"F1@{round(100 * k, 6):g}"
        tp = int((best >= k).sum())
        counts[name] = {"tp": tp, "fp": m - tp, "fn": n - tp}
        scores[name] = 2 * tp / (n + m) if n + m else None
        if not n + m:
            undefined[name] = NO_RUNS
    sizes = {"truth": n, "returned": m, "recordings": len(pair.recordings)}
    return {**scores, "counts": counts, **sizes, "undefined": undefined}


def edit_score(truth: Any, prediction: Any, *, background: Any = ()) -> float | None:
    """Return the mean edit score of the recordings, or ``None`` if none has a run on either side.

    Examples
    --------
    >>> edit_score([(0, 4, "a"), (4, 9, "b"), (9, 12, "a")], [(0, 3, "a"), (5, 9, "b")])
    66.66666666666667
    """
    scores = edit_scores(_stretches.read(truth, prediction, background=background))
    return sum(scores) / len(scores) if scores else None


def edit_scores(pair: Pair) -> list[float]:
    """Return the edit scores of the recordings that have a run on either side."""
    sets: dict[tuple[int, ...], int] = {}
    sides = [_sequences(pair, track, sets) for track in pair.tracks()]
    return [
        100 * (1 - matching1d.edit_distance(true, returned) / max(len(true), len(returned)))
        for true, returned in zip(*sides, strict=True)
        if len(true) or len(returned)
    ]


def best_overlaps(true: Track, returned: Track) -> Array:
    """Return the largest IoU with which a return chooses each truth, 0 where none does."""
    i, j, common = matching1d.overlaps(true, returned)
    iou = matching1d.iou(true, returned, i, j, common)
    order = np.lexsort((i, -iou, j))
    first = order[np.flatnonzero(np.diff(j[order], prepend=-1))]
    best = np.zeros(len(true.starts))
    np.maximum.at(best, i[first], iou[first])
    return best


def _sequences(pair: Pair, track: Track, sets: dict[tuple[int, ...], int]) -> list[Array]:
    """Return the labels of a side in the order of time, by recording: classes, or sets of them after all classes."""
    groups = track.codes()
    recording, classes = pair.recording_of[groups], pair.class_of[groups]
    order = np.lexsort((classes, track.ends, track.starts, recording))
    recording, classes = recording[order], classes[order]
    columns = recording, track.starts[order], track.ends[order]
    begins = np.any([np.diff(column, prepend=np.nan) != 0 for column in columns], axis=0)
    firsts = np.flatnonzero(begins)
    stops = np.append(firsts[1:], len(classes))
    labels = classes[firsts]
    for at in np.flatnonzero(stops - firsts > 1).tolist():
        together = tuple(classes[firsts[at] : stops[at]].tolist())
        labels[at] = len(pair.labels) + sets.setdefault(together, len(sets))
    ends = np.cumsum(np.bincount(recording[firsts], minlength=len(pair.recordings)))
    return np.split(labels, ends[:-1])
