"""Peer of ``benchmarks/intervals.py``: ``scipy.stats.bootstrap`` with a vectorised statistic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy
from scipy.stats import bootstrap
from serving import serve


def prepare(arrays: Mapping[str, np.ndarray], parameters: dict[str, Any]) -> Callable[[], np.ndarray]:
    tallies = np.stack([arrays["tp"], arrays["truth"], arrays["predicted"]], axis=1)

    def macro_f1(index: np.ndarray, axis: int = -1) -> np.ndarray:
        total = tallies[index.astype(int)].sum(axis=axis - 2 if axis < 0 else axis)
        tp, truth, predicted = (total[..., i, :] for i in range(3))
        return (2 * tp / (truth + predicted)).mean(axis=-1)

    groups = np.arange(len(tallies))

    def run() -> np.ndarray:
        bootstrap(
            (groups,),
            macro_f1,
            n_resamples=parameters["resamples"],
            method="percentile",
            vectorized=True,
            batch=500,
            rng=np.random.default_rng(0),
        )
        return np.array([round(float(macro_f1(groups)) * 1e9)])

    return run


if __name__ == "__main__":
    serve("scipy.stats.bootstrap", scipy.__version__, prepare)
