"""Scores of rows, not of sums: average precision and percentiles, under weights that repeat groups of rows.

Conventions
-----------
- Rows belong to cases, and cases to groups; a score under weights is the score of the repeated rows, so resampling
  groups is the same as repeating their rows.
- A ledger of detections has the columns ``class`` (a code), ``score`` (rises with certainty, NaN where none was given),
  ``returned`` (1 for something that was returned, 0 for a row that only counts truths), ``truths`` (how many true
  things the row stands for) and one column of 0 and 1 per threshold that says whether what was returned is right:
  ``hit``, or ``hit_0p5`` for the threshold 0.5. A case has one row for everything returned, and one for the truths of
  each class. Where what is ranked are the true things themselves (samples with a label), one row is both.

Measures
--------
average precision
    Rows of a class by falling score, equal scores as one block. ``all-point`` (default): the mean over truths of the
    best precision at that recall or a higher one, 0 for what is never found (the area under the interpolated curve of
    Everingham et al., 2010; ActivityNet, THUMOS). ``none``: the sum over blocks of the gain of recall times the
    precision there, not interpolated (``average_precision_score`` of scikit-learn). ``11-point`` and ``101-point``: the
    mean of the best precision at or beyond recalls in equal steps (VOC 2007, COCO). The score is the mean over the
    classes of the set, and over thresholds where there are several.
percentile
    The seventh definition of Hyndman and Fan (1996), the usual one: by linear interpolation at rank share * (n - 1) of
    the sorted rows, from 0 (``numpy.quantile``, ``method="linear"``).

Undefined cases
---------------
Average precision: no class of the set has a truth; something returned has no score. A class without truths is left out
of the mean. Percentile: no rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.ledgers import Ledger
from gnomon.core.measure import Direction, Measure, Scored
from gnomon.core.rows import LedgerMeasure, QuantileMeasure, Rows, weighted
from gnomon.core.tallies import Array, Totals
from gnomon.measures import _stretches
from gnomon.measures._folding import family_of
from gnomon.measures.averaging import ClassSet, suffix
from gnomon.numerics import ranked

Interpolation = Literal["all-point", "none", "11-point", "101-point"]
INTERPOLATIONS = ("all-point", "none", "11-point", "101-point")
NO_SCORES = "something returned has no score"


def hit_column(threshold: float | None) -> str:
    """Return the name of the column that says what is right at a threshold.

    >>> hit_column(None), hit_column(0.55)
    ('hit', 'hit_0p55')
    """
    return "hit" if threshold is None else family_of("hit", float(threshold))


@dataclass(frozen=True)
class Detections:
    """Detections sorted, and what was returned without a score, by group."""

    ranking: ranked.Ranking
    unscored: Array
    labels: tuple[str, ...]


@dataclass(frozen=True)
class AveragePrecision(LedgerMeasure):
    """Mean over classes, and over thresholds, of the average precision of detections.

    Parameters
    ----------
    classes
        ``present``: classes in truth; ``listed``: these classes.
    interpolation
        ``all-point``: at each recall the best precision there or further on; ``none``: precision as it is at each
        recall; ``11-point``: the best precision at 11 recalls; ``101-point``: the best precision at 101 recalls.
    """

    ledger: str = "detections"
    at: tuple[float, ...] = ()
    classes: ClassSet = "present"
    interpolation: Interpolation = "all-point"
    title: ClassVar[str] = "average precision"
    biased: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.at:
            object.__setattr__(self, "at", tuple(_stretches.limits(self.at, "at").tolist()))
        if isinstance(self.classes, str) and self.classes != "present":
            raise InputError(f"classes: expected 'present' or a list of labels, but got {self.classes!r}")
        if len(set(self.classes)) != len(self.classes) and not isinstance(self.classes, str):
            raise InputError(f"classes: expected distinct labels, but got {list(self.classes)!r}")
        if self.interpolation not in INTERPOLATIONS:
            raise InputError(f"interpolation: expected one of {INTERPOLATIONS}, but got {self.interpolation!r}")

    @property
    def name(self) -> str:
        """Column key: ``mAP``, and the threshold or the first and last of several."""
        ends = dict.fromkeys(self.at[:: max(len(self.at) - 1, 1)])
        where = f"@{':'.join(f'{100 * t:g}' for t in ends)}" if self.at else ""
        how = {"all-point": "", "none": "_uninterpolated"}.get(self.interpolation, f"_{self.interpolation}")
        return f"mAP{where}{suffix(self.classes) if self.classes != 'present' else ''}{how}"

    @property
    def aliases(self) -> tuple[str, ...]:
        """The thresholds as shares, as tables of detections print them: ``mAP@.5:.95``."""
        ends = dict.fromkeys(self.at[:: max(len(self.at) - 1, 1)])
        return (f"mAP@{':'.join(f'{t:g}'.lstrip('0') for t in ends)}",) if ends else ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read."""
        return ("class", "score", "returned", "truths", *self._hits)

    @property
    def _hits(self) -> tuple[str, ...]:
        return tuple(hit_column(t) for t in self.at or (None,))

    def prepare(self, rows: Rows) -> Detections:
        """Sort what was returned by class and score; count truths by class and group."""
        columns, labels = rows.ledger.columns, rows.ledger.labels["class"]
        shape = len(labels), rows.n_cases
        cell = columns["class"] * shape[1] + rows.group
        truths = np.bincount(cell, weights=columns["truths"], minlength=shape[0] * shape[1]).reshape(shape)
        back = columns["returned"] > 0
        bare = back & np.isnan(columns["score"])
        kept = np.flatnonzero(back & ~bare)
        hits = np.stack([columns[name][kept] > 0 for name in self._hits])
        given = columns["score"][kept], columns["class"][kept], rows.group[kept], hits, truths
        ranking = ranked.rank(*given, interpolation=self.interpolation)
        return Detections(ranking, np.bincount(rows.group[bare], minlength=rows.n_cases), labels)

    def score_rows(self, prepared: Detections, weights: Array, frozen: Array | None) -> Scored:
        """Average over the classes of the set that have truths."""
        each, truths = ranked.average_precision(prepared.ranking, weights)
        inside = (truths > 0) & (self._listed(prepared) if frozen is None else frozen)
        mean = Scored.ratio((each.mean(axis=1) * inside).sum(axis=1), inside.sum(axis=1))
        return Scored(mean.values, mean.defined & (weights @ prepared.unscored == 0))

    def _listed(self, prepared: Detections) -> Array:
        return np.array([self.classes == "present" or label in self.classes for label in prepared.labels], np.bool_)

    def freeze(self, totals: Totals) -> Array:
        """Resolve the class set on the whole."""
        given = weighted(totals)
        prepared: Detections = given.rows.prepared(self)
        return np.asarray((given.summed(prepared.ranking.truths.T) > 0) & self._listed(prepared))

    def support(self, totals: Totals, frozen: Array | None) -> Array | None:
        """Classes of the set with truths here."""
        given = weighted(totals)
        truths = given.summed(given.rows.prepared(self).ranking.truths.T) > 0
        return np.asarray(truths if frozen is None else truths[..., frozen])

    def count(self, totals: Totals) -> int:
        """True things of the classes of the set."""
        given = weighted(totals)
        prepared: Detections = given.rows.prepared(self)
        return int(given.summed(prepared.ranking.truths[self._listed(prepared)].sum(axis=0)))

    def why(self, totals: Totals) -> str:
        """No truths, or no scores."""
        given = weighted(totals)
        if given.summed(given.rows.prepared(self).unscored) > 0:
            return NO_SCORES
        return "no class has truths" if isinstance(self.classes, str) else "none of the listed classes has truths"

    def broken(self, ledger: Ledger) -> dict[str, Array]:
        """Hits of what was not returned, more hits than truths, numbers that are neither 0 nor 1."""
        columns = ledger.columns
        flags = [columns["returned"], *(columns[name] for name in self._hits)]
        width = int(columns["class"].max(initial=0)) + 2
        key = np.unique(ledger.case.astype(np.int64) * width + columns["class"] + 1, return_inverse=True)[1]
        truths = np.bincount(key, weights=columns["truths"])
        return {
            "a row has no class": columns["class"] < 0,
            "a number of truths is below 0": columns["truths"] < 0,
            "a flag is neither 0 nor 1": np.array([((flag != 0) & (flag != 1)).any() for flag in flags]),
            "a score is infinite": np.isinf(columns["score"]),
            "something hits that was not returned": np.array([(hit > flags[0]).any() for hit in flags[1:]]),
            "more hits than truths": np.array([(np.bincount(key, weights=hit) > truths).any() for hit in flags[1:]]),
        }


@dataclass(frozen=True)
class Percentile(QuantileMeasure):
    """A percentile of a column of rows; the median by default. 0 is best, and smaller is better unless signed."""

    ledger: str = "values"
    column: str = "value"
    percent: float = 50.0
    measured_in: str = ""
    signed: bool = False
    """Whether values may be below 0; then a smaller percentile is not a better one."""
    title: ClassVar[str] = "percentile"

    def __post_init__(self) -> None:
        object.__setattr__(self, "percent", _stretches.amount(self.percent, "percent"))
        if not 0 < self.percent < 100:
            raise InputError(f"percent: expected a number between 0 and 100, but got {self.percent!r}")
        if not isinstance(self.signed, bool):
            raise InputError(f"signed: expected True or False, but got {self.signed!r:.80}")

    @property
    def name(self) -> str:
        """Column key."""
        return f"{self.column}_median" if self.percent == 50 else f"{self.column}_p{self.percent:g}"

    @property
    def aliases(self) -> tuple[str, ...]:
        """As tables print it beside the median."""
        return (f"{self.percent:g} %",)

    @property
    def unit(self) -> str:  # type: ignore[override]
        """Unit of the column."""
        return self.measured_in

    @property
    def direction(self) -> Direction:  # type: ignore[override]
        """Lower is better, unless signed."""
        return "" if self.signed else "down"

    @property
    def bounds(self) -> tuple[float, float]:  # type: ignore[override]
        """From 0 on, unless signed."""
        return (-math.inf if self.signed else 0.0, math.inf)

    @property
    def best(self) -> float:
        """No error."""
        return 0.0

    @property
    def columns(self) -> tuple[str, ...]:
        """The column that is read."""
        return (self.column,)

    @property
    def share(self) -> float:
        """The percentage as a share."""
        return self.percent / 100

    def prepare(self, rows: Rows) -> ranked.Sorted:
        """Sort the column."""
        return ranked.arrange(rows.ledger.columns[self.column], rows.group, rows.n_cases, self.share)

    def score_rows(self, prepared: ranked.Sorted, weights: Array, frozen: Array | None) -> Scored:
        """Find the percentile under weights."""
        del frozen
        values, defined = ranked.quantile(prepared, weights, np.full(len(weights), self.share))
        return Scored(values, defined)

    def share_below(self, totals: Totals, value: float) -> Array:
        """Share of rows below a value, equal ones counted half."""
        given = weighted(totals)
        sizes, below = given.summed(given.rows.counts), given.summed(ranked.below(given.rows.prepared(self), value))
        return Scored.ratio(below, sizes).values

    def quantiles(self, totals: Totals, shares: Array) -> Array:
        """Values at shares."""
        given = weighted(totals)
        (weights,) = given.dense()
        prepared: ranked.Sorted = given.rows.prepared(self)
        return ranked.quantile(prepared, np.repeat(weights, len(shares), axis=0), shares)[0]

    def count(self, totals: Totals) -> int:
        """Rows."""
        given = weighted(totals)
        return int(given.summed(given.rows.counts))

    def why(self, totals: Totals) -> str:
        """No rows."""
        del totals
        return f"no {self.column.replace('_', ' ')} to summarise"

    def broken(self, ledger: Ledger) -> dict[str, Array]:
        """Values that are not finite, or below 0."""
        values = ledger.columns[self.column]
        low = np.zeros(1, np.bool_) if self.signed else values < 0
        return {f"a {self.column} is not finite": ~np.isfinite(values), f"a {self.column} is below 0": low}


MEASURES: tuple[Measure, ...] = (
    AveragePrecision(),
    AveragePrecision(interpolation="none"),
    AveragePrecision(interpolation="11-point"),
    AveragePrecision(interpolation="101-point"),
    AveragePrecision(classes=("0", "1")),
    Percentile(),
    Percentile(percent=90.0),
)
