"""Intervals of scores of rows cover too: 92-97.5 % of drawn samples for average precision, medians and percentiles.

Rows of groups are drawn from models with effects of their own for every group: some are easy, some are large, some have
long tails. What an interval has to cover is the score of 40,000 groups of the same model; those that call themselves
unreliable are told apart. The other half: p-values of the swap test are uniform where both systems come from one model.

``--markdown`` prints the table of coverage as it stands in docs/statistics.md; without it, the page is compared too.
"""

import math
import sys
from collections.abc import Callable

import numpy as np

from acceptance.interval_coverage import (
    HIGH,
    LOW,
    PLAN,
    SAMPLES,
    SIZE,
    TESTS,
    WHOLE,
    Row,
    covered,
    distance,
    logistic,
    markdown,
    state,
)
from acceptance.support import Promise
from gnomon.core.ledgers import Ledger
from gnomon.core.rows import LedgerMeasure, Rows
from gnomon.core.tallies import Array
from gnomon.inference.intervals import Groups, left_out, t_quantile
from gnomon.inference.intervals import jackknife_se as spread
from gnomon.inference.paired import compare
from gnomon.measures.ranked import AveragePrecision, Percentile

Model = Callable[[np.random.Generator, int], Rows]
CLASSES = tuple("abcd")


def detections(
    rng: np.random.Generator, groups: int, skill: float = 1.0, false: float = 1.0, effect: float = 0.6
) -> Rows:
    """Things returned with scores; groups differ in size, in how easy they are, and in false alarms."""
    shape = groups, len(CLASSES)
    size = rng.lognormal(0, SIZE, (groups, 1))
    truths = rng.poisson(3 * size, shape) + 1
    easy = rng.normal(0, effect, (groups, 1)) + rng.normal(0, 0.4, shape)
    found = rng.binomial(truths, logistic(1.2 * skill + easy))
    alarms = rng.poisson(3 * false * size * rng.gamma(2, 0.5, (groups, 1)), shape)
    parts = [np.repeat(np.arange(truths.size), counts.ravel()) for counts in (np.ones(shape, int), found, alarms)]
    kind = np.repeat(np.arange(3), [len(part) for part in parts])
    cell = np.concatenate(parts)
    mean = np.where(kind == 1, skill * (1.2 + easy.ravel()[cell]), 0.0)
    columns = {
        "class": cell % len(CLASSES),
        "score": np.where(kind == 0, np.nan, rng.normal(mean, 1.0)),
        "returned": (kind > 0).astype(np.int64),
        "truths": np.where(kind == 0, truths.ravel()[cell], 0),
        "hit": (kind == 1).astype(np.int64),
    }
    group = cell // len(CLASSES)
    return Rows(Ledger(group, columns, {"class": CLASSES}), group, groups)


def poor_detections(rng: np.random.Generator, groups: int) -> Rows:
    """A detector whose average precision is near .15: few groups make it look better than it is."""
    return detections(rng, groups, skill=0.3, false=3.0)


def uneven_detections(rng: np.random.Generator, groups: int) -> Rows:
    """Groups that differ a lot."""
    return detections(rng, groups, effect=1.2)


def lengths(rng: np.random.Generator, groups: int, mean: float = 20.0) -> Array:
    """The group of every value: groups differ in size."""
    return np.repeat(np.arange(groups), rng.poisson(rng.lognormal(math.log(mean), SIZE, groups)) + 1)


def lasting(group: Array, values: Array, groups: int) -> Rows:
    return Rows(Ledger(group, {"value": values}), group, groups)


def long_tailed(rng: np.random.Generator, groups: int, effect: float = 0.4) -> Rows:
    """Values with a long tail."""
    group = lengths(rng, groups)
    return lasting(group, np.exp(rng.normal(0, effect, groups)[group] + rng.normal(0, 0.7, len(group))), groups)


def uneven_long_tailed(rng: np.random.Generator, groups: int) -> Rows:
    """Groups that differ more than the values in them."""
    return long_tailed(rng, groups, effect=1.0)


def two_humps(rng: np.random.Generator, groups: int) -> Rows:
    """Most values are small and some are not, more in one group than in another."""
    group = lengths(rng, groups)
    slow = rng.random(len(group)) < 0.15 + 0.2 * logistic(rng.normal(0, 0.7, groups))[group]
    return lasting(group, np.where(slow, rng.gamma(8, 1, len(group)), rng.gamma(3, 0.2, len(group))), groups)


def on_a_grid(rng: np.random.Generator, groups: int) -> Rows:
    """Values in steps of a tenth: an interval that can only end on a step covers more than it says."""
    rows = long_tailed(rng, groups)
    return lasting(rows.group, np.round(rows.ledger.columns["value"], 1), groups)


AP, STEPWISE = AveragePrecision(), AveragePrecision(interpolation="none")
MEDIAN, HIGHEST_TENTH, EXTREME = Percentile(), Percentile(percent=90.0), Percentile(percent=95.0)

FAMILIES: list[tuple[str, Model, tuple[LedgerMeasure, ...], tuple[int, ...]]] = [
    ("average precision", detections, (AP, STEPWISE), (12, 20, 40)),
    ("average precision, poor", poor_detections, (AP, STEPWISE), (12, 20, 40)),
    ("average precision, uneven groups", uneven_detections, (AP,), (12, 20, 40)),
    ("median and 90th percentile", long_tailed, (MEDIAN, HIGHEST_TENTH), (12, 20, 40)),
    ("median and 90th percentile, two humps", two_humps, (MEDIAN, HIGHEST_TENTH), (12, 20, 40)),
    ("median and 90th percentile, uneven groups", uneven_long_tailed, (MEDIAN, HIGHEST_TENTH), (12, 20, 40)),
]


def harder(rng: np.random.Generator, rows: Rows) -> Rows:
    """The same rows as a second system makes them: every value and every group changed by chance, the mean kept."""
    groups = rng.lognormal(0, 0.3, rows.n_cases)[rows.group]
    return lasting(rows.group, rows.ledger.columns["value"] * groups * rng.lognormal(0, 0.3, len(groups)), rows.n_cases)


def covered_differences(measure: Percentile, groups: int) -> float:
    """Share of intervals of A - B over the same groups that hold the difference of the whole."""
    rng = np.random.default_rng([500, groups])
    first = long_tailed(rng, WHOLE)
    goal = np.subtract(*(float(measure.score(side.total()).values) for side in (first, harder(rng, first))))
    held = []
    for _ in range(SAMPLES):
        rows = long_tailed(rng, groups)
        a, b = Groups(rows, PLAN), Groups(harder(rng, rows), PLAN)
        found = np.subtract(*(float(measure.score(side.total).values) for side in (a, b)))
        rest = np.subtract(*(left_out(measure, side, None).values for side in (a, b)))
        held.append(abs(found - goal) <= t_quantile(0.975, groups - 1) * spread(rest))
    return float(np.mean(held))


def null_p(measure: LedgerMeasure, model: Model, groups: int, seed: int) -> list[float]:
    """p-values of systems that come from one model."""
    rng = np.random.default_rng([300 + seed, groups])
    return [compare(measure, *(Groups(model(rng, groups), PLAN) for _ in range(2))).p or 0.0 for _ in range(TESTS)]


def main() -> None:
    found: list[Row] = []
    for seed, (family, model, measures, sizes) in enumerate(FAMILIES):
        for groups in sizes:
            for name, held in covered(measures, model, groups, seed).items():
                hits = held.hits[False]
                found.append((family, name, str(groups), float(np.mean(hits)), len(hits)))
    if "--markdown" in sys.argv[1:]:
        print(markdown(found))
        return
    promise = Promise()
    bound = f"{100 * LOW:g}-{100 * HIGH:g} %"
    state(promise, found)
    for groups in (12, 40):
        hits = covered((MEDIAN,), on_a_grid, groups, 50)[MEDIAN.name].hits[False]
        promise.at_least(f"median, on a grid: {groups} groups: covered (%)", 100 * float(np.mean(hits)), 100 * LOW)
    thin = covered((EXTREME,), uneven_long_tailed, 8, 60)[EXTREME.name].hits
    share = float(np.mean(thin[True] + thin[False]))
    what = f"95th percentile, uneven groups: 8 groups, {100 * share:.4g} % covered: called unreliable"
    promise.figure(what, len(thin[True]), f"all {SAMPLES}", len(thin[True]) == SAMPLES)
    for measure in (MEDIAN, HIGHEST_TENTH):
        for groups in (12, 40):
            share = covered_differences(measure, groups)
            what = f"difference of two systems: {measure.name}, {groups} groups: covered (%)"
            promise.figure(what, 100 * share, bound, LOW <= share <= HIGH)
    most = 1.63 / math.sqrt(TESTS)
    for seed, (family, model, measure) in enumerate(
        [("average precision", detections, AP), ("median", long_tailed, MEDIAN), ("90th", long_tailed, HIGHEST_TENTH)]
    ):
        for groups in (12, 40):
            what = f"{family}: {groups} groups, {TESTS} p-values under the null: distance from uniform"
            promise.at_most(what, distance(null_p(measure, model, groups, seed)), most)
    promise.close()


if __name__ == "__main__":
    main()
