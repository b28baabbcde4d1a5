"""Times of events: false alarms per hour, errors of first onsets, and how far boundaries are off.

Conventions
-----------
- Stretches as in :mod:`gnomon.measures.events`: half-open, in seconds, of one recording or, in a mapping by name, of
  several. Overlapping and abutting stretches of one class are one event or one return.
- Background is what nothing covers, and what is named as ``background``; it is never an event, and a return of
  background is never an alarm.
- Every error is signed, returned minus true: negative is early.
- Onsets are those that a recogniser reports, not when it reports them: one that is asked at the end may date an event
  back. An onset error therefore says nothing about how long a recogniser takes to detect an event.
- With a ``window``, both sides are cut to it before anything is matched: an edge beyond it is the window's.

Measures
--------
false alarms per hour
    I' (returns that share no time with an event of their class, within the window) over hours. The denominator is part
    of the name: ``total`` hours of the windows, or ``null`` hours, in which truth holds no event of any class. An alarm
    of a class during an event of another class counts in both.
first onset error
    For every event that a return of its class overlaps: start of the first such return minus start of the event. A
    return that began in an earlier event and still lasts is early for the later one. Median and 90th percentile (linear
    interpolation) are over the events that were detected; the share with an error of at most x seconds (early ones
    included) is over all events: a missed one counts as not reached.
boundary offsets
    Onset and offset errors of matched events: pairs of one class with IoU of at least ``least_iou``, one to one, taken
    by falling IoU (of equal ones the earlier). Mean, median, mean and 90th percentile of absolute errors.

Undefined cases
---------------
No time in the denominator: false alarms per hour. No event: shares of first onset errors. No detected event or no
matched pair: everything that is summarised over them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
from gnomon.measures import _stretches
from gnomon.measures._stretches import Pair
from gnomon.numerics import matching1d
from gnomon.numerics.segments import Track

HOUR_S = 3600.0


def evaluate(
    truth: Any, prediction: Any, *, window: Any, per: Literal["total", "null"] = "total", background: Any = ()
) -> dict[str, Any]:
    """Return ``false_alarms``, ``first_onset`` and ``boundary_offsets`` with the defaults of their functions.

    All are cut to the window.
    """
    return _stretches.gathered(
        false_alarms=false_alarms_per_hour(truth, prediction, window=window, per=per, background=background),
        first_onset=first_onset_errors(truth, prediction, window=window, background=background),
        boundary_offsets=boundary_offsets(truth, prediction, window=window, background=background),
    )


def false_alarms_per_hour(
    truth: Any, prediction: Any, *, window: Any, per: Literal["total", "null"] = "total", background: Any = ()
) -> dict[str, Any]:
    """Count returns without an event and divide by hours.

    Parameters
    ----------
    truth, prediction, background, window
        As in :mod:`gnomon.measures._stretches`.
    per
        Hours of the windows (``total``), or of the time in them in which truth holds no event at all (``null``).

    Returns
    -------
    dict
        ``rate``, ``alarms``, ``returned``, ``hours``, ``per``; ``classes`` by label (``rate, alarms, returned``);
        ``undefined``.

    Examples
    --------
    >>> false_alarms_per_hour([(10, 20)], [(12, 15), (40, 50)], window=(0, 1800))["rate"]
    2.0
    """
    if per not in ("total", "null"):
        raise InputError(f"per: expected 'total' or 'null', but got {per!r}")
    pair, windows = _stretches.read_within(truth, prediction, window, background=background)
    true, returned = pair.tracks()
    alone = np.ones(len(returned.starts), dtype=bool)
    alone[matching1d.overlaps(true, returned)[1]] = False
    spans = _stretches.uncovered(pair, windows) if per == "null" else windows[:, 1] - windows[:, 0]
    hours = float(spans.sum()) / HOUR_S
    alarms, returns = pair.count(returned.codes()[alone]), pair.count(returned.codes())
    undefined: dict[str, str] = {}

    def rate(n: int, where: str) -> dict[str, float | None]:
        if hours <= 0:
            undefined[where] = "no time without events in the window" if per == "null" else "no time is scored"
        return {"rate": n / hours if hours > 0 else None}

    classes = {
        label: {**rate(n, f"classes.{label}.rate"), "alarms": n, "returned": m}
        for label, n, m in zip(pair.labels, alarms.tolist(), returns.tolist(), strict=True)
    }
    n = int(alarms.sum())
    sums = {"alarms": n, "returned": int(returns.sum()), "hours": hours, "per": per}
    return {**rate(n, "rate"), **sums, "classes": classes, "undefined": undefined}


def first_onset_errors(
    truth: Any,
    prediction: Any,
    *,
    no_later_than: Sequence[float] = (1.0, 2.0, 5.0),
    window: Any = None,
    background: Any = (),
) -> dict[str, Any]:
    """Summarise how far the first return of every event starts from the start of the event, in seconds.

    Parameters
    ----------
    truth, prediction, background
        As in :mod:`gnomon.measures._stretches`.
    no_later_than
        Seconds for which the share of events whose first return starts no later after them is asked, however early.
    window
        As in :mod:`gnomon.measures._stretches`; by default nothing is cut.

    Returns
    -------
    dict
        ``median``, ``p90``, ``no_later_than`` (share by seconds), ``events``, ``detected``; ``classes`` by label with
        the same; ``undefined``.

    Examples
    --------
    >>> result = first_onset_errors([(10, 20), (30, 40), (50, 60)], [(11, 20), (29, 33)])
    >>> result["median"], result["detected"], round(result["no_later_than"]["1"], 3)
    (0.0, 2, 0.667)
    """
    pair = _read(truth, prediction, window, background)
    limits = _seconds(no_later_than)
    true, returned = pair.tracks()
    errors = first_onsets(true, returned)
    undefined: dict[str, str] = {}
    classes = {
        label: _summary(values, limits, f"classes.{label}.", undefined)
        for label, values in zip(pair.labels, pair.by_class(true.codes(), errors), strict=True)
    }
    return {**_summary(errors, limits, "", undefined), "classes": classes, "undefined": undefined}


def boundary_offsets(
    truth: Any, prediction: Any, *, least_iou: float | None = None, window: Any = None, background: Any = ()
) -> dict[str, Any]:
    """Summarise the errors of starts and ends of matched events, in seconds.

    Parameters
    ----------
    truth, prediction, background
        As in :mod:`gnomon.measures._stretches`.
    least_iou
        Least IoU of a matched pair; by default any overlap.
    window
        As in :mod:`gnomon.measures._stretches`; by default nothing is cut.

    Returns
    -------
    dict
        ``onset`` and ``offset``: ``mean, median, mean_absolute, p90_absolute`` and ``errors`` in the order of
        recording, class and time; ``matched``, ``events``, ``returned``; ``classes`` by label with the same summaries;
        ``undefined``.

    Examples
    --------
    >>> result = boundary_offsets([(10, 20), (30, 40)], [(11, 22), (28, 39)])
    >>> result["onset"]["errors"], result["offset"]["mean_absolute"]
    ([1.0, -2.0], 1.5)
    """
    least = 0.0 if least_iou is None else float(_stretches.limits(least_iou, "least_iou")[0])
    pair = _read(truth, prediction, window, background)
    true, returned = pair.tracks()
    i, j = matched(true, returned, least)
    errors = {"onset": returned.starts[j] - true.starts[i], "offset": returned.ends[j] - true.ends[i]}
    groups, undefined = true.codes()[i], dict[str, str]()
    classes: dict[Any, dict[str, Any]] = {label: {} for label in pair.labels}
    result: dict[str, Any] = {}
    for name, values in errors.items():
        result[name] = {**_errors(values, name, undefined), "errors": values.tolist()}
        for label, own in zip(pair.labels, pair.by_class(groups, values), strict=True):
            classes[label][name] = _errors(own, f"classes.{label}.{name}", undefined)
    sizes = {"matched": len(i), "events": len(true.starts), "returned": len(returned.starts)}
    return {**result, **sizes, "classes": classes, "undefined": undefined}


def first_onsets(true: Track, returned: Track) -> Array:
    """Return the first onset error of every event, infinite where no return of its class overlaps it."""
    i, j, _ = matching1d.overlaps(true, returned)
    errors = np.full(len(true.starts), np.inf)
    np.minimum.at(errors, i, returned.starts[j] - true.starts[i])
    return errors


def matched(true: Track, returned: Track, least: float) -> tuple[Array, Array]:
    """Return pairs by falling IoU, one to one, in the order of the truths."""
    i, j, common = matching1d.overlaps(true, returned)
    iou = matching1d.iou(true, returned, i, j, common)
    order = np.lexsort((j, i, -iou))
    order = order[iou[order] >= least]
    chosen = matching1d.one_to_one(i[order], j[order], len(true.starts), len(returned.starts))
    found = np.flatnonzero(chosen >= 0)
    return found, chosen[found]


def _read(truth: Any, prediction: Any, window: Any, background: Any) -> Pair:
    """Read both sides, cut to the window where one is given."""
    if window is None:
        return _stretches.read(truth, prediction, background=background)
    return _stretches.read_within(truth, prediction, window, background=background)[0]


def _summary(errors: Array, limits: list[float], where: str, undefined: dict[str, str]) -> dict[str, Any]:
    known = errors[np.isfinite(errors)]
    if not len(known):
        undefined.update({f"{where}{name}": "no event was detected" for name in ("median", "p90")})
    if not len(errors):
        undefined.update({f"{where}no_later_than.{x:g}": "no events" for x in limits})
    return {
        "median": float(np.median(known)) if len(known) else None,
        "p90": float(np.percentile(known, 90)) if len(known) else None,
        "no_later_than": {f"{x:g}": float((errors <= x).mean()) if len(errors) else None for x in limits},
        "events": len(errors),
        "detected": len(known),
    }


def _errors(values: Array, where: str, undefined: dict[str, str]) -> dict[str, float | None]:
    names = ("mean", "median", "mean_absolute", "p90_absolute")
    if not len(values):
        undefined.update({f"{where}.{name}": "no matched events" for name in names})
        return dict.fromkeys(names)
    size = np.abs(values)
    found = values.mean(), np.median(values), size.mean(), np.percentile(size, 90)
    return {name: float(value) for name, value in zip(names, found, strict=True)}


def _seconds(no_later_than: Sequence[float]) -> list[float]:
    try:
        limits = [float(x) for x in no_later_than]
    except (TypeError, ValueError) as error:
        raise InputError(f"no_later_than: expected seconds, but got {no_later_than!r:.80}") from error
    if not np.isfinite(limits).all():
        raise InputError(f"no_later_than: expected finite seconds, but got {no_later_than!r:.80}")
    return limits
