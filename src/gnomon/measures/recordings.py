"""Measures of intervals over one recording, many, or a stream of them: what is tallied is one recording.

The task modules of stored measures (:mod:`recognition <gnomon.measures.recognition>`, :mod:`segmentation
<gnomon.measures.segmentation>`, :mod:`matching <gnomon.measures.matching>`) have their ``evaluate`` and ``accumulate``
from here. Recordings are tallied one by one and summed exactly, as runs do: neither their order nor the number of
updates changes a bit.

Conventions: intervals are ``(start, end)`` or ``(start, end, label)``, or a tuple of arrays ``(starts, ends[,
labels])``, in seconds. A label in ``background`` is time without a class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from gnomon.core.errors import InputError, some
from gnomon.core.measure import Measure, by_family, score_by_name
from gnomon.core.signals import NONE, Intervals
from gnomon.core.tallies import Tallies
from gnomon.measures._reading import EVENT, encode, read_side, read_window
from gnomon.measures.accumulate import Accumulator

Stored = dict[str, tuple[Tallies, ...]]
"""Tallies of recordings by the family of their measures."""


def evaluate_recordings(
    measures: Sequence[Measure], truth: Any, prediction: Any, *, window: Any, background: Any = ()
) -> dict[str, Any]:
    """Score one recording, or several that are mappings by recording on both sides; ``window`` may be one too.

    Returns the score of each measure by its name, ``recordings``, and ``undefined`` by name.
    """
    state: Stored | None = None
    for own in _recordings(truth, prediction, window):
        state = add_recording(state, *own[:2], window=own[2], background=background, measures=measures)
    if state is None:
        raise InputError("truth: expected at least one recording, but got none")
    return score_recordings(state, measures)


def accumulate_recordings(measures: Sequence[Measure], *, background: Any = ()) -> Accumulator[Stored]:
    """Return an accumulator whose ``update(truth, prediction, window=...)`` takes one recording."""
    step = partial(add_recording, measures=measures, background=background)
    return Accumulator(step, partial(score_recordings, measures=measures), by_row=False)


def add_recording(
    state: Stored | None,
    truth: Any,
    prediction: Any,
    *,
    window: Any,
    measures: Sequence[Measure],
    background: Any = (),
) -> Stored:
    """Tally one recording behind those before it."""
    sides = to_signals(truth, prediction, window, background)
    kept = state or {}
    return {family: (*kept.get(family, ()), measure.tally(*sides)) for family, measure in by_family(measures).items()}


def score_recordings(state: Stored, measures: Sequence[Measure]) -> dict[str, Any]:
    """Score tallied recordings."""
    undefined: dict[str, str] = {}
    totals = {family: Tallies.stack(parts).total() for family, parts in state.items()}
    result: dict[str, Any] = {}
    for measure in measures:
        result |= score_by_name({measure.name: measure}, totals[measure.family], undefined)
    return {**result, "recordings": len(next(iter(state.values()))), "undefined": undefined}


def to_signals(truth: Any, prediction: Any, window: Any, background: Any = ()) -> tuple[Intervals, Intervals]:
    """Read both sides of a recording as intervals over common classes; a label in ``background`` is no class."""
    limits = read_window(window)
    true, returned = read_side(truth, "truth"), read_side(prediction, "prediction", scores=True)
    labels, *codes = encode(true[2], returned[2], (len(true[0]), len(returned[0])))
    unwanted = {background} if isinstance(background, (str, int)) else set(background)
    wanted = np.array([label not in unwanted for label in labels] or [True], dtype=np.bool_)
    classes = tuple(map(str, labels)) or (EVENT,)
    first, second = (
        Intervals(side[0], side[1], np.where(wanted[code], code, NONE), classes, limits, side[3])
        for side, code in zip((true, returned), codes, strict=True)
    )
    return first, second


def _recordings(truth: Any, prediction: Any, window: Any) -> list[tuple[Any, Any, Any]]:
    """Return truth, prediction and window of each recording."""
    if not isinstance(truth, Mapping):
        return [(truth, prediction, window)]
    if not isinstance(prediction, Mapping):
        raise InputError(f"prediction: expected a mapping by recording, as truth is, but got {prediction!r:.80}")
    if strange := prediction.keys() - truth.keys():
        raise InputError(f"prediction: no truth of recordings {some(sorted(strange, key=str))}")
    windows = window if isinstance(window, Mapping) else dict.fromkeys(truth, window)
    if without := truth.keys() - windows.keys():
        raise InputError(f"window: expected one for each recording, but got none of {some(sorted(without, key=str))}")
    return [(truth[name], prediction.get(name, ()), windows[name]) for name in truth]
