"""Errors of camera poses: rotation, translation and the place of the camera.

Conventions
-----------
A pose is encoded as ``[Tx, Ty, Tz, qx, qy, qz, qw, ...]``: the translation of ``x_camera = R x_world + T`` in metres,
and the rotation R as a quaternion, scalar last, of any length. What follows (fields of view) is not looked at.

Measures
--------
rotation     angle of the rotation between both, degrees: the geodesic distance (Huynh, 2009)
translation  |T_prediction - T_truth|, metres; it depends on where the origin of the world is
centre       distance between the cameras' places -R^T T in the world, metres

Undefined cases
---------------
A pose whose translation is not finite, or whose quaternion is not finite or shorter than 1e-12, is left out with its
partner and counted. Without any pair everything is undefined.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.tallies import Array
from gnomon.measures.accumulate import Accumulator, keep_rows, score_function
from gnomon.numerics import rigid
from gnomon.numerics.foreign import to_native
from gnomon.numerics.rotations import SHORTEST

NO_PAIR = "no pair of poses is valid"


@dataclass(frozen=True)
class PoseErrors:
    """Errors per pair; NaN where one side is no pose."""

    rotation_deg: Array
    translation_m: Array
    centre_m: Array
    valid_truth: Array
    valid_prediction: Array

    @property
    def valid(self) -> Array:
        """Pairs of which both sides are poses."""
        return np.asarray(self.valid_truth & self.valid_prediction)


def pose_errors(truth: Any, prediction: Any) -> PoseErrors:
    """Return the errors of encoded poses ``(..., 7)`` or longer, pair by pair."""
    true, predicted = _encoded(truth, "truth"), _encoded(prediction, "prediction")
    if true.shape[:-1] != predicted.shape[:-1]:
        raise InputError(f"truth has poses {true.shape[:-1]} and prediction {predicted.shape[:-1]}: expected the same")
    shape = true.shape[:-1]
    first, second = (side.reshape(-1, side.shape[-1])[:, :7] for side in (true, predicted))
    angle, moved, placed, fine = rigid.apart(first, second, SHORTEST)
    rotation, translation, centre = (values.reshape(shape) for values in (np.degrees(angle), moved, placed))
    return PoseErrors(rotation, translation, centre, fine[0].reshape(shape), fine[1].reshape(shape))


def evaluate(truth: Any, prediction: Any) -> dict[str, Any]:
    """Summarise the errors of camera poses.

    Parameters
    ----------
    truth, prediction
        Encoded poses, ``(N, 7)`` or longer, for example ``(N, 9)`` with fields of view.

    Returns
    -------
    dict
        ``rotation_deg``, ``translation_m`` and ``centre_m``, each with ``mean``, ``median`` and ``max``; ``n`` pairs;
        ``dropped`` pairs by reason; ``undefined``.

    Examples
    --------
    >>> result = evaluate([[0, 0, 0, 0, 0, 0, 1.0]], [[3, 4, 0, 0, 0, 1.0, 1.0]])
    >>> result["translation_m"]["mean"], round(result["rotation_deg"]["mean"], 9)
    (5.0, 90.0)
    """
    found = pose_errors(truth, prediction)
    valid = found.valid
    undefined: dict[str, str] = {}
    result: dict[str, Any] = {}
    for name in ("rotation_deg", "translation_m", "centre_m"):
        result[name] = _summary(getattr(found, name)[valid], name, undefined)
    lost = {
        "invalid pose in truth": int((~found.valid_truth).sum()),
        "invalid pose in prediction": int((found.valid_truth & ~found.valid_prediction).sum()),
    }
    dropped = {reason: count for reason, count in lost.items() if count}
    return {**result, "n": int(valid.sum()), "dropped": dropped, "undefined": undefined}


def accumulate() -> Accumulator[Any]:
    """Summarise the errors of camera poses that come in parts; medians need all of them, so all are kept.

    >>> still, moved = [[0, 0, 0, 0, 0, 0, 1.0]], [[3, 4, 0, 0, 0, 0, 1.0]]
    >>> accumulate().update(still, moved).update(still, still).compute()["translation_m"]["max"]
    5.0
    """
    return keep_rows(evaluate)


rotation_deg_mean = score_function(evaluate, "rotation_deg.mean", "Mean angle between true and predicted rotation.")
rotation_deg_median = score_function(evaluate, "rotation_deg.median", "Median angle between the rotations.")
translation_m_mean = score_function(evaluate, "translation_m.mean", "Mean distance between the translations.")
translation_m_median = score_function(evaluate, "translation_m.median", "Median distance between the translations.")
centre_m_mean = score_function(evaluate, "centre_m.mean", "Mean distance between the camera centres.")
centre_m_median = score_function(evaluate, "centre_m.median", "Median distance between the camera centres.")


def _summary(values: Array, where: str, undefined: dict[str, str]) -> dict[str, float | None]:
    if not len(values):
        undefined.update({f"{where}.{name}": NO_PAIR for name in ("mean", "median", "max")})
        return {"mean": None, "median": None, "max": None}
    return {"mean": float(values.mean()), "median": float(np.median(values)), "max": float(values.max())}


def _encoded(values: Any, where: str) -> Array:
    try:
        array = np.asarray(to_native(values, where))
        array = array if array.dtype.kind == "f" else array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{where}: expected encoded poses (..., 7) or longer: {error}") from error
    if array.ndim < 2 or array.shape[-1] < 7:
        raise InputError(f"{where}: expected encoded poses [T, q, ...] of shape (N, 7) or longer, got {array.shape}")
    return array
