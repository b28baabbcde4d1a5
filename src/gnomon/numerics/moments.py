"""Sums of values and errors by group and column, in one pass that keeps what rounding takes from each sum.

Knuth's exact sum of two numbers (1969) gives the rounding error of every addition; errors are added up beside the sums
and put back at the end, so that a sum depends on the order of its rows by less than a unit in the last place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gnomon.core.compiling import jit_ieee
from gnomon.core.tallies import Array


@dataclass(frozen=True)
class Moments:
    """Sums by group and column, ``(groups, D)`` each.

    Attributes
    ----------
    weight
        Of what was seen: how many values, where no weights were given.
    value, square
        Of the true values, and of their squares, about a constant of each column.
    error_square, error
        Of the squares of the errors (prediction minus truth), and of their sizes.
    """

    weight: Array
    value: Array
    square: Array
    error_square: Array
    error: Array


@dataclass(frozen=True)
class Running:
    """Sums that more rows can be added to, ``(groups, 5, D)``, and what rounding took from them."""

    sums: Array
    lost: Array

    @staticmethod
    def start(groups: int, width: int) -> Running:
        """Return sums of nothing."""
        return Running(np.zeros((groups, 5, width)), np.zeros((groups, 5, width)))

    def copy(self) -> Running:
        """Return the same sums in arrays of their own."""
        return Running(self.sums.copy(), self.lost.copy())

    def total(self) -> Moments:
        """Return the sums, with what rounding took put back."""
        total = self.sums + np.where(np.isfinite(self.sums), self.lost, 0.0)
        return Moments(*(total[:, part] for part in range(5)))


def fold(
    truth: Array,
    prediction: Array,
    codes: Array,
    groups: int,
    *,
    about: Array,
    seen: Array | None = None,
    weights: Array | None = None,
    running: Running | None = None,
) -> Moments:
    """Fold ``(N, D)`` truth and prediction by the group of each row.

    Parameters
    ----------
    truth, prediction
        ``(N, D)``; what is not seen may hold anything.
    codes, groups
        The group 0 .. groups - 1 of each row, and how many there are.
    about
        The constant of each column, ``(D,)``.
    seen
        ``(N, D)``: which values count; all by default.
    weights
        ``(N,)``: how often a row counts; once by default.
    running
        Sums to go on from; they are changed. The result of many calls is that of one with all rows, to the last bit.

    Examples
    --------
    >>> found = fold(np.array([[1.0], [3.0]]), np.array([[1.0], [2.0]]), np.array([0, 0]), 1, about=np.zeros(1))
    >>> [float(part[0, 0]) for part in (found.weight, found.value, found.square, found.error_square, found.error)]
    [2.0, 4.0, 10.0, 1.0, 1.0]
    """
    n, width = truth.shape
    shown = np.ones((1, width), np.bool_) if seen is None else np.ascontiguousarray(seen)
    times = np.ones(n) if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
    out = Running.start(groups, width) if running is None else running
    sides = np.ascontiguousarray(truth, dtype=np.float64), np.ascontiguousarray(prediction, dtype=np.float64)
    _fold(sides, np.asarray(codes), np.asarray(about, dtype=np.float64), shown, times, (out.sums, out.lost))
    return out.total()


@jit_ieee
def _fold(sides: Any, codes: Any, about: Any, shown: Any, times: Any, out: Any) -> None:
    truth, prediction = sides
    masked = shown.shape[0] == truth.shape[0]
    for i in range(truth.shape[0]):
        sums, lost = out[0][codes[i]], out[1][codes[i]]
        mask = shown[i if masked else 0]
        for j in range(truth.shape[1]):
            if not mask[j]:
                continue
            value, error = truth[i, j] - about[j], prediction[i, j] - truth[i, j]
            _add(sums, lost, 0, j, times[i])
            _add(sums, lost, 1, j, times[i] * value)
            _add(sums, lost, 2, j, times[i] * value * value)
            _add(sums, lost, 3, j, times[i] * error * error)
            _add(sums, lost, 4, j, times[i] * abs(error))


@jit_ieee
def _add(sums: Any, lost: Any, part: int, j: int, term: float) -> None:
    before = sums[part, j]
    total = before + term
    back = total - before
    lost[part, j] += (before - (total - back)) + (term - back)
    sums[part, j] = total
