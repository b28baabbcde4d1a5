"""Paired tests against brute force written here: swap the pairs of A and B per group, score both from scratch."""

import itertools
import math
import random
from collections import Counter
from statistics import mean

import pytest
import scipy.stats

from gnomon.core.errors import InputError
from gnomon.core.seeds import generator
from gnomon.inference import paired
from gnomon.inference.intervals import Groups, Plan
from gnomon.inference.paired import compare
from gnomon.measures.classification import F1, Accuracy, ClassPrecision


def two_systems(groups, seed=0, classes="abc", skills=(0.8, 0.6)):
    """Pairs of labels of two systems on the same truth."""
    rng = random.Random(seed)
    a, b = [], []
    for _ in range(groups):
        truth = [rng.choice(classes) for _ in range(rng.randint(2, 6))]
        for cases, skill in zip((a, b), skills, strict=True):
            cases.append([(t, t if rng.random() < skill else rng.choice(classes)) for t in truth])
    return a, b


def accuracy(pairs):
    return mean(t == p for t, p in pairs)


def macro_f1(pairs):
    hits = Counter(t for t, p in pairs if t == p)
    support = Counter(x for pair in pairs for x in pair)
    return mean(2 * hits[label] / support[label] for label in sorted(support))


def pooled(cases):
    return [pair for case in cases for pair in case]


def swapped(a, b, mask):
    left = [y if swap else x for x, y, swap in zip(a, b, mask, strict=True)]
    right = [x if swap else y for x, y, swap in zip(a, b, mask, strict=True)]
    return pooled(left), pooled(right)


def share_at_least(a, b, score, masks):
    """Count swaps whose difference is at least as large as the observed one."""
    observed = abs(score(pooled(a)) - score(pooled(b)))
    found = [abs(score(left) - score(right)) for left, right in (swapped(a, b, mask) for mask in masks)]
    return sum(value >= observed - 1e-12 for value in found), len(found)


def exact_p(a, b, score):
    count, total = share_at_least(a, b, score, itertools.product((0, 1), repeat=len(a)))
    return count / total


@pytest.fixture
def against(count_cases):
    def run(measure, a, b, plan=None, level="group"):
        sides = (Groups(count_cases(*side), plan or Plan(), level) for side in (a, b))
        return compare(measure, *sides)

    return run


SCORES = [(Accuracy(), accuracy), (F1("macro"), macro_f1)]


@pytest.mark.parametrize(("measure", "score"), SCORES, ids=["accuracy", "macro_f1"])
@pytest.mark.parametrize("n", [2, 5, 8])
def test_the_exact_p_agrees_with_brute_force(against, measure, score, n):
    a, b = two_systems(n, seed=n)
    result = against(measure, a, b)
    assert result.exact
    assert result.p == pytest.approx(exact_p(a, b, score), abs=1e-12)
    assert result.difference == pytest.approx(score(pooled(a)) - score(pooled(b)), abs=1e-12)
    assert result.groups == n


def test_a_consistent_difference_reaches_the_smallest_p(against):
    a, b = [[("a", "a"), ("b", "b")]] * 8, [[("a", "a"), ("b", "a")]] * 8
    result = against(Accuracy(), a, b)
    assert result.p == result.smallest_p == 2 / 2**8


def test_swapping_the_systems_changes_only_the_sign(against):
    a, b = two_systems(7, seed=3)
    there, back = against(F1("macro"), a, b), against(F1("macro"), b, a)
    assert back.difference == -there.difference
    assert back.p == there.p
    assert (back.low, back.high) == pytest.approx((-there.high, -there.low))


def test_random_swaps_agree_with_a_plain_loop_over_the_same_swaps(against, monkeypatch):
    monkeypatch.setattr(paired, "EXACT_GROUPS", 0)
    a, b = two_systems(7, seed=4)
    masks = generator(9, "swap").integers(0, 2, size=(200, 7), dtype="int8").tolist()
    count, total = share_at_least(a, b, macro_f1, masks)
    result = against(F1("macro"), a, b, Plan(resamples=200, seed=9))
    assert not result.exact
    assert result.p == pytest.approx((count + 1) / (total + 1), abs=1e-12)
    assert result.smallest_p == pytest.approx(1 / 201)


def test_random_swaps_come_close_to_the_exact_p(against, monkeypatch):
    a, b = two_systems(9, seed=5, skills=(0.75, 0.6))
    exact = against(F1("macro"), a, b)
    monkeypatch.setattr(paired, "EXACT_GROUPS", 0)
    drawn = against(F1("macro"), a, b, Plan(resamples=20_000, seed=1))
    error = math.sqrt(exact.p * (1 - exact.p) / 20_000)
    assert drawn.p == pytest.approx(exact.p, abs=4 * error)
    assert drawn.difference == exact.difference


def differing(a, b):
    """How many groups have other counts of true, predicted or hit labels in A than in B."""
    return sum(
        any(Counter(part(x)) != Counter(part(y)) for part in (lambda c: [p for _, p in c], hits_of))
        for x, y in zip(a, b, strict=True)
    )


def hits_of(case):
    return [t for t, p in case if t == p]


def test_many_groups_are_swapped_at_random(against):
    a, b = [[("a", "a"), ("b", "b")]] * 14, [[("a", "a"), ("b", "a")]] * 14
    assert paired.EXACT_GROUPS == 13
    assert not against(Accuracy(), a, b, Plan(resamples=100)).exact
    assert against(Accuracy(), a[:-1], b[:-1]).exact


def test_groups_in_which_both_are_the_same_are_not_among_the_few(against):
    """Twenty groups, of which nine differ: all 2^9 swaps of these are made, and p is that of the nine alone."""
    a, b = two_systems(9, seed=0, skills=(0.9, 0.2))
    equal, _ = two_systems(11, seed=22)
    assert differing(a, b) == 9
    whole = against(Accuracy(), [*equal[:5], *a, *equal[5:]], [*equal[:5], *b, *equal[5:]], Plan(resamples=50))
    assert whole.exact
    assert whole.p == against(Accuracy(), a, b).p == pytest.approx(exact_p(a, b, accuracy))
    assert whole.groups == 20


@pytest.mark.parametrize(
    ("groups", "tied", "smallest", "note"),
    [
        (5, 3, 0.5, "only 5 groups: the smallest attainable p is 0.5"),
        (8, 6, 0.5, "the smallest attainable p is 0.5: too few of the 8 groups tell A and B apart"),
        (8, 8, 1.0, "the smallest attainable p is 1: too few of the 8 groups tell A and B apart"),
        (8, 2, 2 / 2**6, None),
        (20, 16, 2 / 2**4, "the smallest attainable p is 0.125: too few of the 20 groups tell A and B apart"),
    ],
)
def test_the_smallest_p_counts_groups_that_differ(against, groups, tied, smallest, note):
    """By hand: d groups that differ have 2^d arrangements, of which two have the largest difference."""
    same, better, worse = [("a", "a"), ("a", "b")], [("a", "a"), ("a", "a")], [("a", "b"), ("a", "b")]
    a, b = [same] * tied + [better] * (groups - tied), [same] * tied + [worse] * (groups - tied)
    result = against(Accuracy(), a, b)
    assert result.p == result.smallest_p == smallest
    assert result.notes == (() if note is None else (note,))


def test_groups_that_differ_where_a_measure_does_not_look_do_not_lower_the_smallest_p(against):
    """Six groups, of which four have as many hits in both, of other classes: accuracy sees two groups differ."""
    a = [[("a", "a"), ("b", "a")]] * 4 + [[("a", "a"), ("b", "b")]] * 2
    b = [[("a", "b"), ("b", "b")]] * 4 + [[("a", "b"), ("b", "a")]] * 2
    assert against(Accuracy(), a, b).smallest_p == 0.5


def test_random_swaps_follow_their_seed(against):
    a, b = two_systems(20, seed=6, skills=(0.7, 0.65))
    made = [against(F1("macro"), a, b, Plan(resamples=300, seed=seed)).p for seed in (1, 1, 2)]
    assert made[0] == made[1]
    assert made[0] != made[2]


@pytest.mark.parametrize("n", [2, 6, 20])
def test_identical_systems_do_not_differ(against, n):
    a, _ = two_systems(n, seed=7)
    result = against(F1("macro"), a, a, Plan(resamples=100))
    assert (result.difference, result.p, result.why) == (0.0, 1.0, "")
    assert (result.low, result.high) == (None, None)
    assert result.interval_why == "undefined (the score is the same without any one group: no spread to judge by)"


def test_a_difference_that_is_the_same_without_any_group_has_no_interval(against):
    a, b = [[("a", "a"), ("b", "b")]] * 8, [[("a", "a"), ("b", "a")]] * 8
    result = against(Accuracy(), a, b, level="subject")
    assert (result.difference, result.p) == (0.5, 2 / 2**8)
    assert (result.low, result.high) == (None, None)
    assert "the same without any one subject" in result.interval_why


def test_a_difference_that_is_the_same_but_for_rounding_has_no_interval(against):
    # Groups of 1, 2, 3, ... times the same ten samples: 7 of 10 against 6 of 10, whatever is left out.
    right, wrong = [("a", "a")], [("a", "b")]
    a, b = ([(right * hits + wrong * (10 - hits)) * k for k in range(1, 9)] for hits in (7, 6))
    result = against(Accuracy(), a, b)
    assert result.difference == pytest.approx(0.1)
    assert (result.low, result.high) == (None, None)
    assert "no spread to judge by" in result.interval_why


def test_systems_of_equal_score_have_a_p_of_one(against):
    a = [[("a", "a"), ("a", "b")], [("a", "b"), ("a", "a")]]
    b = [[("a", "b"), ("a", "a")], [("a", "a"), ("a", "b")]]
    result = against(Accuracy(), a, b)
    assert (result.difference, result.p) == (0.0, 1.0)


@pytest.mark.parametrize(("measure", "score"), SCORES, ids=["accuracy", "macro_f1"])
@pytest.mark.parametrize("level", [0.95, 0.8])
def test_the_interval_agrees_with_a_plain_loop(against, measure, score, level):
    a, b = two_systems(10, seed=8)
    n = len(a)
    left = [score(pooled(a[:i] + a[i + 1 :])) - score(pooled(b[:i] + b[i + 1 :])) for i in range(n)]
    half = scipy.stats.t.ppf(0.5 + level / 2, n - 1)
    half *= math.sqrt((n - 1) / n * sum((value - mean(left)) ** 2 for value in left))
    centre = score(pooled(a)) - score(pooled(b))
    result = against(measure, a, b, Plan(level=level))
    assert (result.low, result.high) == pytest.approx((centre - half, centre + half), abs=1e-12)
    assert result.interval_why == ""


@pytest.mark.parametrize(
    ("n", "note"),
    [
        (2, "only 2 subjects: the smallest attainable p is 0.5"),
        (3, "only 3 subjects: the smallest attainable p is 0.25"),
        (5, "only 5 subjects: the smallest attainable p is 0.0625"),
        (6, None),
    ],
)
def test_few_groups_are_noted_with_the_smallest_p(against, n, note):
    a, b = two_systems(n, seed=9, skills=(1.0, 0.0))
    result = against(Accuracy(), a, b, level="subject")
    assert result.smallest_p == 2 / 2**n
    assert result.p >= result.smallest_p
    assert result.notes == (() if note is None else (note,))


def test_class_axes_that_differ_are_aligned(count_cases):
    a = [[("a", "a"), ("b", "a")], [("b", "b"), ("b", "a")], [("a", "a")]]
    b = [[("a", "z"), ("b", "b")], [("b", "b"), ("b", "b")], [("a", "a")]]
    own = [Groups(count_cases(*side, classes=axis), Plan()) for side, axis in ((a, ("b", "a")), (b, ("a", "b", "z")))]
    same = [Groups(count_cases(*side, classes=("a", "b", "z")), Plan()) for side in (a, b)]
    assert compare(F1("macro"), *own) == compare(F1("macro"), *same)
    assert compare(F1("macro"), *own).p == pytest.approx(exact_p(a, b, macro_f1))


def test_one_group_has_a_difference_and_no_p(against):
    result = against(Accuracy(), [[("a", "a"), ("a", "b")]], [[("a", "b"), ("a", "b")]], level="room")
    assert result.difference == 0.5
    assert (result.low, result.high, result.p) == (None, None, None)
    assert result.why == result.interval_why == "undefined (1 room)"


@pytest.mark.parametrize(("n_a", "n_b"), [(3, 2), (1, 4), (0, 1)])
def test_systems_of_different_groups_are_not_compared(against, n_a, n_b):
    case = [("a", "a"), ("b", "a")]
    with pytest.raises(InputError, match=f"A has {n_a} rooms? and B has {n_b} rooms?: compare them on the same ones"):
        against(Accuracy(), [case] * n_a, [case] * n_b, level="room")


@pytest.mark.parametrize("side", ["A", "B"])
def test_an_undefined_score_leaves_no_comparison(against, side):
    with_x, without = [[("a", "x")]] * 3, [[("a", "a")]] * 3
    given = (without, with_x) if side == "A" else (with_x, without)
    result = against(ClassPrecision("x", None), *given)
    assert (result.difference, result.p) == (None, None)
    assert result.why == f"the score of {side} is undefined"


def test_swaps_without_a_score_count_against_a_difference(against):
    # A names x in the first group, B in the second; of the four arrangements two leave one side without any x.
    a, b = [[("x", "x")], [("a", "a")]], [[("x", "a")], [("a", "x")]]
    result = against(ClassPrecision("x", None), a, b)
    assert result.difference == 1.0
    assert result.p == 1.0


def test_there_is_no_interval_where_a_score_is_lost_without_one_group(against):
    a, b = [[("x", "x")], [("a", "a")], [("a", "a")]], [[("x", "a")], [("a", "x")], [("a", "a")]]
    result = against(ClassPrecision("x", None), a, b)
    assert (result.low, result.high) == (None, None)
    assert result.interval_why == "undefined (2 groups cannot be left out: there is no score without)"
    assert (result.difference, result.why) == (1.0, "")


@pytest.fixture
def batches(monkeypatch):
    """Sizes of the batches of swaps, which are made small."""
    sizes, made = [], paired._swapped

    def watch(a, b, swaps):
        sizes.append(swaps.shape)
        return made(a, b, swaps)

    monkeypatch.setattr(paired, "CHUNK", 64)
    monkeypatch.setattr(paired, "_swapped", watch)
    return sizes


def test_random_swaps_are_drawn_in_batches_of_bounded_size(against, batches):
    a, b = two_systems(20, seed=10)
    result = against(Accuracy(), a, b, Plan(resamples=100))
    assert 1 / 101 <= result.p <= 1
    assert sum(size for size, _ in batches) == 100
    assert max(size * groups for size, groups in batches) <= 64


@pytest.mark.parametrize("n", [3, 6, 9])
def test_all_swaps_are_enumerated_once_in_batches_of_bounded_size(against, batches, n):
    a, b = two_systems(n, seed=11)
    result = against(F1("macro"), a, b)
    assert result.exact
    assert result.p == pytest.approx(exact_p(a, b, macro_f1), abs=1e-12)
    assert sum(size for size, _ in batches) == 2 ** differing(a, b)
    assert max(size * groups for size, groups in batches) <= 64


def test_the_size_of_a_batch_does_not_change_the_exact_p(against, monkeypatch):
    a, b = two_systems(10, seed=12, skills=(0.7, 0.65))
    whole = against(F1("macro"), a, b)
    for chunk in (1, 10, 1000):
        monkeypatch.setattr(paired, "CHUNK", chunk)
        assert against(F1("macro"), a, b) == whole


def test_classes_on_few_groups_are_noted_under_the_difference(against):
    """Three classes over eight groups; accuracy does not hang on classes."""
    a, b = two_systems(8, seed=8)
    note = "interval unreliable: 3 classes rest on fewer than 10 groups"
    assert note in against(F1("macro"), a, b).notes
    assert note not in against(F1("macro"), a, b, Plan("none")).notes
    assert note not in against(Accuracy(), a, b).notes


def test_the_interval_of_a_difference_stays_within_the_differences_there_can_be(against):
    """Two groups that pull in opposite directions: t of one degree of freedom is 12.7, far beyond 1."""
    a, b = [[("a", "a")], [("a", "b")]], [[("a", "b")], [("a", "a")]]
    result = against(Accuracy(), a, b)
    assert (result.difference, result.low, result.high) == (0.0, -1.0, 1.0)
