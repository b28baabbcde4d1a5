"""Tables and views of ``events`` runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gnomon.core.table import Cell, Column, Table, View
from gnomon.measures.recognition import CategoryRate
from gnomon.numerics.segments import CATEGORIES, RETURN_LABELS, TRUTH_LABELS
from gnomon.runs import tables as common
from gnomon.runs.run import Run

SHOWN = 7
EAD = ("D", "F", "FM", "M", "C", "M'", "FM'", "F'", "I'")
"""The event analysis diagram: the first five are the events, the last five the returns."""


def tables(runs: Sequence[Run]) -> list[Table | View]:
    """Return what a reader of these runs should see, most important first."""
    names = [measure.name for measure in runs[0].measures[:SHOWN]]
    variant = runs[0].manifest["protocol"]["variant"]
    shown: list[Table | View | None] = [
        common.leaderboard(runs, names, title=f"events ({variant}): scores"),
        common.by_slice(runs, names[:2]),
    ]
    for run in common.ranked(runs):
        shown += [rates(run), outcomes(run), per_case(run)]
    return [item for item in shown if item is not None]


def rates(run: Run) -> Table | None:
    """The 2SET rates of every true class."""
    labels = _classes(run)
    if not labels:
        return None
    better = {name: "up" if name in ("TP", "TN") else "down" for name in CATEGORIES}
    columns = (
        Column("class", "class"),
        Column("events", "events", "count"),
        *(Column(name, f"{name}r", "score", direction=better[name]) for name in CATEGORIES),  # type: ignore[arg-type]
    )
    rows = []
    for label in labels:
        scores = {name: run.find(f"{name}r[{label}]") for name in CATEGORIES}
        first = scores["TP"]
        cells = {name: common.cell(score) for name, score in scores.items()}
        rows.append({"class": Cell(label), "events": Cell(first.n if first else 0), **cells})
    scores_shown = (run.find(f"{name}r[{label}]") for label in labels for name in CATEGORIES)
    return Table(
        "rates",
        f"events: time of {run.system} by class",
        columns,
        tuple(rows),
        common.interval_notes(run, scores_shown),
    )


def outcomes(run: Run) -> Table:
    """How many events and returns of every class have each label, in the order of the event analysis diagram."""
    totals = run.tallies["recognition"].total()
    axis, classes = totals.axes["outcome"], totals.axes["class"]
    columns = (
        Column("class", "class"),
        Column("truth", "events", "count"),
        *(Column(name, name, "count") for name in EAD),
        Column("returned", "returns", "count"),
    )
    rows = []
    for index, label in enumerate(classes):
        counts = {name: int(totals["events"][index, axis.index(name)]) for name in (*TRUTH_LABELS, *RETURN_LABELS)}
        cells = {name: Cell(counts[name]) for name in EAD}
        truth, returned = (sum(counts[name] for name in names) for names in (TRUTH_LABELS, RETURN_LABELS))
        rows.append({"class": Cell(label), "truth": Cell(truth), **cells, "returned": Cell(returned)})
    return Table("outcomes", f"events: what became of the events of {run.system}", columns, tuple(rows))


def per_case(run: Run) -> Table:
    """One row per recording: events, correct ones, and the time that is right."""
    tallies = run.tallies["recognition"]
    axis = tallies.axes["outcome"]
    events = tallies.fields["events"].sum(axis=1)
    wrong = tallies.fields["pairs"].sum(axis=(1, 2))
    window = tallies.fields["window_s"]
    columns = (
        Column("case", "case"),
        Column("group", run.roster.level),
        Column("window", "window", "number", "s", digits=1),
        *(Column(name, name, "count") for name in EAD),
        Column("right", "right time", "number", digits=3),
    )
    rows = tuple(
        {
            "case": Cell(run.roster.ids[i]),
            "group": Cell(run.roster.groups[i]),
            "window": Cell(float(window[i])),
            **{name: Cell(int(events[i, axis.index(name)])) for name in EAD},
            "right": Cell(None, why="classes overlap")
            if tallies.fields["unpaired"][i]
            else Cell(float(1 - wrong[i] / window[i])),
        }
        for i in np.arange(tallies.n_cases).tolist()
    )
    return Table("cases", f"events: recordings of {run.system}", columns, rows)


def _classes(run: Run) -> list[str]:
    return list(dict.fromkeys(m.label for m in run.measures if isinstance(m, CategoryRate)))
