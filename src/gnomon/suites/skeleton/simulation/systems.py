"""Two systems that predict joints and cameras, and how they err; a system is the amount of its errors, nothing else.

Errors that grow and fade
-------------------------
Joints wander about the truth with a memory, hands and feet the most; the whole body is displaced, and a person is taken
for somewhat larger or smaller. Cameras have an error for the sequence, a slow drift and some unrest, those of rgb half
as much again as those of lidar. Translation and rotation err by themselves.

Planted defects
---------------
Left and right legs or arms are exchanged for a while; cameras are missing for a while (NaN, now and then infinite or
with a zero quaternion); lidar is missing in whole sequences; cameras are wildly wrong; a joint of a sample is NaN;
fields of view are NaN, which spoils nothing. Every kind is planted at least once in a file, though in a small one
another may cover it; where a system errs in this way, a worse one does too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gnomon.core.tallies import Array
from gnomon.numerics.rotations import Rigid
from gnomon.simulation.body import SMPL, turn
from gnomon.simulation.curves import drift
from gnomon.suites.skeleton.simulation.sensors import MODALITIES

SYSTEMS: Mapping[str, float] = {"strong": 1.0, "weak": 2.0}
"""Amount of errors of every system."""

_JOINT_M, _BODY_M, _SCALE = 0.012, 0.015, 0.02
"""Errors of a joint of the trunk, of the whole body, and of its size, at the amount 1."""
_FARTHER = {"knee": 1.3, "ankle": 1.7, "foot": 2.1, "elbow": 1.6, "wrist": 2.2, "hand": 2.6, "head": 1.3}
"""How much more other joints err than those of the trunk."""
_CAMERA = ((0.020, 0.8, np.inf), (0.012, 0.5, 4.0), (0.005, 0.2, 0.1))
"""Errors of a lidar camera in metres and degrees, and their memory in seconds."""
_WORSE = {"rgb": 1.5, "lidar": 1.0}
_PER_SECOND = {"confused": 0.06, "lost": 0.08}
"""How often it begins, for legs and arms or each camera."""
_SHARES = {"wild": 0.004, "blind": 0.01, "broken": 0.003, "silent": 0.05}
"""Of cameras, of cameras, of samples, of sequences."""
_ARMS = ("collar", "shoulder", "elbow", "wrist", "hand")


@dataclass(frozen=True)
class Defects:
    """Where defects are, over sequences and frames ``(S, F, ...)``."""

    confused: Array
    """``(S, F, 2)``: legs, arms."""
    lost: Array
    """``(S, F, 2)``, by modality, like the next two; whole sequences of lidar are in it."""
    wild: Array
    blind: Array
    """Without a field of view."""
    broken: Array
    """``(S, F)``."""


def plan(sequences: int, frames: int, fps: float, amount: float, rng: np.random.Generator) -> Defects:
    """Return where a system errs; the same random numbers with a larger amount give more of the same."""
    each = sequences, frames, 2
    confused = _stretches(each, fps, amount * _PER_SECOND["confused"], rng)
    lost = _stretches(each, fps, amount * _PER_SECOND["lost"], rng)
    lost[_some((sequences,), amount * _SHARES["silent"], rng), :, MODALITIES.index("lidar")] = True
    wild, blind = (_some(each, amount * _SHARES[name], rng) for name in ("wild", "blind"))
    return Defects(confused, lost, wild & ~lost, blind & ~lost, _some(each[:2], amount * _SHARES["broken"], rng))


def scale_error(amount: float, rng: np.random.Generator) -> float:
    """Return the factor by which a system takes a person for larger than they are."""
    return float(np.exp(amount * _SCALE * np.clip(rng.normal(), -2, 2)))


def predict(truth: Array, scale: float, fps: float, amount: float, rng: np.random.Generator) -> Array:
    """Return joints ``(F, 24, 3)`` as a system sees them."""
    pelvis = truth[:, :1]
    sizes = amount * _JOINT_M * np.array([_FARTHER.get(name.rpartition("_")[2], 1.0) for name in SMPL.names])
    own = drift(rng, truth.shape, 0.4 * fps) * sizes[:, np.newaxis]
    whole = amount * _BODY_M * drift(rng, pelvis.shape, 1.0 * fps)
    return np.asarray(pelvis + scale * (truth - pelvis) + own + whole)


def exchange(joints: Array, confused: Array) -> Array:
    """Return joints with left and right legs and arms exchanged in frames ``(F, 2)``."""
    found = joints.copy()
    for left, right in SMPL.pairs:
        which = confused[:, int(SMPL.names[left].removeprefix("left_") in _ARMS)]
        found[which, left], found[which, right] = joints[which, right], joints[which, left]
    return found


def track(camera: Rigid, modality: str, fps: float, amount: float, rng: np.random.Generator) -> Rigid:
    """Return cameras ``(F, ...)`` of a modality as a system sees them."""
    attitude, move = camera
    shift, angles = np.zeros((2, *move.shape))
    for metres, degrees, memory in _CAMERA:
        shift += metres * drift(rng, move.shape, memory * fps)
        angles += np.radians(degrees) * drift(rng, move.shape, memory * fps)
    size = amount * _WORSE[modality]
    return turn(size * angles) @ attitude, move + size * shift


def spoil(encodings: Array, defects: Defects, sequence: int, modality: int, rng: np.random.Generator) -> None:
    """Put the defects of a sequence and modality into cameras ``(F, 9)``, in place."""
    lost, wild, blind = (mask[sequence, :, modality] for mask in (defects.lost, defects.wild, defects.blind))
    count = len(encodings)
    far, any_turn, kind = rng.normal(0, 1.5, (count, 3)), rng.normal(size=(count, 4)), rng.random(count)
    encodings[wild, :3] += far[wild]
    encodings[wild, 3:7] = any_turn[wild]
    encodings[blind, 7:] = np.nan
    encodings[lost & (kind < 0.8)] = np.nan
    encodings[lost & (kind >= 0.8) & (kind < 0.9), 0] = np.inf
    encodings[lost & (kind >= 0.9), 3:7] = 0.0


def _some(shape: tuple[int, ...], share: float, rng: np.random.Generator) -> Array:
    """Return a mask with a share of its places set, at least one; a larger share adds to it."""
    size = int(np.prod(shape))
    mask = np.zeros(size, dtype=bool)
    mask[rng.permutation(size)[: int(np.ceil(min(share, 0.5) * size))]] = True
    return mask.reshape(shape)


def _stretches(shape: tuple[int, int, int], fps: float, per_second: float, rng: np.random.Generator) -> Array:
    """Return a mask with stretches of a third of a second or so along the middle axis."""
    starts = _some(shape, per_second / fps, rng)
    lengths = 1 + rng.geometric(1 / max(1.0, fps / 3), shape)
    mask = np.zeros(shape, dtype=bool)
    for sequence, frame, part in np.argwhere(starts):
        mask[sequence, frame : frame + lengths[sequence, frame, part], part] = True
    return mask
