"""What the pages of a parquet column hold, from their headers, before any of them is decompressed.

The footer of a parquet file only claims how large its columns are. What a reader allocates follows the header
in front of every page, so these are walked first: a header is a small Thrift struct in compact encoding, and
the compressed size in it leads to the next one.

References
----------
The struct ``PageHeader`` of the Apache Parquet format, and the Thrift compact protocol.
"""

from __future__ import annotations

import struct
from typing import BinaryIO, NamedTuple

_STOP, _TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(13)
_UNCOMPRESSED, _COMPRESSED, _DATA, _DICTIONARY, _DATA_V2 = 2, 3, 5, 7, 8
_NUM_VALUES = 1
_FIRST_READ = 1 << 9
_LONGEST_HEADER = 1 << 24
_DEEPEST = 8

Fields = dict[int, object]


class Extent(NamedTuple):
    """Totals over the pages of one column chunk."""

    decoded_bytes: int
    values: int


class DamagedPageError(ValueError):
    """A page header cannot be parsed or contradicts itself."""


def measure_chunk(file: BinaryIO, start: int, length: int, values: int) -> Extent:
    """Walk the pages of one column chunk and return what they declare.

    Parameters
    ----------
    file
        The parquet file, seekable.
    start, length
        Where the chunk lies in the file.
    values
        How many values the footer promises: bytes after the page that completes them may be anything.
    """
    decoded = seen = 0
    position, end = start, start + length
    while position < end and seen < values:
        fields, used = _header_at(file, position, end)
        decoded += _size(fields, _UNCOMPRESSED)
        position += used + _size(fields, _COMPRESSED)
        if _DICTIONARY not in fields:
            seen += max((_values(fields, kind) for kind in (_DATA, _DATA_V2)), default=0)
    if position > end or seen < values:
        raise DamagedPageError(f"pages hold {seen} values in {position - start} of {length} bytes, expected {values}")
    return Extent(decoded, seen)


def _size(fields: Fields, key: int) -> int:
    size = fields.get(key)
    if not isinstance(size, int) or size < 0:
        raise DamagedPageError("a page header has no valid size")
    return size


def _values(fields: Fields, key: int) -> int:
    inner = fields.get(key)
    return _size(inner, _NUM_VALUES) if isinstance(inner, dict) else 0


def _header_at(file: BinaryIO, position: int, end: int) -> tuple[Fields, int]:
    """Return the header at a position and its length, reading more only where it is long."""
    room = min(end - position, _LONGEST_HEADER)
    size = min(_FIRST_READ, room)
    while True:
        file.seek(position)
        reader = _Compact(file.read(size))
        try:
            return reader.struct(), reader.position
        except (IndexError, struct.error) as error:
            if size >= room:
                raise DamagedPageError("a page header is cut off") from error
        size = min(size * 8, room)


class _Compact:
    """Just enough of the Thrift compact protocol; running out of bytes is an IndexError."""

    def __init__(self, data: bytes) -> None:
        self.data, self.position = data, 0

    def struct(self, depth: int = 0) -> Fields:
        """Return the fields of a struct by number; later ones win, as they do in a parquet reader."""
        if depth > _DEEPEST:
            raise DamagedPageError("a page header nests too deep")
        fields: Fields = {}
        number = 0
        while (head := self._byte()) != _STOP:
            step, kind = head >> 4, head & 15
            number = number + step if step else self._zigzag()
            fields[number] = self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> object:
        if kind in (_TRUE, _FALSE):
            return kind == _TRUE
        if kind in (_I16, _I32, _I64):
            return self._zigzag()
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind in (_BYTE, _DOUBLE, _BINARY):
            self._skip({_BYTE: 1, _DOUBLE: 8}.get(kind) or self._varint())
        elif kind in (_LIST, _SET):
            self._items(depth + 1)
        else:
            raise DamagedPageError(f"a page header holds a value of unknown kind {kind}")
        return None

    def _items(self, depth: int) -> None:
        if depth > _DEEPEST:
            raise DamagedPageError("a page header nests too deep")
        head = self._byte()
        count = head >> 4 if head >> 4 < 15 else self._varint()
        for _ in range(count):
            if head & 15 in (_TRUE, _FALSE):
                self._byte()
            else:
                self._value(head & 15, depth)

    def _skip(self, size: int) -> None:
        self.position += size
        if self.position > len(self.data):
            raise IndexError(self.position)

    def _byte(self) -> int:
        value = self.data[self.position]
        self.position += 1
        return value

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
            if shift > 63:
                raise DamagedPageError("a page header holds a number that is too long")

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
