"""A star is a false alarm in at most 5 % of tables of equally good systems, however many there are.

Groups differ in difficulty, and every system errs by chance alone, so that any star is false, as is any p (Holm) below
0.05 in the comparison of the best with every other. 5 and 10 systems are drawn 1,000 times each. The share of tables
with a false alarm may exceed 0.05 by 2.6 standard errors of the simulation. Shown beside it, and asked of nothing: the
share of tables in which correcting the best for K - 1 tests alone, as if it had been named before, gives one.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

import gnomon
from acceptance.support import Promise
from gnomon.core.tallies import Tallies
from gnomon.inference.multiplicity import holm
from gnomon.inference.scoring import score
from gnomon.measures.classification import LAYOUT, Accuracy
from gnomon.runs.comparison import ALPHA, Contest, compare_runs
from gnomon.runs.run import Run

DRAWS, GROUPS, ROWS, RESAMPLES = 1_000, 16, 40, 2_000
MEASURE = Accuracy()
SLACK = 2.6 * math.sqrt(ALPHA * (1 - ALPHA) / DRAWS)


def runs_of(systems: int) -> list[Run]:
    """Return runs of so many systems over groups of rows; their tallies are replaced in every draw."""
    ids = range(GROUPS * ROWS)
    truth = {"id": ids, "label": ["a"] * len(ids), "group": [row // ROWS for row in ids]}
    answers = {f"s{number}": {"id": ids, "label": ["a"] * len(ids)} for number in range(systems)}
    return list(gnomon.score("labels", truth, answers, resamples=RESAMPLES).runs)


def drawn(run: Run, right: np.ndarray) -> Run:
    """Return a run with so many right rows in every group."""
    n = np.full(GROUPS, ROWS)
    fields = {"tp": right[:, np.newaxis], "truth": n[:, np.newaxis], "predicted": n[:, np.newaxis], "n": n}
    tallies = {"classification": Tallies(LAYOUT, {"class": ("a",)}, fields)}
    held = replace(run, tallies=tallies, measures=(MEASURE,))  # the headline, by which the best is chosen
    return replace(held, scores=(score(MEASURE, held.groups(MEASURE)),))


def false_alarms(runs: Sequence[Run], rng: np.random.Generator) -> tuple[bool, bool, bool]:
    """Draw equally good systems; say whether there is a star, a p (Holm) below alpha, and one with K - 1 tests."""
    easy = rng.beta(16, 4, GROUPS)
    own = [drawn(run, rng.binomial(ROWS, easy)) for run in runs]
    shown = compare_runs(own)
    adjusted = [item.adjusted for item in shown if item.adjusted is not None]
    chosen = [p for p in holm([item.result.p for item in shown]).p if p is not None]
    return bool(Contest(own).winner(MEASURE)), min(adjusted) < ALPHA, min(chosen) < ALPHA


def main() -> None:
    """Count false alarms for 5 and 10 systems."""
    promise = Promise()
    for systems in (5, 10):
        runs, rng = runs_of(systems), np.random.default_rng(systems)
        star, corrected, chosen = np.mean([false_alarms(runs, rng) for _ in range(DRAWS)], axis=0)
        bound = round(ALPHA + SLACK, 4)
        promise.at_most(f"{systems} equal systems: share of tables with a star", float(star), bound)
        promise.at_most(f"{systems} equal systems: share with a p (Holm) below {ALPHA}", float(corrected), bound)
        print(f"         corrected for {systems - 1} tests alone it would be {chosen:.3f}", flush=True)
    promise.close()


if __name__ == "__main__":
    main()
