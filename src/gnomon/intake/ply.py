"""PLY files: ``ascii``, ``binary_little_endian`` and ``binary_big_endian``, version 1.0.

Of the elements of a file only ``vertex`` is kept: its properties are the fields of the points. Other elements (faces,
edges, cameras) may come before and after it and hold lists; they are passed over, but have to be there in full. Lists
of a vertex are passed over as well. A property has one of the types ``char uchar short ushort int uint float double``
or ``int8 uint8 int16 uint16 int32 uint32 float32 float64``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np

from gnomon.core.errors import InputError, counted, some
from gnomon.intake.faults import shown
from gnomon.intake.limits import Limits, check_file
from gnomon.intake.npy import Array
from gnomon.intake.records import Column, Text, check_axes, check_rest, cut, fill, flat, number, text_cells, wanted

FORMATS: dict[str, Literal["<", ">", "="]] = {"ascii": "=", "binary_little_endian": "<", "binary_big_endian": ">"}
_OLD = ("char", "uchar", "short", "ushort", "int", "uint", "float", "double")
_NEW = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "float32", "float64")
_TYPES = {name: np.dtype(new) for names in (_OLD, _NEW) for name, new in zip(names, _NEW, strict=True)}
_LONGEST_HEADER = 1 << 20
_WHOLE = re.compile(r"\d{1,15}")


@dataclass(frozen=True)
class Property:
    """One property of an element; ``length`` is the type that counts the items of a list."""

    name: str
    dtype: np.dtype[Any]
    length: np.dtype[Any] | None = None

    @property
    def least(self) -> int:
        """Bytes that it has at least."""
        return self.dtype.itemsize if self.length is None else self.length.itemsize


@dataclass(frozen=True)
class Element:
    """So many rows of the same properties."""

    name: str
    rows: int
    properties: list[Property]

    @property
    def least(self) -> int:
        """Bytes that a row has at least."""
        return sum(item.least for item in self.properties)

    @property
    def fixed(self) -> bool:
        """Whether all rows have the same size."""
        return all(item.length is None for item in self.properties)


@dataclass(frozen=True)
class Header:
    """What the text before the first row says."""

    format: str
    elements: tuple[Element, ...]
    length: int
    lines: int


def read_ply(path: str | os.PathLike[str], fields: Collection[str] | None, limits: Limits) -> dict[str, Array]:
    """Return the columns of the vertices by name; see :func:`gnomon.intake.clouds.read_cloud`."""
    size = check_file(path, limits)
    with Path(path).open("rb", buffering=0) as file:
        header = read_header(file.read(_LONGEST_HEADER), path)
        vertex = next(element for element in header.elements if element.name == "vertex")
        columns = [Column(item.name, item.dtype) for item in vertex.properties if item.length is None]
        check_axes(columns, shown(path))
        kept = wanted(columns, fields)
        file.seek(header.length)
        there = size - header.length
        _enough(header, there, path)
        if header.format == "ascii":
            return _text(Text(path, file.read(there), header.lines + 1), header, kept)
        return _binary(fill(file, there, path), header, kept, path)


def read_header(data: bytes, path: str | os.PathLike[str]) -> Header:
    """Return the header at the beginning of the bytes of a file."""
    where = shown(path)
    if not re.match(rb"ply[ \t]*\r?\n", data):
        raise InputError(f"{where}: does not begin with the line 'ply'; save the file as PLY")
    kind, elements = "", list[Element]()
    length, line, words = data.index(b"\n") + 1, 1, [""]
    while words[0] != "end_header":
        end = data.find(b"\n", length)
        if end < 0:
            raise InputError(f"{where}: no line 'end_header' in the first {len(data)} bytes; write the file again")
        line += 1
        words = data[length:end].decode("latin-1").split() or ["comment"]
        length = end + 1
        at = f"{where}: line {line}"
        if words[0] == "format":
            kind = _format(words, kind, at)
        elif words[0] == "element":
            elements.append(_element(words, elements, at))
        elif words[0] == "property":
            _add_property(words, elements, at)
        elif words[0] not in ("comment", "obj_info", "end_header"):
            raise InputError(f"{at}: {shown(words[0], 40)!r} is no entry of a PLY header; correct it")
    if not kind:
        raise InputError(f"{where}: no line 'format' in the header; say {some(FORMATS)}")
    _check_elements(elements, where)
    return Header(kind, tuple(elements), length, line)


def _format(words: Sequence[str], before: str, at: str) -> str:
    if before or len(words) != 3 or words[1] not in FORMATS or words[2] != "1.0":
        got = shown(" ".join(words[1:]), 60)
        raise InputError(f"{at}: format {got}, expected one line with one of {some(FORMATS)} and 1.0")
    return words[1]


def _element(words: Sequence[str], before: Sequence[Element], at: str) -> Element:
    if len(words) != 3 or not _WHOLE.fullmatch(words[2]):
        raise InputError(f"{at}: {shown(' '.join(words), 60)!r}, expected 'element NAME COUNT'")
    if words[1] in [element.name for element in before]:
        raise InputError(f"{at}: element {shown(words[1], 60)!r} occurs twice; give every element its own name")
    return Element(words[1], int(words[2]), [])


def _add_property(words: Sequence[str], elements: Sequence[Element], at: str) -> None:
    if not elements:
        raise InputError(f"{at}: a property before any element; name the element first")
    listed = words[1:2] == ["list"]
    types = words[2:4] if listed else words[1:2]
    if len(words) != (5 if listed else 3) or not set(types) <= set(_TYPES) or (listed and _TYPES[types[0]].kind == "f"):
        raise InputError(
            f"{at}: {shown(' '.join(words), 80)!r}, expected 'property TYPE NAME' or 'property list TYPE TYPE NAME' "
            f"with types of {', '.join(_OLD)}"
        )
    elements[-1].properties.append(Property(words[-1], _TYPES[types[-1]], _TYPES[types[0]] if listed else None))


def _check_elements(elements: Sequence[Element], where: str) -> None:
    if "vertex" not in [element.name for element in elements]:
        raise InputError(f"{where}: no element 'vertex'; a point cloud keeps its points there")
    for element in elements:
        if element.rows and not element.properties:
            raise InputError(f"{where}: element {shown(element.name, 60)!r} has rows and no properties; name them")
        if element.name == "vertex" and not element.rows:
            raise InputError(f"{where}: holds no points (element vertex 0); leave the file out")


def _enough(header: Header, there: int, path: str | os.PathLike[str]) -> None:
    """Compare what the header declares with what is there, before anything is allocated for it."""
    if header.format == "ascii":
        needed = sum(element.rows * 2 * len(element.properties) for element in header.elements) - 1
    else:
        needed = sum(element.rows * element.least for element in header.elements)
    if needed > there:
        rows = ", ".join(f"{element.rows} {shown(element.name, 40)}" for element in header.elements[:5])
        raise InputError(
            f"{shown(path)}: cut short, or a wrong header: {rows} need at least {needed} bytes, but {there} follow the "
            "header; write the file again"
        )


def _binary(data: Array, header: Header, kept: Sequence[Column], path: str | os.PathLike[str]) -> dict[str, Array]:
    at, columns = 0, {}
    for element in header.elements:
        places = None
        if element.fixed:
            end = at + element.rows * element.least
        else:
            end, places = _walk(data, at, element, header.format, path)
        if end > len(data):
            raise _short(path, element)
        if element.name == "vertex":
            columns = _vertices(data, at, end, element, places, header.format, kept)
        at = end
    check_rest(data[at:], path)
    return columns


def _walk(data: Array, at: int, element: Element, form: str, path: str | os.PathLike[str]) -> tuple[int, Array | None]:
    """Return where an element with lists ends, and for vertices where each property of each row starts."""
    from gnomon.intake.lists import walk

    if element.rows * element.least > len(data) - at:
        raise _short(path, element)
    lengths = np.array([0 if p.length is None else p.length.itemsize for p in element.properties], dtype=np.int64)
    signed = np.array([p.length is not None and p.length.kind == "i" for p in element.properties])
    sizes = np.array([p.dtype.itemsize for p in element.properties], dtype=np.int64)
    rows = element.rows if element.name == "vertex" else 0
    places = np.empty((rows, len(sizes)), dtype=np.int64)
    end = int(walk(data, at, element.rows, lengths, signed, sizes, form == "binary_big_endian", places))
    if end < 0:
        raise InputError(
            f"{shown(path)}: row {-end - 1} of element {shown(element.name, 60)!r} has a list that is negative or "
            "reaches beyond the end; write the file again"
        )
    return end, places if rows else None


def _short(path: str | os.PathLike[str], element: Element) -> InputError:
    return InputError(
        f"{shown(path)}: cut short inside element {shown(element.name, 60)!r} of {counted(element.rows, 'row')}; "
        "write the file again"
    )


def _vertices(
    data: Array, at: int, end: int, element: Element, places: Array | None, form: str, kept: Sequence[Column]
) -> dict[str, Array]:
    order = FORMATS[form]
    if places is None:
        layout = [Column(item.name, item.dtype.newbyteorder(order)) for item in element.properties]
        asked = {column.name for column in kept}
        found = cut(data[at:end].reshape(element.rows, -1), layout, [c for c in layout if c.name in asked])
    else:
        found = {}
        for index, item in enumerate(element.properties):
            if item.length is None and item.name in {column.name for column in kept}:
                cells = data[places[:, index, np.newaxis] + np.arange(item.dtype.itemsize)]
                found[item.name] = cells.reshape(-1).view(item.dtype.newbyteorder(order))
    return {name: values.astype(values.dtype.newbyteorder("="), copy=False) for name, values in found.items()}


def _text(text: Text, header: Header, kept: Sequence[Column]) -> dict[str, Array]:
    columns: dict[str, Array] = {}
    for element in header.elements:
        if element.rows > text.left:
            raise InputError(
                f"{shown(text.path)}: cut short: {counted(text.left, 'row')} left for {element.rows} of element "
                f"{shown(element.name, 60)!r}; write the file again"
            )
        if element.name != "vertex":
            text.skip(element.rows)
        elif element.fixed:
            columns = text.take(element.rows, [Column(p.name, p.dtype) for p in element.properties], kept)
        else:
            columns = _ragged(text, element, kept)
    if text.left:
        raise InputError(
            f"{shown(text.path)}: {counted(text.left, 'row')} after the last element; the header and the rows do not "
            "fit, so write the file again"
        )
    return columns


def _ragged(text: Text, element: Element, kept: Sequence[Column]) -> dict[str, Array]:
    """Take vertices that have lists among their properties."""
    first = text.row
    values: dict[str, list[float | int]] = {column.name: [] for column in kept}
    for row, cells in enumerate(text.rows(element.rows), start=first):
        at = 0
        for item in element.properties:
            cell = cells[at] if at < len(cells) else b""
            value = number(cell, item.dtype if item.length is None else item.length)
            if value is None or (item.length is not None and value < 0):
                what = (
                    f"property {shown(item.name, 60)!r} is {shown(repr(cell)[1:], 40)}, expected a number of its type"
                )
                raise text.fault(row, what)
            at += 1 if item.length is None else 1 + int(value)
            if item.name in values and item.length is None:
                values[item.name].append(value)
        if at != len(cells):
            raise text.fault(row, f"{counted(len(cells), 'value')}, expected {at}; write one vertex per line")
    with np.errstate(over="ignore"):
        return {column.name: np.array(values[column.name], dtype=column.dtype) for column in kept}


def write_ply(file: BinaryIO, points: Array, fields: Mapping[str, Array], encoding: str, where: str) -> None:
    """Write points and fields, binary ones little-endian; see :func:`gnomon.intake.clouds.write_cloud`."""
    names = {dtype: name for name, dtype in zip(_OLD, (np.dtype(new) for new in _NEW), strict=True)}
    columns = dict(flat(points, fields))
    for name, values in columns.items():
        if values.ndim != 1 or values.dtype.newbyteorder("=") not in names:
            raise InputError(
                f"{where}: field {shown(name, 80)!r} is {values.dtype} {values.shape}; PLY holds one number of at most "
                "32 bits, or a double, per point and property: leave it out or split it"
            )
        if not name.isascii() or not name.isprintable() or " " in name:
            raise InputError(f"{where}: {shown(name, 80)!r} cannot name a property of a PLY file; rename it")
    kind = "ascii" if encoding == "ascii" else "binary_little_endian"
    properties = [f"property {names[values.dtype.newbyteorder('=')]} {name}" for name, values in columns.items()]
    lines = ["ply", f"format {kind} 1.0", f"element vertex {len(points)}", *properties, "end_header"]
    file.write(("\n".join(lines) + "\n").encode("ascii"))
    if kind == "ascii":
        file.write(text_cells(list(columns.values())))
        return
    records = np.empty(len(points), np.dtype([(name, v.dtype.newbyteorder("<")) for name, v in columns.items()]))
    for name, values in columns.items():
        records[name] = values
    file.write(records.data)
