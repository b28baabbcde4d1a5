"""Kernels over many samples for :mod:`gnomon.numerics.rotations` and :mod:`gnomon.numerics.kinematics`.

Each does in one pass, without arrays in between, what would take a dozen array operations.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gnomon.core.compiling import jit
from gnomon.core.tallies import Array

LARGEST = 1e150
"""Coordinates that are not below this cannot be squared."""

Posed = tuple[Array, Array]
"""Rotations and translations."""


def units(quaternions: Array, shortest: float) -> tuple[Array, Array]:
    """Return quaternions ``(N, 4)`` of length 1, and which are finite and not shorter than said; the others are NaN."""
    out, valid = np.empty((len(quaternions), 4)), np.empty(len(quaternions), dtype=np.bool_)
    _units(quaternions, shortest, out, valid)
    return out, valid


def decode(encodings: Array, shortest: float) -> tuple[Array, Array, Array]:
    """Return rotations, translations and which rows of encodings ``(N, 7+)`` are poses; the others are identities."""
    n = len(encodings)
    turns, moves, fine = np.empty((n, 3, 3)), np.empty((n, 3)), np.empty(n, dtype=np.bool_)
    _decode(encodings, shortest, turns, moves, fine)
    return turns, moves, fine


def matrices(unit: Array) -> Array:
    """Return the rotation matrices of unit quaternions ``(N, 4)``, scalar last; NaN for NaN."""
    out = np.empty((len(unit), 3, 3))
    _matrices(np.ascontiguousarray(unit, dtype=np.float64), out)
    return out


def angles(a: Array, b: Array) -> Array:
    """Return the angles between rotation matrices ``(N, 3, 3)``, by the sine and the cosine of each."""
    out = np.empty(len(a))
    _angles(np.ascontiguousarray(a, dtype=np.float64), np.ascontiguousarray(b, dtype=np.float64), out)
    return out


def pairwise(poses: Posed, others: Posed) -> Array:
    """Return how far rigid motions are from others, ``(N, M)``: metres between translations plus radians of the turn.

    Where ``others`` is ``poses`` itself, every pair is measured once.
    """
    out = np.empty((len(poses[0]), len(others[0])))
    sides = tuple(tuple(np.ascontiguousarray(part) for part in side) for side in (poses, others))
    _pairwise(sides, poses is others, out)
    return out


def apart(a: Array, b: Array, shortest: float) -> tuple[Array, Array, Array, Array]:
    """Compare encoded poses ``(N, 7+)``: translation, then a quaternion of any length.

    Returns
    -------
    tuple
        Angle between the rotations, distance of the translations, distance of the cameras' places ``-R^T T``, each
        ``(N,)`` and NaN where a side is no pose; and which rows of each side are poses, ``(2, N)``.
    """
    n = len(a)
    angle, moved, placed, fine = np.empty(n), np.empty(n), np.empty(n), np.empty((2, n), dtype=np.bool_)
    _apart(a, b, shortest, angle, moved, placed, fine)
    return angle, moved, placed, fine


def project(joints: Array, rows: Array, rotations: Array, translations: Array, at: Array) -> Array:
    """Return ``R[at] joints[rows] + t[at]``, ``(len(rows), J, 3)`` in float64; joints are read where they lie."""
    out = np.empty((len(rows), joints.shape[1], 3))
    _project(joints, rows, np.ascontiguousarray(rotations), np.ascontiguousarray(translations), at, out)
    return out


def gaps(truth: Array, prediction: Array, rows: Array, frames: tuple[Posed, Posed], at: Array) -> Array:
    """Return the distances ``(len(rows), J)`` of joints, each side moved as by :func:`project` into its own frames.

    ``frames`` are the rotations and translations of truth and prediction. Distances are those that the two projections
    would give, to the last bit, without holding either.
    """
    out = np.empty((len(rows), truth.shape[1]))
    turns, moves = (tuple(np.ascontiguousarray(side[part]) for side in frames) for part in (0, 1))
    _gaps((truth, prediction), rows, turns, moves, at, out)
    return out


def spans(joints: Array) -> Array:
    """Return the mean distance between any two joints ``(J, J)`` over samples ``(N, J, 3)`` in float64."""
    out = np.zeros((joints.shape[1], joints.shape[1]))
    _spans(joints, out)
    return out / len(joints)


def finite(joints: Array) -> Array:
    """Return which samples ``(N, J, 3)`` are finite throughout, and small enough to be squared."""
    out = np.empty(len(joints), dtype=np.bool_)
    _finite(joints, out)
    return out


def changes(truth: Array, prediction: Array, seen: Array, follows: Array) -> tuple[Array, Array]:
    """Return sums of norms of differences over frames, and how many were taken.

    Four kinds: first and second difference of the error, third difference of the prediction and of the truth. A frame
    that does not follow the one before it, and a joint that is not seen, break the chain.
    """
    sums, counts = np.zeros(4), np.zeros(4, dtype=np.int64)
    _changes(truth, prediction, seen, follows, sums, counts)
    return sums, counts


@jit
def _units(quaternions: Any, shortest: float, out: Any, valid: Any) -> None:
    for i in range(quaternions.shape[0]):
        largest, fine = 0.0, True
        for k in range(4):
            fine = fine and math.isfinite(quaternions[i, k])
            largest = max(largest, abs(quaternions[i, k]))
        square = 0.0
        if fine and largest > 0:
            for k in range(4):
                part = quaternions[i, k] / largest
                square += part * part
        size = math.sqrt(square)
        valid[i] = fine and size * largest >= shortest
        for k in range(4):
            out[i, k] = quaternions[i, k] / largest / size if valid[i] else np.nan


@jit
def _unit(pose: Any, shortest: float, out: Any) -> bool:
    """Write the unit quaternion of an encoded pose; say whether it is one."""
    largest, fine = 0.0, True
    for k in range(7):
        fine = fine and math.isfinite(pose[k])
    for k in range(3, 7):
        largest = max(largest, abs(pose[k]))
    if not fine or largest == 0:
        return False
    square = 0.0
    for k in range(4):
        out[k] = pose[3 + k] / largest
        square += out[k] * out[k]
    size = math.sqrt(square)
    for k in range(4):
        out[k] /= size
    return size * largest >= shortest


@jit
def _place(pose: Any, q: Any, out: Any) -> None:
    """Write where a camera stands: minus the translation, turned back."""
    x, y, z, w = -q[0], -q[1], -q[2], q[3]
    a, b, c = -float(pose[0]), -float(pose[1]), -float(pose[2])
    tx, ty, tz = 2 * (y * c - z * b), 2 * (z * a - x * c), 2 * (x * b - y * a)
    out[0] = a + w * tx + y * tz - z * ty
    out[1] = b + w * ty + z * tx - x * tz
    out[2] = c + w * tz + x * ty - y * tx


@jit
def _apart(a: Any, b: Any, shortest: float, angle: Any, moved: Any, placed: Any, fine: Any) -> None:
    p, q, here, there = np.empty(4), np.empty(4), np.empty(3), np.empty(3)
    for i in range(a.shape[0]):
        fine[0, i], fine[1, i] = _unit(a[i], shortest, p), _unit(b[i], shortest, q)
        if not (fine[0, i] and fine[1, i]):
            angle[i] = moved[i] = placed[i] = np.nan
            continue
        x = p[3] * q[0] - q[3] * p[0] - (p[1] * q[2] - p[2] * q[1])
        y = p[3] * q[1] - q[3] * p[1] - (p[2] * q[0] - p[0] * q[2])
        z = p[3] * q[2] - q[3] * p[2] - (p[0] * q[1] - p[1] * q[0])
        w = p[0] * q[0] + p[1] * q[1] + p[2] * q[2] + p[3] * q[3]
        angle[i] = 2 * math.atan2(math.sqrt(x * x + y * y + z * z), abs(w))
        _place(a[i], p, here)
        _place(b[i], q, there)
        step = gone = 0.0
        for k in range(3):
            step += (float(a[i, k]) - b[i, k]) ** 2
            gone += (here[k] - there[k]) ** 2
        moved[i], placed[i] = math.sqrt(step), math.sqrt(gone)


@jit
def _matrix(q: Any, out: Any) -> None:
    x, y, z, w = q[0], q[1], q[2], q[3]
    out[0, 0] = 1 - 2 * (y * y + z * z)
    out[0, 1] = 2 * (x * y - z * w)
    out[0, 2] = 2 * (x * z + y * w)
    out[1, 0] = 2 * (x * y + z * w)
    out[1, 1] = 1 - 2 * (x * x + z * z)
    out[1, 2] = 2 * (y * z - x * w)
    out[2, 0] = 2 * (x * z - y * w)
    out[2, 1] = 2 * (y * z + x * w)
    out[2, 2] = 1 - 2 * (x * x + y * y)


@jit
def _matrices(unit: Any, out: Any) -> None:
    for i in range(unit.shape[0]):
        _matrix(unit[i], out[i])


@jit
def _decode(encodings: Any, shortest: float, turns: Any, moves: Any, fine: Any) -> None:
    q = np.empty(4)
    for i in range(encodings.shape[0]):
        fine[i] = _unit(encodings[i], shortest, q)
        if not fine[i]:
            q[:] = 0.0
            q[3] = 1.0
        _matrix(q, turns[i])
        for k in range(3):
            moves[i, k] = encodings[i, k] if fine[i] else 0.0


@jit
def _angle(a: Any, b: Any, turn: Any) -> float:
    """Return the angle between two rotation matrices; ``turn`` is room for a third."""
    for row in range(3):
        for column in range(3):
            total = 0.0
            for k in range(3):
                total += a[row, k] * b[column, k]
            turn[row, column] = total
    x, y, z = turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]
    trace = turn[0, 0] + turn[1, 1] + turn[2, 2]
    return math.atan2(math.sqrt(x * x + y * y + z * z), trace - 1.0)


@jit
def _angles(a: Any, b: Any, out: Any) -> None:
    turn = np.empty((3, 3))
    for i in range(a.shape[0]):
        out[i] = _angle(a[i], b[i], turn)


@jit
def _pairwise(sides: Any, same: bool, out: Any) -> None:
    """Write the distances of poses to others; where they are the same, each pair is measured once."""
    (turns, moves), (other_turns, other_moves) = sides
    turn = np.empty((3, 3))
    for i in range(out.shape[0]):
        for j in range(i if same else 0, out.shape[1]):
            x = moves[i, 0] - other_moves[j, 0]
            y = moves[i, 1] - other_moves[j, 1]
            z = moves[i, 2] - other_moves[j, 2]
            out[i, j] = math.sqrt(x * x + y * y + z * z) + _angle(turns[i], other_turns[j], turn)
    if same:
        for i in range(out.shape[0]):
            for j in range(i):
                out[i, j] = out[j, i]


@jit
def _project(joints: Any, rows: Any, rotations: Any, translations: Any, at: Any, out: Any) -> None:
    for i in range(len(rows)):
        row, pose = rows[i], at[i]
        for j in range(joints.shape[1]):
            x, y, z = float(joints[row, j, 0]), float(joints[row, j, 1]), float(joints[row, j, 2])
            for k in range(3):
                turned = rotations[pose, k, 0] * x + rotations[pose, k, 1] * y + rotations[pose, k, 2] * z
                out[i, j, k] = turned + translations[pose, k]


@jit
def _lanes(joints: Any, row: int, turn: Any, move: Any, lanes: Any) -> None:
    """Write the joints of a sample, turned and moved, as three rows of lanes, one lane per joint.

    The first three rows of the six are room for the joints as they are.
    """
    size = joints.shape[1]
    for j in range(size):
        for k in range(3):
            lanes[k * size + j] = joints[row, j, k]
    for k in range(3):
        a, b, c, d = turn[k, 0], turn[k, 1], turn[k, 2], move[k]
        for j in range(size):
            turned = a * lanes[j] + b * lanes[size + j] + c * lanes[2 * size + j]
            lanes[(3 + k) * size + j] = turned + d


@jit
def _gaps(sides: Any, rows: Any, turns: Any, moves: Any, at: Any, out: Any) -> None:
    truth, prediction = sides
    size = truth.shape[1]
    one, two, far = np.empty(6 * size), np.empty(6 * size), np.empty(size)
    for i in range(len(rows)):
        row, pose = rows[i], at[i]
        _lanes(truth, row, turns[0][pose], moves[0][pose], one)
        _lanes(prediction, row, turns[1][pose], moves[1][pose], two)
        for j in range(3 * size, 4 * size):
            x, y, z = two[j] - one[j], two[size + j] - one[size + j], two[2 * size + j] - one[2 * size + j]
            far[j - 3 * size] = math.sqrt(x * x + y * y + z * z)
        for j in range(size):
            out[i, j] = far[j]


@jit
def _spans(joints: Any, out: Any) -> None:
    """Add up distances sample by sample: the order in which numpy sums over the first axis."""
    size = joints.shape[1]
    lanes = np.empty(3 * size)
    for i in range(joints.shape[0]):
        for j in range(size):
            for k in range(3):
                lanes[k * size + j] = joints[i, j, k]
        for a in range(size):
            x, y, z = lanes[a], lanes[size + a], lanes[2 * size + a]
            for b in range(a + 1, size):
                u, v, w = lanes[b] - x, lanes[size + b] - y, lanes[2 * size + b] - z
                out[a, b] += math.sqrt(u * u + v * v + w * w)
    for a in range(size):
        for b in range(a):
            out[a, b] = out[b, a]


@jit
def _finite(joints: Any, out: Any) -> None:
    for i in range(joints.shape[0]):
        fine = True
        for j in range(joints.shape[1]):
            for k in range(joints.shape[2]):
                fine = fine and abs(joints[i, j, k]) < LARGEST
        out[i] = fine


@jit
def _add(sums: Any, lost: Any, kind: int, value: float) -> None:
    """Add to a sum and keep what rounding takes from it (Neumaier, 1974)."""
    total = sums[kind] + value
    lost[kind] += (sums[kind] - total) + value if sums[kind] >= value else (value - total) + sums[kind]
    sums[kind] = total


@jit
def _changes(truth: Any, prediction: Any, seen: Any, follows: Any, sums: Any, counts: Any) -> None:
    lost = np.zeros(4)
    size = truth.shape[1]
    chain = np.zeros(size, dtype=np.int64)
    for i in range(truth.shape[0]):
        for j in range(size):
            if not seen[i, j]:
                chain[j] = 0
                continue
            chain[j] = min(chain[j] + 1, 4) if follows[i] else 1
            length = chain[j]
            first = second = third = still = 0.0
            for k in range(3):
                p0 = float(prediction[i, j, k])
                e0 = p0 - truth[i, j, k]
                if length > 1:
                    p1 = float(prediction[i - 1, j, k])
                    e1 = p1 - truth[i - 1, j, k]
                    first += (e0 - e1) ** 2
                if length > 2:
                    p2 = float(prediction[i - 2, j, k])
                    e2 = p2 - truth[i - 2, j, k]
                    second += (e0 - 2 * e1 + e2) ** 2
                if length > 3:
                    p3 = float(prediction[i - 3, j, k])
                    third += (p0 - 3 * p1 + 3 * p2 - p3) ** 2
                    true = float(truth[i, j, k]) - 3 * float(truth[i - 1, j, k])
                    still += (true + 3 * float(truth[i - 2, j, k]) - truth[i - 3, j, k]) ** 2
            if length > 1:
                _add(sums, lost, 0, math.sqrt(first))
                counts[0] += 1
            if length > 2:
                _add(sums, lost, 1, math.sqrt(second))
                counts[1] += 1
            if length > 3:
                _add(sums, lost, 2, math.sqrt(third))
                _add(sums, lost, 3, math.sqrt(still))
                counts[2] += 1
                counts[3] += 1
    for kind in range(4):
        sums[kind] += lost[kind]
