"""One wide table: truth, predictions of several systems, groups and scores by class, in columns of one table.

It becomes what a truth table and prediction tables hold: ``id, label`` and what is kept beside them. Without a column
of ids, rows are known by their place. Scores by class are columns ``score:CLASS`` of a prediction table.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from gnomon.core.errors import InputError, some
from gnomon.core.tallies import Array
from gnomon.intake.faults import shown
from gnomon.intake.header import separated
from gnomon.intake.memory import is_frame, table_of, to_matrix
from gnomon.intake.sources import Source, check_names

ID, LABEL = "id", "label"
SCORE = "score:"
"""How the name of a column begins that holds the scores of a class."""


@dataclass(frozen=True)
class Roles:
    """What the columns of a wide table are.

    Attributes
    ----------
    truth
        The column of true labels.
    predictions
        By system, the column of its labels; empty where only its scores are given.
    scores
        By system, how the names of its columns of scores begin; the rest of a name is the class.
    id
        The column of ids; empty where rows are known by their place.
    kept
        Further columns that belong to the truth: groups and slices.
    text
        Columns that are read as text where the table has them.
    """

    truth: str
    predictions: Mapping[str, str]
    scores: Mapping[str, str]
    id: str = ""
    kept: tuple[str, ...] = ()
    text: tuple[str, ...] = ()


def split_wide(content: Any, roles: Roles) -> tuple[Source, list[Source]]:
    """Return the truth, beside it the columns that nobody named, and the predictions of every system."""
    source = Source("table", content)
    named = [name for name in (roles.truth, *roles.predictions.values(), roles.id, *roles.kept) if name]
    table = table_of(content, text=(*named, *roles.text), name="table")
    need_columns(table, source.where, named, [f"{name}={column}" for name, column in roles.predictions.items()])
    scores = {name: find_scores(table, prefix, source.where) for name, prefix in roles.scores.items()}
    ids = table.column(roles.id) if roles.id else number_rows(table.num_rows)
    by_row = not roles.id
    path = os.fspath(content) if isinstance(content, (str, os.PathLike)) else ""
    found = []
    for name, column in roles.predictions.items():
        labels = {LABEL: table.column(column)} if column else {}
        own = {f"{SCORE}{label}": table.column(key) for label, key in scores.get(name, {}).items()}
        found.append(Source(name, pa.table({ID: ids, **labels, **own}), path, by_row))
    used = {*named, *(key for own in scores.values() for key in own.values())}
    rest = [name for name in table.column_names if name in roles.kept or name not in {*used, ID, LABEL}]
    truth = pa.table({**{name: table.column(name) for name in rest}, ID: ids, LABEL: table.column(roles.truth)})
    return Source("truth", truth, path, by_row), found


def number_rows(count: int) -> pa.Array:
    """Return ids of rows that are known by their place: their numbers, as text that sorts in their order."""
    width = len(str(max(count - 1, 0)))
    return pa.array([f"{row:0{width}d}" for row in range(count)], pa.string())


def name_systems(items: Iterable[Any], option: str) -> dict[str, Any]:
    """Return what an option holds for every system: ``NAME=TEXT``, or a text, which is its own name, or a mapping."""
    found: list[tuple[str, Any]] = []
    for item in items:
        if isinstance(item, Mapping):
            found += [(str(name), content) for name, content in item.items()]
            continue
        if not isinstance(item, str):
            raise InputError(f"{option}: expected NAME=COLUMN or the name of a column, but got {type(item).__name__}")
        name, equals, column = item.partition("=")
        found.append((name, column) if equals and name and column else (item, item))
    check_names([name for name, _ in found])
    return dict(found)


def name_scores(table: pa.Table, source: Source, given: Sequence[Any]) -> pa.Table:
    """Return a prediction table whose columns of scores, which an option names by a prefix, are ``score:CLASS``."""
    prefixes = name_systems(given, "--scores") if given else {}
    prefix = prefixes.get(source.name) or next((own for name, own in prefixes.items() if name == own), "")
    if not prefix:
        return table
    found = {column: f"{SCORE}{label}" for label, column in find_scores(table, prefix, source.where).items()}
    return table.rename_columns([found.get(name, name) for name in table.column_names])


def use_names(table: pa.Table, names: Mapping[str, str]) -> pa.Table:
    """Return a table in which columns that a user named have their usual names.

    A column that had such a name, and is not meant, keeps it with a mark behind it.
    """
    there = {own: usual for own, usual in names.items() if own and own != usual and own in table.column_names}
    taken = set(there.values())
    return table.rename_columns(
        [there.get(name) or (f"{name} (own)" if name in taken else name) for name in table.column_names]
    )


def need_columns(table: pa.Table, where: str, names: Sequence[str], whole: Sequence[str] = ()) -> None:
    """Refuse a table that lacks columns; the message names those that it has, and one that is spelt alike.

    ``whole`` are the texts ``NAME=COLUMN`` of an option: one of them may be the name of a column itself.
    """
    lacking = [name for name in names if name not in table.column_names]
    if not lacking:
        return
    near = [match for name in lacking for match in difflib.get_close_matches(name, table.column_names, n=1)]
    hint = separated(table.column_names, lacking) or (f"did you mean {some(near)}?" if near else "")
    taken = [text for text in whole if text in table.column_names]
    if taken:
        hint = f"what stands before the first '=' names a system: give NAME={taken[0]} for the column {taken[0]!r}"
    raise InputError(
        f"{where}: no column {some(lacking)}; expected {', '.join(dict.fromkeys(names))}, "
        f"but the table has {some(table.column_names, show=12)}{'; ' if hint else ''}{hint}"
    )


def find_scores(table: pa.Table, prefix: str, where: str) -> dict[str, str]:
    """Return, by class, the column of its scores: those whose names begin so."""
    found = {name.removeprefix(prefix): name for name in table.column_names if name.startswith(prefix)}
    found.pop("", None)
    if not found:
        raise InputError(
            f"{where}: no column begins with {prefix!r}: expected one column of scores for every class, such as "
            f"{prefix}CLASS, but the table has {some(table.column_names, show=12)}"
        )
    return found


def read_scores(table: pa.Table, where: str) -> tuple[Array, tuple[str, ...]] | None:
    """Return the scores of a prediction table ``(n, classes)`` with the classes, or None where it has none."""
    names = [name for name in table.column_names if name.startswith(SCORE)]
    if not names:
        return None
    for name in names:
        if not pa.types.is_floating(table[name].type) and not pa.types.is_integer(table[name].type):
            raise InputError(f"{where}: column {name!r} {_not_number(table[name])}; give a number in every row")
    scores = np.stack([table[name].to_numpy().astype(np.float64) for name in names], axis=1)
    if not np.isfinite(scores).all():
        row = int(np.argmin(np.isfinite(scores).all(axis=1)))
        raise InputError(f"{where}: row {row + 1}: a score is missing or not finite; give a number for every label")
    return scores, tuple(name.removeprefix(SCORE) for name in names)


def best_labels(scores: Array, names: Sequence[str]) -> Array:
    """Return the label with the largest score of every row ``(n, classes)``; of equal ones the first."""
    labels = np.array(names, dtype=object)
    return np.asarray(labels[scores.argmax(axis=1)]) if len(scores) else np.zeros(0, dtype=object)


def score_columns(values: Any, classes: Sequence[str] | None, name: str) -> dict[str, Any]:
    """Return scores in memory as columns ``score:CLASS``: a table by class, or an array ``(n, classes)``."""
    if isinstance(values, Mapping) or is_frame(values):
        table = table_of(values, name=name)
        return {f"{SCORE}{label}": table.column(label) for label in table.column_names}
    matrix = to_matrix(values, name)
    if classes is None:
        raise InputError(
            f"{name}: an array of shape {matrix.shape} does not say which class a column is: give "
            "classes=[...], one name per column in its order, or a data frame with a column per class"
        )
    if matrix.shape[1] != len(classes):
        raise InputError(f"{name}: {matrix.shape[1]} columns of scores, but {len(classes)} classes; give one for each")
    return {f"{SCORE}{label}": matrix[:, place] for place, label in enumerate(classes)}


def _not_number(column: pa.ChunkedArray) -> str:
    for row, cell in enumerate(column.to_pylist(), start=1):
        try:
            float(cell)
        except (TypeError, ValueError):
            return f"holds {shown(str(cell), 40)!r} in row {row}"
    return f"is of type {column.type}"
