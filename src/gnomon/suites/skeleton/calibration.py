"""A user's calibration between sensors, for ``--rig file``.

JSON: ``{"rgb": MOTION, ...}`` maps each modality to its motion into the frame of the target; a motion is a 4 x 4
matrix, or ``{"rotation": 3 x 3, "translation": [x, y, z]}``, in metres. ``{"sequences": {"p000400_a000040": {...}}}``
gives a sequence its own, before the one for all.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnomon.core.errors import InputError, some
from gnomon.core.tallies import Array
from gnomon.intake.documents import read_json
from gnomon.intake.faults import shown
from gnomon.suites.skeleton.poses import Poses

TOLERANCE = 1e-4
"""How far a rotation may be from one: of R times its transpose from the identity."""


@dataclass(frozen=True)
class Rigs:
    """Motions into the target's frame, by sequence ("" is all) and modality."""

    where: str
    motions: Mapping[str, Mapping[str, Array]]

    def of(self, modality: str, sequences: Sequence[str]) -> Poses:
        """Return the motion of a modality for every sequence."""
        found = [self.motions.get(name, {}).get(modality, self.motions[""].get(modality)) for name in sequences]
        lacking = [name for name, motion in zip(sequences, found, strict=True) if motion is None]
        if lacking:
            raise InputError(f"{self.where}: no calibration of {modality!r} for sequence {some(lacking)}; add it")
        stack = np.array(found)
        return Poses(stack[:, :3, :3], stack[:, :3, 3], np.ones(len(stack), dtype=bool))


def read(path: str | os.PathLike[str]) -> Rigs:
    """Read a calibration file."""
    value = read_json(path)
    where = shown(path)
    if not isinstance(value, dict):
        raise InputError(f"{where}: got {type(value).__name__}, expected an object with a motion for each modality")
    own = value.pop("sequences", {})
    if not isinstance(own, dict) or not all(isinstance(item, dict) for item in own.values()):
        raise InputError(f"{where}: sequences: expected an object with an object of motions for each sequence")
    motions = {"": _motions(value, where)}
    motions |= {name: _motions(item, f"{where}: {shown(name, 80)}") for name, item in own.items()}
    return Rigs(where, motions)


def _motions(value: Mapping[str, Any], where: str) -> dict[str, Array]:
    return {name.lower(): _motion(item, f"{where}: {shown(name, 80)}") for name, item in value.items()}


def _motion(value: Any, where: str) -> Array:
    expected = "expected a 4 x 4 matrix, or rotation (3 x 3) and translation (3)"
    unknown = sorted(value.keys() - {"rotation", "translation"}) if isinstance(value, dict) else []
    if unknown:
        raise InputError(f"{where}: unknown entry {some(unknown)}; {expected}")
    found = np.eye(4)
    try:
        if isinstance(value, dict):
            found[:3, :3] = np.array(value["rotation"], dtype=np.float64)
            found[:3, 3] = np.array(value["translation"], dtype=np.float64)
        else:
            found[...] = np.array(value, dtype=np.float64).reshape(4, 4)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{where}: {expected}") from error
    turn = found[:3, :3]
    proper = np.abs(turn @ turn.T - np.eye(3)).max() < TOLERANCE and np.linalg.det(turn) > 0
    if not np.isfinite(found).all() or not proper or np.abs(found[3] - [0, 0, 0, 1]).max() > TOLERANCE:
        raise InputError(f"{where}: not a rigid motion; {expected}")
    return found
