"""Retrieval: at which rank the right candidate of a query comes, when candidates are ordered by similarity.

Conventions
-----------
- Similarities are ``(n, candidates)``, larger is better; or they are made from ``queries`` ``(n, d)`` and
  ``candidates`` ``(m, d)`` as the cosine of the angle (default) or the dot product of rows.
- Query i is looking for candidate i, unless ``positives`` says otherwise; of several positives the best counts.
- The order of candidates that are equally similar is left open. A score is its mean over all orders; ``optimistic`` is
  the best and ``pessimistic`` the worst order for the system. (Of a constant similarity, ranks that count ties as won
  would say 1, and ranks in the order of a sort what the data happen to be sorted by.)
- Equal rows tie exactly; a row of zeros is 0 to everything, which is chance. See :mod:`gnomon.numerics.ranks`.

Measures
--------
mrr
    Mean over queries of 1 / rank. Under ties the mean of 1 / rank over the places in the block, which is not 1 over the
    mean rank.
top-k
    Share of queries whose rank is at most k; under ties the probability of that.
median rank
    Median over queries of the mean rank, which is greater + (equal + 1) / 2 for one positive.
chance
    The same scores if all candidates were tied.

A perfect system whose candidates repeat cannot tell them apart: ``evaluate(queries=truth, candidates=truth)`` gives the
ceiling of a task.

Undefined cases: no queries. A query without a positive, and a similarity that is not a number, are refused.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.ledgers import Ledger
from gnomon.core.measure import Measure, Scored
from gnomon.core.signals import Rankings
from gnomon.core.tallies import Array, Field, Tallies, Totals
from gnomon.measures.accumulate import Accumulator, score_function
from gnomon.measures.ranked import Percentile
from gnomon.measures.standings import (
    COLUMNS,
    FORMS,
    Standings,
    from_ledger,
    hit,
    ledger,
    rank,
    ranked,
    reciprocal,
    rights,
)
from gnomon.measures.tasks import family, named
from gnomon.numerics import ranks
from gnomon.numerics.foreign import to_native
from gnomon.numerics.ranks import Metric

__all__ = [
    "FORMS",
    "KS",
    "MEASURES",
    "MedianRank",
    "Mrr",
    "Standings",
    "TopK",
    "evaluate",
    "ledger",
    "rankings",
    "tally_cases",
]

Form = Literal["average", "optimistic", "pessimistic"]
KS = (1, 3, 5, 10, 20, 50, 100)
"""The k of which tallies keep the hits."""
LAYOUT = (
    Field("reciprocal", ("form",), "sum"),
    Field("hits", ("form", "k"), "sum"),
    Field("n"),
)
AXES = {"form": FORMS, "k": tuple(map(str, KS))}
RANKS = "ranks"
"""Name of the ledger of ranks; that of a task has the task behind it."""
CLOSE = 1e-9
NO_QUERIES = "no queries"


def rankings(
    similarity: Any = None,
    *,
    queries: Any = None,
    candidates: Any = None,
    positives: Any = None,
    metric: Metric | None = None,
    pool: str = "",
) -> Standings:
    """Rank candidates for each query, for tallies; arguments are those of :func:`evaluate`.

    ``pool`` names the candidates, for example by a digest of their ids; by default it is a digest of their vectors.
    """
    found, _ = ranked(similarity, queries, candidates, positives, metric)
    name = pool or (_digest(np.asarray(candidates)) if candidates is not None else f"{found.pool} candidates")
    return Standings(found.greater, found.equal, found.pool, name, found.right)


def tally_cases(found: Rankings, case: Array, n_cases: int) -> Tallies:
    """Tally many cases at once; ``case`` holds the case of each query."""
    case = np.asarray(case)
    counts = np.bincount(case, minlength=n_cases)
    order, stops = np.argsort(case, kind="stable"), np.cumsum(counts)
    sums = np.zeros((n_cases, len(FORMS), 1 + len(KS)))
    for f, form in enumerate(FORMS):
        for c, column in enumerate([reciprocal(found, form), *(hit(found, form, k) for k in KS)]):
            sums[:, f, c] = [math.fsum(part.tolist()) for part in np.split(column[order], stops[:-1])]
    return Tallies(LAYOUT, AXES, {"reciprocal": sums[..., 0], "hits": sums[..., 1:], "n": counts})


@dataclass(frozen=True)
class _Retrieval(Measure):
    """Base of the measures that fold over queries.

    Parameters
    ----------
    form
        ``average``: mean over all orders of ties; ``optimistic``: ties in the best order; ``pessimistic``: ties in the
        worst order.
    """

    task: str = ""
    form: Form = "average"
    signal: ClassVar[type] = Rankings
    family: ClassVar[str] = "retrieval"
    layout: ClassVar[tuple[Field, ...]] = LAYOUT

    def __post_init__(self) -> None:
        object.__setattr__(self, "family", family("retrieval", self.task))
        if self.form not in FORMS:
            raise InputError(f"form: expected one of {', '.join(FORMS)}, but got {self.form!r}")

    def tally(self, truth: Rankings, prediction: Rankings) -> Tallies:
        """Sum one case; of the truth, which is that positives come first, only the pool is looked at."""
        if (len(truth), truth.pool) != (len(prediction), prediction.pool):
            raise InputError(
                f"expected rankings of {len(truth)} queries in the pool {truth.pool!r}, but got {len(prediction)} in "
                f"{prediction.pool!r}: ranks among different candidates cannot be compared"
            )
        return tally_cases(prediction, np.zeros(len(prediction), dtype=np.int64), 1)

    def identities(self, tallies: Tallies, ledgers: Mapping[str, Ledger]) -> list[str]:
        """Check that sums can come from ranks, and that they do come from the ledger where there is one."""
        fields, wrong = tallies.fields, []
        sums = np.concatenate([fields["reciprocal"][..., np.newaxis], fields["hits"]], axis=2)
        average, best, worst = (sums[:, tallies.axes["form"].index(form)] for form in FORMS)
        if (worst > average + CLOSE).any() or (average > best + CLOSE).any():
            wrong.append("the average over ties is not between the worst and the best order")
        if (sums < 0).any() or (sums > fields["n"][:, np.newaxis, np.newaxis] + CLOSE).any():
            wrong.append("a sum of reciprocal ranks or hits is not between 0 and n")
        if (np.diff(fields["hits"], axis=2) < -CLOSE).any():
            wrong.append("hits do not rise with k")
        if not _follow(tallies, ledgers.get(family(RANKS, self.task))):
            wrong.append("the ledger of ranks does not sum to the tallies")
        return wrong

    def why(self, totals: Totals) -> str:
        """Only without queries."""
        del totals
        return NO_QUERIES

    def _name(self, stem: str) -> str:
        return named(stem if self.form == "average" else f"{stem}_{self.form}", self.task)


def _follow(tallies: Tallies, rows: Ledger | None) -> bool:
    """Say whether tallies are those of the rows; also where there are no rows."""
    if rows is None:
        return True
    if len(rows) and int(rows.case.max()) >= tallies.n_cases:
        return False
    try:
        return tally_cases(from_ledger(rows), rows.case, tallies.n_cases) == tallies
    except InputError:
        return False


@dataclass(frozen=True)
class Mrr(_Retrieval):
    """Mean over queries of 1 / rank of the right candidate."""

    title: ClassVar[str] = "mean reciprocal rank"

    @property
    def name(self) -> str:
        """Column key."""
        return self._name("mrr")

    def score(self, totals: Totals, frozen: Array | None = None) -> Scored:
        """Reciprocal ranks over queries."""
        del frozen
        return Scored.ratio(totals["reciprocal"][..., totals.axes["form"].index(self.form)], totals["n"])


@dataclass(frozen=True)
class TopK(_Retrieval):
    """Share of queries whose right candidate is among the first k."""

    k: int = 1
    title: ClassVar[str] = "top-k accuracy"

    def __post_init__(self) -> None:
        super().__post_init__()
        if type(self.k) is not int or self.k not in KS:
            raise InputError(
                f"k: expected one of {', '.join(map(str, KS))}, of which hits are kept, but got {self.k!r}"
            )

    @property
    def name(self) -> str:
        """Column key."""
        return self._name(f"top{self.k}_accuracy")

    def score(self, totals: Totals, frozen: Array | None = None) -> Scored:
        """Hits over queries."""
        del frozen
        f, k = totals.axes["form"].index(self.form), totals.axes["k"].index(str(self.k))
        return Scored.ratio(totals["hits"][..., f, k], totals["n"])


@dataclass(frozen=True)
class MedianRank(Percentile):
    """Median (or another percentile) over queries of the mean rank; 1 is best."""

    ledger: str = RANKS
    column: str = "rank"
    task: str = ""
    title: ClassVar[str] = "median rank"
    signal: ClassVar[type] = Rankings
    bounds: ClassVar[tuple[float, float]] = (1.0, math.inf)
    best: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ledger == RANKS:
            object.__setattr__(self, "ledger", family(RANKS, self.task))

    @property
    def name(self) -> str:
        """Column key."""
        return named("median_rank" if self.percent == 50 else f"rank_p{self.percent:g}", self.task)

    @property
    def columns(self) -> tuple[str, ...]:
        """The rank, and what it follows from."""
        return (self.column, *COLUMNS)

    def rows(self, truth: Any, prediction: Any) -> Ledger:
        """Return the rows of one case."""
        del truth
        return ledger(prediction)

    def why(self, totals: Totals) -> str:
        """Only without queries."""
        del totals
        return NO_QUERIES

    def broken(self, ledger: Ledger) -> dict[str, Array]:
        """Counts that no ranking has, and ranks that do not follow from them."""
        greater, equal, right = (ledger.columns[name] for name in COLUMNS)
        return {
            "a number of candidates is below 0": greater < 0,
            "a positive is not among its equals": (right < 1) | (right > equal),
            "a rank does not follow from its counts": ledger.columns["rank"] != ranks.means(greater, equal, right),
        }


MEASURES: tuple[Measure, ...] = (
    Mrr(),
    Mrr(form="optimistic"),
    Mrr("grounding", "pessimistic"),
    TopK(),
    TopK(k=5, form="optimistic"),
    TopK("grounding", "pessimistic", 10),
    MedianRank(),
    MedianRank(percent=90.0, task="grounding"),
)


def evaluate(
    similarity: Any = None,
    *,
    queries: Any = None,
    candidates: Any = None,
    positives: Any = None,
    ks: Sequence[int] = (1, 5, 10),
    metric: Metric | None = None,
) -> dict[str, Any]:
    """Score retrieval from similarities, or from vectors of queries and candidates.

    Parameters
    ----------
    similarity
        ``(n, candidates)``; it may lie in a file (``numpy.memmap``) and is read by blocks; values may be infinite.
    queries, candidates
        Instead of it: vectors ``(n, d)`` and ``(m, d)``.
    positives
        The right candidates: an index per query, a collection of indices per query, or booleans ``(n, candidates)``.
        By default candidate i is right for query i.
    ks
        The k of top-k.
    metric
        How vectors are compared: ``"cosine"`` (default) or ``"dot"``.

    Returns
    -------
    dict
        ``mrr``, ``top_k`` (by k) and ``median_rank``, each also ``_optimistic``, ``_pessimistic`` and (but the last)
        ``_chance``; ``n`` queries, ``candidates``, how many queries are ``tied`` with a wrong candidate;
        ``undefined``: the reason for everything that is ``None``; ``warnings``.

    Raises
    ------
    InputError
        Names what is wrong with a shape, a value or a positive.

    Examples
    --------
    >>> result = evaluate([[0.9, 0.1, 0.5], [0.3, 0.3, 0.3], [0.7, 0.2, 0.4]])
    >>> result["top_k"][1], round(result["mrr"], 6), result["median_rank"]
    (0.4444444444444444, 0.703704, 2.0)
    >>> round(result["mrr_pessimistic"], 6), round(result["mrr_optimistic"], 6)
    (0.611111, 0.833333)
    """
    step = partial(_step, metric=metric)
    return _finish(step(None, similarity, queries=queries, candidates=candidates, positives=positives), ks=_limits(ks))


def accumulate(*, ks: Sequence[int] = (1, 5, 10), metric: Metric | None = None) -> Accumulator[_Ranked]:
    """Score queries that come in parts, all against the same candidates; the options are those of :func:`evaluate`.

    ``update(similarity, positives=...)``, or ``update(queries=..., candidates=..., positives=...)``. Without positives,
    candidate i is right for query i, counted over all parts. Groups are given as one value for a part.

    >>> stream = accumulate().update([[0.9, 0.1, 0.5], [0.3, 0.3, 0.3]]).update([[0.7, 0.2, 0.4]])
    >>> stream.compute()["median_rank"]
    2.0
    """
    return Accumulator(partial(_step, metric=metric), partial(_finish, ks=_limits(ks)), by_row=False)


@dataclass(frozen=True)
class _Ranked:
    """Where the queries of a stream stand, and what warnings say of vectors."""

    greater: Array
    equal: Array
    right: Array
    positives: Array
    """How many candidates are right for each query."""
    pool: int
    zeros: tuple[int, int]
    """Queries and candidates without a direction."""


def _step(
    state: _Ranked | None,
    similarity: Any = None,
    *,
    queries: Any = None,
    candidates: Any = None,
    positives: Any = None,
    metric: Metric | None = None,
) -> _Ranked:
    """Rank the queries of a part, and put them behind those of the parts before it."""
    sides = {"similarity": similarity, "queries": queries, "candidates": candidates, "positives": positives}
    similarity, queries, candidates, positives = (to_native(side, name) for name, side in sides.items())
    asked = queries if similarity is None else similarity
    if state is not None and positives is None and asked is not None:
        positives = np.arange(len(state.greater), len(state.greater) + len(asked))
    found, right = ranked(similarity, queries, candidates, positives, metric)
    own = _Ranked(
        found.greater, found.equal, found.right, right.counts, found.pool, _zeros(queries, candidates, metric)
    )
    if state is None:
        return own
    if own.pool != state.pool:
        raise InputError(f"expected {state.pool} candidates, as before, but got {own.pool}")
    arrays = ("greater", "equal", "right", "positives")
    joined = {name: np.concatenate([getattr(state, name), getattr(own, name)]) for name in arrays}
    return _Ranked(**joined, pool=own.pool, zeros=(state.zeros[0] + own.zeros[0], own.zeros[1]))


def _finish(state: _Ranked, *, ks: Sequence[int]) -> dict[str, Any]:
    given = Standings(state.greater, state.equal, state.pool, "", state.right)
    chance = Standings(
        np.zeros_like(given.greater), np.full_like(given.equal, state.pool), state.pool, "", state.positives
    )
    undefined: dict[str, str] = {}
    result: dict[str, Any] = {}
    for form in (*FORMS, "chance"):
        side, how = (chance, "average") if form == "chance" else (given, form)
        suffix = "" if form == "average" else f"_{form}"
        result[f"mrr{suffix}"] = _mean(reciprocal(side, how), f"mrr{suffix}", undefined)
        result[f"top_k{suffix}"] = {k: _mean(hit(side, how, k), f"top_k{suffix}.{k}", undefined) for k in ks}
    for form in FORMS:
        name = "median_rank" if form == "average" else f"median_rank_{form}"
        result[name] = _median(rank(given, form), name, undefined)
    return {
        **result,
        "n": len(given),
        "candidates": state.pool,
        "tied": int((given.equal > rights(given)).sum()),
        "undefined": undefined,
        "warnings": _warnings(state, len(given)),
    }


mrr = score_function(evaluate, "mrr", "Mean reciprocal rank; ties count as the mean over their orders.")
mrr_optimistic = score_function(evaluate, "mrr_optimistic", "Mean reciprocal rank, ties in the best order.")
mrr_pessimistic = score_function(evaluate, "mrr_pessimistic", "Mean reciprocal rank, ties in the worst order.")
mrr_chance = score_function(evaluate, "mrr_chance", "Mean reciprocal rank of a random order.")
median_rank = score_function(evaluate, "median_rank", "Median rank of the best right candidate.")
median_rank_optimistic = score_function(evaluate, "median_rank_optimistic", "Median rank, ties in the best order.")
median_rank_pessimistic = score_function(evaluate, "median_rank_pessimistic", "Median rank, ties in the worst order.")


def top_k(similarity: Any = None, *, k: int = 1, **options: Any) -> float | None:
    """Share of queries with a right candidate among the first ``k``; other options are those of :func:`evaluate`.

    >>> top_k([[0.9, 0.1, 0.5], [0.3, 0.4, 0.3], [0.7, 0.2, 0.4]], k=2)
    1.0
    """
    found: dict[int, float | None] = evaluate(similarity, ks=(k,), **options)["top_k"]
    return found[k]


def _limits(ks: Sequence[int]) -> list[int]:
    if not isinstance(ks, Sequence | np.ndarray) or isinstance(ks, str):
        raise InputError(f"ks: expected a list of whole numbers from 1, but got {ks!r:.80}")
    for k in ks:
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
            raise InputError(f"ks: expected whole numbers from 1, but got {k!r:.80}")
    return [int(k) for k in ks]


def _mean(values: Array, name: str, undefined: dict[str, str]) -> float | None:
    if len(values):
        return math.fsum(values.tolist()) / len(values)
    undefined[name] = NO_QUERIES
    return None


def _median(values: Array, name: str, undefined: dict[str, str]) -> float | None:
    if len(values):
        return float(np.median(values))
    undefined[name] = NO_QUERIES
    return None


def _zeros(queries: Any, candidates: Any, metric: str | None) -> tuple[int, int]:
    """Count the queries and the candidates that have no direction, where cosines are compared."""
    sides = (queries, candidates) if metric != "dot" else (None, None)
    asked, offered = (0 if side is None else int((~np.asarray(side).any(axis=1)).sum()) for side in sides)
    return asked, offered


def _warnings(state: _Ranked, n: int) -> list[str]:
    """Say how many vectors have no direction."""
    sides = zip(("queries", "candidates"), state.zeros, (n, state.pool), strict=True)
    return [
        f"{rows} of {total} {what} are all zeros: their cosine is taken as 0, which ties"
        for what, rows, total in sides
        if rows
    ]


def _digest(rows: Array) -> str:
    content = hashlib.sha256(repr((rows.dtype.str, rows.shape)).encode())
    content.update(np.ascontiguousarray(rows).data)
    return content.hexdigest()
