"""RealWorld (HAR): ``realworld2016_dataset/proband<n>/data/{acc,gyr,mag}_<activity>_csv.zip``, about 50 Hz.

An archive holds a file for each place (``acc_walking_waist.csv``, ``Gyroscope_walking_waist.csv``,
``MagneticField_walking_waist.csv``) with ``id,attr_time,attr_x,attr_y,attr_z``: milliseconds since 1970, m/s^2, rad/s,
microtesla. As in the original, climbing of probands 4, 7 and 14 is in three parts, each an archive inside the archive;
files of a second attempt have ``_2`` in their names; two places are missing. Probands with such files come early, so
that a few subjects show them.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gnomon.core.tallies import Array
from gnomon.suites.har.distributions.base import LEAST_S, Distribution, Planned, Request, Scene, Series, scenes
from gnomon.suites.har.distributions.clocks import jittering, stamped
from gnomon.suites.har.distributions.text import SINGLE, WHOLE, Form, joined
from gnomon.suites.har.simulation import Device

HZ = 50.0
PLACES = {
    "chest": "chest",
    "forearm": "right_arm",
    "head": "head",
    "shin": "shin",
    "thigh": "right_leg",
    "upperarm": "upper_arm",
    "waist": "waist",
}
LABELS = {
    "climbingdown": "stairs_down",
    "climbingup": "stairs_up",
    "jumping": "jumping",
    "lying": "lying",
    "running": "running",
    "sitting": "sitting",
    "standing": "standing",
    "walking": "walking",
}
SENSORS = {"acc": "acc", "gyr": "Gyroscope", "mag": "MagneticField"}
"""Sensor -> how its files are called."""
PARTED, PARTS = frozenset({"proband4", "proband7", "proband14"}), 3
"""Who climbed in parts, and how many these are."""
AGAIN = frozenset(
    {
        ("proband4", "walking"),
        ("proband6", "sitting"),
        ("proband7", "sitting"),
        ("proband8", "standing"),
        ("proband13", "walking"),
    }
)
"""Recordings of which only a second attempt is there."""
MISSING = frozenset({("proband2", "climbingup", "forearm"), ("proband6", "jumping", "thigh")})
SUBJECTS = tuple(f"proband{k}" for k in (1, 4, 6, 2, 3, 5, *range(7, 16)))
DEVICE = Device(acc_noise=0.03, gyro_noise=0.004, acc_bias=0.1, gyro_bias=0.01, acc_range=39.2, gyro_range=17.4)
EPOCH_S = 1_436_900_000
MS = 1e-3
FORM = Form((WHOLE, WHOLE, *[SINGLE] * 3))
HEADER = "id,attr_time,attr_x,attr_y,attr_z\n"
_DATE = (2016, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class _Part:
    """One recording: an activity, and which part of it (0 where it is the only one)."""

    activity: str
    part: int
    seconds: float

    def infix(self, subject: str) -> str:
        """Return what the names of its files have for the activity."""
        number = 2 if (subject, self.activity) in AGAIN else self.part
        return f"{self.activity}_{number}" if number > 1 else self.activity


def _activities(scene: Scene, request: Request) -> Iterator[tuple[str, list[_Part]]]:
    for activity in LABELS:
        seconds = request.share(len(LABELS))
        if activity.startswith("climbing") and scene.subject in PARTED:
            lasts = max(LEAST_S, seconds / PARTS)
            yield activity, [_Part(activity, number, lasts) for number in range(1, PARTS + 1)]
        else:
            yield activity, [_Part(activity, 0, seconds)]


def _sensors(scene: Scene, part: _Part, place: str) -> dict[str, tuple[Array, Array]]:
    """Return milliseconds since 1970 and values of each sensor; gyroscope and magnetometer share a clock."""
    name = f"{part.activity}-{part.part}"
    begun = EPOCH_S + 3600 * list(LABELS).index(part.activity) + 1000 * part.part
    found: dict[str, tuple[Array, Array]] = {}
    for clock, sensors in (("acc", ("acc",)), ("gyr", ("gyr", "mag"))):
        rng = scene.rng("clock", name, place, clock)
        times = jittering(rng, HZ, part.seconds, jitter=0.05, lost=0.004, late_s=rng.uniform(0, 0.05))
        motion = scene.perform(LABELS[part.activity], PLACES[place], times, part.seconds, DEVICE, name)
        stamps = begun * 1000 + stamped(rng, times, MS, 2e-4)
        values = {"acc": motion.acc, "gyr": motion.gyro, "mag": motion.magnetic}
        found |= {sensor: (stamps, values[sensor]) for sensor in sensors}
    return found


def _archive(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(name, _DATE)
            info.compress_type = zipfile.ZIP_STORED if name.endswith(".zip") else zipfile.ZIP_DEFLATED
            archive.writestr(info, data, compresslevel=1)
    return file.getvalue()


def _files(scene: Scene, part: _Part) -> dict[str, dict[str, bytes]]:
    """Return the files of a recording by sensor and name."""
    found: dict[str, dict[str, bytes]] = {sensor: {} for sensor in SENSORS}
    for place in PLACES:
        if (scene.subject, part.activity, place) in MISSING:
            continue
        for sensor, (stamps, values) in _sensors(scene, part, place).items():
            name = f"{SENSORS[sensor]}_{part.infix(scene.subject)}_{place}.csv"
            found[sensor][name] = joined(FORM, np.arange(1, len(stamps) + 1), stamps, values, header=HEADER)
    return found


def _write(folder: Path, request: Request) -> Iterator[str]:
    for scene in scenes(request, "realworld", SUBJECTS):
        data = folder / "realworld2016_dataset" / scene.subject / "data"
        data.mkdir(parents=True, exist_ok=True)
        for activity, parts in _activities(scene, request):
            made = [_files(scene, part) for part in parts]
            for sensor in SENSORS:
                members = [each[sensor] for each in made]
                whole = members[0] if len(parts) == 1 else _nested(sensor, activity, members)
                (data / f"{sensor}_{activity}_csv.zip").write_bytes(_archive(whole))
        yield scene.subject


def _nested(sensor: str, activity: str, parts: list[dict[str, bytes]]) -> dict[str, bytes]:
    """Return archives of parts by name: the first has a number for the accelerometer alone."""
    names = [f"{activity}_{number}" for number in range(1, len(parts) + 1)]
    names[0] = names[0] if sensor == "acc" else activity
    return {f"{sensor}_{name}_csv.zip": _archive(part) for name, part in zip(names, parts, strict=True)}


def _plan(request: Request) -> Iterator[Planned]:
    for scene in scenes(request, "realworld", SUBJECTS):
        for activity, parts in _activities(scene, request):
            for part in parts:
                made = _sensors(scene, part, "waist")
                series = [Series((made[s][0] - made["acc"][0][0]) * MS, made[s][1]) for s in ("acc", "gyr")]
                yield Planned(scene.subject, LABELS[activity], *series)


DISTRIBUTION = Distribution("realworld", SUBJECTS, _write, _plan)
