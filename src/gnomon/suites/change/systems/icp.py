"""The plain detector after registration."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnomon.numerics.neighbours import cloud
from gnomon.numerics.registration import Registration, icp
from gnomon.numerics.rigid import angles
from gnomon.suites.change.systems.detection import Detection, Watch, scans
from gnomon.suites.change.systems.distance import Distance


@dataclass(frozen=True)
class Icp(Distance):
    """The comparison is first moved onto the reference, then the detector `distance` looks at both.

    Registration is point to point, with partners no farther than `max_correspondence` and at most `iterations` rounds;
    see :func:`gnomon.numerics.registration.icp`. Boxes of both classes are thereby in the coordinates of the reference.
    The facts hold how far the comparison was moved.
    """

    max_correspondence: float = 0.1
    iterations: int = 50

    def detect(self, reference: Any, comparison: Any) -> Detection:
        """Find what changed from the reference to the comparison, both ``(N, 3)``, almost in one frame."""
        watch = Watch()
        with watch.stage("reading"):
            removed, added = scans(reference, comparison)
        with watch.stage("registration"):
            here = cloud(added)
            found = icp(here, removed, limit=self.max_correspondence, iterations=self.iterations)
            moved = np.empty_like(added)
            moved[here.rows] = here.moved(found.rotation, found.translation).points
        return self._detect(removed, moved, watch, {"registration": _facts(found, added)})


def _facts(found: Registration, points: Any) -> dict[str, Any]:
    angle = float(angles(found.rotation[np.newaxis], np.eye(3)[np.newaxis])[0])
    facts: dict[str, Any] = {
        "iterations": found.iterations,
        "converged": found.converged,
        "share": found.share,
        "rms_m": found.rms,
        "rotation_deg": math.degrees(angle),
    }
    if len(points):
        centre = points.mean(axis=0)
        facts["moved_m"] = float(np.linalg.norm(found.rotation @ centre + found.translation - centre))
    return facts
