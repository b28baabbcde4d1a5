"""Holm's step-down against hand calculation and against closed testing with Bonferroni, written here."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.inference.multiplicity import holm

P = st.floats(0, 1, allow_nan=False)


def closed(p):
    """Adjusted p by closed testing: the largest Bonferroni p of all sets of tests that hold this one."""
    sets = [s for r in range(1, len(p) + 1) for s in itertools.combinations(range(len(p)), r)]
    return [max(min(1.0, len(s) * min(p[i] for i in s)) for s in sets if k in s) for k in range(len(p))]


def test_three_tests_by_hand():
    # 0.01 * 3; 0.03 * 2; 0.04 * 1 is below the one before.
    assert holm([0.04, 0.01, 0.03]).p == pytest.approx((0.06, 0.03, 0.06))


@given(st.lists(P, min_size=1, max_size=6))
def test_holm_is_the_closure_of_bonferroni(p):
    assert holm(p).p == pytest.approx(closed(p))


@given(st.lists(P | st.none(), max_size=12))
def test_undefined_tests_keep_their_place_and_are_not_counted(p):
    found = holm(p)
    defined = [value for value in p if value is not None]
    assert [value is None for value in found.p] == [value is None for value in p]
    assert [value for value in found.p if value is not None] == list(holm(defined).p)
    assert (found.tests, found.undefined) == (len(defined), len(p) - len(defined))


@given(st.lists(P, max_size=10), st.randoms())
def test_the_order_of_the_tests_does_not_matter(p, random):
    order = list(range(len(p)))
    random.shuffle(order)
    moved, whole = holm([p[i] for i in order]).p, holm(p).p
    assert list(moved) == [whole[i] for i in order]


@given(st.lists(P, max_size=10))
def test_adjusted_values_are_ordered_as_given_and_lie_between_p_and_bonferroni(p):
    found = holm(p).p
    for (p1, q1), (p2, q2) in itertools.combinations(zip(p, found, strict=True), 2):
        assert q1 == q2 or (q1 < q2) == (p1 < p2)
    assert all(a <= q <= min(1.0, len(p) * a) for a, q in zip(p, found, strict=True))


def test_nothing_to_adjust():
    assert holm([]).p == ()
    assert holm([None, None]) == holm([None] * 2)
    assert holm([None, None]).tests == 0


@pytest.mark.parametrize("wrong", [-0.1, 1.1, float("nan")])
def test_what_is_no_p_value_is_refused(wrong):
    with pytest.raises(InputError, match="p-values: expected numbers from 0 to 1 or None"):
        holm([0.5, wrong])
