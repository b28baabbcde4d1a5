"""Tables and views of ``events`` runs: every table holds all systems, so that they can be read against each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gnomon.core.errors import counted
from gnomon.core.table import Cell, Column, Table, View, make_cells
from gnomon.measures._ward import class_seconds, wrong_shares
from gnomon.measures.events import NEGATIVE, POSITIVE
from gnomon.measures.recognition import CategoryRate
from gnomon.numerics.segments import CATEGORIES, RETURN_LABELS, TRUTH_LABELS
from gnomon.runs import tables as common
from gnomon.runs.run import Run
from gnomon.suites.events.protocol import FIRST_TABLE, MAX_PER_CLASS, RANKED, further

EAD = ("D", "F", "FM", "M", "C", "M'", "FM'", "F'", "I'")
"""The event analysis diagram: the first five are the events, the last five the returns."""
IN_ORDER = 50
"""Up to this many rows recordings stand in their own order; above, the worst come first."""
MOST_BARS = 40
"""Above this many bars none are drawn."""


def tables(runs: Sequence[Run]) -> list[Table | View]:
    """Return what a reader of these runs should see, most important first."""
    variant = runs[0].manifest["protocol"]["variant"]
    ordered = common.ranked(runs)
    board = common.leaderboard(runs, FIRST_TABLE, title=f"events ({variant}): scores")
    board = replace(board, notes=(*board.notes, *overlap_notes(runs)))
    if not _classes(runs[0]):
        board = replace(board, notes=(*board.notes, f"no rates by class: {_unrated(runs[0])}"))
    shown: list[Table | View | None] = [
        board,
        common.by_slice(runs, FIRST_TABLE[:2]),
        others(runs),
        edge_errors(ordered),
        rates(ordered),
        two_sets(ordered),
        outcomes(ordered),
        event_analysis(ordered),
        pairs(ordered),
        *(confusion(run) for run in ordered),
        per_case(ordered),
    ]
    return [item for item in shown if item is not None]


def overlap_notes(runs: Sequence[Run]) -> tuple[str, ...]:
    """State the denominator of shares of time where classes overlap, once for systems with the same one."""
    systems: dict[str, list[str]] = {}
    for run in runs:
        fields = run.tallies["recognition"].fields
        count, window = int((fields["overlap_s"] > 0).sum()), float(fields["window_s"].sum())
        whole = float(class_seconds(fields).sum())
        if count:
            said = (
                f"classes overlap in {counted(count, 'recording')}: shares of time are over {whole:,.1f} class-seconds "
                f"(windows: {window:,.1f} s); a moment with k true and m returned classes counts max(k, m) times"
            )
            systems.setdefault(said, []).append(run.system)
    return tuple(f"{', '.join(names)}: {said}" for said, names in systems.items())


def others(runs: Sequence[Run]) -> Table | None:
    """Segments, detections and timing, as other tools measure them."""
    known = {measure.name for measure in runs[0].measures}
    names = [measure.name for measure in further() if measure.name in known]
    if not names:
        return None
    return common.by_measure(runs, names, name="others", title="events: alarms, segments and timing")


def edge_errors(runs: Sequence[Run]) -> Table | None:
    """Signed errors of the starts and ends of events, and mAP where returns have scores."""
    known = [(run, run.manifest["facts"].get("timing")) for run in runs]
    if not any(found for _, found in known):
        return None
    columns = (
        Column("system", "system"),
        Column("detected", "detected", "count"),
        Column("median", "first onset error, median", "score", "s", digits=2),
        Column("p90", "90 %", "score", "s", digits=2),
        Column("matched", "matched", "count"),
        Column("onset", "onset error, mean", "number", "s", digits=2),
        Column("onset_median", "median", "number", "s", digits=2),
        Column("offset", "offset error, mean", "number", "s", digits=2),
        Column("offset_median", "median", "number", "s", digits=2),
        Column("map", "mAP@.5:.95", "score", direction="up"),
        Column("map50", "mAP@.5", "score", direction="up"),
    )
    rows, shown = [], []
    for run, found in known:
        if not found:
            continue
        scores = {key: run.find(measure.name) for key, measure in RANKED.items()}
        shown += list(scores.values())
        edges = {side: _plain(found[side]["mean"], "nothing matched") for side in ("onset", "offset")}
        middles = {f"{side}_median": _plain(found[side]["median"], "nothing matched") for side in ("onset", "offset")}
        rows.append(
            {
                **make_cells(system=run.system, detected=found["detected"], matched=found["matched"]),
                **edges,
                **middles,
                **{key: common.cell(score) for key, score in scores.items()},
            }
        )
    notes = (
        "signed: negative is early; onset and offset errors are over all recordings together, without intervals",
        "events and returns are cut to the window: an edge beyond it is taken to be the window's",
        "first onset error: start of the first return that meets an event, minus the start of the event; it does not "
        "say when the system reported it",
        *common.interval_notes(runs[0], shown),
    )
    return Table("edge_errors", "events: errors of starts and ends", columns, tuple(rows), notes)


def pairs(runs: Sequence[Run]) -> Table | None:
    """Class-seconds of wrong time by what it is for the returned and for the true class.

    The shares of a system sum to its serious and timing error together: all are over the same class-seconds.
    """
    if runs[0].manifest["protocol"]["variant"] == "published":
        return None
    overlap = any((run.tallies["recognition"].fields["overlap_s"] > 0).any() for run in runs)
    columns = (
        *_system_column(runs),
        Column("pair", "returned | true"),
        Column("seconds", "class-seconds" if overlap else "seconds", "number", "s", "down", 1),
        Column("share", "of the class-seconds" if overlap else "of the windows", "number", direction="down"),
        Column("kind", "kind"),
    )
    rows = []
    for run in runs:
        total = run.tallies["recognition"].total()
        fps, fns = total.axes["fp"], total.axes["fn"]
        spent = [(float(total["pairs"][i, j]), fp, fn) for i, fp in enumerate(fps) for j, fn in enumerate(fns)]
        for seconds, fp, fn in sorted(spent, reverse=True):
            if seconds > 0:
                rows.append({**_system(runs, run), **_pair(seconds, fp, fn, float(class_seconds(total)))})
    return Table("pairs", f"events: wrong time by pairs{_of(runs)}", columns, tuple(rows))


def _pair(seconds: float, fp: str, fn: str, whole: float) -> dict[str, Cell]:
    serious = bool({fp, fn} & {"I", "M", "D", "F"})
    kind = ("serious" if serious else "timing") + (", substitution" if "-" not in (fp, fn) else "")
    return make_cells(pair=f"{fp} | {fn}", seconds=seconds, share=seconds / whole if whole else None, kind=kind)


def confusion(run: Run) -> View | None:
    """Class-seconds of each true class by the class that was returned; all recordings are in it."""
    ledger = run.ledgers.get("confusion")
    if ledger is None or not len(ledger) or len(ledger.labels["truth"]) < 3:
        return None
    labels = ledger.labels["truth"]
    seconds = np.zeros((len(labels), len(labels)))
    np.add.at(seconds, (ledger.columns["truth"], ledger.columns["predicted"]), ledger.columns["seconds"])
    data = {"labels": list(labels), "predicted": list(labels), "counts": np.round(seconds, 3).tolist()}
    title = f"events: seconds of each class by what was returned, {run.system}"
    return View("confusion", title, "matrix", data)


def _plain(value: float | None, why: str) -> Cell:
    return Cell(None, why=why) if value is None else Cell(value)


def rates(runs: Sequence[Run]) -> Table | None:
    """The 2SET rates of every true class."""
    labels = _classes(runs[0])
    if not labels:
        return None
    better = {name: "up" if name in ("TP", "TN") else "down" for name in CATEGORIES}
    shown = [
        common.ByLabel(
            Column(f"{kind}r", f"{kind}r", "score", direction=better[kind]),  # type: ignore[arg-type]
            f"{kind}r[{{}}]".format,
            kind == "TP",
        )
        for kind in CATEGORIES
    ]
    title = f"events: time by class{_of(runs)}"
    return common.by_label(runs, labels, shown, name="rates", title=title, support="events")


def two_sets(runs: Sequence[Run]) -> View | None:
    """The 2SET diagram: per class, how the time of its events and the time without them is spent."""
    bars = []
    for label in _classes(runs[0]):
        for half, names in (("in events", POSITIVE), ("elsewhere", NEGATIVE)):
            for run in runs:
                found = {name: run.find(f"{name}r[{label}]") for name in names}
                parts = {n: score.value for n, score in found.items() if score is not None and score.value is not None}
                text = "  ".join(f"{n} {100 * value:.1f}%" for n, value in parts.items() if value) or "no time"
                bars.append({"label": _named(f"{label} {half}", runs, run), "parts": parts, "text": text})
    notes = "D deleted, F fragmenting, U underfill, I inserted, M merge, O overfill; s at the start, e at the end"
    return _bars("two_sets", f"events: time in two sets{_of(runs)}", bars, ("TP", "TN"), notes)


def outcomes(runs: Sequence[Run]) -> Table:
    """How many events and returns of every class have each label, in the order of the event analysis diagram."""
    columns = (
        Column("class", "class"),
        *_system_column(runs),
        Column("truth", "events", "count"),
        *(Column(name, name, "count") for name in EAD),
        Column("returned", "returns", "count"),
    )
    rows = []
    for label, run, counts in _counts(runs):
        cells = {name: Cell(counts[name]) for name in EAD}
        truth, returned = _sides(counts)
        base = {"class": Cell(label), **_system(runs, run), "truth": Cell(truth)}
        rows.append({**base, **cells, "returned": Cell(returned)})
    return Table("outcomes", f"events: what became of them{_of(runs)}", columns, tuple(rows))


def event_analysis(runs: Sequence[Run]) -> View | None:
    """The event analysis diagram: a bar per class, events on the left, returns on the right, correct ones in both."""
    bars = []
    for label, run, counts in _counts(runs):
        truth, returned = _sides(counts)
        parts = {name: counts[name] for name in EAD}
        text = f"{truth:,} events, {returned:,} returns"
        bars.append({"label": _named(label, runs, run), "parts": parts, "text": text})
    notes = "events: D deleted, F fragmented, M merged, C correct; returns: C correct, M' F' likewise, I' inserted"
    return _bars("event_analysis", f"events: event analysis diagram{_of(runs)}", bars, ("C",), notes)


def per_case(runs: Sequence[Run]) -> Table:
    """One row per recording and system: what became of events, and the share of time that is right."""
    columns = (
        Column("case", "case"),
        *_system_column(runs),
        Column("group", runs[0].roster.level),
        Column("window", "window", "number", "s", digits=1),
        *(Column(name, name, "count") for name in EAD),
        Column("right", "right time", "number", digits=3),
    )
    rows = {run.system: _case_rows(run) for run in runs}
    cases = dict.fromkeys(case for run in runs for case in run.roster.ids)
    listed = [
        {**_system(runs, run), **rows[run.system][case]} for case in cases for run in runs if case in rows[run.system]
    ]
    notes: tuple[str, ...] = ()
    if len(listed) > IN_ORDER:
        listed.sort(key=lambda row: row["right"].value if isinstance(row["right"].value, float) else -1.0)
        notes = ("the worst first",)
    return Table("cases", f"events: by recording{_of(runs)}", columns, tuple(listed), notes)


def _case_rows(run: Run) -> dict[str, dict[str, Cell]]:
    tallies = run.tallies["recognition"]
    axis = tallies.axes["outcome"]
    events = tallies.fields["events"].sum(axis=1)
    wrong = wrong_shares(tallies)
    window = tallies.fields["window_s"]
    return {
        case: {
            **make_cells(case=case, group=run.roster.groups[i], window=float(window[i])),
            **{name: Cell(int(events[i, axis.index(name)])) for name in EAD},
            "right": Cell(float(1 - wrong[i])),
        }
        for i, case in enumerate(run.roster.ids)
    }


def _counts(runs: Sequence[Run]) -> list[tuple[str, Run, dict[str, int]]]:
    """Return class, run, and how many events and returns have each label."""
    totals = [run.tallies["recognition"].total() for run in runs]
    classes = dict.fromkeys(label for total in totals for label in total.axes["class"])
    found = []
    for label in classes:
        for run, total in zip(runs, totals, strict=True):
            if label in total.axes["class"]:
                counts = total["events"][total.axes["class"].index(label)]
                names = total.axes["outcome"]
                found.append((label, run, {name: int(counts[names.index(name)]) for name in names}))
    return found


def _sides(counts: Mapping[str, int]) -> tuple[int, int]:
    return sum(counts[name] for name in TRUTH_LABELS), sum(counts[name] for name in RETURN_LABELS)


def _bars(name: str, title: str, bars: list[dict[str, Any]], right: Sequence[str], notes: str) -> View | None:
    if not 0 < len(bars) <= MOST_BARS:
        return None
    return View(name, title, "bars", {"bars": bars, "right": list(right)}, (notes,))


def _of(runs: Sequence[Run]) -> str:
    return f", {runs[0].system}" if len(runs) == 1 else ""


def _named(label: str, runs: Sequence[Run], run: Run) -> str:
    return label if len(runs) == 1 else f"{label}, {run.system}"


def _system_column(runs: Sequence[Run]) -> tuple[Column, ...]:
    return () if len(runs) == 1 else (Column("system", "system"),)


def _system(runs: Sequence[Run], run: Run) -> dict[str, Cell]:
    return {} if len(runs) == 1 else {"system": Cell(run.system)}


def _unrated(run: Run) -> str:
    """Say why a run has no rates by class: nothing is true, or its classes are too many."""
    if not any(_sides(counts)[0] for _, _, counts in _counts([run])):
        return "the truth holds no events"
    return f"the truth holds more than {MAX_PER_CLASS} classes"


def _classes(run: Run) -> list[str]:
    return list(dict.fromkeys(m.label for m in run.measures if isinstance(m, CategoryRate)))
