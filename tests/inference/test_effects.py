"""Effect sizes by hand and by plain loops; the detectable difference against simulated power."""

import math
from statistics import mean, stdev

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.inference.effects import Effect, d_z, detectable_difference, effects, rank_biserial, win_rate
from gnomon.inference.intervals import Groups, Plan
from gnomon.inference.paired import compare
from gnomon.inference.pairs import Pairs
from gnomon.measures.classification import F1, Accuracy, ClassPrecision

WHOLE = st.lists(st.integers(-4, 4), min_size=1, max_size=12)


def whole(differences, **more):
    return Pairs(np.array(differences, dtype=float), np.zeros(len(differences)), **more)


def test_effects_of_five_groups_by_hand():
    # Differences 1, 2, -3, 4, 0: mean 0.8, deviations squared .04 1.44 14.44 10.24 .64 = 26.8, over 4 = 6.7.
    # Ranks 1 2 3 4: (1 + 2 + 4 - 3) / 10. Three wins and a tie of five.
    found = effects(whole([1, 2, -3, 4, 0]))
    assert [effect.name for effect in found] == ["d_z", "rank_biserial", "win_rate"]
    assert [effect.value for effect in found] == pytest.approx([0.8 / math.sqrt(6.7), 0.4, 0.7])
    assert [effect.n for effect in found] == [5, 4, 5]


@given(WHOLE.filter(lambda d: len(set(d)) > 1))
def test_d_z_is_the_mean_in_standard_deviations(differences):
    assert d_z(whole(differences)).value == pytest.approx(mean(differences) / stdev(differences))


@given(WHOLE.filter(any))
def test_rank_biserial_is_the_difference_of_kerbys_shares(differences):
    kept = [d for d in differences if d]
    ranks = scipy.stats.rankdata(np.abs(kept))
    favourable = sum(r for r, d in zip(ranks, kept, strict=True) if d > 0) / ranks.sum()
    found = rank_biserial(whole(differences))
    assert found.value == pytest.approx(favourable - (1 - favourable))
    assert found.n == len(kept)


@given(WHOLE)
def test_the_win_rate_counts_ties_half_and_follows_the_direction(differences):
    wins = mean(1.0 if d > 0 else 0.5 if d == 0 else 0.0 for d in differences)
    assert win_rate(whole(differences)).value == pytest.approx(wins)
    assert win_rate(whole(differences, direction="down")).value == pytest.approx(1 - wins)


@given(WHOLE.filter(lambda d: len(set(d)) > 1 and any(d)))
def test_exchanging_the_systems_turns_every_effect(differences):
    there, back = effects(whole(differences)), effects(whole([-d for d in differences]))
    assert [e.value for e in there] == pytest.approx([-back[0].value, -back[1].value, 1 - back[2].value])


def test_undefined_effects_say_why():
    one, none, equal, zero = whole([3], level="room"), whole([], level="room"), whole([2, 2]), whole([0, 0])
    assert d_z(one) == Effect("d_z", None, 1, "undefined (1 room)")
    assert d_z(equal) == Effect("d_z", None, 2, "undefined (all 2 groups differ by the same amount)")
    assert rank_biserial(zero) == Effect("rank_biserial", None, 0, "undefined (none of 2 groups differs)")
    assert win_rate(none) == Effect("win_rate", None, 0, "undefined (0 rooms)")
    assert (rank_biserial(one).value, win_rate(one).value, win_rate(zero).value) == (1.0, 1.0, 0.5)


def cases(n, hits_a, hits_b, size=20):
    rng = np.random.default_rng(3)
    sides = []
    for share in (hits_a, hits_b):
        rights = rng.binomial(size, share, n)
        sides.append([[("a", "a")] * int(k) + [("a", "b")] * (size - int(k)) for k in rights])
    return sides


@pytest.fixture
def sides(count_cases):
    def build(a, b, level="group", plan=None):
        return [Groups(count_cases(*side, classes=("a", "b", "x")), plan or Plan(), level) for side in (a, b)]

    return build


@pytest.mark.parametrize("power", [0.5, 0.8, 0.9])
def test_the_detectable_difference_is_bloom_s_multiple_of_the_standard_error(sides, power):
    # Groups of equal size: the jackknife of a difference of accuracies is the textbook standard error of the mean.
    a, b = cases(9, 0.7, 0.6)
    differences = [mean(t == p for t, p in x) - mean(t == p for t, p in y) for x, y in zip(a, b, strict=True)]
    se = stdev(differences) / 3
    found = detectable_difference(Accuracy(), *sides(a, b), power=power)
    factor = scipy.stats.t.ppf(0.975, 8) + scipy.stats.t.ppf(power, 8)
    assert (found.se, found.value) == pytest.approx((se, factor * se))
    assert (found.n, found.power, found.alpha, found.why, found.notes) == (9, power, 0.05, "", ())


def test_it_rests_on_the_standard_error_of_the_paired_interval(sides):
    pair = sides(*cases(12, 0.8, 0.6))
    found, result = detectable_difference(F1("macro"), *pair), compare(F1("macro"), *pair)
    assert found.se == pytest.approx((result.high - result.low) / 2 / scipy.stats.t.ppf(0.975, 11))


def test_a_difference_of_that_size_is_found_with_that_power():
    # Normal differences of sd 1 on 15 groups, shifted by the detectable difference for the true standard error:
    # noncentral t of scipy gives the power; the formula is an approximation to it.
    n = 15
    shift = (scipy.stats.t.ppf(0.975, n - 1) + scipy.stats.t.ppf(0.8, n - 1)) / math.sqrt(n)
    edge = scipy.stats.t.ppf(0.975, n - 1)
    assert scipy.stats.nct.sf(edge, n - 1, shift * math.sqrt(n)) == pytest.approx(0.8, abs=0.02)


def test_groups_too_few_for_the_swap_test_are_noted(sides):
    found = detectable_difference(Accuracy(), *sides(*cases(5, 0.7, 0.6), level="subject"))
    assert found.value is not None
    assert found.notes == ("the swap test cannot reach p = 0.05 with 5 subjects: its smallest is 0.0625",)


def test_an_undefined_detectable_difference_says_why(sides):
    a, b = cases(8, 0.7, 0.6)
    for given_a, given_b, measure, why in (
        (a[:1], b[:1], Accuracy(), "undefined (1 group)"),
        (a, a, Accuracy(), "undefined (the score is the same without any one group: no spread to judge by)"),
        (a, b, ClassPrecision("x", None), "the score of B is undefined"),
    ):
        found = detectable_difference(measure, *sides(given_a, given_b))
        assert (found.value, found.se, found.why) == (None, None, why)


@pytest.mark.parametrize(("power", "alpha"), [(0.3, 0.05), (1.0, 0.05), (0.8, 0.0), (0.8, 1.0)])
def test_a_power_or_level_that_means_nothing_is_refused(sides, power, alpha):
    with pytest.raises(InputError, match=r"expected a power from 0\.5"):
        detectable_difference(Accuracy(), *sides(*cases(8, 0.7, 0.6)), power=power, alpha=alpha)
