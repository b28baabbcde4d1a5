"""The files of ``labels``: a truth table and prediction tables, read and aligned by id.

Truth: ``id, label[, group][, tags...]``. Predictions: ``id, label``. As csv, tsv, parquet, jsonl or npz
(the first three also gzipped where that is usual), or as tables in memory; what else may be given becomes such tables
(:mod:`gnomon.intake.labelled`). A prediction table may hold scores by class in columns ``score:CLASS``, beside
labels or instead of them. Ids, labels and groups are text: ``007`` stays ``007``. The order of rows never matters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gnomon.core.errors import InputError, some
from gnomon.core.signals import Labels, LabelSets
from gnomon.core.tallies import Array
from gnomon.intake.memory import table_of
from gnomon.intake.sources import Source
from gnomon.intake.texts import natural_ranks
from gnomon.intake.unread import filled, note_columns
from gnomon.intake.wide import SCORE, best_labels, name_scores, need_columns, read_scores
from gnomon.suites.labels.options import ScoreOptions

ID, LABEL, GROUP = "id", "label", "group"


@dataclass(frozen=True)
class Truth:
    """The truth table, in the order of its ids."""

    source: Source
    ids: pa.Array
    labels: pa.Array
    groups: pa.Array | None
    tags: Mapping[str, pa.Array]
    unused: Mapping[str, int]
    """Columns that are neither read nor asked for, with the rows that fill each."""

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: Array) -> Truth:
        """Return some rows, by a mask ``(n,)``."""
        mask = pa.array(rows)
        groups = None if self.groups is None else self.groups.filter(mask)
        tags = {name: values.filter(mask) for name, values in self.tags.items()}
        return Truth(self.source, self.ids.filter(mask), self.labels.filter(mask), groups, tags, self.unused)


@dataclass(frozen=True)
class Aligned:
    """One system's predictions in the order of the truth, and what did not fit."""

    source: Source
    labels: pa.Array
    """Null where there is no prediction."""
    given: Array
    """Whether there is a prediction, ``(n,)``."""
    missing: int
    extra: int
    scores: Mapping[str, pa.ChunkedArray] = field(default_factory=dict)
    """Columns ``score:CLASS``; null where there is no prediction."""


def read_truth(options: ScoreOptions, *, empty: bool = False) -> Truth:
    """Read the truth table; one without rows is an error, unless it may be ``empty``."""
    source = Source.of("truth", options.truth)
    group, asked = options.group or GROUP, (options.id, options.label)
    table = table_of(source.content, text=(ID, LABEL, *asked, group, *options.slice), name="truth")
    ids_in, labels_in = name_columns(table, source, options)
    needed = (ids_in, labels_in, *((options.group,) if options.group else ()), *options.slice)
    _need(table, source, needed, fitted=not options.predictions)
    if not table.num_rows and not empty:
        raise InputError(f"{source.where}: no rows: expected at least one row with {ids_in} and {labels_in}")
    ids = _filled(table, source, ids_in, ids_in)
    if not _rising(ids):
        given, table = ids, table.take(pc.sort_indices(ids))
        ids = _filled(table, source, ids_in, ids_in)
        if not _rising(ids):
            raise _repeated(given, source)
    used = {ids_in, labels_in, group, *options.slice}
    return Truth(
        source,
        ids,
        _label_cells(table, source, (ids_in, labels_in), options.separator),
        _filled(table, source, group, ids_in) if group in table.column_names else None,
        {name: _filled(table, source, name, ids_in) for name in options.slice},
        {name: filled(table.column(name)) for name in table.column_names if name not in used},
    )


def name_columns(table: pa.Table, source: Source, options: ScoreOptions) -> tuple[str, str]:
    """Return the columns of ids and of labels: those that were named, where the table has them, else the usual ones."""
    for name, usual in ((options.id, ID), (options.label, LABEL)):
        if name and name not in table.column_names and usual not in table.column_names:
            _need(table, source, (name,))
    id_asked, label_asked = (name if name in table.column_names else "" for name in (options.id, options.label))
    return id_asked or ID, label_asked or LABEL


def read_predictions(source: Source, truth: Truth, options: ScoreOptions) -> Aligned:
    """Read one system's predictions and put them in the order of the truth."""
    table = table_of(source.content, text=(ID, LABEL, options.id, options.label), name=source.name)
    table = name_scores(table, source, options.scores)
    ids_in, labels_in = name_columns(table, source, options)
    scores = read_scores(table, source.where)
    if labels_in not in table.column_names and scores is not None:
        table = table.append_column(labels_in, pa.array(best_labels(*scores), pa.string()))
    _need(table, source, (ids_in, labels_in))
    note_columns(source.where, table, (ids_in, labels_in, *(name for name in table.column_names if _is_score(name))))
    table = _answered(table, labels_in, options)
    ids = _filled(table, source, ids_in, ids_in)
    labels = _label_cells(table, source, (ids_in, labels_in), options.separator)
    sets = pa.types.is_list(labels.type)
    if sets != pa.types.is_list(truth.labels.type):
        raise InputError(
            f"{source.where}: truth and predictions must both be single labels or both be sets of labels; "
            f"{'predictions have' if sets else 'the truth has'} a list in each row"
        )
    row, extra = _places(ids, truth.ids, source)
    if len(extra) and options.extra == "error":
        raise InputError(
            f"{source.where}: predictions for ids not in the truth: {some(extra[:5].to_pylist(), len(extra))}; "
            "remove them, or choose --extra ignore"
        )
    given = row >= 0
    missing = truth.ids.filter(pa.array(~given))
    if len(missing) and options.missing == "error":
        raise InputError(
            f"{source.where}: no prediction for ids of the truth: {some(missing[:5].to_pylist(), len(missing))}; "
            "add them, or choose --missing wrong or --missing skip"
        )
    whole = len(row) == len(ids) and np.array_equal(row, np.arange(len(row)))
    places = None if whole else pa.array(row, mask=~given)
    aligned = labels if places is None else labels.take(places)
    kept = {name: table.column(name) for name in table.column_names if _is_score(name)}
    kept = kept if places is None else {name: column.take(places) for name, column in kept.items()}
    return Aligned(source, aligned, given, len(missing), len(extra), kept)


def _is_score(name: str) -> bool:
    return name.startswith(SCORE)


def _answered(table: pa.Table, name: str, options: ScoreOptions) -> pa.Table:
    """Return the rows that hold a label, where missing answers are allowed: an empty or masked one is none."""
    labels = table.column(name)
    if options.missing == "error" or options.separator or not labels.null_count or pa.types.is_list(labels.type):
        return table
    return table.filter(pc.is_valid(labels))


def _places(ids: pa.Array, wanted: pa.Array, source: Source) -> tuple[Array, pa.Array]:
    """Return the row of every wanted id, -1 where there is none, and the ids that are not wanted."""
    if ids.equals(wanted):
        return np.arange(len(ids)), ids[:0]
    place = pc.index_in(ids, value_set=wanted)
    known = pc.is_valid(place).to_numpy(zero_copy_only=False)
    place = place.fill_null(-1).to_numpy(zero_copy_only=False)
    row = np.full(len(wanted), -1, dtype=np.int64)
    row[place[known]] = np.flatnonzero(known)
    extra = ids.filter(pa.array(~known))
    if int((row >= 0).sum()) + len(extra) != len(ids) or (
        len(extra) and pc.count_distinct(extra).as_py() != len(extra)
    ):
        raise _repeated(ids, source)
    return row, extra


def codes_of(labels: pa.Array) -> Labels:
    """Return single labels as a signal; null is "nothing given"."""
    return Labels(*natural_ranks(labels))


def sets_of(labels: pa.Array) -> LabelSets:
    """Return sets of labels as a signal; null is the empty set."""
    rows = pc.list_parent_indices(labels).to_numpy(zero_copy_only=False)
    items = codes_of(pc.list_flatten(labels))
    members = np.zeros((len(labels), len(items.classes)), dtype=np.bool_)
    members[rows, items.codes] = True
    return LabelSets(members, items.classes)


def _need(table: pa.Table, source: Source, names: Sequence[str], *, fitted: bool = False) -> None:
    """Refuse a table that lacks columns, and say how others are named; where systems are ``fitted``, they cannot be."""
    try:
        need_columns(table, source.where, names)
    except InputError as error:
        if not {ID, LABEL} & (set(names) - set(table.column_names)):
            raise
        if fitted:
            raise InputError(f"{error}; name the columns that are meant with --id and --label") from None
        raise InputError(
            f"{error}; name other columns with --id and --label, or give truth and predictions that are columns of one "
            "table with --table"
        ) from None


def _filled(table: pa.Table, source: Source, name: str, ids_in: str) -> pa.Array:
    """Return a column as text; refuse empty cells, naming ids (or, of the ids, data rows)."""
    column = table.column(name)
    if pa.types.is_list(column.type):
        raise InputError(f"{source.where}: column {name!r} holds lists; expected one text per row")
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    column = column.cast(pa.string()) if not pa.types.is_string(column.type) else column
    if column.null_count:
        rows = np.flatnonzero(pc.is_null(column).to_numpy(zero_copy_only=False))
        by_row = name == ids_in or source.by_row
        shown = [int(row) + 1 for row in rows[:5]] if by_row else table.column(ids_in).take(rows[:5]).to_pylist()
        what = "data rows" if by_row else "ids"
        given = source.name == "truth" or name == ids_in
        wanted = "fill in every row" if given else "fill in every row, or choose --missing wrong or --missing skip"
        # Rows without ids come from columns that the user named otherwise: the system is what they know.
        cells = f"label of {source.name!r}" if source.by_row and name == LABEL else repr(name)
        raise InputError(f"{source.where}: empty {cells} for {what} {some(shown, len(rows))}; {wanted}")
    return column


def _label_cells(table: pa.Table, source: Source, names: tuple[str, str], separator: str) -> pa.Array:
    """Return the labels, by the names of the columns of ids and labels; texts with a separator are sets of them."""
    ids_in, labels_in = names
    column = table.column(labels_in)
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_list(column.type):
        return column
    if not separator:
        return _filled(table, source, labels_in, ids_in)
    split = pc.split_pattern(column.cast(pa.string()).fill_null(""), separator)
    rows = pc.list_parent_indices(split).to_numpy(zero_copy_only=False)
    items = pc.utf8_trim_whitespace(pc.list_flatten(split))
    keep = pc.not_equal(items, "").to_numpy(zero_copy_only=False)
    counts = np.bincount(rows[keep], minlength=len(split))
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), items.filter(pa.array(keep)))


def _rising(ids: pa.Array) -> bool:
    """Tell whether ids come in order, each once: then nothing has to be sorted, and none occurs twice."""
    return len(ids) < 2 or bool(pc.all(pc.less(ids[:-1], ids[1:])).as_py())


def _repeated(ids: pa.Array, source: Source) -> InputError:
    counted = pc.value_counts(ids)
    twice = counted.filter(pc.greater(counted.field("counts"), 1)).field("values")
    return InputError(
        f"{source.where}: ids occur more than once: {some(twice[:5].to_pylist(), len(twice))}; keep one row per id"
    )
