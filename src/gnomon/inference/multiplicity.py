"""Many tests at once: p-values that keep the chance of any false alarm at the level asked for.

Holm (1979): sort the m p-values; the i-th smallest is multiplied by m - i + 1, capped at 1, and never below the one
before it. It holds whatever the dependence between the tests, and rejects at least what Bonferroni rejects.

A test without a p-value keeps its place and is not counted as a test: it could not have rejected anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gnomon.core.errors import InputError


@dataclass(frozen=True)
class Adjusted:
    """Adjusted p-values in the order given, and how many tests they were adjusted for."""

    p: tuple[float | None, ...]
    tests: int
    undefined: int


def holm(p_values: Sequence[float | None]) -> Adjusted:
    """Adjust p-values by Holm's step-down.

    >>> holm([0.01, None, 0.04, 0.03])
    Adjusted(p=(0.03, None, 0.06, 0.06), tests=3, undefined=1)
    """
    given = [(float(p), place) for place, p in enumerate(p_values) if p is not None]
    wrong = [p for p, _ in given if not 0 <= p <= 1]
    if wrong:
        raise InputError(f"p-values: expected numbers from 0 to 1 or None, but got {wrong[0]!r}")
    adjusted: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for rank, (p, place) in enumerate(sorted(given)):
        highest = max(highest, min(1.0, (len(given) - rank) * p))
        adjusted[place] = highest
    return Adjusted(tuple(adjusted), len(given), len(adjusted) - len(given))
