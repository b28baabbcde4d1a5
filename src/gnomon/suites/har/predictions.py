"""Answers of systems for windows, and the tables in which windows predicted elsewhere are given.

Truth table: ``id, label, subject, recording, dataset[, metric]``, a row for each window that is to be scored. A window
is known by its id within its dataset (and metric, where that column is there); without ``metric``, all rows belong to
the metric of the option ``--metric``.

Prediction table: ``id[, dataset][, metric][, n_train]`` and either ``label``, or scores in columns ``score:LABEL``, of
which the largest gives the answer. ``dataset`` may be left out where ids differ between all datasets of the truth,
``metric`` where the truth has none. ``n_train`` says how many labelled windows the system was trained on, the same in
all rows of a metric and dataset. Under zs-closed, scores over training labels are masked to the groups of the dataset;
a table whose columns are all labels of the dataset is taken as it is.

As csv, tsv, parquet, jsonl or npz, or as tables in memory. Other columns are passed over; the order of rows never
matters. Folders of such files are in :mod:`gnomon.suites.har.shards`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gnomon.core.errors import InputError, some
from gnomon.core.tallies import Array, natural_key
from gnomon.intake.faults import shown
from gnomon.intake.memory import table_of
from gnomon.intake.sources import Source
from gnomon.suites.har.metrics import METRICS, Scoring, best, native
from gnomon.suites.har.options import ScoreOptions
from gnomon.suites.har.vocabulary import LABELS, TEST_LABELS, asked_of, mask

TRUTH = ("id", "label", "subject", "recording", "dataset")
SCORE = "score:"
CLOSED = "zs-closed"
Key = tuple[str, str, str]
"""Metric, dataset, id."""


@dataclass(frozen=True, eq=False)
class Answers:
    """What a system said under one metric of the windows of one dataset, beside the truth; one entry per window."""

    metric: str
    dataset: str
    ids: tuple[str, ...]
    subjects: tuple[str, ...]
    recordings: tuple[str, ...]
    truth: tuple[str, ...]
    answers: tuple[str, ...]
    """Empty where a window has no answer: it counts as wrong."""
    scoring: Scoring
    """The native one: ``group`` or ``exact``."""
    n_train: int | None = None
    """Labelled windows that the system was trained on; None where that is not known."""
    classes: tuple[str, ...] = ()
    """The fixed list of labels that macro-F1 is over where answers are scored by exact label; may be empty."""
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.ids)

    def table(self) -> pa.Table:
        """Return a row per window: what a run keeps."""
        return pa.table(
            {
                "metric": pa.array([self.metric] * len(self), pa.string()),
                "dataset": pa.array([self.dataset] * len(self), pa.string()),
                "id": pa.array(self.ids, pa.string()),
                "truth": pa.array(self.truth, pa.string()),
                "label": pa.array([answer or None for answer in self.answers], pa.string()),
            }
        )


@dataclass(frozen=True, eq=False)
class Truth:
    """The windows of a truth table, in the order of metric, dataset and id."""

    source: Source
    keys: tuple[Key, ...]
    labels: tuple[str, ...]
    subjects: tuple[str, ...]
    recordings: tuple[str, ...]
    has_metric: bool
    elsewhere: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By dataset: true labels that other shards have under zs-closed, where this is one of several."""

    def tasks(self) -> dict[tuple[str, str], list[int]]:
        """Return the rows of every metric and dataset."""
        found: dict[tuple[str, str], list[int]] = {}
        for row, (metric, dataset, _) in enumerate(self.keys):
            found.setdefault((metric, dataset), []).append(row)
        return found

    def there(self, metric: str, dataset: str, rows: Sequence[int]) -> set[str]:
        """Return the true labels of a metric and dataset, whose rows are given."""
        further = self.elsewhere.get(dataset, ()) if metric == CLOSED else ()
        return {self.labels[row] for row in rows} | set(further)


def read_truth(options: ScoreOptions) -> Truth:
    """Read the truth table."""
    source = Source("truth", options.truth)
    table = table_of(source.content, text=(*TRUTH, "metric"), name="truth")
    columns = _columns(table, source.where, TRUTH)
    if not table.num_rows:
        raise InputError(f"{source.where}: no rows: expected one for every window")
    has_metric = "metric" in table.column_names
    metrics = _columns(table, source.where, ("metric",))["metric"] if has_metric else [options.metric] * table.num_rows
    unknown = sorted(set(metrics) - set(METRICS))
    if unknown:
        raise InputError(f"{source.where}: unknown metric {some(unknown)}; there are {', '.join(METRICS)}")
    keys = list(zip(metrics, columns["dataset"], columns["id"], strict=True))
    order = sorted(range(len(keys)), key=lambda row: tuple(map(natural_key, keys[row])))
    _distinct([keys[row] for row in order], source.where)

    def of(name: str) -> tuple[str, ...]:
        return tuple(columns[name][row] for row in order)

    return Truth(source, tuple(keys[row] for row in order), of("label"), of("subject"), of("recording"), has_metric)


def read_answers(source: Source, truth: Truth, options: ScoreOptions) -> list[Answers]:
    """Read one system's predictions and put them beside the truth, by metric and dataset."""
    table = table_of(source.content, text=("id", "dataset", "metric", "label"), name=source.name)
    keys = _keys(table, source.where, truth)
    row_of = {key: row for row, key in enumerate(keys)}
    known = set(truth.keys)
    extra = [key for key in keys if key not in known]
    if extra:
        listed = some([" ".join(key) for key in extra[:5]], len(extra))
        raise InputError(f"{source.where}: predictions for windows that are not in the truth: {listed}; remove them")
    missing = [key for key in truth.keys if key not in row_of]
    if missing and options.missing == "error":
        listed = some([" ".join(key) for key in missing[:5]], len(missing))
        raise InputError(
            f"{source.where}: no prediction for windows of the truth: {listed}; add them, or choose --missing wrong or "
            "--missing skip"
        )
    answer, trained = _answers(table, source.where), _trained(table, source.where)
    found = []
    for (metric, dataset), rows in truth.tasks().items():
        kept = [row for row in rows if options.missing != "skip" or truth.keys[row] in row_of]
        given = [row_of.get(truth.keys[row], -1) for row in kept]
        there = truth.there(metric, dataset, rows)
        own = there | set(TEST_LABELS.get(dataset, ()))
        found.append(
            Answers(
                metric,
                dataset,
                ids=tuple(truth.keys[row][2] for row in kept),
                subjects=tuple(truth.subjects[row] for row in kept),
                recordings=tuple(truth.recordings[row] for row in kept),
                truth=tuple(truth.labels[row] for row in kept),
                answers=answer.of(given, metric, own),
                scoring=native(metric, options.text_aligned),
                n_train=_one(trained, given, f"{source.where}: {metric} {dataset}"),
                classes=asked_of(dataset, there),
            )
        )
    return found


@dataclass(frozen=True, eq=False)
class _Given:
    """Labels, or scores over labels, by row of a prediction table."""

    labels: Sequence[str | None]
    scores: Array | None = None
    names: tuple[str, ...] = ()

    def of(self, rows: Sequence[int], metric: str, own: set[str]) -> tuple[str, ...]:
        """Return the answer of every row, empty for row -1."""
        if self.scores is None:
            return tuple("" if row < 0 else self.labels[row] or "" for row in rows)
        allowed = None
        if metric == CLOSED and not set(self.names) <= own:
            closed = {label for label, kept in zip(LABELS, mask("", own), strict=True) if kept}
            allowed = np.array([name in closed for name in self.names], dtype=np.bool_)
        answers = best(self.scores, self.names, allowed).tolist()
        return tuple("" if row < 0 else str(answers[row]) for row in rows)


def _answers(table: pa.Table, where: str) -> _Given:
    names = [name for name in table.column_names if name.startswith(SCORE)]
    if names and "label" in table.column_names:
        raise InputError(f"{where}: both a column 'label' and scores ({some(names, show=3)}); give one of them")
    if not names:
        return _Given(_columns(table, where, ("label",), empty=True)["label"])
    for name in names:
        if not pa.types.is_floating(table[name].type) and not pa.types.is_integer(table[name].type):
            raise InputError(f"{where}: column {name!r} {_not_number(table[name])}; give a number in every row")
    scores = np.stack([table[name].to_numpy().astype(np.float64) for name in names], axis=1)
    if not np.isfinite(scores).all():
        row = int(np.argmin(np.isfinite(scores).all(axis=1)))
        raise InputError(f"{where}: row {row + 1}: a score is missing or not finite; give a number for every label")
    return _Given((), scores, tuple(name.removeprefix(SCORE) for name in names))


def _not_number(column: pa.ChunkedArray) -> str:
    for row, cell in enumerate(column.to_pylist(), start=1):
        try:
            float(cell)
        except (TypeError, ValueError):
            return f"holds {shown(str(cell), 40)!r} in row {row}"
    return f"is of type {column.type}"


def _trained(table: pa.Table, where: str) -> list[int | None] | None:
    if "n_train" not in table.column_names:
        return None
    column = table["n_train"]
    if not pa.types.is_integer(column.type) or (pc.min(column).as_py() or 0) < 0:
        raise InputError(f"{where}: column 'n_train': expected whole numbers that are not negative, got {column.type}")
    found: list[int | None] = column.to_pylist()
    return found


def _one(trained: list[int | None] | None, rows: Sequence[int], where: str) -> int | None:
    """Return the one number that all rows of a task have."""
    values = {trained[row] for row in rows if row >= 0} if trained is not None else set()
    if len(values) > 1:
        raise InputError(f"{where}: 'n_train' is not the same in all rows ({some(map(str, values))}); give one number")
    return next(iter(values), None)


def _keys(table: pa.Table, where: str, truth: Truth) -> list[Key]:
    if truth.has_metric and "metric" not in table.column_names:
        raise InputError(f"{where}: no column 'metric', but the truth has one; say which metric every row answers")
    given = [name for name in ("dataset", "metric") if name in table.column_names]
    columns = _columns(table, where, ("id", *given))
    metrics = columns.get("metric") or [truth.keys[0][0]] * table.num_rows
    datasets = columns.get("dataset") or _datasets(columns["id"], truth, where)
    keys = list(zip(metrics, datasets, columns["id"], strict=True))
    _distinct(keys, where)
    return keys


def _datasets(ids: Sequence[str], truth: Truth, where: str) -> list[str]:
    """Find the dataset of every id, where ids tell."""
    of: dict[str, str] = {}
    for _, dataset, name in truth.keys:
        if of.setdefault(name, dataset) != dataset:
            raise InputError(
                f"{where}: no column 'dataset', but the id {name!r} occurs in {of[name]} and {dataset}; add the column"
            )
    return [of.get(name, "") for name in ids]


def _columns(table: pa.Table, where: str, names: Sequence[str], *, empty: bool = False) -> dict[str, list[str]]:
    lacking = [name for name in names if name not in table.column_names]
    if lacking:
        raise InputError(
            f"{where}: no column {some(lacking)}; expected {', '.join(names)}, but the table has "
            f"{some(table.column_names, show=12)}; see gnomon template har"
        )
    found = {name: table[name].cast(pa.string()).to_pylist() for name in names}
    for name, values in found.items():
        if not empty and None in values:
            raise InputError(f"{where}: empty {name!r} in row {values.index(None) + 1}; fill in every row")
    return found


def _distinct(keys: Sequence[Key], where: str) -> None:
    seen: set[Key] = set()
    twice = [key for key in keys if key in seen or seen.add(key)]  # type: ignore[func-returns-value]
    if twice:
        listed = some([" ".join(key) for key in twice[:5]], len(twice))
        raise InputError(f"{where}: windows occur more than once: {listed}; keep one row for each")
