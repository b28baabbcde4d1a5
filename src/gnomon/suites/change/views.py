"""Tables of ``change`` runs: boxes, classes, points, scenes and time, per scene, and the published statistics."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gnomon.core.scans import BOX_CLASSES
from gnomon.core.table import Cell, Column, Table, View, count_columns, make_cells, text_columns
from gnomon.core.tallies import Array
from gnomon.inference.classical import paired_t
from gnomon.inference.pairs import Pairs
from gnomon.measures.ranked import AveragePrecision
from gnomon.measures.scene_boxes import BoxMeasure
from gnomon.runs import tables as common
from gnomon.runs.run import Run
from gnomon.suites.change.protocol import FIRST_TABLE

IN_ORDER = 60
"""Up to this many rows scenes stand in their own order; above, the worst come first."""
Z = 1.96


def tables(runs: Sequence[Run]) -> list[Table | View]:
    """Return what a reader of these runs should see, most important first."""
    variant = runs[0].manifest["protocol"]["variant"]
    settings = runs[0].manifest["protocol"]["settings"]
    rule = f"IoU {settings['iou_threshold']:g}, {settings['matching']}"
    ordered = common.ranked(runs)
    shown: list[Table | View | None] = [
        _renamed(common.leaderboard(runs, FIRST_TABLE, title=f"change ({variant}): boxes, {rule}"), settings),
        _sliced(runs, FIRST_TABLE[:3], settings),
        by_class(ordered, settings),
        precision(ordered),
        scenes(ordered),
        points(ordered),
        training(ordered),
        per_scene(ordered),
        as_published(ordered) if variant == "published" else None,
    ]
    return [item for item in shown if item is not None]


def _renamed(table: Table, settings: Mapping[str, Any]) -> Table:
    """Leave the rule of matching, which the title names, out of the headings."""
    rule = f"@{settings['iou_threshold']:g}:{settings['matching']}"
    columns = []
    for column in table.columns:
        title = "true boxes" if column.key == "n" else column.title.replace(rule, "").removeprefix("box ")
        columns.append(replace(column, title=" ".join(title.split())))
    return replace(table, columns=tuple(columns))


def _sliced(runs: Sequence[Run], names: Sequence[str], settings: Mapping[str, Any]) -> Table | None:
    table = common.by_slice(runs, names)
    return None if table is None else _renamed(table, settings)


def by_class(runs: Sequence[Run], settings: Mapping[str, Any]) -> Table:
    """Precision, recall, F1 and mean IoU of Add and Remove."""
    rule = f"@{settings['iou_threshold']:g}:{settings['matching']}"
    titles = {"precision": "precision", "recall": "recall", "f1": "F1", "mean_iou": "mean IoU"}
    shown = [
        common.ByLabel(Column(kind, title, "score", direction="up"), f"box_{kind}[{{}}]{rule}".format, kind == "recall")
        for kind, title in titles.items()
    ]
    title = "change: boxes by class"
    return common.by_label(
        runs, BOX_CLASSES, shown, name="classes", title=title, support="true boxes", system_first=True
    )


def precision(runs: Sequence[Run]) -> Table | None:
    """Average precision over thresholds of IoU."""
    names = [measure.name for measure in runs[0].measures if isinstance(measure, AveragePrecision)]
    return common.leaderboard(runs, names, name="precision", title="change: average precision of boxes", evidence=False)


def scenes(runs: Sequence[Run]) -> Table:
    """Whole scenes, boxes per scene and time per scene."""
    names = {"scene_accuracy": "accuracy", "cdr": "change detection rate", "far": "false alarm rate"}
    columns = (
        Column("system", "system"),
        Column("scenes", "scenes", "count"),
        Column("unchanged", "unchanged", "count"),
        *(
            Column(name, title, "score", direction="down" if name == "far" else "up", digits=3)
            for name, title in names.items()
        ),
        Column("true", "true boxes per scene", "number", digits=2),
        Column("predicted", "predicted", "number", digits=2),
        Column("seconds", "time per scene", "number", "s", "down", 3),
    )
    rows = []
    for run in runs:
        facts = run.manifest["facts"]
        boxes, seconds = facts.get("boxes_per_scene", {}), facts.get("seconds_per_scene")
        rows.append(
            {
                **make_cells(system=run.system, scenes=len(run.roster), unchanged=facts.get("unchanged_scenes", 0)),
                **{name: common.cell(run.find(name)) for name in names},
                **{side: _number(boxes.get(side), "no scenes") for side in ("true", "predicted")},
                "seconds": _number(seconds, "not given"),
            }
        )
    notes = common.interval_notes(runs[0], [run.find(name) for run in runs for name in names])
    return Table("scenes", "change: whole scenes", columns, tuple(rows), notes)


def points(runs: Sequence[Run]) -> Table:
    """Classes of points."""
    names = [m.name for m in runs[0].measures if m.name.startswith("point_")]
    return common.by_measure(runs, names, name="points", title="change: points of both scans")


def training(runs: Sequence[Run]) -> Table | None:
    """What was trained, on how much, and how long it took."""
    known = [(run, run.manifest["facts"].get("training")) for run in runs]
    if not any(found for _, found in known):
        return None
    columns = (
        Column("system", "system"),
        Column("trainings", "trainings", "count"),
        Column("scenes", "training scenes", "count"),
        Column("seconds", "time, mean", "number", "s", digits=1),
        Column("cpu", "CPU time, mean", "number", "s", digits=1),
    )
    rows = []
    for run, found in known:
        if found:
            mean = {key: sum(item[key] for item in found) / len(found) for key in ("seconds", "cpu_seconds")}
            rows.append(
                {
                    "system": Cell(run.system),
                    "trainings": Cell(len(found)),
                    "scenes": Cell(max(item["scenes"] for item in found)),
                    "seconds": Cell(mean["seconds"]),
                    "cpu": Cell(mean["cpu_seconds"]),
                }
            )
    return Table("training", "change: training", columns, tuple(rows))


def per_scene(runs: Sequence[Run]) -> Table:
    """Boxes of every scene: true, predicted, matched."""
    columns = (
        *text_columns(scene="scene", category="category", system="system"),
        *count_columns(truth="true", predicted="predicted", tp="matched"),
        Column("f1", "F1", "number", direction="up"),
    )
    rows = []
    telling = [run for run in runs if not run.manifest["facts"].get("trivial")] or runs
    for run in telling:
        counts, f1 = _counts(run), _scene_f1(run)
        for index, scene in enumerate(run.roster.ids):
            value = None if math.isnan(f1[index]) else float(f1[index])
            rows.append(
                {
                    **make_cells(scene=scene, category=run.roster.tags["category"][index], system=run.system),
                    **{name: Cell(int(counts[name][index])) for name in ("truth", "predicted", "tp")},
                    "f1": Cell(value, why="" if value is not None else "nothing true, nothing predicted"),
                }
            )
    title = "change: every scene"
    if len(rows) > IN_ORDER:
        rows.sort(key=lambda row: (row["f1"].value is None, row["f1"].value or 0.0))
        title = "change: every scene, worst first"
    hidden = [run.system for run in runs if run not in telling]
    notes = (f"without {', '.join(hidden)}, which do not look at the scans",) if hidden else ()
    return Table("scene", title, columns, tuple(rows), notes)


def as_published(runs: Sequence[Run]) -> Table:
    """Mean F1 over scenes with the published interval and paired t-test, each with what is wrong with it."""
    columns = (
        Column("system", "system"),
        Column("scenes", "scenes with boxes", "count"),
        Column("mean", "mean F1 over scenes", "number"),
        Column("half", "± 1.96 sd / √n", "number"),
        Column("p", "paired t-test to the first", "probability", digits=4),
    )
    first = _scene_f1(runs[0])
    rows = []
    for run in runs:
        values = _scene_f1(run)
        own = values[~np.isnan(values)]
        both = ~np.isnan(values) & ~np.isnan(first)
        half = Z * float(own.std()) / math.sqrt(len(own)) if len(own) else None
        rows.append(
            {
                "system": Cell(run.system),
                "scenes": Cell(len(own)),
                "mean": _number(float(own.mean()) if len(own) else None, "no scene with boxes"),
                "half": _number(half, "no scene with boxes"),
                "p": Cell("-") if run is runs[0] else _p(first[both], values[both]),
            }
        )
    notes = (
        "as published, and not to be relied on: the standard deviation divides by n, 1.96 is used for any n, and "
        "scenes of one room count as if they were independent; the intervals of the first table resample rooms",
        "scenes without true and predicted boxes have no F1 and are left out",
    )
    return Table("published", "change: statistics over scenes, as published", columns, tuple(rows), notes)


def _p(first: Array, values: Array) -> Cell:
    found = paired_t(Pairs(first, values, level="scene"))
    return Cell(found.p, why=found.why)


def _counts(run: Run) -> dict[str, Array]:
    measure = next(m for m in run.measures if isinstance(m, BoxMeasure))
    return {name: run.tallies[measure.family].fields[name].sum(axis=1) for name in ("tp", "truth", "predicted")}


def _scene_f1(run: Run) -> Array:
    """Return the F1 of every scene over both classes together; NaN where there are no boxes at all."""
    counts = _counts(run)
    below = counts["truth"] + counts["predicted"]
    return np.asarray(np.divide(2.0 * counts["tp"], below, out=np.full(len(below), np.nan), where=below > 0))


def _number(value: float | None, why: str) -> Cell:
    return Cell(value, why="" if value is not None else why)
