"""Tables from outside: one function, six formats, one Arrow table.

Conventions
-----------
- The format follows from the suffix: ``.csv``, ``.tsv``, ``.jsonl`` (also ``.ndjson``), each also with
  ``.gz``, ``.parquet``, ``.npz`` and, where openpyxl is installed, ``.xlsx``.
- Columns named in ``text`` come out as text, exactly as written; see :mod:`gnomon.intake.text` for the rules.
- Empty text is null in every format. Lists of text come out as ``list<string>``.
- A file with a header and no rows gives a table of no rows; callers decide whether that is wrong.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from gnomon.core.errors import InputError, some
from gnomon.intake.arrays import Array, read_some
from gnomon.intake.columnar import read_parquet
from gnomon.intake.delimited import read_delimited
from gnomon.intake.faults import guarded, shown
from gnomon.intake.formats import excel
from gnomon.intake.limits import DEFAULT, Limits
from gnomon.intake.lines import read_lines
from gnomon.intake.text import tidy

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_LINES = (".jsonl", ".ndjson")
_PACKABLE = (*_DELIMITERS, *_LINES)
SUFFIXES = (*_PACKABLE, *(suffix + ".gz" for suffix in _PACKABLE), ".parquet", ".npz")
"""Formats of tables that may also be shards of a folder; a workbook is read alone."""


def read_table(
    path: str | os.PathLike[str],
    *,
    text: Collection[str] = (),
    columns: Sequence[str] | None = None,
    limits: Limits = DEFAULT,
) -> pa.Table:
    """Return the table in a file.

    Parameters
    ----------
    path
        A file whose suffix names its format.
    text
        Columns that are read as text without type inference: ids, labels, groups. Names that the file does not
        have are ignored.
    columns
        Columns to read, in this order; all of them if None. A name that the file does not have is an error.
    limits
        What reading the file may cost.

    Raises
    ------
    InputError
        Anything that is wrong with the file, in one line.
    """
    suffix = table_suffix(path, (*SUFFIXES, *excel.SUFFIXES))
    limits = limits.raised()
    wanted = None if columns is None else list(dict.fromkeys(columns))
    strings = frozenset((text,) if isinstance(text, str) else text)
    with guarded(path, f"cannot be read as {suffix}"):
        return tidy(_read(path, suffix, strings, wanted, limits), strings, path)


def table_suffix(path: str | os.PathLike[str], known: Sequence[str] = SUFFIXES) -> str:
    """Return the suffix that names the format of a path, in lower case.

    >>> table_suffix("a/b.CSV.gz")
    '.csv.gz'
    """
    name = Path(path).name.lower()
    for suffix in known:
        if name.endswith(suffix) and name != suffix:
            return suffix
    if name.endswith((*excel.SUFFIXES, *excel.OLDER)):
        raise InputError(
            f"{shown(path)}: a workbook of a spreadsheet, which is not read here; save the sheet as CSV, or convert it "
            "with pandas.read_excel(...).to_csv(..., index=False)"
        )
    raise InputError(
        f"{shown(path)}: unknown kind of table, expected a name ending in {some(known, show=12)}; convert it to one of "
        "these formats, or rename it where it is in one of them already"
    )


def _read(
    path: str | os.PathLike[str], suffix: str, text: Collection[str], columns: Sequence[str] | None, limits: Limits
) -> pa.Table:
    plain = suffix.removesuffix(".gz")
    if plain in _DELIMITERS:
        return read_delimited(path, _DELIMITERS[plain], text=text, columns=columns, limits=limits)
    if plain in _LINES:
        return read_lines(path, text=text, columns=columns, limits=limits)
    if plain in excel.SUFFIXES:
        return excel.read_workbook(path, text=text, columns=columns, limits=limits)
    if plain == ".parquet":
        return read_parquet(path, columns=columns, limits=limits)
    return _read_arrays(path, columns, limits)


def _read_arrays(path: str | os.PathLike[str], columns: Sequence[str] | None, limits: Limits) -> pa.Table:
    arrays = read_some(path, columns, limits)
    lengths = {name: array.shape[0] for name, array in arrays.items() if array.ndim == 1}
    for name, array in arrays.items():
        if array.ndim != 1 or array.shape[0] != next(iter(lengths.values())):
            raise InputError(
                f"{shown(path)}: array {shown(name, 80)!r} has shape {array.shape}, expected one axis and the same "
                "length as the others; save one value per row"
            )
    names = list(arrays)
    return pa.table([_to_arrow(path, name, arrays[name]) for name in names], names=names)


def _to_arrow(path: str | os.PathLike[str], name: str, array: Array) -> pa.Array:
    with guarded(path, f"array {shown(name, 80)!r} cannot be a column", "save numbers, booleans or text"):
        if array.dtype.kind in "SU" and _holds_nul(array):
            # Arrow cuts such text at its first NUL character, and two ids may become one.
            return pa.array(array.tolist(), pa.string() if array.dtype.kind == "U" else pa.binary())
        return pa.array(array)


def _holds_nul(array: Array) -> bool:
    """Say whether some text has a NUL character before its end."""
    unit = np.dtype(np.uint32 if array.dtype.kind == "U" else np.uint8)
    codes = np.ascontiguousarray(array).view(unit).reshape(len(array), array.dtype.itemsize // unit.itemsize)
    return bool(np.any((codes[:, :-1] == 0) & (codes[:, 1:] != 0)))
