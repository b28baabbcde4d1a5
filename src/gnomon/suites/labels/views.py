"""Tables and views of ``labels`` runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gnomon.core.table import Cell, Column, Table, View
from gnomon.measures.classification import ClassF1
from gnomon.runs import tables as common
from gnomon.runs.run import Run

SHOWN = 5
"""How many measures stand in the first table."""
LARGEST_MATRIX = 200
"""Above this many classes no confusion matrix is shown."""


def tables(runs: Sequence[Run]) -> list[Table | View]:
    """Return what a reader of these runs should see, most important first."""
    sets = runs[0].manifest["protocol"]["settings"]["labels"] == "sets"
    names = [measure.name for measure in runs[0].measures[:SHOWN]]
    board = common.leaderboard(runs, names)
    board = replace(board, notes=(class_set(runs[0]), *board.notes))
    shown: list[Table | View | None] = [board, common.by_slice(runs, names[:2])]
    if not sets:
        shown.append(per_class(runs[0]) if len(runs) == 1 else class_f1(runs))
        shown += [confusion(run) for run in common.ranked(runs)]
    return [item for item in shown if item is not None]


def class_set(run: Run) -> str:
    """Say over which classes averages are taken, and what 0/0 counts as."""
    first: Any = run.measures[0]
    names = {"union": "the union of true and predicted classes", "present": "the classes that occur in truth"}
    over = (
        names.get(first.classes) if isinstance(first.classes, str) else f"the listed classes {', '.join(first.classes)}"
    )
    policy = "is left out" if first.zero_division is None else f"counts as {first.zero_division}"
    return f"averages over {over}; 0/0 {policy}"


def per_class(run: Run) -> Table:
    """One row per true class of one system."""
    kinds = ("f1", "precision", "recall")
    rows = []
    for label in _classes(run):
        scores = {kind: run.find(f"{kind}[{label}]") for kind in kinds}
        f1 = scores["f1"]
        rows.append(
            {
                "class": Cell(label),
                "support": Cell(f1.n if f1 else 0),
                **{kind: common.cell(score) for kind, score in scores.items()},
            }
        )
    columns = (
        Column("class", "class"),
        Column("support", "true rows", "count"),
        *(Column(kind, "F1" if kind == "f1" else kind, "score", direction="up") for kind in kinds),
    )
    notes = common.interval_notes(run, (run.find(f"{kind}[{label}]") for kind in kinds for label in _classes(run)))
    return Table("per_class", f"labels: {run.system} by class", columns, tuple(rows), notes)


def class_f1(runs: Sequence[Run]) -> Table:
    """F1 of every true class, a column per system."""
    ordered = common.ranked(runs)
    rows = []
    for label in _classes(ordered[0]):
        scores = {run.system: run.find(f"f1[{label}]") for run in ordered}
        first = scores[ordered[0].system]
        cells = {f"system:{name}": common.cell(score) for name, score in scores.items()}
        rows.append({"class": Cell(label), "support": Cell(first.n if first else 0), **cells})
    columns = (
        Column("class", "class"),
        Column("support", "true rows", "count"),
        *(Column(f"system:{run.system}", f"F1 {run.system}", "score", direction="up") for run in ordered),
    )
    shown = (run.find(f"f1[{label}]") for run in ordered for label in _classes(run))
    notes = common.interval_notes(ordered[0], shown)
    return Table("per_class", "labels: F1 by class", columns, tuple(rows), notes)


def confusion(run: Run) -> View | None:
    """The confusion matrix of a run as a view; ``(none)`` is the column of missing predictions."""
    ledger = run.ledgers.get("confusion")
    if ledger is None or len(ledger.labels["truth"]) > LARGEST_MATRIX:
        return None
    labels = ledger.labels["truth"]
    counts = np.zeros((len(labels), len(labels) + 1), dtype=np.int64)
    np.add.at(counts, (ledger.columns["truth"], ledger.columns["predicted"]), ledger.columns["count"])
    missing = bool(counts[:, -1].any())
    data = {
        "labels": list(labels),
        "predicted": [*labels, *(["(none)"] if missing else [])],
        "counts": (counts if missing else counts[:, :-1]).tolist(),
    }
    return View("confusion", f"labels: confusion of {run.system}", "matrix", data)


def _classes(run: Run) -> list[str]:
    return [measure.label for measure in run.measures if isinstance(measure, ClassF1)]
