"""Raw recordings, streamed: memory does not grow with their length.

A record is ``{"time", "type", "values"}``: when, what kind of sensor (``accel``, ``gyro``, ``location``, ...), and a
list of numbers. In files the time is written as in the truth; here it is seconds of the case, as in its truth.

Conventions
-----------
- ``data_path`` of the truth is a pattern of file names below the folder of the truth file. A name ending in ``.gz`` is
  unpacked on the way.
- A file is one JSON list of records or JSON lines (its first byte tells; further keys are passed over), or, by its
  suffix, CSV or Parquet with a column ``time``. There, ``type`` is a column or else the name of the file up to the
  first point, and all other columns are the values. No number is missing, NaN or infinite.
- Inside a file, time never goes back. Several files are merged by time; at one time, files come in the order of their
  names. Neither the size of chunks nor that of the blocks that are read changes the records.
"""

from __future__ import annotations

import bisect
import heapq
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any, TypedDict

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from gnomon.core.errors import InputError, some
from gnomon.intake import columnar
from gnomon.intake.depth import check_depth
from gnomon.intake.faults import guarded, reason, shown
from gnomon.intake.header import check_columns, read_header
from gnomon.intake.leaves import find_leaves
from gnomon.intake.limits import DEFAULT, MIB, Limits, check_file
from gnomon.intake.pages import read_footer
from gnomon.intake.streams import Stream
from gnomon.intake.text import is_texty
from gnomon.suites.events.files import TruthCase
from gnomon.suites.events.times import Zone

MOST_FILES = 10_000
MOST_RECORD_BYTES = MIB
_BLOCK, _PEEK, _ROWS, _LONGEST = 1 << 18, 1 << 14, 1 << 12, 256
_BLANK, _BOM = b" \t\r\n", b"\xef\xbb\xbf"
_STEP = np.zeros(256, dtype=np.int64)
_STEP[list(b"[{")], _STEP[list(b"]}")] = 1, -1
_time = itemgetter("time")
Kind = Annotated[str, msgspec.Meta(min_length=1, max_length=_LONGEST)]


class Record(TypedDict):
    """One reading of one sensor, at a second of its case."""

    time: float
    type: Kind
    values: list[float]


class _Dated(TypedDict):
    time: str
    type: Kind
    values: list[float]


Rows = list[Any]
Source = Callable[[int], Iterator[list[Record]]]


def records(case: TruthCase, *, chunk: int = 10_000, limits: Limits = DEFAULT) -> Iterator[list[Record]]:
    """Return the records of a case in the order of time, in lists of `chunk`; only the last one may be shorter.

    Raises
    ------
    InputError
        There are no files, or one of them is damaged, hostile, not in order or not of the kind of time of the truth.
    """
    if chunk < 1:
        raise InputError(f"chunk: got {chunk}, expected at least 1")
    bounds = limits.raised()
    sources = [_source(path, case.zone, bounds) for path in data_files(case)]
    return _chunked(_merged(sources) if len(sources) > 1 else sources[0](_BLOCK), chunk)


def data_files(case: TruthCase) -> list[Path]:
    """Return the raw files of a case, in the order of their names."""
    where, pattern = f"{shown(case.path)}: data_path", case.data_glob or ""
    if not pattern.strip():
        raise InputError(f"{where}: missing, expected a pattern of file names; the case {case.id!r} has no raw data")
    parts = re.split(r"[/\\]", pattern)
    if ".." in parts or Path(pattern).is_absolute() or parts.count("**") > 1:
        raise InputError(f"{where}: {shown(pattern, 80)!r} leaves the folder of the truth file; move the data below it")
    with guarded(case.path, "data_path is not a pattern of file names", "correct it"):
        found = sorted(path for path, _ in zip(case.path.parent.glob(pattern), range(MOST_FILES + 1), strict=False))
    if not 0 < len(found) <= MOST_FILES:
        raise InputError(f"{where}: {len(found)} files match {shown(pattern, 80)!r}, expected 1 to {MOST_FILES}")
    return found


def _source(path: Path, zone: Zone, limits: Limits) -> Source:
    def read(size: int) -> Iterator[list[Record]]:
        name = path.name.lower().removesuffix(".gz")
        if name.endswith(".parquet"):
            return _ordered(path, zone, _parquet(path, limits))
        return _ordered(path, zone, (_csv if name.endswith(".csv") else _json)(path, zone, limits, size))

    return read


def _chunked(parts: Iterable[list[Record]], chunk: int) -> Iterator[list[Record]]:
    held: list[Record] = []
    for part in parts:
        held += part
        whole = len(held) - len(held) % chunk
        yield from (held[start : start + chunk] for start in range(0, whole, chunk))
        del held[:whole]
    if held:
        yield held


def _merged(sources: Sequence[Source]) -> Iterator[list[Record]]:
    """Merge files by (time, place in the list), opening a file only when its first record is due."""
    firsts = [next((rows[0]["time"] for rows in source(_PEEK) if rows), None) for source in sources]
    heap = [(first, index) for index, first in enumerate(firsts) if first is not None]
    heapq.heapify(heap)
    waiting: dict[int, tuple[list[Record], int, Iterator[list[Record]]]] = {}
    while heap:
        _, index = heapq.heappop(heap)
        rows, start, more = waiting.pop(index, ([], 0, iter(())))
        if not rows:
            more = filter(None, sources[index](_BLOCK))
            rows = next(more, [])
        while rows:
            end = len(rows)
            if heap and (rows[-1]["time"], index) > heap[0]:
                find = bisect.bisect_right if index < heap[0][1] else bisect.bisect_left
                end = find(rows, heap[0][0], start, key=_time)
            yield rows[start:end]
            if end < len(rows):
                heapq.heappush(heap, (rows[end]["time"], index))
                waiting[index] = rows, end, more
                break
            rows, start = next(more, []), 0


def _ordered(path: Path, zone: Zone, blocks: Iterator[Rows]) -> Iterator[list[Record]]:
    """Turn times into seconds and refuse a file in which they go back."""
    last, count = -math.inf, 0
    for rows in blocks:
        times = _seconds(path, zone, rows, count)
        if times and (times[0] < last or times != sorted(times)):
            wrong = next(i for i, (a, b) in enumerate(zip([last, *times], times, strict=False)) if b < a)
            raise InputError(f"{shown(path)}: record {count + wrong + 1}: earlier than the one before; sort by time")
        last, count = times[-1] if times else last, count + len(rows)
        yield rows


def _seconds(path: Path, zone: Zone, rows: Rows, count: int) -> list[float]:
    if zone.origin is None and (not rows or isinstance(rows[0]["time"], float)):
        return list(map(_time, rows))
    parse, origin = datetime.fromisoformat, zone.origin
    try:
        times = [(parse(row["time"]) - origin).total_seconds() for row in rows]  # type: ignore[operator]
    except (ValueError, TypeError, OverflowError):
        times = [zone.seconds(row["time"], f"{shown(path)}: record {count + i}") for i, row in enumerate(rows, start=1)]
    for row, time in zip(rows, times, strict=True):
        row["time"] = time
    return times


def _json(path: Path, zone: Zone, limits: Limits, size: int) -> Iterator[Rows]:
    decoder = _Decoder(path, limits, Record if zone.origin is None else _Dated)
    with Stream(path, limits) as stream:
        head, start = stream.read(len(_BOM)), 0
        if head == _BOM:
            head, start = stream.read(_PEEK), len(_BOM)
        while head.isspace():
            head, start = stream.read(_PEEK), start + len(head)
        body = head.lstrip(_BLANK)
        start += len(head) - len(body)
        if body[:1] not in (b"[", b"{"):
            raise InputError(f"{shown(path)}: byte {start}: expected a JSON list of records or JSON lines; correct it")
        stream.push(body)
        yield from (decoder.items if body[:1] == b"[" else decoder.lines)(stream, start, size)


class _Decoder:
    """Records of JSON text, block by block; knows where it is in the file."""

    def __init__(self, path: Path, limits: Limits, record: type) -> None:
        self.path, self.limits, self.count = path, limits, 0
        self.list: Callable[[bytes], Rows] = msgspec.json.Decoder(list[record]).decode  # type: ignore[valid-type]
        self.several: Callable[[bytes], Rows] = msgspec.json.Decoder(record).decode_lines

    def lines(self, stream: Stream, start: int, size: int) -> Iterator[Rows]:
        """Yield the records of JSON lines that begin at a byte of the file."""
        for at, block in _whole_lines(stream, size, start):
            yield self._decode(self.several, block, at)

    def items(self, stream: Stream, start: int, size: int) -> Iterator[Rows]:
        """Yield the records of a list that begins at a byte, decoding as many whole ones at once as the buffer holds.

        The cut is guessed and then proved: what stands before it can only be completed to a JSON list by one bracket if
        it ends with a whole item. Where the guess is wrong, brackets and quotes are counted.
        """
        text, start, first, fresh = stream.read(size)[1:], start + 1, True, b"more"
        while fresh:
            fresh = stream.read(size)
            text += fresh
            body = self._after_comma(text, start, first)
            at = start + len(text) - len(body)
            rows, cut = self._cut(body, at) if fresh else (self._decode(self.list, b"[" + body, at - 1), len(body))
            if cut:
                text, start, first = body[cut:], at + cut, False
                yield rows
            elif len(text) > MOST_RECORD_BYTES + size:
                raise self._fault(f"byte {at}", f"no record ends in {len(body)} bytes", "close quotes and brackets")

    def _after_comma(self, text: bytes, start: int, first: bool) -> bytes:
        body = text.lstrip(_BLANK)
        if first or not body or body[:1] == b"]":
            return body
        at = start + len(text) - len(body)
        if body[:1] != b",":
            raise self._fault(f"byte {at}", "expected a comma or the end of the list between records", "correct it")
        body = body[1:].lstrip(_BLANK)
        if body[:1] == b"]":
            raise self._fault(f"byte {at}", "a comma without a record after it", "remove it")
        return body

    def _cut(self, body: bytes, at: int) -> tuple[Rows, int]:
        if cut := _guess(body):
            try:
                return self._decode(self.list, b"[" + body[:cut] + b"]", at - 1), cut
            except InputError as error:
                if isinstance(error.__cause__, msgspec.ValidationError):
                    raise
        exact = _last_end(body)
        return (self._decode(self.list, b"[" + body[:exact] + b"]", at - 1), exact) if exact else ([], 0)

    def _decode(self, decode: Callable[[bytes], Rows], block: bytes, start: int) -> Rows:
        """Decode a block whose first byte is at `start` of the file."""
        try:
            rows = decode(block)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise self._explained(error, block, start) from error
        if block.count(b"{") + block.count(b"[") > 2 * len(rows) + self.limits.max_json_depth:
            check_depth(block, self.limits.max_json_depth, f"{shown(self.path)}: after byte {start}")
        self.count += len(rows)
        return rows

    def _explained(self, error: Exception, block: bytes, start: int) -> InputError:
        what = reason(error)
        if item := re.search(r" - at `\$\[(\d+)\]\.?(.*)`", what):
            where = f"record {self.count + int(item[1]) + 1}" + (f": {item[2]}" if item[2] else "")
            advice = "write times as in the truth" if item[2] == "time" else "correct it"
            return self._fault(where, what[: item.start()], advice)
        if byte := re.search(r" \(byte (\d+)\)", what):
            # Of what trails, the decoder names the byte after.
            return self._fault(
                f"byte {start + int(byte[1]) - ('trailing' in what)}", what[: byte.start()], "correct it"
            )
        return self._fault(f"between bytes {start} and {start + len(block)}", what, "correct it")

    def _fault(self, where: str, what: str, advice: str) -> InputError:
        return InputError(f"{shown(self.path)}: {where}: {what}; {advice}")


def _guess(body: bytes) -> int:
    """Return where the item before the last ``}, {`` ends, or 0; it may be inside of an item or of text."""
    at = len(body)
    for _ in range(8):
        at = body.rfind(b"{", 0, at)
        before = body[max(0, at - 64) : max(0, at)].rstrip(_BLANK)
        inner = before.removesuffix(b",").rstrip(_BLANK)
        if before.endswith(b",") and inner.endswith(b"}"):
            return max(0, at - 64) + len(inner)
    return 0


def _last_end(body: bytes) -> int:
    """Return where the last whole item ends, or 0, by counting brackets outside of text."""
    codes = np.frombuffer(body.replace(b"\\\\", b"  ").replace(b'\\"', b"  "), dtype=np.uint8)
    places = np.flatnonzero((_STEP[codes] != 0) | (codes == ord('"')))
    outside = np.cumsum(codes[places] == ord('"')) % 2 == 0
    steps = np.where(outside, _STEP[codes[places]], 0)
    depth = np.cumsum(steps)
    inside = np.minimum.accumulate(depth) >= 0  # the bracket that closes the list itself ends the search
    ends = places[(depth == 0) & (steps < 0) & inside]
    return int(ends[-1]) + 1 if len(ends) else 0


def _whole_lines(stream: Stream, size: int, start: int = 0) -> Iterator[tuple[int, bytes]]:
    """Yield blocks that end with a line, and where they start."""
    text, fresh = b"", b"more"
    while fresh:
        fresh = stream.read(size)
        text += fresh
        cut = text.rfind(b"\n") + 1 if fresh else len(text)
        if cut:
            yield start, text[:cut]
            text, start = text[cut:], start + cut
        elif len(text) > MOST_RECORD_BYTES + size:
            raise InputError(f"{shown(stream.path)}: byte {start}: a line of more than {MOST_RECORD_BYTES} bytes")


def _csv(path: Path, zone: Zone, limits: Limits, size: int) -> Iterator[Rows]:
    with Stream(path, limits) as stream:
        names = read_header(stream, ",", limits)
        check_columns(path, names, ["time"])
        text = {"time", "type"} if zone.origin is not None else {"type"}
        options = arrow_csv.ConvertOptions(column_types={n: pa.string() if n in text else pa.float64() for n in names})
        count = 0
        for start, block in _whole_lines(stream, size):
            if block.isspace():
                continue
            with guarded(path, f"rows after byte {start} of the data cannot be read", "correct them"):
                read = arrow_csv.ReadOptions(column_names=names, block_size=len(block) + 1, use_threads=False)
                table = arrow_csv.read_csv(pa.BufferReader(b"\n" + block), read_options=read, convert_options=options)
            yield _table_rows(path, table, count)
            count += table.num_rows


def _parquet(path: Path, limits: Limits) -> Iterator[Rows]:
    size = check_file(path, limits)
    with guarded(path, "not a readable parquet file"), pa.OSFile(os.fspath(path), "rb") as file:
        groups = read_footer(columnar._footer(path, size))
        meta = pq.ParquetFile(file, **columnar._STRICT)
        names = columnar._check_schema(path, meta, groups, limits)
        check_columns(path, names, ["time"])
        leaves = find_leaves(path, meta.schema_arrow, names, meta.metadata.num_columns)
        columnar._check_pages(path, groups, leaves, size, limits)
        coded = [meta.metadata.schema.column(i).path for i, leaf in leaves.items() if is_texty(leaf.type)]
        # Without pre_buffer, which would hold every row group that was read until the end.
        options = columnar._STRICT | {"read_dictionary": coded, "buffer_size": MIB, "pre_buffer": False}
        source, count = pq.ParquetFile(file, metadata=meta.metadata, **options), 0
        for batch in source.iter_batches(batch_size=_ROWS, use_threads=False):
            batch.validate(full=True)
            yield _table_rows(path, pa.table(batch), count)
            count += batch.num_rows


def _table_rows(path: Path, table: pa.Table, count: int) -> Rows:
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
        if longest > _LONGEST:
            raise InputError(f"{where}: text of {longest} bytes, expected at most {_LONGEST}; shorten it")
    return column.to_pylist()
