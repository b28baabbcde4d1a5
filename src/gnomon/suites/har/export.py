"""Results in the JSON of the published evaluation: ``MODEL_evaluation.json``, one file per system.

The published text names what a file holds (results of all test datasets; accuracy, macro-F1 and weighted F1 in per
cent, number of samples, number of training samples, for each dataset and metric) and not its keys. Those written here::

    {"model": "svm_rbf",
     "results": {
       "motionsense": {
         "zero_shot_open":   {"accuracy": 31.2, "f1_macro": 9.8, "f1_weighted": 30.1, "n_samples": 600,
                              "n_train_samples": 3000},
         "zero_shot_closed": {...}, "1pct_supervised": {...}, "10pct_supervised": {...}}}}

Values are those of the native scoring; macro-F1 is over the labels of the dataset where answers are scored by exact
label, else over the union of groups in truth and answer. Undefined values are null. ``variant``, ``profile``,
``vocabulary`` (hash of the labels and groups) and ``seed`` are further keys. Where several variants or seeds were run,
the file holds the published variant, and the first seed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gnomon.core.measure import Measure
from gnomon.intake.faults import guarded
from gnomon.runs.run import Evaluation
from gnomon.suites.har.metrics import TaskAccuracy, TaskF1
from gnomon.suites.har.vocabulary import digest

KEYS = {
    "zs-open": "zero_shot_open",
    "zs-closed": "zero_shot_closed",
    "sup-1": "1pct_supervised",
    "sup-10": "10pct_supervised",
}
"""Key of every metric."""


def write(folder: str | os.PathLike[str], evaluations: Sequence[Evaluation]) -> list[Path]:
    """Write a file for every system; return their paths."""
    variants = {item.protocol.variant for item in evaluations}
    variant = "published" if "published" in variants else evaluations[0].protocol.variant
    chosen: dict[str, Evaluation] = {}
    for item in evaluations:
        if item.protocol.variant == variant:
            chosen.setdefault(item.system, item)
    paths = []
    with guarded(folder, "cannot be written", "check the folder"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        for name, item in chosen.items():
            slug = "".join(c if c.isalnum() or c in "._-" else "-" for c in name)
            paths.append(Path(folder) / f"{slug}_evaluation.json")
            paths[-1].write_text(json.dumps(results(item), indent=2, allow_nan=False) + "\n", encoding="utf-8")
    return paths


def results(item: Evaluation) -> dict[str, Any]:
    """Return the results of a system as plain data."""
    settings = item.protocol.settings
    datasets = [*settings["main"], *settings["apart"]]
    return {
        "model": item.system,
        "variant": item.protocol.variant or None,
        "profile": settings.get("profile", {}).get("name"),
        "seed": item.facts.get("seed"),
        "vocabulary": digest(),
        "results": {
            dataset: {KEYS[metric]: _entry(item, metric, dataset) for metric in item.protocol.tasks}
            for dataset in datasets
        },
    }


def _entry(item: Evaluation, metric: str, dataset: str) -> dict[str, Any]:
    task = item.facts["tasks"].get(f"{metric} {dataset}", {})
    return {
        "accuracy": _per_cent(item, TaskAccuracy(metric, dataset)),
        "f1_macro": _per_cent(item, TaskF1("macro", "fixed", 0, metric, dataset)),
        "f1_weighted": _per_cent(item, TaskF1("weighted", "fixed", 0, metric, dataset)),
        "n_samples": task.get("n", 0),
        "n_train_samples": task.get("n_train"),
    }


def _per_cent(item: Evaluation, measure: Measure) -> float | None:
    scored = measure.score(item.tallies[measure.family].total())
    return 100 * float(scored.values) if bool(scored.defined) else None
