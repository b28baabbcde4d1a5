"""Records of JSON text, decoded block by block: one list of any length, or one object per line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import numpy as np

from gnomon.core.errors import InputError
from gnomon.intake.depth import check_depth
from gnomon.intake.faults import reason, shown
from gnomon.intake.limits import MIB, Limits
from gnomon.intake.streams import Stream, whole_lines
from gnomon.intake.unread import count_keys, note
from gnomon.suites.events.record import DatedRecord, Record, Rows

MOST_RECORD_BYTES = MIB
_HEAD = 1 << 14
_BLANK, _BOM = b" \t\r\n", b"\xef\xbb\xbf"
_READ = ("time", "type", "values")
_OBJECT, _OBJECTS = msgspec.json.Decoder(dict[str, msgspec.Raw]), msgspec.json.Decoder(list[dict[str, msgspec.Raw]])
_STEP = np.zeros(256, dtype=np.int64)
_STEP[list(b"[{")], _STEP[list(b"]}")] = 1, -1


def read_json_records(path: Path, *, dated: bool, limits: Limits, size: int) -> Iterator[Rows]:
    """Yield the records of a file in the order that they have there.

    Parameters
    ----------
    path
        JSON text, packed if its name ends in ``.gz``; its first byte tells a list from lines.
    dated
        Whether times are text, which is not looked into here, or numbers.
    limits
        What the file may cost.
    size
        Bytes that are read at a time; it never changes a record.
    """
    decoder = _Decoder(path, limits, DatedRecord if dated else Record)
    with Stream(path, limits) as stream:
        body, start = _without_blank(stream)
        if body[:1] not in (b"[", b"{"):
            raise InputError(f"{shown(path)}: byte {start}: expected a JSON list of records or JSON lines; correct it")
        stream.push(body)
        yield from (decoder.items if body[:1] == b"[" else decoder.lines)(stream, start, size)


def _without_blank(stream: Stream) -> tuple[bytes, int]:
    """Return what was read of a stream from its first byte that is not blank, and where that is."""
    head, start = stream.read(len(_BOM)), 0
    if head == _BOM:
        head, start = stream.read(_HEAD), len(_BOM)
    while head.isspace():
        head, start = stream.read(_HEAD), start + len(head)
    body = head.lstrip(_BLANK)
    return body, start + len(head) - len(body)


class _Decoder:
    """Records of JSON text, block by block; knows where it is in the file."""

    def __init__(self, path: Path, limits: Limits, record: type) -> None:
        self.path, self.limits, self.count = path, limits, 0
        self.quotes = 10 if record is DatedRecord else 8
        self.unread: Counter[str] = Counter()
        self.list: Callable[[bytes], Rows] = msgspec.json.Decoder(list[record]).decode  # type: ignore[valid-type]
        self.several: Callable[[bytes], Rows] = msgspec.json.Decoder(record).decode_lines

    def lines(self, stream: Stream, start: int, size: int) -> Iterator[Rows]:
        """Yield the records of JSON lines that begin at a byte of the file."""
        for at, block in whole_lines(stream, size, start=start, longest=MOST_RECORD_BYTES):
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
        if block.count(b'"') != self.quotes * len(rows):  # three keys, the type, perhaps a date: else there is more
            self._note_others(block, decode == self.list)
        return rows

    def _note_others(self, block: bytes, listed: bool) -> None:
        """Note the keys of records that are not read."""
        items = _OBJECTS.decode(block) if listed else _OBJECT.decode_lines(block)
        self.unread.update(count_keys(items, _READ))
        note(self.path, self.unread)

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
