"""Records of tables, read batch by batch: CSV and Parquet with a column ``time``.

``type`` is a column or else the name of the file up to the first point; all other columns are the values.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from gnomon.core.errors import InputError, some
from gnomon.intake.columnar import read_batches
from gnomon.intake.faults import guarded, shown
from gnomon.intake.header import check_columns, read_header
from gnomon.intake.limits import MIB, Limits
from gnomon.intake.streams import Stream, whole_lines
from gnomon.suites.events.record import LONGEST_KIND, Rows

MOST_ROW_BYTES = MIB
_ROWS = 1 << 12
_NEEDED = ("time",)


def read_csv_records(path: Path, *, dated: bool, limits: Limits, size: int) -> Iterator[Rows]:
    """Yield the rows of a CSV file, packed if its name ends in ``.gz``; no cell goes over a line.

    Parameters are those of :func:`gnomon.suites.events.json_records.read_json_records`.
    """
    with Stream(path, limits) as stream:
        names = read_header(stream, ",", limits)
        check_columns(path, names, _NEEDED)
        text = {"time", "type"} if dated else {"type"}
        options = arrow_csv.ConvertOptions(column_types={n: pa.string() if n in text else pa.float64() for n in names})
        count = 0
        for start, block in whole_lines(stream, size, longest=MOST_ROW_BYTES):
            if block.isspace():
                continue
            with guarded(path, f"rows after byte {start} of the data cannot be read", "correct them"):
                read = arrow_csv.ReadOptions(column_names=names, block_size=len(block) + 1, use_threads=False)
                table = arrow_csv.read_csv(pa.BufferReader(b"\n" + block), read_options=read, convert_options=options)
            yield _rows(path, table, count)
            count += table.num_rows


def read_parquet_records(path: Path, limits: Limits) -> Iterator[Rows]:
    """Yield the rows of a Parquet file; times may be numbers, text or dates."""
    count = 0
    for batch in read_batches(path, rows=_ROWS, needed=_NEEDED, limits=limits):
        with guarded(path, "not a readable parquet file"):
            rows = _rows(path, pa.table(batch), count)
        yield rows
        count += len(rows)


def _rows(path: Path, table: pa.Table, count: int) -> Rows:
    """Return rows of a table as records; the time may still be text or a date."""
    where = f"{shown(path)}: rows {count + 1} to {count + table.num_rows}"
    columns = {name: _filled(table.column(name), f"{where}: column {shown(name, 80)!r}") for name in table.column_names}
    times = columns.pop("time")
    kinds = columns.pop("type", [path.name.partition(".")[0] or "raw"] * len(times))
    if not all(isinstance(kind, str) and kind for kind in kinds):
        raise InputError(f"{where}: column 'type': expected text that is not empty in every row")
    wrong = [name for name, column in columns.items() if not isinstance(column, np.ndarray)]
    if wrong:
        raise InputError(f"{where}: column {some(wrong)}: expected numbers; leave it out")
    values = np.column_stack(list(columns.values())).tolist() if columns else [[] for _ in times]
    moments = times.tolist() if isinstance(times, np.ndarray) else times
    return [{"time": t, "type": k, "values": v} for t, k, v in zip(moments, kinds, values, strict=True)]


def _filled(column: pa.ChunkedArray, where: str) -> Any:
    """Return numbers as an array of floats, text and dates as a list; refuse what is missing or not finite."""
    kind = column.type
    if column.null_count:
        raise InputError(f"{where}: a missing value; leave the row out")
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        numbers = column.cast(pa.float64(), safe=False).to_numpy()
        if not np.isfinite(numbers).all():
            raise InputError(f"{where}: a number that is not finite; leave the row out")
        return numbers
    if pa.types.is_timestamp(kind):
        column = column.cast(pa.timestamp("us", kind.tz and "UTC"), safe=False)
    for chunk in column.chunks if pa.types.is_dictionary(kind) else ():
        longest = pc.max(pc.binary_length(chunk.dictionary)).as_py() or 0
        if longest > LONGEST_KIND:
            raise InputError(f"{where}: text of {longest} bytes, expected at most {LONGEST_KIND}; shorten it")
    return column.to_pylist()
