"""The first row of delimited text: the names of the columns."""

from __future__ import annotations

import csv
import io
import os
from collections import Counter
from collections.abc import Collection, Sequence

from gnomon.core.errors import InputError, some
from gnomon.intake.faults import reason, shown
from gnomon.intake.limits import Limits
from gnomon.intake.streams import Stream

_BOM = b"\xef\xbb\xbf"
_FIRST_READ = 1 << 16


SEPARATORS = {";": "semicolons", "|": "bars", "\t": "tabs", ",": "commas"}
"""What tables are separated by elsewhere, or here under another name of the file."""


INDEX = "index"
"""What a first column without a name is called."""


def separated(names: Sequence[str], wanted: Collection[str] = ()) -> str:
    """Say by what a table seems to be separated, and what to do, where its only column is named like several.

    Of the names that are wanted, where any are, one must be there.

    >>> separated(["id;label"], ["id", "group"])
    "the table seems to be separated by semicolons, as 'id', 'label': save it with commas (.csv) or tabs (.tsv)"
    >>> separated(["id", "a;b"]), separated(["a;b"], ["id"])
    ('', '')
    """
    for mark, name in SEPARATORS.items() if len(names) == 1 else ():
        parts = [part.strip().strip('"') for part in names[0].split(mark)]
        if len(parts) > 1 and all(parts) and (not wanted or not set(wanted).isdisjoint(parts)):
            ending = {"\t": "name it .tsv", ",": "name it .csv"}.get(mark, "save it with commas (.csv) or tabs (.tsv)")
            return f"the table seems to be separated by {name}, as {some(parts)}: {ending}"
    return ""


def check_columns(path: str | os.PathLike[str], names: Sequence[str], columns: Sequence[str] | None) -> None:
    """Refuse columns that are asked for and not there."""
    missing = [name for name in columns or () if name not in set(names)]
    if missing:
        hint = separated(names, missing) or "rename a column or ask for one of these"
        raise InputError(f"{shown(path)}: no column {some(missing)}; the file has {some(names, show=12)}; {hint}")


def read_header(stream: Stream, delimiter: str, limits: Limits) -> list[str]:
    """Take the header off a stream and return its column names."""
    data, size = b"", _FIRST_READ
    while True:
        fresh = stream.read(size)
        data += fresh
        found = _split_header(data, delimiter, stream.path, final=not fresh)
        if found is not None:
            break
        if len(data) > limits.max_line_bytes:
            hint = _suspected(data, delimiter) or "close its quotes or shorten it"
            raise InputError(
                f"{shown(stream.path)}: row 1: the header is longer than {limits.max_line_bytes} bytes; {hint}"
            )
        size = len(data)
    names, used = found
    if len(names) > 1 and not names[0] and INDEX not in names and all(names[1:]):
        names[0] = INDEX  # what data frames write before the first column unless told not to
    stream.push(data[used:])
    _check_names(names, stream.path, limits)
    return names


def _split_header(
    data: bytes, delimiter: str, path: str | os.PathLike[str], *, final: bool
) -> tuple[list[str], int] | None:
    """Return the names and the number of bytes of the header, or None when more bytes are needed."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError(f"{shown(path)}: row 1: the file is UTF-16, expected UTF-8; save it as UTF-8")
    start = len(_BOM) if data.startswith(_BOM) else 0
    # Bytes that are not UTF-8 survive as surrogates: only those of the header are of interest here.
    content = io.StringIO(data[start:].decode("utf-8", "surrogateescape"), newline="")
    try:
        record = next((record for record in csv.reader(content, delimiter=delimiter, strict=True) if record), None)
    except csv.Error as error:
        if not final:
            return None
        hint = _suspected(data, delimiter) or "fix it"
        raise InputError(f"{shown(path)}: row 1: the header cannot be parsed ({reason(error)}); {hint}") from error
    used = start + len(content.getvalue()[: content.tell()].encode("utf-8", "surrogateescape"))
    if used >= len(data) and not final:
        return None
    if record is None:
        raise InputError(f"{shown(path)}: no header row: the file holds only blank lines; name the columns in row 1")
    return [name.strip() for name in record], used


def _suspected(data: bytes, delimiter: str) -> str:
    """Say by what a table seems to be separated whose first line does not hold its delimiter."""
    first = data.removeprefix(_BOM).lstrip().split(b"\n", 1)[0].decode("utf-8", "replace").strip()
    return "" if delimiter in first else separated([first])


def _check_names(names: Sequence[str], path: str | os.PathLike[str], limits: Limits) -> None:
    where = f"{shown(path)}: row 1"
    if len(names) > limits.max_columns:
        raise InputError(f"{where}: {len(names)} columns, expected at most {limits.max_columns}; store fewer")
    for position, name in enumerate(names, start=1):
        if not name:
            raise InputError(
                f"{where}: column {position} has no name in the header; name it, or write the file without an index"
            )
        if any("\ud800" <= c <= "\udfff" for c in name):
            raise InputError(f"{where}: the name of column {position} is not UTF-8; save the file as UTF-8")
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InputError(
            f"{where}: duplicate column {some(twice)}; give every column its own name, in a row 1 that is the header"
        )
    if all(_is_number(name) for name in names) and not all(name.isdecimal() for name in names):
        raise InputError(f"{where}: no header row: got the numbers {some(names)}; name the columns in row 1")


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True
