"""The prediction file of ``skeleton``: one mapping of arrays, as ``.npz`` or as a pickle of plain arrays.

Fields
------
``pred_keypoints``, ``gt_keypoints``
    ``(N, J, 3)`` in metres; of ``(N, T, J, 3)`` the last frame. Ragged: N items: None, ``(J, 3)`` or ``(T, J, 3)``.
``sample_ids``
    N texts; without them all samples are one sequence.
``pred_cameras_stream``, ``gt_cameras_stream``
    ``(N, S, 9)``, each ``T(3), quaternion xyzw(4), fov(2)``, NaN where missing; ragged items are None, ``(9,)``,
    ``(S, 9)`` or ``(S, T, 9)`` (last T). Named by ``camera_stream_modalities`` (S texts) and
    ``camera_stream_sensor_indices`` (S numbers), or by ``camera_stream_modalities_per_sample`` and
    ``camera_stream_sensor_indices_per_sample`` (N lists, which may hold None).
``pred_cameras``, ``gt_cameras``
    The older form, with ``camera_modalities`` or ``camera_modalities_per_sample`` and one sensor per modality.
``pred_keypoints_<modality>``
    Joints predicted from one modality, where a system has them.

A field that is None is absent. What else a file holds is not read, and named in a finding.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.core.errors import InputError, some
from gnomon.core.tallies import Array
from gnomon.intake.arrays import read_npz
from gnomon.intake.faults import shown
from gnomon.intake.formats.joints import to_mask
from gnomon.intake.pickles import read_pickle
from gnomon.intake.unread import Watched, note
from gnomon.intake.writing import replacing
from gnomon.numerics.rigid import LARGEST, finite
from gnomon.suites.skeleton import streams
from gnomon.suites.skeleton.streams import Cameras

REASONS = (
    "",
    "missing keypoints",
    "shape mismatch",
    "not (J, 3)",
    "non-finite keypoints",
    "no reference camera",
    "no valid modality",
    "no visible joint",
)
"""Why a sample is dropped, by code; 0 is kept."""
KEPT, MISSING, MISMATCH, NOT_JOINTS, NON_FINITE, NO_REFERENCE, NO_MODALITY, HIDDEN = range(len(REASONS))
PER_MODALITY = "pred_keypoints_"


@dataclass(frozen=True)
class Predictions:
    """What a file holds, every sample in its place; a sample that cannot be scored has the code of its reason."""

    path: Path
    ids: tuple[str, ...] | None
    prediction: Array
    truth: Array
    reasons: Array
    cameras: Mapping[str, Cameras]
    """``pred`` and ``gt``."""
    by_modality: Mapping[str, Array] = field(default_factory=dict)
    seen: Array | None = None
    """Visible joints ``(N, J)``; None where all are. Hidden ones lie at the mean of the others."""

    @property
    def has_cameras(self) -> bool:
        """Whether the file has a field of cameras at all, usable or not."""
        return any(found.key for found in self.cameras.values())

    def __len__(self) -> int:
        return len(self.prediction)

    def take(self, rows: Array) -> Predictions:
        """Return the samples in another order."""
        return replace(
            self,
            ids=None if self.ids is None else tuple(self.ids[row] for row in rows),
            prediction=self.prediction[rows],
            truth=self.truth[rows],
            reasons=self.reasons[rows],
            cameras={side: found.take(rows) for side, found in self.cameras.items()},
            by_modality={name: joints[rows] for name, joints in self.by_modality.items()},
            seen=None if self.seen is None else self.seen[rows],
        )

    def to_metres(self, metres: float) -> Predictions:
        """Return the samples of a file in another unit with all lengths in metres: joints, translations of cameras."""
        if metres == 1.0:
            return self
        return replace(
            self,
            prediction=np.multiply(self.prediction, metres, dtype=np.float64),
            truth=np.multiply(self.truth, metres, dtype=np.float64),
            cameras={side: replace(found, metres=metres) for side, found in self.cameras.items()},
            by_modality={
                name: np.multiply(joints, metres, dtype=np.float64) for name, joints in self.by_modality.items()
            },
        )

    def hide(self, seen: Array) -> Predictions:
        """Return the samples with only some joints visible: ``(N,)`` for whole samples, or ``(N, J)``."""
        shape = self.truth.shape[:2]
        shown = np.ascontiguousarray(np.broadcast_to(seen[:, np.newaxis] if seen.ndim == 1 else seen, shape))
        if shown.all():
            return self
        truth, prediction = _fill_hidden(self.truth, shown), _fill_hidden(self.prediction, shown)
        reasons = self.reasons.copy()
        judged = np.isin(reasons, (KEPT, NON_FINITE))  # a joint that is hidden may hold anything
        fine = finite(truth) & finite(prediction)
        reasons[judged] = np.where(fine, KEPT, NON_FINITE)[judged]
        reasons[~shown.any(axis=1)] = HIDDEN
        joints = {name: _fill_hidden(own, shown) for name, own in self.by_modality.items()}
        return replace(self, truth=truth, prediction=prediction, reasons=reasons, by_modality=joints, seen=shown)

    def content(self, row: int) -> tuple[str, bytes]:
        """Return the id and all that the file holds of one sample; rows that are equal in it are interchangeable."""
        joints = (self.truth, self.prediction, *self.by_modality.values())
        held = [side[row].astype(np.float64).tobytes() for side in joints]
        return self.ids[row] if self.ids else "", b"".join(held + [c.content(row) for c in self.cameras.values()])


def read(
    path: str | os.PathLike[str],
    *,
    prediction: str = "pred_keypoints",
    truth: str = "gt_keypoints",
    prediction_cameras: str = "pred_cameras_stream",
    truth_cameras: str = "gt_cameras_stream",
    columns: Mapping[str, int] | None = None,
    modalities: Sequence[str] = (),
    mask: str = "",
) -> Predictions:
    """Read a prediction file; the names of its fields may differ from the usual ones.

    Of joints by modality, only those of the named modalities are looked at. ``mask`` names the field of what is valid,
    ``(N,)`` or ``(N, J)``.
    """
    fields = Watched(_fields(Path(path)))
    where = shown(path)
    for name in (prediction, truth):
        if name not in fields:
            raise InputError(f"{where}: no field {name!r}; it has {some(sorted(fields))}; name it, or add it")
    n = _length(fields[prediction], f"{where}: {prediction}")
    if not n:
        raise InputError(f"{where}: {prediction} holds no samples; give at least one")
    _same_length(fields, (prediction, truth), n, where)
    if mask and mask not in fields:
        raise InputError(f"{where}: no field {mask!r} for --mask; it has {some(sorted(fields))}")
    predicted, true, reasons = _joints(fields[prediction], fields[truth], n, where, (prediction, truth))
    cameras = {
        side: streams.find(fields, asked, side, n, where, columns or {})
        for side, asked in (("pred", prediction_cameras), ("gt", truth_cameras))
    }
    extra = {}
    for modality in modalities:
        name = next((key for key in fields if key.lower() == f"{PER_MODALITY}{modality}"), "")
        if name and name not in (prediction, truth):
            _same_length(fields, (prediction, name), n, where)
            extra[modality] = _aligned(fields[name], n, predicted.shape[1], f"{where}: {name}")
    ids = _ids(fields, n, where)
    found = Predictions(Path(path), ids, predicted, true, reasons, cameras, extra)
    if mask:
        found = found.hide(to_mask(fields[mask], predicted.shape, f"{where}: {mask}"))
    note(path, fields.untaken())
    return found


def write(path: str | os.PathLike[str], fields: Mapping[str, Any]) -> None:
    """Write a prediction file as ``.npz`` without pickle; see the module's text for the fields.

    >>> import tempfile, os
    >>> file = os.path.join(tempfile.mkdtemp(), "predictions.npz")
    >>> joints = np.zeros((2, 17, 3), dtype=np.float32)
    >>> write(file, {"sample_ids": ["p1_a1_0", "p1_a1_1"], "pred_keypoints": joints, "gt_keypoints": joints})
    >>> len(read(file))
    2
    """
    arrays = {name: np.asarray(value) for name, value in fields.items() if value is not None}
    wrong = [name for name, array in arrays.items() if array.dtype.hasobject]
    if wrong:
        raise InputError(
            f"{shown(path)}: field {some(wrong)} is ragged or holds None; write missing cameras and joints as NaN"
        )
    if Path(path).suffix != ".npz":
        raise InputError(f"{shown(path)}: expected a name that ends in .npz")
    with replacing(path) as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


def _fill_hidden(joints: Array, seen: Array) -> Array:
    """Return joints with those that are hidden at the mean of the visible ones, so that no size depends on them."""
    filled = np.array(joints, dtype=np.float64)
    filled[~seen] = 0.0
    middle = filled.sum(axis=1) / np.maximum(seen.sum(axis=1), 1)[:, np.newaxis]
    filled[~seen] = np.broadcast_to(middle[:, np.newaxis], filled.shape)[~seen]
    return filled


def _fields(path: Path) -> dict[str, Any]:
    suffix = path.suffix.lower()
    if suffix == ".npz":
        value: Any = read_npz(path, objects=True)
    elif suffix in (".pkl", ".pickle"):
        value = read_pickle(path)
    else:
        raise InputError(f"{shown(path)}: expected a .npz, .pkl or .pickle file; save the predictions as .npz")
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
        raise InputError(f"{shown(path)}: expected a mapping from field names to arrays, got {type(value).__name__}")
    opened = {name: _opened(item) for name, item in value.items()}
    return {name: item for name, item in opened.items() if item is not None}


def _opened(value: Any) -> Any:
    """Return what a 0-d array of one object stands for."""
    return value.item() if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.hasobject else value


def _length(value: Any, where: str) -> int:
    if not isinstance(value, (list, tuple)) and not (isinstance(value, np.ndarray) and value.ndim):
        raise InputError(f"{where}: got {type(value).__name__}, expected one item for each sample")
    return len(value)


def _same_length(fields: Mapping[str, Any], names: Sequence[str], n: int, where: str) -> None:
    for name in names:
        found = _length(fields[name], f"{where}: {name}")
        if found != n:
            raise InputError(f"{where}: {name} has {found} items, but {names[0]} has {n}; give one for each sample")


def _ids(fields: Mapping[str, Any], n: int, where: str) -> tuple[str, ...] | None:
    if "sample_ids" not in fields:
        return None
    value = fields["sample_ids"]
    found = _length(value, f"{where}: sample_ids")
    if found != n:
        raise InputError(f"{where}: {found} sample_ids for {n} samples; give one for each")
    if isinstance(value, np.ndarray) and value.dtype.kind == "U":
        return tuple(value.tolist())
    listed = value.tolist() if isinstance(value, np.ndarray) else list(value)
    return tuple(item if isinstance(item, str) else _text(item) for item in listed)


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _joints(pred: Any, true: Any, n: int, where: str, names: tuple[str, str]) -> tuple[Array, Array, Array]:
    """Return both sides as ``(N, J, 3)`` and the reason of every sample that does not fit."""
    plain = [_plain(side, f"{where}: {name}") for side, name in zip((pred, true), names, strict=True)]
    if plain[0] is not None and plain[1] is not None and plain[0].shape == plain[1].shape:
        reasons = np.where(finite(plain[0]) & finite(plain[1]), KEPT, NON_FINITE).astype(np.uint8)
        return plain[0], plain[1], reasons
    items = [[_skeleton(side[i]) for i in range(n)] for side in (pred, true)]
    reasons = np.array([_reason(p, g) for p, g in zip(*items, strict=True)], dtype=np.uint8)
    sizes = Counter(len(p) for p, reason in zip(items[0], reasons, strict=True) if reason in (KEPT, NON_FINITE))
    if not sizes:
        shapes = [_shapes(side) for side in items]
        raise InputError(
            f"{where}: no sample has joints (J, 3) of one shape on both sides: {names[0]} has {shapes[0]}, {names[1]} "
            f"has {shapes[1]}; give both sides the same joints"
        )
    joints = sizes.most_common(1)[0][0]
    out = [np.full((n, joints, 3), np.nan) for _ in items]
    for index in range(n):
        if reasons[index] in (KEPT, NON_FINITE) and len(items[0][index]) != joints:
            reasons[index] = MISMATCH
        for side in (0, 1):  # what one side lacks does not change what the other is
            item = items[side][index]
            if item is not None and item.shape == (joints, 3):
                out[side][index] = item
    return out[0], out[1], reasons


def _shapes(items: Sequence[Any]) -> str:
    """Name the shapes of one side."""
    return some(dict.fromkeys("nothing" if item is None else str(item.shape) for item in items), show=3)


def _plain(value: Any, where: str) -> Array | None:
    """Return a whole array of joints, or None where it is ragged."""
    if not isinstance(value, np.ndarray) or value.dtype.hasobject:
        return None
    if value.dtype.kind not in "fiu" or value.ndim not in (3, 4) or value.shape[-1] != 3 or 0 in value.shape[1:]:
        raise InputError(f"{where}: got {value.dtype} {value.shape}, expected numbers (N, J, 3) in metres")
    value = value[:, -1] if value.ndim == 4 else value
    return np.asarray(value if value.dtype in (np.float32, np.float64) else value.astype(np.float64))


def _skeleton(item: Any) -> Any:
    """Return one sample as floats: None where it is missing, whatever shape it has."""
    if item is None:
        return None
    try:
        array = np.asarray(item, dtype=np.float64)
    except (TypeError, ValueError):
        return np.empty(0)
    return array[-1] if array.ndim == 3 and len(array) else array


def _reason(pred: Any, true: Any) -> int:
    if pred is None or true is None:
        return MISSING
    if pred.shape != true.shape:
        return MISMATCH
    if pred.ndim != 2 or pred.shape[1] != 3 or not len(pred):
        return NOT_JOINTS
    return KEPT if all((np.abs(side) < LARGEST).all() for side in (pred, true)) else NON_FINITE


def _aligned(value: Any, n: int, joints: int, where: str) -> Array:
    plain = _plain(value, where)
    if plain is not None and plain.shape[1] == joints:
        return plain
    out = np.full((n, joints, 3), np.nan)
    for index in range(n):
        item = _skeleton(value[index])
        if item is not None and item.shape == (joints, 3):
            out[index] = item
    return out
