"""What tasks need of an episode, written and read back.

Expected values: what the reader of episodes gives; what was damaged here.
"""

import shutil

import numpy as np
import pytest

from gnomon.suites.episode import annotated
from gnomon.suites.episode.annotated import Annotation, NoFeatures
from gnomon.suites.episode.episode import Episode
from gnomon.suites.episode.features.blocks import DIM
from gnomon.suites.episode.frames import CAMERA, WORLD
from gnomon.suites.episode.layout import Place


def kept(place, folder):
    folder.mkdir(exist_ok=True)
    with Episode.open(place) as episode:
        annotated.write(episode, folder)
    return Annotation.read(folder)


@pytest.fixture
def copied(places, tmp_path):
    """An episode that may be damaged; without videos, which are not read here."""
    folder = tmp_path / "s" / "ep0"
    folder.mkdir(parents=True)
    shutil.copy(places[0].annotation, folder)
    return Place("s/ep0", folder)


def edit(place, change):
    import h5py

    with h5py.File(place.annotation, "r+") as file:
        change(file)


def test_everything_is_read_back_as_the_episode_has_it(places, tmp_path):
    one = kept(places[0], tmp_path).recorded()
    with Episode.open(places[0]) as episode:
        n = episode.n_frames
        for side in ("left", "right"):
            points = episode.hand(side, 0, n)
            np.testing.assert_array_equal(one.hands[side].xyz, points.xyz)
            np.testing.assert_array_equal(one.hands[side].valid, points.valid)
        np.testing.assert_array_equal(one.root.xyz, episode.root(0, n).xyz)
        np.testing.assert_array_equal(one.poses.rotation, episode.poses(0, n).rotation)
        np.testing.assert_array_equal(one.poses.valid, episode.poses(0, n).valid)
        for ours, theirs in zip(one.contacts, episode.contacts(0, n), strict=True):
            np.testing.assert_array_equal(ours, theirs)
        assert one.labels == episode.frame_labels()
    assert (one.hands["left"].frame, one.root.frame) == (CAMERA, WORLD)
    assert not one.hands["left"].valid.all()  # gaps are gaps here too


def test_without_a_caption_nothing_is_labelled_and_it_says_why(copied, tmp_path):
    edit(copied, lambda file: file.__delitem__("caption"))
    found = kept(copied, tmp_path / "out")
    assert found.caption == "caption is missing"
    assert set(found.labels.action) == {""}
    assert not any(found.labels.objects)


def test_frames_that_cannot_be_read_are_not_valid_and_the_reason_is_kept(copied, tmp_path):
    """The only chunk of a hand is overwritten; the other streams are whole."""
    import h5py

    with h5py.File(copied.annotation, "r") as file:
        where = file["hand_mocap/left_joints_3d"].id.get_chunk_info(0).byte_offset
    with copied.annotation.open("r+b") as raw:
        raw.seek(where)
        raw.write(b"\xff" * 64)
    found = kept(copied, tmp_path / "out")
    one = found.recorded()
    assert not one.hands["left"].valid.any()
    assert not one.hands["left"].xyz.any()
    assert one.hands["right"].valid.any()
    assert "left_joints_3d cannot be read" in (tmp_path / "out" / annotated.LABELS).read_text()
    assert str(tmp_path) not in (tmp_path / "out" / annotated.LABELS).read_text()


def test_features_that_nobody_computed_are_of_no_width_and_not_covered():
    nothing = NoFeatures(3)
    assert nothing.values.shape == (3, 0)
    assert not nothing.coverage.any()
    assert nothing.columns(["calibration"]).tolist() == list(range(DIM - 117, DIM))
