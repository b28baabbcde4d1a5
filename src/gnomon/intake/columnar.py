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
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from gnomon.core.errors import InputError, some
from gnomon.intake.faults import guarded, shown
from gnomon.intake.header import check_columns
from gnomon.intake.leaves import Leaf, find_leaves
from gnomon.intake.limits import MIB, Limits, check_file
from gnomon.intake.pages import Group, measure_chunk, read_footer
from gnomon.intake.text import is_list, is_texty
from gnomon.intake.thrift import DamagedError

_MAGIC = b"PAR1"
_MAX_FOOTER = 32 * MIB
_STRICT = {
    "memory_map": False,
    "page_checksum_verification": True,
    "thrift_string_size_limit": _MAX_FOOTER,
    "thrift_container_size_limit": 1_000_000,
}


def read_parquet(path: str | os.PathLike[str], *, columns: Sequence[str] | None, limits: Limits) -> pa.Table:
    """Return the table in a parquet file; see :func:`gnomon.intake.tables.read_table`."""
    with _checked(path, columns, columns, limits) as (source, wanted):
        table = source.read(columns=wanted, use_pandas_metadata=False).select(wanted)
        table.validate(full=True)
        return _decoded(path, table, limits)


def read_batches(
    path: str | os.PathLike[str], *, rows: int, needed: Sequence[str], limits: Limits
) -> Iterator[pa.RecordBatch]:
    """Yield all columns of a parquet file, some rows at a time; memory does not grow with the number of row groups.

    Columns are flat. Text stays in codes: what it would decode to is for the caller to bound.

    Parameters
    ----------
    path
        A parquet file.
    rows
        Most rows of a batch.
    needed
        Columns that the file has to have.
    limits
        What reading the file may cost.
    """
    # Without pre_buffer, which would hold every row group that was read until the end.
    with _checked(path, None, needed, limits, buffer_size=MIB, pre_buffer=False) as (source, _):
        lists = [field.name for field in source.schema_arrow if is_list(field.type)]
        if lists:
            raise InputError(f"{shown(path)}: column {some(lists)} holds lists, expected flat columns; store it flat")
        for batch in source.iter_batches(batch_size=rows, use_threads=False):
            batch.validate(full=True)
            yield batch


@contextmanager
def _checked(
    path: str | os.PathLike[str],
    columns: Sequence[str] | None,
    needed: Sequence[str] | None,
    limits: Limits,
    **reading: int,
) -> Iterator[tuple[pq.ParquetFile, list[str]]]:
    """Open a file whose footer and pages keep the limits; faults inside are errors of that file."""
    size = check_file(path, limits)
    with guarded(path, "not a readable parquet file"), pa.OSFile(os.fspath(path), "rb") as file:
        groups = read_footer(_footer(path, size))
        meta = pq.ParquetFile(file, **_STRICT)
        names = _check_schema(path, meta, groups, limits)
        check_columns(path, names, needed)
        wanted = names if columns is None else list(columns)
        leaves = find_leaves(path, meta.schema_arrow, wanted, meta.metadata.num_columns)
        _check_pages(path, groups, leaves, size, limits)
        coded = [meta.metadata.schema.column(i).path for i, leaf in leaves.items() if is_texty(leaf.type)]
        yield pq.ParquetFile(file, metadata=meta.metadata, read_dictionary=coded, **_STRICT, **reading), wanted


def _footer(path: str | os.PathLike[str], size: int) -> bytes:
    """Return the footer between the marks at the end of the file."""
    with Path(path).open("rb") as file:
        start = file.read(4)
        file.seek(max(size - 8, 0))
        end = file.read(8)
        length = int.from_bytes(end[:4], "little")
        if start != _MAGIC or end[4:] != _MAGIC:
            raise InputError(
                f"{shown(path)}: not a parquet file, or cut off: starts with {start!r} and ends with {end[-4:]!r}, "
                f"expected {_MAGIC!r} at both ends; write the file again"
            )
        if length > min(size - 12, _MAX_FOOTER):
            raise InputError(f"{shown(path)}: the footer claims {length} of {size} bytes; write the file again")
        file.seek(size - 8 - length)
        return file.read(length)


def _check_schema(
    path: str | os.PathLike[str], file: pq.ParquetFile, groups: Sequence[Group], limits: Limits
) -> list[str]:
    names: list[str] = list(file.schema_arrow.names)
    if file.metadata.num_columns > limits.max_columns:
        raise InputError(
            f"{shown(path)}: {file.metadata.num_columns} columns, expected at most {limits.max_columns}; store fewer"
        )
    if any(len(group.chunks) != file.metadata.num_columns for group in groups):
        raise DamagedError("a row group does not have all columns")
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InputError(f"{shown(path)}: duplicate column {some(twice)}; give every column its own name")
    return names


def _check_pages(
    path: str | os.PathLike[str], groups: Sequence[Group], leaves: dict[int, Leaf], size: int, limits: Limits
) -> None:
    """Refuse a file whose pages, or whose footer, promise more than the limits allow."""
    unpacked = in_memory = 0
    with Path(path).open("rb") as file:
        for group in groups:
            for position, leaf in leaves.items():
                chunk = group.chunks[position]
                if not leaf.in_list and chunk.values != group.rows:
                    raise DamagedError(f"{chunk.values} values in a column of {group.rows} rows")
                extent = measure_chunk(file, chunk, size)
                unpacked += max(extent.decoded_bytes, chunk.decoded_bytes)
                in_memory += max(extent.values, group.rows) * leaf.width
                limits.check_decoded(path, unpacked, size)
                # Equal values may share a run of any length, so here only the absolute cap applies.
                limits.check_decoded(path, in_memory)


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
