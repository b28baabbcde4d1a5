"""Regression against scikit-learn, by hand, and where digits run out."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

from gnomon.core.errors import InputError
from gnomon.core.signals import Vectors
from gnomon.core.tallies import Tallies
from gnomon.measures import regression
from gnomon.measures.regression import MEASURES, R2, Mae, MaskedVectors, R2PerDimension, Rmse, evaluate
from gnomon.testing import check

FORMS = {"r2": R2(), "r2_mean": R2PerDimension(), "mae": Mae(), "rmse": Rmse()}


def drawn(seed, constant=False):
    rng = np.random.default_rng(seed)
    shape = int(rng.integers(2, 40)), int(rng.integers(1 + constant, 6))
    truth = rng.normal(size=shape) * rng.choice([0.1, 1.0, 50.0], shape[1]) + rng.choice([0.0, 30.0], shape[1])
    if constant:
        truth[:, 0] = 0.1
    return truth, truth + rng.normal(size=shape) * rng.choice([0.01, 1.0]), rng


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_scores_are_those_of_scikit_learn(seed):
    truth, prediction, rng = drawn(seed)
    weights = rng.integers(0, 4, len(truth)) * 0.5 if seed % 2 else None
    if weights is not None:
        weights[:2] = 1.0
    result = evaluate(truth, prediction, weights=weights)
    given_ = {"sample_weight": weights}
    each = r2_score(truth, prediction, multioutput="raw_values", **given_)
    assert result["r2_per_dimension"] == pytest.approx(each.tolist(), rel=1e-9)
    assert result["r2"] == pytest.approx(r2_score(truth, prediction, multioutput="variance_weighted", **given_))
    assert result["r2_mean"] == pytest.approx(r2_score(truth, prediction, **given_), rel=1e-9)
    assert result["mae"] == pytest.approx(mean_absolute_error(truth, prediction, **given_))
    rows = np.mean(root_mean_squared_error(truth, prediction, multioutput="raw_values", **given_) ** 2)
    assert result["rmse"] == pytest.approx(math.sqrt(rows))
    assert result["undefined"] == {}
    assert result["n"] == (len(truth) if weights is None else (weights > 0).sum())


def test_worked_by_hand():
    # Dimension 0: truth 0 2 4 (8 about its mean), errors 0 0 -1. Dimension 1 is constant, errors 1 0 0.
    result = evaluate([[0, 5], [2, 5], [4, 5]], [[0, 6], [2, 5], [3, 5]])
    assert (result["r2"], result["r2_mean"]) == (1 - 2 / 8, 1 - 1 / 8)
    assert result["r2_per_dimension"] == [1 - 1 / 8, None]
    assert result["undefined"] == {"r2_per_dimension.1": "the truth does not vary"}
    assert (result["mae"], result["rmse"], result["n"], result["dimensions"]) == (2 / 6, math.sqrt(2 / 6), 3, 2)


def test_errors_in_constant_dimensions_count_unlike_in_scikit_learn():
    truth, prediction = np.array([[0.0, 5.0], [1.0, 5.0], [2.0, 5.0]]), np.array([[0.0, 6.0], [1.0, 6.0], [2.0, 6.0]])
    assert evaluate(truth, prediction)["r2"] == pytest.approx(1 - 3 / 2)
    assert r2_score(truth, prediction, multioutput="variance_weighted") == 1.0


def test_numbers_are_one_dimension():
    one = evaluate([1, 2, 4], [1, 2, 3])
    assert one == evaluate([[1], [2], [4]], [[1], [2], [3]])
    assert one["dimensions"] == 1


def test_what_is_masked_may_hold_anything():
    truth, prediction, rng = drawn(7)
    mask = rng.random(truth.shape) < 0.7
    mask[:2] = True
    rough = np.where(mask, truth, np.nan), np.where(mask, prediction, np.inf)
    result = evaluate(*rough, mask=mask)
    each = [r2_score(truth[mask[:, j], j], prediction[mask[:, j], j]) for j in range(truth.shape[1])]
    assert result["r2_per_dimension"] == pytest.approx(each, rel=1e-9)
    assert result["mae"] == pytest.approx(np.abs(prediction - truth)[mask].mean())
    rows = mask.any(axis=1)
    assert result["n"] == rows.sum()
    shown = np.arange(len(truth)) % 2 == 0
    assert evaluate(truth, prediction, mask=shown) == evaluate(truth[shown], prediction[shown])


def test_a_row_of_weight_zero_is_not_looked_at():
    assert evaluate([1.0, 3.0, math.nan], [1.0, 2.0, 0.0], weights=[1, 1, 0]) == evaluate([1.0, 3.0], [1.0, 2.0])


@pytest.mark.parametrize("size", [0.1, 1e8 + 0.1, 1e-12, -7e120])
def test_constant_truths_are_constant_wherever_they_are(size):
    truth = np.full((9, 1), size)
    result = evaluate(truth, truth)
    assert (result["r2"], result["r2_per_dimension"], result["rmse"]) == (None, [None], 0.0)
    assert result["undefined"]["r2"] == "the truth does not vary"
    totals = Tallies.stack([R2().tally(Vectors(truth[i : i + 3]), Vectors(truth[:3])) for i in (0, 3, 6)]).total()
    assert not R2().score(totals).defined
    assert R2().why(totals) == "the truth does not vary"


def test_the_mean_does_not_eat_the_spread():
    """A spread of 1 about 1e9: exact about the first value; about 0 it is below what the squares can hold."""
    truth = 1e9 + np.array([[0.0], [1.0], [2.0]])
    prediction = truth + np.array([[0.0], [0.0], [1.0]])
    assert evaluate(truth, prediction)["r2"] == 1 - 1 / 2
    scored = R2(about=(1e9,)).score(R2(about=(1e9,)).tally(Vectors(truth), Vectors(prediction)).total())
    assert float(scored.values) == 1 - 1 / 2
    assert not R2().score(R2().tally(Vectors(truth), Vectors(prediction)).total()).defined


def test_nothing_to_score_is_undefined():
    for result in (evaluate(np.zeros((0, 2)), np.zeros((0, 2))), evaluate([[1, 2]], [[1, 2]], mask=[False])):
        assert all(result[name] is None for name in FORMS)
        assert result["r2_per_dimension"] == [None, None]
        assert set(result["undefined"]) == {*FORMS, "r2_per_dimension.0", "r2_per_dimension.1"}
        assert set(result["undefined"].values()) == {"no values"}
    single = evaluate([3.0], [4.0])
    assert (single["r2"], single["mae"], single["undefined"]["r2"]) == (None, 1.0, "the truth does not vary")


@pytest.mark.parametrize(
    ("truth", "prediction", "options", "message"),
    [
        ([1, 2], [1], {}, r"expected predictions of shape \(2, 1\) as the truth has, but got \(1, 1\)"),
        ([1, math.nan], [1, 2], {}, "truth: the value at row 1, column 0 is not finite"),
        ([1, 2], [math.inf, 2], {}, "prediction: the value at row 0, column 0 is not finite"),
        (np.zeros((1, 1, 1)), [1], {}, r"truth: expected numbers \(n, dimensions\) or \(n,\)"),
        (["a"], [1], {}, "truth: expected numbers"),
        ([[1], [1, 2]], [1], {}, "truth: expected numbers"),
        ([1, 2], [1, 2], {"mask": [1, 0]}, "mask: expected booleans"),
        ([1, 2], [1, 2], {"mask": [True]}, "mask: expected booleans"),
        ([1, 2], [1, 2], {"weights": [1, -1]}, "weights: expected 2 finite numbers of 0 or more"),
        ([1, 2], [1, 2], {"weights": [1]}, "weights: expected 2 finite numbers"),
        ([1e200, -1e200], [0, 0], {}, "too large to be squared"),
    ],
)
def test_what_cannot_be_scored_is_refused(truth, prediction, options, message):
    with pytest.raises(InputError, match=message):
        evaluate(truth, prediction, **options)


@pytest.mark.parametrize("masked", [False, True])
def test_cases_fold_to_the_whole(masked):
    truth, prediction, rng = drawn(11, constant=True)
    valid = rng.random(truth.shape) < 0.8 if masked else np.ones(truth.shape, bool)
    given_ = MaskedVectors(np.where(valid, truth, np.nan), valid=valid) if masked else Vectors(truth)
    case = rng.integers(0, 4, len(truth))
    tallies = regression.tally_cases(given_, Vectors(prediction), case, 5)
    parts = []
    for c in range(5):
        side = MaskedVectors(truth[case == c], valid=valid[case == c])
        parts.append(R2().tally(side, Vectors(prediction[case == c])))
    assert tallies == Tallies.stack(parts)
    result = evaluate(truth, prediction, mask=valid)
    for name, measure in FORMS.items():
        assert float(measure.score(tallies.total()).values) == pytest.approx(result[name], rel=1e-9)
        assert measure.count(tallies.total()) == result["n"]


def test_sides_that_cannot_be_compared():
    one = Vectors(np.ones((2, 2)), "m", "world")
    with pytest.raises(InputError, match="frame 'world' and the prediction in 'camera'"):
        R2().tally(one, Vectors(np.ones((2, 2)), "m", "camera"))
    with pytest.raises(InputError, match="truth is in 'm' and the prediction in 'mm'"):
        R2().tally(one, Vectors(np.ones((2, 2)), "mm", "world"))
    with pytest.raises(InputError, match=r"truth has shape \(2, 2\)"):
        R2().tally(one, Vectors(np.ones((2, 3)), "m", "world"))
    holed = MaskedVectors(np.ones((2, 2)), "m", "world", valid=np.array([[True, True], [True, False]]))
    with pytest.raises(InputError, match="prediction lacks the value at row 1, column 1"):
        R2().tally(one, holed)
    assert R2().tally(holed, holed).fields["values"].tolist() == [[2, 1]]
    with pytest.raises(InputError, match=r"MaskedVectors.valid: expected booleans \(2, 2\)"):
        MaskedVectors(np.ones((2, 2)), valid=np.ones(2, bool))


def test_the_constant_is_part_of_the_identity():
    assert R2("a").family == "regression__a"
    assert R2(about=(1.0,)).family != R2(about=(2.0,)).family != R2().family
    assert (R2("a").name, R2PerDimension().name, Mae("b").name, Rmse().name) == ("r2[a]", "r2_mean", "mae[b]", "rmse")
    assert Mae(measured_in="m").unit == "m"
    with pytest.raises(InputError, match="about: expected one number, or one for each of 2, but got 3"):
        R2(about=(1.0, 2.0, 3.0)).tally(Vectors(np.ones((2, 2))), Vectors(np.ones((2, 2))))
    with pytest.raises(InputError, match="about: expected finite numbers"):
        R2(about=(math.inf,))


def test_changed_tallies_are_noticed():
    truth, prediction, _ = drawn(13)
    tallies = R2().tally(Vectors(truth), Vectors(prediction))
    for name, amount, what in (
        ("error", -1e9, "negative"),
        ("value", 1e9, "sum of values is larger"),
        ("error", 1e9, "sum of errors is larger"),
        ("values", 1000, "more values than there are rows"),
    ):
        fields = {**tallies.fields, name: tallies.fields[name] + type(amount)(amount)}
        assert any(what in text for text in R2().identities(Tallies(tallies.layout, tallies.axes, fields), {}))


@pytest.mark.parametrize("measure", MEASURES, ids=repr)
@pytest.mark.parametrize("seed", range(5))
def test_laws_hold(measure, seed):
    assert check(measure, seed) == []
