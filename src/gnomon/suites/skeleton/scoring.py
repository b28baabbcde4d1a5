"""Verbs ``score`` and ``run``: joints to errors, in the frame of the sensor where there are cameras.

Truth and predictions are given apart (:mod:`gnomon.suites.skeleton.sides`), and are then scored as they are. Or a
prediction file holds both, perhaps with cameras (:mod:`gnomon.suites.skeleton.files`). It is given in one piece, or as
a folder of shards (``.npz``) with whole sequences: a sequence belongs to one shard. A shard without sample ids is one
sequence, called by the name of the shard.
Tallies of shards are those of the file in one piece; medians and percentiles, which are told beside the scores, are
counted in bins (:mod:`gnomon.suites.skeleton.spreads`).
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.core import options as opt
from gnomon.core.cases import Roster
from gnomon.core.errors import InputError, some
from gnomon.core.ledgers import Ledger
from gnomon.core.tallies import Tallies
from gnomon.engine.job import Job
from gnomon.engine.scoring import TRUTH, Chunk, Partials, Scorer, System
from gnomon.intake import shards
from gnomon.intake.faults import shown
from gnomon.intake.groups import is_given
from gnomon.intake.sources import check_names, named
from gnomon.intake.unread import reading_for
from gnomon.measures.plausibility import (
    MEASURED,
    NEAR_PLACE,
    POWERS,
    measure_distances,
    show_extent,
)
from gnomon.measures.pose_joints import JointSet
from gnomon.measures.skeletons import MPJPE
from gnomon.numerics.procrustes import ALIGNMENTS, align
from gnomon.runs import parts
from gnomon.runs.alignment import LEFT_OUT
from gnomon.runs.exhibits import Worst
from gnomon.runs.parts import Part
from gnomon.runs.run import Evaluation
from gnomon.runs.seal import hash_file
from gnomon.runs.variants import DIFFERS
from gnomon.suites.skeleton import calibration, exhibits, files, findings, seen, sequences, spreads, summaries
from gnomon.suites.skeleton.bodies import (
    Source,
    check_legs,
    check_size,
    find_root,
    metres_of_unit,
    name_joints,
    read_set,
    rename,
)
from gnomon.suites.skeleton.content import count_samples, digest_data, fingerprint_dropped, table_of
from gnomon.suites.skeleton.exhibits import Clip, Places
from gnomon.suites.skeleton.files import KEPT
from gnomon.suites.skeleton.grouping import level_of, regroup
from gnomon.suites.skeleton.options import ScoreOptions
from gnomon.suites.skeleton.projection import Projector
from gnomon.suites.skeleton.protocol import protocol
from gnomon.suites.skeleton.seen import Seen
from gnomon.suites.skeleton.sequences import Named, make_roster
from gnomon.suites.skeleton.settings import LIDAR, Arm, list_arms
from gnomon.suites.skeleton.sides import list_systems, read_pair
from gnomon.suites.skeleton.sizes import check_sizes
from gnomon.suites.skeleton.spreads import Spreads

SUFFIXES = (".npz",)
FROM_SENSOR_M = 200.0
"""Metres that a body is at most from the sensor that sees it."""
FAMILY = MPJPE.family
DRAWN = 500
"""Samples of every shard that reference frames are drawn for."""


@dataclass(frozen=True)
class Measured:
    """What a file left in one arm."""

    projector: Projector
    tracker: summaries.Tracker
    tallies: Tallies
    clips: Mapping[str, bytes]
    """The file of the worst clips, by name."""


def score_published(options: ScoreOptions) -> list[Evaluation] | Job:
    """Score as :func:`score` does, by the published protocol unless another variant is named: the verb ``run``."""
    return score(options if options.variant else replace(options, variant="published"))


def score(options: ScoreOptions) -> list[Evaluation] | Job:
    """Score every system in every asked variant and arm; folders of shards are scored shard by shard."""
    if not options.pred_file:
        return _score_sides(options)
    if is_given(options.truth) or len(options.predictions):
        raise InputError("--pred-file holds both sides: give it alone, or --truth and --predictions without it")
    given = [named(text) for text in options.pred_file]
    check_names([name for name, _ in given])
    list_arms(options)  # refuses options before files are read
    rig = options.rig_file
    known: dict[str, Any] = {"exhibits": 0 if options.out == "none" else options.exhibits}
    if rig:
        calibration.read(rig)
        known["rig_sha256"] = hash_file(Path(rig))
    sharded = any(shards.is_folder(path) for _, path in given)
    context = {"rig_file": os.path.abspath(rig) if rig and sharded else rig}
    systems = []
    for name, path in given:
        if sharded and not shards.is_folder(path):
            raise InputError(f"{path}: a file beside folders of shards; give every system in one form")
        found: Mapping[str, Any] = shards.listed(path, SUFFIXES) if sharded else {"": path}
        chunks = [Chunk(shard, file, given=known, context=context) for shard, file in found.items()]
        others = shards.others(path, SUFFIXES) if sharded else ()
        systems.append(System(name, path if sharded else str(Path(path)), chunks, others))
    if sharded:
        for name in ("ids", "mask", "group"):
            if not isinstance(getattr(options, name), (str, os.PathLike)):
                raise InputError(f"{name}: an array in memory cannot be used with folders of shards; give a file")
    return SCORER.score(systems, options)


def _score_sides(options: ScoreOptions) -> list[Evaluation] | Job:
    """Score truth and predictions that are given apart."""
    if not is_given(options.truth) or not len(options.predictions):
        lost = "--truth" if not is_given(options.truth) else "--predictions"
        raise InputError(
            f"{lost} is missing: give --truth FILE and --predictions FILE (joints (N, J, 3)), or --pred-file FILE, "
            "which holds both sides and cameras; 'gnomon template skeleton DIR' writes an example"
        )
    list_arms(options, cameras=False)  # refuses options before files are read
    known = {"exhibits": 0 if options.out == "none" else options.exhibits}
    systems = [
        System(one.name, one.where, [Chunk("", options.truth, one.content, given=known, context={"rig_file": ""})])
        for one in list_systems(options.predictions, options.truth)
    ]
    return SCORER.score(systems, options)


def tally(chunk: Chunk, options: ScoreOptions) -> Part:
    """Read one chunk and tally it in every arm; ``facts[arm.key]`` is what is told of it besides its scores."""
    rigs = _read_rigs(chunk)
    read: dict[str, Any] = {}
    with reading_for(chunk.reader):
        if chunk.predictions is None:
            source = read_source(chunk.truth, options, chunk.name or sequences.ALL)
        else:
            source, read = read_pair(chunk.truth, chunk.predictions, options)
            sides = "truth", f"predictions of {chunk.reader}"
            asked = replace(options, gt_keypoints_key=sides[0], pred_keypoints_key=sides[1])
            check_sizes(source.file, source.sequences, asked)
    source = replace(source, sequences=regroup(source.sequences, options.group))
    cameras = source.file.has_cameras
    facts: dict[str, Any] = {
        "named": [list(one) for one in source.sequences.named],
        "joints": list(source.joints),
        "pelvis": list(source.pelvis),
        "cameras": cameras,
        "approximate": list(source.approximate),
        "left_out": list(source.left_out),
        **read,
    }
    if not chunk.name:
        paths = read.get("files", [str(source.file.path)])
        facts["inputs"] = [{"path": path, "sha256": hash_file(Path(path))} for path in paths]
    options = replace(options, fps=read.get("fps", options.fps))
    tallies, ledgers, tables = {}, {}, {}
    kept: dict[str, bytes] = {}
    for arm in list_arms(options, cameras=cameras):
        own = sort_rows(source, arm, chunk.name or chunk.reader)
        done = measure(own, arm, rigs, chunk.given["exhibits"], options)
        told, ledgers[arm.key] = _tell(done, options.seed, whole=not chunk.name)
        facts[arm.key] = {**told, TRUTH: digest_data(source, arm.settled)}
        tallies[arm.key], tables[arm.key] = done.tallies, table_of(own, done.projector, done.tracker.errors)
        kept |= {f"{arm.key}/{name}": content for name, content in done.clips.items()}
    return Part(
        make_roster(source.sequences.named, level_of(options)), tallies, ledgers, facts, files=kept, tables=tables
    )


def finish(partials: Partials, options: ScoreOptions) -> list[Evaluation]:
    """Make an evaluation for every arm of what the chunks of one system left."""
    read = list(partials)
    _check_bodies(read)
    rosters = _name_cases(read, level_of(options))
    whole = parts.folded([replace(part, roster=roster) for (_, part), roster in zip(read, rosters, strict=True)])
    names = {
        shard: dict(zip(part.roster.ids, roster.ids, strict=True))
        for (shard, part), roster in zip(read, rosters, strict=True)
    }
    cameras = bool(read[0][1].facts["cameras"])
    return [_evaluate(arm, partials, whole, names, options) for arm in list_arms(options, cameras=cameras)]


PLACES = ("truth", "predictions", "pred_file", "rig_file")
SETTINGS = (
    *(
        field.name
        for field in fields(ScoreOptions)
        if field.name in ScoreOptions.__annotations__ and field.name not in (*PLACES, "no_progress")
    ),
    "seed",
)
"""Options that a part depends on: all of the suite but those that say where files are, and the seed."""
SCORER = Scorer(tally, finish, SETTINGS)


def _read_rigs(chunk: Chunk) -> calibration.Rigs | None:
    """Read the calibration file, which is known by its content, where there is one."""
    path = chunk.context["rig_file"]
    if not path:
        return None
    if hash_file(Path(path)) != chunk.given["rig_sha256"]:
        raise InputError(f"{path}: not what it was when the command began; give the same command again")
    return calibration.read(path)


def _tell(done: Measured, seed: int, *, whole: bool) -> tuple[dict[str, Any], Ledger]:
    """Return what a chunk says of one arm besides its tallies, as plain data, and the counts of its distributions.

    The quantiles of a ``whole`` file are exact; those of shards are counted, since they have to add up.
    """
    projector, tracker = done.projector, done.tracker
    cameras, errors = summaries.measure_cameras(projector, whole=whole)
    distributions = seen.extents(projector)
    exact: dict[str, Any] = {}
    if whole:
        exact = summaries.find_levels(tracker.distances, errors)
        found = seen.see(projector, tracker, seed)
    else:
        distributions |= {summaries.JOINTS: tracker.distances, **errors}
        # Shards that are alike would choose alike in one stream, and their mean would seem to move further than it does
        found = seen.see(projector, tracker, seed, DRAWN, projector.sequences.named[0])
    told = {
        "seen": found.record(),
        "samples": count_samples(projector),
        LEFT_OUT: fingerprint_dropped(projector),
        "sums": tracker.sums(),
        "cameras": cameras,
        "exact": exact,
    }
    return told, spreads.ledger(distributions)


def _evaluate(
    arm: Arm, partials: Partials, whole: Part, names: Mapping[str, Mapping[str, str]], options: ScoreOptions
) -> Evaluation:
    """Make the evaluation of one arm.

    Parameters
    ----------
    arm, partials
        How it was scored, and what the chunks left.
    whole
        Their tallies and counts, folded.
    names
        By chunk, what its cases are called where all chunks are known.
    """
    every = {name: facts[arm.key] for name, facts in partials.facts.items()}
    told = list(every.values())
    exact = {name: dict(levels) for one in told for name, levels in one["exact"].items()}
    distributions = Spreads(whole.ledgers[arm.key], exact)
    observed = [Seen.of(one["seen"]) for one in told]
    united = observed[0] if partials.is_whole else seen.united(observed)  # weighing draws rounds them
    found = findings.say(arm.settled, united, distributions)
    samples = _add_samples([one["samples"] for one in told])
    left_out = {names[chunk][case]: digest for chunk, one in every.items() for case, digest in one[LEFT_OUT].items()}
    first, where, roster = next(iter(partials.facts.values())), partials.system.where, whole.roster
    options = replace(options, fps=first.get("fps", options.fps))
    record = {**arm.settled.record(), **({"aligned_by": first["aligned_by"]} if "aligned_by" in first else {})}
    facts = {
        "settings": record,
        **found.facts,
        "summary": summaries.describe_errors([one["sums"] for one in told], distributions, options.fps or None),
        "cameras": summaries.describe_cameras([one["cameras"] for one in told], distributions),
        **(
            {DIFFERS: findings.say_differences(arm.settled, united)}
            if arm.variant == "strict" and arm.settled.is_projected
            else {}
        ),
    }
    target = {**arm.settled.target_settings(), "ids": options.group_by or options.id_preset}
    joints, pelvis = tuple(first["joints"]), tuple(first["pelvis"])
    coverage = {"complete": True, "samples": samples, **({LEFT_OUT: left_out} if left_out else {})}
    return Evaluation(
        protocol=protocol(
            joints, pelvis, arm.variant, tuple(roster.tags), roster.level, target, arm.settled.is_projected
        ),
        suite="skeleton",
        system=arm.system(partials.system.name),
        roster=roster,
        tallies={FAMILY: whole.tallies[arm.key]},
        data=partials.data(arm.key),
        table=partials.table(arm.key),
        coverage=partials.coverage(coverage, None),
        findings=(*findings.find_nothing_kept(samples), *found.findings, *findings.say_joints(first)),
        inputs=tuple(first.get("inputs", ())),
        options={**opt.record(_name_source(options, where, arm.variant)), **record},
        facts=facts,
        files=_gather_clips(partials, arm, names, options),
    )


def _name_source(options: ScoreOptions, where: str, variant: str) -> ScoreOptions:
    """Return the options of one system in one variant."""
    if options.pred_file:
        return replace(options, pred_file=(where,), variant=variant)
    return replace(options, predictions=(where,), variant=variant)


def _gather_clips(
    partials: Partials, arm: Arm, names: Mapping[str, Mapping[str, str]], options: ScoreOptions
) -> dict[str, bytes]:
    """Return the file of the worst clips of all chunks."""
    if partials.is_whole:
        start = f"{arm.key}/"
        kept = partials[0][1].files
        return {name.removeprefix(start): content for name, content in kept.items() if name.startswith(start)}
    most = 0 if options.out == "none" else options.exhibits
    return exhibits.merge_clips([(folder / arm.key, names[name]) for name, folder in partials.folders], most)


def _check_bodies(read: Sequence[tuple[str, Part]]) -> None:
    """Refuse shards of different bodies, and sequences that several shards hold."""
    name, first = read[0][0], read[0][1].facts
    owner: dict[Named, str] = {}
    for shard, part in read:
        if part.facts["joints"] != first["joints"]:
            raise InputError(
                f"shard {shard} has {len(part.facts['joints'])} joints and {name} has {len(first['joints'])}; score "
                "one body at a time"
            )
        if part.facts["cameras"] != first["cameras"]:
            raise InputError(f"one of the shards {name} and {shard} has cameras, the other has none; score them apart")
        for sequence in (Named(*item) for item in part.facts["named"]):
            if owner.setdefault(sequence, shard) != shard:
                raise InputError(
                    f"sequence {sequence.sequence!r} is in the shards {owner[sequence]} and {shard}; keep every "
                    "sequence in one shard"
                )


def _name_cases(read: Sequence[tuple[str, Part]], level: str) -> list[Roster]:
    """Return who the cases of every chunk are, as they are called where all are known."""
    named = [[Named(*item) for item in part.facts["named"]] for _, part in read]
    whole = make_roster([one for own in named for one in own], level)
    ends = np.cumsum([0, *(len(own) for own in named)])
    return [whole.take(np.arange(start, end)) for start, end in itertools.pairwise(ends)]


def _add_samples(every: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return how many samples of all chunks are valid, and how many were dropped for what."""
    reasons = dict.fromkeys(reason for one in every for reason in one["dropped"])
    dropped = {reason: sum(one["dropped"].get(reason, 0) for one in every) for reason in reasons}
    return {**{key: sum(one[key] for one in every) for key in ("total", "valid")}, "dropped": dropped}


def read_source(path: str, options: ScoreOptions, alone: str) -> Source:
    """Read a prediction file; ``alone`` is what its one sequence is called where it has no sample ids."""
    indices = {LIDAR: options.lidar_modality_index, "rgb": options.rgb_modality_index}
    file = files.read(
        path,
        prediction=options.pred_keypoints_key,
        truth=options.gt_keypoints_key,
        prediction_cameras=options.pred_cameras_key,
        truth_cameras=options.gt_cameras_key,
        columns={modality: index for modality, index in indices.items() if index is not None},
        modalities=[part.strip().lower() for part in options.fusion_modalities.split(",")],
        mask=options.mask,
    ).to_metres(metres_of_unit(options.unit or "m"))
    size = file.prediction.shape[1]
    body = JointSet("not named", tuple(map(str, range(size))))
    if options.joints:
        body = check_size(read_set(options.joints, "--joints"), size, str(path), "--joints")
        check_legs(body, file.truth, str(path))
    body = rename(body, name_joints(options, size, str(path)))
    found = sequences.find(file.ids, len(file), options.group_by, options.id_preset)
    found = found if file.ids is not None else replace(found, named=(Named(alone),))
    check_sizes(file, found, options)
    return Source(
        file,
        found,
        body.names,
        find_root(options.pelvis_index, body),
        body.bones,
    )


def _check_cameras(projector: Projector, options: ScoreOptions) -> None:
    """Refuse cameras whose translations are in another unit than the joints: a body is near the sensor that sees it.

    A bad system may put its cameras anywhere; predicted ones are refused where a unit explains how far away they are.
    """
    rows = np.flatnonzero(projector.reasons == KEPT)
    rows = rows[:: max(len(rows) // MEASURED, 1)]
    if not len(rows) or options.unit == "m" or not projector.settings.is_projected:
        return
    codes, file = projector.sequences.codes[rows], projector.file
    motion = next(iter(projector.motions.values()))
    sides = ((projector.truth, file.truth), (motion, file.prediction))
    far = [measure_distances(projector.project(poses, joints, rows, codes)) for poses, joints in sides]
    true, predicted = (float(np.median(one)) if len(one) else 0.0 for one in far)
    where, said = shown(file.path), f"from the sensor {projector.settings.target} (median)"
    remedy = "give joints and translations of cameras in one unit; --unit m insists on metres"
    if true > FROM_SENSOR_M:
        raise InputError(
            f"{where}: {options.gt_cameras_key}: true joints are {show_extent(true)} {said}, expected at most "
            f"{FROM_SENSOR_M:g} m: translations of cameras and joints are not in one unit; {remedy}"
        )
    if predicted > FROM_SENSOR_M and any(
        1 / NEAR_PLACE <= predicted / (power * true) <= NEAR_PLACE for power in POWERS if true
    ):
        raise InputError(
            f"{where}: {options.pred_cameras_key}: predicted joints are {show_extent(predicted)} {said}, true ones "
            f"{show_extent(true)}: translations of cameras and joints are not in one unit; {remedy}"
        )


def sort_rows(source: Source, arm: Arm, name: str) -> Source:
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
            f"{name}: strict needs the order of frames (--smooth-window, --reference first or a temporal "
            f"reliability was given), but samples of {names} have no frame number: end sample ids in one, give "
            "--group-by with (?P<frame>...), or leave those options out"
        )
    rows = found.sorted_rows(source.file.content)
    if np.array_equal(rows, np.arange(len(rows))):
        return source
    return replace(source, file=source.file.take(rows), sequences=found.take(rows))


def measure(source: Source, arm: Arm, rigs: calibration.Rigs | None, most: int, options: ScoreOptions) -> Measured:
    """Tally the samples of a file, sequence by sequence; at most so many clips are kept."""
    projector = Projector(source.file, source.sequences, arm.settled, rigs)
    _check_cameras(projector, options)
    metric = MPJPE(source.pelvis)
    count = len(source.sequences.named)
    bones = summaries.parse_bones(options.bones, len(source.joints), source.bones)
    tracker = summaries.Tracker(len(source.file), source.sequences, options.fps or None, bones, source.root)
    places = Places(source.sequences, make_roster(source.sequences.named).ids)
    worst, windows = Worst[Clip](most, exhibits.SAMPLES), 0
    empty = np.empty((0, len(source.joints), 3))
    blank = metric.tally_many(empty, empty, np.empty(0, dtype=np.int64), count, source.joints)
    tallied = {name: array.copy() for name, array in blank.fields.items()}
    for block in projector.blocks():
        new = np.diff(block.codes, prepend=-1) != 0
        present, local = block.codes[new], np.cumsum(new) - 1
        aligned = align(block.truth, block.prediction, keep=ALIGNMENTS, pelvis=source.root, mask=block.seen)
        part = metric.tally_aligned(aligned, local, len(present), source.joints)
        for name, array in part.fields.items():
            tallied[name][present] = array
        tracker.add(block, aligned)
        windows += exhibits.offer_clips(worst, places, block, aligned)
    clips = exhibits.pack_clips(worst.items, windows, source.joints, bones)
    return Measured(projector, tracker, Tallies(blank.layout, blank.axes, tallied), clips)
