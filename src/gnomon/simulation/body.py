"""A jointed body: its joints, the lengths of its bones, and how turns of joints become places.

Conventions
-----------
- Axes of a body at rest: x to its left, y up, z forwards; metres and radians. It stands with the arms stretched out
  sideways, palms down.
- ``SMPL`` has 24 joints in the order of that model, ``SMPL_H`` 52: the first 22 are the same, then come the left and
  the right hand with three joints each of index, middle, little and ring finger and thumb. A hand of 21 joints is in
  the usual order of MANO: wrist, then four of each finger from the thumb to the little one, the last of them its tip.
- A turn is a rotation matrix. Turns are *own* (against the joint that a joint hangs on) or *outer* (against the room);
  those of the pelvis are the same in both. A turn moves what hangs on a joint, not the joint: bones keep their length.
- A room has z up where :func:`face` turns the body, and the axes of the body otherwise.

Lengths are shares of the height, rounded from the segment lengths of Drillis and Contini (1966); hands follow Buryanov
and Kotiuk (2010).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gnomon.core.tallies import Array

SIDES = ("left", "right")
SIGNS = (1.0, -1.0)
"""Of x, by side."""
_NAMES = (
    "pelvis left_hip right_hip spine1 left_knee right_knee spine2 left_ankle right_ankle spine3 left_foot right_foot "
    "neck left_collar right_collar head left_shoulder right_shoulder left_elbow right_elbow left_wrist right_wrist"
)
_PARENTS = (-1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 12, 13, 14, 16, 17, 18, 19)
PELVIS, NECK, HEAD = 0, 12, 15
SPINE = (3, 6, 9)
HIPS, KNEES, ANKLES, FEET = (1, 2), (4, 5), (7, 8), (10, 11)
COLLARS, SHOULDERS, ELBOWS, WRISTS = (13, 14), (16, 17), (18, 19), (20, 21)
FIRST_FINGERS = (22, 37)
"""First joint of the fingers of each hand, in ``SMPL_H``."""
FINGERS = ("index", "middle", "little", "ring", "thumb")
"""In the order of ``SMPL_H``."""
_IN_HAND = (4, 0, 1, 3, 2)
"""Fingers of ``SMPL_H`` in the order of a hand of 21 joints."""


@dataclass(frozen=True)
class Tree:
    """The joints of a body model: names, and the joint that each hangs on (-1: none)."""

    names: tuple[str, ...]
    parents: tuple[int, ...]

    @cached_property
    def index(self) -> dict[str, int]:
        """Number of every joint by name."""
        return {name: number for number, name in enumerate(self.names)}

    @cached_property
    def bones(self) -> tuple[tuple[int, int], ...]:
        """Every joint that hangs on another, with that one."""
        return tuple((joint, parent) for joint, parent in enumerate(self.parents) if parent >= 0)

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Joints of the left side with their counterparts on the right."""
        return tuple(
            (number, self.index[name.replace("left_", "right_")])
            for number, name in enumerate(self.names)
            if name.startswith("left_")
        )


_FINGER_JOINTS = tuple(
    (f"{side}_{finger}{k + 1}", WRISTS[s] if k == 0 else FIRST_FINGERS[s] + 3 * place + k - 1)
    for s, side in enumerate(SIDES)
    for place, finger in enumerate(FINGERS)
    for k in range(3)
)
SMPL = Tree((*_NAMES.split(), "left_hand", "right_hand"), (*_PARENTS, *WRISTS))
SMPL_H = Tree(
    (*_NAMES.split(), *(name for name, _ in _FINGER_JOINTS)), (*_PARENTS, *(parent for _, parent in _FINGER_JOINTS))
)

_BONES = {
    "hip": (0.050, -0.045, 0.0),
    "knee": (0.0, -0.245, 0.0),
    "ankle": (0.0, -0.246, 0.0),
    "foot": (0.012, -0.030, 0.085),
    "spine1": (0.0, 0.065, -0.010),
    "spine2": (0.0, 0.075, 0.0),
    "spine3": (0.0, 0.030, 0.0),
    "neck": (0.0, 0.125, -0.010),
    "head": (0.0, 0.050, 0.030),
    "collar": (0.040, 0.060, 0.0),
    "shoulder": (0.065, 0.005, -0.010),
    "elbow": (0.186, 0.0, 0.0),
    "wrist": (0.146, 0.0, 0.0),
    "hand": (0.050, 0.0, 0.0),
}
"""From the parent to each joint in the middle or on the left, as shares of the height."""
ANKLE_HEIGHT = 0.039
"""Of an ankle above the floor, as a share of the height, as are the next ones."""
THIGH, SHANK = -_BONES["knee"][1], -_BONES["ankle"][1]
UPPER_ARM, FOREARM = _BONES["elbow"][0], _BONES["wrist"][0]
HIP_HEIGHT = round(ANKLE_HEIGHT + SHANK + THIGH, 6)
"""Of the hips above the floor."""


def _above_hips(*bones: str) -> float:
    return round(sum(_BONES[bone][1] for bone in bones) - _BONES["hip"][1], 6)


SHOULDER_WIDTH = round(_BONES["collar"][0] + _BONES["shoulder"][0], 6)
"""From the middle to a shoulder."""
SHOULDER_ABOVE_HIPS = _above_hips("spine1", "spine2", "spine3", "collar", "shoulder")
NECK_ABOVE_HIPS = _above_hips("spine1", "spine2", "spine3", "neck")

_KNUCKLES = {
    "index": (0.0531, 0.0006, 0.0149),
    "middle": (0.0549, 0.0017, 0.0017),
    "little": (0.0451, -0.0023, -0.0206),
    "ring": (0.0509, 0.0006, -0.0103),
    "thumb": (0.0154, -0.0063, 0.0154),
}
"""From the left wrist to the first joint of each finger, as shares of the height."""
_PHALANGES = {
    "index": (0.0223, 0.0137, 0.0126),
    "middle": (0.0246, 0.0160, 0.0137),
    "little": (0.0183, 0.0109, 0.0109),
    "ring": (0.0229, 0.0149, 0.0131),
    "thumb": (0.0246, 0.0183, 0.0154),
}
"""Lengths of the bones of each finger, as shares of the height; the last leads to the tip."""
_THUMB = (0.72, -0.14, 0.68)
"""Direction of the left thumb at rest; the other fingers lie along the arm."""

_HEIGHT_M, _HEIGHT_SPREAD_M, _HEIGHTS_M = 1.70, 0.09, (1.48, 1.98)
_VARIETY = 0.03
"""Standard deviation of a person's bone about the usual share, relative."""
_LEFT_HANDED = 0.1


def draw_height(rng: np.random.Generator) -> float:
    """Draw the height of an adult, in metres."""
    return float(np.clip(rng.normal(_HEIGHT_M, _HEIGHT_SPREAD_M), *_HEIGHTS_M))


def draw_left_handed(rng: np.random.Generator) -> bool:
    """Draw whether somebody works with the left hand: one in ten does."""
    return bool(rng.random() < _LEFT_HANDED)


@dataclass(frozen=True, eq=False)
class Body:
    """The bones of one person.

    Attributes
    ----------
    tree
        The joints.
    height
        In metres.
    offsets
        ``(J, 3)``: from its parent to each joint, at rest; both sides alike.
    tips
        ``(2, 5, 3)``: from the last joint to the tip of each finger, by side, in the order of ``SMPL_H``.
    """

    tree: Tree
    height: float
    offsets: Array
    tips: Array

    @property
    def leg(self) -> tuple[float, float]:
        """Lengths of thigh and shank."""
        return float(-self.offsets[KNEES[0], 1]), float(-self.offsets[ANKLES[0], 1])

    @property
    def arm(self) -> tuple[float, float]:
        """Lengths of upper arm and forearm."""
        return float(self.offsets[ELBOWS[0], 0]), float(self.offsets[WRISTS[0], 0])

    @property
    def ankle(self) -> float:
        """Height of an ankle above the floor."""
        return ANKLE_HEIGHT * self.height


def draw_body(rng: np.random.Generator, tree: Tree, height: float) -> Body:
    """Draw a body of a height, with bones that differ a little from the usual shares."""
    lengths = {name: height * (1 + _VARIETY * float(np.clip(rng.normal(), -2, 2))) for name in _BONES}
    offsets, tips = np.zeros((len(tree.names), 3)), np.zeros((2, len(FINGERS), 3))
    for number, name in enumerate(tree.names[1:], start=1):
        side, _, bone = name.rpartition("_")
        mirror = (SIGNS[SIDES.index(side)] if side else 1.0, 1.0, 1.0)
        if bone in _BONES:
            offsets[number] = np.multiply(_BONES[bone], lengths[bone]) * mirror
        else:
            finger, place = bone[:-1], int(bone[-1]) - 1
            along = _THUMB if finger == "thumb" else (1.0, 0.0, 0.0)
            bones = [_KNUCKLES[finger], *(np.multiply(length, along) for length in _PHALANGES[finger])]
            offsets[number] = np.multiply(bones[place], lengths["hand"]) * mirror
            tips[SIDES.index(side), FINGERS.index(finger)] = np.multiply(bones[3], lengths["hand"]) * mirror
    return Body(tree, height, offsets, tips)


def place_joints(body: Body, turns: Array, root: Array) -> Array:
    """Return the joints ``(N, J, 3)`` of a body with outer turns ``(N, J, 3, 3)`` and the pelvis at ``(N, 3)``."""
    joints = np.empty((len(turns), len(body.offsets), 3))
    joints[:, 0] = root
    for joint, parent in body.tree.bones:
        joints[:, joint] = joints[:, parent] + turns[:, parent] @ body.offsets[joint]
    return joints


def place_hand(body: Body, turns: Array, joints: Array, side: int) -> Array:
    """Return the 21 joints ``(N, 21, 3)`` of one hand of ``SMPL_H``, the tips included."""
    found = [joints[:, WRISTS[side]]]
    for finger in _IN_HAND:
        first = FIRST_FINGERS[side] + 3 * finger
        found += [joints[:, first + k] for k in range(3)]
        found.append(joints[:, first + 2] + turns[:, first + 2] @ body.tips[side, finger])
    return np.stack(found, axis=1)


def outer_turns(tree: Tree, own: Array) -> Array:
    """Return outer turns ``(N, J, 3, 3)`` of own ones."""
    found = own.copy()
    for joint, parent in tree.bones:
        found[:, joint] = found[:, parent] @ own[:, joint]
    return found


def own_turns(tree: Tree, outer: Array) -> Array:
    """Return own turns ``(N, J, 3, 3)`` of outer ones."""
    found = outer.copy()
    found[:, 1:] = np.swapaxes(outer[:, tree.parents[1:]], -1, -2) @ outer[:, 1:]
    return found


def turn(angles: Array) -> Array:
    """Return the rotations ``R_y(b) R_x(a) R_z(c)``, ``(..., 3, 3)``, of angles ``(a, b, c)`` about x, y and z.

    >>> (turn(np.array([0.0, np.pi / 2, 0.0])) @ [1.0, 0.0, 0.0]).round(6).tolist()
    [0.0, 0.0, -1.0]
    """
    (sa, sb, sc), (ca, cb, cc) = np.moveaxis(np.sin(angles), -1, 0), np.moveaxis(np.cos(angles), -1, 0)
    rows = [
        [cb * cc + sb * sa * sc, -cb * sc + sb * sa * cc, sb * ca],
        [ca * sc, ca * cc, -sa],
        [-sb * cc + cb * sa * sc, sb * sc + cb * sa * cc, cb * ca],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def face(yaw: Array, pitch: Array) -> Array:
    """Return the turns of a body, or a part of it, that faces a direction and bows, in a room with z up.

    >>> (face(np.array(np.pi / 2), np.array(0.0)) @ [0.0, 0.0, 1.0]).round(6).tolist()
    [0.0, 1.0, 0.0]
    """
    c, s, cp, sp = np.cos(yaw), np.sin(yaw), np.cos(pitch), np.sin(pitch)
    zero = np.zeros_like(c * cp)
    left = np.stack([-s + zero, c + zero, zero], axis=-1)
    up = np.stack([c * sp, s * sp, cp + zero], axis=-1)
    ahead = np.stack([c * cp, s * cp, -sp + zero], axis=-1)
    return np.stack([left, up, ahead], axis=-1)


def bend_two_bones(start: Array, goal: Array, bones: tuple[float, float], pole: Array) -> tuple[Array, Array, Array]:
    """Return the directions of two bones from a start to a goal that bend towards a pole, and the axis of the joint.

    All are ``(N, 3)``. What is out of reach is reached for, not stretched to.
    """
    a, b = bones
    way = goal - start
    distance = np.clip(np.linalg.norm(way, axis=1), abs(a - b) + 0.02, 0.998 * (a + b))[:, np.newaxis]
    along = unit(way)
    bend = unit(pole - (pole * along).sum(axis=1, keepdims=True) * along)
    cosine = (a * a + distance**2 - b * b) / (2 * a * distance)
    first = cosine * along + np.sqrt(1 - cosine**2) * bend
    second = unit(distance * along - a * first)
    return first, second, np.cross(bend, along)


def align(rest: Array, axis: Array, direction: Array, hinge: Array) -> Array:
    """Return the turns that take a direction at rest and an axis at right angles to others ``(N, 3)``."""
    before = np.stack([rest, axis, np.cross(rest, axis)], axis=-1)
    after = np.stack([direction, hinge, np.cross(direction, hinge)], axis=-1)
    return np.asarray(after @ before.T)


def unit(vectors: Array) -> Array:
    """Return vectors ``(..., 3)`` of length 1."""
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))
