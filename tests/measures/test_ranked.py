"""Average precision and percentiles of rows; expected values by hand, from scikit-learn and from numpy."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from gnomon.core.errors import InputError
from gnomon.core.ledgers import Ledger
from gnomon.core.rows import Rows
from gnomon.measures.ranked import MEASURES, AveragePrecision, Percentile, hit_column
from gnomon.testing import check


def rows(*given_, classes=("a", "b"), groups=1, **columns):
    """Rows as (class, score, returned, truths, hit), of one group unless stated."""
    label, score, returned, truths, hit = zip(*given_, strict=True) if given_ else ((),) * 5
    kinds = {"class": (label, int), "score": (score, float), "returned": (returned, int), "truths": (truths, int)}
    made = {name: np.array(values, dtype=kind) for name, (values, kind) in kinds.items()}
    made["hit"] = np.array(hit, dtype=int)
    group = np.asarray(columns.pop("group", np.zeros(len(label), int)))
    made |= {name: np.asarray(values) for name, values in columns.items()}
    return Rows(Ledger(group, made, {"class": classes}), group, groups)


def truth(label, n):
    return (label, math.nan, 0, n, 0)


def found(label, score, hit):
    return (label, score, 1, 0, hit)


def value(measure, given_):
    scored = measure.score(given_.total())
    return float(scored.values) if scored.defined else None


def test_the_mean_is_over_classes_with_truths():
    # a: hit, miss; one of two truths: 1/2. b: no truths, so its return counts for nothing.
    given_ = rows(truth(0, 2), found(0, 0.9, 1), found(0, 0.8, 0), found(1, 0.7, 0))
    measure = AveragePrecision()
    assert value(measure, given_) == 0.5
    assert measure.count(given_.total()) == 2
    assert measure.freeze(given_.total()).tolist() == [True, False]
    assert value(AveragePrecision(classes=("a",)), given_) == 0.5
    assert value(AveragePrecision(classes=("b",)), given_) is None
    assert AveragePrecision(classes=("b",)).why(given_.total()) == "none of the listed classes has truths"


def test_a_class_without_truths_in_a_replicate_is_skipped():
    # Group 0 has a (found: 1), group 1 has b (never found: 0).
    given_ = rows(truth(0, 1), found(0, 0.9, 1), truth(1, 3), group=[0, 0, 1], groups=2)
    measure = AveragePrecision()
    frozen = measure.freeze(given_.total())
    assert value(measure, given_) == 0.5
    assert measure.score(given_.without_each(), frozen).values.tolist() == [0.0, 1.0]
    assert measure.support(given_.each(), frozen).tolist() == [[True, False], [False, True]]


def test_thresholds_have_columns_and_are_averaged():
    given_ = rows(truth(0, 1), found(0, 0.9, 0), hit_0p5=[0, 1], hit_0p75=[0, 0])
    assert value(AveragePrecision(at=(0.5,)), given_) == 1.0
    assert value(AveragePrecision(at=(0.75,)), given_) == 0.0
    assert value(AveragePrecision(at=(0.5, 0.75)), given_) == 0.5
    assert AveragePrecision(at=(0.5,)).columns[-1] == hit_column(0.5) == "hit_0p5"


def test_names_say_thresholds_classes_and_interpolation():
    assert AveragePrecision().name == "mAP"
    assert AveragePrecision(at=(0.5,)).name == "mAP@50"
    assert AveragePrecision(at=(0.5, 0.75, 0.95)).name == "mAP@50:95"
    assert AveragePrecision(classes=("a",), interpolation="none").name == "mAP_listed_uninterpolated"
    assert AveragePrecision(interpolation="101-point").name == "mAP_101-point"
    assert (Percentile().name, Percentile(percent=97.5, column="late").name) == ("value_median", "late_p97.5")
    assert len({m.name for m in MEASURES}) == len(MEASURES)


def test_what_is_returned_without_a_score_cannot_be_ranked():
    given_ = rows(truth(0, 1), (0, math.nan, 1, 0, 0), truth(0, 1), found(0, 0.5, 1), group=[0, 0, 1, 1], groups=2)
    measure = AveragePrecision()
    assert value(measure, given_) is None
    assert measure.why(given_.total()) == "something returned has no score"
    without = measure.score(given_.without_each())
    assert (without.defined.tolist(), without.values.tolist()) == ([True, False], [1.0, pytest.approx(0.0, abs=1)])


def test_nothing_at_all():
    given_ = rows()
    measure = AveragePrecision()
    assert value(measure, given_) is None
    assert (measure.why(given_.total()), measure.count(given_.total())) == ("no class has truths", 0)
    assert value(measure, rows(truth(0, 3))) == 0.0
    empty = Rows(Ledger(np.zeros(0, int), {"value": np.zeros(0)}), np.zeros(0, int), 2)
    assert value(Percentile(), empty) is None
    assert Percentile().why(empty.total()) == "no value to summarise"


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_uninterpolated_is_that_of_scikit_learn(seed):
    """Samples that are ranked themselves: a row is returned and, if positive, a truth and a hit."""
    rng = np.random.default_rng(seed)
    n, groups = int(rng.integers(1, 60)), 4
    positive, score = rng.random(n) < 0.4, rng.integers(0, 12, n) / 8
    positive[0] = True
    ledger = [(0, s, 1, int(p), int(p)) for s, p in zip(score, positive, strict=True)]
    group = rng.integers(0, groups, n)
    group[0] = 0
    given_ = rows(*ledger, classes=("a",), group=group, groups=groups)
    measure = AveragePrecision(interpolation="none")
    assert value(measure, given_) == pytest.approx(average_precision_score(positive, score), abs=1e-12)
    weights = rng.integers(1, 4, (3, groups))
    scored = measure.score(given_.weighted(weights))
    for row, got in zip(weights, scored.values.tolist(), strict=True):
        assert got == pytest.approx(average_precision_score(positive, score, sample_weight=row[group]), abs=1e-12)
    assert value(AveragePrecision(), given_) >= value(measure, given_) - 1e-12  # the curve is lifted, never lowered


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), percent=st.floats(0.5, 99.5))
def test_percentiles_are_those_of_numpy_on_repeated_rows(seed, percent):
    rng = np.random.default_rng(seed)
    n, groups = int(rng.integers(1, 40)), 3
    numbers, group = rng.normal(size=n).round(1), rng.integers(0, groups, n)
    given_ = Rows(Ledger(group, {"value": numbers}), group, groups)
    weights = rng.integers(0, 4, (4, groups))
    scored = Percentile(percent=percent, signed=True).score(given_.weighted(weights))
    for b, row in enumerate(weights):
        repeated = np.repeat(numbers, row[group])
        assert scored.defined[b] == (len(repeated) > 0)
        if len(repeated):
            want = np.quantile(repeated, percent / 100, method="linear")
            assert scored.values[b] == pytest.approx(want, abs=1e-12)


def test_shares_and_quantiles_are_inverse():
    given_ = Rows(Ledger(np.zeros(5, int), {"value": np.array([4.0, 1.0, 2.0, 2.0, 9.0])}), np.zeros(5, int), 1)
    measure = Percentile()
    assert measure.share_below(given_.total(), 2.0) == pytest.approx((1 + 2 / 2) / 5)
    assert measure.quantiles(given_.total(), np.array([0.0, 0.25, 0.5, 1.0])).tolist() == [1.0, 2.0, 2.0, 9.0]


def test_direction_range_and_unit():
    late = Percentile("onset_error", "onset_error", 90.0, "s", True)
    assert (late.unit, late.bounds, late.best, late.direction) == ("s", (-math.inf, math.inf), 0.0, "")
    assert Percentile().bounds == (0.0, math.inf)
    assert (AveragePrecision().bounds, AveragePrecision().best) == ((0.0, 1.0), 1.0)


@pytest.mark.parametrize("measure", MEASURES, ids=repr)
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_laws_hold(measure, seed):
    assert check(measure, seed) == []


class Forgetful(Percentile):
    """A median that counts every group once: weights do not repeat rows."""

    def score_rows(self, prepared, weights, frozen):
        return super().score_rows(prepared, np.minimum(weights, 1), frozen)


class Ordered(AveragePrecision):
    """An average precision that hangs on the order of the rows."""

    def score_rows(self, prepared, weights, frozen):
        scored = super().score_rows(prepared, weights, frozen)
        first = prepared.unscored.size % 2
        return type(scored)(scored.values * (1 - 0.1 * first), scored.defined)


def test_the_laws_notice_broken_measures_of_rows():
    assert any("batches agree" in text for seed in range(40) for text in check(Forgetful(), seed))
    assert any("a perfect prediction is best" in text for seed in range(40) for text in check(Ordered(), seed))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"class": -1}, "a row has no class"),
        ({"truths": -1}, "a number of truths is below 0"),
        ({"hit": 2}, "a flag is neither 0 nor 1"),
        ({"score": math.inf}, "a score is infinite"),
        ({"returned": 0}, "something hits that was not returned"),
        ({"truths": 0}, "more hits than truths"),
    ],
)
def test_rows_that_cannot_be_true(change, text):
    columns = {"class": 0, "score": 0.5, "returned": 1, "truths": 1, "hit": 1}
    good = Ledger(np.zeros(1, int), {n: np.array([v]) for n, v in columns.items()}, {"class": ("a",)})
    assert AveragePrecision().identities(None, {"detections": good}) == []
    bad = Ledger(np.zeros(1, int), {n: np.array([v]) for n, v in (columns | change).items()}, {"class": ("a",)})
    assert text in AveragePrecision().identities(None, {"detections": bad})


def test_values_that_cannot_be_true():
    def said(number, **options):
        ledger = Ledger(np.zeros(1, int), {"value": np.array([number])})
        return Percentile(**options).identities(None, {"values": ledger})

    assert said(math.nan) == ["a value is not finite"]
    assert said(-1.0) == ["a value is below 0"]
    assert said(-1.0, signed=True) == said(1.0) == []


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AveragePrecision(at=(0.0,)), "at: expected values above 0 and up to 1"),
        (lambda: AveragePrecision(classes="union"), "classes: expected 'present' or a list of labels, but got 'union'"),
        (lambda: AveragePrecision(classes=("a", "a")), "classes: expected distinct labels"),
        (lambda: AveragePrecision(interpolation="12-point"), "interpolation: expected one of"),
        (lambda: Percentile(percent=100.0), "percent: expected a number between 0 and 100, but got 100.0"),
        (lambda: Percentile(percent="high"), "percent: expected a number of 0 or more"),
        (lambda: Percentile(signed=1), "signed: expected True or False, but got 1"),
    ],
)
def test_parameters_that_mean_nothing_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
