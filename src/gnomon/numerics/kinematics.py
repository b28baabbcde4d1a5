"""Sizes and movements of skeletons ``(N, J, 3)``: extents, lengths of bones, differences over consecutive frames.

Everything is taken over visible joints only, in float64 and in parts of fixed size, so that memory stays bounded and
sums do not depend on how the caller cut the data. ``seen`` is ``(N, J)``; what is not seen may hold anything.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from gnomon.core.tallies import Array
from gnomon.numerics import rigid

PART = 1 << 14
"""Samples that are converted at a time."""

ORDERS = ("velocity", "acceleration", "jitter")


def extents(joints: Array, seen: Array) -> Array:
    """Return the longest side of the box around each sample's visible joints, ``(N,)``; every sample must have one."""
    # Samples along the last axis: numpy is quick along long rows, and slow along rows of three.
    shown, lanes = np.ascontiguousarray(seen.T)[:, np.newaxis], np.ascontiguousarray(joints.transpose(1, 2, 0))
    high = np.where(shown, lanes, -np.inf).max(axis=0)
    low = np.where(shown, lanes, np.inf).min(axis=0)
    return np.asarray((high - low).max(axis=0, initial=0.0), np.float64)


def column_sums(values: Array, seen: Array) -> list[float]:
    """Return the sum of what is seen of every column of ``(N, J)``."""
    sums = [np.where(seen[part], values[part], 0.0).sum(axis=0) for part in _parts(len(values))]
    return [math.fsum(column) for column in np.reshape(sums, (len(sums), values.shape[1])).T.tolist()]


def bone_error(truth: Array, prediction: Array, seen: Array, bones: Sequence[tuple[int, int]]) -> tuple[float, int]:
    """Return the sum of absolute differences of bone lengths, and over how many bones it was taken."""
    starts, ends = ([bone[side] for bone in bones] for side in (0, 1))
    sums, count = [], 0
    for part in _parts(len(truth)):
        both = seen[part][:, starts] & seen[part][:, ends]
        lengths = []
        for joints in (truth[part], prediction[part]):
            points = _shown(joints, seen[part])
            lengths.append(_norms(points[:, ends] - points[:, starts]))
        sums.append(float(np.abs(lengths[1] - lengths[0])[both].sum()))
        count += int(both.sum())
    return math.fsum(sums), count


def changes(truth: Array, prediction: Array, seen: Array, follows: Array) -> dict[str, tuple[float, int]]:
    """Return sums of norms of differences over frames, per frame, and over how many joints they were taken.

    Parameters
    ----------
    truth, prediction, seen
        Frames in the order of time.
    follows
        ``(N,)``: whether a frame follows the one before it; differences across a break are not taken.

    Returns
    -------
    dict
        ``velocity``: first difference of the error (prediction minus truth); ``acceleration``: its second difference;
        ``jitter``: third difference of the prediction; ``jitter_of_truth``: that of the truth.
    """
    chained = np.array(follows, dtype=np.bool_)
    chained[:1] = False
    sums, counts = rigid.changes(truth, prediction, np.ascontiguousarray(seen), chained)
    return {name: (float(sums[k]), int(counts[k])) for k, name in enumerate((*ORDERS, "jitter_of_truth"))}


def _shown(joints: Array, seen: Array) -> Array:
    """Return joints as float64, with zeros for what is not seen."""
    return np.where(seen[..., np.newaxis], joints, 0.0).astype(np.float64, copy=False)


def _norms(vectors: Array) -> Array:
    return np.asarray(np.sqrt(np.einsum("njk,njk->nj", vectors, vectors)))


def _parts(n: int) -> Iterator[slice]:
    for start in range(0, n, PART):
        yield slice(start, min(start + PART, n))
