"""Random cases of each signal, chosen to be nasty: few samples, one class, absent classes, missing predictions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from gnomon.core.errors import GnomonError
from gnomon.core.ledgers import Ledger
from gnomon.core.signals import NONE, Intervals, Labels, LabelSets, Skeletons
from gnomon.core.tallies import Array


class Drawer(ABC):
    """How to draw truth and prediction of one signal, and how to change them."""

    @abstractmethod
    def draw(self, rng: np.random.Generator) -> tuple[Any, Any]:
        """Return truth and prediction of one case."""

    @abstractmethod
    def perfect(self, truth: Any) -> Any:
        """Return the prediction that makes no error."""

    def renamed(self, signal: Any, names: Mapping[str, str]) -> Any:
        """Return the signal with its classes renamed, or ``None`` where it has no classes."""
        del signal, names
        return None

    def widened(self, signal: Any, extra: str) -> Any:
        """Return the signal over a class list with one more, absent class, or ``None``."""
        del signal, extra
        return None

    def silenced(self, prediction: Any, rng: np.random.Generator) -> Any:
        """Return a prediction without some of its answers, or ``None`` where no answer can be missing."""
        del prediction, rng
        return None


class LabelsDrawer(Drawer):
    """Single labels."""

    def draw(self, rng: np.random.Generator) -> tuple[Labels, Labels]:
        """Draw 0 to 40 samples over 1 to 5 classes, in which some classes may not occur."""
        classes = tuple(str(i) for i in rng.permutation(int(rng.integers(1, 6))))
        n = int(rng.choice([0, 1, 2, int(rng.integers(3, 41))]))
        truth = rng.integers(0, len(classes), n)
        noise = rng.integers(NONE if rng.random() < 0.3 else 0, len(classes), n)
        return Labels(truth, classes), Labels(np.where(rng.random(n) < rng.random(), truth, noise), classes)

    def perfect(self, truth: Labels) -> Labels:
        """Repeat the truth."""
        return truth

    def renamed(self, signal: Labels, names: Mapping[str, str]) -> Labels:
        """Rename classes."""
        return Labels(signal.codes, tuple(names.get(label, label) for label in signal.classes))

    def widened(self, signal: Labels, extra: str) -> Labels:
        """Add an absent class."""
        return Labels(signal.codes, (*signal.classes, extra))

    def silenced(self, prediction: Labels, rng: np.random.Generator) -> Labels:
        """Leave labels out."""
        kept = rng.random(len(prediction)) < rng.random()
        return Labels(np.where(kept, prediction.codes.astype(np.int64), NONE), prediction.classes)


class LabelSetsDrawer(Drawer):
    """Sets of labels."""

    def draw(self, rng: np.random.Generator) -> tuple[LabelSets, LabelSets]:
        """Draw 0 to 40 samples over 1 to 5 classes; sets may be empty, and those of a prediction missing."""
        classes = tuple(str(i) for i in rng.permutation(int(rng.integers(1, 6))))
        n = int(rng.choice([0, 1, 2, int(rng.integers(3, 41))]))
        truth = rng.random((n, len(classes))) < rng.random()
        flips = rng.random((n, len(classes))) < rng.random() / 2
        whole = LabelSets(truth ^ flips, classes)
        return LabelSets(truth, classes), self.silenced(whole, rng) if rng.random() < 0.3 else whole

    def perfect(self, truth: LabelSets) -> LabelSets:
        """Repeat the truth."""
        return truth

    def renamed(self, signal: LabelSets, names: Mapping[str, str]) -> LabelSets:
        """Rename classes."""
        return LabelSets(signal.members, tuple(names.get(label, label) for label in signal.classes), signal.given)

    def widened(self, signal: LabelSets, extra: str) -> LabelSets:
        """Add an absent class."""
        empty: Array = np.zeros((len(signal), 1), dtype=np.bool_)
        return LabelSets(np.hstack([signal.members, empty]), (*signal.classes, extra), signal.given)

    def silenced(self, prediction: LabelSets, rng: np.random.Generator) -> LabelSets:
        """Leave sets out."""
        kept = rng.random(len(prediction)) < rng.random()
        if prediction.given is not None:
            kept &= prediction.given
        return LabelSets(prediction.members & kept[:, np.newaxis], prediction.classes, kept)


class IntervalsDrawer(Drawer):
    """Stretches of time with classes; overlapping, abutting, empty, of no class and beyond the window."""

    window = (0.0, 20.0)

    def draw(self, rng: np.random.Generator) -> tuple[Intervals, Intervals]:
        """Draw up to 8 stretches on each side, mostly on a grid so that edges coincide."""
        classes = tuple(str(i) for i in rng.permutation(int(rng.integers(1, 4))))
        off_grid = float(rng.choice([0.0, 0.0, 0.7]))
        truth, returned = (self._side(rng, classes, off_grid) for _ in range(2))
        return truth, truth if rng.random() < 0.1 else returned

    def _side(self, rng: np.random.Generator, classes: tuple[str, ...], off_grid: float) -> Intervals:
        n = int(rng.integers(0, 9))
        starts = rng.integers(-2, 21, n) + off_grid * rng.random(n)
        ends = starts + rng.integers(0, 6, n) * (1 - off_grid * rng.random(n))
        codes = rng.integers(NONE if rng.random() < 0.2 else 0, len(classes), n)
        return Intervals(starts, ends, codes, classes, self.window)

    def perfect(self, truth: Intervals) -> Intervals:
        """Return the truth."""
        return truth

    def renamed(self, signal: Intervals, names: Mapping[str, str]) -> Intervals:
        """Rename classes."""
        classes = tuple(names.get(label, label) for label in signal.classes)
        return Intervals(signal.starts, signal.ends, signal.codes, classes, signal.window)

    def widened(self, signal: Intervals, extra: str) -> Intervals:
        """Add an absent class."""
        return Intervals(signal.starts, signal.ends, signal.codes, (*signal.classes, extra), signal.window)


class SkeletonsDrawer(Drawer):
    """Skeletons; with hidden joints, coincident, collinear and mirrored ones, far from the origin."""

    def draw(self, rng: np.random.Generator) -> tuple[Skeletons, Skeletons]:
        """Draw 0 to 20 samples of 1 to 5 joints, of which some may be hidden."""
        n, joints = int(rng.choice([0, 1, 2, 3, int(rng.integers(4, 21))])), int(rng.integers(1, 6))
        truth = rng.normal(size=(n, joints, 3)) * rng.choice([0.0, 1.0], 3, p=[0.2, 0.8])
        prediction = truth * rng.choice([-1.0, 0.0, 1.0], 3, p=[0.1, 0.1, 0.8]) + rng.normal(size=truth.shape) / 10
        valid = rng.random((n, joints)) < rng.choice([1.0, 0.7])
        away = rng.normal(size=3) * rng.choice([1.0, 100.0])
        return Skeletons(truth + away, valid), Skeletons(prediction + away)

    def perfect(self, truth: Skeletons) -> Skeletons:
        """Return the truth."""
        return truth


class LedgerDrawer(Drawer):
    """Rows of one case as suites write them: true things, returned ones with scores of which many are equal, values."""

    def draw(self, rng: np.random.Generator) -> tuple[Ledger, Ledger]:
        """Draw up to 5 true things of each of 1 to 3 classes, and up to 12 returned ones, of which some hit."""
        classes = tuple(str(i) for i in rng.permutation(int(rng.integers(1, 4))))
        truths = rng.integers(0, 6, len(classes))
        truth = self._rows(classes, np.arange(len(classes)), truths=truths)
        label = rng.integers(0, len(classes), int(rng.choice([0, 1, int(rng.integers(2, 13))])))
        rank = np.array([(label[:i] == c).sum() for i, c in enumerate(label)], dtype=np.int64)
        hit = (rank < truths[label]) & (rng.random(len(label)) < 0.7)
        score, value = rng.integers(0, 5, len(label)) / 4, rng.integers(0, 4, len(label)) * rng.choice([0.3, 1.0])
        found = self._rows(classes, label, returned=1, hit=hit, score=score, value=value)
        return truth, Ledger.stack([(truth, 0), (found, 0)])

    @staticmethod
    def _rows(classes: tuple[str, ...], label: Array, **given: Any) -> Ledger:
        n = len(label)
        kinds = {"returned": np.int64, "truths": np.int64, "hit": np.int64, "value": np.float64}
        columns = {name: np.zeros(n, kind) + given.get(name, 0) for name, kind in kinds.items()}
        score = np.asarray(given.get("score", np.full(n, np.nan)), dtype=np.float64)
        return Ledger(np.zeros(n, dtype=np.int64), {"class": label, "score": score, **columns}, {"class": classes})

    def perfect(self, truth: Ledger) -> Ledger:
        """Return every true thing once, without any error in its value."""
        label = np.repeat(truth.columns["class"], truth.columns["truths"])
        found = self._rows(truth.labels["class"], label, returned=1, hit=1, score=np.full(len(label), 0.5))
        return Ledger.stack([(truth, 0), (found, 0)])

    def renamed(self, signal: Ledger, names: Mapping[str, str]) -> Ledger:
        """Rename classes."""
        classes = tuple(names.get(label, label) for label in signal.labels["class"])
        return Ledger(signal.case, signal.columns, {"class": classes})

    def widened(self, signal: Ledger, extra: str) -> Ledger:
        """Add an absent class."""
        return Ledger(signal.case, signal.columns, {"class": (*signal.labels["class"], extra)})


_DRAWERS: dict[type, Drawer] = {
    Labels: LabelsDrawer(),
    LabelSets: LabelSetsDrawer(),
    Intervals: IntervalsDrawer(),
    Skeletons: SkeletonsDrawer(),
    Ledger: LedgerDrawer(),
}


def generate(signal: type, how: Drawer) -> None:
    """Register how to draw a signal."""
    _DRAWERS[signal] = how


def drawer(signal: type) -> Drawer:
    """Return how to draw a signal."""
    if signal not in _DRAWERS:
        raise GnomonError(f"no way to draw {signal.__name__}: register one with gnomon.testing.generate")
    return _DRAWERS[signal]
