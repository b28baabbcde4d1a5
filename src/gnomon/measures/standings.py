"""Where queries stand among candidates: read from similarities or vectors, kept as rows, and what they count for.

Conventions are those of :mod:`gnomon.measures.retrieval`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.ledgers import Ledger
from gnomon.core.signals import Rankings
from gnomon.core.tallies import Array
from gnomon.numerics import ranks
from gnomon.numerics.foreign import to_native
from gnomon.numerics.ranks import METRICS, Positives, Ranks

FORMS = ("average", "optimistic", "pessimistic")
"""How candidates with equal scores are ranked: as the mean over their orders, as the best, as the worst of them."""
COLUMNS = ("greater", "equal", "right")


@dataclass(frozen=True, eq=False)
class Standings(Rankings):
    """Rankings of queries that may have several positives: ``right`` of the ``equal`` candidates are (1 by default)."""

    right: Array | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        right = np.ones(len(self), dtype=np.int64) if self.right is None else np.array(self.right)
        if right.shape != self.greater.shape or (right.size and right.dtype.kind not in "iu"):
            raise InputError(f"Standings: expected whole numbers {self.greater.shape}, but got {right.shape}")
        if right.size and (right.min() < 1 or (right > self.equal).any()):
            raise InputError("Standings: expected from 1 to as many positives as candidates are equally similar")
        right.setflags(write=False)
        object.__setattr__(self, "right", right.astype(np.int64))

    def take(self, rows: Array) -> Standings:
        """Return some queries, against the same pool."""
        return Standings(self.greater[rows], self.equal[rows], self.pool_size, self.pool, rights(self)[rows])

    def ideal(self) -> Standings:
        """Return what a system without error would reach: every positive first, and alone."""
        return Standings(np.zeros(len(self), np.int64), np.ones(len(self), np.int64), self.pool_size, self.pool)


def ledger(found: Rankings, case: Array | None = None) -> Ledger:
    """Return a row per query: its mean rank and what that follows from; all of one case unless told."""
    counts = {"greater": found.greater, "equal": found.equal, "right": rights(found)}
    own = np.zeros(len(found), dtype=np.int64) if case is None else np.asarray(case)
    return Ledger(own, {"rank": ranks.means(**counts), **counts})


def ranked(similarity: Any, queries: Any, candidates: Any, positives: Any, metric: Any) -> tuple[Ranks, Positives]:
    """Check what was given, and rank."""
    if similarity is not None:
        if queries is not None or candidates is not None or metric is not None:
            raise InputError("expected similarity, or queries and candidates (with a metric), but got both")
        given = _table(similarity, "similarity")
        right = Positives.read(positives, *given.shape)
        return ranks.from_matrix(given, right), right
    if queries is None or candidates is None:
        raise InputError("expected similarity, or both queries and candidates, but got neither")
    if metric not in (None, *METRICS):
        raise InputError(f"metric: expected one of {', '.join(METRICS)}, but got {metric!r}")
    asked, offered = _table(queries, "queries"), _table(candidates, "candidates")
    if asked.shape[1] != offered.shape[1] or not asked.shape[1]:
        raise InputError(f"queries {asked.shape} and candidates {offered.shape}: expected vectors of one length")
    right = Positives.read(positives, len(asked), len(offered))
    return ranks.from_vectors(asked, offered, right, metric or "cosine"), right


def _table(values: Any, what: str) -> Array:
    try:
        array = np.asarray(to_native(values, what))
    except ValueError as error:
        raise InputError(f"{what}: expected a table of numbers: {error}") from error
    if array.ndim != 2 or array.dtype.kind not in "biuf" or array.dtype.itemsize > 8 or array.dtype == np.uint64:
        raise InputError(f"{what}: expected a table of numbers (rows, columns), but got {array.dtype} {array.shape}")
    return array


def rights(found: Rankings) -> Array:
    """Return how many of the equally similar candidates are positives, by query."""
    right = found.right if isinstance(found, Standings) else None
    return np.ones(len(found), dtype=np.int64) if right is None else right


def rank(found: Rankings, form: str) -> Array:
    """Return the rank of each query in the best or worst order, or its mean."""
    if form == "average":
        return ranks.means(found.greater, found.equal, rights(found))
    return np.asarray(found.greater + 1 + (0 if form == "optimistic" else found.equal - rights(found)))


def reciprocal(found: Rankings, form: str) -> Array:
    """Return 1 / rank of each query in the best or worst order, or its mean."""
    if form == "average":
        return ranks.reciprocals(found.greater, found.equal, rights(found))
    return np.asarray(1 / rank(found, form))


def hit(found: Rankings, form: str, k: int) -> Array:
    """Return whether the rank of each query is at most k in the best or worst order, or how probable that is."""
    if form == "average":
        return ranks.within(found.greater, found.equal, rights(found), k)
    return np.asarray(rank(found, form) <= k, dtype=np.float64)


def from_ledger(rows: Ledger) -> Standings:
    """Return what a ledger was made from, but for the pool."""
    greater, equal, right = (rows.columns[name] for name in COLUMNS)
    return Standings(greater, equal, int((greater + equal).max(initial=0)), "", right)
