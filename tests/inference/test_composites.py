"""Composites over slices against plain loops: sums of variances, replicates and swaps within slices."""

import itertools
import math
from statistics import mean

import numpy as np
import pytest
import scipy.stats

from gnomon.core.errors import InputError
from gnomon.core.seeds import generator
from gnomon.inference import intervals, paired
from gnomon.inference.composites import compare_composites, composite, satterthwaite
from gnomon.inference.intervals import Groups, Plan, draw_counts, interval
from gnomon.inference.paired import compare
from gnomon.measures.classification import F1, Accuracy, ClassPrecision

WEIGHTS = {"lab": 3.0, "home": 1.0}


def simulated(n, seed, skill=0.7, size=6):
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(n):
        truth = rng.choice(list("abc"), int(rng.integers(3, size + 3)))
        right = np.clip(rng.normal(skill, 0.15), 0, 1)
        out.append([(str(t), str(t) if rng.random() < right else str(rng.choice(list("abc")))) for t in truth])
    return out


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


def jackknife(cases, score):
    left = [score(pooled(cases[:i] + cases[i + 1 :])) for i in range(len(cases))]
    return (len(left) - 1) / len(left) * sum((value - mean(left)) ** 2 for value in left)


@pytest.fixture
def slices(count_cases):
    def build(cases, plan=None, level="subject"):
        return {name: Groups(count_cases(*part), plan or Plan(), level) for name, part in cases.items()}

    return build


TWO = {"lab": simulated(8, 1), "home": simulated(6, 2, skill=0.5)}


@pytest.mark.parametrize(("measure", "score"), SCORES, ids=["accuracy", "macro_f1"])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_the_interval_adds_the_variances_of_slices(slices, open_scale, measure, score, weights):
    found = composite(measure, slices(TWO, Plan(level=0.9)), weights)
    w = (0.5, 0.5) if weights is None else (0.75, 0.25)
    value = sum(share * score(pooled(part)) for share, part in zip(w, TWO.values(), strict=True))
    parts = [share**2 * jackknife(part, score) for share, part in zip(w, TWO.values(), strict=True)]
    df = sum(parts) ** 2 / (parts[0] ** 2 / 7 + parts[1] ** 2 / 5)
    half = scipy.stats.t.ppf(0.95, df) * math.sqrt(sum(parts))
    assert found.value == pytest.approx(value)
    assert (found.se, found.df) == pytest.approx((math.sqrt(sum(parts)), df))
    assert (found.low, found.high) == pytest.approx(open_scale(value, half))
    assert [(part.name, part.weight, part.groups) for part in found.parts] == [("lab", w[0], 8), ("home", w[1], 6)]
    assert (found.groups, found.n) == (14, sum(len(pooled(part)) for part in TWO.values()))


def test_satterthwaite_by_hand():
    # (1 + 3)^2 / (1/2 + 9/6) = 8.
    assert satterthwaite([(1.0, 2), (3.0, 6)]) == (4.0, 8.0)
    assert satterthwaite([(2.0, 5)]) == (2.0, 5.0)


@pytest.mark.parametrize("method", ["jackknife-t", "none"])
def test_one_slice_is_the_plain_score(slices, method):
    given = slices({"lab": TWO["lab"]}, Plan(method))
    found, plain = composite(F1("macro"), given), interval(F1("macro"), given["lab"])
    assert found.value == float(F1("macro").score(given["lab"].total).values)
    assert found.interval_why == plain.why
    if method != "none":
        assert (found.low, found.high) == pytest.approx((plain.low, plain.high))


@pytest.mark.parametrize(("measure", "score"), SCORES, ids=["accuracy", "macro_f1"])
def test_the_percentile_interval_draws_within_slices(slices, measure, score):
    plan = Plan("percentile", 0.9, 200, seed=3)
    replicates = np.zeros(200)
    for name, part in TWO.items():
        counts = draw_counts(len(part), 200, generator(3, "bootstrap", name))
        replicates += WEIGHTS[name] / 4 * np.array([score(pooled(part, row)) for row in counts])
    found = composite(measure, slices(TWO, plan), WEIGHTS)
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(replicates, [0.05, 0.95])))
    assert (found.se, found.df) == (None, None)


def test_slices_of_equal_size_are_drawn_independently(slices):
    # Twice the same slice: drawn alike, the mean would spread as one slice does; independently, by 1 / sqrt(2) less.
    one = simulated(20, 5)
    plan = Plan("percentile", resamples=4000)
    single, double = (composite(Accuracy(), slices(dict.fromkeys(names, one), plan)) for names in ("a", "ab"))
    assert (double.high - double.low) / (single.high - single.low) == pytest.approx(math.sqrt(0.5), abs=0.06)


def test_the_size_of_a_batch_does_not_change_a_bit(slices, monkeypatch):
    plan = Plan("percentile", resamples=100)
    whole = composite(F1("macro"), slices(TWO, plan))
    monkeypatch.setattr(intervals, "CHUNK", 50)
    assert composite(F1("macro"), slices(TWO, plan)) == whole


def test_notes_name_the_slice(slices):
    found = composite(Accuracy(), slices({"lab": TWO["lab"], "home": TWO["home"][:5]}))
    assert found.notes == ("home: interval rests on only 5 subjects",)


def test_an_undefined_slice_leaves_no_composite(slices):
    given = {"lab": [[("a", "a")]] * 3, "home": [[("a", "b")]] * 3}
    found = composite(ClassPrecision("a", None), slices(given))
    assert (found.value, found.low) == (None, None)
    assert found.why == "undefined on 'home': class 'a' does not occur in prediction"
    assert found.interval_why == "the score itself is undefined"
    assert [part.value for part in found.parts] == [1.0, None]


@pytest.mark.parametrize("method", ["jackknife-t", "percentile"])
def test_a_slice_of_one_group_leaves_no_interval(slices, method):
    found = composite(Accuracy(), slices({"lab": TWO["lab"], "home": TWO["home"][:1]}, Plan(method, resamples=50)))
    assert found.value is not None
    assert (found.low, found.high, found.interval_why) == (None, None, "undefined ('home': 1 subject)")


def test_a_slice_without_spread_leaves_no_interval(slices):
    found = composite(Accuracy(), slices({"lab": TWO["lab"], "home": [[("a", "a")]] * 5}))
    same = "undefined ('home': the score is the same without any one subject: no spread to judge by)"
    assert (found.low, found.interval_why) == (None, same)


def test_a_slice_that_hangs_on_one_group_leaves_no_interval(slices):
    home = [[("a", "a")], [("b", "b")], [("b", "b")]]
    found = composite(ClassPrecision("a", None), slices({"home": home}))
    assert found.interval_why.startswith("undefined ('home': 1 subject cannot be left out")


def swapped(a, b, mask):
    left = [y if swap else x for x, y, swap in zip(a, b, mask, strict=True)]
    return pooled(left), pooled([x if swap else y for x, y, swap in zip(a, b, mask, strict=True)])


def plain_differences(a, b, score, shares, masks):
    """Difference of composites after each swap, masks running over the groups of all slices in order."""
    out = []
    for mask in masks:
        bits, total = list(mask), 0.0
        for name, share in shares.items():
            part, bits = bits[: len(a[name])], bits[len(a[name]) :]
            left, right = swapped(a[name], b[name], part)
            total += share * (score(left) - score(right))
        out.append(total)
    return out


SMALL_A = {"lab": simulated(4, 7, 0.9), "home": simulated(5, 8, 0.8)}
SMALL_B = {
    name: [[(t, p if i % 3 else "c") for i, (t, p) in enumerate(case)] for case in part]
    for name, part in SMALL_A.items()
}


@pytest.mark.parametrize(("measure", "score"), SCORES, ids=["accuracy", "macro_f1"])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_the_exact_p_agrees_with_brute_force(slices, measure, score, weights):
    shares = {"lab": 0.75, "home": 0.25} if weights else {"lab": 0.5, "home": 0.5}
    every = plain_differences(SMALL_A, SMALL_B, score, shares, itertools.product((0, 1), repeat=9))
    found = compare_composites(measure, slices(SMALL_A), slices(SMALL_B), weights)
    assert found.difference == pytest.approx(every[0])
    assert found.p == pytest.approx(mean(abs(d) >= abs(every[0]) - 1e-12 for d in every))
    assert (found.exact, found.groups) == (True, 9)
    most = max(map(abs, every))
    assert found.smallest_p == pytest.approx(mean(abs(d) >= most - 1e-12 for d in every))


def test_random_swaps_agree_with_a_plain_loop_over_the_same_swaps(slices, monkeypatch):
    monkeypatch.setattr(paired, "EXACT_GROUPS", 0)
    plan = Plan(resamples=150, seed=4)
    masks = generator(4, "swap").integers(0, 2, size=(150, 9), dtype="int8").tolist()
    made = plain_differences(SMALL_A, SMALL_B, accuracy, WEIGHTS, masks)
    (observed,) = plain_differences(SMALL_A, SMALL_B, accuracy, WEIGHTS, [[0] * 9])
    found = compare_composites(Accuracy(), slices(SMALL_A, plan), slices(SMALL_B, plan), WEIGHTS)
    assert found.p == pytest.approx((1 + sum(abs(d) >= abs(observed) - 1e-12 for d in made)) / 151)
    assert not found.exact


def test_the_interval_of_the_difference_adds_variances_within_slices(slices):
    found = compare_composites(F1("macro"), slices(SMALL_A), slices(SMALL_B))
    parts = []
    for name in SMALL_A:
        a, b = SMALL_A[name], SMALL_B[name]
        left = [macro_f1(pooled(a[:i] + a[i + 1 :])) - macro_f1(pooled(b[:i] + b[i + 1 :])) for i in range(len(a))]
        parts.append(0.25 * (len(a) - 1) / len(a) * sum((value - mean(left)) ** 2 for value in left))
    df = sum(parts) ** 2 / (parts[0] ** 2 / 3 + parts[1] ** 2 / 4)
    half = scipy.stats.t.ppf(0.975, df) * math.sqrt(sum(parts))
    assert (found.low, found.high) == pytest.approx((found.difference - half, found.difference + half))


def test_one_slice_is_the_plain_comparison(slices):
    a, b = slices({"lab": SMALL_A["lab"]}), slices({"lab": SMALL_B["lab"]})
    found, plain = compare_composites(F1("macro"), a, b), compare(F1("macro"), a["lab"], b["lab"])
    assert (found.p, found.difference, found.groups) == (plain.p, plain.difference, plain.groups)
    assert (found.low, found.high) == pytest.approx((plain.low, plain.high))


def test_exchanging_the_systems_changes_only_the_sign(slices):
    there = compare_composites(F1("macro"), slices(SMALL_A), slices(SMALL_B))
    back = compare_composites(F1("macro"), slices(SMALL_B), slices(SMALL_A))
    assert (back.difference, back.p) == pytest.approx((-there.difference, there.p))
    assert (back.low, back.high) == pytest.approx((-there.high, -there.low))


def test_slices_of_one_group_can_be_swapped_but_give_no_interval(slices):
    cut = [{name: part[:1] for name, part in side.items()} for side in (SMALL_A, SMALL_B)]
    found = compare_composites(Accuracy(), *map(slices, cut))
    assert found.groups == 2
    assert found.p is not None
    assert found.notes == ("only 2 subjects in all: the smallest attainable p is 0.5",)
    assert (found.low, found.interval_why) == (None, "undefined ('lab': 1 subject)")


def test_a_comparison_without_groups_or_scores_says_why(slices):
    one = {"lab": SMALL_A["lab"][:1]}
    found = compare_composites(Accuracy(), slices(one), slices(one))
    assert (found.difference, found.p, found.why) == (0.0, None, "undefined (1 subject)")
    a, b = {"lab": [[("a", "a")]] * 2}, {"lab": [[("a", "b")]] * 2}
    found = compare_composites(ClassPrecision("a", None), slices(a), slices(b))
    assert (found.difference, found.why) == (None, "the score of B is undefined on 'lab'")


def test_intervals_that_were_not_asked_for_are_not_made(slices):
    plan = Plan("none")
    found = compare_composites(Accuracy(), slices(SMALL_A, plan), slices(SMALL_B, plan))
    assert (found.low, found.interval_why) == (None, "not asked for")
    assert found.p is not None


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ({"lab": 1.0}, "weights: expected one for each of 'lab', 'home', but got them for 'lab'"),
        ({"lab": 1.0, "home": 0.0}, "weights: expected numbers above 0, but 'home' has 0.0"),
        ({"lab": 1.0, "home": math.nan}, "weights: expected numbers above 0, but 'home' has nan"),
    ],
)
def test_weights_that_mean_nothing_are_refused(slices, weights, said):
    with pytest.raises(InputError, match=said):
        composite(Accuracy(), slices(TWO), weights)


def test_what_cannot_be_composed_is_refused(slices):
    with pytest.raises(InputError, match="no slices"):
        composite(Accuracy(), {})
    with pytest.raises(InputError, match="different interval plans"):
        composite(Accuracy(), {**slices(TWO), **slices({"x": TWO["lab"]}, Plan(seed=1))})
    with pytest.raises(InputError, match="interval of a composite: expected jackknife-t, percentile or none"):
        composite(Accuracy(), slices(TWO, Plan("bca")))
    with pytest.raises(InputError, match="compare them on the same ones, in one order"):
        compare_composites(Accuracy(), slices(SMALL_A), slices({"lab": SMALL_B["lab"]}))
    with pytest.raises(InputError, match="A has 5 subjects and B has 4 subjects"):
        compare_composites(Accuracy(), slices(SMALL_A), slices({**SMALL_B, "home": SMALL_B["home"][:4]}))


def test_classes_on_few_groups_of_a_slice_are_noted_under_the_difference(slices):
    """Three classes; a slice has four or five subjects, fewer than ten."""
    notes = compare_composites(F1("macro"), slices(SMALL_A), slices(SMALL_B)).notes
    assert "lab, home: interval unreliable: 3 classes rest on fewer than 10 subjects" in notes
    assert not any(
        "unreliable" in note for note in compare_composites(Accuracy(), slices(SMALL_A), slices(SMALL_B)).notes
    )


def test_the_interval_of_a_difference_of_composites_stays_within_the_range(slices):
    """Two groups per slice that pull in opposite directions: t of 1 to 2 degrees of freedom reaches far beyond 1."""
    right, wrong = [("a", "a")] * 4, [("a", "b")] * 4
    sides = ({"x": [right, wrong], "y": [right, wrong]}, {"x": [wrong, right], "y": [wrong, right]})
    found = compare_composites(Accuracy(), *(slices(side) for side in sides))
    assert (found.difference, found.low, found.high) == (0.0, -1.0, 1.0)
