"""Finding episodes on disk: folders are made here, expected names are written by hand."""

import pytest

from gnomon.core.errors import InputError
from gnomon.intake.unread import collecting
from gnomon.suites.episode.layout import STREAMS, VIDEOS, content, find


def make(root, *names, file="annotation.hdf5"):
    for name in names:
        (root / name).mkdir(parents=True, exist_ok=True)
        (root / name / file).write_bytes(name.encode())


def ids(*paths):
    return [place.id for place in find(paths)]


def test_episodes_are_found_at_every_level_in_natural_order(tmp_path):
    make(tmp_path / "data", "b/ep10", "b/ep9", "a2/ep0", "a10/ep0")
    assert ids(tmp_path / "data") == ["a2/ep0", "a10/ep0", "b/ep9", "b/ep10"]
    assert ids(tmp_path / "data/b") == ["b/ep9", "b/ep10"]
    assert ids(tmp_path / "data/b/ep10") == ["b/ep10"]
    assert ids(tmp_path / "data/b", tmp_path / "data/b/ep9") == ["b/ep9", "b/ep10"]


def test_a_relative_folder_is_named_like_an_absolute_one(tmp_path, monkeypatch):
    make(tmp_path, "s/ep0")
    monkeypatch.chdir(tmp_path / "s/ep0")
    assert ids(".") == ["s/ep0"]


def test_other_folders_and_files_are_passed_over(tmp_path):
    make(tmp_path, "s/ep0", "s/notes", "s/ep0x", "s/ep1/deep/ep0")
    (tmp_path / "s/ep2").mkdir()
    (tmp_path / "readme.txt").write_text("")
    assert ids(tmp_path) == ["s/ep0"]


def test_episodes_that_are_not_reached_are_noted(tmp_path):
    """One lies too deep, one is not called ep<k>; nothing is said of an episode itself."""
    make(tmp_path, "s/ep0", "s/ep0x", "x/t/ep0", "s/ep0/old", ".hidden/t/ep0")
    with collecting() as notes:
        assert ids(tmp_path) == ["s/ep0"]
        assert ids(tmp_path / "s/ep0") == ["s/ep0"]
    assert notes.notes == {
        "": {str(tmp_path / "*"): {"s/ep0x/annotation.hdf5": 1, "x/t/ep0/annotation.hdf5": 1}},
    }


def test_one_name_in_two_places_is_refused(tmp_path):
    make(tmp_path, "x/s/ep0", "y/s/ep0")
    with pytest.raises(InputError, match="episode 's/ep0' is there twice"):
        find([tmp_path / "x", tmp_path / "y"])


def test_nothing_found(tmp_path):
    with pytest.raises(InputError, match=r"no episode; expected annotation\.hdf5 in it, or in folders ep<k>"):
        find([tmp_path])
    with pytest.raises(InputError, match="no such folder"):
        find([tmp_path / "absent"])
    make(tmp_path, "s/ep0")
    with pytest.raises(InputError, match="is not a folder"):
        find([tmp_path / "s/ep0/annotation.hdf5"])


def test_an_incomplete_episode_is_refused_not_passed_over(tmp_path):
    make(tmp_path, "s/ep0")
    make(tmp_path, "s/ep1", file="stereo_left.mp4")
    with pytest.raises(InputError, match=r"ep1: has videos but no annotation\.hdf5"):
        find([tmp_path])


def test_content_depends_on_names_and_bytes_of_the_files_of_the_layout_alone(tmp_path):
    make(tmp_path, "s/ep0")
    (place,) = find([tmp_path])
    first = content(place)
    (place.folder / "notes.txt").write_text("not part of the layout")
    assert content(place) == first
    place.video("stereo_left").write_bytes(b"video")
    second = content(place)
    place.video("stereo_left").rename(place.video("stereo_right"))
    third = content(place)
    place.video("stereo_right").write_bytes(b"other")
    assert len({first, second, third, content(place)}) == 4


def test_the_streams_of_the_layout():
    assert len(STREAMS) == 17
    assert STREAMS[-6:] == VIDEOS
