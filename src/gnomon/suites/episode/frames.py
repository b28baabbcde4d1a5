"""Positions with the coordinate frame that they are in, and the poses that move them to another.

Conventions
-----------
- Frames are ``world`` (gravity-aligned, fixed for an episode), ``camera`` (left rectified stereo camera) and ``body``
  (the headset's inertial sensor). Metres.
- A pose maps the world to the camera: ``x_camera = R x_world + t``.
- Validity is by frame of the recording; what is not finite, or further away than any recording reaches, is not valid.
  Values that are not valid are zeros and stand for nothing.
- Arithmetic between positions in different frames is refused: a hand in the camera's frame minus a root in the
  world's is no position at all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.tallies import Array

WORLD, CAMERA, BODY = "world", "camera", "body"
FRAMES = (WORLD, CAMERA, BODY)
FARTHEST_M = 1e5
"""Beyond this no position of an episode has ever been."""


@dataclass(frozen=True, eq=False)
class Poses:
    """Poses of the camera by frame: rotation ``(n, 3, 3)``, translation ``(n, 3)``, valid ``(n,)``; world to camera."""

    rotation: Array
    translation: Array
    valid: Array

    def __post_init__(self) -> None:
        n = len(self.valid)
        _check("rotation", self.rotation, (n, 3, 3))
        _check("translation", self.translation, (n, 3))
        proper = np.isfinite(self.rotation).all(axis=(1, 2)) & (np.abs(self.translation) <= FARTHEST_M).all(axis=1)
        valid = np.asarray(self.valid, dtype=np.bool_) & proper
        _keep(self, valid, rotation=self.rotation, translation=self.translation)

    def __len__(self) -> int:
        return len(self.valid)


@dataclass(frozen=True, eq=False)
class Points:
    """Joints by frame: xyz ``(n, joints, 3)`` in metres, valid ``(n,)``, and the coordinate frame they are in."""

    xyz: Array
    valid: Array
    frame: str

    def __post_init__(self) -> None:
        if self.frame not in FRAMES:
            raise InputError(f"coordinate frame {self.frame!r}: expected one of {', '.join(FRAMES)}")
        joints = np.shape(self.xyz)[1] if np.ndim(self.xyz) == 3 else 1
        _check("xyz", self.xyz, (len(self.valid), joints, 3))
        largest = np.abs(self.xyz).reshape(len(self.valid), joints * 3).max(axis=1, initial=0.0)  # NaN stays NaN
        valid = np.asarray(self.valid, dtype=np.bool_) & (largest <= FARTHEST_M)
        _keep(self, valid, xyz=self.xyz)

    def __len__(self) -> int:
        return len(self.valid)

    def joint(self, index: int) -> Points:
        """Return one joint, as ``(n, 1, 3)``."""
        return Points(self.xyz[:, [index]], self.valid, self.frame)

    def minus(self, origin: Points) -> Points:
        """Return positions relative to an origin of one joint, or to as many joints, in the same frame.

        The axes stay those of the frame; a frame is valid where both are.

        Raises
        ------
        InputError
            The two are in different coordinate frames, or do not fit each other.
        """
        if self.frame != origin.frame:
            raise InputError(
                f"positions in the {self.frame} frame minus positions in the {origin.frame} frame mean nothing; move "
                f"one of them first, with to_{origin.frame}(poses) or to_{self.frame}(poses)"
            )
        joints = self.xyz.shape[1]
        if len(self) != len(origin) or origin.xyz.shape[1] not in (1, joints):
            raise InputError(
                f"expected an origin of {len(self)} frames and 1 or {joints} joints, but got {len(origin)} frames and "
                f"{origin.xyz.shape[1]} joints"
            )
        return Points(self.xyz - origin.xyz, self.valid & origin.valid, self.frame)

    def to_world(self, poses: Poses) -> Points:
        """Return the same points in the world frame; not valid where the pose is not."""
        if self.frame == WORLD:
            return self
        self._check_movable(poses, WORLD)
        from gnomon.suites.episode import _moving  # compiled

        moved = np.empty_like(self.xyz)
        _moving.to_world(poses.rotation, poses.translation, self.xyz, moved)
        return Points(moved, self.valid & poses.valid, WORLD)

    def to_camera(self, poses: Poses) -> Points:
        """Return the same points in the frame of the camera; not valid where the pose is not."""
        if self.frame == CAMERA:
            return self
        self._check_movable(poses, CAMERA)
        moved = np.einsum("nij,nkj->nki", poses.rotation, self.xyz) + poses.translation[:, None]
        return Points(moved, self.valid & poses.valid, CAMERA)

    def _check_movable(self, poses: Poses, target: str) -> None:
        if self.frame == BODY:
            raise InputError(f"positions in the body frame: poses of the camera cannot move them to the {target} frame")
        if len(poses) != len(self):
            raise InputError(f"expected a pose for each of {len(self)} frames, but got {len(poses)}")


def rotations(quaternions: Array) -> tuple[Array, Array]:
    """Return rotation matrices ``(n, 3, 3)`` of quaternions ``(n, 4)``, w first, of any length, and which are valid.

    A quaternion of length zero, or that is not finite, stands for no rotation: its matrix is zeros.

    >>> rotations(np.array([[2.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]))[1].tolist()
    [True, False]
    """
    given = np.asarray(quaternions, dtype=np.float64)
    largest = np.abs(given).max(axis=1, initial=0.0)
    valid = np.isfinite(given).all(axis=1) & (largest > 0)
    scale = np.where(valid, largest, 1.0)  # so that squares neither overflow nor vanish
    unit = np.where(valid[:, None], given, (1.0, 0.0, 0.0, 0.0)) / scale[:, None]
    w, x, y, z = (unit / np.linalg.norm(unit, axis=1, keepdims=True)).T
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    matrices = np.moveaxis(np.array(rows), 2, 0)
    return np.where(valid[:, None, None], matrices, 0.0), valid


def _check(name: str, value: Array, shape: tuple[int, ...]) -> None:
    if np.shape(value) != shape:
        raise InputError(f"{name}: expected the shape {shape}, but got {np.shape(value)}")


def _keep(owner: object, valid: Array, **values: Array) -> None:
    """Store arrays that cannot be written to, with zeros where they are not valid."""
    for name, value in values.items():
        clean = np.array(value, dtype=np.float64)
        if not valid.all():
            clean[~valid] = 0.0
        clean.setflags(write=False)
        object.__setattr__(owner, name, clean)
    valid.setflags(write=False)
    object.__setattr__(owner, "valid", valid)
