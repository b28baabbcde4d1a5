"""Faults of code: fits that see the test, features that see the future, scores that need no labels."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from gnomon.audit.permuted import permuted_labels
from gnomon.audit.poison import Answer, future_poison, poisoned_fit, poisoned_predictions, refit
from gnomon.core.seeds import generator
from gnomon.core.tallies import Array
from gnomon.testing.planted.case import Findings, Planted

N, TRAIN, LENGTH = 100, 60, 400
HELD = np.arange(N) >= TRAIN


def table() -> tuple[Array, Array]:
    """Return 100 inputs of 6 features, two of which carry the label, and their labels."""
    rng = generator(1, "planted", "table")
    labels = rng.integers(0, 2, N)
    inputs = rng.standard_normal((N, 6))
    inputs[:, :2] += 1.5 * labels[:, None]
    return inputs, labels


def nearest_mean(inputs: Array, labels: Array, held: Array) -> Array:
    """Train on the other rows, predict held-out ones by the nearest class mean."""
    classes = np.unique(labels[~held])
    means = np.stack([inputs[~held & (labels == label)].mean(axis=0) for label in classes.tolist()])
    apart = np.square(inputs[held][:, None] - means).sum(axis=2)
    return np.asarray(classes[apart.argmin(axis=1)])


def scaled(inputs: Array, rows: Array) -> Array:
    """Return inputs in standard deviations of some rows."""
    return np.asarray((inputs - inputs[rows].mean(axis=0)) / inputs[rows].std(axis=0))


def _jittered() -> Callable[[], float]:
    """Return a call that gives another number every time, as an unseeded generator would."""
    count = itertools.count()
    return lambda: next(count) / 1000


def _refit(leak: bool) -> Findings:
    inputs, _ = table()
    return refit(lambda: inputs[~HELD].mean(axis=0), inputs.mean(axis=0) if leak else inputs[~HELD].mean(axis=0))


def _unsteady_refit(leak: bool) -> Findings:
    inputs, _ = table()
    noise = _jittered() if leak else lambda: 0.0
    return refit(lambda: inputs[~HELD].mean(axis=0) + noise(), inputs[~HELD].mean(axis=0))


def _scaler(leak: bool) -> Findings:
    def fit(inputs: Array, targets: Array, held: Array) -> Answer:
        del targets
        rows = np.ones(N, dtype=np.bool_) if leak else ~held
        return {"mean": inputs[rows].mean(axis=0), "std": inputs[rows].std(axis=0)}

    return poisoned_fit(fit, *table(), HELD)


def _class_list(leak: bool) -> Findings:
    """Classes listed from all targets, of which the test has one more."""

    def fit(inputs: Array, targets: Array, held: Array) -> Answer:
        del inputs
        return np.unique(targets if leak else targets[~held])

    inputs, labels = table()
    return poisoned_fit(fit, inputs, np.where(np.arange(N) > 90, "rare", labels.astype(str)), HELD)


def _unsteady_fit(leak: bool) -> Findings:
    noise = _jittered() if leak else lambda: 0.0
    return poisoned_fit(lambda x, y, held: x[~held].mean(axis=0) + y[~held].mean() + noise(), *table(), HELD)


def _encoded(leak: bool) -> Findings:
    """A feature that is the mean target of the rows with the same code, test rows included."""
    inputs, labels = table()
    inputs[:, 5] = generator(2, "planted", "codes").integers(0, 20, N)

    def fit_predict(inputs: Array, targets: Array, held: Array) -> Array:
        rows = np.ones(N, dtype=np.bool_) if leak else ~held
        overall = targets[~held].mean()
        codes = [targets[rows & (inputs[:, 5] == code)] for code in range(20)]
        means = np.array([found.mean() if len(found) else overall for found in codes])
        known = (inputs[:, 5:] == np.arange(20)).any(axis=1)
        feature = np.where(known, means[np.clip(inputs[:, 5], 0, 19).astype(int)], overall)
        return nearest_mean(np.column_stack([inputs[:, :5], 4 * feature]), targets, held)

    return poisoned_predictions(fit_predict, inputs, labels, HELD)


def _scaled_by_test(leak: bool) -> Findings:
    def fit_predict(inputs: Array, targets: Array, held: Array) -> Array:
        return nearest_mean(scaled(inputs, held if leak else ~held), targets, held)

    return poisoned_predictions(fit_predict, *table(), HELD, cases=[f"case {i // 4}" for i in range(N)])


def _unsteady_predictions(leak: bool) -> Findings:
    noise = _jittered() if leak else lambda: 0.0
    return poisoned_predictions(lambda x, y, held: nearest_mean(x, y, held) + noise(), *table(), HELD)


def recording() -> tuple[Array, Array]:
    """Return a drifting recording of 3 channels, and where its 39 windows of 20 end."""
    rng = generator(3, "planted", "recording")
    return np.cumsum(rng.standard_normal((LENGTH, 3)), axis=0), np.arange(20, LENGTH + 1, 10)[:39]


def _windows(signal: Array, ends: Array) -> Array:
    return np.stack([signal[end - 20 : end].mean(axis=0) for end in ends.tolist()])


def _smooth(signal: Array) -> Array:
    """Smooth in one direction: each value depends on those before it."""
    out = signal.copy()
    for i in range(1, len(out)):
        out[i] = 0.9 * out[i - 1] + 0.1 * signal[i]
    return out


def _both_ways(leak: bool) -> Findings:
    """A filter that runs forwards and backwards over the whole recording."""
    signal, ends = recording()
    return future_poison(
        lambda x: _windows(_smooth(_smooth(x)[::-1])[::-1] if leak else _smooth(x), ends), signal, ends
    )


def _whole_recording(leak: bool) -> Findings:
    """Windows in standard deviations of the whole recording."""
    signal, ends = recording()
    return future_poison(lambda x: _windows(scaled(x, np.ones(len(x), bool)) if leak else x, ends), signal, ends)


def _unsteady_features(leak: bool) -> Findings:
    signal, ends = recording()
    noise = _jittered() if leak else lambda: 0.0
    return future_poison(lambda x: _windows(x, ends) + noise(), signal, ends)


def selected(leak: bool, seed: int = 4) -> Findings:
    """Ten of a thousand features, chosen by their relation to all labels; the twin chooses on training rows."""
    rng = generator(seed, "planted", "features")
    labels = rng.integers(0, 2, N)
    inputs = rng.standard_normal((N, 1000))
    inputs[:, :10] += labels[:, None]

    def evaluate(given: Array) -> float:
        rows = np.ones(N, dtype=np.bool_) if leak else ~HELD
        relation = np.abs((given[rows] - given[rows].mean()) @ inputs[rows])
        chosen = np.argsort(relation)[-10:]
        return float((nearest_mean(inputs[:, chosen], given, HELD) == given[HELD]).mean())

    share = labels[HELD].mean()
    return permuted_labels(evaluate, labels, chance=float(max(share, 1 - share)))


def _shifted_labels(leak: bool) -> Findings:
    """Labels that lie one row off their inputs, inside of each group."""
    inputs, labels = table()
    given = np.roll(labels, 1) if leak else labels
    groups = [f"group {i % 2}" for i in range(N)]
    return permuted_labels(
        lambda y: float((nearest_mean(inputs, y, HELD) == y[HELD]).mean()), given, groups=groups, rounds=40
    )


CALLABLES: tuple[Planted, ...] = (
    Planted("refit", "refit-differs", "stored means that were taken over all rows", _refit),
    Planted("refit", "not-deterministic", "a fit without a fixed seed", _unsteady_refit),
    Planted("poisoned-fit", "fit-reads-test", "a scaler over training and test inputs", _scaler),
    Planted("poisoned-fit", "fit-reads-test", "a class list made from training and test targets", _class_list),
    Planted("poisoned-fit", "not-deterministic", "a fit without a fixed seed", _unsteady_fit),
    Planted("poisoned-predictions", "reads-test-targets", "target encoding over all rows", _encoded),
    Planted("poisoned-predictions", "reads-other-test-inputs", "inputs scaled by the test part", _scaled_by_test),
    Planted("poisoned-predictions", "not-deterministic", "predictions without a fixed seed", _unsteady_predictions),
    Planted("future-poison", "reads-the-future", "a filter that runs forwards and backwards", _both_ways),
    Planted("future-poison", "reads-the-future", "windows scaled by the whole recording", _whole_recording),
    Planted("future-poison", "not-deterministic", "features without a fixed seed", _unsteady_features),
    Planted("permuted-labels", "permuted-above-chance", "features selected on training and test", selected),
    Planted("permuted-labels", "permuted-as-good", "labels shifted by one row against inputs", _shifted_labels),
)
