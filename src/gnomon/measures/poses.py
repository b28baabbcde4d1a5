"""Single scores of skeletons as functions, and skeletons that come in parts; see :mod:`gnomon.measures.pose`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gnomon.measures.accumulate import Accumulator, keep_rows, score_function
from gnomon.measures.pose import evaluate


def accumulate(
    *,
    pelvis: int | tuple[int, int] = 0,
    fps: float | None = None,
    bones: Sequence[tuple[int, int]] | None = None,
    unit: str = "",
) -> Accumulator[Any]:
    """Score skeletons that come in parts: ``update(truth, prediction, mask=..., sequence=...)``.

    The options are those of :func:`gnomon.measures.pose.evaluate`. A part goes on where the one before it ended; where
    it is another recording, give ``sequence``. Medians need all distances, so everything is kept.

    >>> still = [[[0, 0, 0], [0, 0, 1.0]]]
    >>> accumulate().update(still, [[[0, 0, 0.1], [0, 0, 1.1]]]).update(still, still).compute()["mpjpe"]
    0.05
    """
    return keep_rows(evaluate, pelvis=pelvis, fps=fps, bones=bones, unit=unit)


mpjpe = score_function(evaluate, "mpjpe", "Mean per-joint position error, metres.")
pa_mpjpe = score_function(evaluate, "pa_mpjpe", "Mean joint error after a similarity alignment (Procrustes), metres.")
pelvis_mpjpe = score_function(evaluate, "pelvis_mpjpe", "Mean joint error with the pelvis of both sides at 0, metres.")
n_mpjpe = score_function(evaluate, "n_mpjpe", "Mean joint error after root and scale alignment, metres.")
rigid_mpjpe = score_function(evaluate, "rigid_mpjpe", "Mean joint error after a rigid alignment, metres.")
root_error = score_function(evaluate, "root_error", "Mean distance of the roots, metres.")
median = score_function(evaluate, "median", "Median joint error, metres.")
pck_150 = score_function(evaluate, "pck.150", "Share of joints within 150 mm.")
auc_0_150 = score_function(evaluate, "auc.0-150", "Mean share of joints within 0 to 150 mm.")
velocity = score_function(evaluate, "velocity", "Mean error of the velocity of joints.")
acceleration = score_function(evaluate, "acceleration", "Mean error of the acceleration of joints.")
jitter = score_function(evaluate, "jitter", "Mean error of the jerk of joints.")
bone_length = score_function(evaluate, "bone_length", "Mean error of the length of bones, metres.")
