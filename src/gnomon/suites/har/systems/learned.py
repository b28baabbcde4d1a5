"""Random forest and support vector machine on features (scikit-learn, extra ``classical``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gnomon.core.errors import InputError, MissingExtraError
from gnomon.core.tallies import Array
from gnomon.suites.har.systems import Conditions
from gnomon.suites.har.systems.classical import FeatureModel, Scaled, spread

TREES = {"smoke": 30, "cpu": 100, "paper": 300}
"""Trees of a forest by profile."""


def _sklearn(what: str) -> Any:
    try:
        import sklearn.ensemble
        import sklearn.svm
    except ImportError as error:
        raise MissingExtraError(
            f"{what} needs scikit-learn, which is not installed: pip install 'gnomon[classical]'"
        ) from error
    return sklearn


class RandomForest(FeatureModel):
    """A random forest (Breiman, 2001); scores are the shares of the trees' votes.

    Parameters
    ----------
    trees
        How many; 0 is what the profile has.
    leaf
        Least rows in a leaf.
    """

    def __init__(self, *, trees: int = 0, leaf: int = 1) -> None:
        if trees < 0 or leaf < 1:
            raise InputError(f"random_forest: expected trees >= 0 and leaf >= 1, but got {trees} and {leaf}")
        self.trees, self.leaf = trees, leaf

    def settings(self) -> list[dict[str, Any]]:
        """Choose the size of leaves."""
        return [{"trees": self.trees, "leaf": value} for value in dict.fromkeys((self.leaf, 3))]

    def learn(self, rows: Array, codes: Array, size: int, conditions: Conditions) -> Mapping[str, Any]:
        """Grow the trees."""
        forest = _sklearn("random_forest").ensemble.RandomForestClassifier(
            n_estimators=self.trees or TREES[conditions.profile],
            min_samples_leaf=self.leaf,
            random_state=conditions.classifier_seed,
            n_jobs=1,
        )
        self.forest, self.size = forest.fit(rows, codes), size
        nodes = sum(int(tree.tree_.node_count) for tree in forest.estimators_)
        return {"parameters": nodes, "rows": len(rows), "trees": len(forest.estimators_)}

    def rate(self, rows: Array) -> Array:
        """Return shares of votes; labels that were not seen have less than nothing."""
        return spread(self.forest.predict_proba(rows), self.forest.classes_, self.size)


class SvmRbf(FeatureModel):
    """A support vector machine with a Gaussian kernel (Cortes and Vapnik, 1995) on standardised features.

    At most so many rows as the conditions allow are fitted on, drawn with equal shares of the classes as far as they
    go. Scores are those of one class against the rest, made from all pairs.

    Parameters
    ----------
    c
        Weight of errors in zero-shot; for a test dataset it is chosen from this and 1, 10, 100.
    """

    def __init__(self, *, c: float = 10.0) -> None:
        if not c > 0:
            raise InputError(f"svm_rbf: expected c over 0, but got {c:g}")
        self.c = c

    def settings(self) -> list[dict[str, Any]]:
        """Choose the weight of errors."""
        return [{"c": value} for value in dict.fromkeys((self.c, 1.0, 10.0, 100.0))]

    def learn(self, rows: Array, codes: Array, size: int, conditions: Conditions) -> Mapping[str, Any]:
        """Find the support vectors."""
        kept = balanced(codes, conditions.kernel_rows, conditions.classifier_seed)
        rows, codes = rows[kept], codes[kept]
        self.scaled, self.size, self.seen = Scaled(rows), size, np.unique(codes)
        facts: dict[str, Any] = {"rows": len(rows)}
        if len(self.seen) == 1:
            return {**facts, "parameters": 0}
        machine = _sklearn("svm_rbf").svm.SVC(C=self.c, kernel="rbf", gamma="scale", decision_function_shape="ovr")
        self.machine = machine.fit(self.scaled(rows), codes)
        return {**facts, "parameters": int(machine.support_vectors_.size)}

    def rate(self, rows: Array) -> Array:
        """Return the margins of every class."""
        if len(self.seen) == 1:
            return spread(np.zeros((len(rows), 1)), self.seen, self.size)
        margins = np.asarray(self.machine.decision_function(self.scaled(rows)))
        two = np.stack([-margins, margins], axis=1) if margins.ndim == 1 else margins
        return spread(two, self.seen, self.size)


def balanced(codes: Array, most: int, seed: int) -> Array:
    """Return at most so many rows: in random order, turn by turn one of every class, until enough are taken."""
    from gnomon.core.seeds import generator

    if len(codes) <= most:
        return np.arange(len(codes))
    order = generator(seed, "har", "kernel rows").permutation(len(codes))
    turn = np.zeros(len(codes), dtype=np.int64)
    for code in np.unique(codes):
        mine = order[codes[order] == code]
        turn[mine] = np.arange(len(mine))
    place = np.empty(len(codes), dtype=np.int64)
    place[order] = np.arange(len(codes))
    return np.sort(np.lexsort((place, turn))[:most])
