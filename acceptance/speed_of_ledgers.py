"""Resampling 1,000 groups of 100,000 rows 10,000 times takes less than 10 CPU-seconds, for every score of rows."""

import time
from collections.abc import Callable

import numpy as np

from acceptance.support import Promise
from gnomon.core.ledgers import Ledger
from gnomon.core.rows import LedgerMeasure, Rows
from gnomon.inference.intervals import Groups, Plan, interval
from gnomon.inference.paired import compare
from gnomon.measures.ranked import AveragePrecision, Percentile

ROWS, GROUPS, RESAMPLES = 100_000, 1_000, 10_000
MOST_S = 10.0
BOOTSTRAP, JACKKNIFE = Plan("percentile", resamples=RESAMPLES), Plan(resamples=RESAMPLES)


def drawn(rng: np.random.Generator, rows: int, groups: int) -> Rows:
    """Detections of 10 classes with scores, half of them right, and a value in every row."""
    group = rng.integers(0, groups, rows)
    hit = (rng.random(rows) < 0.5).astype(np.int64)
    columns = {
        "class": rng.integers(0, 10, rows),
        "score": rng.normal(hit, 1.0),
        "returned": np.ones(rows, dtype=np.int64),
        "truths": np.maximum(hit, rng.random(rows) < 0.1).astype(np.int64),
        "hit": hit,
        "value": rng.lognormal(0, 1, rows),
    }
    return Rows(Ledger(group, columns, {"class": tuple("abcdefghij")}), group, groups)


def cpu_s(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    promise = Promise()
    rng = np.random.default_rng(0)
    measures: tuple[LedgerMeasure, ...] = (
        AveragePrecision(),
        AveragePrecision(interpolation="none"),
        AveragePrecision(interpolation="101-point"),
        Percentile(),
        Percentile(percent=90.0),
    )
    small = [drawn(rng, 200, 20) for _ in range(2)]
    first, second = (drawn(rng, ROWS, GROUPS) for _ in range(2))
    size = f"{RESAMPLES:,} resamples, {GROUPS:,} groups, {ROWS:,} rows"
    for measure in measures:
        interval(measure, Groups(small[0], BOOTSTRAP))  # compiled
        compare(measure, *(Groups(side, JACKKNIFE) for side in small))
        took = cpu_s(lambda m=measure: interval(m, Groups(first, BOOTSTRAP)))
        promise.at_most(f"{measure.name}, bootstrap, {size}: CPU-seconds", took, MOST_S)
        took = cpu_s(lambda m=measure: interval(m, Groups(first, JACKKNIFE)))
        promise.at_most(f"{measure.name}, jackknife-t, {GROUPS:,} groups, {ROWS:,} rows: CPU-seconds", took, MOST_S)
    for measure in (measures[0], measures[3]):
        took = cpu_s(lambda m=measure: compare(m, Groups(first, JACKKNIFE), Groups(second, JACKKNIFE)))
        promise.at_most(f"{measure.name}, swap test of two systems, {size} each: CPU-seconds", took, MOST_S)
    promise.close()


if __name__ == "__main__":
    main()
