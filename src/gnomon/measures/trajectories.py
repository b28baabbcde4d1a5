"""Forecasts of moving joints: how far the predicted positions are from the true ones, over steps into the future.

Conventions
-----------
A sample is a number of steps, each with the same joints in 3D, in metres and in one coordinate frame for truth and
prediction. A mask ``(n, steps, joints)`` says which true positions count; the others may hold anything.

Measures
--------
mpjpe
    Mean distance over all positions that count. Nothing is aligned.
final_error
    The same over the last step alone.

Undefined cases: no position counts (in the last step).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.ledgers import Ledger
from gnomon.core.measure import Direction, Measure, Scored
from gnomon.core.signals import Skeletons, same_frame
from gnomon.core.tallies import Array, Field, Tallies, Totals
from gnomon.measures.accumulate import Accumulator, keep_rows, score_function
from gnomon.measures.tasks import family, named
from gnomon.numerics.folding import fold
from gnomon.numerics.foreign import to_native

LAYOUT = (
    Field("error", ("step",), "sum", "m"),
    Field("joints", ("step",)),
    Field("final", (), "sum", "m"),
    Field("final_joints"),
    Field("n"),
)


@dataclass(frozen=True, eq=False)
class Trajectories(Skeletons):
    """Skeletons of which every ``steps`` in a row are one sample: ``joints`` are ``(n * steps, J, 3)``."""

    steps: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if type(self.steps) is not int or self.steps < 1 or len(self.joints) % self.steps:
            raise InputError(f"Trajectories: expected a number of steps that divides {len(self.joints)} rows")

    def __len__(self) -> int:
        return len(self.joints) // self.steps

    @staticmethod
    def of(positions: Any, valid: Any = None, frame: str = "world") -> Trajectories:
        """Make them from positions ``(n, steps, joints, 3)`` and a mask ``(n, steps, joints)``."""
        array = np.asarray(to_native(positions, "positions"))
        if array.ndim != 4 or array.shape[3] != 3 or not array.shape[1]:
            raise InputError(f"Trajectories: expected positions (n, steps, joints, 3), but got {array.shape}")
        n, steps, joints, _ = array.shape
        mask = None if valid is None else np.asarray(to_native(valid, "mask"))
        if mask is not None and mask.shape != array.shape[:3]:
            raise InputError(f"Trajectories: expected a mask {array.shape[:3]}, but got {mask.shape}")
        flat = None if mask is None else mask.reshape(n * steps, joints)
        return Trajectories(array.reshape(n * steps, joints, 3), flat, frame=frame, steps=steps)


def tally_cases(truth: Trajectories, prediction: Trajectories, case: Array, n_cases: int) -> Tallies:
    """Tally many cases in one pass; ``case`` holds the case of each sample."""
    _check(truth, prediction)
    steps, width, seen = truth.steps, truth.joints.shape[1], np.asarray(truth.valid)
    codes = np.asarray(case, dtype=np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        apart = np.linalg.norm(np.subtract(prediction.joints, truth.joints, dtype=np.float64), axis=2)
    if not np.isfinite(apart[seen]).all():
        raise InputError("truth and prediction hold coordinates too large to be squared: expected metres")
    distances = np.where(seen, apart, np.nan).reshape(len(truth), steps * width)
    sums, counts, _ = fold(distances, codes, n_cases, np.ones(1))
    error = np.array([math.fsum(row) for row in sums.reshape(n_cases * steps, width).tolist()])
    error, joints = error.reshape(n_cases, steps), counts.reshape(n_cases, steps, width).sum(axis=2)
    return Tallies(
        LAYOUT,
        {"step": tuple(str(step + 1) for step in range(steps))},
        {
            "error": error,
            "joints": joints,
            "final": error[:, -1],
            "final_joints": joints[:, -1],
            "n": np.bincount(codes[~np.isnan(distances).all(axis=1)], minlength=n_cases),
        },
    )


@dataclass(frozen=True)
class _Forecast(Measure):
    """Base of the measures over trajectories; ``n`` is the number of samples with a position that counts."""

    task: str = ""
    signal: ClassVar[type] = Trajectories
    family: ClassVar[str] = "trajectories"
    layout: ClassVar[tuple[Field, ...]] = LAYOUT
    direction: ClassVar[Direction] = "down"
    bounds: ClassVar[tuple[float, float]] = (0.0, math.inf)
    unit: ClassVar[str] = "m"

    def __post_init__(self) -> None:
        object.__setattr__(self, "family", family("trajectories", self.task))

    def tally(self, truth: Trajectories, prediction: Trajectories) -> Tallies:
        """Sum one case."""
        return tally_cases(truth, prediction, np.zeros(len(truth), dtype=np.int64), 1)

    def identities(self, tallies: Tallies, ledgers: Mapping[str, Ledger]) -> list[str]:
        """Check that sums can come from distances."""
        del ledgers
        f, wrong = tallies.fields, []
        if (f["error"] < 0).any() or (f["final"] < 0).any():
            wrong.append("a sum of distances is negative")
        if (f["error"][f["joints"] == 0] != 0).any() or (f["final"][f["final_joints"] == 0] != 0).any():
            wrong.append("distances of positions that do not count")
        if (f["final_joints"][:, np.newaxis] > f["joints"].max(axis=1, initial=0, keepdims=True)).any():
            wrong.append("the last step has more positions than any step")
        return wrong


@dataclass(frozen=True)
class TrajectoryError(_Forecast):
    """Mean distance over all steps."""

    title: ClassVar[str] = "mean joint error of forecasts"

    @property
    def name(self) -> str:
        """Column key."""
        return named("mpjpe", self.task)

    def score(self, totals: Totals, frozen: Array | None = None) -> Scored:
        """Distances over positions."""
        del frozen
        return Scored.ratio(totals["error"].sum(axis=-1), totals["joints"].sum(axis=-1))

    def why(self, totals: Totals) -> str:
        """Nothing to measure."""
        del totals
        return "no position counts"


@dataclass(frozen=True)
class FinalError(_Forecast):
    """Mean distance at the last step."""

    title: ClassVar[str] = "mean joint error of the last step"

    @property
    def name(self) -> str:
        """Column key."""
        return named("final_error", self.task)

    def score(self, totals: Totals, frozen: Array | None = None) -> Scored:
        """Distances over positions of the last step."""
        del frozen
        return Scored.ratio(totals["final"], totals["final_joints"])

    def why(self, totals: Totals) -> str:
        """Nothing to measure."""
        return "no position of the last step counts" if totals["joints"].any() else "no position counts"


MEASURES: tuple[Measure, ...] = (TrajectoryError(), FinalError(), FinalError("forecast"))


def evaluate(truth: Any, prediction: Any, *, mask: Any = None) -> dict[str, Any]:
    """Score forecasts ``(n, steps, joints, 3)`` in metres; ``mask`` ``(n, steps, joints)`` says which positions count.

    >>> truth = [[[[0, 0, 0]], [[0, 0, 1.0]]]]
    >>> result = evaluate(truth, [[[[0, 0, 0.1]], [[0, 0, 1.3]]]])
    >>> round(result["mpjpe"], 6), round(result["final_error"], 6), [round(e, 6) for e in result["per_step"]]
    (0.2, 0.3, [0.1, 0.3])
    """
    totals = TrajectoryError().tally(Trajectories.of(truth, mask), Trajectories.of(prediction)).total()
    undefined: dict[str, str] = {}
    result: dict[str, Any] = {}
    for name, measure in (("mpjpe", TrajectoryError()), ("final_error", FinalError())):
        scored = measure.score(totals)
        result[name] = float(scored.values) if bool(scored.defined) else None
        if result[name] is None:
            undefined[name] = measure.why(totals)
    each = Scored.ratio(totals["error"], totals["joints"])
    pairs = list(zip(each.values.tolist(), each.defined.tolist(), strict=True))
    undefined |= {f"per_step.{step}": "no position counts" for step, (_, known) in enumerate(pairs) if not known}
    steps = [value if known else None for value, known in pairs]
    return {**result, "per_step": steps, "n": int(totals["n"]), "undefined": undefined}


def accumulate() -> Accumulator[Any]:
    """Score forecasts that come in parts; ``update(truth, prediction, mask=...)``. All positions are kept.

    >>> truth, prediction = [[[[0, 0, 0]], [[0, 0, 1.0]]]], [[[[0, 0, 0]], [[0, 0, 1.5]]]]
    >>> accumulate().update(truth, prediction).update(truth, truth).compute()["final_error"]
    0.25
    """
    return keep_rows(evaluate)


mpjpe = score_function(evaluate, "mpjpe", "Mean distance of forecast from true positions over all steps, metres.")
final_error = score_function(evaluate, "final_error", "Mean distance at the last step, metres.")


def _check(truth: Trajectories, prediction: Trajectories) -> None:
    """Refuse sides that cannot be compared."""
    same_frame(truth, prediction)
    if truth.joints.shape != prediction.joints.shape or truth.steps != prediction.steps:
        raise InputError(
            f"truth has {truth.steps} steps {truth.joints.shape} and prediction {prediction.steps} "
            f"{prediction.joints.shape}: expected the same"
        )
    missing = np.asarray(truth.valid) & ~np.asarray(prediction.valid)
    if missing.any():
        row, joint = np.argwhere(missing)[0].tolist()
        sample, step = divmod(row, truth.steps)
        raise InputError(f"prediction lacks joint {joint} at step {step + 1} of sample {sample}, which the truth has")
