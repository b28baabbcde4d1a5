"""Parquet: the footer and the page headers are checked before a column is read.

Conventions
-----------
- A column is flat or a list of text; other nesting is refused, but only in columns that are asked for.
- What all columns take in memory is added up from page headers (values, entries of dictionaries, text) and held against
  the limits before a page is decompressed.
- Text is read as codes into a dictionary and decoded once its full size is known: a dictionary with one long
  entry and a million equal codes is small until then. Text that is encoded by what it shares with the text before it
  (DELTA_BYTE_ARRAY) is refused: its size is not known before it is decoded.
- What is read is validated in full (UTF-8, offsets, codes), since Arrow itself trusts the file.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from gnomon.core.errors import InputError, some
from gnomon.intake.faults import guarded, shown
from gnomon.intake.header import check_columns
from gnomon.intake.leaves import ENTRY, Leaf, find_leaves
from gnomon.intake.limits import MIB, Limits, check_file
from gnomon.intake.pages import DELTA_BYTE_ARRAY, MOST_PAGES, Group, measure_chunk, read_footer
from gnomon.intake.text import is_list, is_texty
from gnomon.intake.thrift import DamagedError

_MAGIC = b"PAR1"
_MAX_FOOTER = 32 * MIB
_ROWS_AT_A_TIME = 1 << 20
_STRICT = {
    "memory_map": False,
    "page_checksum_verification": True,
    "thrift_string_size_limit": _MAX_FOOTER,
    "thrift_container_size_limit": 1_000_000,
}


def read_parquet(path: str | os.PathLike[str], *, columns: Sequence[str] | None, limits: Limits) -> pa.Table:
    """Return the table in a parquet file; see :func:`gnomon.intake.tables.read_table`."""
    limits = limits.of_columns()
    with open_parquet(path, columns, columns, limits) as file:
        limits.check_decoded(path, file.in_memory, file.size)
        text, parts = 0, []
        for groups in file.parts():
            part = file.source.read_row_groups(groups, columns=file.columns, use_pandas_metadata=False)
            part = part.select(file.columns)
            part.validate(full=True)
            text += sum(_text_bytes(chunk) for column in part.columns for chunk in column.chunks)
            limits.check_decoded(path, file.in_memory + text, file.size)
            parts.append(pa.table([c.cast(plain_type(c.type)) for c in part.columns], names=file.columns))
        return pa.concat_tables(parts)


def read_schema(path: str | os.PathLike[str], limits: Limits) -> tuple[pa.Schema, int]:
    """Return the schema of a parquet file and the number of its rows; no page is read."""
    with _open_footer(path, limits) as (_, groups, meta, _):
        return meta.schema_arrow, sum(group.rows for group in groups)


def read_batches(
    path: str | os.PathLike[str],
    *,
    rows: int,
    needed: Sequence[str],
    limits: Limits,
    columns: Sequence[str] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield flat columns of a parquet file, some rows at a time; memory does not grow with the number of rows.

    Text stays in codes; the text of one batch keeps the limits when it is decoded.

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
    columns
        Columns to read; all of them if None.
    """
    limits = limits.of_columns()
    # Without pre_buffer, which would hold every row group that was read until the end.
    with open_parquet(path, columns, needed, limits, buffer_size=MIB, pre_buffer=False) as file:
        if file.lists:
            raise InputError(
                f"{shown(path)}: column {some(file.lists)} holds lists, expected flat columns; store it flat"
            )
        # What is read bit by bit takes time, if not memory: equal rows without end take none of the file.
        limits.check_scanned(path, file.in_memory, file.size)
        yield from file.batches(rows)


@dataclass(frozen=True)
class Opened:
    """A parquet file whose footer and pages keep the limits."""

    path: str | os.PathLike[str]
    limits: Limits
    source: pq.ParquetFile
    columns: list[str]
    lists: list[str]
    """Those of the columns that hold lists."""
    size: int
    in_memory: int
    """Bytes that the columns take, with text as codes."""
    row_bytes: int
    """Bytes that a row of the flat columns takes, with text as codes."""
    most_listed: int
    """Bytes that the lists of one group of rows take at most, with text as codes."""

    def parts(self) -> Iterator[list[int]]:
        """Yield row groups that are read together; Arrow cannot read lists of several groups as codes."""
        together: list[int] = []
        rows = 0
        for group in range(self.source.num_row_groups):
            together.append(group)
            rows += self.source.metadata.row_group(group).num_rows
            if self.lists or rows >= _ROWS_AT_A_TIME:
                yield together
                together, rows = [], 0
        if together or not self.source.num_row_groups:
            yield together

    def batches(self, rows: int, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield some rows at a time of all columns, or of some of them; text stays in codes.

        A batch keeps the limits of a file before it is read: a row may be wide, or hold a long list.
        """
        at_once = min(rows, self.source.metadata.num_rows) * self.row_bytes + self.most_listed
        self.limits.check_decoded(self.path, at_once, self.size)
        for groups in self.parts():
            for batch in self.source.iter_batches(rows, groups, columns=columns or self.columns, use_threads=False):
                batch.validate(full=True)
                text = sum(_text_bytes(column) for column in batch.columns)
                self.limits.check_decoded(self.path, text, self.size)
                yield batch


@contextmanager
def open_parquet(
    path: str | os.PathLike[str],
    columns: Sequence[str] | None,
    needed: Sequence[str] | None,
    limits: Limits,
    **reading: int,
) -> Iterator[Opened]:
    """Open a file whose footer and pages keep the limits; faults inside are errors of that file."""
    with _open_footer(path, limits) as (file, groups, meta, size):
        names: list[str] = list(meta.schema_arrow.names)
        check_columns(path, names, needed)
        wanted = names if columns is None else list(columns)
        leaves = find_leaves(path, meta.schema_arrow, wanted, meta.metadata.num_columns)
        in_memory, most_listed = _measure_pages(path, groups, leaves, size, limits)
        coded = [meta.metadata.schema.column(i).path for i, leaf in leaves.items() if is_texty(leaf.type)]
        source = pq.ParquetFile(file, metadata=meta.metadata, read_dictionary=coded, **_STRICT, **reading)
        lists = [name for name in wanted if is_list(meta.schema_arrow.field(name).type)]
        row_bytes = sum(leaf.width for leaf in leaves.values() if not leaf.in_list)
        yield Opened(path, limits, source, wanted, lists, size, in_memory, row_bytes, most_listed)


@contextmanager
def _open_footer(
    path: str | os.PathLike[str], limits: Limits
) -> Iterator[tuple[pa.NativeFile, list[Group], pq.ParquetFile, int]]:
    """Open a file whose footer keeps the limits: the file, its row groups, what Arrow makes of them, its size."""
    size = check_file(path, limits)
    with guarded(path, "not a readable parquet file"), pa.OSFile(os.fspath(path), "rb") as file:
        groups = read_footer(_footer(path, size), limits.max_columns)
        meta = pq.ParquetFile(file, **_STRICT)
        if any(len(group.chunks) != meta.metadata.num_columns for group in groups):
            raise DamagedError("a row group does not have all columns")
        twice = [name for name, count in Counter(meta.schema_arrow.names).items() if count > 1]
        if twice:
            raise InputError(f"{shown(path)}: duplicate column {some(twice)}; give every column its own name")
        yield file, groups, meta, size


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


def _measure_pages(
    path: str | os.PathLike[str], groups: Sequence[Group], leaves: dict[int, Leaf], size: int, limits: Limits
) -> tuple[int, int]:
    """Return the bytes that columns take in memory, with text as codes, and of these the lists of one group at most.

    Pages that promise too much are refused.
    """
    unpacked = in_memory = most_listed = 0
    pages = max(MOST_PAGES, size >> 12)
    with Path(path).open("rb") as file:
        for group in groups:
            listed = 0
            for position, leaf in leaves.items():
                chunk = group.chunks[position]
                if not leaf.in_list and chunk.values != group.rows:
                    raise DamagedError(f"{chunk.values} values in a column of {group.rows} rows")
                extent = measure_chunk(file, chunk, size, pages)
                pages -= extent.pages
                if is_texty(leaf.type) and DELTA_BYTE_ARRAY in extent.encodings:
                    raise InputError(
                        f"{shown(path)}: text in the encoding DELTA_BYTE_ARRAY, which may decode to any size; write "
                        "the file with dictionary or plain encoding"
                    )
                unpacked += max(extent.decoded_bytes, chunk.decoded_bytes) + extent.entries * ENTRY
                limits.check_decoded(path, unpacked, size)
                own = max(extent.values, group.rows) * leaf.width
                in_memory += own
                listed += own if leaf.in_list else 0
            most_listed = max(most_listed, listed)
    return in_memory, most_listed


def _text_bytes(chunk: pa.Array) -> int:
    codes = chunk.flatten() if is_list(chunk.type) else chunk
    if not pa.types.is_dictionary(codes.type) or not is_texty(codes.type.value_type):
        return 0
    return pc.sum(pc.binary_length(codes.dictionary).take(codes.indices)).as_py() or 0


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return a type without dictionaries."""
    if is_list(kind):
        return pa.list_(plain_type(kind.value_type))
    return kind.value_type if pa.types.is_dictionary(kind) else kind
