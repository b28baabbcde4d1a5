"""What the systems of ``gnomon run change`` are trained on and tested on, for the audit of the split.

A sample is a scene: its case is its room, its digest is that of the comparison scan. A scan has no time axis, so all
scenes of a room read the same range, and a room on both sides of a split shows as shared and as overlapping.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gnomon.audit.split import FOLD
from gnomon.core.samples import Samples
from gnomon.suites.change.files import Scene

if TYPE_CHECKING:
    from gnomon.suites.change.running import Fold


def of(tested: Sequence[Scene], folds: Mapping[str, Fold], digest: Callable[[Path], str]) -> Samples:
    """Return the scenes of test and training; of several folds, each is tested in its own and trained on in others."""
    distinct = {fold.name: fold for fold in folds.values()}
    if len(distinct) > 1:
        rows = [(scene, FOLD, folds[scene.id].name) for scene in tested]
    else:
        (fold,) = distinct.values()
        rows = [(scene, "train", "") for scene in fold.scenes] + [(scene, "test", "") for scene in tested]
    scenes = [scene for scene, _, _ in rows]
    whole = np.tile([0.0, 1.0], (len(rows), 1))
    tags = {"room": tuple(scene.room for scene in scenes), "category": tuple(scene.category for scene in scenes)}
    if len(distinct) > 1:
        tags[FOLD] = tuple(name for _, _, name in rows)
    return Samples(
        ids=tuple(scene.id for scene in scenes),
        cases=tags["room"],
        parts=tuple(part for _, part, _ in rows),
        input_range=whole,
        target_range=whole,
        digests=tuple(digest(scene.comparison) for scene in scenes),
        tags=tags,
    )
