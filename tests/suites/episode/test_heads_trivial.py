"""Baselines and ceilings: expected answers are by hand; ceilings are compared with every possible answer."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.suites.episode.heads import ceilings, trivial
from gnomon.suites.episode.heads.trivial import Known, answer, baselines

CODES = Known(np.array([2, 1, 1, 2, 0]), 4)
SETS = Known(np.array([[1, 1, 0], [1, 0, 0], [0, 0, 0], [0, 0, 1]], dtype=bool), 3)
VECTORS = Known(np.array([[0.0, 2.0], [2.0, 6.0]]), 2)


def test_majority():
    assert answer("majority", "label", CODES, 3, 7)[0].tolist() == [1, 1, 1]  # as frequent as 2, and before it
    assert answer("majority", "multilabel", SETS, 2, 7)[0].tolist() == [[True, False, False]] * 2
    found, facts = answer("majority", "vector", VECTORS, 2, 7)
    assert found.tolist() == [[1, 4], [1, 4]]
    assert facts == {"rows": 2}


def test_labels_that_fewer_than_half_have_leave_the_most_frequent_one():
    """By hand: shares are 2/5, 1/5, 1/5, so none reaches a half, and the first is the most frequent."""
    sets = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)
    assert answer("majority", "multilabel", Known(sets, 3), 1, 7)[0].tolist() == [[True, False, False]]


def test_the_mean_is_that_of_valid_numbers():
    mask = np.array([[True, False], [True, False]])
    found = answer("majority", "vector", Known(VECTORS.train, 2, mask), 1, 7)[0]
    assert found[0, 0] == 1
    assert np.isnan(found[0, 1])


def test_copies_of_what_was_observed_last():
    last = np.array([3, 9, 0])  # 9 lies beyond the classes that were trained on
    observed = np.array([True, True, False])
    assert answer("copy_last", "label", Known(*_train(CODES), last=last), 3, 7)[0].tolist() == [3, 9, 0]
    found, facts = answer("copy_last", "label", Known(*_train(CODES), last=last, observed=observed), 3, 7)
    assert found.tolist() == [3, 9, 1]
    assert facts == {"rows": 5, "not_observed": 1}
    sets = np.array([[0, 1, 0, 1], [1, 1, 1, 1]], dtype=bool)  # one label more than were trained on
    known = Known(*_train(SETS), last=sets, observed=np.array([True, False]))
    assert answer("copy_last", "multilabel", known, 2, 7)[0].tolist() == [
        [False, True, False, True],
        [True, False, False, False],
    ]


def test_persistence_repeats_the_last_step():
    train = np.arange(12.0).reshape(2, 6)
    last = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert answer("persistence", "vector", Known(train, 6, last=last), 2, 7)[0].tolist() == [
        [1, 2, 1, 2, 1, 2],
        [3, 4, 3, 4, 3, 4],
    ]
    observed = np.array([[True, False], [True, True]])
    found, facts = answer("persistence", "vector", Known(train, 6, last=last, observed=observed), 2, 7)
    assert found.tolist() == [[1, 4, 1, 6, 1, 8], [3, 4, 3, 4, 3, 4]]  # 4, 6, 8: means of columns 1, 3, 5
    assert facts["not_observed"] == 1


def test_random_answers_follow_the_shares_of_training():
    n = 20_000
    codes = answer("random", "label", CODES, n, 7)[0]
    assert np.allclose(np.bincount(codes, minlength=4) / n, [0.2, 0.4, 0.4, 0.0], atol=0.02)
    sets = answer("random", "multilabel", SETS, n, 7)[0]
    assert np.allclose(sets.mean(axis=0), [0.5, 0.25, 0.25], atol=0.02)
    vectors = answer("random", "retrieval", VECTORS, n, 7)[0]
    assert np.allclose(vectors.mean(axis=0), [1, 4], atol=0.05)
    assert np.allclose(vectors.std(axis=0), [1, 2], atol=0.05)


@pytest.mark.parametrize(("kind", "known"), [("label", CODES), ("multilabel", SETS), ("vector", VECTORS)])
def test_a_seed_gives_the_same_bytes(kind, known):
    first, second, other = (answer("random", kind, known, 50, seed)[0] for seed in (7, 7, 8))
    assert first.tobytes() == second.tobytes()
    assert first.tobytes() != other.tobytes()


def test_random_vectors_rank_like_chance():
    """Over many draws, queries of ten candidates find their own at 1 / rank of about H(10) / 10."""
    rng = np.random.default_rng(0)
    candidates = rng.normal(size=(10, 3)) + 2
    known = Known(candidates, 3)
    found = []
    for seed in range(400):
        similarity = answer("random", "retrieval", known, 10, seed)[0] @ candidates.T
        ranks = 1 + (similarity > np.diag(similarity)[:, np.newaxis]).sum(axis=1)
        found.append((1 / ranks).mean())
    assert np.mean(found) == pytest.approx(sum(1 / rank for rank in range(1, 11)) / 10, abs=0.02)


def test_always_positive():
    assert answer("always_positive", "pair", CODES, 2, 7)[0].tolist() == [1, 1]


def test_which_baselines_there_are():
    """From the protocol: every task has a baseline, and only those with something observed have one that copies."""
    assert baselines("label", last=True) == ("majority", "copy_last", "random")
    assert baselines("binary", last=False) == ("majority", "random", "always_positive")
    assert baselines("multilabel", last=True) == ("majority", "copy_last", "random")
    assert baselines("vector", last=True) == ("majority", "persistence", "random")
    assert baselines("vector", last=False) == ("majority", "random")
    assert set().union(*(baselines(kind, last=True) for kind in ("label", "pair", "vector"))) == set(trivial.NAMES)


def _train(known):
    return known.train, known.size


@pytest.mark.parametrize(
    ("name", "kind", "known", "said"),
    [
        ("persistence", "label", CODES, "leave it out"),
        ("copy_last", "label", CODES, "leave it out"),
        ("always_positive", "label", CODES, "leave it out"),
        ("majority", "label", Known(np.array([5]), 4), "row 0 is 5"),
        ("majority", "label", Known(np.array([], dtype=int), 4), "no rows"),
        ("majority", "vector", Known(VECTORS.train, 3), "expected 3 columns, but got 2"),
        ("copy_last", "label", Known(*_train(CODES), last=np.zeros(2, dtype=int)), "expected 3 rows, but got 2"),
        ("persistence", "vector", Known(*_train(VECTORS), last=np.zeros((3, 4))), "does not go into 2 columns"),
        (
            "persistence",
            "vector",
            Known(*_train(VECTORS), last=np.zeros((3, 1)), observed=np.ones(3, dtype=bool)),
            "expected booleans",
        ),
    ],
)
def test_bad_input_is_named(name, kind, known, said):
    with pytest.raises(InputError, match=said):
        answer(name, kind, known, 3, 7)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=5), st.sets(st.integers(0, 3), min_size=1))
def test_no_answer_with_seen_classes_is_better_than_the_ceiling(truth, seen):
    """Every possible answer is tried, and scored class by class here."""
    best = ceilings.of_codes(np.array(truth), np.array(sorted(seen)))
    accuracy, present, union = 0.0, 0.0, 0.0
    for found in product(sorted(seen), repeat=len(truth)):
        right = [a for a, b in zip(truth, found, strict=True) if a == b]
        each = {c: 2 * right.count(c) / (truth.count(c) + found.count(c)) for c in {*truth, *found}}
        accuracy = max(accuracy, len(right) / len(truth))
        present = max(present, sum(each[c] for c in set(truth)) / len(set(truth)))
        union = max(union, sum(each.values()) / len(each))
    assert best["accuracy"] == pytest.approx(accuracy)
    assert best["macro_f1_present"] == pytest.approx(present)
    assert best["macro_f1_union"] == pytest.approx(union)
    assert best["unseen_classes"] == sorted(set(truth) - seen)
    assert best["unseen"] == sum(label not in seen for label in truth)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 3), st.integers(1, 3), st.integers(0, 10_000))
def test_no_sets_of_seen_labels_are_better_than_the_ceiling(n, k, seed):
    """Every possible answer is tried."""
    rng = np.random.default_rng(seed)
    truth, seen = rng.random((n, k)) < 0.5, rng.random(k) < 0.6
    best = ceilings.of_sets(truth, seen)
    labels = np.flatnonzero(truth.any(axis=0))
    if not len(labels):
        assert best["micro_f1"] is None
        assert set(best["undefined"]) == {"micro_f1", "macro_f1_present"}
        return
    micro, macro, exact = 0.0, 0.0, 0.0
    for bits in product([False, True], repeat=n * int(seen.sum())):
        found = np.zeros((n, k), dtype=bool)
        found[:, seen] = np.array(bits, dtype=bool).reshape(n, -1)
        micro = max(micro, _f1(truth, found))
        each = [_f1(truth[:, label], found[:, label]) for label in labels]
        macro, exact = max(macro, float(np.mean(each))), max(exact, float((truth == found).all(axis=1).mean()))
    assert best["micro_f1"] == pytest.approx(micro)
    assert best["macro_f1_present"] == pytest.approx(macro)
    assert best["exact"] == pytest.approx(exact)
    assert best["undefined"] == {}


def _f1(truth, found):
    return float(2 * (truth & found).sum() / (truth.sum() + found.sum()))


def test_an_empty_part_has_no_ceiling():
    for empty in (
        lambda: ceilings.of_codes(np.array([], dtype=int), np.array([1])),
        lambda: ceilings.of_codes(np.array([1]), np.array([], dtype=int)),
        lambda: ceilings.of_sets(np.zeros((0, 2), dtype=bool), np.ones(2, dtype=bool)),
    ):
        with pytest.raises(InputError):
            empty()
