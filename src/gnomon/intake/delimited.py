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
from gnomon.intake.faults import guarded, reason, shown
from gnomon.intake.header import check_columns, read_header
from gnomon.intake.limits import MIB, Limits
from gnomon.intake.streams import Stream

_LEAST_BLOCK = 1 << 16
_BLOCK = 4 * MIB
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
    job = _Job(path, delimiter, tuple(names), frozenset(text), columns, limits)
    try:
        table = job.parse(min(_BLOCK, max(limits.max_line_bytes, _LEAST_BLOCK)))
    except pa.ArrowInvalid as error:
        if "straddling" not in str(error):
            raise job.located(error) from error
        table = job.parse_long_rows()
    return job.without_tail(table)


class _Job:
    """One file with a known header, to be parsed once or, when something is wrong, again to say where."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        delimiter: str,
        names: tuple[str, ...],
        text: frozenset[str],
        columns: Sequence[str] | None,
        limits: Limits,
    ) -> None:
        self.path, self.delimiter, self.names, self.limits = path, delimiter, names, limits
        self.wanted = list(names) if columns is None else list(columns)
        # The last column is always read, see without_tail.
        self.read = self.wanted if names[-1] in self.wanted else [*self.wanted, names[-1]]
        self.text = text if names[-1] in self.wanted else text | {names[-1]}

    def parse(self, block: int, *, threads: bool = True, force: Collection[str] = ()) -> pa.Table:
        """Parse the rows; `force` reads further columns as text."""
        types = {name: pa.string() for name in self.names if name in self.text or name in force}
        with Stream(self.path, self.limits) as stream:
            read_header(stream, self.delimiter, self.limits)
            # A blank line in front keeps Arrow from taking a mark at the start of the first cell for a BOM.
            stream.push(b"\n")
            # A last row of empty cells: it is missing afterwards if a quote was left open before it.
            stream.tail = self.delimiter.encode() * (len(self.names) - 1) + b"\n" if len(self.names) > 1 else b'""\n'
            return arrow_csv.read_csv(
                stream,
                read_options=arrow_csv.ReadOptions(column_names=self.names, block_size=block, use_threads=threads),
                parse_options=arrow_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=types, include_columns=self.read, strings_can_be_null=False
                ),
            )

    def parse_long_rows(self) -> pa.Table:
        """Parse again with blocks that hold the longest row that is allowed."""
        try:
            return self.parse(2 * self.limits.max_line_bytes)
        except pa.ArrowInvalid as error:
            if "straddling" not in str(error):
                raise self.located(error) from error
            raise InputError(
                f"{shown(self.path)}: a row is longer than {self.limits.max_line_bytes} bytes; "
                "close a quote that was left open, or shorten the row"
            ) from error

    def without_tail(self, table: pa.Table) -> pa.Table:
        """Check that the appended row arrived as a row, then drop it and whatever was not asked for."""
        broken = [field.name for field in table.schema if pa.types.is_binary(field.type)]
        if broken:
            raise self.located(pa.ArrowInvalid("invalid UTF8 data"), force=broken)
        last = table.column(self.names[-1])
        if not len(last) or last[-1].as_py() not in (None, ""):
            raise InputError(f"{shown(self.path)}: row {len(last) + 1}: a quote is opened and never closed; close it")
        return table.select(self.wanted).slice(0, table.num_rows - 1)

    def located(self, error: Exception, force: Collection[str] = ()) -> InputError:
        """Return the error with the number of its row, which Arrow knows only without threads."""
        block = max(_BLOCK, 2 * self.limits.max_line_bytes)
        with guarded(self.path, "cannot be parsed"):
            try:
                self.parse(block, threads=False, force=force)
            except pa.ArrowInvalid as again:
                error = again
        return InputError(self._explain(str(error)))

    def _explain(self, message: str) -> str:
        row, width, column = _ROW.search(message), _WIDTH.search(message), _COLUMN.search(message)
        where = f"{shown(self.path)}" + (f": row {int(row[1]) + 1}" if row else "")
        if width:
            return f"{where}: {width[2]} cells, expected {width[1]} as in the header; quote cells that hold a delimiter"
        if column and int(column[1]) < len(self.names):
            where += f": column {shown(self.names[int(column[1])])!r}"
        if "UTF8" in message:
            return f"{where}: not UTF-8 text; save the file as UTF-8"
        return f"{where}: cannot be parsed ({reason(ValueError(message))}); fix the row"
