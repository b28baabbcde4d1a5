"""From canonical joints to the frame of a sensor: projection, rigs, reliability, fusion.

``seq_lidar_ref`` projects both sides through the reference cameras of the target modality. ``multi_sensor`` brings the
prediction into the target's frame once per modality m and fuses the results:

    P(m) = rig(m -> target) H_pred(m) P

Rigs
----
``pred``    H_pred(target) inv(H_pred(m)), as published. The product with H_pred(m) is H_pred(target) for every m, so
            that all modalities give the same points and fusion has no effect unless joints differ by modality.
``gt``      H_gt(target) inv(H_gt(m)): the true calibration.
``file``    a calibration that the user gives, for all sequences or for each.
``robust``  the Huber mean over the frames of a sequence of H_pred(k, target) inv(H_pred(k, m)).

Reliability of a modality, clipped to [1e-8, 1]
------------------------------------------------
``cross_sensor``  exp(-e / tau), e the mean distance of its joints to those of the target, whose own is 1; without the
                  target among the active ones, the distance to their median. A single active modality has 1.
``temporal``      exp(-(sigma_t / tau_t + sigma_r / tau_r)) over the predicted cameras of the sequence: the standard
                  deviation (n - 1) of the translation, averaged over axes, and of the angle to the first rotation. One
                  camera alone has 1.
``hybrid``        their product.

Fusion: ``mean`` (reliability is ignored), ``weighted``, or ``hard_gate``: only those within a ratio of the best, then
weighted.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gnomon.core.tallies import Array
from gnomon.numerics import rotations
from gnomon.suites.skeleton.poses import Poses, mean_rotation, split

LEAST = 1e-8
HUBER = (0.02, 0.02)
"""Metres and radians within which a frame counts in full for a robust rig."""
ROUNDS = 20


@dataclass(frozen=True)
class Weighing:
    """How modalities are weighed against each other."""

    mode: str = "mean"
    source: str = "cross_sensor"
    tau_cross: float = 0.05
    tau_t: float = 0.05
    tau_r: float = 5.0
    gate: float = 0.8


@dataclass(frozen=True)
class Fused:
    """Fused joints of a block of samples."""

    joints: Array
    active: Array
    """Whether any modality was left."""
    deviation: Array
    """Largest distance between the joints of two active modalities, by sample."""


def temporal(poses: Poses, codes: Array, count: int, weighing: Weighing) -> Array:
    """Return the temporal reliability of every sequence from the predicted cameras of one modality, in order."""
    found = np.ones(count)
    for sequence, rows in enumerate(split(np.where(poses.ok, codes, -1), count)):
        if len(rows) < 2:
            continue
        sigma_t = poses.translations[rows].std(axis=0, ddof=1).mean()
        angles = np.degrees(rotations.angles_of(poses.rotations[rows], poses.rotations[rows[:1]]))
        sigma_r = angles.std(ddof=1)
        found[sequence] = np.exp(-(sigma_t / weighing.tau_t + sigma_r / weighing.tau_r))
    return np.clip(found, LEAST, 1.0)


def fuse(parts: Sequence[Array], active: Array, target: int | None, stable: Array, weighing: Weighing) -> Fused:
    """Fuse the projections of several modalities.

    Parameters
    ----------
    parts
        One array ``(B, J, 3)`` per modality; what is not active may hold anything finite.
    active
        ``(M, B)``.
    target
        Which of them is the target; None if it is not among them.
    stable
        Temporal reliability ``(M, B)``.
    weighing
        Mode, source and constants.
    """
    stack = np.stack(parts)
    weights = _weights(stack, active, target, stable, weighing)
    whole = weights.sum(axis=0)
    usable = whole > 0
    weights = np.divide(weights, whole, out=np.zeros_like(weights), where=usable)
    joints = np.zeros(stack.shape[1:])
    for part, weight in zip(stack, weights, strict=True):
        joints += weight[:, np.newaxis, np.newaxis] * part
    return Fused(joints, usable, _deviation(stack, active))


def robust_rig(to: Poses, of: Poses, codes: Array, count: int) -> Poses:
    """Return for every sequence the Huber mean over frames of ``to after inverse of``."""
    relative = to.after(of.inverse())
    turns = np.broadcast_to(np.eye(3), (count, 3, 3)).copy()
    moves, ok = np.zeros((count, 3)), np.zeros(count, dtype=bool)
    for sequence, rows in enumerate(split(np.where(relative.ok, codes, -1), count)):
        if len(rows):
            turns[sequence], moves[sequence] = _huber(relative.rotations[rows], relative.translations[rows])
            ok[sequence] = True
    return Poses(turns, moves, ok)


def _weights(stack: Array, active: Array, target: int | None, stable: Array, weighing: Weighing) -> Array:
    if weighing.mode == "mean":
        return active.astype(np.float64)
    trust = np.ones(active.shape)
    if weighing.source != "temporal":
        trust = _agreement(stack, active, target, weighing.tau_cross)
    if weighing.source != "cross_sensor":
        trust = trust * stable
    trust = np.where(active, np.clip(trust, LEAST, 1.0), 0.0)
    if weighing.mode == "hard_gate":
        best = trust.max(axis=0)
        kept = active & (trust >= weighing.gate * best)
        kept |= ~kept.any(axis=0) & active & (trust == best)
        trust = np.where(kept, trust, 0.0)
    return np.asarray(trust)


def _agreement(stack: Array, active: Array, target: int | None, tau: float) -> Array:
    anchored = np.zeros(active.shape[1], dtype=bool) if target is None else active[target]
    centre = np.zeros(stack.shape[1:]) if target is None else stack[target]
    loose = np.flatnonzero(~anchored & active.any(axis=0))
    if len(loose):
        centre = centre.copy()
        seen = np.where(active[:, loose, np.newaxis, np.newaxis], stack[:, loose], np.nan)
        centre[loose] = np.nanmedian(seen, axis=0)
    trust = np.exp(-np.array([_distances(part, centre).mean(axis=1) for part in stack]) / tau)
    if target is not None:
        trust[target] = 1.0
    return np.where(active.sum(axis=0) == 1, 1.0, trust)


def _deviation(stack: Array, active: Array) -> Array:
    largest = np.zeros(stack.shape[1])
    for first, second in itertools.combinations(range(len(stack)), 2):
        apart = _distances(stack[first], stack[second]).max(axis=1)
        largest = np.maximum(largest, np.where(active[first] & active[second], apart, 0.0))
    return largest


def _distances(a: Array, b: Array) -> Array:
    """Return the distances of joints ``(B, J)``."""
    apart = a - b
    return np.asarray(np.sqrt(np.einsum("bjk,bjk->bj", apart, apart)))


def _huber(turns: Array, moves: Array) -> tuple[Array, Array]:
    """Return the Huber mean of rigid motions, from the median, rotation and translation each by its own residual."""
    move = np.median(moves, axis=0)
    turn = mean_rotation(turns)
    for _ in range(ROUNDS):
        apart = np.linalg.norm(moves - move, axis=1)
        angle = rotations.angles_of(turns, turn[np.newaxis])
        weights = [
            np.minimum(1.0, limit / np.maximum(r, 1e-12)) for r, limit in zip((apart, angle), HUBER, strict=True)
        ]
        after = np.average(moves, axis=0, weights=weights[0])
        turned = mean_rotation(turns, weights[1])
        done = np.linalg.norm(after - move) < 1e-12 and np.abs(turned - turn).max() < 1e-12
        move, turn = after, turned
        if done:
            break
    return turn, move
