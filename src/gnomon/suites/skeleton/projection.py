"""Both sides of a prediction file in the frame of the sensor, block by block, with every dropped sample accounted for.

Blocks hold whole sequences, so that a sequence's result does not depend on what else the file holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
from gnomon.numerics import rigid
from gnomon.suites.skeleton import fusion
from gnomon.suites.skeleton.calibration import Rigs
from gnomon.suites.skeleton.files import KEPT, NO_MODALITY, NO_REFERENCE, Predictions
from gnomon.suites.skeleton.poses import Poses, medoid_rows, medoids, references
from gnomon.suites.skeleton.sequences import Sequences
from gnomon.suites.skeleton.settings import Settings

BLOCK = 1 << 14
"""Samples from which on a block ends with its sequence."""


@dataclass(frozen=True)
class Block:
    """Kept samples of whole sequences, by sequence and frame, both sides in the target's frame."""

    rows: Array
    """Their places in the file."""
    codes: Array
    prediction: Array
    truth: Array
    deviation: Array
    """Largest distance between the joints of two fused modalities, by sample."""
    seen: Array | None = None
    """Visible joints; None where all are."""


class Projector:
    """The cameras of a file under some settings; gives the blocks."""

    def __init__(self, file: Predictions, sequences: Sequences, settings: Settings, rigs: Rigs | None = None) -> None:
        self.file, self.sequences, self.settings = file, sequences, settings
        self.order = sequences.order()
        self._look = self.order if settings.by_frame else np.arange(len(file))
        self._decoded: dict[tuple[str, str], Poses] = {}
        self._usable: dict[str, Array] = {}
        count = len(sequences.named)
        self.reasons = file.reasons.copy()
        self.motions: dict[str, Poses] = {}
        """By modality, per sequence or per sample: from the canonical frame into the target's."""
        self.stable = np.ones((len(settings.modalities), count))
        if not settings.is_projected:
            return
        self.truth = self._reference("gt", settings.target)
        self._drop(~self._ok(self.truth), NO_REFERENCE)
        if settings.mode == "seq_lidar_ref":
            self.motions[settings.target] = self._reference("pred", settings.target)
            self._drop(~self._ok(self.motions[settings.target]), NO_REFERENCE)
            return
        for index, name in enumerate(settings.modalities):
            self.motions[name] = self._motion(name, rigs)
            if settings.uses_temporal:
                poses, codes = self.poses("pred", name).take(self._look), sequences.codes[self._look]
                self.stable[index] = fusion.temporal(poses, codes, count, settings.weighing)
        self._drop(~np.any([self._active(name) for name in settings.modalities], axis=0), NO_MODALITY)

    def poses(self, side: str, modality: str) -> Poses:
        """Return the camera of every sample."""
        key = side, modality
        if key not in self._decoded:
            stream = self.file.cameras[side].stream(modality, self.settings.sensor(modality))
            self._decoded[key] = Poses.decode(stream)
        return self._decoded[key]

    def first(self, side: str, modality: str, look: Array | None = None) -> Array:
        """Return the sample that a first reference camera is taken from, by sequence; -1 where there is none.

        Samples are looked at in the order of ``look``; by default the one that the settings ask for.
        """
        look = self._look if look is None else look
        usable = look[self.poses(side, modality).ok[look]]
        found, places = np.unique(self.sequences.codes[usable], return_index=True)
        rows = np.full(len(self.sequences.named), -1)
        rows[found] = usable[places]
        return rows

    def turned(self, side: str, rows: Array) -> Array:
        """Return joints of some samples turned as they are projected, but not moved."""
        poses = self.truth if side == "gt" else next(iter(self.motions.values()))
        still = Poses(poses.rotations, np.zeros_like(poses.translations), poses.ok)
        joints = self.file.truth if side == "gt" else self.file.prediction
        return self.project(still, joints, rows, self.sequences.codes[rows])

    def blocks(self) -> Iterator[Block]:
        """Yield the kept samples."""
        kept = self.order[self.reasons[self.order] == KEPT]
        codes = self.sequences.codes[kept]
        ends = np.flatnonzero(np.diff(codes, append=-1)) + 1
        start = 0
        while start < len(kept):
            place = min(int(np.searchsorted(ends, start + BLOCK)), len(ends) - 1)
            end = int(ends[place])
            yield self._block(kept[start:end], codes[start:end])
            start = end

    def _block(self, rows: Array, codes: Array) -> Block:
        seen = None if self.file.seen is None else self.file.seen[rows]
        if not self.settings.is_projected:
            truth, prediction = (side[rows].astype(np.float64) for side in (self.file.truth, self.file.prediction))
            return self._smooth(Block(rows, codes, prediction, truth, np.zeros(len(rows)), seen))
        truth = self.project(self.truth, self.file.truth, rows, codes)
        if self.settings.mode == "seq_lidar_ref":
            motion = self.motions[self.settings.target]
            prediction = self.project(motion, self.file.prediction, rows, codes)
            deviation = np.zeros(len(rows))
        else:
            names = self.settings.modalities
            parts = [self.project(self.motions[name], self._joints(name), rows, codes) for name in names]
            active = np.array([self._active(name)[rows] for name in names])
            for part, on in zip(parts, active, strict=True):
                part[~on] = 0.0
            target = names.index(self.settings.target) if self.settings.target in names else None
            fused = fusion.fuse(parts, active, target, self.stable[:, codes], self.settings.weighing)
            prediction, deviation = fused.joints, fused.deviation
        return self._smooth(Block(rows, codes, prediction, truth, deviation, seen))

    def _smooth(self, block: Block) -> Block:
        window, sides = self.settings.window, self.settings.smoothed
        if window > 1 and sides in ("pred", "both"):
            block = replace(block, prediction=smooth(block.prediction, block.codes, window, block.seen))
        if window > 1 and sides in ("gt", "both"):
            block = replace(block, truth=smooth(block.truth, block.codes, window, block.seen))
        return block

    def _joints(self, modality: str) -> Array:
        return self.file.by_modality.get(modality, self.file.prediction)

    def _active(self, modality: str) -> Array:
        """Return which samples a modality can be used for."""
        if modality not in self._usable:
            found = self._ok(self.motions[modality])
            own = self.file.by_modality.get(modality)
            self._usable[modality] = found if own is None else found & rigid.finite(own)
        return self._usable[modality]

    def _ok(self, poses: Poses) -> Array:
        return poses.ok if self._per_sample(poses) else poses.ok[self.sequences.codes]

    def _motion(self, modality: str, rigs: Rigs | None) -> Poses:
        kind, target = self.settings.rig, self.settings.target
        here = self._reference("pred", modality)
        if modality == target and kind != "pred":
            return here
        if kind == "pred":
            rig = self._reference("pred", target).after(here.inverse())
        elif kind == "gt":
            rig = self._reference("gt", target).after(self._reference("gt", modality).inverse())
        elif kind == "robust":
            to, of = (self.poses("pred", name) for name in (target, modality))
            rig = fusion.robust_rig(to, of, self.sequences.codes, len(self.sequences.named))
        else:
            if rigs is None:
                raise InputError("--rig file needs --rig-file FILE with the calibration")
            rig = rigs.of(modality, [named.sequence for named in self.sequences.named])
        if len(rig) != len(here):
            rig, here = self._on_samples(rig), self._on_samples(here)
        return rig.after(here)

    def _reference(self, side: str, modality: str) -> Poses:
        if self.settings.reference == "per_frame":
            return self.poses(side, modality)
        poses, codes = self.poses(side, modality), self.sequences.codes
        count = len(self.sequences.named)
        if self.settings.reference == "medoid":
            return medoids(poses, codes, count, self._shared)
        if self.settings.by_frame:
            poses, codes = poses.take(self._look), codes[self._look]
        return references(poses, codes, count, self.settings.reference)

    @cached_property
    def _shared(self) -> Array:
        """The frame that both sides take for their medoid, by sequence."""
        sides = [self.poses(side, self.settings.target) for side in ("gt", "pred")]
        return medoid_rows(self.sequences.codes, len(self.sequences.named), *sides)

    def project(self, poses: Poses, joints: Array, rows: Array, codes: Array) -> Array:
        """Return the joints of some samples, of the sequences ``codes``, in the frames of cameras."""
        at = rows if self._per_sample(poses) else codes
        return rigid.project(joints, rows, poses.rotations, poses.translations, at)

    def _on_samples(self, poses: Poses) -> Poses:
        return poses if self._per_sample(poses) else poses.take(self.sequences.codes)

    def _per_sample(self, poses: Poses) -> bool:
        return len(poses) == len(self.file) and self.settings.reference == "per_frame"

    def _drop(self, which: Array, reason: int) -> None:
        self.reasons[which & (self.reasons == KEPT)] = reason


def smooth(joints: Array, codes: Array, window: int, seen: Array | None = None) -> Array:
    """Return the moving average over an odd window, cut at the ends of sequences; rows lie by sequence and frame.

    Where joints are hidden, ``seen`` ``(N, J)``, the average is over those that are not.
    """
    if seen is not None:
        shown = np.repeat(seen[:, :, np.newaxis], 3, axis=2)
        whole = smooth(np.where(shown, joints, 0.0), codes, window)
        share = smooth(shown.astype(np.float64), codes, window)
        return np.where(shown, np.divide(whole, share, out=np.zeros_like(whole), where=share > 0), joints)
    total = np.zeros_like(joints)
    counts = np.zeros(len(joints))
    half = min(window // 2, len(joints) - 1)
    for shift in range(-half, half + 1):
        here = slice(max(0, -shift), len(joints) - max(0, shift))
        there = slice(max(0, shift), len(joints) + min(0, shift))
        same = codes[here] == codes[there]
        total[here][same] += joints[there][same]
        counts[here] += same
    return np.asarray(total / counts[:, np.newaxis, np.newaxis])
