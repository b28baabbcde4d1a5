"""Reading an episode: small files are written here in the layout, and one real annotation file where it is.

Expected values are those that were written, or worked out by hand; those of the real file are said where they stand.
"""

import json
import os
import re
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.core.errors import InputError, MissingExtraError
from gnomon.suites.episode.captions import parse
from gnomon.suites.episode.episode import Episode, _numbers
from gnomon.suites.episode.frames import CAMERA, WORLD
from gnomon.suites.episode.layout import DATASETS, STREAMS, VIDEOS, Place, find

h5py = pytest.importorskip("h5py")
REAL = Path(os.environ.get("GNOMON_REAL_DATA", "absent")) / "episode" / "annotation-8-frames.hdf5"
N = 20
FIRST, STEP = 72_857_807_732_824, 50_000_000
BY_FRAME = {
    "hand_left": lambda e: e.hand("left", 0, N).valid,
    "hand_right": lambda e: e.hand("right", 0, N).valid,
    "body": lambda e: e.body(0, N).valid,
    "contacts": lambda e: e.contacts(0, N)[1],
    "camera": lambda e: e.camera(0, N)[2],
    "imu": lambda e: e.imu(0, N)[1],
    "depth": lambda e: e.depth(0, N)[2],
}


def values(n=N):
    """Return the datasets of an episode of n frames."""
    rng = np.random.default_rng(0)
    times = [str(FIRST + STEP * k).encode() for k in range(n)]
    caption = {"segments": [{"segment_id": 0, "start_frame": times[0].decode(), "end_frame": 9, "Sub Task": "pour"}]}
    return {
        "hand_mocap/left_joints_3d": rng.normal(size=(n, 21, 3)).astype(np.float32),
        "hand_mocap/right_joints_3d": rng.normal(size=(n, 21, 3)).astype(np.float32),
        "full_body_mocap/keypoints": rng.normal(size=(n, 52, 3)).astype(np.float32),
        "full_body_mocap/contacts": rng.random((n, 21)).astype(np.float32),
        "slam/quat_wxyz": np.tile([0.0, 0.0, 0.0, 3.0], (n, 1)),  # half a turn about z
        "slam/trans_xyz": np.arange(3.0 * n).reshape(n, 3),
        "slam/frame_names": np.array([time + b".jpg" for time in times]),
        "slam/point_cloud": rng.normal(size=(50, 3)),
        "imu/keyframe_indices": np.arange(n) * 10,
        "imu/accel_xyz": np.arange(30.0 * n).reshape(10 * n, 3),
        "imu/gyro_xyz": -np.arange(30.0 * n).reshape(10 * n, 3),
        "depth/depth": rng.uniform(0.2, 3, (n, 256, 256)).astype(np.float32),
        "depth/confidence": np.full((n, 256, 256), 7, dtype=np.uint8),
        "video/device_timestamp": np.array(times),
        "calibration/cam0/K": np.array([1.0, 2.0, 3.0, 4.0]),
        "calibration/cam0/camera_model": b"fisheye",
        "calibration/cam01/T_c0_b": np.array([[1.0, 0, 0, 1], [0, 0, -1, 2], [0, 1, 0, 3], [0, 0, 0, 1]]),
        "calibration/cam01/baseline": 0.1,
        "caption": json.dumps(caption).encode(),
    }


def write(folder, content, chunks=None):
    folder.mkdir(parents=True, exist_ok=True)
    with h5py.File(folder / "annotation.hdf5", "w") as file:
        for name, value in content.items():
            kind = h5py.string_dtype() if isinstance(value, bytes) else None
            file.create_dataset(name, data=value, dtype=kind, chunks=(chunks or {}).get(name))
    return Place("s/ep0", folder)


def made(tmp_path, remove=(), **changes):
    """Write an episode, with some of its datasets changed; ``__`` stands for ``/`` in names."""
    content = {name: value for name, value in values().items() if name not in remove}
    return write(tmp_path / "s/ep0", content | {name.replace("__", "/"): value for name, value in changes.items()})


def test_what_was_written_is_read(tmp_path):
    content = values()
    with Episode.open(made(tmp_path)) as episode:
        assert (episode.id, episode.n_frames, episode.fps) == ("s/ep0", N, 20.0)
        assert episode.times_ns.tolist() == [FIRST + STEP * k for k in range(N)]
        assert {name: why for name, why in episode.streams.items() if name not in VIDEOS} == dict.fromkeys(DATASETS, "")
        assert set(episode.streams) == set(STREAMS)
        assert episode.partial == {}
        for side in ("left", "right"):
            hand = episode.hand(side, 3, 7)
            assert np.array_equal(hand.xyz, content[f"hand_mocap/{side}_joints_3d"][3:7].astype(float))
            assert (hand.frame, hand.valid.all()) == (CAMERA, True)
        assert np.array_equal(episode.body(0, N).xyz, content["full_body_mocap/keypoints"])
        assert np.array_equal(episode.root(0, N).xyz[:, 0], content["full_body_mocap/keypoints"][:, 0])
        assert episode.root(0, N).frame == WORLD
        assert np.array_equal(episode.contacts(5, 9)[0], content["full_body_mocap/contacts"][5:9])
        depth, confidence, valid = episode.depth(2, 4)
        assert np.array_equal(depth, content["depth/depth"][2:4])
        assert (depth.dtype, confidence.dtype, valid.all()) == (np.float32, np.uint8, True)
        assert (confidence == 7).all()
        assert np.array_equal(episode.point_cloud(), content["slam/point_cloud"])
        assert {name: value.tolist() for name, value in episode.calibration().items()} == {
            "cam0/K": [1.0, 2.0, 3.0, 4.0],
            "cam01/T_c0_b": content["calibration/cam01/T_c0_b"].tolist(),
            "cam01/baseline": 0.1,
        }
        assert episode.frame_labels() == parse(content["caption"], episode.times_ns, N)


def test_poses_are_the_stored_ones_followed_by_the_camera(tmp_path):
    """By hand: half a turn about z and (3, 4, 5) move (1, 1, 1) to (2, 3, 6); T_c0_b moves that to (3, -4, 6)."""
    with Episode.open(made(tmp_path)) as episode:
        translation, rotation, _ = episode.camera(1, 2)
        assert translation.tolist() == [[3, 4, 5]]
        np.testing.assert_allclose(rotation[0], np.diag([-1, -1, 1]))
        poses = episode.poses(1, 2)
        np.testing.assert_allclose(poses.rotation[0] @ [1, 1, 1] + poses.translation[0], [3, -4, 6])


def test_the_imu_is_read_at_the_frames(tmp_path):
    """By hand: frame 2 is sample 20, whose first value is 60."""
    with Episode.open(made(tmp_path)) as episode:
        found, valid = episode.imu(2, 4)
        assert found.tolist() == [[60, 61, 62, -60, -61, -62], [90, 91, 92, -90, -91, -92]]
        assert valid.all()
    odd = np.arange(N) * 10
    odd[[1, 5]] = -1, 10 * N
    with Episode.open(made(tmp_path, imu__keyframe_indices=odd)) as episode:
        found, valid = episode.imu(0, N)
        assert np.flatnonzero(~valid).tolist() == [1, 5]
        assert not found[[1, 5]].any()
        assert found[19, 0] == 570


IMU_STEP = STEP // 10


def imu_times(offset=0.0):
    """Times of the samples: ten for a frame, the first at the first frame."""
    return FIRST + offset + IMU_STEP * np.arange(10.0 * N)


@pytest.mark.parametrize("offset", [0.0, 4e6, -3.6e12], ids=["one clock", "a little late", "another clock"])
def test_a_frame_whose_sample_was_taken_at_another_time_is_not_valid(tmp_path, offset):
    """By hand: samples are 5 ms apart, so that three are 15 ms; frame 7 names the fourth after its own, 9 the third."""
    odd = np.arange(N) * 10
    odd[7] += 4
    odd[9] += 3 if offset <= 0 else 2
    changes = {"imu__keyframe_indices": odd, "imu__device_timestamp_ns": imu_times(offset)}
    with Episode.open(made(tmp_path, **changes)) as episode:
        found, valid = episode.imu(0, N)
        assert np.flatnonzero(~valid).tolist() == [7]
        assert not found[7].any()
        assert np.flatnonzero(~episode.imu(5, 10)[1]).tolist() == [2]


def test_slow_samples_may_be_a_twentieth_of_a_second_away(tmp_path):
    """By hand: a sample every 100 ms; a frame between two is 50 ms from both, and three samples are too many."""
    slow = {
        "imu__device_timestamp_ns": FIRST + 1e8 * np.arange(12),
        "imu__keyframe_indices": np.arange(N) // 2,
        "imu__accel_xyz": np.ones((12, 3)),
        "imu__gyro_xyz": np.ones((12, 3)),
    }
    with Episode.open(made(tmp_path, **slow)) as episode:
        assert episode.imu(0, N)[1].all()
    slow["imu__keyframe_indices"] = np.arange(N) // 2 + (np.arange(N) == 4)
    with Episode.open(made(tmp_path, **slow)) as episode:
        assert np.flatnonzero(~episode.imu(0, N)[1]).tolist() == [4]


def test_samples_without_times_are_taken_at_their_word_and_times_that_are_none_are_not(tmp_path):
    with Episode.open(made(tmp_path)) as episode:
        assert episode.imu(0, N)[1].all()
    with Episode.open(made(tmp_path, imu__device_timestamp_ns=np.full(10 * N, np.nan))) as episode:
        assert not episode.imu(0, N)[1].any()
    with Episode.open(made(tmp_path, imu__device_timestamp_ns=imu_times()[:1])) as episode:
        assert episode.imu(0, N)[1].all()


def test_times_since_1970_have_nineteen_digits(tmp_path):
    first = 1_731_750_000_123_456_789
    caption = {"segments": [{"segment_id": 0, "start_frame": str(first + 2 * STEP), "end_frame": first + 5 * STEP}]}
    times = np.array([str(first + STEP * k).encode() for k in range(N)])
    changes = {"video__device_timestamp": times, "caption": json.dumps(caption).encode()}
    with Episode.open(made(tmp_path, **changes)) as episode:
        assert episode.times_ns[3] == first + 3 * STEP
        assert [(s.start, s.stop) for s in episode.frame_labels().segments] == [(2, 6)]
    late = np.array([b"9999999999999999999"] * N)
    with (
        Episode.open(made(tmp_path, video__device_timestamp=late)) as episode,
        pytest.raises(InputError, match=r"frame 0 has the time .*, expected nanoseconds"),
    ):
        _ = episode.times_ns


def test_confidence_that_ends_early_is_there_for_the_frames_that_it_has(tmp_path):
    short = np.full((12, 256, 256), 7, dtype=np.uint8)
    with Episode.open(made(tmp_path, depth__confidence=short)) as episode:
        assert episode.has_confidence(10, 15).tolist() == [True, True, False, False, False]
        assert episode.partial["confidence"] == "depth/confidence has 12 of 20 frames"
    with Episode.open(made(tmp_path, remove=["depth/confidence"])) as episode:
        assert not episode.has_confidence(0, N).any()


def test_a_file_that_says_it_was_generated_is_simulated(tmp_path):
    place = made(tmp_path)
    with Episode.open(place) as episode:
        assert not episode.simulated
    with h5py.File(place.annotation, "r+") as file:
        file.attrs["simulated"] = True
    with Episode.open(place) as episode:
        assert episode.simulated


def test_what_says_itself_that_it_saw_nothing_is_not_valid(tmp_path):
    content = values()
    for name in ("hand_mocap/left_joints_3d", "full_body_mocap/keypoints", "depth/depth", "full_body_mocap/contacts"):
        content[name][4] = 0
    with Episode.open(write(tmp_path, content)) as episode:
        unseen = {name: np.flatnonzero(~read(episode)).tolist() for name, read in BY_FRAME.items()}
    assert unseen == {name: [4] if name in ("hand_left", "body", "depth") else [] for name in BY_FRAME}


def test_numbers_that_are_none_are_masked_and_zero(tmp_path):
    content = values()
    for name in (item for key in BY_FRAME for item in DATASETS[key] if not item.startswith("imu")):
        content[name][3].flat[0] = np.nan
        content[name][6].flat[1] = np.inf
    content["imu/accel_xyz"][30, 1] = np.nan
    content["imu/gyro_xyz"][60, 1] = -np.inf
    content["slam/quat_wxyz"][8] = 0
    content["slam/trans_xyz"][9, 2] = 1e300
    with Episode.open(write(tmp_path, content)) as episode:
        unseen = {name: np.flatnonzero(~read(episode)).tolist() for name, read in BY_FRAME.items()}
        depth = episode.depth(3, 4)[0]
        poses = episode.poses(0, N)
        assert not episode.camera(8, 10)[1].any()
        assert not episode.hand("left", 3, 4).xyz.any()
    assert unseen == {name: [3, 6] for name in BY_FRAME} | {"camera": [3, 6, 8, 9], "depth": []}
    assert np.flatnonzero(~poses.valid).tolist() == [3, 6, 8, 9]
    assert np.isfinite(poses.translation).all()
    assert (depth == 0).sum() == 1


@pytest.mark.parametrize("stream", DATASETS)
def test_a_missing_stream_is_masked_or_refused_and_the_others_are_not(tmp_path, stream):
    remove = [name for name in values() if name.startswith(DATASETS[stream][-1])]
    with Episode.open(made(tmp_path, remove)) as episode:
        assert {name for name, why in episode.streams.items() if why and name not in VIDEOS} == {stream}
        assert episode.streams[stream] == f"{DATASETS[stream][-1]} is missing"
        seen = {name: bool(read(episode).any()) for name, read in BY_FRAME.items()}
        assert seen == {name: name != stream for name in BY_FRAME}
        assert (episode.depth(0, 1)[1] is None) == (stream == "confidence")
        whole = {
            "point_cloud": episode.point_cloud,
            "calibration": episode.calibration,
            "caption": episode.frame_labels,
        }
        for name, read in whole.items():
            if name == stream:
                with pytest.raises(InputError, match=f"s/ep0: stream {stream} cannot be read: .* is missing"):
                    read()
            else:
                read()


def test_without_the_pose_of_the_camera_nothing_is_moved(tmp_path):
    with Episode.open(made(tmp_path, ["calibration/cam01/T_c0_b"])) as episode:
        assert episode.streams["camera"] == ""
        assert "T_c0_b is missing" in episode.partial["camera"]
        assert episode.camera(0, N)[2].all()
        assert not episode.poses(0, N).valid.any()
    with Episode.open(made(tmp_path, calibration__cam01__T_c0_b=2 * np.eye(4))) as episode:
        assert not episode.poses(0, N).valid.any()


@pytest.mark.parametrize("stream", BY_FRAME)
def test_a_short_stream_is_masked_where_it_is_short(tmp_path, stream):
    name = DATASETS[stream][0]
    with Episode.open(made(tmp_path, **{name.replace("/", "__"): values()[name][:12]})) as episode:
        assert episode.streams[stream] == ""
        assert episode.partial == {stream: f"{name} has 12 of 20 frames"}
        assert BY_FRAME[stream](episode).tolist() == [True] * 12 + [False] * 8
        assert {key for key, read in BY_FRAME.items() if not read(episode).all()} == {stream}


def test_a_long_stream_is_read_as_far_as_the_episode_goes(tmp_path):
    with Episode.open(made(tmp_path, full_body_mocap__contacts=np.ones((25, 21)))) as episode:
        assert episode.partial == {"contacts": "full_body_mocap/contacts has 25 frames, of which 20 are used"}
        assert episode.contacts(0, N)[1].all()


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("hand_mocap/left_joints_3d", np.zeros((N, 20, 3)), "has the shape (20, 20, 3), expected (n, 21, 3)"),
        ("full_body_mocap/keypoints", np.zeros(N), "has the shape (20,), expected (n, 52, 3)"),
        ("depth/depth", np.zeros((N, 8, 8), np.float32), "has the shape (20, 8, 8), expected (n, 256, 256)"),
        ("full_body_mocap/contacts", np.full((N, 21), b"x"), "holds values of type |S1, expected numbers"),
        ("full_body_mocap/contacts", np.zeros((0, 21)), "is empty"),
        ("hand_mocap/right_joints_3d", h5py.Empty("f4"), "has the shape None, expected (n, 21, 3)"),
        ("slam/point_cloud", np.zeros((5, 2)), "has the shape (5, 2), expected (n, 3)"),
        ("caption", 3.0, "holds values of type float64, expected text"),
        ("full_body_mocap/contacts/inner", 3.0, "is a group, expected a dataset"),
    ],
)
def test_a_stream_of_another_kind_is_not_read(tmp_path, name, value, why):
    content = values()
    dataset = name.removesuffix("/inner")
    del content[dataset]
    with Episode.open(write(tmp_path, content | {name: value})) as episode:
        odd = {key: found for key, found in episode.streams.items() if found and key not in VIDEOS}
        stream = next(key for key, names in DATASETS.items() if dataset in names)
        assert odd == {stream: f"{dataset} {why}"}


def test_times_come_from_the_camera_where_the_video_has_none(tmp_path):
    with Episode.open(made(tmp_path, ["video/device_timestamp"])) as episode:
        assert episode.n_frames == N
        assert episode.times_ns[2] == FIRST + 2 * STEP
    with pytest.raises(
        InputError, match=r"no times of frames .*device_timestamp is missing; slam/frame_names is missing"
    ):
        Episode.open(made(tmp_path, ["video/device_timestamp", "slam/frame_names"]))


@pytest.mark.parametrize("kind", [np.int64, np.uint64, "S14", "O"])
def test_times_in_every_type(tmp_path, kind):
    times = [FIRST + STEP * k for k in range(N)]
    given = np.array([str(t) for t in times], dtype=object) if kind == "O" else np.array(times).astype(kind)
    with Episode.open(made(tmp_path, video__device_timestamp=given)) as episode:
        assert episode.times_ns.tolist() == times


TEXTS = st.one_of(
    st.integers(0, 10**18 - 1).map(lambda number: str(number).encode()),
    st.integers(0, 10**18 - 1).map(lambda number: b"%018d" % number),
    st.sampled_from([b"", b"12\x0034", b"-5", b"+5", b" 7", b"7.jpg", b"1e3", b"\xb2", b"9" * 19, b"a", b"/", b":"]),
    st.binary(max_size=20),
)


@given(st.lists(TEXTS, min_size=1, max_size=6))
def test_times_that_are_read_at_once_are_those_read_one_by_one(texts):
    """They are read at once only where all are digits, equally many, and then are what Python reads."""
    found = _numbers(np.array(texts, dtype="S"))
    plain = [text.rstrip(b"\x00") for text in texts]
    alike = len({len(text) for text in plain}) == 1 and all(re.fullmatch(rb"[0-9]{1,18}", text) for text in plain)
    assert (found is not None) == alike
    if found is not None:
        assert found.dtype == np.int64
        assert found.tolist() == [int(text) for text in plain]


@pytest.mark.parametrize("texts", [["5", "12", "113"], ["0008", "0009", "0010"], ["1.jpg", "2.jpg", "3.jpg"]])
def test_times_may_be_written_with_zeros_a_suffix_or_more_digits_later(tmp_path, texts):
    times = np.array(texts, dtype="S12")
    with Episode.open(made(tmp_path, video__device_timestamp=times)) as episode:
        assert episode.times_ns.tolist() == [int(text.partition(".")[0]) for text in texts]


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ([b"%02d" % k for k in [*range(10), 9, *range(11, N)]], "times do not rise at frame 10"),
        ([*range(10), 9, *range(11, N)], "times do not rise at frame 10"),
        ([*range(-1, N - 1)], "times do not rise at frame 0"),
        ([b"1", b"now"] * 10, "frame 1 has the time b'now', expected nanoseconds"),
        ([5], "1 frames, expected 2 to"),
    ],
)
def test_times_that_cannot_be_used(tmp_path, times, message):
    with (
        pytest.raises(InputError, match=message),
        Episode.open(made(tmp_path, video__device_timestamp=times)) as episode,
    ):
        assert episode.times_ns is None


def test_ranges_must_lie_in_the_episode(tmp_path):
    with Episode.open(made(tmp_path)) as episode:
        for start, stop in ((-1, 2), (3, 2), (0, N + 1)):
            with pytest.raises(InputError, match=f"frames {start} to {stop}, expected a range within 0 to 20"):
                episode.body(start, stop)
        assert episode.body(5, 5).xyz.shape == (0, 52, 3)
        assert episode.imu(5, 5)[0].shape == (0, 6)
        with pytest.raises(InputError, match="hand 'top'"):
            episode.hand("top", 0, 1)


def test_chunks_follow_the_file_and_cover_the_episode(tmp_path):
    n = 300
    content = {name: value for name, value in values(2).items() if not name.startswith("depth")}
    content["video/device_timestamp"] = np.arange(1, n + 1)
    content["depth/depth"] = np.zeros((n, 256, 256), np.float32)
    content["depth/confidence"] = np.zeros((n, 256, 256), np.uint8)
    place = write(tmp_path, content, {"depth/depth": (14, 64, 64), "depth/confidence": (4, 64, 64)})
    with Episode.open(place) as episode:
        parts = list(episode.chunks("depth"))
        assert [part.start for part in parts] == list(range(0, n, 84))  # of 28, as many as 32 MB hold
        assert parts[-1].stop == n
        assert [(part.start, part.stop) for part in episode.chunks("body")] == [(0, n)]


def test_links_and_values_in_other_files_are_not_followed(tmp_path):
    place = made(tmp_path)
    with h5py.File(tmp_path / "other.hdf5", "w") as other:
        other["x"] = np.ones((N, 21))
    with h5py.File(place.annotation, "r+") as file:
        for name in (
            "full_body_mocap/contacts",
            "full_body_mocap/keypoints",
            "hand_mocap",
            "depth/confidence",
            "caption",
        ):
            del file[name]
        file["full_body_mocap/contacts"] = h5py.ExternalLink(str(tmp_path / "other.hdf5"), "x")
        file["full_body_mocap/keypoints"] = h5py.SoftLink("/slam/point_cloud")
        file["hand_mocap"] = h5py.ExternalLink("/etc/passwd", "/")
        layout = h5py.VirtualLayout((N, 256, 256), "u1")
        layout[:] = h5py.VirtualSource(str(tmp_path / "other.hdf5"), "x", (N, 256, 256))
        file.create_virtual_dataset("depth/confidence", layout)
        del file["imu/accel_xyz"]
        file.create_dataset("imu/accel_xyz", (10 * N, 3), "f8", external=[(str(tmp_path / "raw"), 0, 8 * 30 * N)])
    with Episode.open(place) as episode:
        assert episode.streams["contacts"] == "full_body_mocap/contacts is a link, which is not followed"
        assert episode.streams["body"] == "full_body_mocap/keypoints is a link, which is not followed"
        assert episode.streams["hand_left"] == "hand_mocap/left_joints_3d is a link, which is not followed"
        elsewhere = "has its values in other files, which are not followed"
        assert episode.streams["confidence"] == f"depth/confidence {elsewhere}"
        assert episode.streams["imu"] == f"imu/accel_xyz {elsewhere}"
        assert not episode.contacts(0, N)[1].any()


def test_absurd_sizes_are_refused_before_they_are_read(tmp_path):
    place = made(tmp_path, ["slam/point_cloud", "depth/depth", "caption"])
    with h5py.File(place.annotation, "r+") as file:
        file.create_dataset("slam/point_cloud", (1 << 40, 3), "f8", chunks=(1024, 3))
        file.create_dataset("depth/depth", (1 << 20, 256, 256), "f4", chunks=(1 << 12, 256, 256))
        file.create_dataset("caption", (), f"S{1 << 30}")
    with Episode.open(place) as episode:
        assert "is stored in chunks of (4096, 256, 256), expected at most" in episode.streams["depth"]
        with pytest.raises(InputError, match="/slam/point_cloud: 26388279066624 bytes, expected at most"):
            episode.point_cloud()
        assert "is stored in values of 1073741824 bytes, expected at most" in episode.streams["caption"]
    place = made(tmp_path, ["video/device_timestamp"])
    with h5py.File(place.annotation, "r+") as file:
        file.create_dataset("video/device_timestamp", (1 << 50,), "i8", chunks=(1024,))
    with pytest.raises(InputError, match="1125899906842624 frames, expected 2 to"):
        Episode.open(place)


def test_a_calibration_in_a_circle_is_not_followed(tmp_path):
    place = made(tmp_path)
    with h5py.File(place.annotation, "r+") as file:
        file["calibration/cam0/again"] = file["calibration"]
    with Episode.open(place) as episode:
        assert "too many groups" in episode.streams["calibration"]


def test_files_that_are_not_hdf5(tmp_path):
    place = Place("s/ep0", tmp_path)
    with pytest.raises(InputError, match=r"annotation\.hdf5: no such file"):
        Episode.open(place)
    for content, message in (
        (b"", "empty"),
        (b"PK\x03\x04", "not a readable HDF5 file"),
        (b"\x89HDF\r\n\x1a\n", "HDF5"),
    ):
        place.annotation.write_bytes(content)
        with pytest.raises(InputError, match=message):
            Episode.open(place)


def test_a_file_that_is_cut_off_is_refused(tmp_path):
    place = made(tmp_path)
    raw = place.annotation.read_bytes()
    place.annotation.write_bytes(raw[: len(raw) // 2])
    with pytest.raises(InputError, match=r"annotation\.hdf5: not a readable HDF5 file .*copy it again"):
        Episode.open(place)


def test_damaged_values_are_an_error_with_the_dataset(tmp_path):
    place = made(tmp_path, ["full_body_mocap/contacts"])
    with h5py.File(place.annotation, "r+") as file:
        file.create_dataset("full_body_mocap/contacts", data=values()["full_body_mocap/contacts"], compression="gzip")
        chunk = file["full_body_mocap/contacts"].id.get_chunk_info(0)
    raw = bytearray(place.annotation.read_bytes())
    raw[chunk.byte_offset : chunk.byte_offset + 40] = bytes(40)
    place.annotation.write_bytes(raw)
    with Episode.open(place) as episode:
        with pytest.raises(InputError, match=r"annotation\.hdf5: /full_body_mocap/contacts cannot be read .*damaged"):
            episode.contacts(0, N)
        assert episode.body(0, N).valid.all()


def test_damage_anywhere_gives_values_or_the_projects_own_error(tmp_path):
    place = made(tmp_path, ["depth/depth", "depth/confidence"])
    raw = place.annotation.read_bytes()
    generator = np.random.default_rng(3)
    refused = 0
    for _ in range(60):
        data = bytearray(raw)
        for start in generator.integers(0, len(raw) - 8, 20):
            data[start : start + 8] = generator.integers(0, 256, 8, dtype=np.uint8).tobytes()
        place.annotation.write_bytes(data)
        try:
            with Episode.open(place) as episode:
                refused += any(episode.streams[name] for name in DATASETS if name not in ("depth", "confidence"))
                for read in BY_FRAME.values():
                    assert read(episode).shape == (N,)
                episode.point_cloud()
                episode.calibration()
                episode.frame_labels()
        except InputError:
            refused += 1
    assert refused > 10


def test_videos_are_looked_at_but_not_decoded(tmp_path):
    place = made(tmp_path)
    place.video("stereo_left").write_bytes(b"\0\0\0\x08ftyp\0\0\0\x08moov")
    place.video("stereo_right").write_bytes(b"\0\0\0\x08ftyp\0\0\0\x08moov\0\0\x01\0mdat")
    place.video("fisheye_cam0").write_bytes(b"something else")
    with Episode.open(place) as episode:
        found = {name: episode.streams[name] for name in VIDEOS}
        assert found["stereo_left"] == found["stereo_right"] == ""
        assert found["fisheye_cam0"] == "not an MP4 file"
        assert found["fisheye_cam1"] == "missing"
        assert episode.partial == {"stereo_right": "cut off: 24 bytes, expected 272"}


def test_what_to_install_is_said(tmp_path, monkeypatch):
    place = made(tmp_path)
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'gnomon\[episode\]'"):
        Episode.open(place)


@pytest.mark.real
@pytest.mark.skipif(not REAL.is_file(), reason="needs GNOMON_REAL_DATA")
class TestReal:
    """The first 8 frames of the public sample."""

    @pytest.fixture
    def episode(self, tmp_path):
        (tmp_path / "s/ep0").mkdir(parents=True)
        (tmp_path / "s/ep0/annotation.hdf5").symlink_to(REAL)
        with Episode.open(find([tmp_path])[0]) as opened:
            yield opened

    def test_every_stream_can_be_read(self, episode):
        assert {name: why for name, why in episode.streams.items() if why} == dict.fromkeys(VIDEOS, "missing")
        assert episode.partial == {}
        assert episode.n_frames == 8
        assert episode.times_ns[0] == FIRST
        assert sum(value.size for value in episode.calibration().values()) == 117
        assert episode.point_cloud().shape == (4089, 3)
        assert all(read.all() for read in (episode.imu(0, 8)[1], episode.depth(0, 8)[2], episode.contacts(0, 8)[1]))

    def test_a_hand_and_the_wrist_of_the_body_agree_after_the_transform_alone(self, episode):
        """Within 1 cm where the hand is seen; the raw numbers differ by more than a metre."""
        wrists = episode.body(0, 8)
        for side, joint in (("left", 20), ("right", 21)):
            hand = episode.hand(side, 0, 8).joint(0)
            gap = hand.to_world(episode.poses(0, 8)).minus(wrists.joint(joint))
            assert gap.valid.tolist() == [side == "left"] * 8
            assert np.linalg.norm(gap.xyz[gap.valid], axis=-1).max(initial=0) < 0.01
        raw = episode.hand("left", 0, 8).xyz[:, 0] - wrists.xyz[:, 20]
        np.testing.assert_allclose(np.linalg.norm(raw, axis=-1), 1.24, atol=0.02)
        with pytest.raises(InputError, match="camera frame minus positions in the world frame"):
            episode.hand("left", 0, 8).joint(0).minus(wrists.joint(20))

    def test_the_root_is_the_stored_one(self, episode):
        with h5py.File(REAL) as file:
            stored = file["full_body_mocap/Ts_world_root"][:, 4:]
        np.testing.assert_allclose(episode.root(0, 8).xyz[:, 0], stored, atol=1e-6)

    def test_the_caption_of_a_longer_episode_is_cut_to_this_one(self, episode):
        found = episode.frame_labels()
        assert [(s.start, s.stop) for s in found.segments] == [(0, 8)]
        assert set(found.action) == {"Pick up kettle"}
        assert found.repairs == {
            "ranges wholly outside the episode, left out": 34,
            "references outside the episode": 75,
        }

    def test_the_whole_caption_gives_the_published_numbers_of_windows(self):
        """1144 windows with an action (801 + 343) and 1147 with a sub-task (803 + 344) of 1161, and 34 objects."""
        with h5py.File(REAL) as file:
            raw = file["caption"][()]
        n = 5821
        times = FIRST + np.rint(np.arange(n) * 1e9 / 20.0014).astype(np.int64)
        found = parse(raw, times, n)
        assert len(found.segments) == 18
        assert found.repairs["references outside the episode"] == 1  # frame_0005822
        assert "unreadable references" not in found.repairs
        assert all(found.action)
        assert all(found.subtask)
        assert len(frozenset().union(*found.objects)) == 34
        usable = [
            sum(max(Counter(labels[start : start + 20]).values()) >= 12 for start in range(0, n - 19, 5))
            for labels in (found.action, found.subtask)
        ]
        assert usable == [1144, 1147]
