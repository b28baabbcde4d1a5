"""Comma- and tab-separated text.

Arrow parses the rows; the header is parsed here, so that its names are known before any value is read: a
column that is asked for as text never goes through type inference.

Conventions
-----------
- The first non-blank record is the header; its names are stripped, unique and not empty. Later blank lines
  are ignored; a missing value in a file of one column is written ``""``.
- Row numbers in messages count the header as row 1 and leave blank lines out.
- UTF-8, with or without a byte order mark. Cells may be quoted and then hold commas, quotes and newlines.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence

import pyarrow as pa
import pyarrow.csv as arrow_csv

from gnomon.core.errors import InputError
from gnomon.intake.faults import reason, shown
from gnomon.intake.header import check_columns, read_header, separated
from gnomon.intake.limits import MIB, Limits
from gnomon.intake.streams import Stream

_BLOCK = 2 * MIB
_LEAST_BLOCK = 1 << 16
_ROW = re.compile(r"Row #(\d+)")
_WIDTH = re.compile(r"Expected (\d+) columns, got (\d+)")
_COLUMN = re.compile(r"In CSV column #(\d+)")


def read_delimited(
    path: str | os.PathLike[str],
    delimiter: str,
    *,
    text: Collection[str],
    columns: Sequence[str] | None,
    limits: Limits,
) -> pa.Table:
    """Return the table in a delimited file; see :func:`gnomon.intake.tables.read_table`."""
    with Stream(path, limits) as stream:
        names = read_header(stream, delimiter, limits)
        check_columns(path, names, columns)
        body = _load(stream, delimiter.encode() * (len(names) - 1) or b'""')
    rows = _Rows(path, body, delimiter, names)
    wanted = names if columns is None else list(columns)
    # The last column is always read, because that is where a quote that was left open shows.
    read = wanted if names[-1] in wanted else [*wanted, names[-1]]
    strings = set(text).union(read[len(wanted) :])
    table = rows.parse(read, strings, limits)
    broken = [field.name for field in table.schema if pa.types.is_binary(field.type)]
    if broken:
        rows.parse(read, strings.union(broken), limits)  # as text, these bytes are an error with a row number
    return rows.without_last(table).select(wanted)


def _load(stream: Stream, last_row: bytes) -> pa.Buffer:
    """Return the rows, between a blank line and a row of empty cells, in memory that Arrow owns.

    Arrow could read the file by itself or call `stream.read`, but then its threads may be left waiting for the
    interpreter after an error, and the process does not end. The blank line keeps a mark at the start of the
    first cell from being taken for a byte order mark; the last row is missing if a quote before it was left open.
    """
    sink = pa.BufferOutputStream()
    data = b"\n"
    while data:
        sink.write(data)
        data = stream.read(MIB)
    sink.write(b"\n" + last_row + b"\n")
    return sink.getvalue()


class _Rows:
    """The rows of one file with a known header."""

    def __init__(self, path: str | os.PathLike[str], body: pa.Buffer, delimiter: str, names: list[str]) -> None:
        self.path, self.body, self.delimiter, self.names = path, body, delimiter, names

    def parse(self, columns: list[str], text: set[str], limits: Limits) -> pa.Table:
        """Parse some columns, first in blocks of a good size, then in blocks that hold the longest row allowed."""
        try:
            return self._parse(columns, text, min(_BLOCK, max(limits.max_line_bytes, _LEAST_BLOCK)))
        except pa.ArrowInvalid as error:
            if "straddling" not in str(error):
                raise InputError(self._explain(str(error))) from error
        try:
            return self._parse(columns, text, max(limits.max_line_bytes, _LEAST_BLOCK))
        except pa.ArrowInvalid as error:
            if "straddling" not in str(error):
                raise InputError(self._explain(str(error))) from error
            raise InputError(
                f"{shown(self.path)}: a row is longer than {limits.max_line_bytes} bytes; "
                "close a quote that was left open, or shorten the row"
            ) from error

    def _parse(self, columns: list[str], text: set[str], block: int) -> pa.Table:
        # Without threads: nearly as fast, row numbers in messages, and no task is left behind after an error.
        read = arrow_csv.ReadOptions(column_names=self.names, block_size=block, use_threads=False)
        parse = arrow_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True)
        convert = arrow_csv.ConvertOptions(
            column_types={name: pa.string() for name in columns if name in text},
            include_columns=columns,
            strings_can_be_null=False,
        )
        source = pa.BufferReader(self.body)
        return arrow_csv.read_csv(source, read_options=read, parse_options=parse, convert_options=convert)

    def without_last(self, table: pa.Table) -> pa.Table:
        """Drop the row that was appended, which is there unless a quote swallowed it."""
        last = table.column(self.names[-1])
        if not len(last) or last[-1].as_py() not in (None, ""):
            raise InputError(f"{shown(self.path)}: row {len(last) + 1}: a quote is opened and never closed; close it")
        return table.slice(0, table.num_rows - 1)

    def _explain(self, message: str) -> str:
        row, width, column = _ROW.search(message), _WIDTH.search(message), _COLUMN.search(message)
        where = shown(self.path) + (f": row {int(row[1]) + 1}" if row else "")
        if width:
            hint = separated(self.names) or "quote cells that hold a delimiter"
            return f"{where}: {width[2]} cells, expected {width[1]} as in the header; {hint}"
        if column and int(column[1]) < len(self.names):
            where += f": column {shown(self.names[int(column[1])])!r}"
        if "UTF8" in message:
            return f"{where}: not UTF-8 text; save the file as UTF-8"
        return f"{where}: cannot be parsed ({reason(ValueError(message))}); fix the row"
