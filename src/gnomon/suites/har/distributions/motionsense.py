"""MotionSense: ``A_DeviceMotion_data/<activity>_<trial>/sub_<n>.csv`` of an iPhone in a front pocket, 50 Hz.

Core Motion gives gravity and user acceleration apart, in g, and both point the other way than the specific force that
an accelerometer feels: gravity of a phone that lies on its back is -1 along z.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gnomon.suites.har.datasets.units import G
from gnomon.suites.har.distributions.base import Distribution, Planned, Request, Scene, Series, scenes
from gnomon.suites.har.distributions.clocks import steady
from gnomon.suites.har.distributions.text import WHOLE, Form, fixed, write
from gnomon.suites.har.simulation import Device, Motion

HZ = 50.0
TRIALS = {"dws": (1, 2, 11), "ups": (3, 4, 12), "wlk": (7, 8, 15), "jog": (9, 16), "std": (6, 14), "sit": (5, 13)}
LABELS = {
    "dws": "walking_downstairs",
    "ups": "walking_upstairs",
    "wlk": "walking",
    "jog": "jogging",
    "std": "standing",
    "sit": "sitting",
}
SUBJECTS = tuple(f"sub_{k}" for k in range(1, 25))
DEVICE = Device(acc_noise=0.02, gyro_noise=0.004, acc_bias=0.05, gyro_bias=0.01, acc_range=78.0, gyro_range=34.9)
FORM = Form((WHOLE, *[fixed(6)] * 12))
HEADER = (
    ",attitude.roll,attitude.pitch,attitude.yaw,gravity.x,gravity.y,gravity.z,rotationRate.x,rotationRate.y,"
    "rotationRate.z,userAcceleration.x,userAcceleration.y,userAcceleration.z\n"
)


@dataclass(frozen=True, eq=False)
class _Take:
    subject: str
    activity: str
    trial: int
    motion: Motion


def _takes(scene: Scene, request: Request) -> Iterator[_Take]:
    seconds = request.share(sum(map(len, TRIALS.values())))
    for activity, trials in TRIALS.items():
        for trial in trials:
            times = steady(HZ, seconds)
            motion = scene.perform(LABELS[activity], "pocket", times, seconds, DEVICE, str(trial))
            yield _Take(scene.subject, activity, trial, motion)


def _write(folder: Path, request: Request) -> Iterator[str]:
    for scene in scenes(request, "motionsense", SUBJECTS):
        for take in _takes(scene, request):
            motion = take.motion
            down, pushed = -motion.gravity / G, -(motion.acc - motion.gravity) / G
            path = folder / "A_DeviceMotion_data" / f"{take.activity}_{take.trial}" / f"{take.subject}.csv"
            columns = (motion.attitude, down, motion.gyro, pushed)
            write(path, FORM, np.arange(len(motion.acc)), *columns, header=HEADER)
        yield scene.subject


def _plan(request: Request) -> Iterator[Planned]:
    for scene in scenes(request, "motionsense", SUBJECTS):
        for take in _takes(scene, request):
            times = np.arange(len(take.motion.acc)) / HZ
            acc, gyro = Series(times, -take.motion.acc), Series(times, take.motion.gyro)
            yield Planned(take.subject, LABELS[take.activity], acc, gyro)


DISTRIBUTION = Distribution("motionsense", SUBJECTS, _write, _plan)
