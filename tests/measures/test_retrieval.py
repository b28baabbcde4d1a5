"""Retrieval under ties: by hand, by every order of equal candidates, against scikit-learn where it counts ties."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import label_ranking_average_precision_score

from gnomon.core.errors import InputError
from gnomon.core.ledgers import Ledger
from gnomon.core.rows import Rows
from gnomon.core.signals import Rankings
from gnomon.core.tallies import Tallies
from gnomon.measures import retrieval
from gnomon.measures.retrieval import MEASURES, MedianRank, Mrr, Standings, TopK, evaluate, rankings
from gnomon.testing import check


def value(measure, totals):
    scored = measure.score(totals)
    return float(scored.values) if scored.defined else None


def in_every_order(similarity, positives):
    """Reciprocal ranks of each query in every order of all candidates that is sorted by similarity."""
    out = []
    for row, own in zip(similarity.tolist(), positives, strict=True):
        found = []
        for order in itertools.permutations(range(len(row))):
            if all(row[a] >= row[b] for a, b in itertools.pairwise(order)):
                found.append(min(order.index(p) for p in own) + 1)
        out.append(found)
    return out


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_scores_are_means_over_every_sorted_order(seed):
    rng = np.random.default_rng(seed)
    n, pool = int(rng.integers(1, 4)), int(rng.integers(1, 6))
    similarity = rng.integers(0, 3, (n, pool)).astype(float)
    positives = [rng.choice(pool, int(rng.integers(1, pool + 1)), replace=False).tolist() for _ in range(n)]
    result = evaluate(similarity, positives=positives, ks=(1, 2, 9))
    places = in_every_order(similarity, positives)
    each = [np.mean([1 / place for place in own]) for own in places]
    assert result["mrr"] == pytest.approx(np.mean(each), rel=1e-12)
    assert result["mrr_optimistic"] == pytest.approx(np.mean([1 / min(own) for own in places]), rel=1e-12)
    assert result["mrr_pessimistic"] == pytest.approx(np.mean([1 / max(own) for own in places]), rel=1e-12)
    for k in (1, 2, 9):
        shares = [np.mean([place <= k for place in own]) for own in places]
        assert result["top_k"][k] == pytest.approx(np.mean(shares), abs=1e-12)
        assert result["top_k_pessimistic"][k] == np.mean([max(own) <= k for own in places])
        assert result["top_k_optimistic"][k] == np.mean([min(own) <= k for own in places])
    assert result["median_rank"] == pytest.approx(np.median([np.mean(own) for own in places]), rel=1e-12)
    assert result["tied"] == sum(len(set(own)) > 1 for own in places)
    assert (result["n"], result["candidates"], result["undefined"], result["warnings"]) == (n, pool, {}, [])


@pytest.mark.parametrize("seed", range(10))
def test_the_pessimistic_form_is_that_of_scikit_learn(seed):
    """With one positive its label ranking average precision is 1 / rank, equal scores counted as above."""
    rng = np.random.default_rng(seed)
    similarity = rng.integers(0, 12, (50, 30)).astype(float)
    which = rng.integers(0, 30, 50)
    want = label_ranking_average_precision_score(np.arange(30) == which[:, np.newaxis], similarity)
    assert evaluate(similarity, positives=which)["mrr_pessimistic"] == pytest.approx(want, rel=1e-12)


def test_worked_by_hand():
    # Ranks: 1; a tie of three (1/1, 1/2, 1/3: mean 11/18, mean rank 2); 2 of 3.
    result = evaluate([[0.9, 0.1, 0.5], [0.3, 0.3, 0.3], [0.7, 0.2, 0.4]])
    assert result["mrr"] == pytest.approx((1 + 11 / 18 + 1 / 2) / 3)
    assert result["mrr_optimistic"] == pytest.approx((1 + 1 + 1 / 2) / 3)
    assert result["mrr_pessimistic"] == pytest.approx((1 + 1 / 3 + 1 / 2) / 3)
    assert result["top_k"] == {1: pytest.approx((1 + 1 / 3) / 3), 5: 1.0, 10: 1.0}
    assert (result["median_rank"], result["tied"], result["n"], result["candidates"]) == (2.0, 1, 3, 3)
    assert result["mrr_chance"] == pytest.approx(11 / 18)
    assert result["top_k_chance"][1] == pytest.approx(1 / 3)


def test_several_positives_by_hand():
    # Of four equal candidates two are right: the first is at 1, 2 or 3 with 3/6, 2/6 and 1/6.
    result = evaluate(np.zeros((1, 4)), positives=[{0, 3}], ks=[1, 2])
    assert result["mrr"] == pytest.approx(3 / 6 + 2 / 6 / 2 + 1 / 6 / 3)
    assert result["top_k"] == {1: pytest.approx(3 / 6), 2: pytest.approx(5 / 6)}
    assert (result["mrr_pessimistic"], result["median_rank"]) == (pytest.approx(1 / 3), pytest.approx(5 / 3))
    assert result["mrr"] == result["mrr_chance"]


def test_repeated_truths_cap_a_perfect_system():
    """Texts a (3 times) and b (once): the three cannot be told apart, so each has the mean of 1, 1/2 and 1/3."""
    texts = np.array([[1.0, 0.2], [1.0, 0.2], [0.1, 1.0], [1.0, 0.2]])
    result = evaluate(queries=texts, candidates=texts)
    assert result["mrr"] == pytest.approx((3 * 11 / 18 + 1) / 4)
    assert result["mrr_optimistic"] == 1.0


def test_vectors_and_their_similarities_score_alike():
    rng = np.random.default_rng(0)
    queries, candidates = rng.standard_normal((40, 7)), rng.standard_normal((60, 7))
    cosine = (queries @ candidates.T) / np.linalg.norm(queries, axis=1)[:, None] / np.linalg.norm(candidates, axis=1)
    one, two = evaluate(queries=queries, candidates=candidates), evaluate(cosine)
    assert one == two
    assert evaluate(queries=queries, candidates=candidates, metric="dot") == evaluate(queries @ candidates.T)
    assert evaluate(queries=queries.astype("f4"), candidates=candidates.astype("f4"))["n"] == 40


def test_zeros_are_chance_and_said():
    result = evaluate(queries=np.zeros((2, 3)), candidates=np.eye(3))
    assert result["mrr"] == result["mrr_chance"] == pytest.approx(11 / 18)
    assert result["warnings"] == ["2 of 2 queries are all zeros: their cosine is taken as 0, which ties"]
    assert evaluate(queries=np.zeros((2, 3)), candidates=np.eye(3), metric="dot")["warnings"] == []


def test_without_queries_nothing_is_defined():
    result = evaluate(np.zeros((0, 4)), ks=(1, 5))
    names = {name for name in result if name.startswith(("mrr", "median_rank"))}
    assert all(result[name] is None for name in names)
    assert result["top_k"] == {1: None, 5: None}
    assert set(result["undefined"]) == names | {f"{n}.{k}" for n in result if n.startswith("top_k") for k in (1, 5)}
    assert set(result["undefined"].values()) == {"no queries"}


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((), {}, "expected similarity, or both queries and candidates, but got neither"),
        ((), {"queries": np.ones((1, 2))}, "or both queries and candidates"),
        ((np.eye(2),), {"queries": np.ones((1, 2))}, "but got both"),
        ((np.eye(2),), {"metric": "dot"}, "but got both"),
        ((np.eye(2),), {"ks": (0,)}, "ks: expected whole numbers from 1, but got 0"),
        ((np.eye(2),), {"ks": 5}, "ks: expected a list of whole numbers"),
        ((np.eye(2),), {"ks": (True,)}, "ks: expected whole numbers"),
        ((np.zeros(3),), {}, r"similarity: expected a table of numbers \(rows, columns\), but got float64 \(3,\)"),
        (([["a", "b"]],), {}, "similarity: expected a table of numbers"),
        (([[1], [1, 2]],), {}, "similarity: expected a table of numbers"),
        ((np.ones((1, 1), np.uint64),), {}, "similarity: expected a table of numbers"),
        (([[1.0, math.nan]],), {}, "not a number at row 0, column 1"),
        ((), {"queries": np.ones((1, 2)), "candidates": np.ones((1, 3))}, "expected vectors of one length"),
        ((), {"queries": np.ones((1, 0)), "candidates": np.ones((1, 0))}, "expected vectors of one length"),
        ((), {"queries": np.eye(2), "candidates": np.eye(2), "metric": "l2"}, "metric: expected one of cosine, dot"),
        ((np.zeros((1, 0)),), {}, "1 queries, but 0 candidates"),
    ],
)
def test_what_cannot_be_scored_is_refused(arguments, options, message):
    with pytest.raises(InputError, match=message):
        evaluate(*arguments, **options)


def test_cases_fold_to_the_whole():
    rng = np.random.default_rng(3)
    similarity = rng.integers(0, 5, (30, 12)).astype(float)
    which = rng.integers(0, 12, 30)
    found = rankings(similarity, positives=which, pool="twelve")
    result = evaluate(similarity, positives=which)
    case = rng.integers(0, 4, 30)
    tallies = retrieval.tally_cases(found, case, 5)
    alone = [Mrr().tally(part.ideal(), part) for part in (found.take(case == c) for c in range(5))]
    assert tallies == Tallies.stack(alone)
    total = tallies.total()
    for form in retrieval.FORMS:
        suffix = "" if form == "average" else f"_{form}"
        assert value(Mrr(form=form), total) == pytest.approx(result[f"mrr{suffix}"], rel=1e-15)
        assert value(TopK(k=5, form=form), total) == pytest.approx(result[f"top_k{suffix}"][5], rel=1e-15)
    rows = Rows(retrieval.ledger(found, case), case, 5)
    assert value(MedianRank(), rows.total()) == result["median_rank"]
    assert (MedianRank().count(rows.total()), Mrr().count(total)) == (30, 30)


def test_pools_are_named_and_told_apart():
    rng = np.random.default_rng(4)
    queries, candidates = rng.standard_normal((3, 4)), rng.standard_normal((5, 4))
    one, two = (rankings(queries=queries, candidates=c) for c in (candidates, candidates + 1))
    assert one.pool != two.pool
    assert one.pool == rankings(queries=queries * 2, candidates=candidates).pool
    assert (rankings(np.eye(3)).pool, rankings(np.eye(3), pool="mine").pool) == ("3 candidates", "mine")
    with pytest.raises(InputError, match="ranks among different candidates cannot be compared"):
        Mrr().tally(one.ideal(), two)


def test_plain_rankings_have_one_positive():
    plain = Rankings(np.array([0, 2]), np.array([1, 2]), 5, "pool")
    same = Standings(np.array([0, 2]), np.array([1, 2]), 5, "pool")
    assert Mrr().tally(plain, plain) == Mrr().tally(same, same)
    assert value(Mrr(), Mrr().tally(plain, plain).total()) == pytest.approx((1 + (1 / 3 + 1 / 4) / 2) / 2)


@pytest.mark.parametrize("right", [[2], [0], [1, 1], [0.5]])
def test_standings_that_cannot_be(right):
    with pytest.raises(InputError, match="Standings: expected"):
        Standings(np.array([0]), np.array([1]), 5, "pool", right)


def test_names_say_the_task_the_form_and_k():
    assert [m.name for m in (Mrr(), Mrr(form="pessimistic"), TopK(k=5))] == ["mrr", "mrr_pessimistic", "top5_accuracy"]
    assert TopK("grounding", "optimistic", 10).name == "top10_accuracy_optimistic[grounding]"
    assert (MedianRank().name, MedianRank(task="a").name) == ("median_rank", "median_rank[a]")
    assert (Mrr("a").family, MedianRank(task="a").family) == ("retrieval__a", "ranks__a")
    assert Mrr("a b").family != Mrr("a_b").family
    assert len({m.name for m in MEASURES}) == len(MEASURES)


@pytest.mark.parametrize("make", [lambda: TopK(k=4), lambda: TopK(k=True), lambda: Mrr(form="best")])
def test_parameters_that_cannot_be(make):
    with pytest.raises(InputError, match="expected one of"):
        make()


def changed(tallies, name, amount):
    fields = {**tallies.fields, name: tallies.fields[name] + amount}
    return Tallies(tallies.layout, tallies.axes, fields)


def test_changed_tallies_and_rows_are_noticed():
    found = rankings(np.random.default_rng(5).integers(0, 4, (20, 20)).astype(float))
    tallies, rows = Mrr().tally(found.ideal(), found), retrieval.ledger(found)
    assert Mrr().identities(tallies, {"ranks": rows}) == []
    assert Mrr().identities(changed(tallies, "reciprocal", 1e-3), {"ranks": rows}) == [
        "the ledger of ranks does not sum to the tallies"
    ]
    assert "not between 0 and n" in Mrr().identities(changed(tallies, "hits", 30.0), {})[0]
    forms = np.array([[-5.0, 0, 0]])
    assert any("worst and the best" in text for text in Mrr().identities(changed(tallies, "reciprocal", forms), {}))
    falling = np.arange(7)[::-1] * np.ones((1, 3, 1))
    assert "hits do not rise with k" in Mrr().identities(changed(tallies, "hits", falling), {})
    for column, what in (("rank", "follow from its counts"), ("right", "not among its equals"), ("greater", "below 0")):
        columns = {**rows.columns, column: rows.columns[column] - 50}
        broken = Ledger(rows.case, columns)
        assert any(what in text for text in MedianRank().identities(None, {"ranks": broken}))
        assert Mrr().identities(tallies, {"ranks": broken}) or column == "rank"
    assert Mrr().identities(tallies, {"ranks": retrieval.ledger(found, np.full(20, 3))})


@pytest.mark.parametrize("measure", MEASURES, ids=lambda m: m.name)
@pytest.mark.parametrize("seed", range(5))
def test_laws_hold(measure, seed):
    assert check(measure, seed) == []
