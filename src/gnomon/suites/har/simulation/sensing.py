"""What a device measures while a person does something."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.seeds import generator
from gnomon.core.tallies import Array
from gnomon.suites.har.simulation import _kernels
from gnomon.suites.har.simulation.act import Act, Hang
from gnomon.suites.har.simulation.activities import build
from gnomon.suites.har.simulation.body import G, Placement, Way, axes, felt, side_of, turned, way
from gnomon.suites.har.simulation.body import placement as place_of
from gnomon.suites.har.simulation.people import Person
from gnomon.suites.har.simulation.terms import Term, evaluate, only

BLOCK = 2048
"""Samples that are worked on at a time, which keeps them in the processor's cache."""
_GYRATION = 0.045
"""Radius of gyration of a phone, in metres: 15 cm over the root of 12."""
FIELD_UT = (21.0, 43.0)
"""The earth's field across and downwards, as in the middle of Europe."""


@dataclass(frozen=True)
class Device:
    """Noise and range of the sensors of one distribution.

    Attributes
    ----------
    acc_noise, gyro_noise
        Spread of the white noise of a sample, in m/s^2 and rad/s.
    acc_bias, gyro_bias
        Spread of the constant bias of a unit.
    acc_range, gyro_range
        Where a channel saturates.
    """

    acc_noise: float
    gyro_noise: float
    acc_bias: float
    gyro_bias: float
    acc_range: float
    gyro_range: float


@dataclass(frozen=True, eq=False)
class Motion:
    """What the sensors say, each ``(n, 3)`` in the axes of the device.

    Attributes
    ----------
    acc
        Specific force in m/s^2: 9.81 upwards at rest.
    gyro
        Angular rates in rad/s.
    gravity
        The part of ``acc`` that is gravity; ``acc - gravity`` is linear acceleration, with noise and bias.
    magnetic
        The earth's field in microtesla, without noise.
    facing
        The first axis of the device, in the axes of the room.
    """

    acc: Array
    gyro: Array
    gravity: Array
    magnetic: Array
    facing: Array

    @cached_property
    def attitude(self) -> Array:
        """Roll, pitch and yaw in rad: the device is turned by ``R_z(yaw) R_y(pitch) R_x(roll)`` against the room."""
        roll = np.arctan2(self.gravity[:, 1], self.gravity[:, 2])
        pitch = np.arcsin(np.clip(-self.gravity[:, 0] / G, -1.0, 1.0))
        yaw = np.arctan2(self.facing[:, 1], self.facing[:, 0])
        return np.stack([roll, pitch, yaw], axis=1)


@dataclass(frozen=True, eq=False)
class Stage:
    """A recording before it is sampled: one sensor on one person who does one thing.

    Attributes
    ----------
    act
        What is done.
    terms
        Those of its functions of time that the sensor feels.
    route, mount
        How the sensor is reached, and its axes in those of what carries it.
    """

    act: Act
    terms: Sequence[Term]
    route: Way
    mount: Array

    def quantities(self, times: Array) -> Array:
        """Return the quantities of :attr:`Way.names` with two derivatives, ``(3, d, n)``."""
        return evaluate(self.terms, self.act.fixed, self.route.names, times)


def stage(
    activity: str,
    placement: str,
    who: Person,
    seconds: float,
    *,
    seed: int,
    purpose: Sequence[str],
    last: float = 0.0,
) -> Stage:
    """Return a recording that can be sampled at any time up to its duration, or up to `last`."""
    place = place_of(placement)
    hang = hanging(place, placement, who, seed, purpose)
    side = side_of(place, who)
    act = Act(who, side, place.segment, seconds, seed=seed, purpose=purpose, span=last, hang=hang)
    build(activity, act)
    route = way(place, who, hang.arm)
    return Stage(act, only(act.terms, route.names), route, mounting(place, placement, who, seed, purpose))


def perform(
    activity: str,
    placement: str,
    who: Person,
    times: Array,
    *,
    seed: int,
    purpose: Sequence[str],
    device: Device,
    seconds: float | None = None,
) -> Motion:
    """Return what a device on a person measures during a recording.

    Parameters
    ----------
    activity
        One of the labels of :mod:`gnomon.suites.har.vocabulary`.
    placement
        One of :data:`gnomon.suites.har.simulation.body.PLACEMENTS`.
    who
        The person.
    times
        ``(n,)`` seconds from the start of the recording, rising, with any spacing.
    seed, purpose
        Name the recording: the same give the same motion at whatever times it is asked for.
    device
        Noise and range.
    seconds
        Duration of the recording, by which short events are placed; that of `times` unless given.
    """
    moments = np.asarray(times, dtype=np.float64)
    if not len(moments) or not np.isfinite(moments).all() or (np.diff(moments) < 0).any():
        raise InputError(
            f"simulation of {activity}: expected times in seconds that rise, but got {len(moments)} that do not"
        )
    length = float(moments[-1] - moments[0]) if seconds is None else seconds
    made = stage(activity, placement, who, length, seed=seed, purpose=purpose, last=float(moments[-1]))
    heading = generator(seed, *purpose, "heading").uniform(0, 2 * np.pi)
    field = np.array([FIELD_UT[0] * np.cos(heading), FIELD_UT[0] * np.sin(heading), -FIELD_UT[1]])
    out = np.empty((5, len(moments), 3))
    for start in range(0, len(moments), BLOCK):
        rows = slice(start, start + BLOCK)
        felt(made.quantities(moments[rows]), made.route, made.mount, field, out[:, rows])
    noise = generator(seed, *purpose, "noise", placement)
    unit = generator(seed, *purpose[:2], "unit", placement).standard_normal((2, 3))
    for row, (spread, bias, limit) in enumerate(
        (
            (device.acc_noise, device.acc_bias, device.acc_range),
            (device.gyro_noise, device.gyro_bias, device.gyro_range),
        )
    ):
        drawn = noise.standard_normal((len(moments), 3), dtype=np.float32)
        _kernels.spoil(out[row], bias * unit[row], spread, drawn, limit)
    return Motion(*out)


def hanging(place: Placement, name: str, who: Person, seed: int, purpose: Sequence[str]) -> Hang:
    """Return how the device hangs at its place: loose clothes let it rock slowly and far."""
    loose = min(place.slack * (0.4 + 1.4 * who.slack), 1.2)
    arm = generator(seed, *purpose, "hanging", name).normal((0.0, 0.0, -0.02), (0.02, 0.02, 0.015))
    return Hang(hz=9.0 - 4.5 * min(loose, 1.0), damping=0.24, arm=arm, gain=1.8 * loose / _GYRATION**2)


def mounting(place: Placement, name: str, who: Person, seed: int, purpose: Sequence[str]) -> Array:
    """Return the rotation from the axes of the device to those of the segment in one recording."""
    rng = generator(seed, *purpose, "mounting", name)
    small = rng.normal(0.0, 1.0, 3)
    if place.axes is not None:
        return turned(np.array([0.0, -place.tilt, 0.0])) @ turned(np.array(who.skew) + 1.5 * small) @ axes(place.axes)
    odd = rng.random(2) < 0.12
    upside, screen = who.turn ^ bool(odd[0]), who.flip ^ bool(odd[1])
    letters = {(False, False): "luf", (False, True): "rub", (True, False): "rdf", (True, True): "ldb"}[upside, screen]
    outward = side_of(place, who) * float(np.clip(rng.normal(25.0, 15.0), -10, 70))
    return turned(np.array([0.0, 0.0, outward])) @ turned(2.0 * np.array(who.skew) + 6.0 * small) @ axes(letters)
