"""Blocks that are the same in all windows of an episode: the map of the place, and the calibration.

Point cloud
    Points that are not finite are left out, then those farther from the middle (the median of x, y and z) than 95 % of
    them. Of the rest: the 7 statistics of x, y and z in the order of the file, and the logarithm of 1 + their number.
    The last three statistics depend on that order and mean little; they are kept as published. The map is made from the
    whole episode, so every window knows of places that come later.
Calibration
    All numbers of the calibration, by sorted path, row by row. Another count than 117 gives no block at all, since
    numbers would be in the wrong places.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gnomon.core.tallies import Array
from gnomon.suites.episode.features.blocks import BLOCKS
from gnomon.suites.episode.features.statistics import plain_seven

FAR = 95.0
"""Percentile of the distance from the middle up to which points are kept."""
_DIM = {block.name: block.dim for block in BLOCKS}


def cloud_numbers(points: Array) -> tuple[Array, float, str]:
    """Return 22 numbers of points ``(m, 3)``, the share that could be read, and why not all."""
    finite = points[np.isfinite(points).all(axis=1)].astype(np.float64)
    if not len(finite):
        return np.zeros(_DIM["slam_point_cloud"]), 0.0, f"none of {len(points)} points is finite"
    away = np.sqrt(np.square(finite - np.median(finite, axis=0)).sum(axis=1))
    near = finite[away <= np.percentile(away, FAR)]
    return np.append(plain_seven(near), np.log1p(len(near))), 1.0, ""


def calibration_numbers(leaves: Mapping[str, Array]) -> tuple[Array, float, str]:
    """Return 117 numbers of calibration, the share that could be read, and why not all."""
    wanted = _DIM["calibration"]
    parts = [np.asarray(leaves[name], dtype=np.float64).reshape(-1) for name in sorted(leaves)]
    numbers = np.concatenate([np.empty(0), *parts])
    if len(numbers) != wanted:
        return np.zeros(wanted), 0.0, f"{len(numbers)} numbers in {len(leaves)} datasets, expected {wanted}"
    finite = np.isfinite(numbers)
    why = "" if finite.all() else f"{wanted - int(finite.sum())} of {wanted} numbers are not finite"
    return np.where(finite, numbers, 0.0), float(finite.mean()), why
