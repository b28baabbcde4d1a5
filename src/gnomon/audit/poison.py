"""Active checks: a callable must not notice what it has no right to see.

Conventions
-----------
- A callable gets arrays of its own, may do with them what it likes, and returns an array, or arrays by name.
- It must be deterministic: it is called twice with the same input first, and if the answers differ that is the finding
  (``not-deterministic``), since no change could then be put down to the poison. Fix its seeds.
- Answers are the same when shape and kind are and no value differs by more than ``tolerance`` (default: not a bit).
- Poison: floats become noise of ten times the spread, far from the values; everything else becomes another of the
  values that the untouched rows hold, so that a callable meets no code that it does not know.

What none of them can see: what a callable reads from elsewhere (a file, a cache), a dependence that the poison
happens to leave alone, and a leak through the number or the order of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gnomon.audit.split import codes
from gnomon.core.errors import InputError
from gnomon.core.evidence import Finding
from gnomon.core.seeds import generator
from gnomon.core.tallies import Array

Answer = Array | Mapping[str, Array]
Fit = Callable[[Array, Array, Array], Answer]
"""From inputs ``(n, ...)``, targets ``(n, ...)`` and a mask of held-out rows to what was fitted or predicted."""


def refit(fit: Callable[[], Answer], used: Answer, *, tolerance: float = 0.0) -> tuple[Finding, ...]:
    """Find an artefact (weights, scaler, vocabulary as arrays) that fitting again does not give.

    Needs ``fit``, which fits on the training samples, and the artefact that was used. Cannot see a leak that ``fit``
    itself has; :func:`poisoned_fit` does.
    """
    first, unsteady = _twice(fit)
    if unsteady:
        return (unsteady,)
    changed = _difference(first, used, tolerance)
    if not changed:
        return ()
    text = f"fitting again on the training samples gives other values than those used: {changed}"
    remedy = "fit on the declared training samples and store what was fitted with their digests"
    return (Finding("refit-differs", "error", "fit", text, remedy),)


def poisoned_fit(
    fit: Fit, inputs: Array, targets: Array, held: Array, *, tolerance: float = 0.0, seed: int = 0
) -> tuple[Finding, ...]:
    """Find a fit whose artefacts change when the inputs, or the targets, of held-out rows are replaced.

    Needs ``fit(inputs, targets, held)``, which returns what was fitted (means, vocabulary, weights), not predictions.
    Cannot see a leak that the returned artefacts do not show.
    """
    inputs, targets, held = _checked(inputs, targets, held)
    clean, unsteady = _twice(lambda: fit(inputs.copy(), targets.copy(), held.copy()))
    if unsteady:
        return (unsteady,)
    findings = []
    for what in ("inputs", "targets"):
        bad = {"inputs": inputs, "targets": targets}
        bad[what] = poison(bad[what], held, seed, what)
        changed = _difference(clean, fit(bad["inputs"].copy(), bad["targets"].copy(), held.copy()), tolerance)
        if changed:
            text = f"replacing the {what} of {int(held.sum())} held-out rows changes what is fitted: {changed}"
            findings.append(Finding("fit-reads-test", "error", what, text, "fit on training rows only"))
    return tuple(findings)


def poisoned_predictions(
    fit_predict: Fit,
    inputs: Array,
    targets: Array,
    held: Array,
    *,
    cases: Sequence[str] | None = None,
    tolerance: float = 0.0,
    seed: int = 0,
) -> tuple[Finding, ...]:
    """Find predictions that change with test targets, or with the inputs of other test cases.

    Needs ``fit_predict(inputs, targets, held)``, which trains on the other rows and returns one prediction per
    held-out row, in order. ``cases`` names the case of each row: half of the held-out cases are poisoned, the
    predictions of the others must stay; default: each row is its own case. Scores per class show more than classes,
    which hide small changes. A system that adapts to the whole test on purpose fails this, and should say that it
    does. Cannot see a leak inside of a case.
    """
    inputs, targets, held = _checked(inputs, targets, held)
    clean, unsteady = _twice(lambda: fit_predict(inputs.copy(), targets.copy(), held.copy()))
    if unsteady:
        return (unsteady,)
    _check_rows(clean, int(held.sum()))
    findings = []
    bad = fit_predict(inputs.copy(), poison(targets, held, seed, "targets"), held.copy())
    changed = _difference(clean, bad, tolerance)
    if changed:
        text = f"replacing the targets of {int(held.sum())} held-out rows changes predictions: {changed}"
        findings.append(Finding("reads-test-targets", "error", "targets", text, "hide test targets from the system"))
    chosen = _half(held, cases, seed)
    stay = ~chosen[held]
    bad = fit_predict(poison(inputs, chosen, seed, "inputs"), targets.copy(), held.copy())
    changed = _difference(_rows(clean, stay), _rows(bad, stay), tolerance)
    if changed:
        text = f"replacing the inputs of {int(chosen.sum())} other held-out rows changes predictions: {changed}"
        remedy = "fit scalers, vocabularies and class priors on training rows; predict each case by itself"
        findings.append(Finding("reads-other-test-inputs", "error", "inputs", text, remedy))
    return tuple(findings)


def future_poison(
    features: Callable[[Array], Array],
    recording: Array,
    ends: Array,
    *,
    cuts: int = 5,
    tolerance: float = 0.0,
    seed: int = 0,
) -> tuple[Finding, ...]:
    """Find features or predictions that change when a recording is replaced after their end.

    Needs ``features(recording)``, which returns one row per window, the recording ``(T, ...)``, and for every window
    the index ``ends`` before which it may read. The recording is replaced from each of ``cuts`` positions on; windows
    that end there or before must stay as they are. Cannot see what a window reads before its beginning, which is no
    future.
    """
    recording, ends = np.asarray(recording), np.asarray(ends)
    if ends.ndim != 1 or ends.dtype.kind not in "iu":
        raise InputError(f"ends: expected one index per window, but got {ends.dtype} of shape {ends.shape}")
    inside = np.unique(ends[(ends > 0) & (ends < len(recording))])
    if not len(inside):
        raise InputError(f"ends: no window ends inside of the recording of {len(recording)}, so there is no future")
    clean, unsteady = _twice(lambda: features(recording.copy()))
    if unsteady:
        return (unsteady,)
    _check_rows(clean, len(ends))
    changed: dict[int, str] = {}
    for cut in np.unique(inside[np.linspace(0, len(inside) - 1, cuts).astype(int)]).tolist():
        bad = poison(recording, np.arange(len(recording)) >= cut, seed, f"after {cut}")
        before = ends <= cut
        found = _difference(_rows(clean, before), _rows(features(bad), before), tolerance)
        if found:
            changed[cut] = found
    if not changed:
        return ()
    cut, first = next(iter(changed.items()))
    text = f"replacing the recording from a cut on changes windows that end before it, at {len(changed)} cuts; "
    text += f"from {cut} of {len(recording)} on: {first}"
    remedy = "use only what lies before the end of a window: causal filters, statistics of training recordings"
    return (Finding("reads-the-future", "error", "features", text, remedy),)


def poison(array: Array, rows: Array, seed: int, purpose: str) -> Array:
    """Return a copy in which every value of the given rows (a mask) is another."""
    array = np.asarray(array)
    rng = generator(seed, "audit", "poison", purpose)
    out = array.copy()
    shape = out[rows].shape
    if array.dtype.kind == "f":
        finite = array[np.isfinite(array)].astype(np.float64)
        spread = float(np.std(finite)) if len(finite) else 0.0
        centre = float(np.mean(finite)) if len(finite) else 0.0
        out[rows] = centre + 100 * (spread or 1.0) + 10 * (spread or 1.0) * rng.standard_normal(shape)
        return out
    values = np.unique(array[~rows])
    values = values if len(values) > 1 else np.unique(array)
    if len(values) < 2:
        raise InputError(f"{purpose}: all rows hold one value, so there is nothing to poison with")
    place = np.minimum(np.searchsorted(values, array[rows]), len(values) - 1)
    known = values[place] == array[rows]
    drawn = rng.integers(0, len(values) - 1, shape)
    out[rows] = values[drawn + (known & (drawn >= place))]
    return out


def _checked(inputs: Array, targets: Array, held: Array) -> tuple[Array, Array, Array]:
    inputs, targets, held = np.asarray(inputs), np.asarray(targets), np.asarray(held)
    if held.dtype != np.bool_ or held.ndim != 1 or len(inputs) != len(held) or len(targets) != len(held):
        raise InputError(
            f"expected inputs, targets and a mask of as many rows, but got {inputs.shape}, {targets.shape} "
            f"and {held.dtype} of {held.shape}"
        )
    if not held.any() or held.all():
        raise InputError(f"held: expected held-out and other rows, but got {int(held.sum())} of {len(held)}")
    return inputs, targets, held


def _half(held: Array, cases: Sequence[str] | None, seed: int) -> Array:
    """Return a mask of the rows of half of the held-out cases."""
    if cases is not None and len(cases) != len(held):
        raise InputError(f"cases: expected {len(held)} names, but got {len(cases)}")
    code = np.arange(len(held)) if cases is None else codes(cases)
    names = np.unique(code[held])
    if len(names) < 2:
        raise InputError("cases: expected at least two held-out cases, so that one can be poisoned and one kept")
    chosen = generator(seed, "audit", "half").permutation(names)[: len(names) // 2]
    return np.asarray(held & np.isin(code, chosen))


def _twice(call: Callable[[], Answer]) -> tuple[Answer, Finding | None]:
    first = call()
    changed = _difference(first, call(), 0.0)
    if not changed:
        return first, None
    text = f"two calls with the same input give different answers: {changed}"
    remedy = "fix every seed (and the number of threads), or nothing can be said about what it reads"
    return first, Finding("not-deterministic", "warning", "callable", text, remedy)


def _named(answer: Answer) -> dict[str, Array]:
    given = answer if isinstance(answer, Mapping) else {"": answer}
    return {str(name): np.asarray(value) for name, value in given.items()}


def _check_rows(answer: Answer, count: int) -> None:
    for name, value in _named(answer).items():
        if value.ndim < 1 or len(value) != count:
            raise InputError(f"the callable returned {name or 'an array'} of {value.shape}, expected {count} rows")


def _rows(answer: Answer, rows: Array) -> dict[str, Array]:
    """Return some rows of every array; arrays of another length stay whole, so that they differ."""
    return {name: value[rows] if value.shape[:1] == rows.shape else value for name, value in _named(answer).items()}


def _difference(a: Answer, b: Answer, tolerance: float) -> str:
    """Say how two answers differ; nothing where they are the same."""
    left, right = _named(a), _named(b)
    if left.keys() != right.keys():
        return f"arrays {sorted(left)} became {sorted(right)}"
    for name, value in left.items():
        said = _array_difference(value, right[name], tolerance)
        if said:
            return f"{name}: {said}" if name else said
    return ""


def _array_difference(a: Array, b: Array, tolerance: float) -> str:
    if a.shape != b.shape:
        return f"shape {a.shape} became {b.shape}"
    numeric = all(x.dtype.kind in "iufcb" for x in (a, b))
    if not numeric:
        other = np.asarray(a != b)
        return f"{int(other.sum())} of {a.size} values" if other.any() else ""
    x, y = (side.astype(np.complex128 if side.dtype.kind == "c" else np.float64) for side in (a, b))
    with np.errstate(invalid="ignore"):
        gap: Any = np.abs(x - y)
    same = (x == y) | (np.isnan(x) & np.isnan(y)) | (gap <= tolerance)
    if same.all():
        return ""
    finite = gap[~same & np.isfinite(gap)]
    largest = f", by up to {float(finite.max()):.3g}" if finite.size else ""
    return f"{int((~same).sum())} of {a.size} values{largest}"
