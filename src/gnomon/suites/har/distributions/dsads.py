"""Daily and Sports Activities: ``data/a<activity>/p<person>/s<segment>.txt``, five units on the body, 25 Hz.

A segment is 125 rows of 45 numbers: acceleration (m/s^2), angular rate (rad/s) and magnetic field (in parts of the
earth's) of torso, right arm, left arm, right leg and left leg. Numbers have five significant digits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gnomon.suites.har.distributions.base import Distribution, Planned, Request, Scene, Series, scenes
from gnomon.suites.har.distributions.clocks import steady
from gnomon.suites.har.distributions.text import Form, general, write
from gnomon.suites.har.simulation import Device, Motion
from gnomon.suites.har.vocabulary import TRAIN_LABELS

HZ, ROWS, MOST = 25.0, 125, 60
"""Rate, rows of a segment, and segments of an activity in the original."""
UNITS = ("torso", "right_arm", "left_arm", "right_leg", "left_leg")
FIELD_UT = 50.0
"""Strength of the earth's field, by which the magnetic field is divided."""
SUBJECTS = tuple(f"p{k}" for k in range(1, 9))
DEVICE = Device(acc_noise=0.02, gyro_noise=0.008, acc_bias=0.05, gyro_bias=0.005, acc_range=50.0, gyro_range=20.9)
FORM = Form((general(5),) * 45)


@dataclass(frozen=True, eq=False)
class _Take:
    activity: int
    label: str
    units: tuple[Motion, ...]


def _takes(scene: Scene, request: Request) -> Iterator[_Take]:
    labels = TRAIN_LABELS["dsads"]
    segments = min(MOST, max(2, round(request.share(len(labels)) * HZ / ROWS)))
    seconds = segments * ROWS / HZ
    for activity, label in enumerate(labels, start=1):
        times = steady(HZ, seconds)
        units = tuple(scene.perform(label, unit, times, seconds, DEVICE) for unit in UNITS)
        yield _Take(activity, label, units)


def _write(folder: Path, request: Request) -> Iterator[str]:
    for scene in scenes(request, "dsads", SUBJECTS):
        for take in _takes(scene, request):
            columns = [part for unit in take.units for part in (unit.acc, unit.gyro.round(6), unit.magnetic / FIELD_UT)]
            table = np.concatenate(columns, axis=1)
            for segment in range(len(table) // ROWS):
                name = f"a{take.activity:02d}/{scene.subject}/s{segment + 1:02d}.txt"
                write(folder / "data" / name, FORM, table[segment * ROWS : (segment + 1) * ROWS])
        yield scene.subject


def _plan(request: Request) -> Iterator[Planned]:
    for scene in scenes(request, "dsads", SUBJECTS):
        for take in _takes(scene, request):
            torso = take.units[0]
            times = np.arange(len(torso.acc)) / HZ
            yield Planned(scene.subject, take.label, Series(times, torso.acc), Series(times, torso.gyro))


DISTRIBUTION = Distribution("dsads", SUBJECTS, _write, _plan)
