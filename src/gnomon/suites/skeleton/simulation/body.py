"""A jointed body: 24 joints in the order of SMPL, bones whose length is a share of the height, forward kinematics.

Conventions
-----------
- Axes of a body and of the room: x to the body's left, y up, z forwards; metres and radians.
- At rest the body stands with its arms stretched out sideways. Every joint turns relative to its parent by
  ``R_y(b) R_x(a) R_z(c)``, with the angles stored as ``(a, b, c)``: about the axes x, y and z.
- Joint 0 is the pelvis. A turn of a joint moves what hangs on it, not the joint itself: bones keep their length.

Shares of the height are rounded from the segment lengths of Drillis and Contini (1966).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gnomon.core.tallies import Array

_JOINTS = (
    ("pelvis", -1),
    ("left_hip", 0),
    ("right_hip", 0),
    ("spine1", 0),
    ("left_knee", 1),
    ("right_knee", 2),
    ("spine2", 3),
    ("left_ankle", 4),
    ("right_ankle", 5),
    ("spine3", 6),
    ("left_foot", 7),
    ("right_foot", 8),
    ("neck", 9),
    ("left_collar", 9),
    ("right_collar", 9),
    ("head", 12),
    ("left_shoulder", 13),
    ("right_shoulder", 14),
    ("left_elbow", 16),
    ("right_elbow", 17),
    ("left_wrist", 18),
    ("right_wrist", 19),
    ("left_hand", 20),
    ("right_hand", 21),
)
"""Every joint, and the one that it hangs on."""
NAMES = tuple(name for name, _ in _JOINTS)
PARENTS = tuple(parent for _, parent in _JOINTS)
INDEX = {name: index for index, name in enumerate(NAMES)}
LEFT = tuple(index for index, name in enumerate(NAMES) if name.startswith("left_"))
RIGHT = tuple(INDEX[NAMES[index].replace("left_", "right_")] for index in LEFT)
SIDES = (("left", 1.0), ("right", -1.0))
"""Name of a side, and the sign of its x."""

ANKLE = 0.039
"""Height of an ankle above the floor, as a share of the height of the body."""
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
    "collar": (0.040, 0.070, 0.0),
    "shoulder": (0.085, 0.010, -0.010),
    "elbow": (0.186, 0.0, 0.0),
    "wrist": (0.146, 0.0, 0.0),
    "hand": (0.050, 0.0, 0.0),
}
"""From the parent to the joint, on the left side, as shares of the height."""
_VARIETY = 0.03
"""Standard deviation of a person's bone about the usual share, relative."""
_HANGING = 76.0
"""How far an arm is lowered from the side, in degrees."""

Angles = dict[str, tuple[Any, Any, Any]]
"""Degrees about x, y and z by joint; each a number or an array over time."""


@dataclass(frozen=True)
class Body:
    """The bones of one person."""

    height: float
    offsets: Array
    """``(24, 3)``: from its parent to each joint, at rest; both sides alike."""

    def joints(self, angles: Array) -> Array:
        """Return the joints ``(F, 24, 3)`` of postures ``(F, 24, 3)``, with the pelvis in the origin."""
        own = turns(angles)
        world = np.empty_like(own)
        found = np.zeros(angles.shape)
        world[:, 0] = own[:, 0]
        for joint, parent in enumerate(PARENTS[1:], start=1):
            world[:, joint] = world[:, parent] @ own[:, joint]
            found[:, joint] = found[:, parent] + world[:, parent] @ self.offsets[joint]
        return found


def body(rng: np.random.Generator) -> Body:
    """Draw a body: a height, and bones that differ a little from the usual shares."""
    height = float(np.clip(rng.normal(1.70, 0.09), 1.50, 1.95))
    factors = {name: 1 + _VARIETY * float(np.clip(rng.normal(), -2, 2)) for name in _BONES}
    offsets = np.zeros((len(NAMES), 3))
    for index, name in enumerate(NAMES[1:], start=1):
        side, _, kind = name.rpartition("_")
        across = -1.0 if side == "right" else 1.0
        offsets[index] = np.multiply(_BONES[kind], height * factors[kind]) * (across, 1.0, 1.0)
    return Body(height, offsets)


def posture(angles: Angles, count: int) -> Array:
    """Return postures ``(F, 24, 3)`` in radians; joints that are not named are as at rest."""
    found = np.zeros((count, len(NAMES), 3))
    for name, about in angles.items():
        found[:, INDEX[name]] = np.stack([np.broadcast_to(angle, count) for angle in about], axis=1)
    return np.radians(found)


def arm(side: str, forward: Any, outward: Any, elbow: Any) -> Angles:
    """Return the angles of an arm that hangs, by how far it is raised forwards, turned outwards and bent."""
    sign = dict(SIDES)[side]
    return {
        f"{side}_shoulder": (-forward, sign * outward, -sign * _HANGING),
        f"{side}_elbow": (0.0, -sign * elbow, 0.0),
    }


def leg(side: str, thigh: Array, shank: Array, pitch: Array) -> Angles:
    """Return the angles of a leg over a flat foot, by how far thigh (forwards), shank and pelvis are from upright."""
    return {
        f"{side}_hip": (-thigh - pitch, 0.0, 0.0),
        f"{side}_knee": (thigh + shank, 0.0, 0.0),
        f"{side}_ankle": (-shank, 0.0, 0.0),
    }


def turns(angles: Array) -> Array:
    """Return the rotations ``(..., 3, 3)`` of angles ``(..., 3)`` about the axes x, y and z.

    >>> (turns(np.array([0.0, np.pi / 2, 0.0])) @ [1.0, 0.0, 0.0]).round(6).tolist()
    [0.0, 0.0, -1.0]
    """
    (sa, sb, sc), (ca, cb, cc) = np.moveaxis(np.sin(angles), -1, 0), np.moveaxis(np.cos(angles), -1, 0)
    rows = [
        [cb * cc + sb * sa * sc, -cb * sc + sb * sa * cc, sb * ca],
        [ca * sc, ca * cc, -sa],
        [-sb * cc + cb * sa * sc, sb * sc + cb * sa * cc, cb * ca],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
