"""Systems that do not look: what is not better than they are has found nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gnomon.core.tallies import Array
from gnomon.suites.change.systems.detection import ADD, REMOVE, Detection, Found, Parameters, Watch, assemble, scans
from gnomon.suites.change.systems.detection import nothing as none


@dataclass(frozen=True)
class Nothing(Parameters):
    """Nothing ever changes."""

    trivial: ClassVar[bool] = True

    def detect(self, reference: Any, comparison: Any) -> Detection:
        """Return no box, and no point that changed."""
        removed, added = scans(reference, comparison)
        found = none("this system finds nothing")
        return assemble({ADD: found, REMOVE: found}, {ADD: len(added), REMOVE: len(removed)}, Watch(), {})


@dataclass(frozen=True)
class Everything(Parameters):
    """Everything changed: all of the reference went, all of the comparison came.

    One box per class round all points of its scan, padded by `pad`; a scan without points has none. The score is one
    half, since there is no evidence.
    """

    trivial: ClassVar[bool] = True
    pad: float = 0.02

    def detect(self, reference: Any, comparison: Any) -> Detection:
        """Return both boxes, and every point as changed."""
        removed, added = scans(reference, comparison)
        found = {ADD: self._whole(added), REMOVE: self._whole(removed)}
        return assemble(found, {ADD: len(added), REMOVE: len(removed)}, Watch(), {})

    def _whole(self, points: Array) -> Found:
        if not len(points):
            return none("the scan has no points")
        box = np.concatenate([points.min(axis=0) - self.pad, points.max(axis=0) + self.pad])
        return Found(box[np.newaxis], np.array([0.5]), np.arange(len(points)), {})
