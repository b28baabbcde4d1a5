"""What the headset and the estimators behind it make of a motion: clock, poses, inertial sensor, hands, contacts.

Conventions
-----------
- The world of an episode is the room turned about the vertical and moved to where the headset first was; z is up.
- Poses are of the inertial sensor. What is stored maps the world to it: ``x_body = R x_world + t``.
- The inertial sensor feels ``R (a + g)``: the second derivative of a spline through its places, plus gravity upwards,
  in its own axes; its angular rates are those of a spline through its attitudes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation, RotationSpline

from gnomon.core.tallies import Array
from gnomon.simulation.body import ANKLES, FEET, HEAD, WRISTS, Body
from gnomon.simulation.curves import wander
from gnomon.suites.episode.simulation import rig as rigs
from gnomon.suites.episode.simulation.posing import Posed
from gnomon.suites.episode.simulation.rig import Rig

FPS = 20.0014
IMU_S = 0.0050115
GRAVITY = 9.80665
_ACCEL_STEP, _GYRO_STEP = GRAVITY / 2048, np.radians(1 / 16.4)
"""Least steps of the accelerometer and the gyroscope."""
HAND_NEAR, HAND_FAR = 0.12, 1.2
_HAND_SHARE = 0.8
"""A hand is seen if this share of its joints is in the picture."""


@dataclass(frozen=True, eq=False)
class Poses:
    """Places ``(N, 3)`` and attitudes ``(N, 3, 3)`` of the inertial sensor in the world, and how the room lies there.

    Attributes
    ----------
    seconds
        ``(N,)``: when.
    world_from_room
        ``(4, 4)``.
    """

    seconds: Array
    place: Array
    turn: Array
    world_from_room: Array

    def in_room(self, frame: int) -> Array:
        """Return the transform from the inertial sensor to the room at a frame."""
        back = rigs.inverse(self.world_from_room)
        return np.asarray(back @ rigs.transform(self.turn[frame], self.place[frame]))

    def to_world(self, points: Array) -> Array:
        """Return points of the room in the world."""
        return np.asarray(points @ self.world_from_room[:3, :3].T + self.world_from_room[:3, 3])


def clock(rng: np.random.Generator, count: int) -> Array:
    """Return the device's time of frames in nanoseconds, ``(count,)``: regular, with jitter now and then."""
    start = int(rng.integers(2 * 10**13, 9 * 10**13))
    regular = np.arange(count) / FPS * 1e9
    jitter = rng.normal(0, 600, count) + (rng.random(count) < 0.08) * rng.normal(0, 250_000, count)
    jitter += (rng.random(count) < 0.015) * np.abs(rng.normal(0, 1_500_000, count))
    return np.asarray(start + np.round(regular + jitter).astype(np.int64))


def follow(posed: Posed, headset: Rig, seconds: Array, rng: np.random.Generator) -> Poses:
    """Return the poses of the inertial sensor, in a world that begins with them."""
    head, at = posed.turns[:, HEAD], posed.joints[:, HEAD]
    turn = head @ headset.head_from_body[:3, :3]
    place = at + head @ headset.head_from_body[:3, 3]
    yaw = Rotation.from_euler("z", rng.uniform(-np.pi, np.pi)).as_matrix()
    world = rigs.transform(yaw, -yaw @ (place[0] + rng.normal(0, 0.05, 3)))
    return Poses(seconds, place @ yaw.T + world[:3, 3], yaw @ turn, world)


def tracked(poses: Poses, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return quaternions (w first) and translations from the world to the body, as tracking gives them."""
    count = len(poses.place)
    slips = Rotation.from_rotvec(wander(rng, count, 3, FPS, 0.25) * 0.0006)
    turn = (Rotation.from_matrix(poses.turn) * slips).inv()
    place = poses.place + wander(rng, count, 3, FPS, 0.25) * 0.0007
    quaternions = turn.as_quat(scalar_first=True)
    flips = np.cumprod(np.where((quaternions[1:] * quaternions[:-1]).sum(axis=1) < 0, -1.0, 1.0))
    quaternions[1:] *= flips[:, np.newaxis]
    return quaternions, -turn.apply(place)


@dataclass(frozen=True, eq=False)
class Inertial:
    """Samples of the inertial sensor: time in nanoseconds ``(M,)``, accelerations and rates ``(M, 3)``."""

    time_ns: Array
    accel: Array
    gyro: Array


def feel(poses: Poses, start_ns: int, rng: np.random.Generator) -> Inertial:
    """Return what the inertial sensor measures from the first to the last pose."""
    last = poses.seconds[-1]
    count = int((last - poses.seconds[0]) / IMU_S)
    jitter = np.clip(rng.normal(0, 6e-6, count) + (rng.random(count) < 0.06) * rng.normal(0, 8e-4, count), -2e-3, 2e-3)
    regular = poses.seconds[0] + rng.uniform(0, 0.004) + IMU_S * np.arange(count)
    at = np.sort(np.clip(regular + jitter, poses.seconds[0], last))
    pull = CubicSpline(poses.seconds, poses.place, axis=0)(at, 2)
    spline = RotationSpline(poses.seconds, Rotation.from_matrix(poses.turn))
    accel = spline(at).inv().apply(pull + np.array([0.0, 0.0, GRAVITY]))
    gyro = spline(at, 1)
    accel = accel + rng.normal(0, 0.03, 3) + rng.normal(0, 0.018, accel.shape)
    gyro = gyro + rng.normal(0, 0.004, 3) + rng.normal(0, 0.0022, gyro.shape)
    time_ns = start_ns + np.round((at - poses.seconds[0]) * 1e9)
    return Inertial(time_ns, _stepped(accel, _ACCEL_STEP), _stepped(gyro, _GYRO_STEP))


def nearest(samples_ns: Array, times_ns: Array) -> Array:
    """Return the index of the sample nearest to each time."""
    after = np.clip(np.searchsorted(samples_ns, times_ns), 1, len(samples_ns) - 1)
    closer = times_ns - samples_ns[after - 1] <= samples_ns[after] - times_ns
    return np.asarray(after - closer, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class SeenHand:
    """One hand as an estimator sees it: joints ``(N, 21, 3)`` in the left stereo camera, its turn, and when."""

    joints: Array
    turn: Array
    seen: Array


def see_hand(posed: Posed, poses: Poses, headset: Rig, side: int, rng: np.random.Generator) -> SeenHand:
    """Return a hand in the frame of the left stereo camera, and whether it is in the picture and near enough."""
    count = len(poses.place)
    camera = headset.left_from_body
    back = camera[:3, :3] @ np.swapaxes(poses.turn, 1, 2)
    away = poses.to_world(posed.hands[side]) - poses.place[:, np.newaxis]
    joints = away @ np.swapaxes(back, 1, 2) + camera[:3, 3]
    fx, fy, cx, cy = headset.stereo
    with np.errstate(divide="ignore", invalid="ignore"):
        u, v = fx * joints[..., 0] / joints[..., 2] + cx, fy * joints[..., 1] / joints[..., 2] + cy
    near = (joints[..., 2] > HAND_NEAR) & (joints[..., 2] < HAND_FAR)
    inside = near & (u > 0) & (u < rigs.STEREO[0]) & (v > 0) & (v < rigs.STEREO[1])
    turn = back @ poses.world_from_room[:3, :3] @ posed.turns[:, WRISTS[side]]
    joints = joints + wander(rng, count, 3, FPS, 0.08)[:, np.newaxis] * 0.0009
    joints = joints + rng.normal(0, 0.0004, joints.shape)
    return SeenHand(joints, turn, inside.mean(axis=1) >= _HAND_SHARE)


def contacts(who: Body, posed: Posed, touch: Array, rng: np.random.Generator) -> Array:
    """Return soft scores ``(N, 21)`` of joints 1 to 21: feet that stand, and wrists of hands that touch."""
    found = rng.normal(0, 2e-4, (len(touch), 21))
    rest = {**dict.fromkeys(ANKLES, who.ankle), **dict.fromkeys(FEET, who.ankle + who.offsets[FEET[0], 1])}
    for joint, height in rest.items():
        at = posed.joints[:, joint]
        speed = np.linalg.norm(np.gradient(at, axis=0), axis=1) * FPS
        found[:, joint - 1] += _soft((at[:, 2] - height - 0.022) / 0.005) * _soft((speed - 0.45) / 0.08)
    for side, joint in enumerate(WRISTS):
        found[:, joint - 1] += 0.92 * touch[:, side]
    return found


def _soft(value: Array) -> Array:
    """Return 1 far below zero and 0 far above."""
    return np.asarray(1 / (1 + np.exp(np.clip(value, -40, 40))))


def _stepped(values: Array, step: float) -> Array:
    return np.asarray(np.round(values / step) * step)
