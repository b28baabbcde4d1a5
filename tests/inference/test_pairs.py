"""Scores of each group by itself against plain counting, and ranks against scipy.stats.rankdata."""

from statistics import mean

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.core.tallies import Totals
from gnomon.inference.intervals import Groups, Plan
from gnomon.inference.pairs import Pairs, average_ranks, pair_scores
from gnomon.measures.classification import F1, Accuracy, ClassF1, ClassPrecision
from gnomon.measures.recognition import FalseAlarmsPerHour
from gnomon.measures.scene_boxes import BoxClassF1, BoxF1

A = [[("a", "a"), ("b", "a"), ("b", "b")], [("a", "a")], [("b", "a"), ("a", "a")]]
B = [[("a", "b"), ("b", "b"), ("b", "b")], [("a", "b")], [("b", "a"), ("a", "a")]]


@pytest.fixture
def sides(count_cases):
    def build(a, b, level="subject"):
        return [Groups(count_cases(*side), Plan(), level) for side in (a, b)]

    return build


def test_every_group_is_scored_by_itself(sides):
    pairs = pair_scores(Accuracy(), *sides(A, B))
    assert pairs.a.tolist() == [mean(t == p for t, p in case) for case in A]
    assert pairs.b.tolist() == [mean(t == p for t, p in case) for case in B]
    assert (pairs.n, pairs.left_out, pairs.level) == (3, 0, "subject")


def test_the_class_set_is_the_groups_own(sides):
    # By hand: the second group holds class a only, and A gets it right; over all classes of the whole it would be 0.5.
    assert pair_scores(F1("macro"), *sides(A, B)).a[1] == 1.0


def test_a_class_that_a_group_does_not_have_in_truth_is_no_zero(sides):
    # By hand: the group has only class a in truth, 3 of 4 right: F1 of a is 6 / 7. Class b, a wrong answer, and z, a
    # listed class, are not in its truth.
    case = [("a", "a"), ("a", "a"), ("a", "a"), ("a", "b")]
    for measure in (F1("macro"), F1("macro", ("a", "b", "z")), F1("macro", "present")):
        assert pair_scores(measure, *sides([case], [case])).a.tolist() == [pytest.approx(6 / 7)]
    assert pair_scores(F1("micro"), *sides([case], [case])).a.tolist() == [pytest.approx(3 / 4)]


def test_the_score_of_a_class_needs_the_class_in_the_truth_of_the_group(sides):
    pairs = pair_scores(ClassF1("b"), *sides(A, A))
    assert (pairs.n, pairs.left_out) == (2, 1)


def test_a_box_average_of_a_room_is_over_the_classes_of_the_room():
    # By hand: one true box (Add), found; one false alarm (Remove). Over the union it would be 0.5.
    fields = {"tp": [[1, 0]], "truth": [[1, 0]], "predicted": [[1, 1]], "n": [1]}
    totals = Totals({name: np.array(values) for name, values in fields.items()}, {"class": ("Add", "Remove")}, (1,))
    assert BoxF1().score_each(totals).values.tolist() == [1.0]
    assert BoxF1().score(totals).values.tolist() == [0.5]
    assert not BoxClassF1(label="Remove").score_each(totals).defined[0]


def test_groups_without_a_score_on_either_side_are_left_out_and_counted(sides):
    # B names a in the last group only.
    pairs = pair_scores(ClassPrecision("a", None), *sides(A, B))
    assert (pairs.a.tolist(), pairs.b.tolist(), pairs.left_out) == ([0.5], [0.5], 2)


def test_the_direction_is_that_of_the_measure(sides):
    assert pair_scores(Accuracy(), *sides(A, B)).direction == "up"
    assert FalseAlarmsPerHour().direction == "down"


def test_different_groups_are_refused(sides):
    with pytest.raises(InputError, match="A has 3 subjects and B has 2 subjects"):
        pair_scores(Accuracy(), *sides(A, B[:2]))


def test_a_difference_of_rounding_is_none():
    assert Pairs(np.array([0.3, 1e6]), np.array([0.1 + 0.2, 1e6 * (1 + 1e-15)])).differences.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("scores", [[np.nan], [np.inf], [[1.0]]])
def test_scores_have_to_be_a_list_of_finite_numbers(scores):
    with pytest.raises(InputError, match="scores of A: expected a list of finite numbers"):
        Pairs(np.array(scores), np.array([1.0]))


def test_scores_have_to_come_in_pairs():
    with pytest.raises(InputError, match="A has 2 scores and B has 1"):
        Pairs(np.ones(2), np.ones(1))


def test_pairs_are_frozen_copies():
    given = np.array([1.0, 2.0])
    pairs = Pairs(given, given)
    given[0] = 5.0
    assert pairs.a.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="read-only"):
        pairs.a[0] = 3.0


@given(st.lists(st.integers(-3, 3), max_size=20))
def test_ranks_agree_with_scipy(values):
    ranks, ties = average_ranks(np.array(values, dtype=float))
    assert ranks.tolist() == scipy.stats.rankdata(values).tolist()
    assert sorted(ties.tolist()) == sorted(values.count(value) for value in set(values))


def test_values_that_differ_by_rounding_tie():
    # 0.3 - 0.2 and 0.8 - 0.7 are one tenth each, but not the same float.
    values = np.array([0.3 - 0.2, 0.2, 0.8 - 0.7])
    assert values[0] != values[2]
    assert average_ranks(values)[0].tolist() == [1.5, 3.0, 1.5]
