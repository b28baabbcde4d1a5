"""PAMAP2: ``PAMAP2_Dataset/{Protocol,Optional}/subject10N.dat``, three units (hand, chest, ankle), 100 Hz.

54 columns between blanks: time, activity, heart rate (NaN in most rows, since it has 9 Hz), then of each unit
temperature, acceleration within 16 g and within 6 g, angular rate, magnetic field and an orientation that is invalid.
A unit whose packets were lost has NaN in all its columns. Between activities the activity is 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gnomon.core.tallies import Array
from gnomon.suites.har.datasets.units import G
from gnomon.suites.har.distributions.base import Distribution, Planned, Request, Scene, Series, scenes
from gnomon.suites.har.distributions.logs import Stretch, Stretched, played, saturated, schedule
from gnomon.suites.har.distributions.text import WHOLE, Form, general, write
from gnomon.suites.har.simulation import Device

HZ = 100.0
UNITS = ("hand", "chest", "ankle")
SUBJECTS = tuple(f"{k}" for k in range(101, 110))
PROTOCOL = (
    (1, "lying"),
    (2, "sitting"),
    (3, "standing"),
    (17, "ironing"),
    (16, "vacuum_cleaning"),
    (12, "ascending_stairs"),
    (13, "descending_stairs"),
    (4, "walking"),
    (7, "nordic_walking"),
    (6, "cycling"),
    (5, "running"),
    (24, "rope_jumping"),
)
"""Codes in the order of the protocol."""
OPTIONAL = ((9, "sitting"), (10, "typing"), (11, "sitting"), (18, "folding_clothes"), (19, "vacuum_cleaning"))
"""Watching TV, computer work, driving, folding laundry and cleaning, done as what is nearest to them."""
VOLUNTEERS = frozenset({"101", "105", "106", "108", "109"})
"""Subjects with optional activities."""
BETWEEN, BETWEEN_S = ("standing", "walking"), 3.0
DEVICE = Device(acc_noise=0.03, gyro_noise=0.006, acc_bias=0.1, gyro_bias=0.01, acc_range=157.0, gyro_range=26.2)
WIDTH = 17
"""Columns of a unit."""
RUNS_PER_S, LONGEST_ROWS, LONG_ROWS, LONG_SHARE = 0.15, 6, 40, 0.1
"""Losses a second, their rows at most, rows of a long one, and the share of stretches that have one."""
FORM = Form((general(8), WHOLE, *[general(6)] * 52), separator=" ")


@dataclass(frozen=True, eq=False)
class _Part:
    """A stretch: its rows of the three units ``(n, 51)`` with NaN where packets were lost."""

    stretch: Stretch
    values: Array


def _parts(scene: Scene, request: Request, folder: str) -> Iterator[_Part]:
    codes = PROTOCOL if folder == "Protocol" else OPTIONAL
    stretches = schedule(codes, request.share(len(PROTOCOL)), BETWEEN, BETWEEN_S, folder)
    rng = scene.rng("units", folder)
    for made in played(scene, stretches, UNITS, HZ, DEVICE):
        yield _Part(made.stretch, np.concatenate([_unit(made, unit, rng) for unit in UNITS], axis=1))


def _unit(made: Stretched, unit: str, rng: np.random.Generator) -> Array:
    """Return the columns of a unit: temperature, acceleration twice, angular rate, field, orientation."""
    motion, count = made.motions[unit], made.count
    warm = np.full((count, 1), 30 + rng.normal(0, 1.5)).round(4)
    again = saturated(motion.acc + rng.normal(0, 0.05, (count, 3)), 6 * G)
    invalid = np.tile([1.0, 0.0, 0.0, 0.0], (count, 1))
    values = np.concatenate([warm, motion.acc, again, motion.gyro, motion.magnetic, invalid], axis=1)
    for first in rng.integers(0, count, rng.poisson(RUNS_PER_S * count / HZ)):
        values[first : first + rng.integers(1, LONGEST_ROWS + 1)] = np.nan
    if rng.random() < LONG_SHARE:
        first = int(rng.integers(0, round(HZ)))
        values[first : first + LONG_ROWS] = np.nan
    return values


def _write(folder: Path, request: Request) -> Iterator[str]:
    for scene in scenes(request, "pamap2", SUBJECTS):
        for kind in ("Protocol", "Optional") if scene.subject in VOLUNTEERS else ("Protocol",):
            parts = list(_parts(scene, request, kind))
            rng = scene.rng("heart", kind)
            codes = np.concatenate([np.full(len(part.values), part.stretch.code) for part in parts])
            heart = np.full(len(codes), np.nan)
            heart[::11] = np.clip(np.cumsum(rng.choice([-1, 0, 1], len(heart[::11]))) + 95, 60, 190)
            times = rng.integers(500, 6000) / HZ + np.arange(len(codes)) / HZ
            path = folder / "PAMAP2_Dataset" / kind / f"subject{scene.subject}.dat"
            write(path, FORM, times.round(2), codes, heart, np.concatenate([part.values for part in parts]))
        yield scene.subject


def _plan(request: Request) -> Iterator[Planned]:
    labels = dict(PROTOCOL)
    for scene in scenes(request, "pamap2", SUBJECTS):
        for part in _parts(scene, request, "Protocol"):
            if part.stretch.code:
                times = np.arange(len(part.values)) / HZ
                acc, gyro = Series(times, part.values[:, 1:4]), Series(times, part.values[:, 7:10])
                yield Planned(scene.subject, labels[part.stretch.code], acc, gyro)


DISTRIBUTION = Distribution("pamap2", SUBJECTS, _write, _plan)
