"""Answers to tasks that were made elsewhere, as users give them: tables of labels and arrays of vectors.

A system is a table, or a folder that holds such a table as ``labels.csv`` (or another suffix) and a file ``TASK.npz``
for every task that is answered by vectors. In Python a table may be in memory, and a mapping stands for a folder:
``{"labels": table, "caption_grounding": {"samples": ids, "values": vectors}}``.

Table: ``task, sample, label``
    A class for every test sample of a task; for ``object_relevance`` names with ``|`` between them, empty where no
    object is named. An empty label of another task is no answer.
``TASK.npz``: ``samples`` ``(n,)`` and ``values`` ``(n, d)``
    The vector of every test sample: the hands of the next 10 frames as ``(10, 42, 3)`` in one row, the text block, or
    the blocks of depth and video.

In a folder, ``labels`` and ``TASK`` may be folders of shards: tables, and files of arrays
(:mod:`gnomon.suites.episode.folders`). All answers to a task of one episode are in one shard.

Samples are named as ``gnomon run episode`` names them in ``predictions.parquet``: ``episode/first frame``, and
``/forward``, ``/reversed``, ``/aligned`` or ``/shifted`` behind it for pairs. The order of rows never matters.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gnomon.core.errors import InputError, counted, some
from gnomon.core.tallies import Array
from gnomon.intake.arrays import read_npz, read_some
from gnomon.intake.faults import guarded
from gnomon.intake.limits import DEFAULT
from gnomon.intake.memory import table_of
from gnomon.intake.sources import Source
from gnomon.intake.text import is_list
from gnomon.intake.unread import collecting, note, note_columns
from gnomon.measures.plausibility import check_same_unit, measure_bodies, measure_distances
from gnomon.suites.episode.answers import JOINTS, Answers
from gnomon.suites.episode.folders import EXAMPLE, LABELS, plain, units
from gnomon.suites.episode.heads import form
from gnomon.suites.episode.tasks.data import SIDES
from gnomon.suites.episode.tasks.declared import FORECAST, TASKS
from gnomon.suites.episode.tasks.sampling import TaskData
from gnomon.suites.episode.tasks.splitting import TEST
from gnomon.suites.episode.tasks.vocabulary import codes, multi_hot

COLUMNS = ("task", "sample", "label")
STORED = "prediction"
"""The column of labels in the table of a run, whose vectors are beside it as ``TASK.npz``."""
RUN_COLUMNS = ("episode", "segment", "truth", "value")
"""Other columns of that table, which say nothing of the answers."""
ARRAYS = ("samples", "values")
SEPARATOR = "|"
"""Between the names of a set of objects."""
MEASURED_SAMPLES = 500
"""About how many samples of each side are measured to compare their units, evenly spread."""


@dataclass(frozen=True, eq=False)
class Told:
    """What a system answered to one task: labels or rows of vectors by sample, and where that was read."""

    where: str
    labels: Mapping[str, str]
    rows: Mapping[str, int]
    values: Array

    @property
    def samples(self) -> list[str]:
        """The samples that have an answer."""
        return list(self.labels or self.rows)


@dataclass(frozen=True, eq=False)
class Given:
    """All answers of one system by task, and the files that they were read from."""

    source: Source
    tasks: Mapping[str, Told]
    files: tuple[Path, ...]


@dataclass(frozen=True)
class Unit:
    """A file of answers, or an episode without answers to some tasks."""

    name: str
    path: Path | None
    told: Mapping[str, tuple[str, ...]] | None
    """Episodes by task; None where it could not be read."""


def read(source: Source) -> Given:
    """Read the answers of one system."""
    content = source.content
    parts, files = {LABELS: content}, ()
    if isinstance(content, Mapping) and not set(COLUMNS) & set(content):
        parts = dict(content)
    elif isinstance(content, (str, os.PathLike)):
        path = Path(content)
        if not path.exists():
            raise InputError(f"{source.where}: no such file or folder; give a table or a folder of answers ({EXAMPLE})")
        parts = plain(path) if path.is_dir() else {path.stem if path.name in _arrays() else LABELS: path}
        files = tuple(parts.values())
    found = _labelled(Source(source.name, parts.pop(LABELS))) if LABELS in parts else {}
    for name, part in parts.items():
        where = os.fspath(part) if isinstance(part, Path) else f"{source.where}, {name}"
        found[name] = _vectors(name, part, where)
    if not found:
        raise unanswered(source)
    return Given(source, found, files)


def unanswered(source: Source) -> InputError:
    """Return what is said of a system that answers nothing."""
    return InputError(f"{source.where}: no answers: expected rows in a table of labels, or arrays; {EXAMPLE}")


def read_unit(name: str, path: Path) -> dict[str, Told]:
    """Read one file of answers by task; ``name`` is what :func:`gnomon.suites.episode.folders.units` calls it.

    A shard may be empty, as those who write many of them leave some: it answers nothing.
    """
    task = _task_of(name, path)
    return {task: _vectors(task, path, os.fspath(path))} if task else _labelled(Source(name, path))


def samples_of(name: str, path: Path) -> dict[str, list[str]]:
    """Return the samples of one file of answers by task; of arrays no vector is read."""
    task = _task_of(name, path)
    if not task:
        return {task: told.samples for task, told in read_unit(name, path).items()}
    _by_vectors(task, os.fspath(path))
    names = read_some(path, ARRAYS[:1], DEFAULT.raised())[ARRAYS[0]]
    return {task: _named(names, os.fspath(path)).tolist()}


def list_units(source: Source, episodes: Sequence[str]) -> list[Unit]:
    """Return the files of a system and what they answer; an episode answered twice is refused."""
    found: list[Unit] = []
    of: dict[tuple[str, str], str] = {}
    for name, path in units(source).items():
        try:
            with collecting():  # its cell says what is not read
                told = samples_of(name, path)
        except InputError:  # its cell says so
            found.append(Unit(name, path, None))
            continue
        own = {task: _episodes(names, os.fspath(path), episodes) for task, names in told.items()}
        found.append(Unit(name, path, own))
        for key in ((task, episode) for task, names in own.items() for episode in names):
            if of.setdefault(key, name) != name:
                raise InputError(
                    f"{source.where}: {key[0]} of episode {key[1]} is in the shards {of[key]!r} and {name!r}; "
                    "give all its answers in one of them"
                )
    return found


def _episodes(samples: Sequence[str], where: str, episodes: Sequence[str]) -> tuple[str, ...]:
    """Return the episodes of the samples of a task."""
    known = set(episodes)
    names = {sample: episode_of(sample, known) for sample in samples}
    strange = [sample for sample, episode in names.items() if not episode]
    if strange:
        raise InputError(
            f"{where}: samples of episodes that are not in the truth: {some(strange)}; it has {some(episodes)}"
        )
    there = set(names.values())
    return tuple(name for name in episodes if name in there)


def explain_no_answers(source: Source, found: Sequence[Unit]) -> InputError:
    """Return what is said where no shard answers anything: why the first cannot be read, or that all are empty."""
    for name, path in ((unit.name, unit.path) for unit in found if unit.path is not None):
        try:
            read_unit(name, path)
        except InputError as error:
            return InputError(f"{source.where}: no shard could be read; the first: {error}")
    return unanswered(source)


def split_by_episode(told: Told, episodes: Sequence[str]) -> dict[str, Told]:
    """Return the answers to a task for each of some episodes, which are all that it holds answers for."""
    known = set(episodes)
    labels: dict[str, dict[str, str]] = {name: {} for name in episodes}
    rows: dict[str, dict[str, int]] = {name: {} for name in episodes}
    for sample, label in told.labels.items():
        labels[episode_of(sample, known)][sample] = label
    for sample, row in told.rows.items():
        rows[episode_of(sample, known)][sample] = row
    return {name: replace(told, labels=labels[name], rows=rows[name]) for name in episodes}


def episode_of(sample: str, episodes: set[str]) -> str:
    """Return the episode of a sample (``EPISODE/FRAME`` or ``EPISODE/FRAME/PAIR``); empty where it is of none."""
    outer = sample.rpartition("/")[0]
    return next((name for name in (outer, outer.rpartition("/")[0]) if name in episodes), "")


def _task_of(name: str, path: Path) -> str:
    """Return the task that a file holds vectors for, by its folder or its own name; empty where it is a table."""
    folder = name.partition("/")[0]
    return folder if folder in TASKS else path.stem if path.name in _arrays() else ""


def _arrays() -> set[str]:
    return {f"{task}.npz" for task in TASKS}


def _labelled(source: Source) -> dict[str, Told]:
    """Read a table of labels."""
    where, known = source.where, set(COLUMNS)
    table = table_of(source.content, text=(*COLUMNS, STORED), name=source.name)
    if "label" not in table.column_names and STORED in table.column_names and "task" in table.column_names:
        known |= set(RUN_COLUMNS)
        table = table.rename_columns(["label" if name == STORED else name for name in table.column_names])
        vectors = [name for name, task in TASKS.items() if form(task.kind) == "vectors"]
        kept = pc.invert(pc.is_in(table["task"].cast(pa.string()), value_set=pa.array(vectors)))
        table = table.filter(kept)
    lacking = [name for name in COLUMNS if name not in table.column_names]
    if lacking:
        raise InputError(
            f"{where}: no column {some(lacking)}; expected {', '.join(COLUMNS)}, but the table has "
            f"{some(table.column_names, show=12)}; {EXAMPLE}"
        )
    if is_list(table["label"].type):
        raise InputError(f"{where}: column 'label' holds lists; write the names of a set with {SEPARATOR!r} between")
    columns = [table[name].to_pylist() for name in COLUMNS]
    for name, values in zip(COLUMNS[:2], columns, strict=False):
        if None in values:
            raise InputError(f"{where}: empty {name!r} in row {values.index(None) + 1}; fill in every row")
    unknown = [task for task in dict.fromkeys(columns[0]) if task not in TASKS]
    if unknown:
        raise InputError(f"{where}: no task {some(unknown)}; there are {', '.join(TASKS)}")
    _distinct([f"{task} {sample}" for task, sample in zip(*columns[:2], strict=True)], where)
    found: dict[str, dict[str, str]] = {}
    for task, sample, label in zip(*columns, strict=True):
        found.setdefault(task, {})[sample] = label or ""
    for task in found:
        if form(TASKS[task].kind) == "vectors":
            raise InputError(f"{where}: {task} is answered by vectors, not by labels; give {task}.npz in a folder")
    note_columns(where, table, known)
    return {task: Told(where, labels, {}, np.zeros((0, 0))) for task, labels in found.items()}


def _vectors(task: str, part: Any, where: str) -> Told:
    """Read the vectors of a task."""
    _by_vectors(task, where)
    if not isinstance(part, (Mapping, Path)):
        raise InputError(f"{where}: expected a mapping with {' and '.join(ARRAYS)}, but got {type(part).__name__}")
    with guarded(where, "cannot be used as arrays", f"give {' and '.join(ARRAYS)}, one row for each sample"):
        arrays = read_npz(part) if isinstance(part, Path) else {name: np.asarray(part[name]) for name in part}
    lacking = [name for name in ARRAYS if name not in arrays]
    if lacking:
        raise InputError(f"{where}: no array {some(lacking)}; expected {' and '.join(ARRAYS)}, got {some(arrays)}")
    samples, values = _named(arrays[ARRAYS[0]], where), arrays[ARRAYS[1]]
    if not len(samples) and values.ndim and not len(values):  # of no vectors nobody knows how long they are
        return Told(where, {}, {}, np.zeros((0, 0)))
    if values.ndim != 2 or values.dtype.kind not in "fiu" or len(values) != len(samples):
        raise InputError(
            f"{where}: values: expected numbers of shape ({len(samples)}, d), a row for each of samples, but got "
            f"{values.dtype} of {values.shape}"
        )
    ids = samples.tolist()
    _distinct(ids, where)
    if values.dtype.itemsize > 8:  # what no float64 can hold is not finite here
        with np.errstate(over="ignore"):
            values = values.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if len(bad):
        named = some([ids[row] for row in bad[:5]], len(bad))
        raise InputError(f"{where}: values that are not finite for samples {named}; give numbers")
    note(where, {name: len(ids) for name in arrays if name not in ARRAYS})
    return Told(where, {}, {name: row for row, name in enumerate(ids)}, values)


def _by_vectors(task: str, where: str) -> None:
    """Refuse vectors as answers to what is no task, or is answered by labels."""
    if task not in TASKS:
        raise InputError(f"{where}: no task {task!r}; there are {', '.join(TASKS)}")
    if form(TASKS[task].kind) != "vectors":
        raise InputError(f"{where}: {task} is answered by labels, not by vectors; give them in {LABELS}.csv")


def _named(samples: Array, where: str) -> Array:
    """Return the names of samples as text; those of none are of any type."""
    if samples.shape == (0,):
        return samples.astype(np.str_)
    if samples.dtype.kind == "O" and all(isinstance(name, str) for name in samples.ravel()):
        samples = samples.astype(np.str_)
    if samples.ndim != 1 or samples.dtype.kind != "U":
        raise InputError(f"{where}: samples: expected text of shape (n,), but got {samples.dtype} of {samples.shape}")
    return samples


def _distinct(names: Sequence[str], where: str) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InputError(f"{where}: samples occur more than once: {some(twice)}; keep one answer for each")


def align(told: Told, data: TaskData, missing: str) -> Answers:
    """Put the answers to a task in the order of its test samples."""
    ids = tuple(data.ids[place] for place in data.of(TEST).tolist())
    place = {name: row for row, name in enumerate(data.ids)}
    wanted = set(ids)
    strange = [name for name in told.samples if name not in wanted]
    if strange:
        said = [f"{name} ({data.part[place[name]] if name in place else 'unknown'})" for name in strange[:5]]
        raise InputError(
            f"{told.where}: {data.task.name}: answers for samples that are no test samples: {some(said, len(strange))};"
            f" expected {counted(len(ids), 'test sample')}{f' such as {ids[0]!r}' if ids else ''}; remove the others"
        )
    if form(data.task.kind) == "vectors":
        return _align_vectors(told, data, ids)
    sets = data.task.kind == "multilabel"
    lost = [name for name in ids if name not in told.labels or not (sets or told.labels[name])]
    if lost and missing == "error":
        raise InputError(
            f"{told.where}: no label for samples of {data.task.name}: {some(lost)}; add them, or choose --missing wrong"
        )
    facts = {"missing": len(lost)} if lost else {}
    labels = [told.labels.get(name, "") for name in ids]
    if sets:
        names = [frozenset(part.strip() for part in label.split(SEPARATOR)) - {""} for label in labels]
        known = tuple(sorted(frozenset().union(*names)))
        given = np.array([name in told.labels for name in ids], dtype=np.bool_) if lost else None
        return Answers(data.task, ids, multi_hot(names, known), known, facts, given)
    known = tuple(sorted({*labels} - {""}))
    wrong = [label for label in known if data.task.classes and label not in data.task.classes]
    if wrong:
        raise InputError(f"{told.where}: {data.task.name}: no class {some(wrong)}; there are {some(data.task.classes)}")
    return Answers(data.task, ids, codes(labels, known), known, facts)


def _align_vectors(told: Told, data: TaskData, ids: tuple[str, ...]) -> Answers:
    lost = [name for name in ids if name not in told.rows]
    if lost:
        raise InputError(f"{told.where}: no vector for samples of {data.task.name}: {some(lost)}; add them")
    wide = data.y(data.of(TEST)[:1]).shape[1]
    if told.values.shape[1] != wide:
        raise InputError(
            f"{told.where}: {data.task.name}: expected vectors of {wide:,} numbers, but got {told.values.shape[1]:,}"
        )
    if data.task.name == FORECAST and len(told.values):
        _check_hands(told, data)
    rows = [told.rows[name] for name in ids]
    values = told.values if rows == list(range(len(told.values))) else told.values[rows]
    return Answers(data.task, ids, values if values.dtype.kind == "f" else values.astype(np.float64))


def _check_hands(told: Told, data: TaskData) -> None:
    """Refuse forecasts of hands in another unit than that of the true hands; any others are scored."""
    test = data.of(TEST)
    some_true = data.y(test[:: max(len(test) // MEASURED_SAMPLES, 1)])
    some_told = told.values[:: max(len(told.values) // MEASURED_SAMPLES, 1)]
    sides = [np.asarray(own, np.float64).reshape(-1, JOINTS // len(SIDES), 3) for own in (some_true, some_told)]
    check_same_unit(
        *map(measure_bodies, sides),
        distances_m=(measure_distances(sides[0]), measure_distances(sides[1])),
        what=f"{told.where}: {FORECAST}: hands",
    )
