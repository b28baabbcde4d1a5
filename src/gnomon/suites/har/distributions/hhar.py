"""HHAR: ``Activity recognition exp/{Phones,Watch}_{accelerometer,gyroscope}.csv``, phones at the waist, 50 to 200 Hz.

Columns are ``Index, Arrival_Time (ms), Creation_Time (ns), x, y, z, User, Model, Device, gt``. Devices are carried at
once, turned differently, and each samples as fast as its model can. Some stamp nanoseconds since 1970, others since
they were started. A person goes through two scripts; in the files devices follow one another within each. Between
activities ``gt`` is ``null``. One device of each model is written per user, the original has two.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gnomon.core.tallies import Array
from gnomon.suites.har.distributions.base import Distribution, Planned, Request, Scene, Series, scenes
from gnomon.suites.har.distributions.clocks import jittering, stamped
from gnomon.suites.har.distributions.text import SINGLE, WHOLE, WORD, Form, rows
from gnomon.suites.har.simulation import Device

SUBJECTS = tuple("abcdefghi")
LABELS = {
    "stand": "standing",
    "sit": "sitting",
    "walk": "walking",
    "stairsup": "walking_upstairs",
    "stairsdown": "walking_downstairs",
    "bike": "cycling",
}
SCRIPTS = (("stand", "sit", "walk"), ("stairsup", "stairsdown", "bike"))
NULL, NULL_S = "null", 2.0
EPOCH_NS = 1_424_690_000 * 10**9
HEADER = "Index,Arrival_Time,Creation_Time,x,y,z,User,Model,Device,gt\n"
NS = 1e-9
REPEATED = 2e-4


@dataclass(frozen=True)
class Model:
    """A kind of device: rate, place, whether it counts from 1970, the unit of its stamps, and its sensors."""

    name: str
    kind: str
    rate_hz: float
    placement: str
    since_1970: bool
    unit_ns: int
    device: Device

    def unit(self, subject: str) -> str:
        """Return the device of this model that a subject carries."""
        return f"{self.name}_{1 + SUBJECTS.index(subject) % 2}"


def _sensors(noise: float, bias: float) -> Device:
    return Device(noise, 0.1 * noise, bias, 0.1 * bias, 19.61, 17.4)


MODELS = (
    Model("nexus4", "Phones", 200.0, "waist", True, 1, _sensors(0.05, 0.10)),
    Model("s3", "Phones", 150.0, "waist", True, 1, _sensors(0.06, 0.12)),
    Model("s3mini", "Phones", 100.0, "waist", False, 1000, _sensors(0.08, 0.25)),
    Model("samsungold", "Phones", 50.0, "waist", False, 1000, _sensors(0.12, 0.30)),
    Model("gear", "Watch", 100.0, "wrist", False, 1000, _sensors(0.06, 0.12)),
    Model("lgwatch", "Watch", 200.0, "wrist", True, 1, _sensors(0.05, 0.10)),
)
SENSORS = ("accelerometer", "gyroscope")
WORDS = (*SUBJECTS, *(m.name for m in MODELS), *(f"{m.name}_{k}" for m in MODELS for k in (1, 2)), *LABELS, NULL)
FORM = Form((WHOLE,) * 3 + (SINGLE,) * 3 + (WORD,) * 4, words=WORDS)


@dataclass(frozen=True, eq=False)
class _Part:
    """A stretch of one activity on one sensor of a device: stamps, when they arrived, and values."""

    gt: str
    ns: Array
    arrival_ms: Array
    values: Array


def _parts(scene: Scene, request: Request, model: Model, sensor: str, script: int) -> Iterator[_Part]:
    seconds = request.share(len(LABELS))
    begun = EPOCH_NS + (SUBJECTS.index(scene.subject) * 7200 + script * 3600) * 10**9
    phone = scene.rng("device", model.name)
    turn = _turn(phone)
    zero = 0 if model.since_1970 else EPOCH_NS - int(phone.integers(10**13, 10**14))
    rng = scene.rng("clock", model.name, sensor, str(script))
    at = rng.uniform(0, 0.02)
    for gt in (NULL, *(name for activity in SCRIPTS[script] for name in (activity, NULL))):
        lasts = NULL_S if gt == NULL else seconds
        times = jittering(rng, model.rate_hz, lasts, jitter=0.03, lost=0.004)
        label = LABELS.get(gt, "standing")
        trial = f"{script}-{at:.0f}" if gt == NULL else gt
        motion = scene.perform(label, model.placement, times, lasts, model.device, trial)
        values = (motion.acc if sensor == SENSORS[0] else motion.gyro) @ turn
        since = stamped(rng, at + times, model.unit_ns * NS, REPEATED) * model.unit_ns
        delay = np.maximum.accumulate(since + rng.integers(5 * 10**6, 60 * 10**6, len(since)))
        yield _Part(gt, begun - zero + since, (begun + delay) // 10**6, values)
        at += lasts


def _turn(rng: np.random.Generator) -> Array:
    """Return how a device is put in: turned by quarters about its face, and perhaps face down."""
    quarter = np.rint(np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]))
    turn = np.linalg.matrix_power(quarter, int(rng.integers(4)))
    return turn @ np.diag([1.0, -1.0, -1.0]) if rng.random() < 0.5 else turn


def _write(folder: Path, request: Request) -> Iterator[str]:
    top = folder / "Activity recognition exp"
    top.mkdir(parents=True, exist_ok=True)
    number = {word: k for k, word in enumerate(WORDS)}
    with ExitStack() as stack:
        pairs = [(kind, sensor) for kind in ("Phones", "Watch") for sensor in SENSORS]
        files = {pair: stack.enter_context((top / f"{pair[0]}_{pair[1]}.csv").open("wb")) for pair in pairs}
        for file in files.values():
            file.write(HEADER.encode())
        for scene in scenes(request, "hhar", SUBJECTS):
            index = dict.fromkeys([(model.name, sensor) for model in MODELS for sensor in SENSORS], 0)
            for script, model, sensor in [(k, m, s) for k in range(len(SCRIPTS)) for m in MODELS for s in SENSORS]:
                for part in _parts(scene, request, model, sensor, script):
                    first, count = index[model.name, sensor], len(part.ns)
                    index[model.name, sensor] += count
                    names = (scene.subject, model.name, model.unit(scene.subject), part.gt)
                    told = np.tile([number[name] for name in names], (count, 1))
                    columns = (np.arange(first, first + count), part.arrival_ms, part.ns, part.values, told)
                    files[model.kind, sensor].writelines(rows(FORM, *columns))
            yield scene.subject


def _plan(request: Request) -> Iterator[Planned]:
    for scene in scenes(request, "hhar", SUBJECTS):
        for model in (each for each in MODELS if each.kind == "Phones"):
            for script in range(len(SCRIPTS)):
                both = (_parts(scene, request, model, sensor, script) for sensor in SENSORS)
                for acc, gyro in zip(*both, strict=True):
                    if acc.gt != NULL:
                        series = [Series((part.ns - acc.ns[0]) * NS, part.values) for part in (acc, gyro)]
                        yield Planned(scene.subject, LABELS[acc.gt], *series)


DISTRIBUTION = Distribution("hhar", SUBJECTS, _write, _plan)
