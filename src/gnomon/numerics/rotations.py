"""Rotations and rigid transforms, any number at once, in float64.

Conventions
-----------
- Quaternions are ``(..., 4)`` in the order x, y, z, w: scalar last. They need not be of length 1; one that is not
  finite or shorter than :data:`SHORTEST` is no rotation. ``q`` and ``-q`` are the same rotation.
- A rigid transform is ``(R, t)``, ``(..., 3, 3)`` and ``(..., 3)``, and maps ``x`` to ``R x + t``. Leading axes
  broadcast.
- Angles are in radians, in [0, pi], by ``2 atan2(|v|, |w|)`` of quaternions and by ``atan2`` of sine and cosine of
  matrices: the arc cosine of a trace cannot tell angles below 1e-8 (below .02 degrees in float32) from 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
from gnomon.numerics import rigid

SHORTEST = 1e-12
"""A quaternion shorter than this has no direction."""

Rigid = tuple[Array, Array]


def unit_quaternions(quaternions: Any) -> tuple[Array, Array]:
    """Return quaternions of length 1, and a mask of those that are rotations; the others hold NaN.

    >>> unit, valid = unit_quaternions([[0, 0, 0, -2.0], [0, 0, 0, 0]])
    >>> unit[0].tolist(), valid.tolist()
    ([0.0, 0.0, 0.0, -1.0], [True, False])
    """
    given = _shaped(quaternions, (4,), "quaternions")
    unit, valid = rigid.units(given.reshape(-1, 4), SHORTEST)
    return unit.reshape(given.shape), valid.reshape(given.shape[:-1])


def from_quaternions(quaternions: Any) -> tuple[Array, Array]:
    """Return rotation matrices ``(..., 3, 3)``, and a mask of where there is one; the others hold NaN.

    >>> matrices, _ = from_quaternions([0, 0, 1, 1])
    >>> matrices.round(12).tolist()
    [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    unit, valid = unit_quaternions(quaternions)
    return rigid.matrices(unit.reshape(-1, 4)).reshape(*unit.shape[:-1], 3, 3), valid


def to_quaternions(matrices: Any) -> Array:
    """Return the unit quaternions of rotation matrices, from the largest of their four components.

    >>> to_quaternions([[0, -1, 0], [1, 0, 0], [0, 0, 1]]).round(6).tolist()
    [0.0, 0.0, 0.707107, 0.707107]
    """
    r = _shaped(matrices, (3, 3), "rotations")
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = np.moveaxis(r, (-2, -1), (0, 1))
    # Four times the outer product of (x, y, z, w) with itself; its largest column is safe to divide by.
    columns = [
        [1 + xx - yy - zz, yx + xy, zx + xz, zy - yz],
        [yx + xy, 1 - xx + yy - zz, zy + yz, xz - zx],
        [zx + xz, zy + yz, 1 - xx - yy + zz, yx - xy],
        [zy - yz, xz - zx, yx - xy, 1 + xx + yy + zz],
    ]
    outer = np.stack([np.stack(column, axis=-1) for column in columns], axis=-2)
    best = np.einsum("...ii->...i", outer).argmax(axis=-1)
    column = np.take_along_axis(outer, best[..., np.newaxis, np.newaxis], axis=-2)[..., 0, :]
    return np.asarray(column / np.linalg.norm(column, axis=-1, keepdims=True))


def angles_between(a: Any, b: Any) -> Array:
    """Return the angles of the rotations that lead from quaternions to others; NaN where either is no rotation.

    >>> round(float(angles_between([0, 0, 0, 1], [0, 0, 1, 1])), 6)
    1.570796
    """
    (first, _), (second, _) = unit_quaternions(a), unit_quaternions(b)
    first, second = np.broadcast_arrays(first, second)
    v, w = first[..., :3], first[..., 3:]
    u, s = second[..., :3], second[..., 3:]
    vector = w * u - s * v - np.cross(v, u)
    scalar = (first * second).sum(axis=-1)
    return np.asarray(2 * np.arctan2(np.linalg.norm(vector, axis=-1), np.abs(scalar)))


def angles_of(a: Any, b: Any) -> Array:
    """Return the angles of the rotations that lead from rotation matrices to others."""
    first, second = _shaped(a, (3, 3), "rotations"), _shaped(b, (3, 3), "rotations")
    if first.shape != second.shape:  # in memory of their own: compiled code may not be given what numpy lends
        first, second = (np.array(side) for side in np.broadcast_arrays(first, second))
    return rigid.angles(first.reshape(-1, 3, 3), second.reshape(-1, 3, 3)).reshape(first.shape[:-2])


def inverse(transform: Rigid) -> Rigid:
    """Return the transforms that undo others."""
    rotation, translation = transform
    back = np.swapaxes(_shaped(rotation, (3, 3), "rotations"), -1, -2)
    return back, -_turned(back, _shaped(translation, (3,), "translations"))


def compose(after: Rigid, before: Rigid) -> Rigid:
    """Return the transforms that apply ``before``, then ``after``."""
    rotation = _shaped(after[0], (3, 3), "rotations")
    turned = _turned(rotation, _shaped(before[1], (3,), "translations"))
    return rotation @ _shaped(before[0], (3, 3), "rotations"), turned + after[1]


def transformed(transform: Rigid, points: Any) -> Array:
    """Apply transforms ``(...)`` to points ``(..., J, 3)``."""
    rotation, translation = _shaped(transform[0], (3, 3), "rotations"), _shaped(transform[1], (3,), "translations")
    return np.asarray(points @ np.swapaxes(rotation, -1, -2) + translation[..., np.newaxis, :])


def _turned(rotation: Array, vectors: Array) -> Array:
    return np.asarray((rotation @ vectors[..., np.newaxis])[..., 0])


def _shaped(values: Any, tail: tuple[int, ...], where: str) -> Array:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{where}: expected numbers of shape (..., {_sizes(tail)}): {error}") from error
    if array.shape[-len(tail) :] != tail:
        raise InputError(f"{where}: expected shape (..., {_sizes(tail)}), but got {array.shape}")
    return array


def _sizes(tail: tuple[int, ...]) -> str:
    return ", ".join(map(str, tail))
