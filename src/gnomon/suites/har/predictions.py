"""Answers of systems for windows, and the tables in which windows predicted elsewhere are given.

Truth table: ``id, label, subject, recording, dataset[, task]``, a row for each window that is to be scored. A window
is known by its id within its dataset (and task, where that column is there); without ``task``, all rows belong to
the task of the option ``--task``.

Prediction table: ``id[, dataset][, task][, n_train]`` and either ``label``, or scores in columns ``score:LABEL``, of
which the largest gives the answer. ``dataset`` may be left out where ids differ between all datasets of the truth,
``task`` where the truth has none. ``n_train`` says how many labelled windows the system was trained on, the same in
all rows of a task and dataset. Under zs-closed, scores over training labels are masked to the groups of the dataset;
a table whose columns are all labels of the dataset is taken as it is.

As csv, tsv, parquet, jsonl or npz, or as tables in memory. Other columns are named in a finding; the order of rows
never matters. A folder of such files is read file by file. One wide table, or labels alone in memory, become such
tables (:func:`settle_truth`): without further columns, all rows are of one dataset, and a subject has one recording.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gnomon.core.errors import InputError, some
from gnomon.core.tallies import Array
from gnomon.intake.groups import offer_group
from gnomon.intake.header import separated
from gnomon.intake.labelled import settle
from gnomon.intake.memory import table_of
from gnomon.intake.sources import Source
from gnomon.intake.tables import read_table
from gnomon.intake.texts import natural_order, natural_ranks, rows_fingerprint
from gnomon.intake.unread import filled, note_columns
from gnomon.intake.wide import SCORE, name_scores, read_scores, use_names
from gnomon.suites.har.metrics import METRICS, Scoring, best, native
from gnomon.suites.har.options import ScoreOptions
from gnomon.suites.har.vocabulary import LABELS, TEST_LABELS, mask

TRUTH = ("id", "label", "subject", "recording", "dataset")
KEYS = ("id", "dataset", "task", "label")
"""Columns of text of a prediction table."""
ONE_DATASET = "data"
"""What the dataset is called where a table has no column of them."""
CLOSED = "zs-closed"
Task = tuple[str, str]
"""Metric and dataset."""
Key = tuple[str, str, str]
"""Metric, dataset, id."""


@dataclass(frozen=True, eq=False)
class Answers:
    """What a system said under one metric of the windows of one dataset, beside the truth; columns of text."""

    metric: str
    dataset: str
    ids: pa.Array
    subjects: pa.Array
    recordings: pa.Array
    truth: pa.Array
    answers: pa.Array
    """Null where a window has no answer: it counts as wrong."""
    scoring: Scoring
    """The native one: ``group`` or ``exact``."""
    n_train: int | None = None
    """Labelled windows that the system was trained on; None where that is not known."""
    labels: Collection[str] = ()
    """True labels of all windows of the dataset, of those that are not scored, too."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    scores: Mapping[str, pa.Array] = field(default_factory=dict)
    """Columns ``score:LABEL``, where they were given; null where a window has no answer."""

    def __len__(self) -> int:
        return len(self.ids)

    def table(self) -> pa.Table:
        """Return a row per window: what a run keeps."""
        return pa.table(
            {
                "task": pa.repeat(pa.scalar(self.metric), len(self)),
                "dataset": pa.repeat(pa.scalar(self.dataset), len(self)),
                "id": self.ids,
                "truth": self.truth,
                "label": self.answers,
                **self.scores,
            }
        )


_EMPTY = pa.array([], pa.string())
NOTHING = Answers("", "", _EMPTY, _EMPTY, _EMPTY, _EMPTY, _EMPTY, "exact").table()
"""The table of a run without an answer."""


def table_of_answers(answers: Iterable[Answers]) -> pa.Table:
    """Return a row per window: what a run keeps."""
    return pa.concat_tables([NOTHING, *(item.table() for item in answers)], promote_options="default")


@dataclass(frozen=True, eq=False)
class Truth:
    """The windows of a truth table, in the order of metric, dataset and id; columns of text."""

    source: Source
    tasks: Mapping[Task, slice]
    """The rows of every metric and dataset."""
    ids: pa.Array
    labels: pa.Array
    subjects: pa.Array
    recordings: pa.Array
    has_metric: bool
    elsewhere: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By dataset: true labels that other shards have under zs-closed, where this is one of several."""
    unused: Mapping[str, int] = field(default_factory=dict)
    """Columns of the table that nothing is read from, and how many rows fill each."""

    def __len__(self) -> int:
        return len(self.ids)

    def there(self, task: Task) -> set[str]:
        """Return the true labels of a metric and dataset."""
        metric, dataset = task
        further = self.elsewhere.get(dataset, ()) if metric == CLOSED else ()
        return {*self.labels[self.tasks[task]].unique().to_pylist(), *further}

    @cached_property
    def fingerprint(self) -> str:
        """Name the windows by what they are: metric, dataset, id, label, subject and recording of each."""
        return rows_fingerprint([*self._tasks(), self.ids, self.labels, self.subjects, self.recordings])

    def names(self) -> pa.Array:
        """Return metric, dataset and id of every window as one text."""
        return pc.binary_join_element_wise(*self._tasks(), self.ids, " ")

    def _tasks(self) -> list[pa.Array]:
        """Return the metric and the dataset of every window."""
        sizes = [rows.stop - rows.start for rows in self.tasks.values()]
        place = pa.array(np.repeat(np.arange(len(sizes)), sizes), pa.int64())
        return [pa.array([task[side] for task in self.tasks], pa.string()).take(place) for side in (0, 1)]


def settle_truth(options: ScoreOptions) -> ScoreOptions:
    """Return options whose truth and predictions are tables, in whatever form they were given.

    The subject of a row is its group. A wide table, and labels alone, need no further columns.
    """
    settled = settle(options, text=(*TRUTH, "task"))
    if not isinstance(settled.truth, Source):
        if settled.group:
            raise InputError("--group: the subject is the group; name its column 'subject', or give one wide --table")
        return settled
    source = settled.truth
    table = table_of(source.content, name="truth")
    group = settled.group or "subject"
    if group not in table.column_names:
        offered = offer_group(table.column_names)
        hint = f"; {offered!r} looks like it" if offered else ""
        raise InputError(f"{source.where}: whose windows these are is not known: give groups, or --group COLUMN{hint}")
    columns = {name: table.column(name) for name in table.column_names}
    columns["subject"] = columns.pop(group)
    columns.setdefault("recording", columns["subject"])
    columns.setdefault("dataset", pa.repeat(pa.scalar(ONE_DATASET), table.num_rows))
    truth: Any = replace(source, content=pa.table(columns))
    return replace(settled, truth=truth, group="")


def read_truth(options: ScoreOptions, *, empty: bool = False) -> Truth:
    """Read the truth table; one without rows is an error, unless it may be ``empty``."""
    source = Source.of("truth", options.truth)
    table = table_of(source.content, text=(*TRUTH, "task", options.id, options.label), name="truth")
    table = use_names(table, {options.id: "id", options.label: "label"})
    columns = _columns(table, source.where, TRUTH)
    if not table.num_rows and not empty:
        raise InputError(f"{source.where}: no rows: expected one for every window")
    has_metric = "task" in table.column_names
    if has_metric:
        columns |= _columns(table, source.where, ("task",))
    else:
        columns["task"] = pa.repeat(pa.scalar(options.task), table.num_rows)
    unknown = sorted(set(columns["task"].unique().to_pylist()) - set(METRICS))
    if unknown:
        raise InputError(f"{source.where}: unknown task {some(unknown)}; there are {', '.join(METRICS)}")
    code, names = _tasks(columns["task"], columns["dataset"])
    order, tasks = [], {}
    begin = 0
    for place, task in enumerate(names):
        rows = np.flatnonzero(code == place)
        rows = rows[natural_order(columns["id"].take(pa.array(rows)))]
        tasks[task] = slice(begin, begin := begin + len(rows))
        order.append(rows)
    whole = pa.array(np.concatenate([*order, np.zeros(0, np.int64)]))
    ids, labels, subjects, recordings = (columns[name].take(whole) for name in TRUTH[:-1])
    _distinct_truth(ids, tasks, source.where)
    unused = {name: filled(table.column(name)) for name in table.column_names if name not in (*TRUTH, "task")}
    return Truth(source, tasks, ids, labels, subjects, recordings, has_metric, unused=unused)


def survey_truth(paths: Iterable[Path], options: ScoreOptions) -> dict[str, Any]:
    """Return what shards of the truth have to know of each other.

    Under zs-closed, scores over training labels are masked to what the whole truth of a dataset holds, so its labels
    are read before, one shard after another. One that cannot be read fails in its own cell.

    Returns
    -------
    with_metric
        Whether shards have a column ``task``; None where none of them can be read.
    labels
        By dataset: true labels under zs-closed that are not on its list.
    """
    labels: dict[str, set[str]] = {}
    columns: list[str] | None = None
    for path in paths:
        try:
            table = read_table(path, text=KEYS, columns=columns)
        except InputError:
            continue
        if columns is None:
            if not set(TRUTH) <= set(table.column_names):
                continue
            columns = [name for name in ("dataset", "label", "task") if name in table.column_names]
        if "task" not in columns and options.task != CLOSED:
            break
        if not set(columns) <= set(table.column_names):
            continue
        for row in table.select(columns).group_by(columns).aggregate([]).to_pylist():
            if row.get("task", CLOSED) == CLOSED and row["label"] not in TEST_LABELS.get(str(row["dataset"]), ()):
                labels.setdefault(str(row["dataset"]), set()).add(str(row["label"]))
    return {
        "with_metric": None if columns is None else "task" in columns,
        "labels": {name: sorted(labels[name]) for name in sorted(labels)},
    }


def _tasks(metrics: pa.Array, datasets: pa.Array) -> tuple[Array, list[Task]]:
    """Return the metric and dataset of every row as a number, and which they are, in their order."""
    (metric, words), (dataset, names) = natural_ranks(metrics), natural_ranks(datasets)
    there, code = np.unique(metric * len(names) + dataset, return_inverse=True)
    return code, [(words[own // len(names)], names[own % len(names)]) for own in there.tolist()]


def _distinct_truth(ids: pa.Array, tasks: Mapping[Task, slice], where: str) -> None:
    """Refuse windows that occur twice; they are neighbours."""
    twice = []
    for task, rows in tasks.items():
        own = ids[rows]
        again = pc.equal(own[1:], own[:-1])
        if pc.any(again).as_py():
            twice += [(*task, name) for name in own[1:].filter(again).to_pylist()]
    _refuse_twice(twice, where)


def read_answers(source: Source, truth: Truth, options: ScoreOptions) -> list[Answers]:
    """Read one system's predictions and put them beside the truth, by metric and dataset."""
    table = table_of(source.content, text=(*KEYS, options.id, options.label), name=source.name)
    table = use_names(name_scores(table, source, options.scores), {options.id: "id", options.label: "label"})
    scores = [name for name in table.column_names if name.startswith(SCORE)]
    note_columns(source.where, table, (*KEYS, "n_train", *scores))
    row = _rows(table, source.where, truth)
    lacking = np.flatnonzero(row < 0)
    if len(lacking) and options.missing == "error":
        first = {task: lacking[(lacking >= rows.start) & (lacking < rows.stop)] for task, rows in truth.tasks.items()}
        listed = [" ".join((*task, truth.ids[at].as_py())) for task, own in first.items() for at in own[:5].tolist()]
        raise InputError(
            f"{source.where}: no prediction for windows of the truth: {some(listed[:5], len(lacking))}; add them, or "
            "choose --missing wrong or --missing skip"
        )
    answer, trained = _answers(table, source.where), _trained(table, source.where)
    found = []
    for task, rows in truth.tasks.items():
        metric, dataset = task
        given, kept = row[rows], np.arange(rows.start, rows.stop)
        if options.missing == "skip" and len(lacking):
            given, kept = given[given >= 0], kept[given >= 0]
        there, places = truth.there(task), pa.array(kept)
        own = there | set(TEST_LABELS.get(dataset, ()))
        found.append(
            Answers(
                metric,
                dataset,
                ids=truth.ids.take(places),
                subjects=truth.subjects.take(places),
                recordings=truth.recordings.take(places),
                truth=truth.labels.take(places),
                answers=answer.of(given, metric, own),
                scoring=native(metric, options.text_aligned),
                n_train=_one(trained, given, f"{source.where}: {metric} {dataset}"),
                labels=there,
                scores={name: table.column(name).take(pa.array(given, mask=given < 0)) for name in scores},
            )
        )
    return found


@dataclass(frozen=True, eq=False)
class _Given:
    """Labels, or scores over labels, by row of a prediction table."""

    labels: pa.Array
    scores: Array | None = None
    names: tuple[str, ...] = ()

    def of(self, rows: Array, metric: str, own: set[str]) -> pa.Array:
        """Return the answer of every row, null for row -1."""
        labels = self.labels
        if self.scores is not None:
            allowed = None
            if metric == CLOSED and not set(self.names) <= own:
                closed = {label for label, kept in zip(LABELS, mask("", own), strict=True) if kept}
                allowed = np.array([name in closed for name in self.names], dtype=np.bool_)
            labels = pa.array(best(self.scores, self.names, allowed), pa.string())
        return labels.take(pa.array(rows, mask=rows < 0))


def _answers(table: pa.Table, where: str) -> _Given:
    """Return labels, or scores over labels where there are none; scores beside labels are kept."""
    found = read_scores(table, where)
    if "label" in table.column_names or found is None:
        return _Given(_columns(table, where, ("label",), empty=True)["label"])
    scores, names = found
    return _Given(pa.array([], pa.string()), scores, names)


def _trained(table: pa.Table, where: str) -> pa.Array | None:
    if "n_train" not in table.column_names:
        return None
    column = table["n_train"]
    if not pa.types.is_integer(column.type) or (pc.min(column).as_py() or 0) < 0:
        raise InputError(f"{where}: column 'n_train': expected whole numbers that are not negative, got {column.type}")
    return column.combine_chunks()


def _one(trained: pa.Array | None, rows: Array, where: str) -> int | None:
    """Return the one number that all rows of a task have."""
    values: list[int | None] = [] if trained is None else trained.take(pa.array(rows[rows >= 0])).unique().to_pylist()
    if len(values) > 1:
        raise InputError(f"{where}: 'n_train' is not the same in all rows ({some(map(str, values))}); give one number")
    return next(iter(values), None)


def _rows(table: pa.Table, where: str, truth: Truth) -> Array:
    """Return the row of the table that answers every window of the truth, -1 where none does."""
    if truth.has_metric and "task" not in table.column_names:
        raise InputError(f"{where}: no column 'task', but the truth has one; say which task every row answers")
    given = [name for name in ("dataset", "task") if name in table.column_names]
    columns = _columns(table, where, ("id", *given))
    if "task" not in given:
        columns["task"] = pa.repeat(pa.scalar(next(iter(truth.tasks))[0]), table.num_rows)
    if "dataset" not in given:
        columns["dataset"] = _datasets(columns["id"], truth, where)
    code, names = _tasks(columns["task"], columns["dataset"])
    found = np.full(len(truth), -1, dtype=np.int64)
    for place, task in enumerate(names):
        if task not in truth.tasks:
            continue
        rows, own = np.flatnonzero(code == place), truth.tasks[task]
        window = pc.index_in(columns["id"].take(pa.array(rows)), value_set=truth.ids[own])
        known = pc.is_valid(window).to_numpy(zero_copy_only=False)
        found[own.start + window.drop_null().to_numpy()] = rows[known]
    if int((found >= 0).sum()) < table.num_rows:
        _refuse(columns, truth, where)
    return found


def _refuse(columns: Mapping[str, pa.Array], truth: Truth, where: str) -> None:
    """Say which rows are there twice or answer no window of the truth."""
    keys: list[Key] = list(zip(*(columns[name].to_pylist() for name in ("task", "dataset", "id")), strict=True))
    seen: set[Key] = set()
    _refuse_twice([key for key in keys if key in seen or seen.add(key)], where)  # type: ignore[func-returns-value]
    known = {(*task, name) for task, rows in truth.tasks.items() for name in truth.ids[rows].to_pylist()}
    extra = [key for key in keys if key not in known]
    listed = some([" ".join(key) for key in extra[:5]], len(extra))
    raise InputError(f"{where}: predictions for windows that are not in the truth: {listed}; remove them")


def _refuse_twice(twice: Sequence[Key], where: str) -> None:
    if twice:
        listed = some([" ".join(key) for key in twice[:5]], len(twice))
        raise InputError(f"{where}: windows occur more than once: {listed}; keep one row for each")


def _datasets(ids: pa.Array, truth: Truth, where: str) -> pa.Array:
    """Find the dataset of every id, where ids tell."""
    of: dict[str, str] = {}
    for (_, dataset), rows in truth.tasks.items():
        for name in truth.ids[rows].to_pylist():
            if of.setdefault(name, dataset) != dataset:
                raise InputError(
                    f"{where}: no column 'dataset', but the id {name!r} occurs in {of[name]} and {dataset}; add the "
                    "column"
                )
    return pa.array([of.get(name, "") for name in ids.to_pylist()], pa.string())


def _columns(table: pa.Table, where: str, names: Sequence[str], *, empty: bool = False) -> dict[str, pa.Array]:
    lacking = [name for name in names if name not in table.column_names]
    if lacking:
        hint = separated(table.column_names, lacking) or "see gnomon template har"
        raise InputError(
            f"{where}: no column {some(lacking)}; expected {', '.join(names)}, but the table has "
            f"{some(table.column_names, show=12)}; {hint}"
        )
    found = {name: table[name].cast(pa.string()).combine_chunks() for name in names}
    for name, values in found.items():
        if not empty and values.null_count:
            row = int(np.argmax(pc.is_null(values).to_numpy(zero_copy_only=False)))
            raise InputError(f"{where}: empty {name!r} in row {row + 1}; fill in every row")
    return found
