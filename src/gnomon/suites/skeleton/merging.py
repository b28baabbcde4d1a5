"""Fold what shards of one system say besides their tallies: findings, facts, distributions, clips to look at."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gnomon.core.evidence import Finding
from gnomon.core.ledgers import Ledger
from gnomon.measures.cameras import NO_PAIR, pose_errors
from gnomon.runs import exhibits
from gnomon.runs.variants import DIFFERS
from gnomon.suites.skeleton import findings, scoring, spreads, summaries
from gnomon.suites.skeleton.exhibits import PART, SAMPLES
from gnomon.suites.skeleton.findings import EFFECT_M, Apart

JOINTS = "joints"
DRAWN = 500
"""Samples of every shard that reference frames are drawn for."""
QUANTITIES = ("rotation_deg", "translation_m", "centre_m")
MOVING, DEGENERATE, ABSENT, SENSITIVE = (
    "moving-true-cameras",
    "degenerate-fusion",
    "cameras-absent",
    "reference-sensitivity",
)

Told = Mapping[str, Any]
"""What a shard says of one arm."""


def told(done: scoring.Measured, seed: int) -> tuple[dict[str, Any], Ledger]:
    """Return what a shard says of one arm, as plain data, and its distributions."""
    found = findings.look(done.projector, done.tracker, seed, DRAWN)
    distributions = {JOINTS: done.tracker.distances}
    cameras = {}
    for name, sides in summaries.camera_sides(done.projector).items():
        errors = pose_errors(*sides)
        own = {quantity: getattr(errors, quantity)[errors.valid] for quantity in QUANTITIES}
        distributions |= {f"{name}.{quantity}": values for quantity, values in own.items()}
        cameras[name] = {
            "n": int(errors.valid.sum()),
            "lost": [
                int((~errors.valid_truth).sum()),
                int((errors.valid_truth & ~errors.valid_prediction).sum()),
            ],
            **{q: [math.fsum(values), float(values.max(initial=0.0))] for q, values in own.items()},
        }
    seen = findings.apart(done.projector)
    plain = {
        "findings": [[f.id, f.severity, f.where, f.evidence, f.remedy] for f in found.findings],
        "facts": found.facts,
        "draws": list(found.draws),
        "samples": scoring.counts(done.projector),
        "sums": done.tracker.sums(),
        "deviation": done.tracker.deviation,
        "cameras": cameras,
        "apart": [{side: list(pair) for side, pair in seen.spread.items()}, seen.lost],
    }
    return plain, spreads.ledger(distributions)


def samples(every: Sequence[Told]) -> dict[str, Any]:
    """Return how many samples of all shards are valid, and how many were dropped for what."""
    own = [one["samples"] for one in every]
    reasons = dict.fromkeys(reason for one in own for reason in one["dropped"])
    dropped = {reason: sum(one["dropped"].get(reason, 0) for one in own) for reason in reasons}
    return {**{key: sum(one[key] for one in own) for key in ("total", "valid")}, "dropped": dropped}


def facts(every: Sequence[Told], kept: Ledger, arm: scoring.Arm, fps: float | None) -> dict[str, Any]:
    """Return the facts of a run over all shards."""
    own = [one["facts"] for one in every]
    deviation = max(one["deviation"] for one in every)
    moving = any(item[0] == MOVING for one in every for item in one["findings"])
    widest = [one["true_camera_spread"] for one in own]
    found: dict[str, Any] = {
        "sequences_known": min(one["sequences_known"] for one in own),
        "sensor_stands_still": int(not moving and any(one["sensor_stands_still"] for one in own)),
        "true_camera_spread": {key: max(one[key] for one in widest) for key in ("metres", "degrees")},
        **{key: _largest([one[key] for one in own], deviation) for key in ("pa_invariance_m", "pelvis_invariance_m")},
    }
    if arm.settled.mode == "multi_sensor":
        found |= {"fusion_effective": deviation > EFFECT_M, "fusion_deviation_m": deviation}
    _sensitivity(every, found)
    sums = {
        name: [math.fsum(one["sums"][name][0] for one in every), sum(one["sums"][name][1] for one in every)]
        for name in every[0]["sums"]
    }
    levels = spreads.quantiles(*spreads.of(kept, JOINTS), summaries.SHARES)
    found["summary"] = summaries.described(levels, sums, fps)
    found["cameras"] = {
        name: _camera(name, [one["cameras"][name] for one in every], kept) for name in every[0]["cameras"]
    }
    if arm.variant == "strict":
        widths = {
            side: (max(one["apart"][0][side][0] for one in every), max(one["apart"][0][side][1] for one in every))
            for side in every[0]["apart"][0]
        }
        found[DIFFERS] = findings.differs(arm.settled, Apart(widths, sum(one["apart"][1] for one in every)))
    return found


def found(read: Sequence[tuple[str, Told]]) -> tuple[Finding, ...]:
    """Return the findings of all shards, one of each kind; it names a shard unless all of them say the same."""
    every = [one for _, one in read]
    valid = any(one["samples"]["valid"] for one in every)
    effective = max(one["deviation"] for one in every) > EFFECT_M
    kinds: dict[str, list[tuple[str, Finding]]] = {}
    for name, one in read:
        for item in one["findings"]:
            kinds.setdefault(item[0], []).append((name, Finding(*item)))
    made = []
    for kind, items in kinds.items():
        if kind == SENSITIVE or (kind == DEGENERATE and effective):
            continue
        first = items[0][1]
        same = len(items) == len(read) and len({item.evidence for _, item in items}) == 1
        others = f" and {len(items) - 1} others" if len(items) > 1 else ""
        evidence = first.evidence if same else f"{first.evidence} (shard {items[0][0]}{others}, of {len(read)})"
        severity = "warning" if kind == ABSENT and valid else first.severity
        made.append(Finding(kind, severity, first.where, evidence, first.remedy))
    moved = _sensitivity(every, {})
    return (*made, *(() if moved is None else (moved,)))


def clips(folders: Sequence[tuple[Path, Mapping[str, str]]], most: int) -> dict[str, bytes]:
    """Return the file of the worst clips of all shards; each comes with what its cases are called in the whole."""
    if not most:
        return {}
    listings = [exhibits.listed(folder) for folder, _ in folders]
    worst = sorted(
        (-entry.badness, entry.case, place) for place, listing in enumerate(listings) for entry in listing.entries
    )
    kept: list[exhibits.Exhibit] = []
    room = SAMPLES
    for _, case, place in worst[:most]:
        folder, names = folders[place]
        one = exhibits.read(folder, case)
        room -= len(one.arrays["frames"])
        if kept and room < 0:
            break
        sequence, cut, rest = case.partition(PART)
        kept.append(exhibits.Exhibit(f"{names[sequence]}{cut}{rest}", one.data, one.arrays, one.badness, one.note))
    return {exhibits.NAME: exhibits.pack(kept, sum(listing.of for listing in listings))}


def _sensitivity(every: Sequence[Told], into: dict[str, Any]) -> Finding | None:
    """Put the draws of all shards together, each weighed with its samples."""
    drawn = [(one["draws"], one["facts"]["reference_sensitivity"]["samples"]) for one in every if one["draws"]]
    if not drawn:
        return None
    size = sum(samples for _, samples in drawn)
    errors = [math.fsum(draws[index] * samples for draws, samples in drawn) / size for index in range(len(drawn[0][0]))]
    return findings.sensitivity(errors, size, into)


def _camera(name: str, parts: Sequence[Told], kept: Ledger) -> dict[str, Any]:
    """Return what :func:`gnomon.measures.cameras.evaluate` says of all shards."""
    n = sum(part["n"] for part in parts)
    lost = [sum(part["lost"][side] for part in parts) for side in (0, 1)]
    reasons = ("invalid pose in truth", "invalid pose in prediction")
    told: dict[str, Any] = {}
    for quantity in QUANTITIES:
        middle = spreads.quantiles(*spreads.of(kept, f"{name}.{quantity}"), (0.5,))
        told[quantity] = {
            "mean": math.fsum(part[quantity][0] for part in parts) / n if n else None,
            "median": middle[0] if middle else None,
            "max": max(part[quantity][1] for part in parts) if n else None,
        }
    undefined = {} if n else {f"{q}.{what}": NO_PAIR for q in QUANTITIES for what in ("mean", "median", "max")}
    dropped = {reason: count for reason, count in zip(reasons, lost, strict=True) if count}
    return {**told, "n": n, "dropped": dropped, "undefined": undefined}


def _largest(values: Sequence[float | None], deviation: float) -> float | None:
    known = [value for value in values if value is not None]
    return None if not known or deviation > EFFECT_M else max(known)
