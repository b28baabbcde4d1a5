"""Boxes as files write them: by two corners, by eight vertices, or by centre, size and yaw.

==============================  ==============================================================================
``min``, ``max``                ``[x, y, z]`` each; sides are parallel to the axes
``vertices``                    8 times ``[x, y, z]``, in any order; a vertex may be off by 1/1000 of the diagonal
``center``, ``size``, ``yaw``   ``[x, y, z]``, ``[length, width, height]`` and radians, counter-clockwise from above
==============================  ==============================================================================

Metres, in the coordinates of the reference scan. A box has a volume. Its class is ``Add`` or ``Remove``, in any case of
letters. What a set of boxes is kept as depends on all of them: two corners where all sides are parallel to the axes,
centre, size and yaw where all were written so, else vertices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gnomon.core.errors import InputError, some
from gnomon.core.scans import BOX_CLASSES, Boxes
from gnomon.core.tallies import Array
from gnomon.intake.faults import shown
from gnomon.numerics.solids import ALIGNED, Solids, solids

FRAME = "reference"
"""The coordinates that boxes are in."""
FORMS = (("min", "max"), ("vertices",), ("center", "size", "yaw"))
_CLASSES = {name.lower(): code for code, name in enumerate(BOX_CLASSES)}
_ENTRIES = {"min": (3,), "max": (3,), "vertices": (8, 3), "center": (3,), "size": (3,), "yaw": ()}


def class_code(name: object, where: str) -> int:
    """Return the code of a class, an index into the classes of boxes.

    >>> class_code("remove", "a box")
    1
    """
    code = _CLASSES.get(name.lower()) if isinstance(name, str) else None
    if code is None:
        raise InputError(f"{where}: class {shown(repr(name), 60)}, expected one of {some(BOX_CLASSES)}")
    return code


def geometry_of(entry: Mapping[str, Any], where: str) -> Array:
    """Return the geometry in a box's entries, ``(6,)``, ``(7,)`` or ``(8, 3)``."""
    known = [form for form in FORMS if any(key in entry for key in form)]
    if len(known) != 1 or any(key not in entry for key in known[0]):
        got = some([key for form in FORMS for key in form if key in entry]) or "none of them"
        raise InputError(f"{where}: got {got}, expected min and max, or vertices, or center, size and yaw")
    parts = [_numbers(entry[key], key, where) for key in known[0]]
    geometry = parts[0] if len(parts) == 1 else np.concatenate([part.reshape(-1) for part in parts])
    return checked(geometry, where)


def checked(geometry: Array, where: str) -> Array:
    """Return the geometry of one box, two corners where its vertices allow that; refuse what is no box."""
    solid = _solid(geometry, where)
    if geometry.ndim == 2 and solid.stand[0] == ALIGNED:
        return np.concatenate([solid.low[0], solid.high[0]])
    return geometry


def together(geometries: Sequence[Array], codes: Sequence[int], scores: Sequence[float] | None = None) -> Boxes:
    """Return boxes of one form; see the module's text for which."""
    shapes = {geometry.shape for geometry in geometries}
    if len(shapes) > 1:
        geometries = [item if item.ndim == 2 else _solid(item, "box").corners()[0] for item in geometries]
    shape = geometries[0].shape if len(geometries) else (6,)
    stacked = np.stack(geometries) if len(geometries) else np.zeros((0, *shape))
    kept = None if scores is None else np.array(scores, dtype=np.float64)
    return Boxes(stacked, np.array(codes, dtype=np.int64), BOX_CLASSES, kept, FRAME)


def entries_of(geometry: Array) -> dict[str, Any]:
    """Return the entries of one box.

    >>> entries_of(np.array([0, 0, 0, 1, 1, 2.5]))
    {'min': [0.0, 0.0, 0.0], 'max': [1.0, 1.0, 2.5]}
    """
    if geometry.ndim == 2:
        return {"vertices": geometry.tolist()}
    if len(geometry) == 6:
        return {"min": geometry[:3].tolist(), "max": geometry[3:].tolist()}
    return {"center": geometry[:3].tolist(), "size": geometry[3:6].tolist(), "yaw": float(geometry[6])}


def inside(boxes: Boxes, code: int, points: Array) -> Array:
    """Return which points ``(N, 3)`` are in a box of one class, its surface included."""
    found = np.zeros(len(points), dtype=np.bool_)
    chosen = boxes.geometry[boxes.codes == code]
    if not len(chosen):
        return found
    solid = solids(chosen)
    for index in range(len(solid)):
        near = np.flatnonzero(((points >= solid.low[index]) & (points <= solid.high[index])).all(axis=1))
        if solid.stand[index] != ALIGNED:
            along = (points[near] - solid.centre[index]) @ solid.axes[index].T
            near = near[(np.abs(along) <= solid.half[index]).all(axis=1)]
        found[near] = True
    return found


def _numbers(value: Any, key: str, where: str) -> Array:
    shape = _ENTRIES[key]
    try:
        array = np.asarray(value)
    except ValueError:  # lists of different lengths
        array = np.array([], dtype=object)
    if array.dtype.kind not in "fiu" or array.shape != shape:
        expected = "a number" if not shape else f"{' times '.join(map(str, shape))} numbers"
        raise InputError(f"{where}: {key} is {shown(repr(value), 80)}, expected {expected}")
    return array.astype(np.float64)


def _solid(geometry: Array, where: str) -> Solids:
    try:
        return solids(geometry[np.newaxis], where)
    except InputError as error:
        raise InputError(str(error).replace(f"{where}: box 0 ", f"{where} ", 1)) from error
