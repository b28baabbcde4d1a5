"""Retrieval against trec_eval where nothing is tied, and against scikit-learn where much is.

trec_eval orders equal scores by the names of candidates, so scores are distinct for it. scikit-learn counts equal
scores as above: for one positive its ranking average precision is the pessimistic MRR, its coverage error the mean
worst rank.
"""

import numpy as np
import pytest

from gnomon.measures.retrieval import evaluate, rankings

pytestmark = pytest.mark.filterwarnings("ignore")


def several(rng, n, pool):
    return [rng.choice(pool, int(rng.integers(1, 5)), replace=False).tolist() for _ in range(n)]


@pytest.mark.parametrize("seed", range(10))
def test_trec_eval_without_ties(seed):
    peer = pytest.importorskip("pytrec_eval", reason="pytrec-eval-terrier is not installed")
    rng = np.random.default_rng(seed)
    n, pool = 40, 60
    similarity = rng.permuted(np.tile(np.arange(pool) / 8, (n, 1)), axis=1)
    positives = several(rng, n, pool)
    truth = {str(q): {str(p): 1 for p in own} for q, own in enumerate(positives)}
    run = {str(q): {str(c): float(s) for c, s in enumerate(row)} for q, row in enumerate(similarity)}
    each = peer.RelevanceEvaluator(truth, {"recip_rank", "success.1,5,10"}).evaluate(run).values()
    result = evaluate(similarity, positives=positives)
    want = np.mean([query["recip_rank"] for query in each])
    assert result["mrr"] == result["mrr_optimistic"] == pytest.approx(want, abs=1e-12)
    for k in (1, 5, 10):
        assert result["top_k"][k] == pytest.approx(np.mean([query[f"success_{k}"] for query in each]), abs=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_scikit_learn_with_ties(seed):
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(seed)
    similarity = rng.integers(0, 6, (50, 30)).astype(float)
    which = rng.integers(0, 30, 50)
    truth = np.arange(30) == which[:, np.newaxis]
    result, found = evaluate(similarity, positives=which), rankings(similarity, positives=which)
    want = metrics.label_ranking_average_precision_score(truth, similarity)
    assert result["mrr_pessimistic"] == pytest.approx(want, abs=1e-12)
    assert (found.greater + found.equal).mean() == pytest.approx(metrics.coverage_error(truth, similarity), abs=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_cosine_of_scikit_learn(seed):
    pairwise = pytest.importorskip("sklearn.metrics.pairwise")
    rng = np.random.default_rng(seed)
    queries, candidates = rng.standard_normal((30, 9)), rng.standard_normal((50, 9))
    want = evaluate(pairwise.cosine_similarity(queries, candidates))
    assert evaluate(queries=queries, candidates=candidates) == want
