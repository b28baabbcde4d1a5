"""Tables to files, so that reading them gives the same text back.

Conventions
-----------
- Reading what was written is the identity for text: commas, quotes, newlines, tabs, leading zeros and null
  survive in every format. Empty and white-space text reads as null, by the rule of :mod:`gnomon.intake.text`.
- NPZ has no null: text that is missing is written as empty text (and reads as null again), a missing float as
  NaN; a missing integer or boolean is refused. Text that ends in a NUL character is refused too.
- CSV does not hold types: a column of floats that happen to be whole reads as integers. JSON has no NaN: it is
  written as null, and a table without rows has no lines to name its columns in.
- A file appears under its name complete or not at all: it is written beside it, synced and renamed. Folders that do so
  are in :mod:`gnomon.intake.drafts`.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from gnomon.core.errors import InputError, some
from gnomon.intake.archives import SUFFIX, array_name
from gnomon.intake.arrays import Array
from gnomon.intake.faults import guarded, shown
from gnomon.intake.tables import table_suffix

UNUSABLE = ("/dev/", "/proc/", "/sys/")
"""Where no file of a user belongs,"""
USABLE = "/dev/shm/"  # noqa: S108 - a file system in memory, that of every user
"""but for this."""
WRITABLE = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".npz")
_ROWS = 1 << 16


def write_table(table: pa.Table, path: str | os.PathLike[str]) -> None:
    """Write a table in the format that the suffix names.

    Parameters
    ----------
    table
        Flat columns; lists of text are possible in parquet and JSON lines.
    path
        A name ending in ``.csv``, ``.tsv``, ``.jsonl``, ``.ndjson``, ``.parquet`` or ``.npz``.

    Raises
    ------
    InputError
        The format cannot hold the table, or the file cannot be written.
    """
    suffix = table_suffix(path, WRITABLE)
    twice = [name for name, count in Counter(table.schema.names).items() if count > 1]
    if twice or not table.num_columns:
        raise InputError(f"{shown(path)}: a table needs columns with different names, got {some(twice)}; rename them")
    if not Path(path).parent.is_dir():
        raise InputError(f"{shown(path)}: the folder {shown(Path(path).parent)!r} does not exist; create it")
    with guarded(path, f"cannot be written as {suffix}", "check the folder and the types"), replacing(path) as file:
        _write(_decoded(table), file, suffix, path)


def check_replaceable(path: str | os.PathLike[str]) -> None:
    """Refuse a target that is there and is no plain file: a folder, a device, a link to one."""
    if os.path.lexists(path) and (not os.path.isfile(path) or not Path(os.path.realpath(path)).is_file()):
        raise InputError(f"{shown(path)}: is there and is no plain file, so it is not replaced; choose another name")
    if _is_unusable(path):
        raise InputError(f"{shown(path)}: is no place for a file; choose another name")


def check_writable(path: str | os.PathLike[str], *, folder: bool = False, said: str = "") -> None:
    """Refuse a place where a file (or a `folder` of files) cannot be written; for use before long work.

    Nothing is created. ``said`` stands before the path in messages, for example the option that names it.
    """
    where = f"{said} {shown(path)}".strip()
    if "\0" in os.fspath(path):
        raise InputError(f"{where}: the name holds a NUL character; choose another name")
    if folder and os.path.lexists(path) and not Path(path).is_dir():
        raise InputError(f"{where}: is a file, expected a folder to write into; choose another")
    if not folder and Path(path).is_dir():
        raise InputError(f"{where}: is a folder, expected the name of a file to write; name one in it")
    if _is_unusable(path):
        raise InputError(f"{where}: is no place for files; choose another name")
    if not folder:
        check_replaceable(path)
        if os.path.exists(path) and not os.access(path, os.W_OK):
            raise InputError(f"{where}: may not be written: check its permissions, or choose another name")
    above = Path(path).absolute() if folder else Path(path).absolute().parent
    while not os.path.lexists(above):
        above = above.parent
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        raise InputError(f"{where}: cannot be written: {shown(above)} is no folder to write into; choose another")


def _is_unusable(path: str | os.PathLike[str]) -> bool:
    place = os.path.join(os.path.realpath(path), "")
    return place.startswith(UNUSABLE) and not place.startswith(USABLE)


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Give a file that takes the place of `path` when the block ends well, and vanishes when it does not."""
    check_replaceable(path)
    target = Path(path)
    beside = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}.part")
    try:
        with beside.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        beside.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise
    with contextlib.suppress(OSError):  # not every folder that can be written to can be opened
        sync(target.parent)


def sync(path: Path) -> None:
    """Force a file, or the names in a folder, to the disk; a file system that cannot do so for folders does without."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP) or not path.is_dir():
            raise
    finally:
        os.close(handle)


def _decoded(table: pa.Table) -> pa.Table:
    kinds = [field.type for field in table.schema]
    plain = [kind.value_type if pa.types.is_dictionary(kind) else kind for kind in kinds]
    columns = [column.cast(kind) for column, kind in zip(table.columns, plain, strict=True)]
    return pa.table(columns, names=table.schema.names)


def _write(table: pa.Table, file: BinaryIO, suffix: str, path: str | os.PathLike[str]) -> None:
    if suffix == ".parquet":
        pq.write_table(table, file, compression="zstd", write_page_checksum=True)
    elif suffix in (".jsonl", ".ndjson"):
        encode = msgspec.json.Encoder().encode_lines
        for batch in table.to_batches(max_chunksize=_ROWS):
            file.write(encode(batch.to_pylist()))
    elif suffix == ".npz":
        _write_npz(table, file, path)
    else:
        _check_names(table.schema.names, path)
        options = arrow_csv.WriteOptions(delimiter="," if suffix == ".csv" else "\t")
        arrow_csv.write_csv(_quoted_nulls(table) if table.num_columns == 1 else table, file, options)


def _check_names(names: list[str], path: str | os.PathLike[str]) -> None:
    wrong = [name for name in names if not name or name != name.strip()]
    if wrong:
        raise InputError(f"{shown(path)}: column name {some(wrong)} is empty or has blanks around it; rename it")


def _quoted_nulls(table: pa.Table) -> pa.Table:
    """Return a table of one column whose nulls are written as two quotes: readers skip an empty line."""
    return pa.table([table.column(0).cast(pa.string()).fill_null("")], names=table.schema.names)


def _write_npz(table: pa.Table, file: BinaryIO, path: str | os.PathLike[str]) -> None:
    with zipfile.ZipFile(file, "w") as archive:
        for name, column in zip(table.schema.names, table.columns, strict=True):
            if array_name(name + SUFFIX) != name:
                raise InputError(f"{shown(path)}: {shown(name, 80)!r} cannot name an array; rename the column")
            array = _to_numpy(column, f"{shown(path)}: column {shown(name, 80)!r}")
            with archive.open(zipfile.ZipInfo(name + SUFFIX), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def _to_numpy(column: pa.ChunkedArray, where: str) -> Array:
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        if pc.any(pc.ends_with(column, "\0")).as_py():
            raise InputError(f"{where}: text ends in a NUL character, which NPZ drops; use another format")
        texts: Array = column.fill_null("").to_numpy()
        return texts.astype(np.str_) if len(texts) else np.empty(0, dtype="U1")
    if not (pa.types.is_primitive(column.type) or pa.types.is_boolean(column.type)):
        raise InputError(f"{where} has type {shown(str(column.type))}, which NPZ cannot hold; use parquet")
    if column.null_count and not pa.types.is_floating(column.type):
        raise InputError(f"{where}: {column.null_count} missing values, which NPZ cannot hold; use parquet")
    numbers: Array = column.to_numpy()
    return numbers
