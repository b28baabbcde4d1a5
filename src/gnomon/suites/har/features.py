"""Time and frequency features of windows, for systems that learn from vectors.

Signals: the six channels, the length of the acceleration and the length of the angular rate (eight in all). Steps that
are padding are left out before anything is computed; a channel that the dataset lacks, and a length over such channels,
has zeros in all its features.

Per signal
    ``mean``, ``std``, ``min``, ``max``, ``q25``, ``median``, ``q75``;
    ``energy`` (mean square);
    ``crossings`` (changes of sign about the mean, per second);
    ``peak_hz`` (frequency of the largest power, without 0 Hz);
    ``band_A_B`` for the bands of :data:`BANDS_HZ` (log(1 + power in the band); power is that of the signal without its
    mean under a Hann window, normalised so that all bins sum to its mean square, more or less);
    ``entropy`` (of the shares of power over frequencies, in [0, 1]).
Between channels
    ``corr_A_B``: Pearson correlation of every pair of the six channels; 0 where one of them is constant.

All features follow from seconds and hertz, so that windows of different rates can be compared; what lies above half of
the lower rate cannot.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from gnomon.core.tallies import Array
from gnomon.suites.har.recordings import CHANNELS, Windows

SIGNALS = (*CHANNELS, "acc_length", "gyro_length")
BANDS_HZ = ((0.1, 0.7), (0.7, 1.5), (1.5, 3.0), (3.0, 5.0), (5.0, 10.0))
PLAIN = ("mean", "std", "min", "max", "q25", "median", "q75", "energy", "crossings")
SPECTRAL = ("peak_hz", *(f"band_{low:g}_{high:g}" for low, high in BANDS_HZ), "entropy")
PAIRS = tuple(combinations(range(len(CHANNELS)), 2))
NAMES = (
    *(f"{signal}_{kind}" for signal in SIGNALS for kind in (*PLAIN, *SPECTRAL)),
    *(f"corr_{CHANNELS[a]}_{CHANNELS[b]}" for a, b in PAIRS),
)
"""Names of the columns."""
BLOCK = 2048
"""Windows that are worked on at a time, which bounds the memory."""


def features(windows: Windows) -> Array:
    """Return a row of :data:`NAMES` for every window, ``(n, d)`` float64, all finite."""
    out = np.zeros((len(windows), len(NAMES)))
    for start in range(0, len(windows), BLOCK):
        rows = slice(start, min(start + BLOCK, len(windows)))
        signals = np.asarray(windows.signals[rows], dtype=np.float64)
        for chosen, valid, mask in _alike(np.asarray(windows.valid[rows]), np.asarray(windows.mask[rows])):
            if valid.all():
                out[start + chosen] = _block(signals[chosen], mask, windows.rate_hz)
            elif valid.any():
                out[start + chosen] = _block(signals[chosen][:, valid], mask, windows.rate_hz)
    return out


def _alike(valid: Array, mask: Array) -> Iterator[tuple[Array, Array, Array]]:
    """Yield rows with the same valid steps and channels, and those."""
    if valid.all() and (mask == mask[0]).all():
        yield np.arange(len(valid)), valid[0], mask[0]
        return
    both = np.concatenate([valid, mask], axis=1)
    patterns, which = np.unique(both, axis=0, return_inverse=True)
    for index, pattern in enumerate(patterns):
        yield np.flatnonzero(which.ravel() == index), pattern[: valid.shape[1]], pattern[valid.shape[1] :]


def _block(signals: Array, mask: Array, rate_hz: float) -> Array:
    """Return the features of windows ``(n, steps, 6)`` without padding."""
    present = np.array([*mask, mask[:3].all(), mask[3:].all()], dtype=np.bool_)
    lengths = [np.sqrt(np.square(signals[..., part]).sum(axis=-1)) for part in (slice(0, 3), slice(3, 6))]
    every = np.concatenate([signals, np.stack(lengths, axis=-1)], axis=-1)
    per_signal = np.concatenate([_plain(every, rate_hz), _spectral(every, rate_hz)], axis=-1) * present[:, np.newaxis]
    both = np.array([mask[a] and mask[b] for a, b in PAIRS])
    return np.concatenate([per_signal.reshape(len(signals), -1), _correlations(signals) * both], axis=1)


def _plain(every: Array, rate_hz: float) -> Array:
    """Return the features over time, ``(n, signals, len(PLAIN))``."""
    mean = every.mean(axis=1)
    above = every > mean[:, np.newaxis]
    crossings = (above[:, 1:] != above[:, :-1]).sum(axis=1) * (rate_hz / every.shape[1])
    quartiles = np.quantile(every, (0.25, 0.5, 0.75), axis=1)
    columns = (
        mean,
        every.std(axis=1),
        every.min(axis=1),
        every.max(axis=1),
        *quartiles,
        np.square(every).mean(axis=1),
        crossings,
    )
    return np.stack(columns, axis=-1)


def _spectral(every: Array, rate_hz: float) -> Array:
    """Return the features over frequency, ``(n, signals, len(SPECTRAL))``."""
    steps = every.shape[1]
    out = np.zeros((every.shape[0], every.shape[2], len(SPECTRAL)))
    if steps < 4:
        return out
    taper = np.hanning(steps + 2)[1:-1]
    centred = (every - every.mean(axis=1, keepdims=True)) * taper[:, np.newaxis]
    power = np.square(np.abs(np.fft.rfft(centred, axis=1)))[:, 1:] * (2 / (steps * np.square(taper).sum()))
    hertz = np.fft.rfftfreq(steps, 1 / rate_hz)[1:]
    total = power.sum(axis=1)
    moving = total > 1e-18
    out[..., 0] = np.where(moving, hertz[power.argmax(axis=1)], 0.0)
    for place, (low, high) in enumerate(BANDS_HZ, start=1):
        out[..., place] = np.log1p(power[:, (hertz >= low) & (hertz < high)].sum(axis=1))
    shares = power / np.where(moving, total, 1.0)[:, np.newaxis]
    logs = np.log(np.where(shares > 0, shares, 1.0))
    out[..., -1] = np.where(moving, -(shares * logs).sum(axis=1) / np.log(max(2, len(hertz))), 0.0)
    return out


def _correlations(signals: Array) -> Array:
    """Return the correlation of every pair of channels, ``(n, pairs)``."""
    centred = signals - signals.mean(axis=1, keepdims=True)
    spread = np.sqrt(np.square(centred).sum(axis=1))
    found = np.zeros((len(signals), len(PAIRS)))
    for place, (a, b) in enumerate(PAIRS):
        below = spread[:, a] * spread[:, b]
        top = (centred[..., a] * centred[..., b]).sum(axis=1)
        found[:, place] = np.divide(top, below, out=np.zeros(len(signals)), where=below > 1e-12)
    return np.clip(found, -1.0, 1.0)
