"""Fingerprints of tables: the same content gives the same hash, whatever chunks, types or file it arrived in.

A column is hashed in passes over its chunks (kind, validity, then lengths and text, or numbers), so that a file is
fingerprinted in the memory of one batch of its rows.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gnomon.core.canonical import encode
from gnomon.core.errors import GnomonError
from gnomon.core.tallies import Array
from gnomon.intake.columnar import Opened, open_parquet, plain_type
from gnomon.intake.limits import MIB, Limits

BATCH = 1 << 16
"""Rows of a file that are hashed at a time."""
Chunks = Callable[[], Iterable[pa.Array]]
"""Gives the chunks of a column, all of them each time it is called."""


def table_digest(table: pa.Table) -> str:
    """Return the fingerprint of a table: names and content of its columns, in the order of its rows."""
    state = _Hash()
    state.add_part(encode(table.column_names))
    for column in table.columns:
        _add_column(state, column.type, len(column), _chunks_of(column))
    return state.hexdigest()


def column_digest(*columns: pa.Array | pa.ChunkedArray) -> str:
    """Return the fingerprint of columns."""
    state = _Hash()
    for column in columns:
        _add_column(state, column.type, len(column), _chunks_of(column))
    return state.hexdigest()


def file_digest(path: str | os.PathLike[str], limits: Limits) -> str:
    """Return the fingerprint of the table in a parquet file, reading some rows at a time."""
    with open_parquet(path, None, None, limits, buffer_size=MIB, pre_buffer=False) as file:
        limits.check_decoded(path, file.in_memory, file.size)
        state = _Hash()
        state.add_part(encode(file.columns))
        for field in file.source.schema_arrow:
            _add_column(state, plain_type(field.type), file.source.metadata.num_rows, _read_chunks(file, field.name))
    return state.hexdigest()


def _chunks_of(column: pa.Array | pa.ChunkedArray) -> Chunks:
    return lambda: column.chunks if isinstance(column, pa.ChunkedArray) else [column]


def _read_chunks(file: Opened, name: str) -> Chunks:
    """Return what reads a column of a file; what all of it decodes to is held against the limits as it goes."""

    def read() -> Iterator[pa.Array]:
        decoded = 0
        for batch in file.batches(BATCH, [name]):
            column = batch.column(0)
            plain = column.cast(plain_type(column.type))
            decoded += plain.nbytes
            file.limits.check_decoded(file.path, decoded, file.size)
            yield plain

    return read


class _Hash:
    """What :func:`gnomon.core.canonical.digest` computes, of parts that may come in pieces."""

    def __init__(self) -> None:
        self._state = hashlib.sha256()
        self.hexdigest = self._state.hexdigest

    def add_part(self, part: bytes) -> None:
        """Hash a part after its length."""
        self.begin_part(len(part))
        self._state.update(part)

    def begin_part(self, length: int) -> None:
        """Hash the length of a part whose pieces follow."""
        self._state.update(length.to_bytes(8, "little"))

    def add_pieces(self, pieces: Iterable[bytes]) -> None:
        """Hash pieces of the part that was begun."""
        for piece in pieces:
            self._state.update(piece)


def _add_column(state: _Hash, kind: pa.DataType, rows: int, chunks: Chunks) -> None:
    """Hash what stands for a column: kind, validity, then lengths and text, or numbers."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
        coded = chunks

        def chunks() -> Iterator[pa.Array]:
            return (chunk.cast(kind) if pa.types.is_dictionary(chunk.type) else chunk for chunk in coded())

    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        _add_validity(state, b"list", rows, chunks)
        items = _add_lengths(state, rows, (pc.list_value_length(chunk) for chunk in chunks()))
        _add_column(state, kind.value_type, items, lambda: (pc.list_flatten(chunk) for chunk in chunks()))
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
        _add_validity(state, b"text", rows, chunks)
        size = _add_lengths(state, rows, (pc.binary_length(chunk) for chunk in chunks()))
        state.begin_part(size)
        state.add_pieces(_text(chunk) for chunk in chunks())
    elif pa.types.is_floating(kind):
        _add_numbers(state, b"float", rows, chunks, np.float64)
    elif pa.types.is_boolean(kind):
        _add_numbers(state, b"boolean", rows, chunks, np.int64)
    elif pa.types.is_integer(kind) and kind != pa.uint64():
        _add_numbers(state, b"integer", rows, chunks, np.int64)
    else:
        raise GnomonError(f"no fingerprint for a column of type {kind}")


def _add_validity(state: _Hash, tag: bytes, rows: int, chunks: Chunks) -> None:
    state.add_part(tag)
    state.begin_part(-(-rows // 8))
    state.add_pieces(_packed(pc.is_valid(chunk).to_numpy(zero_copy_only=False) for chunk in chunks()))


def _packed(parts: Iterable[Array]) -> Iterator[bytes]:
    """Return flags as bits; those of a byte may come from two parts."""
    rest = np.zeros(0, dtype=np.bool_)
    for part in parts:
        rest = np.concatenate([rest, part])
        whole = len(rest) // 8 * 8
        yield np.packbits(rest[:whole]).tobytes()
        rest = rest[whole:]
    yield np.packbits(rest).tobytes()


def _add_lengths(state: _Hash, rows: int, parts: Iterable[pa.Array]) -> int:
    """Hash lengths, which are 0 where there is nothing, and return their sum."""
    state.begin_part(8 * rows)
    total = 0
    for part in parts:
        lengths = part.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
        total += int(lengths.sum())
        state.add_pieces([lengths.tobytes()])
    return total


def _add_numbers(state: _Hash, tag: bytes, rows: int, chunks: Chunks, dtype: type) -> None:
    _add_validity(state, tag, rows, chunks)
    state.begin_part(8 * rows)
    state.add_pieces(_filled(chunk).astype(dtype).tobytes() for chunk in chunks())


def _filled(chunk: pa.Array) -> Array:
    empty = False if pa.types.is_boolean(chunk.type) else 0
    plain = chunk.cast(pa.float64()) if pa.types.is_floating(chunk.type) else chunk
    found: Array = plain.fill_null(empty).to_numpy(zero_copy_only=False)
    return found


def _text(chunk: pa.Array) -> bytes:
    text = chunk.fill_null("").cast(pa.large_string())
    if not len(text):
        return b""
    offsets = np.frombuffer(text.buffers()[1], dtype=np.int64)[text.offset : text.offset + len(text) + 1]
    data = text.buffers()[2]
    return b"" if data is None else bytes(memoryview(data)[int(offsets[0]) : int(offsets[-1])])
