"""Rows that recordings of events leave for scores that do not fold: what was returned, and errors of first onsets.

:mod:`gnomon.measures.detections` says what hits, :mod:`gnomon.measures.timing` what a first onset error is, and
:mod:`gnomon.measures.ranked` what is scored from the rows. Stretches are given by recording, as in
:mod:`gnomon.measures._stretches`; the code of a row's case is the place of its recording.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gnomon.core.ledgers import Ledger
from gnomon.core.tallies import Array, union
from gnomon.measures import _stretches
from gnomon.measures._stretches import Pair
from gnomon.measures.detections import ACTIVITYNET, ranked_hits
from gnomon.measures.ranked import hit_column
from gnomon.measures.timing import first_onsets


def detections(
    truth: Mapping[Any, Any],
    prediction: Mapping[Any, Any],
    *,
    window: Any,
    thresholds: Sequence[float] = ACTIVITYNET,
    background: Any = (),
) -> Ledger:
    """Return a row for every return, and one for the events of each class of a recording.

    Returns without scores leave rows without a score, which hit nothing.

    Examples
    --------
    >>> truth, returned = {"x": [(0, 10, "run")]}, {"x": [(1, 10, "run", 0.9), (50, 60, "run", 0.4)]}
    >>> found = detections(truth, returned, window=(0, 60), thresholds=[0.5]).columns
    >>> found["score"].tolist(), found["hit_0p5"].tolist(), found["truths"].tolist()
    ([0.9, 0.4, nan], [1, 0, 0], [0, 0, 1])
    """
    pair, _ = _stretches.read_within(truth, prediction, window, background=background)
    return detected(pair, thresholds)


def detected(pair: Pair, thresholds: Sequence[float] = ACTIVITYNET) -> Ledger:
    """Return the rows of :func:`detections` for recordings that are read and clipped."""
    limits = _stretches.limits(thresholds)
    events = np.bincount(pair.truth.groups, minlength=pair.groups)
    given, side = np.flatnonzero(events), pair.prediction
    n, rest = len(side.starts), np.zeros(len(given), dtype=np.int64)
    hits = np.zeros((len(limits), n), dtype=np.int64)
    scores = np.full(n, np.nan)
    if side.scores is not None:
        order, right = ranked_hits(pair, limits)
        hits[:, order], scores = right, side.scores
    columns = {
        "score": np.concatenate([scores, np.full(len(given), np.nan)]),
        "returned": np.concatenate([np.ones(n, dtype=np.int64), rest]),
        "truths": np.concatenate([np.zeros(n, dtype=np.int64), events[given]]),
        **{hit_column(t): np.concatenate([row, rest]) for t, row in zip(limits.tolist(), hits, strict=True)},
    }
    return _ledger(pair, np.concatenate([side.groups, given]), columns)


def onset_errors(
    truth: Mapping[Any, Any], prediction: Mapping[Any, Any], *, window: Any, background: Any = ()
) -> Ledger:
    """Return a row for every event that was detected: its ``first_onset_error``, in seconds.

    Examples
    --------
    >>> found = onset_errors({"x": [(10, 20), (30, 40)]}, {"x": [(12, 20)]}, window=(0, 60))
    >>> found.columns["first_onset_error"].tolist()
    [2.0]
    """
    return onset_rows(_stretches.read_within(truth, prediction, window, background=background)[0])


def onset_rows(pair: Pair) -> Ledger:
    """Return the rows of :func:`onset_errors` for recordings that are read and clipped."""
    true, returned = pair.tracks()
    errors = first_onsets(true, returned)
    known = np.isfinite(errors)
    return _ledger(pair, true.codes()[known], {"first_onset_error": errors[known]})


def _ledger(pair: Pair, groups: Array, columns: Mapping[str, Array]) -> Ledger:
    """Return rows of groups with their recording and class, the classes in natural order."""
    labels = [str(label) for label in pair.labels]
    classes = union([labels])
    place = {label: index for index, label in enumerate(classes)}
    code = np.array([place[label] for label in labels], dtype=np.int64)[pair.class_of[groups]]
    for column in columns.values():
        column.setflags(write=False)  # a ledger copies what others may write to; nobody holds these
    return Ledger(pair.recording_of[groups], {"class": code, **columns}, {"class": classes})
