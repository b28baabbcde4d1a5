"""A support vector machine with a Gaussian kernel over embeddings, as plain arrays.

scikit-learn (extra ``classical``) finds the support vectors; what it found is kept as arrays and read without it.

Rules, those of MOMENT's classification: the width of the kernel is ``1 / (features * variance of all entries)``; C is
chosen by mean accuracy over 5 stratified folds, of equal ones the smallest; where there are fewer than 50 rows or 5 per
class there is nothing to choose, and C is 1e5. Above a number of rows, a stratified part of them is fitted on: every
class has its share and at least one row.

Scores are made from all pairs of classes: the pairs that a class wins, and between equal ones the sum of its margins,
squeezed into a third to either side (as scikit-learn's one-versus-rest function does).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from gnomon.core.errors import InputError, MissingExtraError
from gnomon.core.seeds import generator
from gnomon.core.tallies import Array

GRID = tuple(10.0**power for power in range(-4, 5))
FOLDS, FEWEST, PER_CLASS, UNCHOSEN = 5, 50, 5, 1e5
BLOCK = 256


@dataclass(frozen=True, eq=False)
class Machine:
    """A machine over k classes and m support vectors, ordered by class.

    Attributes
    ----------
    classes, counts
        Codes of the classes in rising order, and how many support vectors each has.
    vectors, weights, offsets
        Support vectors ``(m, f)``; their weights ``(k - 1, m)``, column by column against every other class in order;
        an offset for each pair of classes, ``(k (k - 1) / 2,)``.
    gamma
        Width of the kernel: ``exp(-gamma |x - y|^2)``.
    """

    classes: Array
    counts: Array
    vectors: Array
    weights: Array
    offsets: Array
    gamma: Array

    def arrays(self) -> dict[str, Array]:
        """Return everything by name; :meth:`of` reads it back."""
        return asdict(self)

    @staticmethod
    def of(arrays: Mapping[str, Array]) -> Machine:
        """Return the machine of such arrays."""
        return Machine(**{field.name: np.asarray(arrays[field.name]) for field in fields(Machine)})

    def scores(self, rows: Array) -> Array:
        """Return a score for every row and class, ``(n, k)``."""
        if len(self.classes) < 2:
            return np.zeros((len(rows), len(self.classes)))
        pieces = [self._scores(rows[start : start + BLOCK]) for start in range(0, len(rows), BLOCK)]
        return np.concatenate([np.zeros((0, len(self.classes))), *pieces])

    def _scores(self, rows: Array) -> Array:
        kernel = gaussian(rows, self.vectors, float(self.gamma))
        ends = np.cumsum(self.counts)
        own = [
            kernel[:, end - count : end] @ self.weights[:, end - count : end].T
            for end, count in zip(ends, self.counts, strict=True)
        ]
        sums = np.stack(own)
        first, second = np.triu_indices(len(self.classes), 1)
        margins = sums[first, :, second - 1] + sums[second, :, first] + self.offsets[:, None]
        against = np.zeros((len(self.classes), len(self.classes), len(rows)))
        against[first, second], against[second, first] = margins, -margins
        won = against > 0
        won[second, first] = ~won[first, second]
        total = against.sum(axis=1)
        return np.asarray((won.sum(axis=1) + total / (3 * (np.abs(total) + 1))).T)


def gaussian(rows: Array, others: Array, gamma: float) -> Array:
    """Return the kernel ``(n, m)`` of rows with others, in double precision."""
    a, b = np.asarray(rows, dtype=np.float64), np.asarray(others, dtype=np.float64)
    squares = np.square(a).sum(axis=1)[:, None] + np.square(b).sum(axis=1)[None, :] - 2 * a @ b.T
    return np.asarray(np.exp(-gamma * np.maximum(squares, 0.0)))


def fit(rows: Array, codes: Array, most: int, seed: int, grid: Sequence[float]) -> tuple[Machine, dict[str, Any]]:
    """Fit a machine to at most so many rows, with the best C of a grid; return it and what was chosen."""
    kept = stratified(codes, most, seed)
    rows, codes = np.asarray(rows[kept], dtype=np.float64), codes[kept]
    classes = np.unique(codes)
    spread = float(rows.var())
    gamma = 1 / (rows.shape[1] * spread) if spread > 0 else 1.0
    facts: dict[str, Any] = {"rows": len(rows), "gamma": gamma}
    if len(classes) == 1:
        none = np.zeros((0, 0))
        return Machine(classes, np.zeros(1, int), none, none, np.zeros(0), np.array(gamma)), {**facts, "c": None}
    kernel = gaussian(rows, rows, gamma)
    c, scores = _chosen(kernel, codes, len(classes), seed, grid)
    machine = _machine(kernel, codes, c)
    weights = np.asarray(machine.dual_coef_)
    offsets = np.asarray(machine.intercept_)
    if len(classes) == 2:  # scikit-learn turns the only pair around
        weights, offsets = -weights, -offsets
    found = Machine(classes, machine.n_support_, rows[machine.support_], weights, offsets, np.array(gamma))
    return found, {**facts, "c": c, "grid": scores, "support_vectors": len(machine.support_)}


def _chosen(
    kernel: Array, codes: Array, classes: int, seed: int, grid: Sequence[float]
) -> tuple[float, dict[str, float]]:
    """Return the best C and the mean accuracy of every one that was tried."""
    if not grid:
        raise InputError("kernel machine: the grid of C is empty; give at least one")
    if len(codes) < FEWEST or len(codes) / classes < PER_CLASS:
        return UNCHOSEN, {}
    if len(grid) == 1:
        return grid[0], {}
    parts = _folds(codes, seed)
    scores = {c: float(np.mean([_right(kernel, codes, parts == fold, c) for fold in range(FOLDS)])) for c in grid}
    return max(sorted(scores), key=scores.__getitem__), {f"{c:g}": score for c, score in scores.items()}


def _folds(codes: Array, seed: int) -> Array:
    """Deal rows into folds: those of a class in random order, one class after the other, in turn."""
    order = generator(seed, "har", "kernel folds").permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    parts = np.empty(len(codes), dtype=np.int64)
    parts[order] = np.arange(len(codes)) % FOLDS
    return parts


def _right(kernel: Array, codes: Array, held: Array, c: float) -> float:
    if len(np.unique(codes[~held])) < 2:
        return float((codes[held] == codes[~held][0]).mean())
    machine = _machine(kernel[np.ix_(~held, ~held)], codes[~held], c)
    return float((machine.predict(kernel[np.ix_(held, ~held)]) == codes[held]).mean())


def _machine(kernel: Array, codes: Array, c: float) -> Any:
    try:
        from sklearn.svm import SVC
    except ImportError as error:
        raise MissingExtraError(
            "the classifier of moment needs scikit-learn, which is not installed: pip install 'gnomon[classical]'"
        ) from error
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The number of unique classes is greater than 50%")
        return SVC(C=c, kernel="precomputed").fit(kernel, codes)


def stratified(codes: Array, most: int, seed: int) -> Array:
    """Return at most so many rows, in order: of every class its share, drawn at random, and one at least.

    >>> codes = np.repeat([0, 1, 2], [80, 18, 2])
    >>> np.bincount(codes[stratified(codes, 50, 7)]).tolist()
    [40, 9, 1]
    """
    if len(codes) <= most:
        return np.arange(len(codes))
    order = generator(seed, "har", "kernel rows").permutation(len(codes))
    rank = np.empty(len(codes))
    for code in np.unique(codes):
        own = order[codes[order] == code]
        rank[own] = np.arange(len(own)) / len(own)
    place = np.empty(len(codes), dtype=np.int64)
    place[order] = np.arange(len(codes))
    return np.sort(np.lexsort((place, rank))[:most])
