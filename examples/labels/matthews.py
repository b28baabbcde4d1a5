"""A metric of one's own over the counts that ``labels`` stores: Matthews' correlation coefficient.

Runs of ``labels`` hold, for every case and class, how often the class is true (``truth``), predicted (``predicted``)
and both (``tp``), and the number of rows (``n``). Whatever follows from sums of these is a metric, with intervals and
paired tests over groups, while predictions are scored and afterwards, from stored runs:

    gnomon score labels --metrics examples/labels/matthews.py:Matthews,macro_f1 --truth ... --predictions ...
    gnomon compare runs --metrics examples/labels/matthews.py:Matthews
"""

import numpy as np

from gnomon.core.measure import Scored
from gnomon.measures.classification import ClassCounts


class Matthews(ClassCounts):
    """Correlation of predicted and true classes (Gorodkin's R_K, 2004): 0 is chance, 1 is right throughout."""

    title = "Matthews' correlation"
    bounds = (-1.0, 1.0)

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
