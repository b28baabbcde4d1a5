"""Intervals with a label from tables, label tracks and annotation files: recognised by content, read into one value.

Conventions
-----------
- The format follows from the content, and from the suffix where content leaves it open: CSV (commas or semicolons),
  TSV, JSON lines, parquet, Audacity labels (:mod:`~gnomon.intake.formats.audacity`), ELAN
  (:mod:`~gnomon.intake.formats.elan`), Praat TextGrid (:mod:`~gnomon.intake.formats.textgrid`) and RTTM
  (:mod:`~gnomon.intake.formats.rttm`). JSON documents are recognised, and read by whoever knows their form.
- Columns of a table are known under several names (``NAMES``), whatever the case of their letters, and a blank for an
  underscore. Of two names of one thing the first in ``NAMES`` is read. A column that may be a score is one if it holds
  nothing but numbers.
- An end may be given by a duration: it is the exact decimal sum of what is written, so that 0.1 and 0.2 end at 0.3.
- A row with a recording and nothing else says that nothing happens in it.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import pyarrow as pa

from gnomon.core.errors import InputError, some
from gnomon.intake.delimited import read_delimited
from gnomon.intake.faults import guarded, shown
from gnomon.intake.formats.audacity import read_tabbed
from gnomon.intake.formats.elan import ROOT, is_xml, read_elan
from gnomon.intake.formats.rttm import is_rttm, read_rttm
from gnomon.intake.formats.textgrid import is_textgrid, read_textgrid
from gnomon.intake.limits import DEFAULT, Limits
from gnomon.intake.memory import table_of
from gnomon.intake.streams import Stream
from gnomon.intake.tables import read_table
from gnomon.intake.text import tidy

NAMES = {
    "case": ("case", "filename", "recording", "file", "video", "id"),
    "start": ("start", "t1", "onset", "start_time", "begin"),
    "end": ("end", "t2", "offset", "end_time"),
    "label": ("label", "event_label", "class", "activity"),
    "score": ("score", "confidence", "probability", "prob"),
    "duration": ("duration",),
}
"""What is read of a table, and its names, the first of which is taken."""
TRUE_THINGS = ("start", "end", "label")
"""What is read of a true event."""
MAYBE_SCORES = NAMES["score"][1:]
"""Names that are those of a score where they hold numbers, and may hold words."""

JSON, LINES, PARQUET, TABLE, TABS = "JSON", "JSON lines", "parquet", "CSV", "TSV or Audacity labels"
ELAN, TEXTGRID, RTTM = "ELAN", "Praat TextGrid", "RTTM"
TIERED = (ELAN, TEXTGRID)
"""Kinds of files that have tiers."""
SUFFIXES = (".csv", ".csv.gz", ".tsv", ".txt", ".jsonl", ".ndjson", ".parquet", ".eaf", ".textgrid", ".rttm")
"""Suffixes of files that are no JSON documents."""
_FOREIGN = {
    b"PK\x03\x04": "a workbook of a spreadsheet or another archive; save the sheet as CSV",
    b"\x93NUMPY": "a NumPy array, which has no columns; give a table with start, end and label",
    b"\x89HDF": "an HDF5 file; write a table with start, end and label as CSV or parquet",
    b"RIFF": "a sound or video; give its labels",
    b"fLaC": "a sound; give its labels",
    b"ID3": "a sound; give its labels",
    b"\x80\x04": "a pickle, which is never read; write a table as CSV or parquet",
    b"\x80\x05": "a pickle, which is never read; write a table as CSV or parquet",
    b"ooBinaryFile": "a binary file of Praat; save it there as text ('Save as text file...')",
    b"WEBVTT": "WebVTT subtitles; write a table with start, end and label as CSV",
}
"""First bytes of known files that hold no intervals for us, and what to do."""
_FIRST = 1 << 16
_EXPECTED = (
    "expected a table (CSV, TSV, JSON lines, parquet) with start, end and label, Audacity labels, ELAN, Praat "
    "TextGrid, RTTM or JSON"
)


@dataclass(frozen=True, eq=False)
class Intervals:
    """Intervals as they stand in one file, or in memory.

    Attributes
    ----------
    where
        The file, or how messages call what is in memory.
    kind
        The format.
    table
        The columns under their own names: times are text, numbers or dates; labels, recordings and tags text.
    columns
        The name of the column of each thing that is read: start, end, label, and perhaps case and score.
    rows
        The row or line of every row of the table, for messages.
    extent
        Where the recording begins and ends, for files that say so.
    """

    where: str
    kind: str
    table: pa.Table
    columns: Mapping[str, str]
    rows: Sequence[int]
    extent: tuple[float, float] | None = None

    @property
    def in_seconds(self) -> bool:
        """Whether the format itself says that times are seconds or converts them."""
        return self.kind == ELAN

    def others(self) -> list[str]:
        """Return the columns that are not read."""
        return [name for name in self.table.column_names if name not in self.columns.values()]


def recognise(path: str | os.PathLike[str], limits: Limits = DEFAULT) -> str:
    """Return the kind of a file by its first bytes, and its suffix where these leave it open.

    Raises
    ------
    InputError
        The file is of another known kind, which the message names, or of none.
    """
    name = Path(path).name.lower()
    if name.endswith(".txt") and os.path.isfile(path) and not os.path.getsize(path):
        return TABS  # an Audacity track without labels
    with Stream(path, limits.raised()) as stream:
        data = stream.read(_FIRST)
    if data.startswith(b"PAR1"):
        return PARQUET
    foreign = next((said for mark, said in _FOREIGN.items() if data.startswith(mark)), "")
    if foreign:
        raise InputError(f"{shown(path)}: this is {foreign}; {_EXPECTED}")
    return _recognise_text(path, name, _decode(data))


def _decode(data: bytes) -> str:
    wide = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    return data.decode("utf-16" if wide else "utf-8-sig", "replace") if data else ""


def _recognise_text(path: str | os.PathLike[str], name: str, head: str) -> str:
    if is_textgrid(head):
        return TEXTGRID
    if is_xml(head):
        if ROOT in head or name.endswith(".eaf"):
            return ELAN
        raise InputError(f"{shown(path)}: this is XML, but no file of ELAN (no <{ROOT}>); {_EXPECTED}")
    lines = _list_lines(head)
    first = lines[0].lstrip() if lines else ""
    if name.endswith((".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")):
        return LINES
    if name.endswith(".json") or (first[:1] in ("{", "[") and "\t" not in first):
        several = len(lines) > 1 and all(line.lstrip()[:1] == "{" for line in lines[:2])
        return LINES if several and not name.endswith(".json") else JSON
    if name.endswith(".rttm") or is_rttm(first):
        return RTTM
    if name.endswith(".srt") or (first.strip() == "1" and len(lines) > 1 and " --> " in lines[1]):
        raise InputError(f"{shown(path)}: this is subtitles (SubRip); write a table with start, end and label as CSV")
    if "\t" in first or name.endswith((".tsv", ".txt")):
        mark = _separator(first)
        return TABLE if mark and "\t" not in first else TABS
    if name.endswith((".csv", ".csv.gz")) or _separator(first):
        return TABLE
    raise InputError(f"{shown(path)}: unknown kind of file: {_EXPECTED}")


def _separator(line: str) -> str:
    """Return what separates the names of columns in a first line, comma or semicolon; nothing where it has none."""
    return next((mark for mark in (",", ";") if has_start(_split_names(line, mark))), "")


def _split_names(line: str, mark: str) -> list[str]:
    """Return the cells of a first line; none where its quotes are in disorder."""
    try:
        return [name.strip() for name in next(csv.reader([line], delimiter=mark), [])]
    except csv.Error:
        return []


def _list_lines(text: str) -> list[str]:
    """Return the lines of a text that are not blank."""
    return [line for line in text.replace("\r", "\n").split("\n") if line.strip()]


def has_start(names: Iterable[str]) -> bool:
    """Say whether a start is among the names of columns, which is how a header is told."""
    return not {_plain(name) for name in names}.isdisjoint(NAMES["start"])


def read_intervals(path: str | os.PathLike[str], kind: str, tier: str = "", limits: Limits = DEFAULT) -> Intervals:
    """Return the intervals of a file of a kind that :func:`recognise` returned, all but JSON.

    ``tier`` names the tier to read of files that have several.
    """
    where, extent = os.fspath(path), None
    rows: Sequence[int]
    if kind == ELAN:
        table, rows = read_elan(path, tier, limits)
    elif kind == TEXTGRID:
        table, rows, extent = read_textgrid(path, tier, limits)
    elif kind == RTTM:
        table, rows = read_rttm(path, limits)
    elif kind == TABS:
        table, rows = read_tabbed(path, has_start, limits)
    else:
        table = _read_table(path, kind, limits)
        first = 1 if kind in (LINES, PARQUET) else 2  # a header is row 1
        rows = range(first, first + table.num_rows)
    return _make(where, kind, table, rows, extent)


def of_memory(source: Any, name: str) -> Intervals:
    """Return the intervals of a data frame, an Arrow table, a mapping of columns, or a list of rows.

    A row is ``(start, end, label)``, with a score behind it where there is one, or a mapping. ``name`` stands for the
    source in messages.
    """
    if isinstance(source, (list, tuple)):
        source = _of_rows(source, name)
    table = table_of(source, name=name)
    return _make(f"<{name} in memory>", "memory", table, range(1, 1 + table.num_rows), None)


def is_table(source: Any) -> bool:
    """Say whether a value in memory is one table of intervals: a frame, or a mapping with a column of starts."""
    if isinstance(source, Mapping):
        return has_start(map(str, source)) and not any(isinstance(value, Mapping) for value in source.values())
    # The class is asked for columns: a lazy frame would resolve its schema to answer.
    return isinstance(source, pa.Table) or hasattr(type(source), "columns") or hasattr(source, "__arrow_c_stream__")


def is_rows(items: Any) -> bool:
    """Say whether a value in memory is a list of rows.

    >>> is_rows([(0, 4, "a")]), is_rows([{"start": 0, "end": 4, "label": "a"}]), is_rows(["a.csv"]), is_rows([])
    (True, True, False, True)
    """
    if not isinstance(items, (list, tuple)):
        return False
    first = items[0] if items else ()
    if isinstance(first, Mapping):
        return has_start(map(str, first)) and all(_is_scalar(value) for value in first.values())
    return isinstance(first, (list, tuple)) and all(map(_is_scalar, first))


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str) or not hasattr(value, "__len__")


def _of_rows(items: Sequence[Any], name: str) -> Mapping[str, Any]:
    """Return rows as a mapping of columns."""
    if all(isinstance(item, Mapping) for item in items) and items:
        keys = dict.fromkeys(str(key) for item in items for key in item)
        return {key: [item.get(key) for item in items] for key in keys}
    for number, item in enumerate(items, start=1):
        fits = isinstance(item, (list, tuple)) and len(item) in (3, 4)
        if not fits or (len(item) == 4 and isinstance(item[3], str) and not is_number_text(item[3])):
            raise InputError(
                f"<{name} in memory>: row {number}: expected (start, end, label) or (start, end, label, score), but "
                f"got {shown(repr(item), 80)}; give several recordings as a mapping of such lists by name"
            )
    rows = [(*item, None)[:4] for item in items]
    names = ("start", "end", "label", "score")
    columns: dict[str, Any] = {key: [row[k] for row in rows] for k, key in enumerate(names)}
    columns["label"] = pa.array([None if label is None else str(label) for label in columns["label"]], pa.string())
    if not any(score is not None for score in columns["score"]):
        del columns["score"]
    return columns


def _read_table(path: str | os.PathLike[str], kind: str, limits: Limits) -> pa.Table:
    if kind == TABLE:
        with Stream(path, limits.raised()) as stream:
            first = next(iter(_list_lines(_decode(stream.read(_FIRST)))), "")
        mark = _separator(first) or ","
        names = _split_names(first, mark)
        if not has_start(names) and any(map(is_number_text, filter(None, names))):
            raise InputError(
                f"{shown(path)}: row 1: no header, but {some(names)}; name the columns in row 1: start,end,label"
            )
        with guarded(path, "cannot be read as CSV"):
            return tidy(read_delimited(path, mark, text=names, columns=None, limits=limits.raised()), names, path)
    if kind == LINES:
        name = Path(path).name.lower()
        if not name.endswith((".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")):
            raise InputError(f"{shown(path)}: these are JSON lines; name the file .jsonl")
        return read_table(path, text=[*NAMES["case"], *NAMES["label"]], limits=limits)
    if not Path(path).name.lower().endswith(".parquet"):
        raise InputError(f"{shown(path)}: this is parquet; name the file .parquet")
    return read_table(path, limits=limits)


def _make(where: str, kind: str, table: pa.Table, rows: Sequence[int], extent: tuple[float, float] | None) -> Intervals:
    """Find out which columns are read, and write dates and durations in one way."""
    found = find_columns(table.column_names, shown(where), list_columns_in_words(table))
    if "end" not in found:
        ends = _add_durations(table, found, rows, shown(where))
        table, duration = table.append_column("end", ends), found.pop("duration")
        table = table.drop_columns([duration])
        found["end"] = "end"
    found.pop("duration", None)
    for thing in ("start", "end"):
        table = _write_dates(table, found[thing])
    names = [found[thing] for thing in ("case", "label") if thing in found]
    if any(not pa.types.is_string(table.column(name).type) for name in names):
        table = tidy(table, names, where)
    return Intervals(where, kind, table, found, rows, extent)


def _write_dates(table: pa.Table, name: str) -> pa.Table:
    """Return a table in which the dates of a column are ISO 8601 text."""
    column = table.column(name)
    if not (pa.types.is_timestamp(column.type) or pa.types.is_date(column.type)):
        return table
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz), safe=False)
    texts = [None if value is None else value.isoformat() for value in column.to_pylist()]
    return table.set_column(table.column_names.index(name), name, pa.array(texts, pa.string()))


def _add_durations(table: pa.Table, found: Mapping[str, str], rows: Sequence[int], where: str) -> pa.Array:
    """Return the ends that starts and durations make; null where both are."""
    ends: list[float | None] = []
    sides = (table.column(found[thing]).to_pylist() for thing in ("start", "duration"))
    for row, start, duration in zip(rows, *sides, strict=True):
        if start in (None, "") and duration in (None, ""):
            ends.append(None)
            continue
        ends.append(add_duration(start, duration, f"{where}: row {row}", found))
    return pa.array(ends, pa.float64())


def add_duration(start: Any, duration: Any, where: str, names: Mapping[str, str]) -> float:
    """Return the end of an interval: the decimal sum of two numbers as they are written.

    >>> add_duration("0.1", 0.2, "row 1", {"start": "onset", "duration": "duration"})
    0.3
    """
    low = _number(start, f"{where}.{names['start']}")
    length = _number(duration, f"{where}.{names['duration']}")
    if length < 0:
        raise InputError(f"{where}.{names['duration']}: got {duration}, expected at least 0; correct it")
    return float(low + length)


def _number(value: Any, where: str) -> Decimal:
    """Return a number as it is written."""
    try:
        found = Decimal(value.strip() if isinstance(value, str) else repr(value))
        if found.is_finite() and abs(found.adjusted()) < 400:  # what a float can hold, so that sums stay short
            return found
    except (InvalidOperation, ValueError):
        pass
    raise InputError(f"{where}: got {shown(repr(value), 60)}, expected a number, as the end is given by a duration")


def find_names(names: Iterable[str], unread: Collection[str]) -> dict[str, str]:
    """Return the name to be read for each thing that is known under several: the first that is there."""
    held: dict[str, str] = {}
    for name in names:
        held.setdefault(_plain(name), name)
    usable = ((thing, [held[name] for name in choice if name in held]) for thing, choice in NAMES.items())
    kept = ((thing, [name for name in found if name not in unread]) for thing, found in usable)
    return {thing: found[0] for thing, found in kept if found}


def find_columns(names: Iterable[str], where: str, unread: Collection[str]) -> dict[str, str]:
    """Return the name in use for each thing; raise where a start, an end or a label has none."""
    listed = list(names)
    found = find_names(listed, unread)
    lacking = [thing for thing in TRUE_THINGS if thing not in found]
    if "duration" in found:
        lacking = [thing for thing in lacking if thing != "end"]
    if lacking:
        said = ", no ".join(" or ".join(NAMES[thing]) for thing in lacking)
        there = f"; there are {some(listed, show=12)}" if listed else ""
        raise InputError(f"{where}: no {said}; expected a start, an end and a label{there}")
    return found


def list_columns_in_words(table: pa.Table) -> list[str]:
    """Return the columns that a score may be in and that hold something else than numbers."""
    there = [name for name in table.column_names if _plain(name) in MAYBE_SCORES]
    return [name for name in there if not _holds_numbers(table.column(name))]


def _holds_numbers(column: pa.ChunkedArray) -> bool:
    if not pa.types.is_string(column.type):
        kind = column.type
        return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind))
    return all(map(is_number_text, column.unique().to_pylist()))


def is_number_text(text: str | None) -> bool:
    """Say whether a cell holds a number, or nothing."""
    try:
        float(text or 0)
    except ValueError:
        return False
    return True


def _plain(name: str) -> str:
    """Return the name of a column as it is compared."""
    return name.strip().lower().replace(" ", "_").replace("-", "_")
