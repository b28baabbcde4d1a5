"""How measures of stretches of time are folded over recordings: one tally of each, within its window.

Conventions
-----------
- A case is one recording, of which truth and prediction share a window. Stretches are clipped to it; an edge that lies
  beyond it is the window's.
- Background is what nothing covers, and a stretch without a class; it is never a run, an event or a return.
- A parameter that changes what a recording leaves is part of the family's name (:func:`family_of`), so that each value
  has a tally of its own; or its values are an axis of one tally.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from gnomon.core.ledgers import Ledger
from gnomon.core.measure import Measure
from gnomon.core.signals import Intervals
from gnomon.core.tallies import Array, Tallies
from gnomon.measures import _stretches
from gnomon.measures._stretches import Pair

_SIGNS = str.maketrans({".": "p", "-": "m", "+": None})


class Folded(Measure):
    """Base of measures of one recording's stretches; a family adds what is kept and what must hold of it."""

    signal: ClassVar[type] = Intervals
    axes: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Labels of the axes of the tally other than ``class``."""

    @abstractmethod
    def kept(self, pair: Pair) -> dict[str, Any]:
        """Return the fields of the tally."""

    @abstractmethod
    def broken(self, fields: Mapping[str, Array]) -> dict[str, Array]:
        """Return where something that cannot be true holds of tallies, by what it is."""

    def tally(self, truth: Intervals, prediction: Intervals) -> Tallies:
        """Summarise one recording."""
        return self.folded(_stretches.paired(truth, prediction))

    def folded(self, pair: Pair) -> Tallies:
        """Summarise one recording that is read and clipped, so that several families need not do it each."""
        by_class = any("class" in field.axes for field in self.layout)
        axes = {**self.axes, "class": tuple(pair.labels)} if by_class else self.axes
        return Tallies(self.layout, axes, {name: np.asarray([value]) for name, value in self.kept(pair).items()})

    def identities(self, tallies: Tallies, ledgers: Mapping[str, Ledger]) -> list[str]:
        """Check that the tallies can come from recordings."""
        del ledgers
        return [what for what, where in self.broken(tallies.fields).items() if np.any(where)]


def family_of(stem: str, *values: float) -> str:
    """Return the name of a family for values of its parameters, as an identifier.

    >>> family_of("collar", 0.2, 1e-7)
    'collar_0p2_1em07'
    """
    return "_".join([stem, *(repr(value).translate(_SIGNS) for value in values)])
