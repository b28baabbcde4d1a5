"""A measure of one's own over the counts that ``labels`` stores: Matthews' correlation coefficient.

Runs of ``labels`` hold, for every case and class, how often the class is true (``truth``), predicted (``predicted``)
and both (``tp``), and the number of rows (``n``). Whatever follows from sums of these can be scored afterwards, with
intervals and paired tests over groups, from stored runs and without the predictions.

    python examples/labels/matthews.py RUNS
"""

import sys
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

import gnomon
from gnomon.core.measure import Scored
from gnomon.inference.scoring import score
from gnomon.measures.classification import ClassCounts


@dataclass(frozen=True)
class Matthews(ClassCounts):
    """Correlation of predicted and true classes (Gorodkin's R_K, 2004): 0 is chance, 1 is right throughout."""

    title: ClassVar[str] = "Matthews' correlation"
    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    name: ClassVar[str] = "matthews"

    def score(self, totals, frozen=None):
        """Score sums of counts; there may be thousands of them at once, along leading axes."""
        true, said, n = (np.asarray(totals[field], dtype=np.float64) for field in ("truth", "predicted", "n"))
        together = n * totals["tp"].sum(axis=-1) - (true * said).sum(axis=-1)
        spread = (n**2 - (true**2).sum(axis=-1)) * (n**2 - (said**2).sum(axis=-1))
        found = Scored.ratio(together, np.sqrt(spread))
        return Scored(found.values, found.defined & (said.sum(axis=-1) == n))  # an answer that is missing has no class

    def why(self, totals):
        """Answers are missing, or one side has a single class, so that nothing varies."""
        if int(totals["predicted"].sum()) < int(totals["n"]):
            return "answers are missing"
        return "truth or prediction holds one class only" if int(totals["n"]) else "no samples"


def scored(run, measure):
    """Return a run with one measure more, scored from what the run holds."""
    more = score(measure, run.groups(measure))
    return replace(run, measures=(*run.measures, measure), scores=(*run.scores, more))


if __name__ == "__main__":
    runs = [scored(run, Matthews()) for run in gnomon.load(sys.argv[1]).runs]
    for run in runs:
        found = run.find("matthews")
        value, low, high = ("undefined" if x is None else f"{x:.3f}" for x in (found.value, found.low, found.high))
        print(f"{run.system}: {value} [{low}, {high}], {found.groups} groups")  # noqa: T201
    print(gnomon.compare(*runs, measures="matthews"))  # noqa: T201
