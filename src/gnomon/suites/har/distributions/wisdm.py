"""WISDM 2019: ``wisdm-dataset/raw/{phone,watch}/{accel,gyro}/data_<id>_{accel,gyro}_{phone,watch}.txt``, 20 Hz.

Lines are ``id,letter,ns,x,y,z;`` in m/s^2 and rad/s. Activities were recorded at any time of the day, so that time
stamps jump between them; the gyroscope starts a little after the accelerometer and samples at other moments; a phone
repeats a stamp now and then.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gnomon.core.tallies import Array
from gnomon.suites.har.distributions.base import Distribution, Planned, Request, Scene, Series, scenes
from gnomon.suites.har.distributions.clocks import jittering, stamped
from gnomon.suites.har.distributions.text import SINGLE, WHOLE, WORD, Form, rows
from gnomon.suites.har.simulation import Device
from gnomon.suites.har.vocabulary import TRAIN_LABELS

LETTERS = "ABCDEFGHIJKLMOPQRS"
SUBJECTS = tuple(str(k) for k in range(1600, 1651))
PLACES = {"phone": "pocket", "watch": "wrist"}
STEPS_NS = (50_354_004, 50_000_000, 49_804_688)
"""Steps of different phones."""
NS = 1e-9
REPEATED = 5e-4
PHONE = Device(acc_noise=0.04, gyro_noise=0.004, acc_bias=0.1, gyro_bias=0.01, acc_range=19.61, gyro_range=17.4)
WATCH = Device(acc_noise=0.05, gyro_noise=0.006, acc_bias=0.1, gyro_bias=0.02, acc_range=19.61, gyro_range=34.9)
DEVICES = {"phone": PHONE, "watch": WATCH}
FORM = Form((WHOLE, WORD, WHOLE, *[SINGLE] * 3), end=";\n", words=tuple(LETTERS))


@dataclass(frozen=True, eq=False)
class _Part:
    """An activity as one sensor has it: nanoseconds and values."""

    letter: int
    ns: Array
    values: Array


def _parts(scene: Scene, request: Request, device: str, sensor: str) -> Iterator[_Part]:
    labels = TRAIN_LABELS["wisdm"]
    seconds = request.share(len(labels))
    day = scene.rng("day", device)
    starts = 10**14 + 600 * 10**9 * day.permutation(len(labels)) + day.integers(0, 10**11)
    rate = 1e9 / float(day.choice(STEPS_NS))
    for letter, label in enumerate(labels):
        rng = scene.rng("clock", device, sensor, label)
        late = 0.0 if sensor == "accel" else rng.uniform(0.05, 0.2)
        times = jittering(rng, rate, seconds, jitter=1e-4, lost=0.003, late_s=late)
        motion = scene.perform(label, PLACES[device], times, seconds, DEVICES[device])
        stamps = int(starts[letter]) + stamped(rng, times, NS, REPEATED)
        yield _Part(letter, stamps, motion.acc if sensor == "accel" else motion.gyro)


def _write(folder: Path, request: Request) -> Iterator[str]:
    raw = folder / "wisdm-dataset" / "raw"
    for scene in scenes(request, "wisdm", SUBJECTS):
        for device in PLACES:
            for sensor in ("accel", "gyro"):
                path = raw / device / sensor / f"data_{scene.subject}_{sensor}_{device}.txt"
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("wb") as file:
                    for part in _parts(scene, request, device, sensor):
                        who = np.full(len(part.ns), int(scene.subject))
                        file.writelines(rows(FORM, who, np.full(len(part.ns), part.letter), part.ns, part.values))
        yield scene.subject


def _plan(request: Request) -> Iterator[Planned]:
    for scene in scenes(request, "wisdm", SUBJECTS):
        both = zip(*(_parts(scene, request, "phone", sensor) for sensor in ("accel", "gyro")), strict=True)
        for accel, gyro in both:
            zero = accel.ns[0]
            series = [Series((part.ns - zero) * NS, part.values) for part in (accel, gyro)]
            yield Planned(scene.subject, TRAIN_LABELS["wisdm"][accel.letter], *series)


DISTRIBUTION = Distribution("wisdm", SUBJECTS, _write, _plan)
