"""Sizes of scans and boxes: an implausible one is an error (:mod:`gnomon.measures.plausibility`).

Metres that a user asks for (``unit="m"``, ``--unit m``) are obeyed for true boxes and scans of any size, with a warning
where the size is implausible. Predictions in another unit than the truth are an error all the same.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gnomon.core.errors import InputError, some
from gnomon.core.evidence import Finding
from gnomon.core.scans import Boxes
from gnomon.core.tallies import Array
from gnomon.intake.clouds import Cloud, read_cloud
from gnomon.intake.faults import shown
from gnomon.measures.plausibility import (
    BOX_M,
    BOX_OF_SCAN,
    SCENE_M,
    check_box_size,
    check_same_unit,
    check_scene_size,
    measure_boxes,
    measure_distances,
    measure_scene,
    show_extent,
)
from gnomon.numerics.solids import solids

if TYPE_CHECKING:
    from gnomon.suites.change.files import Scene
    from gnomon.suites.change.predictions import Prediction

REMEDY = "convert scans, labels and predictions to metres"
INSIST = f"{REMEDY}; --unit m insists on metres"


def read_scan(path: str | os.PathLike[str], *, invalid: str, unit: str = "") -> Cloud:
    """Read the points of a scan, as :func:`gnomon.intake.clouds.read_cloud` does; refuse one of implausible size."""
    cloud = read_cloud(path, invalid=invalid, fields=())
    if unit != "m":
        check_scene_size(cloud.points, what=shown(path), remedy=INSIST)
    return cloud


def check_boxes_of_scan(boxes: Boxes, cloud: Cloud, *, what: str, unit: str = "") -> None:
    """Refuse true boxes that are larger than the scan that they lie in."""
    if len(boxes) and unit != "m":
        extent = check_scene_size(cloud.points, what=what, remedy=INSIST)
        check_box_size(measure_boxes(boxes.geometry), what=what, scan_m=extent, remedy=INSIST)


def check_truth(scenes: Sequence[Scene], where: str, unit: str = "") -> None:
    """Refuse true boxes of implausible size."""
    if unit != "m":
        check_box_size(_sizes([scene.boxes for scene in scenes]), what=f"{where}: labels", remedy=INSIST)


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


def implausible_sizes(boxes: Boxes, clouds: Sequence[Cloud]) -> tuple[float, float] | None:
    """Return the extents of the largest true box (0 without boxes) and of the larger scan, where they are implausible.

    None where the checks that ``--unit m`` turns off would pass.
    """
    try:
        for cloud in clouds:
            check_scene_size(cloud.points, what="scan")
        check_boxes_of_scan(boxes, clouds[0], what="labels")
    except InputError:
        largest = float(measure_boxes(boxes.geometry).max()) if len(boxes) else 0.0
        return largest, max(measure_scene(cloud.points) for cloud in clouds)
    return None


def insisted_findings(insisted: Sequence[tuple[str, float, float]], n: int) -> list[Finding]:
    """Say in which of ``n`` scenes ``--unit m`` takes scans or true boxes of implausible size as metres."""
    if not insisted:
        return []
    told = []
    for scene, size, extent in insisted:
        boxes = f"true boxes up to {show_extent(size)}" if size else "no true boxes"
        told.append(f"{scene} a scan of {show_extent(extent)} with {boxes}")
    expected = f"expected scans of {SCENE_M[0]:g} to {SCENE_M[1]:g} m and boxes of {BOX_M[0]:g} to {BOX_M[1]:g} m, at "
    evidence = (
        f"--unit m takes implausible sizes as metres in {len(insisted)} of {n} scenes: {some(told, sentences=True)}; "
        f"{expected}most {BOX_OF_SCAN:g} times as large as the scan; nothing was converted"
    )
    remedy = "check that scans and labels are both in metres: without --unit m such scenes are refused"
    return [Finding("suspicious-units", "warning", "dataset", evidence, remedy)]


def large_findings(large: Sequence[tuple[str, float, float]], n: int, name: str) -> list[Finding]:
    """Say in which of ``n`` scenes a predicted box is far larger than the scan: a bad prediction, or another unit."""
    if not large:
        return []
    told = [f"{scene} {show_extent(size)} in a scan of {show_extent(extent)}" for scene, size, extent in large]
    evidence = (
        f"a predicted box is more than {BOX_OF_SCAN:g} times as large as the scan in {len(large)} of {n} scenes: "
    )
    remedy = "check that all predictions are in metres"
    return [Finding("large-boxes", "warning", name, evidence + some(told, sentences=True), remedy)]


def _sizes(boxes: Sequence[Boxes]) -> Array:
    return np.concatenate([np.zeros(0), *(measure_boxes(own.geometry) for own in boxes if len(own))])


def _distances(boxes: Sequence[Boxes]) -> Array:
    """Return how far the centres of boxes are from the origin."""
    centres = [solids(own.geometry).centre for own in boxes if len(own)]
    return measure_distances(np.concatenate([np.zeros((0, 3)), *centres]))
