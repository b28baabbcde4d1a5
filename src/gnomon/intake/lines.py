"""JSON lines: one object per line, one column per key.

Conventions
-----------
- A key that is missing from a line is null there. Blank lines are skipped but counted in line numbers.
- A column holds one kind of value: text, whole numbers, numbers, booleans, or lists of scalars, which become
  lists of text. In a column that is asked for as text, whole numbers and booleans become text too.
- Deeper nesting is refused, and so is a table with far more cells than the file has bytes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from operator import itemgetter
from typing import Any

import msgspec
import pyarrow as pa

from gnomon.core.errors import InputError
from gnomon.intake.depth import check_depth
from gnomon.intake.faults import guarded, reason, shown
from gnomon.intake.header import check_columns
from gnomon.intake.kinds import MisfitError, common_kind, to_array
from gnomon.intake.limits import MIB, Limits
from gnomon.intake.streams import Stream

_BOM = b"\xef\xbb\xbf"
_BLOCK = MIB
_CELLS_PER_BYTE = 4
_FREE_CELLS = 4 * MIB

Row = dict[str, Any]


def read_lines(
    path: str | os.PathLike[str], *, text: Collection[str], columns: Sequence[str] | None, limits: Limits
) -> pa.Table:
    """Return the table in a file of JSON lines; see :func:`gnomon.intake.tables.read_table`."""
    table = _Growing(path, frozenset(text), columns, limits)
    with Stream(path, limits) as stream:
        rest = stream.read(len(_BOM))
        rest = b"" if rest == _BOM else rest
        while fresh := stream.read(_BLOCK):
            block, newline, tail = fresh.rpartition(b"\n")
            if newline:
                table.add(rest + block)
                rest = b""
            rest += tail
            if len(rest) > limits.max_line_bytes:
                raise table.fault(table.lines + 1, f"longer than {limits.max_line_bytes} bytes", "shorten the line")
        table.add(rest)
    return table.finish()


class _Growing:
    """Columns that grow block by block."""

    def __init__(
        self, path: str | os.PathLike[str], text: frozenset[str], columns: Sequence[str] | None, limits: Limits
    ) -> None:
        self.path, self.text, self.columns, self.limits = path, text, columns, limits
        self.lines = self.rows = self.bytes = 0
        self.parts: dict[str, list[pa.Array]] = {}
        self.kinds: dict[str, pa.DataType] = {}
        self.decode: Callable[[bytes], Row] = msgspec.json.Decoder(Row).decode

    def add(self, block: bytes) -> None:
        """Decode whole lines and append them."""
        lines, decode = block.split(b"\n"), self.decode
        self._check_lines(block, lines)
        try:
            rows = [decode(line) for line in lines if line and not line.isspace()]
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise self._first_broken(lines) from error
        self.bytes += len(block)
        new = set().union(*rows).difference(self.parts)
        if new:
            self._open_columns([name for row in rows if not new.isdisjoint(row) for name in row if name in new])
        self._check_cells(len(rows))
        for name, parts in self.parts.items():
            if self.columns is None or name in self.columns:
                parts.append(self._column(name, _values(rows, name), lines))
        self.lines += len(lines)
        self.rows += len(rows)

    def finish(self) -> pa.Table:
        """Return the table of everything added."""
        if not self.parts:
            raise InputError(f"{shown(self.path)}: no line holds a key with a value; write one object per line")
        check_columns(self.path, list(self.parts), self.columns)
        names = list(self.parts) if self.columns is None else list(self.columns)
        return pa.table([self._joined(name) for name in names], names=names)

    def fault(self, line: int, what: str, advice: str) -> InputError:
        """Return an error that names a line of the file."""
        return InputError(f"{shown(self.path)}: line {line}: {what}; {advice}")

    def _check_lines(self, block: bytes, lines: Sequence[bytes]) -> None:
        if len(block) > self.limits.max_line_bytes:
            for number, line in enumerate(lines, start=self.lines + 1):
                if len(line) > self.limits.max_line_bytes:
                    what = f"{len(line)} bytes long, expected at most {self.limits.max_line_bytes}"
                    raise self.fault(number, what, "shorten the line")
        deepest = self.limits.max_json_depth
        # One brace per line is a flat table; only what exceeds that can nest.
        if block.count(b"{") + block.count(b"[") - len(lines) < deepest:
            return
        for number, line in enumerate(lines, start=self.lines + 1):
            if line.count(b"{") + line.count(b"[") > deepest:
                check_depth(line, deepest, f"{shown(self.path)}: line {number}")

    def _first_broken(self, lines: Sequence[bytes]) -> InputError:
        for number, line in enumerate(lines, start=self.lines + 1):
            try:
                if _filled(line):
                    self.decode(line)
            except (msgspec.MsgspecError, ValueError, RecursionError) as error:
                return self.fault(number, f"not a JSON object ({reason(error)})", "write one object per line")
        return self.fault(self.lines + 1, "not JSON lines", "write one object per line")

    def _open_columns(self, names: Sequence[str]) -> None:
        for name in dict.fromkeys(names):
            self.kinds[name] = pa.null()
            self.parts[name] = [pa.nulls(self.rows)] if self.columns is None or name in self.columns else []
        if len(self.parts) > self.limits.max_columns:
            raise InputError(
                f"{shown(self.path)}: {len(self.parts)} different keys, expected at most {self.limits.max_columns}; "
                "use fewer keys"
            )

    def _check_cells(self, rows: int) -> None:
        cells = (self.rows + rows) * len(self.parts)
        if cells > max(_FREE_CELLS, _CELLS_PER_BYTE * self.bytes):
            raise InputError(
                f"{shown(self.path)}: too sparse: {cells} cells in {self.bytes} bytes, since most lines lack most of "
                f"the {len(self.parts)} keys; use one key for the name and one for the value"
            )

    def _column(self, name: str, values: list[Any], lines: Sequence[bytes]) -> pa.Array:
        try:
            array = to_array(values, as_text=name in self.text)
            self.kinds[name] = common_kind(self.kinds[name], array)
        except MisfitError as error:
            filled = [number for number, line in enumerate(lines, start=self.lines + 1) if _filled(line)]
            advice = "store one kind of value under one key"
            raise self.fault(filled[error.index], f"key {shown(name)!r}: {error}", advice) from error
        return array

    def _joined(self, name: str) -> pa.ChunkedArray:
        kind = self.kinds[name]
        with guarded(self.path, f"key {shown(name)!r} cannot be one column", "store one kind of value"):
            return pa.chunked_array([part.cast(kind) for part in self.parts[name]], kind)


def _values(rows: Sequence[Row], name: str) -> list[Any]:
    try:
        return list(map(itemgetter(name), rows))
    except KeyError:
        return [row.get(name) for row in rows]


def _filled(line: bytes) -> bool:
    return bool(line) and not line.isspace()
