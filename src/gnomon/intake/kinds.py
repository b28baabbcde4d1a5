"""Python values of one JSON key as one Arrow column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

LABELS = pa.list_(pa.string())
_NONE = type(None)
_NAMES = {str: "text", int: "a whole number", float: "a number", bool: "a boolean", list: "a list", dict: "an object"}


class MisfitError(ValueError):
    """The value at ``index`` does not fit its column."""

    def __init__(self, index: int, what: str) -> None:
        super().__init__(what)
        self.index = index


def to_array(values: Sequence[Any], *, as_text: bool) -> pa.Array:
    """Return the values as null, string, int64, double, bool or list<string>.

    Raises
    ------
    MisfitError
        A value is nested, or of another kind than the first one.

    >>> to_array([1, None, True], as_text=True).to_pylist()
    ['1', None, 'true']
    """
    kinds = set(map(type, values)) - {_NONE}
    if not kinds:
        return pa.nulls(len(values))
    if kinds == {str}:
        return pa.array(values, pa.string())
    if as_text and kinds <= {str, int, bool}:
        return pa.array([None if value is None else _text(value) for value in values], pa.string())
    if kinds == {bool}:
        return pa.array(values, pa.bool_())
    if kinds <= {int, float}:
        return _numbers(values, pa.int64() if kinds == {int} else pa.float64())
    if kinds == {list}:
        return pa.array([_items(index, value) for index, value in enumerate(values)], LABELS)
    raise _odd_one_out(values, {str, int, bool} if as_text else {int, float})


def common_kind(before: pa.DataType, array: pa.Array) -> pa.DataType:
    """Return the type that holds the column so far and the next part of it.

    Null fits everything and whole numbers fit numbers.

    >>> common_kind(pa.int64(), pa.array([None, 0.5]))
    DataType(double)
    """
    kind = array.type
    if kind == before or pa.types.is_null(kind):
        return before
    if pa.types.is_null(before):
        return kind
    if {kind, before} == {pa.int64(), pa.float64()}:
        return pa.float64()
    index = next(i for i, valid in enumerate(array.is_valid().to_pylist()) if valid)
    raise MisfitError(index, f"a value of type {kind}, expected {before} as in the lines before")


def _text(value: str | int | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _numbers(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    try:
        return pa.array(values, kind)
    except (pa.ArrowException, ValueError, OverflowError) as error:
        for index, value in enumerate(values):
            if isinstance(value, int) and abs(value) > 2**53:
                raise MisfitError(index, "the whole number is too large for the column") from error
        raise


def _items(index: int, value: list[Any] | None) -> list[str] | None:
    if value is None:
        return None
    if not set(map(type, value)) <= {str, int, bool}:
        found = next(item for item in value if type(item) not in (str, int, bool))
        raise MisfitError(index, f"a list holds {_NAMES.get(type(found), 'null')}, expected text or whole numbers")
    return [_text(item) for item in value]


def _odd_one_out(values: Sequence[Any], together: set[type]) -> MisfitError:
    """Return the error for the first value that is an object or cannot share a column with the first one."""
    first = next(type(value) for value in values if value is not None)
    fits = together if first in together else {first}
    for index, value in enumerate(values):
        if isinstance(value, dict):
            return MisfitError(index, "an object inside the object, expected text, a number, a boolean or a list")
        if value is not None and type(value) not in fits:
            return MisfitError(index, f"{_NAMES[type(value)]}, expected {_NAMES[first]} as in the lines before")
    return MisfitError(0, "values of several kinds")
