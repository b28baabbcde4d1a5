"""The truth of one comparison: its boxes, and the classes of its points.

``Label/RRR-N.json`` holds boxes in one of these forms, which may also be mixed::

    {"filename": "001-3.pcd", "objects": [{"name": "Add", "vertices": [[x, y, z], ... 8 of them]}]}
    {"boxes": [{"label": "Add", "min": [x, y, z], "max": [x, y, z]}]}
    [{"label": "Add", "min": [x, y, z], "max": [x, y, z]}]

An empty list means that nothing changed. ``Label/RRR-N.points.npz`` holds ``reference`` and ``comparison``, a class for
each point of both scans as unsigned bytes: 0 NoChange or 2 Remove in the reference, 0 or 1 Add in the comparison.
Where it does not exist, points of the reference inside a Remove box are Remove, and points of the comparison inside an
Add box are Add.
"""

from __future__ import annotations

import itertools
import os
from codecs import BOM_UTF8
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from gnomon.core.canonical import encode
from gnomon.core.errors import InputError, counted, some
from gnomon.core.scans import BOX_CLASSES, CHANGES, Boxes
from gnomon.core.tallies import Array
from gnomon.intake.arrays import read_npz
from gnomon.intake.clouds import Cloud
from gnomon.intake.documents import check_parsed_bytes, read_bytes, read_json
from gnomon.intake.faults import shown
from gnomon.intake.unread import count_keys, note
from gnomon.intake.writing import replacing
from gnomon.numerics.solids import solids
from gnomon.suites.change.shapes import FORMS, class_code, entries_of, geometry_of, inside, together
from gnomon.suites.change.uniform import FAULTS, Listed, Reader, boxes_of, whole

LISTS = ("objects", "boxes")
NAMES = ("name", "label", "class")
SIDES = {"reference": CHANGES.index("Remove"), "comparison": CHANGES.index("Add")}
"""The one class besides NoChange that points of a scan can have."""
_READ = (*NAMES, *(key for form in FORMS for key in form))
"""Entries of a true box that are read."""
_BESIDE = ("filename", *LISTS)
"""Entries beside the list of boxes that are known; the name of the scan is also that of the label."""
_BLANKS = b" \t\r\n"
_CORNERS = np.array(list(itertools.product((0, 3), (1, 4), (2, 5))))
"""Where the coordinates of the eight vertices are among the two corners."""


def read_boxes(path: str | os.PathLike[str]) -> Boxes:
    """Return the boxes of a label file.

    Raises
    ------
    InputError
        Names the file and the object that is wrong.
    """
    held = read_json(path)
    listed = _listed(held, shown(path))
    note(path, count_keys(listed, _READ) + count_keys([held], _BESIDE))
    geometries, codes = [], []
    for index, item in enumerate(listed):
        where = f"{shown(path)}: object {index}"
        if not isinstance(item, dict):
            raise InputError(f"{where} is {shown(repr(item), 60)}, expected a box as an object with name and vertices")
        names = [key for key in NAMES if key in item]
        if len(names) != 1:
            raise InputError(f"{where}: {len(names)} entries of {some(NAMES)}, expected one that names the class")
        codes.append(class_code(item[names[0]], where))
        geometries.append(geometry_of(item, where))
    return together(geometries, codes)


def read_alike(paths: Sequence[str | os.PathLike[str]]) -> list[Boxes] | None:
    """Return the boxes of many label files, as :func:`read_boxes` does of each.

    None where one of them has to be read by itself: its boxes are not written alike, or something is wrong with it.
    """
    reader = Reader(NAMES, scored=False)
    lists = []
    for path in paths:
        try:
            found = _alike(path, read_bytes(path).removeprefix(BOM_UTF8), reader)
        except (InputError, *FAULTS):
            return None
        if found is None:
            return None
        lists.append(found)
    return boxes_of(lists)


def _alike(path: str | os.PathLike[str], data: bytes, reader: Reader) -> Listed | None:
    """Return the one list of a label; besides it there may be plain values, which are noted as not read."""
    check_parsed_bytes(data, shown(path))
    entries: dict[str, Any] = {}
    value: Any = data
    if not data.lstrip(_BLANKS).startswith(b"["):
        entries = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
        keys = [key for key in LISTS if key in entries]
        others = [msgspec.json.decode(raw) for key, raw in entries.items() if key not in keys]
        if len(keys) != 1 or any(isinstance(other, (dict, list)) for other in others):
            return None
        value = entries[keys[0]]
    found = reader.read(value)
    if found is None or not whole(data, len(entries) + found.pairs):
        return None
    others = [key for key in reader.keys if key not in _READ]
    note(path, {**dict.fromkeys(others, len(found)), **count_keys([entries], _BESIDE)})
    return found


def write_boxes(path: str | os.PathLike[str], boxes: Boxes, *, form: str, filename: str = "") -> None:
    """Write a label file in one of two forms: ``vertices`` with the name of the scan, or ``corners``.

    Raises
    ------
    InputError
        Boxes whose sides are not parallel to the axes have no corners to be written by.
    """
    labels = [BOX_CLASSES[code] for code in boxes.codes]
    if form == "vertices":
        corners = _vertices(boxes) if len(boxes) else np.zeros((0, 8, 3))
        objects = [{"name": name, "vertices": c.tolist()} for name, c in zip(labels, corners, strict=True)]
        value: dict[str, Any] = {"filename": filename, "objects": objects}
    elif form == "corners" and boxes.geometry.shape[1:] == (6,):
        value = {"boxes": [{"label": name, **entries_of(g)} for name, g in zip(labels, boxes.geometry, strict=True)]}
    else:
        what = "boxes by min and max" if form == "corners" else "the form vertices or corners"
        raise InputError(f"{shown(path)}: got {form!r} for boxes {boxes.geometry.shape}, expected {what}")
    Path(path).write_bytes(encode(value) + b"\n")


def read_points(path: str | os.PathLike[str]) -> dict[str, Array]:
    """Return the classes of the points of ``reference`` and ``comparison``, each ``(N,)`` of unsigned bytes."""
    arrays = read_npz(path)
    note(path, {name: array.size for name, array in arrays.items() if name not in SIDES})
    out = {}
    for side, changed in SIDES.items():
        where = f"{shown(path)}: array {side!r}"
        if side not in arrays:
            raise InputError(f"{where} is missing, got {some(arrays)}; give one class for each point of both scans")
        codes = arrays[side]
        if codes.ndim != 1 or codes.dtype.kind not in "iub":
            raise InputError(f"{where} is {codes.dtype} {codes.shape}, expected one whole number for each point")
        wrong = (codes != 0) & (codes != changed)
        if wrong.any():
            first = int(np.argmax(wrong))
            expected = f"0 ({CHANGES[0]}) or {changed} ({CHANGES[changed]})"
            raise InputError(f"{where}: point {first} has the class {codes[first]}, expected {expected}")
        out[side] = codes.astype(np.uint8, copy=False)
    return out


def write_points(path: str | os.PathLike[str], reference: Array, comparison: Array) -> None:
    """Write the classes of the points of both scans."""
    with replacing(path) as file:
        np.savez_compressed(file, reference=reference.astype(np.uint8), comparison=comparison.astype(np.uint8))


def fitted(labels: Mapping[str, Array], clouds: Sequence[Cloud], where: str) -> tuple[Array, Array]:
    """Return the classes of the points of two clouds, those of dropped points left out."""
    out = []
    for (side, codes), cloud in zip(labels.items(), clouds, strict=True):
        stored = len(cloud) + cloud.dropped
        if len(codes) != stored:
            raise InputError(
                f"{where}: {side!r} has {counted(len(codes), 'class')}, but {cloud.source} has "
                f"{counted(stored, 'point')}; give one for each point, in the order of the file"
            )
        out.append(codes if cloud.kept is None else codes[cloud.kept])
    return out[0], out[1]


def by_boxes(boxes: Boxes, reference: Array, comparison: Array) -> tuple[Array, Array]:
    """Return the classes of points ``(N, 3)`` and ``(M, 3)`` that boxes give them."""
    out = []
    for points, code in zip((reference, comparison), SIDES.values(), strict=True):
        hit = inside(boxes, BOX_CLASSES.index(CHANGES[code]), points)
        out.append(np.where(hit, code, 0).astype(np.uint8))
    return out[0], out[1]


def _vertices(boxes: Boxes) -> Array:
    if boxes.geometry.shape[1:] == (6,):
        return boxes.geometry[:, _CORNERS]
    return boxes.geometry if boxes.geometry.ndim == 3 else solids(boxes.geometry).corners()


def _listed(value: object, where: str) -> list[Any]:
    if isinstance(value, dict):
        keys = [key for key in LISTS if key in value]
        if len(keys) != 1:
            raise InputError(f"{where}: {len(keys)} entries of {some(LISTS)}, expected one that lists the boxes")
        value = value[keys[0]]
    if not isinstance(value, list):
        raise InputError(f"{where}: got {type(value).__name__}, expected a list of boxes, perhaps empty")
    return value
