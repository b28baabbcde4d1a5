"""A system of one's own for ``labels``: the most frequent label among the nearest training rows."""

import numpy as np


class Neighbours:
    """Asks the ``k`` nearest rows; of equally frequent labels the first in order wins."""

    def __init__(self, *, k: int = 5):
        self.k = k

    def fit(self, features, labels, rng):
        """Keep the rows, with every feature scaled to unit spread."""
        spread = features.std(axis=0)
        self.scale = np.where(spread > 0, spread, 1.0)
        self.rows = features / self.scale
        self.names, self.codes = np.unique(labels, return_inverse=True)

    def predict(self, features):
        """Return a label per row."""
        apart = ((features / self.scale)[:, np.newaxis] - self.rows) ** 2
        nearest = np.argsort(apart.sum(axis=2), axis=1, kind="stable")[:, : self.k]
        counts = np.stack([(self.codes[nearest] == code).sum(axis=1) for code in range(len(self.names))])
        return self.names[counts.argmax(axis=0)]
