"""Sizes of scans and boxes: an implausible one is an error (:mod:`gnomon.measures.plausibility`)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gnomon.core.scans import Boxes
from gnomon.core.tallies import Array
from gnomon.intake.clouds import Cloud, read_cloud
from gnomon.intake.faults import shown
from gnomon.measures.plausibility import (
    check_box_size,
    check_same_unit,
    check_scene_size,
    measure_boxes,
    measure_distances,
)
from gnomon.numerics.solids import solids

if TYPE_CHECKING:
    from gnomon.suites.change.files import Scene
    from gnomon.suites.change.predictions import Prediction

REMEDY = "convert scans, labels and predictions to metres"


def read_scan(path: str | os.PathLike[str], *, invalid: str) -> Cloud:
    """Read the points of a scan, as :func:`gnomon.intake.clouds.read_cloud` does; refuse one of implausible size."""
    cloud = read_cloud(path, invalid=invalid, fields=())
    check_scene_size(cloud.points, what=shown(path), remedy=REMEDY)
    return cloud


def check_boxes_of_scan(boxes: Boxes, cloud: Cloud, *, what: str) -> None:
    """Refuse true boxes that are larger than the scan that they lie in."""
    if len(boxes):
        extent = check_scene_size(cloud.points, what=what, remedy=REMEDY)
        check_box_size(measure_boxes(boxes.geometry), what=what, scan_m=extent, remedy=REMEDY)


def check_truth(scenes: Sequence[Scene], where: str) -> None:
    """Refuse true boxes of implausible size."""
    check_box_size(_sizes([scene.boxes for scene in scenes]), what=f"{where}: labels", remedy=REMEDY)


def check_prediction(scenes: Sequence[Scene], predictions: Mapping[str, Prediction], where: str) -> None:
    """Refuse predicted boxes that are true ones in another unit."""
    true, predicted = [scene.boxes for scene in scenes], [one.boxes for one in predictions.values()]
    check_same_unit(
        _sizes(true),
        _sizes(predicted),
        distances_m=(_distances(true), _distances(predicted)),
        what=f"{where}: boxes",
        remedy=REMEDY,
    )


def _sizes(boxes: Sequence[Boxes]) -> Array:
    return np.concatenate([np.zeros(0), *(measure_boxes(own.geometry) for own in boxes if len(own))])


def _distances(boxes: Sequence[Boxes]) -> Array:
    """Return how far the centres of boxes are from the origin."""
    centres = [solids(own.geometry).centre for own in boxes if len(own)]
    return measure_distances(np.concatenate([np.zeros((0, 3)), *centres]))
