"""Holm's step-down against ``statsmodels``; it is no dependency of the tests, which run where it is installed."""

import numpy as np
import pytest

from gnomon.inference.multiplicity import holm

multitest = pytest.importorskip("statsmodels.stats.multitest")


@pytest.mark.parametrize("tests", [1, 2, 5, 40])
@pytest.mark.parametrize("seed", range(10))
def test_adjusted_p_values_are_those_of_statsmodels(tests, seed):
    p = np.random.default_rng(seed).beta(0.4, 2, tests)
    if seed % 2:
        p = np.round(p, 2)  # with ties, zeros and ones
    peer = multitest.multipletests(p, method="holm")[1]
    assert holm(p.tolist()).p == pytest.approx(tuple(peer), rel=1e-12, abs=1e-15)


def test_undefined_tests_are_those_that_statsmodels_is_not_given():
    p = [0.01, None, 0.02, None, 0.03]
    peer = multitest.multipletests([value for value in p if value is not None], method="holm")[1]
    assert [value for value in holm(p).p if value is not None] == pytest.approx(peer.tolist())
