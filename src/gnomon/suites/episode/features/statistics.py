"""The 7 statistics of a window, computed while frames come in.

For each number of a frame, over the frames of a window: mean, standard deviation (about the mean, divided by the
count), least, greatest, last minus first, mean and standard deviation of the differences between neighbouring frames.

Validity
--------
``as-zero`` is the published way: all frames of a window count, and a number that is missing counts as 0; the zeros of a
hand that is not visible pull at every statistic. ``masked`` takes the statistics over valid frames only: last and first
are the last and first valid frames, and a difference needs two neighbours that are both valid. A statistic without any
frame is 0 there, and the coverage of the window says so.

Coverage of a block in a window is the share of its numbers, over the frames of the window, that could be read.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from gnomon.core.errors import GnomonError
from gnomon.core.tallies import Array
from gnomon.suites.episode.features import _kernels
from gnomon.suites.episode.features.blocks import LENGTH, STATISTICS
from gnomon.suites.episode.features.windows import starts

Validity = Literal["as-zero", "masked"]
CHUNK = 1024
"""Frames that are worked on at a time, which bounds the memory."""


class Rolling:
    """Takes the frames of one block as they come, and fills in each window as soon as its last frame is there.

    Parameters
    ----------
    values
        ``(windows, 7 d)`` float32, to be filled in.
    coverage
        ``(windows,)`` float32, to be filled in.
    n_frames
        Frames of the episode.
    masked
        Whether frames that are not valid are left out.
    relative
        Whether a window is taken relative to its first frame (the first valid one where they are masked).
    """

    def __init__(
        self, values: Array, coverage: Array, n_frames: int, *, masked: bool = False, relative: bool = False
    ) -> None:
        self._values, self._coverage = values, coverage
        self._masked, self._relative = masked, relative
        self._starts = starts(n_frames)
        self._frames = np.empty((0, values.shape[1] // len(STATISTICS)))
        self._share = np.empty(0)
        self._first = self._window = 0
        self.n_frames = n_frames
        self.invalid = 0
        """Frames so far of which nothing could be read."""

    @property
    def seen(self) -> int:
        """Frames so far."""
        return self._first + len(self._frames)

    def add(self, frames: Array, share: Array) -> None:
        """Take the next frames.

        Parameters
        ----------
        frames
            ``(n, d)``; what is not finite is missing.
        share
            ``(n,)``: the share of a frame's numbers that could be read; 0 where the frame is not valid.
        """
        if self.seen + len(frames) > self.n_frames:
            raise GnomonError(f"{self.seen + len(frames)} frames came, expected at most {self.n_frames}")
        finite = np.isfinite(frames)
        clean = np.where(finite, frames, 0.0)
        usable = np.where(finite.all(axis=1), share, 0.0)
        self.invalid += int((usable <= 0).sum())
        self._frames = np.concatenate([self._frames, clean])
        self._share = np.concatenate([self._share, usable])
        self._fill()

    def close(self) -> None:
        """Take what has not come as frames that are missing."""
        while self.seen < self.n_frames:
            n = min(CHUNK, self.n_frames - self.seen)
            self.add(np.zeros((n, self._frames.shape[1])), np.zeros(n))

    def _fill(self) -> None:
        stop = int(np.searchsorted(self._starts, self.seen - LENGTH, side="right"))
        if stop > self._window:
            rows = self._starts[self._window : stop] - self._first
            valid = self._share > 0 if self._masked else np.ones(len(self._share), dtype=np.bool_)
            found = np.empty((len(rows), self._values.shape[1]))
            _kernels.seven(self._frames, valid, rows, LENGTH, self._relative, found)
            self._values[self._window : stop] = single(found)
            covered = np.lib.stride_tricks.sliding_window_view(self._share, LENGTH)[rows].mean(axis=1)
            self._coverage[self._window : stop] = covered
            self._window = stop
        keep = int(self._starts[stop]) if stop < len(self._starts) else self.seen
        self._frames, self._share = self._frames[keep - self._first :], self._share[keep - self._first :]
        self._first = keep


def single(values: Array) -> Array:
    """Return numbers as float32; what is not finite there is 0.

    >>> single(np.array([0.5, np.nan, 1e300])).tolist()
    [0.5, 0.0, 0.0]
    """
    with np.errstate(over="ignore"):
        small = values.astype(np.float32)
    return np.where(np.isfinite(small), small, np.float32(0))


def plain_seven(values: Array) -> Array:
    """Return the 7 statistics over all rows of ``(n, d)``, ``(7 d,)``; n is at least 1."""
    out = np.empty((1, len(STATISTICS) * values.shape[1]))
    every = np.ones(len(values), dtype=np.bool_)
    _kernels.seven(np.ascontiguousarray(values), every, np.zeros(1, dtype=np.int64), len(values), False, out)
    found: Array = out[0]
    return found
