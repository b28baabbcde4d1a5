"""Rows of own tables, some at a time: text as codes, numbers as they are, so that a table may be larger than memory.

Conventions
-----------
- Comma- and tab-separated text is parsed in blocks of whole lines, so a cell holds no line break; parquet is read in
  batches of rows. Other tables are read whole.
- Row numbers are those of :mod:`gnomon.intake.delimited`: the header of text is row 1, blank lines are left out. Rows
  of other tables count from 1.
- Cells of text are codes into their distinct values; blank ones are refused, with their row and column.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv

from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
from gnomon.intake.columnar import read_batches, read_schema
from gnomon.intake.faults import guarded, reason, shown
from gnomon.intake.header import check_columns, read_header
from gnomon.intake.limits import DEFAULT
from gnomon.intake.streams import Stream, whole_lines
from gnomon.intake.tables import read_table, table_suffix
from gnomon.intake.text import tidy

BLOCK = 4 << 20
"""Bytes of text that are parsed at a time."""
BATCH = 1 << 16
"""Rows of other tables that are looked at a time."""
DELIMITERS = {".csv": ",", ".tsv": "\t", ".csv.gz": ",", ".tsv.gz": "\t"}
_LONGEST_ROW = 1 << 20
_ROW = re.compile(r"Row #(\d+)")
_WIDTH = re.compile(r"Expected (\d+) columns, got (\d+)")
_CODES = pa.dictionary(pa.int32(), pa.string())


@dataclass(frozen=True, eq=False)
class Texts:
    """A column of text: codes ``(n,)`` into distinct values."""

    codes: Array
    values: pa.Array

    def __getitem__(self, row: int) -> str:
        return str(self.values[int(self.codes[row])].as_py())


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows of a table that follow one another, the first of them with its number."""

    path: Path
    first: int
    table: pa.Table

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def fault(self, row: int, column: str, what: str) -> InputError:
        """Return an error at one of the rows and a column."""
        return InputError(f"{shown(self.path)}: row {row + self.first}, column {shown(column)!r}: {what}")

    def part(self, start: int, stop: int) -> Rows:
        """Return some of the rows."""
        return Rows(self.path, self.first + start, self.table.slice(start, stop - start))

    def text(self, column: str) -> Texts:
        """Return a column of text."""
        cells = self.table.column(column).combine_chunks()
        coded = cells if pa.types.is_dictionary(cells.type) else cells.dictionary_encode()
        values = tidy(pa.table({column: coded.dictionary}), {column}, self.path).column(column).combine_chunks()
        empty = (values.take(coded.indices) if values.null_count else coded.indices).is_null()
        if empty.true_count:
            raise self.fault(int(np.argmax(empty.to_numpy(zero_copy_only=False))), column, "is empty, expected text")
        return Texts(_array(coded.indices), values)

    def numbers(self, column: str) -> Array:
        """Return a column of numbers, int64 or float64, all of them finite."""
        cells = self.table.column(column)
        if pa.types.is_string(cells.type) and len(cells) and self.first_word(column) is None:
            cells = _parsed(cells)
        whole = pa.types.is_integer(cells.type)
        if not (whole or pa.types.is_floating(cells.type) or pa.types.is_null(cells.type)):
            row = self.first_word(column)
            said = f"has type {cells.type}, expected numbers"
            raise self.fault(0, column, said) if row is None else self.no_number(row, column)
        if cells.null_count:
            row = int(np.argmax(cells.is_null().to_numpy()))
            raise self.fault(row, column, "is missing or not finite, expected a number")
        with guarded(self.path, f"column {shown(column)!r} cannot be used", "store numbers of 64 bits"):
            values = _array(cells.cast(pa.int64() if whole else pa.float64()).combine_chunks())
        if not whole and not np.isfinite(values).all():
            raise self.fault(int(np.argmin(np.isfinite(values))), column, "is missing or not finite, expected a number")
        return values

    def first_word(self, column: str) -> int | None:
        """Return the first row of a column that is not a number, None where all are."""
        for row, cell in enumerate(self.table.column(column).to_pylist()):
            try:
                float(cell)
            except (TypeError, ValueError):
                return row
        return None

    def no_number(self, row: int, column: str) -> InputError:
        """Return an error that names a cell."""
        cell = self.table.column(column)[row].as_py()
        return self.fault(row, column, f"is {shown(str(cell), 40)!r}, expected a number")


def _array(cells: pa.Array) -> Array:
    """Return the numbers of Arrow, which has none missing; ``to_numpy`` would import pandas where it is installed."""
    return np.from_dlpack(cells)


def _parsed(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return text that Python reads as numbers as whole numbers where all are, else as floats."""
    texts = [str(cell).strip() for cell in cells.to_pylist()]
    whole = all(text.lstrip("+-").isdecimal() for text in texts)
    return pa.chunked_array([pa.array([int(t) if whole else float(t) for t in texts])])


def columns_of(path: Path) -> list[str]:
    """Return the names of the columns: from the header, the schema, or the keys of a table that is read whole."""
    suffix, limits = table_suffix(path), DEFAULT.raised()
    if suffix in DELIMITERS:
        with Stream(path, limits) as stream:
            return read_header(stream, DELIMITERS[suffix], limits)
    if suffix == ".parquet":
        return list(read_schema(path, limits)[0].names)
    return list(read_table(path).column_names)


def rows_of(
    path: Path, columns: Sequence[str], text: Collection[str], exact: Collection[str], *, lenient: bool = False
) -> Iterator[Rows]:
    """Yield the rows of a table in their order, some at a time, at least one.

    Parameters
    ----------
    path
        The table; its suffix names its format.
    columns
        Columns that are read.
    text
        Those of them that hold text.
    exact
        Those whose whole numbers are kept as such, such as nanoseconds; other numbers are floats.
    lenient
        Whether text in a column of numbers is handed on: :meth:`Rows.numbers` then refuses the rows that hold it, and
        others can be used.
    """
    suffix = table_suffix(path)
    if suffix in DELIMITERS:
        yield from _delimited(path, DELIMITERS[suffix], columns, text, exact, lenient)
        return
    if suffix == ".parquet":
        parts = read_batches(path, rows=BATCH, needed=columns, limits=DEFAULT.raised(), columns=columns)
    else:
        parts = iter(read_table(path, text=text, columns=columns).to_batches(max_chunksize=BATCH))
    first = 1
    for part in parts:
        if part.num_rows:
            yield Rows(path, first, pa.Table.from_batches([part]).select(list(columns)))
        first += part.num_rows


def _delimited(
    path: Path, delimiter: str, columns: Sequence[str], text: Collection[str], exact: Collection[str], lenient: bool
) -> Iterator[Rows]:
    limits, first = DEFAULT.raised(), 2
    with Stream(path, limits) as stream:
        names = read_header(stream, delimiter, limits)
        check_columns(path, names, columns)
        types = {name: _CODES if name in text else pa.float64() for name in columns if name not in exact}
        parser = _Parser(path, delimiter, names, columns, types, lenient)
        for _, block in whole_lines(stream, BLOCK, longest=_LONGEST_ROW):
            table = None if block.isspace() else parser.parse(block, first)
            if table is not None and table.num_rows:
                yield Rows(path, first, table)
                first += table.num_rows


class _Parser:
    """Parses blocks of lines of one file, whose columns have types; those without one are what their cells are."""

    def __init__(
        self,
        path: Path,
        delimiter: str,
        names: list[str],
        columns: Sequence[str],
        types: dict[str, pa.DataType],
        lenient: bool,
    ) -> None:
        self.path, self.names, self.columns, self.types = path, names, list(columns), types
        self.delimiter, self.lenient = delimiter, lenient

    def parse(self, block: bytes, first: int) -> pa.Table:
        """Return the columns of a block whose first row has a number."""
        if b'"' in block and block.count(b'"') % 2:
            raise self._open_quote(block, first)
        try:
            return self._parse(block, self.types)
        except pa.ArrowInvalid as error:
            explained = self._explained(block, first, error)
            if self.lenient:
                with contextlib.suppress(pa.ArrowInvalid):
                    return self._parse(block, {name: pa.string() for name in self.columns})
            raise explained from error

    def _parse(self, block: bytes, types: dict[str, pa.DataType]) -> pa.Table:
        # Without threads: row numbers in messages. One block for Arrow, since a line never crosses ours.
        return arrow_csv.read_csv(
            pa.py_buffer(block),
            read_options=arrow_csv.ReadOptions(column_names=self.names, block_size=len(block) + 1, use_threads=False),
            parse_options=arrow_csv.ParseOptions(delimiter=self.delimiter, quote_char=b'"' in block and '"'),
            convert_options=arrow_csv.ConvertOptions(column_types=types, include_columns=self.columns),
        )

    def _open_quote(self, block: bytes, first: int) -> InputError:
        lines = [line for line in block.splitlines() if line]
        row = next((k for k, line in enumerate(lines) if line.count(b'"') % 2), 0)
        said = "a quote is opened and not closed in its line"
        return InputError(f"{shown(self.path)}: row {row + first}: {said}; close it")

    def _explained(self, block: bytes, first: int, error: pa.ArrowInvalid) -> InputError:
        """Return what is wrong with a block: cells that are no number are found by reading them as text."""
        message = str(error)
        row, width = _ROW.search(message), _WIDTH.search(message)
        where = shown(self.path) + (f": row {int(row[1]) + first - 1}" if row else f": rows from {first} on")
        if width:
            said = f"{width[2]} cells, expected {width[1]} as in the header; quote cells that hold a delimiter"
            return InputError(f"{where}: {said}")
        if "UTF8" in message:
            return InputError(f"{where}: not UTF-8 text; save the file as UTF-8")
        try:
            rows = Rows(self.path, first, self._parse(block, {name: pa.string() for name in self.columns}))
        except pa.ArrowInvalid:
            return InputError(f"{where}: cannot be parsed ({reason(error)}); correct the row")
        floats = [name for name, kind in self.types.items() if pa.types.is_floating(kind)]
        found = [(at, name) for name in floats if (at := rows.first_word(name)) is not None]
        if not found:
            return InputError(f"{where}: cannot be parsed ({reason(error)}); correct the row")
        return rows.no_number(*min(found))
