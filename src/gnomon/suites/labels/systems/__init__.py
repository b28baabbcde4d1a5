"""Systems for ``labels``: what can be fitted on some groups and predicts labels for others.

The interface, by structure: ``fit(features, labels, rng)`` with ``features`` ``(n, d)`` floats and ``labels`` ``(n,)``
text, then ``predict(features) -> (n,) text``. A system never sees the labels that it is scored on. The built-in
ones are toys that every table should contain: what is not better than them is not good.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.loading import find_class, source_identity
from gnomon.core.tallies import Array


class System(Protocol):
    """What can be fitted and asked."""

    def fit(self, features: Array, labels: Array, rng: np.random.Generator) -> None:
        """Learn from labelled rows."""

    def predict(self, features: Array) -> Array:
        """Return a label per row."""


class Majority:
    """Always the most frequent label of the training rows (ties: the first in order)."""

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
    """The class whose mean feature vector is nearest, features scaled to unit spread."""

    def fit(self, features: Array, labels: Array, rng: np.random.Generator) -> None:
        """Average the features of each class."""
        del rng
        if features.shape[1] == 0:
            raise InputError("nearest_mean needs numeric feature columns, but the truth table has none")
        self.centre = features.mean(axis=0)
        spread = features.std(axis=0)
        self.scale = np.where(spread > 0, spread, 1.0)
        self.names = np.unique(labels)
        scaled = (features - self.centre) / self.scale
        self.means = np.stack([scaled[labels == name].mean(axis=0) for name in self.names])

    def predict(self, features: Array) -> Array:
        """Find the nearest mean."""
        scaled = (features - self.centre) / self.scale
        distances = np.square(scaled[:, np.newaxis] - self.means).sum(axis=2)
        return np.asarray(self.names[distances.argmin(axis=1)])


BUILTIN: dict[str, type[Any]] = {"majority": Majority, "stratified": Stratified, "nearest_mean": NearestMean}


def find(name: str) -> type[Any]:
    """Return the class of a system: a built-in name, ``package.module:Class`` or ``path/to/file.py:Class``."""
    return find_class(name, ("fit", "predict"), "system", BUILTIN)


def identity(name: str) -> str:
    """Return what the result of a system depends on besides its options: the hash of its source."""
    return source_identity(name, find(name))
