"""Walking along a circle: where feet are set, how the legs follow, how the rest of the body goes along.

The phase of a leg counts its strides from one heel strike to the next. The foot stands for 60 % of a stride and then
moves to the next place on the circle; it strikes with the toes up and leaves with the heel up. The pelvis moves at a
steady speed, highest over the standing foot. Hip and knee follow from where hip and ankle are; arms swing against the
legs. Steps per second are the root of speed over walk ratio (Sekiya and Nagasaki, 1998).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnomon.core.tallies import Array
from gnomon.suites.skeleton.simulation.body import ANKLE, INDEX, SIDES, Angles, Body, arm, turns

STANCE = 0.6
_OVER = 0.21
"""Phase at which the pelvis is above the ankle."""
_TOP = 0.26
"""Phase at which it is highest."""
_TOES_UP, _HEEL_UP = np.radians(16.0), np.radians(55.0)
_CLEARANCE_M = 0.045
_EXTENDED = 0.998
"""How straight a leg gets at most, as a share of its length."""


@dataclass(frozen=True)
class Gait:
    """How somebody walks."""

    body: Body
    speed: float
    """In m/s."""
    radius: float
    """Of the circle, in m."""
    side: float
    """1 if the circle lies to the left, -1 if to the right."""
    rise: float
    """Half of how much the pelvis rises and falls, in m; it goes across as far."""
    swing: float
    """Of the arms, in degrees to either side."""
    yaw: float
    """Of the pelvis, in radians to either side."""

    @property
    def frequency(self) -> float:
        """Strides per second."""
        return float(np.sqrt(self.speed / (0.0058 * 60 * self.body.height / 1.73))) / 2

    def angles(self, phase: Array) -> Angles:
        """Return the angles of a walking body over the phase of its left leg, in degrees."""
        turn = self._turn(phase)
        twist = np.degrees(turn)
        found: Angles = {
            "pelvis": (0.0, twist, 0.0),
            "spine1": (3.0, -0.8 * twist, 0.0),
            "spine2": (1.0, -0.8 * twist, 0.0),
            "neck": (-2.0, 0.6 * twist, 0.0),
        }
        places = self.place(phase)
        for side, _ in SIDES:
            hip, knee, ankle = (np.degrees(part) for part in self._leg(side, phase, places, turn))
            found |= {f"{side}_hip": tuple(hip), f"{side}_knee": tuple(knee), f"{side}_ankle": tuple(ankle)}
            forward = 2.0 - self.swing * np.cos(2 * np.pi * self._own(side, phase))
            found |= arm(side, forward, 0.0, 16.0 + 0.5 * (forward + self.swing))
        return found

    def place(self, phase: Array) -> Array:
        """Return where the pelvis is, ``(F, 3)``: across, above the floor, and 0 along the path."""
        return np.asarray(self._sway(phase) + np.array([0.0, self._level(), 0.0]))

    def _sway(self, phase: Array) -> Array:
        """Return how the pelvis moves about its mean place: towards the standing leg, and up over it."""
        at = 2 * np.pi * (phase - _TOP)
        return np.stack([self.rise * np.cos(at), self.rise * np.cos(2 * at), np.zeros(len(phase))], axis=1)

    def _turn(self, phase: Array) -> Array:
        """Return the turn of the pelvis: the hip of the striking leg is in front."""
        return np.asarray(-self.yaw * np.cos(2 * np.pi * phase))

    def _own(self, side: str, phase: Array) -> Array:
        return phase if side == "left" else phase + 0.5

    def _level(self) -> float:
        """Return the mean height of the pelvis at which neither leg is ever too short."""
        phase = np.linspace(0, 1, 240, endpoint=False)
        levels = []
        for side, _ in SIDES:
            apart = self._ankle(side, phase)[0] - self._sway(phase) - self._hip(side, self._turn(phase))
            reach = _EXTENDED * sum(self._bones(side))
            levels.append(apart[:, 1] + np.sqrt(reach**2 - apart[:, 0] ** 2 - apart[:, 2] ** 2))
        return float(np.min(levels))

    def _hip(self, side: str, turn: Array) -> Array:
        zero = np.zeros(len(turn))
        return np.asarray(turns(np.stack([zero, turn, zero], axis=1)) @ self.body.offsets[INDEX[f"{side}_hip"]])

    def _bones(self, side: str) -> tuple[float, float]:
        knee, ankle = (-self.body.offsets[INDEX[f"{side}_{part}"], 1] for part in ("knee", "ankle"))
        return float(knee), float(ankle)

    def _ankle(self, side: str, phase: Array) -> tuple[Array, Array, Array]:
        """Return the ankle ``(F, 3)`` in the frame that goes along the circle, and the turn and pitch of the foot."""
        own = self._own(side, phase)
        foot = self.body.offsets[INDEX[f"{side}_foot"]]
        stride = self.speed / self.frequency
        part = np.clip((np.mod(own, 1) - STANCE) / (1 - STANCE), 0, 1)
        along = (part**2 * (3 - 2 * part) + _OVER - np.mod(own, 1)) * stride + foot[2]
        angle = self.side * along / self.radius
        up = _TOES_UP * _bump(own, -0.03, 8)
        pitch = up - _HEEL_UP * _bump(own, STANCE + 0.02, 5)
        lift = ANKLE * self.body.height + foot[1] + foot[2] * np.sin(up) + _CLEARANCE_M * _bump(own, 0.76, 10)
        middle = self.side * self.radius
        arc = 0.8 * self.body.offsets[INDEX[f"{side}_hip"], 0] + foot[0] - middle
        ball = np.stack([middle + arc * np.cos(angle), lift, -arc * np.sin(angle)], axis=1)
        toes = turns(np.stack([-pitch, angle, 0 * pitch], axis=1)) @ foot
        return ball - toes, angle, pitch

    def _leg(self, side: str, phase: Array, places: Array, turn: Array) -> tuple[Array, Array, Array]:
        """Return the angles of hip, knee and ankle, each ``(3, F)``, that put the foot where it belongs."""
        ankle, angle, pitch = self._ankle(side, phase)
        zero = np.zeros(len(phase))
        apart = ankle - places - self._hip(side, turn)
        x, y, z = np.einsum("kij,ki->jk", turns(np.stack([zero, angle, zero], axis=1)), apart)
        thigh, shank = self._bones(side)
        bent = np.arccos((x * x + y * y + z * z - thigh**2 - shank**2) / (2 * thigh * shank))
        down, back = thigh + shank * np.cos(bent), shank * np.sin(bent)
        lean = np.arcsin(x / down)
        raised = np.arctan2(z, -y) + np.arctan2(back, down * np.cos(lean))
        hip = np.stack([-raised, angle - turn, lean])
        return hip, np.stack([bent, zero, zero]), np.stack([raised - bent - pitch, zero, -lean])


def _bump(phase: Array, at: float, narrow: float) -> Array:
    """Return a periodic bump of height 1."""
    return np.asarray(np.exp(narrow * (np.cos(2 * np.pi * (phase - at)) - 1)))
