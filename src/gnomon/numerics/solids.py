"""Boxes in one form: a centre, three orthogonal axes and half the length along each.

Conventions
-----------
- ``(M, 6)`` holds the least corner, then the greatest: sides are parallel to the axes of coordinates.
- ``(M, 7)`` holds the centre, the lengths along the box's own x, y and z, and the yaw in radians: the angle from the x
  axis of coordinates to that of the box, counter-clockwise seen from above (z up).
- ``(M, 8, 3)`` holds the vertices, in any order. They are fitted by the box of their mean half-edges; a vertex may be
  off by :data:`TOLERANCE` of the diagonal, as rounded decimals are.
- A box has a volume: one without an extent along each of its axes is refused.

How a box stands decides how its overlap is computed: :data:`ALIGNED` with the axes of coordinates, :data:`UPRIGHT` (an
axis along z), or :data:`TILTED`. An axis that is off by less than :data:`PARALLEL` is along.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.tallies import Array

ALIGNED, UPRIGHT, TILTED = 0, 1, 2
TOLERANCE = 1e-3
PARALLEL = 1e-12
LARGEST = 1e100
SHAPES = {(6,), (7,), (8, 3)}

_SIGNS = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
_TRIPLES = np.array(list(itertools.combinations(range(6), 3)))


@dataclass(frozen=True, eq=False)
class Solids:
    """Boxes: ``centre`` and ``half`` ``(M, 3)``, ``axes`` ``(M, 3, 3)`` (rows, of length 1), ``stand`` ``(M,)``.

    ``low`` and ``high`` ``(M, 3)`` bound each; ``volume`` is ``(M,)``. Of an upright box the last axis is along z.
    """

    centre: Array
    half: Array
    axes: Array
    stand: Array
    low: Array
    high: Array
    volume: Array

    def __len__(self) -> int:
        return len(self.centre)

    def corners(self) -> Array:
        """Return the vertices, ``(M, 8, 3)``.

        >>> solids([[0, 0, 0, 2, 2, 2]]).corners()[0, 0].tolist()
        [0.0, 0.0, 0.0]
        """
        edges = self.half[:, :, np.newaxis] * self.axes
        return np.asarray(self.centre[:, np.newaxis] + np.einsum("vk,mkx->mvx", _SIGNS, edges))

    def take(self, rows: Array) -> Solids:
        """Return some boxes."""
        return Solids(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))


def solids(geometry: Any, where: str = "boxes") -> Solids:
    """Read boxes in any of the three forms.

    Parameters
    ----------
    geometry
        ``(M, 6)`` min-max, ``(M, 7)`` centre-size-yaw or ``(M, 8, 3)`` vertices; nothing at all is no box.
    where
        What to call them in an error.

    Raises
    ------
    InputError
        Names the first box that is none, and what is wrong with it.

    Examples
    --------
    >>> solids([[0, 0, 0, 4, 2, 1, np.pi / 2]]).high.round(9).tolist()
    [[1.0, 2.0, 0.5]]
    """
    array = _numbers(geometry, where)
    if array.shape[1:] == (6,):
        return _from_extremes(array[:, :3], array[:, 3:], where)
    return _from_yaw(array, where) if array.shape[1:] == (7,) else _from_vertices(array, where)


def _numbers(geometry: Any, where: str) -> Array:
    try:
        array = np.asarray(geometry)
        if array.size and array.dtype.kind not in "fiu":
            raise TypeError(f"got {array.dtype}")
        array = array.astype(np.float64)
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(f"{where}: expected a regular array of numbers: {error}") from error
    if array.shape == (0,):
        return np.zeros((0, 6))
    if array.shape[1:] not in SHAPES:
        raise InputError(
            f"{where}: expected shape (M, 6) min-max, (M, 7) centre-size-yaw or (M, 8, 3) vertices, "
            f"but got {array.shape}"
        )
    # Of NaN nothing is true, so that a range is what tells it from numbers.
    within = (array >= -LARGEST) & (array <= LARGEST)
    if not within.all():
        _refuse(~np.isfinite(array), array, where, "holds a value that is not finite: {}; expected metres")
        _refuse(~within, array, where, "holds a value beyond any place: {}")
    return np.ascontiguousarray(array)


def _refuse(bad: Array, shown: Array | tuple[Array, Array], where: str, what: str) -> None:
    """Name the first box that is bad, or of which anything is; what is shown of it may come in two parts."""
    if bad.any():
        first = int(np.flatnonzero(bad.reshape(len(bad), -1).any(axis=1))[0])
        parts = shown if isinstance(shown, tuple) else (shown,)
        values = [value for part in parts for value in part[first].tolist()]
        raise InputError(f"{where}: box {first} {what.format(values)}")


def _from_extremes(low: Array, high: Array, where: str) -> Solids:
    both = low, high
    _refuse(low > high, both, where, "has a minimum above its maximum: {}; expected min x y z, max x y z")
    _refuse(low == high, both, where, "is flat: {}; expected an extent along x, y and z")
    axes = np.broadcast_to(np.eye(3), (len(low), 3, 3)).copy()
    stand = np.full(len(low), ALIGNED)
    whole = Solids((low + high) / 2, (high - low) / 2, axes, stand, low.copy(), high.copy(), np.zeros(0))
    return _checked(whole, where)


def _from_yaw(array: Array, where: str) -> Solids:
    _refuse(array[:, 3:6] <= 0, array, where, "has a length that is not above 0: {}")
    cos, sin, none = np.cos(array[:, 6]), np.sin(array[:, 6]), np.zeros(len(array))
    flat = np.stack([cos, sin, none, -sin, cos, none, none, none, none + 1], axis=1)
    return _placed(array[:, :3].copy(), array[:, 3:6] / 2, flat.reshape(-1, 3, 3), where)


def _from_vertices(array: Array, where: str) -> Solids:
    array = in_order(array)
    edges = _half_edges(array)
    half = np.sqrt((edges * edges).sum(axis=2))
    reach = np.sqrt((half * half).sum(axis=1))
    flat = half.min(axis=1, initial=np.inf) <= PARALLEL * reach
    _refuse(flat, array, where, "is flat or has a vertex twice: {}; expected the 8 vertices of a box")
    left, _, right = np.linalg.svd(edges / half[:, :, np.newaxis])
    box = _placed(array.mean(axis=1), half, left @ right, where)
    gaps = np.abs(array[:, :, np.newaxis] - box.corners()[:, np.newaxis]).max(axis=3)
    off = np.maximum(gaps.min(axis=1).max(axis=1, initial=0.0), gaps.min(axis=2).max(axis=1, initial=0.0))
    _refuse(
        off > 2 * TOLERANCE * reach, array, where, "has vertices that are not those of a box: {}; expected right angles"
    )
    low, high = array.min(axis=1), array.max(axis=1)
    exact = np.minimum(np.abs(array - low[:, np.newaxis]), np.abs(array - high[:, np.newaxis])).max(axis=(1, 2))
    aligned = exact <= PARALLEL * reach
    if aligned.any():
        straight = _from_extremes(low[aligned], high[aligned], where)
        for name in Solids.__dataclass_fields__:
            getattr(box, name)[aligned] = getattr(straight, name)
    return box


def in_order(vertices: Array) -> Array:
    """Return the vertices ``(M, 8, 3)`` of each box by z, y and x: the same bits, in whatever order they came."""
    order = np.lexsort(vertices.transpose(2, 0, 1), axis=-1)
    return np.take_along_axis(vertices, order[:, :, np.newaxis], axis=1)


def _half_edges(array: Array) -> Array:
    """Return half the mean edge along each axis, ``(M, 3, 3)``: the first vertex and its neighbours say which.

    Of the vertices but the first and the one opposite to it, three are at right angles to one another as seen from the
    first, and only they: the neighbours.
    """
    rows = np.arange(len(array))[:, np.newaxis]
    middle = array.mean(axis=1, keepdims=True)
    opposite = ((array + array[:, :1] - 2 * middle) ** 2).sum(axis=2)[:, 1:].argmin(axis=1, keepdims=True) + 1
    ends = (np.arange(8) == 0) | (np.arange(8) == opposite)
    away = (array - array[:, :1])[rows, np.argsort(ends, axis=1, kind="stable")[:, :6]]
    length = np.sqrt((away * away).sum(axis=2))
    length[length == 0] = 1.0
    unit = away / length[:, :, np.newaxis]
    cosines = np.abs(np.einsum("mix,mjx->mij", unit, unit))
    a, b, c = _TRIPLES.T
    skew = cosines[:, a, b] + cosines[:, a, c] + cosines[:, b, c]
    edges = away[rows, _TRIPLES[skew.argmin(axis=1)]]
    signs = np.sign(np.einsum("mvx,mkx->mvk", array - middle, edges))
    return np.asarray(np.einsum("mvk,mvx->mkx", signs, array - middle) / 8)


def _placed(centre: Array, half: Array, axes: Array, where: str) -> Solids:
    """Return boxes with their axes in order: of upright ones that along z last, of aligned ones that of coordinates."""
    near = np.abs(axes) < PARALLEL
    vertical = near[:, :, 0] & near[:, :, 1]
    straight = (near.sum(axis=2) == 2).all(axis=1)
    stand = np.where(straight, ALIGNED, np.where(vertical.any(axis=1), UPRIGHT, TILTED))
    order = np.argsort(vertical, axis=1, kind="stable")
    order[straight] = np.abs(axes[straight]).argmax(axis=1)
    rows = np.arange(len(centre))[:, np.newaxis]
    half, axes = half[rows, order], axes[rows, order]
    axes[straight] = np.eye(3)
    reach = (np.abs(axes) * half[:, :, np.newaxis]).sum(axis=1)
    low, high = centre - reach, centre + reach
    # Far away bounds are rounded; volumes must agree with the bounds wherever these are what is compared.
    compared = straight[:, np.newaxis] | ((stand == UPRIGHT)[:, np.newaxis] & (np.arange(3) == 2))
    half = np.where(compared, (high - low) / 2, half)
    return _checked(Solids(centre, half, axes, stand, low, high, np.zeros(0)), where)


def _checked(boxes: Solids, where: str) -> Solids:
    """Refuse boxes whose volume is not a positive number, and add it."""
    a, b, c = boxes.half.T  # a product of columns: along rows of three it would take several times as long
    with np.errstate(under="ignore"):
        volume = 8 * (a * b * c)
    ends, flat = (boxes.low, boxes.high), boxes.low >= boxes.high
    if not (volume > 0).all() or flat.any():
        wrong = ~(volume > 0) | flat.any(axis=1)
        _refuse(wrong, ends, where, "is too small for its place or to have a volume, from {}; expected metres")
    return Solids(boxes.centre, boxes.half, boxes.axes, boxes.stand, boxes.low, boxes.high, volume)
