"""The inner loops of the simulation, compiled.

Arrays are ``(3, d, n)``: value, first and second derivative of d quantities at n times, last axis contiguous.
"""

from __future__ import annotations

import math

import numpy as np

from gnomon.core.compiling import jit_ieee
from gnomon.core.tallies import Array

_RUN = 256
_HALF_TURN = np.pi / 2
_REST = 6.123233995736766e-17
"""What a double of pi / 2 lacks of it."""
_S3, _S5, _S7, _S9, _S11, _S13, _S15 = (-1 / 6, 1 / 120, *((-1) ** k / math.factorial(2 * k + 1) for k in range(3, 8)))
_C2, _C4, _C6, _C8, _C10, _C12, _C14, _C16 = ((-1) ** k / math.factorial(2 * k) for k in range(1, 9))


@jit_ieee
def sines(angles: Array, sine: Array, cosine: Array) -> None:
    """Fill in sines and cosines by their series about the nearest quarter turn; faster than a call each."""
    for i in range(len(angles)):
        quarter = math.floor(angles[i] / _HALF_TURN + 0.5)
        x = angles[i] - quarter * _HALF_TURN - quarter * _REST
        y = x * x
        s = x + x * y * (_S3 + y * (_S5 + y * (_S7 + y * (_S9 + y * (_S11 + y * (_S13 + y * _S15))))))
        c = 1 + y * (_C2 + y * (_C4 + y * (_C6 + y * (_C8 + y * (_C10 + y * (_C12 + y * (_C14 + y * _C16)))))))
        half = quarter * 0.5
        odd = half != math.floor(half)
        quad = (quarter + 1) * 0.25
        flip_sine = (quarter * 0.25 - math.floor(quarter * 0.25)) >= 0.5
        flip_cosine = (quad - math.floor(quad)) >= 0.5
        a = c if odd else s
        b = s if odd else c
        sine[i] = -a if flip_sine else a
        cosine[i] = -b if flip_cosine else b


@jit_ieee
def locate(times: Array, knots: Array, even: float, index: Array, since: Array) -> None:
    """Find the piece of every time (`even` is the distance of the knots, or 0), and the time since its left knot."""
    last = len(knots) - 2
    k = 0
    for i in range(len(times)):
        if even > 0:
            k = int((times[i] - knots[0]) / even)
        else:
            while k < last and knots[k + 1] <= times[i]:
                k += 1
            while k > 0 and knots[k] > times[i]:
                k -= 1
        k = min(max(k, 0), last)
        index[i] = k
        since[i] = times[i] - knots[k]


@jit_ieee
def _cubics(index: Array, since: Array, factors: Array, out: Array) -> None:
    """Evaluate cubic polynomials; the factors of a piece are read once."""
    n = len(index)
    for row in range(out.shape[1]):
        value, first, second = out[0, row], out[1, row], out[2, row]
        i = 0
        while i < n:
            k = index[i]
            a, b, c, d = factors[k, row, 0], factors[k, row, 1], factors[k, row, 2], factors[k, row, 3]
            stop = i + 1
            while stop < n and index[stop] == k:
                stop += 1
            for j in range(i, stop):
                s = since[j]
                value[j] = a + s * (b + s * (c + s * d))
                first[j] = b + s * (2 * c + 3 * s * d)
                second[j] = 2 * c + 6 * s * d
            i = stop


@jit_ieee
def polynomials(index: Array, since: Array, factors: Array, out: Array) -> None:
    """Evaluate polynomials ``(k, d, degree + 1)`` with two derivatives by Horner's rule."""
    degree = factors.shape[2] - 1
    if degree == 3:
        _cubics(index, since, factors, out)
        return
    for row in range(out.shape[1]):
        for i in range(len(index)):
            own = factors[index[i], row]
            s = since[i]
            value, first, second = own[degree], 0.0, 0.0
            for power in range(degree - 1, -1, -1):
                second = second * s + first
                first = first * s + value
                value = value * s + own[power]
            out[0, row, i], out[1, row, i], out[2, row, i] = value, first, 2 * second


@jit_ieee
def harmonics(phase: Array, sine: Array, cosine: Array, real: Array, imaginary: Array, out: Array) -> None:
    """Sum ``Re(c_k exp(i k phase))`` over k from 1, with two derivatives by time; c is ``(d, K)``.

    The phase comes with its derivatives, ``(3, n)``. Samples are taken in short runs, which stay in the nearest cache.
    """
    n = len(cosine)
    c, s = np.empty(_RUN), np.empty(_RUN)
    for start in range(0, n, _RUN):
        stop = min(start + _RUN, n)
        c1, s1 = cosine[start:stop], sine[start:stop]
        rate, change = phase[1, start:stop], phase[2, start:stop]
        size = stop - start
        out[:, :, start:stop] = 0.0
        for k in range(real.shape[1]):
            for i in range(size):
                old = c[i] if k else 1.0
                other = s[i] if k else 0.0
                c[i] = old * c1[i] - other * s1[i]
                s[i] = other * c1[i] + old * s1[i]
            for row in range(real.shape[0]):
                a, b = real[row, k], imaginary[row, k]
                if a == 0.0 and b == 0.0:
                    continue
                value, first, second = out[0, row, start:stop], out[1, row, start:stop], out[2, row, start:stop]
                order = k + 1.0
                oa, ob, square = order * a, order * b, order * order
                for i in range(size):
                    part = a * c[i] - b * s[i]
                    value[i] += part
                    first[i] -= oa * s[i] + ob * c[i]
                    second[i] -= square * part
        for row in range(real.shape[0]):
            first, second = out[1, row, start:stop], out[2, row, start:stop]
            for i in range(size):
                second[i] = second[i] * rate[i] * rate[i] + first[i] * change[i]
                first[i] *= rate[i]


@jit_ieee
def add(found: Array, rows: Array, values: Array) -> None:
    """Add values to some rows of what was found."""
    for k in range(len(rows)):
        for d in range(3):
            found[d, rows[k]] += values[d, k]


@jit_ieee
def add_product(found: Array, rows: Array, values: Array, gate: Array) -> None:
    """Add the product of values and one gate ``(3, n)``, with its derivatives."""
    for k in range(len(rows)):
        for i in range(values.shape[2]):
            value, first = values[0, k, i], values[1, k, i]
            found[0, rows[k], i] += value * gate[0, i]
            found[1, rows[k], i] += first * gate[0, i] + value * gate[1, i]
            found[2, rows[k], i] += values[2, k, i] * gate[0, i] + 2 * first * gate[1, i] + value * gate[2, i]


@jit_ieee
def sense(
    found: Array, sine: Array, cosine: Array, arms: Array, mount: Array, gravity: float, field: Array, out: Array
) -> None:
    """Follow a chain of segments from the root to a sensor; see :mod:`gnomon.suites.har.simulation.body`.

    Parameters
    ----------
    found
        ``(3, 3 + 3 k + 1, n)``: root, angles of each segment (yaw, pitch, roll), twist.
    sine, cosine
        ``(3 k + 1, n)`` of the angles and the twist.
    arms
        ``(k, 3)``: from joint to joint, and at last to the sensor.
    mount
        ``(3, 3)``: columns are the axes of the sensor in those of the segment.
    gravity, field
        m/s^2, and the magnetic field ``(3,)`` in the room.
    out
        ``(5, n, 3)``: specific force, rates, gravity, field, and the first axis of the sensor in the room.
    """
    segments = len(arms)
    for i in range(found.shape[2]):
        gx, gy, gz = found[2, 0, i], found[2, 1, i], found[2, 2, i] + gravity
        for k in range(segments):
            sz, sy, sx = sine[3 * k, i], sine[3 * k + 1, i], sine[3 * k + 2, i]
            cz, cy, cx = cosine[3 * k, i], cosine[3 * k + 1, i], cosine[3 * k + 2, i]
            z1, y1, x1 = found[1, 3 * k + 3, i], found[1, 3 * k + 4, i], found[1, 3 * k + 5, i]
            z2, y2, x2 = found[2, 3 * k + 3, i], found[2, 3 * k + 4, i], found[2, 3 * k + 5, i]
            m00, m01, m02 = cz * cy, cz * sx * sy - sz * cx, cz * cx * sy + sz * sx
            m10, m11, m12 = sz * cy, sz * sx * sy + cz * cx, sz * cx * sy - cz * sx
            m20, m21, m22 = -sy, cy * sx, cy * cx
            across, steeper = z1 * cy, z2 * cy - z1 * y1 * sy
            p, q, r = x1 - z1 * sy, y1 * cx + across * sx, across * cx - y1 * sx
            p1, q1, r1 = x2 - z2 * sy - across * y1, y2 * cx + steeper * sx + x1 * r, steeper * cx - y2 * sx - x1 * q
            ax, ay, az = arms[k, 0], arms[k, 1], arms[k, 2]
            along, square = p * ax + q * ay + r * az, p * p + q * q + r * r
            ux = q1 * az - r1 * ay + p * along - square * ax
            uy = r1 * ax - p1 * az + q * along - square * ay
            uz = p1 * ay - q1 * ax + r * along - square * az
            if k + 1 < segments:
                gx += m00 * ux + m01 * uy + m02 * uz
                gy += m10 * ux + m11 * uy + m12 * uz
                gz += m20 * ux + m21 * uy + m22 * uz
        st, ct = sine[3 * segments, i], cosine[3 * segments, i]
        fx = m00 * gx + m10 * gy + m20 * gz + ux
        fy = m01 * gx + m11 * gy + m21 * gz + uy
        fz = m02 * gx + m12 * gy + m22 * gz + uz
        bx = m00 * field[0] + m10 * field[1] + m20 * field[2]
        by = m01 * field[0] + m11 * field[1] + m21 * field[2]
        bz = m02 * field[0] + m12 * field[1] + m22 * field[2]
        turned = (
            (ct * fx + st * fy, ct * fy - st * fx, fz),
            (ct * p + st * q, ct * q - st * p, r + found[1, 3 * segments + 3, i]),
            (gravity * (ct * m20 + st * m21), gravity * (ct * m21 - st * m20), gravity * m22),
            (ct * bx + st * by, ct * by - st * bx, bz),
        )
        for kind in range(4):
            for axis in range(3):
                out[kind, i, axis] = (
                    turned[kind][0] * mount[0, axis]
                    + turned[kind][1] * mount[1, axis]
                    + turned[kind][2] * mount[2, axis]
                )
        a, b, c = mount[0, 0], mount[1, 0], mount[2, 0]
        a, b = ct * a - st * b, st * a + ct * b
        out[4, i, 0] = m00 * a + m01 * b + m02 * c
        out[4, i, 1] = m10 * a + m11 * b + m12 * c
        out[4, i, 2] = m20 * a + m21 * b + m22 * c


@jit_ieee
def spoil(signal: Array, bias: Array, spread: float, noise: Array, limit: float) -> None:
    """Add bias and noise to samples ``(n, 3)``, and saturate them."""
    for i in range(len(signal)):
        for axis in range(3):
            value = signal[i, axis] + bias[axis] + spread * noise[i, axis]
            signal[i, axis] = min(max(value, -limit), limit)
