"""3D skeletons: how far predicted joints are from the true ones, before and after alignment.

Conventions
-----------
Skeletons are ``(N, J, 3)`` in metres, truth first, row i of one side belonging to row i of the other. The pelvis (root)
is a joint or the middle of a pair. A mask ``(N, J)`` says which joints are visible; the others are left out *before*
any alignment. Frames are in the order of time; ``sequence`` tells recordings apart.

Measures
--------
Distances are Euclidean, means are over all visible joints of all samples (*micro*).

mpjpe, per_joint      mean distance as it is; the same by joint
pelvis_mpjpe          after the roots were put on one another
rigid_mpjpe           after the best rotation and translation
pa_mpjpe              after the best rotation, translation and scale (Procrustes), reflections excluded
n_mpjpe               after the roots were put on one another and the prediction was scaled about the root by
                      ``max(0, sum <p, t> / sum <p, p>)`` (Rhodin, Salzmann and Fua, 2018)
root_error            mean distance between the roots
median, percentiles   of the distances as they are, by linear interpolation
pck                   share of distances as they are within 50, 100 and 150 mm (Mehta et al., 2017, there after root
                      alignment: pass root-relative joints, or use :class:`gnomon.measures.skeletons.PCK`)
auc                   mean of that share over the thresholds 0, 5, 10, ... 150 mm (``0-150``: 31 of them) or 200 mm (41)
velocity              mean norm of the first difference of the error over frames
acceleration          mean norm of the second difference of the error (Kanazawa et al., 2019)
jitter                mean norm of the third difference of the prediction alone; ``evaluate(truth, truth)`` gives that
                      of the truth, with which it should be compared
bone_length           mean absolute difference between true and predicted lengths of bones

"Within" a threshold means at most a nanometre above it: alignment itself is not more exact than that. Differences are
taken only where all their frames follow one another and show the joint; a dropped sample breaks the chain. With a frame
rate they are in m/s, m/s^2 and m/s^3, without one per frame; ``units`` says which.

PA-MPJPE can exceed MPJPE: alignment minimises squares, not distances.

Dropped and undefined
---------------------
A sample of which a visible coordinate is not finite is dropped whole and counted, as is one without a visible joint.
A sample whose root is hidden counts everywhere but in pelvis_mpjpe, n_mpjpe and root_error, with a warning. Coincident
joints count: see :mod:`gnomon.numerics.procrustes`. What has nothing to average is ``None`` with its reason.

Units are never guessed. Truth of a size that no body has, or a prediction that is the truth in another unit, is an
error with the figure in it (:mod:`gnomon.measures.plausibility`); ``unit`` says what the numbers are. A prediction of
any other size is scored; where its median extent exceeds 10 m, or the extents of both sides differ by a factor of 100,
a warning says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
from gnomon.measures.accumulate import Accumulator, keep_rows, score_function
from gnomon.measures.plausibility import (
    MEASURED,
    check_body_size,
    check_same_unit,
    find_beyond,
    measure_bodies,
    measure_distances,
    metres_of,
)
from gnomon.numerics import kinematics
from gnomon.numerics.procrustes import FINE, NOT_FINITE, UNSEEN, Aligned, align, joints

KEYS = {
    "none": "mpjpe",
    "similarity": "pa_mpjpe",
    "root": "pelvis_mpjpe",
    "scale": "n_mpjpe",
    "rigid": "rigid_mpjpe",
}
"""Name of the mean distance after each alignment."""

STEP_MM = 5
THRESHOLDS_MM = (50, 100, 150)  # multiples of the step, as are the ranges
RANGES_MM = (150, 200)
PERCENTILES = (5, 25, 75, 95)
TOLERANCE_M = 1e-9
LARGEST_RATIO = 100.0

NO_SAMPLE = "no sample is left"
NO_ROOT = "the pelvis is visible in no sample"


@dataclass(frozen=True)
class _Input:
    """Checked input: both sides, what the mask shows, which samples are kept, and what is seen of those."""

    truth: Array
    prediction: Array
    shown: Array
    kept: Array
    seen: Array


def evaluate(
    truth: Any,
    prediction: Any,
    *,
    pelvis: int | tuple[int, int] = 0,
    mask: Any = None,
    fps: float | None = None,
    bones: Sequence[tuple[int, int]] | None = None,
    sequence: Any = None,
    unit: str = "",
) -> dict[str, Any]:
    """Score skeletons.

    Parameters
    ----------
    truth, prediction
        Joints ``(N, J, 3)``, in the order of time, both in metres unless ``unit`` says otherwise.
    pelvis
        The root: a joint, or a pair whose middle it is.
    mask
        Booleans ``(N, J)``: the joints that are visible.
    fps
        Frames per second, where velocity, acceleration and jitter are wanted per second.
    bones
        Pairs of joints whose distance is the length of a bone.
    sequence
        ``(N,)``: the recording of each sample, where there are several; one follows the other.
    unit
        Unit of the joints: ``m``, ``cm`` or ``mm``; metres by default. Results are in metres. Metres that are given
        (``unit="m"``) are obeyed also for sizes that no human body has, with a warning.

    Returns
    -------
    dict
        ``mpjpe``, ``pa_mpjpe``, ``pelvis_mpjpe``, ``n_mpjpe``, ``rigid_mpjpe``, ``root_error``, ``median``,
        ``percentiles`` (by ``"5"`` ...), ``pck`` (by millimetres), ``auc`` (by range), ``per_joint`` (a list),
        ``velocity``, ``acceleration``, ``jitter``, ``bone_length``; ``units``; ``n`` samples; ``dropped`` by reason;
        ``undefined``: the reason for everything that is ``None``; ``warnings``.

    Raises
    ------
    InputError
        Names what is wrong with a shape, a dtype or a parameter, or a size that no body has.

    Examples
    --------
    >>> truth = [[[0, 0, 0], [0, 0, 1.0]]]
    >>> result = evaluate(truth, [[[0, 0, 0.1], [0, 0, 1.3]]])
    >>> [round(result[name], 6) for name in ("mpjpe", "pelvis_mpjpe", "rigid_mpjpe", "root_error")]
    [0.2, 0.1, 0.1, 0.1]
    >>> result["pck"]
    {'50': 0.0, '100': 0.5, '150': 0.5}
    """
    metres = metres_of(unit or "m")
    if metres != 1.0:
        sides = (joints(truth, "truth"), joints(prediction, "prediction"))
        truth, prediction = (np.multiply(side, metres, dtype=np.float64) for side in sides)
    found = align(truth, prediction, keep=("none",), pelvis=pelvis, mask=mask)
    given = _read(truth, prediction, mask, found)
    _check_sizes(given, unit)
    undefined: dict[str, str] = {}
    result: dict[str, Any] = {
        **{name: _mean(found, kind, undefined) for kind, name in KEYS.items()},
        "root_error": _root_error(found, undefined),
        **_distribution(found.errors["none"][given.seen], undefined),
        "per_joint": _per_joint(found.errors["none"], given.seen, undefined),
        **_movement(given, _rate(fps), sequence, undefined),
        "bone_length": _bone_length(given, bones, undefined),
        "units": _units(fps),
        "n": int(given.kept.sum()),
        "dropped": _dropped(given, found),
        "undefined": undefined,
        "warnings": _warnings(given, found),
    }
    return result


def within(distances: Array, threshold_mm: Array) -> Array:
    """Count the distances (metres, sorted) that are within each threshold."""
    limits = np.asarray(threshold_mm, np.float64) / 1000 + TOLERANCE_M
    return np.asarray(np.searchsorted(distances, limits, side="right"))


def grid(upto_mm: int) -> Array:
    """Return the thresholds of an area under the curve, millimetres."""
    return np.arange(0, upto_mm + 1, STEP_MM)


def _read(truth: Any, prediction: Any, mask: Any, found: Aligned) -> _Input:
    true, predicted = joints(truth, "truth"), joints(prediction, "prediction")
    kept = np.asarray(found.status == FINE)
    shape = (len(true), true.shape[1])
    shown = np.broadcast_to(np.True_, shape) if mask is None else np.asarray(mask)
    return _Input(true, predicted, shown, kept, shown & kept[:, np.newaxis])


def _check_sizes(given: _Input, unit: str) -> None:
    """Refuse truth of a size that no body has, unless metres were asked for, and a prediction in another unit."""
    rows = np.flatnonzero(given.kept)
    rows = rows[:: max(len(rows) // MEASURED, 1)]
    insist = "pass unit='m' if these are metres"
    convert = "pass unit='cm' or unit='mm', or convert to metres"
    remedy = f"check unit={unit!r}; convert to metres and {insist}" if unit else f"{convert}; {insist}"
    true, predicted, seen = given.truth[rows], given.prediction[rows], given.seen[rows]
    if unit != "m":
        check_body_size(true, what="truth", seen=seen, remedy=remedy)
    sizes = (measure_bodies(side, seen) for side in (true, predicted))
    far = measure_distances(true, seen), measure_distances(predicted, seen)
    check_same_unit(*sizes, distances_m=far, what="bodies", remedy="give both sides in one unit")


def _mean(found: Aligned, kind: str, undefined: dict[str, str]) -> float | None:
    rows = found.rooted if kind in ("root", "scale") else found.status == FINE
    count = int(found.count[rows].sum())
    if not count:
        undefined[KEYS[kind]] = NO_ROOT if (found.status == FINE).any() else NO_SAMPLE
        return None
    return math.fsum(found.sums[kind][rows].tolist()) / count


def _root_error(found: Aligned, undefined: dict[str, str]) -> float | None:
    apart = found.apart[found.rooted]
    if not len(apart):
        undefined["root_error"] = NO_ROOT if (found.status == FINE).any() else NO_SAMPLE
        return None
    return math.fsum(apart.tolist()) / len(apart)


def _distribution(distances: Array, undefined: dict[str, str]) -> dict[str, Any]:
    """Summarise distances as they are: median, percentiles, shares within thresholds."""
    n = len(distances)
    ranges = {f"0-{upto}": grid(upto) for upto in RANGES_MM}
    names = {"percentiles": map(str, PERCENTILES), "pck": map(str, THRESHOLDS_MM), "auc": ranges}
    if not n:
        undefined["median"] = NO_SAMPLE
        lost: dict[str, Any] = {"median": None, **{name: dict.fromkeys(keys) for name, keys in names.items()}}
        undefined.update({f"{name}.{key}": NO_SAMPLE for name, keys in lost.items() if keys for key in keys})
        return lost
    ordered = np.sort(distances)
    hits = within(ordered, np.array(THRESHOLDS_MM))
    return {
        "median": _quantile(ordered, 0.5),
        "percentiles": {str(percent): _quantile(ordered, percent / 100) for percent in PERCENTILES},
        "pck": {str(limit): int(k) / n for limit, k in zip(THRESHOLDS_MM, hits.tolist(), strict=True)},
        "auc": {name: int(within(ordered, points).sum()) / (n * len(points)) for name, points in ranges.items()},
    }


def _quantile(ordered: Array, share: float) -> float:
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return float(ordered[low] + (place - low) * (ordered[high] - ordered[low]))


def _per_joint(distances: Array, seen: Array, undefined: dict[str, str]) -> list[float | None]:
    counts = seen.sum(axis=0).tolist()
    sums = kinematics.column_sums(distances, seen)
    for j, count in enumerate(counts):
        if not count:
            undefined[f"per_joint.{j}"] = f"joint {j} is visible in no sample" if any(counts) else NO_SAMPLE
    return [total / count if count else None for total, count in zip(sums, counts, strict=True)]


def _movement(given: _Input, rate: float, sequence: Any, undefined: dict[str, str]) -> dict[str, float | None]:
    n = len(given.truth)
    follows = np.ones(n, np.bool_)
    if sequence is not None:
        codes = np.asarray(sequence)
        if codes.shape != (n,):
            raise InputError(f"sequence: expected the recording of each of {n} samples, but got shape {codes.shape}")
        follows[1:] = codes[1:] == codes[:-1]
    out: dict[str, float | None] = {}
    sums = kinematics.changes(given.truth, given.prediction, given.seen, follows)
    for order, name in enumerate(kinematics.ORDERS, start=1):
        total, count = sums[name]
        out[name] = total / count * rate**order if count else None
        if not count:
            undefined[name] = f"no joint is visible in {order + 1} consecutive frames"
    return out


def _bone_length(given: _Input, bones: Any, undefined: dict[str, str]) -> float | None:
    if bones is None:
        undefined["bone_length"] = "no bones were given: pass pairs of joints"
        return None
    size = given.truth.shape[1]
    try:
        pairs = np.asarray(bones)
    except ValueError as error:
        raise InputError(f"bones: expected pairs of joints: {error}") from error
    whole = pairs.dtype.kind in "iu" and pairs.ndim == 2 and pairs.shape[1] == 2
    if not whole or pairs.min() < 0 or pairs.max() >= size:
        raise InputError(f"bones: expected pairs of joints from 0 to {size - 1}, but got {bones!r:.80}")
    total, count = kinematics.bone_error(given.truth, given.prediction, given.seen, [(a, b) for a, b in pairs.tolist()])
    if not count:
        undefined["bone_length"] = "no bone has both ends visible"
        return None
    return total / count


def _rate(fps: float | None) -> float:
    if fps is None:
        return 1.0
    if isinstance(fps, bool) or not isinstance(fps, (int, float, np.number)) or not 0 < fps < math.inf:
        raise InputError(f"fps: expected frames per second above 0, but got {fps!r}")
    return float(fps)


def _units(fps: float | None) -> dict[str, str]:
    time = "frame" if fps is None else "s"
    return {"distance": "m", "velocity": f"m/{time}", "acceleration": f"m/{time}^2", "jitter": f"m/{time}^3"}


def _dropped(given: _Input, found: Aligned) -> dict[str, int]:
    bad = np.flatnonzero(found.status == NOT_FINITE)
    fine = [
        (np.isfinite(side[bad]).all(axis=2) | ~given.shown[bad]).all(axis=1) for side in (given.truth, given.prediction)
    ]
    counts = {
        "truth is not finite": int((~fine[0]).sum()),
        "prediction is not finite": int((fine[0] & ~fine[1]).sum()),
        "too large to be squared": int((fine[0] & fine[1]).sum()),
        "no visible joint": int((found.status == UNSEEN).sum()),
    }
    return {reason: count for reason, count in counts.items() if count}


def _warnings(given: _Input, found: Aligned) -> list[str]:
    out = []
    hidden = int((given.kept & ~found.rooted).sum())
    if hidden:
        names = "pelvis_mpjpe, n_mpjpe and root_error"
        out.append(f"the pelvis is hidden in {hidden} of {int(given.kept.sum())} samples: {names} rest on the others")
    sizes = {}
    kept = np.flatnonzero(given.kept)
    rows = kept[:: max(len(kept) // MEASURED, 1)]
    for name, side in (("truth", given.truth), ("prediction", given.prediction)):
        extents = kinematics.extents(side[rows], given.seen[rows])
        sizes[name] = float(np.median(extents)) if rows.size else 0.0
        if beyond := find_beyond(extents):
            out.append(f"{name}: of the bodies, {beyond}; nothing was converted")
    small, large = sorted(sizes.values())
    if small > 0 and large / small > LARGEST_RATIO:
        both = f"truth and prediction have median extents of {sizes['truth']:.4g} and {sizes['prediction']:.4g} m"
        out.append(f"{both}: are they in one unit? nothing was converted")
    return out


def accumulate(
    *,
    pelvis: int | tuple[int, int] = 0,
    fps: float | None = None,
    bones: Sequence[tuple[int, int]] | None = None,
    unit: str = "",
) -> Accumulator[Any]:
    """Score skeletons that come in parts: ``update(truth, prediction, mask=..., sequence=...)``.

    The options are those of :func:`evaluate`. A part goes on where the one before it ended; where
    it is another recording, give ``sequence``. Medians need all distances, so everything is kept.

    >>> still = [[[0, 0, 0], [0, 0, 1.0]]]
    >>> accumulate().update(still, [[[0, 0, 0.1], [0, 0, 1.1]]]).update(still, still).compute()["mpjpe"]
    0.05
    """
    return keep_rows(evaluate, pelvis=pelvis, fps=fps, bones=bones, unit=unit)


mpjpe = score_function(evaluate, "mpjpe", "Mean per-joint position error, metres.")
pa_mpjpe = score_function(evaluate, "pa_mpjpe", "Mean joint error after a similarity alignment (Procrustes), metres.")
pelvis_mpjpe = score_function(evaluate, "pelvis_mpjpe", "Mean joint error with the pelvis of both sides at 0, metres.")
n_mpjpe = score_function(evaluate, "n_mpjpe", "Mean joint error after root and scale alignment, metres.")
rigid_mpjpe = score_function(evaluate, "rigid_mpjpe", "Mean joint error after a rigid alignment, metres.")
root_error = score_function(evaluate, "root_error", "Mean distance of the roots, metres.")
median = score_function(evaluate, "median", "Median joint error, metres.")
pck_150 = score_function(evaluate, "pck.150", "Share of joints within 150 mm.")
auc_0_150 = score_function(evaluate, "auc.0-150", "Mean share of joints within 0 to 150 mm.")
velocity = score_function(evaluate, "velocity", "Mean error of the velocity of joints.")
acceleration = score_function(evaluate, "acceleration", "Mean error of the acceleration of joints.")
jitter = score_function(evaluate, "jitter", "Mean error of the jerk of joints.")
bone_length = score_function(evaluate, "bone_length", "Mean error of the length of bones, metres.")
