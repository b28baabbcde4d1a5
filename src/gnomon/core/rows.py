"""Rows of a ledger under weights: what scores that do not fold over cases are made and resampled from.

:class:`Rows` stands where :class:`~gnomon.core.tallies.Tallies` with one row per group stands: it has a total, totals
without each group, and weighted totals. A total of rows cannot be summed further, so :class:`Weighted` keeps the rows
and how often each group counts. A :class:`LedgerMeasure` sorts the rows once and scores them under any weights.

Conventions
-----------
- Weights are whole numbers of 0 or more; the rows of a group of weight 2 count as if they stood there twice.
- Neither the order of the rows nor how they were spread over shards can change a score: that is for each measure to
  keep, by sorting and by exact sums.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from gnomon.core.errors import GnomonError, InputError, some
from gnomon.core.ledgers import Ledger
from gnomon.core.measure import Measure, Scored
from gnomon.core.tallies import Array, Field, Tallies, Totals

DENSE = 2_000_000
"""Weights that are looked at at once."""


class Rows:
    """The rows of a ledger with the group of each.

    Parameters
    ----------
    ledger
        The rows; their case codes are not looked at.
    group
        Index of the row's group, ``(rows,)``.
    n_cases
        How many groups there are, those without a row included.
    """

    def __init__(self, ledger: Ledger, group: Array, n_cases: int) -> None:
        group = np.asarray(group)
        if group.shape != (len(ledger),) or (group.size and not (group.min() >= 0 and group.max() < n_cases)):
            raise GnomonError(f"expected a group in [0, {n_cases}) for each of {len(ledger)} rows")
        self.ledger = ledger
        self.group = group.astype(np.int64)
        self.n_cases = n_cases
        self._prepared: dict[Measure, Any] = {}
        self._joined: tuple[Rows, Rows] | None = None

    @staticmethod
    def of_cases(ledger: Ledger, group: Array, n_groups: int) -> Rows:
        """Return the rows of cases, given the group of each case: -1 leaves a case out."""
        group = np.asarray(group)
        if len(ledger) and int(ledger.case.max()) >= len(group):
            raise InputError(f"a ledger has rows of case {int(ledger.case.max())}, but there are {len(group)} cases")
        inside = ledger if (group >= 0).all() else ledger.take(group >= 0)
        return Rows(inside, group[inside.case], n_groups)

    @cached_property
    def counts(self) -> Array:
        """How many rows each group has."""
        return np.bincount(self.group, minlength=self.n_cases)

    @property
    def width(self) -> int:
        """How many numbers one replicate holds: its weights."""
        return max(self.n_cases, 1)

    def filled(self) -> Array:
        """Return which groups have rows."""
        return np.asarray(self.counts > 0)

    def take(self, groups: Array | slice) -> Rows:
        """Return some groups: distinct indices or a boolean mask."""
        kept = np.arange(self.n_cases)[groups]
        place = np.full(self.n_cases, -1, dtype=np.int64)
        place[kept] = np.arange(len(kept))
        inside = place[self.group] >= 0
        columns = {name: column[inside] for name, column in self.ledger.columns.items()}
        ledger = Ledger(self.ledger.case[inside], columns, self.ledger.labels)
        return Rows(ledger, place[self.group[inside]], len(kept))

    def joined(self, other: Rows) -> Rows:
        """Return the rows of both, the groups of the other behind these; made once for the same other."""
        if self._joined is None or self._joined[0] is not other:
            ledger = Ledger.stack([(self.ledger, 0), (other.ledger, 0)])
            group = np.concatenate([self.group, other.group + self.n_cases])
            self._joined = other, Rows(ledger, group, self.n_cases + other.n_cases)
        return self._joined[1]

    def aligned(self, other: Rows) -> tuple[Rows, Rows]:
        """Return both sides of a comparison; rows carry their labels with them."""
        return self, other

    def swapped(self, other: Rows, swaps: Array) -> tuple[Weighted, Weighted]:
        """Return both sides after groups changed sides, ``(batch, groups)`` of 0 and 1."""
        both, keep = self.joined(other), 1 - swaps
        return both.weighted(np.hstack([keep, swaps])), both.weighted(np.hstack([swaps, keep]))

    def total(self) -> Weighted:
        """Count every group once."""
        return Weighted({}, {}, (), rows=self, weights=np.ones((1, self.n_cases), dtype=np.int64))

    def each(self) -> Weighted:
        """Count each group alone."""
        return Weighted({}, {}, (self.n_cases,), rows=self, weights="each")

    def without_each(self) -> Weighted:
        """Count, for every group, all the others."""
        return Weighted({}, {}, (self.n_cases,), rows=self, weights="others")

    def weighted(self, weights: Array, *, rough: bool = False) -> Weighted:
        """Count groups as each row of ``weights`` ``(batch, groups)`` says; nothing is rounded."""
        del rough
        given = np.asarray(weights)
        small = given.astype(np.int32) if given.size and int(given.max()) < 2**31 else given.astype(np.int64)
        return Weighted({}, {}, (len(given),), rows=self, weights=small)

    def prepared(self, measure: LedgerMeasure) -> Any:
        """Return what a measure needs of the rows under any weights; made once."""
        if measure not in self._prepared:
            self._prepared[measure] = measure.prepare(self)
        return self._prepared[measure]


@dataclass(frozen=True, eq=False)
class Weighted(Totals):
    """Rows, and how often each group counts, by entry of the batch: as given, ``each`` alone, or all ``others``."""

    rows: Rows = field(kw_only=True)
    weights: Array | Literal["each", "others"] = field(kw_only=True)

    def dense(self) -> Iterator[Array]:
        """Yield the weights in parts of bounded size, ``(part, groups)``."""
        groups = self.rows.n_cases
        size = groups if isinstance(self.weights, str) else len(self.weights)
        step = max(1, DENSE // max(groups, 1))
        for start in range(0, size, step):
            if isinstance(self.weights, str):
                alone = np.arange(start, min(start + step, size))[:, np.newaxis] == np.arange(groups)
                yield (alone if self.weights == "each" else ~alone).astype(np.int64)
            else:
                yield self.weights[start : start + step].astype(np.int64)

    def summed(self, by_group: Array) -> Array:
        """Return sums ``(*batch, *columns)`` of counts that are given by group, ``(groups, *columns)``."""
        flat = np.asarray(by_group, dtype=np.float64).reshape(len(by_group), math.prod(by_group.shape[1:]))
        parts = [part.astype(np.float64) @ flat for part in self.dense()]
        joined = np.concatenate(parts) if parts else np.zeros((0, flat.shape[1]))
        return joined.reshape((*self.batch, *by_group.shape[1:]))


@dataclass(frozen=True)
class LedgerMeasure(Measure):
    """A measure whose score needs rows: it names a ledger, sorts it once and scores it under weights by group.

    Truth and prediction of a case leave rows, not a tally. Where a suite makes them itself, the ledger is the signal.
    """

    ledger: str
    """Name of the ledger."""
    signal: ClassVar[type] = Ledger
    layout: ClassVar[tuple[Field, ...]] = ()

    @property
    def family(self) -> str:  # type: ignore[override]
        """The ledger."""
        return self.ledger

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The columns that are read."""

    @abstractmethod
    def prepare(self, rows: Rows) -> Any:
        """Sort the rows: whatever does not depend on the weights."""

    @abstractmethod
    def score_rows(self, prepared: Any, weights: Array, frozen: Array | None) -> Scored:
        """Score under weights ``(batch, groups)``."""

    @abstractmethod
    def broken(self, ledger: Ledger) -> dict[str, Array]:
        """Return where something that cannot be true holds of rows, by what it is."""

    def rows(self, truth: Any, prediction: Any) -> Ledger:
        """Return the rows of one case; of rows that a suite made, the prediction is all."""
        del truth
        if not isinstance(prediction, Ledger):
            raise GnomonError(f"{self.name}: expected the rows of a case, but got {type(prediction).__name__}")
        return prediction

    def tally(self, truth: Any, prediction: Any) -> Tallies:
        """Refuse: there is no tally."""
        del truth, prediction
        raise GnomonError(f"{self.name} is scored from the rows of the ledger {self.ledger!r}: they have no tally")

    def score(self, totals: Totals, frozen: Array | None = None) -> Scored:
        """Score rows under weights."""
        given = weighted(totals)
        prepared = given.rows.prepared(self)
        parts = [self.score_rows(prepared, weights, frozen) for weights in given.dense()]
        values, defined = (
            np.concatenate([getattr(part, name) for part in parts] or [np.zeros(0, kind)]).reshape(given.batch)
            for name, kind in (("values", np.float64), ("defined", np.bool_))
        )
        return Scored(values, defined)

    def find(self, ledgers: Mapping[str, Ledger]) -> Ledger:
        """Return the ledger of this measure, with every column that it reads."""
        if self.ledger not in ledgers:
            there = some(sorted(ledgers)) or "none"
            raise InputError(f"{self.name}: no ledger {self.ledger!r} to score; there are {there}: score again")
        found = ledgers[self.ledger]
        missing = [name for name in self.columns if name not in found.columns]
        if missing:
            there = some(sorted(found.columns)) or "none"
            raise InputError(f"{self.name}: the ledger {self.ledger!r} lacks the column {missing[0]!r}; it has {there}")
        return found

    def identities(self, tallies: Any, ledgers: Mapping[str, Ledger]) -> list[str]:
        """Name what cannot be true of the rows."""
        del tallies
        return [what for what, where in self.broken(self.find(ledgers)).items() if np.any(where)]


@dataclass(frozen=True)
class QuantileMeasure(LedgerMeasure):
    """A quantile of rows: it jumps from value to value, so its spread is judged by that of the share below it."""

    @property
    @abstractmethod
    def share(self) -> float:
        """The share of rows below the quantile."""

    @abstractmethod
    def share_below(self, totals: Totals, value: float) -> Array:
        """Return the share of rows below a value, those equal to it counted half, ``(*batch,)``; 0 without rows."""

    @abstractmethod
    def quantiles(self, totals: Totals, shares: Array) -> Array:
        """Return the values at shares from 0 to 1 of (unbatched) totals."""


def weighted(totals: Totals) -> Weighted:
    """Return totals of rows as such."""
    if not isinstance(totals, Weighted):
        raise GnomonError("a measure of rows was given tallies: expected the rows of its ledger")
    return totals
