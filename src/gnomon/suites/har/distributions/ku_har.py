"""KU-HAR: ``1.Raw_time_domian_data/<n>.<Class>/<subject>_<letter>_<trial>.csv``, a phone in a waist bag, 100 Hz.

Rows are time, acceleration x y z, time, angular rate x y z without a header. The sensors have times of their own; where
one has fewer samples, its cells at the end are zeros. Gravity is not in the acceleration. Times are seconds, or
milliseconds, as descriptions of different versions say (:data:`UNITS`). The letter of a file says the class once more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from gnomon.core.tallies import Array
from gnomon.suites.har.distributions.base import Distribution, Planned, Request, Scene, Series, scenes
from gnomon.suites.har.distributions.clocks import jittering
from gnomon.suites.har.distributions.text import Form, general, write
from gnomon.suites.har.simulation import Device

HZ = 100.0
CLASSES = (
    ("Stand", "standing"),
    ("Sit", "sitting"),
    ("Talk-sit", "talking_sitting"),
    ("Talk-stand", "talking_standing"),
    ("Stand-sit", "standing_up_from_sitting"),
    ("Lay", "lying"),
    ("Lay-stand", "standing_up_from_laying"),
    ("Pick", "picking_up"),
    ("Jump", "jumping"),
    ("Push-up", "push_up"),
    ("Sit-up", "sit_up"),
    ("Walk", "walking"),
    ("Walk-backwards", "walking_backwards"),
    ("Walk-circle", "walking"),
    ("Run", "running"),
    ("Stair-up", "walking_upstairs"),
    ("Stair-down", "walking_downstairs"),
    ("Table-tennis", "playing_sports"),
)
"""Folder and label of classes 0 to 17."""
LETTERS = "ABCDEFGHIJKLMNOSTU"
RUN = 14
RUN_S = (4.5, 7.5)
"""Seconds of the recordings of running: twenty metres."""
DECIMALS = 4
"""Of seconds."""
UNITS = {"s": 1.0, "ms": 1e-3}
"""Seconds in the unit of times."""
SUBJECTS = (*(str(k) for k in range(1001, 1089)), "1101")
"""As many as the original has; which two of its 91 numbers are unused is not known, here the last two before 1101."""
DEVICE = Device(acc_noise=0.03, gyro_noise=0.003, acc_bias=0.03, gyro_bias=0.005, acc_range=78.0, gyro_range=34.9)
TOP = "1.Raw_time_domian_data"


@dataclass(frozen=True, eq=False)
class _Take:
    code: int
    trial: int
    acc_times: Array
    acc: Array
    gyro_times: Array
    gyro: Array


def _takes(scene: Scene, request: Request) -> Iterator[_Take]:
    for code, (_, label) in enumerate(CLASSES):
        count = request.trials(len(CLASSES), sum(RUN_S) / 2) if code == RUN else 1
        for trial in range(1, count + 1):
            name = f"{code}-{trial}"
            length = scene.rng("length", name).uniform(*RUN_S)
            seconds = length if code == RUN else request.share(len(CLASSES))
            acc_times, gyro_times = (
                jittering(scene.rng("clock", name, sensor), HZ, seconds, jitter=0.02) for sensor in ("acc", "gyro")
            )
            acc_times, gyro_times = acc_times.round(DECIMALS), gyro_times.round(DECIMALS)
            pushed = scene.perform(label, "waist", acc_times, seconds, DEVICE, name)
            turned = scene.perform(label, "waist", gyro_times, seconds, DEVICE, name)
            yield _Take(code, trial, acc_times, pushed.acc - pushed.gravity, gyro_times, turned.gyro)


def write_in(unit: str, folder: Path, request: Request) -> Iterator[str]:
    """Write the files with times in seconds (``s``) or milliseconds (``ms``)."""
    form = Form((general(8), *[general(5)] * 3) * 2)
    for scene in scenes(request, "ku_har", SUBJECTS):
        for take in _takes(scene, request):
            where = folder / TOP / f"{take.code}.{CLASSES[take.code][0]}"
            path = where / f"{scene.subject}_{LETTERS[take.code]}_{take.trial}.csv"
            halves = ((take.acc_times, take.acc), (take.gyro_times, take.gyro))
            count = max(len(times) for times, _ in halves)
            write(path, form, *(_filled(count, times / UNITS[unit], values) for times, values in halves))
        yield scene.subject


def _filled(count: int, times: Array, values: Array) -> Array:
    """Return times and values beside one another, with rows of zeros up to a count."""
    return np.pad(np.column_stack([times, values]), ((0, count - len(times)), (0, 0)))


def _plan(request: Request) -> Iterator[Planned]:
    for scene in scenes(request, "ku_har", SUBJECTS):
        for take in _takes(scene, request):
            acc, gyro = Series(take.acc_times, take.acc), Series(take.gyro_times, take.gyro)
            yield Planned(scene.subject, CLASSES[take.code][1], acc, gyro)


DISTRIBUTION = Distribution("ku_har", SUBJECTS, partial(write_in, "s"), _plan)
