"""What a reader of these errors should know: each finding with its number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnomon.core.errors import some
from gnomon.core.evidence import Finding
from gnomon.core.seeds import generator
from gnomon.core.tallies import Array
from gnomon.intake.faults import shown
from gnomon.measures.pose import LARGEST_EXTENT
from gnomon.numerics import kinematics, rigid
from gnomon.numerics.procrustes import align
from gnomon.suites.skeleton.files import KEPT, NO_REFERENCE
from gnomon.suites.skeleton.poses import spread
from gnomon.suites.skeleton.projection import Projector, Settings
from gnomon.suites.skeleton.summaries import Tracker

EFFECT_M = 1e-9
"""Joints of two modalities that are nearer than this are the same."""
STILL = (0.01, 0.5)
"""Metres and degrees that the true cameras of a sequence may differ by."""
MOST = 5_000
"""Samples that costly checks look at; whole sequences are drawn until there are so many."""
DRAWS = 64
DRAWN = "draws"


@dataclass(frozen=True)
class Found:
    """Findings, and the facts that claims and reports rest on."""

    findings: tuple[Finding, ...]
    facts: dict[str, Any]
    draws: tuple[float, ...] = ()
    """Mean errors through reference frames that were drawn, of as many samples as facts say."""


def look(projector: Projector, tracker: Tracker, seed: int, drawn: int = MOST) -> Found:
    """Look for everything; ``drawn`` is how many samples reference frames are drawn for."""
    facts: dict[str, Any] = {}
    found = [
        _unusable(projector),
        _single(projector, facts),
        _calibrated(projector),
        _fusion(projector, tracker, facts),
        _moving(projector, facts),
        _sensitivity(projector, seed, facts, drawn),
        _apart(projector),
        _units(projector),
        _smoothed(projector),
        _merged(projector),
    ]
    facts["pa_invariance_m"], facts["pelvis_invariance_m"] = _invariance(projector, tracker)
    draws = facts.pop(DRAWN, ())
    return Found(tuple(item for item in found if item is not None), facts, tuple(draws))


def _fusion(projector: Projector, tracker: Tracker, facts: dict[str, Any]) -> Finding | None:
    settings = projector.settings
    if settings.mode != "multi_sensor":
        return None
    effective = tracker.deviation > EFFECT_M
    facts["fusion_effective"] = effective
    facts["fusion_deviation_m"] = tracker.deviation
    if effective or len(settings.modalities) < 2 or not (projector.reasons == KEPT).any():
        return None
    evidence = f"fusion has no effect: modalities differ by at most {tracker.deviation:.1e} m"
    if settings.rig == "pred":
        evidence += (
            "; the rig is made of the predicted cameras themselves, so that it cancels in rig(m) H(m) = H(target)"
        )
        remedy = "use --rig robust, gt or file, or give joints by modality (pred_keypoints_<modality>)"
    else:
        evidence += "; no sample has more than one usable modality, or all agree"
        remedy = "check the names of the modalities and their cameras"
    return Finding("degenerate-fusion", "warning", "fusion", evidence, remedy)


def _unusable(projector: Projector) -> Finding | None:
    """Say what was looked for where nothing, or a whole modality, was found."""
    settings = projector.settings
    asked = dict.fromkeys((settings.target, *(settings.modalities if settings.mode == "multi_sensor" else ())))
    absent = [
        f"{side} {name}:{settings.sensor(name)}"
        for name in asked
        for side in ("pred", "gt")
        if (side == "pred" or name == settings.target) and not projector.poses(side, name).ok.any()
    ]
    if not absent:
        return None
    known = sorted({name for side in ("pred", "gt") for name in projector.file.cameras[side].names_known()})
    evidence = f"no usable camera of {some(absent)}; the file names {some(known) or 'no modalities'}"
    remedy = "correct the modality, the sensor index or the fields; --lidar-modality-index where cameras have no names"
    severity = "warning" if (projector.reasons == KEPT).any() else "error"
    return Finding("cameras-absent", severity, "cameras", evidence, remedy)  # type: ignore[arg-type]


def _single(projector: Projector, facts: dict[str, Any]) -> Finding | None:
    """Say when ids make every sample a sequence of its own, so that neighbours would count as independent."""
    sizes = np.bincount(projector.sequences.codes, minlength=len(projector.sequences.named))
    alone = int((sizes == 1).sum())
    unclear = len(sizes) > 1 and alone > len(sizes) / 2 and not all(n.subject for n in projector.sequences.named)
    facts["sequences_known"] = int(not unclear)
    if not unclear:
        return None
    evidence = f"{alone} of {len(sizes)} sequences hold one sample: ids do not tell sequences apart"
    remedy = "say how ids are read with --group-by '(?P<sequence>...)(?P<frame>...)'"
    return Finding("one-sample-sequences", "warning", "sample ids", evidence, remedy)


def _calibrated(projector: Projector) -> Finding | None:
    if projector.settings.mode != "multi_sensor" or projector.settings.rig != "gt":
        return None
    evidence = "predictions were moved between sensors by the true calibration, which a system would not have"
    return Finding("true-calibration", "info", "rig", evidence, "use --rig robust for what predictions alone can do")


def _moving(projector: Projector, facts: dict[str, Any]) -> Finding | None:
    count = len(projector.sequences.named)
    metres, degrees = spread(projector.poses("gt", projector.settings.target), projector.sequences.codes, count)
    moving = (metres > STILL[0]) | (degrees > STILL[1])
    several = np.bincount(projector.sequences.codes[projector.poses("gt", projector.settings.target).ok]) > 1
    facts["sensor_stands_still"] = int(not moving.any() and bool(several.any()))
    facts["true_camera_spread"] = {"metres": float(metres.max(initial=0)), "degrees": float(degrees.max(initial=0))}
    if not moving.any():
        return None
    worst = shown(projector.sequences.named[int(np.argmax(metres))].sequence, 80)
    evidence = (
        f"true {projector.settings.target} cameras move in {int(moving.sum())} of {count} sequences, by up to "
        f"{metres.max():.3f} m and {degrees.max():.1f} degrees (farthest in {worst})"
    )
    if projector.settings.reference == "per_frame":
        return Finding("moving-true-cameras", "info", "cameras", evidence, "every frame is taken in its own frame here")
    remedy = "a frame that follows the person has no fixed sensor: use --reference per_frame, or --variant strict"
    return Finding("moving-true-cameras", "warning", "cameras", evidence, remedy)


def _sensitivity(projector: Projector, seed: int, facts: dict[str, Any], most: int) -> Finding | None:
    """Project through randomly chosen reference frames and see how far the mean error moves."""
    if projector.settings.reference not in ("first", "medoid"):
        return None
    rng = generator(seed, "skeleton", "reference")
    rows = _drawn(projector, rng, most)
    target = projector.settings.target
    truth, prediction = projector.poses("gt", target), projector.poses("pred", target)
    codes = projector.sequences.codes
    usable = np.flatnonzero(truth.ok & prediction.ok)
    usable = usable[np.isin(codes[usable], np.unique(codes[rows]))]
    rows = rows[np.isin(codes[rows], np.unique(codes[usable]))]
    if not len(rows) or len(np.unique(codes[usable])) == len(usable):
        return None
    size, own = int(codes.max()) + 1, codes[rows]
    sides = (truth.rotations, truth.translations), (prediction.rotations, prediction.translations)
    errors = []
    for _ in range(DRAWS):
        at = _choice(usable, codes, size, rng)[own]
        gaps = rigid.gaps(projector.file.truth, projector.file.prediction, rows, sides, at)
        errors.append(float(gaps.mean()))
    facts[DRAWN] = errors
    return sensitivity(errors, len(rows), facts)


def sensitivity(errors: Sequence[float], samples: int, facts: dict[str, Any]) -> Finding | None:
    """Say how far the mean error of some samples moves with the reference frames that were drawn."""
    low, high = min(errors), max(errors)
    facts["reference_sensitivity"] = {"low_m": low, "high_m": high, "draws": DRAWS, "samples": samples}
    if high - low < 0.001:
        return None
    evidence = (
        f"the choice of reference frames moves MPJPE of the plain projection between {1000 * low:.1f} and "
        f"{1000 * high:.1f} mm ({DRAWS} random choices, {samples} samples)"
    )
    remedy = "use --reference mean or per_frame, and report the spread"
    return Finding("reference-sensitivity", "warning", "reference", evidence, remedy)


def _drawn(projector: Projector, rng: np.random.Generator, most: int) -> Array:
    """Return kept samples of whole sequences, at least ``most`` if there are so many."""
    kept = np.flatnonzero(projector.reasons == KEPT)
    if len(kept) <= most:
        return kept
    codes = projector.sequences.codes[kept]
    order = rng.permutation(np.unique(codes))
    sizes = np.bincount(codes, minlength=len(projector.sequences.named))[order]
    chosen = order[: int(np.searchsorted(np.cumsum(sizes), most)) + 1]
    return kept[np.isin(codes, chosen)]


def _choice(usable: Array, codes: Array, size: int, rng: np.random.Generator) -> Array:
    """Return one usable sample of every sequence at random, by code; -1 where there is none."""
    shuffled = rng.permutation(usable)
    rows = np.full(size, -1)
    rows[codes[shuffled]] = shuffled
    return rows


def _apart(projector: Projector) -> Finding | None:
    """Count sequences whose two sides take their reference from different frames."""
    if projector.settings.reference != "first":
        return None
    target = projector.settings.target
    firsts = [projector.first(side, target) for side in ("gt", "pred")]
    both = (firsts[0] >= 0) & (firsts[1] >= 0)
    different = np.flatnonzero(both & (firsts[0] != firsts[1]))
    if not len(different):
        return None
    names = [projector.sequences.named[code].sequence for code in different]
    evidence = f"truth and prediction take their reference camera from different frames in {some(names)}"
    return Finding("references-apart", "warning", "reference", evidence, "use --reference medoid or per_frame")


def _units(projector: Projector) -> Finding | None:
    kept = np.flatnonzero(projector.reasons == KEPT)
    rows = kept[:: max(len(kept) // MOST, 1)]
    if not len(rows):
        return None
    seen = np.ones(projector.file.truth[rows].shape[:2], dtype=bool)
    sizes = {
        name: float(np.median(kinematics.extents(side[rows].astype(np.float64), seen)))
        for name, side in (("truth", projector.file.truth), ("prediction", projector.file.prediction))
    }
    if max(sizes.values()) <= LARGEST_EXTENT and max(sizes.values()) < 100 * max(min(sizes.values()), 1e-12):
        return None
    text = ", ".join(f"{name} {size:.4g}" for name, size in sizes.items())
    evidence = f"median extent of a skeleton: {text}; metres are expected, and nothing was converted"
    return Finding("suspicious-units", "warning", "keypoints", evidence, "divide millimetres by 1000 before saving")


def _smoothed(projector: Projector) -> Finding | None:
    if projector.settings.window == 1 or projector.settings.smoothed not in ("gt", "both"):
        return None
    evidence = f"the truth was smoothed over {projector.settings.window} samples, which changes the target"
    return Finding("smoothed-truth", "warning", "smoothing", evidence, "smooth the prediction alone: --smooth-on pred")


def _merged(projector: Projector) -> Finding | None:
    repeated = projector.sequences.repeated()
    bad = np.flatnonzero(repeated)
    if not len(bad):
        return None
    names = [projector.sequences.named[code].sequence for code in bad]
    evidence = f"{int(repeated.sum())} samples repeat a frame number of their sequence: {some(names)}"
    remedy = "several recordings were taken for one: name them apart with --group-by"
    return Finding("merged-sequences", "warning", "sample ids", evidence, remedy)


def _invariance(projector: Projector, tracker: Tracker) -> tuple[float | None, float | None]:
    """Return how far PA-MPJPE of samples moves under projection, and pelvis-centred MPJPE without camera translation.

    None where smoothing or fusion change the shape.
    """
    if projector.settings.window > 1 or tracker.deviation > EFFECT_M:
        return None, None
    kept = np.flatnonzero(projector.reasons == KEPT)
    rows = kept[:: max(len(kept) // MOST, 1)]
    if not len(rows):
        return None, None
    truth, prediction = (side[rows].astype(np.float64) for side in (projector.file.truth, projector.file.prediction))
    found = align(truth, prediction, alignments=("similarity",))
    shape = float(np.abs(found.sums["similarity"] / found.count - tracker.errors["pa_mpjpe"][rows]).max())
    turned = [projector.turned(side, rows) for side in ("gt", "pred")]
    still = align(*turned, alignments=("root",), pelvis=tracker.root)
    return shape, float(np.abs(still.sums["root"] / still.count - tracker.errors["pelvis_mpjpe"][rows]).max())


@dataclass(frozen=True)
class Apart:
    """How far cameras of one sequence differ at most, in metres and degrees by side, and how many samples have none."""

    spread: Mapping[str, tuple[float, float]]
    lost: int


def apart(projector: Projector) -> Apart:
    """Measure what the strict variant does about cameras."""
    count = len(projector.sequences.named)
    sides = {}
    for side in ("pred", "gt"):
        poses = projector.poses(side, projector.settings.target)
        metres, degrees = spread(poses, projector.sequences.codes, count)
        sides[side] = float(metres.max(initial=0)), float(degrees.max(initial=0))
    return Apart(sides, int((projector.reasons == NO_REFERENCE).sum()))


def differs(settings: Settings, found: Apart) -> list[str]:
    """Say what the strict variant does otherwise than the published one, with what it is about in this file."""
    said = []
    if settings.reference == "per_frame":
        sides = [
            f"{name} ones by up to {found.spread[side][0]:.3f} m and {found.spread[side][1]:.1f} degrees"
            for side, name in (("pred", "predicted"), ("gt", "true"))
        ]
        said.append(
            "strict takes every frame in its own camera; published takes the first camera of a sequence for all its "
            f"frames, so that they share its error. {settings.target} cameras of one sequence differ: "
            + "; ".join(sides)
        )
        said.append(
            f"strict drops {found.lost} samples that have no camera of their own; published borrows one where it can"
        )
    if settings.mode == "multi_sensor" and settings.rig == "robust":
        said.append("strict calibrates sensors by a robust mean over frames; published cancels the calibration out")
    if settings.by_frame and settings.reference == "first":
        said.append("strict takes the first camera by frame number, published by place in the file")
    return said
