"""The four orders of matching: all assignments tried, scipy on dense matrices, worked cases, and ties."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from gnomon.core.errors import InputError
from gnomon.numerics.assignment import ORDERS, _second, heaviest, match
from gnomon.numerics.boxes import Overlaps

THRESHOLD = 0.25


def pairs_of(matrix):
    i, j = np.nonzero(matrix)
    return Overlaps(i, j, matrix[i, j], *matrix.shape)


def matched(matrix, order, **more):
    pairs = pairs_of(np.asarray(matrix, float))
    chosen = pairs.take(match(pairs, THRESHOLD, order, **more))
    assert len(set(chosen.i)) == len(set(chosen.j)) == len(chosen)
    assert (chosen.iou >= THRESHOLD - 1e-9).all()
    return chosen


def assignments(matrix, row=0, used=frozenset()):
    if row == len(matrix):
        yield []
        return
    for rest in assignments(matrix, row + 1, used):
        yield rest
    for column in np.flatnonzero(matrix[row]).tolist():
        if column not in used:
            for rest in assignments(matrix, row + 1, used | {column}):
                yield [(row, column), *rest]


def best(matrix, order):
    """Numbers of matches and sum of IoU (in millionths) of the best of all assignments, by the stated rule of ties."""
    keys = []
    for chosen in assignments(matrix):
        kept = [matrix[pair] for pair in chosen if matrix[pair] >= THRESHOLD]
        count, inside = len(kept), round(1e6 * math.fsum(kept))
        whole = round(1e6 * math.fsum(matrix[pair] for pair in chosen))
        if order == "hungarian-then-filter":
            keys.append((whole, count, inside))
        elif count == len(chosen):
            keys.append((count, inside, inside) if order == "max-cardinality" else (inside, count, inside))
    top = max(keys)
    return (top[0] if order == "max-cardinality" else top[1], top[2])


def drawn(rng, ties):
    n, m = rng.integers(0, 6, 2)
    matrix = rng.integers(0, 9, (n, m)) / 8 if ties else rng.random((n, m))
    return matrix * (rng.random((n, m)) < rng.random())


@pytest.mark.parametrize("order", ORDERS[:3])
@pytest.mark.parametrize("ties", [False, True])
def test_against_all_assignments(order, ties):
    rng = np.random.default_rng(len(order) + ties)
    for _ in range(400):
        matrix = drawn(rng, ties)
        chosen = matched(matrix, order)
        count, inside = best(matrix, order)
        assert len(chosen) == count
        assert 1e6 * chosen.iou.sum() == pytest.approx(inside, abs=2)


@pytest.mark.parametrize("seed", range(6))
def test_against_scipy_on_large_matrices(seed):
    """Dense assignment, then the filter; the largest sum with the pairs below struck out before."""
    rng = np.random.default_rng(seed)
    matrix = rng.random((120, 90)) * (rng.random((120, 90)) < rng.choice([0.02, 0.1, 0.9]))
    i, j = linear_sum_assignment(matrix, maximize=True)
    kept = matrix[i, j] >= THRESHOLD
    found = matched(matrix, "hungarian-then-filter")
    assert list(zip(found.i, found.j, strict=True)) == sorted(zip(i[kept], j[kept], strict=True))
    gated = np.where(matrix >= THRESHOLD, matrix, 0)
    i, j = linear_sum_assignment(gated, maximize=True)
    assert matched(matrix, "gated-hungarian").iou.sum() == pytest.approx(gated[i, j].sum(), abs=1e-9)
    i, j = linear_sum_assignment(np.where(gated > 0, 1000 + gated, 0), maximize=True)
    largest = matched(matrix, "max-cardinality")
    assert len(largest) == (gated[i, j] > 0).sum()
    assert largest.iou.sum() == pytest.approx(gated[i, j].sum(), abs=1e-9)


@pytest.mark.parametrize(
    ("matrix", "counts"),
    [
        ([[0.4545, 0.1111], [0.7778, 0.4286]], (1, 2, 2, 1)),
        ([[0.2778, 0.7647], [0.0, 0.4286]], (1, 1, 2, 1)),
    ],
)
def test_worked_cases_in_which_orders_differ(matrix, counts):
    """By hand: counterexamples to the published order and to the gated one; rows are predictions."""
    for order, count in zip(ORDERS, counts, strict=True):
        assert len(matched(np.transpose(matrix), order)) == count


def test_greedy_goes_by_score_and_then_by_iou():
    """By hand: the second prediction is more certain, so it takes the truth that the first overlaps more."""
    matrix = np.array([[0.9, 0.5], [0.0, 0.3]])
    assert matched(matrix, "greedy").iou.tolist() == [0.9, 0.3]
    assert matched(matrix, "greedy", scores=np.array([0.1, 0.8])).iou.tolist() == [0.5]
    assert matched(matrix, "greedy", scores=np.array([0.8, 0.8])).iou.tolist() == [0.9, 0.3]


def greedily(matrix, scores):
    """By the definition: the most certain prediction first, which takes the best of the truths that are left."""
    free, found = set(range(len(matrix))), []
    for j in sorted(range(matrix.shape[1]), key=lambda j: -scores[j]):
        rest = sorted(free, key=lambda i: -matrix[i, j])
        if rest and matrix[rest[0], j] >= THRESHOLD:
            free.remove(rest[0])
            found.append((rest[0], j))
    return sorted(found)


@pytest.mark.parametrize("seed", range(40))
def test_greedy_with_distinct_scores(seed):
    rng = np.random.default_rng(seed)
    matrix, scores = rng.random((6, 7)) * (rng.random((6, 7)) < 0.6), rng.permutation(7) / 7
    found = matched(matrix, "greedy", scores=scores)
    assert list(zip(found.i.tolist(), found.j.tolist(), strict=True)) == greedily(matrix, scores)


@pytest.mark.parametrize("order", ORDERS)
@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_neither_count_nor_sum_depends_on_the_order_of_the_boxes(order, seed):
    rng = np.random.default_rng(seed)
    matrix = drawn(rng, ties=True)
    rows, columns = (rng.permutation(n) for n in matrix.shape)
    before = matched(matrix, order, places=lambda: (np.arange(matrix.shape[0]), np.arange(matrix.shape[1])))
    after = matched(matrix[np.ix_(rows, columns)], order, places=lambda: (rows, columns))
    assert len(after) == len(before)
    assert math.fsum(after.iou) == pytest.approx(math.fsum(before.iou), abs=1e-9)


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_max_cardinality_finds_the_most_and_a_higher_threshold_no_more(seed):
    rng = np.random.default_rng(seed)
    matrix = drawn(rng, ties=bool(seed % 2))
    counts = [len(matched(matrix, order)) for order in ORDERS]
    assert counts[2] == max(counts)
    pairs = pairs_of(matrix)
    falling = [len(match(pairs, threshold, "max-cardinality")) for threshold in (0.1, 0.25, 0.5, 0.9)]
    assert falling == sorted(falling, reverse=True)


def test_rounding_just_below_the_threshold_is_a_match():
    for order in ORDERS:
        assert len(matched([[THRESHOLD - 1e-12]], order)) == 1
        pairs = pairs_of(np.array([[THRESHOLD - 1e-6]]))
        assert len(match(pairs, THRESHOLD, order)) == 0


def test_weights_are_compared_one_after_the_other():
    """By hand: the sum of the first weights is 5 either way; the second weights decide."""
    pairs = Overlaps(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.ones(4), 2, 2)
    major, minor = np.array([3, 2, 3, 2]), np.array([0, 7, 5, 1])
    assert heaviest(pairs, major, minor).tolist() == [1, 2]


def test_no_pairs():
    for order in ORDERS:
        assert len(matched(np.zeros((3, 0)), order)) == 0
        assert len(matched(np.zeros((2, 3)), order)) == 0


def test_an_unknown_order_is_refused():
    with pytest.raises(InputError, match=r"matching: expected one of hungarian-then-filter, .*, but got 'hungarian'"):
        match(pairs_of(np.ones((1, 1))), 0.5, "hungarian")


def test_small_differences_count_within_a_scene_however_many_scenes_there_are():
    """By hand: both assignments have the sum 1/2 and one pair of at least 1/4, in the second larger by 2**-40."""
    least = 2.0**-40
    i, j = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    iou = np.array([0.3125, 0.3125 + least, 0.1875 - least, 0.1875])
    for size in (2, 5000):
        pairs = Overlaps(i, j, iou, size, size)
        assert match(pairs, THRESHOLD, "hungarian-then-filter", most=np.full(4, 2)).tolist() == [1]
    assert match(Overlaps(i, j, iou, 2, 2), THRESHOLD, "hungarian-then-filter").tolist() == [1]


@given(st.lists(st.tuples(st.integers(0, 1 << 40), st.booleans(), st.integers(1, 1 << 31)), max_size=9))
def test_second_weights(rows):
    """The reference is the same in whole numbers of Python, one by one."""
    expected = []
    for whole, reached, most in rows:
        bits = max(61 - 2 * most.bit_length(), 0)
        expected.append((most << min(bits, 40)) + 1 + (whole >> max(40 - bits, 0)) if reached else 0)
    columns = zip(*rows, strict=True) if rows else ((), (), ())
    whole, reached, most = (np.array(c, kind) for c, kind in zip(columns, (np.int64, np.bool_, np.int64), strict=True))
    assert _second(whole, reached, most).tolist() == expected
