"""Files of which a part is in another unit, and files that only look so; bodies are made by hand."""

import numpy as np
import pytest

import gnomon
from gnomon.core.errors import InputError
from gnomon.suites.skeleton import files

BODY = np.array([[0.0, 0, 0], [0.3, 0, 0.8], [-0.3, 0, 0.9], [0, 0.2, 1.7]])
SEQUENCES, FRAMES = 30, 8
FIRST = slice(0, FRAMES)
EIGHTH = slice(0, None, FRAMES)


def score(path, pred_factor=(), true_factor=(), joint=None, **options):
    """Score 30 sequences of 8 poses; rows (and perhaps one joint) of a side are multiplied by a factor."""
    rng = np.random.default_rng(1)
    truth = BODY + rng.uniform(1, 3, (SEQUENCES * FRAMES, 1, 3))
    prediction = truth + rng.normal(0, 0.03, truth.shape)
    for side, changes in ((truth, true_factor), (prediction, pred_factor)):
        for rows, factor in changes:
            side[(rows, slice(None)) if joint is None else (rows, joint)] *= factor
    camera = np.tile([0.0, 0, 3, 0, 0, 0, 1, 1, 1], (len(truth), 1, 1))
    fields = {
        "sample_ids": [f"p{s}_a1_{frame}" for s in range(SEQUENCES) for frame in range(FRAMES)],
        "gt_keypoints": truth,
        "pred_keypoints": prediction,
        "gt_cameras_stream": camera,
        "pred_cameras_stream": camera,
        "camera_stream_modalities": ["lidar"],
        "camera_stream_sensor_indices": [0],
    }
    files.write(path, fields)
    return gnomon.score("skeleton", pred_file=str(path), out="none", **options)


@pytest.mark.parametrize("factor", [1000, 100, 0.01, 0.001])
def test_one_predicted_pose_in_eight_in_another_unit_is_refused(tmp_path, factor):
    expected = (
        r"pred_keypoints: 30 of 240 poses \(12%\) measure .* others 1\.\d+ m: .*sequences p0_a1 \(1 of 8\); .*p0_a1_0"
    )
    with pytest.raises(InputError, match=expected):
        score(tmp_path / "t.npz", [(EIGHTH, factor)])


def test_one_predicted_sequence_in_another_unit_is_refused(tmp_path):
    with pytest.raises(
        InputError, match=r"pred_keypoints: 8 of 240 poses \(3%\) .*sequences p0_a1 \(8 of 8\); samples"
    ):
        score(tmp_path / "t.npz", [(FIRST, 1000)])


def test_one_sequence_in_another_unit_on_both_sides_is_refused(tmp_path):
    """Three per cent of the poses leave the median and the 95th percentile of the file as they are."""
    changes = [(FIRST, 1000)]
    with pytest.raises(
        InputError, match=r"gt_keypoints: 8 of 240 poses .*sequences p0_a1 \(8 of 8\).*--unit m insists"
    ):
        score(tmp_path / "t.npz", changes, changes)
    assert score(tmp_path / "t.npz", changes, changes, unit="m").runs


def test_some_metres_in_a_file_of_millimetres_are_refused(tmp_path):
    changes = [(slice(None), 1000), (FIRST, 0.001)]
    with pytest.raises(InputError, match=r"gt_keypoints: 8 of 240 poses .* measure 0\.00\d+ m"):
        score(tmp_path / "t.npz", changes, changes, unit="mm")


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"pred_factor": [(FIRST, 0.35)], "true_factor": [(FIRST, 0.35)]}, id="a small child"),
        pytest.param({"pred_factor": [(EIGHTH, 1000)], "joint": 2}, id="one predicted joint far away"),
        pytest.param({"pred_factor": [(slice(0, 240, 40), 1000)]}, id="a few lost detections"),
        pytest.param({"true_factor": [(FIRST, 5000)], "joint": 3}, id="one true joint lost in a sequence"),
        pytest.param({"pred_factor": [(slice(0, 2), 1000)]}, id="two poses of a sequence"),
    ],
)
def test_children_and_outliers_are_scored(tmp_path, changes):
    assert score(tmp_path / "t.npz", **changes).runs[0].coverage["samples"]["valid"] == SEQUENCES * FRAMES


def test_bodies_that_explode_to_any_size_are_scored(tmp_path):
    """A tenth of the poses is 30 to 3,000 times too large: no unit explains it."""
    rows = np.arange(0, 240, 10)
    changes = [(row, factor) for row, factor in zip(rows, np.geomspace(30, 3000, len(rows)), strict=True)]
    assert score(tmp_path / "t.npz", changes).runs
