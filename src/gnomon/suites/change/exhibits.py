"""The view of a scene that ``change`` runs keep: both scans with true and predicted boxes, coloured by error.

:mod:`gnomon.suites.change.keeping` says which scenes are kept, and what of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gnomon.core.scans import BOX_CLASSES, CHANGES
from gnomon.core.table import View
from gnomon.core.tallies import Array
from gnomon.runs import exhibits
from gnomon.runs.exhibits import Exhibit
from gnomon.runs.run import Run
from gnomon.suites.change.labels import SIDES

OUTCOMES = ("right", "missed", "false")
CODES = (
    {"name": "unchanged", "role": "plain"},
    *({"name": f"{word} {label}", "role": word} for word in OUTCOMES for label in BOX_CLASSES),
    *({"name": label, "role": "right"} for label in BOX_CLASSES),
)
"""What the codes of points mean: outcomes of a system by class, then the true classes themselves."""
TRUE = 1 + len(OUTCOMES) * len(BOX_CLASSES)


def shown(runs: Sequence[Run], case: str) -> View:
    """Return both scans of a scene, coloured by what became of each point, with the boxes of truth and of systems."""
    kept, notes = exhibits.kept_by(runs, case)
    found = {name: item for name, (_, item) in kept.items()}
    with exhibits.undamaged(case):
        _same(found, notes)
        data = _data(case, found)
    return View("scene", f"change: scene {case}", "scene", data, tuple(notes))


def _same(found: dict[str, Exhibit], notes: list[str]) -> None:
    """Leave out what was seen on other scans, or against another truth, than by the first system."""
    first, *others = found
    for name in others:
        a, b = found[first], found[name]
        keys = [f"{side}_true" for side in SIDES] + ["true_boxes"]
        same = a.data["points"] == b.data["points"] and a.data["origin"] == b.data["origin"]
        if not same or any(not np.array_equal(a.arrays[key], b.arrays[key]) for key in keys):
            del found[name]
            notes.append(f"{name} is left out: its scans or its truth are others than those of {first}")


def _data(case: str, found: Mapping[str, Exhibit]) -> dict[str, Any]:
    many = len(found) > 1
    clouds = [_cloud(side, code, list(found.items()), many) for side, code in SIDES.items()]
    facts: dict[str, Any] = {}
    for name, item in found.items():
        facts |= {f"{name}: {key}" if many else key: value for key, value in _facts(item.data).items()}
    first = next(iter(found.values()))
    return {
        "case": case,
        "clouds": clouds,
        "codes": [dict(code) for code in CODES],
        "systems": list(found),
        "boxes": [*_true_boxes(found), *(box for name, item in found.items() for box in _predicted(name, item))],
        "facts": {
            "category": first.data["category"],
            **facts,
            "points": f"{sum(len(cloud['points']) for cloud in clouds):,} of {sum(first.data['points'].values()):,}",
        },
    }


def _cloud(side: str, label: int, found: Sequence[tuple[str, Exhibit]], many: bool) -> dict[str, Any]:
    """Return the points of one scan that any of the systems keeps, with what each system makes of all of them."""
    rows, places = np.unique(np.concatenate([item.arrays[f"{side}_rows"] for _, item in found]), return_index=True)
    points = np.concatenate([item.arrays[side] for _, item in found])[places]
    total = int(found[0][1].data["points"][side])
    place = BOX_CLASSES.index(CHANGES[label])
    true = _bits(found[0][1].arrays[f"{side}_true"], total)[rows]
    codes = {}
    for name, item in found:
        guess = _bits(item.arrays[f"{side}_predicted"], total)[rows]
        outcome = np.select([true & guess, true, guess], [0, 1, 2], -1)
        codes[name] = np.where(outcome < 0, 0, 1 + outcome * len(BOX_CLASSES) + place).astype(np.uint8)
    known = {"name": side, "points": np.ascontiguousarray(points, dtype=np.float32).reshape(-1, 3)}
    if not many:
        return {**known, "code": codes[found[0][0]]}
    return {**known, "code": np.where(true, TRUE + place, 0).astype(np.uint8), "by_system": codes}


def _bits(packed: Array, count: int) -> Array:
    """Return so many bits; there cannot be more than were packed."""
    if packed.dtype != np.uint8 or packed.ndim != 1 or not 0 <= count <= 8 * len(packed):
        raise ValueError(f"{count} points in {packed.nbytes} packed bytes")
    return np.unpackbits(packed, count=count).astype(np.bool_)


def _true_boxes(found: Mapping[str, Exhibit]) -> list[dict[str, Any]]:
    """Return the true boxes; with several systems one is matched where all match it, and each says so for itself."""
    listed = {name: item.data["boxes"]["listed_true"] for name, item in found.items()}
    first, vertices = next(iter(found.items()))
    out = []
    for index, corner in enumerate(vertices.arrays["true_boxes"]):
        own = {name: boxes[index] for name, boxes in listed.items()}
        matched = all(box["status"] == "matched" for box in own.values())
        box = _box("", own[first]["class"], "matched" if matched else "missed", corner)
        if len(found) == 1:
            out.append({**box, "iou": own[first]["iou"]})
        else:
            each = {name: {"status": item["status"], "iou": item["iou"]} for name, item in own.items()}
            out.append({**box, "by_system": each})
    return out


def _predicted(name: str, item: Exhibit) -> list[dict[str, Any]]:
    listed = item.data["boxes"]["listed_predicted"]
    return [
        {**_box(name, box["class"], box["status"], corner), "iou": box["iou"], "score": box["score"]}
        for box, corner in zip(listed, item.arrays["predicted_boxes"], strict=True)
    ]


def _box(system: str, label: str, status: str, vertices: Array) -> dict[str, Any]:
    """Return a box, in the scan that shows what it is about: what was added is in the comparison."""
    side = next((side for side, code in SIDES.items() if CHANGES[code] == label), None)
    if side is None:
        raise ValueError(f"no class of boxes: {label!r:.40}")
    shape = np.ascontiguousarray(vertices, dtype=np.float32).reshape(8, 3)
    known = {"system": system, "cloud": side, "class": label, "status": status}
    return {**known, "iou": None, "score": None, "corners": shape}


def _facts(data: Mapping[str, Any]) -> dict[str, Any]:
    boxes = data["boxes"]
    return {
        "F1 of boxes": data["f1"],
        "true boxes": boxes["true"],
        "predicted boxes": boxes["predicted"],
        "matched boxes": boxes["matched"],
        "wrong points": data["wrong_points"],
        "seconds": data["seconds"],
        "matching": f"{data['matching']}, IoU {data['iou_threshold']:g}",
    }
