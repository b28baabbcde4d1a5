"""Camera poses, against hand-worked cases and ``scipy.spatial.transform``."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from gnomon.core.errors import InputError
from gnomon.core.seeds import generator
from gnomon.measures.cameras import evaluate, pose_errors


def test_by_hand():
    """A camera at (0, 0, -2) that looks along z, against one turned by 90 degrees about z and moved."""
    truth = [[0, 0, 2, 0, 0, 0, 1, 1, 1]]
    prediction = [[3, 0, 2, 0, 0, 2, 2, np.nan, 1]]
    result = evaluate(truth, prediction)
    assert result["rotation_deg"] == pytest.approx({"mean": 90.0, "median": 90.0, "max": 90.0})
    assert result["translation_m"]["mean"] == pytest.approx(3.0)
    assert result["centre_m"]["mean"] == pytest.approx(3.0)
    assert (result["n"], result["dropped"], result["undefined"]) == (1, {}, {})


def test_against_scipy():
    rng = generator(0, "cameras")
    truth, prediction = rng.normal(size=(2, 100, 9))
    turns = [Rotation.from_quat(side[:, 3:7]) for side in (truth, prediction)]
    centres = [-turn.inv().apply(side[:, :3]) for turn, side in zip(turns, (truth, prediction), strict=True)]
    found = pose_errors(truth, prediction)
    np.testing.assert_allclose(found.rotation_deg, np.degrees((turns[0].inv() * turns[1]).magnitude()), atol=1e-10)
    np.testing.assert_allclose(found.centre_m, np.linalg.norm(centres[1] - centres[0], axis=1), atol=1e-12)
    negated = prediction.copy()
    negated[:, 3:7] *= -3
    np.testing.assert_allclose(pose_errors(truth, negated).rotation_deg, found.rotation_deg, atol=1e-10)


def test_what_is_no_pose_is_counted():
    truth = np.tile([0.0, 0, 0, 0, 0, 0, 1], (5, 1))
    prediction = truth.copy()
    truth[0, 3:] = 0
    prediction[0, 0] = np.nan
    prediction[1, 1] = np.inf
    prediction[2, 4] = np.nan
    prediction[3, 0] = 1
    result = evaluate(truth, prediction)
    assert result["n"] == 2
    assert result["dropped"] == {"invalid pose in truth": 1, "invalid pose in prediction": 2}
    assert result["translation_m"] == {"mean": 0.5, "median": 0.5, "max": 1.0}
    found = pose_errors(truth, prediction)
    for values in (found.rotation_deg, found.translation_m, found.centre_m):
        assert np.isfinite(values).tolist() == [False, False, False, True, True]


def test_nothing_valid_is_undefined():
    result = evaluate(np.zeros((2, 9)), np.zeros((2, 9)))
    assert result["rotation_deg"] == {"mean": None, "median": None, "max": None}
    assert result["undefined"]["centre_m.max"] == "no pair of poses is valid"
    assert evaluate(np.zeros((0, 9)), np.zeros((0, 9)))["n"] == 0


@pytest.mark.parametrize("truth", [np.zeros(9), np.zeros((2, 6)), "poses", np.zeros((3, 9))])
def test_refusals(truth):
    with pytest.raises(InputError, match="expected"):
        evaluate(truth, np.zeros((2, 9)))
