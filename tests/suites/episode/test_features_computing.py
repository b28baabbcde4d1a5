"""Features of whole episodes that the tests write: every block against plain numpy, gaps, damage, what reads what."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from gnomon.core.errors import InputError
from gnomon.suites.episode.episode import Episode
from gnomon.suites.episode.features.blocks import NAMES, VIDEOS, spans
from gnomon.suites.episode.features.computing import LEFT_OUT, Features, compute
from gnomon.suites.episode.features.images import depth_numbers, video_numbers
from gnomon.suites.episode.features.text import embed
from gnomon.suites.episode.layout import Place

h5py = pytest.importorskip("h5py")
av = pytest.importorskip("av")
N = 45
STARTS = (0, 5, 10, 15, 20, 25)
START_NS = 17_000_000_000_000


def caption():
    """Objects from frame 0 on, an interaction from frame 10 on, nothing after frame 29."""
    first, last = (str(START_NS + frame * 50_000_000) for frame in (0, 29))
    segment = {
        "segment_id": 0,
        "start_frame": first,
        "end_frame": last,
        "Sub Task": "Make tea",
        "Current Action": [{"label": "pour", "description": "", "start_frame": first, "end_frame": last}],
        "objects": {first: ["tea cup", "kettle"]},
        "interaction": {str(START_NS + 500_000_000): "The hand tilts the kettle."},
    }
    return json.dumps({"config": {"Main Task": "Tea"}, "segments": [segment]}).encode()


def datasets(rng, n):
    """All datasets of an episode with gaps: hidden hands, a pose that is no pose, pixels and a frame without depth."""
    left = rng.normal(size=(n, 21, 3))
    left[3:8] = 0
    quaternions = rng.normal(size=(n, 4))
    quaternions[7] = np.nan
    depth = rng.uniform(0.2, 3, (n, 256, 256)) * (rng.random((n, 256, 256)) > 0.05)
    depth[11] = 0
    found = {
        "video/device_timestamp": np.array([str(START_NS + k * 50_000_000).encode() for k in range(n)]),
        "slam/quat_wxyz": quaternions,
        "slam/trans_xyz": rng.normal(size=(n, 3)).cumsum(axis=0),
        "slam/point_cloud": rng.normal(size=(400, 3)),
        "hand_mocap/left_joints_3d": left.astype(np.float32),
        "hand_mocap/right_joints_3d": rng.normal(size=(n, 21, 3)).astype(np.float32),
        "full_body_mocap/keypoints": rng.normal(size=(n, 52, 3)).astype(np.float32),
        "full_body_mocap/contacts": rng.random((n, 21)).astype(np.float32),
        "imu/accel_xyz": rng.normal(size=(n * 10, 3)),
        "imu/gyro_xyz": rng.normal(size=(n * 10, 3)),
        "imu/keyframe_indices": np.arange(n) * 10 + 4,
        "depth/depth": depth.astype(np.float32),
        "depth/confidence": rng.integers(0, 256, depth.shape).astype(np.uint8),
        "calibration/cam01/T_c0_b": np.eye(4),
        "calibration/cam01/K": rng.normal(size=4),
        "calibration/cam01/baseline": np.float64(0.1),
        "caption": caption(),
    }
    for k in range(4):
        move = "T_c_b" if k == 0 else "T_cn_cnm1"
        found |= {f"calibration/cam{k}/K": rng.normal(size=4), f"calibration/cam{k}/D": rng.normal(size=4)}
        found[f"calibration/cam{k}/{move}"] = np.eye(4) + k
    return found


def write_video(path, images, sound):
    """Write frames without loss of time: each stands for itself, so that altering one alters no other."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=20, options={"qp": "0", "g": "1", "preset": "ultrafast"})
        stream.width, stream.height, stream.pix_fmt = images.shape[2], images.shape[1], "yuv444p"
        voice = container.add_stream("aac", rate=16000) if sound else None
        for image in images:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))
        container.mux(stream.encode())
        if voice is not None:
            sound_frame = av.AudioFrame.from_ndarray(np.zeros((1, 16000), np.float32), format="fltp", layout="mono")
            sound_frame.sample_rate = 16000
            container.mux(voice.encode(sound_frame))
            container.mux(voice.encode())


def write_annotation(folder, values):
    with h5py.File(folder / "annotation.hdf5", "w") as file:
        for name, value in values.items():
            if name.startswith("depth/"):
                file.create_dataset(name, data=value, chunks=(1, 128, 128), compression="gzip", compression_opts=1)
            else:
                file[name] = value


def videos_of(n):
    rng = np.random.default_rng(5)
    return {name: rng.integers(0, 256, (n + 1, 32, 48, 3)).astype(np.uint8) for name in VIDEOS}


@pytest.fixture(scope="module")
def values():
    return datasets(np.random.default_rng(4), N)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, values):
    place = tmp_path_factory.mktemp("session") / "ep0"
    place.mkdir()
    write_annotation(place, values)
    for name, images in videos_of(N).items():
        write_video(place / f"{name}.mp4", images, sound=name == "stereo_left")
    return place


@pytest.fixture(scope="module")
def published(folder, tmp_path_factory):
    return computed(folder, tmp_path_factory.mktemp("features"))


@pytest.fixture(scope="module")
def strict(folder, tmp_path_factory):
    return computed(folder, tmp_path_factory.mktemp("features"), validity="masked")


def computed(folder, out, validity="as-zero", **options):
    with Episode.open(Place("s/ep0", folder)) as episode:
        compute(episode, out, validity=validity, **options)
    return Features.read(out)


def block(features, name):
    return features.values[:, spans()[name]]


def seven(window):
    steps = np.diff(window, axis=0)
    rows = [window.mean(0), window.std(0), window.min(0), window.max(0), window[-1] - window[0]]
    return np.concatenate([*rows, steps.mean(0), steps.std(0)])


def turned(quaternion):
    """Rotation of a vector by its quaternion, as the sum of its parts along, across and around the axis."""
    w, axis = quaternion[0] / np.linalg.norm(quaternion), quaternion[1:] / np.linalg.norm(quaternion)
    cross = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return np.eye(3) + 2 * w * cross + 2 * cross @ cross


def decoded(path):
    with av.open(str(path)) as container:
        return [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)][:N]


@pytest.fixture(scope="module")
def frames(values, folder):
    """Numbers of every frame of every dynamic block, with zeros for what is missing."""
    lost = np.isnan(values["slam/quat_wxyz"]).any(axis=1)
    rotation = np.array([np.zeros(9) if lost[k] else turned(values["slam/quat_wxyz"][k]).ravel() for k in range(N)])
    words = [[], ["tea cup", "kettle"], ["tea cup", "kettle", "The hand tilts the kettle."]]
    texts = [embed(words[0 if k > 29 else 2 if k >= 10 else 1])[0] for k in range(N)]
    keys = values["imu/keyframe_indices"]
    found = {
        "hand_left_joints": values["hand_mocap/left_joints_3d"].reshape(N, -1),
        "hand_right_joints": values["hand_mocap/right_joints_3d"].reshape(N, -1),
        "body_joints": values["full_body_mocap/keypoints"].reshape(N, -1),
        "body_contacts": values["full_body_mocap/contacts"],
        "camera_translation": np.where(lost[:, None], 0.0, values["slam/trans_xyz"]),
        "camera_rotation_matrix": rotation,
        "imu_accel_gyro": np.concatenate([values["imu/accel_xyz"][keys], values["imu/gyro_xyz"][keys]], axis=1),
        "depth_confidence": depth_numbers(values["depth/depth"], values["depth/confidence"], np.ones(N, bool))[0],
        "caption_objects_interaction_text": np.array(texts),
    }
    for name in VIDEOS:
        found[f"video_{name}"] = np.array([video_numbers(image) for image in decoded(folder / f"{name}.mp4")])
    return found


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("slam_point_cloud", "calibration")])
def test_a_block_as_published_is_the_plain_statistics_of_its_frames(published, frames, name):
    for row, start in enumerate(STARTS):
        window = frames[name][start : start + 20].astype(np.float64)
        if name == "camera_translation":
            window = window - window[0]
        np.testing.assert_allclose(block(published, name)[row], seven(window), rtol=2e-5, atol=2e-6)


def test_static_blocks_are_the_same_in_every_window(published, values):
    calibration = [np.ravel(values[name]) for name in sorted(values) if name.startswith("calibration/")]
    assert (block(published, "calibration") == np.concatenate(calibration).astype(np.float32)).all()
    assert (block(published, "slam_point_cloud") == block(published, "slam_point_cloud")[0]).all()
    assert block(published, "slam_point_cloud")[0, -1] == pytest.approx(np.log(381), rel=1e-6)


def test_a_hidden_hand_is_left_out_when_masked(strict, published, values):
    left = values["hand_mocap/left_joints_3d"].reshape(N, -1).astype(np.float64)
    seen = np.array([k for k in range(20) if not 3 <= k < 8])
    steps = np.array([left[k + 1] - left[k] for k in range(19) if k in seen and k + 1 in seen])
    assert len(steps) == 13
    got = block(strict, "hand_left_joints")[0]
    np.testing.assert_allclose(got[:63], left[seen].mean(axis=0), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(got[126:189], left[seen].min(axis=0), rtol=1e-5)
    np.testing.assert_allclose(got[378:], steps.std(axis=0), rtol=1e-5)
    assert (got != block(published, "hand_left_joints")[0]).any()
    assert (block(strict, "hand_left_joints")[2:] == block(published, "hand_left_joints")[2:]).all()


def test_coverage_is_the_share_of_frames_that_count(strict, published):
    assert strict.coverage.tobytes() == published.coverage.tobytes()
    assert strict.covered("hand_left_joints") == pytest.approx([15 / 20, 17 / 20, 1, 1, 1, 1])
    assert strict.covered("camera_translation") == pytest.approx([19 / 20, 19 / 20, 1, 1, 1, 1])
    assert strict.covered("depth_confidence") == pytest.approx([19 / 20, 19 / 20, 19 / 20, 1, 1, 1])
    assert strict.covered("caption_objects_interaction_text") == pytest.approx([1, 1, 1, 15 / 20, 10 / 20, 5 / 20])
    assert (strict.covered("calibration") == 1).all()
    assert published.facts["masked"] == {}


def test_the_camera_starts_at_the_origin_of_each_window(strict, values):
    moved = values["slam/trans_xyz"]
    for row, start in enumerate(STARTS):
        last = block(strict, "camera_translation")[row, 12:15]
        np.testing.assert_allclose(last, moved[start + 19] - moved[start], rtol=1e-5, atol=1e-6)
        valid = [k for k in range(start, start + 20) if k != 7]
        mean = (moved[valid] - moved[valid[0]]).mean(axis=0)
        np.testing.assert_allclose(block(strict, "camera_translation")[row, :3], mean, rtol=1e-5, atol=1e-6)


def test_what_is_written_is_read(published, tmp_path):
    assert len(published) == 6
    assert published.values.shape == (6, 8378)
    assert np.isfinite(published.values).all()
    assert published.windows["start_frame"] == list(STARTS)
    assert published.windows["action_label"] == ["pour"] * 6
    assert published.windows["subtask_label"] == ["Make tea"] * 6
    assert published.columns(["imu_accel_gyro"]).tolist() == list(range(2205, 2247))
    assert published.facts["audio"]["present"] is True
    assert published.facts["audio"]["featurized"] is False
    assert published.facts["audio"]["streams"]["stereo_right"]["present"] is False
    assert set(published.facts["seconds"]) == {"caption", *NAMES}
    with pytest.raises(InputError, match="no block 'audio'"):
        published.covered("audio")


def test_twice_gives_the_same_bytes_and_progress_is_told(folder, published, tmp_path):
    told = []
    again = computed(folder, tmp_path, tell=told.append)
    assert again.values.tobytes() == published.values.tobytes()
    assert "s/ep0, video_stereo_right, frame 45 of 45" in told
    assert again.manifest == published.manifest


def test_one_altered_video_frame_changes_the_windows_that_read_it_and_no_other_block(folder, published, tmp_path):
    shutil.copytree(folder, tmp_path / "ep0")
    images = videos_of(N)["fisheye_cam2"]
    images[12] = 255 - images[12]
    write_video(tmp_path / "ep0" / "fisheye_cam2.mp4", images, sound=False)
    altered = computed(tmp_path / "ep0", tmp_path / "out")
    changed = altered.values != published.values
    rows = changed[:, spans()["video_fisheye_cam2"]].any(axis=1)
    assert rows.tolist() == [start <= 12 < start + 20 for start in STARTS]
    changed[:, spans()["video_fisheye_cam2"]] = False
    assert not changed.any()


LOST = {
    "hand_mocap/right_joints_3d": "hand_right_joints",
    "full_body_mocap/contacts": "body_contacts",
    "imu/gyro_xyz": "imu_accel_gyro",
    "depth/depth": "depth_confidence",
    "slam/point_cloud": "slam_point_cloud",
    "calibration": "calibration",
    "caption": "caption_objects_interaction_text",
}


@pytest.mark.parametrize(("dataset", "name"), LOST.items())
def test_a_missing_dataset_is_a_masked_block_with_its_reason(folder, published, tmp_path, dataset, name):
    (tmp_path / "ep0").mkdir()
    shutil.copy(folder / "annotation.hdf5", tmp_path / "ep0")
    with h5py.File(tmp_path / "ep0" / "annotation.hdf5", "a") as file:
        del file[dataset]
    found = computed(tmp_path / "ep0", tmp_path / "out", skip=VIDEOS)
    assert "missing" in found.facts["masked"][name]
    assert not block(found, name).any()
    assert not found.covered(name).any()
    others = [other for other in NAMES if other != name and not other.startswith("video_")]
    if dataset == "calibration":
        assert "T_c0_b" in found.facts["partial"]["camera"]
    for other in others:
        assert block(found, other).tobytes() == block(published, other).tobytes()


def test_without_confidence_depth_is_still_there(folder, published, tmp_path):
    (tmp_path / "ep0").mkdir()
    shutil.copy(folder / "annotation.hdf5", tmp_path / "ep0")
    with h5py.File(tmp_path / "ep0" / "annotation.hdf5", "a") as file:
        del file["depth/confidence"]
    found = computed(tmp_path / "ep0", tmp_path / "out", skip=VIDEOS)
    got, whole = (block(one, "depth_confidence").reshape(6, 7, 140) for one in (found, published))
    assert (got[:, :, :72] == whole[:, :, :72]).all()
    assert not got[:, :, 72:].any()
    assert found.covered("depth_confidence")[3] == pytest.approx(72 / 140)
    assert "confidence" in found.facts["masked"]["depth_confidence"]


def test_a_stream_that_is_too_short_covers_what_there_is(folder, tmp_path, values):
    (tmp_path / "ep0").mkdir()
    shutil.copy(folder / "annotation.hdf5", tmp_path / "ep0")
    with h5py.File(tmp_path / "ep0" / "annotation.hdf5", "a") as file:
        del file["full_body_mocap/contacts"]
        file["full_body_mocap/contacts"] = values["full_body_mocap/contacts"][:30]
    found = computed(tmp_path / "ep0", tmp_path / "out", validity="masked", skip=VIDEOS)
    assert found.covered("body_contacts") == pytest.approx([1, 1, 1, 15 / 20, 10 / 20, 5 / 20])
    assert found.facts["masked"]["body_contacts"] == "contacts: full_body_mocap/contacts has 30 of 45 frames"
    mean = values["full_body_mocap/contacts"][25:30].mean(axis=0, dtype=np.float64)
    np.testing.assert_allclose(block(found, "body_contacts")[5, :21], mean, rtol=1e-6)


def test_videos_missing_cut_off_or_no_video(folder, published, tmp_path):
    place = tmp_path / "ep0"
    shutil.copytree(folder, place)
    (place / "fisheye_cam0.mp4").unlink()
    (place / "fisheye_cam1.mp4").write_bytes(b"no video at all")
    write_video(place / "stereo_left.mp4", videos_of(N)["stereo_left"][:22], sound=True)
    found = computed(place, tmp_path / "out", validity="masked")
    assert set(found.facts["masked"]) == {"video_fisheye_cam0", "video_fisheye_cam1", "video_stereo_left"}
    assert "22 of 45 frames" in found.facts["masked"]["video_stereo_left"]
    assert found.covered("video_stereo_left") == pytest.approx([1, 17 / 20, 12 / 20, 7 / 20, 2 / 20, 0])
    assert not block(found, "video_fisheye_cam0").any()
    assert not block(found, "video_fisheye_cam1").any()
    first = block(found, "video_stereo_left")[0]
    assert first.tobytes() == block(published, "video_stereo_left")[0].tobytes()


def test_a_damaged_chunk_of_depth_costs_the_frames_that_are_read_with_it(folder, published, tmp_path):
    place = tmp_path / "ep0"
    place.mkdir()
    shutil.copy(folder / "annotation.hdf5", place)
    with h5py.File(place / "annotation.hdf5") as file:
        where = file["depth/depth"].id.get_chunk_info_by_coord((30, 0, 0))
    with (place / "annotation.hdf5").open("r+b") as file:
        file.seek(where.byte_offset)
        file.write(b"\xff" * 64)
    found = computed(place, tmp_path / "out", skip=VIDEOS)
    assert found.facts["masked"]["depth_confidence"].startswith("annotation.hdf5: /depth/depth cannot be read")
    assert found.covered("depth_confidence").max() < 1
    assert block(found, "body_joints").tobytes() == block(published, "body_joints").tobytes()


def test_what_is_left_out_is_said(folder, published, tmp_path):
    found = computed(folder, tmp_path, skip=[*VIDEOS, "depth_confidence", "caption"])
    left = [name for name in NAMES if name.startswith(("video", "depth", "caption"))]
    assert found.facts["masked"] == dict.fromkeys(left, LEFT_OUT)
    assert found.facts["audio"] == {"present": None, "featurized": False, "streams": {}}
    for name in NAMES:
        same = block(found, name).tobytes() == block(published, name).tobytes()
        assert same == (name not in left)
    assert found.windows == published.windows
    with pytest.raises(InputError, match="no block or stream 'audio'"):
        computed(folder, tmp_path, skip=["audio"])


def test_an_unknown_validity_is_refused(folder, tmp_path):
    with pytest.raises(InputError, match="'as-zero' or 'masked'"):
        computed(folder, tmp_path, validity="zero")


def test_a_place_that_cannot_be_written_is_said(folder, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        computed(folder, tmp_path / "file", skip=VIDEOS)


def test_twenty_frames_are_one_window_and_nineteen_none(tmp_path, values):
    short = {name: value[:20] if np.shape(value)[:1] == (N,) else value for name, value in values.items()}
    for n in (20, 19):
        place = tmp_path / f"ep{n}"
        place.mkdir()
        write_annotation(place, {k: v[:n] if np.shape(v)[:1] == (20,) else v for k, v in short.items()})
    assert len(computed(tmp_path / "ep20", tmp_path / "out", skip=VIDEOS)) == 1
    with pytest.raises(InputError, match="19 frames, but a window has 20"):
        computed(tmp_path / "ep19", tmp_path / "none", skip=VIDEOS)


@pytest.mark.parametrize("name", ["features.npy", "coverage.npy", "feature_manifest.json", "windows.csv", "facts.json"])
def test_stored_features_that_are_damaged_are_refused(published, tmp_path, name):
    source = Path(published.values.filename).parent
    shutil.copytree(source, tmp_path / "copy")
    damage = {".npy": b"\x93NUMPY no", ".json": b"[1]", ".csv": b"window_index\n0\n"}
    (tmp_path / "copy" / name).write_bytes(damage[Path(name).suffix])
    with pytest.raises(InputError, match="compute the features again"):
        Features.read(tmp_path / "copy")


def test_features_of_another_episode_do_not_fit(published, tmp_path):
    shutil.copytree(Path(published.values.filename).parent, tmp_path / "copy")
    np.save(tmp_path / "copy" / "coverage.npy", np.ones((5, 17), np.float32))
    with pytest.raises(InputError, match=r"expected float32 of \(6, 17\)"):
        Features.read(tmp_path / "copy")
