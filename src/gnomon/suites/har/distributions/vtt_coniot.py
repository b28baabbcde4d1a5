"""VTT-ConIoT: ``VTT_ConIot_Dataset/VTT-ConIot-IMU-Data/activity_<a>_user_<u>_combined.csv``, about 100 Hz.

Columns are a time stamp in ms and, of hip (``trousers``), back and upper arm (``hand``), acceleration in g, angular
rate in deg/s and magnetic field in microtesla. Sensors come in one order for some users and in another for others.
Numbers of activities are in the published order. How the original writes time is not documented.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gnomon.core.tallies import Array
from gnomon.suites.har.datasets.units import G
from gnomon.suites.har.distributions.base import Distribution, Planned, Request, Scene, Series, scenes
from gnomon.suites.har.distributions.clocks import jittering
from gnomon.suites.har.distributions.text import Form, fixed, write
from gnomon.suites.har.simulation import Device, Motion

HZ = 98.5
LABELS = (
    "roll_painting",
    "spraying_paint",
    "leveling_paint",
    "pushing_cart",
    "walking_straight",
    "walking_winding",
    "standing_work",
    "kneeling_work",
    "laying_back",
    "lifting",
    "carrying",
    "raising_hands",
    "sitting",
    "jumping_down",
    "climbing_ladder",
    "stairs",
)
"""Of activities 1 to 16."""
PLACES = {"trousers": "hip", "back": "back", "hand": "upper_arm"}
ORDERS = (("trousers", "back", "hand"), ("hand", "back", "trousers"))
SUBJECTS = tuple(f"user_{k}" for k in range(1, 14))
EPOCH_MS = 1_590_000_000_000.0
DEVICE = Device(acc_noise=0.03, gyro_noise=0.003, acc_bias=0.1, gyro_bias=0.01, acc_range=78.4, gyro_range=34.9)
PARTS = ("Ax_g", "Ay_g", "Az_g", "Gx_dps", "Gy_dps", "Gz_dps", "Mx_uT", "My_uT", "Mz_uT")
FORM = Form((fixed(3), *[fixed(6)] * 27))


@dataclass(frozen=True, eq=False)
class _Take:
    number: int
    times: Array
    motions: dict[str, Motion]


def _takes(scene: Scene, request: Request) -> Iterator[_Take]:
    seconds = request.share(len(LABELS))
    for number, label in enumerate(LABELS, start=1):
        times = jittering(scene.rng("clock", label), HZ, seconds, jitter=0.02, lost=0.003)
        motions = {name: scene.perform(label, place, times, seconds, DEVICE) for name, place in PLACES.items()}
        yield _Take(number, times, motions)


def _write(folder: Path, request: Request) -> Iterator[str]:
    where = folder / "VTT_ConIot_Dataset" / "VTT-ConIot-IMU-Data"
    for scene in scenes(request, "vtt_coniot", SUBJECTS):
        user = SUBJECTS.index(scene.subject) + 1
        order = ORDERS[(user - 1) % len(ORDERS)]
        header = ",".join(["timestamp", *(f"{name}_{part}" for name in order for part in PARTS)]) + "\n"
        for take in _takes(scene, request):
            columns = [
                values
                for name in order
                for motion in [take.motions[name]]
                for values in (motion.acc / G, np.degrees(motion.gyro), motion.magnetic)
            ]
            path = where / f"activity_{take.number}_{scene.subject}_combined.csv"
            begun = EPOCH_MS + 3_600_000 * user + 120_000 * take.number
            write(path, FORM, begun + take.times * 1000, *columns, header=header)
        yield scene.subject


def _plan(request: Request) -> Iterator[Planned]:
    for scene in scenes(request, "vtt_coniot", SUBJECTS):
        for take in _takes(scene, request):
            hip = take.motions["trousers"]
            acc, gyro = Series(take.times, hip.acc), Series(take.times, hip.gyro)
            yield Planned(scene.subject, LABELS[take.number - 1], acc, gyro)


DISTRIBUTION = Distribution("vtt_coniot", SUBJECTS, _write, _plan)
