"""Which physical columns of a parquet file carry the columns of its table, and of what type."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa

from gnomon.core.errors import InputError
from gnomon.intake.faults import shown
from gnomon.intake.text import is_list, is_texty

_CODE_AND_OFFSET = 8
_LEVELS = 8
_NUMBER = 8
ENTRY = 24
"""Bytes that an entry of a dictionary takes beside its text."""


class Leaf(NamedTuple):
    """One physical column: the type of its values, and whether a row holds a list of them."""

    type: pa.DataType
    in_list: bool

    @property
    def width(self) -> int:
        """Bytes that one value takes at least, once it is in memory."""
        if is_texty(self.type):
            return _CODE_AND_OFFSET + (_LEVELS if self.in_list else 0)
        if pa.types.is_null(self.type):
            return _NUMBER
        return max(_NUMBER, int(self.type.bit_width) // 8)


def find_leaves(path: str | os.PathLike[str], schema: pa.Schema, wanted: Sequence[str], total: int) -> dict[int, Leaf]:
    """Return the leaf of every wanted column by its position among all leaves.

    Parameters
    ----------
    path
        The file, for messages.
    schema
        Its Arrow schema.
    wanted
        Names of the columns that will be read.
    total
        How many physical columns the file has.
    """
    found: dict[int, Leaf] = {}
    position, names = 0, set(wanted)
    for field in schema:
        if field.name in names:
            found[position] = _leaf(path, field)
        position += _count(field.type)
    if position != total:
        raise InputError(
            f"{shown(path)}: the schema names {position} physical columns, the file has {total}; write the file again"
        )
    return found


def _leaf(path: str | os.PathLike[str], field: pa.Field) -> Leaf:
    kind = _values(field.type)
    if is_list(kind) and (is_texty(_values(kind.value_type)) or pa.types.is_floating(kind.value_type)):
        return Leaf(_values(kind.value_type), in_list=True)
    if pa.types.is_nested(kind) or isinstance(kind, pa.BaseExtensionType):
        raise InputError(
            f"{shown(path)}: column {shown(field.name)!r} has type {shown(str(field.type))}, expected a flat column or "
            "a list of text or floats; store it flat"
        )
    return Leaf(kind, in_list=False)


def _values(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _count(kind: pa.DataType) -> int:
    if isinstance(kind, pa.BaseExtensionType):
        return _count(kind.storage_type)
    kind = _values(kind)
    if pa.types.is_nested(kind):
        return sum(_count(kind.field(i).type) for i in range(kind.num_fields))
    return 1
