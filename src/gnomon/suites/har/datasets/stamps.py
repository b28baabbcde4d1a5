"""Time stamps as sensors write them: repaired where that is safe, refused where it is not, counted always.

- A stamp that repeats the one before it is a duplicate: the later sample is dropped.
- A stamp before the one before it is a jump back, and one more than ``max_gap_s`` after it is a gap: the recording is
  cut there, since what happened in between is not known.
- Where more than :data:`MOST_REPAIRED` of the stamps are duplicates or jumps back, the clock is not to be trusted and
  the recording is refused: it is left out and named like one that cannot be read.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
from gnomon.suites.har.datasets.counting import Faults

MOST_REPAIRED = 0.1
"""Share of stamps that may be repaired."""
MAX_GAP_S = 0.5
"""Seconds without a sample that are still one recording."""


@dataclass(frozen=True)
class Repaired:
    """What became of the stamps of a recording.

    Attributes
    ----------
    pieces
        Rows of each piece without a break; none where the recording is refused.
    duplicates, backwards, gaps
        How often each was met.
    refused
        Whether the clock is not to be trusted.
    stamps
        How many there are.
    """

    pieces: tuple[Array, ...]
    duplicates: int
    backwards: int
    gaps: int
    refused: bool
    stamps: int

    @property
    def wrong(self) -> str:
        """What share of the stamps is wrong, in words."""
        share = (self.duplicates + self.backwards) / max(self.stamps, 1)
        return f"{100 * share:.0f} % of {self.stamps:,} stamps repeat or jump back, at most {100 * MOST_REPAIRED:g} %"

    def count(self, faults: Faults, what: str, where: str) -> None:
        """Add what was met to counts of faults; a refused recording is left out, `where` is its file or its name."""
        if self.refused:
            faults.leave_out(InputError(f"{where}: {what}: {self.wrong}; obtain the file again"))
            return
        told = {
            f"{what}: duplicate time stamps, dropped": self.duplicates,
            f"{what}: time stamps that jump back, cut there": self.backwards,
            f"{what}: gaps in time, cut there": self.gaps,
        }
        faults.update({name: number for name, number in told.items() if number})


def repair(times: Array, max_gap_s: float = MAX_GAP_S) -> Repaired:
    """Return the pieces of a recording between breaks; times are seconds."""
    steps = np.diff(times)
    rows = np.flatnonzero(np.concatenate([[True], steps != 0]))[: len(times)]
    kept = np.diff(times[rows])
    backwards, gaps = int((kept < 0).sum()), int((kept > max_gap_s).sum())
    duplicates = len(times) - len(rows)
    refused = duplicates + backwards > MOST_REPAIRED * len(times)
    breaks = np.flatnonzero((kept < 0) | (kept > max_gap_s)) + 1
    pieces = () if refused or not len(rows) else tuple(np.split(rows, breaks))
    return Repaired(pieces, duplicates, backwards, gaps, refused, len(times))


def rate_of(times: Array) -> float | None:
    """Return the measured rate, one over the median step; None for fewer than two samples.

    >>> rate_of(np.array([0.0, 0.02, 0.04, 0.06, 0.2]))
    50.0
    """
    return round(1 / float(np.median(np.diff(times))), 6) if len(times) > 1 else None
