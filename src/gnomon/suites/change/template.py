"""Verb ``template``: a small dataset and predictions for it, to be replaced by one's own.

``DIR/dataset`` holds two rooms of a few thousand points each, as text. ``DIR/predictions.json`` says something of every
scene: most boxes are a little off, one is missed, one is where nothing changed, and ``points`` below names the classes
of all points. ``DIR/predictions.csv`` holds the same boxes as a table.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from gnomon.core.scans import BOX_CLASSES, Boxes
from gnomon.suites.change.files import POINTS, Scene, read_dataset
from gnomon.suites.change.labels import by_boxes, write_points
from gnomon.suites.change.options import SimulateOptions, TemplateOptions
from gnomon.suites.change.predictions import Prediction, write_predictions
from gnomon.suites.change.shapes import FRAME
from gnomon.suites.change.simulate import simulate


def template(options: TemplateOptions) -> list[Path]:
    """Write a dataset, and predictions for it as JSON and as a table; return their paths."""
    folder = Path(options.directory)
    data = folder / "dataset"
    simulate(SimulateOptions(directory=str(data), rooms=2, points=3000, encoding="ascii"))
    (folder / "points").mkdir(exist_ok=True)
    predictions = [_predicted(scene, folder / "points") for scene in read_dataset(data)]
    paths = [data, folder / "predictions.json", folder / "predictions.csv"]
    write_predictions(paths[1], predictions)
    write_predictions(paths[2], [replace(item, points=None) for item in predictions])
    return paths


def _predicted(scene: Scene, folder: Path) -> Prediction:
    """Say something of a scene: boxes 2 cm off, the first of a composite missed, a false one in an unchanged room."""
    first = int(scene.category == "Composite")
    geometry, codes = scene.boxes.geometry[first:] + 0.02, scene.boxes.codes[first:]
    if scene.category == "Unchanged" and scene.room == "002":
        centre = scene.clouds()[0].points.mean(axis=0, dtype=np.float64)
        geometry, codes = np.concatenate([centre - 0.1, centre + 0.1]).round(3)[np.newaxis], np.zeros(1, dtype=np.int64)
    scores = np.linspace(0.9, 0.5, len(codes))
    boxes = Boxes(geometry.round(6), codes, BOX_CLASSES, scores, FRAME)
    reference, comparison = scene.clouds()
    path = folder / f"{scene.id}{POINTS}"
    write_points(path, *by_boxes(boxes, reference.points, comparison.points))
    return Prediction(scene.id, boxes, path, 0.5)
