"""Three actions of a body in a room: walking, sitting down and standing up, reaching with an arm.

Angles of joints are smooth curves with amounts of each person's own. Who sits or reaches keeps both feet in place, and
moves from one posture to another and back along the curve of least jerk. Who walks sets the feet down along a circle
(:mod:`gnomon.simulation.gait`); the pelvis moves at a steady speed, highest over the standing foot, and arms swing
against the legs. The room has the axes of a body that faces its z axis: y is up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gnomon.core.tallies import Array
from gnomon.simulation.body import (
    ANKLES,
    HIPS,
    PELVIS,
    SIDES,
    SIGNS,
    SMPL,
    Body,
    draw_left_handed,
    face,
    outer_turns,
    place_joints,
    turn,
)
from gnomon.simulation.curves import ease
from gnomon.simulation.gait import (
    OVER,
    STANCE,
    Feet,
    Step,
    follow_with_leg,
    foothold,
    move_feet,
    step_frequency,
)

_HANGING = 76.0
"""How far an arm is lowered from the side, in degrees."""
_TOP = 0.26
"""Phase of the left leg, counted from its landing, at which the pelvis is highest."""
_STRAIGHT = 0.996
"""How straight a leg gets at most, as a share of its length."""

Angles = dict[str, tuple[Any, Any, Any]]
"""Degrees about x, y and z by joint; each a number or an array over time."""


@dataclass(frozen=True)
class Motion:
    """What a person does in the room."""

    joints: Array
    """``(F, 24, 3)``; the floor is at y = 0, the middle of the room in the origin."""
    heading: Array
    """``(F,)``: where the person faces, as a turn about y from the axis z."""


@dataclass(frozen=True, eq=False)
class _Walk:
    """A walk along a circle around the middle of a room with z up.

    Attributes
    ----------
    body, speed, radius
        Who walks, in m/s, and how far from the middle.
    side
        1 if the middle of the room is to the left, -1 if to the right.
    heading, phase
        At time 0: where the person faces, and strides of the left leg since it landed.
    rise, yaw
        Half of how much the pelvis rises and falls and goes across, in m, and how far it turns to either side.
    """

    body: Body
    speed: float
    radius: float
    side: float
    heading: float
    phase: float
    rise: float
    yaw: float

    @cached_property
    def stride_s(self) -> float:
        """Seconds of a stride."""
        return 2 / step_frequency(self.body.height, self.speed)

    def stands(self, times: Array) -> Array:
        """Return place and heading ``(N, 3)`` of the middle of the body."""
        heading = self.heading + self.side * self.speed * times / self.radius
        way = self.side * self.radius
        return np.stack([way * np.sin(heading), -way * np.cos(heading), heading], axis=1)

    def feet(self, times: Array) -> Feet:
        """Return the feet: each leaves the floor when its stance is over."""
        apart, steps = 0.8 * float(self.body.offsets[HIPS[0], 0]), []
        first, last = np.floor(2 * (self.phase + times[[0, -1]] / self.stride_s)).astype(int).tolist()
        for number in range(first - 4, last + 4):  # left and right in turn; bumps reach half a stride beyond
            start = (number / 2 + STANCE - self.phase) * self.stride_s
            under = self.stands(np.array([start + (1 - STANCE + OVER) * self.stride_s]))
            steps.append(Step(start, number % 2, foothold(self.body, under, number % 2, apart)[0]))
        begin = [next(step.goal for step in steps if step.side == side) for side in (0, 1)]
        return move_feet(self.body, begin, steps, self.stride_s, times)

    def pelvis(self, times: Array) -> tuple[Array, Array]:
        """Return turns and places of the pelvis, as high as the legs of a whole stride allow."""
        cycle = np.linspace(0, self.stride_s, 240)
        feet, (turns, places) = self.feet(cycle), self._sway(cycle)
        hips = np.einsum("nij,sj->nsi", turns, self.body.offsets[list(HIPS)])
        apart = feet.ankles - places[:, np.newaxis] - hips
        reach = _STRAIGHT * sum(self.body.leg)
        level = np.min(apart[..., 2] + np.sqrt(reach**2 - apart[..., 0] ** 2 - apart[..., 1] ** 2))
        turns, places = self._sway(times)
        return turns, places + np.array([0.0, 0.0, level])

    def _sway(self, times: Array) -> tuple[Array, Array]:
        """Return turns and places of the pelvis about a height of 0: towards the standing leg, and up over it."""
        phase, (x, y, heading) = self.phase + times / self.stride_s, self.stands(times).T
        across, up = (self.rise * np.cos(2 * np.pi * k * (phase - _TOP)) for k in (1, 2))
        turns = face(heading - self.yaw * np.cos(2 * np.pi * phase), np.zeros(len(times)))
        return turns, np.stack([x - across * np.sin(heading), y + across * np.cos(heading), up], axis=1)


def walking(body: Body, times: Array, rng: np.random.Generator) -> Motion:
    """Walk at a steady pace along a circle around the middle of the room."""
    low, high = (0.9, 1.5, 0.022, 12.0, 0.04), (1.35, 1.8, 0.027, 22.0, 0.09)
    speed, radius, rise, swing, yaw = rng.uniform(low, high).tolist()
    side, phase, heading = float(rng.choice([-1.0, 1.0])), rng.random(), rng.uniform(0, 2 * np.pi)
    walk = _Walk(body, speed, radius, side, heading, phase, rise, yaw)
    turned = 2 * np.pi * (phase + times / walk.stride_s)
    twist = np.degrees(-yaw * np.cos(turned))
    spine = {"spine1": (3.0, -0.8 * twist, 0.0), "spine2": (1.0, -0.8 * twist, 0.0), "neck": (-2.0, 0.6 * twist, 0.0)}
    angles: Angles = {**spine}
    for name, sign in zip(SIDES, SIGNS, strict=True):
        forward = 2.0 - sign * swing * np.cos(turned)
        angles |= arm(name, forward, 0.0, 16.0 + 0.5 * (forward + swing))
    own = turn(_restless(posture(angles, len(times)), times, rng))
    own[:, PELVIS], root = walk.pelvis(times)
    turns, feet = outer_turns(SMPL, own), walk.feet(times)
    for number in (0, 1):
        follow_with_leg(body, turns, root, feet, number)
    joints = place_joints(body, turns, root)
    return Motion(joints[..., [1, 2, 0]], walk.stands(times)[:, 2])  # from z up to y up


def sitting(body: Body, times: Array, rng: np.random.Generator) -> Motion:
    """Sit down on a chair and stand up again."""
    down = _there_and_back(times, rng.uniform(3.4, 4.4))
    between = np.sin(np.pi * down)
    thigh, shank = rng.uniform(80, 92) * down, 6 * down + rng.uniform(8, 14) * between
    pitch = rng.uniform(2, 8) * down + rng.uniform(22, 32) * between
    bend, elbow = rng.uniform(8, 16) * between, rng.uniform(40, 60) * down
    angles: Angles = {
        "pelvis": (pitch, 0.0, 0.0),
        "spine1": (bend / 2, 0.0, 0.0),
        "spine2": (bend / 2, 0.0, 0.0),
        "neck": (-0.5 * (pitch + bend), 0.0, 0.0),
    }
    for side in SIDES:
        angles |= leg(side, thigh, shank, pitch) | arm(side, 4 + 26 * down + 10 * between, 4.0, 14 + elbow)
    return _standing(body, angles, times, rng)


def reaching(body: Body, times: Array, rng: np.random.Generator) -> Motion:
    """Reach with one arm for one thing after the other, leaning and turning towards it."""
    period = rng.uniform(1.6, 2.2)
    which = (times / period).astype(np.int64)
    low, high = (60, -15, 5, 12, -15, 4), (115, 45, 35, 26, 15, 9)
    amounts = rng.uniform(low, high, (int(which[-1]) + 1, len(low)))
    forward, outward, elbow, lean, turn, crouch = amounts[which].T * _there_and_back(times, period)
    hand = 0 if draw_left_handed(rng) else 1
    sign = SIGNS[hand]
    angles: Angles = {
        "pelvis": (lean / 2, 0.0, 0.0),
        "spine1": (lean / 4, sign * turn / 2, 0.0),
        "spine2": (lean / 4, sign * turn / 2, 0.0),
        "neck": (-lean / 4, -sign * turn / 3, 0.0),
    }
    for side in SIDES:
        angles |= leg(side, -crouch / 2, crouch, lean / 2) | arm(side, 4.0, 0.0, 16.0)
    return _standing(body, angles | arm(SIDES[hand], 4 + forward, outward, 16 + elbow), times, rng)


ACTIONS: Mapping[str, Callable[[Body, Array, np.random.Generator], Motion]] = {
    "walking": walking,
    "sitting": sitting,
    "reaching": reaching,
}
"""From a body, times in seconds and random numbers to what the person does."""


def posture(angles: Angles, count: int) -> Array:
    """Return postures ``(F, 24, 3)`` in radians; joints that are not named are as at rest."""
    found = np.zeros((count, len(SMPL.names), 3))
    for name, about in angles.items():
        found[:, SMPL.index[name]] = np.stack([np.broadcast_to(angle, count) for angle in about], axis=1)
    return np.radians(found)


def arm(side: str, forward: Any, outward: Any, elbow: Any) -> Angles:
    """Return the angles of an arm that hangs, by how far it is raised forwards, turned outwards and bent."""
    sign = SIGNS[SIDES.index(side)]
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


def _there_and_back(times: Array, period: float) -> Array:
    """Return a curve that goes from 0 to 1, stays, returns and stays, over and over."""
    part = np.mod(times / period, 1.0)
    return ease(np.minimum(part - 0.06, 0.94 - part) / 0.36)


def _restless(angles: Array, times: Array, rng: np.random.Generator) -> Array:
    """Return postures in which trunk, head and arms are never quite still."""
    for name in ("spine3", "neck", "left_shoulder", "right_shoulder"):
        rates, starts = rng.uniform(0.1, 0.6, (3, 3)), rng.uniform(0, 1, (3, 3))
        waves = np.sin(2 * np.pi * (times[:, np.newaxis, np.newaxis] * rates + starts))
        angles[:, SMPL.index[name]] += (np.radians(rng.normal(0, 0.7, (3, 3))) * waves).sum(axis=1)
    return angles


def _standing(body: Body, angles: Angles, times: Array, rng: np.random.Generator) -> Motion:
    """Place postures so that the feet stay flat where they are, somewhere near the middle of the room."""
    own = turn(_restless(posture(angles, len(times)), times, rng))
    joints = place_joints(body, outer_turns(SMPL, own), np.zeros((len(times), 3)))
    joints -= joints[:, ANKLES].mean(axis=1, keepdims=True)
    heading, (x, z) = rng.uniform(0, 2 * np.pi), rng.uniform(-0.6, 0.6, 2)
    placed = joints @ turn(np.array([0.0, heading, 0.0])).T + (x, body.ankle, z)
    return Motion(placed, np.full(len(times), heading))
