"""The kernel of :mod:`gnomon.numerics.procrustes`: Horn's closed form over blocks of samples.

The best rotation of centred points is the eigenvector, as a quaternion, of the largest eigenvalue of a symmetric 4 x 4
form (Horn, 1987). That eigenvalue is found by Newton's method on the characteristic polynomial from an upper bound
(Theobald, 2005), and the eigenvector as a column of the adjugate of ``form - eigenvalue``. A unit quaternion is never a
reflection. Where other eigenvalues come close and the adjugate vanishes, Jacobi's method takes over.

Samples go through in blocks of :data:`LANES`. Within a block every quantity is a row of lanes, one lane per sample, and
every inner loop runs along a row: that is what a compiler turns into vector instructions without reordering a sum. A
sample's result therefore depends on nothing but the sample: not on its place, its neighbours or the processor's
vectors. Rows lie in flat arrays at offsets known to the compiler, which spares it most checks for overlap: ``points``
(six rows per joint: truth, prediction), ``weights`` (1 where a joint is visible, else 0), ``far`` (distances, one row
per joint) and ``state``, whose rows are named below.

All of it is one file, because a compiled function that is kept on disk is renewed when its own file changes, not when
that of a function it calls does.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gnomon.core.compiling import jit_ieee

LANES = _L = 16
"""Lanes of a row: the rows of 24 joints still fit into the first-level cache."""

NONE, ROOT, RIGID, SIMILARITY, SCALE = range(5)
"""Codes of the alignments."""

_MEAN = 0  # 6: truth, prediction, relative to the first visible joint
_COUNT = 6 * _L  # visible joints
_CROSS = 7 * _L  # 9: sums of prediction times truth
_SPREAD = 16 * _L  # 2: sums of squares of truth and prediction
_APART = 18 * _L  # 3: centroid of the prediction minus that of the truth
_FORM = 21 * _L  # 10: upper triangle of the 4 x 4 form, over the product of both spreads' roots
_POLY = 31 * _L  # 3: coefficients of its characteristic polynomial, of degrees 0, 1, 2
_VALUE = 34 * _L  # its largest eigenvalue
_GOING = 35 * _L  # whether Newton's method still moves
_GAPS = 36 * _L  # product of the distances to the other eigenvalues
_QUATERNION = 37 * _L  # 4: scalar first
_TURN = 41 * _L  # 9: rotation, row by row
_SIZE = 50 * _L  # scale of the similarity
_ROOTS = 51 * _L  # 6: root of truth, of prediction, relative to their centroids
_MAP = 57 * _L  # 9: what is applied to the prediction: a factor and a shift, or a matrix
_TOTAL = 66 * _L  # sum of the distances
_ROWS = 67 * _L

_STEPS = 40
_STILL = 1e-13  # a step of Newton's method that is none
_NEAR = 1e-5  # product of gaps below which the adjugate has lost too many digits
_SWEEPS = 12
_LARGEST = 1e300  # of sums of squares


@jit_ieee
def _three(rows: Any, at: int) -> Any:
    """Return a lane of three rows that follow one another."""
    return rows[at], rows[at + _L], rows[at + 2 * _L]


@jit_ieee
def _put(rows: Any, at: int, x: float, y: float, z: float) -> None:
    """Write a lane of three rows that follow one another."""
    rows[at] = x
    rows[at + _L] = y
    rows[at + 2 * _L] = z


@jit_ieee
def _add(rows: Any, at: int, x: float, y: float, z: float) -> None:
    """Add to a lane of three rows that follow one another."""
    rows[at] += x
    rows[at + _L] += y
    rows[at + 2 * _L] += z


@jit_ieee
def _joint(joints: Any, i: int, j: int) -> Any:
    return np.float64(joints[i, j, 0]), np.float64(joints[i, j, 1]), np.float64(joints[i, j, 2])


@jit_ieee
def _gather(truth: Any, prediction: Any, mask: Any, masked: bool, block: Any, rows: Any) -> None:
    """Transpose a block into rows relative to each sample's first visible joint; what is hidden becomes 0."""
    first, lanes = block
    points, weights, _, state = rows
    joints = truth.shape[1]
    for lane in range(lanes):
        i = first + lane
        start = 0
        if masked:
            while start < joints - 1 and not mask[i, start]:
                start += 1
        a0, a1, a2 = _joint(truth, i, start)
        b0, b1, b2 = _joint(prediction, i, start)
        for j in range(joints):
            at = j * 6 * _L + lane
            x, y, z = _joint(truth, i, j)
            _put(points, at, x - a0, y - a1, z - a2)
            x, y, z = _joint(prediction, i, j)
            _put(points, at + 3 * _L, x - b0, y - b1, z - b2)
        if masked:
            for j in range(joints):
                seen = mask[i, j]
                weights[j * _L + lane] = 1.0 if seen else 0.0
                if not seen:
                    _put(points, j * 6 * _L + lane, 0.0, 0.0, 0.0)
                    _put(points, (j * 6 + 3) * _L + lane, 0.0, 0.0, 0.0)
        _put(state, _APART + lane, b0 - a0, b1 - a1, b2 - a2)


@jit_ieee
def _centre(joints: int, rows: Any) -> None:
    """Subtract centroids and sum squares and products."""
    points, weights, _, state = rows
    for lane in range(_APART):
        state[lane] = 0.0
    for j in range(joints):
        at = j * 6 * _L
        for lane in range(6 * _L):
            state[_MEAN + lane] += points[at + lane]
        for lane in range(_L):
            state[_COUNT + lane] += weights[j * _L + lane]
    for k in range(6):
        for lane in range(_L):
            state[_MEAN + k * _L + lane] /= state[_COUNT + lane]
    for j in range(joints):
        at = j * 6 * _L
        for lane in range(_L):
            w = weights[j * _L + lane]
            a0, a1, a2 = _three(points, at + lane)
            b0, b1, b2 = _three(points, at + 3 * _L + lane)
            x, y, z = _three(state, _MEAN + lane)
            a0, a1, a2 = (a0 - x) * w, (a1 - y) * w, (a2 - z) * w
            x, y, z = _three(state, _MEAN + 3 * _L + lane)
            b0, b1, b2 = (b0 - x) * w, (b1 - y) * w, (b2 - z) * w
            _put(points, at + lane, a0, a1, a2)
            _put(points, at + 3 * _L + lane, b0, b1, b2)
            _add(state, _CROSS + lane, b0 * a0, b0 * a1, b0 * a2)
            _add(state, _CROSS + 3 * _L + lane, b1 * a0, b1 * a1, b1 * a2)
            _add(state, _CROSS + 6 * _L + lane, b2 * a0, b2 * a1, b2 * a2)
            state[_SPREAD + lane] += a0 * a0 + a1 * a1 + a2 * a2
            state[_SPREAD + _L + lane] += b0 * b0 + b1 * b1 + b2 * b2
    for k in range(3):
        for lane in range(_L):
            state[_APART + k * _L + lane] += state[_MEAN + (k + 3) * _L + lane] - state[_MEAN + k * _L + lane]


@jit_ieee
def _find_roots(state: Any, points: Any, root: Any) -> None:
    """Write the roots relative to the centroids: the middle of two joints, perhaps the same."""
    for k in range(6):
        for lane in range(_L):
            one, two = points[(root[0] * 6 + k) * _L + lane], points[(root[1] * 6 + k) * _L + lane]
            state[_ROOTS + k * _L + lane] = 0.5 * (one + two)


@jit_ieee
def _characterise(state: Any) -> None:
    """Write Horn's form and its characteristic polynomial; its largest eigenvalue is at most 1."""
    for lane in range(_L):
        product = math.sqrt(state[_SPREAD + lane]) * math.sqrt(state[_SPREAD + _L + lane])
        some = product > 0.0
        inverse = 1.0 / product if some else 0.0
        xx, xy, xz = _three(state, _CROSS + lane)
        yx, yy, yz = _three(state, _CROSS + 3 * _L + lane)
        zx, zy, zz = _three(state, _CROSS + 6 * _L + lane)
        xx, xy, xz = xx * inverse, xy * inverse, xz * inverse
        yx, yy, yz = yx * inverse, yy * inverse, yz * inverse
        zx, zy, zz = zx * inverse, zy * inverse, zz * inverse
        a, b, c, d = xx + yy + zz, yz - zy, zx - xz, xy - yx
        e, f, g = xx - yy - zz, xy + yx, zx + xz
        h, i = yy - xx - zz, yz + zy
        k = zz - xx - yy
        state[_FORM + lane] = a
        _put(state, _FORM + _L + lane, b, c, d)
        _put(state, _FORM + 4 * _L + lane, e, f, g)
        _put(state, _FORM + 7 * _L + lane, h, i, k)
        squares = xx * xx + xy * xy + xz * xz + yx * yx + yy * yy + yz * yz + zx * zx + zy * zy + zz * zz
        volume = xx * (yy * zz - yz * zy) - xy * (yx * zz - yz * zx) + xz * (yx * zy - yy * zx)
        determinant = (a * e - b * b) * (h * k - i * i) - (a * f - b * c) * (f * k - g * i)
        determinant += (a * g - b * d) * (f * i - g * h) + (b * f - e * c) * (c * k - d * i)
        determinant += (c * g - f * d) * (c * g - f * d) - (b * g - e * d) * (c * i - d * h)
        _put(state, _POLY + lane, determinant, -8.0 * volume, -2.0 * squares)
        state[_VALUE + lane] = 1.0 if some else 0.0
        state[_GOING + lane] = 1.0 if some else 0.0


@jit_ieee
def _newton(state: Any) -> None:
    """Descend to the largest eigenvalue; a lane that has arrived is left alone."""
    for _ in range(_STEPS):
        for lane in range(_L):
            x = state[_VALUE + lane]
            c0, c1, c2 = _three(state, _POLY + lane)
            b = (x * x + c2) * x
            a = b + c1
            step = (a * x + c0) / (2.0 * x * x * x + b + a)
            going = state[_GOING + lane]
            state[_VALUE + lane] = x - step if going > 0.0 else x
            state[_GOING + lane] = going if abs(step) > _STILL else 0.0
        left = 0.0
        for lane in range(_L):
            left += state[_GOING + lane]
        if left == 0.0:
            break


@jit_ieee
def _eigenvectors(state: Any) -> None:
    """Take the largest column of the adjugate, times the adjugate once more, as the quaternion."""
    for lane in range(_L):
        x = state[_VALUE + lane]
        a = state[_FORM + lane] - x
        b, c, d = _three(state, _FORM + _L + lane)
        e, f, g = _three(state, _FORM + 4 * _L + lane)
        h, i, k = _three(state, _FORM + 7 * _L + lane)
        e, h, k = e - x, h - x, k - x
        hk, fk, fi = h * k - i * i, f * k - g * i, f * i - g * h
        ck, ci, cg = c * k - d * i, c * i - d * h, c * g - d * f
        ae, af, ag, bf, bg = a * e - b * b, a * f - b * c, a * g - b * d, b * f - c * e, b * g - d * e
        a00, a01 = e * hk - f * fk + g * fi, f * ck - b * hk - g * ci
        a02, a03 = b * fk - e * ck + g * cg, e * ci - b * fi - f * cg
        a11, a12 = a * hk - c * ck + d * ci, b * ck - a * fk - d * cg
        a13, a22 = a * fi - b * ci + c * cg, d * bg - g * ag + k * ae
        a23, a33 = f * ag - c * bg - i * ae, c * bf - f * af + h * ae
        most = abs(a00)
        p, q, r, s = a00, a01, a02, a03
        more = abs(a11) > most
        most = abs(a11) if more else most
        p, q, r, s = (a01 if more else p), (a11 if more else q), (a12 if more else r), (a13 if more else s)
        more = abs(a22) > most
        most = abs(a22) if more else most
        p, q, r, s = (a02 if more else p), (a12 if more else q), (a22 if more else r), (a23 if more else s)
        more = abs(a33) > most
        p, q, r, s = (a03 if more else p), (a13 if more else q), (a23 if more else r), (a33 if more else s)
        w0, w1 = a00 * p + a01 * q + a02 * r + a03 * s, a01 * p + a11 * q + a12 * r + a13 * s
        w2, w3 = a02 * p + a12 * q + a22 * r + a23 * s, a03 * p + a13 * q + a23 * r + a33 * s
        inverse = 1.0 / math.sqrt(w0 * w0 + w1 * w1 + w2 * w2 + w3 * w3)
        state[_QUATERNION + lane] = w0 * inverse
        _put(state, _QUATERNION + _L + lane, w1 * inverse, w2 * inverse, w3 * inverse)
        state[_GAPS + lane] = abs(a00 + a11 + a22 + a33)


@jit_ieee
def _rescue(state: Any, lanes: int, form: Any, vectors: Any) -> None:
    """Find by Jacobi's method what the adjugate cannot give; a NaN, from a step between equal roots, counts as that."""
    for lane in range(lanes):
        if not state[_GAPS + lane] >= _NEAR or state[_GOING + lane] > 0.0:
            k = 0
            for row in range(4):
                for column in range(row, 4):
                    form[row, column] = form[column, row] = state[_FORM + k * _L + lane]
                    k += 1
            best = _jacobi(form, vectors)
            for row in range(4):
                state[_QUATERNION + row * _L + lane] = vectors[row, best]


@jit_ieee
def _jacobi(form: Any, vectors: Any) -> int:
    """Diagonalise a symmetric matrix in place, write its eigenvectors as columns, return which is the largest."""
    size = form.shape[0]
    for row in range(size):
        for column in range(size):
            vectors[row, column] = 1.0 if row == column else 0.0
    for _ in range(_SWEEPS):
        moved = False
        for p in range(size - 1):
            for q in range(p + 1, size):
                off = form[p, q]
                if abs(off) > 1e-17 * (abs(form[p, p]) + abs(form[q, q])):
                    moved = True
                    theta = (form[q, q] - form[p, p]) / (2.0 * off)
                    t = math.copysign(1.0, theta) / (abs(theta) + math.sqrt(theta * theta + 1.0))
                    c = 1.0 / math.sqrt(t * t + 1.0)
                    s = t * c
                    for k in range(size):
                        left, right = form[k, p], form[k, q]
                        form[k, p], form[k, q] = c * left - s * right, s * left + c * right
                    for k in range(size):
                        left, right = form[p, k], form[q, k]
                        form[p, k], form[q, k] = c * left - s * right, s * left + c * right
                        left, right = vectors[k, p], vectors[k, q]
                        vectors[k, p], vectors[k, q] = c * left - s * right, s * left + c * right
                    form[p, q] = form[q, p] = 0.0
        if not moved:
            break
    best = 0
    for k in range(1, size):
        if form[k, k] > form[best, best]:
            best = k
    return best


@jit_ieee
def _turn(state: Any) -> None:
    """Write rotations from quaternions, and the scale that goes best with each."""
    for lane in range(_L):
        q0 = state[_QUATERNION + lane]
        q1, q2, q3 = _three(state, _QUATERNION + _L + lane)
        r0, r1, r2 = 1 - 2 * (q2 * q2 + q3 * q3), 2 * (q1 * q2 - q0 * q3), 2 * (q1 * q3 + q0 * q2)
        r3, r4, r5 = 2 * (q1 * q2 + q0 * q3), 1 - 2 * (q1 * q1 + q3 * q3), 2 * (q2 * q3 - q0 * q1)
        r6, r7, r8 = 2 * (q1 * q3 - q0 * q2), 2 * (q2 * q3 + q0 * q1), 1 - 2 * (q1 * q1 + q2 * q2)
        _put(state, _TURN + lane, r0, r1, r2)
        _put(state, _TURN + 3 * _L + lane, r3, r4, r5)
        _put(state, _TURN + 6 * _L + lane, r6, r7, r8)
        xx, xy, xz = _three(state, _CROSS + lane)
        yx, yy, yz = _three(state, _CROSS + 3 * _L + lane)
        zx, zy, zz = _three(state, _CROSS + 6 * _L + lane)
        trace = r0 * xx + r3 * xy + r6 * xz + r1 * yx + r4 * yy + r7 * yz + r2 * zx + r5 * zy + r8 * zz
        spread = state[_SPREAD + _L + lane]
        state[_SIZE + lane] = max(trace / spread, 0.0) if spread > 0.0 else 0.0


@jit_ieee
def _set_plain(state: Any, kind: int) -> None:
    """Write the factor and the shift of an alignment without rotation."""
    for lane in range(_L):
        factor = 1.0
        if kind == SCALE:
            dot = state[_CROSS + lane] + state[_CROSS + 4 * _L + lane] + state[_CROSS + 8 * _L + lane]
            square = state[_SPREAD + _L + lane]
            for k in range(3):
                b = state[_ROOTS + (k + 3) * _L + lane]
                dot += state[_COUNT + lane] * b * state[_ROOTS + k * _L + lane]
                square += state[_COUNT + lane] * b * b
            factor = max(dot / square, 0.0) if square > 0.0 else 0.0
        state[_MAP + lane] = factor
        for k in range(3):
            if kind == NONE:
                shift = state[_APART + k * _L + lane]
            else:
                shift = state[_ROOTS + k * _L + lane] - factor * state[_ROOTS + (k + 3) * _L + lane]
            state[_MAP + (k + 1) * _L + lane] = shift


@jit_ieee
def _measure_plain(joints: int, rows: Any) -> None:
    """Distances after a factor and a shift."""
    points, weights, far, state = rows
    for j in range(joints):
        at = j * 6 * _L
        for lane in range(_L):
            factor = state[_MAP + lane]
            a0, a1, a2 = _three(points, at + lane)
            b0, b1, b2 = _three(points, at + 3 * _L + lane)
            x, y, z = _three(state, _MAP + _L + lane)
            x, y, z = factor * b0 - a0 + x, factor * b1 - a1 + y, factor * b2 - a2 + z
            distance = math.sqrt(x * x + y * y + z * z)
            far[j * _L + lane] = distance
            state[_TOTAL + lane] += distance * weights[j * _L + lane]


@jit_ieee
def _measure_turned(joints: int, rows: Any) -> None:
    """Distances after a rotation, with or without scale, about the centroids."""
    points, weights, far, state = rows
    for j in range(joints):
        at = j * 6 * _L
        for lane in range(_L):
            a0, a1, a2 = _three(points, at + lane)
            b0, b1, b2 = _three(points, at + 3 * _L + lane)
            r0, r1, r2 = _three(state, _MAP + lane)
            r3, r4, r5 = _three(state, _MAP + 3 * _L + lane)
            r6, r7, r8 = _three(state, _MAP + 6 * _L + lane)
            x, y, z = r0 * b0 + r1 * b1 + r2 * b2, r3 * b0 + r4 * b1 + r5 * b2, r6 * b0 + r7 * b1 + r8 * b2
            x, y, z = x - a0, y - a1, z - a2
            distance = math.sqrt(x * x + y * y + z * z)
            far[j * _L + lane] = distance
            state[_TOTAL + lane] += distance * weights[j * _L + lane]


@jit_ieee
def _measure(kind: int, joints: int, rows: Any) -> None:
    """Write the distances after an alignment, and their sum over the visible joints."""
    state = rows[3]
    for lane in range(_L):
        state[_TOTAL + lane] = 0.0
    if kind in (RIGID, SIMILARITY):
        for k in range(9):
            for lane in range(_L):
                size = state[_SIZE + lane] if kind == SIMILARITY else 1.0
                state[_MAP + k * _L + lane] = size * state[_TURN + k * _L + lane]
        _measure_turned(joints, rows)
    else:
        _set_plain(state, kind)
        _measure_plain(joints, rows)


@jit_ieee
def distances(truth: Any, prediction: Any, mask: Any, root: Any, slots: Any, out: Any) -> None:
    """Measure all samples.

    ``slots`` holds, per alignment, where its distances go in ``errors``: -1 for "sums only", -2 for "not at all".
    ``out`` is ``(sums, errors, apart, fine)``: ``(N, 5)``, ``(N, kept, J)``, distance of the roots ``(N,)``, and
    whether everything was finite ``(N,)``. A ``mask`` without rows means that all joints are visible.
    """
    n, size = truth.shape[0], truth.shape[1]
    state = np.zeros(_ROWS)
    rows = np.zeros(size * 6 * _L), np.ones(size * _L), np.zeros(size * _L), state
    form, vectors = np.zeros((4, 4)), np.zeros((4, 4))
    for first in range(0, n, _L):
        lanes = min(_L, n - first)
        _gather(truth, prediction, mask, mask.shape[0] > 0, (first, lanes), rows)
        _centre(size, rows)
        _find_roots(state, rows[0], root)
        if slots[RIGID] > -2 or slots[SIMILARITY] > -2:
            _characterise(state)
            _newton(state)
            _eigenvectors(state)
            _rescue(state, lanes, form, vectors)
            _turn(state)
        for kind in range(slots.size):
            if slots[kind] > -2:
                _measure(kind, size, rows)
                for lane in range(lanes):
                    out[0][first + lane, kind] = state[_TOTAL + lane]
                if slots[kind] >= 0:
                    for lane in range(lanes):
                        for j in range(size):
                            out[1][first + lane, slots[kind], j] = rows[2][j * _L + lane]
        _finish(state, first, lanes, out[2], out[3])


@jit_ieee
def _finish(state: Any, first: int, lanes: int, apart: Any, fine: Any) -> None:
    """Write how far the roots are apart, and whether all numbers of a sample were finite."""
    for lane in range(lanes):
        square = between = 0.0
        for k in range(3):
            part = state[_APART + k * _L + lane]
            square += part * part
            part += state[_ROOTS + (k + 3) * _L + lane] - state[_ROOTS + k * _L + lane]
            between += part * part
        apart[first + lane] = math.sqrt(between)
        fine[first + lane] = state[_SPREAD + lane] + state[_SPREAD + _L + lane] + square < _LARGEST
