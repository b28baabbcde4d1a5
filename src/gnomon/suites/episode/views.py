"""Tables of ``episode`` runs: the tasks with baselines, ceilings and published figures; every metric; coverage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gnomon.core.measure import Measure
from gnomon.core.table import Cell, Column, Table, View
from gnomon.runs import tables as common
from gnomon.runs.run import Run
from gnomon.suites.episode.measured import of_task
from gnomon.suites.episode.options import HEADS, TRIVIAL
from gnomon.suites.episode.scoring import CITED
from gnomon.suites.episode.tasks.declared import TASKS

LARGEST_MATRIX = 40
"""Above this many classes no confusion matrix is shown."""
DIGITS = 4


def tables(runs: Sequence[Run]) -> list[Table | View]:
    """Return what a reader of these runs should see, most important first."""
    items: list[Table | View] = [overview(runs), baselines(runs), details(runs), samples(runs[0])]
    if (table := training(runs)) is not None:
        items.append(table)
    if runs[0].manifest["facts"].get("streams"):
        items.append(coverage(runs[0]))
    items.append(gate_table(runs[0]))
    return items + (confusions(runs[0]) if len(runs) == 1 else [])


def overview(runs: Sequence[Run]) -> Table:
    """One row per task: every head with its interval, the best baseline, the ceiling, the published figures."""
    heads = [run for run in runs if run.manifest["system"] not in TRIVIAL]
    trivial = [run for run in runs if run.manifest["system"] in TRIVIAL]
    known = [name for name in HEADS if any(run.manifest["system"] == name for run in heads)]
    columns = [
        Column("task", "task"),
        Column("metric", "metric"),
        Column("n", "n test", "count"),
        *(Column(run.system, run.system, "score", digits=DIGITS) for run in heads),
        *((Column("trivial", "best baseline", "score", digits=DIGITS), Column("which", "which")) if trivial else ()),
        Column("ceiling", "ceiling", "score", digits=DIGITS),
        *(Column(f"reported {name}", f"reported {name}", "score", digits=DIGITS) for name in known),
    ]
    rows = []
    for task in runs[0].manifest["protocol"]["tasks"]:
        measure = of_task(TASKS[task])[0]
        row = {
            "task": Cell(task),
            "metric": Cell(f"{TASKS[task].metric} {'↑' if TASKS[task].direction == 'up' else '↓'}"),
            "n": _n(runs, measure, task),
            **{run.system: _score(run, measure, task) for run in heads},
            "ceiling": _ceiling(runs[0], task, TASKS[task].metric),
            **{f"reported {name}": Cell(TASKS[task].published[name]) for name in known},
        }
        if trivial:
            row["trivial"], row["which"] = _best(trivial, measure)
        rows.append(row)
    notes = [
        "ceiling: what answers can reach at best with the classes and texts that training shows",
        f"reported: {CITED}",
        *_smoke(runs[0]),
        *common.notes(runs, []),
    ]
    return Table("scores", f"episode ({_title(runs[0])}): tasks", tuple(columns), tuple(rows), tuple(notes))


def baselines(runs: Sequence[Run]) -> Table:
    """One row per task with every baseline."""
    trivial = [run for run in runs if run.manifest["system"] in TRIVIAL]
    columns = [Column("task", "task"), Column("metric", "metric")]
    columns += [Column(run.system, run.system, "score", digits=DIGITS) for run in trivial]
    rows = []
    for task in runs[0].manifest["protocol"]["tasks"] if trivial else ():
        measure = of_task(TASKS[task])[0]
        rows.append(
            {
                "task": Cell(task),
                "metric": Cell(measure.name.partition("[")[0]),
                **{run.system: _score(run, measure, task) for run in trivial},
            }
        )
    notes = (
        "majority: the most frequent answer of training; copy_last: the last label before the target, which is told; "
        "persistence: the hands seen last; random: drawn as in training; always_positive: the positive class",
    )
    return Table(
        "baselines", f"episode ({_title(runs[0])}): baselines", tuple(columns), tuple(rows), notes if rows else ()
    )


def details(runs: Sequence[Run]) -> Table:
    """One row per task, metric and head."""
    columns = (
        Column("task", "task"),
        Column("metric", "metric"),
        Column("system", "system"),
        Column("n", "n", "count"),
        Column("groups", f"{runs[0].roster.level}s", "count"),
        Column("value", "value", "score", digits=DIGITS),
    )
    rows = []
    shown = [run for run in runs if run.manifest["system"] not in TRIVIAL] or runs
    for task in runs[0].manifest["protocol"]["tasks"]:
        for measure in of_task(TASKS[task]):
            for run in shown:
                score = run.find(measure.name)
                if score is None or (score.value is None and _answered(run, task) is None):
                    continue
                rows.append(
                    {
                        "task": Cell(task),
                        "metric": Cell(measure.name.partition("[")[0]),
                        "system": Cell(run.system),
                        "n": Cell(score.n),
                        "groups": Cell(score.groups),
                        "value": common.cell(score, measure),
                    }
                )
    notes = (
        "macro_f1 over classes in the truth of the test part, as published; macro_f1_union over truth or answers",
        "r2 pools all dimensions unscaled, as published; r2_mean is the mean over dimensions",
        "mrr and top-k: mean over the order of ties; optimistic and pessimistic beside",
    )
    return Table("metrics", f"episode ({_title(runs[0])}): every metric", columns, tuple(rows), notes)


def samples(run: Run) -> Table:
    """Samples of every task, what was left out, and what training never showed."""
    keys = ("train", "test", "purged")
    columns = (
        Column("task", "task"),
        *(Column(key, key, "count") for key in keys),
        Column("reported", "reported train / test"),
        Column("dropped", "dropped"),
        Column("unseen", "unseen test classes", "count"),
        Column("ceiling", "accuracy ceiling", "score", digits=3),
    )
    rows = []
    for task, fact in run.manifest["facts"]["tasks"].items():
        dropped = "; ".join(f"{why}: {n}" for why, n in fact.get("dropped", {}).items())
        rows.append(
            {
                "task": Cell(task),
                **{key: Cell(fact["samples"].get(key, 0)) for key in keys},
                "reported": Cell("{} / {}".format(*TASKS[task].published_n)),
                "dropped": Cell(dropped or "none"),
                "unseen": _optional(fact, "unseen_test_classes", len),
                "ceiling": _optional(fact, "ceiling", float),
            }
        )
    return Table("samples", f"episode ({_title(run)}): samples", columns, tuple(rows))


def training(runs: Sequence[Run]) -> Table | None:
    """What heads learned from, and how."""
    rows = []
    for run in runs:
        for task, fact in run.manifest["facts"]["tasks"].items():
            told = fact.get("answered", {}).get("training")
            if not told:
                continue
            losses = told.get("losses") or told.get("loss") or []
            shown = f"{losses[0]:.3g} to {losses[-1]:.3g}" if losses else ""
            rows.append(
                {
                    "system": Cell(run.system),
                    "task": Cell(task),
                    "rows": Cell(told.get("rows", fact["answered"].get("n_train", 0))),
                    "parameters": Cell(told["parameters"]) if "parameters" in told else Cell(None, why="not counted"),
                    "loss": Cell(shown) if shown else Cell(None, why="solved exactly"),
                }
            )
    if not rows:
        return None
    columns = (
        Column("system", "system"),
        Column("task", "task"),
        Column("rows", "rows", "count"),
        Column("parameters", "parameters", "count"),
        Column("loss", "loss, first to last"),
    )
    return Table("training", "episode: training", columns, tuple(rows))


def coverage(run: Run) -> Table:
    """How much of every block could be read, by episode."""
    streams: Mapping[str, Any] = run.manifest["facts"]["streams"]
    columns = (Column("block", "block"), *(Column(name, name, "score", digits=3) for name in streams))
    names = list(dict.fromkeys(block for one in streams.values() for block in one["coverage"]))
    rows = tuple(
        {
            "block": Cell(block),
            **{name: Cell(one["coverage"][block]) for name, one in streams.items()},
        }
        for block in names
    )
    audio = {one["audio"]["present"] for one in streams.values()}
    said = (
        "present"
        if audio == {True}
        else "absent"
        if audio == {False}
        else "not looked at"
        if audio == {None}
        else "in some"
    )
    notes = (f"audio: {said}, featurized: false", *_reasons(streams))
    return Table("coverage", "episode: share of every block that could be read", columns, rows, notes)


def _reasons(streams: Mapping[str, Any]) -> list[str]:
    found = [f"{name}, {block}: {why}" for name, one in streams.items() for block, why in one["masked"].items()]
    return found[:8] + ([f"... and {len(found) - 8} more reasons"] if len(found) > 8 else [])


def gate_table(run: Run) -> Table:
    """The gate before a claim about fine-tuning."""
    from gnomon.suites.episode.gate import conditions, is_open

    facts = run.manifest["facts"]
    columns = (
        Column("condition", "condition"),
        Column("needed", "needed"),
        Column("found", "found"),
        Column("met", "met"),
    )
    rows = tuple(
        {
            "condition": Cell(item["condition"]),
            "needed": Cell(f"{item['needed']:g}"),
            "found": Cell(str(item["found"])),
            "met": Cell("yes" if item["met"] else "no"),
        }
        for item in conditions(facts)
    )
    state = "open" if is_open(facts) else "closed: no claim about the quality of a fine-tuned model"
    return Table("gate", f"episode: scale-up gate ({state})", columns, rows, (f"artefacts: {facts['artefacts']}",))


def confusions(run: Run) -> list[Table | View]:
    """Return a confusion matrix for every task with few classes."""
    if run.table is None:
        return []
    found: list[Table | View] = []
    rows = run.table.select(["task", "truth", "prediction"]).to_pylist()
    for task in run.manifest["protocol"]["tasks"]:
        if TASKS[task].kind not in ("label", "binary", "pair"):
            continue
        own = [row for row in rows if row["task"] == task]
        classes = sorted({value for row in own for value in (row["truth"], row["prediction"]) if value})
        if not own or len(classes) > LARGEST_MATRIX:
            continue
        place = {label: index for index, label in enumerate(classes)}
        counts = [[0] * len(classes) for _ in classes]
        for row in own:
            if row["prediction"]:
                counts[place[row["truth"]]][place[row["prediction"]]] += 1
        found.append(
            View(f"confusion {task}", "matrix", f"{task}: truth by answer", {"classes": classes, "counts": counts})
        )
    return found


def _score(run: Run, measure: Measure, task: str) -> Cell:
    if _answered(run, task) is None:
        lacks = run.manifest["facts"]["tasks"][task].get("lacks")
        return Cell(
            None, why=lacks or ("not a baseline of this task" if run.manifest["system"] in TRIVIAL else "not done")
        )
    return common.cell(run.find(measure.name), measure)


def _answered(run: Run, task: str) -> Any:
    return run.manifest["facts"]["tasks"][task].get("answered")


def _best(trivial: Sequence[Run], measure: Measure) -> tuple[Cell, Cell]:
    found = [
        (score.value, run.system) for run in trivial if (score := run.find(measure.name)) and score.value is not None
    ]
    if not found:
        return Cell(None, why="no baseline answers this task"), Cell("")
    value, name = (max if measure.direction == "up" else min)(found)
    return Cell(value), Cell(name.partition(" [")[0])


def _n(runs: Sequence[Run], measure: Measure, task: str) -> Cell:
    score = next((run.find(measure.name) for run in runs if _answered(run, task) is not None), None)
    return Cell(score.n) if score else Cell(0)


def _ceiling(run: Run, task: str, metric: str) -> Cell:
    found = run.manifest["facts"]["tasks"][task].get("ceiling_by_metric", {}).get(metric)
    return Cell(found) if found is not None else Cell(None, why="not known")


def _optional(fact: Mapping[str, Any], key: str, kind: Any) -> Cell:
    return Cell(kind(fact[key])) if fact.get(key) is not None else Cell(None, why="no classes")


def _smoke(run: Run) -> list[str]:
    facts = run.manifest["facts"]
    found = [f"artefacts: {facts['artefacts']} ({facts['episodes']} episodes)"]
    return found + (["simulated episodes, no recordings of people"] if facts.get("simulated") else [])


def _title(run: Run) -> str:
    protocol = run.manifest["protocol"]
    return f"{protocol['variant']}, {protocol['split'].get('name', '')}"
