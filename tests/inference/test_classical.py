"""t and signed-rank tests against scipy.stats, and against all signs enumerated here."""

import itertools
import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from gnomon.inference.classical import EXACT_SIGNS, paired_t, signed_rank
from gnomon.inference.pairs import Pairs


def drawn(n, seed=0, shift=0.3):
    rng = np.random.default_rng(seed)
    return Pairs(rng.normal(shift, 1, n), rng.normal(0, 1, n), level="subject")


def whole(differences, **more):
    """Pairs with whole differences, which tie often."""
    return Pairs(np.array(differences, dtype=float), np.zeros(len(differences)), **more)


def sign_p(differences):
    """Two-sided p by enumerating every assignment of signs to the ranks of the differences that are not 0."""
    kept = [d for d in differences if d]
    ranks = scipy.stats.rankdata(np.abs(kept))
    middle = ranks.sum() / 2
    observed = abs(sum(r for r, d in zip(ranks, kept, strict=True) if d > 0) - middle)
    sums = [sum(itertools.compress(ranks, signs)) for signs in itertools.product((0, 1), repeat=len(kept))]
    return sum(abs(value - middle) >= observed - 1e-9 for value in sums) / len(sums)


@pytest.mark.parametrize("n", [2, 3, 6, 20, 200])
@pytest.mark.parametrize("level", [0.95, 0.8])
def test_the_t_test_agrees_with_scipy(n, level):
    pairs = drawn(n, seed=n)
    found, peer = paired_t(pairs, level), scipy.stats.ttest_rel(pairs.a, pairs.b)
    ends = peer.confidence_interval(level)
    assert (found.t, found.p) == pytest.approx((peer.statistic, peer.pvalue), rel=1e-9)
    assert (found.low, found.high) == pytest.approx((ends.low, ends.high), rel=1e-9)
    assert found.difference == pytest.approx(float(np.mean(pairs.a - pairs.b)))
    assert (found.n, found.left_out, found.why) == (n, 0, "")


@pytest.mark.parametrize("n", [2, 5, 13, 30, EXACT_SIGNS])
@pytest.mark.parametrize("seed", range(5))
def test_the_exact_signed_rank_test_agrees_with_scipy(n, seed):
    pairs = drawn(n, seed)
    found, peer = signed_rank(pairs), scipy.stats.wilcoxon(pairs.a, pairs.b, method="exact")
    assert found.exact
    assert found.p == pytest.approx(peer.pvalue, rel=1e-9)
    assert min(found.statistic, n * (n + 1) / 2 - found.statistic) == pytest.approx(peer.statistic)


@pytest.mark.parametrize("n", [EXACT_SIGNS + 1, 80, 1000])
def test_many_groups_agree_with_the_normal_approximation_of_scipy(n):
    pairs = drawn(n, seed=n, shift=0.05)
    found, peer = signed_rank(pairs), scipy.stats.wilcoxon(pairs.a, pairs.b, method="asymptotic", correction=False)
    assert (found.exact, found.smallest_p) == (False, None)
    assert found.p == pytest.approx(peer.pvalue, rel=1e-9)


def test_ties_and_zeros_among_many_agree_with_scipy():
    differences = np.random.default_rng(1).integers(-4, 6, 150)
    found = signed_rank(whole(differences))
    peer = scipy.stats.wilcoxon(differences, zero_method="wilcox", method="asymptotic", correction=False)
    assert found.p == pytest.approx(peer.pvalue, rel=1e-9)
    assert found.zeros == int((differences == 0).sum())
    assert found.n == 150 - found.zeros


@given(st.lists(st.integers(-3, 3), min_size=2, max_size=9).filter(any))
def test_ties_and_zeros_among_few_agree_with_every_sign_enumerated(differences):
    found = signed_rank(whole(differences))
    assert found.p == pytest.approx(sign_p(differences), abs=1e-12)
    assert (found.n, found.zeros) == (sum(map(bool, differences)), differences.count(0))
    assert found.p >= found.smallest_p - 1e-15


@pytest.mark.parametrize("seed", range(3))
def test_ties_among_few_agree_with_the_permutation_test_of_scipy(seed):
    differences = np.random.default_rng(seed).integers(1, 5, 10) * np.random.default_rng(9).choice([-1, 1], 10)
    peer = scipy.stats.wilcoxon(differences, method=scipy.stats.PermutationMethod(n_resamples=np.inf))
    assert signed_rank(whole(differences)).p == pytest.approx(peer.pvalue, abs=1e-12)


@given(st.lists(st.integers(-9, 9), min_size=3, max_size=30).filter(lambda d: len(set(d)) > 1))
def test_exchanging_the_systems_changes_only_signs(differences):
    there, back = whole(differences), whole([-d for d in differences])
    t, other = paired_t(there), paired_t(back)
    assert (t.p, t.t, t.low) == pytest.approx((other.p, -other.t, -other.high))
    assert signed_rank(there).p == signed_rank(back).p


@pytest.mark.parametrize("n", [2, 3, 5, 6])
def test_few_groups_are_noted_with_the_smallest_p(n):
    pairs = whole(range(1, n + 1), level="subject")
    ranks, t = signed_rank(pairs), paired_t(pairs)
    assert ranks.p == ranks.smallest_p == 2 / 2**n
    few = n < 6
    assert ranks.notes == ((f"only {n} subjects differ: the smallest attainable p is {2 / 2**n:.3g}",) if few else ())
    assert t.notes == ((f"only {n} subjects: the t test leans on normal differences",) if few else ())


@pytest.mark.parametrize(("n", "said"), [(0, "0 subjects"), (1, "1 subject")])
def test_fewer_than_two_groups_have_no_test(n, said):
    pairs = whole([2] * n, level="subject", left_out=4)
    t, ranks = paired_t(pairs), signed_rank(pairs)
    assert t.why == ranks.why == f"undefined ({said})"
    assert (t.t, t.p, t.low, t.high, ranks.statistic, ranks.p, ranks.smallest_p) == (None,) * 7
    assert t.difference == (2.0 if n else None)
    assert t.left_out == ranks.left_out == 4


def test_equal_differences_have_no_t_but_a_signed_rank_test():
    pairs = Pairs(np.array([0.7, 0.5, 0.9, 0.3]), np.array([0.6, 0.4, 0.8, 0.2]))
    t, ranks = paired_t(pairs), signed_rank(pairs)
    assert (t.t, t.p) == (None, None)
    assert t.difference == pytest.approx(0.1)
    assert t.why == "undefined (all 4 groups differ by the same amount: no spread to judge by)"
    assert ranks.p == 2 / 2**4


def test_systems_that_never_differ_have_no_test():
    pairs = whole([0, 0, 0])
    assert paired_t(pairs).why.startswith("undefined (all 3 groups")
    assert signed_rank(pairs).why == "undefined (none of 3 groups differs)"
    assert signed_rank(pairs).zeros == 3


def test_a_certain_difference_has_a_p_of_student_and_no_overflow():
    found = paired_t(whole([1, 1, 1, 1, 1, 1 + 1e-6]))
    assert 0 < found.p < 1e-25
    assert math.isfinite(found.t)
