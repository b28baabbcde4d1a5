"""What a reader of these errors should know: each finding with its number.

A finding is said of what was seen (:mod:`gnomon.suites.skeleton.seen`), be it in a file or in all of its shards: the
sentence is the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gnomon.core.errors import some
from gnomon.core.evidence import Finding
from gnomon.intake.faults import shown
from gnomon.measures.plausibility import BODY_M
from gnomon.measures.pose import LARGEST_RATIO
from gnomon.suites.skeleton.draws import DRAWS
from gnomon.suites.skeleton.seen import EFFECT_M, EXTENTS, NAMED, Seen, asked
from gnomon.suites.skeleton.settings import Settings
from gnomon.suites.skeleton.spreads import Spreads

LARGEST_EXTENT = 10.0
"""Metres that nearly all predicted bodies measure at most."""
MOVED_M = 0.001
"""Metres between the mean errors of two draws of reference frames that are worth a word."""


@dataclass(frozen=True)
class Found:
    """Findings, and the facts that claims and reports rest on."""

    findings: tuple[Finding, ...]
    facts: dict[str, Any]


def say(settings: Settings, seen: Seen, sizes: Spreads) -> Found:
    """Say what was seen; ``sizes`` holds the distributions of :data:`gnomon.suites.skeleton.seen.EXTENTS`."""
    found = (
        _unusable(settings, seen),
        _single(seen),
        _calibrated(settings),
        _fusion(settings, seen),
        _moving(settings, seen),
        _row_order(seen),
        _sensitivity(seen),
        _apart(seen),
        _units(sizes),
        _smoothed(settings),
        _merged(seen),
    )
    return Found(tuple(item for item in found if item is not None), _facts(settings, seen))


def _facts(settings: Settings, seen: Seen) -> dict[str, Any]:
    """Return what claims and reports rest on."""
    facts: dict[str, Any] = {
        "sequences_known": int(not _unclear(seen)),
        "sensor_stands_still": int(not seen.moving and seen.several > 0),
        "true_camera_spread": {"metres": seen.farthest[0], "degrees": seen.degrees},
    }
    effective = seen.deviation_m > EFFECT_M
    if settings.mode == "multi_sensor":
        facts |= {"fusion_effective": effective, "fusion_deviation_m": seen.deviation_m}
    if seen.choices:
        low, high = min(seen.draws), max(seen.draws)
        facts["reference_sensitivity"] = {"low_m": low, "high_m": high, "draws": DRAWS, "samples": seen.drawn}
    moved = {"pa_invariance_m": seen.pa_invariance_m, "pelvis_invariance_m": seen.pelvis_invariance_m}
    return facts | {name: None if effective else value for name, value in moved.items()}


def _unusable(settings: Settings, seen: Seen) -> Finding | None:
    """Say what was looked for where nothing, or a whole modality, was found."""
    absent = [label for label, _, _ in asked(settings) if label not in seen.present]
    if not absent:
        return None
    evidence = f"no usable camera of {some(absent)}; the file names {some(seen.known) or 'no modalities'}"
    remedy = "correct the modality, the sensor index or the fields; --lidar-modality-index where cameras have no names"
    return Finding("cameras-absent", "warning" if seen.kept else "error", "cameras", evidence, remedy)


def _unclear(seen: Seen) -> bool:
    """Say whether ids make most samples sequences of their own, so that neighbours would count as independent."""
    return seen.sequences > 1 and seen.alone > seen.sequences / 2 and seen.unnamed > 0


def _single(seen: Seen) -> Finding | None:
    if not _unclear(seen):
        return None
    evidence = f"{seen.alone} of {seen.sequences} sequences hold one sample: ids do not tell sequences apart"
    remedy = "say how ids are read with --group-by '(?P<sequence>...)(?P<frame>...)'"
    return Finding("one-sample-sequences", "warning", "sample ids", evidence, remedy)


def _calibrated(settings: Settings) -> Finding | None:
    if settings.mode != "multi_sensor" or settings.rig != "gt":
        return None
    evidence = "predictions were moved between sensors by the true calibration, which a system would not have"
    return Finding("true-calibration", "info", "rig", evidence, "use --rig robust for what predictions alone can do")


def _fusion(settings: Settings, seen: Seen) -> Finding | None:
    if settings.mode != "multi_sensor" or len(settings.modalities) < 2 or not seen.kept:
        return None
    if seen.deviation_m > EFFECT_M:
        return None
    evidence = f"fusion has no effect: modalities differ by at most {seen.deviation_m:.1e} m"
    if settings.rig == "pred":
        evidence += (
            "; the rig is made of the predicted cameras themselves, so that it cancels in rig(m) H(m) = H(target)"
        )
        remedy = "use --rig robust, gt or file, or give joints by modality (pred_keypoints_<modality>)"
    else:
        evidence += "; no sample has more than one usable modality, or all agree"
        remedy = "check the names of the modalities and their cameras"
    return Finding("degenerate-fusion", "warning", "fusion", evidence, remedy)


def _moving(settings: Settings, seen: Seen) -> Finding | None:
    if not seen.moving:
        return None
    metres, _, where = seen.farthest
    evidence = (
        f"true {settings.target} cameras move in {seen.moving} of {seen.sequences} sequences, by up to {metres:.3f} m "
        f"and {seen.degrees:.1f} degrees (farthest in {shown(where, 80)})"
    )
    if settings.reference == "per_frame":
        return Finding("moving-true-cameras", "info", "cameras", evidence, "every frame is taken in its own frame here")
    remedy = "a frame that follows the person has no fixed sensor: use --reference per_frame, or --variant strict"
    return Finding("moving-true-cameras", "warning", "cameras", evidence, remedy)


def _row_order(seen: Seen) -> Finding | None:
    """Say where the order of rows in the file decides."""
    told = []
    if seen.unordered:
        where = some(seen.unordered_in, seen.unordered, show=NAMED)
        told.append(
            f"in {seen.unordered} of {seen.sequences} sequences the first camera is not that of the first frame, or "
            f"rows that decide share a frame number: {where} (unsorted ones with the same first camera do not count)"
        )
    if seen.unnumbered:
        where = some(seen.unnumbered_in, seen.unnumbered, show=NAMED)
        told.append(f"{seen.unnumbered} of {seen.sequences} sequences lack frame numbers: {where}")
    if not told:
        return None
    evidence = f"scores depend on the order of rows in the file, whose first camera is the reference: {'; '.join(told)}"
    remedy = "keep the order of the published file, or use --variant strict, which sorts rows by frame number"
    return Finding("row-order", "warning", "rows", evidence, remedy)


def _sensitivity(seen: Seen) -> Finding | None:
    """Say how far the mean error moves with the reference frames that were drawn."""
    if not seen.choices or max(seen.draws) - min(seen.draws) < MOVED_M:
        return None
    evidence = (
        f"the choice of reference frames moves MPJPE of the plain projection between {1000 * min(seen.draws):.1f} and "
        f"{1000 * max(seen.draws):.1f} mm ({DRAWS} random choices, {seen.drawn} samples)"
    )
    remedy = "use --reference mean or per_frame, and report the spread"
    return Finding("reference-sensitivity", "warning", "reference", evidence, remedy)


def _apart(seen: Seen) -> Finding | None:
    if not seen.apart:
        return None
    where = some(seen.apart_in, seen.apart, show=NAMED)
    evidence = f"truth and prediction take their reference camera from different frames in {where}"
    return Finding("references-apart", "warning", "reference", evidence, "use --reference medoid or per_frame")


def _units(sizes: Spreads) -> Finding | None:
    """Say which extents of bodies are odd though their medians are not, or those of the prediction alone."""
    found = {side: sizes.quantiles(name, (0.5, 0.95)) for side, name in EXTENTS.items()}
    if not all(found.values()):
        return None
    small, large = sorted(middle for middle, _ in found.values())
    usual = BODY_M[0] <= small and large < LARGEST_RATIO * max(small, 1e-12)
    if usual and found["truth"][1] <= BODY_M[1] and found["prediction"][1] <= LARGEST_EXTENT:
        return None
    text = "; ".join(f"{side} {middle:.4g} and {most:.4g}" for side, (middle, most) in found.items())
    evidence = f"median and 95th percentile of the extent of bodies, in metres: {text}; nothing was converted"
    return Finding(
        "suspicious-units", "warning", "keypoints", evidence, "check the joints of both sides and their unit"
    )


def _smoothed(settings: Settings) -> Finding | None:
    if settings.window == 1 or settings.smoothed not in ("gt", "both"):
        return None
    evidence = f"the truth was smoothed over {settings.window} samples, which changes the target"
    return Finding("smoothed-truth", "warning", "smoothing", evidence, "smooth the prediction alone: --smooth-on pred")


def _merged(seen: Seen) -> Finding | None:
    if not seen.repeats:
        return None
    where = some(seen.repeated_in, seen.repeated, show=NAMED)
    evidence = f"{seen.repeats} samples repeat a frame number of their sequence: {where}"
    remedy = "several recordings were taken for one: name them apart with --group-by"
    return Finding("merged-sequences", "warning", "sample ids", evidence, remedy)


def say_joints(facts: Mapping[str, Any]) -> tuple[Finding, ...]:
    """Say that nothing was projected, and which joints are approximate or left out; ``facts`` are those of a chunk."""
    found = []
    if not facts["cameras"]:
        evidence = "the input has no cameras: nothing was projected, and joints were scored as they are given"
        remedy = "give a prediction file with cameras for errors in the frame of a sensor"
        found.append(Finding("not-projected", "info", "cameras", evidence, remedy))
    if facts["approximate"]:
        near = some(facts["approximate"], show=24)
        evidence = f"joints of the prediction that were derived approximately, some cm off: {near}"
        remedy = "--match-joints exact scores only joints that are the same point of the body"
        found.append(Finding("approximate-joints", "warning", "joints", evidence, remedy))
    if facts["left_out"]:
        evidence = f"joints of the truth that were not scored: {some(facts['left_out'], show=24)}"
        found.append(Finding("joints-left-out", "info", "joints", evidence, "the prediction has no such joints"))
    return tuple(found)


def find_nothing_kept(samples: Mapping[str, Any]) -> tuple[Finding, ...]:
    """Say why nothing is scored where every sample was dropped; ``samples`` is the coverage of the run."""
    if samples["valid"]:
        return ()
    reasons = ", ".join(f"{count} {reason}" for reason, count in samples["dropped"].items())
    evidence = f"all {samples['total']} samples were dropped: {reasons}"
    return (Finding("nothing-scored", "error", "samples", evidence, "correct these fields of the file"),)


def say_differences(settings: Settings, seen: Seen) -> list[str]:
    """Say what the strict variant does otherwise than the published one, with what it is about in this file."""
    said = []
    if settings.reference == "per_frame":
        spread = {"predicted": (seen.predicted_m, seen.predicted_degrees), "true": (seen.farthest[0], seen.degrees)}
        sides = [
            f"{name} ones by up to {metres:.3f} m and {degrees:.1f} degrees"
            for name, (metres, degrees) in spread.items()
        ]
        said.append(
            "strict takes every frame in its own camera; published takes the first camera of a sequence for all its "
            f"frames, so that they share its error. {settings.target} cameras of one sequence differ: "
            + "; ".join(sides)
        )
        said.append(
            f"strict drops {seen.lost} samples that have no camera of their own; published borrows one where it can"
        )
    if settings.mode == "multi_sensor" and settings.rig == "robust":
        said.append("strict calibrates sensors by a robust mean over frames; published cancels the calibration out")
    if settings.by_frame and settings.reference == "first":
        said.append("strict takes the first camera by frame number, published by place in the file")
    return said
