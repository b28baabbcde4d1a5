"""Raw files, written as a stream in the formats that :mod:`gnomon.suites.events.raw` reads.

Same records, same bytes: packed files hold neither a name nor a date.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import BinaryIO

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from gnomon.core.tallies import Array
from gnomon.intake.writing import replacing

Batch = tuple[Array, Array]
"""Times in seconds ``(n,)`` and values ``(n, d)``."""


@dataclass(frozen=True)
class Channel:
    """One sensor: the type of its records, the names of its values, and the date at second 0."""

    kind: str
    names: Sequence[str]
    origin: datetime


def write(path: Path, channel: Channel, batches: Iterable[Batch]) -> None:
    """Write records batch by batch in the format that the suffix names."""
    path.parent.mkdir(parents=True, exist_ok=True)
    suffixes = path.suffixes
    with replacing(path) as file:
        if suffixes[-1] == ".gz":
            with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0, compresslevel=6) as packed:
                _json(packed, channel, batches)
        elif suffixes[-1] == ".json":
            _json(file, channel, batches)
        elif suffixes[-1] == ".jsonl":
            for rows in _rows(channel, batches):
                file.write(b"".join(row + b"\n" for row in rows))
        else:
            _table(file, channel, batches, suffixes[-1])


def _json(file: BinaryIO | gzip.GzipFile, channel: Channel, batches: Iterable[Batch]) -> None:
    between = b"[\n"
    for rows in _rows(channel, batches):
        if rows:
            file.write(between + b",\n".join(rows))
            between = b",\n"
    file.write(b"\n]\n" if between == b",\n" else b"[]\n")


def _rows(channel: Channel, batches: Iterable[Batch]) -> Iterator[list[bytes]]:
    encode = msgspec.json.Encoder().encode
    for times, values in batches:
        dates = _dates(channel, times)
        pairs = zip(dates, values.tolist(), strict=True)
        yield [encode({"time": date.isoformat(), "type": channel.kind, "values": row}) for date, row in pairs]


def _table(file: BinaryIO, channel: Channel, batches: Iterable[Batch], suffix: str) -> None:
    numbers = [(name, pa.float64()) for name in channel.names]
    time = pa.timestamp("us", "UTC") if suffix == ".parquet" else pa.string()
    schema = pa.schema([("time", time), ("type", pa.string()), *numbers])
    with pq.ParquetWriter(file, schema) if suffix == ".parquet" else arrow_csv.CSVWriter(file, schema) as writer:
        for times, values in batches:
            dates = _dates(channel, times)
            moments = dates if suffix == ".parquet" else [date.isoformat() for date in dates]
            columns = [pa.array(moments, time), pa.array([channel.kind] * len(times)), *map(pa.array, values.T)]
            writer.write_batch(pa.record_batch(columns, schema=schema))


def _dates(channel: Channel, times: Array) -> list[datetime]:
    microseconds = np.round(times * 1e6).astype(np.int64).tolist()
    return [channel.origin + timedelta(microseconds=moment) for moment in microseconds]
