"""Tables and arrays that are already in memory: Arrow, mappings of columns, data frames, arrays and tensors.

Values are recognised by what their library offers, and no library is imported: ``__array__``, ``__dlpack__`` (arrays
and tensors of any framework), ``__arrow_c_stream__`` and ``__arrow_array__`` (pandas, polars, Arrow), ``collect`` (lazy
frames of polars), ``with_format`` (datasets of Hugging Face), ``to_dataframe`` (datasets of xarray).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
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
    with guarded(what, "cannot be used as a table", "give a mapping of columns, an Arrow table or a data frame"):
        return tidy(_decoded(_convert(source, name)), text, what)


def is_column(value: Any) -> bool:
    """Say whether a value is one column by itself: a list, a series, an array or tensor, whatever its shape.

    >>> is_column(["a", "b"]), is_column({"label": ["a", "b"]}), is_column("table.csv")
    (True, False, False)
    """
    if isinstance(value, (str, bytes, os.PathLike, Mapping, pa.Table)) or is_frame(value):
        return False
    if isinstance(value, (list, tuple)):
        return not any(isinstance(item, (Mapping, pa.Table, os.PathLike)) for item in value[:1])
    return isinstance(value, (range, pa.Array, pa.ChunkedArray)) or _is_array(value)


def is_frame(value: Any) -> bool:
    """Say whether a value is a data frame of some library; its class is asked, since a lazy frame answers slowly."""
    return hasattr(type(value), "columns") or hasattr(value, "data_vars") or hasattr(value, "column_names")


def to_column(values: Any, name: str) -> pa.Array | pa.ChunkedArray:
    """Return one-dimensional values as an Arrow array: a list, anything of Arrow or pandas, or what becomes an array.

    Entries that a masked array of NumPy masks are null. ``name`` says in messages which values these are.

    >>> to_column(np.ma.array([1, 2], mask=[False, True]), "labels").to_pylist()
    [1, None]
    """
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values
    masked = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
    if _is_sparse(values):
        return pa.array(np.asarray(values), from_pandas=True)
    if _is_array(values) and type(values).__module__.partition(".")[0] != "pandas":
        values = to_numpy(values, name)
    shape = getattr(values, "shape", None)
    if shape is not None and len(shape) != 1:
        raise InputError(f"{name}: expected one value per row, but got an array of shape {tuple(shape)}")
    if not isinstance(values, Iterable) or isinstance(values, (str, bytes)):
        raise InputError(f"{name}: expected one value per row, but got {type(values).__name__}")
    return pa.array(values) if masked is None else pa.array(values, mask=masked)


def to_numpy(values: Any, name: str) -> Array:
    """Return an array or tensor of any framework, or nested lists, as a NumPy array; a mask is left to the caller.

    >>> to_numpy([[1.0, 2.0]], "scores").shape
    (1, 2)
    """
    for step in ("detach", "cpu"):  # a tensor that gradients are kept for, or of another device
        values = getattr(values, step)() if callable(getattr(values, step, None)) else values
    with guarded(f"<{name} in memory>", "cannot be used as an array", "give a NumPy array, a tensor or nested lists"):
        if hasattr(values, "__array__") or not hasattr(values, "__dlpack__"):
            found = np.asarray(values)
        else:
            found = np.from_dlpack(values)
    if found.dtype.hasobject and isinstance(values, (list, tuple)) and any(np.ndim(item) for item in values):
        raise InputError(f"{name}: rows differ in length: give every row the same number of values")
    return found


def to_matrix(values: Any, name: str) -> Array:
    """Return numbers ``(n, k)`` as a NumPy array of floats; refuse other shapes, and what is no number."""
    found = to_numpy(values, name)
    if found.ndim != 2 or found.dtype.kind not in "fiub":
        raise InputError(
            f"{name}: expected numbers of shape (rows, classes), but got {found.dtype} of shape {tuple(found.shape)}"
        )
    return found.astype(np.float64)


def _is_sparse(values: Any) -> bool:
    """Say whether a column of pandas stores only what differs from a fill value, which Arrow does not read."""
    return type(getattr(values, "dtype", None)).__name__ == "SparseDtype"


def _dense(frame: Any) -> Any:
    """Return a data frame of pandas with sparse columns written out."""
    if type(frame).__module__.partition(".")[0] != "pandas":
        return frame
    kinds = {name: kind.subtype for name, kind in frame.dtypes.items() if type(kind).__name__ == "SparseDtype"}
    return frame.astype(kinds) if kinds else frame


def _is_array(value: Any) -> bool:
    return any(hasattr(value, name) for name in ("__array__", "__arrow_array__", "__dlpack__"))


def _convert(source: Any, name: str) -> pa.Table:
    if isinstance(source, pa.Table):
        return source
    if isinstance(source, Mapping):
        columns = {str(key): to_column(values, f"{name}: column {key!r}") for key, values in source.items()}
        lengths = {key: len(column) for key, column in columns.items()}
        if len(set(lengths.values())) > 1:
            said = ", ".join(f"{key!r} has {length:,}" for key, length in lengths.items())
            raise InputError(f"{name}: columns differ in length: {said}; give every column one value per row")
        return pa.table(columns)
    if is_column(source):
        raise InputError(
            f"{name}: expected a table with named columns, but got {type(source).__name__}, which is one column; give "
            "a mapping such as {'id': ..., 'label': ...}"
        )
    source = _dense(_collected(source))
    if hasattr(source, "__arrow_c_stream__"):
        return pa.table(source)
    if type(source).__module__.partition(".")[0] == "pandas":
        return pa.Table.from_pandas(source, preserve_index=False)
    raise InputError(
        f"{name}: expected a path, a mapping of columns, an Arrow table or a data frame, "
        f"but got {type(source).__name__}"
    )


def _collected(source: Any) -> Any:
    """Return what a lazy frame, a dataset of Hugging Face or one of xarray stands for, as a frame or an Arrow table."""
    if hasattr(source, "data_vars") and callable(getattr(source, "to_dataframe", None)):
        return source.to_dataframe().reset_index()
    if callable(getattr(source, "collect", None)) and hasattr(source, "collect_schema"):
        return source.collect()
    if callable(getattr(source, "with_format", None)) and hasattr(source, "column_names"):
        return source.with_format("arrow")[:]
    return source


def _decoded(table: pa.Table) -> pa.Table:
    columns = [c.cast(c.type.value_type) if pa.types.is_dictionary(c.type) else c for c in table.columns]
    return pa.table(columns, names=table.column_names)
