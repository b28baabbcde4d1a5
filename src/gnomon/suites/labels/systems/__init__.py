"""Systems for ``labels``: what can be fitted on some groups and predicts labels for others.

The interface, by structure: ``fit(features, labels, rng)`` with ``features`` ``(n, d)`` floats and ``labels`` ``(n,)``
text, then ``predict(features) -> (n,) text``. A system never sees the labels that it is scored on. The built-in
ones are toys that every table should contain: what is not better than them is not good.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from gnomon.core.errors import InputError
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
    if name in BUILTIN:
        return BUILTIN[name]
    where, colon, attribute = name.rpartition(":")
    if not colon or not where or not attribute:
        raise InputError(
            f"no system {name!r}; built in are {', '.join(BUILTIN)}; others as package.module:Class or file.py:Class"
        )
    module = _from_file(where) if where.endswith(".py") else _from_package(where)
    found = getattr(module, attribute, None)
    if not isinstance(found, type) or not all(callable(getattr(found, verb, None)) for verb in ("fit", "predict")):
        raise InputError(f"system {name!r}: expected a class with fit and predict in {where}")
    return found


def identity(name: str) -> str:
    """Return what the result of a system depends on besides its options: the hash of its source."""
    kind = find(name)
    where = name.rpartition(":")[0]
    source = Path(where if where.endswith(".py") else inspect.getfile(kind)).read_bytes()
    return f"{kind.__qualname__}:{hashlib.sha256(source).hexdigest()}"


def _from_file(path: str) -> Any:
    if not Path(path).is_file():
        raise InputError(f"system file {path}: no such file")
    spec = importlib.util.spec_from_file_location(f"gnomon_system_{Path(path).stem}", path)
    if spec is None or spec.loader is None:
        raise InputError(f"system file {path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InputError(f"system file {path}: cannot be imported ({type(error).__name__}: {error})") from error
    return module


def _from_package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise InputError(f"system module {name}: cannot be imported ({error})") from error
