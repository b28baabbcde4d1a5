"""The experiments behind UCI HAR and HAPT: a phone at the waist, 50 Hz, recorded once and published twice.

An experiment is one recording: postures with the transitions between them, then walks and stairs, and moments without
a label in between. HAPT has it raw, in g and rad/s, in the steps of the phone's sensors; UCI HAR has windows of the six
activities after a median filter and a low pass at 20 Hz, with gravity told apart by a low pass at 0.3 Hz
(Reyes-Ortiz et al., *Transition-aware human activity recognition using smartphones*, Neurocomputing 171, 2016).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.signal import butter, medfilt, sosfiltfilt

from gnomon.core.tallies import Array
from gnomon.suites.har.datasets.units import G
from gnomon.suites.har.distributions.base import LEAST_S, Request, Scene
from gnomon.suites.har.distributions.clocks import steady
from gnomon.suites.har.simulation import Device

HZ = 50.0
ACC_STEP_G, GYRO_STEP = 1 / 720, 0.00030543262
"""Steps of the sensors in g and rad/s."""
DEVICE = Device(acc_noise=0.03, gyro_noise=0.003, acc_bias=0.08, gyro_bias=0.01, acc_range=19.61, gyro_range=10.0)
PEOPLE = "uci_har"
SUBJECTS = tuple(str(k) for k in range(1, 31))
ACTIVITIES = (
    "walking",
    "walking_upstairs",
    "walking_downstairs",
    "sitting",
    "standing",
    "lying",
    "stand_to_sit",
    "sit_to_stand",
    "sit_to_lie",
    "lie_to_sit",
    "stand_to_lie",
    "lie_to_stand",
)
"""Of codes 1 to 12."""
BASIC = 6
"""Codes up to this one are activities, the others transitions."""
SEQUENCE = (5, 7, 4, 8, 5, 11, 6, 10, 4, 9, 6, 12, 1, 3, 2)
"""Codes of an experiment in the order of doing."""
TRANSITION_S = (2.6, 5.2)
BETWEEN_S = (0.6, 2.0)


@dataclass(frozen=True, eq=False)
class Experiment:
    """One recording: acceleration in g and angular rate in rad/s ``(n, 3)``, and rows of each code, half-open."""

    number: int
    acc_g: Array
    gyro: Array
    labels: tuple[tuple[int, int, int], ...]


def numbers(subject: str) -> tuple[int, ...]:
    """Return the experiments of a subject: two each, and three of the tenth.

    >>> numbers("1"), numbers("10"), numbers("30")
    ((1, 2), (19, 20, 21), (60, 61))
    """
    user = int(subject)
    first = 2 * user - (1 if user <= 10 else 0)
    return (first, first + 1, first + 2) if user == 10 else (first, first + 1)


def experiments(scene: Scene, request: Request) -> Iterator[Experiment]:
    """Yield the experiments of a subject: as many as the minutes are enough for, at least one."""
    basic = sum(code <= BASIC for code in SEQUENCE)
    least = basic * LEAST_S + (len(SEQUENCE) - basic) * sum(TRANSITION_S) / 2
    chosen = numbers(scene.subject)[: max(1, int(60 * request.minutes / least))]
    spare = 60 * request.minutes / len(chosen) - least
    seconds = LEAST_S + max(0.0, spare / basic)
    for number in chosen:
        yield _experiment(scene, number, seconds)


def _experiment(scene: Scene, number: int, seconds: float) -> Experiment:
    rng = scene.rng("experiment", str(number))
    acc, gyro, labels, row = [], [], [], 0
    for place, code in enumerate(SEQUENCE):
        length = seconds if code <= BASIC else rng.uniform(*TRANSITION_S)
        between = ("standing", rng.uniform(*BETWEEN_S), f"{number}-{place}-before")
        for what, lasts, trial in (between, (ACTIVITIES[code - 1], length, f"{number}-{place}")):
            motion = scene.perform(what, "waist", steady(HZ, lasts), lasts, DEVICE, trial)
            acc.append(motion.acc / G)
            gyro.append(motion.gyro)
            row += len(motion.acc)
        labels.append((code, row - len(acc[-1]), row))
    steps = (ACC_STEP_G, GYRO_STEP)
    whole = [np.rint(np.concatenate(parts) / step) * step for parts, step in zip((acc, gyro), steps, strict=True)]
    return Experiment(number, whole[0], whole[1], tuple(labels))


def cleaned(values: Array) -> Array:
    """Return signals without noise: a median of three, then a low pass of third order at 20 Hz."""
    calm = np.stack([medfilt(values[:, k], 3) for k in range(values.shape[1])], axis=1)
    return np.asarray(sosfiltfilt(butter(3, 20.0, fs=HZ, output="sos"), calm, axis=0))


def gravity(acc_g: Array) -> Array:
    """Return the slow part of an acceleration, below 0.3 Hz."""
    return np.asarray(sosfiltfilt(butter(3, 0.3, fs=HZ, output="sos"), acc_g, axis=0))
