"""Skeletons, the plain face: figures worked by hand, brute force over frames, and the faults of other tools by name."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.core.errors import InputError
from gnomon.core.seeds import generator
from gnomon.measures.pose import evaluate
from gnomon.numerics import rotations

KEYS = {
    "mpjpe",
    "pa_mpjpe",
    "pelvis_mpjpe",
    "n_mpjpe",
    "rigid_mpjpe",
    "root_error",
    "median",
    "percentiles",
    "pck",
    "auc",
    "per_joint",
    "velocity",
    "acceleration",
    "jitter",
    "bone_length",
    "n",
    "dropped",
    "undefined",
    "units",
    "warnings",
}
DISTANCES = ("mpjpe", "pa_mpjpe", "pelvis_mpjpe", "n_mpjpe", "rigid_mpjpe")


def drawn(seed, n=30, joints=8, noise=0.05):
    rng = generator(seed, "pose")
    truth = rng.normal(size=(n, joints, 3)) * [0.2, 0.2, 0.6]
    return truth, truth + noise * rng.normal(size=truth.shape), rng


def test_by_hand():
    """Two joints a metre apart; the prediction is .1 m high at the pelvis and .3 m at the head."""
    truth = np.array([[[0, 0, 0], [0, 0, 1.0]]])
    result = evaluate(truth, truth + np.array([[0, 0, 0.1], [0, 0, 0.3]]), bones=[(0, 1)])
    assert result.keys() == KEYS
    assert result["mpjpe"] == pytest.approx(0.2)
    assert result["pelvis_mpjpe"] == pytest.approx(0.1)
    assert result["rigid_mpjpe"] == pytest.approx(0.1)
    assert result["pa_mpjpe"] == pytest.approx(0)
    assert result["n_mpjpe"] == pytest.approx(0)
    assert result["root_error"] == pytest.approx(0.1)
    assert result["per_joint"] == pytest.approx([0.1, 0.3])
    assert result["median"] == pytest.approx(0.2)
    assert result["percentiles"] == pytest.approx({"5": 0.11, "25": 0.15, "75": 0.25, "95": 0.29})
    assert result["pck"] == {"50": 0.0, "100": 0.5, "150": 0.5}
    assert result["auc"] == pytest.approx({"0-150": 11 / 62, "0-200": 21 / 82})
    assert result["bone_length"] == pytest.approx(0.2)
    assert (result["n"], result["dropped"], result["warnings"]) == (1, {}, [])
    assert set(result["undefined"]) == {"velocity", "acceleration", "jitter"}
    json.dumps(result, allow_nan=False)


def test_thresholds_include_their_edge():
    """An error of 50 mm is within 50 mm, whatever floating point makes of .05; a tenth of a micrometre more is not."""
    truth = np.zeros((1, 3, 3))
    shift = np.array([[0.05, 0, 0], [0.1 + 0.2 - 0.25, 0, 0], [0.05 + 1e-7, 0, 0]])
    assert evaluate(truth, truth + shift)["pck"]["50"] == pytest.approx(2 / 3)
    assert evaluate(truth, truth)["auc"] == {"0-150": 1.0, "0-200": 1.0}


def test_movement_against_brute_force():
    truth, prediction, rng = drawn(1, 12, 3)
    seen = rng.random((12, 3)) < 0.9
    broken = prediction.copy()
    broken[5, 1] = np.nan
    seen[5, 1] = True
    recording = np.array([0] * 8 + [1] * 4)
    result = evaluate(truth, broken, mask=seen, sequence=recording, fps=50)
    usable = seen.copy()
    usable[5] = False
    values = {1: [], 2: [], 3: []}
    for i in range(12):
        for j in range(3):
            for order, collected in values.items():
                frames = range(i - order, i + 1)
                if i >= order and all(usable[k, j] and recording[k] == recording[i] for k in frames):
                    side = prediction[i - order : i + 1, j] - (0 if order == 3 else truth[i - order : i + 1, j])
                    signs = {1: [-1, 1], 2: [1, -2, 1], 3: [-1, 3, -3, 1]}[order]
                    collected.append(np.linalg.norm(np.array(signs) @ side) * 50**order)
    assert all(values.values())
    for order, name in enumerate(("velocity", "acceleration", "jitter"), start=1):
        assert result[name] == pytest.approx(np.mean(values[order]), rel=1e-12)


def test_a_dropped_sample_breaks_the_chain():
    """Frames 0, 1, (2 dropped), 3, 4: a velocity on each side of the gap, no acceleration."""
    truth = np.zeros((5, 1, 3))
    prediction = np.zeros((5, 1, 3))
    prediction[:, 0, 0] = [0, 1, 2, 100, 101]
    prediction[2, 0, 0] = np.nan
    result = evaluate(truth, prediction)
    assert result["velocity"] == 1.0
    assert result["acceleration"] is result["jitter"] is None
    assert "3 consecutive frames" in result["undefined"]["acceleration"]


def test_rates_and_units_are_never_mixed():
    truth, prediction, _ = drawn(2)
    per_frame, per_second = evaluate(truth, prediction), evaluate(truth, prediction, fps=30)
    assert per_frame["units"] == {
        "distance": "m",
        "velocity": "m/frame",
        "acceleration": "m/frame^2",
        "jitter": "m/frame^3",
    }
    assert list(per_second["units"].values()) == ["m", "m/s", "m/s^2", "m/s^3"]
    for order, name in enumerate(("velocity", "acceleration", "jitter"), start=1):
        assert per_second[name] == pytest.approx(per_frame[name] * 30**order)
    steady = np.arange(6.0)[:, np.newaxis, np.newaxis] * np.ones((6, 2, 3))
    assert evaluate(steady, steady + 1)["velocity"] == pytest.approx(0, abs=1e-12)
    assert evaluate(steady, steady)["jitter"] == pytest.approx(0, abs=1e-12)


def test_parts_do_not_show(monkeypatch):
    """Sums over parts of 4 frames are those over all."""
    truth, prediction, rng = drawn(3, 23, 3)
    seen = rng.random((23, 3)) < 0.8
    seen[:, 0] = True
    whole = evaluate(truth, prediction, mask=seen, bones=[(0, 1)])
    monkeypatch.setattr("gnomon.numerics.kinematics.PART", 4)
    parts = evaluate(truth, prediction, mask=seen, bones=[(0, 1)])
    for name in ("velocity", "acceleration", "jitter", "bone_length"):
        assert parts[name] == pytest.approx(whole[name], rel=1e-13)
    assert parts["warnings"] == whole["warnings"]


def test_fault_failure_reported_as_perfect():
    truth, prediction, _ = drawn(4)
    prediction[[3, 9], 2] = np.nan
    truth[5, 0, 0] = np.inf
    truth[9, 1] = np.nan
    prediction[11] = 1e200
    result = evaluate(truth, prediction)
    reasons = {"truth is not finite": 2, "prediction is not finite": 1, "too large to be squared": 1}
    assert result["dropped"] == reasons
    assert result["n"] == 26
    kept = np.setdiff1d(np.arange(30), [3, 5, 9, 11])
    clean = evaluate(truth[kept], prediction[kept])
    assert {name: result[name] for name in DISTANCES} == {name: clean[name] for name in DISTANCES}
    nothing = evaluate(np.full((2, 3, 3), np.nan), np.zeros((2, 3, 3)))
    assert nothing["n"] == 0
    assert all(nothing[name] is None for name in (*DISTANCES, "root_error", "median", "velocity"))
    assert nothing["per_joint"] == [None] * 3
    assert set(nothing["undefined"]) >= {*DISTANCES, "root_error", "median", "pck.50", "auc.0-150", "percentiles.5"}
    assert nothing["undefined"]["per_joint.2"] == nothing["undefined"]["mpjpe"] == "no sample is left"


def test_fault_joints_masked_only_after_alignment():
    truth, prediction, _ = drawn(5)
    seen = np.ones((30, 8), bool)
    seen[:, 5:] = False
    garbage = prediction.copy()
    garbage[:, 5:] = np.nan
    masked, cut = evaluate(truth, garbage, mask=seen), evaluate(truth[:, :5], prediction[:, :5])
    for name in (*DISTANCES, "root_error", "median", "velocity"):
        assert masked[name] == pytest.approx(cut[name], abs=1e-12)
    assert masked["pck"] == cut["pck"]
    assert masked["per_joint"][5:] == [None] * 3
    assert masked["undefined"]["per_joint.6"] == "joint 6 is visible in no sample"
    assert masked["dropped"] == {}


def test_hidden_pelvis():
    truth, prediction, _ = drawn(6)
    seen = np.ones((30, 8), bool)
    seen[:10, 2] = False
    seen[29] = False
    result = evaluate(truth, prediction, mask=seen, pelvis=(0, 2))
    rest = evaluate(truth[10:29], prediction[10:29], pelvis=(0, 2))
    assert result["n"] == 29
    assert result["dropped"] == {"no visible joint": 1}
    assert "hidden in 10 of 29 samples" in result["warnings"][0]
    for name in ("pelvis_mpjpe", "n_mpjpe", "root_error"):
        assert result[name] == rest[name]
    seen[:, 2] = False
    nowhere = evaluate(truth, prediction, mask=seen, pelvis=2)
    assert nowhere["pelvis_mpjpe"] is nowhere["root_error"] is None
    assert nowhere["undefined"]["n_mpjpe"] == "the pelvis is visible in no sample"
    assert nowhere["mpjpe"] is not None


def test_fault_units_guessed_silently():
    """Millimetres are refused with the figure, and converted where they are declared; mixed units are refused."""
    truth, prediction, _ = drawn(7)
    metres = evaluate(truth, prediction)
    assert metres["warnings"] == []
    with pytest.raises(InputError, match=r"^truth: median body extent \d+ m \(\d+ poses\).*millimetres.*unit='mm'"):
        evaluate(truth * 1000, prediction * 1000)
    declared = evaluate(truth * 1000, prediction * 1000, unit="mm")
    assert declared["mpjpe"] == pytest.approx(metres["mpjpe"])
    assert declared["pck"] == metres["pck"]
    with pytest.raises(InputError, match=r"times as large.*not in one unit"):
        evaluate(truth, prediction * 1000)
    with pytest.raises(InputError, match="check unit='mm'"):
        evaluate(truth, prediction, unit="mm")
    with pytest.raises(InputError, match="unit: expected one of m, cm, mm, but got 'ft'"):
        evaluate(truth, prediction, unit="ft")
    assert "expected 0.01 to 5 m; nothing was converted" in evaluate(truth, prediction * 20)["warnings"][0]


def test_poses_partly_in_millimetres():
    """Truth: an error from one in twenty on, with the share. Prediction: a warning."""
    truth, prediction, _ = drawn(8, 100)
    mixed, few = truth.copy(), truth.copy()
    mixed[:49] *= 1000
    few[:4] *= 1000
    with pytest.raises(InputError, match=r"extent .* m, but 49 of 100 \(49%\) measure .*: not all are in one"):
        evaluate(mixed, prediction)
    assert evaluate(few, prediction)["warnings"][0].startswith("truth: of the bodies, 4 of 100 (4%) measure ")
    part = prediction.copy()
    part[:49] *= 1000
    (said,) = evaluate(truth, part)["warnings"]
    assert said.startswith("prediction: of the bodies, 49 of 100 (49%) measure ")
    assert evaluate(truth, prediction)["warnings"] == []


@pytest.mark.parametrize("size", [0.0014, 20.0])
def test_metres_that_are_given_are_obeyed(size):
    """A fly, and a whale."""
    truth, prediction, _ = drawn(8, 20)
    truth, prediction = truth * size, prediction * size
    with pytest.raises(InputError, match="pass unit='m' if these are metres"):
        evaluate(truth, prediction)
    found = evaluate(truth, prediction, unit="m")
    assert found["mpjpe"] == pytest.approx(np.linalg.norm(truth - prediction, axis=-1).mean())
    assert len(found["warnings"]) == 2
    assert "20 of 20 (100%) measure" in found["warnings"][0]


def test_fault_shuffled_rows():
    """Both sides shuffled alike: the same bits. One side alone: worse."""
    truth, prediction, rng = drawn(8, 200)
    order = rng.permutation(200)
    first, again = evaluate(truth, prediction), evaluate(truth[order], prediction[order])
    names = (*DISTANCES, "root_error", "median", "percentiles", "pck", "auc")
    assert {name: first[name] for name in names} == {name: again[name] for name in names}
    assert first["per_joint"] == pytest.approx(again["per_joint"], rel=1e-14)
    apart = evaluate(truth, prediction[order])
    assert all(apart[name] > 2 * first[name] for name in DISTANCES)


@pytest.mark.parametrize("n", [2, 3])
def test_fault_batches_of_two_or_three_frames_mistransposed(n):
    truth, prediction, _ = drawn(9, n, 3)
    result = evaluate(truth, prediction)
    alone = [evaluate(truth[i : i + 1], prediction[i : i + 1]) for i in range(n)]
    for name in DISTANCES:
        assert result[name] == pytest.approx(np.mean([one[name] for one in alone]), abs=1e-15)


def test_fault_reflections_allowed():
    truth, _, _ = drawn(10)
    result = evaluate(truth, truth * [1, -1, 1])
    assert min(result["pa_mpjpe"], result["rigid_mpjpe"], result["n_mpjpe"]) > 0.01


def test_pa_mpjpe_may_exceed_mpjpe():
    """One outlier: least squares moves all other joints, which were right."""
    truth = np.array([[[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1.0]]])
    prediction = truth.copy()
    prediction[0, 4] += [0.1, 0, 0]
    result = evaluate(truth, prediction)
    assert result["mpjpe"] == pytest.approx(0.02)
    assert result["pa_mpjpe"] > 0.021


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_laws(seed):
    """The definitions in numpy, on any input; micro is the mean over joints, per-joint means average to it."""
    truth, prediction, rng = drawn(seed, int(generator(seed, "n").integers(1, 9)), 5, 0.2)
    seen = rng.random(truth.shape[:2]) < 0.8
    seen[:, 0] = True
    bones = [(0, 1), (1, 2), (3, 0)]
    result = evaluate(truth, prediction, mask=seen, bones=bones)
    lengths = [[np.linalg.norm(side[:, a] - side[:, b], axis=1) for a, b in bones] for side in (truth, prediction)]
    whole = np.stack([seen[:, a] & seen[:, b] for a, b in bones])
    if whole.any():
        wanted = np.abs(np.array(lengths[1]) - np.array(lengths[0]))[whole].mean()
        assert result["bone_length"] == pytest.approx(wanted, abs=1e-12)
    else:
        assert result["undefined"]["bone_length"] == "no bone has both ends visible"
    distances = np.linalg.norm(prediction - truth, axis=2)
    assert result["mpjpe"] == pytest.approx(distances[seen].mean(), abs=1e-12)
    assert result["root_error"] == pytest.approx(distances[:, 0].mean(), abs=1e-12)
    assert result["median"] == pytest.approx(np.median(distances[seen]), abs=1e-12)
    for percent, value in result["percentiles"].items():
        assert value == pytest.approx(np.percentile(distances[seen], int(percent)), abs=1e-12)
    for limit, share in result["pck"].items():
        assert share == (distances[seen] <= int(limit) / 1000).mean()
    for upto in (150, 200):
        shares = [(distances[seen] <= limit / 1000).mean() for limit in range(0, upto + 1, 5)]
        assert result["auc"][f"0-{upto}"] == pytest.approx(np.mean(shares))
    weights = seen.sum(axis=0)
    shown = [value for value in result["per_joint"] if value is not None]
    assert np.average(shown, weights=weights[weights > 0]) == pytest.approx(result["mpjpe"], abs=1e-12)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"fps": 0}, "fps: expected frames per second above 0"),
        ({"fps": "30"}, "fps"),
        ({"fps": float("nan")}, "fps"),
        ({"bones": [(0, 3)]}, "bones: expected pairs of joints from 0 to 2"),
        ({"bones": [(0, 1, 2)]}, "bones"),
        ({"bones": []}, "bones"),
        ({"bones": [(0, 1), (2,)]}, "bones"),
        ({"sequence": [0]}, "sequence: expected the recording of each of 2 samples"),
        ({"mask": [[True]]}, "mask"),
        ({"pelvis": 3}, "pelvis"),
    ],
)
def test_refusals(change, words):
    with pytest.raises(InputError, match=words):
        evaluate(np.zeros((2, 3, 3)), np.zeros((2, 3, 3)), **change)


@pytest.mark.real
@pytest.mark.skipif("GNOMON_REAL_DATA" not in os.environ, reason="needs GNOMON_REAL_DATA")
def test_fixed_sensor_frame_on_stored_predictions():
    """The figures in millimetres were computed independently: first valid LiDAR camera of a sequence, in file order."""
    with np.load(Path(os.environ["GNOMON_REAL_DATA"]) / "skeleton" / "small.npz", allow_pickle=False) as file:
        stored = {name: file[name] for name in file.files}
    lidar = stored["camera_stream_modalities"].tolist().index("lidar")
    names = ["_".join(name.split("_")[:2]) for name in stored["sample_ids"].tolist()]
    sides = []
    for side in ("gt", "pred"):
        cameras = stored[f"{side}_cameras_stream"][:, lidar].astype(np.float64)
        turns, valid = rotations.from_quaternions(cameras[:, 3:7])
        usable = valid & np.isfinite(cameras[:, :3]).all(axis=1)
        points = np.full(stored["gt_keypoints"].shape, np.nan)
        for name in set(names):
            rows = [i for i, other in enumerate(names) if other == name]
            first = next((i for i in rows if usable[i]), None)
            if first is not None:
                pose = turns[first], cameras[first, :3]
                points[rows] = rotations.transformed(pose, stored[f"{side}_keypoints"][rows].astype(np.float64))
        sides.append(points)
    result = evaluate(*sides)
    assert (result["n"], len(names)) == (199, 240)
    found = [round(result[name] * 1000, 3) for name in ("mpjpe", "pa_mpjpe", "pelvis_mpjpe")]
    assert found == [80.529, 37.093, 62.271]
