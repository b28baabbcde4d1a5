"""Results in the JSON of the published benchmark: one entry per method, scores of points and of both classes of boxes.

``accuracy`` is that of points; ``macro_*`` and the values by class are those of boxes. Undefined values are null. Keys
that the published file does not have say which variant and which order of matching it is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gnomon.core.measure import Measure, Scored
from gnomon.core.scans import BOX_CLASSES
from gnomon.intake.faults import guarded
from gnomon.measures.points import PointAccuracy
from gnomon.measures.scene_boxes import (
    BoxClassF1,
    BoxClassPrecision,
    BoxClassRecall,
    BoxF1,
    BoxIoU,
    BoxPrecision,
    BoxRecall,
)
from gnomon.runs.run import Evaluation

KINDS = {
    "precision": (BoxPrecision, BoxClassPrecision),
    "recall": (BoxRecall, BoxClassRecall),
    "f1": (BoxF1, BoxClassF1),
}


def write(path: str | os.PathLike[str], evaluations: Sequence[Evaluation]) -> None:
    """Write the results of evaluations; where both variants were asked for, those of the published one."""
    value = results(evaluations)
    with guarded(path, "cannot be written", "check the folder"):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(json.dumps(value, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def results(evaluations: Sequence[Evaluation]) -> dict[str, Any]:
    """Return the results as plain data."""
    variants = [item.protocol.variant for item in evaluations]
    variant = "published" if "published" in variants else variants[0]
    chosen = [item for item in evaluations if item.protocol.variant == variant]
    settings = chosen[0].protocol.settings
    return {
        "timestamp": datetime.now(UTC).strftime("%Y%m%d_%H%M%S"),
        "iou_threshold": settings["iou_threshold"],
        "variant": variant,
        "matching": settings["matching"],
        "methods": {item.system: _method(item) for item in chosen},
    }


def _method(evaluation: Evaluation) -> dict[str, Any]:
    settings = evaluation.protocol.settings
    rule: dict[str, Any] = {"iou": settings["iou_threshold"], "matching": settings["matching"]}

    def value(measure: Measure) -> float | None:
        return _value(measure.score(evaluation.tallies[measure.family].total()))

    metrics: dict[str, Any] = {"accuracy": value(PointAccuracy())}
    metrics |= {f"macro_{name}": value(macro(**rule, zero_division=0)) for name, (macro, _) in KINDS.items()}
    metrics |= {n: {label: value(own(**rule, label=label)) for label in BOX_CLASSES} for n, (_, own) in KINDS.items()}
    metrics["mean_iou"] = value(BoxIoU(**rule))
    return {
        "metrics": metrics,
        "num_scenes": len(evaluation.roster),
        "avg_time": evaluation.facts.get("seconds_per_scene"),
    }


def _value(scored: Scored) -> float | None:
    return float(scored.values) if bool(scored.defined) else None
