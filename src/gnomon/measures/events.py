"""Continuous recognition of events: Ward's categories of time and of events, binary and multi-class.

Truth and returns are stretches of time with a class; where nothing is, the class is NULL. Besides how much is right,
these measures say *how* a recogniser fails: late, early, fragmented, merged, inserted, missed (Ward, Lukowicz and
Gellersen, 2011). The multi-class part is our definition after Ward 2006 and 2011, stated below.

Conventions
-----------
- Stretches are half-open ``[start, end)`` in seconds; empty ones are dropped; all are clipped to the window; they
  need not be sorted. Overlapping and abutting stretches of one class are united; with ``keep_identity`` abutting events
  stay apart (segments do not change, events do).
- A segment is a maximal stretch in which (truth, returned) of a class, one against the rest, does not change.

Time
----
A segment is TP, TN, FP or FN. With L and R for "the segment before / after is a TP":

=====  ==============  ==================  =================  ===============
kind   neither         R only              L only             both
=====  ==============  ==================  =================  ===============
FP     I (insertion)   Os (overfill start)  Oe (overfill end)  M (merge)
FN     D (deletion)    Us (underfill start) Ue (underfill end) F (fragmenting)
=====  ==============  ==================  =================  ===============

Rates: with P = TP + D + F + Us + Ue and N = TN + I + M + Os + Oe, each category over its own total.

Events
------
With tp the number of TP segments of an event or return, and *linked* meaning "sharing a TP segment":

- an event is D (tp = 0), F (tp >= 2), FM (tp >= 2 and a linked return has tp >= 2), M (tp = 1 and a linked return
  has tp >= 2) or C (correct);
- a return is I' (tp = 0), M' (tp >= 2), FM' (tp >= 2 and a linked event has tp >= 2), F' (tp = 1 and a linked event
  has tp >= 2) or C'. There are as many C as C'.

Pairs
-----
Where the true class a and the returned class b differ, the FP category of b is paired with the FN category of a, "-"
standing for NULL. Pairs add up to what the confusion matrix has off its diagonal. *serious* is time with an I, D, M or
F on a side, *timing* the rest; *substitution* is time in which neither side is NULL.

Where classes of one track overlap (multi-label), every class is judged on its own, and the seconds of pairs, confusion
and what follows from them are class-seconds: a moment with k true and m returned classes counts max(k, m) times.
:mod:`gnomon.numerics.joint_labels` says how missing and extra classes of a moment are paired. Shares are over
``class_seconds``, which is the length of the window where no classes overlap.

Undefined cases
---------------
P = 0 or N = 0: that half of the rates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gnomon.core.tallies import Array
from gnomon.measures._reading import EVENT, Window, encode, read_side, read_window
from gnomon.numerics import segments as kernel
from gnomon.numerics.joint_labels import joint
from gnomon.numerics.segments import CATEGORIES, RETURN_LABELS, TRUTH_LABELS, Track

FP_SIDE = ("I", "M", "Os", "Oe", "-")
FN_SIDE = ("D", "F", "Us", "Ue", "-")
POSITIVE = ("TP", "D", "F", "Us", "Ue")
NEGATIVE = ("TN", "I", "M", "Os", "Oe")
NULL = "-"


def evaluate(truth: Any, prediction: Any, *, window: Window, keep_identity: bool = False) -> dict[str, Any]:
    """Score one recording.

    Parameters
    ----------
    truth, prediction
        Sequences of ``(start, end)`` or ``(start, end, label)``, or a tuple of arrays ``(starts, ends[, labels])``; in
        any order. Labels are integers or text.
    window
        Start and end of the time that is scored.
    keep_identity
        Keep abutting events of one class apart.

    Returns
    -------
    dict
        ``classes`` by label: ``durations`` (seconds in each category), ``rates``, ``truth_events`` and
        ``returned_events`` (labels in the order of time), ``counts``. For labelled input also ``pairs``, ``confusion``
        (``labels``, ``seconds``; rows are truth, the last is NULL), ``serious``, ``timing``, ``substitution`` and
        ``class_seconds``, which they are parts of. And ``undefined``: the reason for everything that is ``None``.

    Examples
    --------
    >>> result = evaluate([(10, 20)], [(12, 22)], window=(0, 30))["classes"]["event"]
    >>> {name: s for name, s in result["durations"].items() if s}
    {'TP': 8.0, 'TN': 18.0, 'Us': 2.0, 'Oe': 2.0}
    >>> result["truth_events"], result["returned_events"]
    (['C'], ["C'"])
    """
    limits = read_window(window)
    labels, true, returned, labelled = _read_pair(truth, prediction)
    tracks = [kernel.tidy(*side, len(labels), limits) for side in (true, returned)]
    found, seconds = kernel.segments(tracks[0], tracks[1], limits)
    named = tracks
    if keep_identity:
        named = [kernel.tidy(*side, len(labels), limits, keep_abutting=True) for side in (true, returned)]
    events = kernel.events(found, named[0], named[1], limits)
    undefined: dict[str, str] = {}
    classes = {
        label: _of_class(index, label, seconds[index], named, events, undefined) for index, label in enumerate(labels)
    }
    result: dict[str, Any] = {"classes": classes}
    if labelled:
        result |= _between_classes(labels, found, tracks, limits)
    return {**result, "undefined": undefined}


def _of_class(
    index: int,
    label: Any,
    seconds: Array,
    tracks: Sequence[Track],
    events: tuple[Array, Array],
    undefined: dict[str, str],
) -> dict[str, Any]:
    durations = dict(zip(CATEGORIES, seconds.tolist(), strict=True))
    labels: list[list[str]] = []
    counts: dict[str, int] = {}
    for track, codes, names in zip(tracks, events, (TRUTH_LABELS, RETURN_LABELS), strict=True):
        own = codes[track.offsets[index] : track.offsets[index + 1]]
        labels.append(np.array(names, dtype=object)[own].tolist())
        counts |= dict(zip(names, np.bincount(own, minlength=len(names)).tolist(), strict=True))
    return {
        "durations": durations,
        "rates": _rates(durations, f"classes.{label}.rates", undefined),
        "truth_events": labels[0],
        "returned_events": labels[1],
        "counts": counts,
    }


def _rates(durations: dict[str, float], where: str, undefined: dict[str, str]) -> dict[str, float | None]:
    rates: dict[str, float | None] = {}
    for total, names, what in (("P", POSITIVE, "no time of the class in truth"), ("N", NEGATIVE, "no other time")):
        whole = sum(durations[name] for name in names)
        rates[total] = whole
        for name in names:
            rates[f"{name}r"] = durations[name] / whole if whole else None
            if not whole:
                undefined[f"{where}.{name}r"] = what
    return rates


def _between_classes(
    labels: list[Any], found: kernel.Segments, tracks: Sequence[Track], window: Window
) -> dict[str, Any]:
    confusion, table = joint(found, tracks[0], tracks[1], window)
    pairs = {
        f"{fp}|{fn}": float(table[i, j])
        for i, fp in enumerate(FP_SIDE)
        for j, fn in enumerate(FN_SIDE)
        if table[i, j] > 0
    }
    grave = {pair: bool(set(pair.split("|")) & {"I", "M", "D", "F"}) for pair in pairs}
    return {
        "pairs": pairs,
        "confusion": {"labels": [*labels, NULL], "seconds": confusion.tolist()},
        "serious": math.fsum(s for pair, s in pairs.items() if grave[pair]),
        "timing": math.fsum(s for pair, s in pairs.items() if not grave[pair]),
        "substitution": math.fsum(s for pair, s in pairs.items() if NULL not in pair.split("|")),
        "class_seconds": math.fsum(confusion.ravel()),
    }


Side = tuple[Array, Array, Array]


def _read_pair(truth: Any, prediction: Any) -> tuple[list[Any], Side, Side, bool]:
    """Return the classes, both sides as arrays of starts, ends and class codes, and whether there were labels."""
    true, returned = read_side(truth, "truth"), read_side(prediction, "prediction")
    lengths = len(true[0]), len(returned[0])
    labels, first, second = encode(true[2], returned[2], lengths)
    labelled = bool(labels) or (not any(lengths) and any(side[2] is not None for side in (true, returned)))
    return labels if labelled else [EVENT], (true[0], true[1], first), (returned[0], returned[1], second), labelled
