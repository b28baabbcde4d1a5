"""Intervals against plain loops over label pairs written here, and against scipy.stats.bootstrap.

The references never touch tallies: a replicate is a list of (truth, prediction) pairs that is scored from scratch.
"""

import math
import random
from collections import Counter
from dataclasses import dataclass
from statistics import NormalDist, mean, stdev
from typing import ClassVar

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.core.measure import Measure, Scored
from gnomon.core.seeds import generator
from gnomon.core.tallies import Field, Tallies
from gnomon.inference import intervals
from gnomon.inference.intervals import (
    Groups,
    Interval,
    Plan,
    around,
    draw_counts,
    gaps,
    interval,
    jackknife_se,
    no_spread,
    replicates,
    t_quantile,
)
from gnomon.measures.classification import F1, Accuracy, BalancedAccuracy, ClassRecall, Kappa


@dataclass(frozen=True)
class MeanError(Measure):
    """Metres per sample: a ratio of a float sum and a count, without an upper bound."""

    title: ClassVar[str] = "mean error"
    family: ClassVar[str] = "error"
    layout: ClassVar = (Field("error", (), "sum"), Field("n"))
    bounds: ClassVar = (0.0, math.inf)
    name: ClassVar[str] = "mean_error"

    def tally(self, truth, prediction):
        raise NotImplementedError

    def score(self, totals, frozen=None):
        return Scored.ratio(totals["error"], totals["n"])

    def why(self, totals):
        return "no samples"


@dataclass(frozen=True)
class Signed(MeanError):
    """The same of signed errors: no bounds at all."""

    bounds: ClassVar = (-math.inf, math.inf)
    name: ClassVar[str] = "mean_signed_error"


def simulated(groups, seed=0, classes="abc", right=0.7, size=8):
    """Pairs of labels in groups of different difficulty and size."""
    rng = random.Random(seed)
    out = []
    for _ in range(groups):
        skill = min(1.0, max(0.0, rng.gauss(right, 0.2)))
        truths = [rng.choice(classes) for _ in range(rng.randint(2, size))]
        out.append([(t, t if rng.random() < skill else rng.choice(classes)) for t in truths])
    return out


def accuracy(pairs):
    return mean(t == p for t, p in pairs)


def macro_f1(pairs):
    hits = Counter(t for t, p in pairs if t == p)
    support = Counter(x for pair in pairs for x in pair)
    return mean(2 * hits[label] / support[label] for label in sorted(support))


def balanced(pairs):
    hits, support = Counter(t for t, p in pairs if t == p), Counter(t for t, _ in pairs)
    return mean(hits[label] / support[label] for label in sorted(support))


def kappa(pairs):
    n, truth, predicted = len(pairs), Counter(t for t, _ in pairs), Counter(p for _, p in pairs)
    chance = sum(truth[label] * predicted[label] for label in truth) / n**2
    return (accuracy(pairs) - chance) / (1 - chance)


SCORES = [(Accuracy(), accuracy), (F1("macro"), macro_f1), (BalancedAccuracy(), balanced), (Kappa(), kappa)]


def pooled(cases, counts=None):
    counts = [1] * len(cases) if counts is None else counts
    return [pair for case, count in zip(cases, counts, strict=True) for _ in range(int(count)) for pair in case]


def left_out(cases, score):
    return [score(pooled(cases[:i] + cases[i + 1 :])) for i in range(len(cases))]


def plain_quantile(values, p):
    """Linear interpolation between order statistics."""
    ordered = sorted(values)
    place = p * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def plain_replicates(cases, score, plan):
    counts = draw_counts(len(cases), plan.resamples, generator(plan.seed, "bootstrap"))
    return [score(pooled(cases, row)) for row in counts]


def plain_jackknife_t(cases, score, level):
    left, n = left_out(cases, score), len(cases)
    error = math.sqrt((n - 1) / n * sum((value - mean(left)) ** 2 for value in left))
    return score(pooled(cases)), scipy.stats.t.ppf(0.5 + level / 2, n - 1) * error


def plain_bca(cases, score, plan):
    replicates, value, normal = plain_replicates(cases, score, plan), score(pooled(cases)), NormalDist()
    below = sum(r < value - 1e-12 for r in replicates) + sum(r <= value + 1e-12 for r in replicates)
    bias = normal.inv_cdf(below / 2 / len(replicates))
    left = left_out(cases, score)
    pull = [mean(left) - value for value in left]
    acceleration = sum(d**3 for d in pull) / (6 * sum(d**2 for d in pull) ** 1.5)
    ends = []
    for tail in (0.5 - plan.level / 2, 0.5 + plan.level / 2):
        z = bias + normal.inv_cdf(tail)
        ends.append(plain_quantile(replicates, normal.cdf(bias + z / (1 - acceleration * z))))
    return tuple(ends)


@pytest.fixture
def groups(count_cases):
    def build(cases, plan=None, level="group"):
        return Groups(count_cases(*cases), plan or Plan(), level)

    return build


@pytest.mark.parametrize(("measure", "score"), SCORES, ids=lambda value: getattr(value, "name", ""))
@pytest.mark.parametrize("level", [0.95, 0.8])
def test_jackknife_t_agrees_with_a_plain_loop(groups, open_scale, measure, score, level):
    cases = simulated(12, seed=1)
    found = interval(measure, groups(cases, Plan(level=level)))
    expected = open_scale(*plain_jackknife_t(cases, score, level), *measure.bounds)
    assert (found.low, found.high) == pytest.approx(expected, abs=1e-12)


def test_jackknife_t_of_a_plain_mean_is_the_interval_of_student(open_scale):
    # Groups of equal size: the score is the mean of the groups' means, and the textbook interval applies, here on the
    # scale of logarithms.
    means = [0.2, 0.5, 0.4, 0.9, 0.7, 0.6, 0.1]
    tallies = Tallies(MeanError.layout, {}, {"error": np.array(means) * 4, "n": np.full(7, 4)})
    found = interval(MeanError(), Groups(tallies, Plan()))
    half = scipy.stats.t.ppf(0.975, 6) * stdev(means) / math.sqrt(7)
    assert (found.low, found.high) == pytest.approx(open_scale(mean(means), half, high=math.inf), abs=1e-12)


def test_a_measure_without_bounds_has_the_interval_of_student():
    values = [-1.0, 0.5, 2.0, 4.5]
    tallies = Tallies(MeanError.layout, {}, {"error": np.array(values), "n": np.ones(4, int)})
    found = interval(Signed(), Groups(tallies, Plan()))
    half = scipy.stats.t.ppf(0.975, 3) * stdev(values) / 2
    assert (found.low, found.high) == pytest.approx((1.5 - half, 1.5 + half), abs=1e-12)


def test_an_interval_of_three_quarters_by_hand():
    # logit(3/4) = log 3; half a width of 3/16 log 2 is log 2 there, so the odds are 3/2 and 6.
    found = around(Accuracy(), 0.75, 3 / 16 * math.log(2), ["a note"])
    assert (found.low, found.high, found.notes) == (pytest.approx(3 / 5), pytest.approx(6 / 7), ("a note",))
    # Two units of the logit: the odds are 3 by and through 2e.
    wide = around(Accuracy(), 0.75, 3 / 16 * 2, [])
    assert (wide.low, wide.high) == pytest.approx((3 / (3 + 2 * math.e), 6 * math.e / (1 + 6 * math.e)))
    # A mean error of 0.1 over two groups: t is 12.7.
    assert around(MeanError(), 0.1, 1.27, []).high == pytest.approx(0.1 * math.e * 12.7)


@pytest.mark.parametrize("measure", [Accuracy(), Kappa(), MeanError()])
def test_the_interval_of_a_score_on_a_bound_is_cut_there(measure):
    floor, ceiling = measure.bounds
    assert around(measure, floor, 0.3, []) == Interval(floor, floor + 0.3)
    if ceiling < math.inf:
        assert around(measure, ceiling, 0.3, []) == Interval(ceiling - 0.3, ceiling)


@given(st.floats(1e-9, 1 - 1e-9), st.floats(0, 1e9))
def test_an_interval_holds_its_score_and_stays_in_the_range(value, half):
    for measure in (Accuracy(), Kappa(), MeanError()):
        found = around(measure, value, half, [])
        assert measure.bounds[0] <= found.low <= value <= found.high <= measure.bounds[1]
        assert math.isfinite(found.high)


@given(st.floats(0.01, 0.99), st.floats(0, 0.5))
def test_the_interval_of_the_share_of_errors_mirrors_that_of_the_share_of_hits(value, half):
    hits, errors = around(Accuracy(), value, half, []), around(Accuracy(), 1 - value, half, [])
    assert (hits.low, hits.high) == pytest.approx((1 - errors.high, 1 - errors.low), abs=1e-9)


def test_jackknife_se_of_three_values():
    # By hand: mean 2, squares 1 + 0 + 1, times 2/3.
    assert jackknife_se(np.array([1.0, 2.0, 3.0])) == pytest.approx(math.sqrt(4 / 3))


@pytest.mark.parametrize(("p", "df"), [(0.975, 1), (0.975, 30), (0.9, 5), (0.5, 3)])
def test_t_quantiles_agree_with_scipy(p, df):
    assert t_quantile(p, df) == pytest.approx(scipy.stats.t.ppf(p, df), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("measure", "score"), SCORES, ids=lambda value: getattr(value, "name", ""))
def test_the_percentile_interval_agrees_with_a_plain_loop_over_the_same_draws(groups, measure, score):
    cases, plan = simulated(11, seed=2), Plan("percentile", 0.9, 300, seed=5)
    replicates = plain_replicates(cases, score, plan)
    expected = plain_quantile(replicates, 0.05), plain_quantile(replicates, 0.95)
    found = interval(measure, groups(cases, plan))
    assert (found.low, found.high) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("measure", "score"), SCORES, ids=lambda value: getattr(value, "name", ""))
def test_bca_agrees_with_a_plain_loop_over_the_same_draws(groups, measure, score):
    cases, plan = simulated(11, seed=3, right=0.85), Plan("bca", 0.9, 300, seed=5)
    found = interval(measure, groups(cases, plan))
    assert (found.low, found.high) == pytest.approx(plain_bca(cases, score, plan), abs=1e-9)


@pytest.mark.parametrize(("method", "name"), [("percentile", "percentile"), ("bca", "BCa")])
def test_bootstrap_intervals_agree_with_scipy_within_monte_carlo_error(method, name):
    rng = np.random.default_rng(0)
    n = rng.integers(1, 30, size=25)
    error = rng.lognormal(0, 1, size=25) * n
    tallies = Tallies(MeanError.layout, {}, {"error": error, "n": n})
    found = interval(MeanError(), Groups(tallies, Plan(method, 0.95, 10_000, seed=1)))
    peer = scipy.stats.bootstrap(
        (error, n),
        lambda e, m, axis: e.sum(axis=axis) / m.sum(axis=axis),
        paired=True,
        vectorized=True,
        method=name,
        n_resamples=10_000,
        rng=np.random.default_rng(2),
    )
    # A 2.5 % quantile of 10 000 normal replicates has a standard error of 0.027 sd, BCa adds 0.025 sd for its bias
    # term; both sides are random, and the right tail of this skewed statistic is longer than normal.
    assert found.low == pytest.approx(peer.confidence_interval.low, abs=0.15 * peer.standard_error)
    assert found.high == pytest.approx(peer.confidence_interval.high, abs=0.3 * peer.standard_error)


def test_the_two_bootstrap_intervals_differ_on_a_skewed_statistic(groups):
    cases = simulated(15, seed=4, right=0.9)
    percentile = interval(Accuracy(), groups(cases, Plan("percentile", resamples=500)))
    bca = interval(Accuracy(), groups(cases, Plan("bca", resamples=500)))
    assert (percentile.low, percentile.high) != (bca.low, bca.high)


def test_every_replicate_draws_as_many_groups_as_there_are():
    counts = draw_counts(7, 50, np.random.default_rng(0))
    picks = np.random.default_rng(0).integers(0, 7, size=(50, 7))
    assert counts.tolist() == [[row.count(group) for group in range(7)] for row in picks.tolist()]


def test_draws_cover_all_groups_evenly():
    # The mean of 20 000 draws per group has a standard error of 0.007.
    counts = draw_counts(5, 20_000, np.random.default_rng(1))
    np.testing.assert_allclose(counts.mean(axis=0), 1.0, atol=0.035)


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_the_size_of_a_batch_does_not_change_a_bit(groups, monkeypatch, method):
    cases, plan = simulated(9, seed=6), Plan(method, resamples=200)
    whole = interval(F1("macro"), groups(cases, plan))
    monkeypatch.setattr(intervals, "CHUNK", 100)
    parts = groups(cases, plan)
    assert interval(F1("macro"), parts) == whole
    assert len(parts.draws) > 1


def test_measures_of_one_family_share_the_draws(groups):
    shared = groups(simulated(8), Plan("percentile", resamples=100))
    interval(Accuracy(), shared)
    first = shared.draws
    interval(Kappa(), shared)
    assert shared.draws is first


@pytest.mark.parametrize("method", ["jackknife-t", "percentile", "bca"])
def test_one_group_has_no_interval(groups, method):
    found = interval(Accuracy(), groups(simulated(1), Plan(method), "subject"))
    assert found == Interval(None, None, "undefined (1 subject)")


def test_no_group_has_no_interval(groups):
    assert interval(Accuracy(), groups([])) == Interval(None, None, "undefined (0 groups)")


def test_no_interval_is_made_when_none_is_asked_for(groups):
    assert interval(Accuracy(), groups(simulated(9), Plan("none"))) == Interval(None, None, "not asked for")


@pytest.mark.parametrize("method", ["jackknife-t", "percentile", "bca"])
def test_an_undefined_score_has_no_interval(groups, method):
    cases = [[("a", "a")]] * 8
    found = interval(ClassRecall("x", None), groups(cases, Plan(method)))
    assert (found.low, found.high, found.why) == (None, None, "the score itself is undefined")


def test_an_unknown_method_is_refused(groups):
    with pytest.raises(InputError, match="expected jackknife-t, percentile, bca or none, but got 'normal'"):
        interval(Accuracy(), groups(simulated(9), Plan("normal")))


@pytest.mark.parametrize(("n", "noted"), [(2, True), (5, True), (6, False)])
def test_few_groups_are_noted(groups, n, noted):
    found = interval(Accuracy(), groups(simulated(n), level="subject"))
    assert found.low is not None
    assert found.notes == ((f"interval rests on only {n} subjects",) if noted else ())


def test_classes_on_few_groups_are_noted_for_a_macro_average(groups):
    cases = [[("a", "a"), ("b", "a")]] * 10 + [[("a", "a"), ("c", "c")], [("a", "a"), ("d", "a")]]
    one = "interval unreliable: 1 class rests on fewer than 10 subjects"
    two = "interval unreliable: 2 classes rest on fewer than 10 subjects"
    assert interval(F1("macro"), groups(cases[:11], level="subject")).notes == (one,)
    assert interval(F1("macro"), groups(cases, level="subject")).notes == (two,)
    assert interval(BalancedAccuracy(), groups(cases, level="subject")).notes == (two,)


@pytest.mark.parametrize("measure", [Accuracy(), F1("weighted"), F1("micro"), Kappa()])
def test_rare_classes_are_not_noted_where_they_hardly_matter(groups, measure):
    cases = [[("a", "a"), ("b", "a")]] * 10 + [[("c", "c")]]
    assert interval(measure, groups(cases)).notes == ()


def test_only_listed_classes_are_noted(groups):
    cases = [[("a", "a"), ("b", "a")]] * 10 + [[("c", "c")]]
    assert interval(F1("macro", ("a", "b")), groups(cases)).notes == ()


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_a_bootstrap_follows_its_seed(groups, method):
    cases = simulated(10, seed=7)
    made = [interval(F1("macro"), groups(cases, Plan(method, resamples=200, seed=seed))) for seed in (1, 1, 2)]
    assert made[0] == made[1]
    assert made[0] != made[2]


def test_the_jackknife_does_not_depend_on_the_seed(groups):
    cases = simulated(10, seed=7)
    assert interval(Accuracy(), groups(cases, Plan(seed=1))) == interval(Accuracy(), groups(cases, Plan(seed=2)))


def rare(k, n):
    """Groups of which the first k hold the rare class."""
    return [[("a", "a"), ("rare", "rare" if i % 2 else "a")] if i < k else [("a", "a")] for i in range(n)]


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_replicates_without_a_score_are_left_out_and_counted(groups, method):
    plan = Plan(method, resamples=400, seed=3)
    counts = draw_counts(20, 400, generator(3, "bootstrap"))
    lost = int((counts[:, :4].sum(axis=1) == 0).sum())
    found = interval(ClassRecall("rare", None), groups(rare(4, 20), plan))
    assert 0 < lost <= 40
    thin = "interval unreliable: 1 class rests on fewer than 10 groups"
    assert found.notes == (thin, f"{lost} of 400 replicates left out: score undefined there")
    assert found.low is not None


def test_the_percentile_interval_rests_on_the_replicates_that_have_a_score(groups):
    plan = Plan("percentile", resamples=400, seed=3)
    counts = draw_counts(20, 400, generator(3, "bootstrap"))[:, :4].tolist()
    recalls = [(row[1] + row[3]) / sum(row) for row in counts if sum(row)]
    found = interval(ClassRecall("rare", None), groups(rare(4, 20), plan))
    expected = plain_quantile(recalls, 0.025), plain_quantile(recalls, 0.975)
    assert (found.low, found.high) == pytest.approx(expected, abs=1e-12)


def test_too_many_replicates_without_a_score_leave_no_interval(groups):
    counts = draw_counts(20, 400, generator(3, "bootstrap"))
    lost = int((counts[:, :2].sum(axis=1) == 0).sum())
    found = interval(ClassRecall("rare", None), groups(rare(2, 20), Plan("percentile", resamples=400, seed=3)))
    assert lost > 40
    assert (found.low, found.why) == (None, f"undefined (no score in {lost} of 400 replicates)")


def test_the_jackknife_needs_a_score_without_each_group(groups):
    found = interval(ClassRecall("rare", None), groups(rare(1, 20), level="room"))
    assert (found.low, found.high) == (None, None)
    assert found.why == "undefined (1 room cannot be left out: there is no score without)"


def test_groups_that_cannot_be_left_out_are_counted(groups):
    made = groups(simulated(3), level="room")
    assert gaps(made, np.array([True, False, False])).startswith("undefined (2 rooms cannot be left out")


def test_a_class_that_vanishes_in_a_replicate_is_skipped(groups, open_scale):
    # Macro-F1 over what is left: the plain loop averages over the classes that it finds.
    cases = [[("a", "a"), ("b", "b" if i % 3 else "a")] for i in range(9)] + [[("c", "b"), ("a", "a")]]
    found = interval(F1("macro"), groups(cases))
    expected = open_scale(*plain_jackknife_t(cases, macro_f1, 0.95))
    assert (found.low, found.high) == pytest.approx(expected, abs=1e-12)


def test_an_interval_near_a_bound_leans_away_from_it(groups, open_scale):
    good = [[("a", "a")] * 5] * 6 + [[("a", "b")] * 5]
    value, half = plain_jackknife_t(good, accuracy, 0.95)
    assert value + half > 1
    found = interval(Accuracy(), groups(good))
    assert (found.low, found.high) == pytest.approx(open_scale(value, half))
    assert value - found.low > found.high - value
    bad = [[("a", "b")] * 5] * 6 + [[("a", "a")] * 5]
    mirrored = interval(Accuracy(), groups(bad))
    assert (mirrored.low, mirrored.high) == pytest.approx((1 - found.high, 1 - found.low))


def test_a_mean_error_is_never_below_nothing():
    tallies = Tallies(MeanError.layout, {}, {"error": np.array([0.1, 0.2, 90.0]), "n": np.ones(3, int)})
    found = interval(MeanError(), Groups(tallies, Plan()))
    assert 0 < found.low < 30.1 < 90 < found.high


@pytest.mark.parametrize("method", ["jackknife-t", "percentile", "bca"])
@pytest.mark.parametrize("case", [[("a", "a"), ("a", "b")], [("a", "a")]])
def test_groups_that_are_all_alike_have_no_spread_to_judge_by(groups, method, case):
    found = interval(Accuracy(), groups([case] * 8, Plan(method, resamples=100), "subject"))
    assert (found.low, found.high) == (None, None)
    assert "the same without any one subject" in found.why


def equal_but_for_rounding(scale=1.0):
    """Every group has the same mean error, but sums of its errors are rounded differently."""
    n = np.array([3, 7, 11, 13, 17, 19, 23])
    return Tallies(MeanError.layout, {}, {"error": 0.1 * n * scale, "n": n})


@pytest.mark.parametrize("method", ["jackknife-t", "percentile", "bca"])
@pytest.mark.parametrize("scale", [1.0, 1.1e9])
def test_scores_that_are_equal_but_for_rounding_have_no_spread_to_judge_by(method, scale):
    groups = Groups(equal_but_for_rounding(scale), Plan(method, resamples=200), "subject")
    scored = MeanError().score(groups.left_out) if method == "jackknife-t" else replicates(MeanError(), groups, None)
    assert np.ptp(scored.values) < 1e-12 * scale
    assert method != "jackknife-t" or np.ptp(scored.values) > 0
    found = interval(MeanError(), groups)
    assert (found.low, found.high) == (None, None)
    assert found.why == "undefined (the score is the same without any one subject: no spread to judge by)"


@pytest.mark.parametrize("method", ["jackknife-t", "percentile", "bca"])
def test_a_small_spread_is_a_spread(method):
    tallies = equal_but_for_rounding()
    error = tallies.fields["error"] + 1e-9 * np.arange(7)
    spread = Tallies(MeanError.layout, {}, {"error": error, "n": tallies.fields["n"]})
    found = interval(MeanError(), Groups(spread, Plan(method, resamples=200)))
    assert found.why == ""
    assert 0 < found.high - found.low < 1e-8


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.5, 0.5], True),
        ([0.5, 0.5 + 1e-13], True),
        ([0.5, 0.5 + 1e-11], False),
        ([1e6, 1e6 + 1e-7], True),
        ([1e6, 1e6 + 1e-5], False),
        ([-1e6, -1e6 - 1e-7], True),
        ([0.0, 0.0, 0.0], True),
        ([0.1], True),
    ],
)
def test_spread_is_judged_beyond_rounding(values, expected):
    assert no_spread(np.array(values)) is expected


@pytest.mark.parametrize("method", ["jackknife-t", "percentile", "bca"])
def test_more_coverage_makes_a_wider_interval(groups, method):
    cases = simulated(12, seed=8)
    narrow, wide = (interval(Accuracy(), groups(cases, Plan(method, level, 500))) for level in (0.8, 0.99))
    assert wide.low < narrow.low < narrow.high < wide.high


@pytest.mark.parametrize("classes", ["union", ("a", "b", "c")])
def test_a_class_that_only_the_left_out_group_has_in_truth_is_skipped(count_cases, classes):
    # Class c is in the truth of the third group alone; the first group predicts it once, wrongly. Without the third
    # group only a and b are left to average over. By hand, without it: a has tp 1, truth 2, predicted 1; b is perfect.
    cases = [[("a", "a"), ("a", "c")], [("b", "b")], [("c", "c"), ("c", "c")]]
    groups = Groups(count_cases(*cases), Plan())
    measure = F1("macro", classes)
    without = intervals.left_out(measure, groups, measure.freeze(groups.total)).values
    assert without[2] == pytest.approx((2 / 3 + 1) / 2)
