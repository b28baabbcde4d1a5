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
MOST_CHUNKS = 50_000
"""Columns times groups of rows; each takes about a kB in memory."""
MOST_PAGES = 100_000
"""In any file; a larger one may have a page for every 4 KiB."""
DELTA_BYTE_ARRAY = 7
"""The encoding of text by what it shares with the text before it."""


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
    """Totals over the pages of one chunk, and the encodings of those that hold values."""

    values: int
    decoded_bytes: int
    entries: int
    """Of its dictionary."""
    pages: int
    encodings: frozenset[int]


def read_footer(data: bytes, most_columns: int) -> list[Group]:
    """Return the row groups in the bytes of a footer, whose schema may name so many columns."""
    reader = Compact(data)
    groups: list[Group] = []
    rows = -1
    for number, kind in reader.fields():
        if number == 2:
            _check_schema(reader, kind, most_columns)
        elif number == 3:
            rows = reader.integer(kind)
        elif number == 4:
            groups = _groups(reader, kind)
        else:
            reader.skip(kind)
    if rows != sum(group.rows for group in groups):
        raise DamagedError(f"{rows} rows in all, but {sum(group.rows for group in groups)} in its groups")
    return groups


def _check_schema(reader: Compact, kind: int, most_columns: int) -> None:
    """Refuse a schema so deep that a recursive reader of it would run out of stack, or with too many columns."""
    pending: list[int] = []  # children that are still to come, one number per open level
    columns = 0
    for _ in reader.structs(kind):
        (children,) = _integers(reader, 5)
        columns += children <= 0
        if columns > most_columns:
            raise DamagedError(f"more than {most_columns} columns")
        while pending and not pending[-1]:
            pending.pop()
        if pending:
            pending[-1] -= 1
        if children > 0:
            pending.append(children)
        if len(pending) > _DEEPEST_SCHEMA:
            raise DamagedError(f"a schema nested more than {_DEEPEST_SCHEMA} deep")


def _integers(reader: Compact, *wanted: int) -> list[int]:
    """Consume a struct and return some of its integers by number, -1 where one is missing."""
    found = dict.fromkeys(wanted, -1)
    for number, kind in reader.fields():
        if number in found:
            found[number] = reader.integer(kind)
        else:
            reader.skip(kind)
    return list(found.values())


def _groups(reader: Compact, kind: int) -> list[Group]:
    groups: list[Group] = []
    chunks = 0
    for _ in reader.structs(kind):
        groups.append(_group(reader))
        chunks += max(1, len(groups[-1].chunks))
        if chunks > MOST_CHUNKS:
            raise DamagedError(f"more than {MOST_CHUNKS} columns in groups of rows; write larger groups")
    return groups


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


def measure_chunk(file: BinaryIO, chunk: Chunk, size: int, most_pages: int) -> Extent:
    """Walk the pages of a chunk in a file of a size and return what they declare.

    Bytes after the page that completes the promised number of values may be anything; nobody reads them.
    """
    values = decoded = entries = pages = 0
    encodings: set[int] = set()
    position, end = chunk.start, chunk.start + chunk.length
    if end > size:
        raise DamagedError(f"a column lies at bytes {position} to {end} of {size}")
    end = min(end + _OLD_PADDING, size)
    while position < end and values < chunk.values:
        header, used = _header_at(file, position, end)
        position += used + header.packed
        decoded += header.decoded
        values += header.values
        entries += header.entries
        encodings.add(header.encoding)
        pages += 1
        if pages > most_pages:
            raise DamagedError(f"more than {most_pages} pages; write larger pages")
    if position > end or values < chunk.values:
        raise DamagedError(f"pages hold {values} values, expected {chunk.values}")
    return Extent(values, decoded, entries, pages, frozenset(encodings))


class _Header(NamedTuple):
    decoded: int
    packed: int
    values: int
    entries: int
    encoding: int


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
    decoded = packed = encoding = -1
    values = entries = 0
    for number, kind in reader.fields():
        if number == 2:
            decoded = reader.integer(kind)
        elif number == 3:
            packed = reader.integer(kind)
        elif number == 5 and kind == STRUCT:  # a data page of the first version
            values, encoding = _integers(reader, 1, 2)
        elif number == 7 and kind == STRUCT:
            (entries,) = _integers(reader, 1)
        elif number == 8 and kind == STRUCT:  # a data page of the second version
            values, encoding = _integers(reader, 1, 4)
        else:
            reader.skip(kind)
    if min(decoded, packed, values, entries) < 0:
        raise DamagedError("a page without a size or a number of values")
    return _Header(decoded, packed, values, entries, encoding)
