"""What the spectrum of a frame says: how strong, how rhythmic, how fast, how sharp.

Frames are tapered (Hann) after removal of their mean. The autocorrelation is divided by that of the taper, so that a
perfect rhythm has a peak of about 1 at its period whatever the length of the frame (Boersma, 1993).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gnomon.core.tallies import Array
from gnomon.suites.events.systems._cells import RATE

STEP_HZ = (1.1, 2.6)
"""Steps per second of people who walk."""
LEAST_HOPS = 6
"""Shortest frame, 2.4 s: it holds the slowest stride and some more."""
_FLOOR = 1e-4
"""In (m/s^2)^2; keeps logarithms finite where a device lies still."""


class Spectra(NamedTuple):
    """One number per frame and thing."""

    power: Array
    """Variance, in (m/s^2)^2."""
    step_share: Array
    """Share of the power at step frequencies."""
    rhythm: Array
    """Highest autocorrelation at the period of a step, from -1 to 1."""
    swing: Array
    """Highest autocorrelation at the period of a stride."""
    sharpness: Array
    """Share of the power above 5 Hz, where heel strikes ring."""


def spectra(frames: Array) -> Spectra:
    """Describe frames ``(n, cells)``."""
    size = frames.shape[1]
    taper = np.hanning(size + 2)[1:-1]
    padded = 1 << (2 * size - 1).bit_length()
    centred = frames - frames.mean(axis=1, keepdims=True)
    energy = np.square(np.abs(np.fft.rfft(centred * taper, padded, axis=1)))
    hertz = np.fft.rfftfreq(padded, 1 / RATE)
    total = np.maximum(energy.sum(axis=1), 1e-12)
    own = np.fft.irfft(np.square(np.abs(np.fft.rfft(taper, padded))))
    whole = np.fft.irfft(energy, axis=1)
    lags = np.arange(int(RATE / STEP_HZ[1]), int(2 * RATE / STEP_HZ[0]) + 1)
    alike = whole[:, lags] / np.maximum(whole[:, :1], 1e-12) * own[0] / own[lags]
    return Spectra(
        power=np.square(centred).mean(axis=1) + _FLOOR,
        step_share=energy[:, (hertz >= STEP_HZ[0]) & (hertz <= STEP_HZ[1])].sum(axis=1) / total,
        rhythm=alike[:, lags <= RATE / STEP_HZ[0] + 1].max(axis=1),
        swing=alike[:, lags >= 2 * RATE / STEP_HZ[1]].max(axis=1),
        sharpness=energy[:, hertz > 5].sum(axis=1) / total,
    )
