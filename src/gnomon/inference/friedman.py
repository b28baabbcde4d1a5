"""Several systems over several datasets: average ranks, whether they differ at all, and which can be told apart.

Tests
-----
Friedman (1937)
    Rank the k systems on each of N datasets, 1 for the best, ties sharing the mean of their ranks. With R_j the mean
    rank of system j, chi2 = 12 N / (k (k + 1)) * (sum R_j^2 - k (k + 1)^2 / 4), divided by
    1 - sum (t^3 - t) / (N k (k^2 - 1)) for ties of t systems; k - 1 degrees of freedom.
Iman and Davenport (1980)
    F = (N - 1) chi2 / (N (k - 1) - chi2), with k - 1 and (k - 1)(N - 1) degrees of freedom; less conservative.
Nemenyi (1963)
    Two systems differ where their mean ranks are at least CD = q sqrt(k (k + 1) / (6 N)) apart, with q the quantile of
    the studentised range of k groups and infinite degrees of freedom, over sqrt(2) (Demsar, 2006).

Cliques are the largest sets of systems, neighbours in rank, of which no two differ: the bars of a critical-difference
diagram. A dataset on which any system has no score is left out and counted.

Undefined cases: fewer than 3 systems (two are compared by :mod:`gnomon.inference.paired` or by the signed-rank test);
fewer than 5 datasets (compare the systems on each, or on a composite); systems that tie on every dataset; F where every
dataset ranks the systems alike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gnomon.core.errors import InputError, plural
from gnomon.core.measure import Direction
from gnomon.core.tallies import Array
from gnomon.inference.intervals import ROUNDING
from gnomon.inference.pairs import NO_DIRECTION, average_ranks

LEAST_DATASETS = 5
LEAST_SYSTEMS = 3


@dataclass(frozen=True)
class Ranking:
    """Mean ranks of systems over datasets, with the tests that they carry, or why there are none."""

    systems: tuple[str, ...]
    ranks: tuple[float, ...] | None
    """Mean rank of each system, 1 for the best; in the order of ``systems``."""
    datasets: int
    left_out: int
    alpha: float
    chi2: float | None = None
    p: float | None = None
    f: float | None = None
    f_p: float | None = None
    critical_difference: float | None = None
    cliques: tuple[tuple[str, ...], ...] = ()
    """Systems that cannot be told apart, best first; only sets of two and more."""
    why: str = ""
    f_why: str = ""
    notes: tuple[str, ...] = ()


def rank_systems(
    scores: Sequence[Sequence[float | None]],
    systems: Sequence[str],
    *,
    direction: Direction = "up",
    alpha: float = 0.05,
) -> Ranking:
    """Rank systems over datasets and test whether they differ.

    Parameters
    ----------
    scores
        One row per dataset, one score per system; ``None`` where it is undefined.
    systems
        Names, in the order of the columns.
    direction
        Whether more (``up``) or less (``down``) is better; systems are not ranked by scores of which neither is.
    alpha
        Level of the critical difference.
    """
    names, rows = tuple(systems), _complete(scores, tuple(systems))
    if not 0 < alpha < 1:
        raise InputError(f"alpha: expected a number between 0 and 1, but got {alpha!r}")
    n, k, left_out = len(rows), len(names), len(scores) - len(rows)
    if not n:
        return Ranking(names, None, 0, left_out, alpha, why="undefined (no dataset on which every system has a score)")
    if not direction:
        return Ranking(names, None, n, left_out, alpha, why=NO_DIRECTION)
    found = [average_ranks(-row if direction == "up" else row) for row in rows]
    means = np.mean([ranks for ranks, _ in found], axis=0)
    ranks = tuple(means.tolist())
    ties = sum(float((sizes.astype(np.float64) ** 3 - sizes).sum()) for _, sizes in found)
    why = _too_few(n, k) or ("undefined (all systems tie on every dataset)" if ties >= n * (k**3 - k) else "")
    if why:
        return Ranking(names, ranks, n, left_out, alpha, why=why)
    return _tested(Ranking(names, ranks, n, left_out, alpha), means, ties)


def critical_value(systems: int, alpha: float = 0.05) -> float:
    """Return q of Nemenyi's test: the studentised range of so many systems over sqrt(2).

    >>> round(critical_value(2), 3)
    1.96
    """
    from scipy.stats import studentized_range

    return float(studentized_range.ppf(1 - alpha, systems, np.inf)) / math.sqrt(2)


def _complete(scores: Sequence[Sequence[float | None]], systems: tuple[str, ...]) -> list[Array]:
    """Return the rows without an undefined score."""
    if len(set(systems)) != len(systems):
        raise InputError(f"systems: expected distinct names, but got {list(systems)!r:.80}")
    rows = []
    for index, row in enumerate(scores):
        if len(row) != len(systems):
            raise InputError(f"dataset {index}: expected {len(systems)} scores, one per system, but got {len(row)}")
        if any(value is None for value in row):
            continue
        rows.append(np.array(row, dtype=np.float64))
        if not np.isfinite(rows[-1]).all():
            raise InputError(f"dataset {index}: expected finite scores, or None where undefined, but got {row!r:.80}")
    return rows


def _too_few(n: int, k: int) -> str:
    if k < LEAST_SYSTEMS:
        what = f"{k} {plural('system', k)}"
        return f"undefined ({what}: from {LEAST_SYSTEMS} on; compare two by swaps, or by signed ranks over datasets)"
    if n < LEAST_DATASETS:
        what = f"{n} {plural('dataset', n)}"
        return f"undefined ({what}: from {LEAST_DATASETS} on; compare systems on each dataset, or on a composite)"
    return ""


def _tested(ranking: Ranking, means: Array, ties: float) -> Ranking:
    from scipy.special import chdtrc, fdtrc

    n, k, alpha = ranking.datasets, len(ranking.systems), ranking.alpha
    spread = math.fsum(np.square(means - (k + 1) / 2))
    chi2 = 12 * n / (k * (k + 1)) * spread / (1 - ties / (n * (k**3 - k)))
    p = float(chdtrc(k - 1, chi2))
    rest = n * (k - 1) - chi2
    f = (n - 1) * chi2 / rest if rest > ROUNDING * n * k else None
    f_p = None if f is None else float(fdtrc(k - 1, (k - 1) * (n - 1), f))
    difference = critical_value(k, alpha) * math.sqrt(k * (k + 1) / (6 * n))
    notes = () if p <= alpha else (f"the Friedman test does not find any difference at {alpha:g}",)
    return Ranking(
        systems=ranking.systems,
        ranks=ranking.ranks,
        datasets=n,
        left_out=ranking.left_out,
        alpha=alpha,
        chi2=chi2,
        p=p,
        f=f,
        f_p=f_p,
        critical_difference=difference,
        cliques=cliques(ranking.systems, means, difference),
        f_why="undefined (every dataset ranks the systems alike: F has no finite value)" if f is None else "",
        notes=notes,
    )


def cliques(systems: Sequence[str], ranks: Array, difference: float) -> tuple[tuple[str, ...], ...]:
    """Return the largest sets of systems whose mean ranks all lie less than a critical difference apart.

    >>> cliques(("a", "b", "c"), np.array([1.0, 2.9, 2.0]), 1.5)
    (('a', 'c'), ('c', 'b'))
    """
    order = np.argsort(ranks, kind="stable")
    ordered = np.asarray(ranks, dtype=np.float64)[order]
    found: list[tuple[str, ...]] = []
    reached = 0
    for start in range(len(order)):
        stop = int(np.searchsorted(ordered, ordered[start] + difference * (1 - ROUNDING), "left"))
        if stop > max(reached, start + 1):
            found.append(tuple(systems[index] for index in order[start:stop]))
            reached = stop
    return tuple(found)
