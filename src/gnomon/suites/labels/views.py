"""Tables and views of ``labels`` runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gnomon.core.table import Column, Table, View
from gnomon.measures.classification import ClassF1
from gnomon.runs import tables as common
from gnomon.runs.run import Run
from gnomon.suites.labels.protocol import FIRST_TABLE, FIRST_TABLE_OF_SETS


def tables(runs: Sequence[Run]) -> list[Table | View]:
    """Return what a reader of these runs should see, most important first."""
    sets = runs[0].manifest["protocol"]["settings"]["labels"] == "sets"
    names = FIRST_TABLE_OF_SETS if sets else FIRST_TABLE
    board = common.leaderboard(runs, names)
    board = replace(board, notes=(class_set(runs[0]), *board.notes))
    shown: list[Table | View | None] = [board, common.by_slice(runs, names[:2])]
    if not sets:
        shown.append(by_class(runs))
        shown += [
            common.confusion(run.ledgers.get("confusion"), name="confusion", title=f"labels: confusion of {run.system}")
            for run in common.ranked(runs)
        ]
    return [item for item in shown if item is not None]


def class_set(run: Run) -> str:
    """Say over which classes averages are taken, and what 0/0 counts as."""
    first: Any = next(measure for measure in run.measures if hasattr(measure, "classes"))
    names = {"union": "the union of true and predicted classes", "present": "the classes that occur in truth"}
    over = (
        names.get(first.classes) if isinstance(first.classes, str) else f"the listed classes {', '.join(first.classes)}"
    )
    policy = "is left out" if first.zero_division is None else f"counts as {first.zero_division}"
    return f"averages over {over}; 0/0 {policy}"


def by_class(runs: Sequence[Run]) -> Table:
    """Scores of every true class: of one system F1, precision and recall, of several F1 alone."""
    ordered = common.ranked(runs)
    kinds = {"f1": "F1", "precision": "precision", "recall": "recall"} if len(runs) == 1 else {"f1": "F1"}
    shown = [
        common.ByLabel(Column(kind, title, "score", direction="up"), f"{kind}[{{}}]".format)
        for kind, title in kinds.items()
    ]
    title = f"labels: {runs[0].system} by class" if len(runs) == 1 else "labels: F1 by class"
    table = common.by_label(ordered, _classes(ordered[0]), shown, name="per_class", title=title, support="true rows")
    return replace(table, notes=(*table.notes, *_missing_notes(ordered)))


def _missing_notes(runs: Sequence[Run]) -> list[str]:
    """Say how missing answers that count as wrong enter the row of a class."""
    counted = [
        run
        for run in runs
        if run.coverage.get("policy", {}).get("missing") == "wrong" and run.coverage["rows"]["missing"]
    ]
    if not counted:
        return []
    whose = "" if len(counted) == len(runs) else f" of {', '.join(run.system for run in counted)}"
    return [
        f"missing answers{whose}: every row is the worst case of its class by itself, as if all of them named that "
        "class; the average shares them out, so that it can be above the rows"
    ]


def _classes(run: Run) -> list[str]:
    return [measure.label for measure in run.measures if isinstance(measure, ClassF1)]
