"""Stretches of one recording as columns: what is tallied of a recording, however many stretches it has.

Classes are those in use, in natural order. A recording is its case with what is true and what was returned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gnomon.core.signals import Intervals
from gnomon.core.tallies import Array, natural_key
from gnomon.suites.events.files import TruthCase
from gnomon.suites.events.plausible import Timed, outside
from gnomon.suites.events.protocol import POOLED
from gnomon.suites.events.spans import Placed
from gnomon.suites.events.times import Stretch


@dataclass(frozen=True, eq=False)
class Columns:
    """Starts and ends in seconds, codes into ``classes``, and scores, NaN where none was given."""

    starts: Array
    ends: Array
    codes: Array
    classes: tuple[str, ...]
    scores: Array

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def scored(self) -> bool:
        """Whether every stretch has a score."""
        return not np.isnan(self.scores).any()

    def signal(self, window: tuple[float, float], *, pooled: bool = False, scores: bool = False) -> Intervals:
        """Return the stretches as a signal; pooled, every label is the one class of the published variant."""
        kept = self.scores if scores and len(self) else None
        if pooled:
            return Intervals(self.starts, self.ends, np.zeros_like(self.codes), (POOLED,) * bool(len(self)), window)
        return Intervals(self.starts, self.ends, self.codes, self.classes, window, kept)

    def beyond(self, window: tuple[float, float]) -> int:
        """Count stretches that reach out of a window."""
        return int(((self.starts < window[0]) | (self.ends > window[1])).sum())

    def reach(self, window: tuple[float, float]) -> float:
        """Return how far into a window the last stretch reaches, as a share of the window; 0 where there is none."""
        return float(self.ends.max(initial=window[0]) - window[0]) / (window[1] - window[0])

    def lasting(self) -> float:
        """Return how long all stretches last together, in seconds."""
        return float((self.ends - self.starts).sum())

    def lost(self, window: tuple[float, float]) -> int:
        """Count stretches that do not touch a window."""
        return int(outside(self.starts, self.ends, window).sum())


@dataclass(frozen=True, eq=False)
class Recording:
    """A case, what is true of it and what was returned."""

    case: TruthCase
    truth: Columns
    returned: Columns


def of(stretches: Sequence[Stretch[float]]) -> Columns:
    """Return stretches as columns."""
    if isinstance(stretches, Placed):
        used = np.unique(stretches.codes)
        names = [stretches.names[code] for code in used.tolist()]
        order = sorted(range(len(used)), key=lambda place: natural_key(names[place]))
        rank = np.empty(len(used), dtype=np.int64)
        rank[order] = np.arange(len(used))
        codes, classes = rank[np.searchsorted(used, stretches.codes)], tuple(names[place] for place in order)
        return Columns(stretches.starts, stretches.ends, codes, classes, stretches.scores)
    starts, ends = (np.array([stretch[side] for stretch in stretches], dtype=np.float64) for side in (0, 1))
    names = sorted({stretch.label for stretch in stretches}, key=natural_key)
    place = {label: index for index, label in enumerate(names)}
    codes = np.array([place[stretch.label] for stretch in stretches], dtype=np.int64)
    given = [np.nan if stretch.score is None else stretch.score for stretch in stretches]
    return Columns(starts, ends, codes, tuple(names), np.array(given, dtype=np.float64))


def timed(window: tuple[float, float], stretches: Sequence[Stretch[float]]) -> Timed:
    """Return stretches with the window that they should lie in."""
    found = of(stretches)
    return window, found.starts, found.ends
