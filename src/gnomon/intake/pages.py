"""What a parquet file declares, from its footer and its page headers, before any page is decompressed.

The footer only claims how large the columns are; what a reader allocates follows the header in front of every
page. So both are parsed here: the compressed size in a page header leads to the next one. Arrow could tell
about the footer as well, but its metadata objects abort the process on a damaged one.

References
----------
The structs ``FileMetaData`` and ``PageHeader`` of the Apache Parquet format.
"""

from __future__ import annotations

from typing import BinaryIO, NamedTuple

from gnomon.intake.thrift import STRUCT, Compact, CutOffError, DamagedError

_FIRST_READ = 1 << 9
_LONGEST_HEADER = 1 << 24
_DEEPEST_SCHEMA = 64
_OLD_PADDING = 100  # old writers understate the length of a chunk; Arrow looks that much further


class Chunk(NamedTuple):
    """One column within one group of rows, as the footer describes it."""

    values: int
    decoded_bytes: int
    start: int
    length: int


class Group(NamedTuple):
    """A group of rows."""

    rows: int
    chunks: list[Chunk]


class Extent(NamedTuple):
    """Totals over the pages of one chunk."""

    values: int
    decoded_bytes: int


def read_footer(data: bytes) -> list[Group]:
    """Return the row groups in the bytes of a footer."""
    reader = Compact(data)
    groups: list[Group] = []
    rows = -1
    for number, kind in reader.fields():
        if number == 2:
            _check_nesting(reader, kind)
        elif number == 3:
            rows = reader.integer(kind)
        elif number == 4:
            groups = [_group(reader) for _ in reader.structs(kind)]
        else:
            reader.skip(kind)
    if rows != sum(group.rows for group in groups):
        raise DamagedError(f"{rows} rows in all, but {sum(group.rows for group in groups)} in its groups")
    return groups


def _check_nesting(reader: Compact, kind: int) -> None:
    """Refuse a schema so deep that a recursive reader of it would run out of stack."""
    pending: list[int] = []  # children that are still to come, one number per open level
    for _ in reader.structs(kind):
        children = _optional_field(reader, 5)
        while pending and not pending[-1]:
            pending.pop()
        if pending:
            pending[-1] -= 1
        if children > 0:
            pending.append(children)
        if len(pending) > _DEEPEST_SCHEMA:
            raise DamagedError(f"a schema nested more than {_DEEPEST_SCHEMA} deep")


def _optional_field(reader: Compact, wanted: int) -> int:
    """Consume a struct and return one of its integers, -1 where it is missing."""
    value = -1
    for number, kind in reader.fields():
        if number == wanted:
            value = reader.integer(kind)
        else:
            reader.skip(kind)
    return value


def _group(reader: Compact) -> Group:
    chunks: list[Chunk] = []
    rows = -1
    for number, kind in reader.fields():
        if number == 1:
            chunks = [_chunk(reader) for _ in reader.structs(kind)]
        elif number == 3:
            rows = reader.integer(kind)
        else:
            reader.skip(kind)
    if rows < 0:
        raise DamagedError("a row group without a number of rows")
    return Group(rows, chunks)


def _chunk(reader: Compact) -> Chunk:
    found: Chunk | None = None
    for number, kind in reader.fields():
        if number == 3 and kind == STRUCT:
            found = _chunk_metadata(reader)
        else:
            reader.skip(kind)
    if found is None:
        raise DamagedError("a column without metadata")
    return found


def _chunk_metadata(reader: Compact) -> Chunk:
    found = dict.fromkeys((5, 6, 7, 9), -1)
    dictionary = 0
    for number, kind in reader.fields():
        if number in found:
            found[number] = reader.integer(kind)
        elif number == 11:
            dictionary = reader.integer(kind)
        else:
            reader.skip(kind)
    values, decoded, length, data = found.values()
    if min(values, decoded, length, data) < 0:
        raise DamagedError("a column without a size or a place")
    return Chunk(values, decoded, dictionary if 0 < dictionary < data else data, length)


def measure_chunk(file: BinaryIO, chunk: Chunk, size: int) -> Extent:
    """Walk the pages of a chunk in a file of a size and return what they declare.

    Bytes after the page that completes the promised number of values may be anything; nobody reads them.
    """
    values = decoded = 0
    position, end = chunk.start, chunk.start + chunk.length
    if end > size:
        raise DamagedError(f"a column lies at bytes {position} to {end} of {size}")
    end = min(end + _OLD_PADDING, size)
    while position < end and values < chunk.values:
        header, used = _header_at(file, position, end)
        position += used + header.packed
        decoded += header.decoded
        values += header.values
    if position > end or values < chunk.values:
        raise DamagedError(f"pages hold {values} values, expected {chunk.values}")
    return Extent(values, decoded)


class _Header(NamedTuple):
    decoded: int
    packed: int
    values: int


def _header_at(file: BinaryIO, position: int, end: int) -> tuple[_Header, int]:
    """Return the page header at a position and its length, reading more only where it is long."""
    room = min(end - position, _LONGEST_HEADER)
    size = min(_FIRST_READ, room)
    while True:
        file.seek(position)
        reader = Compact(file.read(size))
        try:
            return _header(reader), reader.position
        except CutOffError:
            if size >= room:
                raise
        size = min(size * 8, room)


def _header(reader: Compact) -> _Header:
    decoded = packed = -1
    values = 0
    for number, kind in reader.fields():
        if number == 2:
            decoded = reader.integer(kind)
        elif number == 3:
            packed = reader.integer(kind)
        elif number in (5, 8) and kind == STRUCT:  # a data page, of the first or the second version
            values = _optional_field(reader, 1)
        else:
            reader.skip(kind)
    if min(decoded, packed, values) < 0:
        raise DamagedError("a page without a size or a number of values")
    return _Header(decoded, packed, values)
