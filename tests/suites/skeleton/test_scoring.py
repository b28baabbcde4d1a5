"""Prediction files to scores. Parity figures are those of the format's text; other expectations are worked by hand."""

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import gnomon
from gnomon.core.errors import InputError, NothingScoredError
from gnomon.suites.skeleton import files
from gnomon.suites.skeleton.options import SimulateOptions
from gnomon.suites.skeleton.projection import smooth
from gnomon.suites.skeleton.simulate import simulate

REAL = Path(os.environ.get("GNOMON_REAL_DATA", "")) / "skeleton"


def run(path, **options):
    return gnomon.run("skeleton", pred_file=str(path), out="none", **options)


def scores(result, system=None):
    found = result.scores
    return found[system or next(iter(found))]


def ids_of(result, run_index=0):
    return [finding.id for finding in result.runs[run_index].findings]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("skeleton")
    simulate(SimulateOptions(directory=str(folder), subjects=6, frames=30))
    return folder


@pytest.mark.real
@pytest.mark.skipif(not REAL.is_dir(), reason="needs GNOMON_REAL_DATA")
@pytest.mark.parametrize("name", ["small.npz", "small.pkl"])
@pytest.mark.parametrize("mode", ["seq_lidar_ref", "multi_sensor"])
def test_parity_with_the_published_figures(name, mode):
    """To 0.001 mm, with every dropped sample accounted for."""
    result = run(REAL / name, projection_mode=mode)
    found = {key: round(1000 * scores(result)[key], 3) for key in ("mpjpe", "pa_mpjpe", "pelvis_mpjpe")}
    assert found == {"mpjpe": 80.529, "pa_mpjpe": 37.093, "pelvis_mpjpe": 62.271}
    samples = result.runs[0].coverage["samples"]
    lost = "no reference camera" if mode == "seq_lidar_ref" else "no valid modality"
    assert samples == {"total": 240, "valid": 199, "dropped": {"non-finite keypoints": 1, lost: 40}}


@pytest.mark.real
@pytest.mark.skipif(not REAL.is_dir(), reason="needs GNOMON_REAL_DATA")
def test_strict_differs_on_the_test_file_and_says_why():
    result = run(REAL / "small.npz", variant="both")
    rows = {row["measure"].value: row for row in result.tables["variants"].rows}
    assert rows["mpjpe (mm)"]["gap"].value == pytest.approx(67.989 - 80.529, abs=0.002)
    assert any("own camera" in note for note in result.tables["variants"].notes)
    assert "reference-sensitivity" in ids_of(result)


def test_the_published_lines(data):
    result = run(data / "strong.npz")
    found = scores(result)
    lines = next(item for item in result.items if item.name == "lines").data["lines"]
    samples = result.runs[0].coverage["samples"]
    assert lines == [
        f"[INFO] Valid samples: {samples['valid']}/{samples['total']}",
        f"[RESULT] MPJPE (fixed-sensor frame): {found['mpjpe']:.6f} m ({1000 * found['mpjpe']:.3f} mm)",
        f"[RESULT] PA-MPJPE (fixed-sensor frame): {found['pa_mpjpe']:.6f} m ({1000 * found['pa_mpjpe']:.3f} mm)",
        "[RESULT] MPJPE (fixed-sensor frame, pelvis-centered @ joint 0): "
        f"{found['pelvis_mpjpe']:.6f} m ({1000 * found['pelvis_mpjpe']:.3f} mm)",
    ]
    assert all(line in str(result) for line in lines)


def test_published_fusion_has_no_effect_and_is_reported(data):
    """All four arms of the ablation give the same errors; three say why."""
    result = run(data / "strong.npz", ablation=True)
    values = [scores["mpjpe"] for scores in result.scores.values()]
    assert len(values) == 4
    assert max(values) - min(values) < 1e-12
    found = [(run.system, run.manifest["facts"].get("fusion_effective")) for run in result.runs]
    assert [effective for _, effective in found] == [None, False, False, False]
    assert all("degenerate-fusion" in [f.id for f in run.findings] for run in result.runs[1:])


def test_fusion_under_another_rig_changes_the_result(data, tmp_path):
    calibration = json.loads((data / "calibration.json").read_text())
    options = {"projection_mode": "multi_sensor", "fusion_modalities": "rgb,lidar"}
    published = scores(run(data / "strong.npz", **options))["mpjpe"]
    true = run(data / "strong.npz", **options, rig="file", rig_file=str(data / "calibration.json"))
    moved = np.array(calibration["rgb"])
    moved[:3, 3] += 0.2
    (tmp_path / "moved.json").write_text(json.dumps({"rgb": moved.tolist()}))
    perturbed = run(data / "strong.npz", **options, rig="file", rig_file=str(tmp_path / "moved.json"))
    assert abs(scores(true)["mpjpe"] - published) > 1e-4
    assert scores(perturbed)["mpjpe"] > scores(true)["mpjpe"] + 0.02
    assert perturbed.runs[0].manifest["facts"]["fusion_effective"] is True
    assert "degenerate-fusion" not in ids_of(perturbed)


def test_joints_by_modality_make_fusion_mean_something(data, tmp_path):
    fields = dict(np.load(data / "strong.npz"))
    fields["pred_keypoints_rgb"] = fields["pred_keypoints"] + np.float32(0.1)
    np.savez(tmp_path / "own.npz", **fields)
    result = run(tmp_path / "own.npz", projection_mode="multi_sensor")
    assert result.runs[0].manifest["facts"]["fusion_deviation_m"] > 0.1
    assert "degenerate-fusion" not in ids_of(result)


def test_shuffled_rows_give_equal_scores_where_the_order_of_the_file_does_not_count(data, tmp_path):
    fields = dict(np.load(data / "strong.npz"))
    order = np.random.default_rng(1).permutation(len(fields["sample_ids"]))
    whole = ("camera_stream_modalities", "camera_stream_sensor_indices")
    np.savez(tmp_path / "s.npz", **{k: v if k in whole else v[order] for k, v in fields.items()})
    found, again = (scores(run(path, variant="strict")) for path in (data / "strong.npz", tmp_path / "s.npz"))
    assert {name: again[name] for name in found} == pytest.approx(found, rel=1e-13)


def tiny(path, *, frames=5, move=0.0, unit=1.0, ids=None, error=(0.0, 0.0, 0.1), extra=()):
    """One sequence of still joints; the true camera moves by `move` per frame; the prediction is off by `error`."""
    truth = np.tile(np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0.5]]), (frames, 1, 1)) * unit
    camera = np.zeros((frames, 1, 9))
    camera[:, 0, 2], camera[:, 0, 6] = 3.0, 1.0
    camera[:, 0, 0] = move * np.arange(frames)
    fields = {
        "sample_ids": ids or [f"p1_a1_{i}" for i in range(frames)],
        "gt_keypoints": truth,
        "pred_keypoints": truth + np.array(error) * unit,
        "gt_cameras_stream": camera,
        "pred_cameras_stream": camera,
        "camera_stream_modalities": ["lidar"],
        "camera_stream_sensor_indices": [0],
    }
    files.write(path, {**fields, **dict(extra)})
    return path


def test_a_small_file_by_hand(tmp_path):
    found = scores(run(tiny(tmp_path / "t.npz")))
    assert found["mpjpe"] == pytest.approx(0.1)
    assert found["pelvis_mpjpe"] == pytest.approx(0, abs=1e-12)
    assert found["pck@100"] == 1.0
    assert found["pck@50"] == 0.0
    assert ids_of(run(tiny(tmp_path / "t.npz"))) == []


def test_systems_that_lose_different_samples_are_compared_on_the_other_sequences(tmp_path):
    """Four sequences of five frames; the second system has no joints in one frame of the last."""
    ids = [f"p{person}_a1_{frame}" for person in range(1, 5) for frame in range(5)]
    paths = [tmp_path / "one.npz", tmp_path / "two.npz"]
    for path, size in zip(paths, (0.1, 0.2), strict=True):
        tiny(path, frames=20, ids=ids, error=(0.0, 0.0, size))
    fields = dict(np.load(paths[1], allow_pickle=False))
    fields["pred_keypoints"][17] = np.nan
    files.write(paths[1], fields)
    runs = [gnomon.run("skeleton", pred_file=str(path), out="none").runs[0] for path in paths]
    assert [one.coverage["samples"]["valid"] for one in runs] == [20, 19]
    result = gnomon.compare(*runs, metrics="mpjpe")
    table = result.tables["comparison"]
    assert table.title == "paired comparison on 3 of 4 cases"
    assert "was not scored in full by two" in table.notes[0]
    assert table.rows[0]["groups"].value == 3
    assert "coverage-differs" in [finding.id for finding in result.runs[0].findings]


@pytest.mark.parametrize("shards", [False, True])
@pytest.mark.parametrize(("lost", "cases"), [((7, 17), 2), ((15, 17), 3), ((17, 17), 4)])
def test_systems_that_lose_as_many_samples_need_not_lose_the_same(tmp_path, lost, cases, shards):
    """Four sequences of five frames; each system has no joints in one frame: of two sequences, of one, the same one."""
    ids = [f"p{person}_a1_{frame}" for person in range(1, 5) for frame in range(5)]
    paths = [tmp_path / name for name in ("one", "two")]
    for path, row, size in zip(paths, lost, (0.1, 0.2), strict=True):
        path.mkdir()
        halves = [slice(0, 10), slice(10, 20)] if shards else [slice(0, 20)]
        for number, half in enumerate(halves):
            own = ids[half]
            tiny(path / f"{number}.npz", frames=len(own), ids=own, error=(0.0, 0.0, size))
            fields = dict(np.load(path / f"{number}.npz", allow_pickle=False))
            if half.start <= row < half.stop:
                fields["pred_keypoints"][row - half.start] = np.nan
            files.write(path / f"{number}.npz", fields)
    given = [path if shards else path / "0.npz" for path in paths]
    runs = [
        gnomon.run("skeleton", pred_file=f"{path.name}={at}", out="none").runs[0]
        for path, at in zip(paths, given, strict=True)
    ]
    assert [one.coverage["samples"]["valid"] for one in runs] == [19, 19]
    result = gnomon.compare(*runs, metrics="mpjpe")
    assert result.tables["comparison"].rows[0]["groups"].value == cases
    assert ("coverage-differs" in [finding.id for finding in result.runs[0].findings]) == (cases < 4)


@pytest.mark.parametrize(
    ("planted", "options", "finding"),
    [
        ({"move": 0.05}, {}, "moving-true-cameras"),
        ({}, {"smooth_window": 3, "smooth_on": "both"}, "smoothed-truth"),
        ({"ids": ["p1_a1_0", "p1_a1_1", "p1_a1_1", "p1_a1_2", "p1_a1_3"]}, {}, "merged-sequences"),
    ],
)
def test_every_finding_is_found_and_its_clean_twin_is_not(tmp_path, planted, options, finding):
    assert finding in ids_of(run(tiny(tmp_path / "bad.npz", **planted), **options))
    assert finding not in ids_of(run(tiny(tmp_path / "good.npz")))


def test_a_prediction_of_an_odd_size_is_scored_with_a_finding(tmp_path):
    """Bodies of 15 m where the true ones measure 1 m are in no other unit: a bad system."""
    truth = np.tile(np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0.5]]), (5, 1, 1))
    result = run(tiny(tmp_path / "t.npz", extra=[("pred_keypoints", 15 * truth)]))
    assert scores(result)["mpjpe"] > 10
    (finding,) = [f for f in result.runs[0].findings if f.id == "suspicious-units"]
    assert "truth 1 and 1; prediction 15 and 15" in finding.evidence


@pytest.mark.parametrize("shards", [False, True])
@pytest.mark.parametrize(("unit", "factor", "guess"), [("mm", 1000, "millimetres (1 m)"), ("cm", 100, "centimetres")])
def test_bodies_in_another_unit_are_refused_and_converted_on_demand(tmp_path, shards, unit, factor, guess):
    usual = scores(run(tiny(tmp_path / "m.npz", move=0.05)))
    fields = dict(np.load(tmp_path / "m.npz"))
    for name in ("gt_keypoints", "pred_keypoints"):
        fields[name] = fields[name] * factor
    for name in ("gt_cameras_stream", "pred_cameras_stream"):
        fields[name][..., :3] *= factor
    (tmp_path / "in").mkdir()
    np.savez(tmp_path / "in" / "other.npz", **fields)
    path = tmp_path / "in" if shards else tmp_path / "in" / "other.npz"
    with pytest.raises(InputError, match=rf"gt_keypoints: median body extent {factor} m \(5 poses\)") as caught:
        run(path)
    assert guess in str(caught.value)
    assert f"--unit {unit}" in str(caught.value)
    assert scores(run(path, unit=unit)) == pytest.approx(usual)


@pytest.mark.parametrize("factor", [0.002, 6])
def test_metres_that_are_asked_for_are_obeyed_with_a_finding(tmp_path, factor):
    path = tiny(tmp_path / "t.npz", unit=factor)
    with pytest.raises(InputError, match=r"expected 0.01 to 5 m.*; --unit m insists on metres"):
        run(path)
    result = run(path, unit="m")
    assert scores(result)["mpjpe"] == pytest.approx(0.1 * factor)
    assert "suspicious-units" in ids_of(result)


@pytest.mark.parametrize("shards", [False, True])
@pytest.mark.parametrize(
    ("sides", "said"),
    [
        (("gt", "pred"), r"gt_cameras_stream: true joints are 3000 m from the sensor lidar .*expected at most 200 m"),
        (("pred",), r"pred_cameras_stream: predicted joints are 3000 m from the sensor lidar .* true ones 3\.\d+ m"),
    ],
)
def test_cameras_in_millimetres_beside_joints_in_metres_are_refused(tmp_path, sides, said, shards):
    (tmp_path / "in").mkdir()
    path = tiny(tmp_path / "in" / "t.npz")
    fields = dict(np.load(path))
    for side in sides:
        fields[f"{side}_cameras_stream"][..., :3] *= 1000
    np.savez(path, **fields)
    with pytest.raises(gnomon.GnomonError, match=said):
        run(path.parent if shards else path)


@pytest.mark.parametrize("factor", [1000, 100, 0.01, 0.001])
def test_a_prediction_in_another_unit_than_the_truth_is_refused(tmp_path, factor):
    truth = np.tile(np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0.5]]), (5, 1, 1))
    times = f"{factor if factor > 1 else 1 / factor:g} times as {'large' if factor > 1 else 'small'}"
    with pytest.raises(InputError, match=f"pred_keypoints: .*{times}"):
        run(tiny(tmp_path / "t.npz", extra=[("pred_keypoints", factor * truth)]))


def test_references_from_different_frames_are_found(tmp_path):
    cameras = np.zeros((5, 1, 9))
    cameras[:, 0, 6] = 1.0
    cameras[0] = np.nan
    result = run(tiny(tmp_path / "t.npz", extra=[("pred_cameras_stream", cameras)]))
    assert "references-apart" in ids_of(result)


def test_moving_cameras_take_the_claim_of_a_fixed_sensor_away(tmp_path):
    moving = run(tiny(tmp_path / "t.npz", move=0.05)).runs[0]
    still = run(tiny(tmp_path / "s.npz")).runs[0]
    assert {v.id: v.supported for v in moving.verdicts}["fixed-sensor"] is False
    assert {v.id: v.supported for v in still.verdicts}["fixed-sensor"] is True


def test_reference_frames_by_hand(tmp_path):
    """The prediction's first camera is 0.3 m off, the others are right: all frames inherit it under `first`."""
    cameras = np.zeros((5, 1, 9))
    cameras[:, 0, 2], cameras[:, 0, 6] = 3.0, 1.0
    cameras[0, 0, 0] = 0.3
    path = tiny(tmp_path / "t.npz", error=(0, 0, 0), extra=[("pred_cameras_stream", cameras)])
    found = {kind: scores(run(path, reference=kind))["mpjpe"] for kind in ("first", "medoid", "mean", "per_frame")}
    assert found == pytest.approx({"first": 0.3, "medoid": 0.0, "mean": 0.06, "per_frame": 0.06}, abs=1e-9)


def test_rotated_cameras_split_the_error(tmp_path):
    """A camera turned by 10 degrees about the pelvis costs rotation alone: pelvis-centred sees it, PA does not."""
    turn = Rotation.from_euler("z", 10, degrees=True).as_quat()
    cameras = np.zeros((5, 1, 9))
    cameras[:, 0, 2], cameras[:, 0, 3:7] = 3.0, turn
    path = tiny(tmp_path / "t.npz", error=(0, 0, 0), extra=[("pred_cameras_stream", cameras)])
    result = run(path)
    row = result.tables["parts"].rows[0]
    assert row["translation"].value == pytest.approx(0, abs=1e-9)
    assert row["shape"].value == pytest.approx(0, abs=1e-9)
    chords = 2 * np.sin(np.radians(5)) * np.array([0, 1, 1, np.sqrt(2)])
    assert row["rotation"].value == pytest.approx(1000 * chords.mean())
    assert result.tables["cameras"].rows[0]["rotation"].value == pytest.approx(10)


def test_smoothing_is_cut_at_the_ends_and_between_sequences():
    """By hand: windows of 3 over 0, 3, 6 and over 100, 110."""
    values = np.array([0, 3, 6, 100, 110], dtype=float).reshape(5, 1, 1) * np.ones((5, 1, 3))
    found = smooth(values, np.array([0, 0, 0, 1, 1]), 3)
    assert found[:, 0, 0].tolist() == [1.5, 3.0, 4.5, 105.0, 105.0]


def test_smoothing_is_in_the_order_of_frames(tmp_path):
    """Frames 9 and 10 are written as text sorts them: 10 first. The prediction is right but for a jump at frame 10."""
    ids = ["p1_a1_10", "p1_a1_8", "p1_a1_9"]
    joints = np.zeros((3, 4, 3))
    joints[:, :, 2] = np.arange(4)
    pred = joints.copy()
    pred[0, :, 0] = 0.3
    extra = [("gt_keypoints", joints), ("pred_keypoints", pred)]
    result = run(tiny(tmp_path / "t.npz", frames=3, ids=ids, extra=extra), smooth_window=3)
    assert scores(result)["mpjpe"] == pytest.approx((0.15 + 0.1 + 0.0) / 3)


def test_a_pair_of_joints_as_pelvis(tmp_path):
    """Joint 0 is off by 0.2 along x, joint 1 is right: their middle is off by 0.1, and so are all after alignment."""
    joints = np.zeros((2, 2, 3))
    joints[:, 1, 1] = 1.0
    pred = joints.copy()
    pred[:, 0, 0] = 0.2
    extra = [("gt_keypoints", joints), ("pred_keypoints", pred)]
    path = tiny(tmp_path / "t.npz", frames=2, extra=extra)
    assert scores(run(path, pelvis_index="0,1"))["root_error"] == pytest.approx(0.1)
    assert scores(run(path, pelvis_index="0,1"))["pelvis_mpjpe"] == pytest.approx(0.1)
    assert scores(run(path, pelvis_index="1"))["root_error"] == pytest.approx(0.0)


def test_movement_by_hand(tmp_path):
    """The prediction drifts by 0.01 m per frame along x, frames are 2 numbers apart at 10 per second: 0.05 m/s."""
    joints = np.zeros((6, 4, 3))
    joints[:, :, 2] = np.arange(4)
    pred = joints.copy()
    pred[:, :, 0] = 0.01 * np.arange(6)[:, np.newaxis]
    extra = [("gt_keypoints", joints), ("pred_keypoints", pred)]
    ids = [f"p1_a1_{2 * i}" for i in range(6)]
    path = tiny(tmp_path / "t.npz", frames=6, ids=ids, extra=extra)
    row = run(path, fps=10.0).tables["distribution"].rows[0]
    assert row["velocity"].value == pytest.approx(0.05)
    assert row["acceleration"].value == pytest.approx(0, abs=1e-12)
    assert run(path).tables["distribution"].rows[0]["velocity"].value == pytest.approx(0.005)


def test_dropped_frames_break_the_chain(tmp_path):
    """Of six frames the third is NaN: two chains of 2 and 3 frames, so three first differences in all."""
    joints = np.zeros((6, 4, 3))
    joints[:, :, 2] = np.arange(4)
    pred = joints.copy()
    pred[:, :, 0] = np.array([0, 0.01, np.nan, 0.5, 0.52, 0.55])[:, np.newaxis]
    extra = [("gt_keypoints", joints), ("pred_keypoints", pred)]
    row = run(tiny(tmp_path / "t.npz", frames=6, extra=extra)).tables["distribution"].rows[0]
    assert row["velocity"].value == pytest.approx((0.01 + 0.02 + 0.03) / 3)


def test_bones(tmp_path):
    """The prediction is stretched by a tenth: bones of 1 m are 0.1 m too long."""
    truth = np.tile(np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0.5]]), (5, 1, 1))
    path = tiny(tmp_path / "t.npz", extra=[("pred_keypoints", 1.1 * truth)])
    assert run(path, bones="0-1,0-2").tables["distribution"].rows[0]["bone_length"].value == pytest.approx(100)


def test_groups_and_slices(data):
    result = run(data / "strong.npz")
    roster = result.runs[0].roster
    assert roster.level == "subject"
    assert {"action=a000001", "action=a000002"} <= {s.slice for s in result.runs[0].scores}
    other = run(data / "strong.npz", group_by=r"(?P<sequence>p\d+)")
    assert other.runs[0].roster.level == "sequence"
    assert "merged-sequences" in ids_of(other)


def test_without_ids_there_is_one_sequence(tmp_path):
    fields = dict(np.load(tiny(tmp_path / "t.npz")))
    del fields["sample_ids"]
    np.savez(tmp_path / "none.npz", **fields)
    result = run(tmp_path / "none.npz")
    assert result.runs[0].roster.ids == ("all",)
    assert result.runs[0].find("mpjpe").interval_why == "undefined (1 sequence)"


def test_a_file_without_one_usable_sample_is_an_error_that_says_why(tmp_path):
    cameras = np.full((5, 1, 9), np.nan)
    path = tiny(tmp_path / "t.npz", extra=[("gt_cameras_stream", cameras)])
    with pytest.raises(NothingScoredError, match=r"'t': all 5 samples were dropped: 5 no reference camera; .*gt lidar"):
        run(path)
    beside = gnomon.run("skeleton", pred_file=(str(path), f"good={tiny(tmp_path / 's.npz')}"), out="none")
    assert list(beside.unscored) == ["t"]
    lost = next(run for run in beside.runs if run.system == "t")
    assert lost.find("mpjpe").value is None
    assert lost.coverage["samples"]["dropped"] == {"no reference camera": 5}
    assert "[RESULT] MPJPE (fixed-sensor frame): undefined" in str(beside)


@pytest.mark.parametrize("far", [1e37, 1e100, 9e149])
def test_joints_that_are_absurdly_far_away_are_scored(tmp_path, far):
    """By hand: one of two joints of all samples is so far off, and the errors of joints are summed up in float32."""
    joints = np.zeros((4, 2, 3))
    joints[:, 1, 0] = 1.0
    said = joints.copy()
    said[:, 1, 0] = far
    cameras = np.tile([0.0, 0, 0, 0, 0, 0, 1, 1, 1], (4, 1, 1))
    fields = {"pred_keypoints": said, "gt_keypoints": joints, "sample_ids": [f"p1_a1_{k}" for k in range(4)]}
    fields |= {"pred_cameras_stream": cameras, "gt_cameras_stream": cameras}
    fields |= {"camera_stream_modalities": ["lidar"], "camera_stream_sensor_indices": [0]}
    files.write(tmp_path / "far.npz", fields)
    found = run(tmp_path / "far.npz")
    assert scores(found)["mpjpe"] == pytest.approx(far / 2)
    summary = json.dumps(found.runs[0].manifest["facts"], allow_nan=False)
    assert "3.4028" in summary or far < 1e38


def test_a_window_longer_than_a_sequence(tmp_path):
    """The mean of everything: errors of 0.1 stay 0.1."""
    assert scores(run(tiny(tmp_path / "t.npz"), smooth_window=999))["mpjpe"] == pytest.approx(0.1)


def test_people_without_samples_are_no_evidence(data, tmp_path):
    """Without cameras of one person there are as many groups as without that person."""
    fields = dict(np.load(data / "strong.npz"))
    gone = np.array([name.startswith("p000001") for name in fields["sample_ids"]])
    fields["gt_cameras_stream"] = np.where(gone[:, None, None], np.nan, fields["gt_cameras_stream"])
    np.savez(tmp_path / "blind.npz", **fields)
    whole = ("camera_stream_modalities", "camera_stream_sensor_indices")
    np.savez(tmp_path / "fewer.npz", **{k: v if k in whole else v[~gone] for k, v in fields.items()})
    blind, fewer = (run(tmp_path / f"{name}.npz").runs[0] for name in ("blind", "fewer"))
    assert blind.manifest["facts"]["groups"] == fewer.manifest["facts"]["groups"] == 5
    for name in ("value", "low", "high", "groups"):
        assert getattr(blind.find("mpjpe"), name) == pytest.approx(getattr(fewer.find("mpjpe"), name))
    assert not {v.id: v.supported for v in blind.verdicts}["new-people"]


def test_ids_that_do_not_tell_sequences_apart_are_found(tmp_path):
    result = run(tiny(tmp_path / "t.npz", frames=8, ids=[f"seq_{i}" for i in range(8)]))
    assert "one-sample-sequences" in ids_of(result)
    assert not {v.id: v.supported for v in result.runs[0].verdicts}["new-people"]


def test_truth_stored_otherwise_is_the_same_truth(data, tmp_path):
    fields = dict(np.load(data / "strong.npz"))
    for name in ("pred_keypoints", "gt_keypoints", "gt_cameras_stream"):
        fields[name] = fields[name].astype(np.float64)
    np.savez(tmp_path / "wide.npz", **fields)
    both = gnomon.run("skeleton", pred_file=(f"a={data / 'strong.npz'}", f"b={tmp_path / 'wide.npz'}"), out="none")
    assert "comparison" in both.tables


def test_runs_with_another_target_are_not_compared(data, tmp_path):
    for options in ({}, {"reference": "mean"}, {"smooth_window": 3, "smooth_on": "gt"}):
        gnomon.run("skeleton", pred_file=str(data / "strong.npz"), out=tmp_path, **options)
    with pytest.raises(InputError, match="different protocols"):
        gnomon.compare(tmp_path)


def test_the_ablation_keeps_its_order_and_its_target(data):
    result = run(data / "strong.npz", ablation=True, target_modality="rgb")
    rows = [row["system"].value for row in result.tables["scores"].rows]
    assert rows[0] == "strong: seq_lidar_ref" or len(rows) < 4
    modes = {run.system: run.manifest["facts"]["settings"]["target_modality"] for run in result.runs}
    assert sorted(modes.values()) == ["lidar", "rgb", "rgb", "rgb"]


@pytest.mark.parametrize(
    "options",
    [{"sensor_index_by_modality": "lidar:3"}, {"projection_mode": "multi_sensor", "target_modality": "depth"}],
)
def test_what_was_looked_for_and_not_found_is_named(data, options):
    with pytest.raises(NothingScoredError, match=r"no usable camera of .*; the file names 'lidar', 'rgb'"):
        run(data / "strong.npz", **options)


@pytest.mark.parametrize("rig", ["gt", "robust"])
def test_rigs_that_mean_something(data, rig):
    result = run(data / "strong.npz", projection_mode="multi_sensor", rig=rig, variant="strict")
    assert result.runs[0].manifest["facts"]["fusion_effective"] is True
    assert ("true-calibration" in ids_of(result)) == (rig == "gt")


def test_nobody_above_the_gate_leaves_the_best():
    from gnomon.suites.skeleton import fusion

    parts = [np.zeros((1, 2, 3)), np.ones((1, 2, 3))]
    weighing = fusion.Weighing("hard_gate", "temporal", gate=1.5)
    found = fusion.fuse(parts, np.ones((2, 1), bool), 1, np.array([[0.5], [0.9]]), weighing)
    assert found.joints.tolist() == np.ones((1, 2, 3)).tolist()


def test_runs_are_published_verified_and_read_back(data, tmp_path):
    result = gnomon.score("skeleton", pred_file=str(data / "weak.npz"), out=tmp_path, variant="both", fps=30.0)
    assert all(check.passed for run in result.runs for check in gnomon.verify(run.path))
    again = gnomon.load(tmp_path)
    for name in ("joints", "settings", "distribution", "samples"):
        assert again.tables[name] == result.tables[name]
    assert str(again).count("[RESULT]") == 6


def test_two_systems_are_compared(data):
    both = gnomon.run("skeleton", pred_file=(f"a={data / 'strong.npz'}", f"b={data / 'weak.npz'}"), out="none")
    row = both.tables["comparison"].rows[0]
    assert (row["a"].value, row["b"].value) == ("a", "b")
    assert row["difference"].value < 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"smooth_window": 4}, "odd number"),
        ({"pelvis_index": "99"}, "expected a joint from 0 to 3"),
        ({"pelvis_index": "0,1,2"}, "two of them as A,B"),
        ({"sensor_index_by_modality": "lidar"}, "MODALITY:NUMBER"),
        ({"fusion_modalities": ","}, "at least one modality"),
        ({"projection_mode": "multi_sensor", "rig": "file"}, "--rig-file"),
        ({"projection_mode": "multi_sensor", "rig_file": "x.json"}, "give --rig file"),
        ({"rig": "gt"}, "--rig means nothing in seq_lidar_ref"),
        ({"target_modality": "rgb"}, "--target-modality means nothing"),
        ({"joint_names": "a,a,b,c"}, "distinct names"),
        ({"fps": float("inf")}, "frames per second"),
        ({"joint_names": "a,b"}, "2 names, but"),
        ({"bones": "0-9"}, "expected two joints below 4"),
        ({"gt_keypoints_key": "other"}, "no field 'other'"),
    ],
)
def test_bad_options_are_named(tmp_path, options, words):
    with pytest.raises(InputError, match=words):
        run(tiny(tmp_path / "t.npz"), **options)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "expected an object"),
        ('{"rgb": [1, 2]}', "4 x 4"),
        ('{"rgb": {"rotation": [[2,0,0],[0,1,0],[0,0,1]], "translation": [0,0,0]}}', "not a rigid motion"),
        ('{"sequences": 3}', "sequences"),
        ("{}", "no calibration of 'rgb'"),
    ],
)
def test_bad_calibrations_are_named(data, tmp_path, text, words):
    (tmp_path / "rig.json").write_text(text)
    with pytest.raises(InputError, match=words):
        run(data / "strong.npz", projection_mode="multi_sensor", rig="file", rig_file=str(tmp_path / "rig.json"))


def test_settings_are_complete(data):
    """What the text asks to be reported, resolved, in the table and in the record."""
    result = run(
        data / "strong.npz", projection_mode="multi_sensor", fusion_mode="weighted", reliability_source="hybrid"
    )
    rows = {row["setting"].value: row for row in result.tables["settings"].rows}
    wanted = (
        "projection_mode target_modality fusion_modalities fusion_mode reliability_source tau_cross tau_t tau_r "
        "hard_gate_ratio smooth_window smooth_on rig reference"
    )
    assert set(wanted.split()) <= set(rows)
    record = result.runs[0].manifest["options"]["resolved"]
    assert (record["tau_cross"], record["reliability_source"], record["rig"]) == (0.05, "hybrid", "pred")


def test_strict_never_smooths_the_truth(data):
    from gnomon.suites.skeleton.options import ScoreOptions
    from gnomon.suites.skeleton.settings import resolve_settings

    asked = ScoreOptions(pred_file=("x",), smooth_window=3, smooth_on="both")
    assert resolve_settings(asked, "published").smoothed == "both"
    assert resolve_settings(asked, "strict").smoothed == "pred"
    assert resolve_settings(replace(asked, smooth_on="gt"), "strict").smoothed == "none"
