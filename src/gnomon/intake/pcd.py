"""PCD files of the Point Cloud Library, versions .5, .6 and .7: ``ascii``, ``binary`` and ``binary_compressed``.

The header is lines of text, the last of which is ``DATA``. ``binary`` holds the points one after another, little-endian
and packed; ``binary_compressed`` holds two 32-bit sizes (compressed, not compressed) and, as LZF, the fields one after
another. Fields may have any of the types ``I`` (1, 2, 4 or 8 bytes), ``U`` (the same) and ``F`` (4 or 8) and any count;
a field ``_`` is padding. ``VIEWPOINT`` is where the sensor stood; it is not applied to the points. Writers fill a file
up with zeros, which are passed over; any other byte after the last point is an error.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

import numpy as np

from gnomon.core.errors import InputError, counted, some
from gnomon.intake.faults import shown
from gnomon.intake.limits import Limits, check_file
from gnomon.intake.npy import Array
from gnomon.intake.records import Column, Text, check_axes, check_rest, cut, fill, flat, text_cells, wanted

VERSIONS = ("0.7", ".7", "0.6", ".6", "0.5", ".5")
MODES = ("ascii", "binary", "binary_compressed")
_KEYS = ("VERSION", "FIELDS", "SIZE", "TYPE", "COUNT", "WIDTH", "HEIGHT", "VIEWPOINT", "POINTS", "DATA")
_LONGEST_HEADER = 1 << 16
_LARGEST = (1 << 32) - 1
_WHOLE = re.compile(r"\d{1,15}")
_TYPES = {f"{kind}{size}": f"<{kind.lower()}{size}" for kind in "IU" for size in (1, 2, 4, 8)} | {
    "F4": "<f4",
    "F8": "<f8",
}


@dataclass(frozen=True)
class Header:
    """What the text before the points says."""

    columns: tuple[Column, ...]
    points: int
    mode: str
    length: int
    """Bytes of the header."""
    lines: int

    @property
    def record(self) -> int:
        """Bytes of one point."""
        return sum(column.size for column in self.columns)


def read_pcd(path: str | os.PathLike[str], fields: Collection[str] | None, limits: Limits) -> dict[str, Array]:
    """Return the columns of a file by name; see :func:`gnomon.intake.clouds.read_cloud`."""
    size = check_file(path, limits)
    with Path(path).open("rb", buffering=0) as file:
        start = file.read(_LONGEST_HEADER)
        header = _seen(start[: start.find(b"\n", start.find(b"\nDATA ") + 1) + 1]) or read_header(start, path)
        file.seek(header.length)
        there = size - header.length
        kept = wanted(header.columns, fields)
        if header.mode == "ascii":
            return _text(file, header, kept, path, there)
        if header.mode == "binary":
            return _binary(file, header, kept, path, there)
        return _compressed(file, header, kept, path, there)


@lru_cache(maxsize=64)
def _seen(data: bytes) -> Header | None:
    """Return the header of these bytes, as many files have it; None where there is none, or something is wrong."""
    try:
        return read_header(data, "")
    except InputError:
        return None


def read_header(data: bytes, path: str | os.PathLike[str]) -> Header:
    """Return the header at the beginning of the bytes of a file."""
    found: dict[str, list[str]] = {}
    where = shown(path)
    length = number = 0
    while "DATA" not in found:
        end = data.find(b"\n", length)
        if end < 0:
            raise InputError(f"{where}: no PCD header: no line DATA in the first {len(data)} bytes; save it as PCD")
        number += 1
        line = data[length:end].decode("latin-1").strip()
        length = end + 1
        key, *values = line.split() or ["#"]
        key = "FIELDS" if key == "COLUMNS" else key
        if key.startswith("#"):
            continue
        if key not in _KEYS:
            hint = "; the file looks like PLY" if key == "ply" else "; save the file as PCD"
            raise InputError(f"{where}: line {number}: {shown(key, 40)!r} is no entry of a PCD header{hint}")
        if key in found or not values:
            what = "occurs twice" if key in found else "has no value"
            raise InputError(f"{where}: line {number}: {key} {what}; write it once, with its value")
        found[key] = values
    return _understood(found, where, length, number)


def _understood(found: Mapping[str, list[str]], where: str, length: int, lines: int) -> Header:
    version = found.get("VERSION", [".5"])[0]
    if version not in VERSIONS:
        raise InputError(f"{where}: VERSION {shown(version, 40)}, expected one of {some(VERSIONS, show=6)}")
    mode = found["DATA"][0].lower()
    if mode not in MODES or len(found["DATA"]) > 1:
        raise InputError(f"{where}: DATA {shown(' '.join(found['DATA']), 40)}, expected one of {some(MODES)}")
    columns = _columns(found, where, old=version.endswith("5"))
    return Header(columns, _count(found, where), mode, length, lines)


def _columns(found: Mapping[str, list[str]], where: str, *, old: bool) -> tuple[Column, ...]:
    names = found.get("FIELDS")
    if names is None:
        raise InputError(f"{where}: no line FIELDS; name the fields of a point, as x y z")
    ones, given = ["1"] * len(names), {}
    usual = {"COUNT": ones, "SIZE": ["4"] * len(names) if old else None, "TYPE": ["F"] * len(names) if old else None}
    for key, default in usual.items():
        values = found.get(key, default)
        if values is None:
            raise InputError(f"{where}: no line {key}; give one value for each of {counted(len(names), 'field')}")
        if len(values) != len(names):
            raise InputError(f"{where}: {key} has {counted(len(values), 'value')} for {counted(len(names), 'field')}")
        given[key] = values
    columns = []
    for name, size, kind, count in zip(names, given["SIZE"], given["TYPE"], given["COUNT"], strict=True):
        at = f"{where}: field {shown(name, 80)!r}"
        if kind + size not in _TYPES:
            got = shown(f"TYPE {kind} SIZE {size}", 60)
            raise InputError(f"{at}: {got}, expected I or U of 1, 2, 4 or 8 bytes, or F of 4 or 8")
        columns.append(Column(name, np.dtype(_TYPES[kind + size]), _whole(count, f"{at}: COUNT", most=1 << 16)))
        if not columns[-1].count:
            raise InputError(f"{at}: COUNT 0, expected at least 1; leave the field out")
    check_axes(columns, where)
    return tuple(columns)


def _count(found: Mapping[str, list[str]], where: str) -> int:
    sizes = {
        key: _whole(" ".join(found[key]), f"{where}: {key}") for key in ("WIDTH", "HEIGHT", "POINTS") if key in found
    }
    if "WIDTH" in sizes:
        area = sizes["WIDTH"] * sizes.get("HEIGHT", 1)
        if sizes.setdefault("POINTS", area) != area:
            raise InputError(
                f"{where}: POINTS {sizes['POINTS']}, but WIDTH {sizes['WIDTH']} times HEIGHT "
                f"{sizes.get('HEIGHT', 1)} is {area}; correct the header"
            )
    if "POINTS" not in sizes:
        raise InputError(f"{where}: neither POINTS nor WIDTH in the header; say how many points follow")
    if not sizes["POINTS"]:
        raise InputError(f"{where}: holds no points (POINTS 0); a cloud has at least one, so leave the file out")
    return sizes["POINTS"]


def _whole(text: str, where: str, most: int | None = None) -> int:
    if not _WHOLE.fullmatch(text) or (most is not None and int(text) > most):
        limit = "" if most is None else f" of at most {most}"
        raise InputError(f"{where} is {shown(text, 40)}, expected a whole number{limit}")
    return int(text)


def _enough(header: Header, needed: int, there: int, path: str | os.PathLike[str]) -> None:
    if needed > there:
        raise InputError(
            f"{shown(path)}: cut short, or a wrong header: {counted(header.points, 'point')} as {header.mode} need at "
            f"least {needed} bytes, but {there} follow the header; write the file again"
        )


def _binary(
    file: io.FileIO, header: Header, kept: Sequence[Column], path: str | os.PathLike[str], there: int
) -> dict[str, Array]:
    _enough(header, header.points * header.record, there, path)
    records = fill(file, header.points * header.record, path).reshape(header.points, header.record)
    check_rest(fill(file, there - records.size, path), path)
    return cut(records, header.columns, kept)


def _compressed(
    file: io.FileIO, header: Header, kept: Sequence[Column], path: str | os.PathLike[str], there: int
) -> dict[str, Array]:
    from gnomon.intake import lzf

    _enough(header, 8, there, path)
    packed, size = (int(number) for number in fill(file, 8, path).view("<u4"))
    if size != header.points * header.record:
        raise InputError(
            f"{shown(path)}: compressed data of {size} bytes, expected {header.points * header.record} for "
            f"{counted(header.points, 'point')} of {header.record} bytes; write the file again"
        )
    if packed > there - 8:
        raise InputError(f"{shown(path)}: cut short: {packed} compressed bytes declared, {there - 8} are there")
    try:
        data = lzf.decompress(fill(file, packed, path), size)
    except lzf.LzfError as error:
        raise InputError(f"{shown(path)}: {error}; write the file again") from error
    check_rest(fill(file, there - 8 - packed, path), path)
    columns, start, names = {}, 0, {column.name for column in kept}
    for column in header.columns:
        end = start + header.points * column.size
        if column.name in names:
            values = data[start:end].view(column.dtype)
            columns[column.name] = values if column.count == 1 else values.reshape(header.points, column.count)
        start = end
    return columns


def _text(
    file: io.FileIO, header: Header, kept: Sequence[Column], path: str | os.PathLike[str], there: int
) -> dict[str, Array]:
    values = sum(column.count for column in header.columns)
    _enough(header, 2 * values * header.points - 1, there, path)
    text = Text(path, file.read(there), header.lines + 1)
    if text.left != header.points:
        raise InputError(
            f"{shown(path)}: {counted(text.left, 'row')} of values, but the header declares "
            f"{counted(header.points, 'point')}; correct the header or the rows"
        )
    return text.take(header.points, header.columns, kept)


def write_pcd(file: BinaryIO, points: Array, fields: Mapping[str, Array], encoding: str, where: str) -> None:
    """Write points and fields; see :func:`gnomon.intake.clouds.write_cloud`."""
    columns = {name: _writable(values, f"{where}: field {shown(name, 80)!r}") for name, values in flat(points, fields)}
    for name in columns:
        if name == "_" or not name.isascii() or not name.isprintable() or set(name) & set(" #"):
            raise InputError(f"{where}: {shown(name, 80)!r} cannot name a field of a PCD file; rename it")
    file.write(_header(columns, len(points), encoding))
    if encoding == "ascii":
        file.write(text_cells([values[:, k] for values in columns.values() for k in range(values.shape[1])]))
    elif encoding == "binary":
        layout = np.dtype([(name, values.dtype, values.shape[1:]) for name, values in columns.items()])
        records = np.empty(len(points), layout)
        for name, values in columns.items():
            records[name] = values
        file.write(records.data)
    else:
        _write_compressed(file, columns, where)


def _writable(values: Array, where: str) -> Array:
    kind = f"{values.dtype.kind.upper()}{values.dtype.itemsize}"
    if kind not in _TYPES:
        raise InputError(f"{where} is {values.dtype}, which PCD does not hold; convert it to 32-bit floats or integers")
    return values.reshape(len(values), -1).astype(_TYPES[kind], copy=False)


def _header(columns: Mapping[str, Array], points: int, encoding: str) -> bytes:
    lines = [
        "# .PCD v0.7 - Point Cloud Data file format",
        "VERSION 0.7",
        f"FIELDS {' '.join(columns)}",
        f"SIZE {' '.join(str(values.dtype.itemsize) for values in columns.values())}",
        f"TYPE {' '.join(values.dtype.kind.upper() for values in columns.values())}",
        f"COUNT {' '.join(str(values.shape[1]) for values in columns.values())}",
        f"WIDTH {points}",
        "HEIGHT 1",
        "VIEWPOINT 0 0 0 1 0 0 0",
        f"POINTS {points}",
        f"DATA {encoding}",
    ]
    return ("\n".join(lines) + "\n").encode("ascii")


def _write_compressed(file: BinaryIO, columns: Mapping[str, Array], where: str) -> None:
    from gnomon.intake import lzf

    size = sum(values.nbytes for values in columns.values())
    if size + size // 32 + 2 > _LARGEST:
        raise InputError(f"{where}: {size} bytes are too many for binary_compressed; write it as binary")
    data = np.empty(size, dtype=np.uint8)
    start = 0
    for values in columns.values():
        data[start : start + values.nbytes] = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
        start += values.nbytes
    packed = lzf.compress(data)
    file.write(np.array([packed.size, size], dtype="<u4").data)
    file.write(packed.data)
