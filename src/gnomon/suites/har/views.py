"""Tables of ``har`` runs: the mean of the main datasets, every dataset and metric, coverage, deviations, reference.

Runs of one system with several seeds are one row: its mean over seeds, with an interval that holds the spread over
subjects and over seeds (:mod:`gnomon.inference.crossed`).

The table ``training``: what the models of a run learned from, for how long, and how far their loss came down.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gnomon.core.measure import Measure
from gnomon.core.table import Cell, Column, Table, View, count_columns, make_cells, text_columns
from gnomon.runs import tables as common
from gnomon.runs.run import Run
from gnomon.suites.har import seeded
from gnomon.suites.har.metrics import METRICS, MeanAccuracy, MeanF1, Scoring, TaskAccuracy, TaskF1, family
from gnomon.suites.har.protocol import UNLISTED
from gnomon.suites.har.reference import CITED, FIGURES, Deviation, deviations

LARGEST_MATRIX = 60
"""Above this many classes no confusion matrix is shown."""


def tables(runs: Sequence[Run]) -> list[Table | View]:
    """Return what a reader of these runs should see, most important first."""
    settings = runs[0].manifest["protocol"]["settings"]
    families = seeded.families_of(runs)
    items: list[Table | View] = [chosen(runs, families)] if runs[0].chosen else []
    items += [means(runs, families)] if settings["main"] and not items else []
    items.append(by_dataset(runs, families))
    items += [scorings(runs, families), coverage(runs[0])]
    items += [table for table in (training(runs), deviation_table(runs)) if table]
    items.append(reference())
    return items + ([*confusions(runs[0])] if len(runs) == 1 else [])


def means(runs: Sequence[Run], families: Mapping[str, Sequence[Run]]) -> Table:
    """One row per system: accuracy and macro-F1 of every metric, means over the main datasets."""
    protocol = runs[0].manifest["protocol"]
    main: tuple[str, ...] = tuple(protocol["settings"]["main"])
    chosen: list[Measure] = []
    for metric in protocol["tasks"]:
        chosen += [MeanAccuracy(metric, main), MeanF1(metric, main)]
    columns = [Column("system", "system")]
    for measure in chosen:
        columns.append(Column(measure.name, _short(measure), "score", "%", "up", 1))
    rows: list[dict[str, Cell]] = []
    remarks: list[str] = []
    for name, own in families.items():
        cells: dict[str, Cell] = {"system": Cell(name, mark="" if all(run.complete for run in own) else "partial")}
        for measure in chosen:
            cells[measure.name], _, _, notes = seeded.found(own, measure)
            remarks += notes
        rows.append(cells)
    lines = [f"plain mean of {', '.join(main)}" if len(main) > 1 else f"of {main[0]}, the only main dataset here"]
    lines += [
        "acc: accuracy; F1: macro-F1; both natively scored",
        *seeded.simulated(runs[0]),
        *seeded.told(runs, remarks),
    ]
    lines += common.notes(runs, [])
    title = f"har ({_title(runs[0])}): main datasets"
    return Table("scores", title, tuple(columns), tuple(rows), tuple(dict.fromkeys(lines)))


def chosen(runs: Sequence[Run], families: Mapping[str, Sequence[Run]]) -> Table:
    """One row per system: the metrics that ``--metrics`` named."""
    metrics = common.find_metrics(runs[0], runs[0].chosen)
    columns = (
        Column("system", "system"),
        Column("n", "n", "count"),
        Column("groups", "subjects", "count"),
        *(common.column(metric) for metric in metrics),
    )
    rows: list[dict[str, Cell]] = []
    remarks: list[str] = []
    for name, own in families.items():
        found = {metric.name: seeded.found(own, metric) for metric in metrics}
        first = found[metrics[0].name]
        rows.append(
            {
                "system": Cell(name, mark="" if all(run.complete for run in own) else "partial"),
                "n": Cell(first[1]),
                "groups": Cell(first[2]),
                **{key: value[0] for key, value in found.items()},
            }
        )
        remarks += [note for value in found.values() for note in value[3]]
    lines = [*seeded.simulated(runs[0]), *seeded.told(runs, remarks), *common.notes(runs, [])]
    title = f"har ({_title(runs[0])}): scores"
    return Table("scores", title, columns, tuple(rows), tuple(dict.fromkeys(lines)))


def by_dataset(runs: Sequence[Run], families: Mapping[str, Sequence[Run]]) -> Table:
    """One row per dataset, metric and system, natively scored; datasets that are reported apart come last."""
    told = any(fact.get("n_train") is not None for fact in runs[0].manifest["facts"]["tasks"].values())
    columns = (
        *text_columns(dataset="dataset", task="task", system="system"),
        Column("n", "n", "count"),
        *((Column("n_train", "n train", "count"),) if told else ()),
        Column("subjects", "subjects", "count"),
        Column("accuracy", "accuracy", "score", "%", "up", 1),
        Column("macro_f1", "macro F1", "score", "%", "up", 1),
        Column("weighted_f1", "weighted F1", "score", "%", "up", 1),
    )
    rows: list[dict[str, Cell]] = []
    remarks: list[str] = []
    for dataset, metric, name, own in _tasks(runs[0], families):
        found = {
            "accuracy": seeded.found(own, TaskAccuracy(metric, dataset)),
            "macro_f1": seeded.found(own, TaskF1("macro", "fixed", 0, metric, dataset)),
            "weighted_f1": seeded.found(own, TaskF1("weighted", "fixed", 0, metric, dataset)),
        }
        first = found["accuracy"]
        rows.append(
            {
                **make_cells(dataset=seeded.marked(runs[0], dataset), task=metric, system=name, n=first[1]),
                "n_train": _trained(own[0], metric, dataset),
                "subjects": Cell(first[2]),
                **{key: value[0] for key, value in found.items()},
            }
        )
        remarks += [note for value in found.values() for note in value[3]]
    notes = [
        *seeded.simulated(runs[0]),
        *seeded.told(runs, remarks),
        _averaged_over(runs[0]),
    ]
    notes.append("zs-open and zs-closed of classifiers by synonym group, the others by exact label")
    return Table("datasets", f"har ({_title(runs[0])}): every dataset and task", columns, tuple(rows), tuple(notes))


def _averaged_over(run: Run) -> str:
    """Say which classes macro F1 is over."""
    others = "the union of groups in truth and answer"
    if UNLISTED in run.manifest["protocol"]["settings"]:
        others = "the groups in truth, since missing answers count as wrong"
    return f"macro F1 over the labels of the dataset where scored by exact label, else over {others}; 0/0 is 0"


def scorings(runs: Sequence[Run], families: Mapping[str, Sequence[Run]]) -> Table:
    """Group and exact scoring of everybody, and macro-F1 over the classes in truth alone."""
    kinds: tuple[tuple[str, Scoring], ...] = (("by group", "group"), ("exact", "exact"))
    columns = (
        *text_columns(dataset="dataset", task="task", system="system", native="native"),
        *(Column(f"accuracy_{kind}", f"accuracy {title}", "score", "%", "up", 1) for title, kind in kinds),
        *(Column(f"macro_f1_{kind}", f"macro F1 {title}", "score", "%", "up", 1) for title, kind in kinds),
        *(Column(f"present_{kind}", f"macro F1 in truth {title}", "score", "%", "up", 1) for title, kind in kinds),
    )
    rows = []
    for dataset, metric, name, own in _tasks(runs[0], families):
        cells: dict[str, Cell] = {
            "dataset": Cell(seeded.marked(runs[0], dataset)),
            "task": Cell(metric),
            "system": Cell(name),
            "native": Cell(str(_fact(own[0], metric, dataset).get("scoring", ""))),
        }
        for _, kind in kinds:
            cells[f"accuracy_{kind}"] = _value(own, TaskAccuracy(metric, dataset, kind))
            cells[f"macro_f1_{kind}"] = _value(own, TaskF1("macro", "fixed", 0, metric, dataset, kind))
            cells[f"present_{kind}"] = _value(own, TaskF1("macro", "present", 0, metric, dataset, kind))
        rows.append(cells)
    notes = (
        "systems with different native scorings are not on a par: read one column for all of them",
        "macro F1 in truth: over the classes that occur in truth alone",
    )
    return Table("scorings", "har: by group and by exact label", columns, tuple(rows), notes)


def coverage(run: Run) -> Table:
    """What the 87 training labels cover of every test dataset, and the ceiling that novel labels impose."""
    columns = (
        Column("dataset", "dataset"),
        *count_columns(activities="activities", mappable="mappable", novel="novel"),
        Column("share", "coverage", "number", "%", "", 0),
        Column("groups", "groups", "count"),
        Column("mask", "closed set"),
        Column("ceiling", "accuracy ceiling", "number", "%", "", 1),
        Column("unmappable", "unmappable"),
    )
    rows = [
        {
            "dataset": Cell(seeded.marked(run, name)),
            **{key: Cell(found[key]) for key in ("activities", "mappable", "novel", "share", "groups")},
            "mask": Cell(f"{found['allowed']}/{found['labels']}"),
            "ceiling": Cell(found["ceiling"], why=found["why"]),
            "unmappable": Cell(", ".join(found["unmappable"]) or "-"),
        }
        for name, found in run.manifest["facts"]["coverage"].items()
    ]
    notes = [
        "ceiling: share of the scored windows whose group has a training label; a classifier over the 87 labels cannot "
        "be right more often by group; text-aligned models can",
    ]
    untaught = run.manifest["facts"].get("untaught", {})
    notes += [f"{name}: no window of the training data here is of {', '.join(lost)}" for name, lost in untaught.items()]
    notes.append(f"labels and groups: {run.manifest['facts']['vocabulary'][:12]}")
    return Table("coverage", "har: coverage of labels", columns, tuple(rows), tuple(notes))


def deviation_table(runs: Sequence[Run]) -> Table | None:
    """Where the systems of these runs deviate from their papers, and the run from the published one."""
    every = [Deviation(**item) for run in runs for item in run.manifest["facts"].get("deviations", ())]
    own = list(dict.fromkeys(every))
    found = deviations([str(run.manifest["system"]) for run in runs], own)
    if not found:
        return None
    titles = {"system": "system", "deviation": "deviation", "original": "original", "ours": "here", "effect": "effect"}
    columns = tuple(Column(key, title) for key, title in titles.items())
    rows = tuple({key: Cell(getattr(item, key)) for key in titles} for item in found)
    return Table("deviations", "har: deviations", columns, rows)


def reference() -> Table:
    """Figures that were reported by others, for orientation."""
    columns = [Column("model", "model")]
    columns += [Column(metric, f"{metric} accuracy / macro F1") for metric in METRICS]
    rows = tuple(
        {"model": Cell(model), **{metric: Cell("{:.1f} / {:.1f}".format(*own[metric])) for metric in METRICS}}
        for model, own in FIGURES.items()
    )
    return Table("reference", "har: published figures", tuple(columns), rows, (CITED,))


def confusions(run: Run) -> list[View]:
    """Return the confusion matrix of every dataset and metric, natively scored."""
    found = []
    for dataset, metric, _, _ in _tasks(run, {run.system: [run]}):
        rows = run.ledgers.get(f"confusion_{family(metric, [dataset], 'native')}")
        title = f"har: confusion of {run.system}, {metric} on {dataset}"
        found.append(common.confusion(rows, name=f"confusion_{metric}_{dataset}", title=title, largest=LARGEST_MATRIX))
    return [view for view in found if view is not None]


def _value(own: Sequence[Run], measure: Measure) -> Cell:
    """Return a score without its interval."""
    found = seeded.found(own, measure)[0]
    return Cell(found.value, why=found.why)


def _tasks(run: Run, families: Mapping[str, Sequence[Run]]) -> Iterable[tuple[str, str, str, Sequence[Run]]]:
    protocol = run.manifest["protocol"]
    for dataset in (*protocol["settings"]["main"], *protocol["settings"]["apart"]):
        for metric in protocol["tasks"]:
            for name, own in families.items():
                yield dataset, metric, name, own


def _fact(run: Run, metric: str, dataset: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = run.manifest["facts"]["tasks"].get(f"{metric} {dataset}", {})
    return found


def _trained(run: Run, metric: str, dataset: str) -> Cell:
    found = _fact(run, metric, dataset).get("n_train")
    return Cell(found) if found is not None else Cell(None, why="not given")


def _title(run: Run) -> str:
    protocol = run.manifest["protocol"]
    profile = protocol["settings"].get("profile", {}).get("name", "")
    return ", ".join(filter(None, (protocol["variant"], f"profile {profile}" if profile else ""))) or "given answers"


def _short(measure: Measure) -> str:
    kind = "acc" if isinstance(measure, MeanAccuracy) else "F1"
    return f"{getattr(measure, 'metric', '')} {kind}"


Facts = Mapping[str, Any]


def training(runs: Sequence[Run]) -> Table | None:
    """Return a row for each stage of every model that trains by updates; None where there is none."""
    columns = (
        Column("system", "system"),
        Column("stage", "stage"),
        Column("parameters", "parameters", "count"),
        Column("windows", "windows", "count"),
        Column("epochs", "epochs", "text"),
        Column("updates", "updates", "text"),
        Column("loss", "loss, first to last", "text"),
        Column("seconds", "wall", "number", "s", digits=1),
        Column("cpu", "CPU", "number", "s", digits=1),
    )
    rows = [row for run in runs for row in _stages(run)]
    notes = ["fine-tuning: over all test datasets and folds; times add up, updates and epochs are from least to most"]
    used = {str(run.manifest["facts"].get("fitted", {}).get("text_encoder", "")) for run in runs} - {""}
    notes += [f"text encoder: {_encoder(run)}" for run in runs if _encoder(run)] if used else []
    notes += [f"{run.system}: {said}" for run in runs if (said := _weights(run))]
    for run in runs:
        flat = run.manifest["facts"].get("not_aligned_by_gravity")
        notes += [f"{run.system}: not turned by gravity, which is removed there: {', '.join(flat)}"] if flat else []
    return Table("training", "har: training", columns, tuple(rows), tuple(dict.fromkeys(notes))) if rows else None


def _weights(run: Run) -> str:
    """Say where weights come from, where a model tells."""
    fitted = run.manifest["facts"].get("fitted", {})
    found = fitted.get("weights") or fitted.get("pretrained", {}).get("weights") or ""
    if isinstance(found, Mapping):
        found = ", ".join(f"{key} {value}" for key, value in found.items() if value not in (None, ""))
    return f"weights: {found}" if found else ""


def _encoder(run: Run) -> str:
    fitted = run.manifest["facts"].get("fitted", {})
    found = fitted.get("text_encoder") or fitted.get("pretrained", {}).get("text_encoder") or ""
    return str(found.get("name", found)) if isinstance(found, Mapping) else str(found)


def _stages(run: Run) -> Iterator[dict[str, Cell]]:
    facts = run.manifest["facts"]
    fitted: Facts = facts.get("fitted", {})
    before: Facts = fitted.get("pretrained", {})
    stages: list[tuple[str, list[Facts]]] = [("pre-training", [before]), ("zero-shot classifier", [fitted])]
    if not before:
        stages = [("training", [fitted])]
    for metric in run.manifest["protocol"]["tasks"]:
        tuned = [item for key, task in facts["tasks"].items() if key.startswith(f"{metric} ") for item in _tuned(task)]
        stages.append((f"fine-tuning {metric}", tuned))
    for name, found in stages:
        kept = [item for item in found if item.get("updates") is not None or _curves(item)]
        if kept:
            yield _row(run.system, name, kept)


def _tuned(task: Facts) -> list[Facts]:
    found: list[Facts] = task.get("fine_tuned", [])
    return found


def _row(system: str, stage: str, found: Sequence[Facts]) -> dict[str, Cell]:
    losses = [losses for item in found for losses in [_losses(item)] if losses]
    first, last = ([float(own[at]) for own in losses] for at in (0, -1))
    return {
        "system": Cell(system),
        "stage": Cell(stage),
        "parameters": _count([item.get("parameters") for item in found]),
        "windows": _count([item.get("windows", item.get("rows")) for item in found]),
        "epochs": Cell(_range([item.get("epochs") for item in found])),
        "updates": Cell(_range([item.get("updates") for item in found])),
        "loss": Cell(f"{np.mean(first):.3g} to {np.mean(last):.3g}" if losses else "-"),
        "seconds": Cell(float(sum(item.get("seconds", 0.0) for item in found))),
        "cpu": Cell(float(sum(item.get("cpu_seconds", 0.0) for item in found))),
    }


def _count(values: Sequence[Any]) -> Cell:
    known = [int(value) for value in values if value is not None]
    return Cell(max(known)) if known else Cell(None, why="not told")


def _range(values: Sequence[Any]) -> str:
    known = [int(value) for value in values if value is not None]
    if not known:
        return "-"
    return f"{min(known):,}" if min(known) == max(known) else f"{min(known):,} to {max(known):,}"


def _losses(item: Facts) -> list[float]:
    """Return the losses of the last curve."""
    curves = _curves(item)
    return list(curves[-1].get("losses", [])) if curves else []


def _curves(item: Facts) -> list[Facts]:
    if "curve" in item:
        return [item["curve"]]
    found = item.get("curves", [])
    return list(found.values()) if isinstance(found, Mapping) else list(found)
