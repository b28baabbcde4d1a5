"""The classes that boxes give to points, compiled: for scoring, where there are many scenes.

The same as :func:`gnomon.suites.change.labels.by_boxes`, which is what is used where nothing else needs the compiler,
and for boxes whose sides are not parallel to the axes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gnomon.core.compiling import jit
from gnomon.core.scans import BOX_CLASSES, CHANGES, Boxes
from gnomon.core.tallies import Array
from gnomon.suites.change import labels


def by_boxes(boxes: Boxes, reference: Array, comparison: Array) -> tuple[Array, Array]:
    """Return the classes of points ``(N, 3)`` and ``(M, 3)`` that boxes give them."""
    if boxes.geometry.shape[1:] != (6,):
        return labels.by_boxes(boxes, reference, comparison)
    found = np.zeros(len(reference), np.uint8), np.zeros(len(comparison), np.uint8)
    if len(boxes):
        _mark(reference, boxes.geometry, boxes.codes, _WANTED[0], found[0])
        _mark(comparison, boxes.geometry, boxes.codes, _WANTED[1], found[1])
    return found


_WANTED = tuple((BOX_CLASSES.index(CHANGES[code]), code) for code in labels.SIDES.values())
"""For each scan: the class of the boxes that count, and that of the points inside them."""


@jit
def _mark(points: Any, geometry: Any, codes: Any, wanted: Any, found: Any) -> None:
    """Write a class for each point that is in a box of the wanted one, its surface included."""
    for k in range(points.shape[0]):
        x, y, z = np.float64(points[k, 0]), np.float64(points[k, 1]), np.float64(points[k, 2])
        for b in range(geometry.shape[0]):
            if (
                codes[b] == wanted[0]
                and geometry[b, 0] <= x <= geometry[b, 3]
                and geometry[b, 1] <= y <= geometry[b, 4]
                and geometry[b, 2] <= z <= geometry[b, 5]
            ):
                found[k] = wanted[1]
                break
