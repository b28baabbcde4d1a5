"""Joints of a source: sets from files, roots, units. Expectations are written by hand."""

import json

import pytest

from gnomon.core.errors import InputError
from gnomon.measures.pose_joints import SETS
from gnomon.suites.skeleton.bodies import find_root, match_joints, metres_of_unit, read_set


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.txt", "hip\nknee hip\nankle,knee\n"),
        ("b.txt", "hip -1\n\nknee 0\nankle 1"),
        ("a.json", json.dumps({"names": ["hip", "knee", "ankle"], "parents": [-1, 0, 1]})),
        ("b.json", json.dumps({"hip": None, "knee": "hip", "ankle": "knee"})),
    ],
)
def test_sets_from_files(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    found = read_set(str(tmp_path / name), "--joints")
    assert (found.names, found.bones, found.root) == (("hip", "knee", "ankle"), ((0, 1), (1, 2)), (0,))


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.txt", "left hip root 1\n", "line 1: expected a name, or a name and its parent"),
        ("a.txt", "hip\nhip\n", "expected distinct names of joints, but got 'hip'"),
        ("a.txt", "hip\nknee thigh\n", "the parent of 'knee' is 'thigh', which is none of the joints"),
        ("a.json", "[1, 2]", "expected a list of names"),
        ("a.json", '{"names": ["a", "b"], "parents": [-1]}', "2 names, but 1 parents"),
    ],
)
def test_files_that_are_wrong(tmp_path, name, text, said):
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=name) as caught:
        read_set(str(tmp_path / name), "--joints")
    assert said in str(caught.value)


def test_roots_by_name_and_index():
    body = SETS["h36m17"]
    assert find_root("", body) == (0,)
    assert find_root("thorax", body) == (8,)
    assert find_root("Left_Hip, right_hip", body) == (4, 1)
    assert find_root("1,4", body) == (1, 4)
    assert find_root("", SETS["coco17"]) == (11, 12)
    for text in ("17", "1,2,3", "navel", "-1"):
        with pytest.raises(InputError, match="expected a joint from 0 to 16"):
            find_root(text, body)


def test_units():
    assert [metres_of_unit(text) for text in ("m", "cm", "mm", "0.0254")] == [1.0, 0.01, 0.001, 0.0254]
    for text in ("inch", "0", "-1", "nan", "inf"):
        with pytest.raises(InputError, match="expected m, cm, mm, or the metres of one unit"):
            metres_of_unit(text)


def test_joints_that_are_scored():
    truth, prediction = SETS["h36m17"], SETS["mpi3dhp17"]
    with pytest.raises(
        InputError, match=r"joint 'neck_nose' of h36m17 .* scores the 16 that can be, .* the 13 that are"
    ):
        match_joints(truth, prediction, "all")
    assert len(match_joints(truth, prediction, "common").to) == 16
    assert match_joints(truth, prediction, "exact").approximate == []
    with pytest.raises(InputError, match="no joint of h36m17 can be derived from smpl24"):
        match_joints(truth, SETS["smpl24"], "exact")
