"""What is said of a pair of scans: boxes, one class per point, and whether the scene changed at all.

:class:`Boxes` and :class:`PointLabels` are signals like any other and are defined with them; here they stand together
with the names of the classes of change and with the one signal that only scenes have.

Conventions
-----------
- Points of both scans count: those of the reference first, then those of the comparison. A code is an index into
  :data:`CHANGES`: 0 nothing changed, 1 only in the comparison, 2 only in the reference.
- Boxes are in the coordinates of the reference scan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.signals import Boxes, PointLabels

__all__ = ["BOX_CLASSES", "CHANGES", "Boxes", "Changed", "PointLabels", "parted"]

CHANGES = ("NoChange", "Add", "Remove")
"""Classes of points, in the order of their codes."""

BOX_CLASSES = ("Add", "Remove")
"""Classes of boxes, and of the points inside them."""


@dataclass(frozen=True)
class Changed:
    """Whether a scene changed between two scans.

    >>> Changed(True)
    Changed(value=True)
    """

    value: bool

    def __post_init__(self) -> None:
        if not isinstance(self.value, (bool, np.bool_)):
            raise InputError(f"Changed: expected True or False, but got {self.value!r:.80}")
        object.__setattr__(self, "value", bool(self.value))

    @staticmethod
    def by(boxes: Boxes) -> Changed:
        """Return whether there is any box."""
        return Changed(len(boxes) > 0)


def parted(boxes: Boxes, sizes: Sequence[int]) -> list[Boxes]:
    """Return boxes in parts of so many each, one after another; what was checked of all is not checked again.

    >>> two = Boxes(np.array([[0, 0, 0, 1, 1, 1], [2, 0, 0, 3, 1, 1]]), np.array([0, 1]), BOX_CLASSES)
    >>> [part.codes.tolist() for part in parted(two, [1, 0, 1])]
    [[0], [], [1]]
    """
    parts, start = [], 0
    for size in sizes:
        stop = start + size
        part = object.__new__(Boxes)
        scores = None if boxes.scores is None else boxes.scores[start:stop]
        part.__dict__.update(boxes.__dict__, codes=boxes.codes[start:stop], scores=scores)
        part.__dict__["geometry"] = boxes.geometry[start:stop]
        parts.append(part)
        start = stop
    return parts
