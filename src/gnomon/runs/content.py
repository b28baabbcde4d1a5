"""Fingerprints of tables: the same content gives the same hash, whatever chunks, types or file it arrived in."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gnomon.core.canonical import digest, encode
from gnomon.core.errors import GnomonError


def table_digest(table: pa.Table) -> str:
    """Return the fingerprint of a table: names and content of its columns, in the order of its rows."""
    parts = (part for column in table.columns for part in _parts(column))
    return digest(itertools.chain([encode(table.column_names)], parts))


def column_digest(*columns: pa.Array) -> str:
    """Return the fingerprint of columns."""
    return digest(part for column in columns for part in _parts(column))


def _parts(column: pa.Array | pa.ChunkedArray) -> list[bytes]:
    """Return the bytes that stand for a column: kind, validity, then lengths and text, or numbers."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_dictionary(array.type):
        return _parts(array.cast(array.type.value_type))
    valid = np.packbits(pc.is_valid(array).to_numpy(zero_copy_only=False)).tobytes()
    if pa.types.is_list(array.type) or pa.types.is_large_list(array.type):
        return [b"list", valid, _numbers(pc.list_value_length(array).fill_null(0)), *_parts(pc.list_flatten(array))]
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        text = array.fill_null("").cast(pa.large_string())
        return [b"text", valid, _numbers(pc.binary_length(text)), _text(text)]
    if pa.types.is_floating(array.type):
        return [b"float", valid, array.fill_null(0.0).cast(pa.float64()).to_numpy(zero_copy_only=False).tobytes()]
    if pa.types.is_boolean(array.type):
        return [b"boolean", valid, _numbers(array.fill_null(False))]
    if pa.types.is_integer(array.type) and array.type != pa.uint64():
        return [b"integer", valid, _numbers(array.fill_null(0))]
    raise GnomonError(f"no fingerprint for a column of type {array.type}")


def _numbers(array: pa.Array) -> bytes:
    return bytes(array.to_numpy(zero_copy_only=False).astype(np.int64).tobytes())


def _text(array: pa.Array) -> bytes:
    if not len(array):
        return b""
    offsets = np.frombuffer(array.buffers()[1], dtype=np.int64)[array.offset : array.offset + len(array) + 1]
    data = array.buffers()[2]
    return b"" if data is None else bytes(memoryview(data)[int(offsets[0]) : int(offsets[-1])])
