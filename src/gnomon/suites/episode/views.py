"""Tables of ``episode`` runs: the tasks with baselines, ceilings and published figures; every metric; coverage."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from gnomon.core.errors import counted, some
from gnomon.core.measure import Measure
from gnomon.core.table import Cell, Column, Table, View, make_cells, text_columns
from gnomon.intake.limits import RUN
from gnomon.intake.tables import read_table
from gnomon.runs import tables as common
from gnomon.runs.run import Run
from gnomon.suites.episode.evaluation import CITED
from gnomon.suites.episode.features.blocks import NAMES
from gnomon.suites.episode.measured import of_task
from gnomon.suites.episode.options import HEADS, TRIVIAL
from gnomon.suites.episode.tasks.declared import TASKS

MOST_EPISODES = 4
"""Above this many episodes coverage is summed up over them."""
MOST_REASONS = 8
"""Reasons of masked blocks that are spelled out."""
LARGEST_MATRIX = 40
"""Above this many classes no confusion matrix is shown."""
DIGITS = 4


def tables(runs: Sequence[Run]) -> list[Table | View]:
    """Return what a reader of these runs should see, most important first."""
    first = next(iter(_heads(runs)), runs[0])
    first_table = common.leaderboard(runs, ()) if runs[0].chosen else overview(runs)
    items: list[Table | View | None] = [first_table, overlaps(runs), baselines(runs), details(runs)]
    items += [samples(first), unseen(first)]
    items.append(training(runs))
    if first.manifest["facts"].get("streams"):
        items.append(coverage(first))
    items += [gate_table(first), *(confusions(first) if len(runs) == 1 else ())]
    return [item for item in items if item is not None]


def _heads(runs: Sequence[Run]) -> list[Run]:
    return [run for run in runs if run.manifest["system"] not in TRIVIAL]


def _trivial(runs: Sequence[Run]) -> list[Run]:
    return [run for run in runs if run.manifest["system"] in TRIVIAL]


def _name(run: Run) -> str:
    """Return the name of a system without its variant, which the title of a table says."""
    return run.system.removesuffix(f" [{run.manifest['protocol']['variant']}]")


def overview(runs: Sequence[Run]) -> Table:
    """One row per task: every head with its interval, the best baseline, the ceiling, the published figures."""
    heads, trivial = _heads(runs), _trivial(runs)
    known = [name for name in HEADS if any(run.manifest["system"] == name for run in heads)]
    columns = [
        Column("task", "task"),
        Column("metric", "metric"),
        Column("n", "n test", "count"),
        *(Column(run.system, _name(run), "score", digits=DIGITS) for run in heads),
        *((Column("trivial", "best baseline", "score", digits=DIGITS), Column("which", "which")) if trivial else ()),
        *((Column("ceiling", "ceiling", "score", digits=DIGITS),) if runs[0].manifest["facts"].get("samples") else ()),
        *(Column(f"reported {name}", f"reported {name}", "score", digits=DIGITS) for name in known),
    ]
    rows = []
    for task in runs[0].manifest["protocol"]["tasks"]:
        measure = of_task(TASKS[task])[0]
        row = {
            "task": Cell(task),
            "metric": Cell(f"{TASKS[task].metric} {'↑' if TASKS[task].direction == 'up' else '↓'}"),
            "n": Cell(runs[0].manifest["facts"]["tasks"][task]["samples"]["test"]),
            **{run.system: _score(run, measure, task) for run in heads},
            **_best(trivial, measure),
            "ceiling": _ceiling(runs[0], task, TASKS[task].metric),
            **{f"reported {name}": Cell(TASKS[task].published[name]) for name in known},
        }
        rows.append(row)
    notes = [
        *(
            (
                "ceiling: what answers can reach at best with the classes that training shows and the texts that there "
                "are; copy_last is told the last label, also one that training never showed",
            )
            if runs[0].manifest["facts"].get("samples")
            else ()
        ),
        *([f"reported: {CITED}"] if known else ()),
        *_smoke(runs[0]),
        *common.notes(runs, []),
    ]
    return Table("scores", f"episode ({_title(runs[0])}): tasks", tuple(columns), tuple(rows), tuple(notes))


def overlaps(runs: Sequence[Run]) -> Table | None:
    """Headlines with and without the test samples that read what training samples read; None where none do."""
    rows = []
    for task in runs[0].manifest["protocol"]["tasks"]:
        measure = of_task(TASKS[task])[0]
        for run in _heads(runs):
            found = run.manifest["facts"]["tasks"][task].get("without_overlap")
            score = run.find(measure.name)
            if not found or score is None:
                continue
            value = found["value"]
            rows.append(
                {
                    **make_cells(task=task, metric=TASKS[task].metric, system=_name(run), left_out=found["left_out"]),
                    "with": Cell(score.value) if score.value is not None else Cell(None, why=score.why),
                    "without": Cell(value) if value is not None else Cell(None, why="nothing is left"),
                }
            )
    if not rows:
        return None
    columns = (
        Column("task", "task"),
        Column("metric", "metric"),
        Column("system", "system"),
        Column("left_out", "overlapping", "count"),
        Column("with", "with", "score", digits=DIGITS),
        Column("without", "without", "score", digits=DIGITS),
    )
    notes = ("overlapping: test samples whose input or target shares frames with what training samples read",)
    title = f"episode ({_title(runs[0])}): with and without overlapping test samples"
    return Table("overlaps", title, columns, tuple(rows), notes)


def baselines(runs: Sequence[Run]) -> Table | None:
    """One row per task and baseline that answers it."""
    columns = (
        *text_columns(task="task", metric="metric", baseline="baseline"),
        Column("n", "n", "count"),
        Column("value", "value", "score", digits=DIGITS),
    )
    rows = []
    for task in runs[0].manifest["protocol"]["tasks"]:
        measure = of_task(TASKS[task])[0]
        for run in _trivial(runs):
            if _answered(run, task) is None or (score := run.find(measure.name)) is None:
                continue
            rows.append(
                {
                    **make_cells(task=task, metric=measure.name.partition("[")[0], baseline=_name(run), n=score.n),
                    "value": common.cell(score, measure),
                }
            )
    notes = (
        "majority: the most frequent answer of training; copy_last: the last label before the target, which is told",
        "persistence: the hands seen last; random: drawn as in training; always_positive: the positive class",
    )
    title = f"episode ({_title(runs[0])}): baselines"
    return Table("baselines", title, columns, tuple(rows), notes) if rows else None


def details(runs: Sequence[Run]) -> Table | None:
    """One row per task, metric and head."""
    columns = (
        *text_columns(task="task", metric="metric", system="system"),
        Column("n", "n", "count"),
        Column("groups", f"{runs[0].roster.level}s", "count"),
        Column("value", "value", "score", digits=DIGITS),
    )
    rows = []
    shown = _heads(runs)
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
                        "system": Cell(_name(run)),
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
    title = f"episode ({_title(runs[0])}): every metric"
    return Table("metrics", title, columns, tuple(rows), notes) if rows else None


def samples(run: Run) -> Table:
    """Samples of every task, what was left out, and what training never showed."""
    keys = ("train", "test", "purged")
    columns = (
        Column("task", "task"),
        *(Column(key, key, "count") for key in keys),
        Column("dropped", "dropped", "count"),
        Column("reported", "reported train / test"),
    )
    rows, notes = [], []
    for task, fact in _by_task(run).items():
        dropped = fact.get("dropped", {})
        rows.append(
            {
                "task": Cell(task),
                **{key: Cell(fact["samples"].get(key, 0)) for key in keys},
                "dropped": Cell(sum(dropped.values())),
                "reported": Cell("{} / {}".format(*TASKS[task].published_n)),
            }
        )
        if dropped:
            notes.append(f"{task}, dropped: " + "; ".join(f"{why} {n}" for why, n in dropped.items()))
        if fact.get("lacks"):
            notes.append(f"{task}, not asked: {fact['lacks']}")
    return Table("samples", f"episode ({_title(run)}): samples", columns, tuple(rows), tuple(notes))


def unseen(run: Run) -> Table | None:
    """Classes of the test that training never showed, and what they leave attainable."""
    columns = (
        Column("task", "task"),
        Column("unseen", "unseen test classes", "count"),
        Column("n", "n test", "count"),
        Column("ceiling", "attainable", "score", digits=DIGITS),
        Column("names", "such as"),
    )
    rows = []
    for task, fact in _by_task(run).items():
        names = fact.get("unseen_test_classes") or []
        if fact.get("ceiling") is not None:
            row = {"task": task, "unseen": len(names), "n": fact["samples"]["test"], "ceiling": fact["ceiling"]}
            rows.append({key: Cell(value) for key, value in row.items()} | {"names": Cell(", ".join(names[:2]))})
    notes = ("attainable: accuracy; of object_relevance the share of its test names that training showed",)
    return Table("unseen", f"episode ({_title(run)}): unseen classes", columns, tuple(rows), notes) if rows else None


def _by_task(run: Run) -> dict[str, Any]:
    """Return the facts of every task, in the order of the tables."""
    facts = run.manifest["facts"]["tasks"]
    return {task: facts[task] for task in run.manifest["protocol"]["tasks"]}


def training(runs: Sequence[Run]) -> Table | None:
    """What heads learned from, and how."""
    rows = []
    for run in runs:
        for task, fact in _by_task(run).items():
            told = fact.get("answered", {}).get("training")
            if not told:
                continue
            losses = told.get("losses") or told.get("loss") or []
            row = make_cells(system=_name(run), task=task, rows=told.get("rows", fact["answered"].get("n_train", 0)))
            row["parameters"] = Cell(told.get("parameters"))
            row["loss"] = Cell(f"{abs(losses[0]):.3g} to {abs(losses[-1]):.3g}" if losses else "solved exactly")
            rows.append(row)
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
    names = [block for block in NAMES if any(block in one["coverage"] for one in streams.values())]
    shares = {block: {name: one["coverage"][block] for name, one in streams.items()} for block in names}
    if len(streams) <= MOST_EPISODES:
        columns = (Column("block", "block"), *(Column(name, name, "score", digits=3) for name in streams))
        rows = [
            {"block": Cell(block), **{name: Cell(share) for name, share in own.items()}}
            for block, own in shares.items()
        ]
    else:
        columns = (
            Column("block", "block"),
            Column("mean", f"mean of {len(streams)} episodes", "score", digits=3),
            Column("least", "least", "score", digits=3),
            Column("where", "in"),
        )
        rows = []
        for block, own in shares.items():
            where = min(own, key=own.__getitem__)
            mean = math.fsum(own.values()) / len(own)
            least = Cell(where if own[where] < 1 else "")
            rows.append({"block": Cell(block), "mean": Cell(mean), "least": Cell(own[where]), "where": least})
    notes = (_audio(streams), *_reasons(streams))
    return Table("coverage", "episode: share of every block that could be read", columns, tuple(rows), notes)


def _audio(streams: Mapping[str, Any]) -> str:
    found = {one["audio"]["present"] for one in streams.values()}
    known = {frozenset({True}): "present", frozenset({False}): "absent", frozenset({None}): "not looked at"}
    return f"audio: {known.get(frozenset(found), 'present in some')}, featurized: false"


def _reasons(streams: Mapping[str, Any]) -> list[str]:
    """Say why blocks are masked, once for all blocks of all episodes that it holds for."""
    found: dict[str, dict[str, set[str]]] = {}
    for name, one in streams.items():
        for block, why in one["masked"].items():
            own = found.setdefault(why, {"blocks": set(), "episodes": set()})
            own["blocks"].add(block)
            own["episodes"].add(name)
    lines = [
        f"{some(sorted(own['blocks'], key=NAMES.index))} in {some(sorted(own['episodes']))}: {why}"
        for why, own in found.items()
    ]
    more = len(lines) - MOST_REASONS
    return lines[:MOST_REASONS] + ([f"... and {more} more reasons"] if more > 0 else [])


def gate_table(run: Run) -> Table:
    """The gate before a claim about fine-tuning."""
    from gnomon.suites.episode.gate import conditions, is_open

    facts = run.manifest["facts"]
    columns = text_columns(condition="condition", needed="needed", found="found", met="met")
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


def confusions(run: Run) -> list[View]:
    """Return a confusion matrix for every task with few classes; ``(none)`` is the column of missing answers."""
    answers = _answers(run)
    if answers is None:
        return []
    found = []
    counts = answers.group_by(answers.column_names).aggregate([([], "count_all")]).to_pylist()
    for task in run.manifest["protocol"]["tasks"]:
        if TASKS[task].kind not in ("label", "binary", "pair"):
            continue
        pairs = Counter[tuple[str, str]]()
        for row in counts:
            if row["task"] == task and row["truth"]:
                pairs[row["truth"], row["prediction"] or ""] += row["count_all"]
        classes = sorted({label for pair in pairs for label in pair if label})
        if not pairs or len(classes) > LARGEST_MATRIX:
            continue
        answered = [*classes, *([""] if any(not answer for _, answer in pairs) else [])]
        data = {
            "labels": classes,
            "predicted": [label or "(none)" for label in answered],
            "counts": [[pairs[truth, answer] for answer in answered] for truth in classes],
        }
        found.append(View(f"confusion_{task}", f"episode: {task}, truth by answer of {_name(run)}", "matrix", data))
    return found


def _answers(run: Run) -> pa.Table | None:
    """Return what was answered: of a run in memory, or from its directory; None where neither is there."""
    columns = ["task", "truth", "prediction"]
    if run.table is not None:
        return pa.table({name: run.table[name].cast(pa.string()) for name in columns})
    path = None if run.path is None else run.path / "predictions.parquet"
    if path is None or not path.is_file():
        return None
    return read_table(path, text=columns, columns=columns, limits=RUN)


def _score(run: Run, measure: Measure, task: str) -> Cell:
    """Return the score of a head; why a task was not answered stands under the table."""
    return Cell(None) if _answered(run, task) is None else common.cell(run.find(measure.name), measure)


def _answered(run: Run, task: str) -> Any:
    return run.manifest["facts"]["tasks"][task].get("answered")


def _best(trivial: Sequence[Run], measure: Measure) -> dict[str, Cell]:
    """Return the best baseline and its name; undefined where none answers."""
    found = [(score.value, run) for run in trivial if (score := run.find(measure.name)) and score.value is not None]
    if not found:
        return {"trivial": Cell(None), "which": Cell("")} if trivial else {}
    value, run = (max if measure.direction == "up" else min)(found, key=lambda item: item[0])
    return {"trivial": Cell(common.shown(value, measure)), "which": Cell(_name(run))}


def _ceiling(run: Run, task: str, metric: str) -> Cell:
    return Cell(run.manifest["facts"]["tasks"][task].get("ceiling_by_metric", {}).get(metric))


def _smoke(run: Run) -> list[str]:
    facts = run.manifest["facts"]
    found = [f"artefacts: {facts['artefacts']} ({counted(facts['episodes'], 'episode')})"]
    return found + (["simulated episodes, no recordings of people"] if facts.get("simulated") else [])


def _title(run: Run) -> str:
    protocol = run.manifest["protocol"]
    return f"{protocol['variant']}, {protocol['split'].get('name', '')}"
