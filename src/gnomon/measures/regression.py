"""Regression of vectors: how far predicted values are from the true ones, and how much of their spread is explained.

Conventions
-----------
Truth and prediction are ``(n, dimensions)``, truth first, row i of one side belonging to row i of the other; ``(n,)``
is one dimension. A mask says which values count; the others may hold anything. Nothing is scaled.

Measures
--------
r2
    1 - sum of squared errors / sum of squared distances of the truth from its mean, where each dimension has its own
    mean and both sums go over all dimensions: a dimension counts by its variance in its own unit. Without constant
    dimensions it is ``r2_score(multioutput="variance_weighted")`` of scikit-learn, which leaves the errors in constant
    dimensions out; here they count.
r2_per_dimension, r2_mean
    The same of each dimension by itself, and the plain mean of those that have one: every dimension counts alike.
mae, rmse
    Mean size of the error, and root of the mean squared error, over all values.

Undefined cases
---------------
No values: everything. A dimension whose truth is constant (as is that of a single sample) has no r2 and is left out of
the mean; where all are constant, r2 is undefined.

Tallies hold sums about a constant of each dimension, ``about``, which is 0 by default. It cancels in every score, but
where the truth is far from it as compared with its spread, digits are lost: a spread of less than 16 units in the last
place of the sum of squares counts as none. :func:`evaluate` takes the first true value of each dimension.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.ledgers import Ledger
from gnomon.core.measure import Direction, Measure, Scored, score_by_name
from gnomon.core.signals import Vectors, same_frame
from gnomon.core.tallies import Array, Field, Tallies, Totals
from gnomon.measures.accumulate import Accumulator, score_function
from gnomon.measures.tasks import family, named
from gnomon.numerics.foreign import to_native
from gnomon.numerics.moments import Moments, Running, fold

LAYOUT = (
    Field("values", ("dimension",)),
    Field("value", ("dimension",), "sum"),
    Field("square", ("dimension",), "sum"),
    Field("error_square", ("dimension",), "sum"),
    Field("error", ("dimension",), "sum"),
    Field("n"),
)
SUMS = ("value", "square", "error_square", "error")
NOISE = 16 * float(np.finfo(np.float64).eps)
NO_VALUES = "no values"
CONSTANT = "the truth does not vary"


@dataclass(frozen=True, eq=False)
class MaskedVectors(Vectors):
    """Vectors of which only some values count: ``valid`` ``(N, D)``; the others may hold anything, and hold 0 then."""

    valid: Array | None = None

    def __post_init__(self) -> None:
        values = np.asarray(self.values)
        valid = np.ones(values.shape, np.bool_) if self.valid is None else np.array(self.valid)
        if valid.shape != values.shape or valid.dtype != np.bool_:
            raise InputError(
                f"MaskedVectors.valid: expected booleans {values.shape}, but got {valid.dtype} {valid.shape}"
            )
        valid.setflags(write=False)
        object.__setattr__(self, "values", np.where(valid, values, 0))
        object.__setattr__(self, "valid", valid)
        super().__post_init__()


def tally_cases(truth: Vectors, prediction: Vectors, case: Array, n_cases: int, about: Array | None = None) -> Tallies:
    """Tally many cases in one pass; ``case`` holds the case of each row, ``about`` a constant of each dimension."""
    seen = _shown(truth, prediction)
    width = truth.values.shape[1]
    centre = np.zeros(width) if about is None else np.asarray(about, dtype=np.float64)
    found = _folded(truth.values, prediction.values, np.asarray(case), n_cases, about=centre, seen=seen)
    rows = case if seen is None else np.asarray(case)[seen.any(axis=1)]
    return Tallies(
        LAYOUT,
        {"dimension": tuple(map(str, range(width)))},
        {
            "values": found.weight.astype(np.int64),
            **{name: getattr(found, name) for name in SUMS},
            "n": np.bincount(rows, minlength=n_cases),
        },
    )


@dataclass(frozen=True)
class _Regression(Measure):
    """Base of the measures over vectors; ``n`` is the number of rows with a value that counts."""

    task: str = ""
    about: tuple[float, ...] = ()
    """The constant of each dimension, or one for all; 0 where none is given."""
    signal: ClassVar[type] = Vectors
    family: ClassVar[str] = "regression"
    layout: ClassVar[tuple[Field, ...]] = LAYOUT

    def __post_init__(self) -> None:
        about = tuple(map(float, self.about))
        if not all(map(math.isfinite, about)):
            raise InputError("about: expected finite numbers")
        mark = f"_{hashlib.sha256(repr(about).encode()).hexdigest()[:8]}" if about else ""
        object.__setattr__(self, "about", about)
        object.__setattr__(self, "family", family("regression", self.task) + mark)

    def tally(self, truth: Vectors, prediction: Vectors) -> Tallies:
        """Sum one case."""
        width = truth.values.shape[1]
        if len(self.about) not in (0, 1, width):
            raise InputError(f"about: expected one number, or one for each of {width}, but got {len(self.about)}")
        about = np.broadcast_to(np.array(self.about or (0.0,)), (width,))
        return tally_cases(truth, prediction, np.zeros(len(truth), dtype=np.int64), 1, about)

    def identities(self, tallies: Tallies, ledgers: Mapping[str, Ledger]) -> list[str]:
        """Check that sums can come from values: no negative squares, and no mean above the root of the mean square."""
        del ledgers
        f, wrong = tallies.fields, []
        if any((f[name] < 0).any() for name in ("square", "error_square", "error")):
            wrong.append("a sum of squares or sizes is negative")
        for size, square, what in (("value", "square", "values"), ("error", "error_square", "errors")):
            if (f[size] ** 2 > f["values"] * f[square] * (1 + NOISE)).any():
                wrong.append(f"the sum of {what} is larger than its squares allow")
        if (f["values"] > f["n"][:, np.newaxis]).any():
            wrong.append("a dimension has more values than there are rows")
        return wrong

    def why(self, totals: Totals) -> str:
        """No values, or none that vary."""
        return CONSTANT if totals["values"].any() else NO_VALUES


@dataclass(frozen=True)
class R2(_Regression):
    """Share of the squared distances from the means of the dimensions that is explained, over all dimensions."""

    title: ClassVar[str] = "explained variance"
    bounds: ClassVar[tuple[float, float]] = (-math.inf, 1.0)

    @property
    def name(self) -> str:
        """Column key."""
        return named("r2", self.task)

    def score(self, totals: Totals, frozen: Array | None = None) -> Scored:
        """One less the ratio of both sums."""
        del frozen
        missed = Scored.ratio(totals["error_square"].sum(axis=-1), _spread(totals).sum(axis=-1))
        return Scored(np.where(missed.defined, 1 - missed.values, 0.0), missed.defined)


@dataclass(frozen=True)
class R2PerDimension(_Regression):
    """Mean over dimensions that vary of their own r2."""

    title: ClassVar[str] = "explained variance, mean over dimensions"
    bounds: ClassVar[tuple[float, float]] = (-math.inf, 1.0)

    @property
    def name(self) -> str:
        """Column key."""
        return named("r2_mean", self.task)

    def freeze(self, totals: Totals) -> Array:
        """Resolve on the whole which dimensions vary."""
        return np.asarray(_spread(totals) > 0)

    def score(self, totals: Totals, frozen: Array | None = None) -> Scored:
        """Average over the dimensions that vary here and on the whole."""
        missed = Scored.ratio(totals["error_square"], _spread(totals))
        kept = missed.defined if frozen is None else missed.defined & frozen
        return Scored.ratio(((1 - missed.values) * kept).sum(axis=-1), kept.sum(axis=-1))


@dataclass(frozen=True)
class _Size(_Regression):
    """Base of the mean sizes of errors."""

    measured_in: str = ""
    direction: ClassVar[Direction] = "down"
    bounds: ClassVar[tuple[float, float]] = (0.0, math.inf)

    @property
    def unit(self) -> str:  # type: ignore[override]
        """Unit of the values."""
        return self.measured_in


@dataclass(frozen=True)
class Mae(_Size):
    """Mean size of the error over all values."""

    title: ClassVar[str] = "mean absolute error"

    @property
    def name(self) -> str:
        """Column key."""
        return named("mae", self.task)

    def score(self, totals: Totals, frozen: Array | None = None) -> Scored:
        """Sizes over values."""
        del frozen
        return Scored.ratio(totals["error"].sum(axis=-1), totals["values"].sum(axis=-1))


@dataclass(frozen=True)
class Rmse(_Size):
    """Root of the mean squared error over all values."""

    title: ClassVar[str] = "root mean squared error"

    @property
    def name(self) -> str:
        """Column key."""
        return named("rmse", self.task)

    def score(self, totals: Totals, frozen: Array | None = None) -> Scored:
        """Root of squares over values."""
        del frozen
        mean = Scored.ratio(totals["error_square"].sum(axis=-1), totals["values"].sum(axis=-1))
        return Scored(np.sqrt(mean.values), mean.defined)


MEASURES: tuple[Measure, ...] = (
    R2(),
    R2("reconstruction", (0.5,)),
    R2PerDimension(),
    Mae(),
    Mae("forecast", measured_in="m"),
    Rmse(),
)


def evaluate(truth: Any, prediction: Any, *, mask: Any = None, weights: Any = None) -> dict[str, Any]:
    """Score predicted vectors or numbers.

    Parameters
    ----------
    truth, prediction
        ``(n, dimensions)``, or ``(n,)``.
    mask
        Booleans ``(n, dimensions)`` or ``(n,)``: the values that count.
    weights
        ``(n,)``: how much a row counts, 0 or more; alike by default.

    Returns
    -------
    dict
        ``r2``, ``r2_per_dimension`` (a list), ``r2_mean``, ``mae``, ``rmse``; ``n`` rows with a value that counts,
        ``dimensions``; ``undefined``: the reason for everything that is ``None``.

    Raises
    ------
    InputError
        Names what is wrong with a shape, a value or a weight.

    Examples
    --------
    >>> result = evaluate([[0, 5], [2, 5], [4, 5]], [[0, 5], [2, 5], [3, 5]])
    >>> result["r2"], result["r2_per_dimension"], result["undefined"]
    (0.875, [0.875, None], {'r2_per_dimension.1': 'the truth does not vary'})
    """
    return _finish(_step(None, truth, prediction, mask=mask, weights=weights))


def accumulate() -> Accumulator[_Sums]:
    """Score predicted vectors or numbers that come in parts; ``update(truth, prediction, mask=..., weights=...)``.

    >>> stream = accumulate().update([0.0, 2.0], [0.0, 2.0]).update([4.0], [3.0])
    >>> stream.compute()["r2"]
    0.875
    """
    return Accumulator(_step, _finish)


r2 = score_function(evaluate, "r2", "Share of the variance of all dimensions together that is explained.")
r2_mean = score_function(evaluate, "r2_mean", "Mean over dimensions of the share of variance that is explained.")
mae = score_function(evaluate, "mae", "Mean absolute error over all values.")
rmse = score_function(evaluate, "rmse", "Root mean squared error over all values.")


@dataclass(frozen=True)
class _Sums:
    """Running sums of a stream about a constant of each dimension, which is known where a value counted."""

    running: Running
    about: Array
    known: Array
    n: int


def _step(state: _Sums | None, truth: Any, prediction: Any, *, mask: Any = None, weights: Any = None) -> _Sums:
    """Add rows to running sums."""
    true, predicted = _values(truth, "truth"), _values(prediction, "prediction")
    if true.shape != predicted.shape:
        raise InputError(f"expected predictions of shape {true.shape} as the truth has, but got {predicted.shape}")
    width = true.shape[1]
    if state is None:
        state = _Sums(Running.start(1, width), np.zeros(width), np.zeros(width, np.bool_), 0)
    if len(state.about) != width:
        raise InputError(f"expected {len(state.about)} dimensions, as before, but got {width}")
    times = _weights(weights, len(true))
    shown = _mask(mask, true.shape) & (times > 0)[:, np.newaxis]
    _check_finite(true, predicted, shown)
    first = true[shown.argmax(axis=0), np.arange(width)] if shown.size else np.zeros(width)
    here = shown.any(axis=0)
    about = np.where(here & ~state.known, first, state.about)
    running = state.running.copy()
    codes = np.zeros(len(true), dtype=np.int64)
    _folded(true, predicted, codes, 1, about=about, seen=shown, weights=times, running=running)
    return _Sums(running, about, state.known | here, state.n + int(shown.any(axis=1).sum()))


def _finish(state: _Sums) -> dict[str, Any]:
    undefined: dict[str, str] = {}
    scores = _scores(_totals(state.running.total()), undefined)
    return {**scores, "n": state.n, "dimensions": len(state.about), "undefined": undefined}


def _scores(totals: Totals, undefined: dict[str, str]) -> dict[str, Any]:
    measures = {"r2": R2(), "r2_mean": R2PerDimension(), "mae": Mae(), "rmse": Rmse()}
    scores = score_by_name(measures, totals, undefined)
    missed = Scored.ratio(totals["error_square"], _spread(totals))
    pairs = list(zip(missed.values.tolist(), missed.defined.tolist(), strict=True))
    for j, (_, known) in enumerate(pairs):
        if not known:
            undefined[f"r2_per_dimension.{j}"] = CONSTANT if totals["values"][j] > 0 else NO_VALUES
    return {**scores, "r2_per_dimension": [1 - value if known else None for value, known in pairs]}


def _totals(found: Moments) -> Totals:
    """Return the sums of one group as totals."""
    axes = {"dimension": tuple(map(str, range(found.weight.shape[1])))}
    return Totals({"values": found.weight[0], **{name: getattr(found, name)[0] for name in SUMS}}, axes)


def _spread(totals: Totals) -> Array:
    """Return the sum of squared distances from the mean of each dimension; exactly 0 where it is only rounding."""
    square = totals["square"]
    found = square - totals["value"] * Scored.ratio(totals["value"], totals["values"]).values
    return np.where(found > NOISE * square, found, 0.0)


def _folded(truth: Array, prediction: Array, codes: Array, groups: int, **options: Any) -> Moments:
    found = fold(truth, prediction, codes, groups, **options)
    if not all(np.isfinite(part).all() for part in (found.square, found.error_square)):
        raise InputError("truth and prediction hold values too large to be squared: scale them")
    return found


def _shown(truth: Vectors, prediction: Vectors) -> Array | None:
    """Refuse sides that cannot be compared, and return which values of the truth count."""
    same_frame(truth, prediction)
    if truth.values.shape != prediction.values.shape:
        raise InputError(f"truth has shape {truth.values.shape} and prediction {prediction.values.shape}")
    if truth.unit != prediction.unit:
        raise InputError(f"truth is in {truth.unit!r} and the prediction in {prediction.unit!r}: convert one of them")
    seen, given = (side.valid if isinstance(side, MaskedVectors) else None for side in (truth, prediction))
    if given is not None and not (given if seen is None else given | ~seen).all():
        row, column = np.argwhere(~given if seen is None else seen & ~given)[0].tolist()
        raise InputError(f"prediction lacks the value at row {row}, column {column}, which the truth has")
    return seen


def _values(given: Any, side: str) -> Array:
    try:
        array = np.asarray(to_native(given, side))
    except ValueError as error:
        raise InputError(f"{side}: expected numbers (n, dimensions): {error}") from error
    if array.ndim not in (1, 2) or (array.dtype.kind not in "biuf" and array.size):
        raise InputError(f"{side}: expected numbers (n, dimensions) or (n,), but got {array.dtype} {array.shape}")
    table = array[:, np.newaxis] if array.ndim == 1 else array
    return table.astype(np.float64, copy=False)


def _mask(given: Any, shape: tuple[int, ...]) -> Array:
    if given is None:
        return np.ones(shape, np.bool_)
    mask = np.asarray(to_native(given, "mask"))
    if mask.dtype != np.bool_ or mask.shape not in (shape, shape[:1]):
        raise InputError(f"mask: expected booleans {shape} or {shape[:1]}, but got {mask.dtype} {mask.shape}")
    return np.broadcast_to(mask[:, np.newaxis] if mask.ndim == 1 else mask, shape)


def _weights(given: Any, n: int) -> Array:
    if given is None:
        return np.ones(n)
    weights = _values(given, "weights")
    if weights.shape != (n, 1) or not (np.isfinite(weights) & (weights >= 0)).all():
        raise InputError(f"weights: expected {n} finite numbers of 0 or more, but got {given!r:.80}")
    return weights[:, 0]


def _check_finite(truth: Array, prediction: Array, shown: Array) -> None:
    for side, values in (("truth", truth), ("prediction", prediction)):
        bad = shown & ~np.isfinite(values)
        if bad.any():
            row, column = np.argwhere(bad)[0].tolist()
            raise InputError(f"{side}: the value at row {row}, column {column} is not finite: mask it, or mend it")
