"""Generated data for ``labels``: subjects with their own habits, two systems of different quality.

Each subject draws activities in bouts from subject-specific shares; a system confuses neighbouring classes
with a rate that varies from subject to subject, so that rows of one subject are not independent, as in
real data. ``strong`` and ``weak`` differ in that rate only.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from gnomon.core.seeds import generator
from gnomon.core.tallies import Array
from gnomon.intake.writing import write_table
from gnomon.suites.labels.options import SimulateOptions, TemplateOptions

ACTIVITIES = ("walking", "upstairs", "downstairs", "sitting", "standing", "lying", "running", "cycling")
SYSTEMS = {"strong": 0.12, "weak": 0.22}
"""Mean error rate of each generated system."""
BOUT = 12
"""Mean number of consecutive rows of one activity."""


def simulate(options: SimulateOptions) -> list[Path]:
    """Write ``truth`` and one table per generated system, or all side by side in ``results``; return the paths."""
    rng = generator(options.seed, "labels", "simulate")
    names = np.array(_names(options.classes))
    truth = np.concatenate([_bouts(options.rows, options.classes, rng) for _ in range(options.groups)])
    group = np.repeat(np.arange(options.groups), options.rows)
    ids = np.char.add("r", np.char.zfill(np.arange(len(truth)).astype(str), 7))
    subjects = np.char.add("s", np.char.zfill(group.astype(str), 3))
    placement = np.where(group % 2 == 0, "pocket", "wrist")
    columns = {"id": ids, "label": names[truth], "group": subjects, "placement": placement}
    columns |= _features(truth, group, options, rng)
    predicted = {name: names[_confuse(truth, group, options, rate, rng)] for name, rate in SYSTEMS.items()}
    if options.wide:
        wide = {"subject": subjects, "placement": placement, "y_true": names[truth]}
        wide |= {f"y_pred_{name}": labels for name, labels in predicted.items()}
        return [_write(wide, options.directory, "results", options.format)]
    paths = [_write(columns, options.directory, "truth", options.format)]
    paths += [
        _write({"id": ids, "label": own}, options.directory, name, options.format) for name, own in predicted.items()
    ]
    return paths


def template(options: TemplateOptions) -> list[Path]:
    """Write a small example pair, ``truth`` and ``predictions``, or both side by side in ``results``."""
    rows = [
        ("a1", "walking", "anna", "pocket", "walking"),
        ("a2", "walking", "anna", "pocket", "walking"),
        ("a3", "sitting", "anna", "pocket", "standing"),
        ("b1", "walking", "ben", "wrist", "walking"),
        ("b2", "sitting", "ben", "wrist", "sitting"),
        ("b3", "standing", "ben", "wrist", "standing"),
        ("c1", "sitting", "cara", "pocket", "sitting"),
        ("c2", "standing", "cara", "pocket", "walking"),
        ("c3", "standing", "cara", "pocket", "standing"),
    ]
    ids, labels, groups, placements, predicted = (np.array(column) for column in zip(*rows, strict=True))
    if options.wide:
        wide = {"subject": groups, "placement": placements, "y_true": labels, "y_pred": predicted}
        return [_write(wide, options.directory, "results", options.format)]
    truth = {"id": ids, "label": labels, "group": groups, "placement": placements}
    return [
        _write(truth, options.directory, "truth", options.format),
        _write({"id": ids, "label": predicted}, options.directory, "predictions", options.format),
    ]


def _names(classes: int) -> list[str]:
    return [*ACTIVITIES[:classes], *(f"activity_{index:03d}" for index in range(len(ACTIVITIES), classes))]


def _bouts(rows: int, classes: int, rng: np.random.Generator) -> Array:
    shares = rng.dirichlet(np.full(classes, 2.0))
    bouts = max(1, rows // 2)
    lengths = rng.geometric(1 / BOUT, size=bouts)
    return np.resize(np.repeat(rng.choice(classes, size=bouts, p=shares), lengths), rows)


def _confuse(truth: Array, group: Array, options: SimulateOptions, rate: float, rng: np.random.Generator) -> Array:
    rates = np.clip(rng.gamma(4.0, rate / 4.0, size=options.groups), 0, 0.9)
    wrong = rng.random(len(truth)) < rates[group]
    step = rng.choice([1, -1, 2], size=len(truth), p=[0.5, 0.35, 0.15])
    return np.where(wrong, (truth + step) % options.classes, truth)


def _features(truth: Array, group: Array, options: SimulateOptions, rng: np.random.Generator) -> dict[str, Array]:
    """Three readings per row: a mean of the class, a habit of the subject, noise."""
    means = rng.normal(size=(options.classes, 3)) * 1.5
    habits = rng.normal(size=(options.groups, 3)) * 0.5
    values = means[truth] + habits[group] + rng.normal(size=(len(truth), 3))
    return {f"x{index + 1}": np.round(values[:, index], 4) for index in range(3)}


def _write(columns: dict[str, Array], directory: str, name: str, suffix: str) -> Path:
    path = Path(directory) / f"{name}.{suffix}"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_table(pa.table({key: pa.array(values) for key, values in columns.items()}), path)
    return path
