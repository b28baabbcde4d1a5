"""Rows of numbers with named columns of different types, in bytes or in text: what PCD and PLY have in common."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv

from gnomon.core.errors import InputError, counted
from gnomon.intake.faults import shown
from gnomon.intake.npy import Array

AXES = ("x", "y", "z")
_SLICE = 1 << 22
_LONGEST_CELL = 64
_FLOAT = re.compile(rb"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|nan(?:\(\w*\))?|inf(?:inity)?)", re.IGNORECASE)
_WHOLE = re.compile(rb"[+-]?\d+")
_BLANKS = re.compile(rb"[ \t]+")
_AROUND = re.compile(rb" ?\n ?")
_BLANK_LINES = re.compile(rb"(?m)^[ \t]*\n")


@dataclass(frozen=True)
class Column:
    """One field of a point: its name, the type of one value in native byte order, and how many values."""

    name: str
    dtype: np.dtype[Any]
    count: int = 1

    @property
    def size(self) -> int:
        """Bytes of the field."""
        return self.dtype.itemsize * self.count


def check_axes(columns: Sequence[Column], where: str) -> None:
    """Refuse columns without one x, y and z, and names that occur twice; ``_`` is padding and may be repeated."""
    names = [column.name for column in columns if column.name != "_"]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{where}: field {shown(name, 80)!r} occurs {names.count(name)} times; keep one")
    for axis in AXES:
        found = next((column for column in columns if column.name == axis), None)
        if found is None:
            raise InputError(f"{where}: no field {axis!r}, got {shown(' '.join(names), 120)}; a point needs x y z")
        if found.count != 1:
            raise InputError(f"{where}: field {axis!r} has {found.count} values per point, expected 1")


def wanted(columns: Sequence[Column], fields: Collection[str] | None) -> list[Column]:
    """Return the columns that are kept: x, y, z and the named ones, or all of them but padding."""
    return [c for c in columns if c.name in AXES or (c.name != "_" and (fields is None or c.name in fields))]


def cut(records: Array, columns: Sequence[Column], kept: Sequence[Column]) -> dict[str, Array]:
    """Return columns of records ``(N, bytes)`` of unsigned bytes as views, x, y, z as ``points`` if they are alike."""
    offsets = np.cumsum([0, *(column.size for column in columns)])
    place = {column.name: int(offset) for column, offset in zip(columns, offsets, strict=False)}
    found = {}
    alike = len({column.dtype for column in kept if column.name in AXES}) == 1
    size = next(column.size for column in columns if column.name == "x")
    if alike and place["y"] - place["x"] == size and place["z"] - place["y"] == size:
        dtype = next(column.dtype for column in columns if column.name == "x")
        found["points"] = _view(records, place["x"], dtype, 3)
    for column in kept:
        if column.name not in AXES or "points" not in found:
            values = _view(records, place[column.name], column.dtype, column.count)
            found[column.name] = values[:, 0] if column.count == 1 else values
    return found


def fill(file: io.FileIO, size: int, path: str | os.PathLike[str]) -> Array:
    """Return the next `size` bytes of a file, which were there when it was looked at."""
    buffer = np.empty(size, dtype=np.uint8)
    done = 0
    while done < size:
        read = file.readinto(buffer[done:].data)
        if not read:
            raise InputError(f"{shown(path)}: ends after {done} of {size} bytes; write the file again")
        done += read
    return buffer


def check_rest(rest: Array, path: str | os.PathLike[str]) -> None:
    """Refuse bytes after the last value, unless they are zeros that fill a file up."""
    if rest.any():
        raise InputError(
            f"{shown(path)}: {counted(len(rest), 'byte')} after the last value, not all of them zero; the header and "
            "the data do not fit, so write the file again"
        )


def text_cells(columns: Sequence[Array]) -> bytes:
    """Return columns of numbers as lines of text that read back as the same numbers."""
    table = pa.table([pa.array(np.ascontiguousarray(c)) for c in columns], names=[str(i) for i in range(len(columns))])
    sink = io.BytesIO()
    options = arrow_csv.WriteOptions(include_header=False, delimiter=" ", quoting_style="none")
    arrow_csv.write_csv(table, sink, options)
    return sink.getvalue()


def flat(points: Array, fields: Mapping[str, Array]) -> list[tuple[str, Array]]:
    """Return the columns of a cloud as they are written, x, y and z first."""
    return [*zip(AXES, points.T, strict=True), *fields.items()]


def _view(records: Array, offset: int, dtype: np.dtype[Any], count: int) -> Array:
    return np.ndarray((len(records), count), dtype, records, offset, (records.strides[0], dtype.itemsize))


class Text:
    """Lines of numbers, taken from the front.

    Parameters
    ----------
    path
        The file, for messages.
    body
        Its bytes after the header.
    line
        Number of the first line of the body, counted from 1.
    """

    def __init__(self, path: str | os.PathLike[str], body: bytes, line: int) -> None:
        self.path, self._original, self._line = path, body, line
        body = body.replace(b"\r\n", b"\n") if b"\r" in body else body
        body = body if body.endswith(b"\n") else body + b"\n"
        if body.startswith((b"\n", b" ", b"\t")) or any(blank in body for blank in (b"\n\n", b" \n", b"\t\n")):
            body = _BLANK_LINES.sub(b"", body)
        self._body = body
        self._ends = np.flatnonzero(np.frombuffer(body, dtype=np.uint8) == ord("\n")) + 1
        self.row = 0
        """The next row that is taken, counted from 0 and without blank lines."""

    @property
    def left(self) -> int:
        """Rows that have not been taken."""
        return len(self._ends) - self.row

    def skip(self, rows: int) -> None:
        """Pass over rows that are known to be there."""
        self.row += rows

    def rows(self, count: int) -> list[list[bytes]]:
        """Take rows as lists of cells."""
        text = self._between(self.row, self.row + count)
        self.row += count
        return [line.split() for line in text.split(b"\n")[:count]]

    def take(self, count: int, columns: Sequence[Column], kept: Sequence[Column]) -> dict[str, Array]:
        """Take rows as columns."""
        keep = {column.name for column in kept}
        out = {column.name: np.empty((count, column.count), column.dtype) for column in kept}
        width = max(1, (self._at(self.row + count) - self._at(self.row)) // max(count, 1))
        step = max(1, _SLICE // width)
        for start in range(0, count, step):
            end = min(start + step, count)
            values = self._parse(self.row + start, self.row + end, columns)
            at = 0
            for column in columns:
                if column.name in keep:
                    for k in range(column.count):
                        out[column.name][start:end, k] = values[at + k]
                at += column.count
        self.row += count
        return {c.name: out[c.name][:, 0] if c.count == 1 else out[c.name] for c in kept}

    def fault(self, row: int, what: str) -> InputError:
        """Return an error that names the line of a row."""
        lines = self._original.split(b"\n")
        numbers = [number for number, line in enumerate(lines) if line.strip()]
        return InputError(f"{shown(self.path)}: line {self._line + numbers[row]}: {what}")

    def _at(self, row: int) -> int:
        """Return where a row begins, which is where the one before it ends."""
        return int(self._ends[row - 1]) if row else 0

    def _between(self, first: int, last: int) -> bytes:
        return self._body[self._at(first) : self._at(last)]

    def _parse(self, first: int, last: int, columns: Sequence[Column]) -> list[Array]:
        """Return the values of rows, one array per value of a row."""
        block = self._between(first, last)
        if b"\t" in block or b"  " in block or b" \n" in block or b"\n " in block or block.startswith(b" "):
            block = _AROUND.sub(b"\n", _BLANKS.sub(b" ", block)).lstrip(b" ")
        types = [pa.from_numpy_dtype(column.dtype) for column in columns for _ in range(column.count)]
        names = [str(index) for index in range(len(types))]
        try:
            table = arrow_csv.read_csv(
                pa.BufferReader(block),
                arrow_csv.ReadOptions(use_threads=False, block_size=len(block) + 1, column_names=names),
                arrow_csv.ParseOptions(delimiter=" ", quote_char=False),
                arrow_csv.ConvertOptions(
                    check_utf8=False, column_types=dict(zip(names, types, strict=True)), null_values=[]
                ),
            )
            if table.num_rows == last - first:
                return [column.to_numpy() for column in table.columns]
        except pa.ArrowException:
            pass  # line by line is slower, knows which line is wrong, and takes a few spellings more
        return self._slowly(first, last, columns)

    def _slowly(self, first: int, last: int, columns: Sequence[Column]) -> list[Array]:
        owners = [column for column in columns for _ in range(column.count)]
        lists: list[list[float | int]] = [[] for _ in owners]
        for row, line in enumerate(self._between(first, last).split(b"\n")[: last - first], start=first):
            cells = line.split()
            if len(cells) != len(owners):
                what = f"{counted(len(cells), 'value')}, expected {len(owners)}; write one point per line"
                raise self.fault(row, what)
            for values, column, cell in zip(lists, owners, cells, strict=True):
                value = number(cell, column.dtype)
                if value is None:
                    kind = "a number" if column.dtype.kind == "f" else f"a whole number that {column.dtype} holds"
                    what = f"field {shown(column.name, 80)!r} is {shown(repr(cell)[1:], 40)}, expected {kind}"
                    raise self.fault(row, what)
                values.append(value)
        with np.errstate(over="ignore"):
            return [np.array(v, dtype=column.dtype) for v, column in zip(lists, owners, strict=True)]


def number(cell: bytes, dtype: np.dtype[Any]) -> float | int | None:
    """Return the value of a cell of text, or None where it is no value of the type.

    >>> number(b"+1e3", np.dtype("f4")), number(b"256", np.dtype("u1")), number(b"1_0", np.dtype("i4"))
    (1000.0, None, None)
    """
    if len(cell) > _LONGEST_CELL:
        return None
    if dtype.kind == "f":
        return float(cell.partition(b"(")[0]) if _FLOAT.fullmatch(cell) else None
    if not _WHOLE.fullmatch(cell):
        return None
    value = int(cell)
    return value if np.iinfo(dtype).min <= value <= np.iinfo(dtype).max else None
