"""Simulated people, sensors and systems have the promised properties. Expected values are stated here by hand or found
by other means: finite differences, matrices multiplied out, scipy's rotations, scores from the definition."""

import itertools
import json
import runpy
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.core.options import build
from gnomon.simulation.body import SMPL, draw_body, draw_height
from gnomon.suites.skeleton import calibration, files, sequences
from gnomon.suites.skeleton.fusion import Weighing
from gnomon.suites.skeleton.options import SimulateOptions, TemplateOptions
from gnomon.suites.skeleton.poses import Poses, spread
from gnomon.suites.skeleton.projection import Projector
from gnomon.suites.skeleton.settings import Settings
from gnomon.suites.skeleton.simulate import follows, simulate
from gnomon.suites.skeleton.simulation import systems
from gnomon.suites.skeleton.simulation.motions import ACTIONS
from gnomon.suites.skeleton.template import template

FPS = 30.0
INDEX = SMPL.index


def options(folder, **changes):
    return build(SimulateOptions, {"directory": str(folder), **changes})


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The data of the default size, read back."""
    paths = simulate(options(tmp_path_factory.mktemp("default")))
    read = {path.stem: files.read(path) for path in paths[:2]}
    strong = read["strong"]
    return paths, read, sequences.find(strong.ids, len(strong))


def takes(found):
    """Rows of every sequence by frame, with the numbers of its person and action."""
    order = found.order()
    codes = found.codes[order]
    for code, named in enumerate(found.named):
        yield int(named.subject[1:]), int(named.action[1:]), order[codes == code]


def cameras(file, side):
    return {name: Poses.decode(file.cameras[side].stream(name, 0)) for name in ("rgb", "lidar")}


def test_files_have_the_format_of_real_ones(made):
    paths, read, found = made
    assert [path.name for path in paths] == ["strong.npz", "weak.npz", "calibration.json"]
    with np.load(paths[0], allow_pickle=False) as held:
        kinds = {name: (held[name].dtype.kind, held[name].dtype.itemsize, held[name].shape) for name in held.files}
        assert held["sample_ids"].tolist() == sorted(held["sample_ids"].tolist())
        assert "p000003_a000002_rgb_kinect_000_depth_kinect_000_65" in held["sample_ids"]
        assert held["camera_stream_modalities"].tolist() == ["rgb", "lidar"]
        assert held["camera_stream_sensor_indices"].tolist() == [0, 0]
    n = 8 * 3 * 120
    for side in ("pred", "gt"):
        assert kinds[f"{side}_keypoints"] == ("f", 4, (n, 24, 3))
        assert kinds[f"{side}_cameras_stream"] == ("f", 4, (n, 2, 9))
    assert len(found.named) == 24
    assert (np.diff(found.frames[:12]) == [1, 9, 90, 1, 1, 1, 1, 1, 1, 1, 1]).all()  # 0 1 10 100 101 ...
    assert all(found.frames[rows].tolist() == list(range(120)) for _, _, rows in takes(found))
    assert np.array_equal(read["strong"].truth, read["weak"].truth)
    assert np.array_equal(*(read[name].cameras["gt"].values for name in read))


def test_bones_keep_their_length(made):
    """The file holds float32; the body behind it is exact."""
    _, read, found = made
    for _, rows in itertools.groupby(takes(found), key=lambda take: take[0]):
        joints = read["strong"].truth[np.concatenate([take[2] for take in rows])].astype(np.float64)
        for joint, parent in SMPL.bones:
            assert np.ptp(np.linalg.norm(joints[:, joint] - joints[:, parent], axis=1)) < 1e-6


def room_joints(action, seed, frames=120):
    rng = np.random.default_rng(seed)
    person = draw_body(rng, SMPL, draw_height(rng))
    return person, ACTIONS[action](person, np.arange(frames) / FPS, rng).joints


@pytest.mark.parametrize("action", ACTIONS)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_bodies_move_like_people(action, seed):
    """Bones exact, nobody below the floor or beyond a person's speed, smooth: bounds from captures of walking people,
    whose joints reach 3.6 m/s at a speed of 0.95 m/s and 95 % of whose accelerations are below 12 m/s^2."""
    person, joints = room_joints(action, seed)
    for joint, parent in SMPL.bones:
        lengths = np.linalg.norm(joints[:, joint] - joints[:, parent], axis=1)
        assert np.abs(lengths - np.linalg.norm(person.offsets[joint])).max() < 1e-12
    assert joints[:, :, 1].min() > 0
    assert joints[:, :, 1].max() < 1.35 * person.height
    speeds = np.linalg.norm(np.diff(joints, axis=0), axis=2) * FPS
    assert speeds.max() < 6
    assert np.percentile(np.linalg.norm(np.diff(joints, 2, axis=0), axis=2) * FPS**2, 95) < 25
    assert np.abs(joints[..., [0, 2]]).max() < 2.6


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_walking_is_a_gait(seed):
    """The pelvis covers 0.8 to 1.8 m/s, knees bend backwards only, a foot in the middle of its stance stands still."""
    person, joints = room_joints("walking", seed)
    path = joints[:, 0, [0, 2]]
    speed = np.linalg.norm(np.diff(path, axis=0), axis=1).mean() * FPS
    assert 0.8 < speed < 1.8
    assert 0.03 < np.ptp(joints[:, 0, 1]) < 0.07
    forward = np.gradient(path, axis=0)
    for side in ("left", "right"):
        hip, knee, ankle, foot = (joints[:, INDEX[f"{side}_{part}"]] for part in ("hip", "knee", "ankle", "foot"))
        ahead = ((knee - (hip + ankle) / 2)[:, [0, 2]] * forward).sum(axis=1)
        assert ahead.min() > 0
        low = foot[:, 1] < foot[:, 1].min() + 0.003
        flat = low & (ankle[:, 1] < person.ankle + 0.004)
        still = np.flatnonzero(flat[:-1] & flat[1:])
        assert len(still) > 10
        assert np.linalg.norm(np.diff(foot, axis=0)[still], axis=1).max() * FPS < 0.15


@pytest.mark.parametrize("action", ["sitting", "reaching"])
def test_feet_stay_where_they_are(action):
    for seed in range(10):
        person, joints = room_joints(action, seed)
        feet = joints[:, [INDEX[f"{side}_{part}"] for side in ("left", "right") for part in ("ankle", "foot")]]
        assert np.ptp(feet, axis=0).max() < 1e-12
        assert np.allclose(feet[:, [0, 2], 1], person.ankle)
        drop = np.ptp(joints[:, 0, 1])
        assert 0.3 < drop < 0.55 if action == "sitting" else drop < 0.1


def test_calibration_is_the_true_rig_of_every_sample(made):
    paths, read, found = made
    seen = cameras(read["strong"], "gt")
    assert all(poses.ok.all() for poses in seen.values())
    rig = np.array(json.loads(paths[2].read_bytes())["rgb"])
    whole = {name: np.tile(np.eye(4), (len(poses), 1, 1)) for name, poses in seen.items()}
    for name, poses in seen.items():
        whole[name][:, :3, :3], whole[name][:, :3, 3] = poses.rotations, poses.translations
    assert np.abs(whole["lidar"] @ np.linalg.inv(whole["rgb"]) - rig).max() < 5e-6
    assert 0.3 < np.linalg.norm(rig[:3, 3]) < 1
    read_back = calibration.read(paths[2]).of("rgb", [named.sequence for named in found.named])
    assert np.array_equal(read_back.translations, np.tile(rig[:3, 3], (24, 1)))


def test_true_cameras_move_where_the_frame_follows_the_person_only(made):
    _, read, found = made
    for name, poses in cameras(read["strong"], "gt").items():
        metres, degrees = spread(poses, found.codes, len(found.named))
        for subject, action, rows in takes(found):
            code = found.codes[rows[0]]
            if follows(subject, action):
                assert metres[code] > 0.03, name
                assert degrees[code] > 30 if action == 1 else degrees[code] < 1e-3
                assert np.abs(read["strong"].truth[rows, 0]).max() < 1e-12
            else:
                assert max(metres[code], degrees[code]) < 1e-4, name
    kinds = {(action, follows(subject, action)) for subject, action, _ in takes(found)}
    assert len(kinds) == 6


def test_people_are_in_front_of_both_sensors_and_stand_upright(made):
    """Depth is z; a camera's y points down, so that heads are above feet in every frame of every action."""
    _, read, _ = made
    for poses in cameras(read["strong"], "gt").values():
        seen = poses.project(read["strong"].truth)
        assert seen[..., 2].min() > 1.5
        assert seen[..., 2].max() < 9
        assert (seen[:, INDEX["head"], 1] < seen[:, INDEX["left_ankle"], 1]).all()
        angle = np.arctan2(np.abs(seen[..., 0]), seen[..., 2])
        assert np.percentile(angle, 95) < 0.6


def test_equal_seeds_give_equal_bytes(tmp_path):
    small = {"subjects": 2, "frames": 20}
    first = simulate(options(tmp_path / "a", **small))
    again = simulate(options(tmp_path / "b", **small))
    other = simulate(options(tmp_path / "c", **small, seed=1))
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in again]
    assert all(a.read_bytes() != b.read_bytes() for a, b in zip(first, other, strict=True))
    with zipfile.ZipFile(first[0]) as archive:  # no clock in it
        assert {item.date_time for item in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_the_smallest_and_odd_sizes_can_be_made(tmp_path):
    for fps, frames in ((1.0, 2), (240.0, 3)):
        paths = simulate(options(tmp_path / str(fps), subjects=1, frames=frames, fps=fps))
        assert len(files.read(paths[0])) == 3 * frames


def counted(file):
    streams = {name: file.cameras["pred"].stream(name, 0) for name in ("rgb", "lidar")}
    both = np.stack(list(streams.values()))
    lengths = np.linalg.norm(both[..., 3:7], axis=-1)
    lidar = Poses.decode(streams["lidar"]).ok
    return {
        "NaN joints": int(np.isnan(file.prediction).any(axis=(1, 2)).sum()),
        "NaN cameras": int(np.isnan(both).all(axis=-1).sum()),
        "infinite cameras": int(np.isinf(both).any(axis=-1).sum()),
        "zero quaternions": int((lengths == 0).sum()),
        "not of length 1": int((np.abs(lengths - 1) > 0.01).sum()),
        "NaN fields of view": int(
            (np.isnan(both[..., 7:]).all(axis=-1) & np.isfinite(both[..., :7]).all(axis=-1)).sum()
        ),
        "lidar samples lost": int((~lidar).sum()),
    }


def test_quaternions_change_sign_and_length_on_both_sides(made):
    """From frame to frame a camera turns by a few degrees at most, so that a negative product is a change of sign."""
    _, read, found = made
    for side in ("pred", "gt"):
        values = read["strong"].cameras[side].stream("rgb", 0)[found.order(), 3:7].astype(np.float64)
        values = values[np.isfinite(values).all(axis=1) & (np.linalg.norm(values, axis=1) > 0)]
        lengths = np.linalg.norm(values, axis=1)
        flips = ((values[1:] * values[:-1]).sum(axis=1) < 0).mean()
        assert 0.3 < flips < 0.55  # 2 * 0.3 * 0.7
        assert 0.05 < (np.abs(lengths - 1) > 1e-3).mean() < 0.15
        assert lengths.min() > 0.4 or side == "pred"


def wild(file):
    """Cameras that are more than 30 degrees from the true ones."""
    total = 0
    for name in ("rgb", "lidar"):
        pred, true = (cameras(file, side)[name] for side in ("pred", "gt"))
        cosine = (np.einsum("kij,kij->k", pred.rotations, true.rotations) - 1) / 2
        total += int((pred.ok & (cosine < np.cos(np.radians(30)))).sum())
    return total


def confused(file):
    """Samples in which a pair of ankles or wrists, far apart, is nearer to the truth when exchanged."""
    swapped = np.zeros(len(file), dtype=bool)
    for part in ("ankle", "wrist"):
        left, right = INDEX[f"left_{part}"], INDEX[f"right_{part}"]
        straight = file.prediction[:, [left, right]] - file.truth[:, [left, right]]
        crossed = file.prediction[:, [right, left]] - file.truth[:, [left, right]]
        swapped |= np.linalg.norm(crossed, axis=2).sum(axis=1) < 0.5 * np.linalg.norm(straight, axis=2).sum(axis=1)
    return int(swapped.sum())


def test_every_defect_is_planted_and_weak_has_more(made):
    _, read, found = made
    strong, weak = counted(read["strong"]), counted(read["weak"])
    assert min(strong.values()) > 0, strong
    for name in ("NaN joints", "NaN cameras", "lidar samples lost"):
        assert weak[name] > strong[name]
    for count in (wild, confused):
        assert 0 < count(read["strong"]) < count(read["weak"])
    silent = {}
    for name, file in read.items():
        lidar = cameras(file, "pred")["lidar"].ok
        silent[name] = {(subject, action) for subject, action, rows in takes(found) if not lidar[rows].any()}
    assert silent["strong"]
    assert silent["strong"] < silent["weak"]
    assert len(silent["weak"]) < 6


def test_joints_err_with_a_memory_and_most_at_the_hands(made):
    """Correlation of the errors of one frame and the next, in a sequence that holds no exchange of sides."""
    _, read, found = made
    error = read["strong"].prediction.astype(np.float64) - read["strong"].truth
    size = np.nanmedian(np.linalg.norm(error - error[:, :1], axis=2), axis=0)
    assert size[INDEX["left_hand"]] > 1.5 * size[INDEX["left_shoulder"]]
    assert size[INDEX["right_foot"]] > 1.5 * size[INDEX["right_hip"]]
    rows = next(take[2] for take in takes(found))
    series = error[rows][:, INDEX["spine2"], 0]
    series = series[np.isfinite(series)]
    assert np.corrcoef(series[:-1], series[1:])[0, 1] > 0.7


def test_cameras_err_and_rgb_more_than_lidar(made):
    _, read, _ = made
    for file, low, high in ((read["strong"], 0.02, 0.06), (read["weak"], 0.04, 0.12)):
        apart = {}
        for name in ("rgb", "lidar"):
            pred, true = (cameras(file, side)[name] for side in ("pred", "gt"))
            apart[name] = np.median(np.linalg.norm(pred.translations - true.translations, axis=1)[pred.ok])
        assert low < apart["lidar"] < apart["rgb"] < 2 * high


@pytest.mark.parametrize(("reference", "by_frame"), [("first", False), ("per_frame", True)])
def test_weak_is_worse_than_strong_in_the_sensors_frame(made, reference, by_frame):
    _, read, found = made
    error = {}
    for name, file in read.items():
        chosen = Settings(
            mode="seq_lidar_ref",
            target="lidar",
            modalities=("rgb", "lidar"),
            sensors=(("lidar", 0), ("rgb", 0)),
            weighing=Weighing(),
            rig="pred",
            reference=reference,
            window=1,
            smoothed="pred",
            by_frame=by_frame,
        )
        blocks = list(Projector(file, found, chosen).blocks())
        errors = np.concatenate([np.linalg.norm(b.prediction - b.truth, axis=2).mean(axis=1) for b in blocks])
        assert len(errors) < len(file)
        error[name] = np.median(errors)
    assert 0.03 < error["strong"] < 0.09
    assert 1.5 < error["weak"] / error["strong"] < 2.5


def test_more_of_the_same_defects_with_a_larger_amount():
    few, many = (systems.plan(6, 50, FPS, amount, np.random.default_rng(3)) for amount in (1.0, 2.5))
    for name in ("confused", "lost", "broken"):
        a, b = getattr(few, name), getattr(many, name)
        assert a.any()
        assert (b | ~a).all()
        assert b.sum() > a.sum()


def test_template_is_what_its_script_writes(tmp_path, monkeypatch):
    made = template(build(TemplateOptions, {"directory": str(tmp_path)}))
    assert [path.name for path in made] == ["predictions.npz", "write_predictions.py"]
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    runpy.run_path(str(made[1]), run_name="__main__")
    with np.load(made[0]) as first, np.load(elsewhere / "predictions.npz") as second:
        assert first.files == second.files
        for name in first.files:
            assert np.array_equal(first[name], second[name], equal_nan=first[name].dtype.kind == "f")


def test_template_scores_as_it_says(tmp_path):
    """By hand: four joints are 40 mm off in depth, the hand 40 mm and 90 mm across: (4 * 40 + 98.489) / 5 mm."""
    file = files.read(template(build(TemplateOptions, {"directory": str(tmp_path)}))[0])
    found = sequences.find(file.ids, len(file))
    assert [named.sequence for named in found.named] == ["p000001_a000001", "p000002_a000001"]
    pred, true = (cameras(file, side)["lidar"] for side in ("pred", "gt"))
    assert pred.ok.tolist() == [True, True, False, True, True, True, True, True]
    errors = np.linalg.norm(pred.project(file.prediction) - true.project(file.truth), axis=2)[pred.ok]
    assert errors.mean() == pytest.approx(0.0516977, abs=1e-6)
