"""People as the simulation knows them: body, habits, and the device that they carry."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnomon.core.seeds import generator
from gnomon.simulation.body import draw_height
from gnomon.simulation.gait import WALKING_SPEED

PLACEMENTS = ("pocket", "wrist", "bag")
CITIES = (("Berlin", 52.520, 13.405, 2), ("Porto", 41.150, -8.610, 1), ("Boston", 42.360, -71.060, -4))
"""Name, latitude, longitude, hours from UTC in summer."""


@dataclass(frozen=True)
class Device:
    """An accelerometer: the step of its digits and its white noise, in m/s^2."""

    name: str
    resolution: float
    noise: float


PHONES = (Device("phone-a", 0.0383, 0.03), Device("phone-b", 0.0024, 0.012))
WATCH = Device("watch-a", 0.0096, 0.02)


@dataclass(frozen=True)
class Person:
    """One simulated person.

    Attributes
    ----------
    height, speed
        In m and m/s; the speed is the preferred one.
    vigour
        How hard the feet are set down, as a factor; that of most people is between 0.7 and 1.4.
    limp
        How much weaker the steps of one foot are, as a share.
    city
        Index in :data:`CITIES`.
    """

    id: str
    age: int
    height: float
    speed: float
    vigour: float
    limp: float
    placement: str
    device: Device
    city: int


def person(index: int, seed: int) -> Person:
    """Draw a person; placements and cities take turns, so that few people already have them all.

    The preferred speed falls by 0.015 m/s per year after 60, as norms of gait have it (Bohannon, 1997).
    """
    rng = generator(seed, "events", "person", str(index))
    age = int(rng.integers(18, 86))
    height = round(draw_height(rng), 2)
    speed = rng.normal(WALKING_SPEED, 0.14) - 0.015 * max(0, age - 60)
    placement = PLACEMENTS[index % len(PLACEMENTS)]
    return Person(
        id=f"s{index + 1:02d}",
        age=age,
        height=height,
        speed=float(np.clip(speed, 0.6, 1.8)),
        vigour=float(np.exp(rng.normal(0, 0.22))),
        limp=float(rng.uniform(0, 0.2)),
        placement=placement,
        device=WATCH if placement == "wrist" else PHONES[int(rng.integers(len(PHONES)))],
        city=(index // len(PLACEMENTS)) % len(CITIES),
    )
