"""What a system says of scenes: boxes with scores, classes of points, and the time that it took.

JSON::

    {"scenes": [
      {"scene": "001-3",
       "boxes": [{"class": "Add", "min": [x, y, z], "max": [x, y, z], "score": 0.9}],
       "points": "001-3.points.npz",
       "seconds": 0.8},
      {"scene": "001-6", "boxes": []}]}

A box is given by ``min`` and ``max``, by ``vertices`` or by ``center``, ``size`` and ``yaw``
(:mod:`gnomon.suites.change.shapes`), in the coordinates of the reference scan. ``score`` is a confidence, higher is
surer, and may be called :data:`SCORES`; all boxes of a file have one, or none has. ``points`` names a file beside this
one, or below it, with the arrays ``reference`` and ``comparison`` (:mod:`gnomon.suites.change.labels`). ``points`` and
``seconds`` may be left out. A scene without boxes has an empty list: nothing changed. A scene that is not listed has
not been predicted. Other entries are refused, so that a misspelt one is not passed over.

The same as a table (``.csv``, ``.tsv``, ``.jsonl``, ``.parquet``): a row for each box, with the columns ``scene``,
``class`` and either ``xmin ymin zmin xmax ymax zmax`` or ``xcenter ycenter zcenter xsize ysize zsize yaw``, perhaps
``score`` and ``seconds`` (the same in all rows of a scene). A scene without boxes has one row without a class and
without numbers. A table names no files of points; other columns are not read, and
named in a finding.
"""

from __future__ import annotations

import math
import os
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from gnomon.core.canonical import encode
from gnomon.core.errors import InputError, some
from gnomon.core.scans import BOX_CLASSES, Boxes
from gnomon.core.tallies import Array
from gnomon.intake.clouds import Cloud
from gnomon.intake.documents import check_parsed_bytes, read_bytes, read_json
from gnomon.intake.faults import guarded, shown
from gnomon.intake.tables import read_table
from gnomon.intake.unread import note_columns
from gnomon.intake.writing import replacing, write_table
from gnomon.suites.change import tabled
from gnomon.suites.change.labels import fitted, read_points
from gnomon.suites.change.shapes import FORMS, checked, class_code, entries_of, geometry_of, together
from gnomon.suites.change.uniform import FAULTS, Listed, Reader, boxes_of, whole

CORNERS = ("xmin", "ymin", "zmin", "xmax", "ymax", "zmax")
TURNED = ("xcenter", "ycenter", "zcenter", "xsize", "ysize", "zsize", "yaw")
SCORES = ("score", "confidence", "probability", "prob")
"""What the score of a box may be called; in a table, columns of numbers, of which the first is read."""
_SCENE_KEYS = ("scene", "boxes", "points", "seconds")
_BOX_KEYS = ("class", *SCORES, *(key for form in FORMS for key in form))


@dataclass(frozen=True, eq=False)
class Prediction:
    """What a system says of one scene."""

    scene: str
    boxes: Boxes
    points: Path | None = None
    seconds: float | None = None

    def point_labels(self, reference: Cloud, comparison: Cloud) -> tuple[Array, Array] | None:
        """Return the predicted class of every point of both clouds, or None where none were given."""
        if self.points is None:
            return None
        return fitted(read_points(self.points), (reference, comparison), shown(self.points))


def read_predictions(path: str | os.PathLike[str], *, empty: bool = False) -> dict[str, Prediction]:
    """Read a prediction file, by scene in the order of the file; one without scenes is an error, unless it may be.

    Raises
    ------
    InputError
        Names the file and the scene and box, or the row, that is wrong.
    """
    if Path(path).suffix.lower() == ".json":
        found = _read_alike(Path(path)) or _box_by_box(Path(path))
    else:
        found = _read_rows(path)
    if not found and not empty:
        raise InputError(f"{shown(path)}: no scene; list every scene, those without boxes too")
    scored = [name for name, item in found.items() if len(item.boxes) and item.boxes.scores is not None]
    plain = [name for name, item in found.items() if len(item.boxes) and item.boxes.scores is None]
    if scored and plain:
        raise InputError(
            f"{shown(path)}: boxes of {scored[0]!r} have scores and those of {plain[0]!r} have none; give all or none"
        )
    return found


def write_predictions(path: str | os.PathLike[str], predictions: Iterable[Prediction]) -> None:
    """Write predictions as JSON or as a table, by the suffix.

    Raises
    ------
    InputError
        A table cannot hold vertices, boxes of several forms or files of points; such predictions are written as JSON.
    """
    listed = list(predictions)
    twice = [scene for scene, count in Counter(item.scene for item in listed).items() if count > 1]
    if twice or not listed:
        raise InputError(f"{shown(path)}: {'scenes given twice: ' + some(twice) if twice else 'no scene to write'}")
    if Path(path).suffix.lower() != ".json":
        write_table(_rows(listed, shown(path)), path)
        return
    lines = b",\n".join(encode(_entry(item, Path(path))) for item in listed)
    with guarded(path, "cannot be written", "check the folder"), replacing(path) as file:
        file.write(b'{"scenes": [\n' + lines + b"\n]}\n")


class _Scene(msgspec.Struct, forbid_unknown_fields=True):
    scene: str
    boxes: msgspec.Raw
    points: str | msgspec.UnsetType | None = msgspec.UNSET
    seconds: float | int | msgspec.UnsetType | None = msgspec.UNSET


class _Document(msgspec.Struct, forbid_unknown_fields=True):
    scenes: list[_Scene]


def _read_alike(path: Path) -> dict[str, Prediction] | None:
    """Return the predictions of a file in which all boxes are written alike, or None where there is anything else."""
    data = read_bytes(path).removeprefix(BOM_UTF8)
    check_parsed_bytes(data, shown(path))
    reader = Reader(("class",), scored=True)
    lists: list[Listed] = []
    heads: dict[str, tuple[Path | None, float | None]] = {}
    pairs = 1
    try:
        for item in msgspec.json.decode(data, type=_Document).scenes:
            listed = reader.read(item.boxes)
            name = _scene_name(item.scene, "scene")
            if listed is None or name in heads:
                return None
            lists.append(listed)
            points, seconds = (None if value is msgspec.UNSET else value for value in (item.points, item.seconds))
            heads[name] = _beside(points, path, "scene"), _seconds({"seconds": seconds}, "scene")
            pairs += 2 + (item.points is not msgspec.UNSET) + (item.seconds is not msgspec.UNSET) + listed.pairs
    except (InputError, *FAULTS):
        return None
    boxes = boxes_of(lists) if whole(data, pairs) else None
    if boxes is None:
        return None
    return {name: Prediction(name, own, *heads[name]) for name, own in zip(heads, boxes, strict=True)}


def _box_by_box(path: Path) -> dict[str, Prediction]:
    value = read_json(path)
    scenes = value.get("scenes") if isinstance(value, dict) else None
    if not isinstance(scenes, list):
        raise InputError(f"{shown(path)}: expected an object with a list 'scenes'; see gnomon template change")
    found: dict[str, Prediction] = {}
    for index, item in enumerate(scenes):
        where = f"{shown(path)}: scenes[{index}]"
        name = _scene_name(item.get("scene") if isinstance(item, dict) else item, where)
        where = f"{shown(path)}: scene {shown(name, 60)!r}"
        _known(item, _SCENE_KEYS, where)
        if name in found:
            raise InputError(f"{where} occurs twice; give all its boxes in one list")
        boxes = _boxes(item.get("boxes"), where)
        found[name] = Prediction(name, boxes, _beside(item.get("points"), path, where), _seconds(item, where))
    return found


def _boxes(listed: Any, where: str) -> Boxes:
    if not isinstance(listed, list):
        raise InputError(f"{where}: boxes are {shown(repr(listed), 40)}, expected a list, empty where nothing changed")
    geometries, codes, scores = [], [], []
    for index, box in enumerate(listed):
        at = f"{where}: box {index}"
        _known(box, _BOX_KEYS, at)
        codes.append(class_code(box.get("class"), at))
        geometries.append(geometry_of(box, at))
        named = [name for name in SCORES if box.get(name) is not None]
        if len(named) > 1:
            raise InputError(f"{at}: {' and '.join(named)}: a box has one score; keep one of them")
        if named:
            scores.append(_finite(box[named[0]], f"{at}: {named[0]}"))
        if scores and len(scores) != index + 1:
            raise InputError(f"{at}: some boxes have a score and some have none; give all or none")
    return together(geometries, codes, scores or None)


def _read_rows(path: str | os.PathLike[str]) -> dict[str, Prediction]:
    table = _with_score(read_table(path, text=("scene", "class")))
    forms = [form for form in (CORNERS, TURNED) if any(name in table.column_names for name in form)]
    form = forms[0] if forms else CORNERS
    lacking = [name for name in ("scene", "class", *form) if name not in table.column_names]
    if lacking or len(forms) > 1:
        got = some(table.column_names, show=12)
        what = f"no column {some(lacking)}" if lacking else "corners and centres in one table"
        raise InputError(f"{shown(path)}: {what}; got {got}, expected scene, class and {', '.join(form)}")
    note_columns(path, table, ("scene", "class", *form, "score", "seconds"))
    found = tabled.read(table, form)
    if found is None:
        return _row_by_row(table, form, shown(path))
    items = zip(*found, strict=True)
    return {name: Prediction(name, boxes, None, seconds) for name, boxes, seconds in items}


def _with_score(table: pa.Table) -> pa.Table:
    """Return a table in which the first column of numbers that is called as scores are is called ``score``."""
    names = table.column_names
    kinds = {name: table.schema.field(name).type for name in SCORES[1:] if name in names}
    numeric = [name for name, kind in kinds.items() if pa.types.is_floating(kind) or pa.types.is_integer(kind)]
    if "score" in names or not numeric:
        return table
    return table.rename_columns(["score" if name == numeric[0] else name for name in names])


def _row_by_row(table: pa.Table, form: Sequence[str], where: str) -> dict[str, Prediction]:
    columns = {
        n: table.column(n).to_pylist() for n in ("scene", "class", *form, "score", "seconds") if n in table.column_names
    }
    rows: dict[str, list[dict[str, Any]]] = {}
    for index in range(table.num_rows):
        row = {name: values[index] for name, values in columns.items()} | {"row": index + 1}
        rows.setdefault(_scene_name(row["scene"], f"{where}: row {index + 1}"), []).append(row)
    return {name: _from_rows(name, items, form, where) for name, items in rows.items()}


def _from_rows(name: str, rows: Sequence[dict[str, Any]], form: Sequence[str], where: str) -> Prediction:
    geometries, codes, scores = [], [], []
    for row in rows:
        at = f"{where}: row {row['row']}"
        if row["class"] is None:
            filled = [key for key in (*form, "score") if row.get(key) is not None]
            if filled or len(rows) > 1:
                what = f"has {some(filled)}" if filled else "is not the only row of its scene"
                raise InputError(f"{at}: no class, so the scene has no boxes, but it {what}; name the class")
            continue
        codes.append(class_code(row["class"], at))
        numbers = [_finite(row[key], f"{at}: {key}") for key in form]
        geometries.append(checked(np.array(numbers), at))
        if row.get("score") is not None:
            scores.append(_finite(row["score"], f"{at}: score"))
        if scores and len(scores) != len(codes):
            raise InputError(f"{at}: some boxes have a score and some have none; give all or none")
    seconds = {_seconds(row, f"{where}: row {row['row']}") for row in rows}
    if len(seconds) > 1:
        raise InputError(f"{where}: row {rows[0]['row']}: several seconds for scene {name!r}; give one time per scene")
    return Prediction(name, together(geometries, codes, scores or None), None, seconds.pop())


def _known(value: Any, keys: Sequence[str], where: str) -> None:
    if not isinstance(value, dict):
        raise InputError(f"{where} is {shown(repr(value), 60)}, expected an object")
    extra = [key for key in value if key not in keys]
    if extra:
        raise InputError(f"{where}: unknown entry {some(extra)}, expected {', '.join(keys)}")


def _scene_name(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{where}: scene is {shown(repr(value), 60)}, expected its id, as 001-3")
    return value


def _finite(value: Any, where: str) -> float:
    try:
        number = math.nan if isinstance(value, bool) or not isinstance(value, (int, float)) else float(value)
    except OverflowError:  # a whole number beyond all floats
        number = math.inf
    if not math.isfinite(number):
        raise InputError(f"{where} is {shown(repr(value), 60)}, expected a finite number")
    return number


def _seconds(item: dict[str, Any], where: str) -> float | None:
    if item.get("seconds") is None:
        return None
    seconds = _finite(item["seconds"], f"{where}: seconds")
    if seconds < 0:
        raise InputError(f"{where}: seconds is {seconds}, expected 0 or more")
    return seconds


def _beside(value: Any, path: Path, where: str) -> Path | None:
    """Return the path of a file of points, which must not lead out of the folder of the predictions."""
    if value is None:
        return None
    inner = PurePosixPath(value) if isinstance(value, str) else PurePosixPath("/")
    if inner.is_absolute() or ".." in inner.parts or inner.suffix.lower() != ".npz" or "\\" in str(value):
        what = "expected the name of a .npz file in the folder of the predictions"
        raise InputError(f"{where}: points is {shown(repr(value), 80)}, {what}")
    return path.parent / inner


def _entry(item: Prediction, path: Path) -> dict[str, Any]:
    boxes = []
    for index, (geometry, code) in enumerate(zip(item.boxes.geometry, item.boxes.codes, strict=True)):
        box = {"class": BOX_CLASSES[code], **entries_of(geometry)}
        boxes.append(box if item.boxes.scores is None else {**box, "score": float(item.boxes.scores[index])})
    entry: dict[str, Any] = {"scene": item.scene, "boxes": boxes}
    if item.seconds is not None:
        entry["seconds"] = item.seconds
    if item.points is not None:
        if not item.points.is_relative_to(path.parent):
            raise InputError(f"{shown(path)}: {shown(item.points)} is not in the folder of the predictions; move it")
        entry["points"] = item.points.relative_to(path.parent).as_posix()
    return entry


def _rows(listed: Sequence[Prediction], where: str) -> pa.Table:
    shapes = {item.boxes.geometry.shape[1:] for item in listed if len(item.boxes)} or {(6,)}
    if len(shapes) > 1 or shapes == {(8, 3)} or any(item.points is not None for item in listed):
        raise InputError(f"{where}: a table holds no vertices, no boxes of several forms and no points; write .json")
    form = CORNERS if shapes == {(6,)} else TURNED
    rows: list[dict[str, Any]] = []
    for item in listed:
        shared = {"scene": item.scene, "seconds": item.seconds}
        scores = [None] * len(item.boxes) if item.boxes.scores is None else item.boxes.scores.tolist()
        for geometry, code, score in zip(item.boxes.geometry.tolist(), item.boxes.codes, scores, strict=True):
            numbers = dict(zip(form, geometry, strict=True))
            rows.append({**shared, "class": BOX_CLASSES[code], **numbers, "score": score})
        if not len(item.boxes):
            rows.append({**shared, "class": None, **dict.fromkeys(form), "score": None})
    text = pa.string()
    types = {"scene": text, "class": text, **dict.fromkeys((*form, "score", "seconds"), pa.float64())}
    return pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in types.items()})
