"""Forecasts of joints: by hand, and against plain numpy."""

import numpy as np
import pytest

from gnomon.core.errors import InputError
from gnomon.core.tallies import Tallies
from gnomon.measures import trajectories
from gnomon.measures.trajectories import MEASURES, FinalError, Trajectories, TrajectoryError, evaluate
from gnomon.testing import check


def drawn(seed, n=12, steps=4, joints=3):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(n, steps, joints, 3))
    return truth, truth + rng.normal(size=truth.shape) / 5, rng.random((n, steps, joints)) < 0.7, rng


def test_worked_by_hand():
    # One joint, two steps: 0.1 m off, then 0.3 m off.
    result = evaluate([[[[0, 0, 0]], [[0, 0, 1.0]]]], [[[[0.1, 0, 0]], [[0, 0, 1.3]]]])
    assert result["mpjpe"] == pytest.approx(0.2)
    assert result["final_error"] == pytest.approx(0.3)
    assert result["per_step"] == pytest.approx([0.1, 0.3])
    assert (result["n"], result["undefined"]) == (1, {})


def test_masked_positions_are_left_out():
    truth, prediction, mask, _ = drawn(0)
    apart = np.sqrt(((prediction - truth) ** 2).sum(axis=-1))
    result = evaluate(np.where(mask[..., None], truth, np.nan), prediction, mask=mask)
    assert result["mpjpe"] == pytest.approx(apart[mask].mean(), rel=1e-13)
    assert result["final_error"] == pytest.approx(apart[:, -1][mask[:, -1]].mean(), rel=1e-13)
    assert result["per_step"] == pytest.approx([apart[:, s][mask[:, s]].mean() for s in range(4)], rel=1e-13)


def test_cases_fold_to_the_whole():
    truth, prediction, mask, rng = drawn(1)
    case = rng.integers(0, 3, len(truth))
    tallies = trajectories.tally_cases(Trajectories.of(truth, mask), Trajectories.of(prediction), case, 4)
    parts = [
        TrajectoryError().tally(Trajectories.of(truth[own], mask[own]), Trajectories.of(prediction[own]))
        for own in (case == c for c in range(4))
    ]
    assert tallies == Tallies.stack(parts)
    result = evaluate(truth, prediction, mask=mask)
    assert float(TrajectoryError().score(tallies.total()).values) == pytest.approx(result["mpjpe"], rel=1e-14)
    assert float(FinalError().score(tallies.total()).values) == pytest.approx(result["final_error"], rel=1e-14)


def test_undefined_says_why():
    truth, prediction, mask, _ = drawn(2, n=2)
    mask[:] = True
    mask[:, -1] = False
    result = evaluate(truth, prediction, mask=mask)
    assert result["final_error"] is None
    assert result["undefined"] == {
        "final_error": "no position of the last step counts",
        "per_step.3": "no position counts",
    }
    nothing = evaluate(truth[:0], prediction[:0])
    assert (nothing["mpjpe"], nothing["n"], nothing["undefined"]["mpjpe"]) == (None, 0, "no position counts")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Trajectories.of(np.zeros((2, 3, 3))), r"expected positions \(n, steps, joints, 3\)"),
        (lambda: Trajectories.of(np.zeros((2, 0, 1, 3))), "expected positions"),
        (lambda: Trajectories.of(np.zeros((1, 2, 1, 3)), np.ones((1, 2), bool)), r"expected a mask \(1, 2, 1\)"),
        (lambda: Trajectories(np.zeros((3, 1, 3)), steps=2), "a number of steps that divides 3 rows"),
        (lambda: evaluate(np.zeros((1, 2, 1, 3)), np.zeros((1, 1, 1, 3))), "expected the same"),
        (lambda: evaluate(np.zeros((1, 2, 2, 3)), np.zeros((1, 4, 1, 3))), "expected the same"),
        (lambda: evaluate(np.full((1, 1, 1, 3), 1e300), np.zeros((1, 1, 1, 3))), "too large to be squared"),
    ],
)
def test_what_cannot_be_scored_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_a_prediction_must_have_what_the_truth_has():
    truth, prediction, _, _ = drawn(3)
    prediction[2, 1, 0] = np.nan
    with pytest.raises(InputError, match="prediction lacks joint 0 at step 2 of sample 2"):
        evaluate(truth, prediction)
    with pytest.raises(InputError, match="frame 'world' and the prediction in 'camera'"):
        FinalError().tally(Trajectories.of(truth), Trajectories.of(truth, frame="camera"))


def test_changed_tallies_are_noticed():
    truth, prediction, mask, _ = drawn(4)
    mask[:, 0] = False
    tallies = FinalError().tally(Trajectories.of(truth, mask), Trajectories.of(prediction))
    assert FinalError().identities(tallies, {}) == []
    for name, amount, what in (
        ("error", -99.0, "negative"),
        ("error", 1.0, "do not count"),
        ("final_joints", 1000, "more positions than any"),
    ):
        fields = {**tallies.fields, name: tallies.fields[name] + amount}
        assert any(what in text for text in FinalError().identities(Tallies(tallies.layout, tallies.axes, fields), {}))


def test_names_and_families_say_the_task():
    assert (TrajectoryError().name, FinalError("hands").name) == ("mpjpe", "final_error[hands]")
    assert FinalError("hands").family == TrajectoryError("hands").family == "trajectories__hands"


@pytest.mark.parametrize("measure", MEASURES, ids=repr)
@pytest.mark.parametrize("seed", range(5))
def test_laws_hold(measure, seed):
    assert check(measure, seed) == []
