"""Whether acceleration is in m/s^2 and angular rate in rad/s.

Acceleration is seen from people at rest: then it is gravity, or nothing where that was removed. Angular rate is seen
from people who walk, run or climb: a worn sensor turns by about 0.3 to 5 rad/s then (the median over time), which in
degrees is 57 times as much.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import numpy as np

from gnomon.audit.quantities import scales
from gnomon.core.evidence import Finding
from gnomon.suites.har.recordings import Manifest, Recording
from gnomon.suites.har.vocabulary import group_of

G = 9.80665
"""Standard gravity in m/s^2, by which values in g are multiplied."""
REST = frozenset({"sitting", "standing", "lying"})
"""Groups of labels in which people rest."""
NEAR = 0.1
"""How far the resting length may be from gravity, as a share of it."""
STILL_MS2 = 1.0
"""What may be left of the resting length where gravity was removed."""
RATE_SLACK, RATES_APART = 0.005, 1.1
"""How far a measured rate may be from the stated one, and rates of recordings from one another."""
MOVING = frozenset({"walking", "running", "jumping", "ascending_stairs", "descending_stairs", "stairs"})
"""Groups of labels in which people move all of their body."""
TURNING_RAD_S = (0.02, 15.0)
"""Between what the median angular rate of moving people is."""


def resting(recordings: Iterable[Recording]) -> dict[str, float]:
    """Return the median length of the acceleration of each resting recording that has acceleration, by its id."""
    return {
        recording.id: float(np.median(np.linalg.norm(recording.signals[:, :3].astype(np.float64), axis=1)))
        for recording in recordings
        if group_of(recording.label) in REST and recording.mask[:3].all() and len(recording.times)
    }


def turning(recordings: Iterable[Recording]) -> dict[str, float]:
    """Return the median angular rate of each recording of moving people that has a gyroscope, by its id."""
    return {
        recording.id: float(np.median(np.linalg.norm(recording.signals[:, 3:].astype(np.float64), axis=1)))
        for recording in recordings
        if group_of(recording.label) in MOVING and recording.mask[3:].all() and len(recording.times)
    }


def judge_turning(dataset: str, rates: Mapping[str, float]) -> tuple[Finding, ...]:
    """Judge angular rates by recording; nothing is found where nobody moves."""
    middle = float(np.median(list(rates.values()))) if rates else 1.0
    low, high = TURNING_RAD_S
    if low <= middle <= high:
        return ()
    guess = "be in deg/s" if middle > high else "have been converted from deg/s though it was in rad/s"
    text = f"{dataset}: moving people turn by {middle:.3g} rad/s, expected {low:g} to {high:g}; it may {guess}"
    remedy = "convert it to rad/s when files are read"
    return (Finding("turning-rate", "error", f"units of {dataset}", text, remedy),)


def check_units(manifest: Manifest, variant: str, recordings: Iterable[Recording]) -> tuple[Finding, ...]:
    """Find a dataset whose resting acceleration is not what its manifest says, and recordings that stand out of it."""
    return judge(manifest.name, manifest.gravity[variant], resting(recordings))


def judge(dataset: str, gravity: Literal["present", "removed"], lengths: Mapping[str, float]) -> tuple[Finding, ...]:
    """Judge resting lengths by recording; nothing is found where nobody rests."""
    if not lengths:
        return ()
    middle, where = float(np.median(list(lengths.values()))), f"units of {dataset}"
    if gravity == "removed":
        if middle <= STILL_MS2:
            return ()
        text = f"{dataset}: at rest the acceleration is {middle:.3g} m/s^2, expected about 0 since gravity is removed"
        return (Finding("resting-acceleration", "error", where, text, "say in the manifest that gravity is present"),)
    if abs(middle / G - 1) > NEAR:
        guess = "in g" if abs(middle - 1) < NEAR else "without gravity" if middle < STILL_MS2 else "in another unit"
        text = f"{dataset}: at rest the acceleration is {middle:.3g} m/s^2, expected about 9.8; it may be {guess}"
        return (Finding("resting-acceleration", "error", where, text, "convert it to m/s^2 when files are read"),)
    return scales(lengths, factor=2.0, where=where)
