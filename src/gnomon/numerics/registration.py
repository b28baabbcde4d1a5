"""Rigid registration of point clouds.

:func:`fit_rigid` is the least-squares motion between points that belong together (Kabsch, 1976), :func:`icp` finds out
which do by taking the nearest, again and again (Besl and McKay, 1992), without those that are too far to be the same
(trimmed). Motions are never reflections. Sums are taken in the order of the rows, about a point of the data, in one
thread: the same rows give the same bits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnomon.core.compiling import jit
from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
from gnomon.numerics.neighbours import Cloud, cloud, nearest

FEWEST = 3
"""Pairs of points below which a motion is not fitted."""


@dataclass(frozen=True)
class Registration:
    """The motion ``R x + t`` that lays points onto others, and how it was found.

    Parameters
    ----------
    rotation, translation
        ``(3, 3)`` and ``(3,)``.
    iterations
        How often pairs were taken and a motion fitted.
    converged
        Whether it stopped by itself: share and distance did not change any more.
    share, rms
        Of the points, after the last but one motion: how many had a partner, and the root mean square of the distances
        to it; without partners the latter is None.
    """

    rotation: Array
    translation: Array
    iterations: int
    converged: bool
    share: float
    rms: float | None


def fit_rigid(points: Array, targets: Array) -> tuple[Array, Array]:
    """Return the rotation and translation of ``(N, 3)`` points onto targets with the least sum of squares."""
    if points.shape != targets.shape or points.ndim != 2 or points.shape[1] != 3 or not len(points):
        raise InputError(f"fit_rigid: shapes {points.shape} and {targets.shape}, expected the same (N, 3), N from 1 on")
    a, b = (np.ascontiguousarray(side, dtype=np.float64) for side in (points, targets))
    here, there, cross = np.empty(3), np.empty(3), np.empty((3, 3))
    _moments(a, b, here, there, cross)
    u, _, vt = np.linalg.svd(cross)
    signs = np.array([1.0, 1.0, 1.0 if np.linalg.det(u) * np.linalg.det(vt) > 0 else -1.0])
    rotation = vt.T @ (signs[:, np.newaxis] * u.T)
    return rotation, there - rotation @ here


def icp(
    points: Any, targets: Any, *, limit: float = 0.1, iterations: int = 50, tolerance: float = 1e-6
) -> Registration:
    """Register points onto targets, both ``(N, 3)`` or what :func:`~gnomon.numerics.neighbours.cloud` made of them.

    Parameters
    ----------
    limit
        Points whose nearest target is farther have no partner.
    iterations
        Most motions that are fitted.
    tolerance
        It is over when the share of points with a partner, and the root mean square of their distances over the limit,
        both change by less than this.
    """
    here, there = (side if isinstance(side, Cloud) else cloud(side) for side in (points, targets))
    places, goals = _by_row(here), _by_row(there)
    rotation, translation = np.eye(3), np.zeros(3)
    share, rms = 0.0, math.inf
    for done in range(iterations):
        distances, rows = nearest(here.moved(rotation, translation), there, limit=limit)
        found = np.flatnonzero(rows >= 0)
        if len(found) < FEWEST:
            return Registration(rotation, translation, done, False, len(found) / max(len(here), 1), None)
        before, share = share, len(found) / len(here)
        was, rms = rms, math.sqrt(float(np.mean(distances[found] ** 2)))
        if abs(share - before) < tolerance and abs(rms - was) < tolerance * limit:
            return Registration(rotation, translation, done, True, share, rms)
        rotation, translation = fit_rigid(places[found], goals[rows[found]])
    return Registration(rotation, translation, iterations, False, share, None if math.isinf(rms) else rms)


def _by_row(points: Cloud) -> Array:
    """Return points in the order they had."""
    out = np.empty_like(points.points)
    out[points.rows] = points.points
    return out


@jit
def _moments(points: Any, targets: Any, here: Any, there: Any, cross: Any) -> None:
    """Write both centroids and the sum of centred points times centred targets."""
    n = points.shape[0]
    here[:] = 0.0
    there[:] = 0.0
    cross[:] = 0.0
    for i in range(n):
        for k in range(3):
            here[k] += points[i, k] - points[0, k]
            there[k] += targets[i, k] - targets[0, k]
    for k in range(3):
        here[k] = here[k] / n + points[0, k]
        there[k] = there[k] / n + targets[0, k]
    for i in range(n):
        for row in range(3):
            part = points[i, row] - here[row]
            for column in range(3):
                cross[row, column] += part * (targets[i, column] - there[column])
