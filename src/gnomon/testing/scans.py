"""Random cases of what is said of a pair of scans: boxes, points and whole scenes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gnomon.core.scans import BOX_CLASSES, CHANGES, Boxes, Changed, PointLabels
from gnomon.core.signals import Labels
from gnomon.core.tallies import Array
from gnomon.testing.drawing import Drawer, LabelsDrawer


class BoxesDrawer(Drawer):
    """Boxes on a grid, so that faces are coplanar, IoU is tied and boxes repeat; in all three forms, turned or not."""

    def draw(self, rng: np.random.Generator) -> tuple[Boxes, Boxes]:
        """Draw up to 7 boxes on each side, in places of their own or near to the true ones."""
        numbered = tuple(str(i) for i in rng.permutation(int(rng.integers(1, 4))))
        classes = numbered if rng.random() < 0.6 else BOX_CLASSES
        truth, other = (self._geometry(rng, int(rng.integers(0, 8))) for _ in range(2))
        near = truth + rng.normal(0, 0.05, truth.shape) * (truth.shape[1:] != (8, 3))
        geometry = near if rng.random() < 0.5 else other
        scores = rng.integers(0, 4, len(geometry)) / 3 if rng.random() < 0.5 else None
        codes = [rng.integers(0, len(classes), len(side)) for side in (truth, geometry)]
        return Boxes(truth, codes[0], classes), Boxes(geometry, codes[1], classes, scores)

    @staticmethod
    def _geometry(rng: np.random.Generator, n: int) -> Array:
        low, size = rng.integers(0, 4, (n, 3)), rng.integers(1, 4, (n, 3)).astype(np.float64)
        kind = rng.integers(0, 3)
        if kind == 0:
            return np.concatenate([low, low + size], axis=1)
        yaw = rng.choice([0.0, np.pi / 4, np.pi / 2, 1.0], n)
        flat = np.concatenate([low + size / 2, size, yaw[:, np.newaxis]], axis=1)
        return flat if kind == 1 else np.array([_tilted(row, rng) for row in flat]).reshape(n, 8, 3)

    def perfect(self, truth: Boxes) -> Boxes:
        """Return the truth."""
        return truth

    def renamed(self, signal: Boxes, names: Mapping[str, str]) -> Boxes:
        """Rename classes."""
        classes = tuple(names.get(label, label) for label in signal.classes)
        return Boxes(signal.geometry, signal.codes, classes, signal.scores, signal.frame)

    def widened(self, signal: Boxes, extra: str) -> Boxes:
        """Add an absent class."""
        return Boxes(signal.geometry, signal.codes, (*signal.classes, extra), signal.scores, signal.frame)


def _tilted(box: Array, rng: np.random.Generator) -> Array:
    """Return the vertices of a box that is turned about x by its yaw, in random order."""
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    cos, sin = np.cos(box[6]), np.sin(box[6])
    turn = np.array([[1, 0, 0], [0, cos, sin], [0, -sin, cos]])
    return np.asarray(rng.permutation(box[:3] + (signs * box[3:6] / 2) @ turn))


class PointsDrawer(LabelsDrawer):
    """Points; of the classes of change, or of any others, as bytes or not."""

    def draw(self, rng: np.random.Generator) -> tuple[Labels, Labels]:
        """Draw 0 to 40 points."""
        truth, prediction = super().draw(rng)
        if rng.random() < 0.5:
            n = len(truth)
            codes = rng.integers(0, 3, (2, n)).astype("u1" if rng.random() < 0.5 else "i8")
            return PointLabels(codes[0], CHANGES), PointLabels(codes[1], CHANGES)
        return PointLabels(truth.codes, truth.classes), PointLabels(prediction.codes, prediction.classes)


class ChangedDrawer(Drawer):
    """Scenes."""

    def draw(self, rng: np.random.Generator) -> tuple[Changed, Changed]:
        """Draw one of the four outcomes."""
        return Changed(bool(rng.random() < 0.5)), Changed(bool(rng.random() < 0.5))

    def perfect(self, truth: Changed) -> Changed:
        """Return the truth."""
        return truth


DRAWERS: dict[type, Drawer] = {Boxes: BoxesDrawer(), PointLabels: PointsDrawer(), Changed: ChangedDrawer()}
