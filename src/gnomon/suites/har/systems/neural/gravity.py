"""Windows turned so that gravity points along +z, as LanHAR takes them.

Conventions
-----------
- Gravity is the mean of the acceleration below :data:`CUT_HZ` (Butterworth of second order, there and back, so without
  delay); of less than :data:`SHORTEST_S` seconds it is the plain mean.
- Acceleration and angular rate are turned by the smallest rotation that takes gravity to +z (Rodrigues); so the heading
  stays as it is. Where gravity points to -z, it is half a turn about x.
- Steps that are padding take no part and stay zeros. Channels that are absent stay zeros.
- Acceleration that is far out (:data:`FAR`) is first brought between the 1st and 99th percentile of its axis.
- Windows from which gravity was removed, or without all three axes of acceleration, or with less than
  :data:`FAINTEST` of gravity, stay as they are, and are counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import signal

from gnomon.core.tallies import Array
from gnomon.suites.har.recordings import Windows

CUT_HZ = 0.3
SHORTEST_S = 1.2
FAR = (17.0, 12.0)
"""Largest, and median, length of the acceleration of a window in m/s^2; above either it is far out."""
FAINTEST = 1.0
"""Least length of gravity, in m/s^2, that has a direction to speak of."""


@dataclass(frozen=True, eq=False)
class Aligned:
    """Windows after alignment: signals ``(n, steps, 6)`` float32, and which of them were turned ``(n,)``."""

    signals: Array
    turned: Array
    removed: bool
    """Whether the dataset has its gravity removed, so that nothing could be turned."""


def align(windows: Windows) -> Aligned:
    """Return windows with gravity along +z, where they have gravity."""
    signals = np.array(windows.signals, dtype=np.float32)
    turned = np.zeros(len(windows), dtype=np.bool_)
    removed = windows.gravity == "removed"
    whole: Array = np.asarray(windows.mask)[:, :3].all(axis=1) & np.full(len(windows), not removed)
    for rows, steps in alike(np.asarray(windows.valid)):
        rows = rows[whole[rows]]
        if not len(rows) or not steps.any():
            continue
        own = signals[np.ix_(rows, steps)].astype(np.float64)
        own[..., :3] = winsorised(own[..., :3])
        down = gravity(own[..., :3], windows.rate_hz)
        strong = np.linalg.norm(down, axis=1) >= FAINTEST
        turn = rotations(down[strong])
        own[strong, :, :3] = np.einsum("nij,nsj->nsi", turn, own[strong, :, :3])
        own[strong, :, 3:] = np.einsum("nij,nsj->nsi", turn, own[strong, :, 3:])
        signals[np.ix_(rows, steps)] = own
        turned[rows[strong]] = True
    signals *= np.asarray(windows.mask, dtype=np.float32)[:, np.newaxis]
    return Aligned(signals, turned, removed)


def alike(valid: Array) -> Iterator[tuple[Array, Array]]:
    """Yield the rows of windows that have the same valid steps, and those steps."""
    if valid.all():
        yield np.arange(len(valid)), np.ones(valid.shape[1:], dtype=np.bool_)
        return
    patterns, which = np.unique(valid, axis=0, return_inverse=True)
    for index, pattern in enumerate(patterns):
        yield np.flatnonzero(which.ravel() == index), pattern.astype(np.bool_)


def gravity(acceleration: Array, rate_hz: float) -> Array:
    """Return gravity ``(n, 3)`` of acceleration ``(n, steps, 3)``."""
    mean: Array = low(acceleration, rate_hz).mean(axis=1)
    return mean


def low(values: Array, rate_hz: float) -> Array:
    """Return what is slower than :data:`CUT_HZ` of ``(n, steps, k)``, or the plain mean of what is short."""
    steps = values.shape[1]
    filtering = signal.butter(2, CUT_HZ, fs=rate_hz, output="sos")
    if steps < SHORTEST_S * rate_hz or steps <= 9:  # the filter looks 9 steps beyond either end
        return np.broadcast_to(values.mean(axis=1, keepdims=True), values.shape)
    found: Array = signal.sosfiltfilt(filtering, values, axis=1)
    return found


def winsorised(acceleration: Array) -> Array:
    """Return acceleration ``(n, steps, 3)`` whose outer per cents are cut off in windows that are far out."""
    length = np.linalg.norm(acceleration, axis=2)
    far = (length.max(axis=1) > FAR[0]) | (np.median(length, axis=1) > FAR[1])
    if not far.any():
        return acceleration
    least, most = np.quantile(acceleration[far], (0.01, 0.99), axis=1, keepdims=True)
    out = acceleration.copy()
    out[far] = np.clip(acceleration[far], least, most)
    return out


def rotations(down: Array) -> Array:
    """Return the smallest rotation ``(n, 3, 3)`` of each vector ``(n, 3)`` to +z.

    >>> np.round(rotations(np.array([[0.0, 5.0, 0.0]])) @ np.array([0.0, 1.0, 0.0]), 6).tolist()
    [[0.0, 0.0, 1.0]]
    """
    unit = down / np.linalg.norm(down, axis=1, keepdims=True)
    x, y, cosine = unit.T
    cross = np.zeros((len(unit), 3, 3))  # of the axis u x z = (y, -x, 0), whose length is the sine
    cross[:, 0, 2], cross[:, 2, 0] = -x, x
    cross[:, 1, 2], cross[:, 2, 1] = -y, y
    opposite = cosine < -1 + 1e-9
    share = 1 / np.where(opposite, 1.0, 1 + cosine)
    turn = np.eye(3) + cross + (cross @ cross) * share[:, np.newaxis, np.newaxis]
    turn[opposite] = np.diag([1.0, -1.0, -1.0])
    return np.asarray(turn)
