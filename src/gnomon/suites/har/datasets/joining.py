"""Accelerometer and gyroscope that were sampled at different moments, joined by time.

- Time stamps of both are repaired or refused first (:mod:`gnomon.suites.har.datasets.stamps`).
- Angular rates are taken at the times of the accelerations, inside what a piece of both covers: by straight lines
  between the samples around, or, where the gyroscope is faster and its user asks for it, through the low-pass filter of
  :mod:`gnomon.suites.har.resampling`, so that nothing above half the accelerometer's rate folds down.
- Accelerations that the gyroscope does not cover are left out and counted.
- What is left has to last for :data:`SHORTEST_S`; shorter pieces are left out and counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from gnomon.core.tallies import Array
from gnomon.suites.har.datasets.counting import Faults
from gnomon.suites.har.datasets.stamps import rate_of, repair
from gnomon.suites.har.resampling import resample

SHORTEST_S = 1.0
"""Seconds that both sensors have to cover together."""
FASTER = 1.2
"""How much faster a gyroscope is before it is filtered."""
Piece = tuple[Array, Array]
"""Rising times ``(n,)`` in seconds and values ``(n, 3)``."""
Joined = tuple[Array, Array, float]
"""Times ``(n,)``, the six channels ``(n, 6)``, and the measured rate in Hz."""

__all__ = ["FASTER", "SHORTEST_S", "Joined", "Piece", "joined", "together", "turning", "unbroken"]


def turning(times: Array, values: Array, faults: Faults, *, where: str) -> list[Piece]:
    """Return the pieces of a gyroscope between breaks of its clock; `where` is its file or recording."""
    fixed = repair(times)
    fixed.count(faults, "gyroscope", where)
    return [(times[rows], values[rows]) for rows in fixed.pieces if len(rows) > 1]


def together(
    times: Array,
    values: Array,
    pieces: Sequence[Piece] | None,
    faults: Faults,
    *,
    where: str,
    filtered: bool = False,
) -> Iterator[Joined]:
    """Yield what accelerometer and gyroscope cover without a break.

    Parameters
    ----------
    times, values
        Of the accelerometer: seconds on the clock of both, and ``(n, 3)``.
    pieces
        What :func:`turning` gave, or None where there is no gyroscope: its channels are zeros then.
    faults
        Receives counts of what was repaired or left out.
    where
        The file of the accelerometer, or its recording.
    filtered
        Whether a gyroscope that is faster than the accelerometer is filtered.
    """
    fixed = repair(times)
    fixed.count(faults, "accelerometer", where)
    for piece in fixed.pieces:
        left = len(piece)
        for rows, rates in joined(times[piece], pieces, filtered=filtered):
            left -= len(rows)
            at = times[piece][rows]
            yield from _lasting(at, np.concatenate([values[piece][rows], rates], axis=1), faults)
        if left > 0:
            faults["samples of the accelerometer that the gyroscope does not cover, left out"] += left


def unbroken(times: Array, signals: Array, faults: Faults, what: str, *, where: str) -> Iterator[Joined]:
    """Yield the pieces between breaks of a table that has both sensors in each row, ``(n, 6)``."""
    fixed = repair(times)
    fixed.count(faults, what, where)
    for piece in fixed.pieces:
        yield from _lasting(times[piece], signals[piece], faults)


def _lasting(times: Array, signals: Array, faults: Faults) -> Iterator[Joined]:
    rate = rate_of(times)
    if rate is None or times[-1] - times[0] < SHORTEST_S:
        faults["pieces shorter than a second, left out"] += 1
    else:
        yield times, signals, rate


def joined(times: Array, pieces: Sequence[Piece] | None, *, filtered: bool = False) -> Iterator[tuple[Array, Array]]:
    """Yield rows that both sensors cover, with the angular rates there; zeros where there is no gyroscope."""
    if pieces is None:
        yield np.arange(len(times)), np.zeros((len(times), 3))
        return
    for at, values in pieces:
        rows = np.flatnonzero((times >= at[0]) & (times <= at[-1]))
        if len(rows):
            yield rows, _rates(times[rows], at, values, filtered)


def _rates(times: Array, at: Array, values: Array, filtered: bool) -> Array:
    own, wanted = rate_of(at), rate_of(times)
    if not filtered or own is None or wanted is None or own <= FASTER * wanted:
        return _straight(times, at, values)
    grid = at[0] + np.arange(int((at[-1] - at[0]) * own + 1e-6) + 1) / own
    return resample(_straight(grid, at, values), (times - at[0]) * own, wanted / own)


def _straight(times: Array, at: Array, values: Array) -> Array:
    return np.stack([np.interp(times, at, values[:, k]) for k in range(values.shape[1])], axis=1)
