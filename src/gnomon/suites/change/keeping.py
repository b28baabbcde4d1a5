"""Which scenes a ``change`` run keeps to be looked at, and what of them.

Which scenes are kept
---------------------
The worst. First those with a missed or false box, by falling error ``1 - F1`` over both classes together; then those
whose boxes are right, or which have none (no F1), by falling share of points with a wrong class; ties go by id. A scene
is judged when it is tallied, with its scans at hand, so that no scan is read twice; at any time at most as many are
held as are asked for.

What is kept of a scene
-----------------------
Of each scan at most :data:`POINTS` points: those with a wrong class and those with a true or predicted change, up to
half of them, and others that are spread evenly over the scan. Their order does not depend on the system, so that runs
on the same scene keep mostly the same points. The classes of all points are kept as bits: a view of several systems
knows what each of them says of every point it shows. Coordinates are 32-bit floats in steps of :data:`STEP`, relative
to an origin where a scan lies far from zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gnomon.core.scans import BOX_CLASSES, Boxes
from gnomon.core.seeds import generator
from gnomon.core.tallies import Array, Tallies
from gnomon.intake.clouds import Cloud
from gnomon.measures import scene_boxes
from gnomon.numerics.solids import solids
from gnomon.runs.exhibits import Exhibit
from gnomon.suites.change.files import Scene
from gnomon.suites.change.labels import SIDES
from gnomon.suites.change.predictions import Prediction

POINTS = 12_000
"""Most points that are kept of a scan."""
FAR = 1_000.0
"""Metres from zero beyond which coordinates are kept relative to an origin: 32-bit floats are coarse out there."""
STEP = 2.0**-12
"""Metres (a quarter of a millimetre) that coordinates are rounded to: the rest is noise, and a quarter of the file."""
_RING = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)], dtype=np.float64)
_COARSEST, _FINEST = 5, 10
_COUNTS = {"true": "truth", "predicted": "predicted", "matched": "tp"}


class Scans:
    """Both scans of a scene; what thinning needs to know of them is found once for all systems."""

    def __init__(self, scene: str, clouds: tuple[Cloud, Cloud], seed: int) -> None:
        self.scene, self.clouds, self.seed = scene, clouds, seed

    @cached_property
    def orders(self) -> tuple[Array, ...]:
        """The order in which points of each scan are kept."""
        made = zip(SIDES, self.clouds, strict=True)
        return tuple(
            spread(cloud.points, generator(self.seed, "change", "exhibits", self.scene, side)) for side, cloud in made
        )

    @cached_property
    def origin(self) -> Array:
        """Where coordinates are relative to: zero, or whole metres near the middle of a reference that is far away."""
        points = self.clouds[0].points.T if len(self.clouds[0]) else np.zeros((3, 1))
        middle = np.round([(float(axis.min()) + float(axis.max())) / 2 for axis in points])
        return middle if np.abs(middle).max() > FAR else np.zeros(3)


@dataclass(frozen=True, eq=False)
class Judged:
    """A scene that was looked at: what was true and predicted of it, and of each point of both scans."""

    scene: Scene
    found: Prediction
    points: tuple[Array, Array]
    scans: Scans


def count_boxes(boxes: Tallies) -> list[dict[str, int]]:
    """Return how many boxes of both classes are true, predicted and matched, of the tallies of boxes of each scene."""
    sums = {name: boxes.fields[field].sum(axis=1).tolist() for name, field in _COUNTS.items()}
    return [dict(zip(sums, row, strict=True)) for row in zip(*sums.values(), strict=True)]


def measure_badness(judged: Judged, counts: Mapping[str, int]) -> float:
    """Return how bad a scene is: more than 1 where boxes are wrong, else the share of points with a wrong class."""
    f1 = _f1(counts)
    if f1 is not None and f1 < 1:
        return 2 - f1
    return _wrong(judged.points) / max(len(judged.points[0]), 1)


def make_snapshot(judged: Judged, counts: Mapping[str, int], iou: float, matching: Any) -> Exhibit:
    """Return what is kept of a scene; boxes are matched as the scores are."""
    arrays: dict[str, Array] = {}
    scans, start, shown = judged.scans, 0, 0
    for side, cloud, order in zip(SIDES, scans.clouds, scans.orders, strict=True):
        true, guess = (codes[start : start + len(cloud)] != 0 for codes in judged.points)
        start += len(cloud)
        rows = thinned(order, true != guess, true | guess)
        shown += len(rows)
        arrays[side] = _near(cloud.points[rows], scans)
        arrays[f"{side}_rows"] = rows.astype(np.int32)
        arrays[f"{side}_true"], arrays[f"{side}_predicted"] = np.packbits(true), np.packbits(guess)
    scene, found = judged.scene, judged.found
    sides = _list_boxes(scene.boxes, found.boxes, iou, matching)
    for name, boxes in (("true", scene.boxes), ("predicted", found.boxes)):
        arrays[f"{name}_boxes"] = _near(corners(boxes), scans)
    wrong = _wrong(judged.points)
    data = {
        "category": scene.category,
        "origin": scans.origin.tolist(),
        "points": {side: len(cloud) for side, cloud in zip(SIDES, scans.clouds, strict=True)},
        "shown": shown,
        "wrong_points": wrong,
        "boxes": {**counts, **sides},
        "f1": _f1(counts),
        "seconds": found.seconds,
        "iou_threshold": iou,
        "matching": str(matching),
    }
    return Exhibit(scene.id, data, arrays, measure_badness(judged, counts), _note(data, start))


def _list_boxes(truth: Boxes, prediction: Boxes, iou: float, matching: Any) -> dict[str, list[dict[str, Any]]]:
    """Say of every box whether it is matched, by the matching that the scores come from."""
    codes = [[BOX_CLASSES[code] for code in side.codes.tolist()] for side in (truth, prediction)]
    matches = []
    if len(truth) and len(prediction):
        matches = scene_boxes.matched(truth, prediction, iou, matching)
    of_truth, of_prediction = {i: own for i, _, own in matches}, {j: own for _, j, own in matches}
    scores = [None] * len(prediction) if prediction.scores is None else prediction.scores.tolist()
    return {
        "listed_true": [
            {"class": label, "status": "matched" if i in of_truth else "missed", "iou": of_truth.get(i)}
            for i, label in enumerate(codes[0])
        ],
        "listed_predicted": [
            {
                "class": label,
                "status": "matched" if j in of_prediction else "false",
                "iou": of_prediction.get(j),
                "score": scores[j],
            }
            for j, label in enumerate(codes[1])
        ],
    }


def _near(places: Array, scans: Scans) -> Array:
    return (np.round((places - scans.origin) / STEP) * STEP).astype(np.float32)


def spread(points: Array, rng: np.random.Generator, enough: int = POINTS) -> Array:
    """Return the rows of points ``(N, 3)`` in an order of which any beginning is spread evenly.

    Space is cut into cubes, then each of these into eight, and so on, until there are enough cubes with points. First
    comes one point of every cube of the coarsest cut, then one of every finer cube that has none yet; by chance
    otherwise.
    """
    n = len(points)
    turn = rng.permutation(n)
    if n <= enough:
        return turn
    chance = np.empty(n, dtype=np.int64)
    chance[turn] = np.arange(n)
    code = _cubes(points)
    along = np.argsort(code)
    code, lots = code[along], chance[along]
    level = np.full(n, _FINEST + 1)
    for depth in range(_COARSEST, _FINEST + 1):
        starts = np.flatnonzero(np.diff(code >> 3 * (_FINEST - depth), prepend=-1))
        first = turn[np.minimum.reduceat(lots, starts)]
        level[first] = np.minimum(level[first], depth)
        if len(starts) >= enough:
            break
    return np.asarray(np.argsort(level * n + chance))


def _cubes(points: Array) -> Array:
    """Return the finest cube of each point as one number, with a bit of each axis for every cut (Morton, 1966)."""
    axes = np.ascontiguousarray(points.T)
    low = axes.min(axis=1, keepdims=True)
    scale = float((axes.max(axis=1, keepdims=True) - low).max()) or 1.0
    cells = np.minimum((axes - low) * ((1 << _FINEST) / scale), (1 << _FINEST) - 1).astype(np.int32)
    for shift, mask in ((16, 0x30000FF), (8, 0x300F00F), (4, 0x30C30C3), (2, 0x9249249)):
        cells = (cells | cells << shift) & np.int32(mask)
    return np.asarray(cells[0] | cells[1] << 1 | cells[2] << 2)


def thinned(order: Array, wrong: Array, changed: Array, most: int = POINTS) -> Array:
    """Return the rows that are kept, rising: of wrong and then of changed ones up to half of all, the rest spread.

    Parameters
    ----------
    order
        Rows in the order in which those of a kind are taken.
    wrong, changed
        Booleans by row; a wrong point is a changed one too.
    """
    if len(order) <= most:
        return np.arange(len(order))
    special = np.concatenate([order[wrong[order]], order[(changed & ~wrong)[order]]])
    half = special[: most // 2]
    others = np.concatenate([order[~changed[order]], special[len(half) :]])
    return np.sort(np.concatenate([half, others[: most - len(half)]]))


def corners(boxes: Boxes) -> Array:
    """Return the vertices of boxes, ``(M, 8, 3)``: the lower ring, then the upper one, each vertex above its like."""
    if not len(boxes):
        return np.zeros((0, 8, 3))
    solid = solids(boxes.geometry)
    rows = np.arange(len(solid))[:, np.newaxis]
    order = np.argsort(np.abs(solid.axes[:, :, 2]), axis=1, kind="stable")
    edges = (solid.half[:, :, np.newaxis] * solid.axes)[rows, order]
    edges[edges[:, 2, 2] < 0, 2] *= -1
    ring = np.einsum("vk,mkx->mvx", _RING, edges[:, :2])
    middle, rise = solid.centre[:, np.newaxis], edges[:, 2:]
    return np.concatenate([middle + ring - rise, middle + ring + rise], axis=1)


def _f1(counts: Mapping[str, int]) -> float | None:
    """Return the F1 of a scene over both classes together, or None where there are no boxes."""
    below = counts["true"] + counts["predicted"]
    return 2 * counts["matched"] / below if below else None


def _wrong(points: tuple[Array, Array]) -> int:
    return int(np.count_nonzero(points[0] != points[1]))


def _note(data: Mapping[str, Any], total: int) -> str:
    boxes = data["boxes"]
    score = "no boxes" if data["f1"] is None else f"F1 {data['f1']:.3f}"
    parts = {"missed": boxes["true"] - boxes["matched"], "false": boxes["predicted"] - boxes["matched"]}
    said = [f"{count} {name}" for name, count in parts.items() if count]
    return ", ".join([score, *said, f"{data['wrong_points']:,} of {total:,} points wrong"])
