"""What a system is given credit for: frozen, validated values, one type for truth and prediction.

Conventions
-----------
- Arrays are copied only when they must be, and are not writeable afterwards.
- Classes are text. A code is an index into ``classes``; ``NONE`` (-1) means that nothing was given.
- Times are seconds and intervals half-open; positions are metres. A ``frame`` names the coordinate
  frame; values in different frames must not be subtracted (see :func:`same_frame`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.tallies import Array

NONE = -1
"""The code of a sample for which nothing was given."""


@dataclass(frozen=True, eq=False)
class Labels:
    """One class per sample: ``codes`` ``(n,)`` into ``classes``, or ``NONE``."""

    codes: Array
    classes: tuple[str, ...]

    def __post_init__(self) -> None:
        _set(self, codes=_codes(self.codes, self.classes, type(self).__name__), classes=tuple(self.classes))

    def __len__(self) -> int:
        return len(self.codes)

    def over(self, classes: Sequence[str]) -> Array:
        """Return the codes with respect to another class list that contains all classes in use."""
        if tuple(classes) == self.classes:
            return self.codes
        place = {label: index for index, label in enumerate(classes)}
        lookup = np.array([*(place.get(label, -2) for label in self.classes), NONE], dtype=np.int64)
        codes = lookup[self.codes]
        if codes.size and codes.min() < NONE:
            raise InputError(
                f"class {self.classes[int(self.codes[codes.argmin()])]!r} is not among {list(classes)[:8]}"
            )
        return np.asarray(codes)

    def take(self, rows: Array) -> Labels:
        """Return some samples."""
        return type(self)(self.codes[rows], self.classes)


class PointLabels(Labels):
    """One class per 3D point of a scan, in the order of the scan."""


@dataclass(frozen=True, eq=False)
class LabelSets:
    """Any number of classes per sample: ``members`` ``(n, classes)`` of booleans.

    ``given`` ``(n,)`` says which samples have a set at all; without it all have. An empty set is one, too.
    """

    members: Array
    classes: tuple[str, ...]
    given: Array | None = None

    def __post_init__(self) -> None:
        members = _array(self.members, "LabelSets")
        if members.ndim != 2 or members.dtype != np.bool_ or members.shape[1] != len(self.classes):
            raise InputError(
                f"LabelSets: expected booleans of shape (n, {len(self.classes)}), "
                f"but got {members.dtype} {members.shape}"
            )
        _set(self, members=_frozen(members), classes=_classes(self.classes, "LabelSets"))
        if self.given is None:
            return
        given = _array(self.given, "LabelSets.given")
        if given.dtype != np.bool_ or given.shape != (len(members),):
            raise InputError(
                f"LabelSets.given: expected booleans of shape ({len(members)},), but got {given.dtype} {given.shape}"
            )
        if members[~given].any():
            raise InputError(
                f"LabelSets: sample {int(np.argmax(members.any(axis=1) & ~given))} has classes, but no set"
            )
        _set(self, given=_frozen(given))

    def __len__(self) -> int:
        return len(self.members)

    def over(self, classes: Sequence[str]) -> Array:
        """Return the members with respect to another class list that contains all classes in use."""
        if tuple(classes) == self.classes:
            return self.members
        place = {label: index for index, label in enumerate(classes)}
        out = np.zeros((len(self), len(classes)), dtype=np.bool_)
        for index, label in enumerate(self.classes):
            if label in place:
                out[:, place[label]] = self.members[:, index]
            elif self.members[:, index].any():
                raise InputError(f"class {label!r} is not among {list(classes)[:8]}")
        return out

    def take(self, rows: Array) -> LabelSets:
        """Return some samples."""
        return LabelSets(self.members[rows], self.classes, None if self.given is None else self.given[rows])


@dataclass(frozen=True, eq=False)
class Intervals:
    """Half-open stretches of time ``[start, end)`` in seconds, each of one class, in any order, inside a window."""

    starts: Array
    ends: Array
    codes: Array
    classes: tuple[str, ...]
    window: tuple[float, float]
    scores: Array | None = None

    def __post_init__(self) -> None:
        starts, ends = _floats(self.starts, 1, "Intervals.starts"), _floats(self.ends, 1, "Intervals.ends")
        codes = _codes(self.codes, self.classes, "Intervals")
        scores = None if self.scores is None else _floats(self.scores, 1, "Intervals.scores")
        _equal_lengths("Intervals", starts, ends, codes, *(() if scores is None else (scores,)))
        if (ends < starts).any():
            where = int(np.argmax(ends < starts))
            raise InputError(f"interval {where} ends before it starts: [{starts[where]}, {ends[where]})")
        window = _floats(_array(self.window, "window"), 1, "window")
        if len(window) != 2 or not window[0] < window[1]:
            raise InputError(f"window: expected start < end, but got {self.window}")
        _set(self, starts=starts, ends=ends, codes=codes, classes=tuple(self.classes), scores=scores)
        _set(self, window=(float(window[0]), float(window[1])))

    def __len__(self) -> int:
        return len(self.starts)


@dataclass(frozen=True, eq=False)
class Boxes:
    """3D boxes in metres: ``(M, 6)`` min-max, ``(M, 7)`` centre-size-yaw or ``(M, 8, 3)`` vertices."""

    geometry: Array
    codes: Array
    classes: tuple[str, ...]
    scores: Array | None = None
    frame: str = "scene"

    def __post_init__(self) -> None:
        geometry = _array(self.geometry, "Boxes.geometry", np.float64)
        if geometry.shape[1:] not in {(6,), (7,), (8, 3)}:
            raise InputError(f"Boxes: expected shape (M, 6), (M, 7) or (M, 8, 3), but got {geometry.shape}")
        geometry = _floats(geometry, geometry.ndim, "Boxes.geometry")
        if geometry.shape[1:] == (6,) and (geometry[:, :3] > geometry[:, 3:]).any():
            where = int(np.argmax((geometry[:, :3] > geometry[:, 3:]).any(axis=1)))
            raise InputError(f"box {where}: its minimum exceeds its maximum: {geometry[where].tolist()}")
        codes = _codes(self.codes, self.classes, "Boxes")
        scores = None if self.scores is None else _floats(self.scores, 1, "Boxes.scores")
        _equal_lengths("Boxes", geometry, codes, *(() if scores is None else (scores,)))
        _set(self, geometry=geometry, codes=codes, classes=tuple(self.classes), scores=scores)

    def __len__(self) -> int:
        return len(self.geometry)


@dataclass(frozen=True, eq=False)
class Skeletons:
    """Joint positions ``(N, J, 3)`` in metres, with a validity mask ``(N, J)``; invalid joints may hold anything."""

    joints: Array
    valid: Array | None = None
    fps: float | None = None
    frame: str = "sensor"
    names: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        joints = _array(self.joints, "Skeletons")
        if joints.ndim != 3 or joints.shape[2] != 3 or joints.dtype.kind not in "fiu":
            raise InputError(f"Skeletons: expected numbers (N, J, 3), but got {joints.dtype} {joints.shape}")
        if self.fps is not None:
            fps = _floats(_array([self.fps], "Skeletons.fps"), 1, "Skeletons.fps")
            if not fps[0] > 0:
                raise InputError(f"Skeletons.fps: expected a rate above 0, but got {self.fps}")
            _set(self, fps=float(fps[0]))
        finite: Array = np.asarray(np.isfinite(joints).all(axis=2))
        valid = finite if self.valid is None else _array(self.valid, "Skeletons.valid")
        if valid.shape != joints.shape[:2] or valid.dtype != np.bool_:
            raise InputError(
                f"Skeletons.valid: expected booleans {joints.shape[:2]}, but got {valid.dtype} {valid.shape}"
            )
        if (valid & ~finite).any():
            sample, joint = np.argwhere(valid & ~finite)[0]
            raise InputError(f"Skeletons: joint {joint} of sample {sample} is marked valid but is not finite")
        if self.names and len(self.names) != joints.shape[1]:
            raise InputError(f"Skeletons.names: expected {joints.shape[1]} names, but got {len(self.names)}")
        _set(self, joints=_frozen(joints), valid=_frozen(valid), names=tuple(self.names))

    def __len__(self) -> int:
        return len(self.joints)


@dataclass(frozen=True, eq=False)
class Rankings:
    """Where each query's target stood in a pool: how many candidates scored higher, how many equal (itself counted)."""

    greater: Array
    equal: Array
    pool_size: int
    pool: str

    def __post_init__(self) -> None:
        greater, equal = (_whole(side, "Rankings") for side in (self.greater, self.equal))
        _equal_lengths("Rankings", greater, equal)
        if greater.size and (greater.min() < 0 or equal.min() < 1 or (greater > self.pool_size - equal).any()):
            raise InputError(f"Rankings: expected greater >= 0, equal >= 1 and a sum of at most {self.pool_size}")
        _set(self, greater=_frozen(greater), equal=_frozen(equal))

    def __len__(self) -> int:
        return len(self.greater)


@dataclass(frozen=True, eq=False)
class Vectors:
    """Real vectors ``(N, D)`` with a unit and a coordinate frame."""

    values: Array
    unit: str = ""
    frame: str = ""

    def __post_init__(self) -> None:
        _set(self, values=_floats(self.values, 2, "Vectors"))

    def __len__(self) -> int:
        return len(self.values)


def same_frame(truth: Skeletons | Boxes | Vectors, prediction: Skeletons | Boxes | Vectors) -> None:
    """Refuse to compare values that live in different coordinate frames."""
    if truth.frame != prediction.frame:
        raise InputError(
            f"truth is in the frame {truth.frame!r} and the prediction in {prediction.frame!r}: "
            "transform one of them before comparing"
        )


def _set(value: object, **fields: Any) -> None:
    for name, content in fields.items():
        object.__setattr__(value, name, content)


def _frozen(array: Array) -> Array:
    view = array.view()
    view.setflags(write=False)
    return view


def _array(values: Any, where: str, dtype: type | None = None) -> Array:
    try:
        array = np.asarray(values)
        if dtype is np.float64 and array.size and array.dtype.kind not in "fiub":
            raise TypeError(f"got {array.dtype}")
        return array if dtype is None else array.astype(dtype, copy=False)
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(f"{where}: expected a regular array of numbers: {error}") from error


def _whole(values: Any, where: str) -> Array:
    array = _array(values, where)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise InputError(f"{where}: expected a list of whole numbers, but got {array.dtype} {array.shape}")
    return array.astype(np.int64)


def _classes(classes: Sequence[str], where: str) -> tuple[str, ...]:
    if not all(isinstance(label, str) for label in classes) or len(set(classes)) != len(classes):
        raise InputError(f"{where}: classes must be distinct texts, but got {list(classes)[:8]}")
    return tuple(classes)


def _codes(codes: Array, classes: Sequence[str], where: str) -> Array:
    _classes(classes, where)
    array = _array(codes, where)
    if array.ndim != 1 or not (np.issubdtype(array.dtype, np.integer) or array.size == 0):
        raise InputError(f"{where}: expected a list of integer codes, but got {array.dtype} {array.shape}")
    if array.size and (array.max() >= len(classes) or array.min() < NONE):
        where_bad = int(np.argmax((array >= len(classes)) | (array < NONE)))
        raise InputError(f"{where}: code {array[where_bad]} at {where_bad} is outside [-1, {len(classes)})")
    return _frozen(array if array.size else array.astype(np.int64))


def _floats(values: Array, ndim: int, where: str) -> Array:
    array = _array(values, where, np.float64)
    if array.ndim != ndim:
        raise InputError(f"{where}: expected {ndim} dimension(s), but got {array.ndim}")
    if not np.isfinite(array).all():
        raise InputError(f"{where}: the value at {np.argwhere(~np.isfinite(array))[0].tolist()} is not finite")
    return _frozen(array)


def _equal_lengths(where: str, *arrays: Array) -> None:
    lengths = {len(array) for array in arrays}
    if len(lengths) > 1:
        raise InputError(f"{where}: expected columns of one length, but got {sorted(lengths)}")
