"""Folding and quantiles against numpy's plain ways."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.numerics.folding import fold, quantiles


@given(st.lists(st.floats(0, 100, width=32), min_size=1, max_size=60), st.lists(st.floats(0, 1), max_size=4))
def test_quantiles_equal_numpy(values, shares):
    array = np.array(values, dtype=np.float32)
    wanted = np.quantile(array.astype(np.float64), shares) if shares else []
    assert quantiles(array, shares) == pytest.approx(list(wanted), rel=1e-12, abs=1e-12)


def test_quantiles_of_many():
    values = np.random.default_rng(0).gamma(2.0, 0.05, 200_000).astype(np.float32)
    shares = [0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0]
    assert quantiles(values, shares) == pytest.approx(
        np.quantile(values.astype(np.float64), shares).tolist(), rel=1e-12
    )


@given(st.integers(0, 10_000))
def test_fold_equals_plain_sums_and_counts(seed):
    rng = np.random.default_rng(seed)
    values = rng.gamma(2.0, 0.05, (rng.integers(0, 40), 3))
    values[rng.random(values.shape) < 0.2] = np.nan
    limits = np.arange(0, 0.2001, 0.005) + 1e-9
    values.flat[::7] = rng.choice(limits, len(values.flat[::7])) if values.size else 0
    codes = rng.integers(0, 4, len(values))
    sums, counts, curve = fold(values, codes, 4, limits)
    for group in range(4):
        own = values[codes == group]
        np.testing.assert_allclose(sums[group], np.nansum(own, axis=0), rtol=1e-14)
        assert counts[group].tolist() == (~np.isnan(own)).sum(axis=0).tolist()
        flat = own[~np.isnan(own)]
        assert curve[group].tolist() == [int((flat <= limit).sum()) for limit in limits]
