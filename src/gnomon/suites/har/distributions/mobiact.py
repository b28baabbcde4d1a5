"""MobiAct and MobiFall: a phone in a trouser pocket, acceleration at about 82 Hz, the rest at 200 Hz.

Three layouts (:data:`LAYOUTS`): MobiAct 1 ``<CODE>/<CODE>_{acc,gyro,ori}_<subject>_<trial>.txt``, MobiFall
``sub<n>/{ADL,FALLS}/<CODE>/`` with files of the same names, and the annotated tables of MobiAct 2
``Annotated Data/<CODE>/<CODE>_<subject>_<trial>_annotated.csv``, at 200 Hz, in which rows before and after an event
have other labels. A text file begins with lines of ``#``, two empty lines and ``@DATA``; its lines are ``ns, x, y, z``,
in whole microseconds. The sensors have stamps of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from gnomon.core.tallies import Array
from gnomon.suites.har.distributions.base import Distribution, Planned, Request, Scene, Series, scenes
from gnomon.suites.har.distributions.clocks import jittering, stamped, steady
from gnomon.suites.har.distributions.text import SINGLE, WHOLE, WORD, Form, fixed, write
from gnomon.suites.har.simulation import Device, Motion

ACC_HZ, GYRO_HZ = 82.0, 200.0
LAYOUTS = ("mobiact", "mobifall", "annotated")


@dataclass(frozen=True)
class Activity:
    """An activity of the dataset: its number and name in files, its label, seconds in the original, what follows."""

    number: int
    name: str
    label: str
    seconds: str
    shortest: float = 0.0
    longest: float = 0.0
    after: str = ""

    @property
    def single(self) -> bool:
        """Whether it happens once in a short recording."""
        return self.longest > 0


ACTIVITIES = {
    "STD": Activity(1, "Standing", "standing", "5m"),
    "WAL": Activity(2, "Walking", "walking", "5m"),
    "JOG": Activity(3, "Jogging", "jogging", "30s"),
    "JUM": Activity(4, "Jumping", "jumping", "30s"),
    "STU": Activity(5, "Stairs up", "stairs_up", "10s"),
    "STN": Activity(6, "Stairs down", "stairs_down", "10s"),
    "SCH": Activity(7, "Sit chair", "sitting_chair", "6s", 5.5, 7.5, "SIT"),
    "CSI": Activity(8, "Car step in", "car_step_in", "6s", 5.5, 7.5, "SIT"),
    "CSO": Activity(9, "Car step out", "car_step_out", "6s", 5.5, 7.5, "STD"),
    "FOL": Activity(10, "Forward lying", "fall_forward", "10s", 4.0, 9.0, "LYI"),
    "FKL": Activity(11, "Front knees lying", "fall_backward_knees", "10s", 4.0, 9.0, "LYI"),
    "BSC": Activity(12, "Back sitting chair", "fall_backward_sitting", "10s", 4.0, 9.0, "LYI"),
    "SDL": Activity(13, "Sideward lying", "fall_sideways", "10s", 4.0, 9.0, "LYI"),
}
AROUND = {"STD": "standing", "SIT": "sitting", "LYI": "lying"}
"""What is done before and after an event in annotated tables."""
AROUND_S = 2.0
FALLS = frozenset({"FOL", "FKL", "BSC", "SDL"})
SUBJECTS = tuple(f"sub{k}" for k in range(1, 58))
PEOPLE = {
    "mobiact": SUBJECTS,
    "mobifall": tuple(f"sub{k}" for k in (*range(1, 22), *range(29, 32))),
    "annotated": tuple(f"sub{k}" for k in range(1, 67)),
}
"""People of each layout; of the last one's 67 numbers one is unused, here the last."""
DEVICE = Device(acc_noise=0.03, gyro_noise=0.004, acc_bias=0.1, gyro_bias=0.01, acc_range=19.61, gyro_range=8.73)
HEADS = {
    "acc": "#Acceleration force along the x y z axes (including gravity).\n#timestamp(ns),x,y,z(m/s^2)\n",
    "gyro": "#Rate of rotation around the x y z axes (Angular velocity).\n#timestamp(ns),x,y,z(rad/s)\n",
    "ori": "#Angle around the z x y axes.\n#timestamp(ns), Azimuth , Pitch, Roll(degrees)\n",
}
LINE = "#" * 42 + "\n"
FORM = Form((WHOLE, *[SINGLE] * 3), separator=", ")
COLUMNS = "timestamp,rel_time,acc_x,acc_y,acc_z,gyro_x,gyro_y,gyro_z,azimuth,pitch,roll,label\n"
WORDS = tuple(dict.fromkeys([*ACTIVITIES, *AROUND]))
TABLE = Form((WHOLE, fixed(9), *[SINGLE] * 9, WORD), words=WORDS)
US = 1e-6


@dataclass(frozen=True)
class _Take:
    code: str
    trial: int
    seconds: float

    @property
    def name(self) -> str:
        return f"{self.code}-{self.trial}"


def _takes(scene: Scene, request: Request) -> Iterator[_Take]:
    for code, activity in ACTIVITIES.items():
        middle = (activity.shortest + activity.longest) / 2
        count = request.trials(len(ACTIVITIES), middle) if activity.single else 1
        for trial in range(1, count + 1):
            drawn = scene.rng("length", code, str(trial)).uniform(activity.shortest, activity.longest)
            yield _Take(code, trial, round(drawn, 2) if activity.single else request.share(len(ACTIVITIES)))


def _motion(scene: Scene, take: _Take, times: Array) -> Motion:
    return scene.perform(ACTIVITIES[take.code].label, "pocket", times, take.seconds, DEVICE, take.name)


def _sensors(scene: Scene, take: _Take) -> dict[str, tuple[Array, Array]]:
    """Return nanoseconds and values of each sensor."""
    started = int(scene.rng("started", take.name).integers(10**9, 4 * 10**9))  # microseconds since the phone was
    found = {}
    for sensor, rate, jitter, lost in (("acc", ACC_HZ, 0.08, 0.02), ("gyro", GYRO_HZ, 0.02, 0.004)):
        rng = scene.rng("clock", take.name, sensor)
        times = jittering(rng, rate, take.seconds, jitter=jitter, lost=lost, late_s=rng.uniform(0, 0.03))
        motion = _motion(scene, take, times)
        ns = (started + stamped(rng, times, US, 2e-4)) * 1000
        found[sensor] = (ns, motion.acc if sensor == "acc" else motion.gyro)
        if sensor == "gyro":
            found["ori"] = (ns, _angles(motion))
    return found


def _angles(motion: Motion) -> Array:
    """Return azimuth (0 to 360), pitch and roll in degrees."""
    roll, pitch, yaw = np.degrees(motion.attitude).T
    return np.stack([yaw % 360, pitch, roll], axis=1)


def _number(scene: Scene) -> str:
    return scene.subject.removeprefix("sub")


def _about(scene: Scene, take: _Take) -> str:
    """Return the lines about recording and subject at the head of a file."""
    activity, who, rng = ACTIVITIES[take.code], scene.subject, scene.rng("about")
    age, weight, gender = int(rng.integers(20, 40)), int(rng.integers(50, 100)), str(rng.choice(["Male", "Female"]))
    minute = 60 * activity.number + take.trial
    return (
        f"#Datetime: 05/07/2013 {9 + minute // 3600:02d}:{minute // 60 % 60:02d}:{minute % 60:02d}\n{LINE}"
        f"#Activity: {activity.number} - {take.code} - {activity.name} - {activity.seconds}\n"
        f"#Subject ID: {_number(scene)}\n#First Name: {who}\n#Last Name: {who}\n#Age: {age}\n"
        f"#Height(cm): {scene.who.height * 100:.0f}\n#Weight(kg): {weight}\n#Gender: {gender}\n{LINE}\n\n@DATA\n"
    )


def write_as(layout: str, folder: Path, request: Request) -> Iterator[str]:
    """Write one of :data:`LAYOUTS`."""
    for scene in scenes(request, "mobiact", PEOPLE[layout]):
        for take in _takes(scene, request):
            if layout == "annotated":
                _write_table(folder / "MobiAct_Dataset_v2.0" / "Annotated Data", scene, take)
                continue
            kind = "FALLS" if take.code in FALLS else "ADL"
            fall = folder / "MobiFall_Dataset_v2.0" / scene.subject / kind
            where = (fall if layout == "mobifall" else folder / "MobiAct_Dataset") / take.code
            for sensor, (ns, values) in _sensors(scene, take).items():
                path = where / f"{take.code}_{sensor}_{_number(scene)}_{take.trial}.txt"
                write(path, FORM, ns, values, header=HEADS[sensor] + _about(scene, take))
        yield scene.subject


def _write_table(folder: Path, scene: Scene, take: _Take) -> None:
    """Write an annotated table: an event has something before and after it."""
    parts = [(take.code, _motion(scene, take, steady(GYRO_HZ, take.seconds)))]
    if ACTIVITIES[take.code].single:
        times = steady(GYRO_HZ, AROUND_S)
        before, after = (
            (code, scene.perform(AROUND[code], "pocket", times, AROUND_S, DEVICE, f"{take.name}-{when}"))
            for when, code in (("before", "STD"), ("after", ACTIVITIES[take.code].after))
        )
        parts = [before, *parts, after]
    codes = np.concatenate([np.full(len(motion.acc), WORDS.index(code)) for code, motion in parts])
    columns = [
        np.concatenate([values(motion) for _, motion in parts])
        for values in (lambda m: m.acc, lambda m: m.gyro, _angles)
    ]
    past = np.arange(len(codes)) / GYRO_HZ
    ns = int(scene.rng("started", take.name).integers(10**12, 4 * 10**12)) + np.rint(past * 1e9).astype(np.int64)
    path = folder / take.code / f"{take.code}_{_number(scene)}_{take.trial}_annotated.csv"
    write(path, TABLE, ns, past, *columns, codes, header=COLUMNS)


def plan_as(layout: str, request: Request) -> Iterator[Planned]:
    """Give what :func:`write_as` writes."""
    for scene in scenes(request, "mobiact", PEOPLE[layout]):
        for take in _takes(scene, request):
            label = ACTIVITIES[take.code].label
            if layout == "annotated":
                times = steady(GYRO_HZ, take.seconds)
                motion = _motion(scene, take, times)
                yield Planned(scene.subject, label, Series(times, motion.acc), Series(times, motion.gyro))
            else:
                made = _sensors(scene, take)
                series = [Series((made[s][0] - made["acc"][0][0]) * 1e-9, made[s][1]) for s in ("acc", "gyro")]
                yield Planned(scene.subject, label, *series)


DISTRIBUTION = Distribution("mobiact", SUBJECTS, partial(write_as, "mobiact"), partial(plan_as, "mobiact"))
