"""Ranks under ties against plain loops, fractions over every order of a block, and whole sorted tables."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.numerics import ranks
from gnomon.numerics.ranks import Positives


def counted(similarity, positives):
    """The three counts of every query by their definition."""
    out = []
    for row, own in zip(np.asarray(similarity).tolist(), positives, strict=True):
        best = max(row[p] for p in own)
        out.append((sum(v > best for v in row), sum(v == best for v in row), sum(row[p] == best for p in own)))
    return out


def triples(found):
    return list(zip(found.greater.tolist(), found.equal.tolist(), found.right.tolist(), strict=True))


def drawn(rng, n, pool):
    several = [rng.choice(pool, int(rng.integers(1, min(pool, 4) + 1)), replace=False).tolist() for _ in range(n)]
    return several, Positives.read(several, n, pool)


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_matrix_of_any_kind_is_counted_as_defined(seed):
    rng = np.random.default_rng(seed)
    n, pool = int(rng.integers(0, 8)), int(rng.integers(1, 12))
    kind = rng.choice(["f2", "f4", "f8", "i1", "i8", "?", ">f4"])
    similarity = rng.integers(0, 4, (n, pool)).astype(kind)
    if rng.random() < 0.5:
        similarity = np.asfortranarray(similarity)
    several, positives = drawn(rng, n, pool)
    assert triples(ranks.from_matrix(similarity, positives)) == counted(similarity, several)


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_vectors_of_whole_numbers_are_ranked_exactly(seed):
    """Products of small whole numbers are exact in both precisions, so every tie is one."""
    rng = np.random.default_rng(seed)
    n, pool, width = int(rng.integers(0, 9)), int(rng.integers(1, 15)), int(rng.integers(1, 6))
    kind = rng.choice(["f4", "f8", "i4"])
    queries, candidates = (rng.integers(-2, 3, (size, width)).astype(kind) for size in (n, pool))
    several, positives = drawn(rng, n, pool)
    found = ranks.from_vectors(queries, candidates, positives, "dot")
    assert triples(found) == counted(queries.astype(int) @ candidates.astype(int).T, several)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("metric", ["cosine", "dot"])
def test_equal_candidates_tie_in_every_block(kind, metric, monkeypatch):
    """Copies lie at both ends of a pool whose size is no multiple of anything, and queries in many small blocks."""
    monkeypatch.setattr(ranks, "BLOCK_BYTES", 1)
    monkeypatch.setattr(ranks, "LARGE_BLOCK_BYTES", 16_000)
    rng = np.random.default_rng(0)
    base = rng.standard_normal((301, 37)).astype(kind)
    pool = np.concatenate([base, rng.standard_normal((130, 37)).astype(kind), base[::-1], base[:7]])
    queries = np.concatenate([base + kind(0.5) * rng.standard_normal(base.shape).astype(kind), base[:3]])
    which = np.concatenate([np.arange(301), [0, 1, 2]])
    found = ranks.from_vectors(queries, pool, Positives.read(which, 304, len(pool)), metric)
    assert found.equal.tolist() == [3 if i < 7 else 2 for i in which]
    assert (found.pool, set(found.right.tolist())) == (739, {1})


def test_equal_queries_see_the_same_similarities():
    rng = np.random.default_rng(1)
    candidates = rng.standard_normal((997, 61)).astype(np.float32)
    queries = np.repeat(rng.standard_normal((1, 61)).astype(np.float32), 333, axis=0)
    found = ranks.from_vectors(queries, candidates, Positives.read(np.full(333, 5), 333, 997))
    assert len(set(triples(found))) == 1


def test_cosine_forgives_scale_and_zeros_are_chance():
    # Candidates 0, 1 and 2 have one direction, by powers of two; 3 has none; 4 is opposite.
    candidates = np.array([[1.0, 2.0], [2.0, 4.0], [1e-300, 2e-300], [0.0, -0.0], [-1.0, -2.0]])
    candidates[2] = candidates[0] * 2.0**-900
    queries = np.array([[3.0, 1.0], [0.0, 0.0]])
    found = ranks.from_vectors(queries, candidates, Positives.read([2, 3], 2, 5))
    assert triples(found) == [(0, 3, 1), (0, 5, 1)]


def test_signed_zeros_are_one_value():
    different, which = ranks.distinct(ranks.prepared(np.array([[0.0, 1.0], [-0.0, 1.0]]), np.float32, "dot", "rows"))
    assert (len(different), which.tolist()) == (1, [0, 0])


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_distinct_rows_are_those_of_numpy(seed):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 3, (int(rng.integers(0, 30)), int(rng.integers(1, 4)))).astype(rng.choice(["f4", "f8"]))
    different, which = ranks.distinct(rows)
    assert np.array_equal(different[which], rows)
    assert len(different) == len(np.unique(rows, axis=0))


def test_rows_of_one_hash_are_told_apart(monkeypatch):
    monkeypatch.setattr(ranks, "_hashes", lambda words: np.zeros(len(words), dtype=np.uint64))
    rows = np.array([[1.0], [2.0], [1.0], [3.0], [2.0]])
    different, which = ranks.distinct(rows)
    assert (different.ravel().tolist(), which.tolist()) == ([1.0, 2.0, 3.0], [0, 1, 0, 2, 1])


def orders(greater, equal, right):
    """The rank of the best positive in every order of a block, as often as it occurs."""
    block = [True] * right + [False] * (equal - right)
    return [greater + 1 + order.index(True) for order in itertools.permutations(block)]


@pytest.mark.parametrize(
    ("greater", "equal", "right"),
    [(g, e, m) for g in (0, 1, 4) for e in range(1, 7) for m in range(1, e + 1)],
)
def test_means_over_all_orders_of_a_block(greater, equal, right):
    places = orders(greater, equal, right)
    given_ = np.array([greater]), np.array([equal]), np.array([right])
    mean = sum(Fraction(1, place) for place in places) / len(places)
    assert ranks.reciprocals(*given_)[0] == pytest.approx(float(mean), rel=1e-14)
    assert ranks.means(*given_)[0] == pytest.approx(sum(places) / len(places), rel=1e-14)
    for k in range(1, greater + equal + 2):
        share = Fraction(sum(place <= k for place in places), len(places))
        assert ranks.within(*given_, k)[0] == pytest.approx(float(share), abs=1e-15)


def test_a_pool_that_is_all_tied_is_chance():
    # 348 candidates, one right: the mean of 1/1 ... 1/348 is 0.0185 (published as the value of a random order).
    one = np.array([0]), np.array([348]), np.array([1])
    assert ranks.reciprocals(*one)[0] == pytest.approx(math.fsum(1 / j for j in range(1, 349)) / 348, rel=1e-14)
    assert round(float(ranks.reciprocals(*one)[0]), 4) == 0.0185
    assert ranks.within(*one, 5)[0] == 5 / 348


def test_many_ties_stay_exact():
    greater, equal = np.array([3, 100_000]), np.array([90_000, 250_000])
    found = ranks.reciprocals(greater, equal, np.array([1, 1]))
    want = [math.fsum(1 / j for j in range(g + 1, g + e + 1)) / e for g, e in zip(greater, equal, strict=True)]
    assert found == pytest.approx(want, rel=1e-12)


def test_positives_may_be_given_in_four_ways():
    table = np.array([[False, True, False], [True, False, True]])
    ways = [table, [[1], {0, 2}], [table[0], [2, 0, 0]], [np.array([1]), (2, 0)]]
    for given_ in ways:
        found = Positives.read(given_, 2, 3)
        assert (found.starts.tolist(), found.members.tolist(), found.counts.tolist()) == ([0, 1, 3], [1, 0, 2], [1, 2])
    for given_ in (None, [0, 1], np.array([0, 1], dtype=np.uint8), np.array([[0], [1]]), iter([0, 1])):
        assert Positives.read(given_, 2, 3).members.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ([0], "expected those of 2 queries, but got 1"),
        ([0, 3], "query 1 has candidate 3, but there are 3"),
        ([0, -1], "query 1 has candidate -1"),
        ([[0], []], "query 1 has none"),
        (np.array([[True, False, False], [False] * 3]), "query 1 has none"),
        (np.zeros((2, 4), bool), r"expected booleans \(2, 3\), but got \(2, 4\)"),
        ([0.5, 1], "expected indices of candidates for query 0"),
        (["a", "b"], "expected indices of candidates for query 0"),
        ([True, False], "expected indices of candidates for query 0"),
        ([[[0]], [[1]]], "expected indices of candidates for query 0"),
        (7, "expected an index or several per query, but got 7"),
        ("ab", "expected an index or several per query"),
    ],
)
def test_positives_that_cannot_be(given_, message):
    with pytest.raises(InputError, match=message):
        Positives.read(given_, 2, 3)


def test_more_queries_than_candidates_need_positives():
    with pytest.raises(InputError, match="3 queries, but 2 candidates"):
        Positives.read(None, 3, 2)


def test_what_is_no_number_is_named_and_what_is_infinite_is_ordered():
    with pytest.raises(InputError, match="not a number at row 1, column 2"):
        ranks.from_matrix(np.array([[1.0, 2, 3], [1, 2, np.nan]]), Positives.read(None, 2, 3))
    inf = np.inf
    found = ranks.from_matrix(np.array([[-inf, inf, -inf], [0, inf, inf]]), Positives.read(None, 2, 3))
    assert triples(found) == [(1, 2, 1), (0, 2, 1)]
    with pytest.raises(InputError, match="queries: the value at row 0, column 1 is not finite"):
        ranks.from_vectors(np.array([[0, inf]]), np.ones((2, 2)), Positives.read(None, 1, 2))
    with pytest.raises(InputError, match="overflow float32 in a dot product"):
        ranks.from_vectors(np.full((1, 2), 1e30, "f4"), np.full((1, 2), 1e30, "f4"), Positives.read(None, 1, 1), "dot")


def test_a_file_is_read_by_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(ranks, "BLOCK_BYTES", 1000)
    monkeypatch.setattr(ranks, "LARGE_BLOCK_BYTES", 1000)
    table = np.random.default_rng(2).integers(0, 9, (100, 40)).astype(np.float32)
    np.save(tmp_path / "s.npy", table)
    stored = np.load(tmp_path / "s.npy", mmap_mode="r")
    which = np.arange(100) % 40
    found = ranks.from_matrix(stored, Positives.read(which, 100, 40))
    assert triples(found) == counted(table, [[w] for w in which])
