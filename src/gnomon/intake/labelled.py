"""Labels of rows, in whatever form a user has them, settled into a truth table and prediction tables with ids.

- files, or tables in memory: ``id, label`` on both sides, by whatever names (``--id``, ``--label``);
- one wide table with everything in columns (``--table``, :mod:`gnomon.intake.wide`);
- labels alone, in memory: a list, a series, an array or a tensor, one label per row, on both sides in the same order;
- array files (``.npy``) of such labels;
- scores by class beside labels, or instead of them: columns, or an array ``(n, classes)`` with ``classes``;
- groups as a column, as an array with one value per row, as a mapping by id, or as a table with id and group.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from gnomon.core.errors import InputError, some
from gnomon.intake.groups import GROUP, find_groups, is_given, is_group_table
from gnomon.intake.memory import is_column, is_frame, table_of, to_column, to_numpy
from gnomon.intake.npy import read_npy
from gnomon.intake.shards import is_folder
from gnomon.intake.sources import Source, check_names, named
from gnomon.intake.wide import ID, LABEL, Roles, name_systems, number_rows, score_columns, split_wide

Options = TypeVar("Options")
"""A struct with the fields of :class:`gnomon.core.options.LabelOptions`."""
ONLY = "predictions"
"""What a system is called that was given without a name."""


def settle(options: Options, *, kept: Sequence[str] = (), text: Sequence[str] = ()) -> Options:
    """Return options whose truth and predictions are tables with ids, and whose group is a column of the truth.

    Of a wide table, ``kept`` names further columns that it must have, such as slices, and ``text`` columns that are
    read as text where it has them.
    """
    settled: Any = options
    settled = replace(settled, **_load_arrays(settled))
    settled = replace(settled, **_settle(settled, kept, text))
    whole: Options = replace(settled, **_settle_group(settled))
    return whole


def _load_arrays(options: Any) -> dict[str, Any]:
    """Read array files (``.npy``) where the truth is one: predictions and scores then are, too."""

    def load(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: load(item) for name, item in value.items()}
        return read_npy(Path(value)) if _is_npy(value) else value

    if is_given(options.table) or not _is_npy(options.truth):
        return {}
    sides = {}
    for side in ("predictions", "scores"):
        given = [dict([named(item)]) if isinstance(item, str) else item for item in getattr(options, side)]
        sides[side] = tuple(load(item) for item in given)
    several = [name for item in sides["predictions"] if isinstance(item, Mapping) for name in item]
    check_names(several) if several else None
    return {"truth": load(options.truth), **sides}


def _is_npy(value: Any) -> bool:
    return isinstance(value, (str, os.PathLike)) and os.fspath(value).lower().endswith(".npy") and os.path.isfile(value)


def _settle(options: Any, kept: Sequence[str], text: Sequence[str]) -> dict[str, Any]:
    if is_given(options.table):
        return _settle_wide(options, kept, text)
    if is_column(options.truth):
        return _settle_labels(options)
    if isinstance(options.truth, (Set, Iterator)) or hasattr(options.truth, "tocsr"):
        raise InputError(
            f"truth: expected a path, a table, or one label per row, but got {type(options.truth).__name__}; give "
            "labels as a list, an array or a series"
        )
    return {}


def _settle_wide(options: Any, kept: Sequence[str], text: Sequence[str]) -> dict[str, Any]:
    """Split one wide table into the truth and the predictions of every system."""
    if not isinstance(options.truth, str):
        raise InputError("--table is given: expected --truth to name its column of true labels; give that name")
    if options.label:
        raise InputError("--table is given: --truth and --predictions name its columns of labels; leave --label out")
    given = name_systems(options.predictions, "--predictions") if options.predictions else {}
    scores = name_systems(options.scores, "--scores") if options.scores else {}
    if len(scores) == 1 and len(given) == 1:
        scores = dict(zip(given, scores.values(), strict=True))
    columns = {**dict.fromkeys(scores, ""), **given}
    check_names(list(columns))
    strange = [name for name, column in columns.items() if not isinstance(column, str)]
    if strange:
        raise InputError(f"predictions: expected the name of a column of the table for {some(strange)}; give that")
    group = [options.group] if is_given(options.group) and not is_group_table(options.group) else []
    named = tuple(dict.fromkeys(name for name in (*group, *kept) if name != ID or options.id == ID))
    roles = Roles(options.truth, columns, scores, options.id, named, tuple(text))
    truth, systems = split_wide(options.table, roles)
    return {"truth": truth, "predictions": tuple(systems), "scores": (), "id": "", "table": ""}


def _settle_labels(options: Any) -> dict[str, Any]:
    """Give ids to labels alone: the id of a row is its place."""
    truth = to_column(options.truth, "truth")
    given: Any = options.classes
    classes = None if isinstance(given, str) else tuple(str(label) for label in _listed(given))
    labels, scores = _labels_by_system(options, len(truth)), _scores_by_system(options)
    if classes is not None:  # an array of scores in the place of labels, with the names of its columns
        scores |= {name: labels.pop(name) for name in list(labels) if len(getattr(labels[name], "shape", ())) == 2}
    if len(scores) == 1 and len(labels) == 1:
        scores = dict(zip(labels, scores.values(), strict=True))
    check_names([*labels, *(name for name in scores if name not in labels)])
    ids, systems = number_rows(len(truth)), []
    for name in dict.fromkeys((*labels, *scores)):
        columns: dict[str, Any] = {ID: ids}
        if name in labels:
            columns[LABEL] = _label_column(labels[name], name, options.truth, truth)
        if name in scores:
            columns |= score_columns(scores[name], classes, f"scores of {name}" if len(scores) > 1 else "scores")
        lengths = {len(column) for column in columns.values()} - {len(truth)}
        if lengths:
            raise InputError(
                f"truth has {len(truth):,} labels and the scores of {name} have {lengths.pop():,} rows: expected as "
                "many, in the same order"
            )
        systems.append(Source(name, columns, by_row=True))
    return {
        "truth": Source("truth", {ID: ids, LABEL: truth}, by_row=True),
        "predictions": tuple(systems),
        "scores": (),
        **({"classes": "" if scores else classes} if classes else {}),
    }


def _listed(values: Any) -> Sequence[Any]:
    return values if isinstance(values, (list, tuple)) else to_numpy(values, "classes").tolist()


def _labels_by_system(options: Any, rows: int) -> dict[str, Any]:
    """Return the labels of every system; an option that is a list of labels was taken for a list of systems."""
    given: Any = options.predictions
    if len(given) == rows > 1 and all(isinstance(item, (list, tuple)) for item in given):
        raise InputError(
            "predictions: expected one label per row, but got a list of lists; give a flat list (in NumPy: "
            "labels.ravel()), or several systems by name: {'a': labels, 'b': labels}"
        )
    if given and not any(is_column(item) or isinstance(item, Mapping) or is_frame(item) for item in given):
        given = (given,)
    found: list[tuple[str, Any]] = []
    for item in given:
        found += item.items() if isinstance(item, Mapping) and ID not in item else [(ONLY, item)]
    names = [str(name) for name, _ in found]
    if found:
        check_names(names)
    return dict(zip(names, (labels for _, labels in found), strict=True))


def _scores_by_system(options: Any) -> dict[str, Any]:
    """Return the scores of every system: by name, or of the only one."""
    if not is_given(options.scores):
        return {}
    given: Any = options.scores
    if len(given) == 1 and isinstance(given[0], Mapping) and any(_is_matrix(item) for item in given[0].values()):
        return {str(name): item for name, item in given[0].items()}
    return {ONLY: given[0] if len(given) == 1 else given}


def _is_matrix(value: Any) -> bool:
    """Say whether a value has rows and columns, so that a mapping that holds it is one by system."""
    if isinstance(value, Mapping) or is_frame(value):
        return True
    shape = getattr(value, "shape", None)
    return len(shape) == 2 if shape is not None else bool(value) and isinstance(value[0], (list, tuple))


def _label_column(labels: Any, name: str, truth_given: Any, truth: pa.Array) -> pa.Array:
    """Return the labels of one system, as many as the truth has."""
    if is_frame(labels):
        raise InputError(
            f"{name}: expected one label per row, but got a data frame; give a system for each column, as "
            "{'a': frame['a'], 'b': frame['b']}, or scores by class as scores=..."
        )
    if not is_column(labels):
        raise InputError(
            f"{name}: expected labels in the order of the truth, which has no ids; give both sides as tables with "
            f"the columns {ID} and {LABEL}, or none of them"
        )
    shape = tuple(getattr(labels, "shape", ()))
    if len(shape) == 2:
        raise InputError(
            f"{name}: expected one label per row, but got an array of shape {shape}; give scores by class as "
            "scores=..., with classes=[...]"
        )
    column = to_column(labels, name)
    if len(column) != len(truth):
        raise InputError(
            f"truth has {len(truth):,} labels and {name} {len(column):,}: expected as many, in the same order; "
            f"{_nested(truth, column) or f'give tables with the columns {ID} and {LABEL} where some are missing'}"
        )
    _same_order(truth_given, labels, name)
    return column


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


def _settle_group(options: Any) -> dict[str, Any]:
    """Put groups that are no column of the truth into one (:mod:`gnomon.intake.groups`)."""
    if not is_group_table(options.group):
        return {}
    if is_folder(options.truth):
        raise InputError("group: shards have their groups in a column; name it")
    source = Source.of("truth", options.truth)
    name_of_id = options.id or ID
    table = table_of(source.content, text=(name_of_id, options.label or LABEL), name="truth")
    if name_of_id not in table.column_names:
        raise InputError(f"{source.where}: no column {name_of_id!r}, by which groups are found; name it with --id")
    ids = table.column(name_of_id).to_pylist()
    groups = find_groups(options.group, ids, keys=(name_of_id,), thing="row" if source.by_row else "id")
    kept = [name for name in table.column_names if name != GROUP]
    whole = table.select(kept).append_column(GROUP, pa.array([groups.of[name] for name in ids], pa.string()))
    return {"truth": Source("truth", whole, source.file, source.by_row), "group": GROUP}
