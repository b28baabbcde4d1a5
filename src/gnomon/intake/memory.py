"""Tables that are already in memory: Arrow, mappings of columns, data frames."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import Any

import pyarrow as pa

from gnomon.core.errors import InputError
from gnomon.intake.faults import guarded
from gnomon.intake.tables import read_table
from gnomon.intake.text import tidy


def table_of(source: Any, *, text: Collection[str] = (), name: str = "table") -> pa.Table:
    """Return a table from a path, an Arrow table, a mapping of columns or a data frame.

    Columns named in ``text`` come out as text; ``name`` stands for the source in messages.

    >>> table_of({"id": [1, 2], "label": ["a", "b"]}, text=("id", "label")).column("id").to_pylist()
    ['1', '2']
    """
    if isinstance(source, (str, os.PathLike)):
        return read_table(source, text=text)
    what = f"<{name} in memory>"
    with guarded(what, "cannot be used as a table", "give columns of one length"):
        return tidy(_decoded(_convert(source, name)), text, what)


def _convert(source: Any, name: str) -> pa.Table:
    if isinstance(source, pa.Table):
        return source
    if isinstance(source, Mapping):
        return pa.table({str(key): _column(values) for key, values in source.items()})
    if hasattr(source, "__arrow_c_stream__"):
        return pa.table(source)
    if type(source).__module__.partition(".")[0] == "pandas":
        return pa.Table.from_pandas(source, preserve_index=False)
    raise InputError(
        f"{name}: expected a path, a mapping of columns, an Arrow table or a data frame, "
        f"but got {type(source).__name__}"
    )


def _column(values: Any) -> pa.Array:
    return values if isinstance(values, (pa.Array, pa.ChunkedArray)) else pa.array(values)


def _decoded(table: pa.Table) -> pa.Table:
    columns = [c.cast(c.type.value_type) if pa.types.is_dictionary(c.type) else c for c in table.columns]
    return pa.table(columns, names=table.column_names)
