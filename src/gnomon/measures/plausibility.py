"""Whether coordinates can be the metres that they are taken for: sizes of bodies, scenes and boxes.

A file in millimetres that is read as metres gives scores that look like those of a bad system (PCK 0, no match). So the
truth is held against what it shows, and the prediction against the truth. Nothing is converted unless a unit is given.

Conventions
-----------
Coordinates are metres, unless ``unit`` says otherwise. The extent of a body, a scan or a box is the longest side of the
axis-aligned box around it; place and common motion do not matter. The extent of a scan is that from the 1st to the 99th
percentile of its points: stray points decide nothing. The typical extent of many bodies or boxes is their median.

Limits of the truth
-------------------
body    0.01 to 5 m. A hand measures 0.05 to 0.3 m, a part of one less, a child 0.5 m and more, an adult with raised or
        spread arms up to 2.5 m. Beyond are a body in centimetres (50 to 250) or millimetres, a hand in centimetres (8
        to 30) or millimetres, and metres that were divided by 1,000.
scene   0.05 to 200 m. Rooms measure 2 to 20 m, a hall or a corridor up to 150 m. Beyond is a room in centimetres or
        millimetres.
box     0.001 to 200 m; in a scan at most 3 times the extent of that scan, since a change lies in what was scanned.

The truth is an error where the typical extent is beyond a limit. It is partly in another unit, which is an error too,
where extents are beyond a limit and 30 times the typical one, or a 30th: more than one body in twenty (tracking loses a
body now and then), or any box (boxes are drawn by hand).

Prediction against truth
------------------------
A bad system may predict anything, and is scored: boxes around a whole scan, specks, bodies of any size. A prediction is
in another unit, which is an error, only where a unit error explains sizes and positions alike, since it scales both:

1. the typical extent is 100 or 1,000 times that of the truth, or 1/100 or 1/1,000 of it, within a factor of 1.5, and
2. the typical distance from the origin of coordinates has the same factor against the truth, within 2.

Distances are those of the joints of bodies, and of the centres of boxes; the typical one is their median.

A part of the predicted bodies is in another unit where both hold for each of them against its own truth, and that
explains most of those whose extent is 30 times that of the truth or more, or a 30th or less: a system whose bodies
explode or collapse to any size is scored.

Not judged
----------
Extents and distances of 0 (single joints, joints that coincide, boxes around the origin) and what is not finite say
nothing about a unit and are left out; where nothing else is left, nothing is judged.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gnomon.core.errors import InputError, counted
from gnomon.core.tallies import Array
from gnomon.numerics.solids import solids

UNITS = {"m": 1.0, "cm": 0.01, "mm": 0.001}
"""Metres of one unit of length."""
NAMES = {"cm": "centimetres", "mm": "millimetres"}
BODY_M = 0.01, 5.0
SCENE_M = 0.05, 200.0
BOX_M = 0.001, 200.0
BOX_OF_SCAN = 3.0
"""Most times the extent of a scan that a true box in it measures."""
APART = 30.0
"""How many times the typical extent, or which part of it, those of another unit are at least."""
LOST_BODIES = 0.05
"""Largest share of true bodies that may be beyond the limits."""
STRAY_PERCENT = 1.0, 99.0
"""Percentiles of the points of a scan between which its extent is measured."""
POWERS = 100.0, 1000.0
"""Factors between units."""
FACTORS = (*POWERS, *(1 / power for power in POWERS))
"""The same, either way."""
NEAR_SIZE, NEAR_PLACE = 1.5, 2.0
"""How many times off the factor of extents, and that of distances, may be from one of them."""
MEASURED = 10_000
"""Bodies that are measured, evenly spread; their median is that of all."""
CONVERT = "convert to metres"


def metres_of(unit: str, *, what: str = "unit") -> float:
    """Return the metres of one unit.

    >>> metres_of("mm")
    0.001
    """
    if unit not in UNITS:
        raise InputError(f"{what}: expected one of {', '.join(UNITS)}, but got {unit!r:.80}")
    return UNITS[unit]


def measure_bodies(joints: Array, seen: Array | None = None) -> Array:
    """Return the extents of bodies ``(N, J, 3)``, of some :data:`MEASURED` of them; ``seen`` ``(N, J)`` are the joints.

    Those that say nothing are left out: without finite joints, or of no extent.
    """
    step = max(len(joints) // MEASURED, 1)
    some = np.asarray(joints[::step], np.float64)
    shown = np.asarray(np.isfinite(some).all(axis=2))
    if seen is not None:
        shown &= np.asarray(seen[::step], bool)
    high = np.where(shown[..., np.newaxis], some, -np.inf).max(axis=1, initial=-np.inf)
    low = np.where(shown[..., np.newaxis], some, np.inf).min(axis=1, initial=np.inf)
    return _told((high - low).max(axis=1, initial=0.0))


def find_odd_sizes(sizes_m: Array, limits: tuple[float, float] = BODY_M) -> Array:
    """Say which extents ``(N,)`` of the truth are beyond limits and far from the typical one; those of 0 are not.

    >>> find_odd_sizes(np.array([1.7, 0.5, 1700.0, 1.8, 0.0])).tolist()
    [False, False, True, False, False]
    """
    told = _told(sizes_m)
    if not len(told):
        return np.zeros(len(sizes_m), bool)
    size, (low, high) = float(np.median(told)), limits
    least, largest = min(low, size / APART), max(high, size * APART)
    return np.asarray(np.isfinite(sizes_m) & (sizes_m > 0) & ((sizes_m < least) | (sizes_m > largest)))


def find_scaled_bodies(truth_m: Array, prediction_m: Array) -> Array:
    """Say which predicted bodies ``(N, J, 3)`` are in another unit than their truth, as the module's text tells it.

    >>> true = np.array([[[1.0, 0, 0], [1, 0, 2]]] * 3)
    >>> find_scaled_bodies(true, true * [[[1]], [[1000]], [[15]]]).tolist()
    [False, True, False]
    """
    sides = truth_m, prediction_m
    true_size, size = (np.ptp(np.asarray(side, np.float64), axis=1).max(axis=1, initial=0.0) for side in sides)
    true_far, far = (np.median(np.linalg.norm(np.asarray(side, np.float64), axis=2), axis=1) for side in sides)
    told = (true_size > 0) & (size > 0) & (true_far > 0) & (far > 0)
    sizes, places = size[told] / true_size[told], far[told] / true_far[told]
    scaled = np.zeros(len(sizes), bool)
    for power in FACTORS:
        scaled |= _near(sizes, power, NEAR_SIZE) & _near(places, power, NEAR_PLACE)
    apart = (sizes >= APART) | (sizes <= 1 / APART)
    found = np.zeros(len(truth_m), bool)
    found[told] = scaled & (2 * scaled.sum() > apart.sum())
    return found


def measure_distances(points: Array, seen: Array | None = None) -> Array:
    """Return how far points ``(..., 3)`` are from the origin; ``seen`` ``(...)`` are those that count.

    Those that say nothing are left out: not finite, or at the origin.
    """
    found = np.asarray(points, np.float64)
    return _told(np.linalg.norm(found if seen is None else found[np.asarray(seen, bool)], axis=-1))


def measure_boxes(geometry: Any) -> Array:
    """Return the longest side of every box, ``(M,)``, in any form that :func:`gnomon.numerics.solids.solids` reads."""
    return np.asarray(2 * solids(geometry).half.max(axis=1, initial=0.0))


def check_body_size(
    joints_m: Array,
    *,
    what: str,
    seen: Array | None = None,
    limits: tuple[float, float] = BODY_M,
    remedy: str = CONVERT,
) -> None:
    """Refuse true bodies ``(N, J, 3)`` where the typical one, or more than one in twenty, has the extent of no body.

    Parameters
    ----------
    joints_m
        Joints, said to be in metres.
    what
        Where they are from, for the message: ``truth``, or a file and its field.
    seen
        ``(N, J)``: the joints that are visible; all by default.
    limits
        Least and largest extent in metres, where it is known which part of a body it is.
    remedy
        What to do, for the message.

    Examples
    --------
    >>> check_body_size(np.array([[[0, 0, 0], [0, 0, 1712.0]]]), what="truth")
    Traceback (most recent call last):
    gnomon.core.errors.InputError: truth: median body extent 1712 m (1 pose), expected 0.01 to 5 m (a person measures \
0.3 to 3 m): these look like millimetres (1.71 m); convert to metres
    """
    sizes = measure_bodies(joints_m, seen)
    poses = counted(len(sizes), "pose")
    usual = " (a person measures 0.3 to 3 m)" if limits == BODY_M else ""
    _check(sizes, limits, LOST_BODIES, f"{what}: median body extent", poses, usual, remedy)


def measure_scene(points_m: Array) -> float:
    """Return the extent of the points ``(N, 3)`` of a scan, without stray points; 0 where there are none."""
    points = np.asarray(points_m)
    if not len(points):
        return 0.0
    low, high = np.percentile(points, STRAY_PERCENT, axis=0)
    return float((high.astype(np.float64) - low).max())


def check_scene_size(points_m: Array, *, what: str, remedy: str = CONVERT) -> float:
    """Refuse the points ``(N, 3)`` of a scan whose extent no room or building has; return the extent."""
    extent = measure_scene(points_m)
    count, usual = counted(len(points_m), "point"), " (a room measures 2 to 20 m)"
    _check(_told(np.array([extent])), SCENE_M, 0.0, f"{what}: extent of the scan", count, usual, remedy)
    return extent


def check_box_size(sizes_m: Array, *, what: str, scan_m: float = 0.0, remedy: str = CONVERT) -> None:
    """Refuse true boxes by their longest sides ``(M,)``; ``scan_m`` is the extent of the scan that they lie in."""
    sizes = _told(sizes_m)
    boxes = "1 box" if len(sizes) == 1 else f"{len(sizes):,} boxes"
    _check(sizes, BOX_M, 0.0, f"{what}: median box extent", boxes, " (things in a room measure 0.1 to 5 m)", remedy)
    if len(sizes) and 0 < BOX_OF_SCAN * scan_m < sizes.max():
        raise InputError(
            f"{what}: largest box extent {show_extent(sizes.max())} ({boxes}) in a scan of {show_extent(scan_m)}: "
            f"boxes and scan are not in one unit; {remedy}"
        )


def check_same_unit(
    truth_m: Array, prediction_m: Array, *, distances_m: tuple[Array, Array], what: str, remedy: str = CONVERT
) -> None:
    """Refuse a prediction whose extents and positions are those of the truth in another unit.

    Parameters
    ----------
    truth_m, prediction_m
        Extents ``(N,)`` of both sides.
    distances_m
        Distances from the origin ``(K,)`` of the truth, and of the prediction; see :func:`measure_distances`.
    what, remedy
        What was measured, and what to do, for the message.

    Examples
    --------
    >>> far = np.array([3.0]), np.array([3000.0])
    >>> check_same_unit(np.array([1.7]), np.array([1700.0]), distances_m=far, what="bodies")
    Traceback (most recent call last):
    gnomon.core.errors.InputError: bodies: the median extent of the prediction is 1700 m and that of the truth 1.7 m, \
1000 times as large, as are the distances from the origin (3000 m and 3 m): not in one unit; convert to metres
    """
    sides = [_told(side) for side in (truth_m, prediction_m, *distances_m)]
    if not all(map(len, sides)):
        return
    true, predicted, true_far, far = (float(np.median(side)) for side in sides)
    factor = predicted / true
    if not any(_near(factor, one, NEAR_SIZE) and _near(far / true_far, one, NEAR_PLACE) for one in FACTORS):
        return
    times = f"{factor:.4g} times as large" if factor > 1 else f"{1 / factor:.4g} times as small"
    raise InputError(
        f"{what}: the median extent of the prediction is {show_extent(predicted)} and that of the truth "
        f"{show_extent(true)}, {times}, as are the distances from the origin ({show_extent(far)} and "
        f"{show_extent(true_far)}): not in one unit; {remedy}"
    )


def _near(value: Any, expected: float, times: float) -> Any:
    return (expected / times <= value) & (value <= expected * times)


def find_beyond(sizes: Array, limits: tuple[float, float] = BODY_M) -> str:
    """Return how many extents are beyond limits, as text with their figures; nothing where none is.

    >>> find_beyond(np.array([1.7, 1.8, 1700.0]))
    '1 of 3 (33%) measure 1700 m (median of these), expected 0.01 to 5 m'
    """
    found, (low, high) = _told(sizes), limits
    beyond = found[(found < low) | (found > high)]
    if not len(beyond):
        return ""
    share = f"{len(beyond):,} of {len(found):,} ({len(beyond) / len(found):.0%})"
    return f"{share} measure {show_extent(np.median(beyond))} (median of these), expected {low:g} to {high:g} m"


def _check(
    sizes: Array, limits: tuple[float, float], most: float, what: str, count: str, usual: str, remedy: str
) -> None:
    """Refuse extents whose median is beyond limits, or of which more than a share is."""
    if not len(sizes):
        return
    size, (low, high) = float(np.median(sizes)), limits
    if not low <= size <= high:
        units = {name: size * UNITS[unit] for unit, name in NAMES.items()}
        found = [f"{name} ({show_extent(metres)})" for name, metres in units.items() if low <= metres <= high]
        guess = f": these look like {' or '.join(found)}" if found else ""
        raise InputError(
            f"{what} {show_extent(size)} ({count}), expected {low:g} to {high:g} m{usual}{guess}; {remedy}"
        )
    if find_odd_sizes(sizes, limits).sum() > most * len(sizes):
        said = find_beyond(sizes, limits)
        raise InputError(f"{what} {show_extent(size)}, but {said}{usual}: not all are in one unit; {remedy}")


def _told(sizes: Any) -> Array:
    """Return the extents that say something about a unit."""
    found = np.asarray(sizes, np.float64).ravel()
    return found[np.isfinite(found) & (found > 0)]


def show_extent(size: Any) -> str:
    """Return an extent as text; whole above 1,000."""
    return f"{size:.0f} m" if 1000 <= size < 1e15 else f"{size:.3g} m"
