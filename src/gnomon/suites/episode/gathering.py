"""From the parts of shards to the evaluation of a system: one part after another is put in place.

What stays of all episodes is the tallies of every segment, and the table of a run, whose columns hold a code where
texts repeat; the run does not keep vectors.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from gnomon.core import options as opt
from gnomon.core.errors import InputError, some
from gnomon.core.tallies import Tallies
from gnomon.engine import folding
from gnomon.engine.job import Outcome
from gnomon.intake.sources import Source
from gnomon.runs import parts
from gnomon.runs.run import Evaluation
from gnomon.suites.episode import exhibits
from gnomon.suites.episode.answers import ROW, Tallied
from gnomon.suites.episode.ground import Ground
from gnomon.suites.episode.heads import form
from gnomon.suites.episode.measured import of_task
from gnomon.suites.episode.options import ScoreOptions
from gnomon.suites.episode.predictions import findings, possible
from gnomon.suites.episode.scoring import About, Clear, Said, assembled, without_overlap
from gnomon.suites.episode.tallying import CLEAR, ROWS
from gnomon.suites.episode.tasks.declared import TASKS

Facts = Mapping[str, Any]
REPEATED = [name for name in ROW if name not in ("sample", "value")]
"""Columns of rows in which texts repeat."""


@dataclass(frozen=True)
class Given:
    """What is known of a system before its shards are scored."""

    source: Source
    cells: Sequence[str]
    """Names of the cells of its files."""
    tried: Collection[str]
    """Tasks that its files answer; where one is not there in the end, its cells say why."""
    others: Sequence[Path] = ()
    """Files beside shards, which are none by their suffix."""


def evaluation(
    ground: Ground, given: Given, outcome: Outcome, options: ScoreOptions, keeper: exhibits.Keeper
) -> Evaluation:
    """Put the parts of a system together."""
    read, where = folding.Stored(list(outcome.done.items())), given.source.where
    told = [dict(part.facts) for _, part in read]
    _check_lost([(task, episode) for one in told for task, episode in one["lost"]], where)
    facts = [fact for one in told for fact in one["tasks"]]
    answered = {fact["task"] for fact in facts}
    if not answered:
        if outcome.missing:
            raise folding.nothing_scored(where, outcome)
        raise InputError(f"{where}: no test sample is answered: nothing can be scored")
    by_task = {task: [fact for fact in facts if fact["task"] == task] for task in possible(ground, answered, where)}
    rows = _rows(outcome.done.values(), told, list(ground.content))
    about = About(
        coverage={
            "policy": {"missing": options.missing},
            **_coverage(ground, given, outcome, by_task, asked=sum(ground.tasks[task].asked for task in answered)),
        },
        options=opt.record(replace(options, predictions=(where,))),
        inputs=(),
        facts={"seed": options.seed},
    )
    classes = {task: sorted({name for fact in own for name in fact["classes"]}) for task, own in by_task.items()}
    missing = about.coverage["samples"]["missing"]
    found = findings(ground, where, {*answered, *given.tried}, classes, missing)
    cleared = _cleared(read, [task for task, own in by_task.items() if any(fact["left_out"] for fact in own)])
    said = {task: _said(own, cleared.get(task)) for task, own in by_task.items()}
    found += folding.left_alone(given.others)
    ground = replace(ground, findings=(*ground.findings, *found))
    return assembled(ground, given.source.name, _tallied(ground, read, by_task, rows), said, about, keeper)


def _check_lost(lost: Sequence[tuple[str, str]], where: str) -> None:
    """Refuse that there are no answers where there have to be some."""
    if lost:
        named = some([f"{task} of {episode}" for task, episode in lost])
        raise InputError(f"{where}: no answers to {named}; add them{_offered({task for task, _ in lost})}")


def _coverage(
    ground: Ground, given: Given, outcome: Outcome, by_task: Mapping[str, Sequence[Facts]], *, asked: int
) -> dict[str, Any]:
    """Return what was scored of the samples that were asked for."""
    every = [fact for own in by_task.values() for fact in own]
    scored = sum(fact["n"] for fact in every)
    complete = scored == asked and outcome.complete and not ground.left_out
    return {
        "complete": complete,
        "samples": {"truth": asked, "scored": scored, "missing": sum(fact["missing"] for fact in every)},
        "tasks": {"asked": list(ground.tasks), "answered": list(by_task)},
        "shards": {"given": len(given.cells), "scored": sum(cell in outcome.done for cell in given.cells)},
        **folding.cells(outcome, complete=complete),
    }


def _tallied(
    ground: Ground, read: folding.Stored, by_task: Mapping[str, Sequence[Facts]], rows: Mapping[str, pa.Table]
) -> dict[str, Tallied]:
    """Put what parts hold onto the cases of the ground, by task."""
    whole = parts.placed(lambda: (part for _, part in read), ground.roster, lambda name: not name.startswith(CLEAR))
    return {
        task: Tallied(
            {name: whole.tallies[name] for name in own[0]["families"]},
            {name: whole.ledgers[name] for name in own[0]["ledgers"]},
            rows[task],
            dict(own[0]["done"]),
        )
        for task, own in by_task.items()
    }


def _offered(tasks: Collection[str]) -> str:
    """Return what else may be done where answers to some tasks are missing: a vector cannot count as wrong.

    Answers that are labels are missing only as long as they are not asked to count as wrong.
    """
    by_vectors = {form(TASKS[task].kind) == "vectors" for task in tasks}
    if False not in by_vectors:
        return ""
    return f", or choose --missing wrong{' where answers are labels' if True in by_vectors else ''}"


def _rows(folders: Iterable[Path], told: Sequence[Mapping[str, Any]], episodes: Sequence[str]) -> dict[str, pa.Table]:
    """Return the rows of all shards by task, in the order of episodes; those of a task and episode are in one of them.

    Texts that repeat are codes.
    """
    order = {name: place for place, name in enumerate(episodes)}
    found: dict[str, dict[int, pa.Table]] = {}
    for folder, about in zip(folders, told, strict=True):
        held, at = pq.read_table(folder / ROWS, read_dictionary=REPEATED), 0
        for fact in about["tasks"]:
            found.setdefault(fact["task"], {})[order[fact["episodes"][0]]] = held.slice(at, fact["n"])
            at += fact["n"]
    return {
        task: pa.concat_tables([own[place] for place in sorted(own)]).unify_dictionaries().combine_chunks()
        for task, own in found.items()
    }


def _cleared(read: folding.Stored, tasks: Sequence[str]) -> dict[str, Tallies]:
    """Return the tallies of tasks without samples that overlap training; a shard in which none does has one kind."""
    families = {task: of_task(TASKS[task])[0].family for task in tasks}
    held: dict[str, list[Tallies]] = {task: [] for task in tasks}
    for _, part in read if tasks else ():
        for task, family in families.items():
            own = part.tallies.get(f"{CLEAR}{family}", part.tallies.get(family))
            if own is not None:
                held[task].append(own)
    return {task: Tallies.stack(own) for task, own in held.items()}


def _said(facts: Sequence[Mapping[str, Any]], cleared: Tallies | None) -> Said:
    """Return what is recorded of the answers to a task; ``cleared`` is there where some samples overlap training."""
    left_out, n, missing = (sum(fact[name] for fact in facts) for name in ("left_out", "clear", "missing"))
    known = {"missing": missing} if missing else {}
    if cleared is None:
        return Said(known, None)
    measure = of_task(TASKS[facts[0]["task"]])[0]
    return Said(known, without_overlap(Clear(measure, left_out, n, cleared)))
