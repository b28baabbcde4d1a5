"""How much rows weigh in a loss, so that rare classes count as much as frequent ones."""

from __future__ import annotations

import numpy as np

from gnomon.core.tallies import Array

POSITIVE = (1.0, 20.0)
"""Least and greatest weight of a row that has a label."""


def balanced(codes: Array, size: int) -> Array:
    """Return the weight ``(size,)`` of a row of each class: n / (classes that occur * rows of the class).

    The weights of all rows sum to n. A class without rows has weight 0.

    >>> balanced(np.array([0, 0, 0, 2]), 3).round(3).tolist()
    [0.667, 0.0, 2.0]
    """
    counts = np.bincount(codes, minlength=size)
    there = counts > 0
    return np.where(there, len(codes) / (max(1, there.sum()) * np.maximum(counts, 1)), 0.0)


def positive(sets: Array) -> Array:
    """Return, for every label, how much a row that has it weighs against one that has not: their odds, clipped.

    >>> positive(np.array([[1, 0, 1], [0, 0, 1], [0, 0, 1], [0, 1, 1]], dtype=bool)).tolist()
    [3.0, 3.0, 1.0]
    """
    have = sets.sum(axis=0)
    return np.asarray(np.clip((len(sets) - have) / np.maximum(have, 1), *POSITIVE))


def chosen(scores: Array, threshold: float) -> Array:
    """Return the sets of labels whose score reaches a threshold; where none does, the label with the best score.

    >>> chosen(np.array([[0.7, 0.5], [0.2, 0.3]]), 0.5).tolist()
    [[True, True], [False, True]]
    """
    sets = scores >= threshold
    empty = np.flatnonzero(~sets.any(axis=1))
    sets[empty, scores[empty].argmax(axis=1)] = True
    return np.asarray(sets)
