"""Verb ``template``: a truth table and a prediction table of a few windows, to be replaced by one's own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from gnomon.intake.writing import write_table
from gnomon.suites.har.metrics import METRICS
from gnomon.suites.har.options import TemplateOptions
from gnomon.suites.har.vocabulary import TEST_LABELS

WINDOWS = 4
"""Windows of a recording."""
SUBJECTS = ("1", "2", "3")
DATASET = "motionsense"
SLIPS = {"walking_upstairs": "walking", "jogging": "running"}
"""What the example answers for some labels of one subject: a wrong one, and another word of the same group."""


def template(options: TemplateOptions) -> list[Path]:
    """Write ``truth`` and ``predictions`` for three subjects under all four metrics; return their paths."""
    folder = Path(options.directory)
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        (metric, f"{subject}/{label}/{index}", label, subject, f"{subject}/{label}")
        for metric in METRICS
        for subject in SUBJECTS
        for label in TEST_LABELS[DATASET]
        for index in range(WINDOWS)
    ]
    metric, ids, labels, subjects, recordings = (list(column) for column in zip(*rows, strict=True))
    answers = [
        SLIPS.get(label, label) if subject == SUBJECTS[0] and name.startswith("zs") else label
        for name, label, subject in zip(metric, labels, subjects, strict=True)
    ]
    order = np.argsort(ids, kind="stable")
    shared = {"task": metric, "dataset": [DATASET] * len(rows), "id": ids}
    tables = {
        "truth": pa.table({**shared, "label": labels, "subject": subjects, "recording": recordings}).take(order),
        "predictions": pa.table({**shared, "label": answers}).take(order),
    }
    paths = []
    for name, table in tables.items():
        paths.append(folder / f"{name}.{options.format}")
        write_table(table, paths[-1])
    return paths
