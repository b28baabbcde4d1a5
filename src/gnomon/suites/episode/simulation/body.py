"""A person: 52 joints in the order of SMPL-H, bones that are shares of the height, and the fingertips.

Conventions
-----------
- Axes of a body at rest: x to its left, y up, z forwards; it stands with the arms stretched out sideways, palms down.
- Joints 0 to 21 are the body, 22 to 36 the left hand, 37 to 51 the right one: index, middle, little and ring finger and
  thumb, three joints each.
- A hand of 21 joints is in the usual order of MANO: wrist, then four of each finger from the thumb to the little one,
  the last of them its tip.

Lengths of the body are rounded from the segment lengths of Drillis and Contini (1966), those of the hand from Buryanov
and Kotiuk (2010).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnomon.core.tallies import Array

SIDES = ("left", "right")
SIGNS = (1.0, -1.0)
"""Of x, by side."""
PELVIS, NECK, HEAD = 0, 12, 15
SPINE = (3, 6, 9)
HIPS, KNEES, ANKLES, FEET = (1, 2), (4, 5), (7, 8), (10, 11)
COLLARS, SHOULDERS, ELBOWS, WRISTS = (13, 14), (16, 17), (18, 19), (20, 21)
_BODY_PARENTS = (-1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 12, 13, 14, 16, 17, 18, 19)
FIRST_FINGERS = (22, 37)
"""First joint of the fingers of each hand."""
_FINGERS = ("index", "middle", "little", "ring", "thumb")
"""In the order of SMPL-H."""
_IN_HAND = (4, 0, 1, 3, 2)
"""Fingers of SMPL-H in the order of a hand of 21 joints."""
ANKLE_HEIGHT = 0.046
"""Of a foot on the floor, as a share of the height."""

_BONES = {
    1: (0.052, -0.047, 0.0),
    3: (0.0, 0.064, -0.012),
    4: (0.0, -0.238, 0.0),
    6: (0.0, 0.076, 0.004),
    7: (0.0, -0.242, 0.0),
    9: (0.0, 0.031, 0.002),
    10: (0.008, -0.034, 0.074),
    12: (0.0, 0.122, -0.014),
    13: (0.041, 0.068, -0.010),
    15: (0.0, 0.050, 0.026),
    16: (0.066, 0.018, -0.006),
    18: (0.152, 0.0, 0.0),
    20: (0.146, 0.0, 0.0),
}
"""From the parent to each joint in the middle or on the left, as shares of the height."""
_KNUCKLES = {
    "index": (0.093, 0.001, 0.026),
    "middle": (0.096, 0.003, 0.003),
    "little": (0.079, -0.004, -0.036),
    "ring": (0.089, 0.001, -0.018),
    "thumb": (0.027, -0.011, 0.027),
}
"""From the left wrist, in metres, for a height of 1.75 m."""
_PHALANGES = {
    "index": (0.039, 0.024, 0.022),
    "middle": (0.043, 0.028, 0.024),
    "little": (0.032, 0.019, 0.019),
    "ring": (0.040, 0.026, 0.023),
    "thumb": (0.043, 0.032, 0.027),
}
_THUMB = np.array([0.72, -0.14, 0.68])
PARENTS = (
    *_BODY_PARENTS,
    *(at for w, f in ((20, 22), (21, 37)) for k in range(5) for at in (w, f + 3 * k, f + 3 * k + 1)),
)
"""The joint that each hangs on."""


@dataclass(frozen=True, eq=False)
class Person:
    """The bones of one person, and how they like to work.

    Attributes
    ----------
    height
        In metres.
    offsets
        ``(52, 3)``: from its parent to each joint, at rest.
    tips
        ``(2, 5, 3)``: from the last joint to the tip of each finger, by side, in the order of SMPL-H.
    hand
        The working hand, 0 left or 1 right.
    pace
        How fast they work; 1 is usual.
    """

    height: float
    offsets: Array
    tips: Array
    hand: int
    pace: float

    @property
    def leg(self) -> float:
        """Length of thigh and shank."""
        return float(-self.offsets[KNEES[0], 1] - self.offsets[ANKLES[0], 1])

    @property
    def ankle(self) -> float:
        """Height of an ankle above the floor."""
        return ANKLE_HEIGHT * self.height


def person(rng: np.random.Generator) -> Person:
    """Draw a person."""
    height = float(np.clip(rng.normal(1.71, 0.08), 1.52, 1.93))
    offsets, tips = np.zeros((len(PARENTS), 3)), np.zeros((2, 5, 3))
    for joint, share in _BONES.items():
        middle = share[0] == 0.0 and joint in (*SPINE, NECK, HEAD)
        offsets[joint] = np.multiply(share, height)
        if not middle:
            offsets[joint + 1] = offsets[joint] * (-1.0, 1.0, 1.0)
    for side, sign in enumerate(SIGNS):
        _add_hand(offsets, tips, side, height / 1.75 * np.array([sign, 1.0, 1.0]))
    return Person(height, offsets, tips, int(rng.random() < 0.9), float(np.exp(rng.normal(0.0, 0.08))))


def _add_hand(offsets: Array, tips: Array, side: int, scale: Array) -> None:
    for k, finger in enumerate(_FINGERS):
        first = FIRST_FINGERS[side] + 3 * k
        along = _THUMB if finger == "thumb" else np.array([1.0, 0.0, 0.0])
        bones = [np.multiply(length, along) * scale for length in _PHALANGES[finger]]
        offsets[first] = np.multiply(_KNUCKLES[finger], scale)
        offsets[first + 1], offsets[first + 2], tips[side, k] = bones


def placed(who: Person, turns: Array, root: Array) -> Array:
    """Return the joints ``(N, 52, 3)`` of a body whose joints are turned ``(N, 52, 3, 3)``, each seen from outside."""
    found = np.empty((len(root), len(PARENTS), 3))
    found[:, 0] = root
    for joint, parent in enumerate(PARENTS[1:], start=1):
        found[:, joint] = found[:, parent] + turns[:, parent] @ who.offsets[joint]
    return found


def hand(who: Person, turns: Array, joints: Array, side: int) -> Array:
    """Return the 21 joints ``(N, 21, 3)`` of one hand, the tips included."""
    found = [joints[:, WRISTS[side]]]
    for k in _IN_HAND:
        first = FIRST_FINGERS[side] + 3 * k
        found += [joints[:, first + i] for i in range(3)]
        found.append(joints[:, first + 2] + turns[:, first + 2] @ who.tips[side, k])
    return np.stack(found, axis=1)


def against_parents(turns: Array) -> Array:
    """Return turns ``(N, 52, 3, 3)`` against the joint that each hangs on; that of the pelvis stays as it is."""
    found = turns.copy()
    found[:, 1:] = np.swapaxes(turns[:, PARENTS[1:]], -1, -2) @ turns[:, 1:]
    return found
