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
from gnomon.suites.skeleton import findings, scoring, seen, spreads, summaries
from gnomon.suites.skeleton.exhibits import PART, SAMPLES
from gnomon.suites.skeleton.findings import Apart
from gnomon.suites.skeleton.seen import Seen

JOINTS = "joints"
DRAWN = 500
"""Samples of every shard that reference frames are drawn for."""
QUANTITIES = ("rotation_deg", "translation_m", "centre_m")

Told = Mapping[str, Any]
"""What a shard says of one arm."""


def told(done: scoring.Measured, seed: int) -> tuple[dict[str, Any], Ledger]:
    """Return what a shard says of one arm, as plain data, and its distributions."""
    distributions = {JOINTS: done.tracker.distances, **seen.extents(done.projector)}
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
    apart = findings.apart(done.projector)
    # Shards that are alike would choose alike in one stream, and their mean would seem to move further than it does.
    stream = done.projector.sequences.named[0]
    plain = {
        "seen": seen.see(done.projector, done.tracker, seed, DRAWN, stream).record(),
        "samples": scoring.counts(done.projector),
        "sums": done.tracker.sums(),
        "cameras": cameras,
        "apart": [{side: list(pair) for side, pair in apart.spread.items()}, apart.lost],
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
    found = _said(every, kept, arm).facts
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


def found(every: Sequence[Told], kept: Ledger, arm: scoring.Arm) -> tuple[Finding, ...]:
    """Return the findings of a run over all shards: those that the data would have in one file."""
    return _said(every, kept, arm).findings


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


def _said(every: Sequence[Told], kept: Ledger, arm: scoring.Arm) -> findings.Found:
    """Judge what was seen in all shards as one."""
    return findings.say(arm.settled, seen.united([Seen.of(one["seen"]) for one in every]), kept)


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
