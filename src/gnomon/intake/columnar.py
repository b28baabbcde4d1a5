"""Parquet: the footer and the page headers are checked before a column is read.

Conventions
-----------
- A column is flat or a list of text; other nesting is refused, but only in columns that are asked for.
- Text is read as codes into a dictionary and decoded once its full size is known: a dictionary with one long
  entry and a million equal codes is small until then.
- What is read is validated in full (UTF-8, offsets, codes), since Arrow itself trusts the file.
"""

from __future__ import annotations

import os
import struct
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from gnomon.core.errors import InputError, some
from gnomon.intake.faults import guarded, shown
from gnomon.intake.header import check_columns
from gnomon.intake.leaves import Leaf, find_leaves
from gnomon.intake.limits import MIB, Limits, check_file
from gnomon.intake.pages import DamagedPageError, Extent, measure_chunk
from gnomon.intake.text import is_list, is_texty

_MAGIC = b"PAR1"
_MAX_FOOTER = 64 * MIB
_OLD_PADDING = 100  # old writers understate the length of a chunk; Arrow looks that much further
_STRICT = {
    "memory_map": False,
    "page_checksum_verification": True,
    "thrift_string_size_limit": _MAX_FOOTER,
    "thrift_container_size_limit": 1_000_000,
}


def read_parquet(path: str | os.PathLike[str], *, columns: Sequence[str] | None, limits: Limits) -> pa.Table:
    """Return the table in a parquet file; see :func:`gnomon.intake.tables.read_table`."""
    size = check_file(path, limits)
    _check_ends(path, size)
    with guarded(path, "not a readable parquet file"), pa.OSFile(os.fspath(path), "rb") as file:
        meta = pq.ParquetFile(file, **_STRICT)
        names = _check_schema(path, meta, limits)
        check_columns(path, names, columns)
        wanted = names if columns is None else list(columns)
        leaves = find_leaves(path, meta.schema_arrow, wanted, meta.metadata.num_columns)
        _check_pages(path, meta.metadata, leaves, size, limits)
        coded = [meta.metadata.schema.column(i).path for i, leaf in leaves.items() if is_texty(leaf.type)]
        source = pq.ParquetFile(file, metadata=meta.metadata, read_dictionary=coded, **_STRICT)
        table = source.read(columns=wanted, use_pandas_metadata=False).select(wanted)
        table.validate(full=True)
        return _decoded(path, table, limits)


def _check_ends(path: str | os.PathLike[str], size: int) -> None:
    with guarded(path, "cannot be read", "check that you may read it"), Path(path).open("rb") as file:
        start = file.read(4)
        file.seek(max(size - 8, 0))
        end = file.read(8)
    if start != _MAGIC or end[-4:] != _MAGIC or len(end) < 8:
        raise InputError(
            f"{shown(path)}: not a parquet file, or cut off: starts with {start!r} and ends with {end[-4:]!r}, "
            f"expected {_MAGIC!r} at both ends; write the file again"
        )
    footer: int = struct.unpack("<I", end[:4])[0]
    if footer > min(size - 12, _MAX_FOOTER):
        raise InputError(f"{shown(path)}: the parquet footer claims {footer} bytes of {size}; write the file again")


def _check_schema(path: str | os.PathLike[str], file: pq.ParquetFile, limits: Limits) -> list[str]:
    names: list[str] = list(file.schema_arrow.names)
    if file.metadata.num_columns > limits.max_columns:
        raise InputError(
            f"{shown(path)}: {file.metadata.num_columns} columns, expected at most {limits.max_columns}; store fewer"
        )
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InputError(f"{shown(path)}: duplicate column {some(twice)}; give every column its own name")
    return names


def _check_pages(
    path: str | os.PathLike[str], meta: pq.FileMetaData, leaves: dict[int, Leaf], size: int, limits: Limits
) -> None:
    """Refuse a file whose pages, or whose footer, promise more than the limits allow."""
    unpacked = in_memory = 0
    with Path(path).open("rb") as file:
        for group in map(meta.row_group, range(meta.num_row_groups)):
            for position, leaf in leaves.items():
                chunk = group.column(position)
                if not leaf.in_list and chunk.num_values != group.num_rows:
                    raise DamagedPageError(f"{chunk.num_values} values in a column of {group.num_rows} rows")
                extent = _measure(file, chunk, size)
                unpacked += max(extent.decoded_bytes, chunk.total_uncompressed_size)
                in_memory += max(extent.values, group.num_rows) * leaf.width
                limits.check_decoded(path, unpacked, size)
                # Equal values may share a run of any length, so here only the absolute cap applies.
                limits.check_decoded(path, in_memory)


def _measure(file: BinaryIO, chunk: pq.ColumnChunkMetaData, size: int) -> Extent:
    start = chunk.data_page_offset
    if chunk.has_dictionary_page and 0 < chunk.dictionary_page_offset < start:
        start = chunk.dictionary_page_offset
    end = start + chunk.total_compressed_size
    if not 0 < start <= end <= size:
        raise DamagedPageError(f"a column lies at bytes {start} to {end} of {size}")
    return measure_chunk(file, start, min(end + _OLD_PADDING, size) - start, chunk.num_values)


def _decoded(path: str | os.PathLike[str], table: pa.Table, limits: Limits) -> pa.Table:
    """Return the table without dictionaries, after adding up what the decoded text will take."""
    total = sum(_text_bytes(chunk) for column in table.columns for chunk in column.chunks)
    limits.check_decoded(path, total)
    columns = [column.cast(_plain_type(column.type)) for column in table.columns]
    return pa.table(columns, names=table.schema.names)


def _text_bytes(chunk: pa.Array) -> int:
    codes = chunk.flatten() if is_list(chunk.type) else chunk
    if not pa.types.is_dictionary(codes.type) or not is_texty(codes.type.value_type):
        return 0
    return pc.sum(pc.binary_length(codes.dictionary).take(codes.indices)).as_py() or 0


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if is_list(kind):
        return pa.list_(_plain_type(kind.value_type))
    return kind.value_type if pa.types.is_dictionary(kind) else kind
