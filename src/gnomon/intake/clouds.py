"""Point clouds: PCD, PLY and NPZ, read into one frozen value and written from it.

Conventions
-----------
- The format follows from the suffix: ``.pcd`` (:mod:`gnomon.intake.pcd`), ``.ply`` (:mod:`gnomon.intake.ply`) or
  ``.npz`` with ``points`` ``(N, 3)`` and perhaps ``rgb``, ``normals`` and other arrays of N rows.
- Points stay 32-bit floats where the file has them; all other numbers become 64-bit floats.
- A point with a coordinate that is NaN or infinite has no place. PCD marks so the missing pixels of a depth camera.
  It is an error by default; ``invalid="drop"`` leaves such points out, counts them and remembers which were kept.
- Nothing is allocated before the size that a header declares has been compared with the bytes that are there.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import numpy as np

from gnomon.core.errors import InputError, counted, some
from gnomon.intake.arrays import read_npz
from gnomon.intake.faults import guarded, shown
from gnomon.intake.limits import DEFAULT, Limits
from gnomon.intake.npy import Array
from gnomon.intake.pcd import read_pcd, write_pcd
from gnomon.intake.ply import read_ply, write_ply
from gnomon.intake.records import AXES
from gnomon.intake.writing import replacing

SUFFIXES = (".pcd", ".ply", ".npz")
ENCODINGS = ("ascii", "binary", "binary_compressed")
"""``binary_compressed`` is the smallest binary form that a format has: LZF in PCD, deflate in NPZ; PLY has no other."""
POLICIES = ("error", "drop")


@dataclass(frozen=True, eq=False)
class Cloud:
    """Points ``(N, 3)`` with what else a file says of each of them; arrays are not writeable."""

    points: Array
    fields: Mapping[str, Array] = field(default_factory=dict)
    """By name, ``(N,)`` or ``(N, k)``, as the file has them."""
    source: str = "<memory>"
    kept: Array | None = None
    """Where points were dropped: for each point of the file whether it was kept."""

    def __post_init__(self) -> None:
        points = np.asarray(self.points)
        if points.ndim != 2 or points.shape[1] != 3 or points.dtype.kind not in "fiu":
            raise InputError(f"{self.source}: points are {points.dtype} {points.shape}, expected numbers (N, 3)")
        if points.dtype not in (np.float32, np.float64):
            points = points.astype(np.float64)
        fields = {name: _frozen(np.asarray(values)) for name, values in self.fields.items()}
        for name, values in fields.items():
            if values.ndim not in (1, 2) or len(values) != len(points):
                raise InputError(
                    f"{self.source}: field {shown(name, 80)!r} has shape {values.shape}, expected one row for each of "
                    f"{counted(len(points), 'point')}"
                )
        object.__setattr__(self, "points", _frozen(points))
        object.__setattr__(self, "fields", MappingProxyType(fields))

    def __len__(self) -> int:
        return len(self.points)

    @property
    def dropped(self) -> int:
        """Points of the file that had no place and were left out."""
        return 0 if self.kept is None else len(self.kept) - len(self)


def read_cloud(
    path: str | os.PathLike[str],
    *,
    invalid: str = "error",
    fields: Collection[str] | None = None,
    limits: Limits = DEFAULT,
) -> Cloud:
    """Return the point cloud in a file.

    Parameters
    ----------
    path
        A name that ends in ``.pcd``, ``.ply`` or ``.npz``.
    invalid
        What happens to points with a coordinate that is NaN or infinite: ``error`` or ``drop``.
    fields
        What is kept besides the points, of what is there; everything if None.
    limits
        What reading the file may cost.

    Raises
    ------
    InputError
        Anything that is wrong with the file, in one line; a cloud of no points is wrong.
    """
    if invalid not in POLICIES:
        raise InputError(f"invalid={invalid!r}: expected one of {some(POLICIES)}")
    suffix = cloud_suffix(path)
    limits = limits.raised()
    with guarded(path, f"cannot be read as {suffix}"):
        if suffix == ".pcd":
            columns = read_pcd(path, fields, limits)
        elif suffix == ".ply":
            columns = read_ply(path, fields, limits)
        else:
            columns = _read_arrays(path, fields, limits)
        points = columns.pop("points") if "points" in columns else _stacked([columns.pop(axis) for axis in AXES])
        return _checked(Cloud(np.ascontiguousarray(points), columns, shown(path)), invalid)


def write_cloud(path: str | os.PathLike[str], cloud: Cloud | Array, *, encoding: str = "binary_compressed") -> None:
    """Write a cloud, or points ``(N, 3)`` alone, in the format that the suffix names.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "room.pcd"
    >>> write_cloud(file, np.eye(3, dtype=np.float32))
    >>> read_cloud(file).points.tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    suffix = cloud_suffix(path)
    cloud = cloud if isinstance(cloud, Cloud) else Cloud(cloud)
    if not len(cloud):
        raise InputError(f"{shown(path)}: a cloud of no points is not written; give at least one")
    if encoding not in ENCODINGS or (suffix == ".npz" and encoding == "ascii"):
        known = ENCODINGS[1:] if suffix == ".npz" else ENCODINGS
        raise InputError(f"{shown(path)}: encoding {encoding!r}, expected one of {some(known)} for {suffix}")
    with guarded(path, f"cannot be written as {suffix}", "check the folder"), replacing(path) as file:
        if suffix == ".pcd":
            write_pcd(file, cloud.points, cloud.fields, encoding, shown(path))
        elif suffix == ".ply":
            write_ply(file, cloud.points, cloud.fields, encoding, shown(path))
        else:
            save = np.savez if encoding == "binary" else np.savez_compressed
            save(file, **{"points": cloud.points, **cloud.fields})  # type: ignore[arg-type]


def cloud_suffix(path: str | os.PathLike[str]) -> str:
    """Return the suffix that names the format of a cloud, in lower case.

    >>> cloud_suffix("001/001-1.PCD")
    '.pcd'
    """
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"{shown(path)}: unknown kind of point cloud, expected a name ending in {some(SUFFIXES)}")
    return suffix


def _read_arrays(path: str | os.PathLike[str], fields: Collection[str] | None, limits: Limits) -> dict[str, Array]:
    arrays = read_npz(path, limits=limits)
    if "points" not in arrays:
        raise InputError(f"{shown(path)}: no array 'points', got {some(arrays)}; save the points (N, 3) under it")
    points = arrays["points"]
    if points.ndim != 2 or points.shape[1] != 3 or points.dtype.kind not in "fiu":
        raise InputError(
            f"{shown(path)}: array 'points' is {points.dtype} {points.shape}, expected numbers (N, 3); save x, y and z"
        )
    for name in ("rgb", "normals"):
        if name in arrays and (arrays[name].ndim not in (1, 2) or len(arrays[name]) != len(points)):
            raise InputError(
                f"{shown(path)}: array {name!r} has shape {arrays[name].shape}, expected one row for each of "
                f"{counted(len(points), 'point')}"
            )
    return {
        name: array
        for name, array in arrays.items()
        if name == "points"
        or ((fields is None or name in fields) and array.ndim in (1, 2) and len(array) == len(points))
    }


def _stacked(columns: list[Array]) -> Array:
    dtype = np.float32 if all(column.dtype == np.float32 for column in columns) else np.float64
    points = np.empty((len(columns[0]), 3), dtype=dtype)
    for axis, column in enumerate(columns):
        points[:, axis] = column
    return points


def _checked(cloud: Cloud, invalid: str) -> Cloud:
    """Return a cloud of finite points."""
    if not len(cloud):
        raise InputError(f"{cloud.source}: holds no points; a cloud has at least one, so leave the file out")
    with np.errstate(over="ignore", invalid="ignore"):
        total = cloud.points.sum(dtype=np.float64)
    if np.isfinite(total):
        return cloud
    finite: Array = np.asarray(np.isfinite(cloud.points).all(axis=1))
    wrong = len(cloud) - int(finite.sum())
    if not wrong:  # only the sum was too large
        return cloud
    if invalid == "error":
        first = int(np.argmin(finite))
        raise InputError(
            f"{cloud.source}: {wrong:,} of {counted(len(cloud), 'point')} have a coordinate that is NaN or infinite, "
            f"the first is point {first}: {cloud.points[first].tolist()}; remove them, or read with invalid='drop'"
        )
    if wrong == len(cloud):
        raise InputError(f"{cloud.source}: not one of {counted(wrong, 'point')} is finite; scan again")
    fields = {name: values[finite] for name, values in cloud.fields.items()}
    return Cloud(cloud.points[finite], fields, cloud.source, _frozen(finite))


def _frozen(array: Array) -> Array:
    view = array.view()
    view.setflags(write=False)
    return view
