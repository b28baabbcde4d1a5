"""Seeds crossed with groups against two-way mean squares and replicates written here as plain loops."""

import math
from statistics import mean, variance

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.core.seeds import generator
from gnomon.inference import crossed as module
from gnomon.inference.crossed import crossed, crossed_spread
from gnomon.inference.intervals import Groups, Plan, draw_counts, interval
from gnomon.measures.classification import F1, Accuracy, ClassPrecision


def simulated(seeds, groups, seed=0, size=6):
    """Label pairs by seed and group: groups differ in difficulty, seeds in skill."""
    rng = np.random.default_rng(seed)
    hard, skill = rng.normal(0, 0.15, groups), rng.normal(0, 0.08, seeds)
    truths = [rng.choice(list("abc"), int(rng.integers(3, size + 3))) for _ in range(groups)]
    return [
        [
            [(str(t), str(t) if rng.random() < 0.7 + h + s else str(rng.choice(list("abc")))) for t in truth]
            for truth, h in zip(truths, hard, strict=True)
        ]
        for s in skill
    ]


def accuracy(pairs):
    return mean(t == p for t, p in pairs)


def macro_f1(pairs):
    labels = sorted({x for pair in pairs for x in pair})
    hits = [sum(t == p == x for t, p in pairs) for x in labels]
    support = [sum((t == x) + (p == x) for t, p in pairs) for x in labels]
    return mean(2 * h / s for h, s in zip(hits, support, strict=True))


SCORES = [(Accuracy(), accuracy), (F1("macro"), macro_f1)]


def pooled(cases, counts=None):
    counts = [1] * len(cases) if counts is None else counts
    return [pair for case, count in zip(cases, counts, strict=True) for _ in range(int(count)) for pair in case]


def plain_spread(cases, score):
    """Mean squares of a two-way table of pseudo-values, cell by cell."""
    n_seeds, n = len(cases), len(cases[0])
    whole = [score(pooled(seed)) for seed in cases]
    cell = [
        [n * whole[s] - (n - 1) * score(pooled(seed[:g] + seed[g + 1 :])) for g in range(n)]
        for s, seed in enumerate(cases)
    ]
    of_group = [mean(cell[s][g] for s in range(n_seeds)) for g in range(n)]
    of_seed, all_ = [mean(row) for row in cell], mean(map(mean, cell))
    rest = sum((cell[s][g] - of_group[g] - of_seed[s] + all_) ** 2 for s in range(n_seeds) for g in range(n)) / (
        (n_seeds - 1) * (n - 1)
    )
    return variance(of_group) / n, variance(whole) / n_seeds, rest / (n * n_seeds)


@pytest.fixture
def seeds(count_cases):
    def build(cases, plan=None, level="group"):
        return [Groups(count_cases(*case, classes=("a", "b", "c")), plan or Plan(), level) for case in cases]

    return build


@pytest.mark.parametrize(("measure", "score"), SCORES, ids=["accuracy", "macro_f1"])
@pytest.mark.parametrize("level", [0.95, 0.8])
def test_the_interval_agrees_with_plain_mean_squares(seeds, open_scale, measure, score, level):
    cases = simulated(5, 9, seed=4)
    found = crossed(measure, seeds(cases, Plan(level=level)))
    groups, over_seeds, both = plain_spread(cases, score)
    assert [found.spread.groups**2, found.spread.seeds**2, found.spread.both**2] == pytest.approx(
        [groups, over_seeds, both]
    )
    total = groups + over_seeds - both
    assert total > max(groups, over_seeds)
    assert found.spread.se**2 == pytest.approx(total)
    t = [scipy.stats.t.ppf(0.5 + level / 2, df) for df in (8, 4, 32)]
    half = math.sqrt(t[0] ** 2 * groups + t[1] ** 2 * over_seeds - t[2] ** 2 * both)
    value = mean(score(pooled(seed)) for seed in cases)
    assert (found.value, found.low, found.high) == pytest.approx((value, *open_scale(value, half)))
    assert found.by_seed == pytest.approx(tuple(score(pooled(seed)) for seed in cases))
    assert (found.seeds, found.groups, found.n) == (5, 9, len(pooled(cases[0])))


@given(
    st.lists(st.lists(st.floats(-1, 1), min_size=4, max_size=4), min_size=2, max_size=6),
    st.lists(st.floats(-1, 1), min_size=6, max_size=6),
)
def test_no_part_lowers_the_standard_error_or_the_width(left_out, values):
    found = crossed_spread(np.array(values[: len(left_out)]), np.array(left_out))
    assert found.se >= max(found.groups, found.seeds) * (1 - 1e-12)
    assert found.se**2 <= (found.groups**2 + found.seeds**2) * (1 + 1e-12)
    t = [scipy.stats.t.ppf(0.975, df) for df in (3, len(left_out) - 1)]
    widths = [t[0] * found.groups, t[1] * found.seeds]
    assert max(widths) * (1 - 1e-12) <= found.half(0.95) <= math.hypot(*widths) * (1 + 1e-12)


def test_seeds_that_agree_give_the_plain_interval_over_groups(seeds):
    (cases,) = simulated(1, 12, seed=2)
    found, plain = crossed(F1("macro"), seeds([cases] * 6)), interval(F1("macro"), seeds([cases])[0])
    assert (found.low, found.high) == pytest.approx((plain.low, plain.high))
    assert found.spread.seeds == pytest.approx(0.0)


def test_additive_seeds_add_their_variance():
    # By hand: scores 1, 2, 3 whatever the group: variance 1 over 3 seeds; groups move every seed alike: leave-one-out
    # values -0.1, 0, 0.1 around each score: (2/3) * 0.02; nothing is left over.
    values = np.array([1.0, 2.0, 3.0])
    found = crossed_spread(values, values[:, np.newaxis] + np.array([-0.1, 0.0, 0.1]))
    assert (found.groups**2, found.seeds**2) == pytest.approx((0.04 / 3, 1 / 3))
    assert found.both == pytest.approx(0.0, abs=1e-12)
    assert found.se**2 == pytest.approx(0.04 / 3 + 1 / 3)
    # Both have two degrees of freedom, whose t is 4.303 at 95 % (tables).
    assert found.half(0.95) == pytest.approx(4.3027 * math.sqrt(0.04 / 3 + 1 / 3), rel=1e-4)


def test_two_seeds_are_never_taken_for_many_groups():
    """By hand: scores 1 and 3, sd sqrt(2), se 1; t of one degree of freedom is 12.706. Groups bring less, and the
    residual takes away more than they bring: leave-one-out values +-0.5 of opposite sign have no mean."""
    without = np.array([[1.5, 0.5] * 10, [2.5, 3.5] * 10])
    found = crossed_spread(np.array([1.0, 3.0]), without)
    assert (found.groups, found.seeds) == pytest.approx((0.0, 1.0))
    assert found.both > found.groups
    assert found.half(0.95) == pytest.approx(12.706, rel=1e-4)


def test_a_third_seed_between_two_does_not_widen_the_interval():
    """Two seeds that lie apart say little of their spread; one more that agrees with them says more."""
    groups = np.linspace(-0.01, 0.01, 12)
    scores = [np.array([0.2, 0.22]), np.array([0.2, 0.22, 0.21])]
    two, three = (crossed_spread(values, values[:, np.newaxis] + groups).half(0.95) for values in scores)
    assert three < two


@pytest.mark.parametrize("n", [2, 4, 5])
def test_a_bootstrap_of_few_seeds_is_called_unreliable(seeds, n):
    notes = crossed(Accuracy(), seeds(simulated(n, 12, seed=2), Plan("percentile", resamples=100))).notes
    note = "interval unreliable: a bootstrap of fewer than 5 seeds is too narrow"
    assert (note in notes) == (n < 5)


@pytest.mark.parametrize(("measure", "score"), SCORES, ids=["accuracy", "macro_f1"])
def test_the_percentile_interval_agrees_with_a_plain_loop_over_the_same_draws(seeds, measure, score):
    cases, plan = simulated(4, 7, seed=1), Plan("percentile", 0.9, 200, seed=5)
    weights = draw_counts(7, 200, generator(5, "bootstrap"))
    taken = draw_counts(4, 200, generator(5, "bootstrap", "seeds"))
    made = [
        sum(times * score(pooled(case, w)) for case, times in zip(cases, t, strict=True) if times) / 4
        for w, t in zip(weights, taken, strict=True)
    ]
    found = crossed(measure, seeds(cases, plan))
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(made, [0.05, 0.95])))
    assert found.spread is None


def test_the_size_of_a_batch_does_not_change_a_bit(seeds, monkeypatch):
    cases, plan = simulated(3, 8, seed=3), Plan("percentile", resamples=150)
    whole = crossed(F1("macro"), seeds(cases, plan))
    monkeypatch.setattr(module, "CHUNK", 100)
    assert crossed(F1("macro"), seeds(cases, plan)) == whole


def test_the_order_of_seeds_does_not_matter_for_the_jackknife(seeds):
    cases = simulated(4, 8, seed=6)
    there, back = (crossed(F1("macro"), seeds(given)) for given in (cases, cases[::-1]))
    assert (there.value, there.low, there.high) == pytest.approx((back.value, back.low, back.high))


@pytest.mark.parametrize("method", ["jackknife-t", "percentile", "bca"])
def test_one_seed_is_the_plain_interval_with_a_note(seeds, method):
    given = seeds(simulated(1, 8), Plan(method, resamples=200))
    found, plain = crossed(Accuracy(), given), interval(Accuracy(), given[0])
    assert (found.low, found.high, found.interval_why) == (plain.low, plain.high, plain.why)
    assert found.notes == (*plain.notes, "one seed: the interval does not hold the spread over seeds")
    assert found.seeds == 1


def test_few_seeds_and_groups_are_noted(seeds):
    found = crossed(Accuracy(), seeds(simulated(3, 5, seed=2), level="subject"))
    assert found.notes == ("interval rests on only 5 subjects", "interval rests on only 3 seeds")
    assert crossed(Accuracy(), seeds(simulated(5, 6, seed=2))).notes == ()


def test_classes_on_few_groups_are_noted_once(seeds):
    notes = crossed(F1("macro"), seeds(simulated(5, 8, seed=2))).notes
    assert notes == ("interval unreliable: 3 classes rest on fewer than 10 groups",)


def test_one_group_has_a_mean_and_no_interval(seeds):
    found = crossed(Accuracy(), seeds(simulated(4, 1, seed=2), level="episode"))
    assert found.value == pytest.approx(mean(found.by_seed))
    assert (found.low, found.high, found.interval_why) == (None, None, "undefined (1 episode)")


def test_no_interval_is_made_when_none_is_asked_for(seeds):
    found = crossed(Accuracy(), seeds(simulated(4, 8), Plan("none")))
    assert (found.low, found.interval_why) == (None, "not asked for")


def test_a_score_that_one_seed_lacks_is_undefined(seeds):
    with_a, without = [[("a", "a")]] * 3, [[("a", "b")]] * 3
    found = crossed(ClassPrecision("a", None), seeds([with_a, without, with_a]))
    assert (found.value, found.by_seed) == (None, (1.0, None, 1.0))
    assert found.why == "undefined for 1 of 3 seeds: class 'a' does not occur in prediction"
    assert found.interval_why == "the score itself is undefined"
    assert crossed(ClassPrecision("a", None), seeds([without])).why == "class 'a' does not occur in prediction"


def test_a_score_that_hangs_on_one_group_has_no_interval(seeds):
    case = [[("a", "a")], [("b", "b")], [("b", "b")]]
    found = crossed(ClassPrecision("a", None), seeds([case, case]))
    assert found.interval_why == "undefined (1 group cannot be left out: there is no score without)"


def test_a_score_without_spread_over_groups_has_no_interval(seeds):
    cases = [[[("a", "a"), ("a", "a")]] * 6, [[("a", "a"), ("a", "b")]] * 6]
    found = crossed(Accuracy(), seeds(cases))
    assert found.value == 0.75
    assert "no spread to judge by" in found.interval_why


def test_what_cannot_be_crossed_is_refused(seeds):
    with pytest.raises(InputError, match="no seeds: expected the tallies of at least one"):
        crossed(Accuracy(), [])
    with pytest.raises(InputError, match="seeds have different numbers of subjects: 2, 3; score all on the same"):
        crossed(Accuracy(), [seeds([case], level="subject")[0] for case in (*simulated(1, 3), *simulated(1, 2))])
    with pytest.raises(InputError, match="different interval plans"):
        crossed(Accuracy(), [*seeds(simulated(1, 3)), *seeds(simulated(1, 3), Plan(seed=1))])
    with pytest.raises(InputError, match="interval over seeds: expected jackknife-t, percentile or none"):
        crossed(Accuracy(), seeds(simulated(2, 3), Plan("bca")))
