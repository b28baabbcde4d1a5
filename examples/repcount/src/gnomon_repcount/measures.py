"""Measures of repetition counting: mean absolute error, and the share of sets counted to within one.

A case keeps the summed absolute error, the number of sets within one repetition, and the number of sets.
Undefined without sets.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gnomon.core.measure import Measure, Scored
from gnomon.core.tallies import Field, Tallies


@dataclass(frozen=True, eq=False)
class RepCounts:
    """The signal: a whole count per set of repetitions."""

    counts: np.ndarray


class _Repcount(Measure):
    signal: ClassVar[type] = RepCounts
    family: ClassVar[str] = "repcount"
    layout: ClassVar[tuple[Field, ...]] = (Field("error", unit="repetitions"), Field("close"), Field("n"))

    def tally(self, truth, prediction):
        """Sum the errors of one case."""
        error = np.abs(truth.counts - prediction.counts)
        fields = {"error": [error.sum()], "close": [(error <= 1).sum()], "n": [len(error)]}
        return Tallies(self.layout, {}, {name: np.array(value, dtype=np.int64) for name, value in fields.items()})

    def why(self, totals):
        """Only without sets."""
        return "no sets"


@dataclass(frozen=True)
class MeanAbsoluteError(_Repcount):
    """Mean absolute error in repetitions."""

    title: ClassVar[str] = "mean absolute error"
    direction: ClassVar[str] = "down"
    bounds: ClassVar[tuple[float, float]] = (0.0, float("inf"))
    unit: ClassVar[str] = "repetitions"
    name: ClassVar[str] = "mae"

    def score(self, totals, frozen=None):
        """Summed error over sets."""
        return Scored.ratio(totals["error"], totals["n"])


@dataclass(frozen=True)
class WithinOne(_Repcount):
    """Share of sets counted to within one repetition."""

    title: ClassVar[str] = "within one"
    name: ClassVar[str] = "within_one"

    def score(self, totals, frozen=None):
        """Close sets over sets."""
        return Scored.ratio(totals["close"], totals["n"])


MEASURES = (MeanAbsoluteError(), WithinOne())
