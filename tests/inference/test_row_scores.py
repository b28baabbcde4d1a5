"""Scores of rows under resampling, against rows that are really left out, repeated or exchanged, one group at a time.

Expected values come from the definitions, applied here to plain lists: Python sums for average precision, numpy's
quantile for percentiles, scipy's t distribution for intervals.
"""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from gnomon.core.cases import Roster
from gnomon.core.errors import GnomonError, InputError
from gnomon.core.ledgers import Ledger
from gnomon.core.rows import Rows
from gnomon.core.seeds import generator
from gnomon.core.tallies import Field, Tallies
from gnomon.inference.composites import compare_composites, composite
from gnomon.inference.crossed import crossed
from gnomon.inference.effects import detectable_difference
from gnomon.inference.intervals import Groups, Plan, draw_counts, interval, jackknife_se, left_out
from gnomon.inference.paired import align, compare, swapped_difference
from gnomon.inference.pairs import pair_scores
from gnomon.inference.scoring import derive, grouped, score
from gnomon.measures.classification import Accuracy
from gnomon.measures.ranked import AveragePrecision, Percentile

AP = AveragePrecision(interpolation="none")
MEDIAN = Percentile(ledger="values")


def detections(rng, groups, classes=2, shift=1.0):
    """Rows of one case per group: truths by class, and things returned with scores on a coarse grid."""
    case, label, scored, returned, truths, hit = [], [], [], [], [], []

    def add(*row):
        for column, value in zip((case, label, scored, returned, truths, hit), row, strict=True):
            column.append(value)

    for g in range(groups):
        for c in range(classes):
            n = int(rng.integers(1, 6))
            add(g, c, math.nan, 0, n, 0)
            for i in range(int(rng.integers(0, 9))):
                right = int(i < n and rng.random() < 0.7)
                add(g, c, float(np.round(rng.normal(shift * right, 1), 1)), 1, 0, right)
    columns = {"class": label, "score": scored, "returned": returned, "truths": truths, "hit": hit}
    labels = {"class": tuple("abcdefgh"[:classes])}
    return Ledger(np.array(case), {name: np.array(column) for name, column in columns.items()}, labels)


def values(rng, groups, each=12):
    case = np.repeat(np.arange(groups), rng.integers(1, 2 * each, groups))
    level = rng.lognormal(0, 0.4, groups)
    return Ledger(case, {"value": level[case] * rng.lognormal(0, 0.6, len(case))})


def by_case(ledger, groups, plan=None):
    return Groups(Rows.of_cases(ledger, np.arange(groups), groups), plan or Plan())


def precision(ledger, cases):
    """Mean over classes of the uninterpolated average precision of cases, which may repeat."""
    rows = [i for case in cases for i in np.flatnonzero(ledger.case == case).tolist()]
    at = {name: ledger.columns[name].tolist() for name in ledger.columns}
    found = []
    for c in range(len(ledger.labels["class"])):
        own = [i for i in rows if at["class"][i] == c]
        truths = sum(at["truths"][i] for i in own)
        total, before = 0.0, 0
        for level in sorted({at["score"][i] for i in own if at["returned"][i]}, reverse=True):
            above = [at["hit"][i] for i in own if at["returned"][i] and at["score"][i] >= level]
            total += (sum(above) - before) * sum(above) / len(above)
            before = sum(above)
        if truths:
            found.append(total / truths)
    return sum(found) / len(found)


@pytest.mark.parametrize("seed", range(5))
def test_leaving_out_a_group_is_leaving_out_its_rows(seed):
    ledger = detections(np.random.default_rng(seed), 6)
    groups = by_case(ledger, 6)
    assert float(AP.score(groups.total).values) == pytest.approx(precision(ledger, range(6)), abs=1e-12)
    want = [precision(ledger, [g for g in range(6) if g != i]) for i in range(6)]
    assert AP.score(groups.left_out).values.tolist() == pytest.approx(want, abs=1e-12)
    alone = [precision(ledger, [g]) for g in range(6)]
    assert AP.score(groups.rows).values.tolist() == pytest.approx(alone, abs=1e-12)


def test_the_interval_is_the_jackknife_around_the_corrected_score_on_the_logit_scale(open_scale):
    ledger = detections(np.random.default_rng(1), 8)
    found = interval(AP, by_case(ledger, 8))
    whole = precision(ledger, range(8))
    rest = np.array([precision(ledger, [g for g in range(8) if g != i]) for i in range(8)])
    centre = 8 * whole - 7 * rest.mean()
    se = math.sqrt(7 / 8 * ((rest - rest.mean()) ** 2).sum())
    ends = open_scale(centre, stats.t.ppf(0.975, 7) * se)
    assert (found.low, found.high) == pytest.approx(ends, abs=1e-9)
    assert found.low <= whole <= found.high
    assert "unreliable" in found.notes[0]  # both classes rest on 8 groups


def test_a_replicate_repeats_the_rows_of_the_groups_it_draws():
    plan = Plan("percentile", resamples=60, seed=5)
    ledger = detections(np.random.default_rng(2), 7)
    counts = draw_counts(7, 60, generator(5, "bootstrap"))
    drawn = [precision(ledger, [g for g in range(7) for _ in range(row[g])]) for row in counts]
    found = interval(AP, by_case(ledger, 7, plan))
    assert (found.low, found.high) == pytest.approx(np.quantile(drawn, [0.025, 0.975]).tolist(), abs=1e-9)
    bent = interval(AP, by_case(ledger, 7, Plan("bca", resamples=60, seed=5)))
    assert min(drawn) <= bent.low < bent.high <= max(drawn)


def test_swapping_exchanges_the_rows_of_groups():
    """All 2^5 swaps, each scored from the rows that either side holds after it."""
    rng = np.random.default_rng(3)
    a, b = detections(rng, 5, shift=2.0), detections(rng, 5, shift=0.0)
    found = compare(AP, by_case(a, 5), by_case(b, 5))

    def mixed(swaps, first, second):
        parts = [(second if s else first).take(np.arange(5) == g) for g, s in enumerate(swaps)]
        return precision(Ledger.stack([(part, 0) for part in parts]), range(5))

    observed = mixed((0,) * 5, a, b) - mixed((0,) * 5, b, a)
    every = [mixed(s, a, b) - mixed(s, b, a) for s in itertools.product((0, 1), repeat=5)]
    assert found.difference == pytest.approx(observed)
    assert found.p == pytest.approx(np.mean([abs(d) >= abs(observed) - 1e-12 for d in every]))
    assert found.exact
    assert found.smallest_p == 2 / 2**5
    rest = np.array(
        [precision(a, kept) - precision(b, kept) for kept in ([g for g in range(5) if g != i] for i in range(5))]
    )
    half = stats.t.ppf(0.975, 4) * math.sqrt(4 / 5 * ((rest - rest.mean()) ** 2).sum())
    assert (found.low, found.high) == pytest.approx((observed - half, observed + half), abs=1e-9)


def test_classes_that_one_side_lacks_are_aligned_by_label():
    rng = np.random.default_rng(4)
    a, b = detections(rng, 4, classes=3), detections(rng, 4, classes=3)
    renamed = Ledger(b.case, {**b.columns, "class": 2 - b.columns["class"]}, {"class": ("c", "b", "a")})
    one, two = (compare(AP, by_case(a, 4), by_case(side, 4)) for side in (b, renamed))
    assert (one.p, one.difference) == (two.p, pytest.approx(two.difference))


def share_interval(ledger, groups, percent, level=0.95):
    """Woodruff's interval by hand: the jackknife of the share below the quantile, taken back through numpy's."""
    numbers, share = ledger.columns["value"], percent / 100
    value = np.quantile(numbers, share)
    below = np.where(numbers < value, 1.0, np.where(numbers == value, 0.5, 0.0))
    rest = np.array([below[ledger.case != g].mean() for g in range(groups)])
    half = stats.t.ppf(0.5 + level / 2, groups - 1) * math.sqrt(
        (groups - 1) / groups * ((rest - rest.mean()) ** 2).sum()
    )
    low, high = np.quantile(numbers, np.clip([share - half, share + half], 0, 1))
    return value, low, high, half, rest, below.mean()


@pytest.mark.parametrize("percent", [50.0, 90.0, 20.0])
@pytest.mark.parametrize("groups", [7, 25])
def test_the_interval_of_a_percentile_is_that_of_the_share_below_it(percent, groups):
    ledger = values(np.random.default_rng(groups), groups)
    measure = Percentile(percent=percent)
    found = score(measure, by_case(ledger, groups))
    value, low, high, *_ = share_interval(ledger, groups, percent)
    assert (found.value, found.low, found.high) == pytest.approx((value, low, high))
    assert found.n == len(ledger)
    assert found.groups == groups


def test_a_percentile_without_each_group_lies_on_a_line():
    ledger = values(np.random.default_rng(8), 15)
    groups = by_case(ledger, 15)
    value, low, high, half, rest, below = share_interval(ledger, 15, 50.0)
    want = value - (rest - below) * (high - low) / (2 * half)
    found = left_out(MEDIAN, groups, None)
    assert found.values.tolist() == pytest.approx(want.tolist())
    assert found.defined.all()
    # From group to group the plain median jumps; the line keeps the spread that the interval shows.
    assert jackknife_se(found.values) == pytest.approx((high - low) / 2 / stats.t.ppf(0.975, 14))


def test_an_interval_that_ends_with_the_values_says_so():
    ledger = values(np.random.default_rng(9), 6, each=3)
    found = interval(Percentile(percent=95.0), by_case(ledger, 6))
    assert found.high == ledger.columns["value"].max()
    assert "the upper end of the interval is the outermost value: it may lie further out" in found.notes
    assert "interval unreliable: a quantile with 5 % beyond it needs 20 groups or more" in found.notes


@pytest.mark.parametrize(("percent", "needed"), [(90.0, 10), (10.0, 10), (95.0, 20), (50.0, 2), (97.5, 40)])
def test_a_quantile_far_out_needs_groups(percent, needed):
    rng = np.random.default_rng(0)
    for groups in (needed, needed - 1):
        if groups > 1:
            notes = interval(Percentile(percent=percent), by_case(values(rng, groups), groups)).notes
            assert any("unreliable" in note for note in notes) == (groups < needed)


def test_values_that_are_all_equal_have_no_spread():
    ledger = Ledger(np.arange(8), {"value": np.full(8, 2.0)})
    found = score(MEDIAN, by_case(ledger, 8))
    assert found.value == 2.0
    assert found.low is None
    assert "the same without any one group" in found.interval_why


def test_too_little_for_an_interval():
    ledger = values(np.random.default_rng(0), 3)
    alone = by_case(ledger.take(np.array([True, False, False])), 1)
    assert interval(MEDIAN, alone).why == "undefined (1 group)"
    nothing = by_case(ledger.take(np.zeros(3, bool)), 3)
    found = score(MEDIAN, nothing)
    assert (found.value, found.why, found.n) == (None, "no value to summarise", 0)
    assert found.interval_why == "the score itself is undefined"


def test_no_groups_at_all():
    for measure in (AP, AveragePrecision(), MEDIAN):
        ledger = detections(np.random.default_rng(0), 2).take(np.zeros(2, bool))
        rows = Ledger(ledger.case, {**ledger.columns, "value": np.zeros(0)}, ledger.labels)
        found = score(measure, by_case(rows, 0))
        assert (found.value, found.n, found.groups, found.interval_why) == (None, 0, 0, "undefined (0 groups)")


def test_medians_are_compared_by_swapping_rows():
    """All 2^6 swaps by numpy on the rows that either side holds."""
    rng = np.random.default_rng(10)
    a, b = values(rng, 6), values(rng, 6)
    found = compare(MEDIAN, by_case(a, 6), by_case(b, 6))

    def middle(swaps, first, second):
        picked = [(second if s else first) for s in swaps]
        return np.median(np.concatenate([side.columns["value"][side.case == g] for g, side in enumerate(picked)]))

    observed = middle((0,) * 6, a, b) - middle((0,) * 6, b, a)
    every = [middle(s, a, b) - middle(s, b, a) for s in itertools.product((0, 1), repeat=6)]
    assert found.difference == pytest.approx(observed)
    assert found.p == pytest.approx(np.mean([abs(d) >= abs(observed) - 1e-12 for d in every]))
    lines = [left_out(MEDIAN, by_case(side, 6), None).values for side in (a, b)]
    half = stats.t.ppf(0.975, 5) * jackknife_se(lines[0] - lines[1])
    assert (found.low, found.high) == pytest.approx((observed - half, observed + half))


def test_groups_without_rows_are_no_evidence():
    ledger = values(np.random.default_rng(11), 5)
    roster = Roster(tuple("abcdefg"), tuple("tuvwxyz"))
    (found,) = derive([MEDIAN], {}, roster, (), Plan(), {"values": ledger})
    assert found.groups == 5
    a, b = (grouped(ledger, roster, Plan()) for _ in range(2))
    assert align(a, b)[0].n == 5


def test_slices_hold_the_rows_of_their_cases():
    rng = np.random.default_rng(12)
    ledger = values(rng, 8)
    rooms = tuple("xy"[i % 2] for i in range(8))
    roster = Roster(tuple(map(str, range(8))), tuple(f"g{i // 2}" for i in range(8)), {"room": rooms}, "subject")
    found = {s.slice: s for s in derive([MEDIAN], {}, roster, ["room"], Plan(), {"values": ledger})}
    odd = ledger.case % 2 == 1
    assert found["all"].value == pytest.approx(np.median(ledger.columns["value"]))
    assert found["room=y"].value == pytest.approx(np.median(ledger.columns["value"][odd]))
    assert found["room=y"].n == int(odd.sum())
    assert found["room=y"].groups == 4


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_neither_the_order_of_rows_nor_shards_change_a_byte(seed):
    rng = np.random.default_rng(seed)
    roster = Roster(tuple(map(str, range(6))), tuple("uvwxyz"))
    for measure, whole in ((AveragePrecision(), detections(rng, 6)), (Percentile(ledger="detections"), values(rng, 6))):
        parts = [whole.take(np.arange(6) < 2), whole.take(np.arange(6) >= 2)]
        merged = Ledger.stack([(parts[1], 0), (parts[0], 0)])
        order = rng.permutation(len(whole))
        mixed = Ledger(whole.case[order], {n: c[order] for n, c in whole.columns.items()}, whole.labels)
        plans = Plan(), Plan("percentile", resamples=50)
        for plan in plans:
            first, *others = (
                derive([measure], {}, roster, (), plan, {"detections": ledger}) for ledger in (whole, merged, mixed)
            )
            assert all(repr(other) == repr(first) for other in others)


def test_seeds_are_crossed_with_groups_of_rows():
    rng = np.random.default_rng(13)
    seeds = [by_case(values(rng, 9), 9) for _ in range(3)]
    found = crossed(MEDIAN, seeds)
    medians = [np.median(g.tallies.ledger.columns["value"]) for g in seeds]
    assert found.by_seed == pytest.approx(medians)
    assert found.value == pytest.approx(np.mean(medians))
    assert found.low < found.value < found.high
    assert crossed(AP, [by_case(detections(rng, 9), 9) for _ in range(3)]).low is not None
    plan = Plan("percentile", resamples=99)
    assert crossed(MEDIAN, [Groups(g.tallies, plan) for g in seeds]).low is not None


def test_composites_of_rows():
    rng = np.random.default_rng(14)
    slices = {name: by_case(values(rng, n), n) for name, n in (("x", 7), ("y", 11))}
    found = composite(MEDIAN, slices)
    errors = [jackknife_se(left_out(MEDIAN, g, None).values) for g in slices.values()]
    assert found.value == pytest.approx(
        np.mean([np.median(g.tallies.ledger.columns["value"]) for g in slices.values()])
    )
    assert found.se == pytest.approx(math.hypot(*errors) / 2)
    others = {name: by_case(values(rng, n), n) for name, n in (("x", 7), ("y", 11))}
    assert 0 < compare_composites(MEDIAN, slices, others).p <= 1


def test_groups_are_scored_alone_for_classical_tests():
    rng = np.random.default_rng(15)
    a, b = values(rng, 6), values(rng, 6)
    pairs = pair_scores(MEDIAN, by_case(a, 6), by_case(b, 6))
    assert pairs.a.tolist() == pytest.approx([np.median(a.columns["value"][a.case == g]) for g in range(6)])
    assert detectable_difference(MEDIAN, by_case(a, 6), by_case(b, 6)).value > 0


def test_rows_are_not_compared_with_tallies():
    tallies = Tallies([Field("n")], {}, {"n": np.ones(3, int)})
    rows = by_case(values(np.random.default_rng(0), 3), 3)
    with pytest.raises(InputError, match="tallies and B has rows, or the reverse"):
        align(rows, Groups(tallies, Plan()))
    with pytest.raises(InputError, match="or the reverse"):
        swapped_difference(MEDIAN, rows.tallies, tallies, np.zeros((1, 3), int))
    with pytest.raises(GnomonError, match="given tallies"):
        MEDIAN.score(tallies.total())


def test_a_measure_without_its_ledger_says_which():
    roster = Roster(("a",), ("a",))
    with pytest.raises(InputError, match="value_median: no ledger 'values' to score; there are 'confusion'"):
        derive([MEDIAN], {}, roster, (), Plan(), {"confusion": Ledger(np.zeros(0, int), {})})
    with pytest.raises(InputError, match="lacks the column 'value'; it has 'late'"):
        derive([MEDIAN], {}, roster, (), Plan(), {"values": Ledger(np.zeros(1, int), {"late": np.ones(1)})})
    with pytest.raises(InputError, match="rows of case 3, but there are 1 cases"):
        derive([MEDIAN], {}, roster, (), Plan(), {"values": Ledger(np.array([3]), {"value": np.ones(1)})})


def test_measures_of_rows_and_of_tallies_stand_in_one_protocol(count_cases):
    tallies = count_cases([("a", "a"), ("b", "a")], [("a", "a")])
    ledger = Ledger(np.array([0, 0, 1]), {"value": np.array([1.0, 2.0, 6.0])})
    roster = Roster(("x", "y"), ("x", "y"))
    found = derive([Accuracy(), MEDIAN], {"classification": tallies}, roster, (), Plan(), {"values": ledger})
    assert [(s.name, s.value, s.n) for s in found] == [("accuracy", pytest.approx(2 / 3), 3), ("value_median", 2.0, 3)]
