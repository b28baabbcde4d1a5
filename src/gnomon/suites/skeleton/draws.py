"""Mean errors through reference frames that are drawn at random: how much hangs on which frame is the first."""

from __future__ import annotations

from typing import Any

import numpy as np

from gnomon.core.tallies import Array
from gnomon.numerics import rigid
from gnomon.suites.skeleton.files import KEPT
from gnomon.suites.skeleton.projection import Projector

DRAWS = 64


def drawn(projector: Projector, rng: np.random.Generator, most: int) -> dict[str, Any]:
    """Project samples of whole sequences, at least ``most`` if there are so many, through frames chosen at random.

    Returns
    -------
    ``draws``, the mean error of every draw; ``drawn``, the samples that they are means of; ``choices``, the sequences
    with more than one frame to choose from. Nothing where references are not single frames, or no sample has one.
    """
    if projector.settings.reference not in ("first", "medoid"):
        return {}
    rows = _whole_sequences(projector, rng, most)
    target = projector.settings.target
    truth, prediction = projector.poses("gt", target), projector.poses("pred", target)
    codes = projector.sequences.codes
    usable = np.flatnonzero(truth.ok & prediction.ok)
    usable = usable[np.isin(codes[usable], np.unique(codes[rows]))]
    rows = rows[np.isin(codes[rows], np.unique(codes[usable]))]
    if not len(rows):
        return {}
    size, own = int(codes.max()) + 1, codes[rows]
    choices = int((np.bincount(codes[usable]) > 1).sum())
    sides = (truth.rotations, truth.translations), (prediction.rotations, prediction.translations)
    errors = []
    for _ in range(DRAWS if choices else 1):
        at = _choice(usable, codes, size, rng)[own]
        gaps = rigid.gaps(projector.file.truth, projector.file.prediction, rows, sides, at)
        seen = projector.file.seen
        errors.append(float(gaps.mean() if seen is None else gaps[seen[rows]].mean()))
    return {"draws": tuple(errors * (DRAWS // len(errors))), "drawn": len(rows), "choices": choices}


def _whole_sequences(projector: Projector, rng: np.random.Generator, most: int) -> Array:
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
