"""F1 of means, which is not the mean of F1: a macro precision and a macro recall put together."""

from __future__ import annotations

from dataclasses import dataclass

from gnomon.core.measure import Scored
from gnomon.core.tallies import Array, Totals
from gnomon.measures import averaging
from gnomon.measures.averaging import AnswerCounts, ClassSet, ZeroDivision


@dataclass(frozen=True)
class F1OfMeans(AnswerCounts):
    """Harmonic mean of macro precision and macro recall over a class set; a family adds how it tallies.

    Parameters
    ----------
    classes
        ``union``: classes in truth or prediction; ``present``: classes in truth; ``listed``: these classes.
    zero_division
        ``0``: 0/0 counts as 0; ``1``: 0/0 counts as 1; ``None``: 0/0 is left out.
    """

    classes: ClassSet = "union"
    zero_division: ZeroDivision = None

    def __post_init__(self) -> None:
        averaging.check(self.classes, self.zero_division)

    def freeze(self, totals: Totals) -> Array:
        """Resolve the class set on the whole."""
        return averaging.freeze(self.classes, totals)

    def support(self, totals: Totals, frozen: Array | None) -> Array:
        """Classes with truth here."""
        return averaging.in_truth(totals, frozen)

    def score(self, totals: Totals, frozen: Array | None = None) -> Scored:
        """Average both, then combine them; 0 where both are 0, undefined where one is."""
        return self._combined(totals, frozen)

    def score_each(self, totals: Totals) -> Scored:
        """Average over the classes that each single group or case has in truth."""
        return self._combined(totals, None, single=True)

    @property
    def each_rule(self) -> str:
        """Which classes of a single group or case the averages are over."""
        return averaging.EACH_RULE

    def _combined(self, totals: Totals, frozen: Array | None, *, single: bool = False) -> Scored:
        missing = self.missing(totals)
        precision, recall = (
            averaging.averaged(kind, "macro", totals, frozen, self.classes, self.zero_division, missing, single=single)
            for kind in ("precision", "recall")
        )
        mean = Scored.ratio(2 * precision.values * recall.values, precision.values + recall.values)
        return Scored(mean.values, precision.defined & recall.defined)
