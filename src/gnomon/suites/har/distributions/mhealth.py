"""MHEALTH: ``MHEALTHDATASET/mHealth_subject<n>.log``, chest, left ankle and right lower arm, 50 Hz.

24 columns between tabs: acceleration of the chest, two leads of an electrocardiogram, then acceleration, angular rate
and magnetic field of ankle and arm, and the activity, 0 between activities. Acceleration is in m/s^2, angular rate in
deg/s. The chest has no gyroscope. Numbers have five significant digits.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from gnomon.core.tallies import Array
from gnomon.suites.har.distributions.base import Distribution, Planned, Request, Scene, Series, scenes
from gnomon.suites.har.distributions.logs import Stretched, played, schedule
from gnomon.suites.har.distributions.text import WHOLE, Form, general, write
from gnomon.suites.har.simulation import Device, Motion
from gnomon.suites.har.vocabulary import TRAIN_LABELS

HZ = 50.0
PLACES = ("chest", "ankle", "right_arm")
FIELD_UT = 50.0
SUBJECTS = tuple(f"subject{k}" for k in range(1, 11))
CODES = tuple(enumerate(TRAIN_LABELS["mhealth"], start=1))
BETWEEN, BETWEEN_S = ("standing", "walking"), 3.0
DEVICE = Device(acc_noise=0.04, gyro_noise=0.01, acc_bias=0.1, gyro_bias=0.01, acc_range=58.8, gyro_range=8.7)
FORM = Form((*[general(5)] * 23, WHOLE), separator="\t")


def _parts(scene: Scene, request: Request) -> Iterator[Stretched]:
    stretches = schedule(CODES, request.share(len(CODES)), BETWEEN, BETWEEN_S, "log")
    return played(scene, stretches, PLACES, HZ, DEVICE)


def _unit(motion: Motion) -> Array:
    return np.concatenate([motion.acc, np.degrees(motion.gyro), motion.magnetic / FIELD_UT], axis=1)


def _heart(count: int, rng: np.random.Generator) -> Array:
    """Return two leads in mV: a beat is a wave of P, a spike of R and a wave of T."""
    phase = (np.arange(count) / HZ * rng.uniform(1.0, 1.6)) % 1.0
    waves = ((0.2, 0.03, 0.1), (0.4, 0.012, 1.0), (0.65, 0.06, 0.25))
    beat = sum(height * np.exp(-(((phase - at) / width) ** 2)) for at, width, height in waves)
    return np.stack([beat, 0.7 * beat], axis=1) + rng.normal(0, 0.02, (count, 2))


def _write(folder: Path, request: Request) -> Iterator[str]:
    for scene in scenes(request, "mhealth", SUBJECTS):
        parts = list(_parts(scene, request))
        chest, ankle, arm = (np.concatenate([_unit(part.motions[place]) for part in parts]) for place in PLACES)
        codes = np.concatenate([np.full(part.count, part.stretch.code) for part in parts])
        heart = _heart(len(codes), scene.rng("heart"))
        path = folder / "MHEALTHDATASET" / f"mHealth_{scene.subject}.log"
        write(path, FORM, chest[:, :3], heart, ankle, arm, codes)
        yield scene.subject


def _plan(request: Request) -> Iterator[Planned]:
    for scene in scenes(request, "mhealth", SUBJECTS):
        for part in _parts(scene, request):
            if part.stretch.code:
                arm, times = part.motions["right_arm"], np.arange(part.count) / HZ
                yield Planned(scene.subject, part.stretch.activity, Series(times, arm.acc), Series(times, arm.gyro))


DISTRIBUTION = Distribution("mhealth", SUBJECTS, _write, _plan)
