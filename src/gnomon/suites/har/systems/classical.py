"""Systems on features of windows: what they share, and the nearest class mean.

Zero-shot they are fitted on the features of all training datasets; "fine-tuning" is fitting on the labelled windows of
the test dataset alone, since there is no encoder to carry over. Where a setting is chosen, it is by the score on the
validation windows that the conditions name; of equal ones the first.

Features are standardised by the mean and the spread of what is fitted on.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from gnomon.core.errors import InputError
from gnomon.core.fitting import fit_system
from gnomon.core.tallies import Array
from gnomon.measures.classification import evaluate
from gnomon.suites.har.features import features
from gnomon.suites.har.recordings import Windows
from gnomon.suites.har.systems import Conditions
from gnomon.suites.har.vocabulary import LABELS

CLIP = 10.0
"""Standardised features are held within so many spreads, so that a sensor far from all training data stays finite."""


class Scaled:
    """Centre and spread of features."""

    def __init__(self, rows: Array) -> None:
        self.centre = rows.mean(axis=0)
        spread = rows.std(axis=0)
        self.scale = np.where(spread > 1e-9, spread, 1.0)

    def __call__(self, rows: Array) -> Array:
        """Return standardised features."""
        return np.asarray(np.clip((rows - self.centre) / self.scale, -CLIP, CLIP))


class FeatureModel(ABC):
    """Base of systems on features: a subclass learns from rows and gives scores for rows."""

    facts: Mapping[str, Any] = MappingProxyType({})

    def settings(self) -> list[dict[str, Any]]:
        """Return the settings to choose from on validation windows; the first is that of zero-shot."""
        return [{}]

    def variation(self, **setting: Any) -> Self:
        """Return an unfitted system with a setting."""
        return type(self)(**setting)

    @abstractmethod
    def learn(self, rows: Array, codes: Array, size: int, conditions: Conditions) -> Mapping[str, Any]:
        """Fit to rows of features with codes below `size`; return facts."""

    @abstractmethod
    def rate(self, rows: Array) -> Array:
        """Return scores ``(n, size)`` of rows of features."""

    def fit(self, windows: Sequence[Windows], codes: Array, conditions: Conditions) -> Mapping[str, Any]:
        """Learn the 87 labels from the training datasets."""
        rows = np.concatenate([features(piece) for piece in windows])
        return self.learn(rows, codes, len(LABELS), conditions)

    def scores(self, windows: Windows) -> Array:
        """Return a score for every window and label."""
        return self.rate(features(windows))

    def fine_tune(
        self,
        train: Windows,
        train_codes: Array,
        val: Windows,
        val_codes: Array,
        classes: Sequence[str],
        conditions: Conditions,
    ) -> Self:
        """Fit to the labelled windows with the setting that does best on the validation windows."""
        rows, held = features(train), features(val)

        settings = self.settings() if len(val) else self.settings()[:1]
        models = [self.variation(**setting) for setting in settings]
        facts = [model.learn(rows, train_codes, len(classes), conditions) for model in models]
        best = 0
        if len(models) > 1:
            best = int(np.argmax([held_score(model.rate(held), val_codes, conditions) for model in models]))
        models[best].facts = {**facts[best], "chosen": settings[best], "by": conditions.selection}
        return models[best]


def held_score(scores: Array, codes: Array, conditions: Conditions) -> float:
    """Return how good scores are on validation windows, by what the conditions name."""
    found = evaluate(codes, scores.argmax(axis=1))
    return float(found["accuracy" if conditions.selection == "accuracy" else "macro_f1"] or 0.0)


class NearestMean(FeatureModel):
    """The class whose mean of standardised features is nearest; scores are negative squared distances.

    Parameters
    ----------
    shrinkage
        How far the means of the classes are drawn towards the mean of all rows: 0 not at all, 1 onto it.
    """

    def __init__(self, *, shrinkage: float = 0.0) -> None:
        if not 0 <= shrinkage < 1:
            raise InputError(f"shrinkage: expected 0 or more and less than 1, but got {shrinkage:g}")
        self.shrinkage = shrinkage

    def settings(self) -> list[dict[str, Any]]:
        """Choose how far means are drawn in."""
        return [{"shrinkage": value} for value in dict.fromkeys((self.shrinkage, 0.25, 0.5))]

    def learn(self, rows: Array, codes: Array, size: int, conditions: Conditions) -> Mapping[str, Any]:
        """Average the features of each class."""
        del conditions
        self.scaled, self.size = Scaled(rows), size
        self.seen = np.unique(codes)
        scaled = self.scaled(rows)
        self.means = np.stack([scaled[codes == code].mean(axis=0) for code in self.seen]) * (1 - self.shrinkage)
        return {"parameters": int(self.means.size), "rows": len(rows)}

    def rate(self, rows: Array) -> Array:
        """Return negative squared distances; a label without a mean is farther than all others."""
        scaled = self.scaled(rows)
        distances = np.stack([np.square(scaled - mean).sum(axis=1) for mean in self.means], axis=1)
        return spread(-distances, self.seen, self.size)


class EstimatorModel(FeatureModel):
    """An estimator of scikit-learn's kind, on the features of windows.

    Scores are its probabilities, else its decision function, else 1 for the label that it predicts.
    """

    def __init__(self, estimator: Any) -> None:
        self.blank, self.estimator = estimator, copy.deepcopy(estimator)

    def settings(self) -> list[dict[str, Any]]:
        """Leave its parameters as they were given."""
        return [{}]

    def variation(self, **setting: Any) -> Self:
        """Return another one that is not fitted."""
        del setting
        return type(self)(self.blank)

    def learn(self, rows: Array, codes: Array, size: int, conditions: Conditions) -> Mapping[str, Any]:
        """Fit it; what it draws at random follows from the seed of classifiers."""
        self.size = size
        fit_system(self.estimator, rows, codes, np.random.default_rng(conditions.classifier_seed))
        return {"rows": len(rows)}

    def rate(self, rows: Array) -> Array:
        """Return scores of the labels that were seen; the others are below all of them."""
        seen = getattr(self.estimator, "classes_", None)
        if seen is not None and callable(getattr(self.estimator, "predict_proba", None)):
            return spread(np.asarray(self.estimator.predict_proba(rows)), seen, self.size)
        if seen is not None and callable(getattr(self.estimator, "decision_function", None)):
            found = np.asarray(self.estimator.decision_function(rows))
            both = np.stack([-found, found], axis=1) if found.ndim == 1 else found
            if both.shape[1] == len(seen):
                return spread(both, seen, self.size)
        predicted = np.asarray(self.estimator.predict(rows), dtype=np.int64)
        return np.eye(self.size)[predicted]


def spread(scores: Array, seen: Array, size: int) -> Array:
    """Put the scores of the classes that were seen in their places; the others are below all of them."""
    lowest = scores.min(initial=0.0) - 1.0
    out = np.full((len(scores), size), lowest)
    out[:, seen] = scores
    return out
