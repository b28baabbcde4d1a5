"""Answers to tasks, tallied over annotated segments, and the evaluation of a system that is made of the tallies.

There is one tally of the answers to a task (:func:`tally_task`) and one function that makes an evaluation
(:func:`assemble`), for answers in files, in shards and of the cells of ``run``. Answers that are held whole are tallied
over all cases of the ground (:func:`tally_whole`). Shards are tallied an episode after another, over the segments of
each, and their parts are put onto the cases of the ground one at a time: what stays of all episodes is the tallies of
every segment, and the table of a run, whose columns hold a code where texts repeat. Vectors in shards are not kept.

Where no test sample of a task reads what training samples read, as in ``strict``, the tallies without such samples are
those of all, and are not kept twice.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gnomon.audit import Audit
from gnomon.core.canonical import fingerprint
from gnomon.core.cases import Roster
from gnomon.core.evidence import Finding
from gnomon.core.ledgers import Ledger
from gnomon.core.tallies import Array, Tallies, natural_key
from gnomon.engine.scoring import Partials
from gnomon.runs import parts
from gnomon.runs.alignment import POOL
from gnomon.runs.parts import Part
from gnomon.runs.run import Evaluation
from gnomon.runs.variants import DIFFERS, REPORTED, REPORTED_BY
from gnomon.suites.episode import audited, gate
from gnomon.suites.episode import protocol as rules
from gnomon.suites.episode.answers import ROW, Answers, Tallied, pool_named, table, tallied
from gnomon.suites.episode.ground import Ground
from gnomon.suites.episode.heads import form
from gnomon.suites.episode.measured import of_task
from gnomon.suites.episode.tasks.declared import TASKS
from gnomon.suites.episode.tasks.sampling import TaskData
from gnomon.suites.episode.tasks.splitting import DISJOINT, TEST, TRAIN

CITED = (
    "as published for one episode of 5,821 frames, without intervals and with the leaks that the audit of the "
    "published variant names"
)
KEPT = ("coverage", "masked", "invalid_frames", "frames", "audio")
"""What a run records of the features of every episode."""
ROWS = "rows.parquet"
"""Rows of the answers in a shard, beside its part."""
REPEATED = [name for name in ROW if name not in ("sample", "value")]
"""Columns of rows in which texts repeat."""
CLEAR = "clear__"
"""Before the names of tallies without samples that overlap training."""
Facts = Mapping[str, Any]
Keep = Callable[[Ground, Mapping[str, pa.Table]], dict[str, bytes]]
"""Returns the file of the snapshots of a run, by the rows of every task."""


@dataclass(frozen=True)
class About:
    """What a run records of how it was made."""

    coverage: Mapping[str, Any]
    options: Mapping[str, Any]
    inputs: tuple[Mapping[str, Any], ...]
    facts: Mapping[str, Any]
    findings: tuple[Finding, ...] = ()
    """Of this system; those of the ground come first."""


def tally_task(answers: Answers, data: TaskData, roster: Roster | None = None) -> Part:
    """Tally the answers to a task over the cases of a roster; without one, over the segments that they are of."""
    test = data.of(TEST)
    roster = _segments(data, test) if roster is None else roster
    place = {name: index for index, name in enumerate(roster.ids)}
    case = np.array([place[data.segment[row]] for row in test.tolist()], dtype=np.int64)
    done = tallied(answers, data, test, case, len(roster))
    family = of_task(answers.task)[0].family
    kept, clear = _without_overlap(answers, data, case, done, family)
    facts = {
        "task": data.task.name,
        "episodes": list(data.recorded),
        "n": len(answers.ids),
        "missing": answers.facts.get("missing", 0),
        "answered": dict(answers.facts),
        "classes": list(answers.classes),
        "left_out": len(test) - kept,
        "clear": kept,
        "families": list(done.tallies),
        "ledgers": list(done.ledgers),
        "done": done.facts,
    }
    return Part(roster, {**done.tallies, f"{CLEAR}{family}": clear}, done.ledgers, facts, table=done.rows)


def _segments(data: TaskData, places: Array) -> Roster:
    """Return the segments of some samples as cases."""
    of = {data.segment[row]: data.episode[row] for row in places.tolist()}
    ids = tuple(sorted(of, key=natural_key))
    groups = tuple(of[name] for name in ids)
    return Roster(ids, groups, {"episode": groups}, "episode")


def _without_overlap(answers: Answers, data: TaskData, case: Array, done: Tallied, family: str) -> tuple[int, Tallies]:
    """Tally a task without the test samples that read what training samples read; return how many others there are."""
    train, test = data.of(TRAIN), data.of(TEST)
    reads, ends = data.reads, np.full(len(data.recorded), -1, dtype=np.int64)
    np.maximum.at(ends, data.numbers[train], reads[train, 1])
    kept = np.flatnonzero(reads[test, 0] >= ends[data.numbers[test]])
    if len(kept) < len(test):
        done = tallied(answers.take(kept), data, test[kept], case[kept], done.tallies[family].n_cases)
    return len(kept), done.tallies[family]


def tally_whole(ground: Ground, answers: Mapping[str, Answers]) -> Part:
    """Tally the answers to every task over all cases of the ground, and keep those that are vectors."""
    made = _drop_equal([tally_task(one, ground.data[task], ground.roster) for task, one in answers.items()])
    return Part(
        ground.roster,
        {name: one for part in made for name, one in part.tallies.items()},
        {name: one for part in made for name, one in part.ledgers.items()},
        {"tasks": [part.facts for part in made], "lost": []},
        table=_stack_rows(made),
        files={f"{task}.npz": one.packed() for task, one in answers.items() if form(one.task.kind) == "vectors"},
    )


def merge_tasks(made: Sequence[Part], lost: Sequence[tuple[str, str]]) -> Part:
    """Make the part of a shard of those of its tasks and episodes; ``lost``: those that there are no answers to."""
    made = _drop_equal(made)
    merged = parts.folded(made) if made else Part(Roster((), (), {"episode": ()}, "episode"), {})
    facts = {"tasks": [part.facts for part in made], "lost": list(lost)}
    rows = io.BytesIO()
    pq.write_table(_stack_rows(made), rows)
    return replace(merged, facts=facts, table=None, files={ROWS: rows.getvalue()})


def _drop_equal(made: Sequence[Part]) -> list[Part]:
    """Drop the tallies without samples that overlap training, where no sample of the task does."""
    overlap = {part.facts["task"] for part in made if part.facts["left_out"]}
    return [
        part
        if part.facts["task"] in overlap
        else replace(part, tallies={name: one for name, one in part.tallies.items() if not name.startswith(CLEAR)})
        for part in made
    ]


def _stack_rows(made: Sequence[Part]) -> pa.Table:
    return pa.concat_tables([part.table for part in made]) if made else table()


def assemble(ground: Ground, partials: Partials, tasks: Iterable[str], about: About, keep: Keep) -> Evaluation:
    """Make the evaluation of what was tallied of some tasks, over the cases of the ground."""
    facts = [fact for own in partials.facts.values() for fact in own["tasks"]]
    by_task = {task: [fact for fact in facts if fact["task"] == task] for task in tasks}
    done = _merge_tallies(ground, partials, by_task)
    said = _describe_answers(partials, by_task)
    system = partials.system.name
    tallies, ledgers = _filled(ground, done)
    known = _facts(ground, system, said, done, about.facts)
    told = tuple(finding for task, one in done.items() for finding in _ties(task, one))
    ranked = any("queries" in one.facts for one in done.values())
    audit = (ground.audit or Audit()).add("tied-ranks", told) if ranked else ground.audit
    return Evaluation(
        protocol=rules.protocol(
            ground.variant, list(ground.tasks), ground.roster.level, split=ground.split, settings=ground.settings
        ),
        suite="episode",
        system=system,
        roster=ground.roster,
        tallies=tallies,
        data=fingerprint({"episode": dict(sorted(ground.content.items()))}),
        table=pa.concat_tables([one.rows for one in done.values()]) if done else table(),
        ledgers=ledgers,
        coverage=about.coverage,
        findings=(*ground.findings, *about.findings),
        inputs=about.inputs,
        options=about.options,
        facts=known,
        samples=ground.samples,
        audit=audit,
        files={
            **ground.files,
            **gate.files(ground.variant, ground.split, known),
            **_by_class(done),
            **keep(ground, {task: one.rows for task, one in done.items()}),
            **(partials[0][1].files if partials.is_whole else {}),
        },
    )


def _merge_tallies(ground: Ground, partials: Partials, by_task: Mapping[str, Sequence[Facts]]) -> dict[str, Tallied]:
    """Return what was tallied of every task over the cases of the ground."""
    if partials.is_whole:
        whole: Part = partials[0][1]
    else:
        every = partial(map, itemgetter(1), partials)
        whole = parts.placed(every, ground.roster, lambda name: not name.startswith(CLEAR))
    rows = _rows(partials, list(ground.content))
    return {
        task: Tallied(
            {name: whole.tallies[name] for name in own[0]["families"]},
            {name: whole.ledgers[name] for name in own[0]["ledgers"]},
            rows[task],
            dict(own[0]["done"]),
        )
        for task, own in by_task.items()
    }


def _rows(partials: Partials, episodes: Sequence[str]) -> dict[str, pa.Table]:
    """Return the rows of all chunks by task, in the order of episodes; those of a task and episode are in one of them.

    Texts that repeat are codes where rows are read from shards.
    """
    order = {name: place for place, name in enumerate(episodes)}
    found: dict[str, dict[int, pa.Table]] = {}
    for held, about in zip(_tables(partials), partials.facts.values(), strict=True):
        at = 0
        for fact in about["tasks"]:
            found.setdefault(fact["task"], {})[order[fact["episodes"][0]]] = held.slice(at, fact["n"])
            at += fact["n"]
    return {
        task: pa.concat_tables([own[place] for place in sorted(own)]).unify_dictionaries().combine_chunks()
        for task, own in found.items()
    }


def _tables(partials: Partials) -> Iterator[pa.Table]:
    """Give the rows of every chunk."""
    if partials.is_whole:
        yield partials[0][1].table
    for _, folder in partials.folders:
        yield pq.read_table(folder / ROWS, read_dictionary=REPEATED)


def _describe_answers(partials: Partials, by_task: Mapping[str, Sequence[Facts]]) -> dict[str, dict[str, Any]]:
    """Return, by task, what is recorded of the answers besides what was tallied.

    ``without_overlap`` is the score without the test samples that read what training samples read; None where there are
    no such samples.
    """
    cleared = _cleared(partials, [task for task, own in by_task.items() if any(fact["left_out"] for fact in own)])
    found = {}
    for task, own in by_task.items():
        left_out, n, missing = (sum(fact[name] for fact in own) for name in ("left_out", "clear", "missing"))
        known = {**own[0]["answered"], **({"missing": missing} if missing else {})}
        rest = None
        if task in cleared:
            scored = of_task(TASKS[task])[0].score(cleared[task].total())
            rest = {"left_out": left_out, "n": n, "value": float(scored.values) if bool(scored.defined) else None}
        found[task] = {"answered": known, "without_overlap": rest}
    return found


def _cleared(partials: Partials, tasks: Collection[str]) -> dict[str, Tallies]:
    """Return the tallies of tasks without samples that overlap training; a shard in which none does has one kind."""
    families = {task: of_task(TASKS[task])[0].family for task in tasks}
    held: dict[str, list[Tallies]] = {task: [] for task in tasks}
    for _, part in partials if tasks else ():
        for task, family in families.items():
            own = part.tallies.get(f"{CLEAR}{family}", part.tallies.get(family))
            if own is not None:
                held[task].append(own)
    return {task: Tallies.stack(own) for task, own in held.items()}


def _filled(ground: Ground, done: Mapping[str, Tallied]) -> tuple[dict[str, Tallies], dict[str, Ledger]]:
    """Return tallies and ledgers of all tasks; those that the system did not answer hold nothing."""
    tallies = {name: one for found in done.values() for name, one in found.tallies.items()}
    ledgers = {name: one for found in done.values() for name, one in found.ledgers.items()}
    n = len(ground.roster)
    for task in ground.tasks:
        for measure in of_task(TASKS[task]):
            if measure.layout and measure.family not in tallies:
                tallies[measure.family] = _nothing(measure.layout, n)
            name = getattr(measure, "ledger", "")
            if not measure.layout and name not in ledgers:
                columns = {column: np.zeros(0, dtype=np.int64) for column in measure.columns}  # type: ignore[attr-defined]
                ledgers[name] = Ledger(np.zeros(0, dtype=np.int64), columns)
    return tallies, ledgers


def _nothing(layout: Any, n: int) -> Tallies:
    from gnomon.measures.retrieval import AXES

    axes = {axis: AXES.get(axis, ()) for item in layout for axis in item.axes}
    fields: dict[str, Array] = {
        item.name: np.zeros(
            (n, *(len(axes[axis]) for axis in item.axes)), dtype=np.int64 if item.kind == "count" else np.float64
        )
        for item in layout
    }
    return Tallies(layout, axes, fields)


def _facts(
    ground: Ground, system: str, answers: Mapping[str, Facts], done: Mapping[str, Tallied], facts: Facts
) -> dict[str, Any]:
    """Return what a run records, and what its claims are judged by."""
    apart = int(ground.split.get("name") == DISJOINT)
    given = len(ground.content)
    not_valid = ground.not_valid
    valid = given - len(not_valid)
    answered = int(bool(answers))
    tasks = {}
    for name, outline in ground.tasks.items():
        own = dict(outline.facts)
        own["ceiling_by_metric"] = dict(ground.ceilings.get(name, {}))
        own["lacks"] = outline.lacks
        if name in answers:
            own |= answers[name]
            own |= {key: value for key, value in done[name].facts.items() if key not in ("queries", "positives")}
        tasks[name] = own
    trained = any("training" in one["answered"] for one in answers.values())
    found = {
        "tasks": tasks,
        "episodes": given,
        "valid_episodes": valid,
        "not_valid": not_valid,
        "test_episodes": sorted(ground.tested),
        "episodes_apart": apart,
        "held_out_evaluation": apart * answered,
        "manifest": 1,
        "metrics": answered,
        "predictions": answered,
        "run_report": 0,
        "fine_tuned": 0,
        "training_metadata": int(trained),
        "progress_logs": int(bool(facts.get("progress_logs"))),
        "pixel_targets": 0,
        "audio_features": 0,
        "real_episodes": int(not ground.simulated),
        "simulated": list(ground.simulated),
        "left_out": dict(ground.left_out),
        "streams": {name: {key: one[key] for key in KEPT if key in one} for name, one in ground.streams.items()},
        "artefacts": "full" if valid >= rules.VALID_EPISODES else "smoke",
        **{key: value for key, value in facts.items() if key != "progress_logs"},
    }
    reported = {
        f"{one.metric}[{name}]": one.published[system] for name, one in _declared(ground) if system in one.published
    }
    pools = [pool_named(name, one.ranked) for name, one in ground.tasks.items() if one.task.kind == "retrieval"]
    if pools:
        found[POOL] = fingerprint(pools)
    if reported:
        found |= {REPORTED: reported, REPORTED_BY: CITED}
    if ground.variant == "strict":
        found[DIFFERS] = list(rules.DIFFERENT)
    return found


def _declared(ground: Ground) -> list[tuple[str, Any]]:
    return [(name, TASKS[name]) for name in ground.tasks]


def _ties(task: str, done: Tallied) -> tuple[Finding, ...]:
    """Check the ties of a ranking, which is scored by the mean over their order."""
    if "queries" not in done.facts:
        return ()
    family = next(name for name in done.tallies if name.startswith("retrieval"))
    totals = done.tallies[family].total()
    n = float(totals["n"])
    if not n:
        return ()
    forms = dict(zip(totals.axes["form"], (totals["reciprocal"] / n).tolist(), strict=True))
    return audited.ties(task, forms, "average", done.facts["queries"], done.facts["positives"])


def _by_class(done: Mapping[str, Tallied]) -> dict[str, bytes]:
    """Return ``per_class.csv`` and ``confusion.csv`` of the tasks with classes."""
    classes, pairs = [], []
    for task, one in done.items():
        for name, tallies in one.tallies.items():
            if not name.startswith("episode_"):
                continue
            total = tallies.total()
            missing = of_task(TASKS[task])[0].missing(total)  # type: ignore[attr-defined]
            more = np.broadcast_to(missing.of_each, total["tp"].shape)
            columns = [*(total[key] for key in ("tp", "truth", "predicted")), more]
            for label, tp, truth, predicted, lost in zip(
                total.axes["class"], *(column.tolist() for column in columns), strict=True
            ):
                ratio = [_ratio(tp, predicted + lost), _ratio(tp, truth), _ratio(2 * tp, truth + predicted + lost)]
                classes.append([task, label, truth, predicted, tp, *ratio])
        if TASKS[task].kind in ("label", "binary", "pair"):
            pairs += [[task, *own] for own in _pairs(one.rows)]
    found = {}
    if classes:
        head = ["task", "class", "truth", "predicted", "tp", "precision", "recall", "f1"]
        found["per_class.csv"] = _csv(head, classes)
    if pairs:
        found["confusion.csv"] = _csv(["task", "truth", "predicted", "count"], pairs)
    return found


def _pairs(rows: pa.Table) -> list[tuple[str, str, int]]:
    """Return what was true and what was answered, and how often, sorted."""
    sides = pa.table({name: rows[name].cast(pa.string()) for name in ("truth", "prediction")})
    counts = sides.group_by(sides.column_names).aggregate([([], "count_all")])
    return sorted(zip(*(counts[name].to_pylist() for name in (*sides.column_names, "count_all")), strict=True))


def _ratio(top: int, bottom: int) -> str:
    return f"{top / bottom:.6f}" if bottom else ""


def _csv(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return text.getvalue().encode()
