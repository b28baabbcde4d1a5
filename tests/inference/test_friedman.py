"""Ranks of systems against scipy.stats, against the worked example and the table of Demsar (2006), and by hand."""

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.inference.friedman import cliques, critical_value, rank_systems

TABLE = {2: 1.960, 3: 2.343, 4: 2.569, 5: 2.728, 6: 2.850, 7: 2.949, 8: 3.031, 9: 3.102, 10: 3.164}
"""q at 0.05 by number of systems, Demsar (2006), table 5 (a)."""
TABLE_10 = {2: 1.645, 3: 2.052, 4: 2.291, 5: 2.459, 6: 2.589, 7: 2.693, 8: 2.780, 9: 2.855, 10: 2.920}
"""The same at 0.10."""

DEMSAR = [
    [0.763, 0.768, 0.771, 0.798],
    [0.599, 0.591, 0.590, 0.569],
    [0.954, 0.971, 0.968, 0.967],
    [0.628, 0.661, 0.654, 0.657],
    [0.882, 0.888, 0.886, 0.898],
    [0.936, 0.931, 0.916, 0.931],
    [0.661, 0.668, 0.609, 0.685],
    [0.583, 0.583, 0.563, 0.625],
    [0.775, 0.838, 0.866, 0.875],
    [1.000, 1.000, 1.000, 1.000],
    [0.940, 0.962, 0.965, 0.962],
    [0.619, 0.666, 0.614, 0.669],
    [0.972, 0.981, 0.97501, 0.975],
    [0.957, 0.978, 0.946, 0.970],
]
"""AUC of C4.5 variants on 14 datasets, Demsar (2006), table 6.

The table prints 0.975 twice in the last row but one and ranks them second and third: they differed past its digits.
"""
SYSTEMS = ("C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf")


def scores(n, k, levels=None, seed=0):
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, levels, (n, k)) if levels else rng.normal(size=(n, k)) + np.arange(k) / 2
    return drawn.astype(float).tolist()


def names(k):
    return [f"s{i}" for i in range(k)]


def test_the_worked_example_of_demsar():
    found = rank_systems(DEMSAR, SYSTEMS)
    assert found.ranks == pytest.approx((3.143, 2.000, 2.893, 1.964), abs=5e-4)
    assert found.critical_difference == pytest.approx(1.25, abs=5e-3)
    # His 9.28 leaves out the correction for ties; so does F = 3.69 that follows from it.
    plain = 12 * 14 / (4 * 5) * (sum(rank**2 for rank in found.ranks) - 4 * 25 / 4)
    assert plain == pytest.approx(9.28, abs=5e-3)
    assert 13 * plain / (14 * 3 - plain) == pytest.approx(3.69, abs=5e-3)
    assert found.chi2 > plain
    assert found.p < 0.05


@pytest.mark.parametrize(("table", "alpha"), [(TABLE, 0.05), (TABLE_10, 0.10)])
@pytest.mark.parametrize("k", range(2, 11))
def test_critical_values_are_those_of_the_table(table, alpha, k):
    # The table was rounded or cut at the third digit.
    assert critical_value(k, alpha) == pytest.approx(table[k], abs=1.1e-3)


@pytest.mark.parametrize(("n", "k"), [(5, 3), (8, 4), (30, 10)])
@pytest.mark.parametrize("levels", [None, 3])
def test_the_friedman_test_agrees_with_scipy(n, k, levels):
    given = scores(n, k, levels, seed=n)
    found, peer = rank_systems(given, names(k)), scipy.stats.friedmanchisquare(*np.transpose(given))
    assert (found.chi2, found.p) == pytest.approx((peer.statistic, peer.pvalue), rel=1e-9)
    ranks = np.mean([scipy.stats.rankdata([-value for value in row]) for row in given], axis=0)
    assert found.ranks == pytest.approx(tuple(ranks))
    assert (found.datasets, found.left_out, found.why) == (n, 0, "")


@pytest.mark.parametrize(("n", "k"), [(5, 3), (12, 5)])
def test_iman_and_davenport_is_the_variance_ratio_of_the_ranks(n, k):
    # Independent route: F of a two-way analysis of variance of the ranks, systems against residual.
    given = scores(n, k, seed=k)
    ranks = np.array([scipy.stats.rankdata([-value for value in row]) for row in given])
    between = n * np.square(ranks.mean(axis=0) - ranks.mean()).sum() / (k - 1)
    rest = ranks - ranks.mean(axis=0) - ranks.mean(axis=1, keepdims=True) + ranks.mean()
    f = between / (np.square(rest).sum() / ((k - 1) * (n - 1)))
    found = rank_systems(given, names(k))
    assert found.f == pytest.approx(f)
    assert found.f_p == pytest.approx(scipy.stats.f.sf(f, k - 1, (k - 1) * (n - 1)))


def test_less_is_better_where_the_direction_says_so():
    given = scores(6, 4, seed=2)
    turned = rank_systems([[-value for value in row] for row in given], names(4), direction="down")
    assert turned == rank_systems(given, names(4))
    other = rank_systems(given, names(4), direction="down")
    assert other.ranks == pytest.approx(tuple(5 - rank for rank in turned.ranks))


def test_the_critical_difference_by_hand():
    # q(3 systems) sqrt(3 * 4 / (6 * 8)) = 2.3437 / 2.
    assert rank_systems(scores(8, 3), names(3)).critical_difference == pytest.approx(2.3437 / 2, abs=1e-4)


def test_cliques_by_hand():
    ranks = np.array([1.0, 2.0, 2.4, 3.6, 9.0])
    assert cliques("abcde", ranks, 1.5) == (("a", "b", "c"), ("c", "d"))
    assert cliques("abcde", ranks, 0.3) == ()
    assert cliques("abcde", ranks, 10) == (("a", "b", "c", "d", "e"),)
    # A difference of exactly the critical one can be told.
    assert cliques("ab", np.array([1.0, 2.5]), 1.5) == ()


@given(st.lists(st.integers(0, 20), min_size=1, max_size=8), st.integers(1, 12))
def test_cliques_are_the_maximal_sets_without_a_difference(ranks, difference):
    labels = [str(i) for i in range(len(ranks))]
    found = cliques(labels, np.array(ranks, dtype=float), difference)
    near = [{j for j, s in enumerate(ranks) if 0 <= s - r < difference} for r in ranks]
    expected = {frozenset(s) for s in near if len(s) > 1 and not any(s < other for other in near)}
    assert {frozenset(map(int, clique)) for clique in found} == expected
    assert len(found) == len(expected)


def test_the_systems_of_demsar_fall_into_one_clique_and_a_rest():
    # 3.143 - 1.964 = 1.179 < 1.25: at 0.05 no pair differs; at 0.10 (CD 1.12) the first differs from the best two.
    assert rank_systems(DEMSAR, SYSTEMS).cliques == (("C4.5+m+cf", "C4.5+m", "C4.5+cf", "C4.5"),)
    at_10 = rank_systems(DEMSAR, SYSTEMS, alpha=0.1)
    assert at_10.critical_difference == pytest.approx(1.12, abs=5e-3)
    assert at_10.cliques == (("C4.5+m+cf", "C4.5+m", "C4.5+cf"), ("C4.5+cf", "C4.5"))


def test_datasets_with_an_undefined_score_are_left_out_and_counted():
    given = scores(7, 3)
    found = rank_systems([*given, [None, 0.5, 0.1], [0.1, 0.2, None]], names(3))
    assert (found.datasets, found.left_out) == (7, 2)
    assert (found.ranks, found.p) == (rank_systems(given, names(3)).ranks, rank_systems(given, names(3)).p)


@pytest.mark.parametrize(
    ("n", "k", "why"),
    [
        (4, 3, "undefined (4 datasets: from 5 on; compare systems on each dataset, or on a composite)"),
        (1, 5, "undefined (1 dataset: from 5 on; compare systems on each dataset, or on a composite)"),
        (9, 2, "undefined (2 systems: from 3 on; compare two by swaps, or by signed ranks over datasets)"),
    ],
)
def test_too_few_datasets_or_systems_have_ranks_and_no_test(n, k, why):
    found = rank_systems(scores(n, k), names(k))
    assert found.why == why
    assert (found.chi2, found.p, found.f, found.f_p, found.critical_difference, found.cliques) == (None,) * 5 + ((),)
    assert sum(found.ranks) == pytest.approx(k * (k + 1) / 2)


def test_no_complete_dataset_has_no_ranks():
    found = rank_systems([[None, 1.0, 2.0]] * 6, names(3))
    assert (found.ranks, found.left_out) == (None, 6)
    assert found.why == "undefined (no dataset on which every system has a score)"


def test_systems_that_always_tie_have_no_test():
    found = rank_systems([[0.5, 0.1 + 0.4, 0.5]] * 6, names(3))
    assert (found.ranks, found.p) == ((2.0, 2.0, 2.0), None)
    assert found.why == "undefined (all systems tie on every dataset)"


def test_datasets_that_all_agree_have_no_f():
    found = rank_systems([[3, 2, 1]] * 6, names(3))
    assert (found.chi2, found.f, found.f_p) == (pytest.approx(12.0), None, None)
    assert found.p == pytest.approx(math.exp(-6))  # two degrees of freedom
    assert found.f_why == "undefined (every dataset ranks the systems alike: F has no finite value)"


def test_a_test_that_finds_nothing_says_so():
    found = rank_systems([[1, 2, 3], [2, 3, 1], [3, 1, 2]] * 2, names(3))
    assert found.p == pytest.approx(1.0)
    assert found.notes == ("the Friedman test does not find any difference at 0.05",)


@pytest.mark.parametrize(
    ("rows", "systems", "said"),
    [
        ([[1, 2]], ("a", "b", "c"), "dataset 0: expected 3 scores, one per system, but got 2"),
        ([[1, 2, 3], [1, 2, float("nan")]], ("a", "b", "c"), "dataset 1: expected finite scores"),
        ([[1, 2]], ("a", "a"), "systems: expected distinct names"),
    ],
)
def test_what_cannot_be_ranked_is_refused(rows, systems, said):
    with pytest.raises(InputError, match=said):
        rank_systems(rows, systems)


def test_a_level_that_means_nothing_is_refused():
    with pytest.raises(InputError, match="alpha: expected a number between 0 and 1"):
        rank_systems(scores(5, 3), names(3), alpha=1.0)
