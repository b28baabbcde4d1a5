"""Truth and prediction as two sources: alignment of rows, and the same without cameras in a prediction file."""

import numpy as np
import pytest

import gnomon
from gnomon.core.errors import InputError
from gnomon.suites.skeleton.options import ScoreOptions
from gnomon.suites.skeleton.projection import smooth
from gnomon.suites.skeleton.settings import choose_variant
from gnomon.suites.skeleton.sides import BY_IDS, BY_NAMES, BY_ROWS, list_systems, read_pair

REST = np.array([[0, 0.9, 0], [0.1, 0.5, 0], [-0.1, 0.5, 0], [0, 1.6, 0.1]])


@pytest.fixture
def poses():
    rng = np.random.default_rng(2)
    truth = REST + rng.normal(0, 0.05, (12, 4, 3))
    return truth, truth + rng.normal(0, 0.03, truth.shape)


def read(truth, prediction, **options):
    return read_pair(truth, prediction, ScoreOptions(**options))


def test_predictions_are_ordered_by_ids(poses):
    truth, predicted = poses
    ids = [f"walk_{i:02d}" for i in range(12)]
    turn = np.random.default_rng(0).permutation(12)
    given = {"joints": predicted[turn], "sample_ids": [ids[i] for i in turn]}
    source, facts = read({"joints": truth, "sample_ids": ids}, given)
    np.testing.assert_array_equal(source.file.prediction, predicted)
    assert facts["aligned_by"] == BY_IDS
    given["sample_ids"] = ["x", *given["sample_ids"][1:]]
    with pytest.raises(InputError, match="ids differ from those of <truth in memory>: no prediction for 'walk_"):
        read({"joints": truth, "sample_ids": ids}, given)
    assert read({"joints": truth, "sample_ids": ids}, predicted)[1]["aligned_by"] == BY_ROWS


def test_predictions_are_ordered_by_sequence(poses):
    truth, predicted = poses
    true = {"b": truth[:5], "a": truth[5:]}
    source, facts = read(true, {"a": predicted[5:], "b": predicted[:5]})
    np.testing.assert_array_equal(source.file.prediction, predicted)
    assert (facts["aligned_by"], [one.sequence for one in source.sequences.named]) == (BY_NAMES, ["b", "a"])
    with pytest.raises(InputError, match="sequence 'a' has 6 samples, but 7 in"):
        read(true, {"a": predicted[6:], "b": predicted[:5]})
    with pytest.raises(InputError, match="no prediction for 'a'; name sequences"):
        read(true, {"c": predicted[5:], "b": predicted[:5]})


def test_systems_are_told_apart(poses):
    truth, predicted = poses
    names = [[one.name for one in list_systems(given, truth)] for given in ((predicted,), ({"A": predicted},))]
    assert names == [["predictions"], ["A"]]
    assert [one.name for one in list_systems(tuple(predicted.tolist()), truth)] == ["predictions"]
    by_take = {"a": truth}
    assert [one.name for one in list_systems(({"a": predicted},), by_take)] == ["predictions"]
    with pytest.raises(InputError, match="system names must differ"):
        list_systems((predicted, predicted), truth)


def test_tags_of_a_table_name_sequences(poses):
    truth, predicted = poses
    names = ("hip", "left_knee", "right_knee", "head")
    columns = {f"{one}_{axis}": truth[:, j, k] for j, one in enumerate(names) for k, axis in enumerate("xyz")}
    tags = {"subject": ["anna"] * 6 + ["ben"] * 6, "action": ["walk", "sit"] * 6, "frame": list(range(12))}
    source, _ = read({**columns, **tags}, predicted)
    assert [tuple(one) for one in source.sequences.named] == [
        ("anna_walk", "anna", "walk"),
        ("anna_sit", "anna", "sit"),
        ("ben_walk", "ben", "walk"),
        ("ben_sit", "ben", "sit"),
    ]
    assert source.sequences.frames.tolist() == list(range(12))
    assert (source.joints, source.pelvis) == (names, (0,))


def test_a_prediction_file_without_cameras_is_not_projected(poses, tmp_path):
    truth, predicted = poses
    seen = np.random.default_rng(1).random((12, 4)) > 0.2
    seen[:, 0] = True
    np.savez(tmp_path / "p.npz", gt_keypoints=truth, pred_keypoints=predicted, shown=seen)
    path = str(tmp_path / "p.npz")
    result = gnomon.score("skeleton", pred_file=path, mask="shown")
    found = result.scores["p"]
    assert found == gnomon.score("skeleton", truth, predicted, mask=seen).scores["predictions"]
    (run,) = result.runs
    assert {"not-projected"} <= {finding.id for finding in run.findings}
    assert [claim["id"] for claim in run.manifest["protocol"]["claims"]] == ["new-people"]
    with pytest.raises(InputError, match=r"projects joints through cameras, but the input has none"):
        gnomon.run("skeleton", pred_file=path, out="none")
    with pytest.raises(InputError, match=r"no field 'nothing' for --mask"):
        gnomon.score("skeleton", pred_file=path, mask="nothing")


@pytest.mark.parametrize(
    ("given", "variant"),
    [
        ({}, "strict"),
        ({"reference": "medoid"}, "strict"),
        ({"ablation": True}, "published"),
        ({"projection_mode": "seq_lidar_ref"}, "published"),
        ({"fusion_mode": "weighted"}, "published"),
        ({"hard_gate_ratio": 0.5}, "published"),
        ({"ablation": True, "variant": "strict"}, "strict"),
        ({"variant": "both"}, "both"),
    ],
)
def test_options_of_the_published_protocol_select_it(given, variant):
    assert choose_variant(ScoreOptions(**given)) == variant


def test_smoothing_passes_over_hidden_joints():
    """Of 0, hidden, 6 over three samples the visible ends have their own mean; a hidden joint stays."""
    joints = np.zeros((3, 1, 3))
    joints[:, 0, 0] = 0.0, 99.0, 6.0
    seen = np.array([[True], [False], [True]])
    assert smooth(joints, np.zeros(3, int), 3, seen)[:, 0, 0].tolist() == [0.0, 99.0, 6.0]
    assert smooth(joints, np.zeros(3, int), 5, seen)[:, 0, 0].tolist() == [3.0, 99.0, 3.0]


def test_frames_per_second_and_names_come_from_the_source(poses):
    truth, predicted = poses
    given = {"joints": truth, "fps": 25.0, "names": ["Hips", "l", "r", "h"], "parents": [-1, 0, 0, 0]}
    result = gnomon.score("skeleton", {**given, "valid": np.ones(12, bool)}, predicted)
    assert result.runs[0].manifest["facts"]["summary"]["units"]["velocity"] == "m/s"
    assert result.scores["predictions"]["mpjpe[Hips]"] is not None
    assert result.runs[0].manifest["facts"]["summary"]["bone_length"] > 0
