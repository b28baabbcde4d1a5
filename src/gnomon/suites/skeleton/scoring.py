"""Verbs ``score`` and ``run``: prediction files to errors in the frame of the sensor."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from gnomon.core import options as opt
from gnomon.core.cases import Roster, join
from gnomon.core.errors import InputError, some
from gnomon.core.tallies import Array, Tallies
from gnomon.engine.job import Job
from gnomon.intake.faults import shown
from gnomon.intake.shards import is_folder
from gnomon.intake.sources import check_names, named
from gnomon.intake.unread import reading_for
from gnomon.measures.plausibility import (
    MEASURED,
    check_body_size,
    check_same_unit,
    measure_bodies,
    measure_distances,
    metres_of,
)
from gnomon.measures.skeletons import MPJPE
from gnomon.numerics.procrustes import ALIGNMENTS, align
from gnomon.runs.parts import Part
from gnomon.runs.run import Evaluation
from gnomon.runs.seal import hash_file
from gnomon.runs.variants import DIFFERS
from gnomon.suites.skeleton import calibration, files, findings, sequences, summaries
from gnomon.suites.skeleton.exhibits import Keeper
from gnomon.suites.skeleton.files import KEPT, REASONS, Predictions
from gnomon.suites.skeleton.fusion import Weighing
from gnomon.suites.skeleton.options import ScoreOptions
from gnomon.suites.skeleton.projection import Projector, Settings, arms
from gnomon.suites.skeleton.protocol import protocol
from gnomon.suites.skeleton.sequences import NO_FRAME, Named, Sequences

LIDAR = "lidar"
FAMILY = MPJPE.family
PART = 1 << 14
"""Samples that are converted at a time."""


@dataclass(frozen=True)
class Source:
    """One prediction file, read."""

    name: str
    file: Predictions
    sequences: Sequences
    sha256: str
    joints: tuple[str, ...]
    pelvis: tuple[int, ...]

    @property
    def root(self) -> tuple[int, int]:
        """The two joints (perhaps the same one) whose middle is the root."""
        return self.pelvis[0], self.pelvis[-1]


@dataclass(frozen=True)
class Arm:
    """How a file is scored: a variant, an arm of the ablation (empty where there is none), and its settings."""

    variant: str
    name: str
    settled: Settings

    def system(self, name: str) -> str:
        """Return what a system is called in this arm."""
        return f"{name}: {self.name}" if self.name else name


@dataclass(frozen=True)
class Measured:
    """What a file left in one arm."""

    projector: Projector
    tracker: summaries.Tracker
    keeper: Keeper
    tallies: Tallies


def score(options: ScoreOptions) -> list[Evaluation] | Job:
    """Score every file in every asked variant and arm; folders of shards are scored shard by shard."""
    given = [named(text) for text in options.pred_file]
    check_names([name for name, _ in given])
    chosen = arms_of(options)
    rigs = calibration.read(options.rig_file) if options.rig_file else None
    if any(is_folder(path) for _, path in given):
        from gnomon.suites.skeleton import shards

        return shards.score(given, options)
    found = []
    for name, path in given:
        with reading_for(name):
            source = source_of(name, path, options)
        found += [_evaluate(source, arm, rigs, options) for arm in chosen]
    return found


def arms_of(options: ScoreOptions) -> list[Arm]:
    """Return every asked variant and arm."""
    variants = ("published", "strict") if options.variant == "both" else (options.variant,)
    found = []
    for variant in variants:
        base = settings(options, variant)
        chosen = arms(base, options.target_modality.lower()) if options.ablation else {"": base}
        found += [Arm(variant, name, each) for name, each in chosen.items()]
    return found


def settings(options: ScoreOptions, variant: str) -> Settings:
    """Resolve what was asked for; the strict variant closes what is wrong with the published one."""
    if options.smooth_window % 2 == 0:
        raise InputError(f"--smooth-window {options.smooth_window}: expected an odd number of samples, 1 for none")
    strict = variant == "strict"
    modalities = tuple(dict.fromkeys(m.strip().lower() for m in options.fusion_modalities.split(",") if m.strip()))
    if not modalities:
        raise InputError("--fusion-modalities: expected at least one modality, such as rgb,lidar")
    target = options.target_modality.strip().lower()
    if options.projection_mode == "seq_lidar_ref" and not options.ablation:
        unused = {
            "--target-modality": target != LIDAR,
            "--rig": bool(options.rig),
            "--rig-file": bool(options.rig_file),
        }
        for flag in (name for name, given in unused.items() if given):
            raise InputError(
                f"{flag} means nothing in seq_lidar_ref: give --projection-mode multi_sensor, or leave it out"
            )
    if options.projection_mode == "seq_lidar_ref":
        target = LIDAR
    if not math.isfinite(options.fps):
        raise InputError(f"--fps {options.fps}: expected frames per second, 0 if unknown")
    rig = options.rig or ("robust" if strict else "pred")
    reference = options.reference or ("per_frame" if strict else "first")
    if options.rig_file and rig != "file":
        raise InputError(f"--rig-file is only read with --rig file, but the rig is {rig}; give --rig file")
    smoothed = options.smooth_on
    if strict and smoothed != "pred":
        smoothed = "pred" if smoothed == "both" else "none"
    return Settings(
        mode=options.projection_mode,
        target=target,
        modalities=modalities,
        sensors=_sensors(options.sensor_index_by_modality, {target, *modalities}),
        weighing=Weighing(
            options.fusion_mode,
            options.reliability_source,
            options.cross_sensor_tau,
            options.temporal_trans_tau,
            options.temporal_rot_tau_deg,
            options.hard_gate_ratio,
        ),
        rig=rig,
        reference=reference,
        window=options.smooth_window,
        smoothed=smoothed,
        by_frame=strict or reference != "first",
    )


def _sensors(text: str, modalities: set[str]) -> tuple[tuple[str, int], ...]:
    found = dict.fromkeys(sorted(modalities), 0)
    for part in filter(None, (item.strip() for item in text.split(","))):
        name, colon, index = part.partition(":")
        if not colon or not index.strip().isdecimal():
            raise InputError(f"--sensor-index-by-modality: {part!r}, expected MODALITY:NUMBER, as lidar:0,rgb:0")
        found[name.strip().lower()] = int(index)
    return tuple(found.items())


def source_of(name: str, path: str, options: ScoreOptions) -> Source:
    """Read a prediction file."""
    indices = {LIDAR: options.lidar_modality_index, "rgb": options.rgb_modality_index}
    file = files.read(
        path,
        prediction=options.pred_keypoints_key,
        truth=options.gt_keypoints_key,
        prediction_cameras=options.pred_cameras_key,
        truth_cameras=options.gt_cameras_key,
        columns={modality: index for modality, index in indices.items() if index is not None},
        modalities=[part.strip().lower() for part in options.fusion_modalities.split(",")],
    ).to_metres(metres_of(options.unit))
    _check_sizes(file, options)
    size = file.prediction.shape[1]
    names = tuple(part.strip() for part in options.joint_names.split(",")) if options.joint_names else ()
    if len(set(names)) != len(names):
        raise InputError(f"--joint-names: expected distinct names, but {some(n for n in names if names.count(n) > 1)}")
    if names and len(names) != size:
        raise InputError(f"--joint-names: {len(names)} names, but {path} has {size} joints")
    return Source(
        name,
        file,
        sequences.find(file.ids, len(file), options.group_by),
        hash_file(file.path),
        names or tuple(map(str, range(size))),
        _pelvis(options.pelvis_index, size),
    )


def _check_sizes(file: Predictions, options: ScoreOptions) -> None:
    """Refuse true bodies of a size that no body has, and predictions in another unit."""
    rows = np.flatnonzero(file.reasons == KEPT)
    rows = rows[:: max(len(rows) // MEASURED, 1)]
    where, true = shown(file.path), file.truth[rows]
    remedy = (
        "give --unit cm or --unit mm, or convert to metres" if options.unit == "m" else f"check --unit {options.unit}"
    )
    check_body_size(true, what=f"{where}: {options.gt_keypoints_key}", remedy=remedy)
    sides = true, file.prediction[rows]
    check_same_unit(
        *map(measure_bodies, sides),
        distances_m=(measure_distances(sides[0]), measure_distances(sides[1])),
        what=f"{where}: {options.pred_keypoints_key}",
        remedy="give both sides in one unit",
    )


def _pelvis(text: str, size: int) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    if not 1 <= len(parts) <= 2 or not all(part.isdecimal() and int(part) < max(size, 1) for part in parts):
        raise InputError(f"--pelvis-index {text!r}: expected a joint from 0 to {size - 1}, or two of them as A,B")
    return tuple(map(int, parts))


def sort_rows(source: Source, arm: Arm) -> Source:
    """Return a source with its rows as the arm takes them: sorted by sequence, frame, id and content, or as they are.

    The published definition takes the first camera of a sequence in the order of the file, so that its rows stay. All
    else does not depend on the order of rows, unless a sequence has no frame numbers; strict then refuses to use it.
    """
    if not arm.settled.by_frame:
        return source
    found = source.sequences
    if arm.variant == "strict" and arm.settled.uses_order and found.unnumbered.any():
        names = some(found.named[code].sequence for code in np.flatnonzero(found.unnumbered))
        raise InputError(
            f"{source.name}: strict needs the order of frames (--smooth-window, --reference first or a temporal "
            f"reliability was given), but samples of {names} have no frame number: end sample ids in one, give "
            "--group-by with (?P<frame>...), or leave those options out"
        )
    rows = found.sorted_rows(source.file.content)
    if np.array_equal(rows, np.arange(len(rows))):
        return source
    return replace(source, file=source.file.take(rows), sequences=found.take(rows))


def measured(source: Source, arm: Arm, rigs: calibration.Rigs | None, options: ScoreOptions) -> Measured:
    """Tally the samples of a file, sequence by sequence."""
    projector = Projector(source.file, source.sequences, arm.settled, rigs)
    measure = MPJPE(source.pelvis)
    count = len(source.sequences.named)
    bones = summaries.parse_bones(options.bones, len(source.joints))
    tracker = summaries.Tracker(len(source.file), source.sequences, options.fps or None, bones, source.root)
    cases = roster_of(source.sequences.named).ids
    keeper = Keeper(0 if options.out == "none" else options.exhibits, source.sequences, cases)
    empty = np.empty((0, len(source.joints), 3))
    blank = measure.tally_many(empty, empty, np.empty(0, dtype=np.int64), count, source.joints)
    fields = {name: array.copy() for name, array in blank.fields.items()}
    for block in projector.blocks():
        new = np.diff(block.codes, prepend=-1) != 0
        present, local = block.codes[new], np.cumsum(new) - 1
        aligned = align(block.truth, block.prediction, keep=ALIGNMENTS, pelvis=source.root)
        part = measure.tally_aligned(aligned, local, len(present), source.joints)
        for name, array in part.fields.items():
            fields[name][present] = array
        tracker.add(block, aligned)
        keeper.offer(block, aligned)
    return Measured(projector, tracker, keeper, Tallies(blank.layout, blank.axes, fields))


def _evaluate(given: Source, arm: Arm, rigs: calibration.Rigs | None, options: ScoreOptions) -> Evaluation:
    source = sort_rows(given, arm)
    done = measured(source, arm, rigs, options)
    found = findings.look(done.projector, done.tracker, options.seed)
    facts = {
        **found.facts,
        "summary": done.tracker.record(),
        "cameras": summaries.cameras(done.projector),
        **({DIFFERS: findings.differs(arm.settled, findings.apart(done.projector))} if arm.variant == "strict" else {}),
    }
    made = evaluation(
        arm,
        Part(roster_of(source.sequences.named), {FAMILY: done.tallies}, facts=facts),
        (source.joints, source.pelvis),
        (source.name, str(source.file.path)),
        options,
    )
    samples = counts(done.projector)
    return replace(
        made,
        data=data_digest(given, arm.settled),
        table=table_of(source, done),
        coverage={"complete": True, "samples": samples},
        findings=(*findings.find_nothing_kept(samples), *found.findings),
        inputs=({"path": str(source.file.path), "sha256": source.sha256},),
        files=done.keeper.files(source.joints, done.tracker.bones),
    )


def evaluation(
    arm: Arm,
    part: Part,
    body: tuple[tuple[str, ...], tuple[int, ...]],
    source: tuple[str, str],
    options: ScoreOptions,
) -> Evaluation:
    """Make the evaluation of what was tallied in one arm; content, coverage and findings are left to be filled in.

    Parameters
    ----------
    arm, part
        How it was scored, and what it left: cases, the tallies of :data:`FAMILY` and the facts of the run.
    body
        The names of the joints, and those that are the pelvis.
    source
        What the system is called, and where its predictions are.
    """
    (joints, pelvis), (name, where) = body, source
    record = arm.settled.record()
    target = {**arm.settled.target_settings(), "ids": options.group_by}
    return Evaluation(
        protocol=protocol(joints, pelvis, arm.variant, tuple(part.roster.tags), part.roster.level, target),
        suite="skeleton",
        system=arm.system(name),
        roster=part.roster,
        tallies=part.tallies,
        data="",
        table=pa.table({}),
        options={**opt.record(replace(options, pred_file=(where,), variant=arm.variant)), **record},
        facts={"settings": record, **part.facts},
    )


def roster_of(found: Sequence[Named]) -> Roster:
    """Return who sequences are; groups are subjects where every sequence names one."""
    subjects = [named.subject for named in found]
    actions = [named.action for named in found]
    level = "subject" if all(subjects) else "sequence"
    ids = [named.sequence for named in found]
    if len(set(ids)) != len(ids):  # a rule of one's own may give one sequence name to several people or actions
        ids = ["/".join(filter(None, (named.subject, named.action, named.sequence))) for named in found]
    groups = tuple(subjects) if level == "subject" else tuple(ids)
    tags = {"action": tuple(actions)} if all(actions) and len(set(actions)) > 1 else {}
    return Roster(tuple(join((name,)) for name in ids), groups, tags, level)


def counts(projector: Projector) -> dict[str, Any]:
    """Return how many samples there are, how many are valid, and how many were dropped for what."""
    found = np.bincount(projector.reasons, minlength=len(REASONS))
    dropped = {reason: int(found[code]) for code, reason in enumerate(REASONS) if code != KEPT and found[code]}
    return {"total": len(projector.file), "valid": int(found[KEPT]), "dropped": dropped}


def data_digest(source: Source, settled: Settings) -> str:
    """Return the fingerprint of ids, true joints and true cameras of the target, whatever they are stored as."""
    state = hashlib.sha256("\0".join(source.file.ids or ()).encode("utf-8", "surrogatepass"))
    cameras = source.file.cameras["gt"].stream(settled.target, settled.sensor(settled.target))
    for array in (source.file.truth, cameras):
        kind = (
            np.float32 if all(_narrow(array[start : start + PART]) for start in range(0, len(array), PART)) else float
        )
        for start in range(0, len(array), PART):
            part = np.ascontiguousarray(array[start : start + PART], dtype=kind)
            lost = np.isnan(part)
            state.update((np.where(lost, np.nan, part).astype(kind) if lost.any() else part).data)
    return state.hexdigest()


def _narrow(part: Array) -> bool:
    """Say whether float32 holds these numbers as they are."""
    if part.dtype == np.float32:
        return True
    with np.errstate(over="ignore"):
        return bool(np.array_equal(part.astype(np.float32).astype(part.dtype), part, equal_nan=True))


def table_of(source: Source, done: Measured) -> pa.Table:
    """Return what was scored, a row per sample in the order in which they were taken."""
    projector, tracker = done.projector, done.tracker
    names = [named.sequence for named in source.sequences.named]
    frames = pa.array(source.sequences.frames, mask=source.sequences.frames == NO_FRAME)
    columns: dict[str, Any] = {
        "sample": pa.array(source.file.ids or [str(row) for row in range(len(source.file))], pa.string()),
        "sequence": _coded(source.sequences.codes, names),
        "frame": frames,
        "dropped": _coded(projector.reasons, REASONS),
    }
    missing = projector.reasons != KEPT
    columns |= {name: pa.array(values, mask=missing) for name, values in tracker.errors.items()}
    return pa.table(columns)


def _coded(codes: Array, names: Sequence[str]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int64)), pa.array(names, pa.string())).cast(
        pa.string()
    )
