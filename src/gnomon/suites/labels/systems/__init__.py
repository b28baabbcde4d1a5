"""Systems for ``labels``: what can be fitted on some groups and predicts labels for others.

The interface, by structure: ``fit(features, labels, rng)`` with ``features`` ``(n, d)`` floats and ``labels`` ``(n,)``
text, then ``predict(features) -> (n,) text``. A scikit-learn classifier is a system too: it is fitted by
``fit(X, y)``, and a ``random_state`` that the user did not set comes from the seed (:mod:`gnomon.core.fitting`). A
system never sees the labels that it is scored on. What its constructor (or the function that makes it) takes by keyword
are its parameters, given as ``NAME@key=value``. The built-in ones are toys that every table should contain: what is not
better than them is not good.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.systems import Systems
from gnomon.core.tallies import Array


class System(Protocol):
    """What can be fitted and asked."""

    def fit(self, features: Array, labels: Array, rng: np.random.Generator) -> None:
        """Learn from labelled rows."""

    def predict(self, features: Array) -> Array:
        """Return a label per row."""


class Majority:
    """Always the most frequent label of the training rows (ties: the first in order)."""

    trivial = True

    def fit(self, features: Array, labels: Array, rng: np.random.Generator) -> None:
        """Count labels."""
        del features, rng
        names, counts = np.unique(labels, return_counts=True)
        self.label = names[counts.argmax()]

    def predict(self, features: Array) -> Array:
        """Repeat the label."""
        return np.full(len(features), self.label)


class Stratified:
    """Labels drawn at random with the shares of the training rows."""

    trivial = True

    def fit(self, features: Array, labels: Array, rng: np.random.Generator) -> None:
        """Count labels."""
        del features
        self.names, counts = np.unique(labels, return_counts=True)
        self.shares = counts / counts.sum()
        self.rng = rng

    def predict(self, features: Array) -> Array:
        """Draw labels."""
        return self.names[self.rng.choice(len(self.names), size=len(features), p=self.shares)]


class NearestMean:
    """The class whose mean feature vector is nearest.

    Parameters
    ----------
    scaling
        Whether features are scaled to unit spread first.
    shrinkage
        How far the means of the classes are drawn towards the mean of all rows: 0 not at all, 1 onto it.
    """

    def __init__(self, *, scaling: bool = True, shrinkage: float = 0.0) -> None:
        if not 0 <= shrinkage <= 1:
            raise InputError(f"shrinkage: expected 0 to 1, but got {shrinkage:g}")
        self.scaling, self.shrinkage = scaling, shrinkage

    def fit(self, features: Array, labels: Array, rng: np.random.Generator) -> None:
        """Average the features of each class."""
        del rng
        if features.shape[1] == 0:
            raise InputError("nearest_mean needs numeric feature columns, but the truth table has none")
        self.centre = features.mean(axis=0)
        spread = features.std(axis=0)
        self.scale = np.where((spread > 0) & self.scaling, spread, 1.0)
        self.names = np.unique(labels)
        scaled = (features - self.centre) / self.scale
        means = np.stack([scaled[labels == name].mean(axis=0) for name in self.names])
        self.means = (1 - self.shrinkage) * means  # the mean of all rows is 0 here

    def predict(self, features: Array) -> Array:
        """Find the nearest mean."""
        scaled = (features - self.centre) / self.scale
        distances = np.square(scaled[:, np.newaxis] - self.means).sum(axis=2)
        return np.asarray(self.names[distances.argmin(axis=1)])


SYSTEMS = Systems(
    {
        "majority": f"{__name__}:Majority",
        "stratified": f"{__name__}:Stratified",
        "nearest_mean": f"{__name__}:NearestMean",
    },
    ("fit", "predict"),
)
