"""Whether acceleration is in m/s^2, seen from people at rest: then it is gravity, or nothing where that was removed."""

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


def resting(recordings: Iterable[Recording]) -> dict[str, float]:
    """Return the median length of the acceleration of each resting recording that has acceleration, by its id."""
    return {
        recording.id: float(np.median(np.linalg.norm(recording.signals[:, :3].astype(np.float64), axis=1)))
        for recording in recordings
        if group_of(recording.label) in REST and recording.mask[:3].all() and len(recording.times)
    }


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
