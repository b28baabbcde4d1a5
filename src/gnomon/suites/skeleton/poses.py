"""Camera poses in bulk: decoded, chained, inverted, applied; and the reference pose of each sequence.

A pose maps ``x_camera = R x_world + t``. Rows stand for samples or for sequences; a row that is not ``ok`` holds the
identity and is never used.

References of a sequence
------------------------
``first``      the first usable camera, in the order that is given
``medoid``     the usable camera with the smallest sum of distances to the others; a distance is the metres between the
               translations plus the radians between the rotations. Both sides take the same frame, by the sums of both,
               where there is one: cameras that move make two frames incomparable.
``mean``       the mean translation and the chordal mean rotation of the usable cameras (Markley et al., 2007)
``per_frame``  every sample has its own
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gnomon.core.tallies import Array
from gnomon.numerics import rigid, rotations

MOST_OTHERS = 512
"""A medoid is judged by its distances to so many cameras of the sequence, evenly spaced where there are more."""
_BLOCK = 512
"""Rows of a larger table of distances at a time."""


@dataclass(frozen=True)
class Poses:
    """Rotations ``(K, 3, 3)``, translations ``(K, 3)``, and which of them can be used."""

    rotations: Array
    translations: Array
    ok: Array

    @staticmethod
    def decode(encodings: Array) -> Poses:
        """Return ``(K, 9)`` encodings as poses; usable are those with finite T and q and a q that is not zero."""
        return Poses(*rigid.decode(encodings, rotations.SHORTEST))

    @staticmethod
    def none(size: int) -> Poses:
        """Return rows of which none can be used."""
        return Poses(np.broadcast_to(np.eye(3), (size, 3, 3)), np.zeros((size, 3)), np.zeros(size, dtype=bool))

    def __len__(self) -> int:
        return len(self.ok)

    def take(self, rows: Array) -> Poses:
        """Return some rows; a negative row stands for none."""
        ok = self.ok[rows] & (rows >= 0)
        return Poses(self.rotations[rows], self.translations[rows], ok)

    def inverse(self) -> Poses:
        """Return the poses that undo these."""
        back = self.rotations.transpose(0, 2, 1)
        return Poses(back, -_apply(back, self.translations), self.ok)

    def after(self, first: Poses) -> Poses:
        """Return the poses that do `first`, then these."""
        moved = _apply(self.rotations, first.translations) + self.translations
        return Poses(self.rotations @ first.rotations, moved, self.ok & first.ok)

    def project(self, joints: Array) -> Array:
        """Return joints ``(K, J, 3)`` in the frames of the cameras."""
        rows = np.arange(len(joints))
        return rigid.project(joints, rows, self.rotations, self.translations, rows)

    def centres(self) -> Array:
        """Return where the cameras stand in the world."""
        return self.inverse().translations


def references(poses: Poses, codes: Array, count: int, kind: str) -> Poses:
    """Return the reference of every sequence (of every sample for ``per_frame``).

    Parameters
    ----------
    poses
        One per sample, in the order in which a first one is looked for.
    codes
        The sequence of each sample.
    count
        How many sequences there are.
    kind
        One of those above.
    """
    if kind == "per_frame":
        return poses
    if kind == "first":
        usable = np.flatnonzero(poses.ok)
        found, places = np.unique(codes[usable], return_index=True)
        rows = np.full(count, -1)
        rows[found] = usable[places]
        return poses.take(rows)
    if kind == "medoid":
        return poses.take(medoid_rows(codes, count, poses))
    parts = split(np.where(poses.ok, codes, -1), count)
    means = [_mean(poses, rows) for rows in parts]
    ok = np.array([len(rows) > 0 for rows in parts])
    return Poses(np.array([turn for turn, _ in means]), np.array([move for _, move in means]), ok)


def medoid_rows(codes: Array, count: int, *sides: Poses) -> Array:
    """Return the row of every sequence's medoid, by the distances of all sides; -1 where none has them all usable."""
    usable = np.logical_and.reduce([poses.ok for poses in sides])
    parts = split(np.where(usable, codes, -1), count)
    return np.array([_medoid(sides, rows) if len(rows) else -1 for rows in parts], dtype=np.int64)


def medoids(poses: Poses, codes: Array, count: int, rows: Array) -> Poses:
    """Return the camera of the given row of every sequence; where it cannot be used, the sequence's own medoid."""
    given = poses.take(rows)
    own = rows if given.ok.all() else medoid_rows(np.where(given.ok[codes], -1, codes), count, poses)
    return poses.take(np.where(given.ok, rows, own))


def split(codes: Array, count: int) -> list[Array]:
    """Return the rows of each code 0 .. count - 1, in their order; rows of other codes are left out."""
    order = np.argsort(codes, kind="stable")
    edges = np.searchsorted(codes[order], np.arange(count + 1))
    return [order[a:b] for a, b in itertools.pairwise(edges)]


def mean_rotation(turns: Array, weights: Array | None = None) -> Array:
    """Return the rotation with the smallest (weighted) sum of squared chordal distances to `turns`."""
    total = turns.mean(axis=0) if weights is None else np.tensordot(weights, turns, axes=1)
    left, _, right = np.linalg.svd(total)
    flip = np.sign(np.linalg.det(left @ right)) or 1.0
    return np.asarray(left * np.array([1.0, 1.0, flip]) @ right)


def spread(poses: Poses, codes: Array, count: int) -> tuple[Array, Array]:
    """Return how far the cameras of each sequence are from its first, at most: metres between centres, degrees."""
    first = references(poses, codes, count, "first")
    used = poses.ok & first.ok[codes]
    apart = np.linalg.norm(poses.centres() - first.centres()[codes], axis=1)
    angle = np.degrees(rotations.angles_of(poses.rotations, first.rotations[codes]))
    out = []
    for values in (apart, angle):
        largest = np.zeros(count)
        np.maximum.at(largest, codes[used], values[used])
        out.append(largest)
    return out[0], out[1]


def _apply(turns: Array, points: Array) -> Array:
    return np.asarray(np.einsum("kij,kj->ki", turns, points))


def _medoid(sides: Sequence[Poses], rows: Array) -> int:
    sums = np.zeros(len(rows))
    for poses in sides:
        own = poses.rotations[rows], poses.translations[rows]
        if len(rows) <= MOST_OTHERS:
            sums += rigid.pairwise(own, own).sum(axis=1)
            continue
        others = np.linspace(0, len(rows) - 1, MOST_OTHERS).round().astype(np.int64)
        seen = own[0][others], own[1][others]
        for start in range(0, len(rows), _BLOCK):
            part = slice(start, start + _BLOCK)
            sums[part] += rigid.pairwise((own[0][part], own[1][part]), seen).sum(axis=1)
    return int(rows[np.argmin(sums)])


def _mean(poses: Poses, rows: Array) -> tuple[Array, Array]:
    if not len(rows):
        return np.eye(3), np.zeros(3)
    return mean_rotation(poses.rotations[rows]), poses.translations[rows].mean(axis=0)
