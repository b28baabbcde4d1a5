"""One long recording of many activities, several sensors at once: what PAMAP2, MHEALTH and RecGym are made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gnomon.core.tallies import Array
from gnomon.suites.har.distributions.base import Scene
from gnomon.suites.har.simulation import Device, Motion


@dataclass(frozen=True)
class Stretch:
    """An activity for a while: its native code, what is done, how long, and the name of this time."""

    code: int
    activity: str
    seconds: float
    trial: str


@dataclass(frozen=True, eq=False)
class Stretched:
    """A stretch as the sensors have it, by placement."""

    stretch: Stretch
    motions: Mapping[str, Motion]

    @property
    def count(self) -> int:
        """Rows."""
        return len(next(iter(self.motions.values())).acc)


def schedule(
    codes: Sequence[tuple[int, str]], seconds: float, between: Sequence[str], between_s: float, trial: str
) -> Iterator[Stretch]:
    """Yield activities with something of code 0 before, between and after them, in turn one of ``between``."""
    for place, (code, activity) in enumerate(codes):
        yield Stretch(0, between[place % len(between)], between_s, f"{trial}-{place}")
        yield Stretch(code, activity, seconds, f"{trial}-{code}")
    yield Stretch(0, between[len(codes) % len(between)], between_s, f"{trial}-{len(codes)}")


def played(
    scene: Scene, stretches: Iterator[Stretch], placements: Sequence[str], rate_hz: float, device: Device
) -> Iterator[Stretched]:
    """Yield stretches as sensors at some placements have them, at a steady rate."""
    for stretch in stretches:
        times = np.arange(round(rate_hz * stretch.seconds)) / rate_hz
        motions = {
            place: scene.perform(stretch.activity, place, times, stretch.seconds, device, stretch.trial)
            for place in placements
        }
        yield Stretched(stretch, motions)


def saturated(values: Array, limit: float) -> Array:
    """Return values within a range."""
    return np.clip(values, -limit, limit)
