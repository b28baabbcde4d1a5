"""Detection of changes in eight stages, from distances between the scans to a few boxes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from gnomon.core.tallies import Array
from gnomon.numerics.neighbours import Cloud, cloud, nearest, spacing
from gnomon.suites.change.systems import stages
from gnomon.suites.change.systems.detection import (
    ADD,
    REMOVE,
    Detection,
    Found,
    Parameters,
    Watch,
    assemble,
    nothing,
    scans,
)
from gnomon.suites.change.systems.stages import Candidates


class Side(NamedTuple):
    """A scan, the same in cells, and the distance of each of its points to the other scan."""

    points: Array
    cloud: Cloud
    distances: Array


@dataclass(frozen=True)
class MultiStage(Parameters):
    """What is in the shared region of two scans, clearly in one of them only, dense, and not too much of it.

    1. *Region*: the box of the reference points whose nearest comparison point is within `distance_threshold`, scaled
       by `region_scale` about its centre. Nothing outside of it is compared.
    2. *Change points*: those in the region whose nearest point of the other scan is beyond `proximity_threshold`: in
       the reference "Remove", in the comparison "Add". All further stages are per class. Without `proximity_filter`
       it is beyond `distance_threshold`.
    3. *Boundary*: not those nearer than `boundary_margin` to a face of the region. Switch: `boundary_filter`.
    4. *Clusters*: DBSCAN with `min_samples` and the larger of `eps` and `eps_spacings` times the scan's spacing (the
       median distance of its points to the nearest other one); clusters of `min_points` to `max_points` points.
    5. *Boxes*: axis-aligned, padded on all sides by the larger of `pad` and `pad_spacings` times the spacing; not those
       that the region covers by less than `min_coverage` of their volume while their centre is outside of it.
    6. *Budget*: the `box_budget_per_class` boxes of most points, among equals of the longest diagonal. Switch:
       `box_budget`.
    7. *Merging*: boxes of IoU `merge_iou` or more, or centres no farther apart than `merge_distance`, become one, also
       through others between them. Then, of two boxes of IoU `suppress_iou` or more, the larger stays; this is done
       also without the switch `box_merging`.
    8. *Enclosing*: boxes that enclose another one go.

    Thresholds and the margin are multiplied by `slack`, against differences that are noise at the limit. Points are
    labelled as changed if their cluster has a part in a box that is left at the end; a point that was never in a
    cluster, or whose box was dropped by budget, overlap or enclosing, is not. For the scores see
    :func:`~gnomon.suites.change.systems.stages.confidence`.

    The facts of a detection hold the region and, by class, the spacing, what is left after each stage, and whether the
    floor by spacing was binding: where it always is, `eps` has no effect.
    """

    distance_threshold: float = 0.06
    proximity_threshold: float = 0.03
    boundary_margin: float = 0.10
    slack: float = 1.05
    region_scale: float = 0.96
    eps: float = 0.015
    eps_spacings: float = 1.6
    min_samples: int = 5
    min_points: int = 10
    max_points: int = 100_000
    pad: float = 0.02
    pad_spacings: float = 0.75
    min_coverage: float = 0.5
    box_budget_per_class: int = 5
    merge_iou: float = 0.20
    merge_distance: float = 0.07
    suppress_iou: float = 0.70
    proximity_filter: bool = True
    boundary_filter: bool = True
    box_budget: bool = True
    box_merging: bool = True

    @property
    def beyond(self) -> float:
        """The distance to the other scan from which on a point is a change point."""
        return self.slack * (self.proximity_threshold if self.proximity_filter else self.distance_threshold)

    def detect(self, reference: Any, comparison: Any) -> Detection:
        """Find what changed from the reference to the comparison, both ``(N, 3)`` in one frame."""
        watch = Watch()
        with watch.stage("reading"):
            removed, added = scans(reference, comparison)
        with watch.stage("neighbours"):
            here, there = cloud(removed), cloud(added)
            forth, back = nearest(here, there)[0], nearest(there, here)[0]
        with watch.stage("region"):
            region = stages.region(removed, forth, self.slack * self.distance_threshold, self.region_scale)
        found = {
            ADD: self._find(Side(added, there, back), region, watch),
            REMOVE: self._find(Side(removed, here, forth), region, watch),
        }
        facts = {"region": None if region is None else region.tolist()}
        return assemble(found, {ADD: len(added), REMOVE: len(removed)}, watch, facts)

    def _find(self, side: Side, region: Array | None, watch: Watch) -> Found:
        """Do stages 2 to 8 for one class."""
        if len(side.points) < 2:
            return nothing("the scan has fewer than two points")
        if region is None:
            return nothing("no reference point is within the distance threshold of the comparison")
        with watch.stage("changes"):
            rows = stages.changed(side.points, side.distances, region, self.beyond)
        counts = {"change_points": len(rows)}
        with watch.stage("boundary"):
            if self.boundary_filter:
                rows = rows[stages.off_faces(side.points[rows], region, self.slack * self.boundary_margin)]
        counts["off_boundary"] = len(rows)
        with watch.stage("spacing"):
            space = spacing(side.cloud)
        eps = max(self.eps, self.eps_spacings * space)
        with watch.stage("clusters"):
            owner = stages.cluster(side.points[rows], eps, self.min_samples, self.min_points, self.max_points)
        with watch.stage("boxes"):
            boxed = stages.enclose(side.points[rows], owner, max(self.pad, self.pad_spacings * space))
            counts["clusters"] = len(boxed)
            left = self._choose(stages.covered(boxed, region, self.min_coverage), counts)
            scores = stages.confidence(left, side.distances[rows], self.beyond)
        facts = {
            "spacing": space,
            "eps": {"asked": self.eps, "used": eps, "floor_binds": eps > self.eps},
            "counts": counts,
        }
        return Found(left.boxes, scores, rows[left.owner >= 0], facts)

    def _choose(self, found: Candidates, counts: dict[str, int]) -> Candidates:
        """Do stages 6 to 8, and count what each leaves."""
        counts["covered"] = len(found)
        if self.box_budget:
            found = stages.budgeted(found, self.box_budget_per_class)
        counts["budgeted"] = len(found)
        if self.box_merging:
            found = stages.merged(found, self.merge_iou, self.merge_distance)
        found = stages.suppressed(found, self.suppress_iou)
        counts["merged"] = len(found)
        found = stages.without_enclosing(found)
        counts["boxes"] = len(found)
        return found
