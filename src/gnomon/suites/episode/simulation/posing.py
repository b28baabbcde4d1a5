"""From wishes to a body: joints turned so that feet stand on the floor and hands are where they are wanted.

All turns are outer ones, ``(N, 52, 3, 3)``, until they are written (:mod:`gnomon.simulation.body`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import minimum_filter1d

from gnomon.core.tallies import Array
from gnomon.simulation.body import (
    COLLARS,
    ELBOWS,
    FIRST_FINGERS,
    HEAD,
    HIP_HEIGHT,
    HIPS,
    NECK,
    PELVIS,
    SHOULDER_ABOVE_HIPS,
    SHOULDER_WIDTH,
    SHOULDERS,
    SIGNS,
    SPINE,
    WRISTS,
    Body,
    align,
    bend_two_bones,
    face,
    place_hand,
    place_joints,
    unit,
)
from gnomon.simulation.curves import smooth, wander
from gnomon.simulation.gait import Feet, follow_with_leg
from gnomon.suites.episode.simulation.acting import PALM, SIDEWAYS, Wishes

UP = np.array([0.0, 0.0, 1.0])
DEPTH = 0.035
"""From the bones of the hand to what lies in the palm."""
_LEAN_MOST = 0.65
_ROUNDS = 4
"""The hand follows the forearm and the wrist the hand: a few rounds bring the palm to its place."""
_CURLS = (0.85, 1.05, 0.75)
"""How far closed fingers are bent at each joint, in radians."""


@dataclass(frozen=True, eq=False)
class Posed:
    """A body over time: turns ``(N, 52, 3, 3)`` and joints ``(N, 52, 3)`` in the room, and both hands of 21 joints."""

    turns: Array
    joints: Array
    hands: tuple[Array, Array]

    def palm(self, side: int) -> Array:
        """Return the middle of the palm, ``(N, 3)``."""
        fingers = np.array([SIGNS[side] * PALM, -DEPTH, 0.0])
        return np.asarray(self.joints[:, WRISTS[side]] + self.turns[:, WRISTS[side]] @ fingers)


def pose(who: Body, stand: Array, feet: Feet, wanted: Wishes, rng: np.random.Generator, fps: float) -> Posed:
    """Return the body of a person.

    Parameters
    ----------
    who
        The bones of the person.
    stand
        ``(N, 3)``: x, y and heading.
    feet
        Where the feet are.
    wanted
        Where hands and eyes want to be.
    rng
        Source of sway.
    fps
        Frames a second.
    """
    count = len(stand)
    sway = wander(rng, count, 5, fps, 0.7) * (0.004, 0.004, 0.002, 0.012, 0.012)
    turns = np.empty((count, len(who.offsets), 3, 3))
    turns[:] = np.eye(3)
    lean, twist = _trunk(who, wanted, fps)
    for joint, share in zip((PELVIS, *SPINE), (0.3, 0.5, 0.75, 1.0), strict=True):
        turns[:, joint] = face(stand[:, 2] + share * twist + sway[:, 3], share * lean + sway[:, 4])
    yaw, pitch = _head(who, stand, wanted, fps)
    turns[:, HEAD] = face(yaw + sway[:, 3], pitch + sway[:, 4])
    turns[:, NECK] = face(0.5 * (yaw + stand[:, 2] + twist), 0.5 * (pitch + lean))
    turns[:, COLLARS] = turns[:, SPINE[-1:]]
    root = _root(who, stand, feet, fps) + sway[:, :3]
    root -= (turns[:, PELVIS] @ np.array([0.0, 0.0, 1.0])) * (0.12 * np.sin(lean))[:, np.newaxis] * (1, 1, 0)
    for side in (0, 1):
        follow_with_leg(who, turns, root, feet, side)
        _arm(who, turns, root, stand, wanted, side)
        _fingers(turns, wanted.grip[:, side], side)
    joints = place_joints(who, turns, root)
    return Posed(turns, joints, (place_hand(who, turns, joints, 0), place_hand(who, turns, joints, 1)))


def _trunk(who: Body, wanted: Wishes, fps: float) -> tuple[Array, Array]:
    """Return how far the trunk leans forwards and turns, so that the hands reach what they want."""
    up = (HIP_HEIGHT + SHOULDER_ABOVE_HIPS) * who.height
    shoulder = np.array([[SHOULDER_WIDTH * out * who.height, 0.0, up] for out in SIDEWAYS])
    away = np.linalg.norm(wanted.hands - shoulder, axis=-1)
    missing = np.maximum(away - (0.93 * sum(who.arm) + PALM), 0.0)
    ahead = np.clip(wanted.hands[..., 1] / 0.3, 0.0, 1.0)
    lean = np.clip(0.05 + (2.4 * missing * ahead).max(axis=1), 0.0, _LEAN_MOST)
    twist = np.clip(-0.5 * (wanted.hands[..., 0] - (0.18 * np.array(SIDEWAYS))) * ahead, -0.35, 0.35).sum(axis=1)
    return smooth(lean, fps, 0.18), smooth(twist, fps, 0.18)


def _head(who: Body, stand: Array, wanted: Wishes, fps: float) -> tuple[Array, Array]:
    """Return heading and pitch of the head; the eyes do the rest of the way down."""
    across, ahead, height = wanted.eyes.T
    away = np.maximum(np.hypot(across, ahead), 0.25)
    yaw = stand[:, 2] + np.clip(np.arctan2(-across, np.maximum(ahead, 0.2)), -1.1, 1.1)
    pitch = np.clip(0.55 * np.arctan2(0.92 * who.height - height, away), -0.3, 0.85)
    return smooth(yaw, fps, 0.10), smooth(pitch, fps, 0.10)


def _root(who: Body, stand: Array, feet: Feet, fps: float) -> Array:
    """Return the place of the pelvis: as high as both legs allow, and over the foot that stands."""
    down = who.offsets[HIPS[0], 1]
    reach = 0.985 * sum(who.leg)
    flat = np.linalg.norm(feet.ankles[..., :2] - stand[:, np.newaxis, :2], axis=-1)
    height = feet.ankles[..., 2] + np.sqrt(np.maximum(reach**2 - np.maximum(flat - 0.06, 0) ** 2, 0.0)) - down
    low = minimum_filter1d(height.min(axis=1), 5)  # smoothing must not lift the pelvis out of reach of the floor
    weight = feet.swing[:, 0] - feet.swing[:, 1]
    to_left = np.stack([-np.sin(stand[:, 2]), np.cos(stand[:, 2])], axis=1)
    found = np.empty((len(stand), 3))
    found[:, :2] = stand[:, :2] - smooth(0.018 * weight[:, np.newaxis] * to_left, fps, 0.08)
    found[:, 2] = smooth(low, fps, 0.10) - 0.006
    return found


def _arm(who: Body, turns: Array, root: Array, stand: Array, wanted: Wishes, side: int) -> None:
    chest = place_joints(who, turns, root)
    shoulder = chest[:, SHOULDERS[side]]
    sign, out = SIGNS[side], SIDEWAYS[side]
    palm = _in_room(stand, wanted.hands[:, side])
    approach = fingers = unit(palm - shoulder - 0.15 * UP)
    pole = _directed(stand, np.array([0.75 * out, -0.35, -1.0]))
    flat = wanted.flat[:, side, np.newaxis]
    face = inwards = flat * -UP + (1 - flat) * _directed(stand, np.array([-out, 0.0, 0.0]))
    for _ in range(_ROUNDS):
        wrist = palm - PALM * fingers - DEPTH * face
        upper, fore, hinge = bend_two_bones(shoulder, wrist, who.arm, pole)
        fingers = unit(fore + 0.35 * approach)
        face = unit(inwards - (inwards * fingers).sum(axis=1, keepdims=True) * fingers + 1e-9)
    rest, axis = np.array([sign, 0.0, 0.0]), np.array([0.0, -sign, 0.0])
    turns[:, SHOULDERS[side]] = align(rest, axis, upper, hinge)
    turns[:, ELBOWS[side]] = align(rest, axis, fore, hinge)
    turns[:, WRISTS[side]] = align(rest, np.array([0.0, -1.0, 0.0]), fingers, face)


def _fingers(turns: Array, grip: Array, side: int) -> None:
    """Bend the fingers of one hand; the thumb follows in part."""
    for finger in range(5):
        inner = turns[:, WRISTS[side]]
        for k, most in enumerate(_CURLS):
            angle = -SIGNS[side] * (0.12 + most * grip) * (0.45 if finger == 4 else 1.0)
            c, s, zero, one = np.cos(angle), np.sin(angle), np.zeros_like(angle), np.ones_like(angle)
            own = np.stack([c, -s, zero, s, c, zero, zero, zero, one], axis=-1).reshape(-1, 3, 3)
            inner = inner @ own
            turns[:, FIRST_FINGERS[side] + 3 * finger + k] = inner


def _in_room(stand: Array, points: Array) -> Array:
    """Return points to the right, ahead and above of where somebody stands, in the room."""
    found = _directed(stand, points)
    found[:, :2] += stand[:, :2]
    return found


def _directed(stand: Array, vectors: Array) -> Array:
    """Return vectors to the right, ahead and up of who faces a direction, in the room."""
    c, s = np.cos(stand[:, 2]), np.sin(stand[:, 2])
    across, ahead, up = (vectors[..., k] for k in range(3))
    return np.stack([c * ahead + s * across, s * ahead - c * across, up + np.zeros_like(c)], axis=-1)
