"""Datasets by models under one metric, chosen by a reader: the grid, single classes, confusion, coverage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gnomon.core.measure import Measure
from gnomon.core.table import Board, Cell, Column, Table, View
from gnomon.core.tallies import Array
from gnomon.runs import tables as common
from gnomon.runs.run import Run
from gnomon.suites.har import seeded, views
from gnomon.suites.har.metrics import MeanAccuracy, MeanF1, Scoring, TaskAccuracy, TaskF1, family

MEASURES = ("accuracy", "macro F1")
SCORINGS: dict[str, Scoring] = {"native": "native", "by group": "group", "exact": "exact"}


def board(runs: Sequence[Run], chosen: Mapping[str, str]) -> Board:
    """Return the grid of datasets and models, and what stands behind one of its rows."""
    protocol = runs[0].manifest["protocol"]
    datasets = (*protocol["settings"]["main"], *protocol["settings"]["apart"])
    choices = {
        "task": tuple(protocol["tasks"]),
        "measure": MEASURES,
        "scoring": tuple(SCORINGS),
        "dataset": datasets,
    }
    taken = {name: chosen[name] if chosen.get(name) in own else own[0] for name, own in choices.items() if own}
    families = seeded.families_of(runs)
    items: list[Table | View | None] = [
        grid(runs, families, taken),
        heat(runs, families, taken),
        classes(runs, taken["task"], taken["dataset"]),
        *(confusion(run, taken["task"], taken["dataset"]) for run in common.ranked(runs)),
        views.coverage(runs[0]),
    ]
    return Board(choices, taken, tuple(item for item in items if item is not None))


def grid(runs: Sequence[Run], families: Mapping[str, Sequence[Run]], taken: Mapping[str, str]) -> Table:
    """One row per dataset, a column per model; the mean of the main datasets first, as far as it is kept."""
    columns = [Column("dataset", "dataset"), Column("n", "n", "count"), Column("subjects", "subjects", "count")]
    columns += [Column(f"system:{name}", name, "score", "%", "up", 1) for name in families]
    rows, remarks = [], []
    for name, measure in _measures(runs[0], taken):
        found = {system: seeded.found(own, measure) for system, own in families.items()}
        first = next(iter(found.values()))
        cells = {f"system:{system}": value[0] for system, value in found.items()}
        rows.append({"dataset": Cell(name), "n": Cell(first[1]), "subjects": Cell(first[2]), **cells})
        remarks += [note for value in found.values() for note in value[3]]
    title = f"har: {taken['measure']} of {taken['task']}, scored {taken['scoring']}"
    notes = (*seeded.simulated(runs[0]), *seeded.told(runs, remarks))
    return Table("grid", title, tuple(columns), tuple(rows), notes)


def heat(runs: Sequence[Run], families: Mapping[str, Sequence[Run]], taken: Mapping[str, str]) -> View:
    """Return the same grid for all metrics at once: rows of metric and dataset, a column per model."""
    tasks = runs[0].manifest["protocol"]["tasks"]
    names, values = [], []
    for metric in tasks:
        for dataset, measure in _measures(runs[0], {**taken, "task": metric}):
            names.append(f"{metric} {dataset}")
            values.append([seeded.found(own, measure)[0].value for own in families.values()])
    data = {"rows": names, "columns": list(families), "values": values, "unit": "%", "low_is_good": False}
    return View("heat", f"har: {taken['measure']}, every dataset, metric and model", "heat", data)


def _measures(run: Run, taken: Mapping[str, str]) -> list[tuple[str, Measure]]:
    """Return the measure of every dataset, and of the mean over the main ones where it is natively scored."""
    settings, metric = run.manifest["protocol"]["settings"], taken["task"]
    scoring, right = SCORINGS[taken["scoring"]], taken["measure"] == "accuracy"
    main = tuple(settings["main"])
    mean: Measure = MeanAccuracy(metric, main) if right else MeanF1(metric, main)
    found: list[tuple[str, Measure]] = [("mean of main", mean)] if main and scoring == "native" else []
    for dataset in (*main, *settings["apart"]):
        single = TaskAccuracy(metric, dataset, scoring)
        own: Measure = single if right else TaskF1("macro", "fixed", 0, metric, dataset, scoring)
        found.append((seeded.marked(run, dataset), own))
    return found


def classes(runs: Sequence[Run], metric: str, dataset: str) -> Table | None:
    """F1 of every class that occurs in truth, a column per run, natively scored; without intervals."""
    counted = {run.system: found for run in common.ranked(runs) if (found := _matrix(run, metric, dataset))}
    if not counted:
        return None
    labels = list(dict.fromkeys(label for names, _ in counted.values() for label in names))
    columns = [Column("class", "class"), Column("n", "true windows", "count")]
    columns += [Column(f"system:{name}", f"F1 {name}", "number", "%", "up", 1) for name in counted]
    rows = []
    for label in labels:
        cells = {name: _f1(label, *found) for name, found in counted.items()}
        n = max(support for _, support in cells.values())
        if n:
            shown = {f"system:{name}": cell for name, (cell, _) in cells.items()}
            rows.append({"class": Cell(label), "n": Cell(n), **shown})
    rows.sort(key=lambda row: -int(row["n"].value or 0))
    title = f"har: classes of {dataset}, {metric}"
    return Table("classes", title, tuple(columns), tuple(rows), ("natively scored; 0/0 is 0",))


def confusion(run: Run, metric: str, dataset: str) -> View | None:
    """Return the confusion matrix of one run, natively scored."""
    wanted = f"confusion_{metric}_{dataset}"
    return next((view for view in views.confusions(run) if view.name == wanted), None)


def _matrix(run: Run, metric: str, dataset: str) -> tuple[tuple[str, ...], Array] | None:
    rows = run.ledgers.get(f"confusion_{family(metric, [dataset], 'native')}")
    return None if rows is None else common.count_confusions(rows)


def _f1(label: str, labels: tuple[str, ...], counts: Array) -> tuple[Cell, int]:
    """Return the F1 of a class in per cent, and how often it is true."""
    if label not in labels:
        return Cell(None, why="not scored"), 0
    place = labels.index(label)
    truth, given, right = int(counts[place].sum()), int(counts[:, place].sum()), int(counts[place, place])
    return Cell(200.0 * right / (truth + given) if truth + given else 0.0), truth
