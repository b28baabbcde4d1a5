"""Scores of two systems on each group by itself, for tests and effect sizes that need one number per group.

A group is scored from its own tallies, as if nothing else had been measured. A macro average of a group is over the
classes that the group has in truth, and the score of a class is undefined on groups without it
(:meth:`gnomon.core.measure.Measure.score_each`). A group on which either system has no score is left out and counted.
The mean of such scores is not the score of the whole; :mod:`gnomon.inference.paired` compares wholes.

Conventions: differences are A - B whatever the measure's direction. Differences that agree but for rounding tie, and
tied values share the mean of their ranks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnomon.core.errors import InputError, plural
from gnomon.core.measure import Direction, Measure
from gnomon.core.tallies import Array
from gnomon.inference.intervals import ROUNDING, Groups
from gnomon.inference.paired import align

NO_DIRECTION = "undefined (of a signed error neither more nor less is better)"
"""Why a score does not say which system is better."""


@dataclass(frozen=True)
class Pairs:
    """Scores of A and B on the groups where both have one, ``(n,)`` each."""

    a: Array
    b: Array
    left_out: int = 0
    """Groups on which A or B has no score."""
    direction: Direction = "up"
    level: str = "group"

    def __post_init__(self) -> None:
        for name in ("a", "b"):
            values = np.array(getattr(self, name), dtype=np.float64)
            if values.ndim != 1 or not np.isfinite(values).all():
                raise InputError(f"scores of {name.upper()}: expected a list of finite numbers")
            values.setflags(write=False)
            object.__setattr__(self, name, values)
        if len(self.a) != len(self.b):
            raise InputError(
                f"A has {len(self.a)} scores and B has {len(self.b)}: expected one of each per {self.level}"
            )

    @property
    def n(self) -> int:
        """How many groups have both scores."""
        return len(self.a)

    @property
    def differences(self) -> Array:
        """A - B by group; exactly 0 where both agree but for rounding."""
        found = self.a - self.b
        scale = np.maximum(1.0, np.maximum(np.abs(self.a), np.abs(self.b)))
        return np.where(np.abs(found) <= ROUNDING * scale, 0.0, found)

    def name(self, count: int) -> str:
        """Count groups in words."""
        return f"{count} {plural(self.level, count)}"


def pair_scores(measure: Measure, a: Groups, b: Groups) -> Pairs:
    """Score both systems on each group by itself; groups in the same order on both sides."""
    a, b = align(a, b)
    score_a, score_b = measure.score_each(a.rows), measure.score_each(b.rows)
    both = score_a.defined & score_b.defined
    left_out = int((~both).sum())
    return Pairs(score_a.values[both], score_b.values[both], left_out, measure.direction, a.level)


def average_ranks(values: Array) -> tuple[Array, Array]:
    """Return ranks from 1, tied values sharing the mean of theirs, and how many values each tie holds.

    >>> ranks, ties = average_ranks(np.array([0.3, 0.1, 0.1 + 1e-17, 0.2]))
    >>> ranks.tolist(), ties.tolist()
    ([4.0, 1.5, 1.5, 3.0], [2, 1, 1])
    """
    order = np.argsort(values, kind="stable")
    ordered = np.asarray(values, dtype=np.float64)[order]
    apart = np.diff(ordered) > ROUNDING * np.maximum(1.0, np.abs(ordered[1:]))
    tie = np.concatenate([np.zeros(1, np.int64), np.cumsum(apart)])[: len(ordered)]
    sizes = np.bincount(tie)
    ranks = np.empty(len(ordered))
    ranks[order] = (np.cumsum(sizes) - (sizes - 1) / 2)[tie]
    return ranks, sizes
