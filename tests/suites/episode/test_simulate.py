"""Simulated episodes: each stream against the others by independent computation, the layout, the captions, the verb."""

from __future__ import annotations

import json
import os
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

h5py = pytest.importorskip("h5py")
pytest.importorskip("av")

from gnomon.core.errors import InputError, MissingExtraError  # noqa: E402
from gnomon.core.options import build  # noqa: E402
from gnomon.core.seeds import generator  # noqa: E402
from gnomon.engine.simulated import MARK  # noqa: E402
from gnomon.simulation.body import SMPL_H  # noqa: E402
from gnomon.suites.episode import captions, videos  # noqa: E402
from gnomon.suites.episode import simulate as verb  # noqa: E402
from gnomon.suites.episode.episode import Episode  # noqa: E402
from gnomon.suites.episode.layout import VIDEOS, find  # noqa: E402
from gnomon.suites.episode.simulate_options import SimulateOptions  # noqa: E402
from gnomon.suites.episode.simulation import captioning, recording, rig, sound  # noqa: E402
from gnomon.suites.episode.simulation.marks import simulated, unfinished  # noqa: E402
from gnomon.suites.episode.simulation.recording import Request  # noqa: E402
from gnomon.suites.episode.simulation.script import NOBODY  # noqa: E402

FRAMES = 40
G = 9.80665


def ask(folder, **options):
    given = {"episodes": 1, "frames": FRAMES, "videos": 32, "seed": 5, **options}
    return verb.simulate(SimulateOptions(directory=os.fspath(folder), **given))


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """One short episode on disk, nothing missing."""
    folder = tmp_path_factory.mktemp("episodes")
    return ask(folder, gaps="none")[0]


@pytest.fixture(scope="module")
def play():
    """A minute without pictures: what was acted out, and its datasets."""
    request = Request(5, 0, 1200, 32, False)
    take = recording.act_out(request)
    return take, recording.datasets(request, take)


def world_to_body(data):
    turns = Rotation.from_quat(data["slam/quat_wxyz"], scalar_first=True)
    return turns, data["slam/trans_xyz"]


def tree(path):
    found = {}

    def add(name, node):
        if isinstance(node, h5py.Dataset):
            kind = "text" if node.dtype.kind == "O" else node.dtype.str
            found[name] = (kind, node.ndim, node.shape[1:])

    with h5py.File(path) as file:
        file.visititems(add)
    return found


REAL = Path(os.environ.get("GNOMON_REAL_DATA", "absent")) / "episode" / "annotation-8-frames.hdf5"


@pytest.mark.real
@pytest.mark.skipif(not REAL.is_file(), reason="needs GNOMON_REAL_DATA")
def test_the_datasets_are_those_of_the_published_sample(written):
    assert tree(written / "annotation.hdf5") == tree(REAL)


def test_the_datasets_are_those_of_the_layout(written):
    """Shapes and types as the layout's description lists them."""
    n = FRAMES
    expected = {
        "slam/quat_wxyz": ((n, 4), "f8"),
        "slam/trans_xyz": ((n, 3), "f8"),
        "depth/depth": ((n, 256, 256), "f4"),
        "depth/confidence": ((n, 256, 256), "u1"),
        "hand_mocap/left_joints_3d": ((n, 21, 3), "f4"),
        "hand_mocap/right_joints_3d": ((n, 21, 3), "f4"),
        "full_body_mocap/keypoints": ((n, 52, 3), "f4"),
        "full_body_mocap/contacts": ((n, 21), "f4"),
        "full_body_mocap/Ts_world_root": ((n, 7), "f4"),
        "imu/keyframe_indices": ((n,), "i8"),
        "video/device_timestamp": ((n,), "S14"),
        "calibration/cam01/T_c0_b": ((4, 4), "f8"),
        "calibration/cam2/T_cn_cnm1": ((4, 4), "f8"),
    }
    with h5py.File(written / "annotation.hdf5") as file:
        assert file.attrs["simulated"]
        assert {name: (file[name].shape, file[name].dtype.str[1:]) for name in expected} == expected
        numbers = []
        file["calibration"].visititems(
            lambda _, node: (
                numbers.append(node.size) if isinstance(node, h5py.Dataset) and node.dtype.kind == "f" else None
            )
        )
    assert sum(numbers) == 117  # of the published feature vector


def test_the_reader_finds_every_stream(written):
    with Episode.open(find([written])[0]) as episode:
        assert episode.n_frames == FRAMES
        assert set(episode.streams.values()) == {""}
        assert abs(episode.fps - 20.0014) < 0.05


def test_videos_have_one_frame_more_and_sound(written):
    for name in VIDEOS:
        facts = videos.probe(written / f"{name}.mp4")
        assert (facts["frames"], facts["height"], facts["fps"]) == (FRAMES + 1, 32, 20.0)
        assert facts["audio"] == {"present": True, "rate": sound.RATE, "channels": 1}
        assert sum(1 for _ in videos.frames(written / f"{name}.mp4", 10**6)) == FRAMES + 1


def test_visible_hands_lie_on_the_wrists_in_the_right_frame_only(play):
    """Camera to world with the stored pose and calibration, written out here."""
    _, data = play
    turns, moves = world_to_body(data)
    camera = data["calibration/cam01/T_c0_b"]
    for side, joint in (("left", 20), ("right", 21)):
        hands = data[f"hand_mocap/{side}_joints_3d"].astype(float)
        seen = np.abs(hands).sum(axis=(1, 2)) > 0
        assert 0.3 < seen.mean() < 1.0
        in_body = (hands[:, 0] - camera[:3, 3]) @ camera[:3, :3]
        in_world = turns.inv().apply(in_body - moves)
        wrists = data["full_body_mocap/keypoints"][:, joint]
        assert np.linalg.norm(in_world - wrists, axis=1)[seen].max() < 0.01
        assert np.median(np.linalg.norm(hands[:, 0] - wrists, axis=1)[seen]) > 0.5
        assert not hands[~seen].any()


def test_hands_are_seen_exactly_when_they_are_in_the_picture(play):
    """Projection of the true joints by the pinhole model, written out here."""
    take, data = play
    poses, camera = take.poses, take.headset.left_from_body
    fx, fy, cx, cy = take.headset.stereo
    for side, name in enumerate(("left", "right")):
        points = poses.to_world(take.posed.hands[side])
        seen = np.abs(data[f"hand_mocap/{name}_joints_3d"]).sum(axis=(1, 2)) > 0
        for frame in range(0, 1200, 7):
            own = (points[frame] - poses.place[frame]) @ poses.turn[frame]
            x, y, z = (own @ camera[:3, :3].T + camera[:3, 3]).T
            inside = (z > 0.12) & (z < 1.2) & (abs(fx * x / z + cx - 256) < 256) & (abs(fy * y / z + cy - 256) < 256)
            assert seen[frame] == (inside.mean() >= 0.8)


def test_the_gyroscope_turns_the_headset_as_the_poses_do(play):
    _, data = play
    turns, _ = world_to_body(data)
    times = data["video/device_timestamp"].astype(np.int64)
    at, rates = data["imu/device_timestamp_ns"], data["imu/gyro_xyz"]
    for first in range(0, 1190, 37):
        grid = np.linspace(times[first], times[first + 5], 101)
        middles = (grid[1:] + grid[:-1]) / 2
        steps = np.stack([np.interp(middles, at, rates[:, k]) for k in range(3)], axis=1) * np.diff(grid)[:, None] / 1e9
        reached = Rotation.identity()
        for step in steps:
            reached = reached * Rotation.from_rotvec(step)
        whole = turns[first] * turns[first + 5].inv()  # body to world is the inverse of what is stored
        assert np.degrees((reached.inv() * whole).magnitude()) < 0.6


def test_the_accelerometer_feels_the_second_derivative_of_the_places_and_gravity(play):
    """Second differences of the stored places over five frames, against samples averaged with the same weights."""
    _, data = play
    turns, moves = world_to_body(data)
    places = -turns.inv().apply(moves)
    felt = turns.inv().apply(data["imu/accel_xyz"][data["imu/keyframe_indices"]])
    dt = 1 / 20.0014
    weights = np.array([1, 2, 3, 4, 5, 4, 3, 2, 1]) / 25  # of a second difference over five frames
    expected = (places[10:] - 2 * places[5:-5] + places[:-10]) / (5 * dt) ** 2
    mean = np.stack([np.convolve(felt[:, k], weights, "valid") for k in range(3)], axis=1)[1:-1]
    errors = mean - expected - (0, 0, G)
    assert np.sqrt(np.square(errors).mean()) < 0.15
    assert np.std(expected) > 0.2
    assert np.corrcoef(mean[:, 0], expected[:, 0])[0, 1] > 0.9


def test_the_nearest_inertial_sample_belongs_to_a_frame(play):
    _, data = play
    times = data["video/device_timestamp"].astype(float)
    at, index = data["imu/device_timestamp_ns"], data["imu/keyframe_indices"]
    assert (np.diff(at) >= 0).all()
    assert all(index[frame] == np.abs(at - times[frame]).argmin() for frame in range(0, 1200, 50))


def test_joint_angles_give_the_keypoints(play):
    """Every bone, seen from the joint it hangs on, keeps its length and direction: plain composition with scipy."""
    take, data = play
    keypoints = data["full_body_mocap/keypoints"].astype(float)
    root = data["full_body_mocap/Ts_world_root"].astype(float)
    np.testing.assert_allclose(root[:, 4:], keypoints[:, 0], atol=1e-6)
    locals_ = np.concatenate(
        [
            data["full_body_mocap/body_quats"],
            data["full_body_mocap/left_hand_quats"],
            data["full_body_mocap/right_hand_quats"],
        ],
        axis=1,
    ).astype(float)
    turns = [Rotation.from_quat(root[:, :4], scalar_first=True)]
    for joint in range(1, 52):
        parent = SMPL_H.parents[joint]
        bone = turns[parent].inv().apply(keypoints[:, joint] - keypoints[:, parent])
        np.testing.assert_allclose(bone, np.broadcast_to(take.who.body.offsets[joint], bone.shape), atol=2e-5)
        turns.append(turns[parent] * Rotation.from_quat(locals_[:, joint - 1], scalar_first=True))


def test_feet_that_touch_stand_still_on_the_floor(play):
    take, data = play
    joints, scores = take.posed.joints[:1200], data["full_body_mocap/contacts"]
    assert joints[..., 2].min() > -0.005
    assert (scores[:, [6, 7, 9, 10]] > 0.5).any(axis=1).all()
    for joint in (10, 11):
        down = (scores[1:, joint - 1] > 0.5) & (scores[:-1, joint - 1] > 0.5)
        assert 0.5 < down.mean() < 0.999
        moved = np.linalg.norm(np.diff(joints[:, joint, :2], axis=0), axis=1)
        assert np.percentile(moved[down], 95) < 0.01
    assert not (np.abs(scores[:, [0, 1, 2, 3, 4, 5, 8, 11, 14]]) > 0.01).any()


def test_people_reach_what_they_take(play):
    """At the moment of the grasp the palm is at the thing."""
    take, _ = play
    seconds = (take.times_ns - take.times_ns[0]) / 1e9
    taken = [(name, stay) for name, stays in take.script.stays.items() for stay in stays if stay.hand != NOBODY]
    assert len(taken) >= 3
    for _, stay in taken:
        frame = int(np.searchsorted(seconds, stay.start))
        if frame < len(seconds):
            assert np.linalg.norm(take.posed.palm(stay.hand)[frame] - stay.point) < 0.2


def test_depth_is_that_of_the_room_and_of_the_hands(written):
    """Joints of the hands projected into the depth map: nothing there is behind them, and some are seen."""
    behind, shown = [], []
    with Episode.open(find([written])[0]) as episode:
        depth, confidence, valid = episode.depth(0, FRAMES)
        hands = [episode.hand(side, 0, FRAMES) for side in ("left", "right")]
    assert valid.all()
    for hand in hands:
        for frame in np.flatnonzero(hand.valid):
            gaps = []
            for x, y, z in hand.xyz[frame]:
                column, row = round(100 * x / z + 127.5), round(100 * y / z + 127.5)  # K at half size
                if 0 <= column < 256 and 0 <= row < 256 and depth[frame, row, column] > 0:
                    gaps.append(z - depth[frame, row, column])
            behind += gaps
            if gaps:
                shown.append(min(gaps, key=abs))
    assert len(shown) > 30
    assert np.mean(np.array(behind) > -0.01) > 0.97
    assert 0 < np.median(shown) < 0.02  # skin is nearer than bones
    assert 0.5 < (depth > 0).mean() < 1.0
    assert depth[depth > 0].min() >= 0.16
    assert depth.max() <= 3.0
    assert confidence[depth > 0].mean() > confidence[depth == 0].mean()


def test_depth_points_lie_on_or_above_the_floor(written):
    """Depth maps moved to the world with the stored calibration and poses, written out here."""
    with h5py.File(written / "annotation.hdf5") as file:
        data = {
            name: file[name][()] for name in ("slam/quat_wxyz", "slam/trans_xyz", "depth/depth", "slam/point_cloud")
        }
        camera, feet = file["calibration/cam01/T_c0_b"][()], file["full_body_mocap/keypoints"][:, [10, 11], 2]
    turns, moves = world_to_body(data)
    rows, columns = np.mgrid[0:256:8, 0:256:8]
    lowest = []
    for frame in range(0, FRAMES, 5):
        z = data["depth/depth"][frame][rows, columns]
        points = np.stack([(columns - 127.5) / 100 * z, (rows - 127.5) / 100 * z, z], axis=-1)[z > 0]
        world = turns[frame].inv().apply((points - camera[:3, 3]) @ camera[:3, :3] - moves[frame])
        lowest.append(world[:, 2].min())
    floor = feet.min() - 0.022  # a foot's joint is about 2 cm above it
    assert floor - 0.05 < min(lowest) < floor + 0.10
    assert floor - 0.05 < data["slam/point_cloud"][:, 2].min()
    assert len(data["slam/point_cloud"]) > 1000


def test_fisheye_rays_project_back_to_their_pixels():
    """The equidistant polynomial, evaluated forwards."""
    headset = rig.rig(generator(1, "test"))
    k, d, _ = headset.fisheye[2]
    rays = rig.fisheye_rays(k, d, rig.FISHEYE, (54, 66))
    rows, columns = np.nonzero(np.abs(rays).sum(axis=-1))
    x, y, z = rays[rows, columns].T
    angle = np.arctan2(np.hypot(x, y), z)
    radius = angle * (1 + d[0] * angle**2 + d[1] * angle**4 + d[2] * angle**6 + d[3] * angle**8)
    share = radius / np.maximum(np.hypot(x, y), 1e-12)
    np.testing.assert_allclose(k[0] * share * x + k[2], (columns + 0.5) * 20 - 0.5, atol=1e-6)
    np.testing.assert_allclose(k[1] * share * y + k[3], (rows + 0.5) * 20 - 0.5, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(rays[rows, columns], axis=1), 1)


def labels(take, frames, seed=0):
    raw = captioning.caption(take.script, take.times_ns, frames, generator(seed, "caption"))
    return json.loads(raw), captions.parse(raw, take.times_ns[:frames], frames)


def test_captions_say_what_happens(play):
    take, _ = play
    _, found = labels(take, 1200)
    seconds = (take.times_ns[:1200] - take.times_ns[0]) / 1e9
    agree = [
        found.action[frame] == next(act.label for act in take.script.acts if act.start <= second < act.stop)
        for frame, second in enumerate(seconds)
    ]
    assert 0.75 < np.mean(agree) < 1.0  # some lists of actions are missing
    subtasks = [found.subtask[frame] for frame in range(0, 1200, 50)]
    middle = [next(act for act in take.script.acts if act.start <= seconds[f] < act.stop) for f in range(0, 1200, 50)]
    assert subtasks == [take.script.subtasks[act.subtask] for act in middle]
    assert found.segments[0].start == 0
    assert found.segments[-1].stop == 1200
    assert all(one.stop == other.start for one, other in pairwise(found.segments))
    assert all(found.interaction)
    assert all(found.objects)


def test_captions_have_the_habits_of_captions():
    take = recording.act_out(Request(4, 1, 6000, 32, False))
    document, found = labels(take, 6000)
    actions = [action for segment in document["segments"] for action in segment["Current Action"]]
    kinds = {
        "name" if str(reference).startswith("frame_") else (type(reference).__name__, int(reference) > 10**9)
        for action in actions
        for reference in (action["start_frame"], action["end_frame"])
    }
    assert kinds == {"name", ("int", True), ("int", False), ("str", True)}
    assert document["segments"][-1]["end_frame"] == "frame_0006001"
    assert found.repairs["actions past their segment"] > 0
    assert found.repairs["segments without actions"] > 0
    assert found.repairs["references outside the episode"] == 1
    assert "N/A" in found.action


def test_late_labels_are_new_and_episodes_share_most():
    sets = []
    for number in range(3):
        take = recording.act_out(Request(0, number, 4000, 32, False))
        _, found = labels(take, 4000)
        early, late = set(found.action[:2800]), set(found.action[2800:])
        assert late - early
        assert late & early
        sets.append(early | late)
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert len(sets[one] & sets[other]) / len(sets[one]) > 0.5


def test_steps_and_knocks_are_heard(play):
    take, _ = play
    heard = sound.sound(take.script, take.feet.landings, 60.0, generator(0, "sound")).astype(float)
    loud = np.abs(heard[: 60 * sound.RATE]).reshape(-1, 800).max(axis=1)
    steps = [int(time * 20) for time in take.feet.landings if time < 59]
    quiet = [
        k
        for k in range(1200)
        if not any(act.start - 1 < k / 20 < act.stop + 1 for act in take.script.acts if act.verb != "pick")
    ]
    assert np.median(loud[steps]) > 5 * np.median(np.sort(loud)[:100])
    assert not quiet or np.median(loud[quiet]) < np.median(loud[steps])


def test_gaps_are_made_and_can_be_left_out():
    request = Request(5, 0, 600, 32, True)
    take = recording.act_out(request)
    data = recording.datasets(request, take)
    lost = np.isnan(data["slam/trans_xyz"]).any(axis=1)
    assert 0 < lost.sum() < 30
    assert (np.isnan(data["slam/quat_wxyz"]).all(axis=1) == lost).all()
    assert 0 < take.gaps.depth.sum() < 30
    assert np.diff(data["imu/device_timestamp_ns"]).max() > 0.15e9
    assert len(data["imu/accel_xyz"]) == len(data["imu/device_timestamp_ns"]) > data["imu/keyframe_indices"].max()
    whole = recording.datasets(Request(5, 0, 600, 32, False), recording.act_out(Request(5, 0, 600, 32, False)))
    assert all(
        np.isfinite(value).all() for value in whole.values() if getattr(value, "dtype", np.dtype("S")).kind == "f"
    )
    assert np.diff(whole["imu/device_timestamp_ns"]).max() < 0.02e9
    hidden = [(np.abs(d["hand_mocap/right_joints_3d"]).sum(axis=(1, 2)) == 0).sum() for d in (data, whole)]
    assert hidden[0] > hidden[1]


def test_missing_depth_is_an_empty_map(tmp_path):
    folder = ask(tmp_path / "a", frames=60, videos=16)[0]
    with h5py.File(folder / "annotation.hdf5") as file:
        depth, confidence = file["depth/depth"][:], file["depth/confidence"][:]
    gone = recording.act_out(Request(5, 0, 60, 16, True)).gaps.depth
    assert gone.any()
    assert (~depth.any(axis=(1, 2)) == gone).all()
    assert not confidence[gone].any()


def test_the_same_seed_gives_the_same_bytes_whatever_else_is_written(tmp_path):
    one = ask(tmp_path / "a", frames=20, videos=16)
    two = ask(tmp_path / "b", frames=20, videos=16, episodes=2)
    other = ask(tmp_path / "c", frames=20, videos=16, seed=6)
    for name in ("annotation.hdf5", *(f"{video}.mp4" for video in VIDEOS)):
        same, again, third = ((folder / name).read_bytes() for folder in (one[0], two[0], other[0]))
        assert same == again
        assert same != third
        assert same != (two[1] / name).read_bytes()


def test_twenty_frames_are_an_episode(tmp_path):
    folder = ask(tmp_path / "a", frames=20, videos=16)[0]
    with Episode.open(find([folder])[0]) as episode:
        assert episode.n_frames == 20
        assert set(episode.streams.values()) == {""}
        assert all(episode.frame_labels().action)


def test_the_mark_tells_what_is_simulated(tmp_path):
    folders = ask(tmp_path / "a", frames=20, videos=16, episodes=2)
    mark = json.loads((tmp_path / "a" / MARK).read_bytes())
    assert mark["episodes"] == ["session_000/ep0", "session_001/ep0"]
    assert "unfinished" not in mark
    assert all(simulated(folder) and not unfinished(folder) for folder in folders)
    assert not simulated(tmp_path / "elsewhere" / "ep0")
    assert [place.id for place in find([tmp_path / "a"])] == mark["episodes"]


def test_an_interrupted_simulation_is_not_taken_for_a_whole_one(tmp_path, monkeypatch):
    def broken(folder, request):
        folder.mkdir(parents=True)
        yield 0
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(recording, "record", broken)
        with pytest.raises(KeyboardInterrupt):
            ask(tmp_path / "a", frames=20, videos=16)
    assert unfinished(tmp_path / "a" / "session_000" / "ep0")
    folder = ask(tmp_path / "a", frames=20, videos=16)[0]
    assert simulated(folder)
    assert not unfinished(folder)


@pytest.mark.parametrize("change", [{"seed": 6}, {"frames": 21}, {"videos": 18}, {"gaps": "none"}])
def test_a_folder_simulated_otherwise_is_refused(tmp_path, monkeypatch, change):
    monkeypatch.setattr(recording, "record", lambda folder, request: folder.mkdir(parents=True) or iter(()))
    ask(tmp_path / "a", frames=20, videos=16)
    with pytest.raises(InputError, match="was simulated with"):
        ask(tmp_path / "a", **{"frames": 20, "videos": 16, **change})


def test_foreign_files_are_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"notes\.txt.*choose an empty folder"):
        ask(tmp_path)
    with pytest.raises(InputError, match="is no folder"):
        ask(tmp_path / "notes.txt")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / MARK).write_text("{")
    with pytest.raises(InputError, match="not what this verb writes"):
        ask(tmp_path / "b")


@pytest.mark.parametrize("module", ["av", "h5py"])
def test_a_package_that_is_not_there_is_named_before_anything_is_written(tmp_path, monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r"gnomon\[episode\]"):
        ask(tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_options_are_checked(tmp_path):
    with pytest.raises(InputError, match="even"):
        ask(tmp_path / "a", videos=33)
    with pytest.raises(InputError, match="'frames': expected 20 to"):
        build(SimulateOptions, {"directory": "x", "frames": 19})
    with pytest.raises(InputError, match="'gaps'"):
        build(SimulateOptions, {"directory": "x", "gaps": "some"})
