"""Workbooks of spreadsheets (``.xlsx``, ``.xlsm``): the first sheet as a table, its first row naming the columns.

They are read by openpyxl where it is installed. A workbook is a zip archive of XML: what its members declare is checked
against the limits before one is opened, and cells are counted while they are read. Formulas are not computed: the
value that the program stored with them is taken.
"""

from __future__ import annotations

import datetime
import os
import zipfile
from collections.abc import Collection, Sequence
from typing import Any

import pyarrow as pa

from gnomon.core.errors import InputError, MissingExtraError, some
from gnomon.intake.faults import shown
from gnomon.intake.limits import Limits, check_file

SUFFIXES = (".xlsx", ".xlsm")
MOST_CELLS = 20_000_000
PROLOG = 1 << 16
"""Bytes at the start of a member that are searched for a document type."""
OLDER = (".xls", ".xlsb", ".ods")
"""Workbooks in other formats, which are named for what they are."""


def read_workbook(
    path: str | os.PathLike[str], *, text: Collection[str], columns: Sequence[str] | None, limits: Limits
) -> pa.Table:
    """Return the first sheet of a workbook; columns named in ``text`` come out as text."""
    try:
        from openpyxl import load_workbook  # type: ignore[import-untyped]
    except ImportError as error:
        raise MissingExtraError(
            f"{shown(path)}: an Excel workbook, which openpyxl reads, which is not installed: pip install "
            "'gnomon[excel]' (or openpyxl alone), or save the sheet as CSV"
        ) from error
    _check_archive(path, limits)
    book = load_workbook(path, read_only=True, data_only=True, keep_links=False)
    try:
        rows = book.worksheets[0].iter_rows(values_only=True) if book.worksheets else iter(())
        head = next(rows, ())
        names = _name_columns(path, head, limits)
        cells: list[list[Any]] = [[] for _ in names]
        count = 0
        for row in rows:
            if all(cell is None for cell in row):
                continue
            count += len(names)
            if count > MOST_CELLS:
                raise InputError(f"{shown(path)}: over {MOST_CELLS:,} cells; save the sheet as CSV")
            for place, column in enumerate(cells):
                column.append(row[place] if place < len(row) else None)
    finally:
        book.close()
    wanted = names if columns is None else list(columns)
    if lacking := [name for name in wanted if name not in names]:
        raise InputError(f"{shown(path)}: no column {some(lacking)}; the sheet has {some(names, show=12)}")
    held = dict(zip(names, cells, strict=True))
    return pa.table({name: _to_arrow(held[name], name in text) for name in wanted})


def _check_archive(path: str | os.PathLike[str], limits: Limits) -> None:
    """Refuse an archive whose XML is too large when unpacked, and XML that declares entities."""
    check_file(path, limits)
    if not zipfile.is_zipfile(path):
        raise InputError(
            f"{shown(path)}: no Excel workbook by its content: expected a zip archive; save it again as .xlsx, or give "
            "it the suffix of what it is"
        )
    with zipfile.ZipFile(path) as archive:
        infos = archive.infolist()
        size = sum(info.file_size for info in infos)
        if size > limits.max_json_bytes or len(infos) > limits.max_columns:
            raise InputError(
                f"{shown(path)}: {size:,} bytes in {len(infos):,} members when unpacked, expected at most "
                f"{limits.max_json_bytes:,} in {limits.max_columns:,}; save the sheet as CSV"
            )
        for info in infos:
            with archive.open(info) as member:
                if b"<!DOCTYPE" in member.read(PROLOG).upper():
                    raise InputError(
                        f"{shown(path)}: {shown(info.filename, 80)} declares a document type; save it again"
                    )


def _name_columns(path: str | os.PathLike[str], head: Sequence[Any], limits: Limits) -> list[str]:
    """Return the names in the first row; empty cells behind the last name are no columns."""
    names = ["" if cell is None else str(cell).strip() for cell in head]
    while names and not names[-1]:
        names.pop()
    where = f"{shown(path)}: row 1 of the first sheet"
    if not names or not all(names):
        raise InputError(f"{where}: expected the name of every column, but got {some(map(repr, names)) or 'nothing'}")
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise InputError(f"{where}: duplicate column {some(twice)}; give every column its own name")
    if len(names) > limits.max_columns:
        raise InputError(f"{where}: {len(names)} columns, expected at most {limits.max_columns}; store fewer")
    return names


def _to_arrow(cells: Sequence[Any], as_text: bool) -> pa.Array:
    """Return a column: numbers where all cells are numbers, else text as the sheet shows it."""
    filled = [cell for cell in cells if cell is not None]
    if not as_text and filled and all(type(cell) in (int, float) for cell in filled):
        return pa.array([None if cell is None else float(cell) for cell in cells], pa.float64())
    return pa.array([None if cell is None else _write_cell(cell) for cell in cells], pa.string())


def _write_cell(cell: Any) -> str:
    """Return a cell as text: whole numbers without a fraction, dates in ISO form."""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return str(int(cell))
    if isinstance(cell, (datetime.date, datetime.time)):
        return cell.isoformat()
    return str(cell)
