"""Tables that any suite's runs have in common, as plain data."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gnomon.core.errors import counted, plural, some
from gnomon.core.ledgers import Ledger
from gnomon.core.measure import Measure, printed_name
from gnomon.core.table import Cell, Column, Table, View, make_cells
from gnomon.core.tallies import Array
from gnomon.inference.scoring import WHOLE, Score
from gnomon.intake import unread
from gnomon.runs.run import Run

_SETTINGS = re.compile(r"(_present|_listed|_fixed)?(@.*)?$")
"""What the end of a metric's name says of its settings: the class set, and the rule of matching."""
MOST_INFO = 3
"""Findings for information only that a table spells out."""

NO_BETTER = "a signed error, 0 is best, neither higher nor lower is better"


def cell(score: Score | None, measure: Measure | None = None) -> Cell:
    """Return a score as a cell, in the unit that its measure is shown in."""
    if score is None:
        return Cell(None, why="not scored")
    value, low, high = (shown(number, measure) for number in (score.value, score.low, score.high))
    return Cell(value, low, high, score.why, score.interval_why)


def shown(value: float | None, measure: Measure | None) -> float | None:
    """Return a value of a measure as tables show it."""
    return value if value is None or measure is None or measure.shown is None else value * measure.shown.factor


def titled(measure: Measure, name: str = "") -> str:
    """Return the name of a measure (or another one) for people, with the unit that it is shown in."""
    return printed_name(measure, name)


def each_notes(measures: Sequence[Measure], unit: str) -> list[str]:
    """Say how measures score a single group or case, where it is not as they score the whole."""
    rules: dict[str, list[str]] = {}
    for measure in dict.fromkeys(measures):
        if measure.each_rule:
            rules.setdefault(measure.each_rule, []).append(measure.name)
    return [f"{_few(names)} of a single {unit}: {rule}" for rule, names in rules.items()]


def column(measure: Measure) -> Column:
    """Return the column of a measure."""
    title = measure.name.replace("_", " ")
    if measure.shown is None:
        return Column(measure.name, title, "score", measure.unit, measure.direction)
    return Column(measure.name, title, "score", measure.shown.unit, measure.direction, measure.shown.digits)


def leaderboard(
    runs: Sequence[Run], names: Sequence[str], *, name: str = "scores", title: str = "", evidence: bool = True
) -> Table:
    """One row per system: how many units and groups, and the asked measures with their intervals.

    Coverage, findings and claims stand under it, unless `evidence` says that another table has them. The table that has
    them is the first one: where ``--metrics`` chose metrics, it shows these, and `names` are its default.
    """
    chosen = find_metrics(runs[0], runs[0].chosen if evidence and runs[0].chosen else names)
    level = runs[0].roster.level
    columns = (
        Column("system", "system"),
        Column("n", "n", "count"),
        Column("groups", plural(level), "count"),
        *(column(measure) for measure in chosen),
    )
    rows = [_row(run, chosen) for run in ranked(runs)]
    title = (title or f"{runs[0].suite}: scores") + part_of(runs[0])
    return Table(name, title, columns, tuple(rows), notes(runs, chosen, evidence))


def find_metrics(run: Run, names: Sequence[str]) -> list[Measure]:
    """Return the metrics of these names, in their order, without names that a run does not have.

    A name may leave out the class set and the rule of matching: ``macro_f1`` also stands for ``macro_f1_present``,
    ``box_macro_f1`` for ``box_macro_f1@0.25:max-cardinality``.
    """
    full = {measure.name: measure for measure in run.measures}
    short = {_SETTINGS.sub("", measure.name): measure for measure in reversed(run.measures)}
    known = {**short, **full}
    return [known[name] for name in names if name in known]


def part_of(run: Run) -> str:
    """Say which part of the groups a run was scored on; nothing where it was all of them."""
    part = run.manifest["protocol"]["split"].get("part", "")
    return f", on the {part} part" if part else ""


def claims(runs: Sequence[Run]) -> list[str]:
    """Say what the numbers of these runs may not be said to mean, and what is missing."""
    return _shared(
        [
            (r.system, [f"not supported: {v.statement}; needs {', '.join(v.missing)}" for v in r.verdicts if v.missing])
            for r in runs
        ]
    )


def _searched(runs: Sequence[Run]) -> list[str]:
    """Say that runs are arms of a search: the best of many is better than it is."""
    asked = [found for run in runs if (found := run.manifest["options"].get("search"))]
    if not asked:
        return []
    metrics = ", ".join(dict.fromkeys(str(item["metric"]) for item in asked))
    arms = "arm" if len(asked) == 1 else "arms"
    return [f"{len(asked)} {arms} of a search by {metrics}: the best of many looks better than it is; test it once"]


def by_measure(runs: Sequence[Run], names: Sequence[str], *, name: str, title: str) -> Table:
    """One row per measure, a column per system: for many measures that are read one by one."""
    known = {measure.name: measure for measure in runs[0].measures}
    chosen = [known[key] for key in names if key in known]
    ordered = ranked(runs)
    columns = (
        Column("measure", "measure"),
        Column("better", "better"),
        *(Column(f"system:{run.system}", run.system, "score") for run in ordered),
    )
    rows = tuple(
        {
            "measure": Cell(titled(measure)),
            "better": Cell({"up": "higher", "down": "lower", "": "0 is best"}[measure.direction]),
            **{f"system:{run.system}": _short(cell(run.find(measure.name), measure)) for run in ordered},
        }
        for measure in chosen
    )
    scores = [run.find(measure.name) for run in ordered for measure in chosen]
    reasons: dict[str, list[str]] = {}
    for score in scores:
        if score is not None and score.why and score.name not in reasons.setdefault(score.why, []):
            reasons[score.why].append(score.name)
    undefined = [f"{_few(names)}: undefined ({why})" for why, names in reasons.items()]
    return Table(name, title, columns, rows, (*interval_notes(runs[0], scores), *undefined))


def _short(found: Cell) -> Cell:
    """Leave the reason of an undefined value to the notes."""
    return found if found.value is not None else Cell(None)


def ranked(runs: Sequence[Run]) -> list[Run]:
    """Return runs by headline score, the best first; undefined last."""
    headline = runs[0].measures[0]

    def key(run: Run) -> tuple[bool, float]:
        score = run.find(headline.name)
        value = None if score is None else score.value
        return value is None, 0.0 if value is None else headline.loss(value)

    return sorted(runs, key=key)


def by_slice(runs: Sequence[Run], names: Sequence[str]) -> Table | None:
    """One row per system and slice, where slices were asked for."""
    found = list(dict.fromkeys(s.slice for run in runs for s in run.scores if s.slice != WHOLE))
    if not found:
        return None
    chosen = find_metrics(runs[0], runs[0].chosen or names)
    columns = (
        Column("slice", "slice"),
        Column("system", "system"),
        Column("n", "n", "count"),
        Column("groups", plural(runs[0].roster.level), "count"),
        *(column(measure) for measure in chosen),
    )
    rows: list[dict[str, Cell]] = []
    for part in found:
        for run in ranked(runs):
            scores = {m.name: run.find(m.name, part) for m in chosen}
            first = scores[chosen[0].name]
            groups = first.groups if first else 0
            rows.append(
                {
                    **make_cells(slice=part, system=run.system, n=first.n if first else 0, groups=groups),
                    **{m.name: cell(scores[m.name], m) for m in chosen},
                }
            )
    shown = [score for run in runs for score in run.scores if score.slice != WHOLE and score.name in rows[0]]
    remarks = (*_slice_class_sets(chosen), *interval_notes(runs[0], shown))
    return Table("slices", f"{runs[0].suite}: by slice", columns, tuple(rows), remarks)


@dataclass(frozen=True)
class ByLabel:
    """A column of :func:`by_label`: a metric that every label (class, joint) has one of."""

    column: Column
    metric: Callable[[str], str]
    """Name of the metric of a label."""
    counts: bool = False
    """Whether it counts how many there are of a label; else the first column does."""


def by_label(
    runs: Sequence[Run],
    labels: Sequence[str],
    shown: Sequence[ByLabel],
    *,
    name: str,
    title: str,
    of: str = "class",
    support: str = "",
    system_first: bool = False,
) -> Table:
    """Scores of single labels: a row per label and system; with one metric a row per label, a column per system.

    ``support`` titles a column that says how many there are of a label; ``system_first`` puts the rows of one system
    together, and names the system even where there is one.
    """
    wide = len(shown) == 1 and not system_first
    known = {measure.name: measure for run in runs for measure in run.measures}
    found = {(run.system, name): run.find(name) for run in runs for one in shown for name in map(one.metric, labels)}

    def score_cell(run: Run, label: str, one: ByLabel) -> Cell:
        return cell(found[run.system, one.metric(label)], known.get(one.metric(label)))

    def count(run: Run, label: str) -> dict[str, Cell]:
        one = next((one for one in shown if one.counts), shown[0])
        score = found[run.system, one.metric(label)]
        return {"support": Cell(score.n if score else 0)} if support else {}

    label_column, system_column = Column(of, of), Column("system", "system")
    support_column = (Column("support", support, "count"),) if support else ()
    if wide:
        (one,) = shown
        heading = f"{one.column.title} " if one.column.title else ""
        titled = (replace(one.column, key=f"system:{run.system}", title=f"{heading}{run.system}") for run in runs)
        columns = (label_column, *support_column, *titled)
        rows = [
            {of: Cell(label), **count(runs[0], label)}
            | {f"system:{run.system}": score_cell(run, label, one) for run in runs}
            for label in labels
        ]
    else:
        named = system_first or len(runs) > 1
        order = [(run, label) for run in runs for label in labels]
        if not system_first:
            order = [(run, label) for label in labels for run in runs]
        heads = (label_column, *((system_column,) if named else ()))
        columns = (*(heads[::-1] if system_first else heads), *support_column, *(one.column for one in shown))
        rows = [
            {of: Cell(label), **({"system": Cell(run.system)} if named else {}), **count(run, label)}
            | {one.column.key: score_cell(run, label, one) for one in shown}
            for run, label in order
        ]
    return Table(name, title, columns, tuple(rows), interval_notes(runs[0], found.values()))


def count_confusions(rows: Ledger) -> tuple[tuple[str, ...], Array]:
    """Return the labels of a row table of confusions, and counts by truth and answer; the last column is no answer."""
    labels = tuple(rows.labels["truth"])
    counts = np.zeros((len(labels), len(labels) + 1), dtype=np.int64)
    np.add.at(counts, (rows.columns["truth"], rows.columns["predicted"]), rows.columns["count"])
    return labels, counts


def confusion(rows: Ledger | None, *, name: str, title: str, largest: int = 200) -> View | None:
    """Return a confusion matrix as a view, of at most so many classes; ``(none)`` is the column of missing answers."""
    if rows is None or len(rows.labels["truth"]) > largest:
        return None
    labels, counts = count_confusions(rows)
    missing = bool(counts[:, -1].any())
    data = {
        "labels": list(labels),
        "predicted": [*labels, *(["(none)"] if missing else [])],
        "counts": (counts if missing else counts[:, :-1]).tolist(),
    }
    return View(name, title, "matrix", data)


def _slice_class_sets(measures: Sequence[Measure]) -> list[str]:
    """Say over which classes of a slice macro averages are taken, where these follow from the slice.

    A slice is scored as a file with its rows alone would be.
    """
    rules = {
        "union": "over the classes in truth or answers of the slice; one that is in its answers alone counts as 0",
        "present": "over the classes in truth of the slice",
    }
    names: dict[str, list[str]] = {}
    for measure in measures:
        if getattr(measure, "average", "macro") == "macro" and (
            rule := rules.get(str(getattr(measure, "classes", "")))
        ):
            names.setdefault(rule, []).append(measure.name)
    return [f"{_few(own)}: {rule}" for rule, own in names.items()]


def notes(runs: Sequence[Run], measures: Sequence[Measure], evidence: bool = True) -> tuple[str, ...]:
    """Return what must stand under a table of these runs: intervals, warnings, coverage, claims."""
    lines: list[str] = []
    names = {measure.name for measure in measures}
    whole = [score for run in runs for score in run.scores if score.slice == WHOLE and score.name in names]
    lines += interval_notes(runs[0], whole)
    if not evidence:
        return tuple(lines)
    lines += [f"{run.system}: {text}" for run in runs if (text := partial(run))]
    lines += _shared([(run.system, _findings(run)) for run in runs])
    return (*lines, *_searched(runs), *claims(runs))


def _findings(run: Run) -> list[str]:
    """Return the findings of a run as lines; where many are for information only, these are counted.

    What was not read is always told: whoever misspelt a name has to see it.
    """
    found = [f for f in run.findings if f.id != "partial-coverage"]
    told = [f for f in found if f.severity != "info" or f.id == unread.FINDING]
    rest = [f for f in found if f not in told]
    lines = [f"{f.severity}: {f.evidence}; {f.remedy}" for f in (*told, *(rest if len(rest) <= MOST_INFO else ()))]
    if len(rest) > MOST_INFO:
        kinds = ", ".join(dict.fromkeys(f.id for f in rest))
        how = "gnomon audit shows them" if run.path else "gnomon audit shows them of a run that is kept (--out)"
        lines.append(f"{len(rest)} findings for information ({kinds}): {how}")
    return lines


def interval_notes(run: Run, scores: Iterable[Score | None]) -> tuple[str, ...]:
    """Say how the intervals of some scores were made, what is wrong with them, and why some are undefined."""
    given = [score for score in scores if score is not None]
    lines: list[str] = []
    plan = run.plan
    if plan.method == "none":
        return ("intervals were not asked for",)
    if any(score.low is not None for score in given):
        draws = f", {plan.resamples} resamples" if plan.method in ("percentile", "bca") else ""
        level = plural(run.roster.level)
        lines.append(f"[low, high]: {100 * plan.level:g}% {plan.method} interval over {level}{draws}")
    remarks: dict[str, list[str]] = {}
    for score in given:
        undefined = score.interval_why.startswith("undefined")
        for text in (*((f"interval {score.interval_why}",) if undefined else ()), *score.notes):
            names = remarks.setdefault(text, [])
            if score.name not in names:
                names.append(score.name)
    everything = list(dict.fromkeys(score.name for score in given))
    for text, names in remarks.items():
        whose = "" if len(names) == len(everything) else f"{_few(names)}: "
        lines.append(f"{whose}{text}")
    return tuple(lines)


def worst(remarks: Sequence[str]) -> list[str]:
    """Say remarks that differ in a number of classes alone once, with the largest number.

    >>> worst(["2 classes rest on few", "5 classes rest on few", "other"])
    ['up to 5 classes rest on few', 'other']
    """
    found: dict[str, list[tuple[int, str, str]]] = {}
    for text in dict.fromkeys(remarks):
        number = re.search(r"(\d+) class(es)? rests?", text)
        kind = text if number is None else text.replace(number[0], "")
        marked = text if number is None else text.replace(number[0], f"up to {number[0]}")
        found.setdefault(kind, []).append((int(number[1]) if number else 0, text, marked))
    return [max(own)[2] if len(own) > 1 else own[0][1] for own in found.values()]


def _few(names: Sequence[str]) -> str:
    shown = ", ".join(name.replace("_", " ") for name in names[:4])
    return shown + (f" and {len(names) - 4} more" if len(names) > 4 else "")


COUNTED = ("rows", "windows", "cases", "scenes", "samples")
"""What suites count in the coverage of a run: how many the truth has, and how many were scored."""
UNREADABLE = "unreadable"
"""Under which suites say in the coverage what could not be read and is left out: reasons, by dataset or case."""


def partial(run: Run) -> str:
    """Say what a run lacks; nothing when it is complete."""
    if run.complete:
        return ""
    cells: Any = run.coverage.get("cells")
    if cells and cells["missing"]:
        missing = [f"{item['cell']}: {item['why']}" for item in cells["missing"]]
        return f"partial: {cells['done']} of {cells['total']} cells; missing {some(missing, show=3, sentences=True)}"
    shards: Any = run.coverage.get("shards", {})
    if skipped := shards.get("skipped"):
        return f"partial: {shards['scored']} of {shards['truth']} shards; without predictions: {some(skipped, show=3)}"
    for what in COUNTED:
        counts: Any = run.coverage.get(what)
        if isinstance(counts, Mapping) and {"scored", "truth"} <= counts.keys():
            lacking = counts.get("missing")
            named = f"; missing {some(lacking, show=3)}" if isinstance(lacking, list) and lacking else ""
            return f"partial: {counts['scored']} of {counts['truth']} {what} scored{named}"
    unreadable: Any = run.coverage.get(UNREADABLE, {})
    if unreadable:
        reasons = [why for each in unreadable.values() for why in each]
        what = f"{some(unreadable, show=3)} without {counted(len(reasons), 'part')} that cannot be read"
        return f"partial: {what}: {some(reasons, show=1, sentences=True)}"
    return "partial"


def _row(run: Run, measures: Sequence[Measure]) -> dict[str, Cell]:
    scores = {measure.name: run.find(measure.name) for measure in measures}
    first = next(iter(scores.values()))
    base = {
        "system": Cell(run.system, mark="" if run.complete else "partial"),
        "n": Cell(first.n if first else 0),
        "groups": Cell(first.groups if first else 0),
    }
    return {**base, **{measure.name: cell(scores[measure.name], measure) for measure in measures}}


def _shared(lists: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    """Say every text once: as it is where it holds for every system, else behind the names of those it holds for."""
    found = []
    for text in _distinct(t for _, texts in lists for t in texts):
        names = [name for name, texts in lists if text in texts]
        found.append((len(names) < len(lists), text if len(names) == len(lists) else f"{', '.join(names)}: {text}"))
    return [text for _, text in sorted(found, key=lambda item: item[0])]


def _distinct(items: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys(items))
