"""How sure a quantile is: by the share of rows below it, which moves smoothly where the quantile jumps.

Leaving out one group at a time moves a quantile from one value to another or not at all, and its jackknife variance is
wrong however many groups there are (Efron, 1982). The share of rows below the observed quantile is a ratio of sums,
whose jackknife is sound. From it follow

the interval
    of Woodruff (1952): share +- t_{G-1} se, both ends taken back to values through the quantiles of the rows. The ends
    of the share are cut to [0, 1] and not carried to the logit, which covers less for shares near 1.
scores without each group
    quantile - (share_(i) - share) * slope, where the slope is that of the quantiles across the interval. They are what
    comparisons, seeds and composites need; the difference of two quantiles has its jackknife from them.

Rows that are equal in value make the interval wide: between two neighbouring values there is nothing to choose.
"""

from __future__ import annotations

import numpy as np

from gnomon.core.measure import Scored
from gnomon.core.rows import QuantileMeasure
from gnomon.core.tallies import Array, Totals

SPAN = 0.95
"""Level of the interval across which the slope is taken."""


def shares(measure: QuantileMeasure, total: Totals, rest: Totals) -> Array:
    """Return the share of rows below the quantile of the whole, without each group."""
    return measure.share_below(rest, float(measure.score(total).values))


def straight(measure: QuantileMeasure, total: Totals, rest: Totals, found: Array, half: float) -> Scored:
    """Return the quantile without each group, along the slope; ``half`` is half the width of the share's interval."""
    value = float(measure.score(total).values)
    if not half > 0:
        return Scored(np.full(len(found), value), measure.score(rest).defined)
    low, high = measure.quantiles(total, _cut(measure.share, half)).tolist()
    slope = (high - low) / (2 * half)
    moved = found - float(measure.share_below(total, value))
    return Scored(value - moved * slope, measure.score(rest).defined)


def ends(measure: QuantileMeasure, total: Totals, half: float, notes: list[str]) -> tuple[float, float]:
    """Return the interval of a quantile, and note where the rows end before it does."""
    cut = _cut(measure.share, half)
    for end, side in zip((0.0, 1.0), ("lower", "upper"), strict=True):
        if end in cut.tolist():
            notes.append(f"the {side} end of the interval is the outermost value: it may lie further out")
    low, high = measure.quantiles(total, cut).tolist()
    return low, high


def _cut(share: float, half: float) -> Array:
    return np.array([max(share - half, 0.0), min(share + half, 1.0)])
