"""Random cases of rankings, vectors and trajectories."""

from __future__ import annotations

import numpy as np

from gnomon.core.signals import Rankings, Vectors
from gnomon.measures.regression import MaskedVectors
from gnomon.measures.retrieval import Standings
from gnomon.measures.trajectories import Trajectories
from gnomon.testing.drawing import Drawer


class RankingsDrawer(Drawer):
    """Ranks in a pool of 30, tied or not, with one positive or several."""

    def draw(self, rng: np.random.Generator) -> tuple[Standings, Standings]:
        """Draw 0 to 20 queries."""
        n, pool = int(rng.choice([0, 1, 2, int(rng.integers(3, 21))])), 30
        greater = rng.integers(0, int(rng.choice([1, 3, pool])), n)
        equal = np.minimum(rng.integers(1, int(rng.choice([2, 4, pool + 1])), n), pool - greater)
        right = None if rng.random() < 0.5 else rng.integers(1, equal + 1)
        found = Standings(greater, equal, pool, "pool", right)
        return found.ideal(), found

    def perfect(self, truth: Standings) -> Standings:
        """Return the truth: every positive first, and alone."""
        return truth


class VectorsDrawer(Drawer):
    """Vectors with constant dimensions, far from the origin, of which some values may not count."""

    def draw(self, rng: np.random.Generator) -> tuple[Vectors, Vectors]:
        """Draw 0 to 20 rows of 1 to 4 dimensions."""
        shape = int(rng.choice([0, 1, 2, int(rng.integers(3, 21))])), int(rng.integers(1, 5))
        away, scale = rng.choice([0.0, 0.1, 100.0], shape[1]), rng.choice([0.0, 1.0, 10.0], shape[1])
        truth = away + rng.normal(size=shape) * scale
        prediction = truth + rng.normal(size=shape) * rng.choice([0.0, 0.1, 3.0])
        if rng.random() < 0.5:
            return Vectors(truth), Vectors(prediction)
        return MaskedVectors(truth, valid=rng.random(shape) < rng.choice([0.0, 0.7])), Vectors(prediction)

    def perfect(self, truth: Vectors) -> Vectors:
        """Return the truth."""
        return truth


class TrajectoriesDrawer(Drawer):
    """Trajectories of which some positions may not count."""

    def draw(self, rng: np.random.Generator) -> tuple[Trajectories, Trajectories]:
        """Draw 0 to 8 samples of 1 to 3 steps and 1 to 4 joints."""
        n, steps, joints = (
            int(rng.choice([0, 1, int(rng.integers(2, 9))])),
            int(rng.integers(1, 4)),
            int(rng.integers(1, 5)),
        )
        truth = rng.normal(size=(n, steps, joints, 3))
        valid = rng.random((n, steps, joints)) < rng.choice([0.0, 0.7, 1.0])
        return Trajectories.of(truth, valid), Trajectories.of(truth + rng.normal(size=truth.shape) / 10)

    def perfect(self, truth: Trajectories) -> Trajectories:
        """Return the truth."""
        return truth


DRAWERS: dict[type, Drawer] = {
    Rankings: RankingsDrawer(),
    Vectors: VectorsDrawer(),
    Trajectories: TrajectoriesDrawer(),
}
