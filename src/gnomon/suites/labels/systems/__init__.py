"""Systems for ``labels``: what can be fitted on some groups and predicts labels for others.

The interface, by structure: ``fit(features, labels, rng)`` with ``features`` ``(n, d)`` floats and ``labels`` ``(n,)``
text, then ``predict(features) -> (n,) text``. A scikit-learn classifier is a system too: it is fitted by
``fit(X, y)``, and a ``random_state`` that the user did not set comes from the seed (:mod:`gnomon.core.fitting`). A
system never sees the labels that it is scored on. What its constructor (or the function that makes it) takes by keyword
are its parameters, given as ``NAME@key=value``. The built-in ones are toys that every table should contain: what is not
better than them is not good.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Parameter
from typing import Any, Protocol

import numpy as np

from gnomon.core.errors import InputError, some
from gnomon.core.loading import find_maker, made_by, source_identity
from gnomon.core.systems import Spec, known_parameters
from gnomon.core.systems import checked as checked_spec
from gnomon.core.tallies import Array

VERBS = ("fit", "predict")


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


BUILTIN: dict[str, type[Any]] = {"majority": Majority, "stratified": Stratified, "nearest_mean": NearestMean}


def find(name: str) -> Callable[..., Any]:
    """Return what makes a system: a built-in name, ``package.module:Class`` or ``path/to/file.py:Class``.

    In place of a class there may be a function that returns a system, such as a pipeline of scikit-learn.
    """
    return find_maker(name, VERBS, "system", BUILTIN)


def make(name: str, parameters: Mapping[str, Any]) -> Any:
    """Return a system of its own by name and parameters."""
    return made_by(find(name), parameters, VERBS, f"system {name!r}")


def trivial(name: str) -> bool:
    """Say whether a system declares itself a trivial baseline, by an attribute ``trivial`` of its class."""
    return getattr(find(name), "trivial", False) is True


def parameters(name: str) -> dict[str, Any]:
    """Return the parameters of a system with their defaults."""
    return known_parameters(find(name))


def checked(spec: Spec) -> Spec:
    """Return a system with its parameters; refuse those that it does not have, and one that lacks some."""
    known = parameters(spec.name)
    lacking = [name for name, default in known.items() if default is Parameter.empty and name not in spec.parameters]
    if lacking:
        given = "".join(f"@{name}=..." for name in lacking)
        raise InputError(f"system {spec.name!r} cannot be made without {some(lacking)}: give {spec}{given}")
    return checked_spec(spec, known) if spec.parameters else spec


def identity(name: str) -> str:
    """Return what the result of a system depends on besides its options: the hash of its source."""
    return source_identity(name, find(name))
