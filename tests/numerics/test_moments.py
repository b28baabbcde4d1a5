"""Sums by group and column against exact sums of fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.numerics.moments import fold


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_sums_are_those_of_fractions(seed):
    rng = np.random.default_rng(seed)
    n, width, groups = int(rng.integers(0, 20)), int(rng.integers(1, 4)), 3
    truth, prediction = rng.integers(-9, 10, (2, n, width)) / 4
    codes, seen, weights = rng.integers(0, groups, n), rng.random((n, width)) < 0.7, rng.integers(0, 3, n) / 2
    about = rng.integers(-3, 4, width) / 2
    found = fold(np.where(seen, truth, np.nan), prediction, codes, groups, about=about, seen=seen, weights=weights)
    for g in range(groups):
        for j in range(width):
            rows = [i for i in range(n) if codes[i] == g and seen[i, j]]
            y = [(Fraction(weights[i]), Fraction(truth[i, j]) - Fraction(about[j])) for i in rows]
            e = [(Fraction(weights[i]), Fraction(prediction[i, j]) - Fraction(truth[i, j])) for i in rows]
            want = [
                sum(w for w, _ in y),
                sum(w * v for w, v in y),
                sum(w * v * v for w, v in y),
                sum(w * v * v for w, v in e),
                sum(w * abs(v) for w, v in e),
            ]
            sides = (found.weight, found.value, found.square, found.error_square, found.error)
            assert [float(part[g, j]) for part in sides] == [float(w) for w in want]


def test_small_terms_survive_large_ones():
    """A million tenths behind 1e16, which a plain sum swallows."""
    truth = np.concatenate([[1e16], np.full(1_000_000, 0.1), [-1e16]])[:, np.newaxis]
    found = fold(truth, truth, np.zeros(len(truth), int), 1, about=np.zeros(1))
    assert found.value[0, 0] == pytest.approx(100_000, rel=1e-9)


def test_what_overflows_is_infinite_not_undefined():
    huge = np.array([[1e200], [1e200]])
    found = fold(huge, huge, np.zeros(2, int), 1, about=np.zeros(1))
    assert (found.square[0, 0], found.value[0, 0]) == (np.inf, 2e200)
