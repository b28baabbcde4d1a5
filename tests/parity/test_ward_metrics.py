"""Ward's categories of time against ``ward-metrics``, on binary events of which no two of one side abut.

With three abutting events that package loses time, and some of its event labels differ from the published rules; the
durations of its segment categories are compared. It is no dependency of the tests; they run where it is installed.
"""

import numpy as np
import pytest

from gnomon.measures.events import evaluate

peer = pytest.importorskip("wardmetrics.core_methods", reason="ward-metrics is not installed")

CATEGORIES = ("TP", "D", "F", "Us", "Ue", "I", "M", "Os", "Oe")


def apart(rng, n, step):
    """Stretches with gaps between them, from 0 on, in time order."""
    edges = np.cumsum(rng.integers(1, 12, 2 * n)) * step
    return [(float(s), float(e)) for s, e in edges.reshape(n, 2)]


@pytest.mark.parametrize("step", [1.0, 0.25, 0.001])
@pytest.mark.parametrize("seed", range(40))
def test_durations_of_segments(seed, step):
    rng = np.random.default_rng(seed)
    truth, returned = (apart(rng, int(rng.integers(1, 40)), step) for _ in range(2))
    window = (0.0, max(truth[-1][1], returned[-1][1]) + step)
    want = peer.eval_segments(list(truth), list(returned), *window)[2]
    found = evaluate(truth, returned, window=window)["classes"]["event"]["durations"]
    for name in CATEGORIES:
        assert found[name] == pytest.approx(want[name], abs=1e-6 * step), name
