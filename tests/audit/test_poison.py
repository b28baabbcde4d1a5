"""Callables of which it is known what they read."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.audit.poison import future_poison, poison, poisoned_fit, poisoned_predictions, refit
from gnomon.core.errors import InputError

RNG = np.random.default_rng(1)
INPUTS = RNG.standard_normal((20, 3))
TARGETS = RNG.integers(0, 3, 20)
HELD = np.arange(20) >= 12


def ids(findings):
    return [finding.id for finding in findings]


@given(
    st.sampled_from([np.float64, np.float32, np.int16, np.uint8, np.bool_, "U3", object]),
    st.integers(0, 1000),
    st.integers(1, 9),
)
def test_poison_changes_every_value_of_its_rows_and_no_other(kind, seed, first):
    values = np.random.default_rng(seed).integers(0, 2, (10, 3))
    values[0] = [0, 1, 0]
    array = values.astype(str).astype(kind) if kind in ("U3", object) else values.astype(kind)
    rows = np.arange(10) >= first
    bad = poison(array, rows, seed, "x")
    assert bad.dtype == array.dtype
    assert (bad[rows] != array[rows]).all()
    assert (bad[~rows] == array[~rows]).all()
    if array.dtype.kind != "f":
        assert set(bad.ravel().tolist()) <= set(array.ravel().tolist())


def test_poison_of_labels_uses_known_ones_also_for_labels_that_are_not():
    labels = np.array(["a", "b", "a", "new", "zoo"])
    bad = poison(labels, np.arange(5) > 2, 1, "x")
    assert set(bad[3:].tolist()) <= {"a", "b"}


def test_poison_needs_a_second_value():
    assert poison(np.array([1, 1, 2]), np.array([False, False, True]), 0, "x").tolist() == [1, 1, 1]
    with pytest.raises(InputError, match="x: all rows hold one value"):
        poison(np.array([1, 1, 1]), np.array([False, False, True]), 0, "x")


def test_poison_is_noise_also_where_there_is_no_spread_or_no_number():
    for value in (3.0, np.nan):
        bad = poison(np.full(4, value), np.array([True] * 4), 0, "x")
        assert np.isfinite(bad).all()
        assert len(np.unique(bad)) == 4


def test_an_artefact_that_is_fitted_again_is_the_same_to_the_bit_or_within_the_tolerance():
    mean = INPUTS.mean(axis=0)
    assert refit(lambda: INPUTS.mean(axis=0), mean) == ()
    (finding,) = refit(lambda: INPUTS.mean(axis=0), np.nextafter(mean, 9))
    assert finding.id == "refit-differs"
    assert "3 of 3 values" in finding.evidence
    assert refit(lambda: INPUTS.mean(axis=0), mean + 1e-9, tolerance=1e-6) == ()


@pytest.mark.parametrize(
    ("used", "said"),
    [
        ({"a": np.array([1.0, 2.0])}, ""),
        ({"a": np.array([1.0, 2.5])}, "a: 1 of 2 values, by up to 0.5"),
        ({"a": np.array([1.0, np.nan])}, "a: 1 of 2 values"),
        ({"a": np.array([1.0])}, r"a: shape \(2,\) became \(1,\)"),
        ({"b": np.array([1.0, 2.0])}, r"arrays \['a'\] became \['b'\]"),
        ({"a": np.array(["1.0", "x"])}, "a: 2 of 2 values"),
    ],
)
def test_how_answers_differ_is_said(used, said):
    findings = refit(lambda: {"a": np.array([1.0, 2.0])}, used)
    assert bool(findings) == bool(said)
    if said:
        with pytest.raises(AssertionError, match=said):
            raise AssertionError(findings[0].evidence)


def test_gaps_and_texts_can_be_the_same():
    assert refit(lambda: np.array([np.nan, 1]), np.array([np.nan, 1])) == ()
    assert refit(lambda: np.array(["a", "b"]), np.array(["a", "b"])) == ()


@pytest.mark.parametrize(
    ("fit", "where"),
    [
        (lambda x, y, held: x[~held].mean(axis=0), []),
        (lambda x, y, held: x.mean(axis=0), ["inputs"]),
        (lambda x, y, held: np.bincount(y, minlength=3), ["targets"]),
        (lambda x, y, held: {"m": x.max(axis=0), "n": np.bincount(y, minlength=3)}, ["inputs", "targets"]),
        (lambda x, y, held: np.median(x, axis=0), ["inputs"]),
    ],
)
def test_fits_that_read_held_out_rows_are_found(fit, where):
    findings = poisoned_fit(fit, INPUTS, TARGETS, HELD)
    assert ids(findings) == ["fit-reads-test"] * len(where)
    assert [finding.where for finding in findings] == where


@pytest.mark.parametrize(
    ("fit_predict", "expected"),
    [
        (lambda x, y, held: x[held] @ x[~held].mean(axis=0), []),
        (lambda x, y, held: x[held] + y.mean(), ["reads-test-targets"]),
        (lambda x, y, held: x[held] - x[held].mean(axis=0), ["reads-other-test-inputs"]),
        (
            lambda x, y, held: x[held] - x.mean(axis=0) + y[held][:, None],
            ["reads-test-targets", "reads-other-test-inputs"],
        ),
        (lambda x, y, held: np.cumsum(x[held], axis=0), ["reads-other-test-inputs"]),
    ],
)
def test_predictions_that_read_the_test_are_found(fit_predict, expected):
    assert ids(poisoned_predictions(fit_predict, INPUTS, TARGETS, HELD)) == expected


def test_a_case_may_read_itself():
    cases = [f"case {i // 4}" for i in range(20)]

    def by_case(x, y, held):
        code = np.arange(20)[held] // 4
        return np.stack([x[held][code == c].mean(axis=0) for c in code])

    assert poisoned_predictions(by_case, INPUTS, TARGETS, HELD, cases=cases) == ()
    assert ids(poisoned_predictions(by_case, INPUTS, TARGETS, HELD)) == ["reads-other-test-inputs"]


def test_callables_may_spoil_what_they_are_given():
    def spoils(x, y, held):
        out = x[held] * x[~held].sum()
        x[:], y[:], held[:] = 0, 0, False
        return out

    before = INPUTS.copy(), TARGETS.copy(), HELD.copy()
    assert poisoned_predictions(spoils, INPUTS, TARGETS, HELD) == ()
    assert poisoned_fit(lambda x, y, held: spoils(x, y, held).shape, INPUTS, TARGETS, HELD) == ()
    assert all((a == b).all() for a, b in zip(before, (INPUTS, TARGETS, HELD), strict=True))


def test_a_callable_that_is_not_deterministic_is_the_finding():
    noise = np.random.default_rng(1)
    for findings in (
        refit(lambda: noise.random(3), np.zeros(3)),
        poisoned_fit(lambda x, y, held: noise.random(3), INPUTS, TARGETS, HELD),
        poisoned_predictions(lambda x, y, held: noise.random(8), INPUTS, TARGETS, HELD),
        future_poison(lambda x: noise.random((2, 1)), np.arange(9.0), np.array([3, 6])),
    ):
        assert [(f.id, f.severity) for f in findings] == [("not-deterministic", "warning")]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"held": HELD.astype(int)}, "expected inputs, targets and a mask of as many rows"),
        ({"inputs": INPUTS[1:]}, "expected inputs, targets and a mask of as many rows"),
        ({"targets": TARGETS[1:]}, "expected inputs, targets and a mask of as many rows"),
        ({"held": np.zeros(20, bool)}, "expected held-out and other rows, but got 0 of 20"),
        ({"held": np.ones(20, bool)}, "expected held-out and other rows, but got 20 of 20"),
        ({"cases": ["a"] * 20}, "at least two held-out cases"),
        ({"cases": ["a"]}, "cases: expected 20 names, but got 1"),
    ],
)
def test_what_cannot_be_poisoned_is_refused(changes, message):
    given_ = {"inputs": INPUTS, "targets": TARGETS, "held": HELD, "cases": None, **changes}
    with pytest.raises(InputError, match=message):
        poisoned_predictions(lambda x, y, held: x[held], **given_)


def test_predictions_are_one_per_held_out_row():
    with pytest.raises(InputError, match=r"returned an array of \(20, 3\), expected 8 rows"):
        poisoned_predictions(lambda x, y, held: x, INPUTS, TARGETS, HELD)


ENDS = np.arange(5, 41, 5)


def windows(signal, late=0):
    return np.array([signal[end - 5 : end + late].mean() for end in ENDS])


@pytest.mark.parametrize("kind", [np.float64, np.int64])
@pytest.mark.parametrize(
    ("features", "expected"),
    [
        (windows, []),
        (lambda x: windows(np.cumsum(x)), []),
        (lambda x: windows(x, late=1), ["reads-the-future"]),
        (lambda x: windows(x - x.mean()), ["reads-the-future"]),
        (lambda x: windows(x[::-1]), ["reads-the-future"]),
        (lambda x: windows(x)[: 8 if x[-1] == SIGNAL[-1] else 7], ["reads-the-future"]),
    ],
)
def test_features_that_read_ahead_are_found(features, expected, kind):
    assert ids(future_poison(features, SIGNAL.astype(kind), ENDS)) == expected


SIGNAL = np.round(100 * np.random.default_rng(2).standard_normal(41))


def test_the_cut_and_the_change_are_said():
    (finding,) = future_poison(lambda x: windows(x, late=1), SIGNAL, ENDS, cuts=3)
    assert "at 3 cuts; from 5 of 41 on: 1 of 1 values" in finding.evidence


@pytest.mark.parametrize(
    ("ends", "message"),
    [
        (np.array([41, 50]), "no window ends inside of the recording of 41"),
        (np.array([0]), "no window ends inside"),
        (np.array([], int), "no window ends inside"),
        (np.array([1.5]), "expected one index per window"),
        (np.array([3, 5]), r"returned an array of \(8,\), expected 2 rows"),
    ],
)
def test_ends_lie_inside_of_the_recording(ends, message):
    with pytest.raises(InputError, match=message):
        future_poison(windows, SIGNAL, ends)
