"""BVH. Positions are worked by hand and computed by the library bvhio; those of the real file lie beside it."""

import os
from pathlib import Path

import numpy as np
import pytest

from gnomon.core.errors import InputError
from gnomon.intake.formats.bvh import read_bvh

REAL = Path(os.environ.get("GNOMON_REAL_DATA", "")) / "skeleton" / "cmu"
ARM = """HIERARCHY
ROOT hip
{
  OFFSET 0 0 0
  CHANNELS 6 Zrotation Xposition Yrotation Yposition Xrotation Zposition
  JOINT knee {
    OFFSET 0 -4 0
    CHANNELS 3 Xrotation Yrotation Zrotation
    JOINT ankle
    {
      OFFSET 0 -3 0
      CHANNELS 0
      End Site
      {
        OFFSET 1 0 0
      }
    }
  }
}
MOTION
Frames: 3
Frame Time: 0.02
0 1 0 2 0 3 0 0 0
90 0 0 0 0 0 0 0 0
0 0 0 0 90 0 0 0 90
"""
BY_HAND = [
    [[1, 2, 3], [1, -2, 3], [1, -5, 3]],
    [[0, 0, 0], [4, 0, 0], [7, 0, 0]],  # about z: down becomes right
    [[0, 0, 0], [0, 0, -4], [3, 0, -4]],  # the hip about x: down becomes back; the knee about its own z
]


def write(path, text):
    path.write_text(text)
    return path


def test_forward_kinematics_by_hand(tmp_path):
    """Channels stand in an odd order; an end site is no joint."""
    found = read_bvh(write(tmp_path / "a.bvh", ARM))
    assert (found.names, found.parents, found.fps) == (("hip", "knee", "ankle"), (-1, 0, 1), 50.0)
    np.testing.assert_allclose(found.joints, BY_HAND, atol=1e-12)


def test_order_of_rotations(tmp_path):
    """Rx Ry is not Ry Rx: a child one below turns to the front, or stays where Ry leaves it."""
    for order, expected in (("Xrotation Yrotation", [0, 0, -4]), ("Yrotation Xrotation", [-4, 0, 0])):
        text = ARM.replace("3 Xrotation Yrotation Zrotation", "0")
        text = text.replace("6 Zrotation Xposition Yrotation Yposition Xrotation Zposition", f"2 {order}")
        text = text[: text.index("Frames")] + "Frames: 1\nFrame Time: 1\n90 90\n"
        found = read_bvh(write(tmp_path / "a.bvh", text)).joints[0, 1]
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_positions_take_the_place_of_the_offset(tmp_path):
    text = ARM.replace("CHANNELS 0", "CHANNELS 1 Yposition")
    text = text[: text.index("Frames")] + "Frames: 1\nFrame Time: 1\n0 0 0 0 0 0 0 0 0 -2\n"
    np.testing.assert_allclose(read_bvh(write(tmp_path / "a.bvh", text)).joints[0, 2], [0, -6, 0])


def test_a_file_that_its_common_library_wrote(tmp_path):
    bvhio = pytest.importorskip("bvhio")
    text = ARM.replace("knee {", "knee\n  {").replace("90", "60")
    text = text.replace("CHANNELS 0", "CHANNELS 3 Zrotation Xrotation Yrotation")
    text = "\n".join(
        f"{line} 10 20 30" if line.count(" ") == 8 and line[0].isdigit() else line for line in text.split("\n")
    )
    root = bvhio.readAsHierarchy(str(write(tmp_path / "a.bvh", text)))
    bvhio.writeHierarchy(str(tmp_path / "b.bvh"), root, 1 / 50)
    found = read_bvh(tmp_path / "b.bvh")
    assert found.names == ("hip", "knee", "ankle")
    for frame in range(3):
        root.loadPose(frame)
        places = {joint.Name: list(joint.PositionWorld) for joint, _, _ in root.layout()}
        np.testing.assert_allclose(found.joints[frame], [places[name] for name in found.names], atol=1e-4)


@pytest.mark.real
@pytest.mark.skipif(not REAL.is_dir(), reason="needs GNOMON_REAL_DATA")
def test_a_real_capture():
    """The first frame is the rest pose; a unit is an inch over 0.45."""
    found = read_bvh(REAL / "104_04.bvh")
    with np.load(REAL / "104_04_joints_m.npz") as held:
        assert found.names == tuple(held["names"].tolist())
        assert found.parents == tuple(held["parents"].tolist())
        assert found.fps == float(held["fps"])
        np.testing.assert_allclose(found.joints[1:] * 0.0254 / 0.45, held["joints"], atol=1e-6)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("HIERARCHY", "HIERARCHIE", "expected HIERARCHY in the first line"),
        ("ROOT hip", "JOINT hip", "line 2: expected ROOT"),
        ("OFFSET 0 -4 0", "OFFSET 0 -4", "line 7: expected 3 numbers, not 2"),
        ("OFFSET 0 -4 0", "OFFSET 0 -4 x", "line 7: expected 3 numbers, but got 'OFFSET 0 -4 x'"),
        ("OFFSET 0 -4 0", "OFFSET 0 nan 0", "line 7: expected 3 finite numbers"),
        ("CHANNELS 3", "CHANNELS 4", "line 8: expected CHANNELS, their number"),
        ("3 Xrotation Y", "3 Yrotation Y", "line 8: expected every channel once"),
        ("JOINT ankle", "JOINT knee", "names must differ"),
        ("MOTION", "", "expected MOTION"),
        ("Frames: 3", "Frames: 0", "expected Frames: and their number"),
        ("Frames: 3", "Frames: 999999999", "declares 999,999,999 frames, but only"),
        ("Frames: 3", "Frames: 2", "expected the end after 2 frames"),
        ("0.02", "-1", "Frame Time is -1, expected seconds above 0"),
        ("90 0 0 0 0 0 0 0 0", "90 0 0", "line 24: expected 9 numbers, not 3"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path, old, new, said):
    path = write(tmp_path / "a.bvh", ARM.replace(old, new, 1))
    with pytest.raises(InputError, match=r"^\S*a\.bvh: ") as caught:
        read_bvh(path)
    assert said in str(caught.value)
