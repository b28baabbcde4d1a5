"""The protocol of ``change``: points, boxes and scenes, as published and strict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gnomon.core.evidence import NOT_TRAINED_ON, Claim, Need
from gnomon.core.measure import Measure
from gnomon.core.protocol import Protocol
from gnomon.core.scans import BOX_CLASSES
from gnomon.measures import points, scene_boxes, scenes
from gnomon.measures.boxes import THRESHOLDS
from gnomon.measures.ranked import AveragePrecision
from gnomon.numerics.assignment import Order

FIRST_TABLE = (
    "box_macro_f1",
    "box_macro_precision",
    "box_macro_recall",
    "box_f1_of_macro_means",
    "box_mean_iou",
    "false_boxes_per_scene",
    "missed_boxes_per_scene",
)
"""The metrics that the first table shows unless ``--metrics`` names others."""
MATCHING: Mapping[str, Order] = {"published": "hungarian-then-filter", "strict": "max-cardinality"}
"""The order of matching of each variant."""
NEVER: dict[str, Any] = {"zero_division": 0}
"""A class that is never predicted has a precision of 0 in an average: left out, it would raise the average."""
DETECTIONS = "detections"
"""The ledger that average precision is made from."""
DIFFERENT = (
    "strict matches as many boxes as can be matched; hungarian-then-filter maximises the sum of IoU first and loses "
    "matches that reach the threshold",
    "strict folds keep all scenes of a room together; published ones put scenes of a room on both sides",
)

CLAIMS = (
    Claim(
        "new-rooms",
        "the scores describe rooms that are not in the data",
        (Need("groups", 6, "at least 6 rooms to resample"), NOT_TRAINED_ON),
    ),
    Claim(
        "false-alarms",
        "the rate of false alarms is known",
        (Need("unchanged_scenes", 10, "at least 10 unchanged rescans"),),
    ),
    Claim(
        "real-scans",
        "the scores hold for scans of a real sensor",
        (Need("real_scans", 1, "scans that were not simulated"),),
    ),
)


def protocol(
    variant: str, matching: Order, iou: float, slices: Sequence[str], split: Mapping[str, Any] | None = None
) -> Protocol:
    """Return the protocol of a variant; average precision is undefined where boxes carry no scores."""
    rule: dict[str, Any] = {"iou": iou, "matching": matching}
    whole: dict[str, Any] = {**rule, **NEVER}
    measures: list[Measure] = [
        scene_boxes.BoxF1(**whole),
        scene_boxes.BoxPrecision(**whole),
        scene_boxes.BoxRecall(**whole),
        scene_boxes.BoxF1OfMeans(**whole),
        scene_boxes.BoxIoU(**rule),
        scene_boxes.BoxErrorsPerScene(**rule, what="false"),
        scene_boxes.BoxErrorsPerScene(**rule, what="missed"),
        scenes.SceneAccuracy(),
        scenes.ChangeDetectionRate(),
        scenes.FalseAlarmRate(),
        points.PointAccuracy(),
        points.PointF1(**NEVER),
        points.PointF1(classes=BOX_CLASSES, **NEVER),
        points.PointPrecision(**NEVER),
        points.PointRecall(**NEVER),
        points.PointF1OfMeans(**NEVER),
        *(AveragePrecision(DETECTIONS, at=at) for at in ((0.25,), (0.5,), THRESHOLDS)),
    ]
    for label in BOX_CLASSES:
        measures += [
            scene_boxes.BoxClassF1(**rule, label=label),
            scene_boxes.BoxClassPrecision(**rule, label=label),
            scene_boxes.BoxClassRecall(**rule, label=label),
            scene_boxes.BoxIoU(**rule, label=label),
            points.PointClassF1(label),
            points.PointClassPrecision(label),
            points.PointClassRecall(label),
        ]
    return Protocol(
        name="change",
        version="1",
        measures=tuple(measures),
        group="room",
        slices=tuple(slices),
        split=dict(split or {}),
        settings={"matching": matching, "iou_threshold": iou},
        claims=CLAIMS,
        variant=variant,
    )
