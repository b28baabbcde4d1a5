"""Windows and blocks: counts and dims by hand, labels of windows by a plain count, the table written and read."""

import json
import types

import hypothesis.strategies as st
import pytest
from hypothesis import given

from gnomon.core.errors import InputError
from gnomon.suites.episode import layout
from gnomon.suites.episode.features.blocks import BLOCKS, DIM, NAMES, VIDEOS, column_numbers, manifest, spans
from gnomon.suites.episode.features.windows import COLUMNS, majority, read_windows, starts, window_table, write_windows
from gnomon.suites.episode.frames import FRAMES

DIMS = {
    "hand_left_joints": 441,
    "hand_right_joints": 441,
    "body_joints": 1092,
    "body_contacts": 147,
    "camera_translation": 21,
    "camera_rotation_matrix": 63,
    "imu_accel_gyro": 42,
    "depth_confidence": 980,
    "video_fisheye_cam0": 686,
    "video_fisheye_cam1": 686,
    "video_fisheye_cam2": 686,
    "video_fisheye_cam3": 686,
    "video_stereo_left": 686,
    "video_stereo_right": 686,
    "caption_objects_interaction_text": 896,
    "slam_point_cloud": 22,
    "calibration": 117,
}
"""As published."""


def labels(action, subtask=None):
    return types.SimpleNamespace(action=tuple(action), subtask=tuple(subtask or action))


def test_the_blocks_are_the_published_ones_in_order():
    assert {block.name: block.dim for block in BLOCKS} == DIMS
    assert tuple(DIMS) == NAMES
    assert DIM == sum(DIMS.values()) == 8378
    motion = [name for name in NAMES if name.startswith(("hand", "body", "camera", "imu"))]
    assert len(column_numbers(motion)) == 2247
    assert len(column_numbers([name for name in NAMES if name.startswith(("depth", "video"))])) == 5096
    assert len(column_numbers([name for name in NAMES if not name.startswith("caption")])) == 7482


def test_blocks_name_streams_and_frames_that_exist():
    assert layout.VIDEOS == VIDEOS
    assert {stream for block in BLOCKS for stream in block.stream} == set(layout.STREAMS)
    assert {block.frame for block in BLOCKS} <= {*FRAMES, ""}


def test_only_the_caption_the_map_and_the_calibration_are_not_observed():
    odd = {block.name: block.kind for block in BLOCKS if block.kind != "observed"}
    assert odd == {
        "caption_objects_interaction_text": "derived-from-annotation",
        "slam_point_cloud": "whole-episode",
        "calibration": "static",
    }


def test_the_manifest_covers_every_column_once_and_is_json():
    found = json.loads(json.dumps(manifest()))
    ends = [block["end"] for block in found["blocks"]]
    assert [block["start"] for block in found["blocks"]] == [0, *ends[:-1]]
    assert ends[-1] == found["dim"] == 8378
    assert spans()["depth_confidence"] == slice(2247, 3227)
    assert column_numbers(["calibration", "camera_translation"])[::117] == [8261, 2121]


def test_an_unknown_block_is_refused():
    with pytest.raises(InputError, match="no block 'audio'"):
        column_numbers(["audio"])


@pytest.mark.parametrize(
    ("n_frames", "count"), [(5821, 1161), (20, 1), (19, 0), (24, 1), (25, 2), (0, 0), (5825, 1162)]
)
def test_windows_by_hand(n_frames, count):
    found = starts(n_frames)
    assert len(found) == count
    assert found.tolist() == [5 * i for i in range(count)]


@given(st.integers(0, 400))
def test_windows_lie_inside_and_no_further_one_would(n_frames):
    found = starts(n_frames).tolist()
    assert all(start + 20 <= n_frames for start in found)
    assert 5 * len(found) + 20 > n_frames


@given(st.lists(st.sampled_from(["a", "b", "c", "", "N/A"]), max_size=20))
def test_majority_is_that_of_a_plain_count(frames):
    given_labels = [label for label in frames if label and label != "N/A"]
    label, share = majority(frames)
    if not given_labels:
        assert (label, share) == ("", None)
        return
    most = max(given_labels.count(one) for one in "abc")
    winner = next(one for one in given_labels if given_labels.count(one) == most)
    assert share == most / len(given_labels)
    assert label == (winner if share >= 0.6 else "")


def test_majority_needs_60_percent_of_the_frames_that_have_a_label():
    assert majority(["a"] * 12 + ["b"] * 8) == ("a", 0.6)
    assert majority(["a"] * 11 + ["b"] * 9) == ("", 0.55)
    assert majority(["N/A"] * 15 + ["a"] * 3 + ["b"] * 2) == ("a", 0.6)
    assert majority(["b", "a"], least=0.5) == ("b", 0.5)


def test_the_table_by_hand_and_back(tmp_path):
    action = ["pour, slowly"] * 15 + ['say "stop"'] * 15
    columns = window_table(labels(action, [""] * 30), 30)
    assert tuple(columns) == COLUMNS
    assert columns["start_frame"] == [0, 5, 10]
    assert columns["end_frame"] == [19, 24, 29]
    assert columns["center_frame"] == [9, 14, 19]
    assert columns["action_label"] == ["pour, slowly", "", 'say "stop"']
    assert columns["action_fraction"] == [0.75, 0.5, 0.75]
    assert columns["subtask_fraction"] == [None] * 3
    write_windows(columns, tmp_path / "windows.csv")
    assert read_windows(tmp_path / "windows.csv") == columns
    head = (tmp_path / "windows.csv").read_text().splitlines()[0].replace('"', "")
    assert head == ",".join(COLUMNS)


def test_labels_of_another_length_are_refused():
    with pytest.raises(InputError, match="action for 30 frames, but got 29"):
        window_table(labels(["a"] * 29), 30)


def test_a_table_without_a_column_is_refused(tmp_path):
    (tmp_path / "windows.csv").write_text("window_index,start_frame\n0,0\n")
    with pytest.raises(InputError, match="no column 'end_frame'"):
        read_windows(tmp_path / "windows.csv")
