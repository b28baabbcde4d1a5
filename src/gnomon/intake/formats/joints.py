"""Joints of bodies as people keep them: arrays ``(N, J, 3)`` or ``(T, P, J, 3)`` with what stands beside them.

What is read
------------
- ``.npy``; ``.npz``, JSON objects and mappings in memory: the only array of such a shape, or the one that is asked for;
- JSON lists of numbers, or of objects of which one field is ``(J, 3)``; ``null`` is a joint that is not there;
- tables (``.parquet``, ``.csv``, ..., data frames) with a column per coordinate: ``left_knee_x``, ``left_knee_y``,
  ``left_knee_z``; the order of the joints is that of the columns;
- BVH (:mod:`gnomon.intake.formats.bvh`);
- arrays and tensors of any framework in memory, and nested lists.

Beside the joints: ids (``sample_ids``, or the only array of N texts), tags of every row (``sequence``, ``subject``,
``action``, ``frame``), a mask (``valid`` or ``mask``, ``(N,)`` or ``(N, J)``), ``names`` and ``parents`` of the joints,
``fps``. What else is there is not read, and noted.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.core.errors import InputError, some
from gnomon.core.tallies import Array
from gnomon.intake.arrays import read_npz
from gnomon.intake.documents import read_json
from gnomon.intake.faults import guarded, shown
from gnomon.intake.formats.bvh import is_bvh, read_bvh
from gnomon.intake.limits import DEFAULT, check_file
from gnomon.intake.memory import table_of, to_numpy
from gnomon.intake.npy import read_npy
from gnomon.intake.unread import Watched, note

EVERY = "*"
"""The key that stands for every array of a file, each a sequence."""
IDS = ("sample_ids", "sample_id", "ids", "id")
TAGS = ("sequence", "subject", "action", "frame")
MASKS = ("valid", "mask")
NAMES = ("names", "joint_names")
TABLES = (".parquet", ".csv", ".tsv", ".csv.gz", ".tsv.gz", ".jsonl", ".ndjson")
SUFFIXES = (".npy", ".npz", ".json", ".bvh", *TABLES)
EXPECTED = "expected joints (N, J, 3), or (T, P, J, 3) for P people"
_COORDINATE = re.compile(r"(.+?)[_. ]?([xyzXYZ])")
_KNOWN = {
    b"\x89HDF": "an HDF5 file: read the joints with h5py and save them with numpy.save",
    b"\x80": "a pickle: load it where it was made, and save the joints with numpy.save",
    b"PK": "an archive",
    b"PAR1": "a parquet table",
    b"\x93NUMPY": "a NumPy array",
    b"MATLAB": "a MATLAB file: load it with scipy.io.loadmat and save the joints with numpy.save",
    b"<?xml": "an XML document",
    b"glTF": "a glTF file: export the motion as BVH",
    b"Kaydara FBX": "an FBX file: export the motion as BVH",
    b"ply": "a PLY cloud",
}
"""How files begin that are not what their name says, and what they are."""


@dataclass(frozen=True)
class Joints:
    """Joints of one source, and what stands beside them."""

    where: str
    joints: Array
    """``(N, J, 3)`` or ``(T, P, J, 3)``."""
    ids: tuple[str, ...] | None = None
    tags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    mask: Array | None = None
    """Booleans, ``(N,)`` or ``(N, J)``; ``(T, P)`` or ``(T, P, J)`` for several people."""
    names: tuple[str, ...] = ()
    parents: tuple[int, ...] | None = None
    fps: float = 0.0
    sequences: Mapping[str, Array] = field(default_factory=dict)
    """With the key ``*``: every array by name; ``joints`` is then empty."""


def read_joints(source: Any, name: str, *, key: str = "", mask: str = "") -> Joints:
    """Read a path, or take what is in memory.

    Parameters
    ----------
    source
        A path, an array or tensor, nested lists, a mapping of arrays, or a table.
    name
        What it is called in messages where it has no path.
    key
        The array, field or column with the joints; ``*`` for every array. By default the only one of such a shape.
    mask
        The array of visible samples or joints, where it is not called ``valid`` or ``mask``.
    """
    if isinstance(source, (str, os.PathLike)):
        return _read_file(Path(source), key, mask)
    where = f"<{name} in memory>"
    if hasattr(source, "columns") and not isinstance(source, Mapping):
        return _of_table(source, where, name)
    if isinstance(source, Mapping):
        if _is_wide(list(map(str, source))):
            return _of_table(source, where, name)
        held = {str(field): to_array(value, f"{name}[{field!r}]") for field, value in source.items()}
        several = sum(_has_shape(item.shape) and item.dtype.kind in "fiu" for item in held.values()) > 1
        return _of_fields(held, where, key or (EVERY if several else ""), mask)
    joints = check_shape(to_array(source, name), where)
    seen = None
    if isinstance(source, np.ma.MaskedArray):
        seen = np.asarray(~np.ma.getmaskarray(source).any(axis=-1))
    return Joints(where, joints, mask=seen)


def to_array(values: Any, name: str) -> Array:
    """Return an array or tensor of any framework, or nested lists, as a NumPy array; masked and None become NaN."""
    if isinstance(values, np.ma.MaskedArray):
        return np.asarray(values.filled(np.nan) if values.dtype.kind == "f" else values.data)
    found = to_numpy(values, name)
    return _numbers_of_objects(found) if found.dtype.hasobject else found


def _numbers_of_objects(values: Array) -> Array:
    """Return numbers with NaN in the place of None, or text, as an array of that; other objects as they are."""
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError):
        texts = all(isinstance(value, str) for value in values.ravel().tolist())
        return values.astype(str) if texts else values


def check_shape(joints: Array, where: str) -> Array:
    """Return joints as floats, or refuse their shape and say what to do about it."""
    shape = tuple(joints.shape)
    if joints.dtype.kind not in "fiu":
        raise InputError(f"{where}: {EXPECTED} as numbers, but got {joints.dtype} of shape {shape}")
    if not _has_shape(shape):
        raise InputError(f"{where}: {EXPECTED}, but got shape {shape}{_advice(shape)}")
    if 0 in shape:
        raise InputError(f"{where}: {EXPECTED} with at least one sample and joint, but got shape {shape}")
    return joints if joints.dtype in (np.float32, np.float64) else joints.astype(np.float64)


def _has_shape(shape: Sequence[int]) -> bool:
    return len(shape) in (3, 4) and shape[-1] == 3


def _advice(shape: Sequence[int]) -> str:
    """Say what to do with joints of another shape."""
    if len(shape) in (3, 4) and shape[-2] == 3:
        return ": joints and coordinates are transposed; give array.swapaxes(-1, -2)"
    if len(shape) == 3 and shape[0] == 3:
        return ": coordinates come first; give numpy.moveaxis(array, 0, -1)"
    if len(shape) == 2 and shape[1] == 3:
        return ": one pose; give array[None]"
    if len(shape) == 2 and shape[1] and shape[1] % 3 == 0:
        return f": coordinates are flat; give array.reshape({shape[0]}, {shape[1] // 3}, 3)"
    if len(shape) in (3, 4) and shape[-1] == 4:
        return ": x, y, z and a confidence; give array[..., :3], and mask=array[..., 3] > 0 if it says what is visible"
    if len(shape) in (3, 4) and shape[-1] == 2:
        return ": joints in an image, not in space; 3D joints are scored here"
    return ""


def _read_file(path: Path, key: str, mask: str) -> Joints:
    where, lowered = shown(path), path.name.lower()
    check_file(path, DEFAULT.raised())
    with guarded(path, "cannot be read", "check that you may read it"), path.open("rb") as file:
        head = file.read(64)
    suffix = next((one for one in SUFFIXES if lowered.endswith(one)), "")
    if is_bvh(head):
        found = read_bvh(path)
        return Joints(where, found.joints, names=found.names, parents=found.parents, fps=found.fps)
    if suffix == ".npy":
        _check_kind(path, head, b"\x93NUMPY", "a NumPy array (.npy)")
        return Joints(where, check_shape(read_npy(path), where))
    if suffix == ".npz":
        _check_kind(path, head, b"PK", "a NumPy archive (.npz)")
        return _of_fields(read_npz(path), where, key, mask, path)
    if suffix == ".json":
        return _of_json(read_json(path), where, key, mask, path)
    if suffix in TABLES:
        return _of_table(path, where, where)
    known = next((what for start, what in _KNOWN.items() if head.startswith(start)), "")
    said = f"this is {known}; " if known else "BVH files begin with HIERARCHY; " if suffix == ".bvh" else ""
    raise InputError(f"{where}: {said}expected joints as {', '.join(SUFFIXES[:5])} or a table such as .csv")


def _check_kind(path: Path, head: bytes, start: bytes, what: str) -> None:
    """Refuse a file that is not what its name says, and say what it is."""
    if head.startswith(start):
        return
    known = next((kind for begin, kind in _KNOWN.items() if head.startswith(begin)), "")
    raise InputError(f"{shown(path)}: not {what}{f': this is {known}' if known else ''}; name it by what it holds")


def _of_json(value: Any, where: str, key: str, mask: str, path: Path) -> Joints:
    if isinstance(value, list) and value and isinstance(value[0], dict):
        if not all(isinstance(item, dict) for item in value):
            raise InputError(f"{where}: expected a list of objects, but item 0 is one and others are not")
        names = dict.fromkeys(name for item in value for name in item)
        value = {name: [item.get(name) for item in value] for name in names}
    if isinstance(value, dict):
        return _of_fields({name: _of_list(item) for name, item in value.items()}, where, key, mask, path)
    found = _of_list(value)
    if not isinstance(found, np.ndarray) or found.dtype.kind not in "fiu":
        raise InputError(
            f"{where}: {EXPECTED} as nested lists of numbers, or an object that holds them; "
            "rows may not differ in length"
        )
    return Joints(where, check_shape(found, where))


def _of_list(value: Any) -> Any:
    """Return nested lists as an array, where they are regular: numbers (null is NaN) or text; else as they are."""
    if not isinstance(value, list):
        return np.asarray(value) if isinstance(value, (bool, int, float)) else value
    flat = value[:1]
    while flat and isinstance(flat[0], list):
        flat = flat[0][:1]
    if flat and isinstance(flat[0], bool):
        kinds: tuple[Any, ...] = (np.bool_,)
    else:
        kinds = (str,) if flat and isinstance(flat[0], str) else (np.float64,)
    for kind in kinds:
        try:
            return np.array(value, dtype=kind)
        except (TypeError, ValueError):
            continue
    return value


def _of_fields(held: Mapping[str, Any], where: str, key: str, mask: str, path: Path | None = None) -> Joints:
    """Take joints and what stands beside them from named arrays."""
    arrays = {name: item for name, item in held.items() if isinstance(item, np.ndarray)}
    found = [name for name, item in arrays.items() if item.dtype.kind in "fiu" and _has_shape(item.shape)]
    listed = ", ".join(f"{shown(name, 40)} {arrays[name].shape}" for name in list(arrays)[:12]) or "no array"
    fields = Watched(held)
    if key == EVERY:
        own = {name: check_shape(fields[name], f"{where}: {name}") for name in found}
        if not own:
            raise InputError(f"{where}: {EXPECTED} under each name, but it holds {listed}")
        _note(path, fields)
        return Joints(where, np.empty((0, 1, 3)), names=_names(fields, next(iter(own.values()))), sequences=own)
    if key and key not in arrays:
        raise InputError(f"{where}: no array {key!r}; it holds {listed}")
    if not key and {"gt_keypoints", "pred_keypoints"} <= set(found):
        raise InputError(f"{where}: holds both sides (gt_keypoints, pred_keypoints); give it alone, with --pred-file")
    if not key and len(found) != 1:
        if not found:
            near = [_advice(item.shape) for item in arrays.values() if _advice(item.shape)]
            raise InputError(f"{where}: {EXPECTED}, but it holds {listed}{near[0] if near else ''}")
        each = ", or --key '*' if each is a sequence"
        raise InputError(f"{where}: several arrays may be the joints: {some(found)}; name one with --key NAME{each}")
    chosen = key or found[0]
    joints = check_shape(fields[chosen], f"{where}: {chosen}")
    n = len(joints)
    names = _names(fields, joints)
    made = Joints(
        where,
        joints,
        _ids(fields, chosen, n, where),
        {
            tag: _texts(fields[tag], n, f"{where}: {tag}")
            for tag in TAGS
            if tag in arrays and len(arrays[tag].shape) == 1
        },
        _mask(fields, mask, joints, where),
        names,
        _parents(fields, len(names)),
        _fps(fields),
    )
    _note(path, fields)
    return made


def _note(path: Path | None, fields: Watched) -> None:
    if path is not None:
        note(path, fields.untaken())


def _names(fields: Watched, joints: Array) -> tuple[str, ...]:
    for name in NAMES:
        held = dict.get(fields, name)
        if isinstance(held, np.ndarray) and held.dtype.kind == "U" and held.shape == (joints.shape[-2],):
            return tuple(fields[name].tolist())
    return ()


def _parents(fields: Watched, size: int) -> tuple[int, ...] | None:
    held = dict.get(fields, "parents")
    if size and isinstance(held, np.ndarray) and held.shape == (size,) and held.dtype.kind in "iuf":
        return tuple(int(parent) for parent in fields["parents"])
    return None


def _fps(fields: Watched) -> float:
    held = dict.get(fields, "fps")
    if isinstance(held, np.ndarray) and held.ndim == 0 and held.dtype.kind in "fiu" and 0 < float(held) < 1e6:
        return float(fields["fps"])
    return 0.0


def _ids(fields: Watched, chosen: str, n: int, where: str) -> tuple[str, ...] | None:
    """Return the ids of the rows: a field with the name of ids, else the only one of N texts."""
    for name in IDS:
        if name in fields and name != chosen:
            return _texts(fields[name], n, f"{where}: {name}")
    texts = [
        name
        for name, held in fields.items()
        if isinstance(held, np.ndarray)
        and held.dtype.kind in "SU"
        and held.shape == (n,)
        and name not in (*NAMES, *TAGS)
    ]
    return _texts(fields[texts[0]], n, f"{where}: {texts[0]}") if len(texts) == 1 else None


def _texts(values: Any, n: int, where: str) -> tuple[str, ...]:
    listed = values.tolist() if isinstance(values, np.ndarray) else list(values)
    if len(listed) != n:
        raise InputError(f"{where}: got {len(listed):,} values, expected {n:,}: one for each sample")
    return tuple(value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value) for value in listed)


def _mask(fields: Watched, asked: str, joints: Array, where: str) -> Array | None:
    if asked and asked not in fields:
        raise InputError(f"{where}: no array {asked!r} for --mask; it holds {some(fields)}")
    for name in (asked,) if asked else MASKS:
        held = dict.get(fields, name)
        if asked or (isinstance(held, np.ndarray) and held.shape in (joints.shape[:1], joints.shape[:-1])):
            return to_mask(fields[name], joints.shape, f"{where}: {name}")
    return None


def to_mask(values: Any, shape: Sequence[int], where: str) -> Array:
    """Return a mask of joints of some shape as booleans: one for each sample, or for each joint of it."""
    found = to_array(values, where)
    allowed = [tuple(shape[:size]) for size in range(1, len(shape))]
    if tuple(found.shape) not in allowed or found.dtype.kind not in "biuf":
        said = " or ".join(map(str, allowed))
        raise InputError(f"{where}: expected booleans {said}, but got {found.dtype} {tuple(found.shape)}")
    if found.dtype.kind != "b" and not np.isin(found, (0, 1)).all():
        raise InputError(f"{where}: expected booleans or 0 and 1; for confidences give confidence > threshold")
    return found.astype(bool)


def _is_wide(columns: Sequence[str]) -> bool:
    """Say whether columns hold a coordinate each."""
    return any(column.lower().endswith(("_x", ".x", " x")) for column in columns)


def _of_table(source: Any, where: str, name: str) -> Joints:
    table = table_of(source, text=(*IDS, *TAGS), name=name)
    matches = {column: _COORDINATE.fullmatch(column) for column in table.column_names}
    places: dict[str, dict[str, str]] = {}
    for column, match in matches.items():
        if match and column not in (*IDS, *TAGS, *MASKS):
            places.setdefault(match[1], {})[match[2].lower()] = column
    whole = {joint: axes for joint, axes in places.items() if len(axes) > 1}
    if not whole:
        raise InputError(
            f"{where}: expected a column per coordinate, as left_knee_x, left_knee_y, left_knee_z, but the columns are "
            f"{some(table.column_names, show=8)}; give such columns, or save the joints as an array (numpy.save)"
        )
    for joint, axes in whole.items():
        lost = [axis for axis in "xyz" if axis not in axes]
        if lost:
            raise InputError(f"{where}: joint {joint!r} has no column for {', '.join(lost)}; add it, or leave it out")
    columns = [axes[axis] for axes in whole.values() for axis in "xyz"]
    with guarded(where, "columns of coordinates are not numbers", "correct them"):
        values = [table.column(one).to_numpy(zero_copy_only=False).astype(np.float64) for one in columns]
    n = table.num_rows
    joints = check_shape(np.stack(values, axis=1).reshape(n, len(whole), 3), where)
    held = {one: table.column(one).to_pylist() for one in (*IDS, *TAGS) if one in table.column_names}
    ids = next((_texts(held[one], n, where) for one in IDS if one in held), None)
    tags = {tag: _texts(held[tag], n, where) for tag in TAGS if tag in held}
    seen = next((one for one in MASKS if one in table.column_names), None)
    mask = to_mask(np.array(table.column(seen).to_pylist()), joints.shape, f"{where}: {seen}") if seen else None
    if isinstance(source, (str, os.PathLike)):
        used = {*columns, *IDS, *TAGS, *MASKS}
        note(source, {one: n for one in table.column_names if one not in used})
    return Joints(where, joints, ids, tags, mask, tuple(whole))
