"""Walking: how often people step, how long a foot stands, where feet are set down, and how the legs follow.

Conventions
-----------
- A step is from one landing to the next, a stride is two steps. A foot swings from when it leaves the floor to when it
  lands; it stands for the share :data:`STANCE` of a stride (Winter 1991).
- Rooms have z up. Where somebody stands is ``(3,)``: x, y and heading. A foothold is the same of the ball of a foot.

Model
-----
Step length and cadence keep a constant ratio, the walk ratio (Sekiya and Nagasaki 1998), here taken to grow with the
height: with ``v = length * cadence``, the step frequency is the root of speed over ratio. A foot is set down ahead of
the body, which is above it :data:`OVER` strides later. It lands with the toes up and leaves with the heel up, turning
about its ball. Hip and knee follow from where hip and ankle are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gnomon.core.tallies import Array
from gnomon.simulation.body import ANKLES, FEET, HIPS, KNEES, PELVIS, SIGNS, Body, align, bend_two_bones, face
from gnomon.simulation.curves import smoothstep

STANCE = 0.62
OVER = 0.21
WALKING_SPEED = 1.33
"""Of adults who may choose, in m/s (Bohannon 1997)."""
_WALK_RATIO, _RATIO_HEIGHT = 0.0066, 1.73
"""Step length over steps per minute in m, and the height of those who have it."""
_CADENCE_HEIGHT = 1.70
_TOES_UP, _HEEL_UP = np.radians(16.0), np.radians(55.0)
_CLEARANCE_M = 0.045
_FULL_STRIDE_M = 1.1
"""A foot that is moved by less rolls less."""
_TOE_OUT = 0.12
"""Turn of a foot outwards, in radians."""


def step_frequency(height: float, speed: float) -> float:
    """Return steps per second of a person of a height in m at a speed in m/s.

    >>> round(step_frequency(1.75, 1.35), 2), round(step_frequency(1.65, 0.7), 2)
    (1.84, 1.36)
    """
    ratio = _WALK_RATIO * 60 * height / _RATIO_HEIGHT
    return float(np.sqrt(speed / ratio))


def relative_cadence(height: float) -> float:
    """Return the step frequency at any speed relative to that of somebody of 1.70 m: tall people step less often."""
    return float(np.sqrt(_CADENCE_HEIGHT / height))


@dataclass(frozen=True, eq=False)
class Step:
    """A foot that is moved: when it leaves the floor, which (0 left, 1 right), and its next foothold."""

    start: float
    side: int
    goal: Array


@dataclass(frozen=True, eq=False)
class Feet:
    """Both feet over time.

    Attributes
    ----------
    ankles
        ``(N, 2, 3)``.
    heading, pitch
        ``(N, 2)`` in radians; with a positive pitch the heel is up.
    swing
        ``(N, 2)``: 0 for a foot that stands, 1 in the middle of its swing.
    landings
        When a foot comes down.
    """

    ankles: Array
    heading: Array
    pitch: Array
    swing: Array
    landings: tuple[float, ...]


def foothold(body: Body, stands: Array, side: int, apart: float) -> Array:
    """Return the footholds ``(N, 3)`` of who stands at places ``(N, 3)``, with ankles so far from the middle."""
    heading = stands[:, 2] + SIGNS[side] * _TOE_OUT
    across, _, ahead = body.offsets[FEET[side]]
    x = stands[:, 0] - SIGNS[side] * apart * np.sin(stands[:, 2]) - across * np.sin(heading) + ahead * np.cos(heading)
    y = stands[:, 1] + SIGNS[side] * apart * np.cos(stands[:, 2]) + across * np.cos(heading) + ahead * np.sin(heading)
    return np.stack([x, y, heading], axis=1)


def move_feet(body: Body, begin: Sequence[Array], steps: Sequence[Step], stride_s: float, times: Array) -> Feet:
    """Return where feet are.

    Parameters
    ----------
    body
        Whose feet.
    begin
        The first footholds, left and right.
    steps
        In the order of time.
    stride_s
        Seconds of a stride.
    times
        ``(N,)`` seconds, rising.
    """
    ankles, swing = np.zeros((len(times), 2, 3)), np.zeros((len(times), 2))
    heading, pitch = np.zeros((len(times), 2)), np.zeros((len(times), 2))
    for side in (0, 1):
        here, holds = begin[side], np.broadcast_to(begin[side], (len(times), 3)).copy()
        heel_up, toes_up = np.zeros(len(times)), np.zeros(len(times))
        for step in (step for step in steps if step.side == side):
            first, last = np.searchsorted(times, (step.start - stride_s, step.start + stride_s))
            since = (times[first:last] - step.start) / stride_s
            share = smoothstep(since / (1 - STANCE))[:, np.newaxis]
            holds[first:last] += share * (step.goal - here)
            holds[last:] = step.goal
            roll = min(1.0, float(np.hypot(*(step.goal - here)[:2])) / _FULL_STRIDE_M)
            swing[first:last, side] += _bump(since, 0.16, 10)
            heel_up[first:last] += roll * _HEEL_UP * _bump(since, 0.02, 5)
            toes_up[first:last] += roll * _TOES_UP * _bump(since, 0.97 - STANCE, 8)
            here = step.goal
        foot = body.offsets[FEET[side]]
        heading[:, side], pitch[:, side] = holds[:, 2], heel_up - toes_up
        level = body.ankle + foot[1] + foot[2] * np.sin(toes_up) + _CLEARANCE_M * swing[:, side]
        ball = np.concatenate([holds[:, :2], level[:, np.newaxis]], axis=1)
        ankles[:, side] = ball - face(heading[:, side], pitch[:, side]) @ foot
    return Feet(ankles, heading, pitch, swing, tuple(step.start + (1 - STANCE) * stride_s for step in steps))


def follow_with_leg(body: Body, turns: Array, root: Array, feet: Feet, side: int) -> None:
    """Turn hip, knee, ankle and foot of one side, in outer turns ``(N, J, 3, 3)``, so that the foot is in its place."""
    hip = root + turns[:, PELVIS] @ body.offsets[HIPS[side]]
    yaw, pitch = feet.heading[:, side], feet.pitch[:, side]
    ahead = np.stack([np.cos(yaw), np.sin(yaw), np.zeros_like(yaw)], axis=-1)
    thigh, shank, hinge = bend_two_bones(hip, feet.ankles[:, side], body.leg, ahead)
    rest, axis = np.array([0.0, -1.0, 0.0]), np.array([1.0, 0.0, 0.0])
    turns[:, HIPS[side]] = align(rest, axis, thigh, hinge)
    turns[:, KNEES[side]] = align(rest, axis, shank, hinge)
    turns[:, ANKLES[side]] = turns[:, FEET[side]] = face(yaw, pitch)


def _bump(since: Array, at: float, narrow: float) -> Array:
    """Return a bump of height 1 at a time, both in strides; nothing half a stride away."""
    away = np.clip(since - at, -0.5, 0.5)
    return np.asarray(np.exp(narrow * (np.cos(2 * np.pi * away) - 1)) * (np.abs(away) < 0.5))
