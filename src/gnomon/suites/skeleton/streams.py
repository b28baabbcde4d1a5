"""Cameras of a prediction file, looked up by modality and sensor, whatever form the file has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.tallies import Array

ENCODING = 9
"""Numbers of a camera: translation, quaternion xyzw, field of view."""


@dataclass(frozen=True)
class Cameras:
    """The cameras of one side: a look-up of one stream by modality and sensor."""

    key: str
    values: Any
    names: Any
    """S names, or N lists of them, or None."""
    sensors: Any
    columns: Mapping[str, int]
    """Column of a modality where the file names none."""
    n: int
    where: str
    rows: Array | None = None
    """Rows of the file in the order in which samples are given; None: as in the file."""
    metres: float = 1.0
    """Metres of one unit of the translations in the file."""

    def stream(self, modality: str, sensor: int) -> Array:
        """Return the encodings ``(N, 9)`` of one stream; NaN where a sample has none."""
        found = self._read(modality, sensor)
        if self.metres != 1.0:
            found = np.array(found, dtype=np.float64)
            found[:, :3] *= self.metres
        return found if self.rows is None else found[self.rows]

    def take(self, rows: Array) -> Cameras:
        """Return the cameras in another order of the rows of the file."""
        return replace(self, rows=rows)

    def content(self, row: int) -> bytes:
        """Return what the file holds of the cameras in one of its rows, to tell rows apart."""
        said = [value[row] for value in (self.names, self.sensors) if _per_sample(value, self.n)]
        found = _encodings(self.values[row], f"{self.where}[{row}]")
        return (b"" if found is None else found.tobytes()) + repr(said).encode()

    def _read(self, modality: str, sensor: int) -> Array:
        whole = isinstance(self.values, np.ndarray) and self.values.dtype.kind == "f" and self.values.ndim == 3
        if whole and not _per_sample(self.names, self.n):
            column = self._column(self.names, self.sensors, self.values.shape[1], modality, sensor, self.where)
            if column is None:
                return np.full((self.n, ENCODING), np.nan)
            return np.asarray(self.values[:, column])
        found = np.full((self.n, ENCODING), np.nan)
        for index in range(self.n):
            item = _encodings(self.values[index], f"{self.where}[{index}]")
            if item is None:
                continue
            names = self.names[index] if _per_sample(self.names, self.n) else self.names
            sensors = self.sensors[index] if _per_sample(self.sensors, self.n) else self.sensors
            if names is None and _per_sample(self.names, self.n):
                continue
            column = self._column(names, sensors, len(item), modality, sensor, f"{self.where}[{index}]")
            if column is not None:
                found[index] = item[column]
        return found

    def names_known(self) -> list[str]:
        """Return the names of the cameras that the file has, for messages."""
        listed = (
            [name for names in self.names[:100] for name in names or ()]
            if _per_sample(self.names, self.n)
            else self.names
        )
        return sorted({_name(name) for name in listed or ()} - {""})

    def _column(self, names: Any, sensors: Any, size: int, modality: str, sensor: int, where: str) -> int | None:
        if names is None:
            column = self.columns.get(modality)
            if column is not None and column >= size:
                raise InputError(
                    f"{where}: {modality} is said to be column {column}, but there are {size}; correct the index"
                )
            return column
        listed = [_name(name) for name in names]
        if len(listed) != size:
            raise InputError(f"{where}: {size} cameras, but {len(listed)} modality names; name each camera once")
        if sensors is None:
            return next((i for i, name in enumerate(listed) if name == modality), None)
        try:
            numbers = [-1 if number is None else int(number) for number in sensors]
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"{where}: sensor indices are not whole numbers ({error}); correct them") from error
        if len(numbers) != size:
            raise InputError(f"{where}: {size} cameras, but {len(numbers)} sensor indices; give one for each camera")
        return next((i for i in range(size) if listed[i] == modality and numbers[i] == sensor), None)


def _name(value: Any) -> str:
    """Return the name of a modality as it is looked for."""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else "" if value is None else str(value)
    return text.strip().lower()


def find(fields: Mapping[str, Any], asked: str, side: str, n: int, where: str, columns: Mapping[str, int]) -> Cameras:
    """Return the cameras of a side (``pred`` or ``gt``): the field asked for, else the usual ones."""
    key = next((name for name in (asked, f"{side}_cameras_stream", f"{side}_cameras") if name in fields), "")
    if not key:
        return Cameras("", [None] * n, None, None, columns, n, f"{where}: {side}_cameras")
    if not isinstance(fields[key], (list, tuple)) and not (isinstance(fields[key], np.ndarray) and fields[key].ndim):
        raise InputError(f"{where}: {key}: got {type(fields[key]).__name__}, expected the cameras of every sample")
    if len(fields[key]) != n:
        raise InputError(f"{where}: {key} has {len(fields[key])} items, expected {n}: one for each sample")
    older = _metadata(fields, "camera_modalities", n)
    stream = _metadata(fields, "camera_stream_modalities", n)
    if stream is None or (key == f"{side}_cameras" and older is not None):
        names, sensors = older, None
    else:
        names, sensors = stream, _metadata(fields, "camera_stream_sensor_indices", n)
    values = fields[key]
    if isinstance(values, np.ndarray) and values.dtype.kind in "fiu":
        values = _camera_array(values, f"{where}: {key}")
    return Cameras(key, values, names, sensors, columns, n, f"{where}: {key}")


def _metadata(fields: Mapping[str, Any], name: str, n: int) -> Any:
    """Return what the cameras are called: by sample where a file says so, else the same for all."""
    single = fields.get(f"{name}_per_sample")
    if single is not None and any(item is not None for item in _listed(single, f"{name}_per_sample")):
        if len(single) != n:
            raise InputError(f"{name}_per_sample has {len(single)} items, expected {n}: one for each sample")
        return _PerSample(None if item is None else _listed(item, f"{name}_per_sample") for item in single)
    value = fields.get(name)
    return None if value is None else _listed(value, name)


def _listed(value: Any, where: str) -> list[Any]:
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return list(value.tolist())
    if not isinstance(value, (list, tuple)):
        raise InputError(f"{where}: got {type(value).__name__}, expected a list; correct it")
    return list(value)


class _PerSample(list[Any]):
    """Metadata with an item for each sample."""


def _per_sample(value: Any, n: int) -> bool:
    return isinstance(value, _PerSample) and len(value) == n


def _camera_array(values: Array, where: str) -> Array:
    if values.ndim == 2 and values.shape[1] == ENCODING:
        values = values[:, np.newaxis]
    if values.ndim == 4 and values.shape[2]:
        values = values[:, :, -1]
    if values.ndim != 3 or values.shape[2] != ENCODING:
        raise InputError(f"{where}: got {values.shape}, expected (N, S, {ENCODING}): T, quaternion xyzw, field of view")
    return values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)


def _encodings(item: Any, where: str) -> Array | None:
    """Return the cameras of one sample as ``(S, 9)``; an entry that is None is NaN."""
    if item is None:
        return None
    if isinstance(item, (list, tuple)) or (isinstance(item, np.ndarray) and item.dtype.hasobject):
        item = [np.full(ENCODING, np.nan) if entry is None else entry for entry in item]
    try:
        array = np.asarray(item, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{where}: expected cameras of {ENCODING} numbers each; correct it") from error
    if array.ndim == 1 and array.size == ENCODING:
        return array[np.newaxis]
    array = array[:, -1] if array.ndim == 3 and array.shape[1] else array
    if array.ndim != 2 or array.shape[1] != ENCODING:
        raise InputError(f"{where}: got cameras of shape {array.shape}, expected (S, {ENCODING}); correct it")
    return array
