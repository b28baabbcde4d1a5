"""The work of ``gnomon run change``: one cell per system and scene, one artefact per trained system.

A system that is trained has ``fit(scenes, seed)`` besides ``detect``: it is given training scenes, each of which reads
its two scans and the classes of their points when asked, and returns plain facts about the training. What it has become
is kept by ``save(folder)`` and ``load(folder)`` where it has them, else pickled.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.core.canonical import encode_pretty
from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
from gnomon.engine.planner import load_trained, store_trained
from gnomon.suites.change.labels import by_boxes as points_by_boxes
from gnomon.suites.change.labels import fitted, read_boxes, read_points, write_points
from gnomon.suites.change.sizes import read_scan
from gnomon.suites.change.systems import SYSTEMS
from gnomon.suites.change.systems.detection import Detection

DETECTED, POINTS, TRAINED = "detected.json", "points.npz", "trained.json"
WARM = 2_000
"""Points of each scan that a system sees before it is timed, so that compiling is not counted."""
_warm: set[str] = set()


@dataclass(frozen=True)
class TrainingScene:
    """A scene to be trained on, read when it is asked for."""

    id: str
    reference: str
    comparison: str
    label: str
    points: str
    invalid: str
    unit: str = ""

    def read(self) -> tuple[Array, Array, Array, Array]:
        """Return the points of reference and comparison, ``(N, 3)`` each, and the class of every point of both."""
        clouds = [read_scan(path, invalid=self.invalid, unit=self.unit) for path in (self.reference, self.comparison)]
        first, second = (cloud.points for cloud in clouds)
        if self.points:
            labels = fitted(read_points(self.points), clouds, self.points)
        else:
            labels = points_by_boxes(read_boxes(self.label), first, second)
        return first, second, *labels


def train(arguments: Mapping[str, Any], needs: Mapping[str, Path], out: Path) -> None:
    """Artefact: a system after it was fitted to the training scenes."""
    del needs
    system = SYSTEMS.make(arguments["system"])
    how = {"invalid": arguments["invalid"], "unit": arguments["unit"]}
    scenes = [TrainingScene(**place, **how) for place in arguments["places"]]
    begun, spent = time.perf_counter(), time.process_time()
    facts = system.fit(scenes, arguments["seed"])
    record = {
        "seconds": time.perf_counter() - begun,
        "cpu_seconds": time.process_time() - spent,
        "scenes": len(scenes),
        **(facts if isinstance(facts, dict) else {}),
    }
    store_trained(system, arguments["system"], out)
    (out / TRAINED).write_bytes(encode_pretty(record))


def detect(arguments: Mapping[str, Any], needs: Mapping[str, Path], out: Path) -> None:
    """Cell: give a system the two scans of a scene, keep what it found."""
    text = arguments["system"]
    system = load_trained(SYSTEMS, text, needs["trained"]) if needs else SYSTEMS.make(text)
    paths = arguments["reference"], arguments["comparison"]
    clouds = [read_scan(path, invalid=arguments["invalid"], unit=arguments["unit"]) for path in paths]
    first, second = (cloud.points for cloud in clouds)
    if text not in _warm:
        system.detect(*(points[:: max(1, -(-len(points) // WARM))] for points in (first, second)))
        _warm.add(text)
    begun = time.perf_counter()
    found = system.detect(first, second)
    seconds = time.perf_counter() - begun
    where = f"{arguments['system']} on {arguments['scene']}"
    if not isinstance(found, Detection):
        raise InputError(f"{where}: detect() returned {type(found).__name__}: expected a Detection")
    for side, labels, points in (
        ("reference", found.reference_labels, first),
        ("comparison", found.comparison_labels, second),
    ):
        if len(labels) != len(points):
            raise InputError(f"{where}: {len(labels)} classes for the {len(points)} points of the {side} scan")
    write_points(
        out / POINTS, _spread(found.reference_labels, clouds[0].kept), _spread(found.comparison_labels, clouds[1].kept)
    )
    record = {
        "boxes": found.boxes.tolist(),
        "classes": list(found.classes),
        "scores": found.scores.tolist(),
        "seconds": seconds,
        "stages": dict(found.seconds),
        "facts": dict(found.facts),
        "training": json.loads((needs["trained"] / TRAINED).read_bytes()) if needs else None,
    }
    (out / DETECTED).write_bytes(encode_pretty(record))


def _spread(labels: Array, kept: Array | None) -> Array:
    """Return a class for every stored point: those that were dropped because they are not finite have none, so 0."""
    if kept is None:
        return labels
    out = np.zeros(len(kept), dtype=np.uint8)
    out[kept] = labels
    return out


def places(scenes: Sequence[Any]) -> list[dict[str, str]]:
    """Return where the files of scenes are."""
    return [
        {
            "id": scene.id,
            "reference": str(scene.reference),
            "comparison": str(scene.comparison),
            "label": str(scene.label),
            "points": str(scene.points or ""),
        }
        for scene in scenes
    ]
