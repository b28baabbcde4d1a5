"""The files of ``labels``: a truth table and prediction tables, read and aligned by id.

Truth: ``id, label[, group][, tags...]``. Predictions: ``id, label``. As csv, tsv, parquet, jsonl or npz
(the first three also gzipped where that is usual), or as tables in memory; there also as labels alone, one per row on
both sides (:func:`with_ids`). Ids, labels and groups are text:
``007`` stays ``007``. The order of rows never matters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gnomon.core.errors import InputError, some
from gnomon.core.signals import Labels, LabelSets
from gnomon.core.tallies import Array
from gnomon.intake.header import separated
from gnomon.intake.memory import is_column, table_of, to_column
from gnomon.intake.sources import Source, check_names
from gnomon.intake.texts import natural_ranks
from gnomon.intake.unread import filled, note_columns
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


def with_ids(options: ScoreOptions) -> ScoreOptions:
    """Return options whose tables have ids, where labels alone were given: the id of a row is its place.

    Labels alone are a list, a series, an array or a tensor, one label per row, on both sides in the same order.
    """
    if not is_column(options.truth):
        if isinstance(options.truth, (Set, Iterator)) or hasattr(options.truth, "tocsr"):
            raise InputError(
                f"truth: expected a path, a table, or one label per row, but got {type(options.truth).__name__}; give "
                "labels as a list, an array or a series"
            )
        return options
    truth = to_column(options.truth, "truth")
    given: Any = options.predictions
    if len(given) == len(truth) > 1 and all(isinstance(item, (list, tuple)) for item in given):
        raise InputError(
            "predictions: expected one label per row, but got a list of lists; give a flat list (in NumPy: "
            "labels.ravel()), or several systems by name: {'a': labels, 'b': labels}"
        )
    if given and not any(is_column(item) or isinstance(item, Mapping) for item in given):
        given = (given,)  # a list of labels, which the option took for a list of systems
    named: list[tuple[str, Any]] = []
    for item in given:
        named += item.items() if isinstance(item, Mapping) and ID not in item else [("predictions", item)]
    check_names([name for name, _ in named])
    tables = {}
    for name, labels in named:
        if not is_column(labels):
            raise InputError(
                f"{name}: expected labels in the order of the truth, which has no ids; give both sides as tables with "
                f"the columns {ID} and {LABEL}, or none of them"
            )
        column = to_column(labels, name)
        if len(column) != len(truth):
            raise InputError(
                f"truth has {len(truth):,} labels and {name} {len(column):,}: expected as many, in the same order; "
                f"{_nested(truth, column) or f'give tables with the columns {ID} and {LABEL} where some are missing'}"
            )
        _same_order(options.truth, labels, name)
        tables[name] = {ID: range(len(column)), LABEL: column}
    both: Any = {"truth": {ID: range(len(truth)), LABEL: truth}, "predictions": (tables,)}
    return replace(options, **both)


def _nested(*columns: Any) -> str:
    """Return what to do where a column is one list inside a list; nothing where none is."""
    nested = any(len(column) == 1 and pa.types.is_list(column.type) for column in columns)
    return "one side is a list that holds one list: give the inner list, one label per row" if nested else ""


def _same_order(truth: Any, labels: Any, name: str) -> None:
    """Refuse two series of one index in different orders: whether rows or index are meant is not known."""
    sides: list[Any] = [getattr(side, "index", None) for side in (truth, labels)]
    if not all(hasattr(side, "sort_values") for side in sides):
        return
    one, other = sides
    if not one.equals(other) and one.sort_values().equals(other.sort_values()):
        raise InputError(
            f"truth and {name} have the same index in different orders, but rows are matched by their place: give one "
            f"of them as the other is ordered, or tables with the columns {ID} and {LABEL}"
        )


def read_truth(options: ScoreOptions, *, empty: bool = False) -> Truth:
    """Read the truth table; one without rows is an error, unless it may be ``empty``."""
    source = Source("truth", options.truth)
    group = options.group or GROUP
    table = table_of(source.content, text=(ID, LABEL, group, *options.slice), name="truth")
    _need(table, source, (ID, LABEL, *((options.group,) if options.group else ()), *options.slice))
    if not table.num_rows and not empty:
        raise InputError(f"{source.where}: no rows: expected at least one row with {ID} and {LABEL}")
    ids = _filled(table, source, ID)
    if not _rising(ids):
        given, table = ids, table.take(pc.sort_indices(ids))
        ids = _filled(table, source, ID)
        if not _rising(ids):
            raise _repeated(given, source)
    used = {ID, LABEL, group, *options.slice}
    return Truth(
        source,
        ids,
        _label_cells(table, source, options.separator),
        _filled(table, source, group) if group in table.column_names else None,
        {name: _filled(table, source, name) for name in options.slice},
        {name: filled(table.column(name)) for name in table.column_names if name not in used},
    )


def read_predictions(source: Source, truth: Truth, options: ScoreOptions) -> Aligned:
    """Read one system's predictions and put them in the order of the truth."""
    table = table_of(source.content, text=(ID, LABEL), name=source.name)
    _need(table, source, (ID, LABEL))
    note_columns(source.where, table, (ID, LABEL))
    table = _answered(table, options)
    ids = _filled(table, source, ID)
    labels = _label_cells(table, source, options.separator)
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
    aligned = labels if whole else labels.take(pa.array(row, mask=~given))
    return Aligned(source, aligned, given, len(missing), len(extra))


def _answered(table: pa.Table, options: ScoreOptions) -> pa.Table:
    """Return the rows that hold a label, where missing answers are allowed: an empty or masked one is none."""
    labels = table.column(LABEL)
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


def _need(table: pa.Table, source: Source, names: Sequence[str]) -> None:
    lacking = [name for name in names if name not in table.column_names]
    if lacking:
        hint = separated(table.column_names, lacking)
        raise InputError(
            f"{source.where}: no column {some(lacking)}; expected {', '.join(names)}, "
            f"but the table has {some(table.column_names, show=12)}{'; ' if hint else ''}{hint}"
        )


def _filled(table: pa.Table, source: Source, name: str) -> pa.Array:
    column = table.column(name)
    if pa.types.is_list(column.type):
        raise InputError(f"{source.where}: column {name!r} holds lists; expected one text per row")
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    column = column.cast(pa.string()) if not pa.types.is_string(column.type) else column
    if column.null_count:
        rows = np.flatnonzero(pc.is_null(column).to_numpy(zero_copy_only=False))
        shown = _ids_of(table, rows) if name != ID else [int(row) + 1 for row in rows[:5]]
        what = "data rows" if name == ID else "ids"
        wanted = (
            "fill in every row"
            if name != LABEL or source.name == "truth"
            else ("fill in every row, or choose --missing wrong or --missing skip")
        )
        raise InputError(f"{source.where}: empty {name!r} for {what} {some(shown, len(rows))}; {wanted}")
    return column


def _ids_of(table: pa.Table, rows: Array) -> list[Any]:
    ids: list[Any] = table.column(ID).take(pa.array(rows[:5])).to_pylist()
    return ids


def _label_cells(table: pa.Table, source: Source, separator: str) -> pa.Array:
    column = table.column(LABEL)
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_list(column.type):
        return column
    if not separator:
        return _filled(table, source, LABEL)
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
