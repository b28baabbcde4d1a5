"""RecGym: one file, ``RecGym.csv``, a board at wrist, pocket and leg, up to five sessions per subject, 20 Hz.

Columns are ``Subject, Position, Session, A_x, A_y, A_z, G_x, G_y, G_z, C_1, Workout``; rows of one subject, position
and session follow one another, and workouts are parted by ``Null``. Values have no unit: acceleration without gravity
and angular rate in the steps of the sensor (0.01 m/s^2, 1/16 deg/s) as parts of a range of 80 m/s^2 and 1600 deg/s,
from 0 to 1 with rest at 0.5. ``C_1`` is the body's capacitance, likewise. The authors state no units: these follow from
the steps of the published values.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from gnomon.core.tallies import Array
from gnomon.suites.har.distributions.base import LEAST_S, Distribution, Planned, Request, Scene, Series, scenes
from gnomon.suites.har.distributions.logs import Stretched, played, saturated, schedule
from gnomon.suites.har.distributions.text import WHOLE, WORD, Form, fixed, rows
from gnomon.suites.har.simulation import Device, Motion

HZ = 20.0
POSITIONS = {"wrist": "wrist", "pocket": "pocket", "leg": "shin"}
SUBJECTS = tuple(str(k) for k in range(1, 11))
SESSIONS = 5
WORKOUTS = (
    ("Adductor", "adductor_machine"),
    ("ArmCurl", "arm_curl"),
    ("BenchPress", "bench_press"),
    ("LegCurl", "leg_curl"),
    ("LegPress", "leg_press"),
    ("Riding", "cycling"),
    ("RopeSkipping", "rope_skipping"),
    ("Running", "running"),
    ("Squat", "squat"),
    ("StairsClimber", "stairclimber"),
    ("Walking", "walking"),
)
CODES = tuple((code, label) for code, (_, label) in enumerate(WORKOUTS, start=1))
BETWEEN, BETWEEN_S = ("standing", "walking", "sitting"), 2.0
ACC_STEP, GYRO_STEP = 0.01, np.pi / 180 / 16
"""Steps of the sensor in m/s^2 and rad/s."""
ACC_RANGE, GYRO_RANGE = 80.0, 1600 * np.pi / 180
"""What 1 is, from 0 on."""
DEVICE = Device(acc_noise=0.04, gyro_noise=0.004, acc_bias=0.05, gyro_bias=0.005, acc_range=39.2, gyro_range=13.9)
WORDS = (*POSITIONS, "Null", *(name for name, _ in WORKOUTS))
FORM = Form((WHOLE, WORD, WHOLE, *[fixed(10)] * 7, WORD), words=WORDS)
HEADER = b"Subject,Position,Session,A_x,A_y,A_z,G_x,G_y,G_z,C_1,Workout\n"


def _sessions(request: Request) -> int:
    return min(SESSIONS, max(1, int(60 * request.minutes / (len(WORKOUTS) * (LEAST_S + BETWEEN_S)))))


def _parts(scene: Scene, request: Request, position: str, session: int) -> Iterator[Stretched]:
    seconds = max(LEAST_S, 60 * request.minutes / _sessions(request) / len(WORKOUTS) - BETWEEN_S)
    order = scene.rng("order", str(session)).permutation(len(CODES))
    stretches = schedule([CODES[k] for k in order], round(seconds, 2), BETWEEN, BETWEEN_S, str(session))
    return played(scene, stretches, (POSITIONS[position],), HZ, DEVICE)


def _stepped(motion: Motion) -> tuple[Array, Array]:
    """Return acceleration without gravity and angular rate in the steps of the sensor."""
    pushed = saturated(motion.acc - motion.gravity, 0.499 * ACC_RANGE)
    return np.rint(pushed / ACC_STEP) * ACC_STEP, np.rint(motion.gyro / GYRO_STEP) * GYRO_STEP


def _write(folder: Path, request: Request) -> Iterator[str]:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "RecGym.csv").open("wb") as file:
        file.write(HEADER)
        for scene in scenes(request, "recgym", SUBJECTS):
            for place, position in enumerate(POSITIONS):
                rng = scene.rng("capacitance", position)
                for session in range(1, _sessions(request) + 1):
                    for part in _parts(scene, request, position, session):
                        pushed, turned = _stepped(part.motions[POSITIONS[position]])
                        charge = 0.5 + 0.02 * np.cumsum(rng.normal(0, 0.1, part.count)).clip(-5, 5)
                        values = (pushed / ACC_RANGE + 0.5, turned / GYRO_RANGE + 0.5, charge)
                        told = [np.full(part.count, int(number)) for number in (scene.subject, place, session)]
                        what = np.full(part.count, len(POSITIONS) + part.stretch.code)
                        file.writelines(rows(FORM, *told, *values, what))
            yield scene.subject


def _plan(request: Request) -> Iterator[Planned]:
    for scene in scenes(request, "recgym", SUBJECTS):
        for session in range(1, _sessions(request) + 1):
            for part in _parts(scene, request, "wrist", session):
                if part.stretch.code:
                    times = np.arange(part.count) / HZ
                    series = [Series(times, values) for values in _stepped(part.motions["wrist"])]
                    yield Planned(scene.subject, part.stretch.activity, *series)


DISTRIBUTION = Distribution("recgym", SUBJECTS, _write, _plan)
