"""What a run of ``change`` keeps of predictions, and the fingerprints of what was scored."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from gnomon.core.scans import BOX_CLASSES
from gnomon.core.tallies import Array
from gnomon.runs.content import column_digest
from gnomon.runs.seal import hash_file, hash_file_once
from gnomon.suites.change.files import Scene
from gnomon.suites.change.predictions import Prediction


def table(predictions: Sequence[Prediction]) -> pa.Table:
    """Return what was scored: a row per box, one without a class for a scene without boxes."""
    boxes = [item.boxes for item in predictions]
    rows = np.array([max(len(own), 1) for own in boxes], np.int64)
    empty = np.repeat(np.array([not len(own) for own in boxes], np.bool_), rows)
    plain = np.repeat(np.array([own.scores is None for own in boxes], np.bool_), rows) | empty
    codes, scores = np.zeros(len(empty), np.int64), np.zeros(len(empty))
    codes[~empty] = _joined([own.codes for own in boxes], np.int64)
    scores[~plain] = _joined([own.scores for own in boxes if own.scores is not None], np.float64)
    each = np.repeat(np.array([math.prod(own.geometry.shape[1:]) for own in boxes], np.int64), rows)
    ends = np.cumsum(np.append(0, np.where(empty, 0, each)), dtype=np.int32)
    numbers = pa.array(_joined([own.geometry.ravel() for own in boxes], np.float64))
    place = pa.array(np.repeat(np.arange(len(boxes)), rows))
    digests = [None if item.points is None else hash_file(item.points) for item in predictions]
    return pa.table(
        {
            "scene": pa.array([item.scene for item in predictions], pa.string()).take(place),
            "class": pa.array(BOX_CLASSES, pa.string()).take(pa.array(codes, mask=empty)),
            "geometry": pa.ListArray.from_arrays(pa.array(ends, mask=np.append(empty, False)), numbers),
            "score": pa.array(scores, mask=plain),
            "points_sha256": pa.array(digests, pa.string()).take(place),
        }
    )


def _joined(parts: Sequence[Array], dtype: type) -> Array:
    """Return arrays one after another; of none an empty one."""
    return np.concatenate([np.zeros(0, dtype), *parts])


Described = tuple[str, str, list[str], list[float]]
"""Of a scene: id, hash of the classes of its points, classes of its boxes, and all their numbers."""


def described(scene: Scene) -> Described:
    """Return what the fingerprint of a dataset is made of."""
    boxes = [BOX_CLASSES[code] for code in scene.boxes.codes.tolist()]
    return scene.id, _points(scene), boxes, scene.boxes.geometry.ravel().tolist()


def fingerprint(scenes: Sequence[Described]) -> str:
    """Return the fingerprint of described scenes."""
    return column_digest(
        pa.array([scene for scene, _, _, _ in scenes], pa.string()),
        pa.array([points for _, points, _, _ in scenes], pa.string()),
        pa.array([scene for scene, _, boxes, _ in scenes for _ in boxes], pa.string()),
        pa.array([label for _, _, boxes, _ in scenes for label in boxes], pa.string()),
        pa.array([value for _, _, _, numbers in scenes for value in numbers], pa.float64()),
    )


def inputs(scenes: Sequence[Scene]) -> list[dict[str, Any]]:
    """Return the label files that were read, with their hashes."""
    return [{"path": str(scene.label), "sha256": hash_file(scene.label)} for scene in scenes if not scene.fault]


def _points(scene: Scene) -> str:
    """Return the hash of what the classes of points come from: their file, or both scans.

    A file that cannot be read has none, nor a scene whose label cannot be: it is not scored, and named.
    """
    if scene.fault:
        return "unreadable"
    try:
        if scene.points:
            return hash_file(scene.points)
        return f"{hash_file_once(scene.reference)} {hash_file(scene.comparison)}"
    except OSError:
        return "unreadable"
