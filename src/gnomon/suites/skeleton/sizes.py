"""Sizes of bodies in a prediction file: another unit is an error (:mod:`gnomon.measures.plausibility`).

The whole file may be in another unit, or a part of it: more than one pose in twenty, or most poses of a sequence (of at
least :data:`FEWEST`). A few poses that tracking or a detector lost are not a part, nor is a body of which one joint is
far away.
"""

from __future__ import annotations

import numpy as np

from gnomon.core.errors import InputError, some
from gnomon.core.tallies import Array
from gnomon.intake.faults import shown
from gnomon.measures.plausibility import (
    APART,
    LOST_BODIES,
    MEASURED,
    check_body_size,
    check_same_unit,
    find_odd_sizes,
    find_scaled_bodies,
    measure_bodies,
    measure_distances,
    show_extent,
)
from gnomon.numerics.kinematics import extents
from gnomon.suites.skeleton.files import KEPT, Predictions
from gnomon.suites.skeleton.options import ScoreOptions
from gnomon.suites.skeleton.sequences import Sequences

FEWEST = 3
"""Poses of a sequence that is judged by itself."""
NAMED = 3
"""Sequences and samples that an error names; the others are counted."""


def check_sizes(file: Predictions, found: Sequences, options: ScoreOptions) -> None:
    """Refuse true bodies of a size that no body has, unless metres were asked for, and predictions in another unit."""
    rows = np.flatnonzero(file.reasons == KEPT)
    rows = rows[:: max(len(rows) // MEASURED, 1)]
    where, sides = shown(file.path), (file.truth[rows], file.prediction[rows])
    true, predicted = (f"{where}: {key}" for key in (options.gt_keypoints_key, options.pred_keypoints_key))
    if options.unit != "m":
        convert = "give --unit cm or --unit mm, or convert to metres"
        remedy = f"{f'check --unit {options.unit}' if options.unit else convert}; --unit m insists on metres"
        _refuse_part(_find_odd_bodies(sides[0]), sides[0], rows, (file, found), true, "; --unit m insists on metres")
        check_body_size(sides[0], what=true, remedy=remedy)
    check_same_unit(
        *map(measure_bodies, sides),
        distances_m=(measure_distances(sides[0]), measure_distances(sides[1])),
        what=predicted,
        remedy="give both sides in one unit",
    )
    _refuse_part(find_scaled_bodies(*sides), sides[1], rows, (file, found), predicted)


def _find_odd_bodies(joints: Array) -> Array:
    """Say which true poses ``(N, J, 3)`` are of no body's size and are so in most of their joints, not in a few."""
    odd = find_odd_sizes(_measure(joints))
    if not odd.any():
        return odd
    points = joints.astype(np.float64)
    spread = np.median(np.linalg.norm(points - np.median(points, axis=1, keepdims=True), axis=2), axis=1)
    times = spread / max(float(np.median(spread[~odd])), np.finfo(np.float64).tiny)
    return np.asarray(odd & ((times >= APART) | (times <= 1 / APART)))


def _refuse_part(
    odd: Array, joints: Array, rows: Array, read: tuple[Predictions, Sequences], what: str, remedy: str = ""
) -> None:
    """Refuse a file of which a part is in another unit.

    Parameters
    ----------
    odd
        Which of the poses are, ``(N,)``.
    joints, rows
        The poses ``(N, J, 3)``, and their places in the file.
    read
        The file and its sequences.
    what, remedy
        The file and its field, and what else can be done, for the message.
    """
    file, found = read
    codes, count = found.codes[rows], len(found.named)
    wrong, poses = (np.bincount(each, minlength=count) for each in (codes[odd], codes))
    most = (poses >= FEWEST) & (2 * wrong > poses)
    if odd.sum() <= LOST_BODIES * len(odd) and not most.any():
        return
    sizes = _measure(joints)
    size, usual = (float(np.median(sizes[part])) if part.any() else 0.0 for part in (odd, ~odd))
    order = np.argsort(-wrong, kind="stable")[: np.count_nonzero(wrong)]
    by_sequence = [f"{shown(found.named[code].sequence, 60)} ({wrong[code]} of {poses[code]})" for code in order]
    samples = [file.ids[row] if file.ids else f"row {row}" for row in rows[odd].tolist()]
    raise InputError(
        f"{what}: {odd.sum():,} of {len(odd):,} poses ({odd.mean():.0%}) measure {show_extent(size)} (median), the "
        f"others {show_extent(usual)}: a part of the file is in another unit; sequences "
        f"{some(by_sequence, show=NAMED, sentences=True)}; samples {some(samples, show=NAMED)}; convert them to the "
        f"unit of the others, or leave them out{remedy}"
    )


def _measure(joints: Array) -> Array:
    """Return the extent of every pose ``(N, J, 3)``."""
    return extents(joints.astype(np.float64), np.ones(joints.shape[:2], dtype=bool))
