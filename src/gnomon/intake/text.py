"""What a cell means once it is an Arrow value: the rules shared by every format.

Conventions
-----------
- A cell of text that is empty or only white space is null; other text is kept as it stands.
- A column that is asked for as text never goes through a number: ``007`` stays ``007``. Integers of typed
  formats become their decimal digits and booleans ``true`` or ``false``.
- Floats as text are refused where one of them is integral: ``1.0`` cannot be told from a label ``1`` that lost
  its type on the way (a missing value turns integers into floats in many tools). NaN is null.
- A list of text is a set of labels; it holds no null and no blank.
"""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterable

import pyarrow as pa
import pyarrow.compute as pc

from gnomon.core.errors import InputError
from gnomon.intake.faults import guarded, shown
from gnomon.intake.kinds import LABELS

_LIST_TESTS = (
    pa.types.is_list,
    pa.types.is_large_list,
    pa.types.is_fixed_size_list,
    pa.types.is_list_view,
    pa.types.is_large_list_view,
)
_TEXT_TESTS = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_string_view,
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_binary_view,
)


def tidy(table: pa.Table, text: Collection[str], path: str | os.PathLike[str]) -> pa.Table:
    """Return a table whose text is ``string`` or ``list<string>``, blanks being null.

    Parameters
    ----------
    table
        Any table without dictionary columns.
    text
        Names of the columns that have to be text; names that are not in the table are ignored.
    path
        Where the table came from, for messages.
    """
    columns = []
    for name, column in zip(table.schema.names, table.columns, strict=True):
        with guarded(path, f"column {shown(name)!r} cannot be used", "store it as text"):
            columns.append(_tidy_column(column, name in text, f"{shown(path)}: column {shown(name)!r}"))
    return pa.table(columns, names=table.schema.names)


def is_list(kind: pa.DataType) -> bool:
    """Say whether a type is a list of any sort."""
    return any(test(kind) for test in _LIST_TESTS)


def is_texty(kind: pa.DataType) -> bool:
    """Say whether a type holds text, or bytes that may be text."""
    return any(test(kind) for test in _TEXT_TESTS)


def _tidy_column(column: pa.ChunkedArray, wanted: bool, where: str) -> pa.ChunkedArray:
    kind = column.type
    if is_list(kind):
        return _labels(column, where)
    if is_texty(kind):
        return blank_to_null(_cast(column, where))
    if not wanted:
        return column
    if pa.types.is_floating(kind):
        return _floats_as_text(column, where)
    if pa.types.is_nested(kind) or pa.types.is_fixed_size_binary(kind):
        raise InputError(f"{where} has type {shown(str(kind))}, expected text or integers; store it as text")
    return _cast(column, where)


def blank_to_null(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a string column in which empty and white-space cells are null."""
    # A comparison with "" would do as well, but a Python scalar makes Arrow import pandas where it is installed.
    filled = pc.binary_length(pc.utf8_trim_whitespace(column)).cast(pa.bool_())
    if pc.all(filled).as_py():
        return column
    return pc.if_else(filled, column, pa.nulls(len(column), column.type))


EXACT = 2**53
"""Whole numbers below this are exact as floats."""


def check_spelling(true: Iterable[str], predicted: Iterable[str], where: str) -> None:
    """Refuse labels of which none is true, but would be if both sides were spelt alike: ``1.0`` and ``1``.

    >>> check_spelling(["sit", "walk"], ["sit", "Walk"], "a.csv")
    """
    known, given = set(true), set(predicted)
    if known & given:
        return
    plain = {_plain(label): label for label in sorted(known)}
    for label in sorted(given):
        if _plain(label) in plain:
            raise InputError(
                f"{where}: no predicted label is a label of the truth, but {shown(label, 40)!r} is "
                f"{shown(plain[_plain(label)], 40)!r} in another spelling; write labels alike on both sides"
            )


def _plain(label: str) -> str:
    """Return a label without what tools change: case, space around it, how a number or a truth value is written."""
    text = label.strip().casefold()
    text = {"true": "1", "false": "0"}.get(text, text)
    try:
        number = float(text)
    except ValueError:
        return text
    return repr(number) if math.isfinite(number) else text


def _cast(column: pa.ChunkedArray, where: str) -> pa.ChunkedArray:
    if pa.types.is_string(column.type):
        return column
    try:
        return column.cast(pa.string())
    except pa.ArrowInvalid as error:
        raise InputError(
            f"{where} has type {shown(str(column.type))} and does not hold UTF-8 text; store it as UTF-8"
        ) from error


def _floats_as_text(column: pa.ChunkedArray, where: str) -> pa.ChunkedArray:
    known = column.cast(pa.float64()).filter(pc.is_finite(column.cast(pa.float64())))
    integral = known.filter(pc.equal(known, pc.floor(known)))
    if len(integral) == len(known) < len(column) and len(known) and pc.max(pc.abs(known)).as_py() < EXACT:
        # Whole numbers beside empty cells: data frames hold such a column of integers as floats.
        whole = pc.if_else(pc.is_finite(column), column, pa.scalar(None, column.type))
        return whole.cast(pa.int64()).cast(pa.string())
    if len(integral):
        raise InputError(
            f"{where}: labels are floats; store them as integers or text: got {integral[0].as_py()}, "
            "which may be an integer that lost its type"
        )
    return pc.if_else(pc.is_nan(column), pa.scalar(None, pa.string()), column.cast(pa.string()))


def _labels(column: pa.ChunkedArray, where: str) -> pa.ChunkedArray:
    inner = column.type.value_type
    if not (is_texty(inner) or pa.types.is_null(inner)):
        raise InputError(f"{where} has type {shown(str(column.type))}, expected lists of text; store text in the lists")
    lists = column.cast(LABELS)
    items = blank_to_null(pc.list_flatten(lists))
    if items.null_count:
        raise InputError(f"{where}: a list holds an empty or missing item, expected text; leave it out of the list")
    return lists
