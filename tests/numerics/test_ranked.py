"""Average precision and quantiles under weights, against plain loops over repeated rows and numpy's quantile."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.numerics import ranked

INTERPOLATIONS = ("all-point", "none", "11-point", "101-point")


def curve(scores, hits, truths):
    """Recall and precision after each distinct score, falling, as fractions."""
    points = []
    for level in sorted(set(scores), reverse=True):
        above = [hit for score, hit in zip(scores, hits, strict=True) if score >= level]
        points.append((Fraction(sum(above), truths), Fraction(sum(above), len(above))))
    return points


def reference(scores, hits, truths, interpolation):
    """Average precision of one class by its definition; 0 without truths."""
    if not truths:
        return 0.0
    points = curve(scores, hits, truths)

    def best(recall):
        return max((p for r, p in points if r >= recall), default=Fraction(0))

    if interpolation == "none":
        steps = zip([Fraction(0), *(r for r, _ in points)], points, strict=False)
        return float(sum((r - before) * p for before, (r, p) in steps))
    grid = {"all-point": truths, "11-point": 10, "101-point": 100}[interpolation]
    recalls = [Fraction(k, grid) for k in range(0 if interpolation != "all-point" else 1, grid + 1)]
    return float(sum(map(best, recalls)) / len(recalls))


def drawn(rng, rows, groups, classes=2, thresholds=2, levels=6):
    scores = rng.integers(0, levels, rows) / 4
    labels, group = rng.integers(0, classes, rows), rng.integers(0, groups, rows)
    hits = rng.random((thresholds, rows)) < 0.5
    found = np.zeros((classes, groups), dtype=np.int64)
    np.add.at(found, (labels, group), hits.any(axis=0))
    return scores, labels, group, hits, found + rng.integers(0, 3, (classes, groups))


@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_weights_repeat_rows(interpolation, seed):
    """Against the definition, applied to rows that really stand there as often as their weight says."""
    rng = np.random.default_rng(seed)
    groups = int(rng.integers(1, 5))
    scores, labels, group, hits, truths = drawn(rng, int(rng.integers(0, 25)), groups)
    weights = rng.integers(0, 4, (3, groups))
    weights[:, 0] = weights[0, 0]  # a group that all replicates have as often
    ranking = ranked.rank(scores, labels, group, hits, truths, interpolation=interpolation)
    found = ranked.average_precision(ranking, weights)[0]
    for b, row in enumerate(weights):
        for t in range(2):
            for c in range(2):
                own = np.flatnonzero(labels == c)
                own = np.repeat(own, row[group[own]])
                want = reference(scores[own].tolist(), hits[t, own].tolist(), int(row @ truths[c]), interpolation)
                assert found[b, t, c] == pytest.approx(want, abs=1e-12)


def test_worked_by_hand():
    # Falling: hit .9, miss .8, then a hit and a miss that are equal at .5; four truths.
    # After .9: recall 1/4, precision 1. After .5 (the block of two): recall 2/4, precision 2/4. Two are never found.
    scores, hits = np.array([0.9, 0.8, 0.5, 0.5]), np.array([[True, False, True, False]])
    zeros, truths, ones = np.zeros(4, int), np.array([[4]]), np.ones((1, 1))
    rankings = {how: ranked.rank(scores, zeros, zeros, hits, truths, interpolation=how) for how in INTERPOLATIONS}
    found = {how: float(ranked.average_precision(ranking, ones)[0][0, 0, 0]) for how, ranking in rankings.items()}
    assert found["all-point"] == found["none"] == (1 + 0.5) / 4
    # Recalls 0, .1, .2 have precision 1; .3, .4, .5 have .5; of 101 recalls 0 to .25 (26) and .26 to .50 (25).
    assert found["11-point"] == pytest.approx((3 + 3 * 0.5) / 11)
    assert found["101-point"] == pytest.approx((26 + 25 * 0.5) / 101)


def test_interpolation_lifts_what_comes_before_a_better_point():
    # A miss, then two hits: precisions 0, 1/2, 2/3 at recalls 0, 1/2, 1. Interpolated, both truths get 2/3.
    scores, hits = np.array([3.0, 2.0, 1.0]), np.array([[False, True, True]])
    zeros, truths, ones = np.zeros(3, int), np.array([[2]]), np.ones((1, 1))
    for how, want in (("all-point", 2 / 3), ("none", (1 / 2 + 2 / 3) / 2)):
        ranking = ranked.rank(scores, zeros, zeros, hits, truths, interpolation=how)
        assert ranked.average_precision(ranking, ones)[0][0, 0, 0] == pytest.approx(want)


def test_many_replicates_are_scored_like_one():
    """More replicates than lanes, and a last part that is not full."""
    rng = np.random.default_rng(3)
    scores, labels, group, hits, truths = drawn(rng, 300, 7, levels=50)
    ranking = ranked.rank(scores, labels, group, hits, truths)
    weights = rng.integers(0, 3, (2 * ranked.LANES + 5, 7))
    together = ranked.average_precision(ranking, weights)[0]
    alone = np.concatenate([ranked.average_precision(ranking, weights[[b]])[0] for b in range(len(weights))])
    assert np.array_equal(together, alone)


@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
def test_leaving_one_group_out_is_scoring_the_others(interpolation):
    """What all replicates have alike is counted once for all: against the rows that are left, scored alone."""
    rng = np.random.default_rng(5)
    n = ranked.LANES + 9
    scores, labels, group, hits, truths = drawn(rng, 600, n, levels=90)
    hits[:, scores > 12] = True  # long runs of hits at the top
    ranking = ranked.rank(scores, labels, group, hits, truths, interpolation=interpolation)
    found = ranked.average_precision(ranking, 2 - 2 * np.eye(n))[0]
    for g in range(n):
        left = group != g
        rest = group[left] - (group[left] > g), hits[:, left], np.delete(truths, g, axis=1)
        kept = ranked.rank(scores[left], labels[left], *rest, interpolation=interpolation)
        alone = ranked.average_precision(kept, np.full((1, n - 1), 2))[0][0]
        assert found[g] == pytest.approx(alone, abs=1e-12)


def test_the_order_of_rows_changes_no_bit():
    rng = np.random.default_rng(4)
    scores, labels, group, hits, truths = drawn(rng, 500, 9, levels=20)
    weights = rng.integers(0, 5, (4, 9))
    order = rng.permutation(500)
    one = ranked.average_precision(ranked.rank(scores, labels, group, hits, truths), weights)[0]
    two = ranked.rank(scores[order], labels[order], group[order], hits[:, order], truths)
    assert np.array_equal(one, ranked.average_precision(two, weights)[0])


def test_nothing_returned_or_nothing_drawn():
    empty = ranked.rank(np.zeros(0), np.zeros(0, int), np.zeros(0, int), np.zeros((1, 0), bool), np.array([[2, 1]]))
    assert ranked.average_precision(empty, np.ones((2, 2)))[0].tolist() == [[[0.0]], [[0.0]]]
    ranking = ranked.rank(np.ones(1), np.zeros(1, int), np.zeros(1, int), np.ones((1, 1), bool), np.array([[1, 1]]))
    found, truths = ranked.average_precision(ranking, np.array([[0, 0], [0, 1], [1, 0]]))
    assert (found.ravel().tolist(), truths.ravel().tolist()) == ([0.0, 0.0, 1.0], [0.0, 1.0, 1.0])


@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), share=st.floats(0, 1))
def test_quantiles_are_those_of_numpy_on_repeated_rows(seed, share):
    rng = np.random.default_rng(seed)
    groups, rows = int(rng.integers(1, 6)), int(rng.integers(0, 30))
    values = rng.integers(-3, 9, rows) / rng.choice([1, 7])
    group = rng.integers(0, groups, rows)
    weights = rng.integers(0, 4, (5, groups))
    given_ = ranked.arrange(values, group, groups, float(rng.random()))
    found, defined = ranked.quantile(given_, weights, np.full(5, share))
    for b in range(5):
        repeated = np.repeat(values, weights[b][group])
        assert defined[b] == bool(len(repeated))
        if len(repeated):
            assert found[b] == pytest.approx(np.quantile(repeated, share, method="linear"), abs=1e-12)


def test_quantiles_at_both_ends_are_the_outermost_values():
    given_ = ranked.arrange(np.array([5.0, 1.0, 3.0]), np.array([0, 1, 2]), 3, 0.5)
    weights = np.array([[1, 1, 1], [1, 1, 1], [0, 2, 1], [0, 2, 1]])
    assert ranked.quantile(given_, weights, np.array([0.0, 1.0, 0.0, 1.0]))[0].tolist() == [1.0, 5.0, 1.0, 3.0]


def test_rows_below_a_value_count_equal_ones_half():
    given_ = ranked.arrange(np.array([1.0, 2.0, 2.0, 3.0]), np.array([0, 0, 1, 1]), 3, 0.5)
    assert ranked.below(given_, 2.0).tolist() == [1.5, 0.5, 0.0]
    assert ranked.below(given_, 2.5).tolist() == [2.0, 1.0, 0.0]
