"""The cell of a shard: its answers are tallied, an episode after another, and no more than one episode is held.

What it leaves is a part (:mod:`gnomon.runs.parts`) and the rows of its answers. Where no test sample of a task reads
what training samples read, as in ``strict``, the tallies without such samples are those of all, and are not kept twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gnomon.core.cases import Roster
from gnomon.core.errors import InputError
from gnomon.core.tallies import natural_key
from gnomon.intake.shards import unchanged
from gnomon.intake.unread import CELL, reading_for
from gnomon.runs import parts
from gnomon.runs.parts import Part
from gnomon.suites.episode import cells
from gnomon.suites.episode.answers import Answers, table, tallied
from gnomon.suites.episode.features.stored import Features
from gnomon.suites.episode.given import Told, episode_of, read_unit
from gnomon.suites.episode.heads import form
from gnomon.suites.episode.predictions import answered
from gnomon.suites.episode.scoring import clear
from gnomon.suites.episode.tasks.data import Recorded
from gnomon.suites.episode.tasks.declared import TASKS
from gnomon.suites.episode.tasks.sampling import TaskData
from gnomon.suites.episode.tasks.splitting import TEST
from gnomon.suites.episode.unread import stored

ROWS = "rows.parquet"
CLEAR = "clear__"
"""Before the names of tallies without samples that overlap training."""


@dataclass(frozen=True)
class Lost:
    """A task of an episode that there have to be answers to, and are none."""

    task: str
    episode: str


def tally(arguments: Mapping[str, Any], needs: Mapping[str, Path], out: Path) -> None:
    """Tally one shard, an episode after another, unless it is not what it was; a cell of the engine."""
    with unchanged([(arguments["path"], arguments["known"])]):
        _tally(arguments, needs, out)


def _tally(arguments: Mapping[str, Any], needs: Mapping[str, Path], out: Path) -> None:
    path = arguments["path"]
    with reading_for(CELL):
        told = read_unit(arguments["unit"], Path(path)) if path else {}
    if path and (arguments["told"] is None or set(told) != set(arguments["told"])):
        raise InputError(f"{path}: changed while it was scored; give the same command again")
    by_episode = {task: _by_episode(one, arguments["told"][task]) for task, one in told.items() if not _ranked(task)}
    made: list[Part] = []
    rows: list[pa.Table] = []
    lost: list[tuple[str, str]] = []
    for episodes, tasks in _turns(arguments):
        recorded = [_recorded(name, needs, len(episodes)) for name in episodes]
        for task in tasks:
            own = told.get(task) if _ranked(task) else by_episode.get(task, {}).get(episodes[0])
            found = _tallied(task, recorded, own, arguments)
            if isinstance(found, Lost):
                lost.append((found.task, found.episode))
            elif found is not None:
                made.append(found[0])
                rows.append(found[1])
        del recorded  # so that the next ones find the memory free
    facts = [part.facts for part in made]
    overlap = {fact["task"] for fact in facts if fact["left_out"]}
    made = [part if part.facts["task"] in overlap else _without_clear(part) for part in made]
    whole_part = parts.folded(made) if made else Part(Roster((), (), {"episode": ()}, "episode"), {})
    parts.write(replace(whole_part, facts={"tasks": facts, "lost": lost}), out)
    pq.write_table(pa.concat_tables(rows) if rows else table(), out / ROWS)


def _without_clear(part: Part) -> Part:
    return replace(part, tallies={name: one for name, one in part.tallies.items() if not name.startswith(CLEAR)})


def _ranked(task: str) -> bool:
    """Say whether the answers to a task are ranked among all of them."""
    return TASKS[task].kind == "retrieval"


def _by_episode(told: Told, episodes: Sequence[str]) -> dict[str, Told]:
    """Return the answers to a task for each of some episodes, which are all that it holds answers for."""
    known = set(episodes)
    labels: dict[str, dict[str, str]] = {name: {} for name in episodes}
    rows: dict[str, dict[str, int]] = {name: {} for name in episodes}
    for sample, label in told.labels.items():
        labels[episode_of(sample, known)][sample] = label
    for sample, row in told.rows.items():
        rows[episode_of(sample, known)][sample] = row
    return {name: replace(told, labels=labels[name], rows=rows[name]) for name in episodes}


def _turns(arguments: Mapping[str, Any]) -> list[tuple[list[str], list[str]]]:
    """Return the episodes that are read at a time, and the tasks that are scored of them.

    An episode is read once for all tasks; a task that ranks its answers among all candidates needs every episode.
    """
    asked = {task: names for task, names in arguments["told"].items() if task in arguments["tasks"]}
    ranked = [task for task in asked if _ranked(task)]
    by_episode: dict[str, list[str]] = {}
    for task, names in asked.items():
        for name in names if task not in ranked else ():
            by_episode.setdefault(name, []).append(task)
    found = [([name], tasks) for name, tasks in by_episode.items()]
    return [*found, *((list(arguments["episodes"]), [task]) for task in ranked)]


def _tallied(
    task: str, recorded: list[Recorded], told: Told | None, arguments: Mapping[str, Any]
) -> tuple[Part, pa.Table] | Lost | None:
    """Tally a task in some episodes; return what is lacking where there have to be answers and are none."""
    path, missing = arguments["path"], arguments["missing"]
    data = cells.built(task, recorded, arguments)
    if not path and not len(data.of(TEST)):
        return None
    if not path and (missing == "error" or form(data.task.kind) == "vectors"):
        return Lost(task, recorded[0].id)
    return _part(answered(told or Told(arguments["unit"], {}, {}, np.zeros((0, 0))), data, missing), data)


def _recorded(name: str, needs: Mapping[str, Path], count: int) -> Recorded:
    """Read an episode from its artefacts: whole where it is alone, else its streams when they are asked for."""
    annotation, features = needs[f"annotation {name}"], needs.get(f"features {name}")
    if count == 1:
        return cells.read(annotation, features)
    return stored(annotation, None if features is None else Features.read(features))


def _part(answers: Answers, data: TaskData) -> tuple[Part, pa.Table]:
    """Tally answers over the segments that they are of; return the rows of the table of a run, too."""
    test = data.of(TEST)
    of = {data.segment[row]: data.episode[row] for row in test.tolist()}
    ids = tuple(sorted(of, key=natural_key))
    groups = tuple(of[name] for name in ids)
    place = {name: index for index, name in enumerate(ids)}
    case = np.array([place[data.segment[row]] for row in test.tolist()], dtype=np.int64)
    done = tallied(answers, data, test, case, len(ids))
    rest = clear(answers, data, case, done)
    facts = {
        "task": data.task.name,
        "episodes": list(data.recorded),
        "n": len(answers.ids),
        "missing": answers.facts.get("missing", 0),
        "classes": list(answers.classes),
        "left_out": rest.left_out,
        "clear": rest.n,
        "families": list(done.tallies),
        "ledgers": list(done.ledgers),
        "done": done.facts,
    }
    tallies = {**done.tallies, f"{CLEAR}{rest.measure.family}": rest.tallies}
    return Part(Roster(ids, groups, {"episode": groups}, "episode"), tallies, done.ledgers, facts), done.rows
