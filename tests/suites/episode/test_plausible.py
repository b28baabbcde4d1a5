"""Episodes that cannot be what they say: other units, times that go backwards, frames that were shuffled."""

from __future__ import annotations

import os
import shutil

import numpy as np
import pytest

h5py = pytest.importorskip("h5py")

import gnomon  # noqa: E402
from gnomon.core.errors import InputError  # noqa: E402
from gnomon.suites.episode.layout import Place  # noqa: E402
from gnomon.suites.episode.plausible import find_disorder  # noqa: E402
from gnomon.suites.episode.running import fault_of  # noqa: E402
from gnomon.suites.episode.simulation.recording import Request, act_out, datasets  # noqa: E402

FRAMES = 300
FORECAST, TASK = "hand_trajectory_forecast", "transition_detection"
BODY, CAMERA = "full_body_mocap/keypoints", "slam/trans_xyz"


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """The annotation of an episode, without depth and videos, that is as it should be."""
    folder = tmp_path_factory.mktemp("template") / "session_000" / "ep0"
    folder.mkdir(parents=True)
    request = Request(5, 0, FRAMES, 16, False)
    with h5py.File(folder / "annotation.hdf5", "w") as file:
        for name, values in datasets(request, act_out(request)).items():
            file[name] = values
    return folder


@pytest.fixture
def changed(template, tmp_path):
    """Change some datasets of a copy."""
    place = tmp_path / "session_000" / "ep0"
    place.mkdir(parents=True)
    shutil.copy(template / "annotation.hdf5", place)

    def change(**made):
        with h5py.File(place / "annotation.hdf5", "a") as file:
            for name, how in made.items():
                values = how(file[name][()])
                del file[name]
                file[name] = values
        return Place("session_000/ep0", place)

    return change


def swapped(values):
    values[[7, 8]] = values[[8, 7]]
    return values


def shuffled(values):
    return np.random.default_rng(0).permutation(values)


def wandering(values):
    """The same body on a path through a large room."""
    path = np.cumsum(np.full((len(values), 3), [0.05, 0.02, 0.0]), axis=0)
    return values + (path[:, None] if values.ndim == 3 else path)


def test_an_episode_as_it_should_be_has_no_fault(changed):
    assert fault_of(changed()) == ""


@pytest.mark.parametrize(
    ("name", "factor", "message"),
    [
        (
            BODY,
            1000,
            r"full_body_mocap/keypoints: median body extent 1\d{3} m \(300 poses\), expected 0.1 to 4 m: .*millimetres",
        ),
        (BODY, 0.001, "full_body_mocap/keypoints: median body extent 0.001.* m .*expected 0.1 to 4 m"),
        (
            "hand_mocap/left_joints_3d",
            1000,
            r"left_joints_3d: median body extent 1\d\d m .*0.02 to 1 m: .*millimetres",
        ),
        (CAMERA, 1000, r"the camera is .* m from the pelvis \(median over 300 frames\), expected at most 5.0 m"),
    ],
)
def test_sizes_that_no_person_has_are_refused(changed, name, factor, message):
    place = changed(**{name: lambda values: values * factor})
    fault = fault_of(place)
    with pytest.raises(InputError, match=message):
        raise InputError(fault)
    data = os.fspath(place.folder.parent.parent)
    with pytest.raises(InputError, match=message):
        gnomon.run("episode", episodes=(data,), systems=("random",), tasks=(TASK,))
    table = {"task": [TASK], "sample": ["session_000/ep0/215"], "label": ["boundary"]}
    with pytest.raises(InputError, match=message):
        gnomon.score("episode", (data,), {"mine": table}, missing="wrong")


def test_an_episode_partly_in_millimetres_is_refused(changed):
    def mixed(values):
        values[:100] *= 1000
        return values

    said = "full_body_mocap/keypoints: median body extent 1."
    fault = fault_of(changed(**{BODY: mixed}))
    assert said in fault
    assert "m, but 100 of 300 (33%) measure 1" in fault
    assert "expected 0.1 to 4 m: not all are in one unit" in fault


def test_times_of_frames_that_go_backwards_are_refused(changed):
    with pytest.raises(InputError, match=r"times do not rise at frame 8: \d+ ns after \d+ ns"):
        raise InputError(fault_of(changed(**{"video/device_timestamp": swapped})))


STREAMS = ["imu/device_timestamp_ns", "imu/keyframe_indices", "slam/frame_names"]


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("how", [shuffled, lambda values: values[::-1], lambda values: np.roll(values, 60)])
def test_streams_that_are_not_in_order_are_refused(changed, name, how):
    said = (
        rf"{name}: goes backwards at row \d+: \d+ after \d+.* rows are out of order, expected at most 1%; put the rows"
    )
    with pytest.raises(InputError, match=said):
        raise InputError(fault_of(changed(**{name: how})))


@pytest.mark.parametrize("name", STREAMS)
def test_a_few_rows_out_of_order_are_a_finding(changed, name):
    place = changed(**{name: swapped})
    assert fault_of(place) == ""
    given = {"episodes": (os.fspath(place.folder.parent.parent),), "systems": ("random",), "tasks": (TASK,)}
    (run,) = gnomon.run("episode", **given).runs
    (finding,) = [one for one in run.findings if one.id == "rows-out-of-order"]
    assert (finding.severity, finding.where) == ("warning", "session_000/ep0")
    with pytest.raises(
        InputError, match=rf"{name} goes backwards at row 8: \d+ after \d+; 1 of [\d,]+ rows are out of"
    ):
        raise InputError(finding.evidence)


def test_score_does_not_refuse_the_order_of_a_stream_that_no_task_is_made_from(changed):
    data = os.fspath(changed(**{"imu/device_timestamp_ns": shuffled}).folder.parent.parent)
    table = {"task": [TASK], "sample": ["session_000/ep0/215"], "label": ["boundary"]}
    (run,) = gnomon.score("episode", (data,), {"mine": table}, missing="wrong").runs
    assert "rows-out-of-order" in {one.id for one in run.findings}


@pytest.mark.parametrize(
    ("values", "rows"),
    [
        ([0, 1, 2, 3], None),
        ([1, 1, 1], None),
        ([-1, 3, -1, 4, -1], None),
        ([0, 1, 9, 3, 4, 5], 1),  # one that is too large
        ([5, 6, 0, 8, 9], 1),  # one that is too small
        ([4, 5, 6, 0, 1, 2, 3], 3),  # two parts, exchanged
        ([3, 2, 1, 0], 3),
        ([], None),
    ],
)
def test_rows_out_of_order_are_the_fewest_that_must_go(values, rows):
    found = find_disorder(np.array(values, float))
    assert (None if found is None else found.rows) == rows


def test_shuffled_frames_are_refused(changed):
    """A body that walks through a room is followed; the same frames in another order are not."""
    assert "from the pelvis" in fault_of(changed(**{BODY: wandering}))  # the camera stayed where it was
    fault = fault_of(changed(**{BODY: shuffled}))
    assert "full_body_mocap/keypoints: consecutive frames are" in fault
    assert "they are not in the order of their times" in fault


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_shuffled_hand_is_refused(changed, side):
    fault = fault_of(changed(**{f"hand_mocap/{side}_joints_3d": shuffled}))
    assert f"hand_mocap/{side}_joints_3d: consecutive frames are" in fault


def test_an_episode_in_other_units_can_be_left_out(changed, template, tmp_path):
    changed(**{BODY: lambda values: values * 1000})
    shutil.copytree(template, tmp_path / "session_001" / "ep0")
    given = {"episodes": (os.fspath(tmp_path),), "systems": ("random",), "tasks": (TASK,)}
    (run,) = gnomon.run("episode", **given, bad="skip").runs
    assert "these look like millimetres" in run.manifest["facts"]["left_out"]["session_000/ep0"]


def test_predicted_hands_in_millimetres_are_refused(template, tmp_path):
    data = os.fspath(template.parent.parent)
    given = {"episodes": (data,), "systems": ("persistence",), "tasks": (FORECAST,), "out": os.fspath(tmp_path)}
    (run,) = gnomon.run("episode", **given).runs
    with np.load(run.path / f"{FORECAST}.npz") as file:
        answers = {name: file[name] for name in ("samples", "values")}
    gnomon.score("episode", (data,), {"mine": {FORECAST: answers}})
    answers["values"] = answers["values"] * 1000
    with pytest.raises(InputError, match=r"hands: .* times as large, as are the distances .*convert to metres"):
        gnomon.score("episode", (data,), {"mine": {FORECAST: answers}})
    answers["values"] = np.random.default_rng(0).normal(0, 4, answers["values"].shape)  # a model that diverged
    assert gnomon.score("episode", (data,), {"mine": {FORECAST: answers}}).runs
