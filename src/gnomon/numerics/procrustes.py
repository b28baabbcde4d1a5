"""Distances between the joints of two skeletons after alignment, for many samples in one pass.

Conventions
-----------
Skeletons are ``(N, J, 3)``, truth first; distances are in the unit of the input. Coordinates are read as they are
(float32 or float64; anything else is converted in parts) and all arithmetic is float64, relative to a joint of the
sample itself, so that a sensor a million metres away costs no digits. A mask ``(N, J)`` says which joints are visible;
hidden joints are left out *before* alignment and may hold anything.

Alignments of the prediction
----------------------------
none        as it is
root        moved so that the roots coincide: a joint, or the middle of a pair
rigid       rotated and moved, in the least-squares sense over the visible joints; never reflected
similarity  the same with a scale; not negative
scale       scaled about the root after the roots coincide, in the least-squares sense; not negative, since that would
            be a reflection through the root (Rhodin, Salzmann and Fua, 2018, for N-MPJPE, there without that limit)

Rotations come from the closed form of Horn (1987); see :mod:`gnomon.numerics.horn`.

Degenerate samples
------------------
Collinear joints: the best rotation is not unique, the distances are. Coincident joints, or a single one, in the
prediction: the scale is 0 and every distance is that of the true joint to the centroid (of the root, for ``scale``).
Coincident joints in the truth alone: the scale is 0 and so are the distances. A sample with a visible coordinate that
is not finite, or so large that its square is not, has no distances; nor has one without a visible joint. Others are not
touched by it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnomon.core.errors import InputError, some
from gnomon.core.tallies import Array
from gnomon.numerics.foreign import to_native
from gnomon.numerics.horn import ROOT, SCALE, distances

ALIGNMENTS = ("none", "root", "rigid", "similarity", "scale")
"""Names of the alignments in the order of their codes."""

FINE, NOT_FINITE, UNSEEN = range(3)
"""What can be said of a sample: it has distances, a visible coordinate is not finite, no joint is visible."""

CHUNK = 1 << 14
"""Samples that are converted at a time where they must be."""


@dataclass(frozen=True)
class Aligned:
    """Distances of N samples; NaN where a sample has none.

    Parameters
    ----------
    status
        ``FINE``, ``NOT_FINITE`` or ``UNSEEN`` per sample.
    count
        Visible joints per sample.
    rooted
        Whether the root is visible; without it a sample has no distances after ``root`` and ``scale``.
    apart
        Distance between the roots, ``(N,)``.
    sums
        By alignment: the sum of a sample's distances over its visible joints, ``(N,)``.
    errors
        By alignment that was kept: the distances, ``(N, J)``; NaN for hidden joints too.
    """

    status: Array
    count: Array
    rooted: Array
    apart: Array
    sums: Mapping[str, Array]
    errors: Mapping[str, Array]


def align(
    truth: Any,
    prediction: Any,
    *,
    alignments: Collection[str] = ALIGNMENTS,
    keep: Collection[str] = (),
    pelvis: int | tuple[int, int] = 0,
    mask: Any = None,
) -> Aligned:
    """Align every sample and measure the distances of its joints.

    Parameters
    ----------
    truth, prediction
        Joints, ``(N, J, 3)``.
    alignments
        Which alignments to measure.
    keep
        Those of which the distance of every joint is kept, ``(N, J)`` each; of the others only the sum of a sample.
    pelvis
        The root: a joint, or a pair whose middle it is.
    mask
        Booleans ``(N, J)``: the joints that are visible; all where it is left out.

    Raises
    ------
    InputError
        Names what is wrong with a shape, a dtype or a name.

    Examples
    --------
    >>> truth = [[[0.0, 0, 0], [1, 0, 0], [0, 1, 0]]]
    >>> turned = [[[5.0, 5, 5], [5, 7, 5], [3, 5, 5]]]
    >>> found = align(truth, turned)
    >>> [round(abs(float(found.sums[name][0])), 3) for name in ("root", "rigid", "similarity")]
    [4.472, 1.962, 0.0]
    """
    true, predicted = joints(truth, "truth"), joints(prediction, "prediction")
    if true.shape != predicted.shape:
        raise InputError(f"truth has shape {true.shape} and prediction {predicted.shape}: expected the same (N, J, 3)")
    unknown = {*alignments, *keep} - set(ALIGNMENTS)
    if unknown:
        raise InputError(f"alignments: expected some of {', '.join(ALIGNMENTS)}, but got {some(sorted(unknown))}")
    n, size, _ = true.shape
    pair = root_pair(pelvis, size)
    seen = visible(mask, (n, size))
    kept = list(dict.fromkeys(keep))
    slots = np.array([_slot(name, alignments, kept) for name in ALIGNMENTS])
    out = np.empty((n, len(ALIGNMENTS))), np.empty((n, len(kept), size)), np.empty(n), np.empty(n, np.bool_)
    dtype = np.dtype(np.float32 if true.dtype == predicted.dtype == np.float32 else np.float64)
    hidden = np.zeros((0, 0), np.bool_)
    with np.errstate(all="ignore"):  # numbers too large for float64 become infinite, and are found by that
        for start in range(0, n, CHUNK):
            part = slice(start, start + CHUNK)
            sides = _ready(true[part], dtype), _ready(predicted[part], dtype)
            marks = _ready(hidden if seen is None else seen[part], np.dtype(np.bool_))
            distances(*sides, marks, pair, slots, tuple(array[part] for array in out))
    return _gathered(out, seen, pair, slots, kept)


def joints(values: Any, where: str) -> Array:
    """Return joints as an array ``(N, J, 3)`` of real numbers, or refuse them."""
    try:
        array = np.asarray(to_native(values, where))
    except ValueError as error:
        raise InputError(f"{where}: expected a regular array (N, J, 3): {error}") from error
    if array.ndim != 3 or array.shape[2] != 3 or not array.shape[1] or array.dtype.kind not in "fiu":
        raise InputError(
            f"{where}: expected numbers of shape (N, J, 3) with at least one joint, but got {array.dtype} {array.shape}"
        )
    return array


def visible(mask: Any, shape: tuple[int, int]) -> Array | None:
    """Return a mask of visible joints, or refuse it."""
    if mask is None:
        return None
    array = np.asarray(to_native(mask, "mask"))
    if array.shape != shape or array.dtype != np.bool_:
        raise InputError(f"mask: expected booleans {shape}, True where visible, but got {array.dtype} {array.shape}")
    return array


def root_pair(pelvis: Any, size: int) -> tuple[int, int]:
    """Return the two joints (perhaps the same one) whose middle is the root."""
    pair = tuple(pelvis) if isinstance(pelvis, (tuple, list)) else (pelvis, pelvis)
    whole = all(isinstance(index, (int, np.integer)) and not isinstance(index, bool) for index in pair)
    if len(pair) != 2 or not whole or not all(0 <= index < size for index in pair):
        raise InputError(f"pelvis: expected a joint from 0 to {size - 1}, or a pair of them, but got {pelvis!r}")
    return int(pair[0]), int(pair[1])


def _slot(name: str, alignments: Collection[str], keep: list[str]) -> int:
    return keep.index(name) if name in keep else -1 if name in alignments else -2


def _ready(part: Array, dtype: np.dtype[Any]) -> Array:
    """Return a part as the kernel reads it; read-only, so that frozen and writeable arrays share one kernel."""
    view = np.require(part, dtype, ("C", "A")).view()
    view.setflags(write=False)
    return view


def _gathered(
    out: tuple[Array, Array, Array, Array], seen: Array | None, pair: tuple[int, int], slots: Array, keep: list[str]
) -> Aligned:
    sums, errors, apart, fine = out
    n, _, size = errors.shape
    count = np.full(n, size) if seen is None else seen.sum(axis=1)
    rooted = np.ones(n, np.bool_) if seen is None else seen[:, pair[0]] & seen[:, pair[1]]
    status = np.where(fine, FINE, NOT_FINITE).astype(np.int8)
    status[count == 0] = UNSEEN
    lost, loose = status != FINE, ~rooted
    if lost.any():
        sums[lost] = errors[lost] = apart[lost] = np.nan
    if loose.any():
        apart[loose] = np.nan
        for kind in (ROOT, SCALE):
            sums[loose, kind] = np.nan
            if slots[kind] >= 0:
                errors[loose, slots[kind]] = np.nan
    if seen is not None and keep:
        errors.transpose(0, 2, 1)[~seen] = np.nan
    return Aligned(
        status,
        count,
        rooted & ~lost,
        apart,
        {name: sums[:, kind] for kind, name in enumerate(ALIGNMENTS) if slots[kind] > -2},
        {name: errors[:, place] for place, name in enumerate(keep)},
    )
