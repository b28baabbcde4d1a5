"""Scores of which it is known whether they need the labels."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from gnomon.audit.permuted import permute, permuted_labels
from gnomon.core.errors import InputError

RNG = np.random.default_rng(1)
LABELS = RNG.integers(0, 2, 200)
SIGNAL = LABELS + 0.5 * RNG.standard_normal(200)


def accuracy(labels, signal=SIGNAL):
    cut = signal[:100][labels[:100] == 0].mean() / 2 + signal[:100][labels[:100] == 1].mean() / 2
    up = signal[:100][labels[:100] == 1].mean() > cut
    return float((((signal[100:] > cut) == up) == labels[100:]).mean())


def ids(findings):
    return [finding.id for finding in findings]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), min_size=1, max_size=30), st.integers(0, 100))
def test_labels_stay_in_their_group(rows, seed):
    group, labels = (np.array(side) for side in zip(*rows, strict=True))
    if all(len(set(labels[group == g])) == 1 for g in group):
        with pytest.raises(InputError, match="constant inside of every group"):
            permute(labels, group, np.random.default_rng(seed))
        return
    out = permute(labels, group, np.random.default_rng(seed))
    assert all(sorted(out[group == g]) == sorted(labels[group == g]) for g in set(group.tolist()))


def test_every_order_is_as_likely_as_another():
    rng = np.random.default_rng(3)
    orders = [tuple(permute(np.array([0, 1, 2, 9]), np.array([5, 5, 5, 1]), rng).tolist()) for _ in range(1200)]
    counts = [orders.count(order) for order in set(orders)]
    assert len(counts) == 6
    assert scipy.stats.chisquare(counts).pvalue > 1e-3


def test_a_score_that_rests_on_the_labels_is_clean():
    assert accuracy(LABELS) > 0.8
    assert permuted_labels(accuracy, LABELS, chance=0.5 + abs(LABELS[100:].mean() - 0.5)) == ()


def test_a_score_that_does_not_is_found():
    noise = RNG.standard_normal(200)
    findings = permuted_labels(lambda labels: accuracy(labels, noise), LABELS)
    assert ids(findings) == ["permuted-as-good"]
    assert findings[0].severity == "error"


def test_p_counts_the_permuted_scores_that_are_as_good():
    scores = iter([5.0, *range(20)])
    (finding,) = permuted_labels(lambda labels: next(scores), LABELS)
    assert f"p = {(1 + 15) / 21:.3g}" in finding.evidence
    half = scipy.stats.t.ppf(0.995, 19) * np.std(range(20), ddof=1) / np.sqrt(20)
    assert f"permuted 9.5 [{9.5 - half:.4g}, {9.5 + half:.4g}] over 20 permutations" in finding.evidence


def test_a_score_that_reads_test_labels_stays_above_chance():
    def leaky(labels):
        return accuracy(labels, labels + RNG.standard_normal(200))

    assert ids(permuted_labels(leaky, LABELS, chance=0.55)) == ["permuted-as-good", "permuted-above-chance"]


def test_errors_fall_where_scores_rise():
    def error(labels):
        return 1 - accuracy(labels)

    assert permuted_labels(error, LABELS, chance=0.45, direction="down") == ()
    assert "permuted-above-chance" in ids(
        permuted_labels(lambda y: 1 - accuracy(y, y + 0.1 * SIGNAL), LABELS, chance=0.45, direction="down")
    )


def test_what_groups_differ_in_stays_inside_of_groups():
    group = np.arange(200) % 2
    labels = np.where(RNG.random(200) < 0.9, group, 1 - group)
    names = [f"g{g}" for g in group]

    def by_group(y):
        return float((group[100:] == y[100:]).mean())

    assert permuted_labels(by_group, labels, chance=0.95) == ()
    assert ids(permuted_labels(by_group, labels, groups=names, chance=0.95)) == ["permuted-as-good"]


def test_the_same_seed_gives_the_same_findings():
    noise = RNG.standard_normal(200)
    first, second, other = (permuted_labels(lambda y: accuracy(y, noise), LABELS, seed=s) for s in (1, 1, 2))
    assert first == second
    assert first != other


@pytest.mark.parametrize(
    ("options", "message"), [({"rounds": 18}, "at least 19 rounds"), ({"groups": ["a"]}, "a group for each of 200")]
)
def test_too_few_rounds_or_groups_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        permuted_labels(accuracy, LABELS, **options)


def test_an_undefined_score_is_refused():
    with pytest.raises(InputError, match="expected a finite score, but got nan"):
        permuted_labels(lambda labels: float("nan"), LABELS)
