"""Episodes whose streams are read when they are asked for: what tasks make of them, what they hold, what they refuse.

Expected values: the same episodes, read at once; what was damaged here.
"""

import os
import shutil
import tracemalloc

import numpy as np
import pytest

h5py = pytest.importorskip("h5py")

from gnomon.core.errors import InputError  # noqa: E402
from gnomon.suites.episode import unread  # noqa: E402
from gnomon.suites.episode.annotated import ARRAYS, LABELS, Annotation, write  # noqa: E402
from gnomon.suites.episode.episode import Episode  # noqa: E402
from gnomon.suites.episode.layout import Place  # noqa: E402
from gnomon.suites.episode.tasks import targets  # noqa: E402
from gnomon.suites.episode.tasks.declared import TASKS, VARIANTS  # noqa: E402
from gnomon.suites.episode.tasks.sampling import build  # noqa: E402

FORECAST, CONTACT = "hand_trajectory_forecast", "contact_prediction"
FREE = [name for name, task in TASKS.items() if not task.target_blocks]
"""Tasks whose targets are no features."""


@pytest.fixture
def place(places, tmp_path):
    """A recording that may be changed."""
    folder = tmp_path / "s" / "ep0"
    folder.mkdir(parents=True)
    shutil.copy(places[0].annotation, folder)
    return Place("s/ep0", folder)


@pytest.fixture
def kept(place, tmp_path):
    """Its artefact."""
    folder = tmp_path / "kept"
    folder.mkdir()
    with Episode.open(place) as episode:
        write(episode, folder)
    return folder


@pytest.fixture
def ways(place, kept, tmp_path):
    """The episode read at once, from its recording, and from its artefact."""
    return [Annotation.read(kept).recorded(), unread.opened(place, tmp_path / "held"), unread.stored(kept)]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("task", FREE)
def test_tasks_are_those_of_the_episode_that_was_read_at_once(ways, task, variant):
    whole, *others = (build(TASKS[task], [one], variant) for one in ways)
    assert len(whole)
    for other in others:
        for name in ("ids", "segment", "part", "labels", "sets", "classes", "fitted_on", "facts"):
            assert getattr(other, name) == getattr(whole, name)
        for name in ("rows", "input_range", "target_range", "clamped"):
            np.testing.assert_array_equal(getattr(other, name), getattr(whole, name))
        for made in ("y", "valid"):
            expected, found = getattr(whole, made)(), getattr(other, made)()
            np.testing.assert_array_equal(found, expected)
            assert expected is None or found.dtype == expected.dtype


def test_streams_are_those_of_the_episode_that_was_read_at_once(ways):
    whole, *others = ways
    for other in others:
        assert (other.id, other.n_frames, other.labels) == (whole.id, whole.n_frames, whole.labels)
        assert other.segments == whole.segments
        for one, two in [(whole.root, other.root), *((whole.hands[side], other.hands[side]) for side in whole.hands)]:
            np.testing.assert_array_equal(two.xyz, one.xyz)
            np.testing.assert_array_equal(two.valid, one.valid)
            assert two.frame == one.frame
        for name in ("rotation", "translation", "valid"):
            np.testing.assert_array_equal(getattr(other.poses, name), getattr(whole.poses, name))
        for one, two in zip(whole.contacts, other.contacts, strict=True):
            np.testing.assert_array_equal(two, one)


def test_streams_are_not_held(kept, place, tmp_path):
    """Hands, root, poses and contacts of a frame take more than 1,300 bytes; nothing that large may stay."""
    n = Annotation.read(kept).n_frames

    def left(make):
        tracemalloc.start()
        ones = [make(number) for number in range(3)]
        for one in ones:
            for variant in VARIANTS:
                targets.flags(one, variant)
                targets.positions(one, variant)
                targets.touched(one, variant)
        held = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        return held / len(ones) / n

    assert left(lambda _: Annotation.read(kept).recorded()) > 1300  # so that the bound below means something
    for make in (lambda _: unread.stored(kept), lambda number: unread.opened(place, tmp_path / str(number))):
        make(9)  # what is kept of modules and of compiled code does not count
        assert left(make) < 300


def test_positions_are_made_once_where_they_can_be_held(ways):
    _, opened, stored = ways
    loads = []
    for one in (opened, stored):
        inner = one._load
        object.__setattr__(one, "_load", lambda names, inner=inner, one=one: loads.append(one) or inner(names))
    first, second = ([targets.positions(one, "strict") for _ in range(3)] for one in (opened, stored))
    assert [loads.count(one) for one in (opened, stored)] == [1, 3]
    for found in (*first, *second):
        np.testing.assert_array_equal(found, first[0])
    for _ in range(2):
        targets.flags(opened, "strict")
        targets.flags(stored, "strict")
    assert [loads.count(one) for one in (opened, stored)] == [1, 3]


def test_no_file_stays_open(ways):
    for one in ways[1:]:
        targets.positions(one, "strict")
        targets.touched(one, "strict")
    assert h5py.h5f.get_obj_count(h5py.h5f.OBJ_ALL, h5py.h5f.OBJ_FILE) == 0


def longer(path):
    """Append frames to the streams of a recording."""
    with h5py.File(path, "r+") as file:
        for name in ("video/device_timestamp", "hand_mocap/left_joints_3d"):
            values = file[name][()]
            del file[name]
            file[name] = np.concatenate([values, values[-1:]])


def touch(path):
    """Leave everything but the time as it is."""
    found = path.stat()
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns + 1))


@pytest.mark.parametrize("change", [longer, touch, os.remove])
@pytest.mark.parametrize("ask", ["motion", "hands", "root", "poses", "contacts"])
def test_a_recording_that_changed_is_refused(place, tmp_path, change, ask):
    one = unread.opened(place, tmp_path / "held")
    change(place.annotation)
    with pytest.raises(InputError, match=r"annotation.hdf5: changed while it was scored; give the same command again"):
        one.motion() if ask == "motion" else getattr(one, ask)


def test_a_recording_that_changes_while_it_is_read_is_refused(place, tmp_path, monkeypatch):
    one, inner = unread.opened(place, tmp_path / "held"), unread.stream

    def changing(episode, name):
        touch(place.annotation)
        return inner(episode, name)

    monkeypatch.setattr(unread, "stream", changing)
    with pytest.raises(InputError, match="changed while it was scored"):
        _ = one.contacts


def test_a_recording_that_is_not_there_is_refused_as_such(tmp_path):
    with pytest.raises(InputError, match=r"nowhere/annotation.hdf5: no such file"):
        unread.opened(Place("s/ep0", tmp_path / "nowhere"), tmp_path / "held")


def damaged(kept, how):
    path = kept / ARRAYS
    if how == "gone":
        path.unlink()
    elif how == "cut":
        path.write_bytes(path.read_bytes()[:100])
    else:
        with np.load(path) as file:
            arrays = {name: file[name] for name in file.files}
        if how == "lacks":
            del arrays["root_xyz"]
        elif how == "short":
            arrays["root_xyz"] = arrays["root_xyz"][:-1]
        else:
            arrays["root_xyz"] = arrays["root_xyz"].astype(object)
        np.savez(path, **arrays)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (
            "gone",
            r"annotation.npz: not the arrays of an episode \(.*No such file.*\); delete it, and give the same command",
        ),
        ("cut", r"annotation.npz: not the arrays of an episode \(.*\); delete it"),
        ("lacks", r"annotation.npz: not the arrays of an episode \(.*root_xyz.*\); delete it"),
        ("object", r"annotation.npz: not the arrays of an episode \(.*\); delete it"),
        ("short", r"episode 's/ep0': expected 200 frames of each stream, but got root_xyz 199"),
    ],
)
def test_an_artefact_that_is_damaged_later_is_refused(kept, how, message):
    one = unread.stored(kept)
    damaged(kept, how)
    with pytest.raises(InputError, match=message):
        _ = one.root
    with pytest.raises(InputError, match=message):
        build(TASKS[FORECAST], [one], "strict")
    if how in ("lacks", "short", "object"):
        assert len(build(TASKS[CONTACT], [one], "strict"))  # which reads another stream


def test_labels_that_do_not_fit_are_refused(kept):
    path = kept / LABELS
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"frames": 200', '"frames": 190'), encoding="utf-8")
    with pytest.raises(InputError, match="episode 's/ep0': expected 190 frames of each stream, but got action labels"):
        unread.stored(kept)
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match=r"labels.json: not the labels of an episode \(.*\); delete it"):
        unread.stored(kept)


def test_what_cannot_be_held_is_said(place, tmp_path):
    taken = tmp_path / "held"
    taken.write_text("a file", encoding="utf-8")
    with pytest.raises(InputError, match=r"held: cannot be written \(.*\); make room"):
        targets.positions(unread.opened(place, taken), "strict")
