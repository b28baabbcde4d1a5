"""Tables and views of ``events`` runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gnomon.core.table import Cell, Column, Table, View
from gnomon.measures.events import NEGATIVE, POSITIVE
from gnomon.measures.recognition import CategoryRate
from gnomon.numerics.segments import CATEGORIES, RETURN_LABELS, TRUTH_LABELS
from gnomon.runs import tables as common
from gnomon.runs.run import Run

SHOWN = 7
EAD = ("D", "F", "FM", "M", "C", "M'", "FM'", "F'", "I'")
"""The event analysis diagram: the first five are the events, the last five the returns."""
MOST_BARS = 20
"""Above this many classes no bars are drawn."""


def tables(runs: Sequence[Run]) -> list[Table | View]:
    """Return what a reader of these runs should see, most important first."""
    names = [measure.name for measure in runs[0].measures[:SHOWN]]
    variant = runs[0].manifest["protocol"]["variant"]
    shown: list[Table | View | None] = [
        common.leaderboard(runs, names, title=f"events ({variant}): scores"),
        common.by_slice(runs, names[:2]),
    ]
    for run in common.ranked(runs):
        shown += [rates(run), two_sets(run), outcomes(run), event_analysis(run), per_case(run)]
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
    columns = (
        Column("class", "class"),
        Column("truth", "events", "count"),
        *(Column(name, name, "count") for name in EAD),
        Column("returned", "returns", "count"),
    )
    rows = []
    for label, counts in _counts(run).items():
        cells = {name: Cell(counts[name]) for name in EAD}
        truth, returned = (sum(counts[name] for name in names) for names in (TRUTH_LABELS, RETURN_LABELS))
        rows.append({"class": Cell(label), "truth": Cell(truth), **cells, "returned": Cell(returned)})
    return Table("outcomes", f"events: what became of the events of {run.system}", columns, tuple(rows))


def event_analysis(run: Run) -> View | None:
    """The event analysis diagram: a bar per class, events on the left, returns on the right, correct ones in both."""
    counts = _counts(run)
    if not 0 < len(counts) <= MOST_BARS:
        return None
    bars = []
    for label, found in counts.items():
        truth, returned = (sum(found[name] for name in names) for names in (TRUTH_LABELS, RETURN_LABELS))
        parts = {name: found[name] for name in EAD}
        bars.append({"label": label, "parts": parts, "text": f"{truth:,} events, {returned:,} returns"})
    data = {"bars": bars, "right": ["C"], "unit": "events"}
    notes = ("events: D deleted, F fragmented, M merged, C correct; returns: C correct, M' F' likewise, I' inserted",)
    return View("event_analysis", f"events: event analysis diagram of {run.system}", "bars", data, notes)


def two_sets(run: Run) -> View | None:
    """The 2SET diagram: per class, how the time of its events and the time without them is spent."""
    labels = _classes(run)
    if not 0 < len(labels) <= MOST_BARS:
        return None
    bars = []
    for label in labels:
        for half, names in (("in events", POSITIVE), ("elsewhere", NEGATIVE)):
            found = {name: run.find(f"{name}r[{label}]") for name in names}
            parts = {
                name: score.value for name, score in found.items() if score is not None and score.value is not None
            }
            text = "  ".join(f"{name} {100 * value:.1f}%" for name, value in parts.items() if value) or "no time"
            bars.append({"label": f"{label} {half}", "parts": parts, "text": text})
    data = {"bars": bars, "right": ["TP", "TN"], "unit": "share of time"}
    notes = ("D deleted, F fragmenting, U underfill, I inserted, M merge, O overfill; s at the start, e at the end",)
    return View("two_sets", f"events: time of {run.system} in two sets", "bars", data, notes)


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


def _counts(run: Run) -> dict[str, dict[str, int]]:
    """Return how many events and returns of every class have each label."""
    totals = run.tallies["recognition"].total()
    axis = totals.axes["outcome"]
    return {
        label: {name: int(totals["events"][index, axis.index(name)]) for name in (*TRUTH_LABELS, *RETURN_LABELS)}
        for index, label in enumerate(totals.axes["class"])
    }


def _classes(run: Run) -> list[str]:
    return list(dict.fromkeys(m.label for m in run.measures if isinstance(m, CategoryRate)))
